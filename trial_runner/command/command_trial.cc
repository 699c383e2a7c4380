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

// What the log says of the first report, so that a person sees what was read where.
std::string DescribeFinding(const OutputFinding& finding) {
  const bool is_error = finding.stream == OutputStream::kStderr;
  const std::string value =
      std::isfinite(finding.value) ? ToJson(Value(finding.value)) : std::to_string(finding.value);
  return "tune: read " + finding.metric + " = " + value +
         (is_error ? " on standard error: " : " on standard output: ") + ShownLine(finding.line);
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
      rank_(start.rank),
      world_size_(start.world_size),
      master_port_(start.group.master_port),
      output_(spec.output_rules(), wanted_, start.constrained),
      shall_save_(start.saves_first),
      last_iteration_(start.from_iteration),
      missing_names_(metric_names_),
      has_checkpoints_(!start.checkpoint_path.empty()) {}

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
  if (rank_ > 0) return AnswerRank(pending);
  if (MissingIn(pending.report.metrics).empty()) pending.note = NoteOnClients(client, source);
  pending_.push_back(std::move(pending));
  Advance();
}

// It goes on: whether it is to stop is decided of the first rank, whose end ends this one.
void CommandTrial::AnswerRank(const Pending& pending) {
  NoteRank("reports");
  const int64_t iteration = pending.report.iteration.value_or(last_iteration_ + 1);
  if (MissingIn(pending.report.metrics).empty()) {
    last_iteration_ = std::max(last_iteration_, iteration);
  }
  Answer(pending, EncodeProgramAnswer({false, last_iteration_}));
}

void CommandTrial::NoteRank(const std::string& what) {
  if (!rank_note_.empty()) return;
  rank_note_ = "values of other ranks: rank " + std::to_string(rank_) + " " + what +
               " too, and only what rank 0 does counts; a program that does not look at RANK does "
               "the same on each rank";
  effects_.push_back(AddToLog{"tune: note: " + rank_note_});
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
         " refused" + (is_one ? ": " : ", the last one: ") + ShownLine(last_refusal_);
}

// What a program prints once the worker has told it to end is of no iteration that it would have
// come to: the next attempt begins before it.
void CommandTrial::OnOutput(OutputStream stream, std::string_view piece) {
  tail_.Add(piece);
  if (is_told_to_end_) return;
  if (rank_ > 0) {
    if (rank_note_.empty() && !output_.Read(stream, piece).empty()) NoteRank("prints the metric");
    return;
  }
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
  has_checkpoints_ = has_checkpoints_ || !pending.report.checkpoint.empty();
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
  const bool stops = !GoesOn(answer) || (leaves_once_saved_ && report_.has_checkpoint);
  shall_save_ = answer == ReportAnswer::kSave;
  // The program waits for this answer: what it printed before has been read.
  if (pending.client.value != 0) tail_.Mark();
  Answer(pending, EncodeProgramAnswer({stops, last_iteration_}));
  if (stops) Stop(now, pending.client.value != 0);
  Advance();
}

}  // namespace tune
