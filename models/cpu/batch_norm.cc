#include "models/cpu/batch_norm.h"

#include <algorithm>
#include <cmath>

namespace tune::models::cpu {

BatchNorm::BatchNorm(int channels, int parts)
    : channels_(channels),
      parts_(parts),
      part_stride_(2 * channels + 16),  // Two threads never share a line of cache.
      sums_(parts * part_stride_),
      mean_(channels),
      inverse_deviation_(channels),
      fold_scale_(channels),
      fold_shift_(channels),
      dz_factor_(channels),
      y_factor_(channels),
      constant_(channels) {}

void BatchNorm::ClearSums() { std::fill(sums_.begin(), sums_.end(), 0.0); }

void BatchNorm::Total(int c, double* first, double* second) const {
  *first = *second = 0;
  for (int part = 0; part < parts_; ++part) {
    *first += sums_[part * part_stride_ + c];
    *second += sums_[part * part_stride_ + channels_ + c];
  }
}

void BatchNorm::FinishForward(int64_t count, const float* scale, const float* shift,
                              float* running_mean, float* running_variance) {
  const double n = static_cast<double>(count);
  for (int c = 0; c < channels_; ++c) {
    double sum, square;
    Total(c, &sum, &square);
    const double mean = sum / n;
    // A NaN must stay one, so no std::max here.
    double variance = square / n - mean * mean;
    if (variance < 0) variance = 0;
    mean_[c] = mean;
    inverse_deviation_[c] = 1 / std::sqrt(variance + kEpsilon);
    fold_scale_[c] = static_cast<float>(scale[c] * inverse_deviation_[c]);
    fold_shift_[c] = static_cast<float>(shift[c] - mean * scale[c] * inverse_deviation_[c]);
    running_mean[c] = static_cast<float>((1 - kMomentum) * running_mean[c] + kMomentum * mean);
    running_variance[c] = static_cast<float>((1 - kMomentum) * running_variance[c] +
                                             kMomentum * variance * n / (n - 1));
  }
}

void BatchNorm::UseRunning(const float* scale, const float* shift, const float* running_mean,
                           const float* running_variance) {
  for (int c = 0; c < channels_; ++c) {
    const double inverse_deviation = 1 / std::sqrt(running_variance[c] + kEpsilon);
    fold_scale_[c] = static_cast<float>(scale[c] * inverse_deviation);
    fold_shift_[c] = static_cast<float>(shift[c] - running_mean[c] * scale[c] * inverse_deviation);
  }
}

void BatchNorm::FinishBackward(int64_t count, const float* scale, float* scale_gradient,
                               float* shift_gradient) {
  const double n = static_cast<double>(count);
  for (int c = 0; c < channels_; ++c) {
    double dz_sum, dz_y_sum;
    Total(c, &dz_sum, &dz_y_sum);
    // With x = (y - mean) / deviation: dy = scale / deviation * (dz - sum(dz) / n - x * sum(dz * x)
    // / n).
    const double dz_x_sum = (dz_y_sum - mean_[c] * dz_sum) * inverse_deviation_[c];
    const double factor = scale[c] * inverse_deviation_[c];
    const double y_factor = -factor * inverse_deviation_[c] * dz_x_sum / n;
    scale_gradient[c] = static_cast<float>(dz_x_sum);
    shift_gradient[c] = static_cast<float>(dz_sum);
    dz_factor_[c] = static_cast<float>(factor);
    y_factor_[c] = static_cast<float>(y_factor);
    constant_[c] = static_cast<float>(-factor * dz_sum / n - y_factor * mean_[c]);
  }
}

}  // namespace tune::models::cpu
