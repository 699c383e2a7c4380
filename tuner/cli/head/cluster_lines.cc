#include "tuner/cli/head/cluster_lines.h"

#include <cmath>
#include <map>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/utf8.h"
#include "trial_runner/placement.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

constexpr size_t kWorkersShown = 1000;     // An answer has room for so many.
constexpr Duration kSilence = Seconds(5);  // Of an engine, before it is spoken of.
constexpr char kIsSilent[] = "its engine has not answered for more than 5 s";

Value Seconds10(Duration duration) { return Value(std::round(duration.seconds() * 10) / 10); }

bool IsOnItsWay(const WorkerRequest& request) {
  return request.state == RequestState::kAsking || request.state == RequestState::kRequested ||
         request.state == RequestState::kStarted || request.is_away;
}

const char* StateOf(const WorkerRequest& request) {
  return request.is_away ? "away" : RequestStateName(request.state);
}

std::string ReasonOf(const WorkerRequest& request, Instant now) {
  if (request.is_away) return "its connection broke; it is waited for";
  const bool is_asked = (request.state == RequestState::kAsking && !request.answered_at) ||
                        (request.state == RequestState::kReturning && request.is_return_asked);
  if (!is_asked || now < request.since + kSilence) return request.reason;
  return request.reason.empty() ? kIsSilent : request.reason + "; " + kIsSilent;
}

std::string WhyOfPool(const PoolRecord& record, Instant now) {
  if (!record.unreachable.empty()) return record.unreachable;
  if (record.rests_until && now < *record.rests_until) {
    return "rests for " + FormatDuration(*record.rests_until - now) + ": " + record.why_it_rests;
  }
  const bool is_silent = record.is_listing && now >= *record.list_asked_at + kSilence;
  return is_silent ? "is asked what is there: " + std::string(kIsSilent) : "";
}

Value EncodePool(const ClusterSpec& cluster, const PoolBook& book, size_t at, Instant now) {
  const PoolSpec& spec = cluster.pools[at];
  const PoolRecord& record = book.pools()[at];
  std::map<RequestState, int64_t> counts;
  int64_t away = 0;
  for (const auto& [name, request] : book.requests()) {
    if (request.pool != at) continue;
    ++counts[request.state];
    away += request.is_away ? 1 : 0;
  }
  Value pool = Value::MakeMap();
  pool.Set("pool", spec.name);
  pool.Set("engine", spec.engine());
  pool.Set("wanted", book.wanted().total[at]);
  pool.Set("requested", counts[RequestState::kAsking] + counts[RequestState::kRequested] +
                            counts[RequestState::kStarted]);
  pool.Set("joined", book.joined_count(at));
  pool.Set("away", away);
  pool.Set("draining", counts[RequestState::kDraining] + counts[RequestState::kReturning]);
  pool.Set("failed_requests", record.failed_count);
  pool.Set("min", spec.min);
  pool.Set("max", spec.max);
  pool.Set("why", ToUtf8(WhyOfPool(record, now)));
  return pool;
}

Value EncodeWorker(const ClusterSpec& cluster, const WorkerRequest& request, Instant now) {
  Value worker = Value::MakeMap();
  worker.Set("worker", request.name);
  worker.Set("pool", cluster.pools[request.pool].name);
  worker.Set("state", StateOf(request));
  worker.Set("seconds", Seconds10(now - request.since));
  worker.Set("reason", ToUtf8(ReasonOf(request, now)));
  return worker;
}

Value EncodeFailed(const std::string& pool, const FailedRequest& failed, Instant now) {
  Value line = Value::MakeMap();
  line.Set("worker", failed.name);
  line.Set("pool", pool);
  line.Set("seconds_ago", Seconds10(now - failed.at));
  line.Set("why", ToUtf8(failed.why));
  Value log = Value::MakeList();
  for (const std::string& text : failed.log) log.AsList().emplace_back(ToUtf8(text));
  line.Set("log", std::move(log));
  return line;
}

// "pool gpu: 2 requested (Priority), 1 started"
std::string OnTheWay(const ClusterSpec& cluster, const PoolBook& book, size_t pool, Instant now) {
  std::map<std::pair<std::string, std::string>, int64_t> counts;
  for (const auto& [name, request] : book.requests()) {
    if (request.pool == pool && IsOnItsWay(request)) {
      ++counts[{StateOf(request), ReasonOf(request, now)}];
    }
  }
  std::string text;
  for (const auto& [what, count] : counts) {
    const auto& [state, reason] = what;
    text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + state +
            (reason.empty() ? "" : " (" + reason + ")");
  }
  return text.empty() ? "" : "pool " + cluster.pools[pool].name + ": " + text;
}

// Of each pool.
std::vector<std::string> AllOnTheWay(const ClusterSpec& cluster, const PoolBook& book,
                                     Instant now) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < cluster.pools.size(); ++i)
    texts.push_back(OnTheWay(cluster, book, i, now));
  return texts;
}

std::string WhyOf(const DemandFate& fate, const std::vector<std::string>& on_the_way) {
  std::string text;
  const auto add = [&text](const std::string& more) {
    if (!more.empty()) text += (text.empty() ? "" : "; ") + more;
  };
  for (const size_t pool : fate.pools) add(on_the_way[pool]);
  if (fate.sooner > 0) {
    add(std::to_string(fate.sooner) +
        " begin where others end before a new worker would have come, so none is asked for them");
  }
  add(fate.why);
  return text;
}

const Value& At(const Value& map, const char* key) {
  static const Value nothing;
  const Value* const found = map.is_map() ? map.Find(key) : nullptr;
  return found == nullptr ? nothing : *found;
}

void PrintTable(const Value& rows, const std::vector<TableColumn>& columns,
                const std::vector<const char*>& keys, size_t width, std::ostream& out) {
  if (!rows.is_list() || rows.AsList().empty()) return;
  TextTable table(columns);
  for (const Value& row : rows.AsList()) {
    std::vector<Value> cells;
    for (const char* const key : keys) cells.push_back(At(row, key));
    table.Row(cells);
  }
  out << "\n";
  table.Print(width, out);
}

}  // namespace

std::string EncodeCluster(const ClusterSpec& cluster, const std::string& path, const PoolBook& book,
                          Instant now) {
  Value line = Value::MakeMap();
  line.Set("cluster", cluster.name);
  line.Set("file", ToUtf8(path));
  line.Set("is_closing", book.is_closing());
  line.Set("is_empty", book.IsEmpty());
  Value pools = Value::MakeList();
  Value failed = Value::MakeList();
  bool is_ready = true;
  for (size_t i = 0; i < cluster.pools.size(); ++i) {
    is_ready = is_ready && book.pools()[i].is_known && book.joined_count(i) >= cluster.pools[i].min;
    pools.AsList().push_back(EncodePool(cluster, book, i, now));
    for (const FailedRequest& one : book.pools()[i].failed) {
      failed.AsList().push_back(EncodeFailed(cluster.pools[i].name, one, now));
    }
  }
  line.Set("is_ready", is_ready);
  Value unreached = Value::MakeList();
  if (!book.IsEmpty() && book.IsEmptyButUnreached(now)) {
    for (const auto& [name, request] : book.requests()) {
      unreached.AsList().emplace_back(name + ": " + ToUtf8(request.reason));
    }
    for (size_t i = 0; i < cluster.pools.size(); ++i) {
      const std::string& why = book.pools()[i].unreachable;
      if (why.empty()) continue;
      unreached.AsList().emplace_back("pool " + cluster.pools[i].name + ": " + ToUtf8(why));
    }
  }
  line.Set("unreached", std::move(unreached));
  line.Set("pools", std::move(pools));
  Value workers = Value::MakeList();
  for (const auto& [name, request] : book.requests()) {
    if (workers.AsList().size() == kWorkersShown) break;
    workers.AsList().push_back(EncodeWorker(cluster, request, now));
  }
  line.Set("workers", std::move(workers));
  line.Set("failed", std::move(failed));
  Value waiting = Value::MakeList();
  const std::vector<std::string> on_the_way = AllOnTheWay(cluster, book, now);
  for (size_t i = 0; i < book.demand().size() && i < book.wanted().fates.size(); ++i) {
    const DemandFate& fate = book.wanted().fates[i];
    if (fate.waiting == 0) continue;
    Value one = Value::MakeMap();
    one.Set("sweep", ToUtf8(book.demand()[i].sweep));
    one.Set("needs", DescribeRequest(book.demand()[i].request));
    one.Set("trials", fate.waiting);
    one.Set("placed", fate.placed);
    one.Set("why", ToUtf8(WhyOf(fate, on_the_way)));
    waiting.AsList().push_back(std::move(one));
  }
  line.Set("waiting", std::move(waiting));
  return ToJson(line);
}

std::map<std::string, std::string> WhatPoolsDo(const ClusterSpec& cluster, const PoolBook& book,
                                               Instant now) {
  const std::vector<std::string> on_the_way = AllOnTheWay(cluster, book, now);
  std::map<std::string, std::string> texts;
  for (size_t i = 0; i < book.demand().size() && i < book.wanted().fates.size(); ++i) {
    const DemandFate& fate = book.wanted().fates[i];
    if (fate.waiting == 0) continue;
    const std::string why = WhyOf(fate, on_the_way);
    if (why.empty()) continue;
    std::string& text = texts[book.demand()[i].sweep];
    // The shapes of a sweep often wait for the same.
    if (text.find(why) == std::string::npos) text += (text.empty() ? "" : "; ") + why;
  }
  return texts;
}

void PrintCluster(const Value& cluster, size_t width, std::ostream& out) {
  out << "cluster " << ShortText(At(cluster, "cluster"))
      << (At(cluster, "is_closing") == Value(true) ? ", which goes down\n" : "\n");
  PrintTable(At(cluster, "pools"),
             {{"pool"},
              {"engine"},
              {"wanted"},
              {"requested"},
              {"joined"},
              {"away"},
              {"draining"},
              {"failed requests"},
              {"min"},
              {"max"},
              {"why", Fit::kWrap}},
             {"pool", "engine", "wanted", "requested", "joined", "away", "draining",
              "failed_requests", "min", "max", "why"},
             width, out);
  PrintTable(At(cluster, "workers"),
             {{"worker", Fit::kWhole}, {"state"}, {"seconds"}, {"reason", Fit::kWrap}},
             {"worker", "state", "seconds", "reason"}, width, out);
  PrintTable(At(cluster, "waiting"),
             {{"waits"}, {"needs"}, {"trials"}, {"on its way"}, {"why", Fit::kWrap}},
             {"sweep", "needs", "trials", "placed", "why"}, width, out);
  PrintTable(At(cluster, "failed"), {{"failed", Fit::kWhole}, {"seconds ago"}, {"why", Fit::kWrap}},
             {"worker", "seconds_ago", "why"}, width, out);
}

}  // namespace tune
