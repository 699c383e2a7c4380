// The words of a line of output: what is a letter, a number, a unit.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>

namespace tune {

inline bool IsDigit(char c) { return c >= '0' && c <= '9'; }
// A letter, a digit or an underscore; a '?' is a number that is not known yet: "?it/s".
bool IsAsciiWord(char c);

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// The bytes of the word at the front; 0: none stands there.
size_t WordBytes(std::string_view text);

std::string Lower(std::string_view text);

// "12", "nan", "3f2a"; of a word in lower case.
bool IsNumberWord(const std::string& word);

// "ms", "gb", "tue"; of a word in lower case.
bool IsUnit(const std::string& word);

}  // namespace tune
