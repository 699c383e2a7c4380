// CRC-32C (Castagnoli), the checksum of TensorBoard's event files.
//
// Source: RFC 3720, section 12.1 and appendix B.4.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <string_view>

namespace tune {

uint32_t Crc32c(std::string_view bytes);

}  // namespace tune
