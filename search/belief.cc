#include "search/belief.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/check.h"
#include "search/normal.h"

namespace tune {
namespace {

constexpr double kTrust = 0.75;     // The mass about the guess.
constexpr double kDeviation = 0.1;  // In parts of the domain.
constexpr double kStrength = 8;
// The rank correlation of nearness and success from which on a guess is trusted in full.
constexpr double kFullAgreement = 0.3;

// From 0; those alike share the mean of theirs.
std::vector<double> RanksOf(const std::vector<double>& values) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] < values[b]; });
  std::vector<double> ranks(values.size());
  for (size_t first = 0; first < order.size();) {
    size_t end = first;
    while (end < order.size() && values[order[end]] == values[order[first]]) ++end;
    for (size_t i = first; i < end; ++i) {
      ranks[order[i]] = static_cast<double>(first + end - 1) / 2;
    }
    first = end;
  }
  return ranks;
}

// Spearman's; 0 where one of them is all alike.
double RankCorrelation(const std::vector<double>& a, const std::vector<double>& b) {
  const std::vector<double> x = RanksOf(a);
  const std::vector<double> y = RanksOf(b);
  const double middle = (static_cast<double>(x.size()) - 1) / 2;
  double xy = 0;
  double xx = 0;
  double yy = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    xy += (x[i] - middle) * (y[i] - middle);
    xx += (x[i] - middle) * (x[i] - middle);
    yy += (y[i] - middle) * (y[i] - middle);
  }
  return xx > 0 && yy > 0 ? xy / std::sqrt(xx * yy) : 0;
}

}  // namespace

Belief::Belief(const Domain& domain) : is_ordered_(domain.is_ordered()) {
  TUNE_CHECK(domain.guess().has_value());
  cell_ = *domain.ToUnit(*domain.guess());
  mass_ = NormalCdf((1 - cell_.mid()) / kDeviation) - NormalCdf((0 - cell_.mid()) / kDeviation);
}

Belief::LogSlope Belief::LogDensity(double x) const {
  if (!is_ordered_) {
    const bool is_guess = x >= cell_.lo && x < cell_.hi;
    const double above = is_guess ? kTrust / (cell_.hi - cell_.lo) : 0;
    return {std::log(above + 1 - kTrust), 0};
  }
  const double z = (x - cell_.mid()) / kDeviation;
  const double about = kTrust * NormalDensity(z) / (kDeviation * mass_);
  const double density = about + 1 - kTrust;
  return {std::log(density), -z / kDeviation * about / density};
}

double Belief::Cdf(double x) const {
  double about = 0;
  if (is_ordered_) {
    about =
        (NormalCdf((x - cell_.mid()) / kDeviation) - NormalCdf((0 - cell_.mid()) / kDeviation)) /
        mass_;
  } else {
    about = std::clamp((x - cell_.lo) / (cell_.hi - cell_.lo), 0.0, 1.0);
  }
  return kTrust * about + (1 - kTrust) * x;
}

double Belief::Quantile(double u) const {
  double lo = 0;
  double hi = 1;
  for (int halving = 0; halving < 52; ++halving) {
    const double mid = lo + (hi - lo) / 2;
    (Cdf(mid) < u ? lo : hi) = mid;
  }
  return lo + (hi - lo) / 2;
}

Beliefs::Beliefs(const UnitSpace& space) : beliefs_(space.size()) {
  for (size_t d = 0; d < space.size(); ++d) {
    if (!space.domain(d).guess()) continue;
    beliefs_[d].emplace(space.domain(d));
    is_empty_ = false;
  }
}

double Beliefs::LogDensity(const UnitCells& cells) const {
  double sum = 0;
  for (size_t d = 0; d < cells.size(); ++d) {
    if (beliefs_[d] && cells[d]) sum += beliefs_[d]->LogDensity(cells[d]->mid()).value;
  }
  return sum;
}

double Beliefs::WeightOf(const std::vector<double>& log_densities,
                         const std::vector<double>& losses) {
  TUNE_CHECK(log_densities.size() == losses.size());
  const auto count = static_cast<double>(losses.size());
  if (losses.empty()) return kStrength;
  const double agreement = -RankCorrelation(log_densities, losses);
  return kStrength / count * std::clamp(agreement / kFullAgreement, 0.0, 1.0);
}

}  // namespace tune
