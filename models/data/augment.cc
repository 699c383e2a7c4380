#include "models/data/augment.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "core/check.h"
#include "core/random.h"
#include "models/data/pixel.h"

// The passes work on planes (one array a channel) and without branches, so that the compiler turns
// them into vector code; interleaved pixels would not allow it.

namespace tune::models {
namespace {

constexpr double kFlipProbability = 0.5;
constexpr double kRotationDegreesMax = 15;
constexpr double kJitterFactor = 0.2;
constexpr double kJitterHue = 0.1;

struct Planes {
  uint8_t* __restrict r;
  uint8_t* __restrict g;
  uint8_t* __restrict b;
  int count;
};

void AdjustBrightness(Planes p, float factor) {
  for (uint8_t* plane : {p.r, p.g, p.b}) {
    for (int i = 0; i < p.count; ++i) plane[i] = Blend(0, plane[i], factor);
  }
}

// Blends with the mean grey of the whole image.
void AdjustContrast(Planes p, float factor) {
  int64_t sum = 0;
  for (int i = 0; i < p.count; ++i) sum += Grey(p.r[i], p.g[i], p.b[i]);
  const int mean = static_cast<int>(static_cast<double>(sum) / p.count + 0.5);
  for (uint8_t* plane : {p.r, p.g, p.b}) {
    for (int i = 0; i < p.count; ++i) plane[i] = Blend(mean, plane[i], factor);
  }
}

// Blends with the image's own grey.
void AdjustSaturation(Planes p, float factor) {
  for (int i = 0; i < p.count; ++i) {
    const int grey = Grey(p.r[i], p.g[i], p.b[i]);
    p.r[i] = Blend(grey, p.r[i], factor);
    p.g[i] = Blend(grey, p.g[i], factor);
    p.b[i] = Blend(grey, p.b[i], factor);
  }
}

// Through 8-bit HSV and back.
void AdjustHue(Planes p, int shift) {
  for (int i = 0; i < p.count; ++i) {
    const PilHsv hsv = ToHsv(p.r[i], p.g[i], p.b[i]);
    const float turned = TurnedHue(hsv.hue, shift);
    const float value = static_cast<float>(hsv.value);
    const float strength = static_cast<float>(hsv.saturation) * (1.0F / 255);
    p.r[i] = HueChannel(turned, 5, value, strength);
    p.g[i] = HueChannel(turned, 3, value, strength);
    p.b[i] = HueChannel(turned, 1, value, strength);
  }
}

// Splits into planes, flipped if asked.
void Split(const uint8_t* image, int size, bool flip, Planes p) {
  for (int y = 0; y < size; ++y) {
    const uint8_t* row = image + static_cast<int64_t>(y) * size * 3;
    const int start = y * size;
    if (flip) {
      for (int x = 0; x < size; ++x) {
        p.r[start + x] = row[3 * (size - 1 - x)];
        p.g[start + x] = row[3 * (size - 1 - x) + 1];
        p.b[start + x] = row[3 * (size - 1 - x) + 2];
      }
    } else {
      for (int x = 0; x < size; ++x) {
        p.r[start + x] = row[3 * x];
        p.g[start + x] = row[3 * x + 1];
        p.b[start + x] = row[3 * x + 2];
      }
    }
  }
}

// As Split, but out(x, y) = in(rotation of (x, y) about the centre), nearest neighbour, black where
// that lies outside.
void SplitRotated(const uint8_t* image, int size, bool flip, double degrees, Planes p) {
  const FixedRotation turn = RotationOf(size, degrees);
  const int x_per_x = turn.x_per_x;
  const int x_per_y = turn.x_per_y;
  const int y_per_x = turn.y_per_x;
  const int y_per_y = turn.y_per_y;
  int row_x = turn.start_x;
  int row_y = turn.start_y;
  int i = 0;
  for (int y = 0; y < size; ++y, row_x += x_per_y, row_y += y_per_y) {
    int from_x = row_x;
    int from_y = row_y;
    for (int x = 0; x < size; ++x, ++i, from_x += x_per_x, from_y += y_per_x) {
      const unsigned column = static_cast<unsigned>(from_x >> 16);
      const unsigned row = static_cast<unsigned>(from_y >> 16);
      const unsigned bound = static_cast<unsigned>(size);
      const bool inside = column < bound && row < bound;
      const unsigned source = inside ? row * bound + (flip ? bound - 1 - column : column) : 0;
      const int mask = inside ? 255 : 0;
      p.r[i] = static_cast<uint8_t>(image[3 * source] & mask);
      p.g[i] = static_cast<uint8_t>(image[3 * source + 1] & mask);
      p.b[i] = static_cast<uint8_t>(image[3 * source + 2] & mask);
    }
  }
}

}  // namespace

FixedRotation RotationOf(int size, double degrees) {
  const double angle = -degrees * std::numbers::pi / 180;
  const double centre = size / 2.0;
  const double cosine = std::cos(angle);
  const double sine = std::sin(angle);
  const double offset_x = centre - cosine * centre - sine * centre;
  const double offset_y = centre + sine * centre - cosine * centre;
  const auto fixed = [](double v) { return static_cast<int>(std::floor(v * 65536 + 0.5)); };
  FixedRotation turn;
  turn.start_x = fixed(offset_x + 0.5 * cosine + 0.5 * sine);
  turn.start_y = fixed(offset_y - 0.5 * sine + 0.5 * cosine);
  turn.x_per_x = fixed(cosine);
  turn.x_per_y = fixed(sine);
  turn.y_per_x = fixed(-sine);
  turn.y_per_y = fixed(cosine);
  return turn;
}

Augmentation DrawAugmentation(const AugmentationOptions& options, int epoch, int64_t image) {
  KeyedRandom random(options.seed, "augment", static_cast<uint64_t>(epoch),
                     static_cast<uint64_t>(image));
  const double rotation_max = kRotationDegreesMax * options.strength;
  const double factor_max = kJitterFactor * options.strength;
  const double hue_max = kJitterHue * options.strength;
  Augmentation a;
  a.flip = random.NextDouble() < kFlipProbability * std::min(options.strength, 1.0);
  a.rotation_degrees = random.NextUniform(-rotation_max, rotation_max);
  for (size_t i = a.order.size(); i > 1; --i) {
    std::swap(a.order[i - 1], a.order[random.NextBelow(i)]);
  }
  a.brightness = random.NextUniform(1 - factor_max, 1 + factor_max);
  a.contrast = random.NextUniform(1 - factor_max, 1 + factor_max);
  a.saturation = random.NextUniform(1 - factor_max, 1 + factor_max);
  a.hue = random.NextUniform(-hue_max, hue_max);
  return a;
}

Augmenter::Augmenter(int image_size)
    : image_size_(image_size), planes_(static_cast<size_t>(image_size) * image_size * 3) {
  TUNE_CHECK(image_size > 0 && image_size < 32768);
}

void Augmenter::Run(std::span<const uint8_t> image, const Augmentation& a) {
  const int count = image_size_ * image_size_;
  TUNE_CHECK(image.size() == planes_.size());
  const Planes p = {planes_.data(), planes_.data() + count, planes_.data() + 2 * count, count};
  if (a.rotation_degrees == 0) {
    Split(image.data(), image_size_, a.flip, p);
  } else {
    SplitRotated(image.data(), image_size_, a.flip, a.rotation_degrees, p);
  }
  for (const JitterStep step : a.order) {
    switch (step) {
      case JitterStep::kBrightness:
        if (a.brightness != 1) AdjustBrightness(p, static_cast<float>(a.brightness));
        break;
      case JitterStep::kContrast:
        if (a.contrast != 1) AdjustContrast(p, static_cast<float>(a.contrast));
        break;
      case JitterStep::kSaturation:
        if (a.saturation != 1) AdjustSaturation(p, static_cast<float>(a.saturation));
        break;
      case JitterStep::kHue:
        if (a.hue != 0) AdjustHue(p, static_cast<int>(a.hue * 255) & 255);
        break;
    }
  }
}

void Augmenter::Apply(std::span<const uint8_t> image, const Augmentation& augmentation,
                      std::span<uint8_t> out) {
  TUNE_CHECK(out.size() == planes_.size());
  Run(image, augmentation);
  const size_t count = planes_.size() / 3;
  for (size_t i = 0; i < count; ++i) {
    for (size_t c = 0; c < 3; ++c) out[3 * i + c] = planes_[c * count + i];
  }
}

void Augmenter::ApplyAndNormalize(std::span<const uint8_t> image, const Augmentation& augmentation,
                                  std::span<float> out) {
  TUNE_CHECK(out.size() == planes_.size());
  Run(image, augmentation);
  const size_t count = planes_.size() / 3;
  const uint8_t* r = planes_.data();
  const uint8_t* g = r + count;
  const uint8_t* b = g + count;
  float* __restrict to = out.data();
  for (size_t i = 0; i < count; ++i) {
    to[3 * i] = static_cast<float>(r[i]) * PixelScale(0) + PixelShift(0);
    to[3 * i + 1] = static_cast<float>(g[i]) * PixelScale(1) + PixelShift(1);
    to[3 * i + 2] = static_cast<float>(b[i]) * PixelScale(2) + PixelShift(2);
  }
}

void Normalize(std::span<const uint8_t> pixels, std::span<float> out) {
  TUNE_CHECK(pixels.size() == out.size() && pixels.size() % 3 == 0);
  const uint8_t* from = pixels.data();
  float* __restrict to = out.data();
  for (size_t i = 0; i < pixels.size(); i += 3) {
    to[i] = static_cast<float>(from[i]) * PixelScale(0) + PixelShift(0);
    to[i + 1] = static_cast<float>(from[i + 1]) * PixelScale(1) + PixelShift(1);
    to[i + 2] = static_cast<float>(from[i + 2]) * PixelScale(2) + PixelShift(2);
  }
}

}  // namespace tune::models
