// Torchvision's and PIL's arithmetic on one pixel of 8-bit RGB, with PIL's rounding after each
// step: the same source for the processor (augment.cc) and for cards (models/cuda/augment.h).
// Without branches, so that loops over it become vector code.
//
// Thread rule: pure functions.
#pragma once

#include <algorithm>
#include <cstdint>

#include "models/host_device.h"

namespace tune::models {

// ImageNet's mean and deviation: each channel as x * PixelScale + PixelShift. Functions, since a
// card's code sees no arrays of the host.
TUNE_HOST_DEVICE constexpr float PixelMean(int channel) {
  return channel == 0 ? 0.485F : (channel == 1 ? 0.456F : 0.406F);
}
TUNE_HOST_DEVICE constexpr float PixelDeviation(int channel) {
  return channel == 0 ? 0.229F : (channel == 1 ? 0.224F : 0.225F);
}
TUNE_HOST_DEVICE constexpr float PixelScale(int channel) {
  return 1 / (255 * PixelDeviation(channel));
}
TUNE_HOST_DEVICE constexpr float PixelShift(int channel) {
  return -PixelMean(channel) / PixelDeviation(channel);
}

TUNE_HOST_DEVICE uint8_t ToByte(float x) {
  return static_cast<uint8_t>(std::clamp(static_cast<int>(x), 0, 255));
}

// PIL's Image.blend on bytes: from + factor * (to - from), truncated and clipped.
TUNE_HOST_DEVICE uint8_t Blend(int from, int to, float factor) {
  return ToByte(static_cast<float>(from) + factor * static_cast<float>(to - from));
}

// PIL's conversion to grey (ITU-R 601-2 in 16-bit fixed point).
TUNE_HOST_DEVICE int Grey(int r, int g, int b) {
  return (r * 19595 + g * 38470 + b * 7471 + 0x8000) >> 16;
}

// A colour as 8-bit HSV, as PIL has it: hue and saturation are truncated to 255 levels, which moves
// a colour by up to six levels. To follow torchvision it has to be followed.
struct PilHsv {
  int hue, saturation, value;
};

TUNE_HOST_DEVICE PilHsv ToHsv(int r, int g, int b) {
  const int high = std::max(r, std::max(g, b));
  const int low = std::min(r, std::min(g, b));
  const float range = static_cast<float>(high - low);
  const float per_range = range > 0 ? 1 / range : 0;
  const float sector_r = static_cast<float>(g - b) * per_range;
  const float sector_g = 2 + static_cast<float>(b - r) * per_range;
  const float sector_b = 4 + static_cast<float>(r - g) * per_range;
  float sector = r == high ? sector_r : (g == high ? sector_g : sector_b);
  sector = sector < 0 ? sector + 6 : sector;
  // The small addition undoes the rounding of the reciprocal where the quotient is a whole number.
  const int hue = static_cast<int>(sector * (255.0F / 6) + 1e-4F);
  const int saturation =
      static_cast<int>(255 * range / static_cast<float>(std::max(high, 1)) + 1e-4F);
  return {hue, saturation, high};
}

// The hue `shift` levels on, in sixths of the circle.
TUNE_HOST_DEVICE float TurnedHue(int hue, int shift) {
  return static_cast<float>((hue + shift) & 255) * (6.0F / 255);
}

// One channel of HSV to RGB: the value less what the colour circle takes from it at this distance.
// `turned` is the hue in sixths of the circle, `phase` 5, 3, 1 for red, green, blue, `strength` the
// saturation from 0 to 1.
TUNE_HOST_DEVICE uint8_t HueChannel(float turned, float phase, float value, float strength) {
  const float around = turned + phase;
  const float k = around >= 6 ? around - 6 : around;
  const float taken = std::max(0.0F, std::min(std::min(k, 4 - k), 1.0F));
  return static_cast<uint8_t>(static_cast<int>(value * (1 - strength * taken) + 0.5F));
}

// Where pixel (x, y) of an image turned about its centre comes from, in 16-bit fixed point. The
// numbers follow PIL's rotate so that the same pixels are picked.
struct FixedRotation {
  int start_x = 0, start_y = 0;  // Of pixel (0, 0).
  int x_per_x = 1 << 16, x_per_y = 0, y_per_x = 0, y_per_y = 1 << 16;
};
FixedRotation RotationOf(int size, double degrees);

}  // namespace tune::models
