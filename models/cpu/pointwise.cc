#include "models/cpu/pointwise.h"

#include <algorithm>

#include "models/cpu/gemm.h"

namespace tune::models::cpu {
namespace {

// Floats of a tile that share a core's second-level cache with the weights.
constexpr int64_t kTileFloats = 96 * 1024;
constexpr int64_t kTileRowsMin = 48;
constexpr int64_t kTileRowsMax = 256;

int64_t TileRows(int64_t floats_per_row) {
  return std::clamp(kTileFloats / floats_per_row / 16 * 16, kTileRowsMin, kTileRowsMax);
}

int64_t ForwardTileRows(int in, int out) { return TileRows(in + out); }
int64_t BackwardTileRows(int in, int out) { return TileRows(2 * in + out); }

}  // namespace

int64_t PointwiseScratch(int in, int out) {
  return std::max(ForwardTileRows(in, out) * (in + out),
                  BackwardTileRows(in, out) * (2 * in + out));
}

void RunPointwiseForward(const PointwiseForward& pass, int64_t begin, int64_t end, float* scratch,
                         double* sums) {
  const int64_t tile_rows = ForwardTileRows(pass.in, pass.out);
  const PointwiseInput& input = pass.input;
  Prefetch prefetch;
  for (int64_t row = begin; row < end; row += tile_rows) {
    const int64_t rows = std::min(tile_rows, end - row);
    const int64_t in_at = row * pass.in;
    const int64_t next_rows = std::min(tile_rows, end - row - rows);
    prefetch.Clear();
    prefetch.Add(input.y + in_at + rows * pass.in, next_rows * pass.in);
    if (input.skip != nullptr) {
      prefetch.Add(input.skip + in_at + rows * pass.in, next_rows * pass.in);
    }
    prefetch.Spread(MultiplySteps(rows, pass.out));
    float* x = scratch;
    if (input.block == nullptr) {
      ActivateRows(rows, pass.in, input.y + in_at, input.fold, x);
    } else {
      x = input.block + in_at;
      JoinRows(rows, pass.in, input.y + in_at, input.fold,
               input.skip == nullptr ? nullptr : input.skip + in_at, x);
    }
    float* y = pass.y + row * pass.out;
    float* product = pass.streaming ? scratch + tile_rows * pass.in : y;
    MultiplyTile(rows, pass.out, pass.in, {x, pass.in, 1}, {pass.weights}, product, pass.out,
                 Product::kStore, &prefetch);
    if (pass.streaming) {
      StreamRows(rows, pass.out, product, y, sums);
    } else if (sums != nullptr) {
      SumRows(rows, pass.out, y, sums);
    }
  }
}

void RunPointwiseBackward(const PointwiseBackward& pass, int64_t begin, int64_t end, float* scratch,
                          double* input_sums, float* weight_gradient) {
  const int64_t tile_rows = BackwardTileRows(pass.in, pass.out);
  float* dy = scratch;                          // (tile_rows, out)
  float* dx = dy + tile_rows * pass.out;        // (tile_rows, in)
  float* activated = dx + tile_rows * pass.in;  // (tile_rows, in)
  const PointwiseInput& input = pass.input;
  Prefetch prefetch;
  if (begin == end) std::fill_n(weight_gradient, static_cast<int64_t>(pass.in) * pass.out, 0.0f);
  for (int64_t row = begin; row < end; row += tile_rows) {
    const int64_t rows = std::min(tile_rows, end - row);
    const int64_t in_at = row * pass.in;
    const int64_t out_at = row * pass.out;
    const int64_t next_rows = std::min(tile_rows, end - row - rows);
    prefetch.Clear();
    prefetch.Add(pass.dz + out_at + rows * pass.out, next_rows * pass.out);
    prefetch.Add(pass.y + out_at + rows * pass.out, next_rows * pass.out);
    prefetch.Add(input.y + in_at + rows * pass.in, next_rows * pass.in);
    if (input.block != nullptr) {
      prefetch.Add(input.block + in_at + rows * pass.in, next_rows * pass.in);
    }
    prefetch.Spread(MultiplySteps(rows, pass.in) + MultiplySteps(pass.out, pass.in));
    NormGradientRows(rows, pass.out, pass.dz + out_at, pass.y + out_at, pass.gradient, dy);
    MultiplyTile(rows, pass.in, pass.out, {dy, pass.out, 1}, {pass.weights}, dx, pass.in,
                 Product::kStore, &prefetch);
    const float* x = activated;
    if (input.block == nullptr) {
      Relu6GradientRows(rows, pass.in, dx, input.y + in_at, input.fold, pass.input_dz + in_at,
                        activated, input_sums, pass.streaming);
    } else {
      x = input.block + in_at;
      JoinGradientRows(rows, pass.in, dx,
                       pass.skip_gradient == nullptr ? nullptr : pass.skip_gradient + in_at,
                       input.y + in_at, pass.input_dz + in_at, input_sums);
    }
    MultiplyTile(pass.out, pass.in, rows, {dy, 1, pass.out}, {x, pass.in}, weight_gradient, pass.in,
                 row == begin ? Product::kStore : Product::kAccumulate, &prefetch);
  }
}

}  // namespace tune::models::cpu
