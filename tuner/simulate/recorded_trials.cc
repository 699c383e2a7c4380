#include "tuner/simulate/recorded_trials.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace tune {
namespace {

class RecordedAttempt final : public AttemptCurve {
 public:
  RecordedAttempt(const RecordedCurve& curve, const std::vector<std::string>& metrics,
                  int64_t from_iteration)
      : curve_(curve), metrics_(metrics) {
    const auto& iterations = curve.iterations;
    next_ =
        static_cast<size_t>(std::upper_bound(iterations.begin(), iterations.end(), from_iteration) -
                            iterations.begin());
  }

  std::optional<TrialStep> Next() override {
    if (next_ == curve_.iterations.size()) return std::nullopt;
    TrialStep step;
    step.iteration = curve_.iterations[next_];
    step.seconds = curve_.seconds[next_];
    for (size_t m = 0; m < metrics_.size(); ++m) {
      const size_t at = next_ * metrics_.size() + m;
      if (curve_.was_reported[at]) step.metrics.emplace_back(metrics_[m], curve_.values[at]);
    }
    step.final = ++next_ == curve_.iterations.size();
    return step;
  }

 private:
  const RecordedCurve& curve_;
  const std::vector<std::string>& metrics_;
  size_t next_ = 0;
};

}  // namespace

size_t RecordedOrder::CurveOf(TrialNumber trial) {
  TUNE_CHECK(curve_count_ > 0);
  const auto index = static_cast<size_t>(trial.value);
  while (order_.size() <= index) {
    const size_t begin = order_.size();
    order_.resize(begin + curve_count_);
    const auto pass = order_.begin() + static_cast<ptrdiff_t>(begin);
    std::iota(pass, order_.end(), 0u);
    // Fisher and Yates, from the end.
    KeyedRandom random(seed_, "simulate/order", begin / curve_count_);
    for (size_t left = curve_count_; left > 1; --left) {
      std::swap(pass[static_cast<ptrdiff_t>(left - 1)],
                pass[static_cast<ptrdiff_t>(random.NextBelow(left))]);
    }
  }
  return order_[index];
}

RecordedTrials::RecordedTrials(const RecordedCurves& curves, const SearchSpace& space,
                               uint64_t seed)
    : curves_(curves), space_(space), seed_(seed), order_(curves.curves.size(), seed) {
  for (const RecordedCurve& curve : curves.curves) {
    points_.push_back(PointOf(curve.configuration));
    if (!curve.iterations.empty()) {
      iterations_max_ = std::max(iterations_max_, curve.iterations.back());
    }
  }
}

RecordedTrials::Point RecordedTrials::PointOf(const Configuration& configuration) const {
  const std::optional<UnitCells> cells = space_.CellsOf(configuration);
  TUNE_CHECK(cells.has_value());
  Point point;
  for (const auto& cell : *cells) {
    point.push_back(cell ? std::optional(cell->mid()) : std::nullopt);
  }
  return point;
}

double RecordedTrials::SquaredDistance(const Point& a, const Point& b) const {
  double sum = 0;
  for (size_t d = 0; d < a.size(); ++d) {
    if (!a[d] && !b[d]) continue;
    if (!a[d] || !b[d] || !space_.domain(d).is_ordered()) {
      sum += a[d] == b[d] ? 0 : 1;
    } else {
      sum += (*a[d] - *b[d]) * (*a[d] - *b[d]);
    }
  }
  return sum;
}

size_t RecordedTrials::CurveFor(TrialNumber trial, const Configuration& configuration) {
  const size_t own = order_.CurveOf(trial);
  if (curves_.curves[own].configuration == configuration) return own;
  const Point point = PointOf(configuration);
  std::vector<size_t> nearest;
  double least = 0;
  for (size_t i = 0; i < points_.size(); ++i) {
    const double squared = SquaredDistance(point, points_[i]);
    if (nearest.empty() || squared < least) {
      nearest = {i};
      least = squared;
    } else if (squared == least) {
      nearest.push_back(i);
    }
  }
  if (least > 0) {
    distances_[trial] = std::sqrt(least / static_cast<double>(std::max<size_t>(1, point.size())));
  }
  KeyedRandom random(seed_, "simulate/nearest", static_cast<uint64_t>(trial.value));
  return nearest[random.NextBelow(nearest.size())];
}

std::unique_ptr<AttemptCurve> RecordedTrials::Begin(const AttemptRef& attempt,
                                                    const Configuration& configuration,
                                                    int64_t from_iteration) {
  const size_t curve = CurveFor(attempt.trial, configuration);
  return std::make_unique<RecordedAttempt>(curves_.curves[curve], curves_.metrics, from_iteration);
}

RecordedTrials::Distance RecordedTrials::distance() const {
  Distance distance;
  for (const auto& [trial, d] : distances_) {
    ++distance.trials;
    distance.mean += d;
    distance.max = std::max(distance.max, d);
  }
  if (distance.trials > 0) distance.mean /= static_cast<double>(distance.trials);
  return distance;
}

}  // namespace tune
