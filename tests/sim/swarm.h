// What one seed is about: the sweep, the machines, and which faults happen how often. Each seed
// turns on a random subset of the faults (swarm testing: Groce et al., ISSTA 2012), so that rare
// combinations are as likely as everything at once.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/resources.h"
#include "core/time.h"
#include "core/value.h"
#include "tests/sim/planted_faults.h"
#include "tuner/lane_speeds.h"

namespace tune::sim {

struct Machine {
  bool is_local = false;  // Of the tuner: dies with it.
  bool is_apart = false;  // Does not see the tuner's disk; its own goes with its worker.
  bool is_unfit = false;  // Has not what the trials need, in phase one.
  WorkerCapacity capacity;
  Duration clock_offset;
};

// What trials do that they should not; probabilities per iteration, but where it is said otherwise.
struct Temper {
  double crash = 0;            // SIGSEGV, SIGKILL or exit status 1.
  double quiet_exit = 0;       // Exit status 0 without a last report.
  double hang = 0;             // Alive and silent.
  double out_of_memory = 0;    // Of the host or the device; said in order.
  double nan = 0;              // Reports NaN, or an infinity.
  double straggle = 0;         // Takes 20 times as long.
  double garbage = 0;          // A line that is no message, or a report too many.
  double late_checkpoint = 0;  // Leaves one out, though it is due.
  double bad_config = 0;       // Per trial.
  double ignore_sigterm = 0;   // Per attempt.
  double ignore_stop = 0;      // Per attempt: goes on as if nothing had been said.
};

// Mean times between faults; 0: never.
struct FaultRates {
  Duration tuner_kill;         // kill -9 between two steps.
  Duration tuner_kill_commit;  // At a system call of a commit, or right after it.
  Duration power_loss;         // Of the tuner's machine: unsynced bytes are gone.
  Duration disk_full;
  Duration disk_error;
  Duration interrupt;  // Ctrl-C, and a resume later.
  Duration worker_kill;
  Duration worker_term;
  Duration worker_stop;        // SIGSTOP, and SIGCONT later.
  Duration cut;                // A connection breaks.
  Duration stall;              // A connection is silent in one or both directions for a time.
  Duration partition;          // A worker's machine cannot be reached, by any connection.
  Duration tuner_stop;         // The tuner does not run for a time (SIGSTOP, a suspended machine).
  Duration corruption;         // A byte of a checkpoint changes on the disk.
  Duration device_loss;        // A device of a machine falls away, until its worker starts anew.
  Duration machine_disk_full;  // Of a machine that is apart.
  Duration command;            // Somebody pauses, stops, or changes the concurrency.
  Duration store_away;         // The object store cannot be reached for a time.
};

enum class FaultKind {
  kTunerKill,  // And the user resumes after `lasts`.
  kTunerKillAtCall,
  kTunerKillAfterCommit,
  kPowerLoss,
  kPowerLossAtCall,
  kDiskFull,
  kDiskError,  // At the `calls`th call.
  kInterrupt,
  kInterruptTwice,
  kWorkerKill,
  kWorkerTerminate,
  kWorkerStop,
  kCut,
  kStall,
  kPartition,
  kTunerStop,
  kCorruption,  // Of a trial's newest checkpoint.
  kCommand,
  kMachineDiskFull,
  kDeviceLoss,  // The `calls`th, by its place among the machine's.
  kStoreAway,
};

// One that happens at a known time, in a scenario.
struct ScriptedFault {
  FaultKind kind = FaultKind::kTunerKill;
  Duration at;         // Since the beginning.
  size_t machine = 0;  // Of the swarm's.
  Duration lasts = {};
  int64_t calls = 0;
};

// The first limit on results of sweeps that have some: on what trials report as "cost".
inline constexpr char kCostLimit[] = "cost <= 0.6";
inline constexpr double kCostMax = 0.6;

struct Swarm {
  uint64_t seed = 0;
  std::string spec;     // JSON of a space file.
  Value program_curve;  // What the reports of its command, where it has one, come to.
  int64_t samples = 0;
  int64_t iterations = 0;
  Duration iteration_time;
  Duration lease;
  bool is_heavy = false;  // Many trials at a time: much is committed together.
  bool has_file_checkpoints = false;
  bool has_bucket = false;     // Checkpoints are kept in an object store.
  bool is_async = false;       // Reports do not wait for what is sent.
  bool is_order_free = false;  // fifo, or one trial at a time, and nothing but the order is random:
                               // the end must equal that of an undisturbed run.
  int64_t extend_to = 0;       // `tune resume --samples` at some resume; 0: never.
  bool retries_errored = false;  // `tune resume --errored`, at resumes in phase one.
  // `tune resume --set trainable...`, at half of the resumes in phase one.
  bool changes_trainable = false;
  std::vector<Machine> machines;
  // What earlier sweeps measured: trials of food11, of which two would be slower than one.
  std::vector<LaneSpeedRow> known_lanes;

  Duration latency_max;      // Of a message.
  int64_t old_lives = 0;     // The tuner's first lives are of a build that journalled otherwise.
  Duration commit_time_max;  // What a step of the tuner takes.
  Duration fault_time;       // Phase one.
  Duration liveness_bound;   // Phase two.
  bool name_follows_sync = false;
  bool begins_empty = false;  // The database is made by the run, else it is there with its tables.
  double parts =
      0;  // Share of the iterations that are reported in two parts, the metric in the second.
  bool has_cost = false;  // Reports have a metric besides, which limits on results name.
  bool has_clock_jumps = false;
  Duration clock_jump;  // The same at each new life of the tuner.
  Temper temper;
  FaultRates faults;
  std::vector<ScriptedFault> script;
  PlantedFault planted = PlantedFault::kNone;
};

Swarm DrawSwarm(uint64_t seed);
// The same sweep on the same machines, with nothing going wrong.
Swarm Undisturbed(Swarm swarm);
// Lines for a reader.
std::string Describe(const Swarm& swarm);

}  // namespace tune::sim
