#include "tuner/cli/look/sweep_lookup.h"

#include <algorithm>
#include <filesystem>
#include <ostream>

#include "core/json.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "tuner/artifact_path.h"
#include "tuner/best_trial.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/integrity.h"
#include "tuner/sqlite/schema.h"
#include "tuner/stored_names.h"

namespace tune {
namespace {

void AppendConfig(const Value& value, const std::string& name, std::string& out) {
  if (value.is_map() && !value.AsMap().empty()) {
    for (const MapEntry& entry : value.AsMap()) {
      AppendConfig(entry.value, name.empty() ? entry.key : name + "/" + entry.key, out);
    }
    return;
  }
  if (!out.empty()) out.push_back(' ');
  out += Printable(name) + "=" + ShortText(value);
}

}  // namespace

Result<std::unique_ptr<Database>> OpenForQueries(const std::string& path) {
  Result<std::unique_ptr<Database>> database = Database::Open(path, Access::kRead);
  Status status = database.status();
  if (status.ok()) status = CheckSchema(**database);
  if (status.ok()) status = AddTablesOfLater(**database);
  if (status.code() == StatusCode::kNotFound) {
    return NotFound(status.message() + "; make one with tune run, or name another with --db");
  }
  if (!status.ok()) return status;
  return database;
}

Result<std::unique_ptr<Database>> OpenForAnswer(const std::string& path, std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenForQueries(path));
  Status whole = IsCheckedQuickly(path) ? CheckPages(*database) : OkStatus();
  if (whole.ok()) whole = CheckNothingIsMissing(*database);
  if (!whole.ok()) {
    err << "warning: what follows may be wrong: " << PrintableLines(whole.message()) << "\n";
  }
  return database;
}

std::string FindArtifact(const std::string& path, const std::string& db_path,
                         const std::string& experiment, int64_t trial) {
  const std::string present = PresentPath(path, ArtifactsDirOf(db_path), experiment, trial);
  if (IsS3Url(path)) return path;
  std::error_code error;
  const bool only_stayed =
      !std::filesystem::exists(present, error) && std::filesystem::exists(path, error);
  return only_stayed ? path : present;
}

Result<FoundSweep> FindRunSweep(Database& database, const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(FoundSweep sweep, FindSweep(database, name));
  if (!sweep.is_told()) return sweep;
  return InvalidArgument(Printable(sweep.name) +
                         ": is a sweep of tune ask and tune tell, which no tuner runs; tune delete "
                         "removes it");
}

Result<ExperimentSpec> ReadStoredSpec(Database& database, const FoundSweep& sweep,
                                      bool require_trainable) {
  static constexpr char kSpecSql[] = "SELECT spec, base_dir FROM experiments WHERE id = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSpecSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (!has_row) return NotFound(database.path() + ": the sweep " + sweep.name + " is gone");
  Result<ExperimentSpec> spec =
      InterpretStoredSpec(row->Text(0), sweep.name, row->Text(1), require_trainable);
  return spec;
}

int64_t TrialCountMax(Database& database, const FoundSweep& sweep) {
  if (!sweep.has_space && sweep.samples == 1) return sweep.repeat;  // Such as a job.
  const Result<ExperimentSpec> spec = ReadStoredSpec(database, sweep);
  if (spec.ok()) {
    const Result<SearchSpace> space = SpaceOf(*spec);
    if (space.ok()) return TrialCountOf(*spec, *space, sweep.samples, sweep.decision_version);
  }
  return sweep.samples < 0 ? -1 : sweep.samples * sweep.repeat;
}

Result<std::vector<ConfigurationRuns>> ReadConfigurationRuns(Database& database,
                                                             const FoundSweep& sweep,
                                                             FailedTrials failed) {
  static constexpr char kRunsSql[] =
      "SELECT number, status, best_value, NULL FROM trial_rows WHERE experiment = ?1"
      " ORDER BY number";
  static constexpr char kLimitedRunsSql[] =
      "SELECT number, status, best_value, violation FROM trial_rows WHERE experiment = ?1"
      " ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row,
                        database.Kept(sweep.has_limits() ? kLimitedRunsSql : kRunsSql));
  row->BindAll(sweep.id);
  std::vector<Run> runs;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    runs.push_back({row->Int(0), FindTrialStatus(row->Text(1)).value_or(TrialStatus::kRunning),
                    row->OptionalReal(2), row->OptionalReal(3)});
  }
  return RankConfigurations(runs, sweep.repeat, sweep.direction(), failed);
}

std::string ObjectiveNames(const FoundSweep& sweep) {
  std::string metrics;
  for (const Objective& objective : sweep.objectives) {
    metrics += (metrics.empty() ? "" : " and ") + Printable(objective.metric);
  }
  return metrics;
}

Result<std::optional<FailedBest>> FindFailedBest(Database& database, const FoundSweep& sweep) {
  const std::string sql = "SELECT number, iterations, best_value, " +
                          (sweep.has_limits() ? sweep.ViolationSql() : "NULL") +
                          " FROM trial_rows WHERE experiment = ?1"
                          " AND status = 'ERROR' AND abs(best_value) < 9e999 ORDER BY " +
                          BestFirstSql(sweep.direction(), sweep.ViolationSql()) + " LIMIT 1";
  TUNE_ASSIGN_OR_RETURN(Statement row, database.Prepare(sql));
  row.BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
  if (!has_row) return std::optional<FailedBest>();
  return std::optional(FailedBest{row.Int(0), row.Int(1), row.Real(2), row.OptionalReal(3)});
}

namespace {

// Whether any trial has one. A database that cannot be read has none.
bool HasIterations(Database& database, const FoundSweep& sweep) {
  Result<Statement> row = database.Prepare(
      "SELECT EXISTS (SELECT 1 FROM trial_rows WHERE experiment = ?1 AND iterations > 0)");
  if (!row.ok()) return false;
  row->BindAll(sweep.id);
  const Result<bool> has_row = row->Step();
  return has_row.ok() && *has_row && row->Int(0) != 0;
}

}  // namespace

std::string WhyThereIsNoBest(Database& database, const FoundSweep& sweep) {
  NoBest none;
  const Result<std::optional<FailedBest>> failed = FindFailedBest(database, sweep);
  none.has_failed_best = failed.ok() && failed->has_value();
  none.is_constrained = sweep.is_constrained;
  none.has_iterations = HasIterations(database, sweep);
  return none.Why(ObjectiveNames(sweep));
}

std::string WarningOf(const FoundSweep& sweep, const BestTrial& best) {
  if (!sweep.has_limits()) return "";
  if (best.runs) return WarningOf(sweep.limits, *best.runs);
  return IsFeasible(best.violation) ? "" : NoTrialIsFeasible(sweep.limits, *best.violation);
}

std::string WarningOf(const std::vector<std::string>& limits, const ConfigurationRuns& best) {
  if (best.violation == 0) return "";
  return NotEachRunIsFeasible(limits, best.feasible_count, best.count(), best.violation);
}

std::string NoBestIn(Database& database, const FoundSweep& sweep) {
  return Printable(sweep.name) + ": " + WhyThereIsNoBest(database, sweep);
}

namespace {

std::string BestTrialSql(Mode mode, const std::string& which, bool has_limits) {
  const std::string violation = has_limits ? "violation" : "";
  return "SELECT id, number, status, best_value, best_iteration, " +
         (has_limits ? violation : "NULL") + " FROM trials WHERE experiment = ?1 AND " + which +
         " ORDER BY " + BestFirstSql(mode, violation) + " LIMIT 1";
}

// Of all trials that may be it. A list asks it of each sweep: prepared once.
const char* BestOfAllSql(Mode mode, FailedTrials failed, bool has_limits) {
  static const auto sql_for = [](Mode of, FailedTrials with, bool limited) {
    return BestTrialSql(of, with == FailedTrials::kCount ? "best_value IS NOT NULL" : kMayBeBestSql,
                        limited);
  };
  static const auto sqls_for = [](bool limited) {
    return std::array<std::string, 4>{sql_for(Mode::kMin, FailedTrials::kLeaveOut, limited),
                                      sql_for(Mode::kMin, FailedTrials::kCount, limited),
                                      sql_for(Mode::kMax, FailedTrials::kLeaveOut, limited),
                                      sql_for(Mode::kMax, FailedTrials::kCount, limited)};
  };
  static const std::array<std::string, 4> kSql[2] = {sqls_for(false), sqls_for(true)};
  const size_t which = (IsLargeBetter(mode) ? 2U : 0U) + (failed == FailedTrials::kCount ? 1U : 0U);
  return kSql[has_limits ? 1 : 0][which].c_str();
}

// False: there is none.
Result<bool> TakeBest(Statement& row, int64_t sweep, BestTrial& best) {
  row.BindAll(sweep);
  TUNE_ASSIGN_OR_RETURN(const bool has_trial, row.Step());
  if (!has_trial) return false;
  best.id = row.Int(0);
  best.number = row.Int(1);
  best.status = row.Text(2);
  best.value = row.Real(3);
  best.iteration = row.Int(4);
  best.violation = row.OptionalReal(5);
  return true;
}

// The durable checkpoint of its best iteration, where there are several that of the attempt which
// reported the value; else the latest of that attempt, else the latest.
Status TakeCheckpoint(Database& database, const FoundSweep& sweep, int64_t attempt,
                      BestTrial& best) {
  static constexpr char kSql[] =
      "SELECT path, iteration FROM checkpoints WHERE trial = ?1 AND state = 'durable'"
      " ORDER BY iteration DESC, path";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(best.id);
  std::string path;
  std::optional<std::pair<bool, bool>> standing;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const int64_t iteration = row->Int(1);
    const std::pair<bool, bool> own = {
        iteration == best.iteration,
        AttemptThatMade(std::string(row->Text(0)), iteration) == attempt};
    if (standing && own <= *standing) continue;
    standing = own;
    path = row->Text(0);
    best.checkpoint_iteration = iteration;
  }
  if (standing) {
    best.checkpoint_path = FindArtifact(path, database.path(), sweep.name, best.number);
  }
  return OkStatus();
}

// Of `best`, whose row was taken.
Status TakeConfigAndCheckpoint(Database& database, const FoundSweep& sweep, BestTrial& best) {
  static constexpr char kConfigSql[] =
      "SELECT " TUNE_CONFIG_OF_BEST_SQL("nested") ", (SELECT min(b.attempt) FROM report_rows AS b"
      "   WHERE b.trial = t.id AND b.iteration = t.best_iteration AND b.value = t.best_value),"
      " " TUNE_EARLIER_CONFIGS_SQL
      " FROM trial_rows AS t JOIN configuration_rows AS c ON c.trial = t.id WHERE t.id = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement config, database.Kept(kConfigSql));
  config->BindAll(best.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_config, config->Step());
  int64_t attempt = 1;
  if (has_config) {
    TUNE_ASSIGN_OR_RETURN(best.config, ParseJson(config->Text(0)));
    attempt = config->OptionalInt(1).value_or(1);
    best.earlier_configs = config->Int(2);
  }
  return TakeCheckpoint(database, sweep, attempt, best);
}

Result<bool> TakeRowOf(Database& database, const FoundSweep& sweep, int64_t number,
                       BestTrial& best) {
  TUNE_ASSIGN_OR_RETURN(Statement row, database.Prepare(BestTrialSql(
                                           sweep.direction(), "number = " + std::to_string(number),
                                           sweep.has_limits())));
  return TakeBest(row, sweep.id, best);
}

}  // namespace

Result<std::optional<BestTrial>> FindBestTrial(Database& database, const FoundSweep& sweep,
                                               FailedTrials failed) {
  BestTrial best;
  bool is_there = false;
  if (sweep.has_means()) {
    TUNE_ASSIGN_OR_RETURN(auto ranked, ReadConfigurationRuns(database, sweep, failed));
    if (ranked.empty()) return std::optional<BestTrial>();
    best.runs = std::move(ranked.front());
    TUNE_ASSIGN_OR_RETURN(is_there, TakeRowOf(database, sweep, best.runs->best_trial, best));
  } else {
    TUNE_ASSIGN_OR_RETURN(
        const KeptStatement row,
        database.Kept(BestOfAllSql(sweep.direction(), failed, sweep.has_limits())));
    TUNE_ASSIGN_OR_RETURN(is_there, TakeBest(*row, sweep.id, best));
  }
  if (!is_there) return std::optional<BestTrial>();
  TUNE_RETURN_IF_ERROR(TakeConfigAndCheckpoint(database, sweep, best));
  return std::optional<BestTrial>(std::move(best));
}

Result<BestTrial> FindTrialAsBest(Database& database, const FoundSweep& sweep, int64_t number) {
  BestTrial best;
  TUNE_ASSIGN_OR_RETURN(const bool is_there, TakeRowOf(database, sweep, number, best));
  if (!is_there) return NotFound(sweep.name + ": there is no trial " + std::to_string(number));
  if (sweep.has_means()) {
    TUNE_ASSIGN_OR_RETURN(auto ranked, ReadConfigurationRuns(database, sweep));
    const auto runs = std::find_if(ranked.begin(), ranked.end(), [&](const ConfigurationRuns& of) {
      return of.best_trial / sweep.repeat == number / sweep.repeat;
    });
    if (runs != ranked.end()) best.runs = std::move(*runs);
  }
  TUNE_RETURN_IF_ERROR(TakeConfigAndCheckpoint(database, sweep, best));
  return best;
}

std::string DescribeEarlierConfigs(int64_t count, int64_t trial) {
  return "the last of " + std::to_string(count + 1) +
         ", one after another; trained with this one alone it comes to something else: tune why " +
         std::to_string(trial);
}

std::string DescribeConfig(const Value& nested) {
  if (nested.is_map() && nested.AsMap().empty()) return "no parameters";
  std::string out;
  AppendConfig(nested, "", out);
  return out;
}

}  // namespace tune
