#include "tuner/simulate/virtual_sweep.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"
#include "core/limits.h"
#include "core/standing.h"
#include "tuner/best_trial.h"

namespace tune {
namespace {

constexpr Instant kBegin{0};
constexpr Instant kTimeMax{100'000'000'000'000'000};
constexpr double kStepSecondsMax = 1e9;  // As a trial's own waiting.

Duration StepDuration(double seconds) {
  return seconds > 0 ? Seconds(std::min(seconds, kStepSecondsMax)) : Duration{};
}

}  // namespace

VirtualSweep::VirtualSweep(ExperimentController& controller, TrialCurves& curves,
                           VirtualWorkers workers)
    : controller_(controller), curves_(curves), workers_(std::move(workers)), now_(kBegin) {}

Result<VirtualOutcome> VirtualSweep::Run() {
  JoinWorkers();
  while (!has_ended_) {
    const std::optional<Instant> next = NextInstant();
    if (!next) break;  // For ever.
    if (*next > kTimeMax) {
      return InvalidArgument("the sweep goes on for more than three thousand years");
    }
    now_ = std::max(now_, *next);
    std::vector<Event> events = TakeDue();
    if (events.empty()) events.push_back(DeadlinePassed{});
    Apply(events);
  }
  outcome_.status = controller_.status();
  outcome_.duration = now_ - kBegin;
  for (const TrialRecord& trial : controller_.trials()) {
    outcome_.busy_seconds += trial.row.run_seconds;
  }
  TakeImprovements();
  return std::move(outcome_);
}

// They are of other machines: nothing is granted ahead, as nobody waits for a commit here.
void VirtualSweep::JoinWorkers() {
  std::vector<Event> events;
  for (int64_t i = 1; i <= workers_.count; ++i) {
    WorkerJoined joined;
    joined.worker = WorkerId{i};
    joined.name = "virtual";
    joined.capacity = workers_.capacity;
    joined.is_local = false;
    events.push_back(std::move(joined));
    if (events.size() < limits::kEventsPerCommit && i < workers_.count) continue;
    Apply(events);
    events.clear();
  }
}

std::optional<Instant> VirtualSweep::NextInstant() {
  while (!queue_.empty()) {
    const Happening& first = queue_.top();
    const Running* const running = running_[static_cast<size_t>(first.trial.value)].get();
    if (running != nullptr && running->due == first.order) break;
    queue_.pop();
  }
  const bool is_deadline_next = deadline_ && (queue_.empty() || *deadline_ <= queue_.top().at);
  if (is_deadline_next) deadline_ = controller_.NextDeadline();
  std::optional<Instant> next = deadline_;
  if (!queue_.empty() && (!next || queue_.top().at < *next)) next = queue_.top().at;
  return next;
}

std::vector<Event> VirtualSweep::TakeDue() {
  std::vector<Event> events;
  while (!queue_.empty() && queue_.top().at <= now_ && events.size() < limits::kEventsPerCommit) {
    const Happening happening = queue_.top();
    queue_.pop();
    Running* const running = running_[static_cast<size_t>(happening.trial.value)].get();
    if (running != nullptr && running->due == happening.order) events.push_back(Happen(*running));
  }
  return events;
}

Event VirtualSweep::Happen(Running& running) {
  const WorkerId worker = running.worker;
  TrialStep& step = running.next;
  if (step.ends_as) {
    AttemptFinished end{worker, {running.ref, *step.ends_as, std::move(step.error)}};
    running_[static_cast<size_t>(running.ref.trial.value)].reset();
    return end;
  }
  ReportArrived report;
  report.worker = worker;
  report.message.ref = running.ref;
  report.message.sequence = ++running.sequence;
  report.message.report.iteration = step.iteration;
  report.message.report.metrics = std::move(step.metrics);
  report.message.report.final = step.final;
  const int64_t every = controller_.options().spec.checkpoint.every;
  report.message.report.has_checkpoint =
      step.final || running.saves_next || step.iteration % every == 0;
  return report;
}

void VirtualSweep::Apply(const std::vector<Event>& events) {
  const Transition transition = controller_.Apply(events, now_);
  // It is asked each time but when there is nothing new except reports, which is most of the time.
  const bool is_only_reports = transition.attempts.empty() && transition.workers.empty();
  if (!is_only_reports || !deadline_ || *deadline_ <= now_) deadline_ = controller_.NextDeadline();
  for (const ReportRow& report : transition.reports) Note(report);
  // A doubt is about a program, and none runs here.
  const auto is_doubt = [&](const std::string& text) {
    return std::any_of(transition.notes.begin(), transition.notes.end(),
                       [&](const NoteRow& note) { return note.text == text; });
  };
  for (const Action& action : transition.actions) {
    if (const auto* const send = std::get_if<SendToWorker>(&action)) {
      Deliver(send->worker, send->message);
    } else if (const auto* const say = std::get_if<Say>(&action)) {
      if (is_doubt(say->text)) continue;
      constexpr int64_t kSaidMax = 20;
      if (outcome_.said_count++ < kSaidMax) outcome_.said.push_back(say->text);
    } else if (std::holds_alternative<EndOfExperiment>(action)) {
      has_ended_ = true;
    }
  }
}

void VirtualSweep::Note(const ReportRow& report) {
  ++outcome_.epochs;
  const TrialRow& row = controller_.trials()[static_cast<size_t>(report.trial.value)].row;
  const bool is_best_of_trial =
      report.value && row.best_iteration == report.iteration && row.best_value == report.value;
  if (!is_best_of_trial) return;
  bests_.push_back({now_ - kBegin, outcome_.epochs, *report.value, report.trial, report.iteration,
                    row.best_violation});
}

void VirtualSweep::TakeImprovements() {
  const ExperimentSpec& spec = controller_.options().spec;
  const int64_t repeat = RepeatCount(spec.search);
  const bool has_means = repeat > 1 && spec.more_objectives.empty();
  std::erase_if(bests_, [&](const Improvement& best) {
    return !MayBeBest(controller_.trials()[static_cast<size_t>(best.trial.value)].row);
  });
  std::vector<Improvement>& improvements = outcome_.improvements;
  for (const Improvement& best : has_means ? ImprovementsOfMeans(repeat) : bests_) {
    const bool is_better = improvements.empty() ||
                           IsBetterStanding(best.value, best.violation, improvements.back().value,
                                            improvements.back().violation, spec.mode);
    if (is_better) improvements.push_back(best);
  }
}

// Of configurations all of whose runs count; where there is none, of the best one.
std::vector<Improvement> VirtualSweep::ImprovementsOfMeans(int64_t repeat) {
  const ExperimentSpec& spec = controller_.options().spec;
  std::vector<tune::Run> runs;
  for (const TrialRecord& trial : controller_.trials()) {
    runs.push_back(
        {trial.row.number.value, trial.row.status, trial.row.best_value, trial.row.best_violation});
  }
  const std::vector<ConfigurationRuns> ranked = RankConfigurations(runs, repeat, spec.mode);
  if (ranked.empty()) return {};
  outcome_.best_runs = ranked.front();
  std::map<int64_t, Improvement> last;  // By trial.
  for (const Improvement& best : bests_) last[best.trial.value] = best;
  const auto has_ended = [&](const ConfigurationRuns& one) {
    return std::all_of(one.trials.begin(), one.trials.end(), [&](int64_t trial) {
      return controller_.trials()[static_cast<size_t>(trial)].is_over();
    });
  };
  std::vector<Improvement> improvements;
  for (const ConfigurationRuns& one : ranked) {
    const bool has_all = one.count() == repeat && has_ended(one);
    if (!has_all && &one != &ranked.front()) continue;
    Improvement improvement = last.at(one.best_trial);
    for (const int64_t trial : one.trials) {
      improvement.at = std::max(improvement.at, last.at(trial).at);
      improvement.epochs = std::max(improvement.epochs, last.at(trial).epochs);
    }
    improvement.value = one.mean;
    if (improvement.violation) improvement.violation = one.violation;
    improvements.push_back(improvement);
  }
  std::stable_sort(improvements.begin(), improvements.end(),
                   [](const Improvement& a, const Improvement& b) { return a.at < b.at; });
  return improvements;
}

void VirtualSweep::Deliver(WorkerId worker, const ToWorker& message) {
  if (const auto* const answer = std::get_if<AnswerReport>(&message)) {
    OnAnswer(*answer);
  } else if (const auto* const start = std::get_if<StartAttempt>(&message)) {
    Begin(worker, *start);
  } else if (const auto* const kill = std::get_if<KillAttempt>(&message)) {
    if (Running* const running = Find(kill->ref)) EndNow(*running, Outcome::kPreempted);
  }
}

void VirtualSweep::Begin(WorkerId worker, const StartAttempt& start) {
  TUNE_CHECK(!start.ahead);
  ++outcome_.attempts;
  const auto index = static_cast<size_t>(start.ref.trial.value);
  if (index >= running_.size()) running_.resize(index + 1);
  TUNE_CHECK(running_[index] == nullptr);  // A trial never runs twice.
  auto running = std::make_unique<Running>();
  running->ref = start.ref;
  running->worker = worker;
  running->saves_next = start.saves_first;
  running->curve =
      curves_.Begin(start.ref, controller_.trials()[index].configuration, start.from_iteration);
  running_[index] = std::move(running);
  GoOn(*running_[index]);
}

void VirtualSweep::OnAnswer(const AnswerReport& answer) {
  Running* const running = Find(answer.ref);
  if (running == nullptr || running->next.ends_as) return;
  if (running->next.final) {
    EndNow(*running, Outcome::kCompleted);
  } else if (!GoesOn(answer.answer)) {
    EndNow(*running, Outcome::kStopped);
  } else {
    running->saves_next = answer.answer == ReportAnswer::kSave;
    GoOn(*running);
  }
}

void VirtualSweep::GoOn(Running& running) {
  std::optional<TrialStep> next = running.curve->Next();
  if (!next) return EndNow(running, Outcome::kCompleted);
  running.next = *std::move(next);
  if (running.next.hangs) {
    running.due = 0;
  } else {
    Schedule(running, now_ + StepDuration(running.next.seconds));
  }
}

void VirtualSweep::EndNow(Running& running, Outcome outcome) {
  running.next = TrialStep{};
  running.next.ends_as = outcome;
  Schedule(running, now_);
}

void VirtualSweep::Schedule(Running& running, Instant at) {
  running.due = ++last_order_;
  queue_.push({at, running.due, running.ref.trial});
}

VirtualSweep::Running* VirtualSweep::Find(const AttemptRef& ref) {
  const auto index = static_cast<size_t>(ref.trial.value);
  Running* const running = index < running_.size() ? running_[index].get() : nullptr;
  return running != nullptr && running->ref == ref ? running : nullptr;
}

}  // namespace tune
