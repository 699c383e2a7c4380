#include "search/gp/gp_model.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "core/check.h"
#include "search/gp/gp_fit.h"

namespace tune {
namespace {

using Eigen::ArrayXd;
using Eigen::Index;
using Eigen::VectorXd;

constexpr size_t kKnownMax = 400;  // The cost of a process grows with the cube.
constexpr size_t kRunningMax = 100;
constexpr size_t kFitMax = 200;  // Some dozens of processes are made for a fit.

LossWarp WarpOf(const std::vector<std::optional<double>>& losses, const GpLossBound& bound) {
  std::vector<double> finite;
  if (bound.loss) finite.push_back(*bound.loss);
  for (const auto& loss : losses) {
    if (loss && std::isfinite(*loss)) finite.push_back(*loss);
  }
  if (finite.empty()) finite.push_back(0);
  return LossWarp(finite, bound.stays_apart ? bound.loss : std::nullopt);
}

// `count` of them, evenly.
template <typename T>
std::vector<T> Thinned(const std::vector<T>& all, size_t count) {
  if (all.size() <= count) return all;
  std::vector<T> out;
  for (size_t i = 0; i < count; ++i) out.push_back(all[i * all.size() / count]);
  return out;
}

// Those of `trials` that a process keeps, in their order.
std::vector<size_t> Kept(std::vector<size_t> trials,
                         const std::vector<std::optional<double>>& losses) {
  if (trials.size() <= kKnownMax) return trials;
  std::stable_sort(trials.begin(), trials.end(),
                   [&](size_t a, size_t b) { return *losses[a] < *losses[b]; });
  std::vector<size_t> kept(trials.begin(), trials.begin() + kKnownMax / 2);
  trials.erase(trials.begin(), trials.begin() + kKnownMax / 2);
  for (const size_t trial : Thinned(trials, kKnownMax / 2)) kept.push_back(trial);
  std::sort(kept.begin(), kept.end());
  return kept;
}

}  // namespace

GpModel::GpModel(CategoryFlags is_category, const Points& points, const LevelTable& table,
                 const GpModelOptions& options)
    : is_category_(std::move(is_category)), prior_(options.prior) {
  for (size_t level = 0; level < table.losses.size(); ++level) {
    levels_.emplace_back().warp = WarpOf(table.losses[level], options.bound);
    if (level > 0) FitStep(points, table, level);
    FitParameters(points, table, level, options);
    if (level == 0 && prior_ != nullptr) TryPrior(points, table, options);
  }
}

// A prior that explains nothing is none.
void GpModel::TryPrior(const Points& points, const LevelTable& table,
                       const GpModelOptions& options) {
  const Level without = levels_[0];
  const double misfit_without = MisfitOf(points, table);
  FitStep(points, table, 0);
  FitParameters(points, table, 0, options);
  // A slope more fits noise a little better, too.
  constexpr double kLeastGain = 1;  // In the logarithm of the likelihood.
  const bool explains =
      levels_[0].slope > 0 && MisfitOf(points, table) + kLeastGain < misfit_without;
  if (!explains) levels_[0] = without;
}

void GpModel::FitParameters(const Points& points, const LevelTable& table, size_t level,
                            const GpModelOptions& options) {
  const Rows rows = FitRowsOf(points, table, level);
  GpParameters& parameters = levels_[level].parameters;
  parameters =
      FitGpParameters(is_category_, points(rows.trials, Eigen::all), rows.values, options.is_noisy);
  for (size_t d = 0; d < options.is_unknown.size(); ++d) {
    if (options.is_unknown[d]) parameters.weights[static_cast<Index>(d)] = 0;
  }
}

// Values that are spread less wide are likelier by as much, wherever they lie.
double GpModel::MisfitOf(const Points& points, const LevelTable& table) const {
  const Rows rows = FitRowsOf(points, table, 0);
  return GpMisfit(is_category_, points(rows.trials, Eigen::all), rows.values,
                  levels_[0].parameters) +
         static_cast<double>(rows.values.size()) * std::log(levels_[0].scale);
}

VectorXd GpModel::BelowOf(const Points& points, const LevelTable& table, size_t level,
                          const std::vector<size_t>& trials) const {
  if (level == 0) return prior_->Means(points(trials, Eigen::all)).matrix();
  VectorXd below(static_cast<Index>(trials.size()));
  for (size_t i = 0; i < trials.size(); ++i) {
    const double loss = table.losses[level - 1][trials[i]].value_or(0);
    below[static_cast<Index>(i)] = std::isnan(loss) ? loss : (*levels_[level - 1].warp)(loss);
  }
  return below;
}

GpModel::Rows GpModel::FitRowsOf(const Points& points, const LevelTable& table,
                                 size_t level) const {
  const Rows all = RowsOf(points, table, level);
  std::vector<Index> known;
  for (Index i = 0; i < all.values.size(); ++i) {
    if (!std::isnan(all.values[i])) known.push_back(i);
  }
  known = Thinned(known, kFitMax);
  Rows rows = {{}, all.values(known)};
  for (const Index i : known) rows.trials.push_back(all.trials[static_cast<size_t>(i)]);
  return rows;
}

double GpModel::Skill(const Points& points, const LevelTable& table) const {
  const Rows rows = FitRowsOf(points, table, 0);
  const GaussianProcess process(is_category_, levels_[0].parameters,
                                points(rows.trials, Eigen::all), rows.values);
  const ArrayXd misses = rows.values.array() - process.LeftOutMeans(rows.values);
  ArrayXd seen = rows.values.array();
  if (prior_slope() > 0) {
    for (size_t i = 0; i < rows.trials.size(); ++i) {
      seen[static_cast<Index>(i)] = Seen(*table.losses[0][rows.trials[i]]) / levels_[0].scale;
    }
  }
  const double spread = (seen - seen.mean()).square().sum();
  return spread > 0 ? 1 - misses.square().sum() / spread : 0;
}

// How a level follows from what is below: a line through the trials that have both, drawn towards
// slope 1 while they are few.
void GpModel::FitStep(const Points& points, const LevelTable& table, size_t level) {
  constexpr double kSlopeTrust = 2;  // In squared deviations of the level below.
  constexpr double kScaleTrust = 2;  // In trials,
  constexpr double kScale = 0.3;     // each of which were as far from the line.
  std::vector<size_t> trials;
  std::vector<double> above;
  for (size_t i = 0; i < table.losses[level].size(); ++i) {
    const auto& loss = table.losses[level][i];
    if (!loss || !std::isfinite(*loss)) continue;
    if (level > 0 && !std::isfinite(*table.losses[level - 1][i])) continue;
    trials.push_back(i);
    above.push_back((*levels_[level].warp)(*loss));
  }
  Level& step = levels_[level];
  step.slope = 1;
  step.scale = kScale;
  if (trials.empty()) return;
  const ArrayXd x = BelowOf(points, table, level, trials).array();
  const Eigen::Map<const ArrayXd> y(above.data(), static_cast<Index>(above.size()));
  const ArrayXd centred = x - x.mean();
  step.slope = ((centred * y).sum() + kSlopeTrust) / (centred.square().sum() + kSlopeTrust);
  step.slope = std::max(step.slope, 0.0);
  step.shift = y.mean() - step.slope * x.mean();
  const double squares = (y - step.slope * x - step.shift).square().sum();
  step.scale = std::sqrt((squares + kScaleTrust * kScale * kScale) /
                         (static_cast<double>(x.size()) + kScaleTrust));
}

GpModel::Rows GpModel::RowsOf(const Points& points, const LevelTable& table, size_t level) const {
  const auto& losses = table.losses[level];
  std::vector<size_t> known;
  std::vector<size_t> running;
  for (size_t i = 0; i < losses.size(); ++i) {
    if (losses[i]) (std::isnan(*losses[i]) ? running : known).push_back(i);
  }
  Rows rows = {Kept(std::move(known), losses), {}};
  const size_t left_out = running.size() - std::min(running.size(), kRunningMax);
  rows.trials.insert(rows.trials.end(), running.begin() + static_cast<Index>(left_out),
                     running.end());
  const Level& at = levels_[level];
  rows.values.resize(static_cast<Index>(rows.trials.size()));
  for (size_t i = 0; i < rows.trials.size(); ++i) {
    const double loss = *losses[rows.trials[i]];
    rows.values[static_cast<Index>(i)] = std::isnan(loss) ? loss : (*at.warp)(loss);
  }
  if (level == 0 && prior_slope() == 0) return rows;
  const VectorXd below = BelowOf(points, table, level, rows.trials);
  for (Index i = 0; i < rows.values.size(); ++i) {
    double& value = rows.values[i];
    if (!std::isnan(value)) value = (value - at.slope * below[i] - at.shift) / at.scale;
  }
  return rows;
}

GpModel::View GpModel::Look(const Points& points, const LevelTable& table) const {
  TUNE_CHECK(table.losses.size() == levels_.size());
  std::vector<Surrogate::Level> levels;
  std::vector<size_t> whole;
  std::vector<size_t> running;
  std::vector<size_t> pending;
  for (size_t level = 0; level < levels_.size(); ++level) {
    const Rows rows = RowsOf(points, table, level);
    const Level& at = levels_[level];
    levels.push_back({at.slope, at.shift, at.scale,
                      GaussianProcess(is_category_, at.parameters, points(rows.trials, Eigen::all),
                                      rows.values)});
    for (Index i = 0; i < rows.values.size() && level == 0; ++i) {
      if (std::isnan(rows.values[i])) pending.push_back(rows.trials[static_cast<size_t>(i)]);
    }
    if (level + 1 < levels_.size()) continue;
    for (Index i = 0; i < rows.values.size(); ++i) {
      (std::isnan(rows.values[i]) ? running : whole).push_back(rows.trials[static_cast<size_t>(i)]);
    }
  }
  const auto prior = prior_slope() > 0 ? prior_ : nullptr;
  View view = {Surrogate(std::move(levels), prior), 0, {}, std::move(pending)};
  const ArrayXd means = view.surrogate.Means(points(whole, Eigen::all));
  std::vector<size_t> order(whole.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return means[static_cast<Index>(a)] < means[static_cast<Index>(b)];
  });
  if (!order.empty()) view.best = means[static_cast<Index>(order[0])];
  for (const size_t i : order) view.leading.push_back(whole[i]);
  // Else what a running trial promises is promised again to the next one, at the same place.
  if (!order.empty() && !running.empty()) {
    const double promised = view.surrogate.Means(points(running, Eigen::all)).minCoeff();
    view.best = std::min(view.best, promised);
  }
  return view;
}

}  // namespace tune
