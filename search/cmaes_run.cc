#include "search/cmaes_run.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "search/cell_margin.h"

namespace tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
// Differences in the unit cube that no hyperparameter is known to.
constexpr double kSmallestDeviation = 1e-6;

Eigen::VectorXd OrderedPart(const CmaLayout& layout, const std::vector<double>& point) {
  Eigen::VectorXd x(static_cast<Eigen::Index>(layout.ordered.size()));
  for (size_t i = 0; i < layout.ordered.size(); ++i) {
    x[static_cast<Eigen::Index>(i)] = point[layout.ordered[i]];
  }
  return x;
}

// Back into [0, 1], as often as it takes: 1.2 becomes 0.8.
double Reflected(double u) {
  const double folded = std::fmod(std::fabs(u), 2.0);
  return folded > 1 ? 2 - folded : folded;
}

UnitCell CellAt(const Domain& domain, double u) {
  return *domain.ToUnit(domain.FromUnit(std::clamp(u, 0.0, 1.0)));
}

}  // namespace

CmaLayout::CmaLayout(const UnitSpace& space) {
  for (size_t d = 0; d < space.size(); ++d) {
    const Domain& domain = space.domain(d);
    if (domain.is_ordered()) {
      ordered.push_back(d);
      continue;
    }
    Choice choice{d, {}};
    for (uint64_t i = 0; i < *domain.Count(); ++i) {
      choice.cells.push_back(domain.CellAt(i));
    }
    choices.push_back(std::move(choice));
  }
}

CmaRun::CmaRun(const UnitSpace& space, const CmaLayout& layout, const Start& start)
    : space_(space),
      layout_(layout),
      with_margin_(start.with_margin),
      distribution_(OrderedPart(layout, start.point), start.sigma, start.population),
      stretch_(Eigen::VectorXd::Ones(static_cast<Eigen::Index>(layout.ordered.size()))),
      best_(kInfinity) {
  for (const CmaLayout::Choice& choice : layout_.choices) {
    std::vector<double> shares;
    for (const UnitCell& cell : choice.cells) shares.push_back(cell.hi - cell.lo);
    shares_.push_back(std::move(shares));
  }
  KeepMargins();
}

size_t CmaRun::Choose(size_t choice, double u) const {
  const std::vector<double>& shares = shares_[choice];
  size_t chosen = 0;
  for (double sum = shares[0]; chosen + 1 < shares.size() && u >= sum; sum += shares[chosen]) {
    ++chosen;
  }
  return chosen;
}

CmaRun::Sample CmaRun::Draw(KeyedRandom& random) const {
  Sample sample;
  sample.point.resize(space_.size());
  for (size_t c = 0; c < layout_.choices.size(); ++c) {
    const CmaLayout::Choice& choice = layout_.choices[c];
    sample.chosen.push_back(Choose(c, random.NextDouble()));
    sample.point[choice.dimension] = choice.cells[sample.chosen.back()].mid();
  }
  sample.x = distribution_.Draw(random);
  for (Eigen::Index i = 0; i < sample.x.size(); ++i) {
    const size_t dimension = layout_.ordered[static_cast<size_t>(i)];
    const double mean = distribution_.mean()[i];
    const double u = mean + stretch_[i] * (sample.x[i] - mean);
    // The outermost values of a discrete domain reach as far as one likes.
    sample.point[dimension] =
        space_.domain(dimension).is_discrete() ? std::clamp(u, 0.0, 1.0) : Reflected(u);
  }
  return sample;
}

void CmaRun::Tell(Sample sample, double loss) {
  ++told_count_;
  told_.push_back({std::move(sample), loss});
  if (static_cast<int64_t>(told_.size()) == population()) Learn();
}

void CmaRun::Learn() {
  // Equal losses stay in the order in which they were told.
  std::stable_sort(told_.begin(), told_.end(),
                   [](const Told& a, const Told& b) { return a.loss < b.loss; });
  // A generation in which everything failed teaches nothing.
  if (told_.front().loss < kInfinity) {
    std::vector<Eigen::VectorXd> ranked;
    for (const Told& told : told_) ranked.push_back(told.sample.x);
    distribution_.Learn(ranked);
    LearnChoices();
    KeepMargins();
  }
  if (told_.front().loss < best_) {
    best_ = told_.front().loss;
    best_generation_ = distribution_.generation();
  }
  told_.clear();
}

void CmaRun::LearnChoices() {
  constexpr double kRate = 0.2;
  const auto count = static_cast<double>(layout_.choices.size());
  for (size_t c = 0; c < shares_.size(); ++c) {
    std::vector<double>& shares = shares_[c];
    if (shares.size() < 2) continue;
    for (double& share : shares) share *= 1 - kRate;
    for (size_t rank = 0; rank < told_.size(); ++rank) {
      shares[told_[rank].sample.chosen[c]] += kRate * distribution_.WeightOf(rank);
    }
    // With the floor, each draw has a chance of 0.27 at most to leave what all agree on.
    const double floor = (1 - std::pow(0.73, 1 / count)) / (static_cast<double>(shares.size()) - 1);
    double sum = 0;
    for (double& share : shares) sum += share = std::max(share, floor);
    for (double& share : shares) share /= sum;
  }
}

void CmaRun::KeepMargins() {
  if (!with_margin_) return;
  const double margin =
      1 / static_cast<double>(population() * static_cast<int64_t>(layout_.dimensions()));
  for (Eigen::Index i = 0; i < stretch_.size(); ++i) {
    const Domain& domain = space_.domain(layout_.ordered[static_cast<size_t>(i)]);
    if (!domain.is_discrete()) continue;
    const double mean = distribution_.mean()[i];
    const double deviation = distribution_.DeviationOf(i);
    if (!(deviation > 0) || !std::isfinite(deviation)) continue;
    const CellMargin kept =
        WithMargin(mean, stretch_[i] * deviation, CellAt(domain, mean), std::min(margin, 0.25));
    distribution_.MoveMean(i, kept.mean);
    stretch_[i] = kept.deviation / deviation;
  }
}

bool CmaRun::IsOver() const {
  const int64_t patience = 10 + 30 * static_cast<int64_t>(layout_.ordered.size()) / population();
  return distribution_.generation() - best_generation_ >= patience ||
         distribution_.IsExhausted(kSmallestDeviation);
}

}  // namespace tune
