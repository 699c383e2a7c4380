// The first image of a GIF (CompuServe, GIF89a, 1990), which Debian's OpenCV cannot decode. A
// transparent pixel keeps its colour in the palette, as PIL's convert("RGB") does.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>

#include "core/status.h"
#include "models/data/resize.h"

namespace tune::models {

bool LooksLikeGif(std::span<const uint8_t> bytes);
Result<RgbImage> ReadGif(std::span<const uint8_t> bytes);

}  // namespace tune::models
