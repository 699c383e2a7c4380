// The statistics of one batch norm (Ioffe, Szegedy 2015) and what the element-wise passes need of
// them: the fold of normalisation, scale and shift into one multiplication and addition, and its
// gradient as a linear form.
//
// Sums come from the passes, one pair of rows per thread, and are added in the order of the
// threads, in double.
//
// Thread rule: sums(part) belongs to the thread of that part; all else to the thread that drives
// the network.
#pragma once

#include <cstdint>
#include <vector>

#include "models/cpu/rows.h"

namespace tune::models::cpu {

class BatchNorm {
 public:
  static constexpr double kEpsilon = 1e-5;
  static constexpr double kMomentum = 0.1;

  BatchNorm(int channels, int parts);

  // (2, channels): sums of a part, to which a pass adds.
  double* sums(int part) { return sums_.data() + part * part_stride_; }
  void ClearSums();

  // From the sums (y, y * y) over `count` values per channel: the fold for training. Updates the
  // running statistics.
  void FinishForward(int64_t count, const float* scale, const float* shift, float* running_mean,
                     float* running_variance);
  // The fold for evaluation.
  void UseRunning(const float* scale, const float* shift, const float* running_mean,
                  const float* running_variance);
  // From the sums (dz, dz * y), after FinishForward: the gradients of scale and shift, and that of
  // y as a linear form.
  void FinishBackward(int64_t count, const float* scale, float* scale_gradient,
                      float* shift_gradient);

  NormFold fold() const { return {fold_scale_.data(), fold_shift_.data()}; }
  NormGradient gradient() const { return {dz_factor_.data(), y_factor_.data(), constant_.data()}; }

 private:
  // Both sums of channel c over all parts.
  void Total(int c, double* first, double* second) const;

  int channels_;
  int parts_;
  int64_t part_stride_;
  std::vector<double> sums_;
  std::vector<double> mean_, inverse_deviation_;
  std::vector<float> fold_scale_, fold_shift_;
  std::vector<float> dz_factor_, y_factor_, constant_;
};

}  // namespace tune::models::cpu
