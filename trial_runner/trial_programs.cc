#include "trial_runner/trial_programs.h"

#include <array>

#include "core/nearest_name.h"

namespace tune {
namespace {

constexpr std::string_view kFood11 = "food11";
constexpr std::string_view kCurve = "curve";
constexpr std::array kKinds = {kFood11, kCurve};

Status UnknownKind(std::string_view read) {
  if (read == "command") {
    return InvalidArgument(
        "trainable: command is not there yet in this version; expected food11 or {curve: {...}}");
  }
  return InvalidArgument("trainable: read '" + std::string(read) +
                         "', expected food11 or {curve: {...}}" + DidYouMean(read, kKinds));
}

}  // namespace

Result<std::string> TrainableKind(const Value& trainable) {
  if (trainable.is_string()) {
    if (trainable.AsString() != kFood11) return UnknownKind(trainable.AsString());
    return std::string(kFood11);
  }
  if (!trainable.is_map() || trainable.AsMap().size() != 1) {
    return InvalidArgument(std::string("trainable: read ") + trainable.KindName() +
                           ", expected food11 or {curve: {...}}");
  }
  const std::string& key = trainable.AsMap().front().key;
  if (key != kCurve) return UnknownKind(key);
  return std::string(kCurve);
}

Result<std::string> TrialProgram(std::string_view kind) {
  if (kind == kFood11) return std::string("tune_trial_food11");
  if (kind == kCurve) return std::string("tune_trial");
  return UnknownKind(kind);
}

}  // namespace tune
