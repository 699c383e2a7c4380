// The options of a searcher or scheduler as a spec writes them: {max_t: 20, grace_period: 1}. Each
// reader leaves its target as it is where the option is absent; errors carry "line:column: ".
//
// Thread rule: immutable; the map must outlive it.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

class OptionMap {
 public:
  // `label`: what messages begin with ("scheduler"); `owner`: whose options they are ("asha");
  // `options`: a map, or null for none; `common`: options that stand beside these and were taken
  // out.
  OptionMap(std::string_view label, std::string_view owner, const Value& options,
            std::span<const std::string_view> common = {})
      : label_(label), owner_(owner), options_(options), common_(common) {}

  // Refuses every other name, with the nearest known.
  Status CheckNames(std::span<const std::string_view> known) const;

  const Value* Find(std::string_view key) const;
  // The option's place, or the map's where it is absent.
  Place PlaceOf(std::string_view key) const;
  // "scheduler: max_t: read 'x', expected ...", at the option.
  Status Expected(std::string_view key, std::string_view what) const;

  Status Read(std::string_view key, int64_t min, int64_t max, int64_t& out) const;
  // min <= value <= max, finite.
  Status Read(std::string_view key, double min, double max, double& out) const;
  Status Read(std::string_view key, bool& out) const;
  // One of `names`; gives its index.
  Status Read(std::string_view key, std::span<const std::string_view> names, size_t& out) const;

 private:
  std::string label_;
  std::string owner_;
  const Value& options_;
  std::span<const std::string_view> common_;
};

}  // namespace tune
