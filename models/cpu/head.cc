#include "models/cpu/head.h"

#include <algorithm>
#include <cmath>

#include "core/random.h"
#include "models/cpu/gemm.h"
#include "models/cpu/simd.h"

namespace tune::models::cpu {
namespace {

float Dot(int count, const float* a, const float* b) {
  Vec8 sum[4] = {};
  int i = 0;
  for (; i + 32 <= count; i += 32) {
    for (int j = 0; j < 4; ++j) sum[j] += Load<Vec8>(a + i + 8 * j) * Load<Vec8>(b + i + 8 * j);
  }
  for (; i < count; i += 8) sum[0] += Load<Vec8>(a + i) * Load<Vec8>(b + i);
  const Vec8 all = (sum[0] + sum[1]) + (sum[2] + sum[3]);
  float total = 0;
  for (int j = 0; j < 8; ++j) total += all[j];
  return total;
}

}  // namespace

void PoolForward(const HeadShape& shape, const float* y, const NormFold& fold, int64_t begin,
                 int64_t end, float* pooled) {
  const float share = 1.0f / static_cast<float>(shape.pixels);
  for (int64_t image = begin; image < end; ++image) {
    const float* from = y + image * shape.pixels * shape.features;
    for (int c = 0; c < shape.features; c += 8) {
      const Vec8 scale = Load<Vec8>(fold.scale + c), shift = Load<Vec8>(fold.shift + c);
      Vec8 sum = {};
      for (int p = 0; p < shape.pixels; ++p) {
        sum += Relu6(scale * Load<Vec8>(from + p * shape.features + c) + shift);
      }
      Store(pooled + image * shape.features + c, sum * share);
    }
  }
}

void PoolBackward(const HeadShape& shape, const float* pooled_gradient, const float* y,
                  const NormFold& fold, int64_t begin, int64_t end, float* dz, double* sums) {
  const float share = 1.0f / static_cast<float>(shape.pixels);
  for (int64_t image = begin; image < end; ++image) {
    const int64_t at = image * shape.pixels * shape.features;
    for (int c = 0; c < shape.features; c += 8) {
      const Vec8 scale = Load<Vec8>(fold.scale + c), shift = Load<Vec8>(fold.shift + c);
      const Vec8 dx = Load<Vec8>(pooled_gradient + image * shape.features + c) * share;
      Vec8 sum = {}, product = {};
      for (int p = 0; p < shape.pixels; ++p) {
        const int64_t i = at + p * shape.features + c;
        const Vec8 before = Load<Vec8>(y + i);
        const Vec8 g = Relu6Gradient(scale * before + shift, dx);
        Store(dz + i, g);
        sum += g;
        product += g * before;
      }
      AddTo(sums + c, sum);
      AddTo(sums + shape.features + c, product);
    }
  }
}

void DropoutMask(const HeadShape& shape, int batch, double probability, uint64_t seed, float* mask,
                 int first_image) {
  const float kept = probability < 1 ? static_cast<float>(1 / (1 - probability)) : 0.0f;
  for (int image = 0; image < batch; ++image) {
    KeyedRandom random(seed, "dropout", first_image + image);
    for (int c = 0; c < shape.features; ++c) {
      *mask++ = random.NextDouble() < probability ? 0.0f : kept;
    }
  }
}

void LinearForward(const HeadShape& shape, int batch, const float* x, const float* weights,
                   const float* bias, float* logits) {
  for (int image = 0; image < batch; ++image) {
    for (int k = 0; k < shape.classes; ++k) {
      *logits++ = bias[k] + Dot(shape.features, x + static_cast<int64_t>(image) * shape.features,
                                weights + static_cast<int64_t>(k) * shape.features);
    }
  }
}

void LinearBackward(const HeadShape& shape, int batch, const float* x, const float* weights,
                    const float* logits_gradient, float* weight_gradient, float* bias_gradient,
                    float* x_gradient) {
  MultiplyTile(shape.classes, shape.features, batch, {logits_gradient, 1, shape.classes},
               {x, shape.features}, weight_gradient, shape.features, Product::kStore);
  MultiplyTile(batch, shape.features, shape.classes, {logits_gradient, shape.classes, 1},
               {weights, shape.features}, x_gradient, shape.features, Product::kStore);
  std::fill_n(bias_gradient, shape.classes, 0.0f);
  for (int image = 0; image < batch; ++image) {
    for (int k = 0; k < shape.classes; ++k) bias_gradient[k] += *logits_gradient++;
  }
}

BatchResult SoftmaxCrossEntropy(std::span<const float> logits, std::span<const int32_t> labels,
                                float* logits_gradient, int whole_count) {
  const size_t classes = logits.size() / labels.size();
  const double mean_over = whole_count > 0 ? whole_count : static_cast<double>(labels.size());
  BatchResult result;
  for (size_t image = 0; image < labels.size(); ++image) {
    const std::span<const float> row = logits.subspan(image * classes, classes);
    const auto largest = std::max_element(row.begin(), row.end());
    const int32_t label = labels[image];
    double total = 0;
    for (const float logit : row) total += std::exp(static_cast<double>(logit) - *largest);
    result.loss_sum += std::log(total) + *largest - row[label];
    result.correct_count += largest - row.begin() == label;
    if (logits_gradient == nullptr) continue;
    for (size_t k = 0; k < classes; ++k) {
      const double p = std::exp(static_cast<double>(row[k]) - *largest) / total;
      const double target = static_cast<int32_t>(k) == label ? 1 : 0;
      *logits_gradient++ = static_cast<float>((p - target) / mean_over);
    }
  }
  return result;
}

}  // namespace tune::models::cpu
