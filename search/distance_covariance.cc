#include "search/distance_covariance.h"

#include <numeric>
#include <utility>

#include "core/check.h"
#include "core/random.h"

namespace tune {
namespace {

// With the items of b in the order `dealt`.
double Covariance(const Distances& a, const Distances& b, const std::vector<size_t>& dealt) {
  const size_t n = dealt.size();
  double sum = 0;
  for (size_t i = 0; i < n; ++i) {
    const double* const row = &b[dealt[i] * n];
    for (size_t j = 0; j < n; ++j) sum += a[i * n + j] * row[dealt[j]];
  }
  return sum;
}

}  // namespace

Distances Centred(Distances distances, size_t n) {
  TUNE_CHECK(distances.size() == n * n);
  std::vector<double> means(n, 0.0);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) means[i] += distances[i * n + j] / static_cast<double>(n);
  }
  const double all = std::accumulate(means.begin(), means.end(), 0.0) / static_cast<double>(n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < n; ++j) distances[i * n + j] += all - means[i] - means[j];
  }
  return distances;
}

bool DependOnEachOther(const Distances& a, const Distances& b, size_t n, uint64_t deals) {
  TUNE_CHECK(a.size() == n * n && b.size() == n * n && n >= 2);
  std::vector<size_t> dealt(n);
  std::iota(dealt.begin(), dealt.end(), size_t{0});
  const double covariance = Covariance(a, b, dealt);
  for (uint64_t deal = 0; deal < deals; ++deal) {
    KeyedRandom random(0, "distance covariance", deal);
    for (size_t i = n - 1; i > 0; --i) std::swap(dealt[i], dealt[random.NextBelow(i + 1)]);
    // With a little room, so that what is equal but for its rounding is no evidence.
    if (Covariance(a, b, dealt) >= covariance * (1 - 1e-9)) return false;
  }
  return true;
}

}  // namespace tune
