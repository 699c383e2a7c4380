#include "tuner/cli/head/job_spec.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <string_view>
#include <utility>

#include "core/utf8.h"
#include "trial_runner/command_spec.h"

namespace tune {
namespace {

// A space file's command fills what stands in braces, where doubled ones are one; a job's means
// them.
std::string Literal(std::string_view text) {
  std::string literal;
  for (const char c : text) literal += c == '{' ? "{{" : c == '}' ? "}}" : std::string(1, c);
  return literal;
}

// NAME=VALUE; NAME alone has the value that it has where the program runs.
Result<Value> Environment(const std::vector<std::string>& texts) {
  Value map = Value::MakeMap();
  for (const std::string& text : texts) {
    const size_t at = text.find('=');
    if (at == 0 || text.empty()) {
      return InvalidArgument("--env: read '" + text +
                             "', expected NAME=VALUE, or NAME for the value that it has where the "
                             "program runs");
    }
    Value from_there = Value::MakeMap();
    from_there.Set("from_environment", true);
    map.Set(text.substr(0, at),
            at == std::string::npos ? from_there : Value(Literal(text.substr(at + 1))));
  }
  return map;
}

// A number where it is one, so that a mistake is told as a space file's would be.
Value NumberOrText(const std::string& text) {
  const char* const end = text.data() + text.size();
  int64_t whole = 0;
  if (const auto read = std::from_chars(text.data(), end, whole);
      read.ec == std::errc() && read.ptr == end) {
    return whole;
  }
  double number = 0;
  if (const auto read = std::from_chars(text.data(), end, number);
      read.ec == std::errc() && read.ptr == end) {
    return number;
  }
  return text;
}

void SetGiven(const std::optional<std::string>& given, const char* key, Value& section) {
  if (given) section.Set(key, NumberOrText(*given));
}

// What is stored and told as JSON.
Status CheckTexts(const JobOptions& options) {
  std::vector<std::pair<const char*, const std::string*>> texts;
  for (const std::string& word : options.program)
    texts.emplace_back("the program's arguments", &word);
  for (const std::string& variable : options.env) texts.emplace_back("--env", &variable);
  if (options.setup) texts.emplace_back("--setup", &*options.setup);
  if (options.program.front().empty()) {
    return InvalidArgument("the program: read '', expected a program and its arguments");
  }
  for (const auto& [what, text] : texts) {
    if (IsUtf8(*text)) continue;
    return InvalidArgument(std::string(what) + ": read '" + ToUtf8(*text) +
                           "', expected UTF-8; other bytes are passed in a file");
  }
  return OkStatus();
}

bool IsScript(std::string_view word) {
  const size_t dot = word.rfind('.');
  return dot != std::string_view::npos && dot > 0 &&
         word.find_first_of(" =\n\t'\"") == std::string_view::npos;
}

}  // namespace

std::string JobName(const std::vector<std::string>& program) {
  const auto stem = [](const std::string& path) {
    const std::string name = std::filesystem::path(path).stem().string();
    return name.substr(std::min(name.find_first_not_of('-'), name.size()));
  };
  for (size_t i = 1; i < program.size(); ++i) {
    const std::string& word = program[i];
    if (word == "-m" && i + 1 < program.size()) return program[i + 1];  // A module of Python's.
    if (word == "-c" || word == "-e") break;                            // The program's text.
    if (word.starts_with('-')) continue;
    if (IsScript(word)) return stem(word);
    break;
  }
  return stem(program.front());
}

Result<Value> JobDocument(const JobOptions& options) {
  TUNE_RETURN_IF_ERROR(CheckTexts(options));
  Value command = Value::MakeList();
  for (const std::string& word : options.program) command.AsList().emplace_back(Literal(word));
  Value trainable = Value::MakeMap();
  trainable.Set("command", std::move(command));
  if (!options.env.empty()) {
    TUNE_ASSIGN_OR_RETURN(Value env, Environment(options.env));
    trainable.Set("env", std::move(env));
  }
  if (options.setup) trainable.Set("setup", *options.setup);

  Value document = Value::MakeMap();
  document.Set("name", options.name.value_or(JobName(options.program)));
  document.Set("trainable", std::move(trainable));
  document.Set("metric", kExitStatusMetric);
  document.Set("mode", "min");
  document.Set("samples", int64_t{1});
  Value resources = Value::MakeMap();
  SetGiven(options.cpus, "cpu", resources);
  SetGiven(options.gpus, "gpu", resources);
  SetGiven(options.gpu_memory, "gpu_memory", resources);
  SetGiven(options.memory, "memory", resources);
  SetGiven(options.workers, "workers", resources);
  if (options.spread) resources.Set("spread", true);
  if (!resources.AsMap().empty()) document.Set("resources", std::move(resources));
  if (options.retries) {
    Value failure = Value::MakeMap();
    failure.Set("max_failures", *options.retries);
    document.Set("failure", std::move(failure));
  }
  Value limits = Value::MakeMap();
  SetGiven(options.time, "trial_time", limits);
  SetGiven(options.unplaceable, "unplaceable", limits);
  if (!limits.AsMap().empty()) document.Set("limits", std::move(limits));
  if (options.priority) document.Set("priority", *options.priority);
  return document;
}

}  // namespace tune
