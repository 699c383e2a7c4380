// Time as data. Decisions get an Instant as an argument; only adapters read a clock (core/clock.h).
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/status.h"

namespace tune {

struct Duration {
  int64_t us = 0;
  friend auto operator<=>(const Duration&, const Duration&) = default;
  double seconds() const { return static_cast<double>(us) * 1e-6; }
};

inline constexpr Duration Milliseconds(int64_t ms) { return Duration{ms * 1000}; }
inline constexpr Duration Seconds(double s) { return Duration{static_cast<int64_t>(s * 1e6)}; }

// Microseconds since 1970-01-01T00:00:00Z.
struct Instant {
  int64_t us = 0;
  friend auto operator<=>(const Instant&, const Instant&) = default;
};

inline constexpr Duration operator+(Duration a, Duration b) { return Duration{a.us + b.us}; }
inline constexpr Instant operator+(Instant t, Duration d) { return Instant{t.us + d.us}; }
inline constexpr Duration operator-(Instant a, Instant b) { return Duration{a.us - b.us}; }

// "2026-11-21T09:30:00.125Z": UTC, milliseconds, rounded down.
std::string FormatInstant(Instant t);

// "90s", "10m", "2h", "1d", "250ms", "1.5h", or a bare number of seconds; not negative.
Result<Duration> ParseDuration(std::string_view text);
// "512MiB", "4GiB", "20GB", "4096" (bytes): decimal and binary prefixes k M G T; not negative.
Result<int64_t> ParseBytes(std::string_view text);

// For people: "12 ms", "3.4 s", "2 min 05 s", "1 h 20 min", "-1 h 20 min".
std::string FormatDuration(Duration d);

}  // namespace tune
