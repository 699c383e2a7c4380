#include "tuner/json_lines.h"

#include <cmath>

#include "core/input_error.h"
#include "core/json.h"

namespace tune {

Status LineReader::Error(std::string_view message) const {
  return InvalidAt(Place{}, "line " + std::to_string(line_) + ": " + std::string(message));
}

Result<std::optional<Value>> LineReader::Read(std::string_view line) {
  ++line_;
  if (line.find_first_not_of(" \t\r") == std::string_view::npos) return std::optional<Value>();
  Result<Value> value = ParseJson(line, JsonDialect::kWithNaN);
  if (!value.ok()) {
    // Its place is in line 1; only the column is news.
    const std::string& message = value.status().message();
    return Error("column " + message.substr(message.find(':') + 1));
  }
  if (!value->is_map()) return Error("read " + Shown(*value) + ", expected an object");
  return std::optional<Value>(*std::move(value));
}

Result<int64_t> LineReader::ReadInt(const Value& object, std::string_view key, int64_t min) const {
  const Value* const value = object.Find(key);
  if (value == nullptr) return Error("'" + std::string(key) + "' is missing");
  if (!value->is_int() || value->AsInt() < min) {
    return Error(std::string(key) + ": read " + Shown(*value) + ", expected an integer of " +
                 std::to_string(min) + " or more");
  }
  return value->AsInt();
}

Result<Metric> LineReader::ReadMetric(const Value& object, std::string_view key) const {
  const Value* const value = object.Find(key);
  if (value == nullptr || value->is_null()) return Metric();
  const std::optional<double> number = ReadNumber(*value);
  if (!number) {
    return Error(std::string(key) + ": read " + Shown(*value) + ", expected a number or null");
  }
  return std::isnan(*number) ? Metric() : Metric(*number);
}

}  // namespace tune
