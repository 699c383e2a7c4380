// What idle workers cost: worker-seconds that are paid for beyond the work, ours and
// dask-jobqueue's (adaptive.h), on the same traces, second by second in virtual time.
//
//   idle_cost_bench [--toy]
//
// A worker is paid for from when it is asked for until it is given back; it can work once it has
// started. Trials go to the lowest-numbered worker with a free CPU. Ours is the book that a head
// has (tuner/engines/pool_book.h), once with the default `idle` of ten minutes and once with an
// `idle` as long as a worker takes to start.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/cluster/adaptive.h"
#include "core/check.h"
#include "core/random.h"
#include "tuner/engines/pool_book.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

struct Task {
  int64_t arrives = 0, seconds = 1;
};

struct Trace {
  std::string name;
  int64_t start_seconds = 30;  // Of a worker.
  int64_t cpus = 1;            // Of a worker.
  int64_t max = 40;
  std::vector<Task> tasks{};  // By arrival.
};

struct Worker {
  int64_t asked_at = 0;
  bool has_joined = false;
  std::vector<std::pair<int64_t, int64_t>> running{};  // Ends at; took.
};

struct Bill {
  int64_t paid = 0;     // Worker-seconds.
  int64_t work = 0;     // Of them, at least: the trials' seconds divided by CPUs of a worker.
  int64_t asked = 0;    // Workers.
  double waited = 0;    // Mean of the trials, s.
  int64_t over_at = 0;  // When the last trial ended.
  int64_t idle() const { return paid - work; }
};

using Workers = std::map<int64_t, Worker>;

class Policy {
 public:
  virtual ~Policy() = default;
  // Asks for workers, and takes away those that have no task.
  virtual void Look(int64_t now, int64_t queued, Workers& workers) = 0;
  virtual void OnTaskDone(int64_t) {}
};

class AsDask final : public Policy {
 public:
  explicit AsDask(const Trace& trace) : trace_(trace) {}

  void OnTaskDone(int64_t seconds) override { adaptive_.OnTaskDone(static_cast<double>(seconds)); }
  void Look(int64_t now, int64_t queued, Workers& workers) override {
    AdaptiveLook look;
    look.queued = queued;
    look.threads = trace_.cpus;
    look.max = trace_.max;
    for (const auto& [number, worker] : workers) {
      if (worker.has_joined) {
        look.running[number] = static_cast<int64_t>(worker.running.size());
      } else {
        look.pending.insert(number);
      }
    }
    const AdaptiveOrder order = adaptive_.Look(look);
    for (int64_t i = 0; i < order.ask; ++i) workers[++last_].asked_at = now;
    for (const int64_t number : order.close) workers.erase(number);
  }

 private:
  const Trace& trace_;
  Adaptive adaptive_;
  int64_t last_ = 0;
};

class AsTune final : public Policy {
 public:
  AsTune(const Trace& trace, const std::string& idle)
      : cpus_(trace.cpus), cluster_(Cluster(trace, idle)), book_(cluster_, "tune-lab-1") {}

  void Look(int64_t now, int64_t queued, Workers& workers) override {
    ResourceRequest request;
    request.cpu_milli = kWholeMilli;
    std::vector<JoinedWorker> joined;
    for (const auto& [number, worker] : workers) {
      if (!worker.has_joined) continue;
      WorkerCapacity capacity;
      capacity.cpu_milli = cpus_ * kWholeMilli;
      JoinedWorker one;
      one.name = book_.PrefixOf(0) + std::to_string(number);
      one.view = EmptyWorker(WorkerId{number}, capacity);
      one.view.free_cpu_milli -= static_cast<int64_t>(worker.running.size()) * kWholeMilli;
      one.is_busy = !worker.running.empty();
      joined.push_back(std::move(one));
    }
    const Instant at = Instant{} + Seconds(static_cast<double>(now));
    WorkerDemand demand{"sweep", request, queued};
    for (const auto& [number, worker] : workers) {
      demand.running += static_cast<int64_t>(worker.running.size());
    }
    demand.takes = Takes(now, workers, demand.running);
    Obey(book_.Look({demand}, std::move(joined), at), at, now, workers);
  }
  void OnTaskDone(int64_t seconds) override {
    const Duration ran = Seconds(static_cast<double>(seconds));
    mean_ = mean_ ? Duration{mean_->us + (ran.us - mean_->us) / 8} : ran;
  }

 private:
  static ClusterSpec Cluster(const Trace& trace, const std::string& idle) {
    const Result<Value> document = ParseYaml(
        "pools: {p: {command: {up: [u, \"{name}\"], down: [d, \"{name}\"], list: [l]}, worker: "
        "{cpus: " +
        std::to_string(trace.cpus) + "}, max: " + std::to_string(trace.max) + ", idle: " + idle +
        ", join_timeout: 1h}}\n");
    TUNE_CHECK(document.ok());
    Result<ClusterSpec> cluster = InterpretCluster(*document, "lab.yaml", "/");
    TUNE_CHECK(cluster.ok());
    return *std::move(cluster);
  }

  // As a sweep tells it (tuner/sweep_turns.cc).
  std::optional<Duration> Takes(int64_t now, const Workers& workers, int64_t running) const {
    if (!mean_ || running == 0) return mean_;
    int64_t age = 0;
    for (const auto& [number, worker] : workers) {
      for (const auto& [ends, took] : worker.running) age += now - (ends - took);
    }
    return std::max(*mean_, Seconds(2.0 * static_cast<double>(age) / static_cast<double>(running)));
  }

  void Obey(const PoolOrders& orders, Instant at, int64_t now, Workers& workers) {
    for (const std::string& name : orders.ask[0]) workers[WorkerNumber(name)].asked_at = now;
    if (!orders.ask[0].empty()) {
      book_.OnAsked(0, orders.ask[0], std::vector<Status>(orders.ask[0].size()), at);
    }
    for (const std::string& name : orders.drain) workers.erase(WorkerNumber(name));
    if (!orders.give_back[0].empty()) {
      for (const std::string& name : orders.give_back[0]) workers.erase(WorkerNumber(name));
      book_.OnGivenBack(0, orders.give_back[0], OkStatus(), at);
    }
    if (!orders.list[0]) return;
    std::vector<Machine> machines;
    for (const auto& [number, worker] : workers) {
      machines.push_back({book_.PrefixOf(0) + std::to_string(number), MachineState::kRunning});
    }
    book_.OnListed(0, machines, at);
  }

  const int64_t cpus_;
  const ClusterSpec cluster_;
  PoolBook book_;
  std::optional<Duration> mean_;
};

// Until nothing is paid for any more.
Bill Live(const Trace& trace, Policy& policy) {
  Bill bill;
  Workers workers;
  std::deque<Task> queue;
  size_t next = 0, done = 0;
  for (int64_t now = 0; done < trace.tasks.size() || !workers.empty(); ++now) {
    while (next < trace.tasks.size() && trace.tasks[next].arrives <= now) {
      queue.push_back(trace.tasks[next++]);
    }
    for (auto& [number, worker] : workers) {
      ++bill.paid;
      worker.has_joined |= now >= worker.asked_at + trace.start_seconds;
      for (const auto& [ends, took] : worker.running) {
        if (ends > now) continue;
        policy.OnTaskDone(took);
        bill.over_at = now;
        ++done;
      }
      std::erase_if(worker.running, [now](const auto& task) { return task.first <= now; });
      const auto has_room = [&] {
        return worker.has_joined && static_cast<int64_t>(worker.running.size()) < trace.cpus;
      };
      for (; has_room() && !queue.empty(); queue.pop_front()) {
        bill.waited += static_cast<double>(now - queue.front().arrives);
        worker.running.emplace_back(now + queue.front().seconds, queue.front().seconds);
      }
    }
    const size_t before = workers.size();
    Workers kept = workers;
    policy.Look(now, static_cast<int64_t>(queue.size()), workers);
    for (const auto& [number, worker] : workers) bill.asked += kept.contains(number) ? 0 : 1;
    for (const auto& [number, worker] : kept) {
      TUNE_CHECK(workers.contains(number) || worker.running.empty());
    }
    TUNE_CHECK(static_cast<int64_t>(workers.size()) <=
               std::max<int64_t>(trace.max, static_cast<int64_t>(before)));
  }
  for (const Task& task : trace.tasks) bill.work += task.seconds;
  bill.work /= trace.cpus;
  bill.waited /= static_cast<double>(trace.tasks.size());
  return bill;
}

int64_t Exponential(KeyedRandom& random, double mean) {
  return std::max<int64_t>(1, static_cast<int64_t>(-mean * std::log(1 - random.NextDouble())));
}

std::vector<Trace> Traces(int64_t times) {
  KeyedRandom random(20261129, "idle cost");
  std::vector<Trace> traces;
  // dask-jobqueue 498 and 190, pycmor 267: work that is over before a worker has come.
  Trace& bursts = traces.emplace_back(Trace{"20 trials of 20 s each minute", 90});
  for (int64_t i = 0; i < 20 * times; ++i) {
    for (int64_t k = 0; k < 20; ++k) bursts.tasks.push_back({i * 60, 20});
  }
  Trace& wave = traces.emplace_back(Trace{"one trial more or less every 15 s", 60});
  for (int64_t i = 0; i < 80 * times; ++i) {
    for (int64_t k = 0; k < 8 + i % 3; ++k) wave.tasks.push_back({i * 15, 14});
  }
  Trace& people = traces.emplace_back(Trace{"sweeps of 20 to 100 trials of 1 to 10 min", 120});
  int64_t at = 0;
  for (int64_t i = 0; i < 6 * times; ++i) {
    at += Exponential(random, 1800);
    const auto trials = static_cast<int64_t>(20 + random.NextBelow(81));
    for (int64_t k = 0; k < trials; ++k) {
      people.tasks.push_back({at, static_cast<int64_t>(60 + random.NextBelow(541))});
    }
  }
  Trace& hours = traces.emplace_back(Trace{"jobs of an hour, one in 10 min", 180});
  at = 0;
  for (int64_t i = 0; i < 20 * times; ++i) {
    at += Exponential(random, 600);
    hours.tasks.push_back({at, Exponential(random, 3600)});
  }
  Trace& stops =
      traces.emplace_back(Trace{"ASHA: many short trials, few long, one at a time", 60, 8});
  at = 0;
  for (int64_t i = 0; i < 200 * times; ++i) {
    at += Exponential(random, 10);
    stops.tasks.push_back({at, Exponential(random, 30) * (i % 9 == 0 ? 9 : 1)});
  }
  return traces;
}

void Run(int64_t times) {
  std::printf(
      "| trace | start of a worker | policy | workers asked for | worker-s paid | beyond the work "
      "| of dask's | mean wait | over after |\n");
  std::printf("|---|---|---|---|---|---|---|---|---|\n");
  for (const Trace& trace : Traces(times)) {
    const std::string start = std::to_string(trace.start_seconds) + "s";
    AsDask dask(trace);
    AsTune at_once(trace, "3s"), by_start(trace, start), by_default(trace, "10m");
    const std::vector<std::pair<std::string, Policy*>> policies = {
        {"dask-jobqueue", &dask},
        {"tune, idle: 3s", &at_once},
        {"tune, idle: " + start, &by_start},
        {"tune, idle: 10m", &by_default}};
    double peer = 0;
    for (const auto& [name, policy] : policies) {
      const Bill bill = Live(trace, *policy);
      const auto idle = static_cast<double>(bill.idle());
      if (peer == 0) peer = idle;
      std::printf("| %s | %s | %s | %lld | %lld | %.0f | %.2f | %.0f s | %lld s |\n",
                  trace.name.c_str(), start.c_str(), name.c_str(),
                  static_cast<long long>(bill.asked), static_cast<long long>(bill.paid), idle,
                  idle / peer, bill.waited, static_cast<long long>(bill.over_at));
    }
  }
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  const bool is_toy = argc > 1 && std::strcmp(argv[1], "--toy") == 0;
  tune::Run(is_toy ? 1 : 10);
}
