#include "tuner/page/chart.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

std::vector<Tick> WordTicks(const Axis& axis, size_t count_max) {
  const size_t count = axis.words.size();
  const size_t step = (count + count_max - 1) / std::max<size_t>(1, count_max);
  std::vector<Tick> ticks;
  for (size_t i = 0; i < count; i += std::max<size_t>(1, step)) {
    ticks.push_back({static_cast<double>(i), axis.words[i]});
  }
  return ticks;
}

std::vector<Tick> LinearTicks(const Axis& axis, size_t count_max) {
  const double span = axis.high - axis.low;
  double step = std::pow(10, std::floor(std::log10(span / static_cast<double>(count_max))));
  for (const double factor : {1.0, 2.0, 5.0, 10.0, 20.0}) {
    if (std::floor(axis.high / (step * factor)) - std::ceil(axis.low / (step * factor)) + 1 <=
        static_cast<double>(count_max)) {
      step *= factor;
      break;
    }
  }
  const double first = std::ceil(axis.low / step);
  const double count = std::floor(axis.high / step) - first + 1;
  // Doubles of this size and above have no fractions: two ticks in a row could be the same one.
  constexpr double kWholeMax = 1 / std::numeric_limits<double>::epsilon();
  const bool can_count = std::abs(first) < kWholeMax && count <= static_cast<double>(count_max);
  if (!can_count) return {{axis.low, ShortNumber(axis.low)}};
  std::vector<Tick> ticks;
  for (int i = 0; i < static_cast<int>(count); ++i) {
    const double n = first + i;
    ticks.push_back({n * step, ShortNumber(n == 0 ? 0 : n * step)});
  }
  if (ticks.size() < 2 && count_max < 10) return LinearTicks(axis, count_max + 1);
  return ticks;
}

std::vector<Tick> LogTicks(const Axis& axis, size_t count_max) {
  const auto first = static_cast<int>(std::ceil(std::log10(axis.low) - 1e-9));
  const auto last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
  const int decades = std::max(0, last - first + 1);
  std::vector<Tick> ticks;
  if (decades >= 2) {
    const int step = (decades + static_cast<int>(count_max) - 1) / static_cast<int>(count_max);
    for (int power = first; power <= last; power += step) {
      ticks.push_back({std::pow(10, power), ShortNumber(std::pow(10, power))});
    }
    return ticks;
  }
  for (int power = first - 1; power <= last; ++power) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, power);
      if (value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9)) continue;
      ticks.push_back({value, ShortNumber(value)});
    }
  }
  if (ticks.size() < 2) return LinearTicks(axis, count_max);
  while (ticks.size() > count_max) {
    size_t kept = 0;
    for (size_t i = 0; i < ticks.size(); i += 2) ticks[kept++] = ticks[i];
    ticks.resize(kept);
  }
  return ticks;
}

}  // namespace

double Axis::ShareOf(double value) const {
  if (scale == Scale::kLog) {
    return (std::log(value) - std::log(low)) / (std::log(high) - std::log(low));
  }
  return (value - low) / (high - low);
}

std::vector<Tick> TicksOf(const Axis& axis, size_t count_max) {
  count_max = std::max<size_t>(2, count_max);
  if (!axis.words.empty()) return WordTicks(axis, count_max);
  return axis.scale == Scale::kLog ? LogTicks(axis, count_max) : LinearTicks(axis, count_max);
}

bool AreAlike(double low, double high) {
  constexpr double kBits = 8 * std::numeric_limits<double>::epsilon();
  return high - low <= kBits * std::max(std::abs(low), std::abs(high));
}

Axis AxisFor(std::string label, Scale scale, double low, double high) {
  constexpr double kRoom = 0.03;
  Axis axis{std::move(label), scale, low, high};
  if (scale == Scale::kLog) {
    const double factor = AreAlike(low, high) ? 2 : std::pow(high / low, kRoom);
    axis.low = low / factor;
    axis.high = high * factor;
    return axis;
  }
  const double room =
      AreAlike(low, high) ? std::max(1e-6, std::abs(low) * 0.1) : (high - low) * kRoom;
  axis.low = low - room;
  axis.high = high + room;
  return axis;
}

}  // namespace tune
