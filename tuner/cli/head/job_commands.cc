#include "tuner/cli/head/job_commands.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <utility>

#include "core/time.h"
#include "core/utf8.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/found_job.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_logs.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

constexpr Duration kLookAtFirst = Milliseconds(15);
constexpr Duration kLookAtLast = Milliseconds(300);

Value TimeOrNull(const std::optional<int64_t>& us) {
  return us ? Value(FormatInstant(Instant{*us})) : Value();
}

void PrintForPerson(const std::vector<FoundJob>& jobs, Instant now, RowPrinter& printer) {
  const bool has_tags = std::any_of(jobs.begin(), jobs.end(),
                                    [](const FoundJob& job) { return !job.labels.tags.empty(); });
  std::vector<std::string> columns = {"name", "state", "reason", "age", "needs", "owner"};
  if (has_tags) columns.emplace_back("tags");
  columns.emplace_back("command");  // The last one, which may be cut.
  printer.Begin(columns);
  for (const FoundJob& job : jobs) {
    std::vector<Value> row = {
        job.name,
        JobStateName(job.state),
        job.reason,
        FormatDuration(Seconds(static_cast<double>((now.us - job.created_us) / 1'000'000))),
        job.resources,
        job.owner};
    if (has_tags) row.emplace_back(DescribeTags(job.labels.tags));
    row.emplace_back(job.command);
    printer.Row(row);
  }
  printer.End();
}

void PrintForProgram(const std::vector<FoundJob>& jobs, RowPrinter& printer) {
  printer.Begin({"name", "state", "reason", "why", "exit_status", "needs", "owner", "command",
                 "created_at", "started_at", "finished_at", "tags", "note"});
  for (const FoundJob& job : jobs) {
    printer.Row({job.name, JobStateName(job.state), job.reason, job.sentence,
                 job.program_status() ? Value(*job.program_status()) : Value(), job.resources,
                 job.owner, job.command, FormatInstant(Instant{job.created_us}),
                 TimeOrNull(job.started_us), TimeOrNull(job.finished_us),
                 TagsValue(job.labels.tags), job.labels.note});
  }
  printer.End();
}

Result<std::vector<FoundJob>> ReadJobs(const JobsOptions& options, const Clock& clock,
                                       std::ostream& err) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  Status told;
  TUNE_ASSIGN_OR_RETURN(std::vector<FoundJob> jobs, ListJobs(*database, options.tags, clock, told));
  const bool any_is_open = std::any_of(jobs.begin(), jobs.end(),
                                       [](const FoundJob& job) { return !IsFinal(job.state); });
  if (!told.ok() && any_is_open) {
    err << "warning: why jobs wait, and whether they are paused, is not known of each: "
        << PrintableLines(told.message()) << "\n";
  }
  if (options.open_only) {
    std::erase_if(jobs, [](const FoundJob& job) { return IsFinal(job.state); });
  }
  return jobs;
}

Result<FoundJob> Look(const std::string& db_path, const std::string& name, const Clock& clock) {
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  return FindJob(*database, name, clock);
}

// "train is FAILED (exit_status): the program exited with status 3".
std::string DescribeEnd(const FoundJob& job) {
  return Printable(job.name) + " is " + JobStateName(job.state) +
         (job.reason.empty() ? "" : " (" + job.reason + ")") +
         (job.sentence.empty() ? "" : ": " + Printable(job.sentence));
}

}  // namespace

int JobsCommand(const JobsOptions& options, const Clock& clock, std::ostream& out,
                std::ostream& err) {
  const Result<std::vector<FoundJob>> jobs = ReadJobs(options, clock, err);
  if (!jobs.ok()) return Complain(jobs.status(), err);
  RowPrinter printer(options.format, options.width, out);
  if (options.format == OutputFormat::kTable) {
    PrintForPerson(*jobs, clock.Now(), printer);
  } else {
    PrintForProgram(*jobs, printer);
  }
  return 0;
}

int WaitCommand(const WaitOptions& options, const Clock& clock, const WaitFunction& wait,
                std::ostream& out, std::ostream& err) {
  int exit_status = 0;
  // Before anything is waited for.
  for (const std::string& name : options.names) {
    const Status known = Look(options.db_path, name, clock).status();
    if (!known.ok()) return Complain(known, err);
  }
  for (const std::string& name : options.names) {
    Duration pause = kLookAtFirst;
    for (;;) {
      const Result<FoundJob> job = Look(options.db_path, name, clock);
      if (!job.ok()) return Complain(job.status(), err);
      if (IsFinal(job->state)) {
        out << DescribeEnd(*job) << std::endl;
        if (exit_status == 0) exit_status = job->exit_status;
        break;
      }
      if (!wait(pause)) return kExitLeft;
      pause = std::min(kLookAtLast, Duration{pause.us * 2});
    }
  }
  return exit_status;
}

bool NamesJob(const std::string& db_path, const std::string& name) {
  const auto database = OpenForQueries(db_path);
  if (!database.ok()) return false;
  const Result<FoundSweep> sweep = FindSweep(**database, name);
  return sweep.ok() && IsJob(*sweep);
}

int FollowJob(const std::string& db_path, const std::string& name, const Clock& clock,
              const WaitFunction& wait, std::ostream& out, std::ostream& err) {
  LogTail tail(TrialFolder(ArtifactsDirOf(db_path), name, 0), out);
  Duration pause = kLookAtFirst;
  std::string said;
  bool has_said_why = false;  // Its log cannot be read; it goes on all the same.
  for (;;) {
    // Before the log is read: what a job that is over had printed is there.
    const Result<FoundJob> job = Look(db_path, name, clock);
    if (!job.ok()) return Complain(job.status(), err);
    const Result<bool> printed = tail.Print();
    if (!printed.ok() && !has_said_why) {
      err << "tune: " << PrintableLines(printed.status().message()) << std::endl;
      has_said_why = true;
    }
    const bool is_news = printed.ok() && *printed;
    if (IsFinal(job->state)) {
      if (job->state != JobState::kSucceeded) err << "tune: " << DescribeEnd(*job) << "\n";
      return job->exit_status;
    }
    if (job->state == JobState::kPending && !job->sentence.empty() && job->sentence != said &&
        pause >= kLookAtLast) {
      said = job->sentence;
      err << Printable(name) << " waits: " << Printable(said) << std::endl;
    }
    pause = is_news ? kLookAtFirst : std::min(kLookAtLast, Duration{pause.us * 3 / 2});
    if (!wait(pause)) {
      err << "the job goes on: " << ShellCommand("logs", name, db_path) << " -f shows it again, "
          << ShellCommand("stop", name, db_path) << " --now ends it\n";
      return kExitLeft;
    }
  }
}

}  // namespace tune
