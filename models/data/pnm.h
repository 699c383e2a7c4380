// Binary PGM and PPM (P5, P6, 8 bits a sample), the Netpbm project's formats. A file may hold
// several images one after another; we use that to keep many small images in one file.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "models/data/resize.h"

namespace tune::models {

bool LooksLikePnm(std::span<const uint8_t> bytes);
Result<std::vector<RgbImage>> ReadPnm(std::span<const uint8_t> bytes);

}  // namespace tune::models
