#include "models/cpu/rows.h"

#include "models/cpu/simd.h"

namespace tune::models::cpu {
namespace {

// The vectors of one group of channels, from c on.
template <class G>
struct Vectors {
  using V = typename G::Vector;
  static constexpr int kStep = kLanesOf<V>;

  explicit Vectors(const float* source) {
#pragma GCC unroll 4
    for (int i = 0; i < G::kCount; ++i) v[i] = Load<V>(source + i * kStep);
  }
  Vectors() = default;

  void AddTo(double* sums) const {
    for (int i = 0; i < G::kCount; ++i) cpu::AddTo(sums + i * kStep, v[i]);
  }

  V v[G::kCount] = {};
};

}  // namespace

void ActivateRows(int64_t rows, int channels, const float* y, const NormFold& fold, float* x) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    const Vectors<G> scale(fold.scale + c), shift(fold.shift + c);
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const int64_t at = r * channels + c + i * kLanesOf<V>;
        Store(x + at, Relu6(scale.v[i] * Load<V>(y + at) + shift.v[i]));
      }
    }
  });
}

void JoinRows(int64_t rows, int channels, const float* y, const NormFold& fold, const float* skip,
              float* x) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    const Vectors<G> scale(fold.scale + c), shift(fold.shift + c);
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const int64_t at = r * channels + c + i * kLanesOf<V>;
        V u = scale.v[i] * Load<V>(y + at) + shift.v[i];
        if (skip != nullptr) u += Load<V>(skip + at);
        Store(x + at, u);
      }
    }
  });
}

void SumRows(int64_t rows, int channels, const float* y, double* sums) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    Vectors<G> sum, square;
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const V u = Load<V>(y + r * channels + c + i * kLanesOf<V>);
        sum.v[i] += u;
        square.v[i] += u * u;
      }
    }
    sum.AddTo(sums + c);
    square.AddTo(sums + channels + c);
  });
}

void StreamRows(int64_t rows, int channels, const float* y, float* target, double* sums) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    Vectors<G> sum, square;
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const int64_t at = r * channels + c + i * kLanesOf<V>;
        const V u = Load<V>(y + at);
        StoreStreaming(target + at, u);
        sum.v[i] += u;
        square.v[i] += u * u;
      }
    }
    if (sums == nullptr) return;
    sum.AddTo(sums + c);
    square.AddTo(sums + channels + c);
  });
}

void NormGradientRows(int64_t rows, int channels, const float* dz, const float* y,
                      const NormGradient& gradient, float* dy) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    const Vectors<G> dz_factor(gradient.dz_factor + c), y_factor(gradient.y_factor + c),
        constant(gradient.constant + c);
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const int64_t at = r * channels + c + i * kLanesOf<V>;
        const V from_y = y_factor.v[i] * Load<V>(y + at) + constant.v[i];
        Store(dy + at, dz_factor.v[i] * Load<V>(dz + at) + from_y);
      }
    }
  });
}

void Relu6GradientRows(int64_t rows, int channels, const float* dx, const float* y,
                       const NormFold& fold, float* dz, float* x, double* sums, bool streaming) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    const Vectors<G> scale(fold.scale + c), shift(fold.shift + c);
    Vectors<G> sum, product;
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const int64_t at = r * channels + c + i * kLanesOf<V>;
        const V before = Load<V>(y + at);
        const V u = scale.v[i] * before + shift.v[i];
        const V g = Relu6Gradient(u, Load<V>(dx + at));
        Store(x + at, Relu6(u));
        if (streaming) {
          StoreStreaming(dz + at, g);
        } else {
          Store(dz + at, g);
        }
        sum.v[i] += g;
        product.v[i] += g * before;
      }
    }
    sum.AddTo(sums + c);
    product.AddTo(sums + channels + c);
  });
}

void JoinGradientRows(int64_t rows, int channels, const float* dx, const float* skip_gradient,
                      const float* y, float* dz, double* sums) {
  ForChannelGroups(channels, [&]<class G>(G, int c) {
    using V = typename G::Vector;
    Vectors<G> sum, product;
    for (int64_t r = 0; r < rows; ++r) {
#pragma GCC unroll 4
      for (int i = 0; i < G::kCount; ++i) {
        const int64_t at = r * channels + c + i * kLanesOf<V>;
        V g = Load<V>(dx + at);
        if (skip_gradient != nullptr) g += Load<V>(skip_gradient + at);
        Store(dz + at, g);
        sum.v[i] += g;
        product.v[i] += g * Load<V>(y + at);
      }
    }
    sum.AddTo(sums + c);
    product.AddTo(sums + channels + c);
  });
}

}  // namespace tune::models::cpu
