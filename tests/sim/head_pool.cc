#include "tests/sim/head_pool.h"

#include <algorithm>
#include <utility>

#include "tests/sim/describe.h"

namespace tune::sim {

HeadPool::HeadPool(const HeadSwarm& swarm, const HeadWorker::IterationsOf& iterations_of, Head head,
                   Happenings& happenings, Trace& trace, uint64_t seed)
    : swarm_(swarm),
      head_(std::move(head)),
      happenings_(happenings),
      trace_(trace),
      random_(seed, "head pool") {
  for (const HeadWorker::Options& options : swarm_.workers) {
    Station& station = *stations_.emplace_back(std::make_unique<Station>());
    station.number = options.index;
    station.worker =
        std::make_unique<HeadWorker>(options, iterations_of, happenings_, trace_, seed);
  }
}

void HeadPool::Begin() {
  for (const auto& station : stations_) {
    if (!station->worker->is_local()) Start(*station, {});
  }
}

void HeadPool::BeginLocal() {
  for (const auto& station : stations_) {
    if (station->worker->is_local()) Start(*station, Milliseconds(20));
  }
}

// ---- connections

void HeadPool::Start(Station& station, Duration wait) {
  if (std::exchange(station.is_start_due, true)) return;
  happenings_.After(wait, [this, &station] {
    station.is_start_due = false;
    if (station.worker->is_alive() || (station.worker->is_local() && !head_.is_alive())) return;
    station.worker->Start();
    Connect(station);
  });
}

void HeadPool::Connect(Station& station) {
  if (!station.worker->is_alive() || station.worker->is_connected()) return;
  if (!head_.is_alive()) {
    happenings_.After(Pause(0.3), [this, &station, connection = station.connection] {
      if (station.connection == connection) Connect(station);
    });
    return;
  }
  ++station.connection;
  trace_.Note("worker connects", {station.number});
  station.up_until = station.down_until = happenings_.now();
  station.worker->Connect([this, &station](FromWorker message) {
    Deliver(station, station.up_until, [this, &station, message = std::move(message)]() mutable {
      Arrived(station, std::move(message));
    });
  });
}

void HeadPool::Deliver(Station& station, Instant& until, Happenings::Act act) {
  const auto latency = static_cast<uint64_t>(swarm_.latency_max.us);
  until = std::max(
      until, happenings_.now() + Duration{1 + static_cast<int64_t>(random_.NextBelow(latency))});
  happenings_.At(until, [&station, connection = station.connection, act = std::move(act)] {
    if (station.connection == connection) act();
  });
}

void HeadPool::Arrived(Station& station, FromWorker message) {
  if (std::holds_alternative<Hello>(message)) {
    station.id = head_.new_worker();
    workers_[*station.id] = &station;
  }
  if (!station.id) return trace_.Fail("a worker spoke before its Hello");
  if (trace_.is_verbose()) trace_.Print("  to head: " + Describe(message));
  head_.arrived(*station.id, std::move(message));
}

void HeadPool::Send(WorkerId worker, std::vector<ToWorker> messages) {
  const auto found = workers_.find(worker);
  if (found == workers_.end()) return;
  Station& station = *found->second;
  for (ToWorker& message : messages) {
    Deliver(station, station.down_until, [this, &station, message = std::move(message)] {
      if (!station.worker->is_connected()) return;
      if (trace_.is_verbose()) trace_.Print("  to worker: " + Describe(message));
      station.worker->On(message);
      // It was sent home, and its goodbye is under way; somebody starts it anew.
      if (station.worker->is_alive()) return;
      Deliver(station, station.up_until, [this, &station] { Break(station); });
    });
  }
}

void HeadPool::Close(WorkerId worker) {
  const auto found = workers_.find(worker);
  if (found != workers_.end()) Break(*found->second);
}

// At both ends.
void HeadPool::Break(Station& station) {
  const std::optional<WorkerId> id = station.id;
  Drop(station);
  if (id) head_.arrived(*id, WorkerDisconnected{});
}

// A worker that lives tries again.
void HeadPool::Drop(Station& station) {
  trace_.Note("connection is gone", {station.number});
  ++station.connection;
  if (station.id) workers_.erase(*station.id);
  station.id.reset();
  station.worker->Disconnect();
  if (station.worker->is_local()) station.worker->Kill();
  if (!station.worker->is_alive()) return Start(station, Pause(3));
  happenings_.After(Pause(0.5), [this, &station, connection = station.connection] {
    if (station.connection == connection) Connect(station);
  });
}

void HeadPool::DropAll() {
  for (const auto& station : stations_) Drop(*station);
}

// ---- faults

void HeadPool::KillOne() {
  Station& station = Any();
  if (!station.worker->is_alive()) return;
  trace_.Note("worker killed", {station.number});
  station.worker->Kill();
  Break(station);
}

void HeadPool::CutOne() {
  Station& station = Any();
  if (station.worker->is_local() || !station.worker->is_connected()) return;
  trace_.Note("cut", {station.number});
  Break(station);
}

void HeadPool::MakeOneUnfit() {
  HeadWorker& worker = *Any().worker;
  worker.BecomeUnfit();
  happenings_.After(Pause(3), [&worker] { worker.BecomeFit(); });
}

std::optional<WorkerId> HeadPool::OneToDrain() {
  const Station& station = Any();
  return station.worker->is_local() ? std::nullopt : station.id;
}

void HeadPool::EndFaults() {
  for (const auto& station : stations_) {
    station->worker->EndCrashes();
    station->worker->BecomeFit();
  }
}

}  // namespace tune::sim
