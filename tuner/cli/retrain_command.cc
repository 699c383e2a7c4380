#include "tuner/cli/retrain_command.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "core/limits.h"
#include "schedulers/trial_scheduler.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/retrain_rows.h"
#include "tuner/retrain.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

constexpr char kSuffix[] = "-retrain";

// The earlier sweep, and the new one's spec.
struct Prepared {
  FoundSweep sweep;
  ExperimentSpec spec;
};

Status CheckCounts(const RetrainOptions& options) {
  const auto check = [](const char* name, int64_t read, int64_t max) {
    if (read >= 1 && read <= max) return OkStatus();
    return InvalidArgument(std::string(name) + ": read " + std::to_string(read) +
                           ", expected 1 to " + std::to_string(max));
  };
  TUNE_RETURN_IF_ERROR(check("--top", options.top, limits::kPointsMax));
  TUNE_RETURN_IF_ERROR(check("--seeds", options.seeds, limits::kRepeatMax));
  return check("--top times --seeds", options.top * options.seeds, limits::kAskMax);
}

Result<Prepared> Prepare(const RetrainOptions& options, std::ostream& err) {
  TUNE_RETURN_IF_ERROR(CheckCounts(options));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        OpenForQueries(options.run.db_path));
  TUNE_ASSIGN_OR_RETURN(FoundSweep sweep, FindRunSweep(*database, options.name));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec earlier,
                        ReadStoredSpec(*database, sweep, /*require_trainable=*/true));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(earlier));
  TUNE_ASSIGN_OR_RETURN(const auto best, ReadBestConfigurations(*database, sweep, options.top));
  if (best.empty()) {
    return InvalidArgument(sweep.name + ": no trial has reported " + sweep.metric + " yet");
  }
  if (static_cast<int64_t>(best.size()) < options.top) {
    err << "warning: --top " << options.top << ": only "
        << Counted(static_cast<int64_t>(best.size()), "configuration") << " of " << sweep.name
        << " reported " << sweep.metric << "\n";
  }
  RetrainPlan plan;
  plan.name = options.run.name.value_or(sweep.name + kSuffix);
  plan.seed = options.run.seed.value_or(RetrainSeed(std::stoull(sweep.seed)));
  plan.runs = options.seeds;
  for (const BestConfiguration& one : best) plan.configurations.push_back(one.configuration);
  Value again = RetrainDocument(earlier.document, space, SchedulerMaxT(earlier.scheduler), plan);
  if (const auto& at_once = options.run.max_concurrent) {
    TUNE_RETURN_IF_ERROR(ApplyOverride("limits.max_concurrent=" + std::to_string(*at_once), again));
  }
  TUNE_ASSIGN_OR_RETURN(
      ExperimentSpec spec,
      InterpretSpec(again, "the stored spec of " + sweep.name, earlier.base_dir, true));
  return Prepared{std::move(sweep), std::move(spec)};
}

// "s-retrain" or a further one of that name, "s-retrain-2"; not one made of it,
// "s-retrain-retrain".
bool IsNamed(std::string_view name, std::string_view wanted) {
  if (!name.starts_with(wanted)) return false;
  const std::string_view rest = name.substr(wanted.size());
  return rest.empty() || (rest.size() > 1 && rest[0] == '-' &&
                          rest.find_first_not_of("0123456789", 1) == std::string_view::npos);
}

// The latest that was made of this one.
Result<FoundSweep> FindRetrained(Database& database, const std::string& wanted) {
  TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(database));
  const auto found = std::find_if(sweeps.rbegin(), sweeps.rend(), [&](const FoundSweep& sweep) {
    return IsNamed(sweep.name, wanted);
  });
  if (found == sweeps.rend()) {
    return NotFound(database.path() + ": there is no sweep " + wanted +
                    " yet; tune retrain runs one");
  }
  return *found;
}

Value OrNull(const std::optional<double>& number) { return number ? Value(*number) : Value(); }

Status PrintRetrained(const RetrainOptions& options, const std::string& earlier_name,
                      std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        OpenForQueries(options.run.db_path));
  TUNE_ASSIGN_OR_RETURN(const FoundSweep earlier, FindSweep(*database, earlier_name));
  TUNE_ASSIGN_OR_RETURN(
      const FoundSweep sweep,
      FindRetrained(*database, options.run.name.value_or(earlier.name + kSuffix)));
  TUNE_ASSIGN_OR_RETURN(const auto before,
                        ReadBestConfigurations(*database, earlier, limits::kSamplesMax));
  TUNE_ASSIGN_OR_RETURN(const auto retrained, ReadRetrained(*database, sweep));
  if (options.format == OutputFormat::kTable) {
    out << Printable(sweep.name) << ": " << Printable(sweep.metric)
        << " of each configuration's runs\n";
  }
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"trial_before", "value_before", "runs", "reported", "mean", "deviation", "min",
                 "max", "config"});
  for (const RetrainedConfiguration& one : retrained) {
    const auto was = std::find_if(before.begin(), before.end(),
                                  [&](const auto& other) { return other.flat == one.flat; });
    const bool has_any = !one.values.empty();
    TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(one.flat));
    TUNE_ASSIGN_OR_RETURN(const Configuration configuration, Configuration::FromFlat(flat));
    printer.Row({was == before.end() ? Value() : Value(was->trial),
                 was == before.end() ? Value() : Value(was->value), one.trial_count,
                 static_cast<int64_t>(one.values.size()), OrNull(one.mean()),
                 OrNull(one.deviation()),
                 has_any ? Value(*std::min_element(one.values.begin(), one.values.end())) : Value(),
                 has_any ? Value(*std::max_element(one.values.begin(), one.values.end())) : Value(),
                 configuration.ToNested()});
  }
  printer.End();
  return OkStatus();
}

}  // namespace

int RetrainCommand(const RetrainOptions& options, std::ostream& out, std::ostream& err) {
  std::string earlier = options.name;
  int exit_status = 0;
  if (!options.show) {
    Result<Prepared> prepared = Prepare(options, err);
    if (!prepared.ok()) return Complain(prepared.status(), err);
    earlier = prepared->sweep.name;
    exit_status = RunSpec(std::move(prepared->spec), options.run);
    if (options.run.dry_run || options.run.detach || exit_status == 1 || exit_status == 2) {
      return exit_status;
    }
  }
  const Status printed = PrintRetrained(options, earlier, out);
  return printed.ok() ? exit_status : Complain(printed, err);
}

}  // namespace tune
