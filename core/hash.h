// XXH64 (Yann Collet, xxHash specification 0.1.1): a fast 64-bit checksum that tells damaged bytes.
// Not for security.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace tune {

uint64_t Xxh64(std::span<const std::byte> bytes, uint64_t seed = 0);
uint64_t Xxh64(std::string_view text, uint64_t seed = 0);

// Sixteen lower-case hexadecimal digits.
std::string HashToHex(uint64_t hash);

}  // namespace tune
