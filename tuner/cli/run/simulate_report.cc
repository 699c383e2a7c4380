#include "tuner/cli/run/simulate_report.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/counted.h"
#include "core/standing.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/result_limits.h"

namespace tune {
namespace {

constexpr int64_t kTenths = 10;

// Nothing while no trial keeps the limits on results: values that break them are not comparable.
Value ValueOf(const Improvement& improvement) {
  return IsFeasible(improvement.violation) ? Value(improvement.value) : Value();
}

Value BestAt(const VirtualOutcome& outcome, Duration at) {
  Value best;
  for (const Improvement& improvement : outcome.improvements) {
    if (improvement.at > at) break;
    best = ValueOf(improvement);
  }
  return best;
}

Value FinalBest(const VirtualOutcome& outcome) {
  return outcome.improvements.empty() ? Value() : ValueOf(outcome.improvements.back());
}

// All seeds of one scheduler.
struct Group {
  std::string label;
  std::vector<const SimulatedSweep*> sweeps;

  // Of what `get` gives as a number; nothing where no sweep has one.
  template <typename Get>
  std::vector<double> Numbers(Get get) const {
    std::vector<double> numbers;
    for (const SimulatedSweep* const sweep : sweeps) {
      const Value value = get(*sweep);
      if (value.is_number()) numbers.push_back(value.AsDouble());
    }
    return numbers;
  }
  template <typename Get>
  Value Mean(Get get) const {
    const std::vector<double> numbers = Numbers(get);
    return numbers.empty() ? Value() : Value(MeanOf(numbers));
  }
  Duration MeanDuration() const {
    const Value us = Mean([](const SimulatedSweep& s) { return Value(s.outcome.duration.us); });
    return Duration{static_cast<int64_t>(us.AsDouble())};
  }

  static double MeanOf(const std::vector<double>& numbers) {
    return std::accumulate(numbers.begin(), numbers.end(), 0.0) /
           static_cast<double>(numbers.size());
  }
};

std::vector<Group> GroupByScheduler(const std::vector<Simulated>& all) {
  std::vector<Group> groups;
  for (const Simulated& one : all) {
    if (groups.empty() || groups.back().label != one.label) groups.push_back({one.label, {}});
    groups.back().sweeps.push_back(&one.sweep);
  }
  return groups;
}

// Of a sample; nothing for less than two.
Value DeviationOf(const std::vector<double>& numbers) {
  if (numbers.size() < 2) return Value();
  const double mean = Group::MeanOf(numbers);
  double sum = 0;
  for (const double number : numbers) sum += (number - mean) * (number - mean);
  return Value(std::sqrt(sum / static_cast<double>(numbers.size() - 1)));
}

// The time that the steps are tenths of.
Duration Span(const std::vector<Group>& groups) {
  const auto fifo = std::find_if(groups.begin(), groups.end(),
                                 [](const Group& group) { return group.label == "fifo"; });
  return (fifo == groups.end() ? groups.front() : *fifo).MeanDuration();
}

std::string StepName(int64_t step) { return "best_at_" + std::to_string(step * kTenths); }

}  // namespace

void SimulateReport::PrintRows(const std::vector<Simulated>& all, std::ostream& out) const {
  const Duration span = Span(GroupByScheduler(all));
  std::vector<std::string> columns = {"scheduler",     "seed",       "status",     "trials",
                                      "stopped_early", "failed",     "epochs",     "seconds",
                                      "busy_seconds",  "best_value", "best_trial", "best_iteration",
                                      "best_config"};
  for (int64_t step = 1; step <= kTenths; ++step) columns.push_back(StepName(step));
  RowPrinter printer(format, width, out);
  printer.Begin(columns);
  for (const auto& [label, seed, sweep] : all) {
    const VirtualOutcome& outcome = sweep.outcome;
    const bool has_best = !outcome.improvements.empty();
    std::vector<Value> row = {label,
                              static_cast<int64_t>(seed),
                              ExperimentStatusName(outcome.status),
                              sweep.trials,
                              sweep.stopped_early,
                              sweep.failed,
                              outcome.epochs,
                              outcome.duration.seconds(),
                              outcome.busy_seconds,
                              FinalBest(outcome)};
    row.push_back(has_best ? Value(outcome.improvements.back().trial.value) : Value());
    row.push_back(has_best ? Value(outcome.improvements.back().iteration) : Value());
    row.push_back(has_best ? sweep.best_configuration.ToNested() : Value());
    for (int64_t step = 1; step <= kTenths; ++step) {
      row.push_back(BestAt(outcome, Duration{span.us * step / kTenths}));
    }
    printer.Row(row);
  }
  printer.End();
}

void SimulateReport::PrintOne(const Simulation& simulation, const Simulated& one,
                              std::ostream& out) const {
  const auto& [label, seed, sweep] = one;
  const int64_t workers = simulation.workers.count;
  const VirtualOutcome& outcome = sweep.outcome;
  const double offered = static_cast<double>(workers) * outcome.duration.seconds();
  out << "scheduler      " << Printable(label) << "\n"
      << "trials         " << sweep.trials << " (" << sweep.stopped_early << " stopped early, "
      << sweep.failed << " failed)\n"
      << "epochs         " << outcome.epochs << "\n"
      << "duration       " << FormatDuration(outcome.duration) << " on " << workers
      << (workers == 1 ? " worker" : " workers");
  if (offered > 0) {
    const std::string on_each = ShortNumber(outcome.busy_seconds / offered);
    out << ", " << on_each << (on_each == "1" ? " trial on each" : " trials on each");
  }
  out << "\n";
  if (outcome.improvements.empty()) {
    out << "best           none: no trial reported " << Printable(simulation.spec.metric) << "\n";
    return;
  }
  const Improvement& best = outcome.improvements.back();
  const std::string of = "of trial " + std::to_string(best.trial.value) + " at iteration " +
                         std::to_string(best.iteration);
  out << "best           " << Printable(simulation.spec.metric) << " = "
      << (outcome.best_runs ? Describe(*outcome.best_runs) : ShortNumber(best.value) + " " + of)
      << ", after " << FormatDuration(best.at) << " and " << Counted(best.epochs, "epoch") << "\n"
      << "configuration  " << DescribeConfig(sweep.best_configuration.ToNested()) << "\n";
  if (IsFeasible(best.violation)) return;
  const std::vector<std::string> limits = simulation.spec.feasible.texts();
  out << "NOT FEASIBLE   "
      << Printable(outcome.best_runs ? WarningOf(limits, *outcome.best_runs)
                                     : NoTrialIsFeasible(limits, *best.violation))
      << "\n";
}

void SimulateReport::PrintComparison(const std::vector<Simulated>& all, std::ostream& out) const {
  const std::vector<Group> groups = GroupByScheduler(all);
  RowPrinter summary(format, width, out);
  summary.Begin({"scheduler", "seeds", "trials", "stopped_early", "epochs", "duration",
                 "best_value", "deviation"});
  const auto best = [](const SimulatedSweep& sweep) { return FinalBest(sweep.outcome); };
  for (const Group& group : groups) {
    summary.Row({group.label, static_cast<int64_t>(group.sweeps.size()),
                 group.Mean([](const SimulatedSweep& s) { return Value(s.trials); }),
                 group.Mean([](const SimulatedSweep& s) { return Value(s.stopped_early); }),
                 group.Mean([](const SimulatedSweep& s) { return Value(s.outcome.epochs); }),
                 FormatDuration(group.MeanDuration()), group.Mean(best),
                 DeviationOf(group.Numbers(best))});
  }
  summary.End();
  out << "\nbest value by then:\n";
  const Duration span = Span(groups);
  std::vector<std::string> columns = {"time"};
  for (const Group& group : groups) columns.push_back(group.label);
  RowPrinter steps(format, width, out);
  steps.Begin(columns);
  for (int64_t step = 1; step <= kTenths; ++step) {
    const Duration at{span.us * step / kTenths};
    std::vector<Value> row = {FormatDuration(at)};
    for (const Group& group : groups) {
      row.push_back(group.Mean([at](const SimulatedSweep& s) { return BestAt(s.outcome, at); }));
    }
    steps.Row(row);
  }
  steps.End();
}

void WarnOfSimulated(const Simulation& simulation, const Simulated& one, std::ostream& err) {
  const auto& [label, seed, sweep] = one;
  for (const std::string& said : sweep.outcome.said) err << label << ": " << said << "\n";
  const int64_t unsaid = sweep.outcome.said_count - static_cast<int64_t>(sweep.outcome.said.size());
  if (unsaid > 0)
    err << label << ": and " << unsaid << (unsaid == 1 ? " more line" : " more lines")
        << " like these\n";
  if (sweep.outcome.status == ExperimentStatus::kRunning) {
    err << "warning: " << label
        << ": the sweep never ends: a trial hangs and no limit ends it (set limits.no_progress)\n";
  }
  if (sweep.distance.trials > 0) {
    err << "warning: " << label << ": " << sweep.distance.trials << " of " << sweep.trials
        << " trials replayed the curve of the nearest recorded configuration, on average "
        << ShortNumber(sweep.distance.mean) << " of the space away, at most "
        << ShortNumber(sweep.distance.max) << "\n";
  }
  const bool repeats = simulation.recorded && sweep.distance.trials == 0 &&
                       sweep.trials > static_cast<int64_t>(simulation.recorded->curves.size());
  if (repeats) {
    err << "warning: " << label << ": " << Counted(sweep.trials, "trial") << " of "
        << simulation.recorded->curves.size()
        << " recorded curves: some curves were used more than once\n";
  }
}

void WarnOfShortCurves(const Simulation& simulation, std::ostream& err) {
  if (!simulation.recorded) return;
  const int64_t longest = LongestCurve(simulation);
  const auto& curves = simulation.recorded->curves;
  const auto count = std::count_if(curves.begin(), curves.end(), [&](const RecordedCurve& curve) {
    return curve.iterations.back() < longest;
  });
  if (count == 0) return;
  err << "warning: " << count << " of " << curves.size()
      << " recorded curves are shorter than the longest, " << longest
      << " iterations; a trial completes where its recorded curve ends\n";
}

}  // namespace tune
