#include "tuner/cli/run/retrain_command.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "core/limits.h"
#include "schedulers/trial_scheduler.h"
#include "tuner/cli/look/retrain_rows.h"
#include "tuner/cli/words/complain.h"
#include "tuner/retrain.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/integrity.h"

namespace tune {
namespace {

constexpr char kSuffix[] = "-retrain";

// The earlier sweep, and the new one's spec.
struct Prepared {
  FoundSweep sweep;
  ExperimentSpec spec;
};

Status CheckCount(const char* name, int64_t read, int64_t max) {
  if (read >= 1 && read <= max) return OkStatus();
  return InvalidArgument(std::string(name) + ": read " + std::to_string(read) + ", expected 1 to " +
                         std::to_string(max));
}

Status CheckOptions(const RetrainOptions& options) {
  if (options.top && !options.trials.empty())
    return InvalidArgument("--top and --trial do not go together: say one of them");
  TUNE_RETURN_IF_ERROR(CheckCount("--top", options.top.value_or(1), limits::kPointsMax));
  return CheckCount("--seeds", options.seeds, limits::kRepeatMax);
}

// The configurations to be retrained, at least one.
Result<std::vector<BestConfiguration>> Choose(const RetrainOptions& options, Database& database,
                                              const FoundSweep& sweep, std::ostream& err) {
  if (!options.trials.empty()) return ReadConfigurations(database, sweep, options.trials);
  const bool has_front = sweep.objectives.size() > 1;
  const int64_t top = options.top.value_or(has_front ? limits::kPointsMax : 1);
  TUNE_ASSIGN_OR_RETURN(
      auto best, ReadBestConfigurations(database, sweep, has_front ? limits::kPointsMax : top));
  const auto count = static_cast<int64_t>(best.size());
  if (best.empty()) {
    return InvalidArgument(NoBestIn(database, sweep));
  }
  if (has_front && count > top) {
    std::string trials;
    for (const BestConfiguration& one : best)
      trials += (trials.empty() ? "" : ", ") + std::to_string(one.trial);
    return InvalidArgument("--top " + std::to_string(top) + ": of several objectives none of the " +
                           std::to_string(count) + " configurations of the Pareto front (trials " +
                           trials +
                           ") comes before another; leave --top out to retrain them all, "
                           "or name some with --trial N");
  }
  if (options.top && count < top) {
    err << "warning: --top " << top << ": only " << Counted(count, "configuration") << " of "
        << sweep.name << (has_front ? " are on its Pareto front" : " reported " + sweep.metric)
        << "\n";
  }
  return best;
}

Result<Prepared> Prepare(const RetrainOptions& options, std::ostream& err) {
  TUNE_RETURN_IF_ERROR(CheckOptions(options));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        OpenForQueries(options.run.db_path));
  if (IsCheckedQuickly(database->path())) TUNE_RETURN_IF_ERROR(CheckPages(*database));
  TUNE_ASSIGN_OR_RETURN(FoundSweep sweep, FindRunSweep(*database, options.name));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec earlier,
                        ReadStoredSpec(*database, sweep, /*require_trainable=*/true));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(earlier));
  TUNE_ASSIGN_OR_RETURN(const auto chosen, Choose(options, *database, sweep, err));
  TUNE_RETURN_IF_ERROR(CheckCount("configurations times --seeds",
                                  static_cast<int64_t>(chosen.size()) * options.seeds,
                                  limits::kAskMax));
  for (const BestConfiguration& one : chosen) {
    if (one.earlier_configs == 0) continue;
    err << "warning: the configuration of trial " << one.trial << " is "
        << DescribeEarlierConfigs(one.earlier_configs, one.trial) << "\n";
  }
  RetrainPlan plan;
  plan.name = options.run.name.value_or(sweep.name + kSuffix);
  plan.seed = options.run.seed.value_or(RetrainSeed(std::stoull(sweep.seed)));
  plan.runs = options.seeds;
  for (const BestConfiguration& one : chosen) plan.configurations.push_back(one.configuration);
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

// `before`: those that came to something; `firsts`: all.
Result<std::vector<Value>> RetrainedRow(const RetrainedConfiguration& one,
                                        const std::vector<BestConfiguration>& before,
                                        const std::map<std::string, int64_t>& firsts,
                                        size_t objective) {
  const auto first = firsts.find(one.flat);
  const auto was = std::find_if(before.begin(), before.end(),
                                [&](const auto& other) { return other.flat == one.flat; });
  const bool has_any = !one.values.empty();
  TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(one.flat));
  TUNE_ASSIGN_OR_RETURN(const Configuration configuration, Configuration::FromFlat(flat));
  return std::vector<Value>{
      was != before.end()     ? Value(was->trial)
      : first != firsts.end() ? Value(first->second)
                              : Value(),
      was == before.end() ? Value() : Value(was->values.at(objective)),
      one.trial_count,
      static_cast<int64_t>(one.values.size()),
      one.failed_count,
      OrNull(one.mean()),
      OrNull(one.deviation()),
      has_any ? Value(*std::min_element(one.values.begin(), one.values.end())) : Value(),
      has_any ? Value(*std::max_element(one.values.begin(), one.values.end())) : Value(),
      configuration.ToNested()};
}

Status PrintRetrained(const RetrainOptions& options, const std::string& earlier_name,
                      std::ostream& out) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database,
                        OpenForQueries(options.run.db_path));
  TUNE_ASSIGN_OR_RETURN(FoundSweep earlier, FindSweep(*database, earlier_name));
  Result<FoundSweep> found =
      FindRetrained(*database, options.run.name.value_or(earlier.name + kSuffix));
  const size_t suffix = earlier.name.rfind(kSuffix);
  if (!found.ok() && suffix != std::string::npos &&
      IsNamed(earlier.name, earlier.name.substr(0, suffix) + kSuffix)) {
    found = earlier;  // It is the latest after a retrain.
    TUNE_ASSIGN_OR_RETURN(earlier, FindSweep(*database, found->name.substr(0, suffix)));
  }
  TUNE_RETURN_IF_ERROR(found.status());
  const FoundSweep& sweep = *found;
  TUNE_ASSIGN_OR_RETURN(const auto before,
                        ReadBestConfigurations(*database, earlier, limits::kSamplesMax));
  TUNE_ASSIGN_OR_RETURN(const auto firsts, ReadFirstTrials(*database, earlier));
  const bool has_several = sweep.objectives.size() > 1;
  if (options.format == OutputFormat::kTable) {
    out << Printable(sweep.name) << ": " << (has_several ? "objectives" : Printable(sweep.metric))
        << " of each configuration's runs\n";
  }
  RowPrinter printer(options.format, options.width, out);
  std::vector<std::string> columns = {"trial_before", "value_before", "runs", "reported", "failed",
                                      "mean",         "deviation",    "min",  "max",      "config"};
  if (has_several) columns.insert(columns.begin() + 1, "metric");
  printer.Begin(columns);
  for (size_t i = 0; i < sweep.objectives.size(); ++i) {
    TUNE_ASSIGN_OR_RETURN(const auto retrained, ReadRetrained(*database, sweep, i));
    for (const RetrainedConfiguration& one : retrained) {
      TUNE_ASSIGN_OR_RETURN(std::vector<Value> row, RetrainedRow(one, before, firsts, i));
      if (has_several) row.insert(row.begin() + 1, Value(sweep.objectives[i].metric));
      printer.Row(row);
    }
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
