#include "tuner/cli/simulate_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/limits.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/stored_curves.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/search_problem.h"
#include "tuner/simulate/compared_scheduler.h"
#include "tuner/simulate/curve_table.h"
#include "tuner/simulate/simulation.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr uint64_t kDefaultSeed = 0;
constexpr int64_t kTenths = 10;

struct Simulated {
  std::string label;
  SimulatedSweep sweep;
};

std::vector<std::string> WithShortcuts(const SimulateOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.samples) overrides.push_back("samples=" + std::to_string(*options.samples));
  return overrides;
}

// Without which a report is none.
std::vector<std::string> NeededMetrics(const ExperimentSpec& spec) {
  std::vector<std::string> names = {spec.metric};
  for (const Objective& objective : spec.more_objectives) names.push_back(objective.metric);
  return names;
}

bool IsDatabase(const std::string& path) {
  constexpr std::string_view kMagic = "SQLite format 3";
  std::array<char, kMagic.size()> head{};
  std::ifstream in(path, std::ios::binary);
  return in.read(head.data(), head.size()) && std::string_view(head.data(), head.size()) == kMagic;
}

// "tune.db", "tune.db:food11" or "curves.csv".
Result<RecordedCurves> ReadCurves(const std::string& curves, const ExperimentSpec& spec) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  std::error_code error;
  std::string path = curves;
  std::string name;
  const size_t colon = curves.rfind(':');
  if (colon != std::string::npos && !std::filesystem::exists(path, error)) {
    path = curves.substr(0, colon);
    name = curves.substr(colon + 1);
  }
  const auto status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) {
    return InvalidArgument("--curves: there is no file " + curves);
  }
  if (std::filesystem::is_directory(status)) {
    return InvalidArgument("--curves: " + path + " is a folder; expected a CSV file or a database");
  }
  if (IsDatabase(path)) return ReadStoredCurves(path, name, space, NeededMetrics(spec));
  if (!name.empty()) {
    return InvalidArgument("--curves: " + path +
                           " is not a database, so that there is no sweep in it to be named");
  }
  std::ifstream in(path, std::ios::binary);
  if (!in) return InvalidArgument("--curves: " + path + " cannot be read");
  return ReadCurveTable(in, path, space, NeededMetrics(spec));
}

VirtualWorkers WorkersOf(const SimulateOptions& options, const ResourceRequest& request) {
  VirtualWorkers workers;
  workers.count = options.workers;
  workers.capacity.cpu_milli = options.cpus ? *options.cpus * kWholeMilli : request.cpu_milli;
  const int64_t needed = (request.gpu_milli + kWholeMilli - 1) / kWholeMilli;
  for (int64_t i = 0; i < options.gpus.value_or(needed); ++i) {
    workers.capacity.devices.push_back({i, "virtual", 0});
  }
  return workers;
}

Result<Simulation> Prepare(const SimulateOptions& options) {
  Simulation simulation;
  TUNE_ASSIGN_OR_RETURN(simulation.spec,
                        ReadSpecFile(options.space_path, WithShortcuts(options),
                                     /*require_trainable=*/options.curves.empty()));
  if (options.workers < 1 || options.workers > limits::kConcurrencyMax) {
    return InvalidArgument("--workers: read " + std::to_string(options.workers) +
                           ", expected 1 to " + std::to_string(limits::kConcurrencyMax));
  }
  simulation.seed = options.seed.value_or(simulation.spec.seed.value_or(kDefaultSeed));
  simulation.workers = WorkersOf(options, simulation.spec.resources);
  if (!options.curves.empty()) {
    TUNE_ASSIGN_OR_RETURN(simulation.recorded, ReadCurves(options.curves, simulation.spec));
  }
  TUNE_RETURN_IF_ERROR(CheckSimulation(simulation));
  return simulation;
}

Result<std::vector<ComparedScheduler>> SchedulersOf(const SimulateOptions& options,
                                                    const Simulation& simulation) {
  std::vector<ComparedScheduler> schedulers;
  const int64_t longest = LongestCurve(simulation);
  for (const std::string& name : options.compare) {
    TUNE_ASSIGN_OR_RETURN(ComparedScheduler named, SchedulerNamed(name, simulation.spec, longest));
    schedulers.push_back(std::move(named));
  }
  for (const std::string& text : options.schedulers) {
    TUNE_ASSIGN_OR_RETURN(ComparedScheduler written, SchedulerWritten(text, simulation.spec.mode));
    schedulers.push_back(std::move(written));
  }
  if (schedulers.empty()) {
    const Value& own = simulation.spec.scheduler;
    schedulers.push_back({own.is_null()     ? "fifo"
                          : own.is_string() ? own.AsString()
                                            : ToJson(own),
                          own});
  }
  return schedulers;
}

Value BestAt(const VirtualOutcome& outcome, Duration at) {
  Value best;
  for (const Improvement& improvement : outcome.improvements) {
    if (improvement.at > at) break;
    best = Value(improvement.value);
  }
  return best;
}

Value FinalBest(const VirtualOutcome& outcome) {
  return outcome.improvements.empty() ? Value() : Value(outcome.improvements.back().value);
}

// The time that the steps are tenths of.
Duration Span(const std::vector<Simulated>& all) {
  const auto fifo = std::find_if(all.begin(), all.end(),
                                 [](const Simulated& one) { return one.label == "fifo"; });
  return (fifo == all.end() ? all.front() : *fifo).sweep.outcome.duration;
}

std::string StepName(int64_t step) { return "best_at_" + std::to_string(step * kTenths); }

void PrintRows(const SimulateOptions& options, const std::vector<Simulated>& all,
               std::ostream& out) {
  const Duration span = Span(all);
  std::vector<std::string> columns = {"scheduler",  "status",     "trials",         "stopped_early",
                                      "failed",     "epochs",     "seconds",        "busy_seconds",
                                      "best_value", "best_trial", "best_iteration", "best_config"};
  for (int64_t step = 1; step <= kTenths; ++step) columns.push_back(StepName(step));
  RowPrinter printer(options.format, options.width, out);
  printer.Begin(columns);
  for (const auto& [label, sweep] : all) {
    const VirtualOutcome& outcome = sweep.outcome;
    const bool has_best = !outcome.improvements.empty();
    std::vector<Value> row = {label,
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
      row.push_back(BestAt(outcome, Duration{span.us / kTenths * step}));
    }
    printer.Row(row);
  }
  printer.End();
}

void PrintOne(const SimulateOptions& options, const Simulation& simulation, const Simulated& one,
              std::ostream& out) {
  const auto& [label, sweep] = one;
  const VirtualOutcome& outcome = sweep.outcome;
  const double offered = static_cast<double>(options.workers) * outcome.duration.seconds();
  out << "scheduler      " << Printable(label) << "\n"
      << "trials         " << sweep.trials << " (" << sweep.stopped_early << " stopped early, "
      << sweep.failed << " failed)\n"
      << "epochs         " << outcome.epochs << "\n"
      << "duration       " << FormatDuration(outcome.duration) << " on " << options.workers
      << (options.workers == 1 ? " worker" : " workers");
  if (offered > 0) out << ", " << ShortNumber(outcome.busy_seconds / offered) << " trials on each";
  out << "\n";
  if (outcome.improvements.empty()) {
    out << "best           none: no trial reported " << Printable(simulation.spec.metric) << "\n";
    return;
  }
  const Improvement& best = outcome.improvements.back();
  out << "best           " << Printable(simulation.spec.metric) << " = " << ShortNumber(best.value)
      << " of trial " << best.trial.value << " at iteration " << best.iteration << ", after "
      << FormatDuration(best.at) << " and " << best.epochs << " epochs\n"
      << "configuration  " << DescribeConfig(sweep.best_configuration.ToNested()) << "\n";
}

void PrintComparison(const SimulateOptions& options, const std::vector<Simulated>& all,
                     std::ostream& out) {
  RowPrinter summary(options.format, options.width, out);
  summary.Begin(
      {"scheduler", "trials", "stopped_early", "epochs", "duration", "best_value", "best_trial"});
  for (const auto& [label, sweep] : all) {
    const auto& improvements = sweep.outcome.improvements;
    summary.Row({label, sweep.trials, sweep.stopped_early, sweep.outcome.epochs,
                 FormatDuration(sweep.outcome.duration), FinalBest(sweep.outcome),
                 improvements.empty() ? Value() : Value(improvements.back().trial.value)});
  }
  summary.End();
  out << "\nbest value by then:\n";
  const Duration span = Span(all);
  std::vector<std::string> columns = {"time"};
  for (const Simulated& one : all) columns.push_back(one.label);
  RowPrinter steps(options.format, options.width, out);
  steps.Begin(columns);
  for (int64_t step = 1; step <= kTenths; ++step) {
    const Duration at{span.us / kTenths * step};
    std::vector<Value> row = {FormatDuration(at)};
    for (const Simulated& one : all) row.push_back(BestAt(one.sweep.outcome, at));
    steps.Row(row);
  }
  steps.End();
}

// What a person should know before believing it.
void Warn(const Simulation& simulation, const Simulated& one, std::ostream& err) {
  const auto& [label, sweep] = one;
  for (const std::string& said : sweep.outcome.said) err << label << ": " << said << "\n";
  const int64_t unsaid = sweep.outcome.said_count - static_cast<int64_t>(sweep.outcome.said.size());
  if (unsaid > 0) err << label << ": and " << unsaid << " lines more like these\n";
  if (sweep.outcome.status == ExperimentStatus::kRunning) {
    err << "warning: " << label
        << ": it never ends: what still runs hangs, and no limit of the space ends it "
           "(limits.no_progress)\n";
  }
  if (sweep.distance.trials > 0) {
    err << "warning: " << label << ": " << sweep.distance.trials << " of " << sweep.trials
        << " trials replayed the curve of the nearest recorded configuration: "
        << ShortNumber(sweep.distance.mean) << " of the space away on the mean, "
        << ShortNumber(sweep.distance.max) << " at most\n";
  }
  const bool repeats = simulation.recorded && sweep.distance.trials == 0 &&
                       sweep.trials > static_cast<int64_t>(simulation.recorded->curves.size());
  if (repeats) {
    err << "warning: " << label << ": " << sweep.trials << " trials of "
        << simulation.recorded->curves.size() << " recorded curves: some were had again\n";
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
      << " iterations: a trial ends as completed where its record ends\n";
}

}  // namespace

int SimulateCommand(const SimulateOptions& options, const Clock& clock, std::ostream& out,
                    std::ostream& err) {
  Result<Simulation> simulation = Prepare(options);
  if (!simulation.ok()) return Complain(simulation.status(), err);
  const auto schedulers = SchedulersOf(options, *simulation);
  if (!schedulers.ok()) return Complain(schedulers.status(), err);
  WarnOfShortCurves(*simulation, err);
  std::vector<Simulated> all;
  for (const auto& [label, scheduler] : *schedulers) {
    const Instant begin = clock.Now();
    simulation->spec.scheduler = scheduler;
    Result<SimulatedSweep> sweep = Simulate(*simulation);
    if (!sweep.ok()) return Complain(sweep.status().At(label), err);
    all.push_back({label, *std::move(sweep)});
    Warn(*simulation, all.back(), err);
    err << label << ": simulated in " << FormatDuration(clock.Now() - begin) << "\n";
  }
  if (options.format != OutputFormat::kTable) {
    PrintRows(options, all, out);
  } else if (all.size() == 1) {
    PrintOne(options, *simulation, all.front(), out);
  } else {
    PrintComparison(options, all, out);
  }
  return 0;
}

}  // namespace tune
