#include "tuner/cli/look/stored_snapshot.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "core/json.h"
#include "core/resources.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/stored_doubts.h"
#include "tuner/control/control_request.h"

namespace tune {
namespace {

std::optional<BestSoFar> ToBestSoFar(const std::optional<BestTrial>& found) {
  if (!found) return std::nullopt;
  return BestSoFar{found->number,          found->value, found->iteration,       found->config,
                   found->checkpoint_path, found->runs,  found->earlier_configs, found->violation};
}

Status CountTrials(Database& database, int64_t experiment, SweepSnapshot& snapshot) {
  static constexpr char kCountsSql[] =
      "SELECT status, count(), coalesce(sum(iterations), 0) FROM trials WHERE experiment = ?1"
      " GROUP BY status ORDER BY status";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kCountsSql));
  row->BindAll(experiment);
  int64_t trial_count = 0;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    const std::string_view status = row->Text(0);
    const int64_t count = row->Int(1);
    trial_count += count;
    snapshot.iteration_count += row->Int(2);
    if (status == "PENDING") snapshot.pending_count = count;
    if (status == "PAUSED") snapshot.paused_count = count;
    if (status == "TERMINATED") snapshot.stopped_count = count;
    if (status == "ERROR") snapshot.failed_count = count;
  }
  if (snapshot.samples >= 0) {
    snapshot.pending_count += std::max<int64_t>(0, snapshot.samples - trial_count);
  }
  return OkStatus();
}

Status ReadRunning(Database& database, int64_t experiment, Instant now, SweepSnapshot& snapshot) {
  static constexpr char kRunningSql[] =
      "SELECT t.number, t.iterations, t.last_value, t.best_value, w.name, a.started_us"
      " FROM trial_rows AS t JOIN attempt_rows AS a ON a.trial = t.id AND a.number = t.attempts"
      " LEFT JOIN worker_rows AS w ON w.id = a.worker"
      " WHERE t.experiment = ?1 AND t.status = 'RUNNING' ORDER BY t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kRunningSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    RunningTrial& trial = snapshot.running.emplace_back();
    trial.number = row->Int(0);
    trial.iteration = row->Int(1);
    trial.last_value = row->OptionalReal(2);
    trial.best_value = row->OptionalReal(3);
    if (!row->IsNull(4)) trial.worker = row->Text(4);
    trial.running_for = now - Instant{row->Int(5)};
  }
  return OkStatus();
}

Status ReadRungs(Database& database, int64_t experiment, SweepSnapshot& snapshot) {
  // SQLite takes a bare column from the row that has the max().
  static constexpr char kRungsSql[] =
      "SELECT d.rung, d.cutoff, max(d.count) FROM decisions AS d"
      " JOIN trials AS t ON t.id = d.trial WHERE t.experiment = ?1 AND d.rung IS NOT NULL"
      " GROUP BY d.rung ORDER BY d.rung";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kRungsSql));
  row->BindAll(experiment);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    snapshot.rungs.push_back({0, row->Int(0), row->Int(2), row->OptionalReal(1)});
  }
  return OkStatus();
}

// What the workers have, and what the running trials use of it by their request.
Status ReadUse(Database& database, int64_t experiment, SweepSnapshot& snapshot) {
  static constexpr char kWorkersSql[] =
      "SELECT count(), coalesce(sum(cpu_milli), 0), coalesce(sum(device_count), 0)"
      " FROM worker_rows WHERE experiment = ?1 AND state IN ('alive', 'draining')";
  static constexpr char kRequestSql[] =
      "SELECT coalesce(json_extract(spec, '$.resources.cpu'), 1) * r.ranks,"
      " coalesce(json_extract(spec, '$.resources.gpu'), 0) * r.ranks"
      " FROM (SELECT spec, coalesce(json_extract(spec, '$.resources.workers'), 1) AS ranks"
      " FROM experiment_rows WHERE id = ?1) AS r";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement workers, database.Kept(kWorkersSql));
  workers->BindAll(experiment);
  TUNE_ASSIGN_OR_RETURN(const bool has_workers, workers->Step());
  if (has_workers) {
    snapshot.worker_count = workers->Int(0);
    snapshot.cpu_milli_total = workers->Int(1);
    snapshot.gpu_milli_total = workers->Int(2) * kWholeMilli;
  }
  TUNE_ASSIGN_OR_RETURN(const KeptStatement request, database.Kept(kRequestSql));
  request->BindAll(experiment);
  TUNE_ASSIGN_OR_RETURN(const bool has_request, request->Step());
  if (has_request) {
    const double running = static_cast<double>(snapshot.running.size()) * kWholeMilli;
    snapshot.cpu_milli_used = static_cast<int64_t>(running * request->Real(0) + 0.5);
    snapshot.gpu_milli_used = static_cast<int64_t>(running * request->Real(1) + 0.5);
  }
  return OkStatus();
}

TrialPace::State StoredState(std::string_view status) {
  if (status == "PENDING") return TrialPace::State::kOpen;
  if (status == "RUNNING") return TrialPace::State::kRunning;
  if (status == "PAUSED") return TrialPace::State::kPaused;
  return TrialPace::State::kOver;
}

}  // namespace

Result<SweepPace> ReadPace(Database& database, const FoundSweep& sweep, Instant now,
                           std::optional<std::vector<int64_t>> rungs) {
  static constexpr char kTrialsSql[] =
      "SELECT t.status, t.iterations, t.run_seconds,"
      " CASE t.status WHEN 'RUNNING' THEN (SELECT a.started_us FROM attempt_rows AS a"
      "   WHERE a.trial = t.id AND a.number = t.attempts) END,"
      " CASE t.status WHEN 'RUNNING' THEN (SELECT max(r.reported_us) FROM report_rows AS r"
      "   WHERE r.trial = t.id AND r.attempt = t.attempts) END"
      " FROM trial_rows AS t WHERE t.experiment = ?1 ORDER BY t.number";
  static constexpr char kRungsSql[] =
      "SELECT DISTINCT d.rung FROM decisions AS d JOIN trials AS t ON t.id = d.trial"
      " WHERE t.experiment = ?1 AND d.rung IS NOT NULL ORDER BY d.rung";
  SweepPace pace;
  pace.samples = TrialCountMax(database, sweep);
  const Result<ExperimentSpec> spec = ReadStoredSpec(database, sweep);
  if (spec.ok()) {
    pace.longest = LongestTrial(*spec);
    pace.rung_share = RungShare(*spec);
  }
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialsSql));
  row->BindAll(sweep.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    Duration run_time = Seconds(row->Real(2));
    if (!row->IsNull(3)) run_time = run_time + (now - Instant{row->Int(3)});
    TrialPace& one = pace.trials.emplace_back(StoredState(row->Text(0)), row->Int(1), run_time);
    if (!row->IsNull(4)) one.report_time = Duration{run_time.us - (now - Instant{row->Int(4)}).us};
  }
  if (rungs) {
    pace.rungs = *std::move(rungs);
    return pace;
  }
  TUNE_ASSIGN_OR_RETURN(const KeptStatement rung, database.Kept(kRungsSql));
  rung->BindAll(sweep.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, rung->Step());
    if (!has_row) break;
    pace.rungs.push_back(rung->Int(0));
  }
  return pace;
}

Result<SweepSnapshot> StoredSnapshots::Read(Database& database, const FoundSweep& sweep,
                                            Instant now) {
  SweepSnapshot snapshot;
  snapshot.name = sweep.name;
  snapshot.metric = sweep.metric;
  snapshot.mode = sweep.direction();
  snapshot.samples = TrialCountMax(database, sweep);
  snapshot.is_paused = sweep.status == kStatePaused;
  TUNE_RETURN_IF_ERROR(CountTrials(database, sweep.id, snapshot));
  TUNE_RETURN_IF_ERROR(ReadRunning(database, sweep.id, now, snapshot));
  TUNE_RETURN_IF_ERROR(ReadRungs(database, sweep.id, snapshot));
  TUNE_RETURN_IF_ERROR(ReadUse(database, sweep.id, snapshot));
  TUNE_ASSIGN_OR_RETURN(const auto best, FindBestTrial(database, sweep));
  snapshot.best = ToBestSoFar(best);
  if (!best) snapshot.why_no_best = WhyThereIsNoBest(database, sweep);
  rate_.Add(now, snapshot.iteration_count);
  snapshot.iterations_per_second = rate_.PerSecond();
  snapshot.elapsed = now - begun_at_;
  TUNE_ASSIGN_OR_RETURN(const SweepPace pace, ReadPace(database, sweep, now));
  if (!snapshot.is_paused) snapshot.time_left = EstimateTimeLeft(pace);
  return snapshot;
}

Result<int64_t> CountIterationsAgain(Database& database, int64_t experiment) {
  static constexpr char kAgainSql[] =
      "SELECT coalesce(sum(max(0, last - next_from)), 0) FROM (SELECT"
      " (SELECT max(r.iteration) FROM report_rows AS r WHERE r.trial = a.trial"
      "   AND r.attempt = a.number AND r.value IS NOT NULL) AS last,"
      // A program that finds its own files may begin later than it was told.
      " lead(max(a.from_iteration, coalesce((SELECT min(r.iteration) - 1 FROM report_rows AS r"
      "   WHERE r.trial = a.trial AND r.attempt = a.number), 0)))"
      " OVER (PARTITION BY a.trial ORDER BY a.number) AS next_from"
      " FROM attempt_rows AS a JOIN trial_rows AS t ON t.id = a.trial"
      " WHERE t.experiment = ?1 AND t.attempts > 1)"  // Else reports of all trials are read.
      " WHERE last IS NOT NULL AND next_from IS NOT NULL";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kAgainSql));
  row->BindAll(experiment);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  return has_row ? row->Int(0) : 0;
}

Result<std::vector<EndedTrial>> StoredSnapshots::ReadEnded(Database& database,
                                                           const FoundSweep& sweep) {
  static constexpr char kEndedSql[] =
      "SELECT t.number, t.status, t.stop_reason, t.iterations, t.best_value,"
      " coalesce(t.best_iteration, 0), t.last_value,"
      " (SELECT a.error FROM attempt_rows AS a WHERE a.trial = t.id AND a.number = t.attempts)"
      " FROM trial_rows AS t WHERE t.experiment = ?1 AND t.status IN ('TERMINATED', 'ERROR')"
      " ORDER BY t.finished_us, t.number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kEndedSql));
  row->BindAll(sweep.id);
  std::vector<EndedTrial> ended;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    if (!told_.insert(row->Int(0)).second || !has_looked_) continue;
    const bool has_failed = row->Text(1) == "ERROR";
    const int reason = has_failed ? 7 : 2;
    ended.push_back({row->Int(0), has_failed,
                     row->IsNull(reason) ? "" : std::string(row->Text(reason)), row->Int(3),
                     row->OptionalReal(4), row->Int(5), row->OptionalReal(6)});
  }
  has_looked_ = true;
  return ended;
}

Result<EarlierHistory> StoredSnapshots::ReadHistory(Database& database,
                                                    const FoundSweep& sweep) const {
  // Rows of report_rows are in order of arrival. Those without a decision came again after a retry,
  // and count where one of them is its trial's best (tuner/page/sweep_course.cc).
  static constexpr char kBestSql[] =
      "SELECT r.reported_us, r.value FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE t.experiment = ?1 AND t.status <> 'ERROR' AND r.value IS NOT NULL"
      " AND (?3 OR r.decision IS NOT NULL OR (r.iteration = t.best_iteration AND r.value = "
      "t.best_value))"
      " AND (?2 = 0 OR json_extract(r.metrics, '$.violation') = 0) ORDER BY r.rowid";
  static constexpr char kCurvesSql[] =
      "SELECT t.number, r.iteration, r.value FROM trial_rows AS t JOIN report_rows AS r"
      " ON r.trial = t.id WHERE t.experiment = ?1 AND t.status = 'RUNNING'"
      " AND r.value IS NOT NULL ORDER BY t.number, r.iteration, r.attempt";
  EarlierHistory history;
  if (!sweep.has_means()) {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kBestSql));
    row->BindAll(sweep.id, static_cast<int64_t>(sweep.has_limits() ? 1 : 0),
                 static_cast<int64_t>(sweep.is_told() ? 1 : 0));
    for (;;) {
      TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
      if (!has_row) break;
      const double value = row->Real(1);
      const bool is_better =
          history.best.empty() || IsBetter(value, history.best.back().second, sweep.direction());
      if (!is_better) continue;
      // Of an earlier life of the tuner: at the beginning of this one.
      const Duration at{std::max<int64_t>(0, row->Int(0) - begun_at_.us)};
      history.best.emplace_back(at, value);
    }
  }
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kCurvesSql));
  row->BindAll(sweep.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return history;
    auto& curve = history.curves[row->Int(0)];
    // An iteration that came again counts as it came last.
    if (!curve.empty() && curve.back().first == row->Int(1)) curve.pop_back();
    curve.emplace_back(row->Int(1), row->Real(2));
  }
}

Result<SweepSummary> StoredSnapshots::ReadTotals(Database& database,
                                                 const FoundSweep& sweep) const {
  static constexpr char kTotalsSql[] =
      "SELECT count(), coalesce(sum(status = 'ERROR'), 0),"
      " coalesce(sum(stop_reason = 'scheduler'), 0), coalesce(sum(iterations), 0),"
      " coalesce(sum(status = 'PAUSED'), 0), l.iterations_max,"
      " coalesce(sum(CASE WHEN stop_reason = 'scheduler' OR status = 'PAUSED'"
      " THEN max(iterations, l.iterations_max) ELSE iterations END), 0)"
      " FROM trial_rows, (SELECT coalesce(max(iterations), 0) AS iterations_max FROM trial_rows"
      " WHERE experiment = ?1 AND stop_reason IN ('completed', 'max_t')) AS l"
      " WHERE experiment = ?1";
  SweepSummary summary;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTotalsSql));
  row->BindAll(sweep.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (has_row) {
    summary.trial_count = row->Int(0);
    summary.failed_count = row->Int(1);
    summary.early_count = row->Int(2);
    summary.iterations_trained = row->Int(3);
    summary.paused_count = row->Int(4);
    summary.has_ended_trial = row->Int(5) > 0 || sweep.scheduler == "fifo";
    if (row->Int(5) > 0 && sweep.scheduler != "fifo") summary.iterations_full = row->Int(6);
  }
  TUNE_ASSIGN_OR_RETURN(summary.iterations_again, CountIterationsAgain(database, sweep.id));
  summary.iterations_trained += summary.iterations_again;
  return summary;
}

Result<SweepSummary> StoredSnapshots::ReadSummary(Database& database, const FoundSweep& sweep,
                                                  Instant now) const {
  TUNE_ASSIGN_OR_RETURN(SweepSummary summary, ReadTotals(database, sweep));
  summary.name = sweep.name;
  summary.metric = sweep.metric;
  summary.status = sweep.status;
  summary.given_up = sweep.given_up;
  summary.ended_early = sweep.ended_early;
  summary.experiment = sweep.id;
  summary.mode = sweep.direction();
  summary.repeat = sweep.repeat;
  TUNE_ASSIGN_OR_RETURN(const auto best, FindBestTrial(database, sweep));
  summary.best = ToBestSoFar(best);
  if (!best) summary.why_no_best = WhyThereIsNoBest(database, sweep);
  summary.has_limits = sweep.has_limits();
  if (best) summary.none_feasible = WarningOf(sweep, *best);
  TUNE_ASSIGN_OR_RETURN(summary.better_failed, FindFailedBest(database, sweep));
  const bool has_better =
      summary.better_failed &&
      (!best || (!best->runs &&
                 IsBetterStanding(summary.better_failed->value, summary.better_failed->violation,
                                  best->value, best->violation, sweep.direction())));
  if (!has_better) summary.better_failed.reset();
  if (sweep.objectives.size() > 1) {
    TUNE_ASSIGN_OR_RETURN(const auto front, ReadParetoFront(database, sweep));
    summary.front = DescribeFront(front);
    summary.none_feasible = WarningOf(sweep.limits, front);
  }
  TUNE_ASSIGN_OR_RETURN(summary.doubts, ReadDoubts(database, sweep.id));
  const Instant end = sweep.finished_us ? Instant{*sweep.finished_us} : now;
  summary.elapsed = end - begun_at_;
  summary.db_path = database.path();
  summary.resume_line = ShellCommand("resume", sweep.name, database.path());
  return summary;
}

}  // namespace tune
