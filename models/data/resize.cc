#include "models/data/resize.h"

#include <algorithm>
#include <cmath>

#include "core/check.h"

namespace tune::models {
namespace {

constexpr int kPrecisionBits = 22;  // 32 less 8 bits of a pixel and 2 of headroom.

// Which input pixels make one output pixel, and with what weight.
struct Tap {
  int first = 0;
  std::vector<int32_t> weights;
};

// The taps of outputs `begin` .. `begin + count - 1` when `in` pixels become `out`: a triangle
// filter, as wide as the reduction.
std::vector<Tap> MakeTaps(int in, int out, int begin, int count) {
  const double scale = static_cast<double>(in) / out;
  const double support = std::max(scale, 1.0);
  std::vector<Tap> taps(static_cast<size_t>(count));
  for (int i = 0; i < count; ++i) {
    const double centre = (begin + i + 0.5) * scale;
    const int first = std::max(static_cast<int>(centre - support + 0.5), 0);
    const int last = std::min(static_cast<int>(centre + support + 0.5), in);
    std::vector<double> weights;
    double sum = 0;
    for (int x = first; x < last; ++x) {
      const double distance = std::abs((x - centre + 0.5) / support);
      weights.push_back(std::max(0.0, 1 - distance));
      sum += weights.back();
    }
    Tap& tap = taps[static_cast<size_t>(i)];
    tap.first = first;
    for (const double weight : weights) {
      tap.weights.push_back(
          static_cast<int32_t>(std::floor(0.5 + weight / sum * (1 << kPrecisionBits))));
    }
  }
  return taps;
}

uint8_t Rounded(int64_t sum) {
  return static_cast<uint8_t>(
      std::clamp<int64_t>((sum + (1 << (kPrecisionBits - 1))) >> kPrecisionBits, 0, 255));
}

// Python's round: half to even.
int CropStart(int extent, int size) {
  return static_cast<int>(std::nearbyint((extent - size) / 2.0));
}

}  // namespace

void ResizeAndCrop(const RgbImage& image, int size, std::span<uint8_t> out) {
  TUNE_CHECK(image.width > 0 && image.height > 0 && size > 0);
  TUNE_CHECK(out.size() == static_cast<size_t>(size) * size * 3);
  TUNE_CHECK(image.pixels.size() == static_cast<size_t>(image.width) * image.height * 3);
  const bool wide = image.width >= image.height;
  const int64_t scaled_long = static_cast<int64_t>(size) * std::max(image.width, image.height) /
                              std::min(image.width, image.height);
  const int new_width = wide ? static_cast<int>(scaled_long) : size;
  const int new_height = wide ? size : static_cast<int>(scaled_long);
  const std::vector<Tap> columns =
      MakeTaps(image.width, new_width, CropStart(new_width, size), size);
  const std::vector<Tap> rows =
      MakeTaps(image.height, new_height, CropStart(new_height, size), size);

  // Across first, rounded to bytes, then down; only the rows and columns that survive the crop.
  const int first_row = rows.front().first;
  const int last_row = rows.back().first + static_cast<int>(rows.back().weights.size());
  std::vector<uint8_t> narrow(static_cast<size_t>(last_row - first_row) * size * 3);
  uint8_t* to = narrow.data();
  for (int y = first_row; y < last_row; ++y) {
    const uint8_t* row = image.pixels.data() + static_cast<size_t>(y) * image.width * 3;
    for (const Tap& tap : columns) {
      int32_t sum[3] = {0, 0, 0};
      const uint8_t* from = row + 3 * static_cast<size_t>(tap.first);
      for (const int32_t weight : tap.weights) {
        for (int c = 0; c < 3; ++c) sum[c] += weight * *from++;
      }
      for (const int32_t s : sum) *to++ = Rounded(s);
    }
  }
  const size_t stride = static_cast<size_t>(size) * 3;
  std::vector<int32_t> sums(stride);
  for (size_t y = 0; y < rows.size(); ++y) {
    std::fill(sums.begin(), sums.end(), 0);
    const uint8_t* from = narrow.data() + static_cast<size_t>(rows[y].first - first_row) * stride;
    for (const int32_t weight : rows[y].weights) {
      for (size_t x = 0; x < stride; ++x) sums[x] += weight * from[x];
      from += stride;
    }
    for (size_t x = 0; x < stride; ++x) out[y * stride + x] = Rounded(sums[x]);
  }
}

}  // namespace tune::models
