#include "search/parzen_estimator.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "core/check.h"
#include "search/fast_exp.h"
#include "search/normal.h"

namespace tune {
namespace {

constexpr double kChoiceFactor = 0.3;
constexpr double kWidthMin = 1e-3;
constexpr double kNothing = -1e300;  // The logarithm of no weight: finite, so that sums stay so.
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

// Widths come in steps of 2 %, so that what depends on them is not computed anew for each trial.
double Stepped(double width) { return std::exp2(std::round(std::log2(width) * 32) / 32); }

// P(lo <= Z <= hi) of the standard normal, precise in both tails.
double NormalMass(double lo, double hi) {
  return lo > 0 ? NormalCdf(-lo) - NormalCdf(-hi) : NormalCdf(hi) - NormalCdf(lo);
}

// Four sums (maxima) side by side, as the compiler may not reorder a single one.
template <typename Combine>
double Fold(std::span<const double> numbers, double start, Combine combine) {
  std::array<double, 4> lanes = {start, start, start, start};
  for (size_t i = 0; i < numbers.size(); i += 4) {
    for (size_t lane = 0; lane < 4; ++lane) lanes[lane] = combine(lanes[lane], numbers[i + lane]);
  }
  return combine(combine(lanes[0], lanes[1]), combine(lanes[2], lanes[3]));
}

double Larger(double a, double b) { return a > b ? a : b; }
double Sum2(double a, double b) { return a + b; }

}  // namespace

ParzenEstimator::ParzenEstimator(const ParzenAxes& axes, std::vector<size_t> dimensions,
                                 double prior_weight)
    : axes_(axes), prior_weight_(prior_weight) {
  TUNE_CHECK(prior_weight > 0);
  for (const size_t d : dimensions) {
    Column column;
    column.dimension = d;
    column.width = kUnknown;
    columns_.push_back(std::move(column));
  }
}

void ParzenEstimator::Add(const ParzenPoint& centre, double weight) {
  for (Column& column : columns_) {
    const ParzenPlace& place = centre[column.dimension];
    column.has_missing = column.has_missing || place.is_missing();
    column.x.push_back(place.x);
    if (axes_.kind(column.dimension) != ParzenAxes::Kind::kChoice) {
      column.below.push_back(0);
      column.mass.push_back(0);
      column.log_norm.push_back(0);
      FitKernel(column, column.x.size() - 1);
    }
    if (axes_.kind(column.dimension) == ParzenAxes::Kind::kLine) continue;
    const auto missing = static_cast<int32_t>(axes_.cells(column.dimension).size());
    const int32_t cell = place.is_missing() ? missing : place.cell;
    column.cell.push_back(cell);
    const bool is_known =
        std::find(column.centres.begin(), column.centres.end(), cell) != column.centres.end();
    if (!is_known) column.centres.push_back(cell);
  }
  weights_.push_back(0);
  log_weights_.push_back(kNothing);
  SetWeight(weights_.size() - 1, weight);
}

void ParzenEstimator::Clear() {
  for (Column& column : columns_) {
    column.has_missing = false;
    column.x.clear();
    column.below.clear();
    column.mass.clear();
    column.log_norm.clear();
    column.cell.clear();
    column.centres.clear();
  }
  weights_.clear();
  log_weights_.clear();
}

void ParzenEstimator::SetWeight(size_t kernel, double weight) {
  const bool is_there = std::any_of(columns_.begin(), columns_.end(), [&](const Column& column) {
    return !std::isnan(column.x[kernel]);
  });
  if (!is_there) weight = 0;
  if (weights_[kernel] == weight) return;
  weights_[kernel] = weight;
  log_weights_[kernel] = weight > 0 ? std::log(weight) : kNothing;
}

void ParzenEstimator::FitWidths(double factor) {
  constants_ = log_weights_;
  draw_weights_ = weights_;
  for (Column& column : columns_) {
    column.fixed.reset();
    FitWidth(column, factor);
    if (axes_.kind(column.dimension) != ParzenAxes::Kind::kLine) continue;
    for (size_t k = 0; k < constants_.size(); ++k) constants_[k] -= column.log_norm[k];
  }
}

void ParzenEstimator::FitWidth(Column& column, double factor) {
  double weight = 0;
  double count = 0;
  double sum = 0;
  double squares = 0;
  for (size_t k = 0; k < weights_.size(); ++k) {
    const double w = std::isnan(column.x[k]) ? 0 : weights_[k];
    const double offset = w > 0 ? column.x[k] - 0.5 : 0;
    count += w > 0 ? 1 : 0;
    weight += w;
    sum += w * offset;
    squares += w * offset * offset;
  }
  // The prior: one point more, with the mean 1/2 and the variance 1/12.
  const double mean = sum / (weight + 1);
  const double variance = (squares + 1.0 / 12) / (weight + 1) - mean * mean;
  const double dimensions = static_cast<double>(columns_.size());
  const double shrinking = std::pow(std::max(count, 1.0), -1 / (dimensions + 4));
  const bool is_choice = axes_.kind(column.dimension) == ParzenAxes::Kind::kChoice;
  const double finest = std::max(kWidthMin, axes_.resolution(column.dimension));
  const double width = Stepped(
      is_choice ? kChoiceFactor * shrinking
                : std::clamp(factor * std::sqrt(std::max(variance, 0.0)) * shrinking, finest, 1.0));
  if (width == column.width) return;
  column.width = width;
  column.rows.assign(axes_.cells(column.dimension).size(), {});
  for (size_t k = 0; k < column.log_norm.size(); ++k) FitKernel(column, k);
}

void ParzenEstimator::FitKernel(Column& column, size_t kernel) {
  const double x = column.x[kernel];
  if (std::isnan(x) || std::isnan(column.width)) return;
  column.below[kernel] = NormalCdf(-x / column.width);
  column.mass[kernel] = NormalCdf((1 - x) / column.width) - column.below[kernel];
  column.log_norm[kernel] =
      std::log(column.mass[kernel] * column.width * std::sqrt(2 * std::numbers::pi));
}

double ParzenEstimator::LogCellDensity(const Column& column, size_t centre, size_t cell) const {
  const std::vector<UnitCell>& cells = axes_.cells(column.dimension);
  if (centre == cells.size()) return 0;
  const auto [lo, hi] = cells[cell];
  double density = 0;
  if (axes_.kind(column.dimension) == ParzenAxes::Kind::kChoice) {
    density = column.width + (centre == cell ? (1 - column.width) / (hi - lo) : 0);
  } else {
    const double x = cells[centre].mid();
    const double width = column.width;
    density = NormalMass((lo - x) / width, (hi - x) / width) /
              NormalMass(-x / width, (1 - x) / width) / (hi - lo);
  }
  return std::log(std::max(density, 1e-300));
}

const double* ParzenEstimator::RowOf(Column& column, size_t cell) {
  std::vector<double>& row = column.rows[cell];
  if (row.empty()) row.assign(column.rows.size() + 1, kUnknown);
  for (const int32_t centre : column.centres) {
    double& entry = row[static_cast<size_t>(centre)];
    if (std::isnan(entry)) entry = LogCellDensity(column, static_cast<size_t>(centre), cell);
  }
  return row.data();
}

void ParzenEstimator::AddBlock(const ParzenPoint& point, size_t first, Sum& sum) {
  const size_t count = std::min(kBlock, weights_.size() - first);
  std::array<double, kBlock> logs;
  std::copy_n(constants_.begin() + static_cast<ptrdiff_t>(first), count, logs.begin());
  for (Column& column : columns_) {
    const ParzenPlace& place = point[column.dimension];
    if (axes_.kind(column.dimension) != ParzenAxes::Kind::kLine) {
      if (place.is_missing()) continue;
      const double* const row = RowOf(column, static_cast<size_t>(place.cell));
      const int32_t* const cells = column.cell.data() + first;
      for (size_t i = 0; i < count; ++i) logs[i] += row[cells[i]];
    } else if (place.is_missing()) {
      const double* const log_norms = column.log_norm.data() + first;
      for (size_t i = 0; i < count; ++i) logs[i] += log_norms[i];
    } else {
      AddLine(column, place.x, {logs.data(), count}, first);
    }
  }
  size_t padded = count;
  while (padded % 4 != 0) logs[padded++] = kNothing;
  const std::span<double> numbers(logs.data(), padded);
  const double max = Fold(numbers, sum.max, Larger);
  for (double& number : numbers) number = FastExp(number - max);
  sum.sum = sum.sum * FastExp(sum.max - max) + Fold(numbers, 0.0, Sum2);
  sum.max = max;
}

void ParzenEstimator::AddLine(const Column& column, double x, std::span<double> logs,
                              size_t first) const {
  const double* const centres = column.x.data() + first;
  const double scale = 1 / (column.width * std::numbers::sqrt2);
  if (!column.has_missing) {
    for (size_t i = 0; i < logs.size(); ++i) {
      const double t = (x - centres[i]) * scale;
      logs[i] -= t * t;
    }
    return;
  }
  for (size_t i = 0; i < logs.size(); ++i) {
    const double t = (x - centres[i]) * scale;
    const double square = t * t;
    logs[i] -= square >= 0 ? square : 0;  // Not a number: missing.
  }
}

std::vector<double> ParzenEstimator::LogDensities(std::span<const ParzenPoint> points) {
  // The prior's logarithm is 0 everywhere.
  std::vector<Sum> sums(points.size(), Sum{std::log(prior_weight_), 1});
  for (size_t first = 0; first < weights_.size(); first += kBlock) {
    for (size_t i = 0; i < points.size(); ++i) AddBlock(points[i], first, sums[i]);
  }
  double total = prior_weight_;
  for (const double weight : weights_) total += weight;
  std::vector<double> logs;
  for (const Sum& sum : sums) logs.push_back(sum.max + std::log(sum.sum) - std::log(total));
  return logs;
}

double ParzenEstimator::LogDensity(Column& column, size_t kernel, const ParzenPlace& place) {
  if (axes_.kind(column.dimension) != ParzenAxes::Kind::kLine) {
    return RowOf(column, static_cast<size_t>(place.cell))[column.cell[kernel]];
  }
  const double t = (place.x - column.x[kernel]) / column.width;
  return std::isnan(t) ? 0 : -0.5 * t * t - column.log_norm[kernel];
}

void ParzenEstimator::Fix(size_t dimension, const ParzenPlace& value) {
  for (Column& column : columns_) {
    if (column.dimension != dimension) continue;
    column.fixed = value.x;
    for (size_t k = 0; k < draw_weights_.size(); ++k) {
      if (draw_weights_[k] > 0) draw_weights_[k] *= std::exp(LogDensity(column, k, value));
    }
  }
}

void ParzenEstimator::Draw(KeyedRandom& random, ParzenPoint& point) const {
  double total = prior_weight_;
  for (const double weight : draw_weights_) total += weight;
  double rest = random.NextUniform(0, total);
  size_t kernel = 0;
  while (kernel < draw_weights_.size() && rest >= draw_weights_[kernel]) {
    rest -= draw_weights_[kernel++];
  }
  for (const Column& column : columns_) {
    ParzenPlace& place = point[column.dimension];
    const double u = random.NextDouble();
    if (column.fixed) {
      place.x = *column.fixed;
    } else if (kernel == draw_weights_.size()) {
      place.x = u;
    } else {
      DrawAround(column, kernel, u, place);
    }
    axes_.Snap(column.dimension, place);
  }
}

void ParzenEstimator::DrawAround(const Column& column, size_t kernel, double u,
                                 ParzenPlace& place) const {
  const double centre = column.x[kernel];
  if (std::isnan(centre)) {
    place.x = u;
  } else if (axes_.kind(column.dimension) == ParzenAxes::Kind::kChoice) {
    place.x = u < column.width ? u / column.width : centre;
  } else {
    const double below = column.below[kernel];
    const double z = NormalQuantile(below + u * column.mass[kernel]);
    place.x = std::clamp(centre + column.width * z, 0.0, 1.0);
  }
}

}  // namespace tune
