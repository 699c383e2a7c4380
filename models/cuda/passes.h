// What the network does row by row: batch norm with ReLU6 or the residual sum, and their gradients.
// Each is an Operation of SumPass or RowPass (rows.h).
//
// Thread rule: values; see kernel.h.
#pragma once

#include "models/cuda/norm.h"
#include "models/cuda/rows.h"

namespace tune::models::cuda {

// Four numbers each of two tensors, as they are stored.
template <class T>
struct TwoPacked {
  Packed<T> first, second;
};

// Sums of y and y * y: the moments of a convolution's output.
template <class T>
struct Moments {
  using Loaded = Packed<T>;
  const T* y = nullptr;

  TUNE_HOST_DEVICE NothingShared Begin(int, int) const { return {}; }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const { return LoadPacked(y + at); }
  TUNE_HOST_DEVICE void Row(int64_t, NothingShared, const Loaded& loaded, QuadSums* sums) const {
    const Quad value = Unpacked(loaded);
    sums->Add(value, value);
  }
};

// x = relu6(normalised y)
template <class T>
struct Activate {
  using Loaded = Packed<T>;
  const T* y = nullptr;
  NormFold fold;
  T* x = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const { return LoadPacked(y + at); }
  TUNE_HOST_DEVICE void Row(int64_t at, const QuadFold& f, const Loaded& loaded) const {
    StoreQuad(Activated(f, Unpacked(loaded)), x + at);
  }
};

// block = normalised y + skip: the end of a block.
template <class T>
struct EndBlock {
  using Loaded = TwoPacked<T>;
  const T* y = nullptr;
  NormFold fold;
  const T* skip = nullptr;  // Null: none.
  T* block = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const {
    if (skip == nullptr) return {LoadPacked(y + at), {}};
    return {LoadPacked(y + at), LoadPacked(skip + at)};
  }
  TUNE_HOST_DEVICE void Row(int64_t at, const QuadFold& f, const Loaded& loaded) const {
    Quad z = Normalised(f, Unpacked(loaded.first));
    if (skip != nullptr) AddQuad(Unpacked(loaded.second), &z);
    StoreQuad(z, block + at);
  }
};

// Sums of dz and dz * y of an activated layer, from the gradient of x = relu6(z).
template <class T>
struct MaskedSums {
  using Loaded = TwoPacked<T>;
  const T* y = nullptr;
  NormFold fold;
  const T* dx = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const {
    return {LoadPacked(y + at), LoadPacked(dx + at)};
  }
  TUNE_HOST_DEVICE void Row(int64_t, const QuadFold& f, const Loaded& loaded,
                            QuadSums* sums) const {
    const Quad value = Unpacked(loaded.first);
    sums->Add(Masked(Normalised(f, value), Unpacked(loaded.second)), value);
  }
};

// dz of a block's end: its gradient plus that which comes by the residual connection, in place;
// sums of dz and dz * y.
template <class T>
struct BlockGradient {
  struct Loaded {
    Packed<T> y, dx, skip_gradient;
  };
  const T* y = nullptr;
  const T* skip_gradient = nullptr;  // Null: none.
  T* dx = nullptr;

  TUNE_HOST_DEVICE NothingShared Begin(int, int) const { return {}; }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const {
    if (skip_gradient == nullptr) return {LoadPacked(y + at), LoadPacked(dx + at), {}};
    return {LoadPacked(y + at), LoadPacked(dx + at), LoadPacked(skip_gradient + at)};
  }
  TUNE_HOST_DEVICE void Row(int64_t at, NothingShared, const Loaded& loaded, QuadSums* sums) const {
    Quad dz = Unpacked(loaded.dx);
    if (skip_gradient != nullptr) {
      AddQuad(Unpacked(loaded.skip_gradient), &dz);
      StoreQuad(dz, dx + at);
    }
    sums->Add(dz, Unpacked(loaded.y));
  }
};

// The factors of dy for four channels.
struct QuadGradient {
  Quad dz_factor, y_factor, constant;
};

TUNE_HOST_DEVICE QuadGradient LoadGradient(const NormGradient& gradient, int lane, int channel) {
  return {LoadQuad(gradient.dz_factor.Of(lane) + channel),
          LoadQuad(gradient.y_factor.Of(lane) + channel),
          LoadQuad(gradient.constant.Of(lane) + channel)};
}

TUNE_HOST_DEVICE Quad GradientOfY(const QuadGradient& f, const Quad& dz, const Quad& y) {
  Quad dy;
  TUNE_UNROLL
  for (int i = 0; i < kVector; ++i) {
    dy.v[i] = f.dz_factor.v[i] * dz.v[i] + f.y_factor.v[i] * y.v[i] + f.constant.v[i];
  }
  return dy;
}

// dy from dz; they may be the same memory.
template <class T>
struct NormBackward {
  using Loaded = TwoPacked<T>;
  const T* y = nullptr;
  NormGradient gradient;
  const T* dz = nullptr;
  T* dy = nullptr;

  TUNE_HOST_DEVICE QuadGradient Begin(int lane, int channel) const {
    return LoadGradient(gradient, lane, channel);
  }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const {
    return {LoadPacked(y + at), LoadPacked(dz + at)};
  }
  TUNE_HOST_DEVICE void Row(int64_t at, const QuadGradient& f, const Loaded& loaded) const {
    StoreQuad(GradientOfY(f, Unpacked(loaded.second), Unpacked(loaded.first)), dy + at);
  }
};

// dy of an activated layer from the gradient of x = relu6(z), in place. (Its dz is made twice, here
// and for the sums: less to read and write than if it were kept.)
template <class T>
struct MaskedNormBackward {
  using Loaded = TwoPacked<T>;
  const T* y = nullptr;
  NormFold fold;
  NormGradient gradient;
  T* dx = nullptr;

  struct Values {
    QuadFold fold;
    QuadGradient gradient;
  };
  TUNE_HOST_DEVICE Values Begin(int lane, int channel) const {
    return {LoadFold(fold, lane, channel), LoadGradient(gradient, lane, channel)};
  }
  TUNE_HOST_DEVICE Loaded Load(int, int64_t, int64_t at) const {
    return {LoadPacked(y + at), LoadPacked(dx + at)};
  }
  TUNE_HOST_DEVICE void Row(int64_t at, const Values& f, const Loaded& loaded) const {
    const Quad value = Unpacked(loaded.first);
    const Quad dz = Masked(Normalised(f.fold, value), Unpacked(loaded.second));
    StoreQuad(GradientOfY(f.gradient, dz, value), dx + at);
  }
};

// dz of the last layer, whose activated output is averaged over its pixels; sums of dz and dz * y.
template <class T>
struct PoolGradient {
  struct Loaded {
    Packed<T> y;
    Quad pooled_gradient;
  };
  const T* y = nullptr;
  NormFold fold;
  const float* pooled_gradient = nullptr;  // (lane, batch, channels)
  int batch = 0;
  int pixels = 0;
  int channels = 0;
  T* dz = nullptr;

  TUNE_HOST_DEVICE QuadFold Begin(int lane, int channel) const {
    return LoadFold(fold, lane, channel);
  }
  TUNE_HOST_DEVICE Loaded Load(int lane, int64_t row, int64_t at) const {
    const int64_t first_row = int64_t{lane} * batch * pixels;
    const int64_t channel = at - (first_row + row) * channels;
    const int64_t image = int64_t{lane} * batch + static_cast<int>(row) / pixels;
    return {LoadPacked(y + at), LoadQuad(pooled_gradient + image * channels + channel)};
  }
  TUNE_HOST_DEVICE void Row(int64_t at, const QuadFold& f, const Loaded& loaded,
                            QuadSums* sums) const {
    Quad dx = loaded.pooled_gradient;
    TUNE_UNROLL
    for (int i = 0; i < kVector; ++i) dx.v[i] *= 1.0f / static_cast<float>(pixels);
    const Quad value = Unpacked(loaded.y);
    const Quad result = Masked(Normalised(f, value), dx);
    StoreQuad(result, dz + at);
    sums->Add(result, value);
  }
};

}  // namespace tune::models::cuda
