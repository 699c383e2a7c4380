// Numbers as programs print them, and whether a piece of a line is the whole of one.
//
// A number has a sign, digits (1,234,567 and 1_000 with thousands apart), a fraction after a point,
// and an exponent, each where it is needed; or it is nan, inf or infinity in any case. U+2212 is a
// minus sign too. A comma is never the point: "0,93" is no number. Other ways to write one
// (1.5D-03, 12'345, 1.5x10^3, 1.234,5, an en dash for a minus, digits and points of other scripts)
// are known so that no piece of theirs is taken. A unit may follow a number right away (12ms, 93%,
// 1.2GB); a name may not (3f2a).
//
// Thread rule: pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace tune {

// How `{number}` is written for RE2, as the group named "number". Beside a comma that the regular
// expression itself spells, as in "^\\d+,{number}", thousands are not set apart by commas.
enum class Thousands { kWithCommas, kWithoutCommas };
inline constexpr char kNumberGroup[] = "number";
std::string NumberExpression(Thousands thousands);

// The number that `text` is, all of it.
std::optional<double> ReadWholeNumber(std::string_view text);

// The characters that a regular expression spells right beside its group; 0: something else stands
// there. A number does not go on across a character that was spelled.
struct SpelledBeside {
  char before = 0;
  char after = 0;
};

// How a number is written that may be twelve thousand or twelve: "12,935".
bool MayHaveDecimalComma(std::string_view number);

// A number of the line with a decimal comma beyond doubt, "0,93" or "12,9350", or with a point.
struct DecimalMarks {
  std::string_view with_comma;  // Empty: there is none.
  bool has_point = false;
};
DecimalMarks FindDecimalMarks(std::string_view line);

// Whether the number at [begin, end) of `line` is a part of a longer one: "1.98" of "1.98e-05",
// "3.5" of "-3.5".
bool IsPartOfNumber(std::string_view line, size_t begin, size_t end, SpelledBeside spelled);

// Whether the number goes on in a way that ReadWholeNumber() does not know: "1.5D-03", "12'345",
// "1.5x10^3".
bool IsOtherNotation(std::string_view tail, std::string_view number);

// What a person sees there as one word: "1.98e-05".
std::string_view WordAround(std::string_view line, size_t begin, size_t end);

}  // namespace tune
