#include "trial_runner/command/command_trial.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"
#include "core/expression.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "core/utf8.h"
#include "trial_runner/end_notes.h"
#include "trial_runner/worker/checkpoint_place.h"

namespace tune {
namespace {

// One that was told to stop ends by itself within this time, or gets SIGTERM; the worker is more
// patient than that (limits::kStopGraceMs).
constexpr Duration kStopPatience = Milliseconds(limits::kStopGraceMs - 2 * limits::kKillGraceMs);
constexpr Duration kKillGrace = Milliseconds(limits::kKillGraceMs);
// What the worker gives a trial that it ends, but for a head start: what has left the group would
// outlive the worker's SIGKILL.
constexpr Duration kEndGrace = Milliseconds(limits::kKillGraceMs - 500);

std::string WithTail(std::string text, const OutputTail& tail) {
  const std::string cause = tail.Cause();
  return cause.empty() ? text : text + ": " + cause;
}

// The names that a report has to have: the metric itself, or those of its expression.
std::vector<std::string> NamesIn(const std::string& metric) {
  const Result<Expression> expression = Expression::Parse(metric);
  if (IsMetricName(metric) || !expression.ok()) return {metric};
  std::vector<std::string> names;
  for (const ExpressionVariable& variable : expression->variables()) names.push_back(variable.name);
  return names;
}

// Those of all objectives.
std::vector<std::string> AllNames(const TrialStart& start) {
  std::vector<std::string> names = NamesIn(start.metric);
  for (const std::string& metric : start.more_metrics) {
    for (std::string& name : NamesIn(metric)) names.push_back(std::move(name));
  }
  return names;
}

std::string ShortLine(const std::string& line) {
  constexpr size_t kShownMax = 300;
  return ToUtf8(std::string_view(line).substr(0, kShownMax)) +
         (line.size() > kShownMax ? "..." : "");
}

bool IsBlankText(std::string_view text) { return text.find_first_not_of(" \t\r\n") == text.npos; }

std::string LeftRunning(const ProgramEnd& end) {
  return "left running: the program ended with status 0 while '" + ShortLine(end.left_running) +
         "', which it had started, ran on; that was ended, and what it would have printed is "
         "missing: let the program wait for it (in a shell: wait)";
}

// What the log says of the first report, so that a person sees what was read where.
std::string DescribeFinding(const OutputFinding& finding) {
  const bool is_error = finding.stream == OutputStream::kStderr;
  const std::string value =
      std::isfinite(finding.value) ? ToJson(Value(finding.value)) : std::to_string(finding.value);
  return "tune: read " + finding.metric + " = " + value +
         (is_error ? " on standard error: " : " on standard output: ") + ShortLine(finding.line);
}

}  // namespace

CommandTrial::CommandTrial(const TrialStart& start, const CommandSpec& spec)
    : spec_(spec),
      metric_(start.metric),
      metric_names_(NamesIn(start.metric)),
      from_iteration_(start.from_iteration),
      is_first_attempt_(start.attempt.value <= 1),
      checkpoint_every_(start.checkpoint_every),
      wanted_(AllNames(start)),
      output_(spec.output_rules(), wanted_, start.constrained),
      shall_save_(start.saves_first),
      last_iteration_(start.from_iteration),
      missing_names_(metric_names_) {}

std::vector<CommandEffect> CommandTrial::TakeEffects() { return std::exchange(effects_, {}); }

// ---- reports

void CommandTrial::OnProgramLine(ClientId client, std::string_view line,
                                 const ProgramSource& source) {
  Pending pending{client, {}};
  if (const std::optional<std::string> refusal = ReadRefusal(line)) {
    return Refuse(pending, *refusal);
  }
  Result<ProgramReport> report = ParseProgramReport(line);
  if (report.ok() && !spec_.metric_names().empty()) {
    report = FailedPrecondition(
        "the space file reads this program's metrics from its output (metrics: under trainable:); "
        "take them out to report from within");
  }
  if (!report.ok()) return Refuse(pending, report.status().message());
  pending.report = *std::move(report);
  if (MissingIn(pending.report.metrics).empty()) pending.note = NoteOnClients(client, source);
  pending_.push_back(std::move(pending));
  Advance();
}

namespace {

// Makes `one` the last of those that reported, and says which one was it before, if `one` had
// reported before that: then they report by turns.
template <typename Id>
std::optional<Id> PassTurn(std::vector<Id>& reported, Id one, size_t kept) {
  const auto found = std::find(reported.begin(), reported.end(), one);
  std::optional<Id> other;
  if (found != reported.end() && found + 1 != reported.end()) other = reported.back();
  if (found != reported.end()) reported.erase(found);
  reported.push_back(one);
  if (reported.size() > kept) reported.erase(reported.begin());
  return other;
}

}  // namespace

// One process after the other may report (`tune report` is one each time), but not by turns; and
// not from two shells that go on side by side.
std::string CommandTrial::NoteOnClients(ClientId client, const ProgramSource& source) {
  bool is_by_turns = PassTurn(clients_, client, kClientsKept).has_value();
  if (source.id != 0) {
    const std::optional<int64_t> other = PassTurn(sources_, source.id, kClientsKept);
    is_by_turns = is_by_turns || (other && std::find(source.living.begin(), source.living.end(),
                                                     *other) != source.living.end());
  }
  if (!is_by_turns || std::exchange(has_noted_clients_, true)) return "";
  return "two processes of the program report by turns: their values stand in one curve; let one "
         "of "
         "them report, of a distributed training rank 0";
}

void CommandTrial::Refuse(const Pending& pending, const std::string& error) {
  ++refused_count_;
  last_refusal_ = error;
  Answer(pending, EncodeProgramError(error));
}

std::string CommandTrial::Refused() const {
  if (refused_count_ == 0) return "";
  const bool is_one = refused_count_ == 1;
  return (is_one ? std::string("a report was") : std::to_string(refused_count_) + " reports were") +
         " refused" + (is_one ? ": " : ", the last one: ") + ShortLine(last_refusal_);
}

// What a program prints once the worker has told it to end is of no iteration that it would have
// come to: the next attempt begins before it.
void CommandTrial::OnOutput(OutputStream stream, std::string_view piece) {
  tail_.Add(piece);
  if (is_told_to_end_) return;
  const bool had_verdict = verdict_.has_value();
  Take(output_.Read(stream, piece));
  if (verdict_ && !had_verdict) effects_.push_back(SignalProgram{true});
  Advance();
}

void CommandTrial::Take(std::vector<OutputReport> reports) {
  for (OutputReport& report : reports) {
    for (const OutputFinding& finding : report.findings) {
      effects_.push_back(AddToLog{DescribeFinding(finding)});
    }
    if (!report.note.empty()) effects_.push_back(AddToLog{"tune: note: " + report.note});
    pending_.push_back({ClientId{},
                        {std::move(report.metrics), report.iteration, ""},
                        false,
                        std::move(report.note),
                        std::move(report.reading)});
  }
  if (output_.refusal() && !is_told_to_stop_ && !verdict_) {
    verdict_ = TrialEnd{Outcome::kBadConfig, "metrics: " + *output_.refusal()};
  }
}

void CommandTrial::Answer(const Pending& pending, std::string line) {
  if (pending.client.value != 0)
    effects_.push_back(ReplyToProgram{pending.client, std::move(line)});
}

void CommandTrial::Advance() {
  while (!under_way_ && !pending_.empty() && !verdict_) {
    Pending next = std::move(pending_.front());
    pending_.pop_front();
    if (is_told_to_stop_) {
      if (unsent_note_.empty()) unsent_note_ = next.note;
      Answer(next, EncodeProgramAnswer({true, last_iteration_}));
    } else if (Begin(next)) {
      under_way_ = std::move(next);
      if (!is_saving_) Send();
    }
  }
  const bool is_over = program_end_ && (verdict_ || !under_way_);
  if (!is_over || std::exchange(is_finished_, true)) return;
  // One that was told to end by the worker has its end written already.
  effects_.push_back(FinishAttempt{is_told_to_end_ && !verdict_
                                       ? std::optional<TrialEnd>()
                                       : std::optional(verdict_.value_or(EndOfProgram()))});
}

// Whether the report can be sent, or is about to be saved.
bool CommandTrial::Begin(Pending& pending) {
  const int64_t present = open_iteration_ == 0 ? last_iteration_ + 1 : open_iteration_;
  const int64_t iteration = pending.report.iteration.value_or(present);
  if (const auto objection = Objection(pending.report, iteration)) {
    Refuse(pending, *objection);
    return false;
  }
  report_ = {};
  report_.iteration = iteration;
  report_.metrics = pending.report.metrics;
  report_.final = pending.is_final;
  report_.note = pending.note;
  report_.reading = pending.reading;
  const bool is_due = iteration % checkpoint_every_ == 0 || shall_save_ || is_told_to_end_;
  is_saving_ = !pending.report.checkpoint.empty() && is_due;
  if (is_saving_) effects_.push_back(SaveProgramCheckpoint{pending.report.checkpoint, iteration});
  return true;
}

std::optional<std::string> CommandTrial::Objection(const ProgramReport& report,
                                                   int64_t iteration) const {
  const bool goes_back = iteration <= last_iteration_ || iteration < open_iteration_;
  if (goes_back) {
    return "training_iteration: read " + std::to_string(iteration) +
           ", expected more than the last one, " +
           std::to_string(std::max(last_iteration_, open_iteration_ - 1));
  }
  if (iteration > kProgramIterationMax) {
    return "training_iteration: there is none after " + std::to_string(last_iteration_);
  }
  const std::vector<std::string> missing = MissingIn(report.metrics);
  if (missing.empty() || report.checkpoint.empty() || report.iteration) return std::nullopt;
  return "checkpoint: this report has no value of " + missing.front() +
         ", so no iteration has ended that a trial could go on from; report the checkpoint "
         "together with " +
         missing.front() + ", or name its iteration (step)";
}

std::vector<std::string> CommandTrial::MissingIn(const Metrics& metrics) const {
  std::vector<std::string> missing = metric_names_;
  std::erase_if(missing, [&](const std::string& name) {
    const auto is_in = [&](const Metrics& some) {
      return name == metric_ ? HasMetric(some, name) : FindVariable(some, name).has_value();
    };
    return is_in(metrics) || is_in(open_metrics_);
  });
  return missing;
}

// The iteration under way gets its number only now: what was reported of it goes with it.
void CommandTrial::TakeOpenMetrics() {
  for (auto metric = open_metrics_.rbegin(); metric != open_metrics_.rend(); ++metric) {
    if (!HasMetric(report_.metrics, metric->first)) report_.metrics.push_back(*metric);
  }
}

void CommandTrial::Send() {
  if (report_.iteration != open_iteration_) {
    if (!is_open_numbered_) TakeOpenMetrics();
    open_metrics_.clear();
    is_open_numbered_ = false;
  }
  for (const auto& metric : report_.metrics) reported_names_.insert(metric.first);
  std::vector<std::string> missing = MissingIn(report_.metrics);
  if (missing.empty()) {
    last_iteration_ = report_.iteration;
    has_taken_metric_ = true;
    open_iteration_ = 0;
    open_metrics_.clear();
  } else {
    open_iteration_ = report_.iteration;
    is_open_numbered_ = is_open_numbered_ || under_way_->report.iteration.has_value();
    for (const auto& metric : report_.metrics) open_metrics_.push_back(metric);
  }
  if (missing.size() < missing_names_.size()) missing_names_ = std::move(missing);
  effects_.push_back(SendReport{report_});
  if (!report_.final) return;
  // Nothing is left to decide.
  under_way_.reset();
}

void CommandTrial::OnSaved(const Result<CheckpointRef>& saved) {
  TUNE_CHECK(is_saving_ && under_way_);
  is_saving_ = false;
  if (saved.ok()) {
    report_.has_checkpoint = true;
    report_.checkpoint = *saved;
    return Send();
  }
  const Pending pending = *std::exchange(under_way_, std::nullopt);
  Refuse(pending, "checkpoint: " + saved.status().message());
  Advance();
}

void CommandTrial::OnDiskFull(const std::string& folder, const Status& status) {
  verdict_ = EndForUnsaved(folder, status);
  effects_.push_back(SignalProgram{true});
  Advance();
}

void CommandTrial::OnAnswer(ReportAnswer answer, Instant now) {
  if (!under_way_ || is_saving_) return;
  const Pending pending = *std::exchange(under_way_, std::nullopt);
  const bool stops = !GoesOn(answer);
  shall_save_ = answer == ReportAnswer::kSave;
  // The program waits for this answer: what it printed before has been read.
  if (pending.client.value != 0) tail_.Mark();
  Answer(pending, EncodeProgramAnswer({stops, last_iteration_}));
  if (stops) Stop(now, pending.client.value != 0);
  Advance();
}

// ---- ending

// One that asked hears of it and ends by itself; one whose output is read does not. One that the
// worker ends has no more time than it had.
void CommandTrial::Stop(Instant now, bool listens) {
  is_told_to_stop_ = true;
  if (program_end_ || is_told_to_end_) return;
  if (listens) {
    terminate_at_ = now + kStopPatience;
    return;
  }
  effects_.push_back(SignalProgram{false});
  kill_at_ = now + kKillGrace;
}

void CommandTrial::OnTerminate(Instant now) {
  is_told_to_end_ = true;
  terminate_at_.reset();
  kill_at_ = std::min(kill_at_.value_or(now + kEndGrace), now + kEndGrace);
}

void CommandTrial::OnTime(Instant now) {
  if (program_end_) return;
  if (terminate_at_ && now >= *terminate_at_) {
    terminate_at_.reset();
    effects_.push_back(SignalProgram{false});
    kill_at_ = now + kKillGrace;
  }
  if (kill_at_ && now >= *kill_at_) {
    kill_at_.reset();
    effects_.push_back(SignalProgram{true});
  }
}

std::optional<Instant> CommandTrial::NextDeadline() const {
  if (program_end_) return std::nullopt;
  TUNE_CHECK(!terminate_at_ || !kill_at_);
  return terminate_at_ ? terminate_at_ : kill_at_;
}

// A line without its end, and a bar that may have been drawn again, are whole where the program
// ended well; else its death may have cut them.
void CommandTrial::OnProgramEnded(ProgramEnd end) {
  program_end_ = std::move(end);
  const bool is_well = program_end_->exit_status == 0 && program_end_->signal.empty() &&
                       program_end_->memory_limit_bytes == 0 && !is_told_to_end_;
  if (is_well) {
    Take(output_.Finish());
    TakeLast();
  }
  Advance();
}

// The last report of a program that ended well: the metrics of files, and those that were printed
// and in no report. Where a file has a part of the sweep's metric, the printed part goes with it.
void CommandTrial::TakeLast() {
  const ProgramEnd& end = *program_end_;
  if (!end.file_metrics.ok()) return;
  const bool has_part = std::any_of(wanted_.begin(), wanted_.end(), [&](const std::string& name) {
    return FindVariable(*end.file_metrics, name).has_value();
  });
  Metrics last = output_.Unreported(has_part ? wanted_ : std::vector<std::string>());
  last.insert(last.end(), end.file_metrics->begin(), end.file_metrics->end());
  const bool is_asked =
      std::find(wanted_.begin(), wanted_.end(), kExitStatusMetric) != wanted_.end();
  if (is_asked) last.emplace_back(kExitStatusMetric, end.exit_status);
  // A final report completes a trial: one without the metric is told as no_metric instead.
  const bool has_metric = missing_names_.empty() || MissingIn(last).empty() ||
                          std::any_of(pending_.begin(), pending_.end(), [&](const Pending& next) {
                            return MissingIn(next.report.metrics).empty();
                          });
  if (last.empty() || !has_metric) return;
  pending_.push_back({ClientId{}, {std::move(last), std::nullopt, ""}, true});
}

TrialEnd CommandTrial::EndOfProgram() const {
  const ProgramEnd& end = *program_end_;
  if (is_told_to_stop_) {
    const std::string note = unsent_note_.empty() ? output_.NoteAtEnd() : unsent_note_;
    return {Outcome::kStopped, WithEndNote(Outcome::kStopped, "", note)};
  }
  if (end.memory_limit_bytes != 0) {
    return {Outcome::kOutOfMemory, "the program was ended: it had more than the " +
                                       std::to_string(end.memory_limit_bytes) +
                                       " bytes that a trial may have (resources.memory)"};
  }
  if (!end.signal.empty() || end.exit_status != 0) {
    const std::string how = end.signal.empty()
                                ? "exited with status " + std::to_string(end.exit_status)
                                : "died of " + end.signal;
    // A full disk that the program did not speak of is not why it ended; one that it spoke of and
    // that has room is a limit of the program's own.
    EndDetail disk = tail_.SpeaksOfFullDisk() ? end.full_disk : EndDetail::kNone;
    if (disk == EndDetail::kNone && tail_.SpeaksOfReadOnlyDisk()) disk = end.read_only_disk;
    if (disk != EndDetail::kNone) {
      return {Outcome::kCrashed, WithTail("the disk takes no writes: the program " + how, tail_),
              disk};
    }
    if (end.by_oom_killer) {
      return {Outcome::kOutOfMemory,
              WithTail("the system killed the program: memory is short", tail_)};
    }
    const Outcome outcome = end.signal == "SIGKILL"        ? Outcome::kKilled
                            : tail_.SpeaksOfDeviceMemory() ? Outcome::kDeviceOutOfMemory
                            : tail_.SpeaksOfMemory()       ? Outcome::kOutOfMemory
                                                           : Outcome::kCrashed;
    return {outcome, WithTail("the program " + how, tail_)};
  }
  if (!end.file_metrics.ok()) {
    return {Outcome::kBadConfig, "metrics: " + end.file_metrics.status().message()};
  }
  // One that goes on from a checkpoint may have nothing left to do, but not reports that are
  // refused.
  const bool has_all = missing_names_.empty() || from_iteration_ != 0;
  if (!has_all || (refused_count_ > 0 && !has_taken_metric_)) {
    return {Outcome::kBadConfig, NoMetric()};
  }
  if (!end.left_running.empty()) return {Outcome::kCompleted, LeftRunning(end)};
  const OutputTail::Complaint error = tail_.LastComplaint();
  if (!error.line.empty() && !output_.HasValueIn(error.behind)) {
    return {Outcome::kCompleted,
            "an error that its status hides: the program ended with status 0, and " +
                std::string(IsBlankText(error.behind) ? "the last that it printed is '"
                                                      : "among the last that it printed is '") +
                error.line +
                "'; let the script end with the status of what it runs (in a "
                "shell: set -e -o pipefail)"};
  }
  if (refused_count_ > 0) {
    return {Outcome::kCompleted,
            Refused() +
                "; the trial's values lack what it said, and its program went on: let it "
                "end where a report is not taken (in a shell: set -e)"};
  }
  return {Outcome::kCompleted, output_.NoteAtEnd()};
}

std::string CommandTrial::NoMetric() const {
  if (!program_end_->left_running.empty()) return "no_metric: " + LeftRunning(*program_end_);
  const std::string text = "no_metric: the program ended with status 0 and ";
  const std::string& missing = missing_names_.empty() ? metric_ : missing_names_.front();
  if (refused_count_ > 0) return text + Refused();
  if (const std::optional<std::string> why = output_.WhyMissing(missing)) {
    return text + *why + Again();
  }
  const std::string line = tail_.LastLine();
  const std::string what = missing == metric_
                               ? "never reported '" + metric_ + "'"
                               : "no report had everything that the metric '" + metric_ +
                                     "' is made of: it lacked '" + missing + "'";
  return text + what + Reported(missing) + Again() +
         (line.empty() ? "" : std::string(kLastPrinted) + line);
}

// A program that found its work done is no trial that failed, and cannot be told from one.
std::string CommandTrial::Again() const {
  return is_first_attempt_ ? ""
                           : "; an earlier attempt may have left files from which it had nothing "
                             "more to do: a checkpoint that is reported (tune report --checkpoint) "
                             "lets an attempt go on where the values before it count";
}

// What it did report, and which of that may be meant.
std::string CommandTrial::Reported(const std::string& missing) const {
  if (reported_names_.empty()) return "";
  const std::vector<std::string_view> names(reported_names_.begin(), reported_names_.end());
  std::string list;
  for (const std::string_view name : names) list += (list.empty() ? "" : ", ") + std::string(name);
  const auto nearest = NearestName(missing, names);
  return (missing == metric_ ? ", but " : ", but had ") + list +
         (nearest ? "; did you mean '" + std::string(*nearest) + "'?" : "");
}

}  // namespace tune
