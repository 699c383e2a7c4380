#include "tests/sim/head_swarm.h"

#include <utility>

#include "core/random.h"

namespace tune::sim {

namespace {

// Below n.
int64_t Below(int64_t n, KeyedRandom& random) {
  return static_cast<int64_t>(random.NextBelow(static_cast<uint64_t>(n)));
}

// Half of the sweeps have one, of up to all that the workers have.
std::string DrawReserve(int64_t cpus, KeyedRandom& random) {
  const int64_t trials = Below(8, random);
  if (trials < 4) return "";
  return R"(, "reserve": {"cpu": )" + std::to_string((trials - 3) * cpus) + "}";
}

Submission DrawSubmission(int64_t number, Duration fault_time, KeyedRandom& random,
                          KeyedRandom& of_reserves) {
  const auto below = [&](int64_t n) { return Below(n, random); };
  Submission one;
  one.name = "s" + std::to_string(number);
  one.seed = random.NextU64() >> 1;
  one.at = Seconds(random.NextUniform(0, fault_time.seconds()));
  one.iterations = 1 + below(6);
  const bool is_job = below(4) == 0;
  one.is_order_free = is_job || below(2) == 0;
  std::string scheduler;
  if (!one.is_order_free) {
    const char* const kinds[] = {R"({"asha": {"max_t": 9, "grace_period": 1}})",
                                 R"({"median_stopping": {"grace_period": 1}})",
                                 R"({"hyperband": {"max_t": 9}})",
                                 R"({"percentile": {"percentile": 50}})"};
    scheduler = std::string(R"(, "scheduler": )") + kinds[below(4)];
  }
  std::string limits = R"("unplaceable": "10000h")";
  if (below(3) == 0) limits += R"(, "max_concurrent": )" + std::to_string(1 + below(3));
  const int64_t samples = is_job ? 1 : 1 + below(14);
  const int64_t cpus = 1 + below(2);
  one.spec = R"({"name": ")" + one.name +
             R"(", "metric": "v", "mode": "max", "trainable": {"curve": )"
             R"({"value": "x", "iterations": )" +
             std::to_string(one.iterations) +
             R"(}}, "space": {"x": {"uniform": [0, 1]}}, "samples": )" + std::to_string(samples) +
             R"(, "resources": {"cpu": )" + std::to_string(cpus) + R"(}, "limits": {)" + limits +
             R"(}, "failure": {"max_failures": 1000, "backoff": 0.1}, "priority": )" +
             std::to_string(below(3)) + R"(, "weight": )" + std::to_string(1 + below(3)) +
             R"(, "owner": ")" + (below(2) == 0 ? "ada" : "bob") + "\"" +
             DrawReserve(cpus, of_reserves) + scheduler + "}";
  return one;
}

}  // namespace

HeadSwarm DrawHeadSwarm(uint64_t seed) {
  KeyedRandom random(seed, "head swarm");
  KeyedRandom of_reserves(seed, "head reserves");
  const auto below = [&](int64_t n) { return Below(n, random); };
  HeadSwarm swarm;
  swarm.fault_time = Seconds(random.NextUniform(5, 40));
  swarm.lease = Seconds(random.NextUniform(2, 12));
  swarm.latency_max = Milliseconds(1 + below(200));
  swarm.commit_time_max = Milliseconds(1 + below(60));
  swarm.has_clock_jumps = below(4) == 0;
  const int64_t sweeps = 1 + below(7);
  for (int64_t i = 0; i < sweeps; ++i) {
    swarm.submissions.push_back(DrawSubmission(i, swarm.fault_time, random, of_reserves));
  }
  const int64_t workers = 1 + below(4);
  const double crash = below(2) == 0 ? 0 : random.NextUniform(0, 0.1);
  for (int64_t i = 0; i < workers; ++i) {
    const Duration iteration = Milliseconds(20 + below(1500));
    // At least one has room for the largest; the head has at most one of its own.
    swarm.workers.push_back(
        {i, i == 0 && below(2) == 0, i == 0 ? 2 + below(4) : 1 + below(4), iteration, crash});
  }
  for (Duration* const fault :
       {&swarm.kill, &swarm.kill_in_commit, &swarm.power_loss, &swarm.disk_full, &swarm.disk_error,
        &swarm.stop, &swarm.worker_kill, &swarm.cut, &swarm.unfit, &swarm.drain, &swarm.command}) {
    if (below(2) == 0) *fault = Seconds(swarm.fault_time.seconds() * random.NextUniform(0.05, 1));
  }
  // Rarer than the others: a sweep that is interrupted often leaves little to a full disk.
  if (below(4) == 0) {
    swarm.interrupt = Seconds(swarm.fault_time.seconds() * random.NextUniform(0.05, 1));
  }
  return swarm;
}

}  // namespace tune::sim
