#include "core/option_map.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/input_error.h"
#include "core/nearest_name.h"

namespace tune {

Status OptionMap::CheckNames(std::span<const std::string_view> known) const {
  if (options_.is_null()) return OkStatus();
  for (const MapEntry& entry : options_.AsMap()) {
    if (std::find(known.begin(), known.end(), entry.key) != known.end()) continue;
    std::vector<std::string_view> all(known.begin(), known.end());
    all.insert(all.end(), common_.begin(), common_.end());
    return InvalidAt(entry.key_place, label_ + ": '" + entry.key + "' is not an option of " +
                                          owner_ + DidYouMean(entry.key, all));
  }
  return OkStatus();
}

const Value* OptionMap::Find(std::string_view key) const {
  return options_.is_null() ? nullptr : options_.Find(key);
}

Place OptionMap::PlaceOf(std::string_view key) const {
  const Value* const value = Find(key);
  return value == nullptr ? options_.place : value->place;
}

Status OptionMap::Expected(std::string_view key, std::string_view what) const {
  const Value* const value = Find(key);
  return InvalidAt(PlaceOf(key), label_ + ": " + std::string(key) + ": read " +
                                     (value == nullptr ? "nothing" : Shown(*value)) +
                                     ", expected " + std::string(what));
}

Status OptionMap::Read(std::string_view key, int64_t min, int64_t max, int64_t& out) const {
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_int() || value->AsInt() < min || value->AsInt() > max) {
    const bool is_open = max == std::numeric_limits<int64_t>::max();
    return Expected(key, "an integer " + (is_open ? "of " + std::to_string(min) + " or more"
                                                  : "from " + std::to_string(min) + " to " +
                                                        std::to_string(max)));
  }
  out = value->AsInt();
  return OkStatus();
}

Status OptionMap::Read(std::string_view key, double min, double max, double& out) const {
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  const double number = value->is_number() ? value->AsDouble() : std::nan("");
  if (!(number >= min && number <= max) || !std::isfinite(number)) {
    if (std::isinf(min) && std::isinf(max)) return Expected(key, "a finite number");
    const bool is_open = std::isinf(max);
    return Expected(
        key, "a number " + (is_open ? "of " + Shown(Value(min)) + " or more"
                                    : "from " + Shown(Value(min)) + " to " + Shown(Value(max))));
  }
  out = number;
  return OkStatus();
}

Status OptionMap::Read(std::string_view key, bool& out) const {
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_bool()) return Expected(key, "true or false");
  out = value->AsBool();
  return OkStatus();
}

Status OptionMap::Read(std::string_view key, std::span<const std::string_view> names,
                       size_t& out) const {
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  const std::string read = value->is_string() ? value->AsString() : "";
  const auto found = std::find(names.begin(), names.end(), read);
  if (found == names.end()) {
    std::string list;
    for (size_t i = 0; i < names.size(); ++i) {
      list += (i == 0 ? "" : i + 1 == names.size() ? " or " : ", ") + std::string(names[i]);
    }
    return Expected(key, list);
  }
  out = static_cast<size_t>(found - names.begin());
  return OkStatus();
}

}  // namespace tune
