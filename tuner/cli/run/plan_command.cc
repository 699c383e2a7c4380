#include "tuner/cli/run/plan_command.h"

#include <algorithm>
#include <set>
#include <utility>

#include "core/counted.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/resource_text.h"
#include "trial_runner/placement.h"
#include "tuner/cli/look/lane_speeds.h"
#include "tuner/cli/run/configuration_check.h"
#include "tuner/cli/words/complain.h"
#include "tuner/simulate/sweep_plan.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr uint64_t kDefaultSeed = 0;

std::vector<std::string> WithShortcuts(const PlanOptions& options) {
  std::vector<std::string> overrides = options.overrides;
  if (options.samples) overrides.push_back("samples=" + std::to_string(*options.samples));
  return overrides;
}

WorkerCapacity CapacityOf(const PlanOptions& options) {
  WorkerCapacity capacity;
  capacity.cpu_milli = options.cpus * kWholeMilli;
  capacity.devices = options.devices;
  return capacity;
}

Value OrNull(const std::optional<int64_t>& number) { return number ? Value(*number) : Value(); }

std::string SearchText(const ExperimentSpec& spec) {
  return spec.search.is_null() ? R"({"algorithm":"random"})" : ToJson(spec.search);
}

// "74 expected, 320 at worst".
std::string Both(double expected, double worst) {
  return ShortNumber(expected) + " expected, " + ShortNumber(worst) + " at worst";
}

// The latest ones of each trial, of those that are over too, and the best ones. Requires that the
// plan knows its trials and their length.
int64_t CheckpointsMax(const ExperimentSpec& spec, const SweepPlan& plan) {
  const int64_t made = *plan.trials * *plan.trial_iterations;
  const int64_t latest = *plan.trials * std::min(spec.checkpoint.keep, *plan.trial_iterations);
  return latest + std::min(spec.checkpoint.keep_best, made - latest);
}

// What they take together at most, where that is known.
std::optional<int64_t> DiskBytes(const ExperimentSpec& spec, const SweepPlan& plan) {
  if (!plan.worst || !plan.checkpoint_bytes) return std::nullopt;
  const int64_t all = CheckpointsMax(spec, plan) * *plan.checkpoint_bytes;
  if (!spec.checkpoint.disk_budget_bytes) return all;
  // What trials would go on from, and the very best, stay whatever the budget is.
  const int64_t needed = (plan.worst->live_max + 1) * *plan.checkpoint_bytes;
  return std::min(all, std::max(*spec.checkpoint.disk_budget_bytes, needed));
}

std::string CheckpointText(const ExperimentSpec& spec, const SweepPlan& plan) {
  if (plan.checkpoint_bytes == 0) return "nothing on disk";
  const auto bytes = DiskBytes(spec, plan);
  return "at most " + std::to_string(CheckpointsMax(spec, plan)) + " at a time" +
         (bytes ? ", about " + FormatBytes(*bytes) : "") + " (checkpoint.keep " +
         std::to_string(spec.checkpoint.keep) + ", keep_best " +
         std::to_string(spec.checkpoint.keep_best) + ")";
}

// What workers without this disk send to the tuner at worst, where that is known.
std::optional<int64_t> SentBytes(const ExperimentSpec& spec, const SweepPlan& plan) {
  if (!plan.worst || plan.checkpoint_bytes.value_or(0) == 0) return std::nullopt;
  const auto made = static_cast<int64_t>(plan.worst->total) / spec.checkpoint.every;
  return made * *plan.checkpoint_bytes;
}

// "0 (NVIDIA H100, 80 GiB): 4 trials of 20 GiB each".
std::string DescribeFit(const ResourceRequest& request, const Device& device) {
  std::string text = std::to_string(device.index);
  if (device.memory_bytes > 0) {
    text += " (" + Printable(device.name) + ", " + DescribeMemory(device.memory_bytes) + ")";
  }
  const int64_t count = CountOnDevice(request, device);
  if (count == 0 && IsInstance(device) && request.gpu_milli > kWholeMilli) {
    return text + ": none, a process sees one MIG instance";
  }
  if (count == 0) return text + ": none, it has too little memory";
  const int64_t memory = SliceMemory(request, device);
  return text + ": " + Counted(count, "trial") +
         (memory > 0 ? " of " + DescribeMemory(memory) + " each" : "");
}

void PrintDevices(const ResourceRequest& request, const std::vector<Device>& devices,
                  std::ostream& out) {
  if (request.gpu_milli == 0) return;
  for (const Device& device : devices) {
    out << (&device == &devices.front() ? "device         " : "               ")
        << DescribeFit(request, device) << "\n";
  }
}

void PrintNumbers(const ExperimentSpec& spec, const SweepPlan& plan, const PlanOptions& options,
                  std::ostream& out) {
  out << "sweep          " << Printable(spec.name) << ": "
      << (plan.trials ? Counted(*plan.trials, "trial")
                      : "trials until a limit or a person ends the sweep");
  if (plan.trial_iterations) out << " of at most " << Counted(*plan.trial_iterations, "iteration");
  out << "\nsearch         " << Printable(SearchText(spec)) << ", "
      << (plan.points ? "a space of " + Counted(*plan.points, "point") : "an endless space")
      << "\n               auto would be " << Printable(plan.automatic) << "\nscheduler      "
      << Printable(SchedulerText(spec)) << "\nat once        " << Counted(plan.at_once, "trial")
      << " on " << DescribeCapacity(CapacityOf(options)) << " (each needs "
      << DescribeRequest(spec.resources) << ")\n";
  PrintDevices(spec.resources, options.devices, out);
  if (!plan.expected || !plan.worst) return;
  out << "epochs         " << Both(plan.expected->total, plan.worst->total) << "\n"
      << "in a row       " << Both(plan.expected->in_a_row, plan.worst->in_a_row)
      << " epochs one after the other, from the start of the sweep to its end\n"
      << "checkpoints    " << CheckpointText(spec, plan) << "\n";
  if (const auto sent = SentBytes(spec, plan)) {
    out << "sent           by workers without this disk at most " << FormatBytes(*sent) << ", "
        << FormatBytes(*plan.checkpoint_bytes) << " each time (checkpoint.every "
        << spec.checkpoint.every << ")\n";
  }
}

// The speeds that were measured of a kind, in order of lanes.
std::vector<LaneSpeed> SpeedsOf(const std::vector<LaneSpeedRow>& measured, const LaneKind& kind) {
  std::vector<LaneSpeed> speeds;
  for (const LaneSpeedRow& row : measured) {
    if (row.kind == kind) speeds.push_back(row.speed);
  }
  return speeds;
}

// How many of a shape would train as one on a kind of device.
struct PlannedKind {
  LaneKind kind;
  int64_t fit = 1;                 // On the device, and by what the configurations say.
  std::vector<LaneSpeed> speeds;   // Measured.
  std::optional<LaneLimit> limit;  // Where it lowers the number.
  int64_t lanes() const { return limit ? limit->kept.lanes : fit; }
};

std::vector<PlannedKind> PlanLanes(const SweepPlan& plan, const PlanOptions& options,
                                   const std::vector<LaneSpeedRow>& measured) {
  std::set<std::string> names;
  for (const Device& device : options.devices) names.insert(device.uuid.empty() ? "" : device.name);
  if (names.empty()) names.insert("");
  std::vector<PlannedKind> kinds;
  for (const auto& [shape, lanes] : plan.lanes) {
    for (const std::string& name : names) {
      PlannedKind& one = kinds.emplace_back();
      one.kind = {shape, name};
      one.fit = lanes.count_max;
      one.speeds = SpeedsOf(measured, one.kind);
      const auto limit = lanes.is_asked ? std::nullopt : LaneLimitOf(one.speeds);
      if (limit && limit->kept.lanes < one.fit) one.limit = limit;
    }
  }
  return kinds;
}

void PrintLanes(const std::vector<PlannedKind>& kinds, std::ostream& out) {
  for (const PlannedKind& one : kinds) {
    const std::string where = one.kind.device.empty() ? "" : " on " + Printable(one.kind.device);
    const std::string shape = Printable(one.kind.shape);
    if (one.limit) {
      out << "lanes          " << one.fit << " would fit" << where << ", but " << one.lanes()
          << (one.lanes() == 1 ? " trains alone: " : " train as one: ") << Describe(*one.limit)
          << "; of " << shape << "\n";
    } else {
      out << "lanes          up to " << one.fit << " train as one" << where << " of " << shape
          << "\n";
    }
    if (one.speeds.empty()) {
      out << "               not measured yet: no sweep in the database has trained this shape\n";
    }
    for (const LaneSpeed& speed : one.speeds) {
      out << "               " << speed.lanes << (speed.lanes == 1 ? " alone: " : " as one: ")
          << ShortNumber(speed.images_per_second) << " images/s"
          << (speed.lanes == 1 ? "" : " together") << " (the median of "
          << Counted(speed.report_count, "report") << ")\n";
    }
  }
}

Value LanesValue(const std::vector<PlannedKind>& kinds) {
  Value list = Value::MakeList();
  for (const PlannedKind& one : kinds) {
    Value row = Value::MakeMap();
    row.Set("shape", one.kind.shape);
    row.Set("device", one.kind.device);
    row.Set("lanes_max", one.fit);
    row.Set("lanes", one.lanes());
    row.Set("limit", one.limit ? Value(Describe(*one.limit)) : Value());
    Value measured = Value::MakeList();
    for (const LaneSpeed& speed : one.speeds) {
      Value entry = Value::MakeMap();
      entry.Set("lanes", speed.lanes);
      entry.Set("images_per_second", speed.images_per_second);
      entry.Set("reports", speed.report_count);
      measured.AsList().push_back(std::move(entry));
    }
    row.Set("measured", std::move(measured));
    list.AsList().push_back(std::move(row));
  }
  return list;
}

Value DevicesValue(const ResourceRequest& request, const std::vector<Device>& devices) {
  Value list = Value::MakeList();
  for (const Device& device : devices) {
    Value one = Value::MakeMap();
    one.Set("device", device.index);
    one.Set("name", device.name);
    one.Set("memory_bytes", device.memory_bytes);
    one.Set("trials", CountOnDevice(request, device));
    one.Set("trial_memory_bytes", SliceMemory(request, device));
    list.AsList().push_back(std::move(one));
  }
  return list;
}

void PrintRungs(const SweepPlan& plan, OutputFormat format, size_t width, std::ostream& out) {
  RowPrinter printer(format, width, out);
  printer.Begin({"bracket", "milestone", "trials_expected", "trials_worst"});
  for (const PlannedRung& rung : plan.rungs) {
    printer.Row({rung.bracket, rung.milestone, rung.expected_count, rung.worst_count});
  }
  printer.End();
}

void SetEpochs(const std::optional<PlannedEpochs>& epochs, const std::string& name, Value& object) {
  object.Set("epochs_" + name, epochs ? Value(epochs->total) : Value());
  object.Set("in_a_row_" + name, epochs ? Value(epochs->in_a_row) : Value());
}

void PrintJson(const ExperimentSpec& spec, const SweepPlan& plan, const PlanOptions& options,
               const std::vector<PlannedKind>& lanes, std::ostream& out) {
  Value object = Value::MakeMap();
  object.Set("name", spec.name);
  object.Set("trials", OrNull(plan.trials));
  object.Set("points", OrNull(plan.points));
  object.Set("trial_iterations", OrNull(plan.trial_iterations));
  object.Set("search", spec.search.is_null() ? Value() : spec.search);
  object.Set("scheduler", spec.scheduler.is_null() ? Value("fifo") : spec.scheduler);
  object.Set("auto", plan.automatic);
  object.Set("at_once", plan.at_once);
  object.Set("devices", DevicesValue(spec.resources, options.devices));
  object.Set("lanes", LanesValue(lanes));
  SetEpochs(plan.expected, "expected", object);
  SetEpochs(plan.worst, "worst", object);
  object.Set("checkpoints_max", plan.worst ? Value(CheckpointsMax(spec, plan)) : Value());
  Value rungs = Value::MakeList();
  for (const PlannedRung& rung : plan.rungs) {
    Value row = Value::MakeMap();
    row.Set("bracket", rung.bracket);
    row.Set("milestone", rung.milestone);
    row.Set("trials_expected", rung.expected_count);
    row.Set("trials_worst", rung.worst_count);
    rungs.AsList().push_back(std::move(row));
  }
  object.Set("disk_bytes", OrNull(DiskBytes(spec, plan)));
  object.Set("sent_bytes", OrNull(SentBytes(spec, plan)));
  object.Set("rungs", std::move(rungs));
  Value warnings = Value::MakeList();
  for (const std::string& warning : plan.warnings) warnings.AsList().emplace_back(warning);
  object.Set("warnings", std::move(warnings));
  out << ToJson(object) << "\n";
}

}  // namespace

std::string SchedulerText(const ExperimentSpec& spec) {
  if (spec.scheduler.is_null()) return "fifo";
  return spec.scheduler.is_string() ? spec.scheduler.AsString() : ToJson(spec.scheduler);
}

int PlanCommand(const PlanOptions& options, std::ostream& out, std::ostream& err) {
  const Result<ExperimentSpec> spec =
      ReadSpecFile(options.space_path, WithShortcuts(options), /*require_trainable=*/false);
  if (!spec.ok()) return Complain(spec.status(), err);
  const uint64_t seed = spec->seed.value_or(kDefaultSeed);
  std::string advice;
  if (!spec->trainable.is_null()) {
    const Result<CheckedConfigurations> checked = CheckConfigurations(*spec, seed);
    if (!checked.ok()) return Complain(InFile(options.space_path, checked.status()), err);
    advice = checked->advice;
  }
  Result<SweepPlan> plan = PlanSweep(*spec, seed, CapacityOf(options));
  if (!plan.ok()) return Complain(plan.status(), err);
  if (!advice.empty()) plan->warnings.push_back(advice);
  Result<std::vector<LaneSpeedRow>> measured = std::vector<LaneSpeedRow>();
  if (!plan->lanes.empty()) measured = ReadLaneSpeeds(options.db_path);
  if (!measured.ok()) return Complain(measured.status(), err);
  const std::vector<PlannedKind> lanes = PlanLanes(*plan, options, *measured);
  if (options.format == OutputFormat::kJson) {
    PrintJson(*spec, *plan, options, lanes, out);
    return 0;
  }
  if (options.format == OutputFormat::kCsv) {
    PrintRungs(*plan, options.format, options.width, out);
  } else {
    PrintNumbers(*spec, *plan, options, out);
    PrintLanes(lanes, out);
    if (!plan->rungs.empty()) PrintRungs(*plan, options.format, options.width, out << "\n");
  }
  for (const std::string& warning : plan->warnings) err << "warning: " << warning << "\n";
  return 0;
}

}  // namespace tune
