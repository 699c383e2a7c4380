// What came of orders: answers of engines, and what they list.
#include <algorithm>
#include <map>
#include <utility>

#include "tuner/engines/pool_book.h"

namespace tune {
namespace {

constexpr Duration kYoung = Seconds(30);

}  // namespace

int64_t WorkerNumber(const std::string& name) {
  const size_t dash = name.rfind('-');
  int64_t number = 0;
  for (size_t i = dash + 1; i < name.size(); ++i) {
    if (name[i] < '0' || name[i] > '9' || number > 1'000'000'000'000) return 0;
    number = number * 10 + (name[i] - '0');
  }
  return number;
}

void PoolBook::SetState(WorkerRequest& request, RequestState state, Instant now) {
  request.state = state;
  request.since = now;
  request.missed = 0;
  if (state != RequestState::kJoined) LookSoon(request.pool, now);
}

void PoolBook::SetStarted(WorkerRequest& request, Instant now) {
  if (request.started_at) return;
  request.started_at = now;
  is_changed_ = true;
}

void PoolBook::LookSoon(size_t at, Instant now) {
  PoolRecord& pool = pools_[at];
  pool.list_due = std::min(pool.list_due.value_or(now + kLookSoon), now + kLookSoon);
}

void PoolBook::Return(WorkerRequest& request, Instant now) {
  SetState(request, RequestState::kReturning, now);
  request.is_away = false;
  request.is_refused = false;
  request.returned_at.reset();
  to_return_[request.pool].push_back(request.name);
  is_changed_ = true;
}

void PoolBook::Rest(size_t at, const std::string& why, Instant now) {
  PoolRecord& pool = pools_[at];
  // Of many that failed together, one counts.
  if (pool.rests_until && now < *pool.rests_until) return;
  Duration rest = kRest;
  for (int64_t i = 0; i < pool.failures && rest < kRestMax; ++i) rest = rest + rest;
  rest = std::min(rest, kRestMax);
  ++pool.failures;
  pool.rests_until = now + rest;
  pool.why_it_rests = why;
  if (is_closing_) return;
  news_.push_back("pool " + cluster_.pools[at].name + ": " + why + "; it is asked again in " +
                  FormatDuration(rest));
}

// It will not come; what there is of it is given back.
void PoolBook::Fail(WorkerRequest& request, const std::string& why, Instant now) {
  PoolRecord& pool = pools_[request.pool];
  pool.failed.push_back({request.name, now, why, {}});
  if (pool.failed.size() > kFailedKept) pool.failed.pop_front();
  ++pool.failed_count;
  Rest(request.pool, request.name + ": " + why, now);
  request.reason = why;
  Return(request, now);
}

void PoolBook::OnAsked(size_t pool, const std::vector<std::string>& names,
                       const std::vector<Status>& answers, Instant now) {
  for (size_t i = 0; i < names.size(); ++i) {
    const auto found = requests_.find(names[i]);
    if (found == requests_.end()) continue;
    WorkerRequest& request = found->second;
    request.answered_at = now;
    is_changed_ = true;
    if (answers[i].ok()) {
      if (request.state == RequestState::kAsking) SetState(request, RequestState::kRequested, now);
    } else if (answers[i].code() == StatusCode::kUnavailable) {
      // Listings tell whether it was asked for after all.
      request.reason = answers[i].message();
      Rest(pool, answers[i].message(), now);
    } else {
      request.may_appear = false;
      if (IsOpen(request)) Fail(request, answers[i].message(), now);
    }
  }
  pools_[pool].list_due = now + kLookSoon;
}

void PoolBook::Adopt(size_t pool, const Machine& machine, Instant now) {
  WorkerRequest request;
  request.name = machine.name;
  request.pool = pool;
  request.since = request.asked_at = now;
  request.answered_at = now;
  pools_[pool].next_number = std::max(pools_[pool].next_number, WorkerNumber(machine.name) + 1);
  news_.push_back(machine.name +
                  " is there, and nobody remembers to have asked for it; it is "
                  "taken on");
  requests_[machine.name] = request;
  is_changed_ = true;
}

void PoolBook::OnSeen(WorkerRequest& request, const Machine& machine, Instant now) {
  request.missed = 0;
  const bool is_new = std::exchange(request.may_appear, false);
  is_changed_ = is_changed_ || is_new;
  const bool is_over = machine.state == MachineState::kEnded;
  switch (request.state) {
    case RequestState::kReturning:
      // It appeared after it was given back. What takes long is given back again, too.
      if (is_new && request.returned_at) to_return_[request.pool].push_back(request.name);
      return;
    case RequestState::kJoined:
    case RequestState::kDraining:
      return;  // Its connection tells more.
    case RequestState::kAsking:
    case RequestState::kRequested:
    case RequestState::kStarted:
      break;
  }
  if (is_over) {
    Fail(request, machine.reason.empty() ? "ended before it joined" : machine.reason, now);
  } else if (machine.state == MachineState::kPending) {
    if (request.state != RequestState::kRequested) {
      SetState(request, RequestState::kRequested, now);
    }
    request.reason = machine.reason;
  } else {
    if (request.state != RequestState::kStarted) {
      SetState(request, RequestState::kStarted, now);
      SetStarted(request, now);
    }
    request.reason = machine.reason;
  }
}

// A cloud lists a machine some time after it was asked for.
bool PoolBook::MayAppear(const WorkerRequest& request, Instant now) {
  return request.may_appear && (!request.answered_at || now < *request.answered_at + kAppears);
}

void PoolBook::OnMissing(WorkerRequest& request, Instant now) {
  if (MayAppear(request, now)) return;
  ++request.missed;
  if (request.state == RequestState::kAsking) {
    // Nothing came of it; that is no failure of a machine's.
    requests_.erase(std::string(request.name));
    is_changed_ = true;
    return;
  }
  if (request.missed < kMissedMax) return;
  const std::string why = request.reason.empty() ? "" : ": " + request.reason;
  Fail(request, "its machine is gone before its worker joined" + why, now);
}

void PoolBook::OnUnlisted(size_t at, const std::string& why, Instant now) {
  PoolRecord& pool = pools_[at];
  if (pool.unreachable.empty()) news_.push_back("pool " + cluster_.pools[at].name + ": " + why);
  pool.unreachable = why;
  if (!pool.unreachable_since) pool.unreachable_since = now;
  pool.list_due = now + (pool.listed_at ? kLookLater : kLookSoon + kLookSoon);
}

void PoolBook::OnListed(size_t at, const Result<std::vector<Machine>>& machines, Instant now) {
  PoolRecord& pool = pools_[at];
  pool.is_listing = false;
  if (!machines.ok()) return OnUnlisted(at, machines.status().message(), now);
  if (!pool.unreachable.empty()) {
    news_.push_back("pool " + cluster_.pools[at].name + ": answers again");
  }
  pool.unreachable.clear();
  pool.unreachable_since.reset();
  pool.listed_at = now;
  pool.is_known = true;
  std::map<std::string, const Machine*> seen;
  for (const Machine& machine : *machines) {
    // What others have made is theirs.
    if (!machine.name.starts_with(PrefixOf(at)) || WorkerNumber(machine.name) == 0) continue;
    seen[machine.name] = &machine;
    const bool is_unknown = !requests_.contains(machine.name);
    if (is_unknown && machine.state != MachineState::kEnded) Adopt(at, machine, now);
  }
  std::vector<std::string> ours;
  for (const auto& [name, request] : requests_) {
    if (request.pool == at) ours.push_back(name);
  }
  std::optional<Instant> youngest;  // Of those that something is to become of.
  for (const std::string& name : ours) {
    WorkerRequest& request = requests_.at(name);
    const auto found = seen.find(name);
    const bool is_over = found == seen.end() || found->second->state == MachineState::kEnded;
    const bool is_gone = is_over && !(found == seen.end() && MayAppear(request, now));
    // What has ended may still have to be removed.
    const bool is_removed = found == seen.end() || (request.returned_at && !request.is_refused);
    if (request.state == RequestState::kReturning && is_gone && is_removed) {
      requests_.erase(name);
      is_changed_ = true;
      continue;
    }
    if (WasHere(request) && request.is_away && is_gone) {
      // Its worker will not come back; another one may be asked for at once.
      const bool is_sure = found != seen.end() || ++request.missed >= kMissedMax;
      if (is_sure) {
        news_.push_back(name + " is gone, and its machine");
        Return(request, now);
      }
    }
    if (found != seen.end()) {
      if (found->second->is_reached) {
        request.unreached_since.reset();
      } else if (!request.unreached_since) {
        request.unreached_since = now;
      }
      OnSeen(request, *found->second, now);
    } else if (IsOpen(request)) {
      OnMissing(request, now);
    }
    const auto left = requests_.find(name);
    const bool is_settled = left == requests_.end() ||
                            (left->second.state == RequestState::kJoined && !left->second.is_away);
    if (is_settled) continue;
    youngest = std::max(youngest.value_or(left->second.since), left->second.since);
  }
  const Duration age = youngest ? now - *youngest : Duration{};
  pool.list_due = now + (!youngest        ? kLookRarely
                         : age < kYoung   ? kLookSoon
                         : age < kRestMax ? kLookAgain
                                          : kLookLater);
}

void PoolBook::OnGivenBack(size_t pool, const std::vector<std::string>& names, const Status& status,
                           Instant now) {
  for (const std::string& name : names) {
    const auto found = requests_.find(name);
    if (found == requests_.end()) continue;
    found->second.is_return_asked = false;
    found->second.returned_at = now;
    found->second.is_refused = !status.ok();
    if (!status.ok()) found->second.reason = status.message();
  }
  if (!status.ok()) {
    news_.push_back("pool " + cluster_.pools[pool].name + ": " + names.front() +
                    (names.size() > 1 ? " and others" : "") +
                    " cannot be given back yet: " + status.message());
  }
  pools_[pool].list_due = now;
}

void PoolBook::OnLog(size_t pool, const std::string& name, const std::string& text, Instant now) {
  const auto found = requests_.find(name);
  if (found == requests_.end() || found->second.state != RequestState::kStarted) return;
  std::string last;
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end > begin) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  if (!lines.empty()) last = "; its last line: " + lines.back();
  Fail(found->second,
       "its machine runs, and its worker has not joined within " +
           FormatDuration(cluster_.pools[pool].join_timeout) + last,
       now);
  pools_[pool].failed.back().log = std::move(lines);
}

}  // namespace tune
