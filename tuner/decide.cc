#include "tuner/decide.h"

#include <array>
#include <cmath>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "core/standing.h"

namespace tune {
namespace {

const char* VerdictName(Verdict verdict) {
  switch (verdict) {
    case Verdict::kContinue:
      return "continue";
    case Verdict::kStop:
      return "stop";
    case Verdict::kPause:
      return "pause";
  }
  return "";
}

const char* OrderName(Order::Kind kind) {
  switch (kind) {
    case Order::Kind::kResume:
      return "resume";
    case Order::Kind::kStop:
      return "stop";
    case Order::Kind::kExploit:
      return "exploit";
  }
  return "";
}

template <typename T>
Value OrNull(const std::optional<T>& value) {
  return value ? Value(*value) : Value();
}

// Of a Decision or an Order.
template <typename Explained>
void Explain(const Explained& explained, Value& answer) {
  answer.Set("rung", OrNull(explained.rung));
  answer.Set("cutoff", OrNull(explained.cutoff));
  answer.Set("rank", OrNull(explained.rank));
  answer.Set("count", OrNull(explained.count));
}

}  // namespace

DecideSession::DecideSession(std::unique_ptr<TrialScheduler> scheduler, Scoring scoring)
    : scheduler_(std::move(scheduler)), scoring_(std::move(scoring)) {}

Result<Metrics> DecideSession::ReadMetrics(const Value& object) const {
  TUNE_RETURN_IF_ERROR(reader_.ReadMetric(object, scoring_.metric).status());
  for (const std::string& name : scoring_.scores.reported_names()) {
    TUNE_RETURN_IF_ERROR(reader_.ReadMetric(object, name).status());
  }
  Metrics metrics;
  for (const MapEntry& entry : object.AsMap()) {
    if (entry.key == "trial" || entry.key == "training_iteration") continue;
    const std::optional<double> number = ReadNumber(entry.value);
    if (number || entry.value.is_null()) metrics.emplace_back(entry.key, number.value_or(NAN));
  }
  return scoring_.feasible.Judged(scoring_.scores.Scored(std::move(metrics)), Configuration());
}

Metric DecideSession::RankedIn(const Metrics& metrics) const {
  const Metric value = FindProvisional(metrics, scoring_.metric);
  if (!value || scoring_.feasible.empty()) return value;
  return RankedValue(*value, FindViolation(metrics), scoring_.mode);
}

Result<std::vector<std::string>> DecideSession::OnLine(std::string_view line) {
  std::vector<std::string> answers;
  TUNE_ASSIGN_OR_RETURN(const std::optional<Value> object, reader_.Read(line));
  if (!object) return answers;
  bool is_new = false;
  TUNE_ASSIGN_OR_RETURN(Trial* const trial, FindOrAdd(*object, is_new));
  if (object->Find("event") != nullptr) {
    TUNE_RETURN_IF_ERROR(OnEvent(*object, *trial, is_new));
  } else {
    TUNE_ASSIGN_OR_RETURN(std::string answer, OnReport(*object, *trial));
    answers.push_back(std::move(answer));
  }
  for (const Order& order : scheduler_->TakeOrders()) answers.push_back(OnOrder(order));
  return answers;
}

Result<DecideSession::Trial*> DecideSession::FindOrAdd(const Value& object, bool& is_new) {
  const Value* const name = object.Find("trial");
  if (name == nullptr) return reader_.Error("'trial' is missing");
  if (!name->is_string() && !name->is_int()) {
    return reader_.Error("trial: read " + Shown(*name) + ", expected a string or an integer");
  }
  const std::string key = ToJson(*name);
  const auto found = trials_.find(key);
  is_new = found == trials_.end();
  if (!is_new) return &found->second;
  if (static_cast<int64_t>(names_.size()) >= limits::kSamplesMax) {
    return reader_.Error("more than " + std::to_string(limits::kSamplesMax) + " trials");
  }
  const TrialNumber number{static_cast<int64_t>(names_.size())};
  names_.push_back(key);
  scheduler_->OnTrialAdded(number);
  return &trials_.emplace(key, Trial{number}).first->second;
}

Status DecideSession::OnEvent(const Value& object, Trial& trial, bool is_new) {
  static constexpr std::array<std::string_view, 3> kEvents = {"added", "completed", "failed"};
  const Value& event = *object.Find("event");
  const std::string read = event.is_string() ? event.AsString() : "";
  if (read != "added" && read != "completed" && read != "failed") {
    return reader_.Error("event: read " + Shown(event) + ", expected an event" +
                         DidYouMean(read, kEvents));
  }
  if (object.AsMap().size() != 2) {
    return reader_.Error("a line with 'event' has only 'trial' beside it");
  }
  const std::string& name = names_[static_cast<size_t>(trial.number.value)];
  if (read == "added") {
    return is_new ? OkStatus() : reader_.Error("the trial " + name + " was added before");
  }
  if (trial.state == State::kOver) return reader_.Error("the trial " + name + " is over");
  // One that was told to stop ended then, for the scheduler; this is its own word for it.
  if (trial.state != State::kStopped) scheduler_->OnTrialEnded(trial.number, read == "failed");
  trial.state = State::kOver;
  return OkStatus();
}

Result<std::string> DecideSession::OnReport(const Value& object, Trial& trial) {
  const std::string& name = names_[static_cast<size_t>(trial.number.value)];
  if (trial.state != State::kRunning) {
    return reader_.Error("a report of the trial " + name +
                         (trial.state == State::kPaused    ? ", which is paused"
                          : trial.state == State::kStopped ? " after its stop"
                                                           : ", which is over"));
  }
  TUNE_ASSIGN_OR_RETURN(const int64_t iteration, reader_.ReadInt(object, "training_iteration", 1));
  if (iteration <= trial.iteration) {
    return reader_.Error("training_iteration: read " + std::to_string(iteration) +
                         ", expected more than the last of the trial " + name + ", " +
                         std::to_string(trial.iteration));
  }
  TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ReadMetrics(object));
  trial.iteration = iteration;
  // A report of other metrics is no iteration for the scheduler.
  const bool has_metric = HasMetric(metrics, scoring_.metric);
  const Decision decision =
      has_metric ? scheduler_->OnReport(trial.number, iteration, RankedIn(metrics)) : Decision{};
  if (decision.verdict == Verdict::kPause) trial.state = State::kPaused;
  if (decision.verdict == Verdict::kStop) {
    trial.state = State::kStopped;
    scheduler_->OnTrialEnded(trial.number, false);
  }
  Value answer = Value::MakeMap();
  answer.Set("trial", *object.Find("trial"));
  answer.Set("training_iteration", iteration);
  answer.Set("decision", VerdictName(decision.verdict));
  Explain(decision, answer);
  return ToJson(answer);
}

// A resume is the trial and the word alone; the others say why.
std::string DecideSession::OnOrder(const Order& order) {
  const std::string& name = names_[static_cast<size_t>(order.trial.value)];
  const bool is_stop = order.kind == Order::Kind::kStop;
  trials_.at(name).state = is_stop ? State::kStopped : State::kRunning;
  Value answer = Value::MakeMap();
  answer.Set("trial", *ParseJson(name));
  answer.Set("decision", OrderName(order.kind));
  if (order.source) {
    answer.Set("source", *ParseJson(names_[static_cast<size_t>(order.source->value)]));
  }
  if (order.kind != Order::Kind::kResume) Explain(order, answer);
  return ToJson(answer);
}

}  // namespace tune
