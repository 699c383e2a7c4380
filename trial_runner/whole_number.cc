#include "trial_runner/whole_number.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <limits>
#include <system_error>

#include "trial_runner/line_words.h"

namespace tune {
namespace {

constexpr std::string_view kMinusSign = "\xe2\x88\x92";  // U+2212.
// Hyphens, the figure dash, the en dash and a wide hyphen, where a minus is meant.
constexpr std::string_view kDashes[] = {"\xe2\x80\x90", "\xe2\x80\x91", "\xe2\x80\x92",
                                        "\xe2\x80\x93", "\xef\xb9\xa3", "\xef\xbc\x8d"};
// Points of other scripts: Arabic (and its thousands'), a middle dot, a wide one.
constexpr std::string_view kForeignPoints[] = {"\xd9\xab", "\xd9\xac", "\xc2\xb7", "\xef\xbc\x8e"};

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

template <size_t kCount>
size_t PrefixOf(const std::string_view (&marks)[kCount], std::string_view text) {
  for (const std::string_view mark : marks) {
    if (text.starts_with(mark)) return mark.size();
  }
  return 0;
}

template <size_t kCount>
size_t SuffixOf(const std::string_view (&marks)[kCount], std::string_view text) {
  for (const std::string_view mark : marks) {
    if (text.ends_with(mark)) return mark.size();
  }
  return 0;
}

bool BeginsWithExponent(std::string_view text) {
  if (!IsExponentMark(At(text, 0))) return false;
  text.remove_prefix(1);
  if (IsSign(At(text, 0))) return IsDigit(At(text, 1));
  const size_t dash = text.starts_with(kMinusSign) ? kMinusSign.size() : PrefixOf(kDashes, text);
  return IsDigit(At(text, dash));
}

// A digit, a superscript or a fraction outside of ASCII: Arabic and wide digits, "5\xc2\xb2",
// "1\xc2\xbd".
bool BeginsWithForeignDigit(std::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(At(text, i)); };
  const auto is_within = [&](size_t i, unsigned first, unsigned last) {
    return byte(i) >= first && byte(i) <= last;
  };
  switch (byte(0)) {
    case 0xc2:
      return byte(1) == 0xb2 || byte(1) == 0xb3 || byte(1) == 0xb9 || is_within(1, 0xbc, 0xbe);
    case 0xd9:
      return is_within(1, 0xa0, 0xa9);
    case 0xdb:
      return is_within(1, 0xb0, 0xb9);
    case 0xe2:
      return (byte(1) == 0x81 && (byte(2) == 0xb0 || is_within(2, 0xb4, 0xbb))) ||
             (byte(1) == 0x82 && is_within(2, 0x80, 0x89)) ||
             (byte(1) == 0x85 && is_within(2, 0x90, 0x9e));
    case 0xef:
      return byte(1) == 0xbc && is_within(2, 0x90, 0x99);
    default:
      return false;
  }
}

// The bytes of such a digit, of a minus or a point at the front; 0: something else stands there.
size_t ForeignBytes(std::string_view text) {
  if (text.starts_with(kMinusSign)) return kMinusSign.size();
  if (const size_t mark = PrefixOf(kDashes, text) + PrefixOf(kForeignPoints, text)) return mark;
  if (!BeginsWithForeignDigit(text)) return 0;
  return static_cast<unsigned char>(text[0]) >= 0xe0 ? 3 : 2;
}

size_t ForeignBytesAtEnd(std::string_view text) {
  for (const size_t bytes : {2U, 3U}) {
    if (text.size() >= bytes && ForeignBytes(text.substr(text.size() - bytes)) == bytes) {
      return bytes;
    }
  }
  return 0;
}

bool BeginsWithForeignPart(std::string_view text) {
  const size_t point = PrefixOf(kForeignPoints, text);
  return BeginsWithForeignDigit(text) ||
         (point > 0 && (IsDigit(At(text, point)) || BeginsWithForeignDigit(text.substr(point))));
}

bool EndsWithForeignPart(std::string_view head) {
  const size_t point = SuffixOf(kForeignPoints, head);
  if (point > 0 && IsDigit(FromEnd(head, point))) return true;
  const size_t bytes = ForeignBytesAtEnd(head);
  return bytes > 0 && BeginsWithForeignDigit(head.substr(head.size() - bytes));
}

// Fortran's double precision, "1.5D-03": with its point or the exponent's sign, since "1d12h" is a
// time.
bool BeginsWithFortranExponent(std::string_view number, std::string_view tail) {
  if (At(tail, 0) != 'd' && At(tail, 0) != 'D') return false;
  const bool has_sign = IsSign(At(tail, 1));
  const bool has_point = number.find('.') != std::string_view::npos;
  return (has_sign || has_point) && IsDigit(At(tail, has_sign ? 2 : 1));
}

bool TakePrefix(std::string_view& text, std::string_view prefix) {
  if (!text.starts_with(prefix)) return false;
  text.remove_prefix(prefix.size());
  return true;
}

// Three digits of an exponent leave no room for its letter: "1.50000-101". Old C libraries write
// "1.#QNAN". And a space may stand before the letter: "1.5 E+03".
bool BeginsWithOddTail(std::string_view number, std::string_view tail) {
  const bool has_point = number.find('.') != std::string_view::npos;
  if (has_point && IsSign(At(tail, 0)) && DigitCount(tail.substr(1)) == 3) return true;
  if (has_point && tail.starts_with('#') && IsLetter(At(tail, 1))) return true;
  if (tail.starts_with(".#")) return IsLetter(At(tail, 2));
  return At(tail, 0) == ' ' && IsExponentMark(At(tail, 1)) && IsSign(At(tail, 2)) &&
         IsDigit(At(tail, 3));
}

// "^3" or "**3".
bool BeginsWithPower(std::string_view text) {
  if (!TakePrefix(text, "^") && !TakePrefix(text, "**")) return false;
  TakePrefix(text, "{");
  return IsDigit(At(text, IsSign(At(text, 0)) ? 1 : 0));
}

// " x 10^3", "\xc3\x97" "10\xc2\xb3" (a cross and superscripts).
bool BeginsWithPowerOfTen(std::string_view text) {
  const auto skip_spaces = [&] {
    text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  };
  skip_spaces();
  constexpr std::string_view kSigns[] = {
      "x", "X", "*", "\xc3\x97", "\xc2\xb7", "\xe2\x8b\x85", "\xe2\x88\x99", "\\times"};
  if (std::none_of(std::begin(kSigns), std::end(kSigns),
                   [&](std::string_view sign) { return TakePrefix(text, sign); })) {
    return false;
  }
  skip_spaces();
  if (!TakePrefix(text, "10")) return false;
  constexpr std::string_view kSuperscripts[] = {"\xc2\xb2", "\xc2\xb3", "\xc2\xb9", "\xe2\x81"};
  return BeginsWithPower(text) ||
         std::any_of(std::begin(kSuperscripts), std::end(kSuperscripts),
                     [&](std::string_view mark) { return text.starts_with(mark); });
}

// What sets thousands apart in other countries: 12'345, and spaces that do not part words.
constexpr std::string_view kThousandsMarks[] = {"'", "\xe2\x80\x99", "\xc2\xa0", "\xe2\x80\xaf",
                                                "\xe2\x80\x89"};

// Three digits and no more.
bool IsGroup(std::string_view text) { return DigitCount(text) == 3; }

bool BeginsWithThousands(std::string_view number, std::string_view tail) {
  if (number.find_first_of(".eE") != std::string_view::npos) return false;
  return std::any_of(std::begin(kThousandsMarks), std::end(kThousandsMarks),
                     [&](std::string_view mark) {
                       return tail.starts_with(mark) && IsGroup(tail.substr(mark.size()));
                     });
}

// "1.234" of "1.234,5". Columns with fractions of their own, "1.234,0.5", stand apart.
bool IsContinental(std::string_view number, std::string_view after_comma) {
  if (IsSign(At(number, 0))) number.remove_prefix(1);
  const size_t whole = DigitCount(number);
  const bool has_thousands = whole >= 1 && whole <= 3 && number[0] != '0' &&
                             At(number, whole) == '.' && number.size() == whole + 4 &&
                             IsGroup(number.substr(whole + 1));
  const size_t count = DigitCount(after_comma);
  const bool is_column = At(after_comma, count) == '.' && IsDigit(At(after_comma, count + 1));
  return has_thousands && count > 0 && !is_column;
}

// "0.5abc1", "3f2a": a name. "1h30m", "3x3", "12m2" are measures.
bool GoesOnAsName(std::string_view tail) {
  const auto end = std::find_if_not(tail.begin(), tail.end(), IsLetter);
  const auto letters = static_cast<size_t>(end - tail.begin());
  if (letters == 0) return false;
  const char next = At(tail, letters);
  if (!IsDigit(next)) return false;
  const bool is_time =
      letters == 1 && std::string_view("dhmsxX").find(tail[0]) != std::string_view::npos;
  const char after = At(tail, letters + 1);
  const bool is_exponent = (next == '2' || next == '3') && !IsDigit(after) && !IsLetter(after);
  return !is_time && !is_exponent;
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

// A minus (or what is meant as one) before the number is its sign, unless it is a hyphen or a line
// of dashes.
bool IsSignBefore(std::string_view head) {
  const size_t dash = FromEnd(head, 0) == '-' ? 1 : SuffixOf(kDashes, head);
  if (dash == 0) return false;
  const char before = FromEnd(head, dash);
  return !IsDigit(before) && !IsLetter(before) &&
         std::string_view("-._)]%").find(before) == std::string_view::npos;
}

// An 'e' behind a mantissa, or Fortran's 'd'; `head` ends with it, or with the exponent's sign.
bool EndsWithExponentMark(std::string_view head, std::string_view number) {
  const size_t dash = IsSign(FromEnd(head, 0)) ? 1 : SuffixOf(kDashes, head);
  const bool has_sign = dash > 0 || IsSign(At(number, 0));
  head.remove_suffix(dash);
  const char mark = FromEnd(head, 0);
  const char mantissa = FromEnd(head, 1);
  const bool has_mantissa = IsDigit(mantissa) || (mantissa == '.' && IsDigit(FromEnd(head, 2)));
  return has_mantissa && (IsExponentMark(mark) || (has_sign && (mark == 'd' || mark == 'D')));
}

// "345" of "12'345".
bool EndsWithThousands(std::string_view head, std::string_view number) {
  return IsGroup(number) && std::any_of(std::begin(kThousandsMarks), std::end(kThousandsMarks),
                                        [&](std::string_view mark) {
                                          return head.ends_with(mark) &&
                                                 IsDigit(FromEnd(head, mark.size()));
                                        });
}

// The digits and points that `text` ends with.
std::string_view NumberAtEnd(std::string_view text) {
  const auto is_part = [](char c) { return IsDigit(c) || c == '.'; };
  const auto begin = std::find_if_not(text.rbegin(), text.rend(), is_part);
  return text.substr(static_cast<size_t>(text.rend() - begin));
}

// Columns of a table stand apart by commas, too: "3,0.5".
bool GoesOnFromComma(std::string_view head, std::string_view number) {
  if (IsContinental(NumberAtEnd(head.substr(0, head.size() - 1)), number)) return true;
  const auto column = head.rbegin() + 1;
  const auto before = std::find_if_not(column, head.rend(), IsDigit);
  const bool has_fraction = before != head.rend() && *before == '.';
  return before != column && !has_fraction && GoesOnAfterComma("", number);
}

bool GoesOnBefore(std::string_view head, std::string_view number) {
  const char last = FromEnd(head, 0);
  const char before = FromEnd(head, 1);
  if (EndsWithExponentMark(head, number) || EndsWithThousands(head, number)) return true;
  if (head.ends_with("10^") || head.ends_with("10**")) return true;
  if (IsSign(At(number, 0))) return false;
  if (head.ends_with(kMinusSign) || IsSignBefore(head)) return true;
  if (IsDigit(At(number, 0)) && EndsWithForeignPart(head)) return true;
  if (!IsDigit(At(number, 0))) return IsDigit(last) && At(number, 0) == '.';
  if (last == '.') {
    return !IsLetter(before) && std::string_view(".)]").find(before) == std::string_view::npos;
  }
  if (last == ',') return GoesOnFromComma(head, number);
  const size_t joint = head.find_last_not_of('_');
  return IsDigit(last) || (last == '_' && joint != std::string_view::npos && IsDigit(head[joint]));
}

bool GoesOnAfter(std::string_view tail, std::string_view number) {
  if (!IsDigit(FromEnd(number, 0)) && FromEnd(number, 0) != '.') return false;  // nan, inf.
  if (IsOtherNotation(tail, number)) return true;
  switch (At(tail, 0)) {
    case '.':
      return IsDigit(At(tail, 1)) || BeginsWithExponent(tail.substr(1));
    case '_':
      return IsDigit(At(tail, std::min(tail.find_first_not_of('_'), tail.size())));
    case ',':
      return GoesOnAfterComma(number, tail.substr(1)) || IsContinental(number, tail.substr(1));
    case 'x':
    case 'X':
      return (number == "0" && (IsDigit(At(tail, 1)) || IsLetter(At(tail, 1)))) ||
             GoesOnAsName(tail);
    default:
      return IsDigit(At(tail, 0)) || BeginsWithExponent(tail) || GoesOnAsName(tail);
  }
}

}  // namespace

std::string NumberExpression(Thousands thousands) {
  const std::string sign = R"((?:[+-]|\xe2\x88\x92)?)";
  const std::string integer = thousands == Thousands::kWithCommas
                                  ? R"((?:\d{1,3}(?:,\d{3})+|\d+(?:_\d+)*))"
                                  : R"((?:\d+(?:_\d+)*))";
  return std::string("(?P<") + kNumberGroup + ">" + sign + "(?:(?:" + integer +
         R"re((?:\.\d*)?|\.\d+)(?:[eE](?:[+-]|\xe2\x88\x92)?\d+)?|\b(?i:nan|inf(?:inity)?)\b)))re";
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
  if (const size_t minus = plain.find(kMinusSign); minus != std::string::npos) {
    if (minus == 0 || !IsExponentMark(plain[minus - 1])) return std::nullopt;
    plain.replace(minus, kMinusSign.size(), "-");
  }
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

bool MayHaveDecimalComma(std::string_view number) {
  if (IsSign(At(number, 0))) number.remove_prefix(1);
  const size_t count = DigitCount(number);
  return count >= 1 && count <= 3 && At(number, count) == ',' && number.size() == count + 4 &&
         IsGroup(number.substr(count + 1));
}

DecimalMarks FindDecimalMarks(std::string_view line) {
  DecimalMarks marks;
  const auto parts = [](char c) { return c == '.' || c == ',' || c == ':' || c == '-'; };
  for (size_t i = 0; i < line.size();) {
    const size_t whole = DigitCount(line.substr(i));
    const bool begins = whole > 0 && (i == 0 || (!parts(line[i - 1]) && !IsLetter(line[i - 1])));
    const size_t fraction =
        whole > 0 ? DigitCount(line.substr(std::min(i + whole + 1, line.size()))) : 0;
    const char mark = whole > 0 ? At(line, i + whole) : 0;
    const char next = At(line, i + whole + 1 + fraction);
    const bool is_one =
        begins && fraction > 0 && (!parts(next) || !IsDigit(At(line, i + whole + 2 + fraction)));
    if (is_one && mark == '.') marks.has_point = true;
    // No thousands begin with a zero, and none have another number of digits.
    const bool is_decimal = line[i] == '0' ? whole == 1 : fraction != 3;
    if (is_one && mark == ',' && is_decimal && marks.with_comma.empty()) {
      marks.with_comma = line.substr(i, whole + 1 + fraction);
    }
    i += std::max<size_t>(whole, 1);
  }
  return marks;
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

bool IsOtherNotation(std::string_view tail, std::string_view number) {
  return BeginsWithFortranExponent(number, tail) || BeginsWithThousands(number, tail) ||
         BeginsWithPower(tail) || BeginsWithPowerOfTen(tail) || BeginsWithForeignPart(tail) ||
         BeginsWithOddTail(number, tail);
}

std::string_view WordAround(std::string_view line, size_t begin, size_t end) {
  constexpr size_t kShownMax = 40;
  const auto is_part = [](char c) {
    return IsDigit(c) || IsLetter(c) || std::string_view(".,_+-").find(c) != std::string_view::npos;
  };
  const size_t first_min = begin - std::min(begin, kShownMax);
  while (begin > first_min) {
    const std::string_view head = line.substr(0, begin);
    const size_t size = is_part(head.back()) ? 1 : ForeignBytesAtEnd(head);
    if (size == 0) break;
    begin -= size;
  }
  const size_t last_max = std::min(line.size(), end + kShownMax);
  const auto joint = [&](std::string_view tail) -> size_t {
    if (is_part(tail[0]) || tail[0] == '^' || tail[0] == '*') return 1;
    for (const std::string_view mark : kThousandsMarks) {
      if (BeginsWithThousands("", tail) && tail.starts_with(mark)) return mark.size();
    }
    constexpr std::string_view kCross = "\xc3\x97";
    return tail.starts_with(kCross) ? kCross.size() : ForeignBytes(tail);
  };
  while (end < last_max) {
    const size_t size = joint(line.substr(end));
    if (size == 0) break;
    end += size;
  }
  return line.substr(begin, end - begin);
}

}  // namespace tune
