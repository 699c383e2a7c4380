#include "tuner/replay_lines.h"

#include <cmath>
#include <optional>
#include <string>

#include "core/json.h"
#include "tuner/recovery.h"
#include "tuner/transition.h"

namespace tune {
namespace {

std::optional<int64_t> Us(const std::optional<Instant>& instant) {
  return instant ? std::optional<int64_t>(instant->us) : std::nullopt;
}

std::string LineOf(const TrialRow& row) {
  const char* const reason =
      row.stop_reason == StopReason::kNone ? "" : StopReasonName(row.stop_reason);
  return RowLine()
      .Add("status", TrialStatusName(row.status))
      .Add("stop_reason", reason)
      .Add("iterations", row.iterations)
      .Add("last_value", row.last_value)
      .Add("best_value", row.best_value)
      .Add("best_iteration", row.best_iteration)
      .Add("attempts", row.attempts)
      .Add("created_us", row.created_at.us)
      .Add("started_us", Us(row.started_at))
      .Add("finished_us", Us(row.finished_at))
      .Add("run_seconds", std::optional(row.run_seconds))
      .Add("violation", row.best_violation)
      .text();
}

std::string LineOf(const AttemptRow& row) {
  const std::optional<int64_t> worker =
      row.worker ? std::optional<int64_t>(row.worker->value) : std::nullopt;
  return RowLine()
      .Add("worker", worker)
      .Add("outcome", OutcomeName(row.outcome))
      .Add("from_iteration", row.from_iteration)
      .Add("started_us", row.started_at.us)
      .Add("finished_us", Us(row.finished_at))
      .Add("error", row.error)
      .text();
}

std::string LineOf(const ReportRow& row) {
  const Decision decision = row.decision.value_or(Decision());
  const bool is_finite = row.value && std::isfinite(*row.value);
  std::optional<int64_t> verdict;
  if (row.decision) verdict = static_cast<int64_t>(decision.verdict);
  std::string metrics;
  AppendMetrics(row.metrics, metrics);
  return RowLine()
      .Add("trial", row.trial.value)
      .Add("attempt", row.attempt.value)
      .Add("iteration", row.iteration)
      .Add("value", is_finite ? row.value : std::nullopt)
      .Add("metrics", std::string_view(metrics))
      .Add("reported_us", row.reported_at.us)
      .Add("decision", verdict)
      .Add("rung", decision.rung)
      .Add("cutoff", decision.cutoff)
      .Add("rank", decision.rank)
      .Add("count", decision.count)
      .text();
}

std::string LineOf(const OrderRow& row) {
  return RowLine()
      .Add("trial", row.order.trial.value)
      .Add("iteration", row.iteration)
      .Add("kind", static_cast<int64_t>(row.order.kind))
      .Add("rung", row.order.rung)
      .Add("cutoff", row.order.cutoff)
      .Add("rank", row.order.rank)
      .Add("count", row.order.count)
      .Add("ordered_us", row.ordered_at.us)
      .text();
}

std::string LineOf(const ExploitRow& row) {
  return RowLine()
      .Add("trial", row.trial.value)
      .Add("iteration", row.iteration)
      .Add("source", row.source.value)
      .Add("source_iteration", row.source_iteration)
      .Add("config", std::string_view(ToJson(row.configuration.ToFlat())))
      .text();
}

}  // namespace

Result<SweepLines> ReplayLines(Store& store, ExperimentId experiment,
                               ExperimentController& controller) {
  SweepLines lines;
  TUNE_RETURN_IF_ERROR(store.EachStep(experiment, [&](const JournalStep& step) -> Status {
    const Result<Transition> followed = FollowStep(step, controller);
    if (!followed.ok()) return followed.status().At("journal step " + std::to_string(step.step));
    const Transition& rows = *followed;
    for (const NewTrialRow& row : rows.new_trials) {
      lines.trials[row.trial.number.value] = LineOf(row.trial);
    }
    for (const TrialRow& row : rows.trials) lines.trials[row.number.value] = LineOf(row);
    for (const AttemptRow& row : rows.attempts) {
      lines.attempts[{row.trial.value, row.number.value}] = LineOf(row);
    }
    for (const ReportRow& row : rows.reports) lines.reports.push_back(LineOf(row));
    for (const OrderRow& row : rows.orders) lines.orders.push_back(LineOf(row));
    for (const ExploitRow& row : rows.exploits) lines.exploits.push_back(LineOf(row));
    return OkStatus();
  }));
  return lines;
}

}  // namespace tune
