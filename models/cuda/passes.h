// What the network does row by row: batch norm with ReLU6 or the residual sum, and their gradients.
// Each is an Operation of SumPass or RowPass (rows.h).
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/norm.h"
#include "models/cuda/rows.h"

namespace tune::models::cuda {

// Sums of y and y * y: the moments of a convolution's output.
template <class T>
struct Moments {
  const T* y = nullptr;

  TUNE_HOST_DEVICE NothingShared Begin(int, int) const { return {}; }
  TUNE_HOST_DEVICE void Row(int, int64_t, int64_t at, NothingShared, QuadSums* sums) const {
    const Quad value = LoadQuad(y + at);
    sums->Add(value, value);
  }
};

// x = relu6(normalised y)
template <class T>
struct Activate {
  const T* y = nullptr;
  NormFold fold;
  T* x = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE void Row(int, int64_t, int64_t at, const QuadFold& f) const {
    StoreQuad(Activated(f, LoadQuad(y + at)), x + at);
  }
};

// block = normalised y + skip: the end of a block.
template <class T>
struct EndBlock {
  const T* y = nullptr;
  NormFold fold;
  const T* skip = nullptr;  // Null: none.
  T* block = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE void Row(int, int64_t, int64_t at, const QuadFold& f) const {
    Quad z = Normalised(f, LoadQuad(y + at));
    if (skip != nullptr) {
      const Quad other = LoadQuad(skip + at);
      TUNE_UNROLL
      for (int i = 0; i < kVector; ++i) z.v[i] += other.v[i];
    }
    StoreQuad(z, block + at);
  }
};

// dz of an activated layer from the gradient of x = relu6(z), in place; sums of dz and dz * y.
template <class T>
struct MaskGradient {
  const T* y = nullptr;
  NormFold fold;
  T* dx = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE void Row(int, int64_t, int64_t at, const QuadFold& f, QuadSums* sums) const {
    const Quad value = LoadQuad(y + at);
    const Quad dz = Masked(Normalised(f, value), LoadQuad(dx + at));
    StoreQuad(dz, dx + at);
    sums->Add(dz, value);
  }
};

// dz of a block's end: its gradient plus that which comes by the residual connection, in place;
// sums of dz and dz * y.
template <class T>
struct BlockGradient {
  const T* y = nullptr;
  const T* skip_gradient = nullptr;  // Null: none.
  T* dx = nullptr;

  TUNE_HOST_DEVICE NothingShared Begin(int, int) const { return {}; }
  TUNE_HOST_DEVICE void Row(int, int64_t, int64_t at, NothingShared, QuadSums* sums) const {
    Quad dz = LoadQuad(dx + at);
    if (skip_gradient != nullptr) {
      const Quad other = LoadQuad(skip_gradient + at);
      TUNE_UNROLL
      for (int i = 0; i < kVector; ++i) dz.v[i] += other.v[i];
      StoreQuad(dz, dx + at);
    }
    sums->Add(dz, LoadQuad(y + at));
  }
};

// dy from dz; they may be the same memory.
template <class T>
struct NormBackward {
  const T* y = nullptr;
  NormGradient gradient;
  const T* dz = nullptr;
  T* dy = nullptr;

  struct Values {
    Quad dz_factor, y_factor, constant;
  };
  TUNE_HOST_DEVICE Values Begin(int lane, int channel) const {
    return {LoadQuad(gradient.dz_factor.Of(lane) + channel),
            LoadQuad(gradient.y_factor.Of(lane) + channel),
            LoadQuad(gradient.constant.Of(lane) + channel)};
  }
  TUNE_HOST_DEVICE void Row(int, int64_t, int64_t at, const Values& f) const {
    const Quad from = LoadQuad(dz + at);
    const Quad value = LoadQuad(y + at);
    Quad to;
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) {
      to.v[i] = f.dz_factor.v[i] * from.v[i] + f.y_factor.v[i] * value.v[i] + f.constant.v[i];
    }
    StoreQuad(to, dy + at);
  }
};

// dz of the last layer, whose activated output is averaged over its pixels; sums of dz and dz * y.
template <class T>
struct PoolGradient {
  const T* y = nullptr;
  NormFold fold;
  const float* pooled_gradient = nullptr;  // (lane, batch, channels)
  int batch = 0;
  int pixels = 0;
  int channels = 0;
  T* dz = nullptr;

  struct Values {
    QuadFold fold;
    int channel;
  };
  TUNE_HOST_DEVICE Values Begin(int lane, int channel) const {
    return {LoadFold(fold, lane, channel), channel};
  }
  TUNE_HOST_DEVICE void Row(int lane, int64_t row, int64_t at, const Values& f,
                            QuadSums* sums) const {
    const int64_t image = lane * static_cast<int64_t>(batch) + row / pixels;
    Quad dx = LoadQuad(pooled_gradient + image * channels + f.channel);
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) dx.v[i] *= 1.0f / static_cast<float>(pixels);
    const Quad value = LoadQuad(y + at);
    const Quad result = Masked(Normalised(f.fold, value), dx);
    StoreQuad(result, dz + at);
    sums->Add(result, value);
  }
};

}  // namespace tune::models::cuda
