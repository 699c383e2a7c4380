// Image decoding by OpenCV; the only header whose library links it (139 shared libraries, 44 ms for
// each exec).
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/status.h"
#include "models/data/resize.h"

namespace tune::models {

// JPEG, PNG, BMP, WebP, TIFF, JPEG 2000, GIF (its first image), PBM, PGM, PPM to 8-bit RGB. The
// orientation tag of a JPEG, PNG or TIFF is applied, so that a photograph stands upright as viewers
// show it; torchvision does not do so. A truncated JPEG is an error, although OpenCV would show its
// first part on grey. Throws std::bad_alloc where an image fails for want of memory: that is no
// fault of its.
Result<std::vector<RgbImage>> DecodeImage(std::span<const uint8_t> bytes);

}  // namespace tune::models
