#include "trial_runner/script_booleans.h"

#include <algorithm>
#include <cctype>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "trial_runner/find_script.h"
#include "trial_runner/script_text.h"

namespace tune {
namespace {

// The arguments of the call of argparse's add_argument that names this option; empty: there is
// none.
std::string ArgumentsOfOption(std::string_view text, const std::string& option) {
  constexpr std::string_view kCall = "add_argument(";
  for (size_t at = text.find(kCall); at != std::string_view::npos; at = text.find(kCall, at + 1)) {
    if (IsInComment(text, at)) continue;
    std::string arguments(ArgumentsAt(text, at + kCall.size()));
    const bool is_it = arguments.find('"' + option + '"') != std::string::npos ||
                       arguments.find('\'' + option + '\'') != std::string::npos;
    if (is_it) return arguments;
  }
  return "";
}

bool IsReadAsBool(std::string_view text, const std::string& option) {
  static const std::regex bool_type("\\btype\\s*=\\s*bool\\b(?!\\s*[.(])");
  return std::regex_search(ArgumentsOfOption(text, option), bool_type);
}

// How the script's expression `read` (a regular expression) takes a text. Empty: it tells `true`
// and `false` apart, or that is not sure.
std::string HowMisread(const std::string& text, const std::string& read) {
  const auto first = [&](const std::string& pattern) {
    const std::regex form(pattern);
    for (std::sregex_iterator it(text.begin(), text.end(), form), end; it != end; ++it) {
      if (!IsInComment(text, static_cast<size_t>(it->position()))) return std::optional(*it);
    }
    return std::optional<std::smatch>();
  };
  // What it is compared with, one text or several.
  const auto compared = first(read + "((?:\\.(?:lower|upper|strip)\\(\\))*)\\s*(?:==|!=|\\bin\\b)" +
                              "\\s*(\"[^\"\n]*\"|'[^'\n]*'|[(\\[{][^)\\]}\n]*[)\\]}])");
  const std::string with = compared ? (*compared)[2].str() : "";
  const bool is_upper = compared && (*compared)[1].str().find("upper") != std::string::npos;
  for (const char* const value : {"true", "false", "TRUE", "FALSE"}) {
    const bool is_it = (value[0] == 'T' || value[0] == 'F') == is_upper;
    for (const char quote : {'"', '\''}) {
      if (is_it && with.find(quote + std::string(value) + quote) != std::string::npos) return "";
    }
  }
  if (first("\\bbool\\(\\s*" + read + "\\s*\\)") ||
      first("\\bif\\s+(?:not\\s+)?" + read + "\\s*(?::|\\band\\b|\\belse\\b)")) {
    return "as bool(...) does, for which each text is true, also false";
  }
  return compared ? "by a comparison with " + with + ", which neither is" : "";
}

std::string HowVariableIsMisread(const std::string& text, const std::string& variable) {
  return HowMisread(text, "os\\s*\\.\\s*(?:environ(?:\\.get\\(|\\[)|getenv\\()\\s*[\"']" +
                              variable + "[\"']\\s*(?:,[^)\\]\n]*)?[)\\]]");
}

// Of an option that argparse hands on as it was written.
std::string HowOptionIsMisread(const std::string& text, const std::string& option) {
  static const std::regex converted("\\b(type|action|nargs|dest)\\s*=");
  const std::string arguments = ArgumentsOfOption(text, option);
  if (arguments.empty() || std::regex_search(arguments, converted)) return "";
  std::string name = option.substr(option.find_first_not_of('-'));
  std::replace(name.begin(), name.end(), '-', '_');
  const bool is_name = std::all_of(
      name.begin(), name.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '_'; });
  const std::string read = "\\b[A-Za-z_]\\w*\\." + name + "\\b";
  const bool is_set_later = std::regex_search(text, std::regex(read + "\\s*=[^=]"));
  return is_name && !is_set_later ? HowMisread(text, read) : "";
}

}  // namespace

std::vector<std::string> OptionsReadAsBool(const CommandSpec& spec, const std::string& folder) {
  std::vector<std::string> options = spec.OptionsOfParameters();
  const std::optional<ScriptText> script = ReadScriptOf(spec, folder);
  if (!script) return {};
  std::erase_if(options,
                [&](const std::string& option) { return !IsReadAsBool(script->text, option); });
  return options;
}

std::vector<MisreadBoolean> MisreadBooleans(const CommandSpec& spec, const std::string& folder) {
  const std::optional<ScriptText> script = ReadScriptOf(spec, folder);
  if (!script) return {};
  std::vector<MisreadBoolean> misread;
  for (const auto& [variable, parameter] : spec.WholeVariables()) {
    std::string how = HowVariableIsMisread(script->text, variable);
    if (!how.empty()) misread.push_back({variable + " of env", parameter, std::move(how)});
  }
  for (const auto& [option, parameter] : spec.WholeOptions()) {
    std::string how = HowOptionIsMisread(script->text, option);
    if (!how.empty()) misread.push_back({"the option " + option, parameter, std::move(how)});
  }
  return misread;
}

}  // namespace tune
