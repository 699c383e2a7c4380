#include "tuner/page/sweep_summary.h"

#include <optional>

#include "core/json.h"
#include "core/time.h"
#include "tuner/cli/look/found_job.h"
#include "tuner/cli/look/trial_counts.h"
#include "tuner/page/page_json.h"

namespace tune {
namespace {

Result<std::string> StateCounts(Database& database, int64_t experiment) {
  TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(database, experiment));
  std::string out = "{";
  for (const auto& [status, count] : counts.by_status) {
    if (out.size() > 1) out += ',';
    AppendJsonString(status, out);
    out += ':' + std::to_string(count);
  }
  return out + "}";
}

Value ObjectiveList(const FoundSweep& sweep) {
  Value list = Value::MakeList();
  for (const Objective& objective : sweep.objectives) list.AsList().emplace_back(objective.metric);
  return list;
}

// Of a job: what its program came to.
Status AppendJob(Database& database, const FoundSweep& sweep, const Clock& clock,
                 std::string& out) {
  out += ",\"job\":";
  if (!IsJob(sweep)) {
    out += "null";
    return OkStatus();
  }
  TUNE_ASSIGN_OR_RETURN(const FoundJob job, ReadJob(database, sweep, clock, /*asks=*/false));
  out += "{";
  AppendField("state", JobStateName(job.state), out);
  AppendField("reason", job.reason, out);
  AppendField("exit_status", job.program_status() ? Value(*job.program_status()) : Value(), out);
  AppendField("command", job.command, out);
  AppendField("owner", job.owner, out);
  out += "}";
  return OkStatus();
}

}  // namespace

Result<std::string> SummaryJson(Database& database, const FoundSweep& sweep, const Clock& clock) {
  std::string out = "{";
  AppendField("name", sweep.name, out);
  AppendField("status", sweep.status, out);
  AppendField("metric", sweep.metric, out);
  AppendField("metrics", ObjectiveList(sweep), out);
  AppendField("mode", sweep.mode, out);
  AppendField("scheduler", sweep.scheduler, out);
  AppendField("seed", sweep.seed, out);
  AppendField("created_at", FormatInstant(Instant{sweep.created_us}), out);
  AppendField("finished_at",
              sweep.finished_us ? Value(FormatInstant(Instant{*sweep.finished_us})) : Value(), out);
  AppendField("ended_early", sweep.ended_early, out);
  AppendField("samples", sweep.samples, out);
  AppendField("trials_max", TrialCountMax(database, sweep), out);
  TUNE_ASSIGN_OR_RETURN(const std::string counts, StateCounts(database, sweep.id));
  out += ",\"counts\":" + counts;
  TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(database, sweep));
  TUNE_RETURN_IF_ERROR(AppendJob(database, sweep, clock, out));
  Value limits = Value::MakeList();
  for (const std::string& limit : sweep.limits) limits.AsList().emplace_back(limit);
  AppendField("feasible", std::move(limits), out);
  AppendField("none_feasible", best ? Value(WarningOf(sweep, *best)) : Value(""), out);
  AppendField("why_no_best", best ? Value() : Value(WhyThereIsNoBest(database, sweep)), out);
  out += ",\"best\":";
  if (!best) return out + "null";
  out += "{";
  AppendField("number", best->number, out);
  AppendField("value", best->value, out);
  AppendField("iteration", best->iteration, out);
  AppendField("violation", best->violation ? Value(*best->violation) : Value(), out);
  AppendField("config", best->config, out);
  AppendField("runs", best->runs ? RunsValue(*best->runs) : Value(), out);
  return out + "}";
}

Result<Value> ProvenanceValue(std::string_view stored) {
  TUNE_ASSIGN_OR_RETURN(const Value all, ParseJson(stored));
  Value told = Value::MakeMap();
  for (const char* const key : {"version", "command", "host", "folder", "git", "data", "files"}) {
    const Value* const value = all.is_map() ? all.Find(key) : nullptr;
    if (value != nullptr) told.Set(key, *value);
  }
  return told;
}

void AppendLabels(const SweepLabels& labels, std::string& out) {
  AppendField("note", labels.note, out);
  AppendField("tags", TagsValue(labels.tags), out);
}

}  // namespace tune
