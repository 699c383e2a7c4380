// What of the book outlives the head.
#include <algorithm>
#include <string>
#include <utility>

#include "tuner/engines/pool_book.h"

namespace tune {

Value PoolBook::Encode() const {
  Value pools = Value::MakeMap();
  for (size_t i = 0; i < pools_.size(); ++i) {
    Value pool = Value::MakeMap();
    pool.Set("next_number", pools_[i].next_number);
    Value requests = Value::MakeList();
    for (const auto& [name, request] : requests_) {
      if (request.pool != i) continue;
      Value one = Value::MakeMap();
      one.Set("name", name);
      one.Set("asked_at", request.asked_at.us);
      if (request.started_at) one.Set("started_at", request.started_at->us);
      one.Set("is_returning", request.state == RequestState::kReturning);
      one.Set("may_appear", request.may_appear);
      if (request.answered_at) one.Set("answered_at", request.answered_at->us);
      requests.AsList().push_back(std::move(one));
    }
    pool.Set("requests", std::move(requests));
    pools.Set(cluster_.pools[i].name, std::move(pool));
  }
  return pools;
}

Status PoolBook::Restore(const Value& stored, Instant now) {
  const Status bad = DataLoss("what was asked of the engines cannot be read");
  if (!stored.is_map()) return bad;
  for (const MapEntry& entry : stored.AsMap()) {
    const bool is_here =
        std::any_of(cluster_.pools.begin(), cluster_.pools.end(),
                    [&entry](const PoolSpec& pool) { return pool.name == entry.key; });
    const Value* const left = entry.value.is_map() ? entry.value.Find("requests") : nullptr;
    const bool is_any_left = left != nullptr && left->is_list() && !left->AsList().empty();
    if (is_here || !is_any_left) continue;
    return FailedPrecondition("the pool " + entry.key + " is not in the file any more, and has " +
                              std::to_string(left->AsList().size()) +
                              " workers; put it back, tune cluster down gives them back");
  }
  for (size_t i = 0; i < pools_.size(); ++i) {
    const Value* const pool = stored.Find(cluster_.pools[i].name);
    if (pool == nullptr) continue;
    const Value* const next = pool->is_map() ? pool->Find("next_number") : nullptr;
    const Value* const requests = pool->is_map() ? pool->Find("requests") : nullptr;
    if (next == nullptr || !next->is_int() || requests == nullptr || !requests->is_list()) {
      return bad;
    }
    pools_[i].next_number = next->AsInt();
    for (const Value& one : requests->AsList()) {
      const Value* const name = one.is_map() ? one.Find("name") : nullptr;
      const Value* const asked_at = one.is_map() ? one.Find("asked_at") : nullptr;
      const Value* const returning = one.is_map() ? one.Find("is_returning") : nullptr;
      if (name == nullptr || !name->is_string() || asked_at == nullptr || !asked_at->is_int() ||
          returning == nullptr || !returning->is_bool()) {
        return bad;
      }
      WorkerRequest request;
      request.name = name->AsString();
      request.pool = i;
      request.asked_at.us = asked_at->AsInt();
      request.since = now;
      const Value* const started_at = one.Find("started_at");
      if (started_at != nullptr && started_at->is_int()) {
        request.started_at = Instant{started_at->AsInt()};
      }
      // Whom nobody answered, the engine may have until kAppears from now.
      const Value* const answered_at = one.Find("answered_at");
      const bool is_answered = answered_at != nullptr && answered_at->is_int();
      request.answered_at = is_answered ? Instant{answered_at->AsInt()} : now;
      const Value* const may_appear = one.Find("may_appear");
      request.may_appear = may_appear == nullptr || *may_appear != Value(false);
      request.reason = "asked for in an earlier life of the head";
      if (returning->AsBool()) {
        request.state = RequestState::kReturning;
        to_return_[i].push_back(request.name);
      }
      requests_[request.name] = request;
    }
  }
  return OkStatus();
}

}  // namespace tune
