// The fast kernels against the plain ones over shapes, odd ones too, and the plain ones' gradients
// against finite differences.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <new>
#include <string>
#include <vector>

#include "core/random.h"
#include "models/cpu/adam.h"
#include "models/cpu/batch_norm.h"
#include "models/cpu/depthwise.h"
#include "models/cpu/gemm.h"
#include "models/cpu/head.h"
#include "models/cpu/pointwise.h"
#include "models/cpu/reference.h"
#include "models/cpu/stem.h"

namespace tune::models::cpu {
namespace {

using reference::ImageShape;
using reference::Values;

// Streaming stores want their target aligned, as a Buffer is.
template <class T>
struct LineAllocator {
  using value_type = T;
  T* allocate(size_t count) {
    return static_cast<T*>(operator new (count * sizeof(T), std::align_val_t{64}));
  }
  void deallocate(T* data, size_t) { operator delete (data, std::align_val_t{64}); }
  friend bool operator==(const LineAllocator&, const LineAllocator&) { return true; }
};
using Floats = std::vector<float, LineAllocator<float>>;

constexpr double kTolerance = 2e-5;  // Of single precision, relative to the length of the tensor.

// Values that a float holds exactly.
Values Draw(const std::string& name, int64_t count, double scale = 1, double offset = 0) {
  KeyedRandom random(0, name);
  Values values(count);
  for (double& value : values) value = static_cast<float>(offset + scale * random.NextNormal());
  return values;
}

Floats ToFloats(const Values& values) { return {values.begin(), values.end()}; }

double RelativeDistance(const Values& expected, const Floats& actual) {
  EXPECT_EQ(expected.size(), actual.size());
  double difference = 0, norm = 0;
  for (size_t i = 0; i < expected.size(); ++i) {
    difference += (expected[i] - actual[i]) * (expected[i] - actual[i]);
    norm += expected[i] * expected[i];
  }
  return std::sqrt(difference / norm);
}

// Sums (first, second) as the passes leave them in two rows of doubles.
Floats Row(const std::vector<double>& sums, int channels, int row) {
  return {sums.begin() + row * channels, sums.begin() + (row + 1) * channels};
}

Values ColumnSums(int channels, const Values& a, const Values& b = {}) {
  Values sums(channels);
  for (size_t i = 0; i < a.size(); ++i) sums[i % channels] += b.empty() ? a[i] : a[i] * b[i];
  return sums;
}

Values Times(const Values& a, const Values& b) {
  Values product = a;
  for (size_t i = 0; i < a.size(); ++i) product[i] *= b[i];
  return product;
}

// Checks analytic gradients of sum(f(x) * dy) by central differences at a few elements of x.
void ExpectGradient(const std::function<Values(const Values&)>& f, const Values& x,
                    const Values& dy, const Values& gradient) {
  ASSERT_EQ(x.size(), gradient.size());
  constexpr double kStep = 1e-5;
  for (size_t i = 0; i < x.size(); i += 1 + x.size() / 23) {
    const auto value_at = [&](double offset) {
      Values moved = x;
      moved[i] += offset;
      double sum = 0;
      const Values y = f(moved);
      for (size_t j = 0; j < y.size(); ++j) sum += y[j] * dy[j];
      return sum;
    };
    const double numeric = (value_at(kStep) - value_at(-kStep)) / (2 * kStep);
    EXPECT_NEAR(gradient[i], numeric, 1e-6 * (1 + std::abs(numeric))) << "element " << i;
  }
}

TEST(ReferenceGradients, AgreeWithFiniteDifferences) {
  const ImageShape in{2, 5, 3};
  for (const int stride : {1, 2}) {
    const int out_size = reference::OutSize(in.size, stride);
    const Values x = Draw("x", 2 * 25 * 3);
    const Values full = Draw("full", 4 * 3 * 9), depthwise = Draw("depthwise", 3 * 9);
    const Values dy = Draw("dy", 2 * out_size * out_size * 4);
    const auto g = reference::Conv3x3Gradients(in, 4, stride, x, full, dy);
    ExpectGradient([&](const Values& v) { return reference::Conv3x3(in, 4, stride, v, full); }, x,
                   dy, g.dx);
    ExpectGradient([&](const Values& v) { return reference::Conv3x3(in, 4, stride, x, v); }, full,
                   dy, g.dw);
    const Values dz = Draw("dz", 2 * out_size * out_size * 3);
    const auto d = reference::DepthwiseGradients(in, stride, x, depthwise, dz);
    ExpectGradient([&](const Values& v) { return reference::Depthwise(in, stride, v, depthwise); },
                   x, dz, d.dx);
    ExpectGradient([&](const Values& v) { return reference::Depthwise(in, stride, x, v); },
                   depthwise, dz, d.dw);
  }
}

TEST(ReferenceGradients, OfTheRestAgreeWithFiniteDifferencesToo) {
  const Values x = Draw("x", 7 * 3), w = Draw("w", 4 * 3), bias = Draw("bias", 4);
  const Values dy = Draw("dy", 7 * 4), dx = Draw("dx", 7 * 3);
  const auto g = reference::LinearGradients(7, 3, 4, x, w, dy);
  ExpectGradient([&](const Values& v) { return reference::Linear(7, 3, 4, v, w, bias); }, x, dy,
                 g.dx);
  ExpectGradient([&](const Values& v) { return reference::Linear(7, 3, 4, x, v, bias); }, w, dy,
                 g.dw);
  ExpectGradient([&](const Values& v) { return reference::Linear(7, 3, 4, x, w, v); }, bias, dy,
                 g.bias);

  const Values scale = Draw("scale", 3), shift = Draw("shift", 3);
  const auto normalise = [](const Values& v, const Values& a, const Values& b) {
    return reference::BatchNorm(3, v, reference::BatchNormStatistics(3, v), a, b);
  };
  const auto n = reference::BatchNormGradients(3, x, scale, dx);
  ExpectGradient([&](const Values& v) { return normalise(v, scale, shift); }, x, dx, n.dx);
  ExpectGradient([&](const Values& v) { return normalise(x, v, shift); }, scale, dx, n.scale);
  ExpectGradient([&](const Values& v) { return normalise(x, scale, v); }, shift, dx, n.shift);

  const Values wide = Draw("wide", 21, 5, 3);
  ExpectGradient(reference::Relu6, wide, dx, reference::Relu6Gradient(wide, dx));
  const Values pooled = Draw("pooled", 2 * 3);
  ExpectGradient([](const Values& v) { return reference::AveragePool(2, 4, 3, v); },
                 Draw("p", 2 * 4 * 3), pooled, reference::AveragePoolGradient(2, 4, 3, pooled));
  const std::vector<int32_t> labels = {0, 3, 1, 1, 2, 0, 3};
  const Values logits = Draw("logits", 7 * 4);
  ExpectGradient([&](const Values& v) { return Values{reference::SoftmaxCrossEntropy(labels, v)}; },
                 logits, {1}, reference::SoftmaxCrossEntropyGradient(labels, logits));
}

TEST(Gemm, MultipliesEveryWidthOfPanelAndEveryRemainderOfRows) {
  for (const int n : {8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 96, 112, 144, 160, 320}) {
    for (const int m : {1, 2, 3, 7, 8, 15, 16, 17, 49}) {
      for (const int k : {1, 5, 24}) {
        const Values a = Draw("a", m * k), b = Draw("b", k * n), start = Draw("start", m * n);
        Values expected(m * n);
        for (int i = 0; i < m; ++i) {
          for (int j = 0; j < n; ++j) {
            for (int x = 0; x < k; ++x) expected[i * n + j] += a[i * k + x] * b[x * n + j];
          }
        }
        const Floats fa = ToFloats(a), fb = ToFloats(b);
        Floats packed(k * n), c(m * n);
        PackPanels(k, n, fb.data(), n, 1, packed.data());
        MultiplyTile(m, n, k, {fa.data(), k, 1}, {packed.data()}, c.data(), n, Product::kStore);
        EXPECT_LT(RelativeDistance(expected, c), kTolerance) << m << " " << n << " " << k;
        Floats sum = ToFloats(start);
        MultiplyTile(m, n, k, {fa.data(), k, 1}, {fb.data(), n}, sum.data(), n,
                     Product::kAccumulate);
        EXPECT_LT(RelativeDistance(reference::Add(expected, start), sum), kTolerance);
      }
    }
  }
}

// What a pass knows of the convolution before it: its output and batch norm, as plain values and
// folded.
struct Before {
  Before(int channels, int64_t rows)
      : y(Draw("y", rows * channels, 2, 0.5)),
        scale(Draw("fold scale", channels, 0.5, 1)),
        shift(Draw("fold shift", channels, 1, 1)),
        y_floats(ToFloats(y)),
        scale_floats(ToFloats(scale)),
        shift_floats(ToFloats(shift)),
        normal(y) {
    for (size_t i = 0; i < y.size(); ++i)
      normal[i] = y[i] * scale[i % channels] + shift[i % channels];
    x = reference::Relu6(normal);
  }
  NormFold fold() const { return {scale_floats.data(), shift_floats.data()}; }

  Values y, scale, shift;
  Floats y_floats, scale_floats, shift_floats;
  Values normal, x;
};

// The gradient that reaches a convolution through the batch norm after it: dy = a * dz + b * y + c.
struct After {
  After(int channels, int64_t rows, const Values& y)
      : dz(Draw("dz", rows * channels)),
        a(Draw("a", channels)),
        b(Draw("b", channels)),
        c(Draw("c", channels)),
        dz_floats(ToFloats(dz)),
        y_floats(ToFloats(y)),
        a_floats(ToFloats(a)),
        b_floats(ToFloats(b)),
        c_floats(ToFloats(c)),
        dy(dz) {
    for (size_t i = 0; i < dz.size(); ++i) {
      const size_t k = i % channels;
      dy[i] = a[k] * dz[i] + b[k] * y_floats[i] + c[k];
    }
  }
  NormGradient gradient() const { return {a_floats.data(), b_floats.data(), c_floats.data()}; }

  Values dz, a, b, c;
  Floats dz_floats, y_floats, a_floats, b_floats, c_floats;
  Values dy;
};

struct PointwiseCase {
  int rows, in, out;
};

class PointwiseKernel : public testing::TestWithParam<PointwiseCase> {};

TEST_P(PointwiseKernel, AfterReluAgreesWithThePlainOne) {
  const auto [rows, in, out] = GetParam();
  const Before before(in, rows);
  const Values w = Draw("w", in * out);
  const Floats wf = ToFloats(w);
  const Values y = reference::Conv1x1(rows, in, out, before.x, w);

  Floats packed(in * out), result(rows * out), scratch(PointwiseScratch(in, out));
  PackPanels(in, out, wf.data(), 1, in, packed.data());
  std::vector<double> sums(2 * out);
  const PointwiseInput input{before.y_floats.data(), before.fold(), nullptr, nullptr};
  RunPointwiseForward({in, out, input, packed.data(), result.data(), out % 16 == 0}, 0, rows,
                      scratch.data(), sums.data());
  EXPECT_LT(RelativeDistance(y, result), kTolerance);
  EXPECT_LT(RelativeDistance(ColumnSums(out, y), Row(sums, out, 0)), 10 * kTolerance);
  EXPECT_LT(RelativeDistance(ColumnSums(out, y, y), Row(sums, out, 1)), kTolerance);

  const After after(out, rows, y);
  const auto g = reference::Conv1x1Gradients(rows, in, out, before.x, w, after.dy);
  const Values dz = reference::Relu6Gradient(before.normal, g.dx);
  PointwiseBackward pass;
  pass.in = in;
  pass.out = out;
  pass.dz = after.dz_floats.data();
  pass.y = after.y_floats.data();
  pass.gradient = after.gradient();
  PackPanels(out, in, wf.data(), in, 1, packed.data());
  pass.weights = packed.data();
  pass.input = input;
  Floats input_dz(rows * in), dw(in * out, 1e9f);
  pass.input_dz = input_dz.data();
  pass.streaming = in % 16 == 0;
  std::vector<double> input_sums(2 * in);
  RunPointwiseBackward(pass, 0, rows, scratch.data(), input_sums.data(), dw.data());
  EXPECT_LT(RelativeDistance(dz, input_dz), kTolerance);
  EXPECT_LT(RelativeDistance(g.dw, dw), kTolerance);
  EXPECT_LT(RelativeDistance(ColumnSums(in, dz), Row(input_sums, in, 0)), 10 * kTolerance);
  EXPECT_LT(RelativeDistance(ColumnSums(in, dz, before.y), Row(input_sums, in, 1)),
            10 * kTolerance);
}

TEST_P(PointwiseKernel, AfterABlockWithResidualAgreesWithThePlainOne) {
  const auto [rows, in, out] = GetParam();
  const Before before(in, rows);
  const Values w = Draw("w", in * out), skip = Draw("skip", rows * in),
               skip_gradient = Draw("sg", rows * in);
  const Floats wf = ToFloats(w), skip_floats = ToFloats(skip),
               skip_gradient_floats = ToFloats(skip_gradient);
  const Values x = reference::Add(before.normal, skip);
  const Values y = reference::Conv1x1(rows, in, out, x, w);

  Floats packed(in * out), result(rows * out), block(rows * in), scratch(PointwiseScratch(in, out));
  PackPanels(in, out, wf.data(), 1, in, packed.data());
  const PointwiseInput input{before.y_floats.data(), before.fold(), skip_floats.data(),
                             block.data()};
  RunPointwiseForward({in, out, input, packed.data(), result.data(), false}, 0, rows,
                      scratch.data(), nullptr);
  EXPECT_LT(RelativeDistance(x, block), kTolerance);
  EXPECT_LT(RelativeDistance(y, result), kTolerance);

  const After after(out, rows, y);
  const auto g = reference::Conv1x1Gradients(rows, in, out, x, w, after.dy);
  const Values dz = reference::Add(g.dx, skip_gradient);
  PackPanels(out, in, wf.data(), in, 1, packed.data());
  Floats input_dz(rows * in), dw(in * out);
  std::vector<double> input_sums(2 * in);
  RunPointwiseBackward({in, out, after.dz_floats.data(), after.y_floats.data(), after.gradient(),
                        packed.data(), input, skip_gradient_floats.data(), input_dz.data(), false},
                       0, rows, scratch.data(), input_sums.data(), dw.data());
  EXPECT_LT(RelativeDistance(dz, input_dz), kTolerance);
  EXPECT_LT(RelativeDistance(g.dw, dw), kTolerance);
  EXPECT_LT(RelativeDistance(ColumnSums(in, dz, before.y), Row(input_sums, in, 1)),
            10 * kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Shapes, PointwiseKernel,
                         testing::Values(PointwiseCase{2, 8, 8}, PointwiseCase{9, 16, 96},
                                         PointwiseCase{18, 336, 56}, PointwiseCase{25, 24, 144},
                                         PointwiseCase{49, 56, 336}, PointwiseCase{300, 8, 48},
                                         PointwiseCase{301, 48, 8}, PointwiseCase{98, 160, 320},
                                         PointwiseCase{50, 112, 1280}));

struct DepthwiseCase {
  int batch, size, channels, stride;
};

class DepthwiseKernel : public testing::TestWithParam<DepthwiseCase> {};

TEST_P(DepthwiseKernel, AgreesWithThePlainOneInAnyCutOfRows) {
  const auto [batch, size, channels, stride] = GetParam();
  const ImageShape in{batch, size, channels};
  const DepthwiseShape shape{channels, stride, size, reference::OutSize(size, stride)};
  const int64_t out_rows = batch * shape.out_size, in_rows = batch * size;
  const Before before(channels, in_rows * size);
  const Values w = Draw("w", channels * 9);
  Floats taps(9 * channels);
  for (int i = 0; i < 9 * channels; ++i) taps[i % 9 * channels + i / 9] = static_cast<float>(w[i]);
  const Values y = reference::Depthwise(in, stride, before.x, w);
  const After after(channels, out_rows * shape.out_size, y);
  const auto g = reference::DepthwiseGradients(in, stride, before.x, w, after.dy);
  const Values dz = reference::Relu6Gradient(before.normal, g.dx);

  for (const int64_t cut : {int64_t{0}, out_rows / 3, out_rows - 1}) {
    Floats result(y.size()), scratch(DepthwiseScratch(shape), 1e9f);
    std::vector<double> sums(2 * channels);
    const DepthwiseForward pass{shape,       before.y_floats.data(), before.fold(),
                                taps.data(), result.data(),          channels % 16 == 0};
    RunDepthwiseForward(pass, 0, cut, scratch.data(), sums.data());
    RunDepthwiseForward(pass, cut, out_rows, scratch.data(), sums.data());
    EXPECT_LT(RelativeDistance(y, result), kTolerance);
    EXPECT_LT(RelativeDistance(ColumnSums(channels, y, y), Row(sums, channels, 1)), kTolerance);
  }
  for (const int64_t cut : {int64_t{0}, in_rows / 3, in_rows - 1}) {
    Floats input_dz(before.y.size()), first(9 * channels, 1e9f), second(9 * channels, 1e9f);
    Floats scratch(DepthwiseScratch(shape), 1e9f);
    std::vector<double> sums(2 * channels);
    const DepthwiseBackward pass{shape,
                                 after.dz_floats.data(),
                                 after.y_floats.data(),
                                 after.gradient(),
                                 taps.data(),
                                 before.y_floats.data(),
                                 before.fold(),
                                 input_dz.data(),
                                 channels % 16 == 0};
    RunDepthwiseBackward(pass, 0, cut, scratch.data(), sums.data(), first.data());
    RunDepthwiseBackward(pass, cut, in_rows, scratch.data(), sums.data(), second.data());
    EXPECT_LT(RelativeDistance(dz, input_dz), kTolerance);
    EXPECT_LT(RelativeDistance(ColumnSums(channels, dz), Row(sums, channels, 0)), 10 * kTolerance);
    EXPECT_LT(RelativeDistance(ColumnSums(channels, dz, before.y), Row(sums, channels, 1)),
              10 * kTolerance);
    Floats dw(9 * channels);
    for (int i = 0; i < 9 * channels; ++i) {
      dw[i] = first[i % 9 * channels + i / 9] + second[i % 9 * channels + i / 9];
    }
    EXPECT_LT(RelativeDistance(g.dw, dw), kTolerance);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, DepthwiseKernel,
                         testing::Values(DepthwiseCase{2, 1, 8, 1}, DepthwiseCase{2, 2, 16, 1},
                                         DepthwiseCase{2, 2, 16, 2}, DepthwiseCase{3, 3, 24, 1},
                                         DepthwiseCase{3, 3, 24, 2}, DepthwiseCase{2, 7, 40, 1},
                                         DepthwiseCase{2, 7, 40, 2}, DepthwiseCase{2, 12, 48, 2},
                                         DepthwiseCase{1, 29, 16, 1}, DepthwiseCase{2, 70, 8, 2}));

TEST(StemKernel, AgreesWithThePlainOne) {
  for (const int size : {5, 8, 33, 96}) {
    for (const int out : {8, 16, 32}) {
      const ImageShape in{2, size, 3};
      const StemShape shape{size, reference::OutSize(size, 2), out};
      const int64_t rows = 2 * shape.out_size, pixels = rows * shape.out_size;
      const Values x = Draw("x", 2 * size * size * 3), w = Draw("w", out * 27);
      const Floats xf = ToFloats(x), wf = ToFloats(w);
      const Values y = reference::Conv3x3(in, out, 2, x, w);
      Floats patches(27 * out), packed(27 * out), result(y.size()),
          scratch(StemScratch(shape), 1e9f);
      StemWeightsToPatches(out, wf.data(), patches.data());
      PackPanels(kPatch, out, patches.data(), out, 1, packed.data());
      std::vector<double> sums(2 * out);
      RunStemForward(shape, xf.data(), packed.data(), result.data(), 0, rows, scratch.data(),
                     sums.data());
      EXPECT_LT(RelativeDistance(y, result), kTolerance);
      EXPECT_LT(RelativeDistance(ColumnSums(out, y, y), Row(sums, out, 1)), kTolerance);
      const After after(out, pixels, y);
      Floats gradient(out * kPatchStride, 1e9f), dw(out * 27);
      RunStemBackward(shape, xf.data(), after.dz_floats.data(), after.y_floats.data(),
                      after.gradient(), 0, rows, scratch.data(), gradient.data());
      StemGradientFromPatches(out, gradient.data(), dw.data());
      EXPECT_LT(RelativeDistance(reference::Conv3x3Gradients(in, out, 2, x, w, after.dy).dw, dw),
                kTolerance);
    }
  }
}

TEST(BatchNormKernel, AgreesWithThePlainOneInTrainingAndEvaluation) {
  constexpr int kChannels = 24, kRows = 50, kCut = 20;
  const Values y = Draw("y", kRows * kChannels, 2, 3), dz = Draw("dz", kRows * kChannels);
  const Values scale = Draw("scale", kChannels, 0.5, 1), shift = Draw("shift", kChannels);
  const Floats yf = ToFloats(y), dzf = ToFloats(dz), scale_f = ToFloats(scale),
               shift_f = ToFloats(shift);
  reference::BatchStatistics running{Draw("mean", kChannels), Values(kChannels, 1.5)};
  Floats mean = ToFloats(running.mean), variance = ToFloats(running.variance);

  BatchNorm norm(kChannels, 2);
  SumRows(kCut, kChannels, yf.data(), norm.sums(0));
  SumRows(kRows - kCut, kChannels, yf.data() + kCut * kChannels, norm.sums(1));
  norm.FinishForward(kRows, scale_f.data(), shift_f.data(), mean.data(), variance.data());
  Floats x(y.size());
  JoinRows(kRows, kChannels, yf.data(), norm.fold(), nullptr, x.data());
  const auto statistics = reference::BatchNormStatistics(kChannels, y);
  EXPECT_LT(RelativeDistance(reference::BatchNorm(kChannels, y, statistics, scale, shift), x),
            kTolerance);
  reference::UpdateRunning(kRows, statistics, &running);
  EXPECT_LT(RelativeDistance(running.mean, mean), kTolerance);
  EXPECT_LT(RelativeDistance(running.variance, variance), kTolerance);

  norm.ClearSums();
  std::vector<double> sums(2 * kChannels);
  Floats unused(y.size()), dy(y.size()), scale_gradient(kChannels), shift_gradient(kChannels);
  JoinGradientRows(kRows, kChannels, dzf.data(), nullptr, yf.data(), unused.data(), norm.sums(1));
  norm.FinishBackward(kRows, scale_f.data(), scale_gradient.data(), shift_gradient.data());
  NormGradientRows(kRows, kChannels, dzf.data(), yf.data(), norm.gradient(), dy.data());
  const auto g = reference::BatchNormGradients(kChannels, y, scale, dz);
  EXPECT_LT(RelativeDistance(g.dx, dy), kTolerance);
  EXPECT_LT(RelativeDistance(g.scale, scale_gradient), kTolerance);
  EXPECT_LT(RelativeDistance(g.shift, shift_gradient), kTolerance);

  norm.UseRunning(scale_f.data(), shift_f.data(), mean.data(), variance.data());
  JoinRows(kRows, kChannels, yf.data(), norm.fold(), nullptr, x.data());
  EXPECT_LT(RelativeDistance(reference::BatchNorm(kChannels, y, running, scale, shift), x),
            kTolerance);
}

TEST(BatchNormKernel, OfAConstantChannelIsFinite) {
  const Floats y(8 * 10, 3.0f), scale(8, 1.0f), shift(8, 0.25f);
  Floats mean(8), variance(8), x(y.size());
  BatchNorm norm(8, 1);
  SumRows(10, 8, y.data(), norm.sums(0));
  norm.FinishForward(10, scale.data(), shift.data(), mean.data(), variance.data());
  JoinRows(10, 8, y.data(), norm.fold(), nullptr, x.data());
  for (const float value : x) EXPECT_NEAR(value, 0.25f, 1e-3f);
}

TEST(ElementWiseKernels, KeepNaN) {
  Floats y(16, 1.0f), ones(8, 1.0f), x(16);
  y[3] = std::nanf("");
  ActivateRows(2, 8, y.data(), {ones.data(), ones.data()}, x.data());
  EXPECT_TRUE(std::isnan(x[3]));
  EXPECT_FLOAT_EQ(x[4], 2.0f);
}

TEST(HeadKernels, AgreeWithThePlainOnes) {
  for (const int classes : {1, 2, 11, 37}) {
    const HeadShape shape{9, 40, classes};
    constexpr int kBatch = 5;
    const Before before(40, kBatch * 9);
    const Values pooled = reference::AveragePool(kBatch, 9, 40, before.x);
    Floats result(kBatch * 40);
    PoolForward(shape, before.y_floats.data(), before.fold(), 0, kBatch, result.data());
    EXPECT_LT(RelativeDistance(pooled, result), kTolerance);

    const Values dropped = reference::Dropout(kBatch, 0.3, 77, pooled);
    Floats mask(result.size());
    DropoutMask(shape, kBatch, 0.3, 77, mask.data());
    for (size_t i = 0; i < mask.size(); ++i) result[i] *= mask[i];
    EXPECT_LT(RelativeDistance(dropped, result), kTolerance);

    const Values w = Draw("w", classes * 40), bias = Draw("bias", classes);
    const Floats wf = ToFloats(w), bias_f = ToFloats(bias), x = ToFloats(dropped);
    Floats logits(kBatch * classes);
    LinearForward(shape, kBatch, x.data(), wf.data(), bias_f.data(), logits.data());
    EXPECT_LT(RelativeDistance(reference::Linear(kBatch, 40, classes, dropped, w, bias), logits),
              kTolerance);

    const Values dy = Draw("dy", kBatch * classes);
    const Floats dy_f = ToFloats(dy);
    const auto g = reference::LinearGradients(kBatch, 40, classes, dropped, w, dy);
    Floats dw(w.size()), db(classes), dx(x.size());
    LinearBackward(shape, kBatch, x.data(), wf.data(), dy_f.data(), dw.data(), db.data(),
                   dx.data());
    EXPECT_LT(RelativeDistance(g.dx, dx), kTolerance);
    EXPECT_LT(RelativeDistance(g.dw, dw), kTolerance);
    EXPECT_LT(RelativeDistance(g.bias, db), kTolerance);

    const Values dz = reference::Relu6Gradient(before.normal,
                                               reference::AveragePoolGradient(kBatch, 9, 40, g.dx));
    const Floats gradient = ToFloats(g.dx);
    Floats dz_result(before.y.size());
    std::vector<double> sums(80);
    PoolBackward(shape, gradient.data(), before.y_floats.data(), before.fold(), 0, kBatch,
                 dz_result.data(), sums.data());
    EXPECT_LT(RelativeDistance(dz, dz_result), kTolerance);
    EXPECT_LT(RelativeDistance(ColumnSums(40, Times(dz, before.y)), Row(sums, 40, 1)), kTolerance);
  }
}

TEST(SoftmaxCrossEntropyKernel, AgreesWithThePlainOneAndBreaksTiesTowardsTheFirst) {
  const Values logits = Draw("logits", 6 * 4, 3);
  const Floats logits_f = ToFloats(logits);
  const std::vector<int32_t> labels = {0, 1, 2, 3, 0, 1};
  Floats gradient(logits.size());
  const BatchResult result = SoftmaxCrossEntropy(logits_f, labels, gradient.data());
  EXPECT_NEAR(result.loss_sum / 6, reference::SoftmaxCrossEntropy(labels, logits), 1e-6);
  EXPECT_LT(RelativeDistance(reference::SoftmaxCrossEntropyGradient(labels, logits), gradient),
            kTolerance);

  const Floats tie = {1, 2, 2, 1000, 1000, 0};
  EXPECT_EQ(SoftmaxCrossEntropy(tie, std::vector<int32_t>{1, 0}, nullptr).correct_count, 2);
  EXPECT_EQ(SoftmaxCrossEntropy(tie, std::vector<int32_t>{2, 1}, nullptr).correct_count, 0);
}

TEST(DropoutMask, IsAFunctionOfTheSeedAndDropsTheShareItWasTold) {
  const HeadShape shape{1, 1280, 2};
  Floats a(32 * 1280), b(a.size()), c(a.size());
  DropoutMask(shape, 32, 0.2, 1, a.data());
  DropoutMask(shape, 32, 0.2, 1, b.data());
  DropoutMask(shape, 32, 0.2, 2, c.data());
  EXPECT_EQ(a, b);
  EXPECT_NE(a, c);
  const auto dropped = std::count(a.begin(), a.end(), 0.0f);
  EXPECT_NEAR(static_cast<double>(dropped) / static_cast<double>(a.size()), 0.2, 0.01);
  DropoutMask(shape, 32, 1.0, 1, a.data());
  EXPECT_EQ(a, Floats(a.size(), 0.0f));
}

TEST(AdamKernel, AgreesWithThePlainOneOverStepsAndSumsTheParts) {
  constexpr int kCount = 77;
  Values p = Draw("p", kCount), m(kCount), v(kCount);
  Floats pf = ToFloats(p), mf(kCount), vf(kCount);
  for (int step = 1; step <= 5; ++step) {
    const Values first = Draw("first" + std::to_string(step), kCount),
                 second = Draw("second", kCount, 0.1);
    reference::Adam(0.01, 0.3, step, reference::Add(first, second), &m, &v, &p);
    Floats ff = ToFloats(first), sf = ToFloats(second);
    float* parts[] = {ff.data(), sf.data()};
    AdamUpdate(kCount, {0.01, 0.3, step}, parts, mf.data(), vf.data(), pf.data());
    EXPECT_LT(RelativeDistance(reference::Add(first, second), ff), kTolerance);
  }
  EXPECT_LT(RelativeDistance(p, pf), kTolerance);
  EXPECT_LT(RelativeDistance(m, mf), kTolerance);
  EXPECT_LT(RelativeDistance(v, vf), kTolerance);
}

}  // namespace
}  // namespace tune::models::cpu
