// How large an image says that it is, before anything of it is decoded: some hundred bytes may
// stand for more pixels than there is memory.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace tune::models {

inline constexpr int64_t kImagePixelsMax = 1 << 28;

struct ImageSize {
  int64_t width = 0;
  int64_t height = 0;
};

// Of JPEG, PNG, BMP, WebP, TIFF, JPEG 2000, the Netpbm formats but P5 and P6 (pnm.h), PFM, Radiance
// HDR and Sun raster. Nothing: another format, or no size is to be found.
std::optional<ImageSize> SizeInHeader(std::span<const uint8_t> bytes);

}  // namespace tune::models
