#include "tests/sim/scenarios.h"

#include <utility>

namespace tune::sim {
namespace {

constexpr char kAsha[] = R"json({"name":"sweep","metric":"value","mode":"min","samples":4,
"trainable":{"curve":{"value":"(x - 0.3)^2 + exp(-0.2 * t)","iterations":6}},
"space":{"x":{"uniform":[0.0,1.0]}},
"scheduler":{"asha":{"max_t":6,"reduction_factor":2}},
"limits":{"max_concurrent":1,"lease":"5s","unplaceable":"30d"},"failure":{"backoff":0}})json";
constexpr char kFifo[] = R"json({"name":"sweep","metric":"value","mode":"min","samples":4,
"trainable":{"curve":{"value":"(x - 0.3)^2 + exp(-0.2 * t)","iterations":20}},
"space":{"x":{"uniform":[0.0,1.0]}},
"limits":{"lease":"5s","unplaceable":"30d"},"failure":{"backoff":0}})json";

// Two workers, of which none is the tuner's own; each iteration takes half a second.
Swarm Base(const char* spec) {
  Swarm swarm;
  swarm.seed = 1;
  swarm.spec = spec;
  swarm.samples = 4;
  swarm.iteration_time = Milliseconds(500);
  swarm.has_file_checkpoints = true;
  swarm.lease = Seconds(5);
  for (int i = 0; i < 2; ++i) {
    Machine machine;
    machine.capacity.cpu_milli = 2 * kWholeMilli;
    swarm.machines.push_back(machine);
  }
  swarm.latency_max = Milliseconds(5);
  swarm.commit_time_max = Milliseconds(5);
  swarm.fault_time = Seconds(60);
  swarm.liveness_bound = Seconds(3600);
  swarm.is_order_free = true;
  return swarm;
}

int64_t Times(const RunResult& result, const char* what) {
  const auto found = result.coverage.find(what);
  return found == result.coverage.end() ? 0 : found->second;
}

// How often each must have happened; at_least, or exactly.
struct Expectation {
  const char* what;
  int64_t times;
  bool is_exact;
};

std::string Check(const Swarm& swarm, bool is_verbose,
                  const std::vector<Expectation>& expectations) {
  const RunResult result = RunSeed(swarm, false, is_verbose);
  if (!result.finding.empty()) return result.finding;
  for (const Expectation& expected : expectations) {
    const int64_t times = Times(result, expected.what);
    if (expected.is_exact ? times == expected.times : times >= expected.times) continue;
    return std::string(expected.what) + ": " + std::to_string(times) + " times, expected " +
           (expected.is_exact ? "" : "at least ") + std::to_string(expected.times);
  }
  return "";
}

Expectation Exactly(const char* what, int64_t times) { return {what, times, true}; }
Expectation AtLeast(const char* what, int64_t times) { return {what, times, false}; }

// The first life dies at its 1st call, its 2nd, ... until it lives through.
std::string AtEveryCall(FaultKind kind, bool is_verbose) {
  Swarm swarm = Base(kAsha);
  swarm.begins_empty = true;
  const RunResult undisturbed = Run(Undisturbed(swarm));
  for (int64_t calls = 1;; ++calls) {
    swarm.seed = 1;
    swarm.script = {{kind, {}, 0, {}, calls}};
    const RunResult result = Run(swarm, is_verbose);
    const std::string place = "at call " + std::to_string(calls) + ": ";
    if (!result.finding.empty()) return place + result.finding;
    if (result.table != undisturbed.table)
      return place + "the end is not that of an undisturbed run";
    if (result.tuner_lives == 1) return calls > 100 ? "" : "there were hardly any calls";
  }
}

std::string KilledAtEveryCall(bool v) { return AtEveryCall(FaultKind::kTunerKillAtCall, v); }
std::string PowerLossAtEveryCall(bool v) { return AtEveryCall(FaultKind::kPowerLossAtCall, v); }

std::string UnreachableForLess(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kPartition, Seconds(4), 0, Seconds(3), 0},
                  {FaultKind::kPartition, Seconds(4), 1, Seconds(3), 0}};
  return Check(swarm, v,
               {AtLeast("a worker came back with attempts", 1), Exactly("attempt lost", 0),
                Exactly("attempt completed", 4)});
}

std::string UnreachableForLonger(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kPartition, Seconds(4), 0, Seconds(20), 0}};
  return Check(swarm, v, {AtLeast("attempt lost", 1), Exactly("attempt completed", 4)});
}

std::string Frozen(bool v) {
  return Check(FrozenBeyondItsLease(), v,
               {AtLeast("attempt lost", 1), Exactly("attempt completed", 4)});
}

std::string TunerBackInTime(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kTunerKill, Seconds(5), 0, Seconds(2), 0}};
  return Check(swarm, v,
               {Exactly("the tuner was resumed", 1), AtLeast("a worker came back with attempts", 1),
                Exactly("attempt lost", 0), Exactly("attempt completed", 4)});
}

std::string TunerBackTooLate(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kTunerKill, Seconds(5), 0, Seconds(20), 0}};
  return Check(swarm, v,
               {AtLeast("attempt lost", 1), Exactly("a worker came back with attempts", 0),
                Exactly("attempt completed", 4)});
}

std::string TunerBackInTheMorning(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.spec.insert(swarm.spec.find("\"lease\""), "\"no_progress\":\"10s\",");
  swarm.script = {{FaultKind::kTunerKill, Seconds(5), 0, Seconds(8 * 3600), 0}};
  swarm.liveness_bound = Seconds(8 * 3600 + 600);
  return Check(swarm, v, {AtLeast("attempt lost", 1), Exactly("attempt completed", 4)});
}

std::string PowerLoss(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kPowerLoss, Seconds(5), 0, {}, 0}};
  return Check(swarm, v, {Exactly("the tuner was resumed", 1), Exactly("attempt completed", 4)});
}

std::string DiskFull(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kDiskFull, Seconds(5), 0, Seconds(10), 0}};
  return Check(swarm, v, {AtLeast("the tuner was resumed", 1), Exactly("attempt completed", 4)});
}

std::string DamagedCheckpoint(bool v) {
  Swarm swarm = Base(kAsha);
  swarm.script = {{FaultKind::kCorruption, Milliseconds(3500), 0, {}, 0},
                  {FaultKind::kWorkerKill, Milliseconds(3500), 0, {}, 0},
                  {FaultKind::kWorkerKill, Milliseconds(3500), 1, {}, 0}};
  return Check(swarm, v, {Exactly("a checkpoint was damaged", 1)});
}

std::string HangingTrials(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.spec.insert(swarm.spec.find("\"lease\""), "\"no_progress\":\"10s\",");
  swarm.spec.insert(swarm.spec.find("\"backoff\""), "\"max_failures\":-1,");
  swarm.temper.hang = 0.1;
  swarm.temper.ignore_sigterm = 0.5;
  return Check(swarm, v, {AtLeast("attempt hung", 1), Exactly("attempt completed", 4)});
}

std::string StoppedTuner(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kTunerStop, Seconds(5), 0, Seconds(4), 0}};
  return Check(swarm, v,
               {AtLeast("the tuner slept", 1), Exactly("a worker was silent for its lease", 0),
                Exactly("attempt lost", 0), Exactly("attempt completed", 4)});
}

std::string WorkerTold(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kWorkerTerminate, Seconds(5), 0, {}, 0}};
  return Check(swarm, v,
               {AtLeast("attempt preempted", 1), Exactly("a worker said goodbye", 1),
                Exactly("attempt completed", 4)});
}

// Once each life: four trials report twice a second, and save every 50th.
std::string SavedWhenTold(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.spec.insert(swarm.spec.find("\"limits\""), "\"checkpoint\":{\"every\":50},");
  swarm.script = {{FaultKind::kWorkerTerminate, Seconds(5), 0, {}, 0},
                  {FaultKind::kInterrupt, Seconds(8), 0, {}, 0}};
  return Check(swarm, v,
               {AtLeast("a trial saved before it was due", 4), AtLeast("attempt preempted", 4),
                Exactly("attempt lost", 0), Exactly("attempt completed", 4)});
}

// Each machine has room for two trials on its device.
std::string LostDevice(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.spec.insert(swarm.spec.find("\"limits\""), "\"resources\":{\"cpu\":1,\"gpu\":0.5},");
  for (Machine& machine : swarm.machines) {
    machine.capacity.devices = {Device{0, "card", 24'000, "GPU-0"}};
  }
  swarm.script = {{FaultKind::kDeviceLoss, Seconds(5), 0, {}, 0}};
  return Check(swarm, v,
               {Exactly("a device fell away", 1), Exactly("attempt lost", 2),
                Exactly("attempt completed", 4)});
}

std::string ClockSetBack(bool v) {
  Swarm swarm = Base(kFifo);
  const std::string_view policy = "\"backoff\":0";
  swarm.spec.replace(swarm.spec.find(policy), policy.size(), "\"max_failures\":-1,\"backoff\":5");
  swarm.temper.crash = 0.1;
  swarm.clock_jump = Seconds(-3600);
  swarm.liveness_bound = Seconds(600);
  for (int i = 1; i < 10; ++i) {
    swarm.script.push_back({FaultKind::kTunerKill, Seconds(3 * i), 0, Seconds(1), 0});
  }
  return Check(swarm, v, {Exactly("attempt completed", 4)});
}

std::string SecondInterrupt(bool v) {
  Swarm swarm = Base(kFifo);
  swarm.script = {{FaultKind::kInterruptTwice, Seconds(5), 0, {}, 0}};
  return Check(swarm, v, {AtLeast("the tuner was resumed", 1), Exactly("attempt completed", 4)});
}

std::string Extended(bool v) {
  Swarm swarm = Base(kAsha);
  swarm.is_order_free = false;
  swarm.extend_to = 8;
  return Check(swarm, v, {Exactly("the sweep was extended", 1)});
}

}  // namespace

Swarm FrozenBeyondItsLease() {
  Swarm swarm = Base(kFifo);
  // The other one has room for its trials when its own have ended, after about twelve seconds.
  swarm.script = {{FaultKind::kWorkerStop, Seconds(4), 0, Seconds(11), 0}};
  return swarm;
}

const std::vector<Scenario>& AllScenarios() {
  static const std::vector<Scenario> scenarios = {
      {"the tuner is killed at each of its system calls in turn", KilledAtEveryCall},
      {"the power goes at each of the tuner's system calls in turn", PowerLossAtEveryCall},
      {"workers are unreachable for less than their lease, and their trials go on",
       UnreachableForLess},
      {"a worker is unreachable for longer than its lease, and what it did has no effect",
       UnreachableForLonger},
      {"a worker that was frozen wakes up beyond its lease, and what it says has no effect",
       Frozen},
      {"the tuner comes back within the lease and takes up the trials that went on",
       TunerBackInTime},
      {"the tuner stays away for longer than the lease, and the workers have ended",
       TunerBackTooLate},
      {"a sweep that is resumed in the morning waits for its workers of the evening for a lease",
       TunerBackInTheMorning},
      {"the power goes in the middle of a sweep", PowerLoss},
      {"the disk is full for a while", DiskFull},
      {"the newest checkpoint is damaged, and the one before is used", DamagedCheckpoint},
      {"trials that hang are ended and tried again", HangingTrials},
      {"a tuner that did not run blames no worker", StoppedTuner},
      {"a worker that is told to end gives its trials back free of charge", WorkerTold},
      {"what no checkpoint holds is saved when a worker or the sweep is told to end",
       SavedWhenTold},
      {"a device falls away, and what ran there goes on elsewhere free of charge", LostDevice},
      {"the clock is set back an hour at each life of the tuner", ClockSetBack},
      {"a second Ctrl-C ends at once and loses nothing", SecondInterrupt},
      {"a finished sweep is extended and keeps its rungs", Extended},
  };
  return scenarios;
}

}  // namespace tune::sim
