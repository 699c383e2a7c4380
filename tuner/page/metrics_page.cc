#include "tuner/page/metrics_page.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "core/posix/disk_room.h"
#include "core/time.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/messages.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/stored_snapshot.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_counts.h"
#include "tuner/control/control_request.h"
#include "tuner/transition.h"

namespace tune {
namespace {

constexpr TrialStatus kTrialStates[] = {TrialStatus::kPending, TrialStatus::kRunning,
                                        TrialStatus::kPaused, TrialStatus::kTerminated,
                                        TrialStatus::kError};
constexpr StopReason kStopReasons[] = {StopReason::kCompleted,  StopReason::kStopCondition,
                                       StopReason::kMaxT,       StopReason::kScheduler,
                                       StopReason::kSweepLimit, StopReason::kUser};
constexpr ExperimentStatus kSweepStates[] = {
    ExperimentStatus::kRunning, ExperimentStatus::kInterrupted, ExperimentStatus::kFinished,
    ExperimentStatus::kStopped};
constexpr Outcome kEnds[] = {
    Outcome::kCompleted,   Outcome::kStopped,           Outcome::kCrashed, Outcome::kKilled,
    Outcome::kOutOfMemory, Outcome::kDeviceOutOfMemory, Outcome::kHung,    Outcome::kLost,
    Outcome::kPreempted,   Outcome::kBadConfig};
constexpr WorkerState kWorkerStates[] = {WorkerState::kAlive, WorkerState::kDraining,
                                         WorkerState::kLost, WorkerState::kLeft};

// The lines of one metric.
class Family {
 public:
  Family(std::string name, const char* type, const std::string& help) : name_(std::move(name)) {
    text_ = "# HELP " + name_ + " " + help + "\n# TYPE " + name_ + " " + type + "\n";
  }

  Family& Add(const std::string& label, const std::string& value, int64_t number) {
    text_ += Series(label, value) + " " + std::to_string(number) + "\n";
    return *this;
  }
  Family& Add(int64_t number) {
    text_ += name_ + " " + std::to_string(number) + "\n";
    return *this;
  }
  Family& AddReal(double number) {
    char digits[40];
    std::snprintf(digits, sizeof digits, "%.17g", number);
    text_ += name_ + " " + digits + "\n";
    return *this;
  }

  std::string Series(const std::string& label, const std::string& value) const {
    return name_ + "{" + label + "=\"" + value + "\"}";
  }
  const std::string& text() const { return text_; }

 private:
  std::string name_, text_;
};

// Numbers of rows by a word.
using Counts = std::map<std::string, int64_t, std::less<>>;

int64_t Of(const Counts& counts, std::string_view word) {
  const auto found = counts.find(word);
  return found == counts.end() ? 0 : found->second;
}

Result<Counts> ReadCounts(Database& database, const char* sql,
                          std::optional<int64_t> parameter = std::nullopt) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(sql));
  if (parameter) row->BindAll(*parameter);
  Counts counts;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return counts;
    counts[std::string(row->Text(0))] = row->Int(1);
  }
}

int64_t FileBytes(const std::string& path) {
  std::error_code error;
  const uintmax_t bytes = std::filesystem::file_size(path, error);
  return error ? 0 : static_cast<int64_t>(bytes);
}

// The folder, or the nearest one above it that is there.
std::string NearestFolder(std::filesystem::path folder) {
  std::error_code error;
  while (!std::filesystem::is_directory(folder, error) && folder.has_relative_path()) {
    folder = folder.parent_path();
  }
  return folder.string();
}

double SecondsOf(int64_t at_us) { return static_cast<double>(at_us) / 1e6; }

}  // namespace

Result<std::unique_ptr<MetricsPage>> MetricsPage::Open(const std::string& db_path,
                                                       std::string version, const Clock& clock) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, OpenForQueries(db_path));
  return std::unique_ptr<MetricsPage>(
      new MetricsPage(std::move(database), std::move(version), clock));
}

int64_t MetricsPage::Count(const std::string& series, int64_t seen) {
  Counter& counter = counters_[series];
  counter.total += std::max<int64_t>(0, seen - counter.seen);
  counter.seen = seen;
  return counter.total;
}

Result<std::string> MetricsPage::ReadSweeps() {
  TUNE_ASSIGN_OR_RETURN(const std::vector<FoundSweep> sweeps, ListSweeps(*database_));
  Family of_status("tune_sweeps", "gauge", "Sweeps of the database by status.");
  for (const ExperimentStatus status : kSweepStates) {
    const std::string name = ExperimentStatusName(status);
    of_status.Add("status", name,
                  std::count_if(sweeps.begin(), sweeps.end(),
                                [&](const FoundSweep& sweep) { return sweep.status == name; }));
  }
  std::string out = of_status.text();
  // Trials that are told with tune tell have no tuner, and all the time that they want; a job
  // reports at its end alone.
  const auto running = std::find_if(sweeps.rbegin(), sweeps.rend(), [](const FoundSweep& sweep) {
    return sweep.status == kStateRunning && !sweep.is_told() && sweep.metric != kExitStatusMetric;
  });
  if (running == sweeps.rend()) return out;
  out += Family("tune_sweep_start_timestamp_seconds", "gauge",
                "When the running sweep was made, since 1970 UTC.")
             .AddReal(SecondsOf(running->created_us))
             .text();
  // Only its tuner knows.
  FoundSweep living = *running;
  TellPaused(database_->path(), clock_, living);
  out += Family("tune_sweep_paused", "gauge", "1 while the running sweep is paused by command.")
             .Add(living.status == kStatePaused ? 1 : 0)
             .text();
  Family of_state("tune_sweep_trials", "gauge", "Trials of the running sweep by state.");
  TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(*database_, running->id));
  for (const TrialStatus state : kTrialStates) {
    of_state.Add("state", TrialStatusName(state), counts.Of(TrialStatusName(state)));
  }
  out += of_state.text();
  const int64_t trials_max = TrialCountMax(*database_, *running);
  if (trials_max >= 0) {
    out += Family("tune_sweep_trials_max", "gauge",
                  "Trials that the running sweep has if nothing ends it sooner.")
               .Add(trials_max)
               .text();
  }
  TUNE_ASSIGN_OR_RETURN(const std::optional<BestTrial> best, FindBestTrial(*database_, *running));
  if (best) {
    out += Family("tune_sweep_best_value", "gauge",
                  "The best value of the running sweep's metric, in the unit of the metric.")
               .AddReal(best->value)
               .text();
  }
  TUNE_ASSIGN_OR_RETURN(const SweepPace pace, ReadPace(*database_, *running, clock_.Now()));
  const std::optional<TimeLeft> left = EstimateTimeLeft(pace);
  if (left) {
    out += Family("tune_sweep_time_left_seconds", "gauge",
                  "When the running sweep ends, as estimated: four of five times between the two.")
               .Add("bound", "low", left->low.us / 1'000'000)
               .Add("bound", "high", left->high.us / 1'000'000)
               .text();
  }
  return out;
}

Result<std::string> MetricsPage::ReadTrials() {
  static constexpr char kStatesSql[] = "SELECT status, count() FROM trial_rows GROUP BY status";
  static constexpr char kReasonsSql[] =
      "SELECT stop_reason, count() FROM trial_rows WHERE status = 'TERMINATED'"
      " GROUP BY stop_reason";
  static constexpr char kReportCountSql[] = "SELECT count() FROM report_rows";
  // Rows of report_rows are in order of arrival.
  static constexpr char kLastReportSql[] =
      "SELECT reported_us FROM report_rows ORDER BY rowid DESC LIMIT 1";
  TUNE_ASSIGN_OR_RETURN(const Counts states, ReadCounts(*database_, kStatesSql));
  Family of_state("tune_trials", "gauge",
                  "Trials of the database by state, as it stands there: those of an interrupted "
                  "sweep may be RUNNING.");
  for (const TrialStatus state : kTrialStates) {
    of_state.Add("state", TrialStatusName(state), Of(states, TrialStatusName(state)));
  }
  TUNE_ASSIGN_OR_RETURN(const Counts reasons, ReadCounts(*database_, kReasonsSql));
  Family stops("tune_trials_ended_total", "counter",
               "Trials that ended, by the reason; scheduler: stopped early; error: failed.");
  for (const StopReason reason : kStopReasons) {
    const char* const name = StopReasonName(reason);
    stops.Add("reason", name, Count(stops.Series("reason", name), Of(reasons, name)));
  }
  stops.Add("reason", "error", Count(stops.Series("reason", "error"), Of(states, "ERROR")));
  TUNE_ASSIGN_OR_RETURN(const int64_t reports, database_->QueryInt(kReportCountSql));
  Family of_reports("tune_reports_total", "counter", "Reports of trials.");
  of_reports.Add(Count("tune_reports_total", reports));
  std::string out = of_state.text() + stops.text() + of_reports.text();
  if (reports == 0) return out;
  TUNE_ASSIGN_OR_RETURN(const int64_t last_us, database_->QueryInt(kLastReportSql));
  return out + Family("tune_last_report_timestamp_seconds", "gauge",
                      "When the latest report of any trial came, since 1970 UTC.")
                   .AddReal(SecondsOf(last_us))
                   .text();
}

Result<std::string> MetricsPage::ReadAttempts() {
  static constexpr char kOutcomesSql[] =
      "SELECT outcome, count() FROM attempt_rows GROUP BY outcome";
  static constexpr char kRetriesSql[] =
      "SELECT count() FROM attempt_rows AS a JOIN attempt_rows AS b"
      " ON b.trial = a.trial AND b.number = a.number - 1"
      " WHERE a.number > 1 AND b.outcome NOT IN ('running', 'completed', 'stopped', 'preempted')";
  static constexpr char kBytesSql[] =
      "SELECT coalesce(sum(bytes), 0) FROM checkpoint_rows WHERE state = 'durable'";
  TUNE_ASSIGN_OR_RETURN(const Counts outcomes, ReadCounts(*database_, kOutcomesSql));
  Family ends("tune_attempts_ended_total", "counter", "Attempts of trials that ended, by outcome.");
  for (const Outcome outcome : kEnds) {
    const char* const name = OutcomeName(outcome);
    ends.Add("outcome", name, Count(ends.Series("outcome", name), Of(outcomes, name)));
  }
  TUNE_ASSIGN_OR_RETURN(const int64_t retries, database_->QueryInt(kRetriesSql));
  Family of_retries("tune_retries_total", "counter",
                    "Attempts that were begun because the one before failed or was lost.");
  of_retries.Add(Count("tune_retries_total", retries));
  TUNE_ASSIGN_OR_RETURN(const int64_t bytes, database_->QueryInt(kBytesSql));
  Family of_bytes("tune_checkpoint_bytes", "gauge", "Bytes of the checkpoints that are kept.");
  of_bytes.Add(bytes);
  return ends.text() + of_retries.text() + of_bytes.text();
}

Result<std::string> MetricsPage::ReadWorkers() {
  // Sweeps of a head have rows of the same ones; one that has left a sweep may be there for others.
  static constexpr char kStatesSql[] =
      "SELECT state, count() FROM (SELECT CASE min(CASE state WHEN 'alive' THEN 0 WHEN 'draining'"
      " THEN 1 WHEN 'lost' THEN 2 ELSE 3 END) WHEN 0 THEN 'alive' WHEN 1 THEN 'draining' WHEN 2"
      " THEN 'lost' ELSE 'left' END AS state FROM worker_rows"
      " GROUP BY name, address, session, joined_us) GROUP BY state";
  TUNE_ASSIGN_OR_RETURN(const Counts states, ReadCounts(*database_, kStatesSql));
  Family of_state("tune_workers", "gauge",
                  "Workers that joined any sweep of the database, by state.");
  int64_t joined = 0;
  for (const WorkerState state : kWorkerStates) {
    of_state.Add("state", WorkerStateName(state), Of(states, WorkerStateName(state)));
    joined += Of(states, WorkerStateName(state));
  }
  Family of_joined("tune_workers_joined_total", "counter", "Workers that joined.");
  of_joined.Add(Count("tune_workers_joined_total", joined));
  Family of_lost("tune_workers_lost_total", "counter",
                 "Workers that nothing was heard of any more.");
  of_lost.Add(Count("tune_workers_lost_total", Of(states, "lost")));
  return of_state.text() + of_joined.text() + of_lost.text();
}

Result<std::string> MetricsPage::ReadSizes() {
  const std::string& path = database_->path();
  std::string out = Family("tune_database_bytes", "gauge", "Size of the database's file.")
                        .Add(FileBytes(path))
                        .text() +
                    Family("tune_database_wal_bytes", "gauge",
                           "Size of the file beside it with what was committed last.")
                        .Add(FileBytes(path + "-wal"))
                        .text();
  const std::optional<DiskRoom> room = FindDiskRoom(NearestFolder(ArtifactsDirOf(path)));
  if (!room) return out;
  return out +
         Family("tune_artifacts_disk_free_bytes", "gauge",
                "What is free for us of the disk with the artifacts folder.")
             .Add(room->free_bytes)
             .text() +
         Family("tune_artifacts_disk_size_bytes", "gauge",
                "Size of the disk with the artifacts folder.")
             .Add(room->size_bytes)
             .text();
}

Result<std::string> MetricsPage::Read() {
  Family info("tune_build_info", "gauge", "Of the program that answers; always 1.");
  std::string out = info.Add("version", version_, 1).text();
  TUNE_ASSIGN_OR_RETURN(const std::string sweeps, ReadSweeps());
  TUNE_ASSIGN_OR_RETURN(const std::string trials, ReadTrials());
  TUNE_ASSIGN_OR_RETURN(const std::string attempts, ReadAttempts());
  TUNE_ASSIGN_OR_RETURN(const std::string workers, ReadWorkers());
  TUNE_ASSIGN_OR_RETURN(const std::string sizes, ReadSizes());
  Family answers("tune_page_requests_total", "counter",
                 "Requests to the page's server, by the first digit of what they were answered.");
  for (int digit = 2; digit <= 5; ++digit) {
    answers.Add("code", std::to_string(digit) + "xx", answers_[digit]);
  }
  return out + sweeps + trials + attempts + workers + sizes + answers.text();
}

HttpAnswer MetricsPage::Answer() {
  if (database_->HasMoved()) {
    Result<std::unique_ptr<Database>> other = OpenForQueries(database_->path());
    if (!other.ok()) {
      return ErrorAnswer(503, "the database that was looked at is not there any more: " +
                                  other.status().message());
    }
    database_ = *std::move(other);
  }
  const Status begun = database_->Execute("BEGIN");
  Result<std::string> text = begun.ok() ? Read() : Result<std::string>(begun);
  const Status ended = begun.ok() ? database_->Execute("COMMIT") : begun;
  if (!ended.ok()) text = ended;
  if (!text.ok()) return ErrorAnswer(500, text.status().message());
  HttpAnswer answer;
  answer.content_type = "text/plain; version=0.0.4; charset=utf-8";
  answer.body = *std::move(text);
  answer.headers = {{"Cache-Control", "no-store"}};
  return answer;
}

}  // namespace tune
