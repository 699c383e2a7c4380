// A worker from its first breath to its last: connects to a tuner, runs attempts in trial
// processes, ends.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace tune {

struct WorkerOptions {
  std::string connect;       // HOST:PORT.
  std::string join;          // The token of a tuner on another machine.
  std::string local_secret;  // What the tuner gave to a worker of its own.
  int64_t cpu_milli = -1;    // What it offers; -1: the machine's cores.
  // Devices that it offers; nothing: all that are here. Logical ones where there are none.
  std::optional<int64_t> gpu_count;
  std::string name;       // For people; empty: "local" or the host's name.
  bool is_local = false;  // Started by a tuner, and gone with it: SIGKILL when its parent dies.
  std::string prewarm;    // "curve" or "food11": a trial process that starts before the tuner says
                          // what to run.
  std::string cache;      // For what other sweeps can use too; empty: nothing is kept.
  std::string cache_budget;  // "20GB"; empty: the default (package/cache_trim.h).
  std::string notice;  // Where it hears that its machine goes (notice_source.h); empty: nowhere.
  std::string grace;   // "25s"; empty: the default.
  std::string drain_after;     // "3h50m"; empty: never.
  std::string program_folder;  // Of the trial programs; empty: where this program is.
};

// Runs until the end and returns the exit status: 0 after the tuner's Shutdown or SIGTERM, 1 when
// the connection cannot be made or breaks, 2 for wrong options, for another tuner than the token's,
// or when the tuner refuses this worker. Prints at most one line about each.
//
// Thread rule: from the main thread, before the program has started any other; it blocks SIGTERM,
// SIGINT, SIGHUP and SIGUSR1 for good and answers SIGTERM (and, unless local, the others) by giving
// its attempts back.
int RunWorker(const WorkerOptions& options);

}  // namespace tune
