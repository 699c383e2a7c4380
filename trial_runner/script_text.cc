#include "trial_runner/script_text.h"

#include <algorithm>
#include <fstream>
#include <regex>

namespace tune {
namespace {

constexpr size_t kReadBytesMax = 1u << 20;  // Of a file; what is longer is no script.

}  // namespace

std::optional<std::string> ReadScript(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::string text(kReadBytesMax + 1, '\0');
  in.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<size_t>(in.gcount()));
  const bool is_text = text.find('\0') == std::string::npos;
  return is_text && text.size() <= kReadBytesMax ? std::optional(text) : std::nullopt;
}

bool IsShellScript(const std::string& script, std::string_view text) {
  static const std::regex first_line("^#![^\n]*\\b(ba|da|z|k)?sh\\b");
  const std::string_view line = text.substr(0, text.find('\n'));
  return script.ends_with(".sh") || std::regex_search(line.begin(), line.end(), first_line);
}

std::vector<std::string> RegexLinesOf(const std::string& text) {
  std::vector<std::string> lines;
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    if (end - begin <= kRegexLineMax) lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

bool IsInComment(std::string_view text, size_t at) {
  const size_t line = text.rfind('\n', at) + 1;  // npos + 1 is 0.
  return text.substr(line, at - line).find('#') != std::string_view::npos;
}

std::string_view ArgumentsAt(std::string_view text, size_t begin) {
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

}  // namespace tune
