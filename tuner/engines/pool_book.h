// The workers that were asked of engines, from the wish to the last look that finds nothing left:
// what is asked now, what became of each request, when a pool rests. Engines are called by others
// (engine_desk.h), who tell what came of it; the book decides alone.
//
// Thread rule: one thread. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "core/value.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"
#include "tuner/engines/workers_wanted.h"

namespace tune {

enum class RequestState {
  kAsking,     // The engine is being asked, or whether it was is not known.
  kRequested,  // The engine has it, and has not started it.
  kStarted,    // Its machine runs; the worker has not joined.
  kJoined,
  kDraining,   // The worker is told to leave.
  kReturning,  // The engine is told to take it back; until it lists it no more.
};
const char* RequestStateName(RequestState state);

struct WorkerRequest {
  std::string name;
  size_t pool = 0;
  RequestState state = RequestState::kAsking;
  Instant since;  // Of this state, and of is_away.
  Instant asked_at;
  std::optional<Instant> started_at;  // First seen to run, in whichever life of the head.
  std::optional<Instant> unneeded_since;
  std::string reason = {};  // The engine's, or ours, for people.
  // When the engine's answer to the wish came, or the head that waited for it was killed.
  std::optional<Instant> answered_at;
  // When its answer came to the last order to take it back.
  std::optional<Instant> returned_at;
  bool is_refused = false;       // That answer was a failure.
  bool is_return_asked = false;  // That order is under way.
  bool is_log_asked = false;
  // Asked for in this life of the head, and not joined yet: the pool learns how long that takes.
  bool is_awaited = false;
  bool is_away = false;    // It has joined: its connection broke, and it is waited for.
  bool may_appear = true;  // Neither listed, joined nor refused: the engine may have it.
  int64_t missed = 0;      // Listings in a row that did not have it.
  // Since when its machine cannot be looked at, though the engine answers.
  std::optional<Instant> unreached_since;
};

struct FailedRequest {
  std::string name;
  Instant at;
  std::string why;
  std::vector<std::string> log;  // The last lines of its worker.
};

struct PoolRecord {
  std::optional<WorkerCapacity> capacity;  // Of a worker that joined, where the file does not say.
  int64_t next_number = 1;                 // Of the next name.
  std::optional<Duration> start;           // From asked for to joined: a moving mean.
  int64_t failures = 0;                    // Rests in a row.
  int64_t failed_count = 0;                // Requests, since the head began.
  std::optional<Instant> rests_until;
  std::string why_it_rests;
  std::string unreachable;  // Why the engine's last listing failed; empty: it did not.
  std::optional<Instant> unreachable_since;
  std::optional<Instant> listed_at;
  std::optional<Instant> list_due;
  bool is_listing = false;
  std::optional<Instant> list_asked_at;
  bool is_known = false;  // It was listed once in this life.
  std::deque<FailedRequest> failed;
};

// What is to be done, in this order.
struct PoolOrders {
  std::vector<std::vector<std::string>> ask;         // By pool, names.
  std::vector<std::vector<std::string>> give_back;   // By pool.
  std::vector<bool> list;                            // By pool.
  std::vector<std::pair<size_t, std::string>> logs;  // Pool and name.
  std::vector<std::string> drain;                    // Workers by name.
  std::vector<std::string> say;                      // For a person.
  bool call_off = false;    // What is being asked for is not wanted any more.
  bool is_changed = false;  // What Encode() tells is to be durable before anything is asked.

  // Adds what a later look orders of the engines; `drain` and `say` are not theirs.
  void Append(PoolOrders later);
};

// The number that a worker's name ends with, behind its last dash; 0: there is none.
int64_t WorkerNumber(const std::string& name);

class PoolBook {
 public:
  // `prefix`: what all names begin with, of this cluster alone.
  PoolBook(const ClusterSpec& cluster, std::string prefix);

  // What Encode() told in an earlier life. kFailedPrecondition: a pool with workers is not in the
  // file any more. kDataLoss: it is no such text.
  Status Restore(const Value& stored, Instant now);
  Value Encode() const;

  // Everything goes, and nothing more is asked for. `now`: without waiting for trials.
  void Close(bool at_once);
  bool is_closing() const { return is_closing_; }
  bool IsEmpty() const;  // All is given back, and the engines have been seen without it.
  // While it closes: nothing is left but workers on hosts of one's own that have not been reached
  // for kUnreachedMax. Such a worker ends by itself when its head is gone.
  bool IsEmptyButUnreached(Instant now) const;

  // Called often. `joined`: all workers that are connected or waited for.
  PoolOrders Look(const std::vector<WorkerDemand>& demand, std::vector<JoinedWorker> joined,
                  Instant now);

  // ---- what came of orders, in the order in which they were given to each pool

  void OnAsked(size_t pool, const std::vector<std::string>& names,
               const std::vector<Status>& answers, Instant now);
  void OnListed(size_t pool, const Result<std::vector<Machine>>& machines, Instant now);
  void OnGivenBack(size_t pool, const std::vector<std::string>& names, const Status& status,
                   Instant now);
  void OnLog(size_t pool, const std::string& name, const std::string& text, Instant now);

  // ---- what is known

  const std::map<std::string, WorkerRequest>& requests() const { return requests_; }
  const std::vector<PoolRecord>& pools() const { return pools_; }
  const WantedWorkers& wanted() const { return wanted_; }
  const std::vector<WorkerDemand>& demand() const { return demand_; }
  int64_t joined_count(size_t pool) const;  // Without those that are away.
  std::string PrefixOf(size_t pool) const;

  static constexpr Duration kRest = Seconds(10);  // After the first failure; it doubles.
  static constexpr Duration kRestMax = Seconds(600);
  static constexpr Duration kLookSoon = Seconds(1);  // At an engine that is to do something.
  static constexpr Duration kLookAgain = Seconds(5);
  static constexpr Duration kLookLater = Seconds(15);  // Where it takes long.
  static constexpr Duration kLookRarely = Seconds(60);
  static constexpr Duration kAppears = Seconds(20);  // Until an engine lists what it has made.
  static constexpr Duration kUnreachedMax = Seconds(20);
  // A worker whose connection broke is waited for so long, also where it has no trial.
  static constexpr Duration kAwayMax = Seconds(60);
  static constexpr Duration kReturnAgain = Seconds(30);  // What is still there is given back again.
  // Looks that are further apart: the head did not run in between.
  static constexpr Duration kUnseenMin = Seconds(30);
  static constexpr int64_t kMissedMax = 2;
  static constexpr size_t kFailedKept = 8;

 private:
  std::vector<PoolOffer> Offers(Instant now) const;
  void PutOffWaits(Instant now);
  void FollowWorkers(std::vector<JoinedWorker>& joined, Instant now);
  void Follow(WorkerRequest& request, JoinedWorker& worker, Instant now);
  void SetAway(WorkerRequest& request, Instant now);
  void AddAway(std::vector<JoinedWorker>& joined) const;
  void OnJoined(WorkerRequest& request, Instant now);
  void LeaveBeforeTheEnd(const std::vector<JoinedWorker>& joined, Instant now);
  void AskForMore(PoolOrders& orders, Instant now);
  void GiveBackUnneeded(const std::vector<JoinedWorker>& joined, Instant now);
  void GiveBackAll(const std::vector<JoinedWorker>& joined, Instant now);
  void WatchStarts(PoolOrders& orders, Instant now);
  void OrderListings(PoolOrders& orders, Instant now);
  void SetState(WorkerRequest& request, RequestState state, Instant now);
  void SetStarted(WorkerRequest& request, Instant now);
  void LookSoon(size_t pool, Instant now);
  bool IsOurs(const std::string& name) const;  // A pool of ours names machines so.
  void Return(WorkerRequest& request, Instant now);
  void Fail(WorkerRequest& request, const std::string& why, Instant now);
  void Rest(size_t pool, const std::string& why, Instant now);
  void Adopt(size_t pool, const Machine& machine, Instant now);
  void OnMissing(WorkerRequest& request, Instant now);
  void OnSeen(WorkerRequest& request, const Machine& machine, Instant now);
  void OnUnlisted(size_t pool, const std::string& why, Instant now);
  // Besides what the requests say.
  static bool HasNothing(const PoolRecord& pool);
  bool IsUnreached(const WorkerRequest& request, Instant now) const;
  static bool IsOpen(const WorkerRequest& request);
  static bool WasHere(const WorkerRequest& request);  // It has joined.
  static bool MayAppear(const WorkerRequest& request, Instant now);
  std::optional<Instant> LeavesAt(const WorkerRequest& request) const;

  const ClusterSpec& cluster_;
  const std::string prefix_;
  std::map<std::string, WorkerRequest> requests_;
  std::vector<PoolRecord> pools_;
  std::vector<WorkerDemand> demand_;
  WantedWorkers wanted_;
  std::optional<Instant> looked_at_;
  std::vector<std::string> to_drain_;
  std::vector<std::vector<std::string>> to_return_;  // By pool.
  std::vector<std::string> news_;
  bool is_closing_ = false;
  bool is_closing_at_once_ = false;
  bool is_changed_ = false;
};

}  // namespace tune
