#include "tests/sim/simulated_network.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace tune::sim {

SimulatedNetwork::SimulatedNetwork(Environment& environment)
    : environment_(environment), random_(environment.swarm.seed, "network") {}

ConnectionId SimulatedNetwork::Connect(End& worker) {
  ++last_.value;
  Connection& connection = connections_[last_];
  connection.worker = &worker;
  connection.up.stalled_until = connection.down.stalled_until = unreachable_until_[&worker];
  connection.up.to = tuner_;
  connection.down.to = &worker;
  environment_.trace.Note("connect", {last_.value, tuner_ != nullptr});
  if (tuner_ == nullptr) {
    connection.up.is_closed = true;
    CloseDown(last_, Unavailable("nobody listens there"));
  }
  return last_;
}

SimulatedNetwork::Way* SimulatedNetwork::Find(ConnectionId connection, bool is_up) {
  const auto found = connections_.find(connection);
  if (found == connections_.end()) return nullptr;
  return is_up ? &found->second.up : &found->second.down;
}

void SimulatedNetwork::Put(ConnectionId id, bool is_up, Piece piece, Duration delay) {
  Way* const way = Find(id, is_up);
  if (way == nullptr || way->is_closed) return;
  const int64_t latency_us = environment_.swarm.latency_max.us;
  const Duration latency{1 + static_cast<int64_t>(random_.NextBelow(
                                 static_cast<uint64_t>(std::max<int64_t>(latency_us, 1))))};
  way->is_closed = piece.closes.has_value();
  way->last_arrival = std::max(way->last_arrival, environment_.happenings.now() + latency + delay);
  piece.arrives = way->last_arrival;
  way->pieces.push_back(std::move(piece));
  environment_.happenings.At(way->last_arrival, [this, id, is_up] { Deliver(id, is_up); });
}

void SimulatedNetwork::SendUp(ConnectionId connection, std::string bytes) {
  Put(connection, true, {{}, std::move(bytes), std::nullopt}, {});
}
void SimulatedNetwork::SendDown(ConnectionId connection, std::string bytes) {
  Put(connection, false, {{}, std::move(bytes), std::nullopt}, {});
}
void SimulatedNetwork::CloseUp(ConnectionId connection, const Status& reason) {
  Put(connection, true, {{}, "", reason}, {});
}
void SimulatedNetwork::CloseDown(ConnectionId connection, const Status& reason) {
  Put(connection, false, {{}, "", reason}, {});
}

void SimulatedNetwork::CloseBoth(ConnectionId connection) {
  CloseDown(connection, OkStatus());
  Way* const up = Find(connection, true);
  if (up == nullptr || up->to == nullptr) return;
  up->pieces.clear();
  up->is_closed = false;
  CloseUp(connection, OkStatus());
}

void SimulatedNetwork::Deliver(ConnectionId id, bool is_up) {
  const Instant now = environment_.happenings.now();
  for (Way* way = Find(id, is_up); way != nullptr; way = Find(id, is_up)) {
    if (way->to == nullptr || way->pieces.empty() || way->pieces.front().arrives > now) break;
    if (way->stalled_until > now) {
      environment_.happenings.At(way->stalled_until, [this, id, is_up] { Deliver(id, is_up); });
      break;
    }
    Piece piece = std::move(way->pieces.front());
    way->pieces.pop_front();
    End* const to = way->to;
    if (piece.closes) {
      way->to = nullptr;
      environment_.trace.Note(is_up ? "closed up" : "closed down", {id.value});
      to->OnClosed(id, *piece.closes);
    } else {
      environment_.trace.Fold(is_up ? "up" : "down", {id.value}, piece.bytes);
      to->OnBytes(id, piece.bytes);
    }
  }
  ForgetIfDone(id);
}

void SimulatedNetwork::ForgetIfDone(ConnectionId id) {
  const auto found = connections_.find(id);
  if (found == connections_.end()) return;
  if (found->second.up.to == nullptr && found->second.down.to == nullptr) connections_.erase(found);
}

// This direction loses what is under way, from some point on; its end hears of it later.
void SimulatedNetwork::Break(ConnectionId id, bool is_up, Duration notice) {
  Way* const way = Find(id, is_up);
  if (way == nullptr || way->to == nullptr) return;
  const size_t kept = random_.NextBelow(way->pieces.size() + 1);
  way->pieces.resize(kept);
  way->is_closed = false;
  Put(id, is_up, {{}, "", Unavailable("the connection broke")}, notice);
}

void SimulatedNetwork::DropWorkerEnd(ConnectionId connection, Duration notice) {
  if (Way* const down = Find(connection, false)) {
    down->to = nullptr;
    down->pieces.clear();
  }
  Break(connection, true, notice);
  ForgetIfDone(connection);
}

void SimulatedNetwork::DropTunerEnds(Duration notice) {
  tuner_ = nullptr;
  std::vector<ConnectionId> ids;
  for (auto& [id, connection] : connections_) {
    connection.up.to = nullptr;
    connection.up.pieces.clear();
    ids.push_back(id);
  }
  for (const ConnectionId id : ids) {
    Break(id, false, notice);
    ForgetIfDone(id);
  }
}

void SimulatedNetwork::Cut(ConnectionId connection, Duration worker_notice, Duration tuner_notice) {
  Break(connection, false, worker_notice);
  Break(connection, true, tuner_notice);
}

void SimulatedNetwork::Stall(ConnectionId connection, bool up, bool down, Duration time) {
  const Instant until = environment_.happenings.now() + time;
  for (const bool is_up : {true, false}) {
    Way* const way = Find(connection, is_up);
    if (way != nullptr && (is_up ? up : down)) way->stalled_until = until;
  }
}

void SimulatedNetwork::Partition(const End& worker, Duration time) {
  const Instant until = environment_.happenings.now() + time;
  unreachable_until_[&worker] = until;
  for (auto& [id, connection] : connections_) {
    if (connection.worker != &worker) continue;
    for (Way* way : {&connection.up, &connection.down}) {
      way->stalled_until = std::max(way->stalled_until, until);
    }
  }
}

bool SimulatedNetwork::IsPartitioned(const End& worker) const {
  const auto found = unreachable_until_.find(&worker);
  return found != unreachable_until_.end() && found->second > environment_.happenings.now();
}

void SimulatedNetwork::HealAll() {
  unreachable_until_.clear();
  const Instant now = environment_.happenings.now();
  for (auto& [id, connection] : connections_) {
    for (const bool is_up : {true, false}) {
      Way& way = is_up ? connection.up : connection.down;
      way.stalled_until = {};
      // What was late is not any more.
      way.last_arrival = std::min(way.last_arrival, now + environment_.swarm.latency_max);
      for (Piece& piece : way.pieces) piece.arrives = std::min(piece.arrives, way.last_arrival);
      environment_.happenings.At(way.last_arrival, [this, id = id, is_up] { Deliver(id, is_up); });
    }
  }
}

std::vector<ConnectionId> SimulatedNetwork::Open() const {
  std::vector<ConnectionId> open;
  for (const auto& [id, connection] : connections_) {
    if (connection.up.to != nullptr && connection.down.to != nullptr) open.push_back(id);
  }
  return open;
}

}  // namespace tune::sim
