#include "search/importance.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "search/dependence_test.h"
#include "search/regression_forest.h"
#include "search/unit_space.h"

namespace tune {
namespace {

constexpr size_t kBins = 64;
constexpr size_t kConfigurations = 4000;
constexpr size_t kResamples = 20;

// Where a parameter's trials lie: its values' cells, or bins of equal length.
struct Support {
  std::vector<double> points;  // In [0, 1].
  bool is_ordered = false;
};

Support SupportOf(const Domain& domain) {
  Support support{{}, domain.is_ordered()};
  const std::optional<uint64_t> count = domain.Count();
  if (count && (*count <= kBins || !domain.is_ordered())) {
    for (uint64_t i = 0; i < *count; ++i) {
      support.points.push_back(domain.ToUnit(domain.At(i))->mid());
    }
    return support;
  }
  for (size_t i = 0; i < kBins; ++i) {
    support.points.push_back((static_cast<double>(i) + 0.5) / kBins);
  }
  return support;
}

// The one nearest to u.
size_t NearestPoint(const Support& support, double u) {
  const auto above = std::lower_bound(support.points.begin(), support.points.end(), u);
  if (above == support.points.begin()) return 0;
  const auto index = static_cast<size_t>(above - support.points.begin());
  if (above == support.points.end()) return index - 1;
  return u - support.points[index - 1] <= *above - u ? index - 1 : index;
}

// Scott's bandwidth, with a floor of about a bin.
double BandwidthOf(const Support& support, const std::vector<size_t>& at) {
  double mean = 0;
  for (const size_t point : at) mean += support.points[point];
  mean /= static_cast<double>(at.size());
  double squares = 0;
  for (const size_t point : at) {
    squares += (support.points[point] - mean) * (support.points[point] - mean);
  }
  const double deviation = std::sqrt(squares / static_cast<double>(at.size()));
  return std::max(1.06 * deviation * std::pow(static_cast<double>(at.size()), -0.2), 1.0 / kBins);
}

// The mass of each point. Values without an order are counted, those with one smoothed; each trial
// keeps its whole mass inside of [0, 1].
std::vector<double> MassOf(const Support& support, const std::vector<size_t>& at,
                           double bandwidth) {
  const size_t size = support.points.size();
  std::vector<double> counts(size, 0.0);
  for (const size_t point : at) counts[point] += 1 / static_cast<double>(at.size());
  if (!support.is_ordered) return counts;
  std::vector<double> mass(size, 0.0);
  std::vector<double> kernel(size);
  for (size_t i = 0; i < size; ++i) {
    if (counts[i] == 0) continue;
    double sum = 0;
    for (size_t j = 0; j < size; ++j) {
      const double z = (support.points[j] - support.points[i]) / bandwidth;
      sum += kernel[j] = std::exp(-z * z / 2);
    }
    for (size_t j = 0; j < size; ++j) mass[j] += counts[i] * kernel[j] / sum;
  }
  return mass;
}

// Pearson's divergence of the best from all. The best are among all and smoothed alike, so that the
// quotient is at most their numbers' one.
double DivergenceOf(const Support& support, const std::vector<size_t>& all,
                    const std::vector<size_t>& best) {
  const double bandwidth = BandwidthOf(support, best);
  const std::vector<double> all_mass = MassOf(support, all, bandwidth);
  const std::vector<double> best_mass = MassOf(support, best, bandwidth);
  double divergence = 0;
  for (size_t i = 0; i < all_mass.size(); ++i) {
    if (!(all_mass[i] > 0)) continue;
    const double excess = best_mass[i] / all_mass[i] - 1;
    divergence += all_mass[i] * excess * excess;
  }
  return divergence;
}

// Lies outside of the unit interval: a tree can tell it from every value.
constexpr double kAbsent = -1;

std::vector<double> PointOf(const UnitCells& cells) {
  std::vector<double> point;
  for (const auto& cell : cells) point.push_back(cell ? cell->mid() : kAbsent);
  return point;
}

// Random configurations of the space, as points; fewer where the constraints allow few.
std::vector<std::vector<double>> DrawPoints(const UnitSpace& space) {
  std::vector<std::vector<double>> points;
  for (uint64_t i = 0; i < 20 * kConfigurations && points.size() < kConfigurations; ++i) {
    KeyedRandom random(0, "importance", i);
    std::vector<double> u(space.size());
    for (double& x : u) x = random.NextDouble();
    const Configuration configuration = space.At(u);
    if (space.space().Allows(configuration))
      points.push_back(PointOf(*space.CellsOf(configuration)));
  }
  return points;
}

// Trials that diverged must not hide the differences between the others: what is more than ten
// times as far above the median as the best is below it counts as just that.
std::vector<double> Bounded(std::span<const double> losses) {
  std::vector<double> sorted;
  for (const double loss : losses) {
    if (std::isfinite(loss)) sorted.push_back(loss);
  }
  if (sorted.empty()) return std::vector<double>(losses.size(), 0.0);
  std::sort(sorted.begin(), sorted.end());
  const double best = sorted.front();
  const double median = sorted[sorted.size() / 2];
  double most = median > best ? median + 10 * (median - best) : sorted.back();
  if (most == best) most = best + 1;  // For infinities.
  std::vector<double> bounded;
  for (const double loss : losses) bounded.push_back(std::clamp(loss, best, most));
  return bounded;
}

// What each parameter says about these losses.
std::vector<double> Divergences(const std::vector<Support>& supports,
                                const std::vector<std::vector<double>>& trials,
                                const std::vector<double>& losses,
                                const std::vector<std::vector<double>>& points) {
  const RegressionForest forest(trials, losses, 0);
  std::vector<double> predicted;
  for (const auto& point : points) predicted.push_back(forest.Predict(point));
  std::vector<size_t> order(points.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return predicted[a] < predicted[b]; });
  const size_t best_count = (points.size() + 9) / 10;
  std::vector<double> divergences;
  for (size_t d = 0; d < supports.size(); ++d) {
    std::vector<size_t> all;
    size_t in_best = 0;
    for (size_t rank = 0; rank < order.size(); ++rank) {
      const double u = points[order[rank]][d];
      if (u == kAbsent) continue;
      all.push_back(NearestPoint(supports[d], u));
      if (rank < best_count) ++in_best;
    }
    const auto own_count = static_cast<ptrdiff_t>((all.size() + 9) / 10);
    const std::vector<size_t> best(all.begin(), all.begin() + own_count);
    const double part = static_cast<double>(in_best) / static_cast<double>(best_count);
    divergences.push_back(in_best == 0 ? 0.0 : part * DivergenceOf(supports[d], all, best));
  }
  return divergences;
}

// The parts of a whole; all 0 where there is none.
std::vector<double> SharesOf(std::vector<double> divergences) {
  const double sum = std::accumulate(divergences.begin(), divergences.end(), 0.0);
  for (double& divergence : divergences) divergence = sum > 0 ? divergence / sum : 0.0;
  return divergences;
}

// Trials and what is asked of them.
struct Question {
  std::vector<Support> supports;
  std::vector<std::vector<double>> trials;
  std::vector<double> losses;
  std::vector<std::vector<double>> points;

  std::vector<double> Divergences() const {
    const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
    if (*least == *most) return std::vector<double>(supports.size(), 0.0);
    return tune::Divergences(supports, trials, losses, points);
  }
};

// The shares of trials drawn anew, each parameter's in order.
std::vector<std::vector<double>> ResampledShares(const Question& question) {
  std::vector<std::vector<double>> shares(question.supports.size());
  for (size_t i = 0; i < kResamples; ++i) {
    KeyedRandom random(0, "importance again", i);
    Question again = question;
    for (size_t n = 0; n < question.trials.size(); ++n) {
      const size_t drawn = random.NextBelow(question.trials.size());
      again.trials[n] = question.trials[drawn];
      again.losses[n] = question.losses[drawn];
    }
    const std::vector<double> drawn = SharesOf(again.Divergences());
    for (size_t d = 0; d < drawn.size(); ++d) shares[d].push_back(drawn[d]);
  }
  for (auto& of_one : shares) std::sort(of_one.begin(), of_one.end());
  return shares;
}

// Of each parameter whether the losses depend on it. Of many trials the first ones are enough.
std::vector<bool> WhatLossesDependOn(const Question& question) {
  constexpr size_t kTrialsMax = 400;
  const size_t n = std::min(question.trials.size(), kTrialsMax);
  const std::span<const double> losses(question.losses.data(), n);
  const uint64_t deals = DealsFor(question.supports.size());
  std::vector<double> p_values;
  for (size_t d = 0; d < question.supports.size(); ++d) {
    ParameterValues parameter{{}, question.supports[d].is_ordered};
    for (size_t i = 0; i < n; ++i) {
      const double u = question.trials[i][d];
      parameter.values.push_back(u == kAbsent ? std::nullopt : std::optional(u));
    }
    p_values.push_back(DependencePValue(parameter, losses, deals));
  }
  return ClearByHolm(p_values);
}

}  // namespace

std::vector<ParameterImportance> Importances(const SearchSpace& space,
                                             std::span<const Configuration> configurations,
                                             std::span<const double> losses) {
  TUNE_CHECK(configurations.size() == losses.size() && losses.size() >= kImportanceTrialsMin);
  const UnitSpace unit(space);
  std::vector<Support> supports;
  for (size_t d = 0; d < unit.size(); ++d) supports.push_back(SupportOf(unit.domain(d)));
  std::vector<std::vector<double>> trials;
  for (const Configuration& configuration : configurations) {
    const auto cells = unit.CellsOf(configuration);
    TUNE_CHECK(cells.has_value());
    trials.push_back(PointOf(*cells));
  }
  std::vector<std::vector<double>> points = DrawPoints(unit);
  if (points.size() < kConfigurations) points.insert(points.end(), trials.begin(), trials.end());
  const Question question{std::move(supports), std::move(trials), Bounded(losses),
                          std::move(points)};
  const std::vector<double> shares = SharesOf(question.Divergences());
  const std::vector<std::vector<double>> again = ResampledShares(question);
  const std::vector<bool> is_clear = WhatLossesDependOn(question);
  std::vector<ParameterImportance> importances;
  for (size_t d = 0; d < unit.size(); ++d) {
    // Of 20 in order the second and the last but one: a twentieth lies beyond each. Of few trials
    // those drawn anew may all lie to one side of the trials themselves.
    importances.push_back({unit.name(d), shares[d], std::min(shares[d], again[d][1]),
                           std::max(shares[d], again[d][kResamples - 2]), is_clear[d]});
  }
  return importances;
}

}  // namespace tune
