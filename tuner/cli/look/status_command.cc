#include "tuner/cli/look/status_command.h"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <memory>
#include <optional>
#include <sstream>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/resource_text.h"
#include "tuner/cli/look/durable_checkpoints.h"
#include "tuner/cli/look/job_order.h"
#include "tuner/cli/look/lane_speeds.h"
#include "tuner/cli/look/live_screen.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/stored_changes.h"
#include "tuner/cli/look/stored_doubts.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_counts.h"
#include "tuner/cli/words/complain.h"
#include "tuner/device_status.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

constexpr int64_t kChangesMax = 3;
constexpr Duration kWatchEvery = Milliseconds(1000);

struct NamedCount {
  std::string what;
  int64_t count = 0;
};

struct RungCounts {
  int64_t rung = 0;
  int64_t report_count = 0;
  int64_t stop_count = 0;
  std::optional<double> cutoff;  // Of the latest arrival.
};

const std::string kInDoubt = "in doubt   ";

struct SweepStatus {
  FoundSweep sweep;
  std::optional<LockHolder> tuner;
  std::optional<BestTrial> best;
  std::string why_no_best, no_one = "none";  // Where there is none.
  std::string front;                         // Of several objectives, in its place.
  std::string none_feasible;                 // That what is best keeps no limits.
  std::vector<NamedCount> trials;            // By status; TERMINATED ones by stop_reason, too.
  std::vector<NamedCount> stop_reasons;      // Of the TERMINATED ones.
  std::vector<RungCounts> rungs;
  std::vector<NamedCount> outcomes;  // Of attempts.
  std::vector<std::string> workers, troubles;
  std::vector<DeviceStatus> devices;  // Of a sweep that runs.
  std::vector<std::string> lanes;     // What limits them.
  std::optional<int64_t> hour_bytes;  // Of checkpoints that workers sent to its tuner.
  std::vector<TrialAhead> ahead;      // Of their durable checkpoints.
  std::vector<Doubt> doubts;
  std::vector<std::string> changes;  // What was asked of it, and by whom.
  std::string resume_command;
  int64_t iteration_count = 0;
  int64_t trial_count_max = -1;  // -1: no end.
  std::string order;             // "begins when prepare is over".
  std::string waits;             // Why nothing runs, as its tuner tells; empty: something does.

  int64_t Count(const std::vector<NamedCount>& list, std::string_view what) const {
    for (const NamedCount& counted : list) {
      if (counted.what == what) return counted.count;
    }
    return 0;
  }
  int64_t Total(const std::vector<NamedCount>& list) const {
    int64_t total = 0;
    for (const NamedCount& counted : list) total += counted.count;
    return total;
  }
  std::vector<NamedCount> FailedAttempts() const {
    std::vector<NamedCount> failed = outcomes;
    std::erase_if(failed, [](const NamedCount& counted) {
      return counted.what == "running" || counted.what == "completed" ||
             counted.what == "stopped" || counted.what == "preempted";
    });
    return failed;
  }
};

Result<std::vector<NamedCount>> ReadCounts(Database& database, const char* sql,
                                           int64_t experiment) {
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(sql));
  row->BindAll(experiment);
  std::vector<NamedCount> counts;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    counts.push_back({std::string(row->Text(0)), row->Int(1)});
  }
  return counts;
}

Result<std::vector<RungCounts>> ReadRungs(Database& database, int64_t experiment) {
  // SQLite takes a bare column from the row that has the max(). One that pauses has a decision at
  // its report, and another when its scheduler lets it go on or stops it.
  static constexpr char kRungsSql[] =
      "SELECT d.rung, count(DISTINCT d.trial), sum(d.decision = 'stop'), d.cutoff,"
      " max(d.count) FROM decisions AS d"
      " JOIN trials AS t ON t.id = d.trial WHERE t.experiment = ?1 AND d.rung IS NOT NULL"
      " GROUP BY d.rung ORDER BY d.rung";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kRungsSql));
  row->BindAll(experiment);
  std::vector<RungCounts> rungs;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    rungs.push_back({row->Int(0), row->Int(1), row->Int(2), row->OptionalReal(3)});
  }
  return rungs;
}

Result<std::vector<std::string>> ReadWorkers(Database& database, int64_t experiment) {
  static constexpr char kWorkersSql[] =
      "SELECT name, address, cpus, gpus, state FROM workers WHERE experiment = ?1"
      " AND state <> 'left' AND state <> 'lost' ORDER BY id";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kWorkersSql));
  row->BindAll(experiment);
  std::vector<std::string> workers;
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    workers.push_back(Printable(row->Text(0)) + " (" + ShortNumber(row->Real(2)) + " CPU, " +
                      std::to_string(row->Int(3)) + " GPU, " + std::string(row->Text(4)) + ")");
  }
  return workers;
}

void AskTunerOf(SweepStatus& status, const std::string& db_path, const Clock& clock) {
  const auto ask = [&](ControlVerb verb) {
    return LinesOfTuner(db_path, status.sweep.name, verb, clock);
  };
  for (const std::string& line : ask(ControlVerb::kDevices)) {
    Result<DeviceStatus> device = DecodeDeviceStatus(line);
    if (device.ok()) status.devices.push_back(*std::move(device));
  }
  if (status.Count(status.trials, "RUNNING") == 0) {
    status.waits = WhyItWaits(db_path, status.sweep.name, clock);
  }
  status.troubles = TroublesOfWorkers(db_path, status.sweep.name, clock);
  if (status.workers.empty()) status.no_one = DescribeNoWorkers(db_path, status.sweep.name, clock);
  for (const std::string& line : ask(ControlVerb::kTraffic)) {
    int64_t bytes = 0;
    const auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), bytes);
    if (error == std::errc() && *end == '\0') status.hour_bytes = bytes;
  }
}

Result<SweepStatus> ReadStatus(Database& database, const std::string& name, const Clock& clock) {
  static constexpr char kReasonsSql[] =
      "SELECT stop_reason, count() FROM trials WHERE experiment = ?1 AND stop_reason IS NOT NULL"
      " GROUP BY stop_reason ORDER BY count() DESC, stop_reason";
  static constexpr char kOutcomesSql[] =
      "SELECT a.outcome, count() FROM attempts AS a JOIN trials AS t ON t.id = a.trial"
      " WHERE t.experiment = ?1 GROUP BY a.outcome ORDER BY a.outcome";
  static constexpr char kIterationsSql[] =
      "SELECT 'iterations', coalesce(sum(iterations), 0) FROM trials WHERE experiment = ?1";
  SweepStatus status;
  TUNE_ASSIGN_OR_RETURN(status.sweep, FindSweep(database, name));
  TellPaused(database.path(), clock, status.sweep);
  const int64_t id = status.sweep.id;
  status.resume_command = ShellCommand("resume", status.sweep.name, database.path());
  if (HasTuner(status.sweep)) status.tuner = FindLockHolder(database.path());
  TUNE_ASSIGN_OR_RETURN(status.order, WhatHoldsIt(database, status.sweep));
  status.trial_count_max = TrialCountMax(database, status.sweep);
  TUNE_ASSIGN_OR_RETURN(status.best, FindBestTrial(database, status.sweep));
  if (!status.best) status.why_no_best = WhyThereIsNoBest(database, status.sweep);
  if (status.best) status.none_feasible = WarningOf(status.sweep, *status.best);
  if (status.sweep.objectives.size() > 1) {
    TUNE_ASSIGN_OR_RETURN(const auto front, ReadParetoFront(database, status.sweep));
    status.front = DescribeFront(front);
    status.none_feasible = WarningOf(status.sweep.limits, front);
  }
  TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(database, id));
  for (const auto& [state, count] : counts.by_status) status.trials.push_back({state, count});
  TUNE_ASSIGN_OR_RETURN(status.stop_reasons, ReadCounts(database, kReasonsSql, id));
  TUNE_ASSIGN_OR_RETURN(status.outcomes, ReadCounts(database, kOutcomesSql, id));
  TUNE_ASSIGN_OR_RETURN(status.rungs, ReadRungs(database, id));
  TUNE_ASSIGN_OR_RETURN(status.workers, ReadWorkers(database, id));
  TUNE_ASSIGN_OR_RETURN(status.ahead, ReadTrialsAhead(database, id));
  TUNE_ASSIGN_OR_RETURN(status.doubts, ReadDoubts(database, id));
  TUNE_ASSIGN_OR_RETURN(status.changes, DescribeChanges(database, status.sweep, kChangesMax));
  TUNE_ASSIGN_OR_RETURN(const std::vector<KindLimit> limits, ReadLaneLimits(database, id));
  for (const KindLimit& limit : limits) {
    status.lanes.push_back(Describe(limit) + "; " + limit.kind.shape);
  }
  TUNE_ASSIGN_OR_RETURN(const std::vector<NamedCount> iterations,
                        ReadCounts(database, kIterationsSql, id));
  status.iteration_count = status.Total(iterations);
  return status;
}

// "8 scheduler, 2 max_t".
std::string Enumerate(const std::vector<NamedCount>& list) {
  std::string text;
  for (const NamedCount& counted : list) {
    text += (text.empty() ? "" : ", ") + std::to_string(counted.count) + " " + counted.what;
  }
  return text;
}

std::vector<std::string> DescribeTimes(const SweepStatus& status, Instant now) {
  const FoundSweep& sweep = status.sweep;
  const Instant created{sweep.created_us};
  std::string line = "started    " + FormatInstant(created);
  if (sweep.finished_us.has_value()) {
    const Instant finished{*sweep.finished_us};
    line += ", ended " + FormatInstant(finished) + " (" +
            (finished < created ? "the clock was set back" : FormatDuration(finished - created)) +
            ")";
  } else {
    line += " (" + FormatDuration(Duration{std::max<int64_t>(0, (now - created).us)}) + " ago)";
  }
  return {line};
}

// Lines for a person.
void AppendLabels(const SweepLabels& labels, std::vector<std::string>& lines) {
  if (!labels.tags.empty()) lines.push_back("tags       " + DescribeTags(labels.tags));
  const char* place = "note       ";
  for (const std::string& line : NoteLines(labels.note)) {
    lines.push_back(std::exchange(place, "           ") + line);
  }
}

void AppendTrials(const SweepStatus& status, std::vector<std::string>& lines) {
  std::string trials =
      "trials     " + std::to_string(status.Total(status.trials)) +
      (status.trial_count_max >= 0 ? " of " + std::to_string(status.trial_count_max) : "");
  if (!status.trials.empty()) trials += ": " + Enumerate(status.trials);
  if (!status.stop_reasons.empty()) trials += " (" + Enumerate(status.stop_reasons) + ")";
  lines.push_back(trials);
  const std::string& none_feasible = status.none_feasible;
  if (!none_feasible.empty()) lines.push_back("limits     " + Printable(none_feasible));
  if (!status.waits.empty()) lines.push_back("waits      " + Printable(status.waits));
  if (!status.ahead.empty()) lines.push_back("durable    " + Describe(status.ahead));
}

void AppendChanges(const SweepStatus& status, std::vector<std::string>& lines) {
  for (const std::string& line : status.changes) {
    lines.push_back((&line == &status.changes.front() ? "changes    " : "           ") + line);
  }
}

void AppendRungs(const SweepStatus& status, std::vector<std::string>& lines) {
  for (const RungCounts& rung : status.rungs) {
    lines.push_back((&rung == &status.rungs.front() ? "rungs      " : "           ") +
                    std::to_string(rung.rung) + ": " + std::to_string(rung.report_count) +
                    " reached, " + std::to_string(rung.stop_count) + " stopped" +
                    (rung.cutoff.has_value() ? ", cutoff " + CutoffWords(*rung.cutoff) : ""));
  }
}

std::string Headline(const SweepStatus& status) {
  const FoundSweep& sweep = status.sweep;
  std::string head = Printable(sweep.name) + ": " + sweep.status;
  if (status.tuner.has_value() && status.tuner->pid != 0) {
    head += " (tuner: pid " + std::to_string(status.tuner->pid) + " on " +
            Printable(status.tuner->host) + ")";
  }
  if (sweep.status == kStatePaused) {
    head += status.order.empty() ? "; tune unpause goes on"
                                 : "; " + status.order + ", tune unpause lets it begin now";
  }
  if (!sweep.given_up.empty()) {
    head +=
        ", given up: " + Printable(sweep.given_up) + "; try again with: " + status.resume_command;
  } else if (sweep.status == "INTERRUPTED") {
    head += "; go on with: " + status.resume_command;
  }
  if (!sweep.ended_early.empty()) head += "; ended early: " + Printable(sweep.ended_early);
  return head;
}

std::vector<std::string> Describe(const SweepStatus& status, Instant now) {
  const FoundSweep& sweep = status.sweep;
  std::vector<std::string> lines = {Headline(status)};
  lines.push_back("metric     " + Printable(DescribeObjectives(sweep.objectives)) + ", scheduler " +
                  Printable(sweep.scheduler) + ", seed " + sweep.seed);
  AppendLabels(sweep.labels, lines);
  AppendTrials(status, lines);
  if (!status.front.empty()) {
    lines.push_back("front      " + status.front);
  } else if (status.best.has_value() && status.best->runs) {
    lines.push_back("best       " + Printable(sweep.metric) + ": " + Describe(*status.best->runs));
    lines.push_back("           " + DescribeConfig(status.best->config));
  } else if (status.best.has_value()) {
    lines.push_back("best       " + Printable(sweep.metric) + " = " +
                    ShortNumber(status.best->value) + ", trial " +
                    std::to_string(status.best->number) + " at iteration " +
                    std::to_string(status.best->iteration));
    lines.push_back("           " + DescribeConfig(status.best->config));
    if (status.best->earlier_configs > 0) {
      lines.push_back("           " +
                      DescribeEarlierConfigs(status.best->earlier_configs, status.best->number));
    }
  } else {
    lines.push_back("best       none: " + status.why_no_best);
  }
  AppendRungs(status, lines);
  const std::vector<NamedCount> failed = status.FailedAttempts();
  lines.push_back("iterations " + std::to_string(status.iteration_count));
  lines.push_back("attempts   " + std::to_string(status.Total(status.outcomes)) + ", " +
                  std::to_string(status.Total(failed)) + " failed" +
                  (failed.empty() ? "" : " (" + Enumerate(failed) + ")"));
  std::string workers = status.workers.empty() ? status.no_one : "";
  for (const std::string& worker : status.workers)
    workers += (workers.empty() ? "" : ", ") + worker;
  if (HasTuner(sweep)) lines.push_back("workers    " + workers);
  for (const std::string& line : status.troubles) lines.push_back("           " + line);
  if (status.hour_bytes.value_or(0) > 0) {
    lines.push_back("sent       " + DescribeMemory(*status.hour_bytes) +
                    " of checkpoints in the last hour, by workers without this disk");
  }
  for (const DeviceStatus& device : status.devices) {
    lines.push_back((&device == &status.devices.front() ? "devices    " : "           ") +
                    Printable(DescribeDevice(device)));
  }
  for (const std::string& line : status.lanes) {
    lines.push_back((&line == &status.lanes.front() ? "lanes      " : "           ") +
                    Printable(line));
  }
  for (const Doubt& doubt : status.doubts) {
    lines.push_back(kInDoubt + Printable(Describe(doubt)));
  }
  AppendChanges(status, lines);
  for (std::string& line : DescribeTimes(status, now)) lines.push_back(std::move(line));
  return lines;
}

// What stands before ":" or in the first column looks different on a terminal with colours.
StyledLine Styled(const std::string& line, bool is_head, const std::string& sweep_status) {
  constexpr size_t kLabel = 11;
  if (is_head) {
    const size_t word = line.find(": " + sweep_status) + 2;
    const Style style = sweep_status == kStateRunning || sweep_status == "FINISHED" ? Style::kGood
                        : sweep_status == "INTERRUPTED"                             ? Style::kBad
                                                        : Style::kWarning;
    StyledLine styled(line.substr(0, word), Style::kStrong);
    return styled.Add(sweep_status, style).Add(line.substr(word + sweep_status.size()));
  }
  if (line.starts_with(kInDoubt)) return {line, Style::kWarning};
  return StyledLine(line.substr(0, kLabel), Style::kFaint)
      .Add(line.size() > kLabel ? line.substr(kLabel) : "");
}

template <typename Items, typename ToText>
Value ListOf(const Items& items, ToText to_text) {
  Value list = Value::MakeList();
  for (const auto& item : items) list.AsList().push_back(to_text(item));
  return list;
}

Value LinesValue(const std::vector<std::string>& lines) {
  return ListOf(lines, [](const std::string& line) { return Value(line); });
}

Value RungsValue(const std::vector<RungCounts>& rungs) {
  Value list = Value::MakeList();
  for (const RungCounts& line : rungs) {
    Value rung = Value::MakeMap();
    rung.Set("rung", line.rung);
    rung.Set("reached", line.report_count);
    rung.Set("stopped", line.stop_count);
    rung.Set("cutoff", line.cutoff.has_value() ? Value(*line.cutoff) : Value());
    list.AsList().push_back(std::move(rung));
  }
  return list;
}

void PrintRow(const StatusOptions& options, const SweepStatus& status, std::ostream& out) {
  const FoundSweep& sweep = status.sweep;
  const auto& best = status.best;
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"name",
                 "status",
                 "metric",
                 "mode",
                 "samples",
                 "trials",
                 "pending",
                 "running",
                 "paused",
                 "terminated",
                 "error",
                 "iterations",
                 "best_trial",
                 "best_value",
                 "best_iteration",
                 "best_config",
                 "rungs",
                 "attempts",
                 "failed_attempts",
                 "workers",
                 "created_at",
                 "finished_at",
                 "devices",
                 "lanes",
                 "sent_bytes_per_hour",
                 "doubts",
                 "tags",
                 "note",
                 "trials_max",
                 "changes",
                 "ahead_of_checkpoints",
                 "ended_early"});
  printer.Row({sweep.name,
               sweep.status,
               sweep.metric,
               sweep.mode,
               sweep.samples,
               status.Total(status.trials),
               status.Count(status.trials, "PENDING"),
               status.Count(status.trials, "RUNNING"),
               status.Count(status.trials, "PAUSED"),
               status.Count(status.trials, "TERMINATED"),
               status.Count(status.trials, "ERROR"),
               status.iteration_count,
               best ? Value(best->number) : Value(),
               best ? Value(best->value) : Value(),
               best ? Value(best->iteration) : Value(),
               best ? best->config : Value(),
               RungsValue(status.rungs),
               status.Total(status.outcomes),
               status.Total(status.FailedAttempts()),
               static_cast<int64_t>(status.workers.size()),
               FormatInstant(Instant{sweep.created_us}),
               sweep.finished_us ? Value(FormatInstant(Instant{*sweep.finished_us})) : Value(),
               ListOf(status.devices, [](const DeviceStatus& device) { return ToValue(device); }),
               LinesValue(status.lanes),
               status.hour_bytes ? Value(*status.hour_bytes) : Value(),
               ListOf(status.doubts, [](const Doubt& doubt) { return Value(Describe(doubt)); }),
               TagsValue(sweep.labels.tags),
               sweep.labels.note,
               status.trial_count_max >= 0 ? Value(status.trial_count_max) : Value(),
               LinesValue(status.changes),
               ToValue(status.ahead),
               sweep.ended_early});
  printer.End();
}

}  // namespace

int StatusCommand(const StatusOptions& options, const Clock& clock, const WaitFunction& wait,
                  std::ostream& out, std::ostream& err) {
  TerminalPainter painter;
  std::optional<TerminalSize> size;
  for (;;) {
    // Opened anew each time: a watcher must not keep the WAL from being folded back.
    const auto read = [&]() -> Result<SweepStatus> {
      TUNE_ASSIGN_OR_RETURN(
          const std::unique_ptr<Database> database,
          options.watch ? OpenForQueries(options.db_path) : OpenForAnswer(options.db_path, err));
      TUNE_ASSIGN_OR_RETURN(SweepStatus status, ReadStatus(*database, options.name, clock));
      if (status.tuner) AskTunerOf(status, options.db_path, clock);
      return status;
    };
    const Result<SweepStatus> status = read();
    if (!status.ok()) return Complain(status.status(), err);
    if (options.format != OutputFormat::kTable) {
      PrintRow(options, *status, out);
    } else {
      const bool redraws = options.watch && options.terminal_size;
      const TerminalSize now = redraws ? options.terminal_size() : TerminalSize{options.width, 0};
      std::vector<std::string> lines;
      for (const std::string& line : Describe(*status, clock.Now())) {
        const bool is_whole = !options.watch && line.starts_with(kInDoubt);
        const size_t width = now.width > 0 && !is_whole ? now.width : DisplayWidth(line);
        lines.push_back(
            Styled(line, lines.empty(), status->sweep.status).Render(width, options.palette));
      }
      if (redraws) {
        if (size && *size != now) out << painter.Restart();
        size = now;
        // What stands above the screen cannot be drawn over.
        if (lines.size() >= now.height) lines.resize(std::max<size_t>(1, now.height - 1));
        out << painter.Draw(lines);
      } else {
        for (const std::string& line : lines) out << line << "\n";
      }
    }
    out.flush();
    if (!options.watch || !HasTuner(status->sweep) || !wait(kWatchEvery)) return 0;
  }
}

}  // namespace tune
