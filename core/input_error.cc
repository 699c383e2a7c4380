#include "core/input_error.h"

#include "core/json.h"

namespace tune {
namespace {

// An error is one line, whatever was read.
std::string OneLine(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) c = ' ';
  }
  return text;
}

}  // namespace

std::string PlacePrefix(const Place& place) {
  if (place.line < 0) return "--set " + std::to_string(-place.line) + ": ";
  if (place.line == 0) return "";
  return std::to_string(place.line) + ":" + std::to_string(place.column) + ": ";
}

Status InvalidAt(const Place& place, std::string_view message) {
  // Keys stand in messages as they were read.
  return InvalidArgument(PlacePrefix(place) + OneLine(std::string(message)));
}

Status InFile(std::string_view file, const Status& status) {
  const std::string& message = status.message();
  if (status.ok() || message.starts_with("--set ")) return status;
  const bool has_place = !message.empty() && message[0] >= '0' && message[0] <= '9' &&
                         message.find(':') == message.find_first_not_of("0123456789");
  return Status(status.code(), std::string(file) + (has_place ? ":" : ": ") + message);
}

std::string Shown(const Value& value) {
  constexpr size_t kShownMax = 60;
  if (value.is_string()) {
    const std::string text = OneLine(value.AsString());
    return "'" + (text.size() <= kShownMax ? text : text.substr(0, kShownMax) + "...") + "'";
  }
  if (value.is_double()) {
    const std::string text = ToJson(value);
    // NaN and the infinities come in quotes; for a person they are numbers.
    return text.front() == '"' ? text.substr(1, text.size() - 2) : text;
  }
  return value.is_scalar() ? ToJson(value) : value.KindName();
}

}  // namespace tune
