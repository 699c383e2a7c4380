// Trials that replay recorded curves.
//
// A search that does not learn is replaced: trial n gets the n-th recorded curve of an order drawn
// with the sweep's seed, none twice until all were had (RecordedSearcher). One that learns suggests
// as ever, and its trial replays the curve of the nearest recorded configuration: least root mean
// square over the parameters of the difference in the unit space, where two values of a choice, and
// a parameter that only one of the two has, are 1 apart. Of several curves with one configuration a
// trial has one by a keyed draw.
//
// A trial that outlives its record ends there, as completed.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "search/searcher.h"
#include "search/unit_space.h"
#include "tuner/simulate/recorded_curves.h"
#include "tuner/simulate/trial_curves.h"

namespace tune {

// Which recorded curve a trial has: a permutation of all of them for each pass through the record.
class RecordedOrder {
 public:
  RecordedOrder(size_t curve_count, uint64_t seed) : curve_count_(curve_count), seed_(seed) {}
  // Requires that there is a curve.
  size_t CurveOf(TrialNumber trial);

 private:
  size_t curve_count_;
  uint64_t seed_;
  std::vector<uint32_t> order_;  // By trial, as far as was asked for.
};

class RecordedSearcher final : public Searcher {
 public:
  // `curves` outlives it. `is_unique`: the space is exhausted when all were had.
  RecordedSearcher(const RecordedCurves& curves, uint64_t seed, bool is_unique)
      : curves_(curves), order_(curves.curves.size(), seed), is_unique_(is_unique) {}

  std::optional<Configuration> Suggest(TrialNumber number) override {
    const bool is_had_again = number.value >= static_cast<int64_t>(curves_.curves.size());
    if (is_unique_ && is_had_again) return std::nullopt;
    return curves_.curves[order_.CurveOf(number)].configuration;
  }
  void Restore(TrialNumber, const Configuration&) override {}
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber, Objectives, bool) override {}
  bool LearnsFromResults() const override { return false; }
  std::string DebugString() const override { return "recorded curves"; }

 private:
  const RecordedCurves& curves_;
  RecordedOrder order_;
  bool is_unique_;
};

class RecordedTrials final : public TrialCurves {
 public:
  // `curves` outlives it. Their configurations are in the space.
  RecordedTrials(const RecordedCurves& curves, const SearchSpace& space, uint64_t seed);

  std::unique_ptr<AttemptCurve> Begin(const AttemptRef& attempt, const Configuration& configuration,
                                      int64_t from_iteration) override;
  int64_t iterations_max() const override { return iterations_max_; }

  // How far the trials' configurations were from those whose curves they replayed.
  struct Distance {
    int64_t trials = 0;  // Whose configuration was not recorded.
    double mean = 0;     // Of those.
    double max = 0;
  };
  Distance distance() const;

 private:
  // Of a curve in each dimension: its place, or nothing.
  using Point = std::vector<std::optional<double>>;

  Point PointOf(const Configuration& configuration) const;
  double SquaredDistance(const Point& a, const Point& b) const;
  size_t CurveFor(TrialNumber trial, const Configuration& configuration);

  const RecordedCurves& curves_;
  UnitSpace space_;
  uint64_t seed_;
  RecordedOrder order_;
  std::vector<Point> points_;  // Of the curves.
  int64_t iterations_max_ = 0;
  std::map<TrialNumber, double> distances_;
};

}  // namespace tune
