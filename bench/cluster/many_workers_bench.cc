// What a head's decision costs with many workers: the controller and the book of its pool, both the
// production ones, in virtual time. One sweep under ASHA, workers of one CPU that the book asks for
// and that come half a minute later; each event is a step of its own.
//
//   many_workers_bench [--trials N] [--workers N] [--toy]
//
// One line for the number of workers. The store, the network and trial processes are left out: what
// they cost does not depend on how many workers there are.
#include <sys/resource.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <memory>
#include <queue>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "tuner/controller.h"
#include "tuner/engines/demand.h"
#include "tuner/engines/pool_book.h"
#include "tuner/experiment_controller.h"
#include "tuner/recovery.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

// As a head does (tuner/cli/head/head_pools.cc).
constexpr Duration kLookEvery = Milliseconds(100);
constexpr int64_t kLookShare = 20;

double CpuSeconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

double PeakMegabytes() {
  rusage usage = {};
  getrusage(RUSAGE_SELF, &usage);
  return static_cast<double>(usage.ru_maxrss) / 1024;
}

ClusterSpec OnePool(int64_t max) {
  const Result<Value> document = ParseYaml(
      "pools: {p: {command: {up: [u, \"{name}\"], down: [d, \"{name}\"], list: [l]}, worker: "
      "{cpus: 1}, join_timeout: 1h, max: " +
      std::to_string(max) + "}}\n");
  TUNE_CHECK(document.ok());
  Result<ClusterSpec> cluster = InterpretCluster(*document, "lab.yaml", "/");
  TUNE_CHECK(cluster.ok());
  return *std::move(cluster);
}

std::unique_ptr<ExperimentController> OneSweep(int64_t trials) {
  const Result<Value> document = ParseYaml(
      "{name: many, trainable: {curve: {value: x}}, metric: v, mode: max, space: {x: {uniform: [0, "
      "1]}}, scheduler: {asha: {max_t: 2, grace_period: 1, reduction_factor: 2}}, search: "
      "{algorithm: random}, "
      "samples: " +
      std::to_string(trials) + "}\n");
  TUNE_CHECK(document.ok());
  const Result<ExperimentSpec> spec = InterpretSpec(*document, "space.yaml", "/", false);
  TUNE_CHECK(spec.ok());
  auto controller = MakeController(*spec, 7, "many", "/artifacts");
  TUNE_CHECK(controller.ok());
  return *std::move(controller);
}

class World {
 public:
  World(int64_t workers, int64_t trials)
      : cluster_(OnePool(workers)),
        book_(cluster_, "tune-lab-1"),
        controller_(OneSweep(trials)),
        random_(20261129, "many workers") {}

  void Run() {
    now_ = Instant{} + Seconds(1000);
    Instant look_at = now_;
    while (!has_ended_) {
      const bool is_look = due_.empty() || look_at <= due_.top().at;
      now_ = is_look ? look_at : due_.top().at;
      if (is_look) {
        const Duration took = Look();
        look_at = now_ + std::max(kLookEvery, Duration{kLookShare * took.us});
        continue;
      }
      const Due due = due_.top();
      due_.pop();
      Happen(due);
    }
  }

  int64_t decisions = 0, looks = 0;
  double decision_seconds = 0, look_seconds = 0;
  size_t most_workers = 0;
  Duration took() const { return now_ - (Instant{} + Seconds(1000)); }

 private:
  // A worker comes, or a trial is at its next report.
  struct Due {
    Instant at;
    std::string name;
    WorkerId worker;
    StartAttempt start;
    int64_t reported = 0;
    bool is_ended = false;
    bool operator<(const Due& other) const { return at > other.at; }
  };

  Duration Look() {
    const double begin = CpuSeconds();
    const PoolOrders orders =
        book_.Look(DemandOf(controller_->head(), now_), JoinedOf(controller_->head()), now_);
    const Duration took = Seconds(CpuSeconds() - begin);
    look_seconds += took.seconds();
    ++looks;
    if (!orders.ask[0].empty()) {
      book_.OnAsked(0, orders.ask[0], std::vector<Status>(orders.ask[0].size()), now_);
    }
    for (const std::string& name : orders.ask[0]) {
      machines_[name] = {};
      due_.push({now_ + Seconds(30 + 10 * random_.NextDouble()), name, {}, {}});
    }
    for (const std::string& name : orders.drain) {
      Take({WorkerDrainRequested{machines_.at(name)}});
    }
    if (!orders.give_back[0].empty()) {
      for (const std::string& name : orders.give_back[0]) machines_.erase(name);
      book_.OnGivenBack(0, orders.give_back[0], OkStatus(), now_);
    }
    if (!orders.list[0]) return took;
    std::vector<Machine> machines;
    for (const auto& [name, worker] : machines_) machines.push_back({name});
    book_.OnListed(0, machines, now_);
    return took;
  }

  void Happen(const Due& due) {
    if (!due.name.empty()) {
      const WorkerId worker{++last_worker_};
      machines_[due.name] = worker;
      most_workers = std::max(most_workers, static_cast<size_t>(last_worker_));
      WorkerJoined joined{worker, due.name, "10.0.0.2:7", 1, {}};
      joined.capacity.cpu_milli = kWholeMilli;
      joined.is_local = false;
      joined.session = due.name;
      Take({joined});
      return;
    }
    if (due.is_ended) {
      Take({AttemptFinished{due.worker, {due.start.ref, Outcome::kCompleted, ""}}});
      return;
    }
    Report report;
    report.iteration = due.reported + 1;
    report.metrics = {{"v", random_.NextDouble()}};
    running_[due.start.ref.trial] = due;
    Take({ReportArrived{due.worker, {due.start.ref, report.iteration, report}}});
  }

  void Take(const Event& event) {
    const double begin = CpuSeconds();
    const Transition step = controller_->Apply({event}, now_);
    decision_seconds += CpuSeconds() - begin;
    ++decisions;
    for (const Action& action : step.actions) {
      has_ended_ |= std::get_if<EndOfExperiment>(&action) != nullptr;
      const auto* const send = std::get_if<SendToWorker>(&action);
      if (send == nullptr) continue;
      if (const auto* start = std::get_if<StartAttempt>(&send->message)) {
        due_.push({now_ + Half(), "", send->worker, *start});
      } else if (const auto* answer = std::get_if<AnswerReport>(&send->message)) {
        Due next = running_.extract(answer->ref.trial).mapped();
        ++next.reported;
        next.is_ended = next.reported == 2 || !GoesOn(answer->answer);
        next.at = next.is_ended ? now_ + Milliseconds(10) : now_ + Half();
        due_.push(std::move(next));
      }
    }
  }

  Duration Half() { return Seconds(20 + 20 * random_.NextDouble()); }

  const ClusterSpec cluster_;
  PoolBook book_;
  std::unique_ptr<ExperimentController> controller_;
  KeyedRandom random_;
  Instant now_;
  std::priority_queue<Due> due_;
  std::map<std::string, WorkerId> machines_;
  std::map<TrialNumber, Due> running_;
  int64_t last_worker_ = 0;
  bool has_ended_ = false;
};

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  int64_t trials = 1'000'000, workers = 10'000;
  for (int i = 1; i < argc; ++i) {
    const bool has_value = i + 1 < argc;
    if (std::strcmp(argv[i], "--toy") == 0) {
      trials = 300;
      workers = 50;
    } else if (std::strcmp(argv[i], "--trials") == 0 && has_value) {
      trials = std::max<int64_t>(1, std::atoll(argv[++i]));
    } else if (std::strcmp(argv[i], "--workers") == 0 && has_value) {
      workers = std::max<int64_t>(1, std::atoll(argv[++i]));
    } else {
      std::fprintf(stderr, "usage: many_workers_bench [--trials N] [--workers N] [--toy]\n");
      return 2;
    }
  }
  tune::World world(workers, trials);
  world.Run();
  std::printf("| %lld | %lld | %lld | %.1f us | %.2f ms | %.1f %% | %.0f MB |\n",
              static_cast<long long>(world.most_workers), static_cast<long long>(trials),
              static_cast<long long>(world.decisions),
              1e6 * world.decision_seconds / static_cast<double>(world.decisions),
              1e3 * world.look_seconds / static_cast<double>(world.looks),
              100 * (world.decision_seconds + world.look_seconds) * 1e6 /
                  static_cast<double>(world.took().us),
              tune::PeakMegabytes());
}
