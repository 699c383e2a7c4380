#include "search/importance.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "search/dependence_test.h"
#include "search/partial_losses.h"
#include "search/regression_forest.h"
#include "search/unit_space.h"

namespace tune {
namespace {

// Random configurations of the space, whose losses the forest is asked for.
constexpr size_t kConfigurations = 2000;
constexpr size_t kConfigurationsAgain = 500;  // For each of the trials drawn anew.
constexpr size_t kResamples = 20;

// Lies outside of the unit interval: a tree can tell it from every value.
constexpr double kAbsent = -1;

std::vector<double> PointOf(const UnitCells& cells) {
  std::vector<double> point;
  for (const auto& cell : cells) point.push_back(cell ? cell->mid() : kAbsent);
  return point;
}

// A random configuration, and for each parameter the same one with that parameter drawn anew: with
// what exists only under a condition on it. Of those only what differs is kept: of a thousand
// parameters whole points would take 16 GB.
struct Probe {
  struct Difference {
    size_t parameter = 0;
    double value = 0;
  };
  std::vector<double> point;
  std::vector<std::vector<Difference>> others;
};

std::vector<Probe::Difference> DifferencesOf(const std::vector<double>& point,
                                             const std::vector<double>& other) {
  std::vector<Probe::Difference> differences;
  for (size_t d = 0; d < point.size(); ++d) {
    if (other[d] != point[d]) differences.push_back({d, other[d]});
  }
  return differences;
}

// Draws at most 50 times for one that the constraints allow; then any.
std::vector<double> DrawAllowed(const UnitSpace& space, KeyedRandom& random, std::vector<double>& u,
                                std::optional<size_t> only) {
  std::optional<Configuration> configuration;
  for (int draw = 0; draw < 50; ++draw) {
    for (size_t d = 0; d < u.size(); ++d) {
      if (!only || *only == d) u[d] = random.NextDouble();
    }
    configuration = space.At(u);
    if (space.space().Allows(*configuration)) break;
  }
  return PointOf(*space.CellsOf(*configuration));
}

std::vector<Probe> DrawProbes(const UnitSpace& space) {
  std::vector<Probe> probes;
  for (uint64_t i = 0; i < kConfigurations; ++i) {
    KeyedRandom random(0, "importance", i);
    std::vector<double> u(space.size());
    Probe probe{DrawAllowed(space, random, u, std::nullopt), {}};
    for (size_t d = 0; d < space.size(); ++d) {
      std::vector<double> other = u;
      probe.others.push_back(DifferencesOf(probe.point, DrawAllowed(space, random, other, d)));
    }
    probes.push_back(std::move(probe));
  }
  return probes;
}

// The largest loss that is looked at: trials that diverged, whose losses lie more than a hundred
// times as far above the median as the best is below it, would hide the differences between others.
double LargestOf(std::span<const double> losses) {
  std::vector<double> sorted;
  for (const double loss : losses) {
    if (std::isfinite(loss)) sorted.push_back(loss);
  }
  if (sorted.empty()) return std::numeric_limits<double>::infinity();
  std::sort(sorted.begin(), sorted.end());
  const double median = sorted[sorted.size() / 2];
  return median > sorted.front() ? median + 100 * (median - sorted.front()) : sorted.back();
}

// Of each parameter its total effect on these losses: Jansen's estimate, half the mean square of
// what drawing it anew changes.
std::vector<double> Effects(const std::vector<std::vector<double>>& trials,
                            const std::vector<double>& losses, std::span<const Probe> probes) {
  const RegressionForest forest(trials, losses, 0);
  std::vector<double> effects(trials.front().size(), 0.0);
  for (const Probe& probe : probes) {
    const double loss = forest.Predict(probe.point);
    std::vector<double> other = probe.point;
    for (size_t d = 0; d < effects.size(); ++d) {
      if (probe.others[d].empty()) continue;
      for (const auto& [parameter, value] : probe.others[d]) other[parameter] = value;
      const double change = forest.Predict(other) - loss;
      effects[d] += change * change / 2;
      for (const auto& [parameter, value] : probe.others[d]) {
        other[parameter] = probe.point[parameter];
      }
    }
  }
  return effects;
}

// The parts of a whole; all 0 where there is none.
std::vector<double> SharesOf(std::vector<double> effects) {
  const double sum = std::accumulate(effects.begin(), effects.end(), 0.0);
  for (double& effect : effects) effect = sum > 0 ? effect / sum : 0.0;
  return effects;
}

// Trials and what is asked of them.
struct Question {
  std::vector<bool> is_ordered;  // Of each parameter.
  std::vector<std::vector<double>> trials;
  std::vector<double> losses;

  std::vector<double> Shares(std::span<const Probe> probes) const {
    const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
    if (*least == *most) return std::vector<double>(is_ordered.size(), 0.0);
    return SharesOf(Effects(trials, losses, probes));
  }
};

// The shares of trials drawn anew, each parameter's in order.
std::vector<std::vector<double>> ResampledShares(const Question& question,
                                                 std::span<const Probe> probes) {
  std::vector<std::vector<double>> shares(question.is_ordered.size());
  for (size_t i = 0; i < kResamples; ++i) {
    KeyedRandom random(0, "importance again", i);
    Question again = question;
    for (size_t n = 0; n < question.trials.size(); ++n) {
      const size_t drawn = random.NextBelow(question.trials.size());
      again.trials[n] = question.trials[drawn];
      again.losses[n] = question.losses[drawn];
    }
    const std::vector<double> drawn = again.Shares(probes);
    for (size_t d = 0; d < drawn.size(); ++d) shares[d].push_back(drawn[d]);
  }
  for (auto& of_one : shares) std::sort(of_one.begin(), of_one.end());
  return shares;
}

// Whether the losses depend on a parameter by itself, among the trials that have it: whether they
// do is what its condition says. Of many trials the first ones are enough.
class DependenceQuestion {
 public:
  explicit DependenceQuestion(const Question& question)
      : question_(question),
        trials_(question.trials.begin(),
                question.trials.begin() +
                    static_cast<ptrdiff_t>(std::min(question.trials.size(), kTrialsMax))),
        losses_(question.losses.begin(),
                question.losses.begin() + static_cast<ptrdiff_t>(trials_.size())),
        own_(trials_, losses_) {}

  // Of each parameter. `shares_low`: the low ends of their shares.
  std::vector<bool> Answer(const std::vector<double>& shares_low) const {
    std::vector<double> beside_others, of_own;
    for (size_t d = 0; d < question_.is_ordered.size(); ++d) {
      std::vector<size_t> members;
      for (size_t i = 0; i < trials_.size(); ++i) {
        if (trials_[i][d] != kAbsent) members.push_back(i);
      }
      const bool is_testable = members.size() >= 2;
      beside_others.push_back(is_testable ? PValue(d, members, LeftBeside(d, members)) : 1.0);
      of_own.push_back(is_testable ? PValue(d, members, own_.Of(d, members)) : 1.0);
    }
    std::vector<bool> is_clear = ClearByHolm(beside_others);
    const std::vector<bool> is_own = ClearByHolm(of_own);
    for (size_t d = 0; d < is_clear.size(); ++d) {
      is_clear[d] = is_clear[d] || (is_own[d] && shares_low[d] >= kLargeShare);
    }
    return is_clear;
  }

 private:
  static constexpr size_t kTrialsMax = 200;
  // Measured on sweeps of tpe and gp (tests/search/importance_test.cc): a parameter without effect
  // hardly comes to it.
  static constexpr double kLargeShare = 0.2;

  std::vector<double> LeftBeside(size_t parameter, const std::vector<size_t>& members) const {
    std::vector<TrialPoint> trials;
    std::vector<double> losses;
    for (const size_t i : members) {
      trials.push_back(trials_[i]);
      losses.push_back(losses_[i]);
    }
    return LeftByOthers(trials, losses, parameter);
  }

  double PValue(size_t parameter, const std::vector<size_t>& members,
                const std::vector<double>& left) const {
    ParameterValues values{{}, question_.is_ordered[parameter]};
    for (const size_t i : members) values.values.emplace_back(trials_[i][parameter]);
    return DependencePValue(values, left, DealsFor(question_.is_ordered.size()));
  }

  const Question& question_;
  std::vector<TrialPoint> trials_;
  std::vector<double> losses_;
  LeftOfOwn own_;
};

}  // namespace

std::vector<ParameterImportance> Importances(const SearchSpace& space,
                                             std::span<const Configuration> configurations,
                                             std::span<const double> losses) {
  TUNE_CHECK(configurations.size() == losses.size() && losses.size() >= kImportanceTrialsMin);
  const UnitSpace unit(space);
  Question question;
  const double largest = LargestOf(losses);
  for (size_t i = 0; i < losses.size(); ++i) {
    if (losses[i] > largest) continue;
    const auto cells = unit.CellsOf(configurations[i]);
    TUNE_CHECK(cells.has_value());
    question.trials.push_back(PointOf(*cells));
    question.losses.push_back(std::isfinite(losses[i]) ? losses[i] : 0.0);  // All are infinite.
  }
  for (size_t d = 0; d < unit.size(); ++d) {
    question.is_ordered.push_back(unit.domain(d).is_ordered());
  }
  const std::vector<Probe> probes = DrawProbes(unit);
  const std::vector<double> shares = question.Shares(probes);
  const std::vector<std::vector<double>> again =
      ResampledShares(question, std::span(probes).first(kConfigurationsAgain));
  std::vector<ParameterImportance> importances;
  std::vector<double> shares_low;
  for (size_t d = 0; d < unit.size(); ++d) {
    // Of 20 in order the second and the last but one: a twentieth lies beyond each. Of few trials
    // those drawn anew may all lie to one side of the trials themselves.
    shares_low.push_back(std::min(shares[d], again[d][1]));
    importances.push_back({unit.name(d), shares[d], shares_low[d],
                           std::max(shares[d], again[d][kResamples - 2]), false});
  }
  if (importances.empty()) return importances;
  const std::vector<bool> is_clear = DependenceQuestion(question).Answer(shares_low);
  for (size_t d = 0; d < unit.size(); ++d) importances[d].is_clear = is_clear[d];
  return importances;
}

}  // namespace tune
