#include "tuner/cli/run/simulate_command.h"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "tuner/cli/look/stored_curves.h"
#include "tuner/cli/run/configuration_check.h"
#include "tuner/cli/run/simulate_report.h"
#include "tuner/cli/words/complain.h"
#include "tuner/search_problem.h"
#include "tuner/simulate/compared_scheduler.h"
#include "tuner/simulate/curve_table.h"
#include "tuner/simulate/simulation.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr uint64_t kSimulatedSeed = 0;
constexpr int64_t kSeedsMax = 1'000;

std::vector<std::string> WithShortcuts(const SimulateOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.samples) overrides.push_back("samples=" + std::to_string(*options.samples));
  return overrides;
}

// Without which a report is none: the parts of a metric that is an expression, which the sweep
// computes. Where it has several words, "val/loss", a record may call a part "val.loss", too.
std::vector<std::string> NeededMetrics(const ExperimentSpec& spec) {
  std::vector<std::string> names = spec.scores.reported_names();
  if (spec.scores.has_expressions()) {
    std::erase_if(names, [](const std::string& name) { return name.find('/') != name.npos; });
  }
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
  if (options.seeds < 1 || options.seeds > kSeedsMax) {
    return InvalidArgument("--seeds: read " + std::to_string(options.seeds) + ", expected 1 to " +
                           std::to_string(kSeedsMax));
  }
  simulation.seed = options.seed.value_or(simulation.spec.seed.value_or(kSimulatedSeed));
  simulation.workers = WorkersOf(options, simulation.spec.resources);
  if (!options.curves.empty()) {
    TUNE_ASSIGN_OR_RETURN(simulation.recorded, ReadCurves(options.curves, simulation.spec));
  }
  TUNE_RETURN_IF_ERROR(CheckSimulation(simulation));
  if (!simulation.recorded) {  // Its formula computes with the parameters.
    TUNE_RETURN_IF_ERROR(
        InFile(options.space_path, CheckConfigurations(simulation.spec, simulation.seed).status()));
  }
  return simulation;
}

Status CheckCompared(const SimulateOptions& options, const ExperimentSpec& spec,
                     const std::vector<ComparedScheduler>& schedulers) {
  for (size_t i = 0; i < schedulers.size(); ++i) {
    const std::string& label = schedulers[i].label;
    const std::string read =
        (i < options.compare.size() ? "--compare: '" : "--scheduler: '") + label + "'";
    if (!spec.more_objectives.empty() && label != "fifo") {
      return InvalidArgument(read +
                             ": a sweep of several objectives has no value to stop trials "
                             "by; it is played with fifo alone");
    }
    // Rows of one label would be taken for seeds of one scheduler.
    for (size_t j = 0; j < i; ++j) {
      if (schedulers[j].label == label) return InvalidArgument(read + " stands there twice");
    }
  }
  return OkStatus();
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
  TUNE_RETURN_IF_ERROR(CheckCompared(options, simulation.spec, schedulers));
  if (schedulers.empty()) {
    const Value& own = simulation.spec.scheduler;
    schedulers.push_back({own.is_null()     ? "fifo"
                          : own.is_string() ? own.AsString()
                                            : ToJson(own),
                          own});
  }
  return schedulers;
}

}  // namespace

int SimulateCommand(const SimulateOptions& options, const Clock& clock, std::ostream& out,
                    std::ostream& err) {
  Result<Simulation> simulation = Prepare(options);
  if (!simulation.ok()) return Complain(simulation.status(), err);
  const auto schedulers = SchedulersOf(options, *simulation);
  if (!schedulers.ok()) return Complain(schedulers.status(), err);
  WarnOfShortCurves(*simulation, err);
  if (!simulation->spec.from.empty()) {
    err << "warning: from: " << Printable(simulation->spec.from)
        << ": a simulated search learns nothing from it\n";
  }
  const uint64_t first_seed = simulation->seed;
  std::vector<Simulated> all;
  for (const auto& [label, scheduler] : *schedulers) {
    const Instant begin = clock.Now();
    simulation->spec.scheduler = scheduler;
    for (int64_t i = 0; i < options.seeds; ++i) {
      simulation->seed = first_seed + static_cast<uint64_t>(i);
      Result<SimulatedSweep> sweep = Simulate(*simulation);
      if (!sweep.ok()) return Complain(sweep.status().At(label), err);
      all.push_back({label, simulation->seed, *std::move(sweep)});
      WarnOfSimulated(*simulation, all.back(), err);
    }
    err << label << ": simulated in " << FormatDuration(clock.Now() - begin) << "\n";
  }
  const SimulateReport report{options.format, options.width};
  if (options.format != OutputFormat::kTable) {
    report.PrintRows(all, out);
  } else if (all.size() == 1) {
    report.PrintOne(*simulation, all.front(), out);
  } else {
    report.PrintComparison(all, out);
  }
  return 0;
}

}  // namespace tune
