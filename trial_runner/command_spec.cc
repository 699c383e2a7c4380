#include "trial_runner/command_spec.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "core/input_error.h"
#include "core/limits.h"
#include "core/nearest_name.h"
#include "trial_runner/command_keys.h"

namespace tune {
namespace {

constexpr char kSourceForm[] = "{regex: \"acc: {number}\"} or {json: FILE, key: \"a.b\"}";
constexpr char kIterationForm[] =
    "{regex: \"Epoch {number}\"}, with first: 0 where it counts from 0";

Status Expected(std::string_view key, const Value& read, std::string_view expected) {
  return InvalidAt(read.place, "trainable: " + std::string(key) + ": read " + Shown(read) +
                                   ", expected " + std::string(expected));
}

Result<std::string> TextOf(std::string_view key, const Value& value) {
  // What YAML reads as a number is a text here: [--epochs, 3].
  if (value.is_list() || value.is_map() || value.is_null()) {
    return Expected(key, value, "a text");
  }
  std::string text = CommandValueText(value);
  if (text.find('\0') != std::string::npos) {
    return InvalidAt(value.place, "trainable: " + std::string(key) + ": holds a zero byte");
  }
  return text;
}

bool IsVariableName(std::string_view name) {
  const auto is_letter = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
  };
  return !name.empty() && is_letter(name.front()) &&
         std::all_of(name.begin(), name.end(),
                     [&](char c) { return is_letter(c) || (c >= '0' && c <= '9'); });
}

// Without these a program does not find its tuner, its trial or its checkpoint; the last says for
// whom a command is asked (tuner/control/asker.h). A seed or the
// metric's name of its own it may be given.
bool IsOfTune(std::string_view name) {
  constexpr std::array<std::string_view, 8> kNames = {
      "TUNE_SOCKET", "TUNE_CONFIG",   "TUNE_TRIAL",          "TUNE_ATTEMPT",
      "TUNE_DIR",    "TUNE_RESTORED", "TUNE_FROM_ITERATION", "TUNE_ASKS_FOR"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace

Result<CommandSpec> CommandSpec::Parse(const Value& trainable) {
  CommandSpec spec;
  for (const MapEntry& entry : trainable.AsMap()) {
    const bool is_known =
        std::find(kCommandKeys.begin(), kCommandKeys.end(), entry.key) != kCommandKeys.end();
    if (!is_known) {
      return InvalidAt(entry.key_place, "trainable: unknown key '" + entry.key + "'" +
                                            DidYouMean(entry.key, kCommandKeys));
    }
  }
  if (const Value* const shell = trainable.Find("shell")) {
    if (!shell->is_bool()) return Expected("shell", *shell, "true or false");
    spec.uses_shell_ = shell->AsBool();
  }
  TUNE_RETURN_IF_ERROR(spec.ReadCommand(*trainable.Find("command")));
  if (const Value* const env = trainable.Find("env")) {
    TUNE_RETURN_IF_ERROR(spec.ReadEnvironment(*env));
  }
  if (const Value* const folder = trainable.Find("working_dir")) {
    if (!folder->is_string()) return Expected("working_dir", *folder, "a folder");
    spec.working_dir_ = folder->AsString();
  }
  if (const Value* const serve = trainable.Find("serve")) {
    if (!serve->is_bool()) return Expected("serve", *serve, "true or false");
    spec.serves_ = serve->AsBool();
    if (spec.serves_ && trainable.Find("metrics") != nullptr) {
      return InvalidAt(serve->place,
                       "trainable: serve: a program that takes one trial after another reports by "
                       "itself; take out metrics, or serve");
    }
  }
  if (const Value* const setup = trainable.Find("setup")) {
    TUNE_RETURN_IF_ERROR(spec.ReadSetup(*setup));
  }
  TUNE_ASSIGN_OR_RETURN(spec.inputs_, ReadCommandInputs(trainable));
  if (const Value* const metrics = trainable.Find("metrics")) {
    TUNE_RETURN_IF_ERROR(spec.ReadMetrics(*metrics));
  }
  if (const Value* const name = trainable.Find("report_on")) {
    TUNE_RETURN_IF_ERROR(spec.ReadReportOn(*name));
  }
  if (const Value* const iteration = trainable.Find("iteration")) {
    TUNE_RETURN_IF_ERROR(spec.ReadIteration(*iteration));
  }
  return spec;
}

Status CommandSpec::ReadCommand(const Value& command) {
  if (command.is_string()) {
    if (!uses_shell_) {
      return InvalidAt(command.place,
                       "trainable: command: read a text, expected a list of the program and its "
                       "arguments, [python3, train.py]; or add shell: true");
    }
    arguments_ = {{{CommandText::Parse(command.AsString()), command.place}}};
    is_optional_ = {false};
    return OkStatus();
  }
  if (uses_shell_) {
    return Expected("command", command, "one text, as shell: true asks for");
  }
  if (command.is_list() && command.AsList().empty()) {
    return InvalidAt(command.place, "trainable: command: is empty, expected a program");
  }
  if (!command.is_list()) {
    return Expected("command", command, "a list of the program and its arguments");
  }
  for (const Value& item : command.AsList()) {
    const bool is_group = item.is_list();
    Group& group = arguments_.emplace_back();
    is_optional_.push_back(is_group);
    for (const Value& part : is_group ? item.AsList() : Value::List{item}) {
      TUNE_ASSIGN_OR_RETURN(const std::string text, TextOf("command", part));
      group.push_back({CommandText::Parse(text), part.place});
    }
  }
  if (is_optional_.front()) {
    return Expected("command", command.AsList().front(), "the program's name first");
  }
  return OkStatus();
}

Status CommandSpec::ReadEnvironment(const Value& env) {
  if (!env.is_map()) return Expected("env", env, "a map of variables");
  for (const MapEntry& entry : env.AsMap()) {
    if (!IsVariableName(entry.key)) {
      return InvalidAt(entry.key_place, "trainable: env: read '" + entry.key +
                                            "', expected a name of letters, digits and _");
    }
    if (IsOfTune(entry.key)) {
      return InvalidAt(entry.key_place, "trainable: env: read '" + entry.key +
                                            "', which tune sets itself for each trial: give it "
                                            "another name");
    }
    const std::string label = "env: " + entry.key;
    const Value* value = &entry.value;
    if (value->is_map()) {
      const bool is_one = value->AsMap().size() == 1;
      const Value* const from = value->Find("from_environment");
      if (is_one && from != nullptr && *from == Value(true)) continue;
      value = is_one ? value->Find("value") : nullptr;
      if (value == nullptr) {
        return Expected(label, entry.value, "a text, {from_environment: true} or {value: TEXT}");
      }
    }
    TUNE_ASSIGN_OR_RETURN(const std::string text, TextOf(label, *value));
    env_.emplace_back(entry.key, Text{CommandText::Parse(text), entry.value.place});
  }
  return OkStatus();
}

Status CommandSpec::ReadSetup(const Value& setup) {
  const bool is_one = setup.is_string();
  if (!is_one && !setup.is_list()) return Expected("setup", setup, "a list of shell commands");
  for (const Value& line : is_one ? Value::List{setup} : setup.AsList()) {
    if (!line.is_string()) return Expected("setup", line, "a shell command");
    setup_.push_back(line.AsString());
  }
  return OkStatus();
}

Status CommandSpec::ReadMetrics(const Value& metrics) {
  constexpr char kForm[] = "metrics by name, {val_accuracy: {regex: \"acc: {number}\"}}";
  if (!metrics.is_map() || metrics.AsMap().empty()) return Expected("metrics", metrics, kForm);
  for (const MapEntry& entry : metrics.AsMap()) {
    if (entry.key.empty() || entry.key.size() > limits::kNameBytesMax) {
      return InvalidAt(entry.key_place, "trainable: metrics: a name must have 1 to " +
                                            std::to_string(limits::kNameBytesMax) + " bytes");
    }
    TUNE_RETURN_IF_ERROR(ReadMetric(entry.key, entry.value));
    metric_names_.push_back(entry.key);
  }
  return OkStatus();
}

namespace {

// Of {regex: ..., from: ...}, whose other keys are checked by the caller.
Result<OutputPattern> ReadPattern(const std::string& label, const std::string& metric,
                                  const Value& source, StreamChoice choice) {
  constexpr std::array<std::pair<std::string_view, StreamChoice>, 3> kStreams = {{
      {"stdout", StreamChoice::kStdout},
      {"stderr", StreamChoice::kStderr},
      {"both", StreamChoice::kBoth},
  }};
  if (const Value* const from = source.Find("from")) {
    const auto* const named =
        std::find_if(kStreams.begin(), kStreams.end(),
                     [&](const auto& stream) { return *from == Value(std::string(stream.first)); });
    if (named == kStreams.end()) {
      return Expected(label + ": from", *from, "stdout, stderr or both");
    }
    choice = named->second;
  }
  const Value& regex = *source.Find("regex");
  if (!regex.is_string()) return Expected(label + ": regex", regex, "a text");
  Result<OutputPattern> pattern = OutputPattern::Make(metric, regex.AsString(), choice);
  if (pattern.ok()) return pattern;
  return InvalidAt(regex.place, "trainable: " + label + ": " + pattern.status().message());
}

template <size_t kCount>
Status CheckSourceKeys(const std::string& label, const Value& source,
                       const std::array<std::string_view, kCount>& known) {
  for (const MapEntry& entry : source.AsMap()) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    return InvalidAt(entry.key_place, "trainable: " + label + ": unknown key '" + entry.key + "'" +
                                          DidYouMean(entry.key, known));
  }
  return OkStatus();
}

}  // namespace

Status CommandSpec::ReadMetric(const std::string& name, const Value& source) {
  constexpr std::array<std::string_view, 4> kSourceKeys = {"regex", "from", "json", "key"};
  const std::string label = "metrics: " + name;
  if (!source.is_map()) return Expected(label, source, kSourceForm);
  TUNE_RETURN_IF_ERROR(CheckSourceKeys(label, source, kSourceKeys));
  for (const MapEntry& entry : source.AsMap()) {
    if (!entry.value.is_string()) return Expected(label + ": " + entry.key, entry.value, "a text");
  }
  const Value* const json = source.Find("json");
  const Value* const key = source.Find("key");
  const bool has_regex = source.Find("regex") != nullptr;
  const bool has_stray =
      (key != nullptr && json == nullptr) || (source.Find("from") != nullptr && !has_regex);
  if (has_regex == (json != nullptr) || has_stray) return Expected(label, source, kSourceForm);
  if (has_regex) {
    TUNE_ASSIGN_OR_RETURN(OutputPattern pattern,
                          ReadPattern(label, name, source, StreamChoice::kStdout));
    output_rules_.patterns.push_back(std::move(pattern));
    return OkStatus();
  }
  file_metrics_.push_back(
      {name, CommandText::Parse(json->AsString()), key == nullptr ? "" : key->AsString()});
  file_places_.push_back(json->place);
  return OkStatus();
}

Status CommandSpec::ReadReportOn(const Value& name) {
  std::vector<std::string_view> known;
  for (const OutputPattern& pattern : output_rules_.patterns) known.push_back(pattern.metric());
  if (!name.is_string()) return Expected("report_on", name, "the name of a metric with a regex");
  if (std::find(known.begin(), known.end(), name.AsString()) == known.end()) {
    return InvalidAt(name.place, "trainable: report_on: '" + name.AsString() +
                                     "' is no metric with a regex under metrics:" +
                                     DidYouMean(name.AsString(), known));
  }
  output_rules_.report_on = name.AsString();
  return OkStatus();
}

Status CommandSpec::ReadIteration(const Value& source) {
  constexpr std::array<std::string_view, 3> kIterationKeys = {"regex", "from", "first"};
  if (!source.is_map()) return Expected("iteration", source, kIterationForm);
  TUNE_RETURN_IF_ERROR(CheckSourceKeys("iteration", source, kIterationKeys));
  if (source.Find("regex") == nullptr) return Expected("iteration", source, kIterationForm);
  if (output_rules_.patterns.empty()) {
    return InvalidAt(source.place,
                     "trainable: iteration: is read from the output together with metrics, and no "
                     "metric has a regex under metrics:");
  }
  TUNE_ASSIGN_OR_RETURN(OutputPattern pattern,
                        ReadPattern("iteration", "iteration", source, StreamChoice::kBoth));
  int64_t first = 1;
  if (const Value* const given = source.Find("first")) {
    if (*given != Value(int64_t{0}) && *given != Value(int64_t{1})) {
      return Expected("iteration: first", *given, "0 or 1, the number of the first iteration");
    }
    first = given->AsInt();
  }
  output_rules_.iteration = IterationPattern{std::move(pattern), first};
  return OkStatus();
}

}  // namespace tune
