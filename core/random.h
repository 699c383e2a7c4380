// Keyed randomness: a draw is a function of (seed, purpose, a, b), never of how many draws came
// before it. Restart, order and parallelism therefore change nothing, and a trial's configuration
// can be computed alone.
//
// The generator is counter-based: the key is hashed to a 64-bit state, and draw i is SplitMix64's
// finaliser of state + i * golden gamma (Steele, Lea, Flood: "Fast Splittable Pseudorandom Number
// Generators", OOPSLA 2014).
//
// Thread rule: values; a KeyedRandom belongs to one thread.
#pragma once

#include <cstdint>
#include <string_view>

namespace tune {

class KeyedRandom {
 public:
  // `purpose` names what the draws are for ("search", "shuffle", "dropout"); `a` and `b` are
  // usually a trial number and an index (an epoch, an image).
  KeyedRandom(uint64_t seed, std::string_view purpose, uint64_t a = 0, uint64_t b = 0);

  uint64_t NextU64();
  // Uniform in [0, 1), 53 bits.
  double NextDouble();
  // Uniform in [lo, hi); lo when the interval is empty.
  double NextUniform(double lo, double hi);
  // Uniform over 0 .. n-1, without modulo bias (Lemire 2019). n > 0.
  uint64_t NextBelow(uint64_t n);
  // Standard normal (Box and Muller 1958; each call takes two uniforms and uses the cosine branch).
  double NextNormal();

  // What the draws to come are a function of, for a device that makes them itself: the next
  // NextU64() is SplitMix64's finaliser of key() + golden gamma, the one after of key() + 2 of it.
  uint64_t key() const { return state_; }

 private:
  uint64_t state_;
};

// A stable 64-bit hash of a text (FNV-1a with a SplitMix64 finaliser). Never std::hash: it may
// differ between builds.
uint64_t StableHash(std::string_view text);

}  // namespace tune
