// `tune head`: a database, a pool of workers, and any number of sweeps, which come and go. It goes
// on with all that ran when it is started again, however it ended.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/limits.h"
#include "core/time.h"
#include "tuner/cli/head/head_retention.h"
#include "tuner/cli/look/page_place.h"

namespace tune {

// Without --lease, and the least that it may be: a worker is heard of each twelfth of it.
inline constexpr Duration kHeadLease = Seconds(60);
inline constexpr Duration kHeadLeaseMin = Seconds(1);

struct HeadCommandOptions {
  std::string db_path;
  std::string program_dir;
  std::optional<int64_t> cpus, gpus;  // Of its own worker; nothing: all that this machine has.
  std::string listen;                 // HOST:PORT for other machines; empty: where it did before.
  Duration token_validity;
  int64_t checkpoint_bytes_max = limits::kCheckpointBytesMax;
  std::optional<PagePlace> page;  // Where it is served, as tune ui --act does.
  RetentionRule keep;             // Of sweeps and jobs that are over.
  Duration lease = kHeadLease;    // How long a worker that is not heard of keeps its trials.
  bool detach = false;
  // A cluster file, whose pools it has; where it listens, its page and its own worker are what the
  // file says. Empty: none.
  std::string cluster_path;
};

// Returns the exit status: 130, 143 or 129 where a signal ended it; nothing that ran is lost then.
int HeadCommand(const HeadCommandOptions& options);

// Under which name a head keeps where it listens; no sweep has it.
inline constexpr char kHeadListening[] = "/head";

}  // namespace tune
