// Connections between workers and tuners: bytes in order, each way with its own delay, through the
// real codec. What can go wrong with them: they break (what is under way is lost from some point
// on, and the two ends learn of it at different times), and they fall silent in one direction or
// both.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>

#include "core/ids.h"
#include "core/random.h"
#include "core/status.h"
#include "tests/sim/environment.h"

namespace tune::sim {

using ConnectionId = Id<struct ConnectionTag>;

class SimulatedNetwork {
 public:
  // The end of a connection: what arrives at a worker or at the tuner.
  class End {
   public:
    virtual ~End() = default;
    virtual void OnBytes(ConnectionId connection, const std::string& bytes) = 0;
    // The last that is heard. ok: the other side closed in order.
    virtual void OnClosed(ConnectionId connection, const Status& reason) = 0;
  };

  explicit SimulatedNetwork(Environment& environment);

  // Who takes connections now; null: nobody listens, connections are refused after a while.
  void Listen(End* tuner) { tuner_ = tuner; }

  ConnectionId Connect(End& worker);
  void SendUp(ConnectionId connection, std::string bytes);    // Worker to tuner.
  void SendDown(ConnectionId connection, std::string bytes);  // Tuner to worker.
  // What was sent before still arrives.
  void CloseUp(ConnectionId connection, const Status& reason);
  void CloseDown(ConnectionId connection, const Status& reason);
  // The tuner wants to hear nothing more of it either.
  void CloseBoth(ConnectionId connection);
  // The process at one end is gone: nothing more is delivered to it, and the other ends hear of it,
  // at once or after `notice`.
  void DropWorkerEnd(ConnectionId connection, Duration notice);
  void DropTunerEnds(Duration notice);

  // ---- faults
  void Cut(ConnectionId connection, Duration worker_notice, Duration tuner_notice);
  void Stall(ConnectionId connection, bool up, bool down, Duration time);
  // Nothing reaches or leaves this worker, by connections that are and that will be.
  void Partition(const End& worker, Duration time);
  bool IsPartitioned(const End& worker) const;
  void HealAll();
  std::vector<ConnectionId> Open() const;

 private:
  struct Piece {
    Instant arrives;
    std::string bytes;
    std::optional<Status> closes;  // The end of this direction.
  };
  struct Way {
    End* to = nullptr;  // Null once its end is gone or has heard the last.
    std::deque<Piece> pieces;
    Instant last_arrival;
    Instant stalled_until;
    bool is_closed = false;  // Nothing more is taken.
  };
  struct Connection {
    const End* worker = nullptr;
    Way up;
    Way down;
  };

  Way* Find(ConnectionId connection, bool is_up);
  void Put(ConnectionId id, bool is_up, Piece piece, Duration delay);
  void Deliver(ConnectionId id, bool is_up);
  void Break(ConnectionId id, bool is_up, Duration notice);
  void ForgetIfDone(ConnectionId id);

  Environment& environment_;
  KeyedRandom random_;
  End* tuner_ = nullptr;
  std::map<const End*, Instant> unreachable_until_;
  ConnectionId last_;
  std::map<ConnectionId, Connection> connections_;
};

}  // namespace tune::sim
