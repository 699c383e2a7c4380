#include "models/cpu/adam.h"

#include <cmath>

namespace tune::models::cpu {
namespace {
constexpr double kBeta1 = 0.9;
constexpr double kBeta2 = 0.999;
constexpr double kEpsilon = 1e-8;
}  // namespace

void AdamUpdate(int64_t count, const AdamRates& rates, std::span<float* const> gradients, float* m,
                float* v, float* parameters) {
  float* const gradient = gradients[0];
  for (const float* part : gradients.subspan(1)) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) gradient[i] += part[i];
  }
  if (rates.weight_decay != 0) {
    const float kept = static_cast<float>(1 - rates.lr * rates.weight_decay);
#pragma omp simd
    for (int64_t i = 0; i < count; ++i) parameters[i] *= kept;
  }
  const double steps = static_cast<double>(rates.step);
  const float beta1 = kBeta1, beta2 = kBeta2;
  const float rest1 = static_cast<float>(1 - kBeta1), rest2 = static_cast<float>(1 - kBeta2);
  const float step_size = static_cast<float>(rates.lr / (1 - std::pow(kBeta1, steps)));
  const float root = static_cast<float>(std::sqrt(1 - std::pow(kBeta2, steps)));
  const float epsilon = static_cast<float>(kEpsilon);
#pragma omp simd
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i];
    m[i] = beta1 * m[i] + rest1 * g;
    v[i] = beta2 * v[i] + rest2 * g * g;
    parameters[i] -= step_size * (m[i] / (std::sqrt(v[i]) / root + epsilon));
  }
}

}  // namespace tune::models::cpu
