// The plain kernels: what each operation of the network means, in simple loops and double
// precision. They are the specification; the fast kernels are compared with them, and their
// gradients with finite differences.
//
// Images are NHWC: (batch, size, size, channels). A 3x3 convolution pads by one, so that its
// output's size is (size - 1) / stride + 1. Weights are torchvision's: (out, in, 3, 3), (out, in),
// (channels, 3, 3).
// ...Gradients take the inputs of the operation and dy, the gradient of its output.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace tune::models::reference {

using Values = std::vector<double>;

struct ImageShape {
  int batch = 0;
  int size = 0;
  int channels = 0;
};

inline int OutSize(int size, int stride) { return (size - 1) / stride + 1; }

struct ConvolutionGradients {
  Values dx;
  Values dw;
};

// Every input channel to every output channel.
Values Conv3x3(const ImageShape& in, int out, int stride, const Values& x, const Values& w);
ConvolutionGradients Conv3x3Gradients(const ImageShape& in, int out, int stride, const Values& x,
                                      const Values& w, const Values& dy);

Values Conv1x1(int64_t rows, int in, int out, const Values& x, const Values& w);
ConvolutionGradients Conv1x1Gradients(int64_t rows, int in, int out, const Values& x,
                                      const Values& w, const Values& dy);

Values Depthwise(const ImageShape& in, int stride, const Values& x, const Values& w);
ConvolutionGradients DepthwiseGradients(const ImageShape& in, int stride, const Values& x,
                                        const Values& w, const Values& dy);

// x (rows, channels). The variance is that of the batch, biased; epsilon 1e-5.
struct BatchStatistics {
  Values mean, variance;
};
BatchStatistics BatchNormStatistics(int channels, const Values& x);
Values BatchNorm(int channels, const Values& x, const BatchStatistics& statistics,
                 const Values& scale, const Values& shift);
// In training, where the statistics depend on x.
struct BatchNormGradientValues {
  Values dx, scale, shift;
};
BatchNormGradientValues BatchNormGradients(int channels, const Values& x, const Values& scale,
                                           const Values& dy);
// A running statistic after a batch: momentum 0.1; the variance unbiased.
void UpdateRunning(int64_t rows, const BatchStatistics& batch, BatchStatistics* running);

Values Relu6(const Values& x);
Values Relu6Gradient(const Values& x, const Values& dy);
Values Add(const Values& a, const Values& b);

// (batch, pixels, channels) -> (batch, channels)
Values AveragePool(int batch, int pixels, int channels, const Values& x);
Values AveragePoolGradient(int batch, int pixels, int channels, const Values& dy);

// Element i of image n is dropped where KeyedRandom(seed, "dropout", n)'s draw i is below the
// probability, else scaled by 1 / (1 - probability).
Values Dropout(int batch, double probability, uint64_t seed, const Values& x);

// x (batch, in), w (out, in)
Values Linear(int batch, int in, int out, const Values& x, const Values& w, const Values& bias);
struct LinearGradientValues {
  Values dx, dw, bias;
};
LinearGradientValues LinearGradients(int batch, int in, int out, const Values& x, const Values& w,
                                     const Values& dy);

// The mean over the batch, in nats.
double SoftmaxCrossEntropy(std::span<const int32_t> labels, const Values& logits);
Values SoftmaxCrossEntropyGradient(std::span<const int32_t> labels, const Values& logits);

// One step of Adam on the parameter p; `step` counts from 1.
void Adam(double lr, double weight_decay, int64_t step, const Values& gradient, Values* m,
          Values* v, Values* p);

}  // namespace tune::models::reference
