#include "trial_runner/whole_number.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <system_error>

namespace tune {
namespace {

constexpr std::string_view kMinusSign = "\xe2\x88\x92";  // U+2212.

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }
bool IsExponentMark(char c) { return c == 'e' || c == 'E'; }
bool IsSign(char c) { return c == '+' || c == '-'; }

size_t DigitCount(std::string_view text) {
  return static_cast<size_t>(std::find_if_not(text.begin(), text.end(), IsDigit) - text.begin());
}

// 0 where there is none.
char At(std::string_view text, size_t index) { return index < text.size() ? text[index] : 0; }
char FromEnd(std::string_view text, size_t index) {
  return index < text.size() ? text[text.size() - 1 - index] : 0;
}

bool BeginsWithExponent(std::string_view text) {
  if (!IsExponentMark(At(text, 0))) return false;
  return IsDigit(At(text, IsSign(At(text, 1)) ? 2 : 1));
}

// Digits with thousands set apart by one kind of separator, taken off `text` and put on `digits`.
bool TakeInteger(std::string_view& text, std::string& digits) {
  size_t count = DigitCount(text);
  digits += text.substr(0, count);
  const bool had_any = count > 0;
  const size_t first = count;
  text.remove_prefix(count);
  // No thousands begin with a zero: "0,934" has a decimal comma.
  const bool begins_with_zero = first > 0 && digits[digits.size() - first] == '0';
  if (At(text, 0) == ',' && (first < 1 || first > 3 || begins_with_zero)) return false;
  for (const char separator : {',', '_'}) {
    while (had_any && At(text, 0) == separator) {
      count = DigitCount(text.substr(1));
      if (count == 0 || (separator == ',' && count != 3)) return false;
      digits += text.substr(1, count);
      text.remove_prefix(1 + count);
    }
  }
  return true;
}

// "1,234" after a comma, or "93" of "0,93".
bool GoesOnAfterComma(std::string_view number, std::string_view after_comma) {
  const bool has_fraction = number.find_first_of(".eE") != std::string_view::npos;
  const size_t count = DigitCount(after_comma);
  if (has_fraction || count == 0) return false;
  const bool is_column = At(after_comma, count) == '.' && IsDigit(At(after_comma, count + 1));
  return count == 3 || !is_column;
}

// A minus before the number is its sign, unless it is a hyphen or a line of dashes.
bool IsSignBefore(std::string_view head) {
  const char before = FromEnd(head, 1);
  return !IsDigit(before) && !IsLetter(before) &&
         std::string_view("-._)]%").find(before) == std::string_view::npos;
}

// An 'e' behind a mantissa; `head` ends with it, or with the exponent's sign.
bool EndsWithExponentMark(std::string_view head) {
  if (IsSign(FromEnd(head, 0))) head.remove_suffix(1);
  const char mantissa = FromEnd(head, 1);
  return IsExponentMark(FromEnd(head, 0)) &&
         (IsDigit(mantissa) || (mantissa == '.' && IsDigit(FromEnd(head, 2))));
}

// Columns of a table stand apart by commas, too: "3,0.5".
bool GoesOnFromComma(std::string_view head, std::string_view number) {
  const auto column = head.rbegin() + 1;
  const auto before = std::find_if_not(column, head.rend(), IsDigit);
  const bool has_fraction = before != head.rend() && *before == '.';
  return before != column && !has_fraction && GoesOnAfterComma("", number);
}

bool GoesOnBefore(std::string_view head, std::string_view number) {
  const char last = FromEnd(head, 0);
  const char before = FromEnd(head, 1);
  if (EndsWithExponentMark(head)) return true;
  if (IsSign(At(number, 0))) return false;
  if (head.ends_with(kMinusSign) || (last == '-' && IsSignBefore(head))) return true;
  if (!IsDigit(At(number, 0))) return IsDigit(last) && At(number, 0) == '.';
  if (last == '.') {
    return !IsLetter(before) && std::string_view(".)]").find(before) == std::string_view::npos;
  }
  if (last == ',') return GoesOnFromComma(head, number);
  return IsDigit(last) || (last == '_' && IsDigit(before));
}

bool GoesOnAfter(std::string_view tail, std::string_view number) {
  if (!IsDigit(FromEnd(number, 0)) && FromEnd(number, 0) != '.') return false;  // nan, inf.
  switch (At(tail, 0)) {
    case '.':
      return IsDigit(At(tail, 1)) || BeginsWithExponent(tail.substr(1));
    case '_':
      return IsDigit(At(tail, 1));
    case ',':
      return GoesOnAfterComma(number, tail.substr(1));
    case 'x':
    case 'X':
      return number == "0" && (IsDigit(At(tail, 1)) || IsLetter(At(tail, 1)));
    default:
      return IsDigit(At(tail, 0)) || BeginsWithExponent(tail);
  }
}

}  // namespace

std::string NumberExpression(Thousands thousands) {
  const std::string sign = R"((?:[+-]|\xe2\x88\x92)?)";
  const std::string integer = thousands == Thousands::kWithCommas
                                  ? R"((?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*))"
                                  : R"((?:\d+(?:_\d+)*))";
  return std::string("(?P<") + kNumberGroup + ">" + sign + "(?:(?:" + integer +
         R"re((?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|\b(?i:nan|inf(?:inity)?)\b)))re";
}

std::optional<double> ReadWholeNumber(std::string_view text) {
  std::string plain;  // As std::from_chars reads it.
  if (text.starts_with(kMinusSign)) {
    plain = "-";
    text.remove_prefix(kMinusSign.size());
  } else if (IsSign(At(text, 0))) {
    if (text[0] == '-') plain = "-";
    text.remove_prefix(1);
  }
  if (IsSign(At(text, 0))) return std::nullopt;
  if (!TakeInteger(text, plain)) return std::nullopt;
  plain += text;
  if (plain.ends_with('.')) plain.pop_back();
  double number = 0;
  const auto [end, error] = std::from_chars(plain.data(), plain.data() + plain.size(), number);
  if (end != plain.data() + plain.size()) return std::nullopt;
  if (error == std::errc::result_out_of_range) {
    const bool is_tiny = plain.find("e-") != std::string::npos ||
                         plain.find("E-") != std::string::npos || plain.starts_with("0.") ||
                         plain.starts_with("-0.");
    const double size = is_tiny ? 0 : std::numeric_limits<double>::infinity();
    return plain.starts_with('-') ? -size : size;
  }
  return error == std::errc() ? std::optional(number) : std::nullopt;
}

bool IsPartOfNumber(std::string_view line, size_t begin, size_t end, SpelledBeside spelled) {
  const std::string_view head = line.substr(0, begin);
  const std::string_view number = line.substr(begin, end - begin);
  const std::string_view tail = line.substr(end);
  const bool goes_on_before =
      !head.empty() && head.back() != spelled.before && GoesOnBefore(head, number);
  const bool goes_on_after =
      !tail.empty() && tail.front() != spelled.after && GoesOnAfter(tail, number);
  return goes_on_before || goes_on_after;
}

std::string_view WordAround(std::string_view line, size_t begin, size_t end) {
  constexpr size_t kShownMax = 40;
  const auto is_part = [](char c) {
    return IsDigit(c) || IsLetter(c) || std::string_view(".,_+-").find(c) != std::string_view::npos;
  };
  const size_t first_min = begin - std::min(begin, kShownMax);
  while (begin > first_min && is_part(line[begin - 1])) --begin;
  const size_t last_max = std::min(line.size(), end + kShownMax);
  while (end < last_max && is_part(line[end])) ++end;
  return line.substr(begin, end - begin);
}

}  // namespace tune
