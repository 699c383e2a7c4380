// JSON (RFC 8259) to and from Value. A double that has no fraction is written with ".0", so that it
// comes back a double; numbers are written with the fewest digits that read back to the same bits.
// What JSON cannot say, NaN and the infinities, is written as the strings "NaN", "Infinity" and
// "-Infinity"; ReadNumber reads them back.
//
// Thread rule: pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "core/value.h"

namespace tune {

// One line, no spaces.
std::string ToJson(const Value& value);
// The same with a point in each number that has an exponent: 3.0e-04. YAML 1.1 (PyYAML) reads 3e-04
// as a text.
std::string ToJsonForYaml(const Value& value);
void AppendJson(const Value& value, std::string& out);
void AppendJsonString(std::string_view text, std::string& out);
void AppendJsonNumber(double number, std::string& out);

// kWithNaN also reads what Python's json module writes and reads: the words NaN, Infinity and
// -Infinity, integers beyond 64 bits (as doubles), and numbers below all doubles (as 0).
enum class JsonDialect { kStrict, kWithNaN };

// The whole text must be one value. Errors say "line:column: ...": syntax, a duplicate key, nesting
// deeper than limits::kJsonDepthMax, an integer beyond 64 bits, invalid UTF-16 escapes.
Result<Value> ParseJson(std::string_view text, JsonDialect dialect = JsonDialect::kStrict);

// A number, or one of the three strings above; nothing otherwise.
std::optional<double> ReadNumber(const Value& value);

}  // namespace tune
