#include "tuner/cli/look/found_job.h"

#include <signal.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <functional>
#include <string_view>
#include <utility>

#include "core/json.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/command_text.h"
#include "trial_runner/placement.h"
#include "tuner/cli/look/job_order.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/stored_changes.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr int kCouldNotRun = 3;

// Its trial's row, and that of its last attempt.
struct TrialState {
  std::string status;  // Empty: there is none yet.
  std::string stop_reason;
  std::string outcome;
  std::string error;
  std::optional<int64_t> started_us, finished_us;
};

Result<TrialState> ReadTrial(Database& database, int64_t sweep) {
  static constexpr char kTrialSql[] =
      "SELECT t.status, t.stop_reason, a.outcome, a.error, t.started_us, t.finished_us"
      " FROM trial_rows AS t LEFT JOIN attempt_rows AS a ON a.trial = t.id AND a.number ="
      " (SELECT max(b.number) FROM attempt_rows AS b WHERE b.trial = t.id)"
      " WHERE t.experiment = ?1 AND t.number = 0";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kTrialSql));
  row->BindAll(sweep);
  TrialState trial;
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (!has_row) return trial;
  trial.status = row->Text(0);
  trial.stop_reason = row->Text(1);
  trial.outcome = row->Text(2);
  trial.error = row->Text(3);
  trial.started_us = row->OptionalInt(4);
  trial.finished_us = row->OptionalInt(5);
  return trial;
}

// Of "the program exited with status 3: ..." and, as a shell has it, of "the program died of
// SIGTERM".
std::optional<int> ExitStatusIn(std::string_view error) {
  constexpr std::string_view kDied = "the program died of SIG";
  constexpr std::string_view kExited = "the program exited with status ";
  const size_t at = error.find(kExited);
  // The first is ours; what follows is the program's last line.
  if (const size_t died = error.find(kDied); died < at) {
    const std::string_view rest = error.substr(died + kDied.size());
    const std::string_view name = rest.substr(0, rest.find_first_of(":; \n"));
    for (int signal = 1; signal < NSIG; ++signal) {
      const char* const known = sigabbrev_np(signal);
      if (known != nullptr && name == known) return 128 + signal;
    }
  }
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view digits = error.substr(at + kExited.size());
  int status = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), status);
  return read.ec == std::errc() ? std::optional(status) : std::nullopt;
}

void Fail(const TrialState& trial, FoundJob& job) {
  job.state = JobState::kFailed;
  job.exit_status = ExitStatusIn(trial.error).value_or(kCouldNotRun);
  job.sentence = trial.error;
  if (trial.outcome == "out_of_memory" || trial.outcome == "device_out_of_memory") {
    job.reason = "out_of_memory";
  } else if (trial.outcome == "lost" || trial.outcome == "preempted") {
    job.reason = "worker_lost";
  } else if (trial.outcome == "hung") {
    job.reason = "no_progress";
  } else if (trial.outcome == "bad_config" || trial.outcome.empty()) {
    job.reason = "can_never_run";
  } else {
    job.reason = "exit_status";
  }
}

// Why a job waits, as the living tuner tells it; null: nobody is asked.
using AskWhy = std::function<std::string()>;

void Wait(const FoundSweep& sweep, const std::string& db_path, const AskWhy& ask, FoundJob& job) {
  job.state = JobState::kPending;
  if (sweep.status == "INTERRUPTED") {
    if (!sweep.given_up.empty()) {
      job.state = JobState::kFailed;
      job.exit_status = kCouldNotRun;
      job.reason = "can_never_run";
      job.sentence = sweep.given_up + "; tune resume tries it again";
      return;
    }
    const std::optional<LockHolder> holder = FindLockHolder(db_path);
    const bool has_head = holder && holder->is_head;
    job.reason = has_head ? "backing_off" : "no_head";
    job.sentence = has_head ? "it was interrupted, as head.log says why; the head tries again each "
                              "minute"
                            : "nothing runs it; tune head goes on with it";
    return;
  }
  if (sweep.status == "PAUSED") {
    job.reason = "paused";
    return;
  }
  if (!ask) return;
  job.sentence = ask();
  const bool is_paused = job.sentence.find("paused") != std::string::npos;
  job.reason = is_paused                          ? "paused"
               : job.sentence.starts_with("back") ? "backing_off"
                                                  : "waits_for_resources";
}

void Understand(const FoundSweep& sweep, const TrialState& trial, const std::string& db_path,
                const AskWhy& ask, FoundJob& job) {
  // Its last report may have come before the rest of what it printed.
  const bool is_living = sweep.status == "RUNNING" || sweep.status == "PAUSED";
  if (trial.outcome == "running" && is_living) {
    job.state = JobState::kRunning;
    return;
  }
  if (trial.status == "ERROR") return Fail(trial, job);
  if (trial.status == "TERMINATED" && trial.stop_reason == "completed") {
    job.state = JobState::kSucceeded;
    return;
  }
  if (trial.status == "TERMINATED" && trial.stop_reason != "user") {
    job.state = JobState::kFailed;
    job.exit_status = kCouldNotRun;
    job.reason = "time_limit";
    job.sentence = "it ran for longer than it may";
    return;
  }
  const bool has_ended = sweep.status == "FINISHED" || sweep.status == "STOPPED";
  if (trial.status == "TERMINATED" || has_ended) {
    const bool is_stopped = trial.status == "TERMINATED" || sweep.status == "STOPPED";
    job.state = is_stopped ? JobState::kStopped : JobState::kFailed;
    job.reason = is_stopped ? "stopped_by_user" : "can_never_run";
    job.exit_status = kCouldNotRun;
    return;
  }
  Wait(sweep, db_path, ask, job);
}

// As a shell would be told.
std::string ShellText(const Value& trainable) {
  const Value* const command = trainable.is_map() ? trainable.Find("command") : nullptr;
  if (command == nullptr) return "";
  if (command->is_string()) return command->AsString();
  std::string text;
  if (!command->is_list()) return text;
  for (const Value& word : command->AsList()) {
    if (!word.is_string()) continue;
    std::string plain;
    for (size_t i = 0; i < word.AsString().size(); ++i) {
      plain += word.AsString()[i];
      const std::string_view pair = std::string_view(word.AsString()).substr(i, 2);
      if (pair == "{{" || pair == "}}") ++i;
    }
    text += (text.empty() ? "" : " ") + ShellQuoted(plain);
  }
  return text;
}

// What it is to follow tells more than that the head has paused, or stopped, it.
Status LookAtOrder(Database& database, const FoundSweep& sweep,
                   const std::vector<std::string>& after, FoundJob& job) {
  const bool may_be = job.state == JobState::kPending || job.state == JobState::kStopped;
  if (after.empty() || !may_be || job.started_us) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const AfterView view, LookAfter(database, after));
  // A person may have let it begin all the same.
  const bool waits = job.state == JobState::kPending && view.state == AfterState::kWaits &&
                     job.reason != "waits_for_resources";
  if (waits) {
    job.reason = "waits_for_job";
    job.sentence = view.sentence;
  }
  if (job.state != JobState::kStopped) return OkStatus();
  // What it was to follow may have failed, or gone on, since it was stopped.
  const bool has_failed = view.state == AfterState::kFailed;
  TUNE_ASSIGN_OR_RETURN(const std::optional<bool> is_asked, IsStopAskedFor(database, sweep.id));
  if (is_asked.value_or(!has_failed)) return OkStatus();
  job.reason = "dependency_failed";
  job.sentence = has_failed ? view.sentence : "what it was to follow had failed";
  return OkStatus();
}

Result<FoundJob> Read(Database& database, const FoundSweep& sweep, const AskWhy& ask) {
  FoundJob job;
  job.name = sweep.name;
  job.created_us = sweep.created_us;
  job.labels = sweep.labels;
  TUNE_ASSIGN_OR_RETURN(const TrialState trial, ReadTrial(database, sweep.id));
  job.started_us = trial.started_us;
  job.finished_us = trial.finished_us;
  Understand(sweep, trial, database.path(), ask, job);
  if (IsFinal(job.state) && !job.finished_us) job.finished_us = sweep.finished_us;  // Never begun.
  const Result<ExperimentSpec> spec = ReadStoredSpec(database, sweep);
  if (!spec.ok()) return job;
  job.resources = DescribeRequest(spec->resources);
  job.owner = spec->share.owner;
  job.command = ShellText(spec->trainable);
  TUNE_RETURN_IF_ERROR(LookAtOrder(database, sweep, spec->after, job));
  return job;
}

}  // namespace

Result<JobState> ReadJobState(Database& database, const FoundSweep& sweep) {
  TUNE_ASSIGN_OR_RETURN(const TrialState trial, ReadTrial(database, sweep.id));
  FoundJob job;
  Understand(sweep, trial, database.path(), nullptr, job);
  return job.state;
}

Result<FoundJob> ReadJob(Database& database, FoundSweep sweep, const Clock& clock, bool asks) {
  if (!asks) return Read(database, sweep, nullptr);
  TellPaused(database.path(), clock, sweep);
  return Read(database, sweep, [&] { return WhyItWaits(database.path(), sweep.name, clock); });
}

const char* JobStateName(JobState state) {
  switch (state) {
    case JobState::kPending:
      return "PENDING";
    case JobState::kRunning:
      return "RUNNING";
    case JobState::kSucceeded:
      return "SUCCEEDED";
    case JobState::kFailed:
      return "FAILED";
    case JobState::kStopped:
      return "STOPPED";
  }
  return "";
}

bool IsJob(const FoundSweep& sweep) {
  return sweep.metric == kExitStatusMetric && sweep.samples == 1 && !sweep.has_space &&
         sweep.trainable_kind == "command" && sweep.repeat == 1;
}

Result<std::vector<FoundJob>> ListJobs(Database& database, const std::vector<std::string>& tags,
                                       const Clock& clock, Status& told) {
  TUNE_ASSIGN_OR_RETURN(std::vector<FoundSweep> sweeps, ListSweeps(database));
  TUNE_RETURN_IF_ERROR(KeepTagged(tags, sweeps));
  const LivingStates living = LivingStates::Ask(database.path(), sweeps, clock);
  told = living.status();
  std::vector<FoundJob> jobs;
  for (FoundSweep& sweep : sweeps) {
    if (!IsJob(sweep)) continue;
    living.TellPaused(sweep);
    const auto why = [&] { return living.WhyItWaits(sweep); };
    TUNE_ASSIGN_OR_RETURN(FoundJob job, Read(database, sweep, why));
    jobs.push_back(std::move(job));
  }
  return jobs;
}

Result<FoundJob> FindJob(Database& database, const std::string& name, const Clock& clock) {
  TUNE_ASSIGN_OR_RETURN(FoundSweep sweep, FindSweep(database, name));
  if (IsJob(sweep)) return ReadJob(database, std::move(sweep), clock, /*asks=*/true);
  return InvalidArgument(Printable(sweep.name) + ": is a sweep, and no job; tune status " +
                         Printable(sweep.name) + " shows it");
}

}  // namespace tune
