#include "models/cpu/stem.h"

#include <algorithm>
#include <cstring>

#include "models/cpu/gemm.h"

namespace tune::models::cpu {
namespace {

constexpr int kTilePixels = 128;

// Output rows that are worked on together.
int64_t TileRows(const StemShape& s) {
  return std::clamp<int64_t>(kTilePixels / s.out_size, 1, s.out_size);
}

// Patches of one output row, (out_size, kPatchStride).
void GatherRow(const StemShape& s, const float* image, int row, float* patches) {
  const int64_t line = 3 * static_cast<int64_t>(s.in_size);
  for (int column = 0; column < s.out_size; ++column, patches += kPatchStride) {
    const int left = 2 * column - 1;
    for (int kh = 0; kh < 3; ++kh) {
      const int y = 2 * row + kh - 1;
      float* target = patches + 9 * kh;
      if (y < 0 || y >= s.in_size) {
        std::memset(target, 0, 9 * sizeof(float));
      } else if (left >= 0 && left + 2 < s.in_size) {
        std::memcpy(target, image + y * line + 3 * left, 9 * sizeof(float));
      } else {
        for (int kw = 0; kw < 3; ++kw) {
          const int x = left + kw;
          const bool inside = x >= 0 && x < s.in_size;
          for (int c = 0; c < 3; ++c) {
            target[3 * kw + c] = inside ? image[y * line + 3 * x + c] : 0.0f;
          }
        }
      }
    }
  }
}

void GatherRows(const StemShape& s, const float* images, int64_t row, int64_t rows,
                float* patches) {
  const int64_t image_floats = 3 * static_cast<int64_t>(s.in_size) * s.in_size;
  for (int64_t r = row; r < row + rows; ++r) {
    GatherRow(s, images + r / s.out_size * image_floats, static_cast<int>(r % s.out_size), patches);
    patches += static_cast<int64_t>(s.out_size) * kPatchStride;
  }
}

}  // namespace

int64_t StemScratch(const StemShape& shape) {
  return TileRows(shape) * shape.out_size * (kPatchStride + shape.out);
}

void RunStemForward(const StemShape& shape, const float* images, const float* weights, float* y,
                    int64_t begin, int64_t end, float* scratch, double* sums) {
  const int64_t tile_rows = TileRows(shape);
  for (int64_t row = begin; row < end; row += tile_rows) {
    const int64_t rows = std::min(tile_rows, end - row);
    const int64_t pixels = rows * shape.out_size;
    float* out = y + row * shape.out_size * shape.out;
    GatherRows(shape, images, row, rows, scratch);
    MultiplyTile(pixels, shape.out, kPatch, {scratch, kPatchStride, 1}, {weights}, out, shape.out,
                 Product::kStore);
    if (sums != nullptr) SumRows(pixels, shape.out, out, sums);
  }
}

void RunStemBackward(const StemShape& shape, const float* images, const float* dz, const float* y,
                     const NormGradient& gradient, int64_t begin, int64_t end, float* scratch,
                     float* weight_gradient) {
  const int64_t tile_rows = TileRows(shape);
  const int64_t tile_pixels = tile_rows * shape.out_size;
  float* dy = scratch + tile_pixels * kPatchStride;
  std::fill_n(scratch, tile_pixels * kPatchStride, 0.0f);  // The ends of the patches stay zero.
  std::fill_n(weight_gradient, shape.out * kPatchStride, 0.0f);
  for (int64_t row = begin; row < end; row += tile_rows) {
    const int64_t rows = std::min(tile_rows, end - row);
    const int64_t pixels = rows * shape.out_size;
    const int64_t at = row * shape.out_size * shape.out;
    GatherRows(shape, images, row, rows, scratch);
    NormGradientRows(pixels, shape.out, dz + at, y + at, gradient, dy);
    MultiplyTile(shape.out, kPatchStride, pixels, {dy, 1, shape.out}, {scratch, kPatchStride},
                 weight_gradient, kPatchStride, Product::kAccumulate);
  }
}

void StemWeightsToPatches(int out, const float* oihw, float* patches) {
  for (int o = 0; o < out; ++o) {
    for (int c = 0; c < 3; ++c) {
      for (int tap = 0; tap < 9; ++tap) patches[(tap * 3 + c) * out + o] = *oihw++;
    }
  }
}

void StemGradientFromPatches(int out, const float* patches, float* oihw) {
  for (int o = 0; o < out; ++o) {
    for (int c = 0; c < 3; ++c) {
      for (int tap = 0; tap < 9; ++tap) *oihw++ = patches[o * kPatchStride + tap * 3 + c];
    }
  }
}

}  // namespace tune::models::cpu
