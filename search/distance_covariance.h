// Whether two things depend on each other in any way, not only along a line: the covariance of the
// distances between their values (Szekely, Rizzo, Bakirov, "Measuring and Testing Dependence by
// Correlation of Distances", Annals of Statistics 35(6), 2007, section 2), and a permutation test
// of it.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace tune {

// Of n items all distances: n * n numbers, symmetric, 0 on the diagonal.
using Distances = std::vector<double>;

// From each distance the means of its row and its column are taken, and that of all is added
// (equation 2.8): a product of two such matrices then is their covariance.
Distances Centred(Distances distances, size_t n);

// Whether the covariance of both, centred, is greater than in each of `deals` random pairings of
// the items; where there is no dependence that happens once in deals + 1 times. The draws have
// fixed keys. n >= 2.
bool DependOnEachOther(const Distances& a, const Distances& b, size_t n, uint64_t deals);

}  // namespace tune
