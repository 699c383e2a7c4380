#include "trial_runner/trial_programs.h"

#include <array>

#include "core/nearest_name.h"

namespace tune {
namespace {

constexpr std::string_view kFood11 = "food11";
constexpr std::string_view kCurve = "curve";
constexpr std::string_view kAskTell = "ask-tell";
constexpr std::string_view kCommand = "command";
constexpr std::string_view kCommandProgram = "tune_trial_command";
constexpr std::array kKinds = {kFood11, kCurve, kCommand};
constexpr char kForms[] = "food11, {command: [...]} or {curve: {...}}";

Status UnknownKind(std::string_view read) {
  return InvalidArgument("trainable: read '" + std::string(read) + "', expected " + kForms +
                         DidYouMean(read, kKinds));
}

}  // namespace

Result<std::string> TrainableKind(const Value& trainable) {
  if (trainable.is_string()) {
    const std::string& name = trainable.AsString();
    if (name != kFood11 && name != kAskTell) return UnknownKind(name);
    return name;
  }
  const bool is_command = trainable.is_map() && trainable.Find(kCommand) != nullptr;
  if (is_command) return std::string(kCommand);
  if (!trainable.is_map() || trainable.AsMap().size() != 1) {
    return InvalidArgument(std::string("trainable: read ") + trainable.KindName() + ", expected " +
                           kForms);
  }
  const std::string& key = trainable.AsMap().front().key;
  if (key == kFood11) {
    return InvalidArgument(
        "trainable: food11 takes nothing there; write trainable: food11, and its "
        "options (data: and the like) into the space");
  }
  if (key != kCurve) return UnknownKind(key);
  return std::string(kCurve);
}

Result<std::string> TrialProgram(std::string_view kind) {
  if (kind == kFood11) return std::string("tune_trial_food11");
  if (kind == kCurve) return std::string("tune_trial");
  if (kind == kCommand) return std::string(kCommandProgram);
  if (kind == kAskTell) {
    return InvalidArgument(
        "trainable: ask-tell has no program to run; its trials are told with tune ask-tell");
  }
  return UnknownKind(kind);
}

bool RunsUserPrograms(std::string_view program) { return program == kCommandProgram; }

}  // namespace tune
