#include "core/hash.h"

#include <array>
#include <bit>
#include <cstring>

namespace tune {
namespace {

static_assert(std::endian::native == std::endian::little, "the words are read in host order");

constexpr uint64_t kPrime1 = 0x9E3779B185EBCA87ULL;
constexpr uint64_t kPrime2 = 0xC2B2AE3D27D4EB4FULL;
constexpr uint64_t kPrime3 = 0x165667B19E3779F9ULL;
constexpr uint64_t kPrime4 = 0x85EBCA77C2B2AE63ULL;
constexpr uint64_t kPrime5 = 0x27D4EB2F165667C5ULL;

template <typename T>
T ReadWord(const std::byte* at) {
  T word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

uint64_t Round(uint64_t lane, uint64_t input) {
  return std::rotl(lane + input * kPrime2, 31) * kPrime1;
}

}  // namespace

uint64_t Xxh64(std::span<const std::byte> bytes, uint64_t seed) {
  const std::byte* at = bytes.data();
  const std::byte* const end = at + bytes.size();
  uint64_t hash = seed + kPrime5;
  if (bytes.size() >= 32) {
    std::array<uint64_t, 4> lanes = {seed + kPrime1 + kPrime2, seed + kPrime2, seed,
                                     seed - kPrime1};
    for (; end - at >= 32; at += 32) {
      for (size_t i = 0; i < 4; ++i) lanes[i] = Round(lanes[i], ReadWord<uint64_t>(at + 8 * i));
    }
    hash = std::rotl(lanes[0], 1) + std::rotl(lanes[1], 7) + std::rotl(lanes[2], 12) +
           std::rotl(lanes[3], 18);
    for (const uint64_t lane : lanes) hash = (hash ^ Round(0, lane)) * kPrime1 + kPrime4;
  }
  hash += bytes.size();
  for (; end - at >= 8; at += 8) {
    hash = std::rotl(hash ^ Round(0, ReadWord<uint64_t>(at)), 27) * kPrime1 + kPrime4;
  }
  if (end - at >= 4) {
    hash = std::rotl(hash ^ (ReadWord<uint32_t>(at) * kPrime1), 23) * kPrime2 + kPrime3;
    at += 4;
  }
  for (; at < end; ++at) {
    hash = std::rotl(hash ^ (static_cast<uint64_t>(*at) * kPrime5), 11) * kPrime1;
  }
  hash = (hash ^ (hash >> 33)) * kPrime2;
  hash = (hash ^ (hash >> 29)) * kPrime3;
  return hash ^ (hash >> 32);
}

uint64_t Xxh64(std::string_view text, uint64_t seed) {
  return Xxh64(std::as_bytes(std::span(text.data(), text.size())), seed);
}

std::string HashToHex(uint64_t hash) {
  static constexpr char kHex[] = "0123456789abcdef";
  std::string text(16, '0');
  for (int i = 15; i >= 0; --i, hash >>= 4) text[static_cast<size_t>(i)] = kHex[hash & 15];
  return text;
}

}  // namespace tune
