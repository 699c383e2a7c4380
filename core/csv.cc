#include "core/csv.h"

#include <charconv>

#include "core/json.h"

namespace tune {

std::string FullNumber(const Value& number) {
  if (number.is_int()) return std::to_string(number.AsInt());
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, number.AsDouble());
  return std::string(digits, end);
}

void AppendCsvField(const Value& value, std::string& out) {
  if (value.is_null()) return;
  const std::string text = value.is_string()   ? value.AsString()
                           : value.is_number() ? FullNumber(value)
                                               : ToJson(value);
  if (text.find_first_of(",\"\r\n") == std::string::npos) {
    out += text;
    return;
  }
  out.push_back('"');
  for (const char c : text) {
    if (c == '"') out.push_back('"');
    out.push_back(c);
  }
  out.push_back('"');
}

}  // namespace tune
