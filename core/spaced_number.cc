#include "core/spaced_number.h"

#include <charconv>

namespace tune {
namespace {

bool IsNumber(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  return !text.empty() && end == text.data() + text.size() && error != std::errc::invalid_argument;
}

}  // namespace

std::string_view TrimSpace(std::string_view text) {
  constexpr std::string_view kSpace = " \t\r\n";
  const size_t first = text.find_first_not_of(kSpace);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(kSpace) - first + 1);
}

std::string TrimAroundNumber(const std::string& argument) {
  const size_t before = argument.find_last_of("=/");
  const size_t begin = before == std::string::npos ? 0 : before + 1;
  const std::string_view number = TrimSpace(std::string_view(argument).substr(begin));
  return IsNumber(number) ? argument.substr(0, begin) + std::string(number) : argument;
}

bool IsNumberLikeOptions(std::string_view argument) {
  const bool has_dash = argument.size() > 1 && argument[0] == '-';
  return has_dash && (argument[1] < '0' || argument[1] > '9') && IsNumber(argument);
}

}  // namespace tune
