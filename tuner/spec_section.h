// A map of a space file, or the file itself, as its readers see it: what its keys are called in
// messages, and values of the kinds that there are. Errors carry "line:column: ".
//
// Thread rule: values; they refer to the document.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/status.h"
#include "core/time.h"
#include "core/value.h"

namespace tune {

class SpecSection {
 public:
  // `value` is null for a section that is not there.
  static Result<SpecSection> Open(const Value* value, std::string_view name);

  // `later`: keys that are promised and not there yet.
  Status CheckKeys(std::span<const std::string_view> known,
                   std::span<const std::string_view> later = {}) const;

  // The value of a key; null where it is absent or says null.
  const Value* Find(std::string_view key) const;
  Status Expected(const Value& value, std::string_view key, std::string_view what) const;

  // Each leaves `out` as it is where the key is absent.
  Status ReadInt(std::string_view key, int64_t min, int64_t max, std::string_view what,
                 int64_t& out) const;
  template <typename T>  // Duration or std::optional<Duration>.
  Status ReadDuration(std::string_view key, T& out) const {
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    Duration duration;
    TUNE_RETURN_IF_ERROR(ToDuration(*value, key, duration));
    out = duration;
    return OkStatus();
  }
  // As ReadDuration, and 0 for no wait at all.
  template <typename T>
  Status ReadWait(std::string_view key, T& out) const {
    const Value* const value = Find(key);
    if (value == nullptr) return OkStatus();
    if (*value != Value(int64_t{0}) && *value != Value("0s")) return ReadDuration(key, out);
    out = Duration{};
    return OkStatus();
  }
  Status ReadBytes(std::string_view key, int64_t& out) const;
  // A number with at most three decimals as thousandths, not negative.
  Status ReadMilli(std::string_view key, std::string_view what, int64_t& out) const;

  Status ToDuration(const Value& value, std::string_view key, Duration& out) const;

 private:
  SpecSection(const Value* map, std::string_view name) : map_(map), name_(name) {}
  std::string Path(std::string_view key) const;

  const Value* map_;
  std::string name_;
};

// "'metric' is missing; write for example ..."
Status MissingKey(const Value& document, std::string_view key, std::string_view example);

}  // namespace tune
