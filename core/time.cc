#include "core/time.h"

#include <charconv>
#include <cmath>
#include <cstdio>

namespace tune {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

// Splits "1.5h" into 1.5 and "h"; the number must be finite and not negative.
bool SplitNumber(std::string_view text, double& number, std::string_view& unit) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || !std::isfinite(number) || number < 0) return false;
  unit = text.substr(static_cast<size_t>(end - text.data()));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  return true;
}

template <size_t kCount>
const Unit* FindUnit(const Unit (&units)[kCount], std::string_view name) {
  for (const Unit& unit : units) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

constexpr double kRangeMax = 9.0e18;  // Below 2^63.

}  // namespace

std::string FormatInstant(Instant t) {
  // Days to civil date: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms",
  // civil_from_days.
  int64_t ms = t.us / 1000 - (t.us % 1000 < 0 ? 1 : 0);
  int64_t day = ms / 86'400'000;
  int64_t rest = ms % 86'400'000;
  if (rest < 0) {
    rest += 86'400'000;
    --day;
  }
  day += 719'468;
  const int64_t era = (day >= 0 ? day : day - 146'096) / 146'097;
  const int64_t doe = day - era * 146'097;
  const int64_t yoe = (doe - doe / 1460 + doe / 36'524 - doe / 146'096) / 365;
  const int64_t doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
  const int64_t mp = (5 * doy + 2) / 153;
  const int64_t d = doy - (153 * mp + 2) / 5 + 1;
  const int64_t m = mp < 10 ? mp + 3 : mp - 9;
  const int64_t y = yoe + era * 400 + (m <= 2 ? 1 : 0);
  char buffer[96];
  std::snprintf(buffer, sizeof buffer, "%04lld-%02lld-%02lldT%02lld:%02lld:%02lld.%03lldZ",
                static_cast<long long>(y), static_cast<long long>(m), static_cast<long long>(d),
                static_cast<long long>(rest / 3'600'000),
                static_cast<long long>(rest / 60'000 % 60),
                static_cast<long long>(rest / 1000 % 60), static_cast<long long>(rest % 1000));
  return buffer;
}

Result<Duration> ParseDuration(std::string_view text) {
  static constexpr Unit kUnits[] = {{"", 1e6},   {"ms", 1e3},   {"s", 1e6},
                                    {"m", 60e6}, {"h", 3600e6}, {"d", 86400e6}};
  const auto refused = [text] {
    return InvalidArgument("'" + std::string(text) +
                           "' is not a duration; write it like 90s, 10m, 2h or 1d");
  };
  double sum = 0;
  std::string_view rest = text;
  do {
    double number = 0;
    std::string_view name;
    if (!SplitNumber(rest, number, name)) return refused();
    // "3h50m": only a duration of one part may leave its unit out.
    const size_t end = std::min(name.find_first_of("0123456789"), name.size());
    const Unit* const unit = FindUnit(kUnits, name.substr(0, end));
    const bool is_whole = rest.size() == text.size() && end == name.size();
    if (unit == nullptr || (unit->name.empty() && !is_whole)) return refused();
    sum += number * unit->factor;
    if (sum > kRangeMax) return refused();
    rest = name.substr(end);
  } while (!rest.empty());
  return Duration{std::llround(sum)};
}

Result<int64_t> ParseBytes(std::string_view text) {
  static constexpr Unit kUnits[] = {
      {"", 1},      {"B", 1},        {"kB", 1e3},     {"KB", 1e3},     {"MB", 1e6},    {"GB", 1e9},
      {"TB", 1e12}, {"KiB", 0x1p10}, {"MiB", 0x1p20}, {"GiB", 0x1p30}, {"TiB", 0x1p40}};
  double number = 0;
  std::string_view name;
  const Unit* const unit = SplitNumber(text, number, name) ? FindUnit(kUnits, name) : nullptr;
  if (unit == nullptr || number * unit->factor > kRangeMax) {
    return InvalidArgument("'" + std::string(text) +
                           "' is not a size; write it like 512MiB, 4GiB or 20GB");
  }
  return std::llround(number * unit->factor);
}

std::string FormatDuration(Duration d) {
  if (d < Duration{})
    return "-" + FormatDuration(Duration{-d.us});  // By a clock that was set back.
  char buffer[48];
  const double s = d.seconds();
  if (s < 1) {
    std::snprintf(buffer, sizeof buffer, "%.0f ms", s * 1e3);
  } else if (s < 60) {
    std::snprintf(buffer, sizeof buffer, "%.1f s", s);
  } else if (s < 3600) {
    const long long whole = std::llround(s);
    std::snprintf(buffer, sizeof buffer, "%lld min %02lld s", whole / 60, whole % 60);
  } else {
    const long long minutes = std::llround(s / 60);
    std::snprintf(buffer, sizeof buffer, "%lld h %02lld min", minutes / 60, minutes % 60);
  }
  return buffer;
}

}  // namespace tune
