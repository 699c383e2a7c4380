#include "tuner/doubt_watch.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <utility>

#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "search/constraint.h"
#include "trial_runner/first_reading.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

// As two runs of one arithmetic differ on a device.
constexpr double kRoundingMax = 1e-6;

bool IsCommand(const Value& trainable) {
  return trainable.is_map() && trainable.Find("command") != nullptr;
}

std::string ShortNumber(double number) {
  std::array<char, 32> text{};
  std::snprintf(text.data(), text.size(), "%.6g", number);
  return text.data();
}

// What two notes of one kind have in common: what stands before a colon, or before the first number
// that is no part of a name ("reads 0.925 out of ...", and not "of 'f1'").
std::string KindOf(const std::string& note) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  for (size_t i = 0; i < note.size(); ++i) {
    const char before = i == 0 ? ' ' : note[i - 1];
    if (note[i] == ':' || (is_digit(note[i]) && before == ' ')) return note.substr(0, i);
  }
  return note;
}

}  // namespace

DoubtWatch::DoubtWatch(const ExperimentSpec& spec, Transition& out)
    : spec_(spec), out_(out), repeated_runs_(RepeatCount(spec.search)) {}

// Once at the first report, and once where another name seems to be meant.
void DoubtWatch::OnReportWithoutMetric(const TrialRecord& trial, const Metrics& metrics) {
  if (said_meant_metric_ || AsksForExitStatus() || !IsCommand(spec_.trainable)) return;
  std::vector<std::string_view> names;
  std::string reported;
  for (const auto& [name, value] : metrics) {
    names.push_back(name);
    reported += (reported.empty() ? "" : ", ") + name;
  }
  std::string wanted;
  std::string meant;
  for (const std::string& name : spec_.scores.reported_names()) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    wanted += (wanted.empty() ? "" : ", ") + name;
    const auto nearest = NearestName(name, names);
    if (nearest && meant.empty()) meant = "; did you mean '" + std::string(*nearest) + "'?";
  }
  if (std::exchange(said_missing_metric_, true) && meant.empty()) return;
  said_meant_metric_ = !meant.empty();
  out_.actions.push_back(Say{"trial " + std::to_string(trial.row.number.value) + " reports " +
                             reported + "; the sweep wants " + wanted + meant +
                             (meant.empty() ? ", which has not come yet;" : "") +
                             " reports without it are stored and are no iterations"});
}

// Once: it may come with a later report, or be named otherwise.
void DoubtWatch::OnReportWithMetric(const TrialRecord& trial, const Metrics& metrics,
                                    const Metrics& scored) {
  if (FindMetric(scored, kInfeasibleName).value_or(0) > 0)
    infeasible_.insert(trial.row.number.value);
  NoteLimitsWithoutNumber(trial, metrics);
  if (said_missing_constraint_) return;
  for (const std::string& name : spec_.constrained_names()) {
    if (FindVariable(metrics, name)) continue;
    said_missing_constraint_ = true;
    std::vector<std::string_view> names;
    for (const auto& metric : metrics) names.push_back(metric.first);
    for (const auto& parameter : trial.configuration.parameters()) names.push_back(parameter.first);
    const auto nearest = NearestName(name, names);
    // As an expression has it.
    const std::string meant = nearest ? Dotted(std::string(*nearest)) : "";
    Add(trial, "missing constraint",
        "trial " + std::to_string(trial.row.number.value) + " reports " + spec_.metric +
            " and no number as " + name +
            (spec_.feasible.empty()
                 ? ", which metric_constraints name; such a report is never the best"
                 : ", which feasible names and which is no parameter; such a report counts as "
                   "infeasible until it has one") +
            (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
    return;
  }
}

// A limit that cannot be told is broken; each trial may say so of each metric once.
void DoubtWatch::NoteLimitsWithoutNumber(const TrialRecord& trial, const Metrics& metrics) {
  for (const std::string& name : spec_.feasible.metric_names()) {
    const std::optional<double> number = FindVariable(metrics, name);
    if (!number || !std::isnan(*number)) continue;
    Add(trial, "NaN in a limit",
        "trial " + std::to_string(trial.row.number.value) + " reports NaN as " + name +
            ", which feasible names: such a report counts as infeasible");
  }
}

// Its kind is what stands before its colon.
void DoubtWatch::AddNote(const TrialRecord& trial, const std::string& note) {
  if (note.empty()) return;
  Add(trial, KindOf(note), "trial " + std::to_string(trial.row.number.value) + ": " + note);
}

void DoubtWatch::Add(const TrialRecord& trial, const std::string& kind, const std::string& text) {
  std::optional<Doubts::Added> added = doubts_.Add(trial.row.number, kind, text);
  if (!added) return;
  out_.notes.push_back(std::move(added->row));
  if (added->is_first) out_.actions.push_back(Say{text});
}

// Which trial is the best depends on this metric.
bool DoubtWatch::Decides(const std::string& metric) const {
  const auto names_it = [&metric](const std::vector<std::string>& names) {
    return std::any_of(names.begin(), names.end(), [&metric](const std::string& name) {
      return FindVariable({{metric, 0.0}}, name).has_value();
    });
  };
  return names_it(spec_.scores.reported_names()) || names_it(spec_.constrained_names());
}

// Each iteration had those of the one before it. What comes once, at the end, is meant so.
void DoubtWatch::OnCompleted(const TrialRecord& trial) {
  for (const auto& open : trial.open_metrics) {
    if (!Decides(open.first)) continue;
    return AddNote(trial, "the last '" + open.first + "' is reported behind the last '" +
                              spec_.metric + "' and counts for no iteration: if each '" +
                              open.first + "' belongs to the '" + spec_.metric +
                              "' before it, each iteration has that of the one before; report "
                              "both in one call, or '" +
                              spec_.metric + "' last");
  }
  const bool is_late = trial.first_was_whole && trial.later_had_parts;
  if (!is_late || trial.open_metrics.empty()) return;
  const std::string& late = trial.open_metrics.front().first;
  const std::string& metric = spec_.metric;
  AddNote(trial, "'" + late + "' is reported behind '" + metric +
                     "', which makes the iteration: each iteration has the '" + late +
                     "' of the one before, and the last one is of none; report both in one call, "
                     "or '" +
                     metric + "' last");
}

void DoubtWatch::OnAttemptBegun(const TrialRecord& trial) {
  if (program_changes_.empty()) return;
  std::string text = "trial " + std::to_string(trial.row.number.value) +
                     " runs what was changed since the sweep began, so that its values may not"
                     " compare with those of before: ";
  for (const std::string& line : program_changes_) {
    text += (&line == &program_changes_.front() ? "" : "; ") + line;
  }
  Add(trial, "program changed", text);
}

void DoubtWatch::OnNewIteration(TrialNumber trial, int64_t iteration, Metric value) {
  repeated_runs_.OnReport(trial, iteration, value);
  compared_trials_.OnReport(trial, iteration, value);
}

// What an attempt reports again, behind the checkpoint that it went on from: values that differ
// from those of the attempt before belong to another run, and the trial's curve is of both.
void DoubtWatch::OnIteration(TrialRecord& trial, const Report& report, Metric value) {
  std::optional<TrialRecord::Unsaved>& unsaved = trial.first_unsaved;
  if (!value) return;
  if (!unsaved || unsaved->iteration <= trial.resume_iteration) {
    unsaved = {report.iteration, *value, trial.attempt.number};
    return;
  }
  if (report.iteration != unsaved->iteration || trial.attempt.number == unsaved->attempt) return;
  const double size = std::max(std::abs(*value), std::abs(unsaved->value));
  if (std::abs(*value - unsaved->value) <= kRoundingMax * size) return;
  const int64_t from = trial.attempt.from_iteration;
  AddNote(trial,
          "its curve is made of runs that differ: attempt " +
              std::to_string(trial.attempt.number.value) +
              (from == 0 ? " was given no checkpoint"
                         : " went on from the checkpoint of iteration " + std::to_string(from)) +
              " and reports " + ShortNumber(*value) + " at iteration " +
              std::to_string(report.iteration) + ", where attempt " +
              std::to_string(unsaved->attempt.value) + " had reported " +
              ShortNumber(unsaved->value) +
              ", which stands; save checkpoints, with all that the program goes on from, or "
              "let it draw by TUNE_SEED alone; if it goes on by itself, let `iteration` (or step) "
              "say where it is");
}

void DoubtWatch::OnFirstReport(const TrialRecord& trial, const Report& report) {
  const bool is_first_report = trial.last_sequence == 0 && trial.attempt.from_iteration == 0;
  if (!is_first_report || trial.attempt.number.value != 1) return;
  for (const std::string& line : compared_trials_.OnFirstReport(
           trial.row.number, report.iteration, ParseFirstReading(report.reading))) {
    AddNote(trial, line);
  }
}

void DoubtWatch::OnTrialEnded(const TrialRecord& trial) {
  const bool has_failed = trial.row.status == TrialStatus::kError;
  const auto runs_alike = repeated_runs_.OnTrialEnded(trial.row.number, has_failed);
  if (!IsCommand(spec_.trainable) || AsksForExitStatus()) return;
  if (runs_alike) Add(trial, "runs alike", *runs_alike);
  const bool is_repeated = RepeatCount(spec_.search) > 1;
  const auto alike = is_repeated
                         ? std::nullopt
                         : compared_trials_.OnTrialEnded(trial.row.number, trial.configuration,
                                                         has_failed, spec_.mode);
  if (alike) Add(trial, "trials alike", *alike);
  const bool is_infeasible = infeasible_.erase(trial.row.number.value) > 0;  // As was asked for.
  if (has_failed || trial.row.iterations == 0 || trial.row.best_value || is_infeasible) return;
  AddNote(trial,
          "it ended without a value: all that it reported as " + spec_.metric +
              (spec_.scores.constrained_names().empty()
                   ? " is NaN or infinite"
                   : " is NaN or infinite, or nothing is known of metric_constraints") +
              ", and it is never the best" +
              (trial.row.stop_reason == StopReason::kScheduler
                   ? "; the scheduler stopped it as the worst. Where the first values are NaN "
                     "by intent, print none until there is one, begin with a later rung "
                     "(grace_period), or let such trials go on (nan: continue)"
                   : ""));
}

}  // namespace tune
