// What a tuner and a worker say to each other, as plain structs. The wire form is proto/tune/v1;
// wire/codec translates.
//
// A worker connects, says Hello, and gets a Welcome, with the sweeps that it works for. Then the
// tuner sends attempts to run and answers to reports; the worker sends reports and ends. Both
// directions are ordered. Every message about an attempt carries its lease epoch: one with an epoch
// that is not the trial's present one is from the dead and has no effect.
//
// A worker that is not local outlives its connection: it connects again, says Hello with what it
// holds, and sends again what was not acknowledged (docs/PROTOCOL.md).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/metric.h"
#include "core/resources.h"
#include "core/value.h"
#include "trial_runner/rank_group.h"
#include "trial_runner/sweep_info.h"

namespace tune {

struct AttemptRef {
  TrialNumber trial;
  AttemptNumber attempt;
  LeaseEpoch epoch;
  ExperimentId sweep = {};  // Of those of its tuner.
  friend auto operator<=>(const AttemptRef&, const AttemptRef&) = default;
};

// A checkpoint that is durable on disk when it is told of.
struct CheckpointRef {
  std::string path;  // Absolute folder, or in an object store, "s3://bucket/...".
  int64_t bytes = 0;
  std::string checksum;  // Hexadecimal, over its manifest.
  friend bool operator==(const CheckpointRef&, const CheckpointRef&) = default;
};

struct Report {
  int64_t iteration = 0;  // training_iteration, from 1, rising within an attempt.
  Metrics metrics;
  bool final = false;  // The trainable's last one: the trial completes with it.
  bool has_checkpoint = false;
  CheckpointRef checkpoint;  // Of this iteration; meaningful if has_checkpoint.
  // In has_checkpoint's place: it is on its way to where it is kept, and CheckpointDurable follows.
  bool checkpoint_follows = false;
  std::string note = {};     // One line for a person: its value may not be what is meant.
  std::string reading = {};  // Of an attempt's first value that was printed (first_reading.h).
};

// Before the error of a stopped attempt that tells a person what may be wrong with its values.
inline constexpr std::string_view kEndNote = "note: ";

// In an error, before what a program printed last where that is not its cause.
inline constexpr std::string_view kLastPrinted = "; the last that it printed: ";

// How an attempt ended, as the view `attempts` has it; docs/ARCHITECTURE.md says who tells it.
enum class Outcome {
  kRunning,
  kCompleted,
  kStopped,
  kCrashed,
  kKilled,
  kOutOfMemory,
  kDeviceOutOfMemory,
  kHung,
  kLost,
  kPreempted,
  kBadConfig,
};
const char* OutcomeName(Outcome outcome);  // "running", "completed", ... in outcome_names.cc.
bool ParseOutcome(std::string_view name, Outcome& outcome);

// What an end asks for beyond its outcome.
enum class EndDetail {
  kNone,
  kBadCheckpoint,  // What it should go on from is torn, corrupt or gone: use the one before.
  kDiskFull,       // The disk takes no writes (full, read-only): the sweep waits for the person.
  kOwnDiskFull,    // The same, of a disk of this machine that the sweep's artifacts are not on.
  kRankLost,       // Another rank of it is gone, whose end says why.
  kUnfitMachine,   // The machine has not what the sweep's trials need: another one may have it.
  kAbsentPath,     // Likewise, for want of a folder or file that may come: a disk to be mounted.
};

// ---- worker -> tuner

// An attempt that a worker knows of when it connects again: it runs on this room, or it has ended,
// holds nothing, and its last messages follow.
struct HeldAttempt {
  AttemptRef ref;
  int64_t cpu_milli = 0;
  std::vector<DeviceSlice> slices;
  friend bool operator==(const HeldAttempt&, const HeldAttempt&) = default;
};

// Of the tuner's own workers, and of no other: what they ran has ended when their tuner has.
inline constexpr char kLocalWorkerName[] = "local";

inline constexpr size_t kEndedSessionsMax = 64;  // That one worker tells of.

struct Hello {
  std::string version;  // The program's; the tuner refuses another one.
  std::string name;     // For people: kLocalWorkerName, a host's name, or what was asked for.
  std::string host;
  int64_t pid = 0;
  WorkerCapacity capacity;
  bool is_local = false;               // It ends with its connection.
  std::string session = {};            // Drawn once by each worker that is not local.
  std::vector<HeldAttempt> held = {};  // Empty at its first connection.
  // Workers of this machine whose processes are known to have ended: nobody need wait for them.
  std::vector<std::string> ended_sessions = {};
  std::string address = {};  // Of its machine, as other workers reach it (RankGroup).
};

struct AttemptReport {
  AttemptRef ref;
  int64_t sequence = 0;  // From 1 within the attempt; the same where a message comes twice.
  Report report;
};

// The checkpoint of a report that was told before it was durable (checkpoint_follows) is durable.
struct CheckpointDurable {
  AttemptRef ref;
  int64_t iteration = 0;  // The report's.
  CheckpointRef checkpoint;
};

struct AttemptEnded {
  AttemptRef ref;
  Outcome outcome = Outcome::kCompleted;
  std::string error;  // One line for a person; empty when all is well.
  EndDetail detail = EndDetail::kNone;
};

// What of a device's memory is used, by whomever.
struct DeviceUse {
  int64_t device = 0;
  int64_t used_bytes = 0;
  friend bool operator==(const DeviceUse&, const DeviceUse&) = default;
};

// A sign of life, in both directions. From a worker with the devices' memory as last seen: for
// people, it decides nothing; and with some of the checkpoints in its cache, all of them in turn:
// it is told to remove what the tuner has removed. Likewise for people: what checkpoints wait for.
struct Heartbeat {
  std::vector<DeviceUse> devices = {};
  std::vector<std::string> cached = {};  // The tuner's paths.
  std::string waits_for = {};            // One line; empty: nothing waits.
};
inline constexpr size_t kCachedPerHeartbeatMax = 64;

// A device of the worker fell away, for as long as the worker lives. What ran there ends as lost;
// nothing more runs there.
struct DeviceLost {
  int64_t device = 0;
  std::string why;  // One line for a person.
};

// The most that an attempt was seen to use of one device's memory, told as it grows.
struct DeviceMemoryPeak {
  AttemptRef ref;
  int64_t bytes = 0;
};

// The worker ends by its own wish (SIGTERM, no room for the programs' folder); its attempts have
// been reported as preempted.
struct Goodbye {
  std::string why;  // One line for a person.
};

// To a head: this machine cannot run that sweep's trials, for a reason that a person must mend. It
// gets no more of them, until it says that it tries again; those that it has end as preempted,
// after this.
struct SweepUnfit {
  ExperimentId sweep;
  std::string why;  // One line for a person; empty: it may get some again.
};

using FromWorker = std::variant<Hello, AttemptReport, AttemptEnded, Heartbeat, Goodbye, DeviceLost,
                                DeviceMemoryPeak, SweepUnfit, CheckpointDurable>;

// ---- tuner -> worker

// `sweeps`: at least those of which the worker said that it holds attempts. What it has of others
// is over: the same numbers may mean other attempts here. Further ones follow as messages of their
// own.
struct Welcome {
  WorkerId worker;
  int64_t heartbeat_ms = 0;
  int64_t lease_ms = 0;
  std::vector<SweepInfo> sweeps = {};
  bool is_head = false;  // Sweeps come and go: one that the worker cannot run is none to leave for.
};

struct Refused {
  std::string reason;  // One line; the worker prints it and ends with status 2.
};

// Run an attempt. With `ahead` false it begins at once on `slices`. With `ahead` true, which is for
// local workers alone, it waits in the worker's queue: when any attempt on this worker ends, the
// queue's head takes over that attempt's CPUs and slices at once. The tuner, which sees the same
// ends in the same order, keeps the same books. The two can cross on the way: an attempt may have
// ended, with an empty queue, while a lease ahead was under way to the worker. `ends_seen` settles
// it: it is the number of AttemptEnded messages of this connection that the tuner had seen when it
// sent this. What was left idle by an end beyond that number is still the queue's to take, oldest
// first; what an earlier end left idle is the tuner's again.
struct StartAttempt {
  AttemptRef ref;
  bool ahead = false;
  int64_t ends_seen = 0;
  int64_t cpu_milli = 0;
  std::vector<DeviceSlice> slices;
  uint64_t seed = 0;            // Of the trial's own draws (search/trial_seed.h).
  std::string config;           // JSON, nested, constants too.
  int64_t from_iteration = 0;   // Iterations that the checkpoint has behind it; 0: from the start.
  std::string checkpoint_path;  // Empty: from the start.
  // The checkpoint was made under another configuration: that of the trial which this one exploits,
  // or its own of before (population based training). What cannot change must be the same.
  bool has_other_config = false;
  AttemptNumber config_since{1};  // The first attempt under this configuration.
  std::string
      artifact_dir;  // Absolute; <db stem>.artifacts/<experiment>/<trial number>, made when needed.
  int64_t checkpoint_every = 1;  // Reports.
  bool saves_first = false;      // The first report shall have a checkpoint, as with kSave.
  int64_t memory_bytes = 0;      // The trial process may have no more; 0: no limit.
  // Of data-parallel training this is one rank of `world_size`, each with a lease of its own. Rank
  // 0 reports and saves; the others take part, and end with it.
  int64_t rank = 0;
  int64_t world_size = 1;
  bool is_spread = false;  // Some of the others run on other workers.
  RankGroup group = {};
  // More trials than these do not share its process (trial_runner/fusion.h), by what was measured;
  // 0: that says nothing.
  int64_t lanes_max = 0;
};

enum class ReportAnswer {
  kContinue,
  kSave,  // Go on, and the next report shall have a checkpoint: the trial may be paused there.
  kStop,
  kRefused
};
inline bool GoesOn(ReportAnswer answer) {
  return answer == ReportAnswer::kContinue || answer == ReportAnswer::kSave;
}

// The answer to one report, sent after it was committed.
struct AnswerReport {
  AttemptRef ref;
  int64_t sequence = 0;
  ReportAnswer answer = ReportAnswer::kContinue;
};

// End an attempt: SIGTERM, then SIGKILL to its process group after the grace time. Until then it
// may save and report an iteration (trial_session.h), which is answered as any other. With
// `at_once`, where nothing that it says counts any more, SIGKILL. One that waits in the queue is
// dropped. With `finish_within_ms` above 0 it has so long to end by itself first: another rank that
// it trains with has ended. The worker answers with AttemptEnded: kPreempted, if the trial did not
// end by itself just then.
struct KillAttempt {
  AttemptRef ref;
  bool at_once = false;
  int64_t finish_within_ms = 0;
};

// The first `ends_seen` AttemptEnded messages of this connection are durable: they need not be sent
// again. To workers that are not local.
struct EndsAcknowledged {
  int64_t ends_seen = 0;
};

// The tuner keeps this checkpoint no longer: nor need the worker's cache. Said again as long as the
// worker tells of it.
struct RemoveCached {
  std::string path;
};

// One of the worker's sweeps is over, and its tuner is not: nothing of it is needed any more.
struct SweepOver {
  ExperimentId sweep = {};
};

// The sweep is over: end every trial process, then the worker.
struct Shutdown {
  // Not empty: the sweep goes on without this worker. It gives its attempts back, and says this in
  // its Goodbye.
  std::string why = {};
  // The sweep is not over: its tuner leaves, and `tune resume` goes on.
  bool is_interrupted = false;
};

using ToWorker = std::variant<Welcome, SweepInfo, Refused, StartAttempt, AnswerReport, KillAttempt,
                              EndsAcknowledged, Heartbeat, RemoveCached, SweepOver, Shutdown>;

}  // namespace tune
