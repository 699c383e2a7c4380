#include "core/random.h"

#include <cmath>
#include <numbers>

#include "core/check.h"

namespace tune {
namespace {

constexpr uint64_t kGoldenGamma = 0x9e3779b97f4a7c15ULL;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

}  // namespace

uint64_t StableHash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325ULL;
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x100000001b3ULL;
  }
  return Mix(hash);
}

KeyedRandom::KeyedRandom(uint64_t seed, std::string_view purpose, uint64_t a, uint64_t b)
    : state_(Mix(seed + kGoldenGamma)) {
  state_ = Mix(state_ ^ StableHash(purpose));
  state_ = Mix(state_ ^ (a * kGoldenGamma + 1));
  state_ = Mix(state_ ^ (b * kGoldenGamma + 2));
}

uint64_t KeyedRandom::NextU64() {
  state_ += kGoldenGamma;
  return Mix(state_);
}

double KeyedRandom::NextDouble() { return static_cast<double>(NextU64() >> 11) * 0x1.0p-53; }

double KeyedRandom::NextUniform(double lo, double hi) {
  if (!(lo < hi)) return lo;
  const double x = lo + (hi - lo) * NextDouble();
  // Rounding may reach hi, which is exclusive.
  return x < hi ? x : std::nextafter(hi, lo);
}

uint64_t KeyedRandom::NextBelow(uint64_t n) {
  TUNE_CHECK(n > 0);
  // The lowest (2^64 mod n) products are refused, so that each result has the same number of
  // preimages.
  const uint64_t threshold = (0 - n) % n;
  for (;;) {
    const unsigned __int128 product = static_cast<unsigned __int128>(NextU64()) * n;
    if (static_cast<uint64_t>(product) >= threshold) return static_cast<uint64_t>(product >> 64);
  }
}

double KeyedRandom::NextNormal() {
  const double u = 1.0 - NextDouble();  // In (0, 1]: the logarithm is finite.
  const double v = NextDouble();
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * v);
}

}  // namespace tune
