// The same for many things, a few at a time.
//
// Thread rule: any thread; it is kept until all are done.
#pragma once

#include <cstddef>
#include <functional>
#include <stop_token>

#include "core/status.h"

namespace tune {

// `run` is called for 0 .. count-1, on `at_once` threads at most. The first error ends it: those
// that run are told to stop, none is begun any more.
Status SideBySide(size_t count, size_t at_once, const std::stop_token& stop,
                  const std::function<Status(size_t, const std::stop_token&)>& run);

}  // namespace tune
