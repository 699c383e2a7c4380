// A density over some axes of the unit cube: a mixture of one kernel around each of many points,
// and of the prior, which is uniform. Densities are relative to the prior: 1 is the prior's own.
//
// A kernel is a product over its axes. On a line, a normal distribution cut off at 0 and 1; on
// steps, its mass in each cell; on a choice, its own cell with probability 1 - h and the prior
// with h. Where the kernel's point or the one looked at has no such parameter, the factor is 1: a
// kernel knows nothing of what did not exist. So one mixture holds all branches of a conditional
// space, and a parameter is known together with what it depends on.
//
// Widths are as wide as the points are spread (Scott's rule as in Falkner, Klein, Hutter, "BOHB:
// Robust and Efficient Hyperparameter Optimization at Scale", ICML 2018, and Watanabe,
// "Tree-Structured Parzen Estimator", arXiv 2304.11127, 2023, section 3.3.4): of d axes and n
// points, factor * deviation * n^(-1 / (d + 4)), the prior counting as one of the points. Of a
// choice h = 0.3 * n^(-1 / (d + 4)).
//
// Cost: n * d multiplications and n exponentials for each density, in loops made for vectors.
//
// Thread rule: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "search/parzen_axes.h"

namespace tune {

class ParzenEstimator {
 public:
  // `axes` must outlive it. prior_weight > 0: how many kernels the prior weighs.
  ParzenEstimator(const ParzenAxes& axes, std::vector<size_t> dimensions, double prior_weight);

  // A kernel around `centre`, to be numbered from 0. Weights are 0 or more; a kernel that has none
  // of the axes weighs nothing.
  void Add(const ParzenPoint& centre, double weight);
  void SetWeight(size_t kernel, double weight);
  void Clear();  // No kernels.
  // Requires to be called after the last change, before what follows.
  void FitWidths(double factor);

  // From now on, until the next FitWidths, draws have this value on one of the estimator's axes.
  // Requires that it exists there.
  void Fix(size_t dimension, const ParzenPlace& value);
  // Sets the estimator's axes of `point`, all of them, each to a value of its domain.
  void Draw(KeyedRandom& random, ParzenPoint& point) const;
  // The logarithm of the density at each point, relative to the prior's.
  std::vector<double> LogDensities(std::span<const ParzenPoint> points);

 private:
  static constexpr size_t kBlock = 128;  // Kernels at a time: they stay in the fastest cache.

  // The kernels' places on one axis.
  struct Column {
    size_t dimension = 0;
    double width = 0;          // Of a choice: h.
    bool has_missing = false;  // Kernels without this parameter.
    std::vector<double> x;     // NaN: missing.
    // Of a line or steps; 0: missing.
    std::vector<double> below;              // What is cut off of a kernel below 0.
    std::vector<double> mass;               // What is not cut off of it.
    std::vector<double> log_norm;           // The logarithm of a kernel's integral.
    std::vector<int32_t> cell;              // Not of a line; the number of cells: missing.
    std::vector<int32_t> centres;           // The cells that kernels are in.
    std::vector<std::vector<double>> rows;  // See RowOf.
    std::optional<double> fixed;            // What each draw has.
  };
  // The sum of exponentials so far, as exp(max) * sum.
  struct Sum {
    double max = 0;
    double sum = 0;
  };

  void FitWidth(Column& column, double factor);
  // For each cell of a kernel, the logarithm of its relative density in `cell`; 0 for a missing
  // one. Kept until the width changes.
  const double* RowOf(Column& column, size_t cell);
  double LogCellDensity(const Column& column, size_t centre, size_t cell) const;
  // Of one kernel on one axis.
  double LogDensity(Column& column, size_t kernel, const ParzenPlace& place);
  void FitKernel(Column& column, size_t kernel);
  void AddBlock(const ParzenPoint& point, size_t first, Sum& sum);
  void AddLine(const Column& column, double x, std::span<double> logs, size_t first) const;
  void DrawAround(const Column& column, size_t kernel, double u, ParzenPlace& place) const;

  const ParzenAxes& axes_;
  double prior_weight_;
  std::vector<Column> columns_;
  std::vector<double> weights_;
  std::vector<double> log_weights_;
  std::vector<double> constants_;     // log_weights_ less all log_norm.
  std::vector<double> draw_weights_;  // weights_, times the densities of what is fixed.
};

}  // namespace tune
