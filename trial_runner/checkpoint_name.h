// Which folders in a trial's folder are checkpoints of ours: what others there are is the
// program's.
//
// Thread rule: any thread.
#pragma once

#include <filesystem>
#include <string_view>

namespace tune {

// Of something directly in a trial's folder: whether it is a checkpoint of ours, whole or on the
// way, as worker/checkpoint_place.h names them: checkpoint_000012, checkpoint_000012.2-3.tmp. A
// program's checkpoint_best, checkpoint_12 and checkpoint_000012_best are none.
bool IsOwnCheckpoint(std::string_view name);
// Whether what lies there is one: a folder, on the way or with a manifest. A program may give such
// a name to a file or folder of its own.
bool IsOwnCheckpointAt(const std::filesystem::path& path);

}  // namespace tune
