#include "tuner/lane_speeds.h"

#include <algorithm>
#include <cmath>

namespace tune {
namespace {

constexpr double kByChance = 0.05;

double Median(std::deque<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<LaneLimit> LaneLimitOf(std::vector<LaneSpeed> speeds) {
  if (speeds.empty()) return std::nullopt;
  std::sort(speeds.begin(), speeds.end(),
            [](const LaneSpeed& a, const LaneSpeed& b) { return a.lanes < b.lanes; });
  const auto is_slower = [](const LaneSpeed& a, const LaneSpeed& b) {
    return a.images_per_second < b.images_per_second;
  };
  const double fastest =
      std::max_element(speeds.begin(), speeds.end(), is_slower)->images_per_second;
  const auto last_fast = std::find_if(speeds.rbegin(), speeds.rend(), [=](const LaneSpeed& speed) {
    return speed.images_per_second >= fastest * (1 - kByChance);
  });
  if (last_fast == speeds.rbegin()) return std::nullopt;
  return LaneLimit{*last_fast, *std::prev(last_fast)};
}

std::string Describe(const LaneLimit& limit) {
  const auto whole = [](double number) { return std::to_string(std::llround(number)); };
  return std::to_string(limit.slower.lanes) + " were slower (" +
         whole(limit.slower.images_per_second) + " against " + whole(limit.kept.images_per_second) +
         " images/s)";
}

void LaneSpeeds::Know(const LaneSpeedRow& row) {
  measured_[row.kind][row.speed.lanes].known = row.speed;
}

std::optional<LaneSpeedRow> LaneSpeeds::Measure(const LaneKind& kind, int64_t lanes,
                                                double images_per_second) {
  Measured& measured = measured_[kind][lanes];
  measured.reports.push_back(images_per_second);
  if (static_cast<int64_t>(measured.reports.size()) > kReportsMax) measured.reports.pop_front();
  const auto count = static_cast<int64_t>(measured.reports.size());
  if (count < kReportsMin) return std::nullopt;
  measured.known = LaneSpeed{lanes, Median(measured.reports), count};
  return LaneSpeedRow{kind, *measured.known};
}

std::vector<LaneSpeed> LaneSpeeds::Of(const LaneKind& kind) const {
  std::vector<LaneSpeed> speeds;
  const auto found = measured_.find(kind);
  if (found == measured_.end()) return speeds;
  for (const auto& [lanes, measured] : found->second) {
    if (measured.known) speeds.push_back(*measured.known);
  }
  return speeds;
}

}  // namespace tune
