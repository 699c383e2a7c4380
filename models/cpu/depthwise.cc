#include "models/cpu/depthwise.h"

#include <algorithm>

#include "models/cpu/prefetch.h"
#include "models/cpu/simd.h"

namespace tune::models::cpu {
namespace {

// Pixels of a band at least, so that what is loaded once per band and vector (weights, sums) costs
// little.
constexpr int kBandPixels = 64;

int BandRows(int size) { return std::clamp((kBandPixels + size - 1) / size, 1, size); }

// Rows of `width` pixels with a zero pixel at either end, as many as a band needs, in rotation; a
// zero row stands for those above and below the image.
class RowRing {
 public:
  RowRing(float* memory, int capacity, int width, int channels, int height)
      : rows_(memory),
        capacity_(capacity),
        channels_(channels),
        height_(height),
        row_floats_(RowFloats(width, channels)) {
    std::fill_n(Slot(capacity_), row_floats_, 0.0f);
    for (int i = 0; i < capacity_; ++i) {
      std::fill_n(Slot(i), channels_, 0.0f);
      std::fill_n(Slot(i) + row_floats_ - channels_, channels_, 0.0f);
    }
  }

  static int64_t RowFloats(int width, int channels) {
    return static_cast<int64_t>(width + 2) * channels;
  }

  void BeginImage() { next_ = 0; }

  // Prepares the rows first .. last that lie in the image and are not there yet: produce(row,
  // pixels of the row).
  template <class F>
  void Fill(int first, int last, F&& produce) {
    for (int row = std::max(next_, first); row <= std::min(last, height_ - 1); ++row) {
      produce(row, Slot(row % capacity_) + channels_);
      next_ = row + 1;
    }
  }

  // The zero pixel left of the row.
  const float* Row(int row) const {
    return Slot(row < 0 || row >= height_ ? capacity_ : row % capacity_);
  }

 private:
  float* Slot(int index) const { return rows_ + index * row_floats_; }

  float* rows_;
  int capacity_;
  int channels_;
  int height_;
  int64_t row_floats_;
  int next_ = 0;
};

int ForwardCapacity(const DepthwiseShape& s) { return (BandRows(s.out_size) - 1) * s.stride + 3; }
int BackwardCapacity(const DepthwiseShape& s) { return BandRows(s.in_size) / s.stride + 3; }

// Calls band(image, first row, row past the last) over the rows [begin, end) of images of `size`
// rows.
template <class F>
void ForBands(int64_t begin, int64_t end, int size, F&& band) {
  const int band_rows = BandRows(size);
  while (begin < end) {
    const int first = static_cast<int>(begin % size);
    const int64_t left = std::min<int64_t>(size - first, end - begin);
    const int rows = static_cast<int>(std::min<int64_t>(band_rows, left));
    band(begin / size, first, first + rows);
    begin += rows;
  }
}

template <class F>
void ForVectors(int channels, F&& f) {
  int c = 0;
  for (; c + kLanes <= channels; c += kLanes) f(Vec{}, c);
  if (c < channels) f(Vec8{}, c);
}

int VectorCount(int channels) { return (channels + kLanes - 1) / kLanes; }

// Calls of Prefetch::Step() for each vector of a band: every fourth pixel of a row makes one.
int64_t PixelSteps(int rows, int width) { return static_cast<int64_t>(rows) * ((width + 3) / 4); }

template <class V>
inline void StoreMaybeStreaming(float* p, V v, bool streaming) {
  if (streaming) {
    StoreStreaming(p, v);
  } else {
    Store(p, v);
  }
}

// One band of outputs for the vector of channels at c; y points at the band's first row.
template <class V, int stride>
void ForwardBand(const DepthwiseForward& pass, const RowRing& ring, int first, int last, int c,
                 float* y, double* sums, Prefetch& prefetch) {
  const int channels = pass.shape.channels;
  const int width = pass.shape.out_size;
  V w[9];
#pragma GCC unroll 9
  for (int i = 0; i < 9; ++i) w[i] = Load<V>(pass.weights + i * channels + c);
  V sum = {}, square = {};
  float* out = y + c;
  for (int row = first; row < last; ++row) {
    const float* x0 = ring.Row(row * stride - 1) + c;
    const float* x1 = ring.Row(row * stride) + c;
    const float* x2 = ring.Row(row * stride + 1) + c;
    for (int column = 0; column < width; ++column) {
      V a = {}, b = {}, d = {};
#pragma GCC unroll 3
      for (int i = 0; i < 3; ++i) {
        a += w[i] * Load<V>(x0 + i * channels);
        b += w[3 + i] * Load<V>(x1 + i * channels);
        d += w[6 + i] * Load<V>(x2 + i * channels);
      }
      const V u = a + b + d;
      StoreMaybeStreaming(out, u, pass.streaming);
      sum += u;
      square += u * u;
      x0 += stride * channels;
      x1 += stride * channels;
      x2 += stride * channels;
      out += channels;
      if (column % 4 == 0) prefetch.Step();
    }
  }
  if (sums == nullptr) return;
  AddTo(sums + c, sum);
  AddTo(sums + channels + c, square);
}

// What stays in registers while a band of inputs is walked.
template <class V>
struct BackwardState {
  V w[9];
  V gradient[9] = {};
  V scale, shift;
  V sum = {}, product = {};
};

// The taps that reach an input pixel along one axis: with stride 1 all three; with stride 2 the
// middle one where its coordinate is even, the outer two where it is odd.
template <int count>
constexpr int Tap(int i) {
  return count == 3 ? i : count == 2 ? 2 * i : 1;
}

// One input pixel: rows[i] and columns[j] (in floats) lead to the output gradient of tap (Tap(i),
// Tap(j)).
template <class V, int row_taps, int column_taps>
[[gnu::always_inline]] inline void BackwardPixel(BackwardState<V>& state, const float* const* rows,
                                                 const int64_t* columns, const float* input_y,
                                                 float* input_dz, bool streaming) {
  const V before = Load<V>(input_y);
  const V u = state.scale * before + state.shift;
  const V x = Relu6(u);
  V dx = {};
#pragma GCC unroll 3
  for (int i = 0; i < row_taps; ++i) {
#pragma GCC unroll 3
    for (int j = 0; j < column_taps; ++j) {
      const int tap = Tap<row_taps>(i) * 3 + Tap<column_taps>(j);
      const V dy = Load<V>(rows[i] + columns[j]);
      dx += state.w[tap] * dy;
      state.gradient[tap] += x * dy;
    }
  }
  const V g = Relu6Gradient(u, dx);
  StoreMaybeStreaming(input_dz, g, streaming);
  state.sum += g;
  state.product += g * before;
}

template <class V>
void BackwardRowStride1(const DepthwiseBackward& pass, const RowRing& ring, int row, int c,
                        const float* input_y, float* input_dz, BackwardState<V>& state,
                        Prefetch& prefetch) {
  const int64_t channels = pass.shape.channels;
  const float* rows[3] = {ring.Row(row + 1) + c, ring.Row(row) + c, ring.Row(row - 1) + c};
  const int64_t columns[3] = {2 * channels, channels, 0};
  for (int column = 0; column < pass.shape.in_size; ++column) {
    BackwardPixel<V, 3, 3>(state, rows, columns, input_y, input_dz, pass.streaming);
    for (const float*& r : rows) r += channels;
    input_y += channels;
    input_dz += channels;
    if (column % 4 == 0) prefetch.Step();
  }
}

template <class V, int row_taps>
void BackwardRowStride2(const DepthwiseBackward& pass, const RowRing& ring, int row, int c,
                        const float* input_y, float* input_dz, BackwardState<V>& state,
                        Prefetch& prefetch) {
  const int64_t channels = pass.shape.channels;
  const float* rows[2] = {ring.Row((row + 1) / 2) + c, ring.Row((row - 1) / 2) + c};
  const int64_t even[1] = {channels};
  const int64_t odd[2] = {2 * channels, channels};
  for (int column = 0; column < pass.shape.in_size; column += 2) {
    BackwardPixel<V, row_taps, 1>(state, rows, even, input_y, input_dz, pass.streaming);
    input_y += channels;
    input_dz += channels;
    if (column + 1 == pass.shape.in_size) break;
    BackwardPixel<V, row_taps, 2>(state, rows, odd, input_y, input_dz, pass.streaming);
    input_y += channels;
    input_dz += channels;
    for (const float*& r : rows) r += channels;
    if (column % 4 == 0) prefetch.Step();
  }
}

template <class V>
void BackwardBand(const DepthwiseBackward& pass, const RowRing& ring, int64_t pixel, int first,
                  int last, int c, double* input_sums, float* weight_gradient, Prefetch& prefetch) {
  const int channels = pass.shape.channels;
  BackwardState<V> state;
  for (int i = 0; i < 9; ++i) state.w[i] = Load<V>(pass.weights + i * channels + c);
  state.scale = Load<V>(pass.fold.scale + c);
  state.shift = Load<V>(pass.fold.shift + c);
  for (int row = first; row < last; ++row) {
    const int64_t at =
        (pixel + static_cast<int64_t>(row - first) * pass.shape.in_size) * channels + c;
    if (pass.shape.stride == 1) {
      BackwardRowStride1(pass, ring, row, c, pass.input_y + at, pass.input_dz + at, state,
                         prefetch);
    } else if (row % 2 == 0) {
      BackwardRowStride2<V, 1>(pass, ring, row, c, pass.input_y + at, pass.input_dz + at, state,
                               prefetch);
    } else {
      BackwardRowStride2<V, 2>(pass, ring, row, c, pass.input_y + at, pass.input_dz + at, state,
                               prefetch);
    }
  }
  AddTo(input_sums + c, state.sum);
  AddTo(input_sums + channels + c, state.product);
  for (int i = 0; i < 9; ++i) {
    float* target = weight_gradient + i * channels + c;
    Store(target, Load<V>(target) + state.gradient[i]);
  }
}

}  // namespace

int64_t DepthwiseScratch(const DepthwiseShape& shape) {
  return std::max(
      (ForwardCapacity(shape) + 1) * RowRing::RowFloats(shape.in_size, shape.channels),
      (BackwardCapacity(shape) + 1) * RowRing::RowFloats(shape.out_size, shape.channels));
}

void RunDepthwiseForward(const DepthwiseForward& pass, int64_t begin, int64_t end, float* scratch,
                         double* sums) {
  const DepthwiseShape& s = pass.shape;
  RowRing ring(scratch, ForwardCapacity(s), s.in_size, s.channels, s.in_size);
  Prefetch prefetch;
  int64_t current = -1;
  ForBands(begin, end, s.out_size, [&](int64_t image, int first, int last) {
    if (image != current) ring.BeginImage();
    current = image;
    ring.Fill(first * s.stride - 1, (last - 1) * s.stride + 1, [&](int row, float* x) {
      const int64_t at = (image * s.in_size + row) * s.in_size * s.channels;
      ActivateRows(s.in_size, s.channels, pass.input_y + at, pass.fold, x);
    });
    // The rows that the next band will fill in follow those that this one did, be it in the same
    // image or the next.
    const int64_t next = (image * s.in_size + last * s.stride) * s.in_size;
    const int64_t next_end = std::min(next + (last - first) * s.stride * s.in_size,
                                      (end - 1) / s.out_size * s.in_size * s.in_size);
    prefetch.Clear();
    prefetch.Add(pass.input_y + next * s.channels, (next_end - next) * s.channels);
    prefetch.Spread(PixelSteps(last - first, s.out_size) * VectorCount(s.channels));
    float* y = pass.y + (image * s.out_size + first) * s.out_size * s.channels;
    ForVectors(s.channels, [&]<class V>(V, int c) {
      if (s.stride == 1) {
        ForwardBand<V, 1>(pass, ring, first, last, c, y, sums, prefetch);
      } else {
        ForwardBand<V, 2>(pass, ring, first, last, c, y, sums, prefetch);
      }
    });
  });
}

void RunDepthwiseBackward(const DepthwiseBackward& pass, int64_t begin, int64_t end, float* scratch,
                          double* input_sums, float* weight_gradient) {
  const DepthwiseShape& s = pass.shape;
  RowRing ring(scratch, BackwardCapacity(s), s.out_size, s.channels, s.out_size);
  std::fill_n(weight_gradient, 9 * s.channels, 0.0f);
  Prefetch prefetch;
  int64_t current = -1;
  ForBands(begin, end, s.in_size, [&](int64_t image, int first, int last) {
    if (image != current) ring.BeginImage();
    current = image;
    const int out_first = s.stride == 1 ? first - 1 : first / 2;
    const int out_last = s.stride == 1 ? last : last / 2;
    ring.Fill(out_first, out_last, [&](int row, float* dy) {
      const int64_t at = (image * s.out_size + row) * s.out_size * s.channels;
      NormGradientRows(s.out_size, s.channels, pass.dz + at, pass.y + at, pass.gradient, dy);
    });
    const int64_t pixel = (image * s.in_size + first) * s.in_size;
    const int64_t next = pixel + static_cast<int64_t>(last - first) * s.in_size;
    const int64_t next_floats =
        std::min<int64_t>(last - first, end - image * s.in_size - last) * s.in_size * s.channels;
    const int64_t out_next = (image * s.out_size + out_last + 1) * s.out_size * s.channels;
    const int64_t out_floats =
        std::min(next_floats / (s.stride * s.stride),
                 (end - 1) / s.in_size * s.out_size * s.out_size * s.channels - out_next);
    prefetch.Clear();
    prefetch.Add(pass.input_y + next * s.channels, next_floats);
    prefetch.Add(pass.dz + out_next, out_floats);
    prefetch.Add(pass.y + out_next, out_floats);
    prefetch.Spread(PixelSteps(last - first, s.in_size) * VectorCount(s.channels));
    ForVectors(s.channels, [&]<class V>(V, int c) {
      BackwardBand<V>(pass, ring, pixel, first, last, c, input_sums, weight_gradient, prefetch);
    });
  });
}

}  // namespace tune::models::cpu
