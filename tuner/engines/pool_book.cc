#include "tuner/engines/pool_book.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <utility>

namespace tune {
namespace {

constexpr Duration kLeaveBeforeEnd = Seconds(90);  // Of a job's wall time.
constexpr int64_t kStaggered = 16;                 // They do not all leave at once.

}  // namespace

const char* RequestStateName(RequestState state) {
  switch (state) {
    case RequestState::kAsking:
      return "asking";
    case RequestState::kRequested:
      return "requested";
    case RequestState::kStarted:
      return "started";
    case RequestState::kJoined:
      return "joined";
    case RequestState::kDraining:
      return "draining";
    case RequestState::kReturning:
      return "returning";
  }
  return "";
}

PoolBook::PoolBook(const ClusterSpec& cluster, std::string prefix)
    : cluster_(cluster), prefix_(std::move(prefix)), pools_(cluster.pools.size()) {
  to_return_.resize(pools_.size());
  for (size_t i = 0; i < pools_.size(); ++i) {
    const WorkerShape& shape = cluster.pools[i].worker;
    if (shape.is_known()) pools_[i].capacity = shape.Capacity();
  }
  wanted_.ask.resize(pools_.size());
  wanted_.total.resize(pools_.size());
}

std::string PoolBook::PrefixOf(size_t pool) const {
  return prefix_ + "-" + cluster_.pools[pool].name + "-";
}

void PoolOrders::Append(PoolOrders later) {
  const auto add = [](auto& to, auto& from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  };
  for (size_t i = 0; i < later.ask.size(); ++i) {
    add(ask[i], later.ask[i]);
    add(give_back[i], later.give_back[i]);
    list[i] = list[i] || later.list[i];
  }
  add(logs, later.logs);
  call_off = call_off || later.call_off;
  is_changed = is_changed || later.is_changed;
}

void PoolBook::Close(bool at_once) {
  is_closing_ = true;
  is_closing_at_once_ = is_closing_at_once_ || at_once;
}

bool PoolBook::HasNothing(const PoolRecord& pool) {
  const bool was_never_asked = pool.next_number == 1;  // No name was ever given out.
  return was_never_asked || (pool.is_known && pool.unreachable.empty());
}

bool PoolBook::IsEmpty() const {
  return requests_.empty() && std::all_of(pools_.begin(), pools_.end(), &PoolBook::HasNothing);
}

bool PoolBook::IsUnreached(const WorkerRequest& request, Instant now) const {
  std::optional<Instant> since = request.unreached_since;
  if (!since) since = pools_[request.pool].unreachable_since;
  return request.state == RequestState::kReturning && cluster_.pools[request.pool].ssh && since &&
         now >= *since + kUnreachedMax;
}

bool PoolBook::IsEmptyButUnreached(Instant now) const {
  if (!is_closing_) return false;
  for (const auto& [name, request] : requests_) {
    if (!IsUnreached(request, now)) return false;
  }
  for (size_t i = 0; i < pools_.size(); ++i) {
    const PoolRecord& pool = pools_[i];
    const bool is_given_up = cluster_.pools[i].ssh && pool.unreachable_since &&
                             now >= *pool.unreachable_since + kUnreachedMax;
    if (!HasNothing(pool) && !is_given_up) return false;
  }
  return true;
}

int64_t PoolBook::joined_count(size_t pool) const {
  return std::count_if(requests_.begin(), requests_.end(), [pool](const auto& entry) {
    const WorkerRequest& request = entry.second;
    return request.pool == pool && request.state == RequestState::kJoined && !request.is_away;
  });
}

// ---- a look

PoolOrders PoolBook::Look(const std::vector<WorkerDemand>& demand, std::vector<JoinedWorker> joined,
                          Instant now) {
  PoolOrders orders;
  orders.ask.resize(pools_.size());
  orders.give_back.resize(pools_.size());
  orders.list.resize(pools_.size());
  PutOffWaits(now);
  FollowWorkers(joined, now);
  WatchStarts(orders, now);
  orders.call_off = is_closing_;
  if (is_closing_) {
    demand_.clear();
    wanted_ = {};
    wanted_.ask.resize(pools_.size());
    wanted_.total.resize(pools_.size());
    GiveBackAll(joined, now);
  } else {
    LeaveBeforeTheEnd(joined, now);
    demand_ = demand;
    std::vector<RequestedWorker> requested;
    for (const auto& [name, request] : requests_) {
      if (!IsOpen(request)) continue;
      requested.push_back({name, request.pool, request.unneeded_since, request.asked_at});
    }
    for (JoinedWorker& worker : joined) {
      const auto found = requests_.find(worker.name);
      if (found != requests_.end() && found->second.state != RequestState::kJoined) {
        worker.is_leaving = true;
      }
    }
    AddAway(joined);
    wanted_ = WorkersWanted(demand_, Offers(now), requested, joined, now);
    AskForMore(orders, now);
    GiveBackUnneeded(joined, now);
  }
  for (size_t i = 0; i < pools_.size(); ++i) {
    orders.give_back[i] = std::exchange(to_return_[i], {});
  }
  orders.drain = std::exchange(to_drain_, {});
  OrderListings(orders, now);
  for (const std::vector<std::string>& names : orders.give_back) {
    for (const std::string& name : names) {
      const auto found = requests_.find(name);
      if (found != requests_.end()) found->second.is_return_asked = true;
    }
  }
  orders.say = std::exchange(news_, {});
  orders.is_changed = std::exchange(is_changed_, false);
  return orders;
}

// Time in which nobody looked (a suspended machine, a clock that was set forward, a full disk)
// makes no worker late.
void PoolBook::PutOffWaits(Instant now) {
  const Duration unseen = now - std::exchange(looked_at_, now).value_or(now);
  if (unseen < kUnseenMin) return;
  for (auto& [name, request] : requests_) {
    request.since = std::min(now, request.since + unseen);
  }
}

// Asked for, and neither joined nor given up.
bool PoolBook::IsOpen(const WorkerRequest& request) {
  return request.state == RequestState::kAsking || request.state == RequestState::kRequested ||
         request.state == RequestState::kStarted;
}

bool PoolBook::WasHere(const WorkerRequest& request) {
  return request.state == RequestState::kJoined || request.state == RequestState::kDraining;
}

std::vector<PoolOffer> PoolBook::Offers(Instant now) const {
  std::vector<PoolOffer> offers;
  for (size_t i = 0; i < pools_.size(); ++i) {
    const PoolSpec& spec = cluster_.pools[i];
    PoolOffer offer{spec.name,
                    pools_[i].capacity,
                    spec.min,
                    spec.max,
                    spec.idle,
                    pools_[i].rests_until,
                    pools_[i].why_it_rests,
                    pools_[i].start};
    // What an earlier life of the head asked for is seen first: nothing is asked for twice.
    if (!pools_[i].is_known) {
      offer.rests_until = now + kLookSoon;
      offer.why_it_rests =
          pools_[i].unreachable.empty() ? "its engine has not answered yet" : pools_[i].unreachable;
    }
    // What is on its way back holds its place: a host, a quota.
    for (const auto& [name, request] : requests_) {
      const bool is_leaving =
          request.state == RequestState::kReturning || request.state == RequestState::kDraining;
      if (request.pool == i && is_leaving) offer.max = std::max<int64_t>(offer.max - 1, 0);
    }
    offer.min = std::min(offer.min, offer.max);
    offers.push_back(std::move(offer));
  }
  return offers;
}

void PoolBook::OnJoined(WorkerRequest& request, Instant now) {
  std::erase(to_return_[request.pool], request.name);
  SetState(request, RequestState::kJoined, now);
  SetStarted(request, now);
  is_changed_ = is_changed_ || request.may_appear;
  request.may_appear = false;
  request.is_awaited = false;
  request.reason.clear();
  request.unneeded_since.reset();
}

void PoolBook::SetAway(WorkerRequest& request, Instant now) {
  if (std::exchange(request.is_away, true)) return;
  request.since = now;
  LookSoon(request.pool, now);  // Its machine may be gone.
}

// `worker` is connected, or away.
void PoolBook::Follow(WorkerRequest& request, JoinedWorker& worker, Instant now) {
  if (worker.is_away) {
    // Of an earlier life of the head; when it comes, it is no news.
    if (IsOpen(request)) OnJoined(request, now);
    if (WasHere(request)) SetAway(request, now);
    return;
  }
  if (std::exchange(request.is_away, false)) {
    request.since = now;
    news_.push_back(worker.name + " is connected again");
  }
  if (request.state == RequestState::kJoined && worker.is_leaving) {
    // Somebody else told it to: a person, or the notice of its machine's end.
    SetState(request, RequestState::kDraining, now);
  } else if (request.state == RequestState::kDraining && !worker.is_leaving) {
    // It was away when it was told.
    to_drain_.push_back(worker.name);
  }
  // One that was given up, and comes after all, is welcome; it may have a trial by now.
  const bool is_late =
      request.state == RequestState::kReturning && !is_closing_ && !worker.is_leaving;
  if (!IsOpen(request) && !is_late) return;
  const bool is_awaited = request.is_awaited;
  OnJoined(request, now);
  worker.unneeded_since.reset();
  PoolRecord& pool = pools_[request.pool];
  pool.failures = 0;
  pool.rests_until.reset();
  pool.why_it_rests.clear();
  if (!is_awaited) {
    // It has joined before, or may have: the time since it was asked for is its age.
    news_.push_back(worker.name + " joined");
    return;
  }
  const Duration took = now - request.asked_at;
  pool.start = pool.start ? Duration{pool.start->us + (took.us - pool.start->us) / 4} : took;
  news_.push_back(worker.name + " joined, " + FormatDuration(took) + " after it was asked for");
}

void PoolBook::FollowWorkers(std::vector<JoinedWorker>& joined, Instant now) {
  std::set<std::string> here;
  for (JoinedWorker& worker : joined) {
    const auto found = requests_.find(worker.name);
    if (found == requests_.end()) {
      // Its machine is gone: its lease is waited for, and no room comes of it.
      worker.is_leaving = worker.is_leaving || (worker.is_away && IsOurs(worker.name));
      continue;
    }
    WorkerRequest& request = found->second;
    here.insert(worker.name);
    worker.pool = request.pool;
    worker.unneeded_since = request.unneeded_since;
    if (!cluster_.pools[request.pool].worker.is_known()) {
      pools_[request.pool].capacity = worker.view.capacity;
    }
    Follow(request, worker, now);
  }
  for (auto& [name, request] : requests_) {
    if (!WasHere(request) || here.contains(name)) continue;
    if (request.state == RequestState::kJoined) {
      // The tuner forgets a worker without a trial as soon as its connection breaks.
      SetAway(request, now);
      if (now < request.since + kAwayMax) continue;
    }
    news_.push_back(name + (request.state == RequestState::kJoined ? " is gone" : " has left"));
    Return(request, now);
  }
}

// Those that the tuner has forgotten keep their places as those that it waits for.
void PoolBook::AddAway(std::vector<JoinedWorker>& joined) const {
  std::set<std::string> here;
  for (const JoinedWorker& worker : joined) here.insert(worker.name);
  for (const auto& [name, request] : requests_) {
    if (request.state != RequestState::kJoined || here.contains(name)) continue;
    JoinedWorker worker;
    worker.name = name;
    worker.pool = request.pool;
    worker.view = EmptyWorker({}, pools_[request.pool].capacity.value_or(WorkerCapacity{}));
    worker.is_away = true;
    worker.unneeded_since = request.unneeded_since;
    joined.push_back(std::move(worker));
  }
}

bool PoolBook::IsOurs(const std::string& name) const {
  for (size_t i = 0; i < pools_.size(); ++i) {
    if (name.starts_with(PrefixOf(i)) && WorkerNumber(name) > 0) return true;
  }
  return false;
}

// So that trials are saved and given back in order, and not all at once.
std::optional<Instant> PoolBook::LeavesAt(const WorkerRequest& request) const {
  const PoolSpec& spec = cluster_.pools[request.pool];
  if (!spec.slurm || !spec.slurm->time || !request.started_at) return std::nullopt;
  const int64_t step = spec.slurm->time->us / 20 / kStaggered;
  const int64_t early = kLeaveBeforeEnd.us + WorkerNumber(request.name) % kStaggered * step;
  return *request.started_at +
         Duration{std::max(spec.slurm->time->us - early, spec.slurm->time->us / 2)};
}

void PoolBook::LeaveBeforeTheEnd(const std::vector<JoinedWorker>& joined, Instant now) {
  for (const JoinedWorker& worker : joined) {
    const auto found = requests_.find(worker.name);
    if (found == requests_.end() || found->second.state != RequestState::kJoined) continue;
    const std::optional<Instant> due = LeavesAt(found->second);
    if (!due || now < *due) continue;
    found->second.reason = "its job's time is nearly over";
    SetState(found->second, RequestState::kDraining, now);
    to_drain_.push_back(worker.name);
  }
}

void PoolBook::WatchStarts(PoolOrders& orders, Instant now) {
  for (auto& [name, request] : requests_) {
    const Duration patience = cluster_.pools[request.pool].join_timeout;
    // Its machine may have been up before the head was.
    const bool is_late = request.state == RequestState::kStarted && now >= request.since + patience;
    if (!is_late || std::exchange(request.is_log_asked, true)) continue;
    orders.logs.emplace_back(request.pool, name);
  }
}

void PoolBook::AskForMore(PoolOrders& orders, Instant now) {
  for (size_t i = 0; i < pools_.size(); ++i) {
    for (int64_t n = 0; n < wanted_.ask[i]; ++n) {
      WorkerRequest request;
      request.name = PrefixOf(i) + std::to_string(pools_[i].next_number++);
      request.pool = i;
      request.since = request.asked_at = now;
      request.is_awaited = true;
      orders.ask[i].push_back(request.name);
      requests_[request.name] = request;
      is_changed_ = true;
    }
    if (orders.ask[i].empty()) continue;
    news_.push_back("pool " + cluster_.pools[i].name + ": asks for " +
                    std::to_string(orders.ask[i].size()) + " more (" + orders.ask[i].front() +
                    (orders.ask[i].size() > 1 ? " to " + orders.ask[i].back() : "") + ")");
  }
}

void PoolBook::GiveBackUnneeded(const std::vector<JoinedWorker>& joined, Instant now) {
  std::set<std::string> busy;
  for (const JoinedWorker& worker : joined) {
    if (worker.is_busy) busy.insert(worker.name);
  }
  for (auto& [name, request] : requests_) {
    if (!IsOpen(request) && request.state != RequestState::kJoined) continue;
    if (!wanted_.unneeded.contains(name)) {
      request.unneeded_since.reset();
    } else if (!request.unneeded_since) {
      request.unneeded_since = now;
    }
  }
  for (const std::string& name : wanted_.give_back) {
    WorkerRequest& request = requests_.at(name);
    if (busy.contains(name)) continue;
    request.reason = "nothing needed it for " + FormatDuration(cluster_.pools[request.pool].idle);
    news_.push_back(name + " is given back: " + request.reason);
    if (request.state != RequestState::kJoined) {
      Return(request, now);
      continue;
    }
    SetState(request, RequestState::kDraining, now);
    to_drain_.push_back(name);
  }
}

void PoolBook::GiveBackAll(const std::vector<JoinedWorker>& joined, Instant now) {
  std::set<std::string> here;
  for (const JoinedWorker& worker : joined) here.insert(worker.name);
  for (auto& [name, request] : requests_) {
    if (request.state == RequestState::kReturning) continue;
    if (is_closing_at_once_ || !here.contains(name)) {
      Return(request, now);
    } else if (request.state == RequestState::kJoined) {
      SetState(request, RequestState::kDraining, now);
      to_drain_.push_back(name);
    }
  }
}

// An engine is looked at as often as there is something to see.
void PoolBook::OrderListings(PoolOrders& orders, Instant now) {
  for (size_t i = 0; i < pools_.size(); ++i) {
    PoolRecord& pool = pools_[i];
    for (auto& [name, request] : requests_) {
      const bool is_stuck = request.pool == i && request.state == RequestState::kReturning &&
                            !request.is_return_asked && request.returned_at &&
                            now >= *request.returned_at + kReturnAgain;
      if (!is_stuck) continue;
      request.returned_at.reset();
      orders.give_back[i].push_back(name);
    }
    const bool is_due = !pool.list_due || now >= *pool.list_due;
    if (pool.is_listing || !is_due) continue;
    pool.is_listing = true;
    pool.list_asked_at = now;
    orders.list[i] = true;
  }
}

}  // namespace tune
