#include "trial_runner/find_script.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <regex>
#include <string_view>

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytesMax = 1u << 20;  // Of a file; what is longer is no script.
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

std::optional<std::string> ReadScript(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(kReadBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  const bool is_text = text.find('\0') == std::string::npos;
  return is_text && text.size() <= kReadBytesMax ? std::optional(text) : std::nullopt;
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

bool IsInComment(std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0.
  return text.substr(line, at - line).find('#') != std::string_view::npos;
}

// What stands between the parentheses, the first of which is before `begin`.
std::string_view Arguments(std::string_view text, size_t begin) {
  int depth = 1;
  char quote = '\0';
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (quote != '\0') {
      if (c == '\\') ++i;
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == '(') {
      ++depth;
    } else if (c == ')' && --depth == 0) {
      return text.substr(begin, i - begin);
    }
  }
  return {};
}

// Whether a call of add_argument with this option says type=bool.
bool IsReadAsBool(std::string_view text, const std::string& option) {
  static const std::regex bool_type("\\btype\\s*=\\s*bool\\b(?!\\s*[.(])");
  constexpr std::string_view kCall = "add_argument(";
  for (size_t at = text.find(kCall); at != std::string_view::npos; at = text.find(kCall, at + 1)) {
    if (IsInComment(text, at)) continue;
    const std::string arguments(Arguments(text, at + kCall.size()));
    const bool is_it = arguments.find('"' + option + '"') != std::string::npos ||
                       arguments.find('\'' + option + '\'') != std::string::npos;
    if (is_it && std::regex_search(arguments, bool_type)) return true;
  }
  return false;
}

bool IsShell(const std::string& script, std::string_view text) {
  static const std::regex first_line("^#![^\n]*\\b(ba|da|z|k)?sh\\b");
  const std::string_view line = text.substr(0, text.find('\n'));
  return script.ends_with(".sh") || std::regex_search(line.begin(), line.end(), first_line);
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

// Python's and a shell's ways to write a file; the first group is its name, or what holds it.
#define TUNE_NAME "(\"[^\"{}$]+\"|'[^'{}$]+'|[A-Za-z_]\\w*)"
const std::vector<std::regex>& PythonWrites() {
  static const std::vector<std::regex> writes = {
      std::regex("\\bopen\\(\\s*" TUNE_NAME "\\s*,\\s*(?:mode\\s*=\\s*)?[\"'][wax]"),
      std::regex("\\b(?:torch\\.save|joblib\\.dump)\\(.*,\\s*" TUNE_NAME "\\s*[,)]"),
      std::regex("\\b(?:np|numpy)\\.save\\w*\\(\\s*" TUNE_NAME "\\s*[,)]"),
      std::regex("\\.(?:to_csv|to_json|to_pickle|save|save_model|save_weights)\\(\\s*" TUNE_NAME
                 "\\s*[,)]")};
  return writes;
}
#undef TUNE_NAME
const std::vector<std::regex>& ShellWrites() {
  static const std::vector<std::regex> writes = {
      std::regex("(?:^|[^0-9&>-])>{1,2} *([A-Za-z_][A-Za-z0-9_./-]*)")};
  return writes;
}

// Of a variable that is set once, from a text: that text.
std::string TextOfVariable(const std::string& text, const std::string& variable) {
  const std::regex is_set("(?:^|\n)\\s*" + variable +
                          "\\s*=\\s*(?:Path\\()?(\"[^\"{}$\n]+\"|'[^'{}$\n]+')");
  std::smatch match;
  if (!std::regex_search(text, match, is_set)) return "";
  const std::string value = match[1].str();
  return value.substr(1, value.size() - 2);
}

size_t CountWords(std::string_view text, const std::string& word) {
  const auto is_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  size_t count = 0;
  for (size_t at = text.find(word); at != text.npos; at = text.find(word, at + word.size())) {
    const size_t end = at + word.size();
    const bool is_whole =
        (at == 0 || !is_word(text[at - 1])) && (end == text.size() || !is_word(text[end]));
    count += is_whole && !IsInComment(text, at) ? 1 : 0;
  }
  return count;
}

// Without the lines that only say something: a file that is named there is not read. One that opens
// or loads a file says what it read.
std::string WithoutMessages(const std::string& text) {
  static const std::regex kMessage(R"(^\s*(print|echo|printf|log(ger|ging)?\.\w+)[\s(])");
  static const std::regex kRead(R"(\b(open|load\w*|read\w*)\()");
  constexpr size_t kLineMax = 500;  // std::regex recurses.
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool writes = line.find('>') != std::string::npos;  // echo x > file
    const bool acts = writes || line.size() > kLineMax || !std::regex_search(line, kMessage) ||
                      std::regex_search(line, kRead);
    if (acts) kept += line + "\n";
  }
  return kept;
}

bool GoesElsewhere(std::string_view text) {
  constexpr std::array<std::string_view, 6> kSigns = {"TUNE_DIR", "tune.folder", "tempfile",
                                                      "chdir(",   "mktemp",      "cd "};
  return std::any_of(kSigns.begin(), kSigns.end(), [&](std::string_view sign) {
    return text.find(sign) != std::string_view::npos;
  });
}

}  // namespace

std::vector<std::string> FilesOfAllTrials(const CommandSpec& spec, const std::string& folder) {
  const std::optional<std::string> script = ScriptOf(spec);
  if (!script) return {};
  const std::optional<std::string> text = ReadScript(fs::path(folder) / *script);
  if (!text || GoesElsewhere(*text)) return {};
  const bool is_shell = IsShell(*script, *text);
  if (!is_shell && !script->ends_with(".py")) return {};
  std::map<std::string, size_t> write_counts;  // By how the script names it.
  for (size_t begin = 0; begin < text->size();) {
    const size_t end = std::min(text->find('\n', begin), text->size());
    const std::string line = text->substr(begin, end - begin);
    begin = end + 1;
    constexpr size_t kLineMax = 500;  // std::regex recurses.
    if (line.size() > kLineMax) continue;
    for (const std::regex& write : is_shell ? ShellWrites() : PythonWrites()) {
      std::smatch match;
      if (!std::regex_search(line, match, write)) continue;
      if (IsInComment(line, static_cast<size_t>(match.position(1)))) continue;
      ++write_counts[match[1].str()];
    }
  }
  const std::string acting = WithoutMessages(*text);
  std::vector<std::string> files;
  for (const auto& [named, write_count] : write_counts) {
    const bool is_text = named.front() == '"' || named.front() == '\'';
    const std::string file = is_shell  ? named
                             : is_text ? named.substr(1, named.size() - 2)
                                       : TextOfVariable(*text, named);
    const bool is_file = !file.empty() && !file.starts_with("/dev/") && !file.starts_with("/proc/");
    // A variable is named where it is set, too.
    const size_t other_count = write_count + (is_shell || is_text ? 0 : 1);
    const std::string word = is_text && !is_shell ? file : named;
    if (is_file && CountWords(acting, word) > other_count) files.push_back(file);
  }
  return files;
}

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

std::vector<std::string> OptionsReadAsBool(const CommandSpec& spec, const std::string& folder) {
  std::vector<std::string> options = spec.OptionsOfParameters();
  const std::optional<std::string> script = ScriptOf(spec);
  if (options.empty() || !script) return {};
  const std::optional<std::string> text = ReadScript(fs::path(folder) / *script);
  if (!text) return {};
  std::erase_if(options, [&](const std::string& option) { return !IsReadAsBool(*text, option); });
  return options;
}

std::vector<std::string> OptionsPassedOver(const CommandSpec& spec, const std::string& folder) {
  std::vector<std::string> options = spec.OptionsOfParameters();
  const std::optional<std::string> script = ScriptOf(spec);
  if (options.empty() || !script) return {};
  const std::optional<std::string> text = ReadScript(fs::path(folder) / *script);
  if (!text || text->find("parse_known_args(") == std::string::npos ||
      text->find("add_argument(") == std::string::npos) {
    return {};
  }
  std::erase_if(options, [&](const std::string& option) {
    return text->find('"' + option) != std::string::npos ||
           text->find('\'' + option) != std::string::npos;
  });
  return options;
}

std::vector<std::string> VariablesPassedOver(const CommandSpec& spec, const std::string& folder) {
  std::vector<std::string> variables = spec.VariablesOfParameters();
  const std::optional<std::string> script = ScriptOf(spec);
  if (variables.empty() || !script) return {};
  const std::optional<std::string> own = ReadScript(fs::path(folder) / *script);
  if (!own) return {};
  std::erase_if(variables, [&](const std::string& variable) {
    const auto names = [&](std::string_view text) {
      return text.find(variable) != std::string_view::npos;
    };
    const auto is_script = [](const fs::path& path) { return HasScriptSuffix(path.string()); };
    if (IsShell(*script, *own) && SetsBeforeItReads(*own, variable)) return false;
    return names(*own) || MayHave(folder, is_script, names);
  });
  return variables;
}

namespace {

// Empty: it tells `true` and `false` apart, or that is not sure.
std::string HowMisread(const std::string& text, const std::string& variable) {
  const std::string read = "os\\s*\\.\\s*(?:environ(?:\\.get\\(|\\[)|getenv\\()\\s*[\"']" +
                           variable + "[\"']\\s*(?:,[^)\\]\n]*)?[)\\]]";
  const auto first = [&](const std::string& pattern) {
    const std::regex form(pattern);
    for (std::sregex_iterator it(text.begin(), text.end(), form), end; it != end; ++it) {
      if (!IsInComment(text, static_cast<size_t>(it->position()))) return std::optional(*it);
    }
    return std::optional<std::smatch>();
  };
  if (first("\\bbool\\(\\s*" + read + "\\s*\\)") || first("\\bif\\s+" + read + "\\s*:")) {
    return "as bool(...) does, for which each text is true, also false";
  }
  // What it is compared with, one text or several.
  const auto compared = first(read + "((?:\\.(?:lower|upper|strip)\\(\\))*)\\s*(?:==|!=|\\bin\\b)" +
                              "\\s*(\"[^\"\n]*\"|'[^'\n]*'|[(\\[{][^)\\]}\n]*[)\\]}])");
  if (!compared) return "";
  const std::string with = (*compared)[2].str();
  const bool is_upper = (*compared)[1].str().find("upper") != std::string::npos;
  for (const char* const value : {"true", "false", "TRUE", "FALSE"}) {
    const bool is_it = (value[0] == 'T' || value[0] == 'F') == is_upper;
    for (const char quote : {'"', '\''}) {
      if (is_it && with.find(quote + std::string(value) + quote) != std::string::npos) return "";
    }
  }
  return "by a comparison with " + with + ", which neither is";
}

}  // namespace

std::vector<MisreadBoolean> MisreadBooleans(const CommandSpec& spec, const std::string& folder) {
  const std::optional<std::string> script = ScriptOf(spec);
  if (!script) return {};
  const std::optional<std::string> text = ReadScript(fs::path(folder) / *script);
  if (!text) return {};
  std::vector<MisreadBoolean> misread;
  for (const auto& [variable, parameter] : spec.WholeVariables()) {
    std::string how = HowMisread(*text, variable);
    if (!how.empty()) misread.push_back({variable, parameter, std::move(how)});
  }
  return misread;
}

}  // namespace tune
