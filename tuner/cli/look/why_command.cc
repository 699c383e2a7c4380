#include "tuner/cli/look/why_command.h"

#include <algorithm>
#include <memory>
#include <optional>

#include "core/json.h"
#include "core/posix/real_clock.h"
#include "core/time.h"
#include "core/utf8.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_history.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

constexpr size_t kTextWidthMin = 24;

Value TextCell(const std::string& text) { return text.empty() ? Value() : Value(text); }
Value TimeCell(std::optional<int64_t> us) {
  return us ? Value(FormatInstant(Instant{*us})) : Value();
}
Value NumberCell(const std::optional<double>& number) { return number ? Value(*number) : Value(); }
Value NumberCell(const std::optional<int64_t>& number) { return number ? Value(*number) : Value(); }

// ---- for a person

// Of one that was lost nobody knows when: its worker was waited for until then, and of one that
// ended with its tuner that is the last which its tuner has written.
std::string DescribeRan(const HistoryAttempt& attempt) {
  const Duration ran{*attempt.finished_us - attempt.started_us};
  if (attempt.outcome != "lost") return FormatDuration(ran);
  if (attempt.error != "the tuner ended") return "at most " + FormatDuration(ran);
  return ran.us <= 0 ? "not known" : "at least " + FormatDuration(ran);
}

// Reports that follow each other and say the same: nothing was decided on any of them.
bool IsSameRun(const HistoryReport& a, const HistoryReport& b) {
  return a.attempt == b.attempt && a.decision == b.decision && a.decision != "stop" &&
         a.decision != "pause" && !a.rung && !b.rung && a.value.has_value() == b.value.has_value();
}

void PrintReports(const TrialHistory& history, const WhyOptions& options, std::ostream& out) {
  if (history.reports.empty()) {
    out << "nothing was reported yet\n";
    return;
  }
  TextTable table({{"iteration", Fit::kWhole},
                   {"attempt", Fit::kWhole},
                   {history.trial.sweep.metric, Fit::kCut},
                   {"decision", Fit::kWhole},
                   {"why", Fit::kWrap, kTextWidthMin}});
  for (size_t first = 0; first < history.reports.size();) {
    size_t last = first;
    while (last + 1 < history.reports.size() &&
           IsSameRun(history.reports[last], history.reports[last + 1])) {
      ++last;
    }
    const HistoryReport& begin = history.reports[first];
    const HistoryReport& end = history.reports[last];
    const bool is_run = last > first;
    const std::string first_value = ReportedValue(history, begin);
    const std::string last_value = ReportedValue(history, end);
    table.Row(
        {is_run ? Value(std::to_string(begin.iteration) + " to " + std::to_string(end.iteration))
                : Value(std::to_string(begin.iteration)),
         begin.attempt,
         first_value == last_value ? Value(first_value) : Value(first_value + " to " + last_value),
         TextCell(begin.decision), ExplainReport(history, begin)});
    first = last + 1;
  }
  table.Print(options.width, out);
}

// Errors stand below the table where a terminal is too narrow for both.
void PrintAttempts(const TrialHistory& history, const WhyOptions& options, std::ostream& out) {
  if (history.attempts.empty()) return;
  out << "\n";
  std::vector<TableColumn> columns;
  for (const char* const name :
       {"attempt", "worker", "started_at", "ran", "from", "checkpoint", "outcome"})
    columns.push_back({name, Fit::kWhole});
  TextTable narrow(columns);
  columns.push_back({"error", Fit::kCut, kTextWidthMin});
  TextTable wide(columns);
  for (const HistoryAttempt& attempt : history.attempts) {
    const std::string from = attempt.from_iteration == 0
                                 ? "the start"
                                 : "iteration " + std::to_string(attempt.from_iteration);
    std::string checkpoint = attempt.checkpoint.substr(attempt.checkpoint.rfind('/') + 1);
    if (!checkpoint.empty() && attempt.checkpoint_state != "durable") {
      checkpoint += " (now " + attempt.checkpoint_state + ")";
    }
    const Value ran = attempt.finished_us ? Value(DescribeRan(attempt)) : Value();
    std::vector<Value> cells = {attempt.number,
                                TextCell(attempt.worker),
                                FormatInstant(Instant{attempt.started_us}),
                                ran,
                                from,
                                TextCell(checkpoint),
                                attempt.outcome};
    narrow.Row(cells);
    cells.push_back(TextCell(attempt.error));
    wide.Row(cells);
  }
  if (options.width == 0 || wide.MinWidth() <= options.width) return wide.Print(options.width, out);
  narrow.Print(options.width, out);
  for (const HistoryAttempt& attempt : history.attempts) {
    if (!attempt.error.empty())
      out << "attempt " << attempt.number << ": " << Printable(attempt.error) << "\n";
  }
}

// How its best report stands to each limit.
void PrintLimits(const TrialHistory& history, std::ostream& out) {
  const std::optional<std::vector<LimitStanding>> standings = StandingsOfBest(history);
  if (!standings) return;
  for (const LimitStanding& limit : *standings) {
    out << "               " << (limit.is_kept ? "keeps  " : "breaks ") << Printable(limit.text)
        << " (" << Printable(limit.numbers) << ")\n";
  }
}

void PrintForPerson(const TrialHistory& history, const WhyOptions& options, std::ostream& out) {
  const FoundSweep& sweep = history.trial.sweep;
  out << "trial " << Printable(history.trial.Name()) << ": " << history.status << "\n"
      << "why            " << ExplainStatus(history) << "\n";
  for (const std::string& trouble : history.worker_troubles) {
    out << "worker         " << trouble << "\n";
  }
  out << "scheduler      " << Printable(sweep.scheduler) << " on "
      << Printable(DescribeObjectives(sweep.objectives)) << "\n"
      << "configuration  " << DescribeConfig(history.config) << "\n";
  if (history.best_value && history.best_iteration) {
    out << "best           " << Printable(sweep.metric) << " = " << ShortNumber(*history.best_value)
        << " at iteration " << *history.best_iteration
        << (sweep.objectives.size() > 1 ? ", of this metric alone (tune results --best: the front)"
                                        : "")
        << "\n";
  }
  if (history.violation) {
    out << "limits         " << DescribeViolation(*history.violation) << "\n";
    PrintLimits(history, out);
  }
  if (history.spec && history.spec->checkpoint.is_async) {
    std::string iterations;
    for (const int64_t iteration : history.durable) {
      iterations += (iterations.empty() ? "" : ", ") + std::to_string(iteration);
    }
    out << "durable        "
        << (iterations.empty() ? "no checkpoint" : "the checkpoints of iterations " + iterations)
        << ", of " << history.iterations << " reported\n";
  }
  const std::string lanes = ExplainLanes(history);
  if (!lanes.empty()) out << "lanes          " << Printable(lanes) << "\n";
  for (const std::string& note : history.notes) {
    out << "in doubt       " << Printable(note) << "\n";
  }
  out << "\n";
  PrintReports(history, options, out);
  PrintAttempts(history, options, out);
}

// ---- for a program

void PrintCsv(const TrialHistory& history, const WhyOptions& options, std::ostream& out) {
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"kind", "attempt", "iteration", "value", "decision", "scheduler", "rung", "cutoff",
                 "rank", "count", "why", "worker", "outcome", "error", "checkpoint", "started_at",
                 "finished_at", "reported_at"});
  size_t next = 0;
  const auto print_reports = [&](int64_t attempt) {
    for (; next < history.reports.size() && history.reports[next].attempt <= attempt; ++next) {
      const HistoryReport& report = history.reports[next];
      printer.Row({"report", report.attempt, report.iteration, NumberCell(report.value),
                   TextCell(report.decision), history.trial.sweep.scheduler,
                   NumberCell(report.rung), NumberCell(report.cutoff), NumberCell(report.rank),
                   NumberCell(report.count), ExplainReport(history, report), Value(), Value(),
                   Value(), Value(), Value(), Value(), TimeCell(report.reported_us)});
    }
  };
  for (const HistoryAttempt& attempt : history.attempts) {
    print_reports(attempt.number - 1);
    printer.Row({"attempt", attempt.number, attempt.from_iteration, Value(), Value(), Value(),
                 Value(), Value(), Value(), Value(), Value(), TextCell(attempt.worker),
                 attempt.outcome, TextCell(attempt.error), TextCell(attempt.checkpoint),
                 TimeCell(attempt.started_us), TimeCell(attempt.finished_us), Value()});
    print_reports(attempt.number);
  }
  printer.End();
}

Value ReportValue(const TrialHistory& history, const HistoryReport& report) {
  Value value = Value::MakeMap();
  value.Set("attempt", report.attempt);
  value.Set("iteration", report.iteration);
  value.Set("value", NumberCell(report.value));
  value.Set("metrics", report.metrics);
  value.Set("decision", TextCell(report.decision));
  value.Set("rung", NumberCell(report.rung));
  value.Set("cutoff", NumberCell(report.cutoff));
  value.Set("rank", NumberCell(report.rank));
  value.Set("count", NumberCell(report.count));
  value.Set("why", ExplainReport(history, report));
  value.Set("reported_at", TimeCell(report.reported_us));
  return value;
}

Value AttemptValue(const HistoryAttempt& attempt) {
  Value value = Value::MakeMap();
  value.Set("number", attempt.number);
  value.Set("worker", TextCell(attempt.worker));
  value.Set("outcome", attempt.outcome);
  value.Set("error", TextCell(attempt.error));
  value.Set("from_iteration", attempt.from_iteration);
  value.Set("checkpoint", TextCell(attempt.checkpoint));
  value.Set("checkpoint_state", TextCell(attempt.checkpoint_state));
  value.Set("started_at", TimeCell(attempt.started_us));
  value.Set("finished_at", TimeCell(attempt.finished_us));
  return value;
}

void PrintJson(const TrialHistory& history, std::ostream& out) {
  const FoundSweep& sweep = history.trial.sweep;
  Value value = Value::MakeMap();
  value.Set("experiment", sweep.name);
  value.Set("trial", history.trial.number);
  value.Set("status", history.status);
  value.Set("stop_reason", TextCell(history.stop_reason));
  value.Set("why", ExplainStatus(history));
  Value troubles = Value::MakeList();
  for (const std::string& trouble : history.worker_troubles) {
    troubles.AsList().emplace_back(trouble);
  }
  value.Set("worker_troubles", std::move(troubles));
  value.Set("scheduler", sweep.scheduler);
  value.Set("metric", sweep.metric);
  value.Set("mode", sweep.mode);
  value.Set("config", history.config);
  value.Set("iterations", history.iterations);
  value.Set("best_value", NumberCell(history.best_value));
  value.Set("best_iteration", NumberCell(history.best_iteration));
  value.Set("feasible", history.violation ? Value(*history.violation == 0) : Value());
  value.Set("violation", NumberCell(history.violation));
  value.Set("lanes", TextCell(ExplainLanes(history)));
  Value::List durable;
  for (const int64_t iteration : history.durable) durable.emplace_back(iteration);
  value.Set("durable_checkpoints", std::move(durable));
  Value::List reports;
  for (const HistoryReport& report : history.reports) {
    reports.push_back(ReportValue(history, report));
  }
  value.Set("reports", std::move(reports));
  Value::List notes;
  for (const std::string& note : history.notes) notes.emplace_back(note);
  value.Set("doubts", std::move(notes));
  Value::List attempts;
  for (const HistoryAttempt& attempt : history.attempts) attempts.push_back(AttemptValue(attempt));
  value.Set("attempts", std::move(attempts));
  out << ToUtf8(ToJson(value)) << "\n";
}

// A sweep without any trial has a reason for that, too; "": none is known.
std::string WhyNoTrial(Database& database, const std::string& asked) {
  const size_t slash = asked.rfind('/');
  const bool is_number = asked.find_first_not_of("0123456789") == asked.npos;
  const Result<FoundSweep> sweep =
      FindSweep(database, is_number ? "" : asked.substr(0, std::min(slash, asked.size())));
  if (!sweep.ok()) return "";
  if (!sweep->given_up.empty()) return "it was given up: " + Printable(sweep->given_up);
  const std::string waits = WhyItWaits(database.path(), sweep->name, RealClock());
  return waits.empty() ? "" : "of the next one: " + Printable(waits);
}

// A trial that runs may wait for a store all the same: that only its tuner knows.
void AskOfWorker(const std::string& db_path, TrialHistory& history) {
  if (history.status != "RUNNING" || history.attempts.empty()) return;
  const std::string worker = Printable(history.attempts.back().worker);
  const RealClock clock;
  for (std::string& line : TroublesOfWorkers(db_path, history.trial.sweep.name, clock)) {
    const bool is_its = line.starts_with(worker + ": ") || line.starts_with(worker + " has ");
    if (is_its) history.worker_troubles.push_back(std::move(line));
  }
}

}  // namespace

int WhyCommand(const WhyOptions& options, std::ostream& out, std::ostream& err) {
  const Result<std::unique_ptr<Database>> database = OpenForAnswer(options.db_path, err);
  Result<TrialHistory> history = database.ok() ? ReadTrialHistory(**database, options.trial)
                                               : Result<TrialHistory>(database.status());
  if (history.status().code() == StatusCode::kNotFound && database.ok()) {
    const std::string why = WhyNoTrial(**database, options.trial);
    return Complain(NotFound(history.status().message() + (why.empty() ? "" : "; ") + why), err);
  }
  if (!history.ok()) return Complain(history.status(), err);
  AskOfWorker(options.db_path, *history);
  switch (options.format) {
    case OutputFormat::kTable:
      PrintForPerson(*history, options, out);
      break;
    case OutputFormat::kCsv:
      PrintCsv(*history, options, out);
      break;
    case OutputFormat::kJson:
      PrintJson(*history, out);
      break;
  }
  return 0;
}

}  // namespace tune
