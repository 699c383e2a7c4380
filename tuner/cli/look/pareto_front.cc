#include "tuner/cli/look/pareto_front.h"

#include <optional>
#include <utility>

#include "core/json.h"
#include "search/pareto.h"

namespace tune {
namespace {

// One for each objective; nothing when one is missing or not a number.
std::optional<std::vector<double>> WholeValues(const Value& metrics,
                                               const std::vector<Objective>& objectives) {
  std::vector<double> values;
  const Value* const infeasible = metrics.Find(kInfeasibleName);
  // NaN, null as it is stored: nobody knows.
  if (infeasible != nullptr && ReadNumber(*infeasible).value_or(1) != 0) return std::nullopt;
  for (const Objective& objective : objectives) {
    const Value* const metric = metrics.Find(objective.metric);
    const std::optional<double> number = metric == nullptr ? std::nullopt : ReadNumber(*metric);
    if (!Finite(number)) return std::nullopt;
    values.push_back(*number);
  }
  return values;
}

}  // namespace

std::vector<ObjectiveValues> ParetoFront(const std::vector<ObjectiveValues>& trials,
                                         const std::vector<Objective>& objectives) {
  std::vector<LossPoint> losses;
  std::vector<double> violations;
  for (const ObjectiveValues& trial : trials) {
    violations.push_back(trial.violation);
    LossPoint point = trial.values;
    for (size_t i = 0; i < point.size(); ++i) point[i] = AsLoss(point[i], objectives[i].mode);
    losses.push_back(std::move(point));
  }
  const std::vector<size_t> ranks = ConstrainedRanks(losses, violations);
  std::vector<ObjectiveValues> front;
  for (size_t i = 0; i < trials.size(); ++i) {
    if (ranks[i] == 0) front.push_back(trials[i]);
  }
  return front;
}

Result<std::map<int64_t, Value>> ReadWholeReports(Database& database, const FoundSweep& sweep) {
  static constexpr char kReportsSql[] =
      "SELECT t.number, r.iteration, r.metrics FROM report_rows AS r"
      " JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE t.experiment = ?1 AND (r.value IS NOT NULL OR r.decision IS NOT NULL)"
      " ORDER BY t.number, r.attempt, r.iteration";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kReportsSql));
  row->BindAll(sweep.id);
  std::map<int64_t, Value> last;
  std::map<int64_t, int64_t> reached;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return last;
    const int64_t number = row->Int(0);
    // An iteration reported again after a retry reached nobody: its first report counts.
    int64_t& iteration = reached[number];
    if (row->Int(1) <= iteration) continue;
    iteration = row->Int(1);
    Result<Value> metrics = ParseJson(row->Text(2));
    if (!metrics.ok() || !metrics->is_map()) continue;
    if (WholeValues(*metrics, sweep.objectives)) last[number] = *std::move(metrics);
  }
}

Result<std::vector<ObjectiveValues>> ReadObjectiveValues(Database& database,
                                                         const FoundSweep& sweep) {
  static constexpr char kFailedSql[] =
      "SELECT number FROM trial_rows WHERE experiment = ?1 AND status = 'ERROR'";
  TUNE_ASSIGN_OR_RETURN(auto whole, ReadWholeReports(database, sweep));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement failed, database.Kept(kFailedSql));
  failed->BindAll(sweep.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, failed->Step());
    if (!has_row) break;
    whole.erase(failed->Int(0));
  }
  std::vector<ObjectiveValues> trials;
  for (const auto& [number, metrics] : whole) {
    const Value* const violation = metrics.Find(kViolationName);
    const Metric known = violation == nullptr ? Metric() : ReadNumber(*violation);
    trials.push_back({number, *WholeValues(metrics, sweep.objectives),
                      sweep.has_limits() ? known.value_or(kViolationUnknown) : 0});
  }
  return trials;
}

Result<std::vector<ObjectiveValues>> ReadParetoFront(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const auto trials, ReadObjectiveValues(database, sweep));
  return ParetoFront(trials, sweep.objectives);
}

std::string WarningOf(const std::vector<std::string>& limits,
                      const std::vector<ObjectiveValues>& front) {
  if (front.empty() || front.front().violation == 0) return "";
  return NoTrialIsFeasible(limits, front.front().violation);
}

std::string DescribeFront(const std::vector<ObjectiveValues>& front) {
  constexpr size_t kNamedMax = 12;
  std::string text =
      std::to_string(front.size()) + (front.size() == 1 ? " trial" : " trials") + " (";
  for (size_t i = 0; i < front.size() && i < kNamedMax; ++i) {
    text += (i == 0 ? "" : ", ") + std::to_string(front[i].trial);
  }
  return text + (front.size() > kNamedMax ? ", ...)" : ")");
}

}  // namespace tune
