// Which folders in a trial's folder are checkpoints of ours: what others there are is the
// program's.
//
// Thread rule: a pure function.
#pragma once

#include <string_view>

namespace tune {

// Of something directly in a trial's folder: whether it is a checkpoint of ours, whole or on the
// way, as worker/checkpoint_place.h names them: checkpoint_000012, checkpoint_000012.2-3.tmp. A
// program's checkpoint_best, checkpoint_12 and checkpoint_000012_best are none.
bool IsOwnCheckpoint(std::string_view name);

}  // namespace tune
