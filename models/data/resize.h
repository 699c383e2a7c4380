// The deterministic part of the transform: torchvision's Resize(size) (short side to `size`,
// bilinear with antialiasing as PIL does it) and CenterCrop(size). Follows PIL's fixed-point
// arithmetic, so the result equals PIL's.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tune::models {

struct RgbImage {
  int width = 0;
  int height = 0;
  std::vector<uint8_t> pixels;  // (height, width, 3)
};

// out: (size, size, 3). The image has at least one pixel.
void ResizeAndCrop(const RgbImage& image, int size, std::span<uint8_t> out);

}  // namespace tune::models
