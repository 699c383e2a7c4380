#include "tuner/ask_tell.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/metric_variable.h"
#include "core/nearest_name.h"
#include "tuner/best_trial.h"
#include "tuner/metric_scores.h"

namespace tune {

Status RefuseDurations(const Value& search) {
  const Value* const per = search.is_map() ? search.Find("per") : nullptr;
  if (per == nullptr || *per != Value("seconds")) return OkStatus();
  return InvalidArgument(
      "search.per: read seconds, expected trial: of trials that others run nobody tells how long "
      "they take; leave it out, or run the sweep with tune run");
}

AskTellSession::AskTellSession(std::unique_ptr<Searcher> searcher,
                               std::vector<Objective> objectives, ResultLimits feasible)
    : searcher_(std::move(searcher)),
      objectives_(std::move(objectives)),
      feasible_(std::move(feasible)) {}

Status AskTellSession::Replay(const std::vector<JournalLine>& lines,
                              std::vector<std::pair<TrialNumber, Configuration>> suggestions) {
  for (auto& [number, configuration] : suggestions) {
    suggestions_.emplace(number, std::move(configuration));
  }
  for (const JournalLine& line : lines) {
    TUNE_RETURN_IF_ERROR(OnLine(line.text, line.at).status());
  }
  reader_ = LineReader();  // Whose errors count the lines of this life.
  return OkStatus();
}

AskTellSession::Step AskTellSession::TakeStep() { return std::exchange(step_, Step{}); }

Result<std::vector<std::string>> AskTellSession::OnLine(std::string_view line, Instant now) {
  now_ = now;
  TUNE_ASSIGN_OR_RETURN(const std::optional<Value> object, reader_.Read(line));
  if (!object) return std::vector<std::string>();
  if (object->AsMap().size() != 1) {
    return reader_.Error("expected one key, as in {\"ask\": 1} or {\"tell\": {...}}");
  }
  const MapEntry& entry = object->AsMap().front();
  static constexpr std::array<std::string_view, 3> kRequests = {"ask", "tell", "best"};
  if (std::find(kRequests.begin(), kRequests.end(), entry.key) == kRequests.end()) {
    return reader_.Error("unknown key '" + entry.key + "'" + DidYouMean(entry.key, kRequests));
  }
  if (entry.key == "best") {
    TUNE_ASSIGN_OR_RETURN(std::string best, Best(entry.value));
    return std::vector<std::string>{std::move(best)};
  }
  std::vector<std::string> answers = {"{\"ok\":true}"};
  if (entry.key == "ask") {
    TUNE_ASSIGN_OR_RETURN(answers, Ask(*object));
  } else {
    TUNE_RETURN_IF_ERROR(Tell(entry.value));
  }
  if (keeps_steps_) step_.lines.emplace_back(line);
  return answers;
}

Result<std::vector<std::string>> AskTellSession::Ask(const Value& object) {
  TUNE_ASSIGN_OR_RETURN(const int64_t count, reader_.ReadInt(object, "ask", 1));
  if (count > limits::kAskMax) {
    return reader_.Error("ask: read " + std::to_string(count) + ", expected at most " +
                         std::to_string(limits::kAskMax) + " at once");
  }
  std::vector<std::string> answers;
  for (int64_t i = 0; i < count; ++i) {
    const TrialNumber number{trial_count()};
    std::optional<Configuration> configuration = Suggest(number);
    if (!configuration) {
      answers.push_back("{\"done\":true}");
      break;
    }
    answers.push_back("{\"trial\":" + std::to_string(number.value) +
                      ",\"config\":" + ToJson(configuration->ToNested()) + "}");
    Trial& trial = trials_.emplace_back();
    trial.row.number = number;
    trial.row.status = TrialStatus::kRunning;
    trial.row.created_at = now_;
    trial.row.started_at = now_;
    trial.last_values.resize(objectives_.size() + feasible_.size());
    trial.configuration = *std::move(configuration);
    if (keeps_steps_) step_.rows.new_trials.push_back({trial.row, trial.configuration});
  }
  return answers;
}

std::optional<Configuration> AskTellSession::Suggest(TrialNumber number) {
  if (number.value >= limits::kSamplesMax) return std::nullopt;
  const auto known = suggestions_.find(number);
  if (known == suggestions_.end()) return searcher_->Suggest(number);
  searcher_->Restore(number, known->second);
  return known->second;
}

// A question: it changes nothing, and is not kept.
Result<std::string> AskTellSession::Best(const Value& asked) const {
  if (asked != Value(true)) {
    return reader_.Error("best: read " + Shown(asked) + ", expected true");
  }
  if (objectives_.size() > 1) {
    return reader_.Error("best: of several objectives there is no best trial, but a front");
  }
  const Trial* best = nullptr;
  for (const Trial& trial : trials_) {
    const TrialRow* const before = best != nullptr ? &best->row : nullptr;
    if (MayBeBest(trial.row) && IsBetterTrial(trial.row, before, objectives_.front().mode)) {
      best = &trial;
    }
  }
  if (best == nullptr) return std::string("{\"trial\":null}");
  return "{\"trial\":" + std::to_string(best->row.number.value) +
         ",\"config\":" + ToJson(best->configuration.ToNested()) +
         ",\"value\":" + ToJson(Value(*best->row.best_value)) +
         ",\"iteration\":" + std::to_string(*best->row.best_iteration) +
         (best->row.best_violation
              ? std::string(",\"feasible\":") +
                    (IsFeasible(best->row.best_violation) ? "true" : "false") +
                    ",\"violation\":" + ToJson(Value(*best->row.best_violation))
              : "") +
         "}";
}

Status AskTellSession::CheckKeys(const Value& tell) const {
  static constexpr std::array<std::string_view, 5> kKeys = {"trial", "value", "iteration",
                                                            "metrics", "failed"};
  if (!tell.is_map()) return reader_.Error("tell: read " + Shown(tell) + ", expected an object");
  for (const MapEntry& entry : tell.AsMap()) {
    if (std::find(kKeys.begin(), kKeys.end(), entry.key) == kKeys.end()) {
      return reader_.Error("tell: unknown key '" + entry.key + "'" + DidYouMean(entry.key, kKeys));
    }
  }
  const Value* const failed = tell.Find("failed");
  if (failed != nullptr && *failed != Value(true)) {
    return reader_.Error("tell: failed: read " + Shown(*failed) + ", expected true");
  }
  if ((failed == nullptr) == (tell.Find("value") == nullptr)) {
    return reader_.Error("tell: expected either 'value' (null when there is none) or 'failed'");
  }
  for (const char* const key : {"iteration", "metrics"}) {
    if (failed == nullptr || tell.Find(key) == nullptr) continue;
    return reader_.Error(std::string("tell: '") + key + "' cannot stand beside 'failed'");
  }
  return OkStatus();
}

// One number, or of several objectives a list with one for each.
Result<std::vector<Metric>> AskTellSession::ReadValues(const Value& tell) const {
  const Value& value = *tell.Find("value");
  if (objectives_.size() == 1 && value.is_list()) {
    return reader_.Error("tell: value: read " + Shown(value) +
                         ", expected one number: the sweep has one metric");
  }
  if (objectives_.size() == 1) {
    TUNE_ASSIGN_OR_RETURN(const Metric metric, reader_.ReadMetric(tell, "value"));
    return std::vector<Metric>{metric};
  }
  if (!value.is_list() || value.AsList().size() != objectives_.size()) {
    return reader_.Error("tell: value: read " + Shown(value) + ", expected a list of " +
                         std::to_string(objectives_.size()) + " numbers, one for each metric");
  }
  std::vector<Metric> values;
  for (const Value& item : value.AsList()) {
    Value one = Value::MakeMap();
    one.Set("value", item);
    TUNE_ASSIGN_OR_RETURN(const Metric metric, reader_.ReadMetric(one, "value"));
    values.push_back(metric);
  }
  return values;
}

Status AskTellSession::Tell(const Value& tell) {
  TUNE_RETURN_IF_ERROR(CheckKeys(tell));
  TUNE_ASSIGN_OR_RETURN(const int64_t number, reader_.ReadInt(tell, "trial", 0));
  if (number >= trial_count()) {
    return reader_.Error("tell: the trial " + std::to_string(number) + " was never asked for");
  }
  Trial& trial = trials_[static_cast<size_t>(number)];
  if (trial.is_over()) {
    // Who tells again what he is not sure to have told sees whether it was.
    const Metric last = trial.row.last_value;
    const bool has_failed = trial.row.status == TrialStatus::kError;
    return reader_.Error("tell: the trial " + std::to_string(number) + " is over" +
                         (has_failed ? ": it failed"
                          : last     ? ", its value " + ToJson(Value(*last))
                                     : ", without a value"));
  }
  const bool has_failed = tell.Find("failed") != nullptr;
  if (!has_failed) {
    TUNE_ASSIGN_OR_RETURN(std::vector<Metric> values, ReadValues(tell));
    if (tell.Find("iteration") != nullptr) return TellIteration(trial, tell, std::move(values));
    // The final value is the trial's last report.
    TUNE_RETURN_IF_ERROR(Report(trial, tell, trial.row.iterations + 1, values));
  }
  trial.row.status = has_failed ? TrialStatus::kError : TrialStatus::kTerminated;
  trial.row.stop_reason = has_failed ? StopReason::kNone : StopReason::kCompleted;
  trial.row.finished_at = now_;
  trial.row.run_seconds = (now_ - trial.row.created_at).seconds();
  searcher_->OnTrialEnded(trial.row.number, trial.last_values, has_failed);
  if (keeps_steps_) step_.rows.trials.push_back(trial.row);
  return OkStatus();
}

Status AskTellSession::TellIteration(Trial& trial, const Value& tell, std::vector<Metric> values) {
  constexpr int64_t kIterationMax = int64_t{1} << 53;  // What all readers of JSON hold.
  TUNE_ASSIGN_OR_RETURN(const int64_t iteration, reader_.ReadInt(tell, "iteration", 1));
  if (iteration >= kIterationMax) {
    return reader_.Error("tell: iteration: read " + std::to_string(iteration) +
                         ", expected less than 2^53");
  }
  if (iteration <= trial.row.iterations) {
    return reader_.Error("tell: iteration: read " + std::to_string(iteration) +
                         ", expected more than the last, " + std::to_string(trial.row.iterations));
  }
  TUNE_RETURN_IF_ERROR(Report(trial, tell, iteration, values));
  searcher_->OnReport(trial.row.number, iteration, trial.last_values);
  if (keeps_steps_) step_.rows.trials.push_back(trial.row);
  return OkStatus();
}

Result<Metrics> AskTellSession::ReadMetrics(const Value& tell,
                                            const std::vector<Metric>& values) const {
  Metrics metrics;
  for (size_t i = 0; i < values.size(); ++i) {
    metrics.emplace_back(objectives_[i].metric, values[i].value_or(std::nan("")));
  }
  const Value* const given = tell.Find("metrics");
  if (given != nullptr && !given->is_map()) {
    return reader_.Error("tell: metrics: read " + Shown(*given) +
                         ", expected an object of numbers, as in {\"latency_ms\": 12.5}");
  }
  if (given != nullptr) {
    for (const MapEntry& entry : given->AsMap()) {
      if (HasMetric(metrics, entry.key)) {
        return reader_.Error("tell: metrics: '" + entry.key + "' is told as the value");
      }
      const Result<Metric> number = reader_.ReadMetric(*given, entry.key);
      if (!number.ok()) return number.status();
      metrics.emplace_back(entry.key, number->value_or(std::nan("")));
    }
  }
  std::vector<std::string_view> names;
  for (const auto& metric : metrics) names.push_back(metric.first);
  for (const std::string& name : feasible_.metric_names()) {
    if (FindVariable(metrics, name)) continue;
    return reader_.Error("tell: metrics: feasible names '" + name +
                         "', which is no parameter and is not told; expected \"metrics\": {\"" +
                         name + "\": NUMBER}" + DidYouMean(name, names));
  }
  return metrics;
}

// As a trial process would have reported it.
Status AskTellSession::Report(Trial& trial, const Value& tell, int64_t iteration,
                              const std::vector<Metric>& values) {
  TUNE_ASSIGN_OR_RETURN(const Metrics told, ReadMetrics(tell, values));
  TrialRow& row = trial.row;
  // A told number of the name "infeasible" or "violation" is no verdict of the sweep's.
  const Metrics metrics = feasible_.Judged(MetricScores().Scored(told), trial.configuration);
  const Metric violation = feasible_.empty() ? Metric() : FindViolation(metrics);
  trial.last_values.clear();
  for (const Metric& value : values) trial.last_values.push_back(Finite(value));
  for (const Metric& margin : feasible_.Margins(metrics, trial.configuration)) {
    trial.last_values.push_back(margin);
  }
  TakeValue(iteration, trial.last_values.front(), objectives_.front().mode, row, violation);
  if (!keeps_steps_) return OkStatus();
  ReportRow report;
  report.trial = row.number;
  report.attempt = AttemptNumber{1};
  report.iteration = iteration;
  report.value = trial.last_values.front();
  report.reported_at = now_;
  report.metrics = metrics;
  step_.rows.reports.push_back(std::move(report));
  return OkStatus();
}

}  // namespace tune
