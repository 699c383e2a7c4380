#include "trial_runner/find_script.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <functional>
#include <regex>
#include <string_view>

#include "trial_runner/script_text.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kFilesMax = 500;

constexpr std::array<std::string_view, 9> kSuffixes = {".py", ".sh", ".R",  ".r",  ".jl",
                                                       ".pl", ".rb", ".js", ".lua"};

bool HasScriptSuffix(const std::string& name) {
  const std::string suffix = fs::path(name).extension().string();
  return std::find(kSuffixes.begin(), kSuffixes.end(), suffix) != kSuffixes.end();
}

// "python3.11", "bash": it runs the first argument that is no option.
bool IsInterpreter(const std::string& program) {
  constexpr std::array<std::string_view, 10> kNames = {"sh",   "bash", "zsh",  "Rscript", "julia",
                                                       "perl", "ruby", "node", "lua",     "dash"};
  const std::string name = fs::path(program).filename().string();
  return name.starts_with("python") ||
         std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

// Whether a text of our own or a library's says that it reads what tune gives.
bool ReadsConfiguration(std::string_view text) {
  constexpr std::array<std::string_view, 5> kSigns = {"TUNE_CONFIG", "TUNE_PARAM", "import tune",
                                                      "from tune", "tune.config"};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

// Whether one of these may be in the folder and below; also where not all could be looked at.
bool MayHave(const fs::path& folder, const std::function<bool(const fs::path&)>& is_looked_at,
             const std::function<bool(std::string_view)>& has) {
  std::error_code error;
  int count = 0;
  fs::recursive_directory_iterator it(folder, fs::directory_options::skip_permission_denied, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (++count > kFilesMax) return true;
    if (!is_looked_at(it->path()) || !it->is_regular_file(ignored)) continue;
    const std::optional<std::string> text = ReadScript(it->path());
    if (!text || has(*text)) return true;
  }
  return static_cast<bool>(error);
}

// The script, and what it may take in: the files of its kind in its folder and below.
bool MayReadConfiguration(const fs::path& script) {
  const std::optional<std::string> own = ReadScript(script);
  if (!own || ReadsConfiguration(*own)) return true;
  const auto is_of_its_kind = [&](const fs::path& path) {
    return path.extension() == script.extension();
  };
  return MayHave(script.parent_path(), is_of_its_kind, ReadsConfiguration);
}

// The first that a shell's script does with the variable is to set it, from something else: what
// the environment gave is gone. Not where the line may be passed over (if, &&, a function).
bool SetsBeforeItReads(const std::string& text, const std::string& variable) {
  const std::regex name("(^|[^A-Za-z0-9_])" + variable + "(?![A-Za-z0-9_])");
  for (std::sregex_iterator it(text.begin(), text.end(), name), end; it != end; ++it) {
    const size_t at = static_cast<size_t>(it->position() + it->length(1));
    if (IsInComment(text, at)) continue;
    const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0.
    const std::string_view before = std::string_view(text).substr(line, at - line);
    const size_t behind = at + variable.size();
    const std::string rest = text.substr(behind, text.find('\n', behind) - behind);
    const bool is_set =
        (before.empty() || before == "export " || before == "readonly ") && rest.starts_with('=');
    return is_set && !std::regex_search(rest, name);
  }
  return false;
}

}  // namespace

std::optional<std::string> ScriptOf(const CommandSpec& spec) {
  const std::vector<std::optional<std::string>> arguments = spec.LiteralArguments();
  if (arguments.empty() || !arguments.front()) return std::nullopt;
  const std::string& program = *arguments.front();
  for (size_t i = 1; i < arguments.size(); ++i) {
    if (!arguments[i]) {
      if (IsInterpreter(program)) return std::nullopt;
      continue;
    }
    const std::string& argument = *arguments[i];
    if (argument == "-m" || argument == "-c" || argument == "-e") return std::nullopt;
    const bool is_option = argument.starts_with('-');
    const bool follows_option = arguments[i - 1] && arguments[i - 1]->starts_with("--") &&
                                arguments[i - 1]->find('=') == std::string::npos;
    if (IsInterpreter(program) && !is_option) {
      const bool takes_value = arguments[i - 1] == "-W" || arguments[i - 1] == "-X";
      if (!takes_value) return argument;
    } else if (!is_option && !follows_option && HasScriptSuffix(argument)) {
      return argument;  // Of a launcher: torchrun, accelerate launch, uv run.
    }
  }
  const bool is_path = program.find('/') != std::string::npos;
  return is_path && !IsInterpreter(program) ? std::optional(program) : std::nullopt;
}

std::optional<ScriptText> ReadScriptOf(const CommandSpec& spec, const std::string& folder) {
  const std::optional<std::string> name = ScriptOf(spec);
  std::optional<std::string> text = name ? ReadScript(fs::path(folder) / *name) : std::nullopt;
  return text ? std::optional(ScriptText{*name, *std::move(text)}) : std::nullopt;
}

Status CheckScript(const std::string& script, const std::string& folder) {
  const fs::path path = fs::path(folder) / script;
  std::error_code error;
  if (!fs::exists(path, error)) {
    return NotFound("there is no file " + path.lexically_normal().string() + "; the command's '" +
                    script + "' is looked for in working_dir");
  }
  if (fs::is_directory(path, error)) return OkStatus();  // Python runs a folder with __main__.py.
  if (access(path.c_str(), R_OK) != 0) {
    return InvalidArgument("the file " + path.lexically_normal().string() + " cannot be read");
  }
  return OkStatus();
}

std::vector<std::string> UncarriedParameters(const CommandSpec& spec,
                                             const std::vector<std::string>& parameters,
                                             const std::string& folder) {
  std::vector<std::string> left = parameters;
  const std::vector<std::string> named = spec.ParameterNames();
  std::erase_if(left, [&](const std::string& name) {
    return std::find(named.begin(), named.end(), name) != named.end();
  });
  const std::optional<std::string> script = ScriptOf(spec);
  if (left.empty() || !script || !spec.setup().empty()) return {};
  if (MayReadConfiguration(fs::path(folder) / *script)) return {};
  return left;
}

std::vector<std::string> OptionsPassedOver(const CommandSpec& spec, const std::string& folder) {
  std::vector<std::string> options = spec.OptionsOfParameters();
  const std::optional<ScriptText> script = ReadScriptOf(spec, folder);
  const auto has = [&](const std::string& words) {
    return script->text.find(words) != std::string::npos;
  };
  if (!script || !has("parse_known_args(") || !has("add_argument(")) return {};
  std::erase_if(options,
                [&](const std::string& option) { return has('"' + option) || has('\'' + option); });
  return options;
}

std::vector<std::string> VariablesPassedOver(const CommandSpec& spec, const std::string& folder) {
  std::vector<std::string> variables = spec.VariablesOfParameters();
  const std::optional<ScriptText> script = ReadScriptOf(spec, folder);
  if (!script) return {};
  std::erase_if(variables, [&](const std::string& variable) {
    const auto names = [&](std::string_view text) {
      return text.find(variable) != std::string_view::npos;
    };
    const auto is_script = [](const fs::path& path) { return HasScriptSuffix(path.string()); };
    const bool is_shell = IsShellScript(script->name, script->text);
    if (is_shell && SetsBeforeItReads(script->text, variable)) return false;
    return names(script->text) || MayHave(folder, is_script, names);
  });
  return variables;
}

}  // namespace tune
