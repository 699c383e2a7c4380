// The Sobol sequence: points of the unit cube, each block of 2^k of them spread evenly. Sobol,
// "On the Distribution of Points in a Cube and the Approximate Evaluation of Integrals", 1967, with
// the direction numbers of Joe and Kuo, "Constructing Sobol Sequences with Better Two-Dimensional
// Projections", SIAM J. Sci. Comput. 30, 2008 (their set new-joe-kuo-6). Points come in the plain
// binary order: that of Gray codes has the same blocks in another order.
//
// Scrambled as Owen, "Randomly Permuted (t,m,s)-Nets and (t,s)-Sequences", 1995: each bit is
// flipped or not by a draw that depends on the bits above it. The draw is a hash of them, as in
// Burley, "Practical Hash-based Owen Scrambling", JCGT 9(4), 2020; a full hash for each bit, so
// that nothing is approximate.
//
// Thread rule: immutable.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace tune {

class SobolSequence {
 public:
  static constexpr size_t kDimensionsMax = 128;

  // Requires dimensions <= kDimensionsMax.
  explicit SobolSequence(size_t dimensions);

  size_t dimensions() const { return directions_.size(); }

  // A coordinate of point `index` in parts of 2^-32. Point 0 is the origin.
  uint32_t At(size_t dimension, uint32_t index) const;
  // The same, scrambled, in [0, 1); each point alone is uniform over the seeds.
  double ScrambledAt(size_t dimension, uint32_t index, uint64_t seed) const;

 private:
  // What each bit of the index adds (exclusive or).
  using Directions = std::array<uint32_t, 32>;

  std::vector<Directions> directions_;
};

}  // namespace tune
