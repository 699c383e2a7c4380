#include "models/data/augment.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <vector>

#include "core/random.h"

namespace tune::models {
namespace {

constexpr int kSize = 24;

std::vector<uint8_t> NoiseImage(uint64_t seed, int size = kSize) {
  KeyedRandom random(seed, "test image");
  std::vector<uint8_t> image(static_cast<size_t>(size) * size * 3);
  for (uint8_t& level : image) level = static_cast<uint8_t>(random.NextBelow(256));
  return image;
}

std::vector<uint8_t> Applied(const std::vector<uint8_t>& image, const Augmentation& augmentation,
                             int size = kSize) {
  std::vector<uint8_t> out(image.size());
  Augmenter(size).Apply(image, augmentation, out);
  return out;
}

uint8_t At(const std::vector<uint8_t>& image, int x, int y, int c) {
  return image[static_cast<size_t>((y * kSize + x) * 3 + c)];
}

double Grey(const uint8_t* pixel) { return 0.299 * pixel[0] + 0.587 * pixel[1] + 0.114 * pixel[2]; }

// `expected(pixel, channel)` in grey levels for each pixel of the image, within `tolerance` after
// clipping.
template <typename Expected>
void ExpectPointwise(const std::vector<uint8_t>& image, const std::vector<uint8_t>& out,
                     double tolerance, Expected expected) {
  for (size_t i = 0; i < image.size(); i += 3) {
    for (size_t c = 0; c < 3; ++c) {
      const double level = std::clamp(expected(&image[i], c), 0.0, 255.0);
      ASSERT_NEAR(out[i + c], level, tolerance) << "pixel " << i / 3 << " channel " << c;
    }
  }
}

TEST(Augment, ChangesNothingWithNeutralParameters) {
  const std::vector<uint8_t> image = NoiseImage(1);
  EXPECT_EQ(Applied(image, Augmentation()), image);
}

TEST(Augment, FlipMirrorsColumns) {
  const std::vector<uint8_t> image = NoiseImage(2);
  Augmentation flip;
  flip.flip = true;
  const std::vector<uint8_t> out = Applied(image, flip);
  for (int y = 0; y < kSize; ++y) {
    for (int x = 0; x < kSize; ++x) {
      for (int c = 0; c < 3; ++c) ASSERT_EQ(At(out, x, y, c), At(image, kSize - 1 - x, y, c));
    }
  }
}

// Plainly: the pixel at an offset from the centre shows what lay at that offset turned back, black
// where that is outside.
TEST(Augment, RotationPicksTheNearestPixelAndFillsWithBlack) {
  const std::vector<uint8_t> image = NoiseImage(3);
  for (const double degrees : {-15.0, -3.5, 0.7, 11.0, 15.0}) {
    Augmentation rotation;
    rotation.rotation_degrees = degrees;
    const std::vector<uint8_t> out = Applied(image, rotation);
    const double angle = degrees * M_PI / 180;
    int black = 0;
    for (int y = 0; y < kSize; ++y) {
      for (int x = 0; x < kSize; ++x) {
        // y points down, so counter-clockwise on the screen is clockwise in these coordinates.
        const double dx = x + 0.5 - kSize / 2.0;
        const double dy = y + 0.5 - kSize / 2.0;
        const double from_x = std::cos(angle) * dx - std::sin(angle) * dy + kSize / 2.0;
        const double from_y = std::sin(angle) * dx + std::cos(angle) * dy + kSize / 2.0;
        const double border =
            std::min(std::abs(from_x - std::round(from_x)), std::abs(from_y - std::round(from_y)));
        if (border < 1e-3) continue;  // Either neighbour is right.
        const bool inside = from_x >= 0 && from_x < kSize && from_y >= 0 && from_y < kSize;
        black += inside ? 0 : 1;
        for (int c = 0; c < 3; ++c) {
          const int expected =
              inside ? At(image, static_cast<int>(from_x), static_cast<int>(from_y), c) : 0;
          ASSERT_EQ(At(out, x, y, c), expected) << degrees << " at " << x << ", " << y;
        }
      }
    }
    if (std::abs(degrees) > 5) {
      EXPECT_GT(black, 0);
    }
  }
}

TEST(Augment, BrightnessScalesEveryChannel) {
  const std::vector<uint8_t> image = NoiseImage(4);
  for (const double factor : {0.8, 0.93, 1.17, 1.2}) {
    Augmentation a;
    a.brightness = factor;
    ExpectPointwise(image, Applied(image, a), 1,
                    [&](const uint8_t* p, size_t c) { return factor * p[c]; });
  }
}

TEST(Augment, ContrastBlendsWithTheMeanGreyOfTheImage) {
  const std::vector<uint8_t> image = NoiseImage(5);
  double mean = 0;
  for (size_t i = 0; i < image.size(); i += 3) mean += Grey(&image[i]);
  mean /= kSize * kSize;
  for (const double factor : {0.8, 1.1, 1.2}) {
    Augmentation a;
    a.contrast = factor;
    ExpectPointwise(image, Applied(image, a), 1.5,
                    [&](const uint8_t* p, size_t c) { return mean + factor * (p[c] - mean); });
  }
}

TEST(Augment, SaturationBlendsWithEachPixelsGrey) {
  const std::vector<uint8_t> image = NoiseImage(6);
  for (const double factor : {0.8, 1.05, 1.2}) {
    Augmentation a;
    a.saturation = factor;
    ExpectPointwise(image, Applied(image, a), 1.5, [&](const uint8_t* p, size_t c) {
      return Grey(p) + factor * (p[c] - Grey(p));
    });
  }
}

// Hue in turns; saturation and value of the colour circle, all exact.
struct Hsv {
  double h, s, v;
};

Hsv ToHsv(const uint8_t* p) {
  const double high = std::max({p[0], p[1], p[2]});
  const double range = high - std::min({p[0], p[1], p[2]});
  if (range == 0) return {0, 0, high};
  double sector = 0;
  if (p[0] == high) {
    sector = (p[1] - p[2]) / range;
  } else if (p[1] == high) {
    sector = 2 + (p[2] - p[0]) / range;
  } else {
    sector = 4 + (p[0] - p[1]) / range;
  }
  return {sector / 6 - std::floor(sector / 6), range / high, high};
}

double FromHsv(const Hsv& hsv, size_t channel) {
  const double k = std::fmod((channel == 0 ? 5 : channel == 1 ? 3 : 1) + hsv.h * 6, 6.0);
  return hsv.v - hsv.v * hsv.s * std::clamp(std::min(k, 4 - k), 0.0, 1.0);
}

TEST(Augment, HueTurnsTheColourCircleWithinTheSteps) {
  const std::vector<uint8_t> image = NoiseImage(7);
  for (const double turn : {-0.1, -0.04, 0.02, 0.1}) {
    Augmentation a;
    a.hue = turn;
    // torchvision moves the hue by whole 255ths. It truncates hue to a 255th, wraps at 256, and
    // truncates saturation: six levels, six where it wraps, and one. The peer test holds us to its
    // very numbers.
    const double moved = std::trunc(turn * 255) / 255;
    ExpectPointwise(image, Applied(image, a), 13, [&](const uint8_t* p, size_t c) {
      Hsv hsv = ToHsv(p);
      hsv.h += moved + 1;
      hsv.h -= std::floor(hsv.h);
      return FromHsv(hsv, c);
    });
  }
}

TEST(Augment, AppliesTheJitterInTheOrderDrawn) {
  const std::vector<uint8_t> image = NoiseImage(8);
  Augmentation both;
  both.brightness = 1.2;
  both.saturation = 0.8;
  both.order = {JitterStep::kBrightness, JitterStep::kSaturation, JitterStep::kContrast,
                JitterStep::kHue};
  Augmentation brightness;
  brightness.brightness = 1.2;
  Augmentation saturation;
  saturation.saturation = 0.8;
  EXPECT_EQ(Applied(image, both), Applied(Applied(image, brightness), saturation));
  std::swap(both.order[0], both.order[1]);
  EXPECT_EQ(Applied(image, both), Applied(Applied(image, saturation), brightness));
}

TEST(Augment, NormalisesWithTheConstantsOfImageNet) {
  const std::vector<uint8_t> image = NoiseImage(9);
  std::vector<float> plain(image.size());
  Normalize(image, plain);
  constexpr double kMean[] = {0.485, 0.456, 0.406};
  constexpr double kDeviation[] = {0.229, 0.224, 0.225};
  for (size_t i = 0; i < image.size(); ++i) {
    ASSERT_NEAR(plain[i], (image[i] / 255.0 - kMean[i % 3]) / kDeviation[i % 3], 1e-5);
  }
  std::vector<float> together(image.size());
  const Augmentation drawn = DrawAugmentation({.seed = 1}, 2, 3);
  Augmenter augmenter(kSize);
  augmenter.ApplyAndNormalize(image, drawn, together);
  Normalize(Applied(image, drawn), plain);
  EXPECT_EQ(together, plain);
}

TEST(Augment, DrawsAreKeyedByEpochAndImageAndStayInRange) {
  std::set<double> angles;
  std::set<std::array<JitterStep, 4>> orders;
  int flips = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    for (int64_t image = 0; image < 50; ++image) {
      const Augmentation a = DrawAugmentation({.seed = 7}, epoch, image);
      const Augmentation again = DrawAugmentation({.seed = 7}, epoch, image);
      EXPECT_EQ(a.rotation_degrees, again.rotation_degrees);
      EXPECT_EQ(a.hue, again.hue);
      EXPECT_LE(std::abs(a.rotation_degrees), 15);
      EXPECT_LE(std::abs(a.brightness - 1), 0.2);
      EXPECT_LE(std::abs(a.contrast - 1), 0.2);
      EXPECT_LE(std::abs(a.saturation - 1), 0.2);
      EXPECT_LE(std::abs(a.hue), 0.1);
      angles.insert(a.rotation_degrees);
      orders.insert(a.order);
      flips += a.flip ? 1 : 0;
    }
  }
  EXPECT_EQ(angles.size(), 1000U);  // No two draws are alike.
  EXPECT_EQ(orders.size(), 24U);    // Every order comes up.
  EXPECT_GT(flips, 420);            // 500 +- 5 deviations of 15.8.
  EXPECT_LT(flips, 580);
}

TEST(Augment, StrengthScalesTheSameDraws) {
  for (int64_t image = 0; image < 200; ++image) {
    const Augmentation whole = DrawAugmentation({.seed = 7}, 1, image);
    const Augmentation half = DrawAugmentation({.seed = 7, .strength = 0.5}, 1, image);
    EXPECT_EQ(half.order, whole.order);
    EXPECT_DOUBLE_EQ(half.rotation_degrees, whole.rotation_degrees / 2);
    EXPECT_NEAR(half.brightness - 1, (whole.brightness - 1) / 2, 1e-15);
    EXPECT_NEAR(half.contrast - 1, (whole.contrast - 1) / 2, 1e-15);
    EXPECT_NEAR(half.saturation - 1, (whole.saturation - 1) / 2, 1e-15);
    EXPECT_DOUBLE_EQ(half.hue, whole.hue / 2);
    EXPECT_LE(half.flip, whole.flip);
  }
}

TEST(Augment, OfNoStrengthLeavesImagesAsTheyAre) {
  const std::vector<uint8_t> image = NoiseImage(3);
  for (int64_t number = 0; number < 20; ++number) {
    EXPECT_EQ(Applied(image, DrawAugmentation({.seed = 7, .strength = 0}, 1, number)), image);
  }
}

}  // namespace
}  // namespace tune::models
