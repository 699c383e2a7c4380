#include "search/points_searcher.h"

#include <utility>

#include "core/check.h"
#include "core/json.h"
#include "core/random.h"
#include "search/points.h"

namespace tune {

PointsSearcher::PointsSearcher(std::unique_ptr<Searcher> inner, std::vector<Configuration> points,
                               SearchSpace space, uint64_t seed, bool is_unique)
    : inner_(std::move(inner)),
      points_(std::move(points)),
      // Draws of their own: the inner searcher counts its trials from 0, too.
      draws_(std::move(space), KeyedRandom(seed, "points").NextU64()),
      is_unique_(is_unique) {
  TUNE_CHECK(!is_unique_ || inner_->LearnsFromResults());
}

std::optional<TrialNumber> PointsSearcher::Inner(TrialNumber number) const {
  if (inner_->LearnsFromResults()) return number;
  const auto count = static_cast<int64_t>(points_.size());
  if (number.value < count) return std::nullopt;
  return TrialNumber{number.value - count};
}

std::optional<Configuration> PointsSearcher::Suggest(TrialNumber number) {
  if (number.value >= static_cast<int64_t>(points_.size())) return inner_->Suggest(*Inner(number));
  const Configuration& point = points_[static_cast<size_t>(number.value)];
  auto configuration = draws_.Allowed(number, GivenBy(point, draws_.space()));
  if (configuration && had_.contains(ToJson(configuration->ToFlat()))) {
    configuration = inner_->Suggest(number);
    if (configuration) had_.insert(ToJson(configuration->ToFlat()));
    return configuration;
  }
  if (configuration) Restore(number, *configuration);
  return configuration;
}

void PointsSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  if (is_unique_) had_.insert(ToJson(configuration.ToFlat()));
  if (const auto inner = Inner(number)) inner_->Restore(*inner, configuration);
}

void PointsSearcher::OnReport(TrialNumber number, int64_t iteration, Objectives values) {
  if (const auto inner = Inner(number)) inner_->OnReport(*inner, iteration, values);
}

void PointsSearcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  if (const auto inner = Inner(number)) inner_->OnTrialEnded(*inner, last, failed);
}

void PointsSearcher::OnStopped(TrialNumber number) {
  if (const auto inner = Inner(number)) inner_->OnStopped(*inner);
}

void PointsSearcher::OnDuration(TrialNumber number, double seconds) {
  if (const auto inner = Inner(number)) inner_->OnDuration(*inner, seconds);
}

void PointsSearcher::OnReopened(TrialNumber number) {
  if (const auto inner = Inner(number)) inner_->OnReopened(*inner);
}

std::string PointsSearcher::DebugString() const {
  return std::to_string(points_.size()) + " points, then " + inner_->DebugString();
}

}  // namespace tune
