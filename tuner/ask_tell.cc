#include "tuner/ask_tell.h"

#include <algorithm>
#include <array>
#include <utility>

#include "core/input_error.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/nearest_name.h"

namespace tune {

AskTellSession::AskTellSession(std::unique_ptr<Searcher> searcher)
    : searcher_(std::move(searcher)) {}

Result<std::vector<std::string>> AskTellSession::OnLine(std::string_view line) {
  TUNE_ASSIGN_OR_RETURN(const std::optional<Value> object, reader_.Read(line));
  if (!object) return std::vector<std::string>();
  if (object->AsMap().size() != 1) {
    return reader_.Error("expected one key, as in {\"ask\": 1} or {\"tell\": {...}}");
  }
  const MapEntry& entry = object->AsMap().front();
  if (entry.key == "ask") return Ask(*object);
  if (entry.key == "tell") {
    TUNE_RETURN_IF_ERROR(Tell(entry.value));
    return std::vector<std::string>{"{\"ok\":true}"};
  }
  static constexpr std::array<std::string_view, 2> kRequests = {"ask", "tell"};
  return reader_.Error("unknown key '" + entry.key + "'" + DidYouMean(entry.key, kRequests));
}

Result<std::vector<std::string>> AskTellSession::Ask(const Value& object) {
  TUNE_ASSIGN_OR_RETURN(const int64_t count, reader_.ReadInt(object, "ask", 1));
  if (count > limits::kAskMax) {
    return reader_.Error("ask: read " + std::to_string(count) + ", expected at most " +
                         std::to_string(limits::kAskMax) + " at once");
  }
  std::vector<std::string> answers;
  for (int64_t i = 0; i < count; ++i) {
    const TrialNumber number{static_cast<int64_t>(trials_.size())};
    const std::optional<Configuration> configuration =
        number.value < limits::kSamplesMax ? searcher_->Suggest(number) : std::nullopt;
    if (!configuration) {
      answers.push_back("{\"done\":true}");
      break;
    }
    trials_.emplace_back();
    answers.push_back("{\"trial\":" + std::to_string(number.value) +
                      ",\"config\":" + ToJson(configuration->ToNested()) + "}");
  }
  return answers;
}

Status AskTellSession::CheckKeys(const Value& tell) const {
  static constexpr std::array<std::string_view, 4> kKeys = {"trial", "value", "iteration",
                                                            "failed"};
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
  if (failed != nullptr && tell.Find("iteration") != nullptr) {
    return reader_.Error("tell: 'iteration' cannot stand beside 'failed'");
  }
  return OkStatus();
}

Status AskTellSession::Tell(const Value& tell) {
  TUNE_RETURN_IF_ERROR(CheckKeys(tell));
  TUNE_ASSIGN_OR_RETURN(const int64_t number, reader_.ReadInt(tell, "trial", 0));
  if (number >= static_cast<int64_t>(trials_.size())) {
    return reader_.Error("tell: the trial " + std::to_string(number) + " was never asked for");
  }
  Trial& trial = trials_[static_cast<size_t>(number)];
  if (trial.is_over) return reader_.Error("tell: the trial " + std::to_string(number) + " is over");
  TUNE_ASSIGN_OR_RETURN(const Metric value, reader_.ReadMetric(tell, "value"));
  if (tell.Find("iteration") != nullptr) {
    TUNE_ASSIGN_OR_RETURN(const int64_t iteration, reader_.ReadInt(tell, "iteration", 1));
    if (iteration <= trial.iteration) {
      return reader_.Error("tell: iteration: read " + std::to_string(iteration) +
                           ", expected more than the last, " + std::to_string(trial.iteration));
    }
    trial.iteration = iteration;
    trial.last_value = value;
    searcher_->OnReport(TrialNumber{number}, iteration, {&value, 1});
    return OkStatus();
  }
  trial.is_over = true;
  const bool failed = tell.Find("failed") != nullptr;
  const Metric last = failed ? trial.last_value : value;
  searcher_->OnTrialEnded(TrialNumber{number}, {&last, 1}, failed);
  return OkStatus();
}

}  // namespace tune
