#include "models/cpu/reference.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"

namespace tune::models::reference {
namespace {

constexpr double kEpsilon = 1e-5;

// Calls f(output pixel, tap, input pixel) for each pair that meets in a 3x3 window.
template <class F>
void ForWindows(const ImageShape& in, int stride, F&& f) {
  const int out_size = OutSize(in.size, stride);
  for (int n = 0; n < in.batch; ++n) {
    for (int oh = 0; oh < out_size; ++oh) {
      for (int ow = 0; ow < out_size; ++ow) {
        for (int tap = 0; tap < 9; ++tap) {
          const int ih = oh * stride + tap / 3 - 1;
          const int iw = ow * stride + tap % 3 - 1;
          if (ih < 0 || ih >= in.size || iw < 0 || iw >= in.size) continue;
          f((n * out_size + oh) * out_size + ow, tap, (n * in.size + ih) * in.size + iw);
        }
      }
    }
  }
}

int64_t OutPixels(const ImageShape& in, int stride) {
  const int64_t size = OutSize(in.size, stride);
  return in.batch * size * size;
}

}  // namespace

Values Conv3x3(const ImageShape& in, int out, int stride, const Values& x, const Values& w) {
  Values y(OutPixels(in, stride) * out);
  ForWindows(in, stride, [&](int to, int tap, int from) {
    for (int o = 0; o < out; ++o) {
      for (int c = 0; c < in.channels; ++c) {
        y[to * out + o] += x[from * in.channels + c] * w[(o * in.channels + c) * 9 + tap];
      }
    }
  });
  return y;
}

ConvolutionGradients Conv3x3Gradients(const ImageShape& in, int out, int stride, const Values& x,
                                      const Values& w, const Values& dy) {
  ConvolutionGradients g{Values(x.size()), Values(w.size())};
  ForWindows(in, stride, [&](int to, int tap, int from) {
    for (int o = 0; o < out; ++o) {
      for (int c = 0; c < in.channels; ++c) {
        const int weight = (o * in.channels + c) * 9 + tap;
        g.dx[from * in.channels + c] += dy[to * out + o] * w[weight];
        g.dw[weight] += dy[to * out + o] * x[from * in.channels + c];
      }
    }
  });
  return g;
}

Values Conv1x1(int64_t rows, int in, int out, const Values& x, const Values& w) {
  Values y(rows * out);
  for (int64_t r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      for (int c = 0; c < in; ++c) y[r * out + o] += x[r * in + c] * w[o * in + c];
    }
  }
  return y;
}

ConvolutionGradients Conv1x1Gradients(int64_t rows, int in, int out, const Values& x,
                                      const Values& w, const Values& dy) {
  ConvolutionGradients g{Values(x.size()), Values(w.size())};
  for (int64_t r = 0; r < rows; ++r) {
    for (int o = 0; o < out; ++o) {
      for (int c = 0; c < in; ++c) {
        g.dx[r * in + c] += dy[r * out + o] * w[o * in + c];
        g.dw[o * in + c] += dy[r * out + o] * x[r * in + c];
      }
    }
  }
  return g;
}

Values Depthwise(const ImageShape& in, int stride, const Values& x, const Values& w) {
  Values y(OutPixels(in, stride) * in.channels);
  ForWindows(in, stride, [&](int to, int tap, int from) {
    for (int c = 0; c < in.channels; ++c) {
      y[to * in.channels + c] += x[from * in.channels + c] * w[c * 9 + tap];
    }
  });
  return y;
}

ConvolutionGradients DepthwiseGradients(const ImageShape& in, int stride, const Values& x,
                                        const Values& w, const Values& dy) {
  ConvolutionGradients g{Values(x.size()), Values(w.size())};
  ForWindows(in, stride, [&](int to, int tap, int from) {
    for (int c = 0; c < in.channels; ++c) {
      g.dx[from * in.channels + c] += dy[to * in.channels + c] * w[c * 9 + tap];
      g.dw[c * 9 + tap] += dy[to * in.channels + c] * x[from * in.channels + c];
    }
  });
  return g;
}

BatchStatistics BatchNormStatistics(int channels, const Values& x) {
  BatchStatistics s{Values(channels), Values(channels)};
  const double rows = static_cast<double>(x.size()) / channels;
  for (size_t i = 0; i < x.size(); ++i) s.mean[i % channels] += x[i] / rows;
  for (size_t i = 0; i < x.size(); ++i) {
    const double d = x[i] - s.mean[i % channels];
    s.variance[i % channels] += d * d / rows;
  }
  return s;
}

Values BatchNorm(int channels, const Values& x, const BatchStatistics& statistics,
                 const Values& scale, const Values& shift) {
  Values y(x.size());
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    y[i] = (x[i] - statistics.mean[c]) / std::sqrt(statistics.variance[c] + kEpsilon) * scale[c] +
           shift[c];
  }
  return y;
}

BatchNormGradientValues BatchNormGradients(int channels, const Values& x, const Values& scale,
                                           const Values& dy) {
  const BatchStatistics s = BatchNormStatistics(channels, x);
  const double rows = static_cast<double>(x.size()) / channels;
  const Values normal = BatchNorm(channels, x, s, Values(channels, 1), Values(channels, 0));
  BatchNormGradientValues g{Values(x.size()), Values(channels), Values(channels)};
  for (size_t i = 0; i < x.size(); ++i) {
    g.shift[i % channels] += dy[i];
    g.scale[i % channels] += dy[i] * normal[i];
  }
  for (size_t i = 0; i < x.size(); ++i) {
    const size_t c = i % channels;
    const double inner = dy[i] - g.shift[c] / rows - normal[i] * g.scale[c] / rows;
    g.dx[i] = scale[c] / std::sqrt(s.variance[c] + kEpsilon) * inner;
  }
  return g;
}

void UpdateRunning(int64_t rows, const BatchStatistics& batch, BatchStatistics* running) {
  const double n = static_cast<double>(rows);
  for (size_t c = 0; c < batch.mean.size(); ++c) {
    running->mean[c] = 0.9 * running->mean[c] + 0.1 * batch.mean[c];
    running->variance[c] = 0.9 * running->variance[c] + 0.1 * batch.variance[c] * n / (n - 1);
  }
}

Values Relu6(const Values& x) {
  Values y = x;
  for (double& value : y) value = std::clamp(value, 0.0, 6.0);
  return y;
}

Values Relu6Gradient(const Values& x, const Values& dy) {
  Values dx(x.size());
  for (size_t i = 0; i < x.size(); ++i) dx[i] = x[i] > 0 && x[i] < 6 ? dy[i] : 0;
  return dx;
}

Values Add(const Values& a, const Values& b) {
  Values sum = a;
  for (size_t i = 0; i < sum.size(); ++i) sum[i] += b[i];
  return sum;
}

Values AveragePool(int batch, int pixels, int channels, const Values& x) {
  Values y(static_cast<size_t>(batch) * channels);
  for (size_t i = 0; i < x.size(); ++i) {
    y[i / (pixels * channels) * channels + i % channels] += x[i] / pixels;
  }
  return y;
}

Values AveragePoolGradient(int batch, int pixels, int channels, const Values& dy) {
  Values dx(static_cast<size_t>(batch) * pixels * channels);
  for (size_t i = 0; i < dx.size(); ++i) {
    dx[i] = dy[i / (pixels * channels) * channels + i % channels] / pixels;
  }
  return dx;
}

Values Dropout(int batch, double probability, uint64_t seed, const Values& x) {
  Values y = x;
  const size_t features = x.size() / batch;
  for (int n = 0; n < batch; ++n) {
    KeyedRandom random(seed, "dropout", n);
    for (size_t i = 0; i < features; ++i) {
      const bool dropped = random.NextDouble() < probability;
      y[n * features + i] = dropped ? 0 : x[n * features + i] / (1 - probability);
    }
  }
  return y;
}

Values Linear(int batch, int in, int out, const Values& x, const Values& w, const Values& bias) {
  Values y = Conv1x1(batch, in, out, x, w);
  for (size_t i = 0; i < y.size(); ++i) y[i] += bias[i % out];
  return y;
}

LinearGradientValues LinearGradients(int batch, int in, int out, const Values& x, const Values& w,
                                     const Values& dy) {
  ConvolutionGradients g = Conv1x1Gradients(batch, in, out, x, w, dy);
  Values bias(out);
  for (size_t i = 0; i < dy.size(); ++i) bias[i % out] += dy[i];
  return {std::move(g.dx), std::move(g.dw), std::move(bias)};
}

double SoftmaxCrossEntropy(std::span<const int32_t> labels, const Values& logits) {
  const size_t classes = logits.size() / labels.size();
  double loss = 0;
  for (size_t n = 0; n < labels.size(); ++n) {
    double sum = 0;
    for (size_t k = 0; k < classes; ++k) sum += std::exp(logits[n * classes + k]);
    loss += std::log(sum) - logits[n * classes + labels[n]];
  }
  return loss / static_cast<double>(labels.size());
}

Values SoftmaxCrossEntropyGradient(std::span<const int32_t> labels, const Values& logits) {
  const size_t classes = logits.size() / labels.size();
  Values g(logits.size());
  for (size_t n = 0; n < labels.size(); ++n) {
    double sum = 0;
    for (size_t k = 0; k < classes; ++k) sum += std::exp(logits[n * classes + k]);
    for (size_t k = 0; k < classes; ++k) {
      const double target = k == static_cast<size_t>(labels[n]) ? 1 : 0;
      g[n * classes + k] =
          (std::exp(logits[n * classes + k]) / sum - target) / static_cast<double>(labels.size());
    }
  }
  return g;
}

void Adam(double lr, double weight_decay, int64_t step, const Values& gradient, Values* m,
          Values* v, Values* p) {
  const double correction1 = 1 - std::pow(0.9, static_cast<double>(step));
  const double correction2 = 1 - std::pow(0.999, static_cast<double>(step));
  for (size_t i = 0; i < gradient.size(); ++i) {
    (*m)[i] = 0.9 * (*m)[i] + 0.1 * gradient[i];
    (*v)[i] = 0.999 * (*v)[i] + 0.001 * gradient[i] * gradient[i];
    (*p)[i] -= lr * weight_decay * (*p)[i];
    (*p)[i] -= lr * ((*m)[i] / correction1) / (std::sqrt((*v)[i] / correction2) + 1e-8);
  }
}

}  // namespace tune::models::reference
