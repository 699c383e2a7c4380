#include "trial_runner/script_files.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <regex>
#include <string_view>
#include <utility>

#include "trial_runner/find_script.h"
#include "trial_runner/script_text.h"

namespace tune {
namespace {

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
      std::regex("(?:^|[^0-9&>-])>{1,2} *([A-Za-z_/][A-Za-z0-9_./-]*)")};
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
  std::string kept;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    const bool writes = line.find('>') != std::string::npos;  // echo x > file
    const bool acts = writes || line.size() > kRegexLineMax || !std::regex_search(line, kMessage) ||
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

bool IsDevice(std::string_view file) {
  return file.starts_with("/dev/") || file.starts_with("/proc/");
}

// A Python script that writes where it is run; nothing otherwise.
std::optional<std::string> PythonScript(const CommandSpec& spec, const std::string& folder) {
  std::optional<ScriptText> script = ReadScriptOf(spec, folder);
  if (!script || !script->name.ends_with(".py") || GoesElsewhere(script->text)) return std::nullopt;
  return std::move(script->text);
}

}  // namespace

std::vector<std::string> FilesOfAllTrials(const CommandSpec& spec, const std::string& folder) {
  const std::optional<ScriptText> script = ReadScriptOf(spec, folder);
  if (!script || GoesElsewhere(script->text)) return {};
  const std::string& text = script->text;
  const bool is_shell = IsShellScript(script->name, text);
  if (!is_shell && !script->name.ends_with(".py")) return {};
  std::map<std::string, size_t> write_counts;  // By how the script names it.
  for (const std::string& line : RegexLinesOf(text)) {
    for (const std::regex& write : is_shell ? ShellWrites() : PythonWrites()) {
      std::smatch match;
      if (!std::regex_search(line, match, write)) continue;
      if (IsInComment(line, static_cast<size_t>(match.position(1)))) continue;
      ++write_counts[match[1].str()];
    }
  }
  const std::string acting = WithoutMessages(text);
  std::vector<std::string> files;
  for (const auto& [named, write_count] : write_counts) {
    const bool is_text = named.front() == '"' || named.front() == '\'';
    const std::string file = is_shell  ? named
                             : is_text ? named.substr(1, named.size() - 2)
                                       : TextOfVariable(text, named);
    const bool is_file = !file.empty() && !IsDevice(file);
    // A variable is named where it is set, too.
    const size_t other_count = write_count + (is_shell || is_text ? 0 : 1);
    const std::string word = is_text && !is_shell ? file : named;
    if (is_file && CountWords(acting, word) > other_count) files.push_back(file);
  }
  return files;
}

std::vector<std::string> FilesOfTheCommand(const CommandSpec& spec) {
  static const std::regex kMakes(
      R"([^;&|\n]*\{[^{}\n]+\}[^;&|\n]*[^0-9&>]> *([A-Za-z_/][\w./-]*)(?=[\s;&|]|$))");
  static const std::regex kChanges(
      R"(\bsed\s+-i[^;&|\n]*\{[^{}\n]+\}[^;&|\n]*\s([\w./-]+)\s*(?=[;&|]|$))");
  const std::string text = spec.ShellText();
  std::vector<std::string> files;
  if (GoesElsewhere(text)) return files;
  for (const std::string& line : RegexLinesOf(text)) {
    for (const std::regex* const form : {&kMakes, &kChanges}) {
      for (std::sregex_iterator it(line.begin(), line.end(), *form), end; it != end; ++it) {
        const std::string file = (*it)[1].str();
        // A program takes a module in without its file's name.
        const bool is_read = CountWords(text, file) > 1 || file.ends_with(".py");
        if (is_read && !IsDevice(file)) files.push_back(file);
      }
    }
  }
  return files;
}

std::vector<std::string> NewestOnesTaken(const CommandSpec& spec, const std::string& folder) {
  static const std::regex kGlob(R"(\bi?glob\(\s*f?("[^"{}]+"|'[^'{}]+'))");
  static const std::regex kTakes(R"(\bmax\(|\bsorted\(.*\)\s*\[\s*-1\s*\])");
  std::vector<std::string> taken;
  const std::optional<std::string> text = PythonScript(spec, folder);
  for (const std::string& line : text ? RegexLinesOf(*text) : std::vector<std::string>()) {
    std::smatch match;
    const bool takes = std::regex_search(line, match, kGlob) && std::regex_search(line, kTakes);
    if (!takes || IsInComment(line, static_cast<size_t>(match.position()))) continue;
    const std::string pattern = match[1].str().substr(1, match[1].str().size() - 2);
    const std::string named = pattern.substr(0, pattern.find('*'));
    const size_t first = named.empty() ? text->npos : text->find(named);
    const bool names_it_again =
        first != text->npos && text->find(named, first + named.size()) != text->npos;
    if (names_it_again) taken.push_back(pattern);
  }
  return taken;
}

namespace {

// What names the folder or the file that a line makes, and that may be there already; empty: it
// makes none.
std::string NameMadeIn(const std::string& line) {
  static const std::regex kMethod(R"(\.mkdir\(.*exist_ok\s*=\s*True)");
  static const std::regex kFolder(R"(\bmakedirs\((.*)exist_ok\s*=\s*True)");
  static const std::regex kFile(R"(\bopen\((.*),\s*(?:mode\s*=\s*)?["'][wax]b?\+?["'])");
  std::smatch match;
  if (std::regex_search(line, match, kFolder)) return match[1].str();
  if (std::regex_search(line, match, kFile)) return match[1].str();
  return std::regex_search(line, match, kMethod) ? match.prefix().str() : "";
}

}  // namespace

bool NamesBySecond(const CommandSpec& spec, const std::string& folder) {
  static const std::regex kTime(R"(strftime\(\s*["'][^"'\n]*%S["']|int\(\s*time\.time\(\)\s*\))");
  static const std::regex kSet(R"(^\s*([A-Za-z_]\w*)\s*=[^=])");
  constexpr std::array<std::string_view, 4> kTellingApart = {"getpid", "uuid", "%f", "mkdtemp"};
  const std::optional<std::string> text = PythonScript(spec, folder);
  const bool tells_apart =
      text && std::any_of(kTellingApart.begin(), kTellingApart.end(),
                          [&](auto sign) { return text->find(sign) != text->npos; });
  if (!text || tells_apart) return false;
  std::vector<std::string> names;  // Variables that hold such a name.
  const auto has_it = [&](const std::string& words) {
    return std::regex_search(words, kTime) ||
           std::any_of(names.begin(), names.end(),
                       [&](const std::string& name) { return CountWords(words, name) > 0; });
  };
  for (const std::string& line : RegexLinesOf(*text)) {
    if (has_it(NameMadeIn(line))) return true;
    std::smatch match;
    if (std::regex_search(line, match, kSet) && has_it(line)) names.push_back(match[1].str());
  }
  return false;
}

}  // namespace tune
