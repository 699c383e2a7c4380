// A command with a configuration's values in it, and which of its parameters it takes.
#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>
#include <string_view>

#include "core/input_error.h"
#include "core/json.h"
#include "core/nearest_name.h"
#include "trial_runner/command_keys.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/parameter_variables.h"

namespace tune {
namespace {

constexpr std::array<std::string_view, 7> kOwnNames = {
    "tune/dir",        "tune/trial",      "tune/attempt", "tune/seed",
    "tune/sweep_seed", "tune/experiment", "tune/inputs"};

std::string PathOfKeys(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

std::string Underscored(std::string name) {
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

}  // namespace

std::optional<std::string> CommandSpec::program() const {
  if (uses_shell_) return std::nullopt;
  const Result<std::string> name = arguments_.front().front().text.Fill(Value::MakeMap());
  return name.ok() ? std::optional(*name) : std::nullopt;
}

std::vector<std::optional<std::string>> CommandSpec::LiteralArguments() const {
  std::vector<std::optional<std::string>> literals;
  if (uses_shell_) return literals;
  for (const Group& group : arguments_) {
    for (const Text& text : group) {
      const Result<std::string> filled = text.text.Fill(Value::MakeMap());
      literals.push_back(filled.ok() ? std::optional(*filled) : std::nullopt);
    }
  }
  return literals;
}

std::vector<CommandSpec::OptionText> CommandSpec::OptionTexts() const {
  std::vector<OptionText> options;
  if (uses_shell_) return options;
  std::string before;
  for (const Group& group : arguments_) {
    for (const Text& text : group) {
      const std::string leading = text.text.LeadingText();
      if (text.text.ParameterNames().empty()) {
        before = leading;
        continue;
      }
      const bool is_joined = leading.ends_with('=');
      const std::string option = is_joined ? leading.substr(0, leading.size() - 1) : before;
      if (option.starts_with("--") && (is_joined || leading.empty())) {
        options.push_back({option, &text.text, is_joined});
      }
      before.clear();
    }
  }
  return options;
}

std::vector<std::string> CommandSpec::OptionsOfParameters() const {
  std::vector<std::string> options;
  for (const OptionText& one : OptionTexts()) options.push_back(one.option);
  return options;
}

std::vector<std::pair<std::string, std::string>> CommandSpec::WholeOptions() const {
  std::vector<std::pair<std::string, std::string>> options;
  for (const OptionText& one : OptionTexts()) {
    const std::string joint = one.is_joined ? one.option + "=" : "";
    for (const std::string& name : one.text->ParameterNames()) {
      if (one.text->Written() == joint + "{" + name + "}") options.emplace_back(one.option, name);
    }
  }
  return options;
}

std::string CommandSpec::ShellText() const {
  if (uses_shell_) return arguments_.front().front().text.Written();
  std::vector<std::string> written;
  for (const Group& group : arguments_) {
    for (const Text& text : group) written.push_back(text.text.Written());
  }
  const bool is_shell = written.size() >= 3 && written.front().ends_with("sh");
  for (size_t i = 1; is_shell && i + 1 < written.size() && written[i].starts_with('-'); ++i) {
    if (written[i].ends_with('c')) return written[i + 1];  // -c, -ec.
  }
  return "";
}

std::vector<std::pair<std::string, std::string>> CommandSpec::WholeVariables() const {
  std::vector<std::pair<std::string, std::string>> variables;
  for (const auto& [variable, text] : env_) {
    const std::vector<std::string> names = text.text.ParameterNames();
    if (names.size() == 1 && !text.text.HasLiteral()) variables.emplace_back(variable, names[0]);
  }
  return variables;
}

std::vector<std::string> CommandSpec::VariablesOfParameters() const {
  const auto plain = [](std::string name) {
    for (char& c : name) {
      c = c == '/' || c == '-' ? '_'
                               : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    }
    return name;
  };
  std::vector<std::string> variables;
  for (const auto& [variable, text] : env_) {
    const std::vector<std::string> names = text.text.ParameterNames();
    if (names.size() == 1 && plain(names.front()) == plain(variable)) variables.push_back(variable);
  }
  return variables;
}

std::vector<std::string> CommandSpec::ParameterNames() const {
  std::vector<std::string> names;
  const auto add = [&](const Text& text) {
    for (std::string& name : text.text.ParameterNames()) names.push_back(std::move(name));
  };
  for (const Group& group : arguments_) std::for_each(group.begin(), group.end(), add);
  for (const auto& [variable, text] : env_) add(text);
  return names;
}

std::optional<std::string> CommandSpec::search_path() const {
  for (const auto& [name, text] : env_) {
    const Result<std::string> value = text.text.Fill(Value::MakeMap());
    if (name == "PATH" && value.ok()) return *value;
  }
  return std::nullopt;
}

namespace {

// "learning_rate" of " Learning rate ".
std::string PlainName(std::string_view text) {
  std::string plain;
  for (const char c : text) {
    const bool is_joint = std::string_view(" \t_-./").find(c) != std::string_view::npos;
    if (!is_joint) plain += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return plain;
}

// ".3f" of "{lr:.3f}" and "r" of "{lr!r}", as Python writes them; "0.1" is none.
bool IsFormat(std::string_view text) {
  constexpr std::string_view kLetters = "bcdeEfFgGnosxXr%";
  return !text.empty() && kLetters.find(text.back()) != std::string_view::npos &&
         text.substr(0, text.size() - 1).find_first_not_of("<>=^+-#0123456789,_.") ==
             std::string_view::npos;
}

// The parameter that braces name though not as {name}; nothing where they hold something else, as
// awk's {print $1}.
std::optional<std::string_view> MeantBy(std::string_view braces,
                                        const std::vector<std::string_view>& known) {
  constexpr size_t kLettersForTypo = 5;
  const size_t colon = braces.find_first_of(":!");
  if (colon != braces.npos && IsFormat(braces.substr(colon + 1))) braces = braces.substr(0, colon);
  const std::string read = PlainName(braces);
  for (const std::string_view name : known) {
    const std::string plain = PlainName(name);
    const bool is_near = plain.size() >= kLettersForTypo && EditDistance(read, plain) <= 1;
    if (read == plain || is_near) return name;
  }
  return std::nullopt;
}

}  // namespace

Status CommandSpec::CheckParameters(const std::vector<std::string>& known) const {
  const std::vector<std::string_view> names(known.begin(), known.end());
  const auto check = [&](const CommandText& text, Place place, std::string_view label) -> Status {
    for (const std::string& name : text.ParameterNames()) {
      const std::string flat = PathOfKeys(name);
      if (flat != name && std::find(known.begin(), known.end(), flat) != known.end()) {
        return InvalidAt(place, "trainable: " + std::string(label) + ": {" + flat +
                                    "} is a nested name, and the space has a parameter '" + flat +
                                    "' with a point in its own name; rename that, to " +
                                    Underscored(flat));
      }
      if (std::find(known.begin(), known.end(), name) != known.end()) continue;
      if (std::find(kOwnNames.begin(), kOwnNames.end(), name) != kOwnNames.end()) continue;
      return InvalidAt(place, "trainable: " + std::string(label) + ": {" + PathOfKeys(name) +
                                  "} is no parameter of the space, and braces that are meant as " +
                                  "such are doubled, {{" + PathOfKeys(name) + "}}" +
                                  DidYouMean(name, names));
    }
    for (const std::string& braces : text.literal_braces()) {
      const auto meant = MeantBy(braces, names);
      if (!meant) continue;
      // Where it reads as a parameter, the mistake is elsewhere in the braces.
      const bool can_stand =
          !CommandText::Parse("{" + PathOfKeys(std::string(*meant)) + "}").ParameterNames().empty();
      return InvalidAt(place, "trainable: " + std::string(label) + ": {" + braces +
                                  "} would be given to the program as it stands; " +
                                  (can_stand ? "write {" + PathOfKeys(std::string(*meant)) + "}"
                                             : "rename the parameter '" + std::string(*meant) +
                                                   "': a name in braces has letters, digits, _ "
                                                   "and -, and begins with a letter") +
                                  ", or, if the braces are meant, double them, {{" + braces + "}}");
    }
    return OkStatus();
  };
  for (const Group& group : arguments_) {
    for (const Text& text : group) {
      TUNE_RETURN_IF_ERROR(check(text.text, text.place, "command"));
    }
  }
  for (const auto& [name, text] : env_) {
    TUNE_RETURN_IF_ERROR(check(text.text, text.place, "env: " + name));
  }
  for (size_t i = 0; i < file_metrics_.size(); ++i) {
    TUNE_RETURN_IF_ERROR(
        check(file_metrics_[i].path, file_places_[i], "metrics: " + file_metrics_[i].metric));
  }
  return OkStatus();
}

namespace {

Status TooLong(const std::string& what, size_t bytes) {
  return InvalidArgument(what + ": " + std::to_string(bytes) +
                         " bytes, and the system takes at most " +
                         std::to_string(kArgumentBytesMax) +
                         "; let the program take the value from TUNE_CONFIG or tune.config()");
}

Status CheckLengths(const FilledCommand& filled) {
  for (size_t i = 0; i < filled.arguments.size(); ++i) {
    const size_t bytes = filled.arguments[i].size();
    if (bytes > kArgumentBytesMax) return TooLong("command: argument " + std::to_string(i), bytes);
  }
  for (const auto& [name, value] : filled.environment) {
    const size_t bytes = name.size() + 1 + value.size();
    if (bytes > kArgumentBytesMax) return TooLong("env: " + name, bytes);
  }
  return OkStatus();
}

}  // namespace

Result<FilledCommand> CommandSpec::Fill(const Value& config, const Value& own) const {
  Value values = config;
  values.Set("tune", own);
  FilledCommand filled;
  if (uses_shell_) {
    TUNE_ASSIGN_OR_RETURN(const std::string line, arguments_[0][0].text.FillQuoted(values));
    filled.arguments = {"/bin/sh", "-c", line};
  } else {
    for (size_t i = 0; i < arguments_.size(); ++i) {
      std::vector<std::string> texts;
      bool is_left_out = false;
      for (const Text& text : arguments_[i]) {
        Result<std::string> argument = text.text.Fill(values);
        if (!argument.ok() && !is_optional_[i]) {
          return InvalidArgument("command: " + argument.status().message() +
                                 "; put it into a list of its own, with its flag, to leave it out");
        }
        is_left_out = is_left_out || !argument.ok();
        if (argument.ok()) texts.push_back(*std::move(argument));
      }
      if (is_left_out) continue;
      for (std::string& text : texts) filled.arguments.push_back(std::move(text));
    }
  }
  // A variable whose parameter is inactive is not set.
  for (const auto& [name, text] : env_) {
    Result<std::string> value = text.text.Fill(values);
    if (value.ok()) filled.environment.emplace_back(name, *std::move(value));
  }
  TUNE_RETURN_IF_ERROR(CheckLengths(filled));
  for (const FileMetric& metric : file_metrics_) {
    TUNE_ASSIGN_OR_RETURN(filled.metric_files.emplace_back(), metric.path.Fill(values));
  }
  return filled;
}

Result<double> NumberUnder(const Value& document, const std::string& key) {
  const Value* value = &document;
  std::string_view rest = key;
  while (!rest.empty()) {
    const size_t dot = rest.find('.');
    const std::string_view step = rest.substr(0, dot);
    const Value* next = nullptr;
    if (value->is_map()) next = value->Find(step);
    if (value->is_list()) {
      size_t index = 0;
      const auto [end, error] = std::from_chars(step.data(), step.data() + step.size(), index);
      const bool is_index = error == std::errc() && end == step.data() + step.size();
      if (is_index && index < value->AsList().size()) next = &value->AsList()[index];
    }
    if (next == nullptr) return NotFound("there is no '" + key + "' in it");
    value = next;
    rest = dot == std::string_view::npos ? std::string_view() : rest.substr(dot + 1);
  }
  const std::optional<double> number = ReadNumber(*value);
  if (!number) {
    return InvalidArgument((key.empty() ? std::string() : "'" + key + "': ") + "read " +
                           Shown(*value) + ", expected a number");
  }
  return *number;
}

}  // namespace tune
