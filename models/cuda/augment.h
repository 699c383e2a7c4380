// The training transform on the card: flip, rotation, colour jitter and normalisation of 8-bit
// images that lie there, with the draws and the arithmetic of models/data/augment.h.
//
// The mean grey that the contrast is blended with is a sum over the image as it is after the steps
// before; it is taken in a pass of its own, in integers.
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/kernel.h"
#include "models/data/augment.h"
#include "models/data/pixel.h"

namespace tune::models::cuda {

// An Augmentation as the card reads it. As constructed, it changes nothing.
struct Change {
  FixedRotation rotation;
  bool is_rotated = false;
  bool is_flipped = false;
  bool has_hue = false;
  JitterStep order[4] = {JitterStep::kBrightness, JitterStep::kContrast, JitterStep::kSaturation,
                         JitterStep::kHue};
  float brightness = 1, contrast = 1, saturation = 1;
  int hue_shift = 0;
};

inline Change ToChange(const Augmentation& a, int image_size) {
  Change change;
  change.is_flipped = a.flip;
  change.is_rotated = a.rotation_degrees != 0;
  if (change.is_rotated) change.rotation = RotationOf(image_size, a.rotation_degrees);
  for (int i = 0; i < 4; ++i) change.order[i] = a.order[static_cast<size_t>(i)];
  change.brightness = static_cast<float>(a.brightness);
  change.contrast = static_cast<float>(a.contrast);
  change.saturation = static_cast<float>(a.saturation);
  change.has_hue = a.hue != 0;
  change.hue_shift = static_cast<int>(a.hue * 255) & 255;
  return change;
}

struct Rgb {
  uint8_t r = 0, g = 0, b = 0;
};

// Pixel (x, y) of the flipped and turned image; black outside.
TUNE_HOST_DEVICE Rgb SourcePixel(const uint8_t* image, int size, const Change& change, int x,
                                 int y) {
  if (change.is_rotated) {
    const FixedRotation& turn = change.rotation;
    const int from_x = (turn.start_x + y * turn.x_per_y + x * turn.x_per_x) >> 16;
    const int from_y = (turn.start_y + y * turn.y_per_y + x * turn.y_per_x) >> 16;
    if (from_x < 0 || from_x >= size || from_y < 0 || from_y >= size) return {};
    x = from_x;
    y = from_y;
  }
  if (change.is_flipped) x = size - 1 - x;
  const uint8_t* const at = image + (static_cast<int64_t>(y) * size + x) * 3;
  return {at[0], at[1], at[2]};
}

TUNE_HOST_DEVICE Rgb BlendPixel(int from, const Rgb& to, float factor) {
  return {Blend(from, to.r, factor), Blend(from, to.g, factor), Blend(from, to.b, factor)};
}

TUNE_HOST_DEVICE Rgb TurnHue(const Rgb& p, int shift) {
  const PilHsv hsv = ToHsv(p.r, p.g, p.b);
  const float turned = TurnedHue(hsv.hue, shift);
  const float value = static_cast<float>(hsv.value);
  const float strength = static_cast<float>(hsv.saturation) * (1.0F / 255);
  return {HueChannel(turned, 5, value, strength), HueChannel(turned, 3, value, strength),
          HueChannel(turned, 1, value, strength)};
}

// The steps of the colour jitter in their order; with `until_contrast`, those before the contrast.
TUNE_HOST_DEVICE Rgb Jitter(Rgb p, const Change& change, int mean_grey, bool until_contrast) {
  for (int i = 0; i < 4; ++i) {
    switch (change.order[i]) {
      case JitterStep::kBrightness:
        p = BlendPixel(0, p, change.brightness);
        break;
      case JitterStep::kContrast:
        if (until_contrast) return p;
        p = BlendPixel(mean_grey, p, change.contrast);
        break;
      case JitterStep::kSaturation:
        p = BlendPixel(Grey(p.r, p.g, p.b), p, change.saturation);
        break;
      case JitterStep::kHue:
        if (change.has_hue) p = TurnHue(p, change.hue_shift);
        break;
    }
  }
  return p;
}

// Blocks an image is cut into.
inline constexpr int kImageChunks = 16;

// What both kernels read. `Input` is step_input.h's ImageInput, (lane, batch).
template <class Input>
struct AugmentImages {
  const uint8_t* set = nullptr;  // (images, size, size, 3)
  const Input* inputs = nullptr;
  int batch = 0;
  int size = 0;
  int64_t* grey_sums = nullptr;  // (lane, batch, kImageChunks)
  float* out = nullptr;          // (lane, batch, size, size, 3), normalised.

  Grid LaunchGrid(int lanes) const { return {kImageChunks, batch, lanes}; }
  TUNE_HOST_DEVICE int64_t ImageOf(const Thread& t) const {
    return t.lane * static_cast<int64_t>(batch) + t.block_y;
  }
  TUNE_HOST_DEVICE Rgb Pixel(const Input& input, int at) const {
    const uint8_t* const image = set + input.source * size * size * 3;
    return SourcePixel(image, size, input.change, at % size, at / size);
  }
  TUNE_HOST_DEVICE int Begin(int chunk) const {
    return static_cast<int>(static_cast<int64_t>(size) * size * chunk / kImageChunks);
  }
};

template <class Input>
struct SumGrey {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 2;
  struct Shared {
    int64_t sum[kThreads];
  };

  AugmentImages<Input> images;

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared& shared) const {
    const int64_t image = images.ImageOf(t);
    if constexpr (kPhase == 0) {
      const Input& input = images.inputs[image];
      int64_t sum = 0;
      for (int at = images.Begin(t.block_x) + t.index; at < images.Begin(t.block_x + 1);
           at += kThreads) {
        const Rgb p = Jitter(images.Pixel(input, at), input.change, 0, /*until_contrast=*/true);
        sum += Grey(p.r, p.g, p.b);
      }
      shared.sum[t.index] = sum;
    } else if (t.index == 0) {
      int64_t sum = 0;
      for (int i = 0; i < kThreads; ++i) sum += shared.sum[i];
      images.grey_sums[image * kImageChunks + t.block_x] = sum;
    }
  }
};

template <class Input>
struct ApplyChanges {
  static constexpr int kThreads = kBlockThreads;
  static constexpr int kPhases = 1;
  using Shared = NothingShared;

  AugmentImages<Input> images;

  template <int kPhase>
  TUNE_HOST_DEVICE void Run(const Thread& t, Shared&) const {
    const int64_t image = images.ImageOf(t);
    const Input& input = images.inputs[image];
    const int count = images.size * images.size;
    int64_t sum = 0;
    for (int i = 0; i < kImageChunks; ++i) sum += images.grey_sums[image * kImageChunks + i];
    const int mean = static_cast<int>(static_cast<double>(sum) / count + 0.5);
    for (int at = images.Begin(t.block_x) + t.index; at < images.Begin(t.block_x + 1);
         at += kThreads) {
      const Rgb p = Jitter(images.Pixel(input, at), input.change, mean, /*until_contrast=*/false);
      float* const to = images.out + (image * count + at) * 3;
      to[0] = static_cast<float>(p.r) * PixelScale(0) + PixelShift(0);
      to[1] = static_cast<float>(p.g) * PixelScale(1) + PixelShift(1);
      to[2] = static_cast<float>(p.b) * PixelScale(2) + PixelShift(2);
    }
  }
};

}  // namespace tune::models::cuda
