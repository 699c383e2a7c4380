// A book of pools and what it asks of: an engine that is late, answers twice, fails or never does,
// its machines and their workers, in virtual time.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "tuner/engines/pool_book.h"
#include "tuner/spec_reader.h"

namespace tune {

inline ClusterSpec Cluster(const std::string& more = "") {
  const Result<Value> document = ParseYaml(
      "pools: {p: {command: {up: [u, \"{name}\"], down: [d, \"{name}\"], list: [l]}, worker: "
      "{cpus: 2}, max: 40, idle: 10m, join_timeout: 2m" +
      more + "}}\n");
  TUNE_CHECK(document.ok());
  Result<ClusterSpec> cluster = InterpretCluster(*document, "lab.yaml", "/");
  TUNE_CHECK(cluster.ok());
  return *std::move(cluster);
}

inline WorkerDemand Trials(int64_t count) {
  ResourceRequest request;
  request.cpu_milli = 1000;
  return {"a", request, count};
}

// An engine, its machines and their workers, a second at a time.
class World {
 public:
  explicit World(ClusterSpec cluster) : cluster_(std::move(cluster)) { Begin(); }

  // The head begins anew, with what was stored.
  void Restart() {
    Begin();
    if (stored_.is_map()) TUNE_CHECK(book_->Restore(stored_, now_).ok());
  }

  struct Vm {
    MachineState state = MachineState::kPending;
    Instant made_at;
    int64_t cpus_used = 0;
    bool has_joined = false;
    bool is_draining = false;
    WorkerId worker;
  };

  // What trials there are to run; as many as there is room for run.
  int64_t work = 0;
  std::optional<Duration> takes;  // A trial, as far as the head knows.
  Duration boot = Seconds(30);    // From asked for to joined.
  bool is_reachable = true;
  bool starts = true;  // Else they stay pending.
  bool joins = true;
  bool are_away = false;       // The workers' connections are broken.
  bool are_forgotten = false;  // They are, and the workers have no trials.
  bool answers = true;         // Else calls that ask or give back go on.
  bool are_told_to = false;    // A person tells all workers to leave, and they have trials to save.
  Duration listed_after;       // From asked for; nor can it be given back before.
  Status refusal;
  Status return_refusal;
  std::map<std::string, Vm> machines;
  int64_t asked = 0;
  int64_t given_back = 0;
  int64_t return_calls = 0;
  int64_t asked_twice = 0;
  int64_t killed_busy = 0;
  int64_t most = 0;
  double machine_seconds = 0;
  std::vector<std::string> said;

  PoolBook& book() { return *book_; }
  Instant now() const { return now_; }

  // The head and its machines do not run for so long.
  void Suspend(double seconds) { now_ = now_ + Seconds(seconds); }
  void Run(double seconds) {
    for (const Instant end = now_ + Seconds(seconds); now_ < end;) Second();
  }

 private:
  void Begin() { book_.emplace(cluster_, "tune-lab-1"); }

  void Second() {
    now_ = now_ + Seconds(1);
    for (auto& [name, vm] : machines) {
      if (vm.state == MachineState::kPending && starts) vm.state = MachineState::kRunning;
      const bool is_up = vm.state == MachineState::kRunning && now_ >= vm.made_at + boot;
      if (is_up && joins && !vm.has_joined) {
        vm.has_joined = true;
        vm.worker = WorkerId{++last_worker_};
      }
      if (vm.is_draining) vm.cpus_used = 0, vm.has_joined = false, vm.state = MachineState::kEnded;
      machine_seconds += vm.state == MachineState::kEnded ? 0 : 1;
    }
    std::erase_if(machines, [](const auto& one) { return one.second.is_draining; });
    most = std::max<int64_t>(most, static_cast<int64_t>(machines.size()));
    // Trials of one second or more: all places are taken anew.
    int64_t left = work;
    std::vector<JoinedWorker> joined;
    for (auto& [name, vm] : machines) {
      if (!vm.has_joined || are_forgotten) continue;
      vm.cpus_used = std::min<int64_t>(left, 2);
      left -= vm.cpus_used;
      JoinedWorker worker;
      worker.name = name;
      worker.view = EmptyWorker(vm.worker, Capacity());
      worker.view.free_cpu_milli -= vm.cpus_used * 1000;
      worker.is_busy = vm.cpus_used > 0;
      worker.is_away = are_away;
      worker.is_leaving = are_told_to;
      worker.view.is_draining = are_away || are_told_to;
      joined.push_back(worker);
    }
    WorkerDemand demand = Trials(left);
    demand.takes = takes;
    demand.running = work - left;
    const PoolOrders orders = book_->Look({demand}, joined, now_);
    if (orders.is_changed) stored_ = book_->Encode();
    Obey(orders);
  }

  static WorkerCapacity Capacity() {
    WorkerCapacity capacity;
    capacity.cpu_milli = 2000;
    return capacity;
  }

  void Obey(const PoolOrders& orders) {
    said.insert(said.end(), orders.say.begin(), orders.say.end());
    if (!orders.ask[0].empty()) {
      std::vector<Status> answers;
      for (const std::string& name : orders.ask[0]) {
        asked_twice += machines.contains(name) ? 1 : 0;
        Status answer = refusal;
        if (!is_reachable) answer = Unavailable("no answer");
        if (answer.ok()) machines[name].made_at = now_;
        ++asked;
        answers.push_back(answer);
      }
      if (this->answers) book_->OnAsked(0, orders.ask[0], answers, now_);
    }
    for (const std::string& name : orders.drain) {
      TUNE_CHECK(machines.contains(name));
      killed_busy += machines[name].cpus_used > 0 && !book_->is_closing() ? 1 : 0;
      machines[name].is_draining = true;
    }
    if (!orders.give_back[0].empty()) {
      ++return_calls;
      for (const std::string& name : orders.give_back[0]) {
        if (!is_reachable || !return_refusal.ok()) break;
        const auto found = machines.find(name);
        if (found == machines.end() || now_ < found->second.made_at + listed_after) continue;
        killed_busy += found->second.cpus_used > 0 && !book_->is_closing() ? 1 : 0;
        machines.erase(found);
        ++given_back;
      }
      const Status status = is_reachable ? return_refusal : Unavailable("no answer");
      if (answers) book_->OnGivenBack(0, orders.give_back[0], status, now_);
    }
    for (const auto& [pool, name] : orders.logs) book_->OnLog(pool, name, "one\nno route\n", now_);
    if (!orders.list[0]) return;
    if (!is_reachable) {
      book_->OnListed(0, Unavailable("no answer"), now_);
      return;
    }
    std::vector<Machine> list;
    for (const auto& [name, vm] : machines) {
      if (now_ >= vm.made_at + listed_after) list.push_back({name, vm.state, "why"});
    }
    list.push_back({"somebody-elses", MachineState::kRunning, ""});
    book_->OnListed(0, list, now_);
  }

  const ClusterSpec cluster_;
  std::optional<PoolBook> book_;
  Value stored_;
  Instant now_{1'000'000'000};
  int64_t last_worker_ = 0;
};

}  // namespace tune
