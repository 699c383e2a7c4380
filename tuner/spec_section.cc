#include "tuner/spec_section.h"

#include <cmath>

#include "core/input_error.h"
#include "core/nearest_name.h"
#include "core/resources.h"

namespace tune {

Result<SpecSection> SpecSection::Open(const Value* value, std::string_view name) {
  if (value == nullptr || value->is_null()) return SpecSection(nullptr, name);
  if (!value->is_map()) {
    return InvalidAt(value->place,
                     std::string(name) + ": read " + Shown(*value) + ", expected a map");
  }
  return SpecSection(value, name);
}

Status SpecSection::CheckKeys(std::span<const std::string_view> known,
                              std::span<const std::string_view> later) const {
  if (map_ == nullptr) return OkStatus();
  for (const MapEntry& entry : map_->AsMap()) {
    bool is_known = false;
    for (const std::string_view name : known) is_known = is_known || entry.key == name;
    for (const std::string_view name : later) {
      if (entry.key == name) {
        return InvalidAt(entry.key_place, "'" + Path(entry.key) + "' is not supported yet");
      }
    }
    if (!is_known) {
      return InvalidAt(entry.key_place,
                       "unknown key '" + Path(entry.key) + "'" + DidYouMean(entry.key, known));
    }
  }
  return OkStatus();
}

const Value* SpecSection::Find(std::string_view key) const {
  const Value* const value = map_ == nullptr ? nullptr : map_->Find(key);
  return value == nullptr || value->is_null() ? nullptr : value;
}

Status SpecSection::Expected(const Value& value, std::string_view key,
                             std::string_view what) const {
  return InvalidAt(value.place,
                   Path(key) + ": read " + Shown(value) + ", expected " + std::string(what));
}

Status SpecSection::ReadInt(std::string_view key, int64_t min, int64_t max, std::string_view what,
                            int64_t& out) const {
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_int() || value->AsInt() < min || value->AsInt() > max) {
    return Expected(*value, key, what);
  }
  out = value->AsInt();
  return OkStatus();
}

Status SpecSection::ToDuration(const Value& value, std::string_view key, Duration& out) const {
  constexpr std::string_view kWhat = "a duration above 0 such as 90s, 10m, 2h or 1d";
  if (!value.is_string() && !value.is_number()) return Expected(value, key, kWhat);
  const Result<Duration> duration =
      ParseDuration(value.is_string() ? value.AsString() : Shown(value));
  if (!duration.ok() || duration->us <= 0) return Expected(value, key, kWhat);
  out = *duration;
  return OkStatus();
}

Status SpecSection::ReadBytes(std::string_view key, int64_t& out) const {
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  const bool is_text = value->is_string() || value->is_int();
  const Result<int64_t> bytes =
      is_text ? ParseBytes(value->is_string() ? value->AsString() : Shown(*value))
              : Result<int64_t>(InvalidArgument(""));
  if (!bytes.ok() || *bytes <= 0) {
    return Expected(*value, key, "a size such as 512MiB, 4GiB or 20GB");
  }
  out = *bytes;
  return OkStatus();
}

Status SpecSection::ReadMilli(std::string_view key, std::string_view what, int64_t& out) const {
  constexpr double kWholeMax = 1e6;
  const Value* const value = Find(key);
  if (value == nullptr) return OkStatus();
  const double number = value->is_number() ? value->AsDouble() : -1;
  const double milli = std::round(number * kWholeMilli);
  if (!(number >= 0 && number <= kWholeMax) || std::fabs(number * kWholeMilli - milli) > 1e-6) {
    return Expected(*value, key, what);
  }
  out = static_cast<int64_t>(milli);
  return OkStatus();
}

std::string SpecSection::Path(std::string_view key) const {
  return name_.empty() ? std::string(key) : name_ + "." + std::string(key);
}

Status MissingKey(const Value& document, std::string_view key, std::string_view example) {
  return InvalidAt(document.place, "'" + std::string(key) + "' is missing; write for example " +
                                       std::string(example));
}

}  // namespace tune
