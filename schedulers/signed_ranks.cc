#include "schedulers/signed_ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tune {
namespace {

constexpr size_t kExactMax = 50;  // Sums of ranks up to 2550, of which 2^50 subsets fit a double.

struct Ranked {
  double difference = 0;
  int64_t twice_rank = 0;  // A mean of ranks is a half at most.
};

std::vector<Ranked> RankedBySize(std::span<const double> differences) {
  std::vector<Ranked> ranked;
  for (const double difference : differences) ranked.push_back({difference, 0});
  std::stable_sort(ranked.begin(), ranked.end(), [](const Ranked& a, const Ranked& b) {
    return std::fabs(a.difference) < std::fabs(b.difference);
  });
  for (size_t first = 0; first < ranked.size();) {
    size_t last = first;
    while (last + 1 < ranked.size() &&
           std::fabs(ranked[last + 1].difference) == std::fabs(ranked[first].difference)) {
      ++last;
    }
    for (size_t i = first; i <= last; ++i) {
      ranked[i].twice_rank = static_cast<int64_t>(first + last + 2);
    }
    first = last + 1;
  }
  return ranked;
}

// The share of the subsets of `ranks` whose sum is at least `sum`.
double ShareAtLeast(const std::vector<int64_t>& ranks, int64_t sum) {
  int64_t total = 0;
  for (const int64_t rank : ranks) total += rank;
  std::vector<double> counts(static_cast<size_t>(total) + 1, 0.0);
  counts[0] = 1;
  for (const int64_t rank : ranks) {
    for (auto at = static_cast<int64_t>(counts.size()) - 1; at >= rank; --at) {
      counts[static_cast<size_t>(at)] += counts[static_cast<size_t>(at - rank)];
    }
  }
  double above = 0;
  for (int64_t at = std::max<int64_t>(sum, 0); at <= total; ++at) {
    above += counts[static_cast<size_t>(at)];
  }
  return above / std::exp2(static_cast<double>(ranks.size()));
}

// With half a unit's correction, so that it meets the exact share.
double NormalShareAtLeast(const std::vector<int64_t>& ranks, int64_t sum) {
  double mean = 0;
  double variance = 0;
  for (const int64_t rank : ranks) {
    const auto r = static_cast<double>(rank);
    mean += r / 2;
    variance += r * r / 4;
  }
  const double z = (static_cast<double>(sum) - 1 - mean) / std::sqrt(variance);
  return 0.5 * std::erfc(z / std::sqrt(2.0));
}

}  // namespace

double SignedRankP(std::span<const double> differences) {
  std::vector<int64_t> ranks;
  int64_t above = 0;
  for (const Ranked& one : RankedBySize(differences)) {
    if (one.difference == 0) continue;  // Half for each side, whatever the signs.
    ranks.push_back(one.twice_rank);
    if (one.difference > 0) above += one.twice_rank;
  }
  if (ranks.empty()) return 1;
  return ranks.size() <= kExactMax ? ShareAtLeast(ranks, above)
                                   : std::min(1.0, NormalShareAtLeast(ranks, above));
}

}  // namespace tune
