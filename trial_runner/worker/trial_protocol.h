// What a worker and a trial process say to each other: lines of JSON over a stream socket, which
// the process finds as file descriptor 3. A process runs one attempt after another; end of file
// there means that no more will come.
//
// Worker to process, one line each:
//   {"start": {"experiment": "lr-sweep", "metric": "val_loss", "sweep_seed": "7", "base_dir":
//              "/home/me", "seed": "1804289383", "trainable": {"curve": {...}}, "trial": 0,
//              "attempt": 1, "config": {"lr": 0.1}, "from_iteration": 0, "checkpoint": "",
//              "config_since": 1, "artifact_dir":
//              "/home/me/tune.artifacts/lr-sweep/0", "checkpoint_every": 1,
//              "memory_bytes": 0, "threads": 2,
//              "devices": [{"device": 0, "milli": 500, "memory_bytes": 0}]}}
//       `"less_is_better": true`: of the metric. `"own_paths": ["weights"]`: parameters of food11
//       that name a folder or file and are not the same for all trials. `"device_environment"`:
//       what its devices call for in its environment, if it has any:
//       {"CUDA_VISIBLE_DEVICES": "GPU-1b2c"}.
//       `"folder"`: where programs run, if not where the space file says; `"content"`: the SHA-256
//       of what was in that folder when the sweep began, if it is known; `"cache"`: where the
//       worker keeps what other sweeps can use too, if anywhere; `"inputs"`: the folder of the
//       sweep's inputs, if it has any.
//       `"rank": 1, "world_size": 2, "address": "10.0.0.7"`: of data-parallel training this is one
//       rank of two, which the other reaches at that address of this machine. `"group"`: where it
//       stands among them, and where they meet (rank_group.h): {"local_rank": 0,
//       "local_world_size": 1, "node_rank": 1, "node_count": 2, "master_address": "10.0.0.8",
//       "master_port": 20123}.
//       `"other_config": true`: the checkpoint was made under another configuration, and training
//       goes on under this one; `"saves_first": true`: the first report shall have a checkpoint.
//   {"answer": "continue"}      to the last report: go on; "save": go on, and the next report shall
//       have a checkpoint, since the trial may be paused there; "stop" or "refused": end the
//       attempt.
//   {"leave_within_ms": 25000}  to a process that runs users' programs, in the place of SIGTERM:
//   the
//       worker leaves, and this attempt ends. As long as that it may finish, save and report the
//       iteration that it is at.
// Process to worker:
//   {"report": {"iteration": 1, "metrics": {"val_loss": 0.5}, "final": false,
//               "checkpoint": {"path": "/...", "bytes": 4096, "checksum": "00ff"}}}
//       `final` and `checkpoint` may be absent. A report waits for its answer before anything else
//       is sent; a final one gets none, since nothing is left to decide, and the end follows. A
//       metric that is no number is written "NaN", "Infinity" or "-Infinity". A checkpoint with an
//       empty path says that the iteration is all there is to it. `"note"`, one line for a person:
//       the report's value may not be what is meant.
//   {"end": {"outcome": "completed", "error": ""}}
//       completed, stopped (told to), crashed, killed, out_of_memory, device_out_of_memory or
//       bad_config.
//       `"detail": "bad_checkpoint"`: what it was to go on from is torn, corrupt or gone;
//       `"detail": "disk_full"`: the disk takes no writes (it is full or read-only) to begin, of a
//       checkpoint or of the user's program; `"detail": "own_disk_full"`: the same, while the one
//       that the artifacts are on does; `"detail": "rank_lost"`: another rank is gone; all with the
//       outcome crashed.
//       `"detail": "unfit_machine"`, with bad_config: this machine has not what the trials need;
//       `"detail": "absent_path"`: nor a folder or file that may come, with a disk.
//       The process then waits for the next start.
// A process may run several attempts at once, each in a lane of its own: a start then says in which
// (`"lane": 3` beside the message's key: a number from 1 that is never used twice in that process),
// and so does every line about that attempt in both directions. A worker sends it also
//   {"lane": 3, "leave": "soon"}   end this attempt alone, as SIGTERM ends a process: what was
//       reported and is in no checkpoint may be saved and reported first; "now": at once, what it
//       still says does not count. It is answered by the attempt's end, unless that was already
//       said; a lane that there is not is passed over.
// Seeds are texts, since they may be beyond the integers of JSON readers. An exit in the middle of
// an attempt is a crash.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/resources.h"
#include "core/status.h"
#include "core/value.h"
#include "trial_runner/devices/device_environment.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

// As the trial process sees it.
struct TrialStart {
  std::string experiment;
  std::string metric;
  std::vector<std::string> more_metrics;  // Of several objectives: those after `metric`.
  Mode mode = Mode::kMax;                 // Of `metric`.
  std::vector<std::string> constrained;   // Metrics that constraints name.
  std::vector<std::string> own_paths;     // SweepInfo's.
  uint64_t sweep_seed = 0;
  uint64_t seed = 0;  // Of the trial's own draws.
  std::string base_dir;
  Value trainable;
  TrialNumber trial;
  AttemptNumber attempt;
  Value config;  // Nested.
  int64_t from_iteration = 0;
  std::string checkpoint_path;    // Empty: from the start.
  bool has_other_config = false;  // The checkpoint was made under another configuration.
  AttemptNumber config_since{1};  // The first attempt under this one.
  std::string artifact_dir;
  int64_t checkpoint_every = 1;
  bool saves_first = false;
  int64_t memory_bytes = 0;  // It shall not have more; 0: no limit.
  int64_t threads = 1;
  std::vector<DeviceSlice> slices;
  DeviceEnvironment device_environment;
  int64_t rank = 0;  // Of `world_size`: rank 0 reports.
  int64_t world_size = 1;
  RankGroup group;  // But for its devices, which stand in `device_environment`.
  WorkPlace place;
};

struct TrialEnd {
  Outcome outcome = Outcome::kCompleted;
  std::string error;
  EndDetail detail = EndDetail::kNone;
};

// End one attempt of several.
struct LeaveLane {
  bool at_once = false;
};

// End the only attempt, since its worker leaves.
struct LeaveWithin {
  int64_t ms = 0;
};

using FromTrial = std::variant<Report, TrialEnd>;
using ToTrial = std::variant<TrialStart, ReportAnswer, LeaveWithin>;
using ToLane = std::variant<TrialStart, ReportAnswer, LeaveLane, LeaveWithin>;

// A message and the attempt that it is about: 0, which no line says, where there is but one.
template <typename Message>
struct OfLane {
  int64_t lane = 0;
  Message message;
};

// How many threads an attempt with these CPUs uses: at least one.
int64_t ThreadsOf(int64_t cpu_milli);

// Lines end with '\n'.
std::string EncodeStart(const SweepInfo& sweep, const StartAttempt& start,
                        const DeviceEnvironment& devices = {}, const WorkPlace& place = {},
                        int64_t lane = 0);
std::string EncodeAnswer(ReportAnswer answer, int64_t lane = 0);
std::string EncodeLeave(bool at_once, int64_t lane);
std::string EncodeLeaveWithin(int64_t ms);
std::string EncodeReport(const Report& report, int64_t lane = 0);
std::string EncodeEnd(const TrialEnd& end, int64_t lane = 0);

// Lines without their '\n'. Errors say what was read and what was expected; an error text is cut at
// limits::kErrorBytesMax.
Result<OfLane<FromTrial>> ParseFromLane(std::string_view line);
Result<OfLane<ToLane>> ParseToLane(std::string_view line);
// The same where there is one attempt at a time: another lane is an error.
Result<FromTrial> ParseFromTrial(std::string_view line);
Result<ToTrial> ParseToTrial(std::string_view line);

}  // namespace tune
