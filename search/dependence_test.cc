#include "search/dependence_test.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace tune {
namespace {

constexpr double kLevel = 0.05;

using Column = std::vector<double>;

double Dot(const Column& a, const Column& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

// Mean 0 and length 1; nothing where all are alike.
std::optional<Column> Standardized(Column column) {
  const auto n = static_cast<double>(column.size());
  const double mean = std::accumulate(column.begin(), column.end(), 0.0) / n;
  double largest = 0;
  for (double& x : column) {
    x -= mean;
    largest = std::max(largest, std::fabs(x));
  }
  const double length = std::sqrt(Dot(column, column));
  if (length <= 1e-9 * (1 + std::fabs(mean)) || largest == 0) return std::nullopt;
  for (double& x : column) x /= length;
  return column;
}

void Shuffle(KeyedRandom& random, std::vector<size_t>& order) {
  for (size_t i = order.size() - 1; i > 0; --i) std::swap(order[i], order[random.NextBelow(i + 1)]);
}

// What a parameter can explain of the losses' ranks.
class Explanation {
 public:
  explicit Explanation(const ParameterValues& parameter) {
    parameter.is_ordered ? AddParabola(parameter) : AddMeans(parameter);
    if (parameter.is_ordered) Order(parameter);
  }

  // Of standardized ranks, whose distances have the mean `distance`.
  double Score(const Column& ranks, double distance) const {
    double share = 0;
    for (const Column& column : basis_) share += Dot(column, ranks) * Dot(column, ranks);
    if (groups_.empty()) return share;
    double steps = 0;
    for (size_t g = 0; g < groups_.size(); ++g) {
      steps += static_cast<double>(groups_[g].size() - 1) * MeanWithin(groups_[g], ranks);
      if (g > 0) steps += MeanBetween(groups_[g - 1], groups_[g], ranks);
    }
    const double mean = steps / static_cast<double>(ranks.size() - 1);
    return share + std::max(0.0, 1 - mean / distance);
  }

 private:
  // At a right angle to those that are there; what they explain already is left out.
  void Add(Column column) {
    std::optional<Column> added = Standardized(std::move(column));
    if (!added) return;
    for (int pass = 0; pass < 2; ++pass) {  // Twice, against rounding.
      for (const Column& known : basis_) {
        const double part = Dot(known, *added);
        for (size_t i = 0; i < added->size(); ++i) (*added)[i] -= part * known[i];
      }
    }
    const double rest = std::sqrt(Dot(*added, *added));
    if (rest < 1e-6) return;
    for (double& x : *added) x /= rest;
    basis_.push_back(*std::move(added));
  }

  void AddParabola(const ParameterValues& parameter) {
    std::vector<double> present;
    for (const auto& value : parameter.values) {
      if (value) present.push_back(*value);
    }
    const std::optional<Column> ranks = Standardized(RanksOf(present));
    Column is_there, line, bowl;
    size_t at = 0;
    for (const auto& value : parameter.values) {
      const double x = value && ranks ? (*ranks)[at] : 0;
      if (value) ++at;
      is_there.push_back(value ? 1 : 0);
      line.push_back(x);
      bowl.push_back(x * x);
    }
    Add(std::move(is_there));
    Add(std::move(line));
    Add(std::move(bowl));
  }

  void AddMeans(const ParameterValues& parameter) {
    std::map<std::optional<double>, Column> groups;
    for (size_t i = 0; i < parameter.values.size(); ++i) {
      Column& group = groups[parameter.values[i]];
      group.resize(parameter.values.size(), 0.0);
      group[i] = 1;
    }
    for (auto& [value, group] : groups) Add(std::move(group));
  }

  void Order(const ParameterValues& parameter) {
    std::map<std::optional<double>, std::vector<size_t>> groups;
    for (size_t i = 0; i < parameter.values.size(); ++i) groups[parameter.values[i]].push_back(i);
    for (auto& [value, group] : groups) groups_.push_back(std::move(group));
  }

  static double MeanBetween(const std::vector<size_t>& a, const std::vector<size_t>& b,
                            const Column& ranks) {
    double sum = 0;
    for (const size_t i : a) {
      for (const size_t j : b) sum += std::fabs(ranks[i] - ranks[j]);
    }
    return sum / static_cast<double>(a.size() * b.size());
  }

  // Of pairs of different trials.
  static double MeanWithin(const std::vector<size_t>& group, const Column& ranks) {
    const auto n = static_cast<double>(group.size());
    return group.size() < 2 ? 0 : MeanBetween(group, group, ranks) * n / (n - 1);
  }

  std::vector<Column> basis_;  // Standardized, at right angles.
  // Trials of one value, in order of the values; between them any order is as likely as another.
  // Empty: the values have no order.
  std::vector<std::vector<size_t>> groups_;
};

// Between all pairs of different trials.
double MeanDistance(const Column& ranks) {
  Column sorted = ranks;
  std::sort(sorted.begin(), sorted.end());
  const auto n = static_cast<double>(sorted.size());
  double sum = 0;
  for (size_t i = 0; i < sorted.size(); ++i) {
    sum += sorted[i] * (2 * static_cast<double>(i) + 1 - n);
  }
  return sum / (n * (n - 1) / 2);
}

}  // namespace

std::vector<double> RanksOf(std::span<const double> values) {
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  std::vector<double> ranks;
  for (const double value : values) {
    const auto [begin, end] = std::equal_range(sorted.begin(), sorted.end(), value);
    ranks.push_back(static_cast<double>((begin - sorted.begin()) + (end - sorted.begin())) / 2);
  }
  return ranks;
}

double DependencePValue(const ParameterValues& parameter, std::span<const double> losses,
                        uint64_t deals) {
  const size_t n = losses.size();
  TUNE_CHECK(n >= 2 && parameter.values.size() == n);
  const std::optional<Column> ranks = Standardized(RanksOf(losses));
  if (!ranks) return 1;
  const Explanation explanation(parameter);
  const double distance = MeanDistance(*ranks);
  // With a little room, so that what is equal but for its rounding counts as equal.
  const double score = explanation.Score(*ranks, distance) - 1e-9;
  const double enough = kLevel * static_cast<double>(deals + 1);
  uint64_t as_great = 0;
  uint64_t dealt = 0;
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  KeyedRandom random(0, "dependence", 0);
  Column again(n);
  while (dealt < deals && static_cast<double>(as_great) <= enough) {
    Shuffle(random, order);
    for (size_t i = 0; i < n; ++i) again[i] = (*ranks)[order[i]];
    if (explanation.Score(again, distance) >= score) ++as_great;
    ++dealt;
  }
  return static_cast<double>(as_great + 1) / static_cast<double>(dealt + 1);
}

std::vector<bool> ClearByHolm(const std::vector<double>& p_values) {
  std::vector<size_t> order(p_values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return p_values[a] < p_values[b]; });
  std::vector<bool> is_clear(p_values.size(), false);
  for (size_t i = 0; i < order.size(); ++i) {
    if (p_values[order[i]] > kLevel / static_cast<double>(order.size() - i)) break;
    is_clear[order[i]] = true;
  }
  return is_clear;
}

uint64_t DealsFor(size_t parameters) { return std::max<uint64_t>(2000, 40 * parameters) - 1; }

}  // namespace tune
