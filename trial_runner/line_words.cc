#include "trial_runner/line_words.h"

#include <cctype>

#include "core/utf8.h"

namespace tune {
namespace {

// Punctuation, arrows, boxes, blocks, braille and emoji are no letters.
bool IsForeignLetter(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() < 2) return false;
  if (character.size() == 2) return byte(0) >= 0xc3 && character != "\xc3\x97";
  if (character.size() == 4) return byte(0) == 0xf0 && byte(1) < 0x9f;
  const bool is_symbol = byte(0) == 0xe2 && byte(1) < 0xb0;  // U+2000 to U+2BFF.
  const bool is_wide_mark = (byte(0) == 0xe3 && byte(1) == 0x80) || byte(0) == 0xef;
  return !is_symbol && !is_wide_mark;
}

}  // namespace

bool IsAsciiWord(char c) {
  // A '?' is a number that is not known yet: "?it/s".
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '?';
}

size_t WordBytes(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    if (IsAsciiWord(text[end])) {
      ++end;
      continue;
    }
    const size_t bytes = Utf8CharacterBytes(text.substr(end));
    if (bytes < 2 || !IsForeignLetter(text.substr(end, bytes))) break;
    end += bytes;
  }
  return end;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsNumberWord(const std::string& word) {
  static constexpr std::string_view kValues[] = {"nan",  "inf",  "infinity", "none",
                                                 "null", "true", "false"};
  return word.find_first_of("0123456789?") != std::string::npos || IsOneOf(kValues, word);
}

bool IsUnit(const std::string& word) {
  static constexpr std::string_view kUnits[] = {
      "s",      "sec",     "secs", "second", "seconds", "ms",    "us",  "ns",  "min",  "mins",
      "minute", "minutes", "h",    "hr",     "hour",    "hours", "d",   "day", "days", "it",
      "b",      "kb",      "mb",   "gb",     "kib",     "mib",   "gib", "am",  "pm",   "mon",
      "tue",    "wed",     "thu",  "fri",    "sat",     "sun",   "jan", "feb", "mar",  "apr",
      "may",    "jun",     "jul",  "aug",    "sep",     "oct",   "nov", "dec"};
  return IsOneOf(kUnits, word);
}

}  // namespace tune
