// How long trials of a sweep usually take between two reports, so that one that hangs is noticed
// where nobody set a limit.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstddef>
#include <optional>
#include <vector>

#include "core/time.h"

namespace tune {

class ReportPace {
 public:
  // The time between two reports of an attempt, or from its beginning to the first.
  void Add(Duration gap) {
    if (gaps_.size() < kGapsMax) {
      gaps_.push_back(gap);
    } else {
      gaps_[next_] = gap;
      next_ = (next_ + 1) % kGapsMax;
    }
    std::vector<Duration> sorted = gaps_;
    const auto middle = sorted.begin() + static_cast<ptrdiff_t>(sorted.size() / 2);
    std::nth_element(sorted.begin(), middle, sorted.end());
    median_ = *middle;
  }

  // Of the latest ones; nothing before there are enough of them.
  std::optional<Duration> median() const {
    return gaps_.size() < kGapsMin ? std::nullopt : std::optional(median_);
  }

  // Who is silent for longer may hang: ten times the median, and long enough for a hiccup.
  std::optional<Duration> patience() const {
    if (gaps_.size() < kGapsMin) return std::nullopt;
    return std::max(Duration{10 * median_.us}, kPatienceMin);
  }

 private:
  static constexpr size_t kGapsMin = 5;
  static constexpr size_t kGapsMax = 51;
  static constexpr Duration kPatienceMin = Seconds(10);

  std::vector<Duration> gaps_;  // A ring.
  size_t next_ = 0;
  Duration median_;
};

// Until its first report a program loads its data: that has a pace of its own.
struct ReportPaces {
  ReportPace first;
  ReportPace later;

  ReportPace& Of(bool has_reported) { return has_reported ? later : first; }
  const ReportPace& Of(bool has_reported) const { return has_reported ? later : first; }
};

}  // namespace tune
