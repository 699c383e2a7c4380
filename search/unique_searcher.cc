#include "search/unique_searcher.h"

#include <utility>

#include "core/check.h"
#include "core/json.h"

namespace tune {

UniqueSearcher::UniqueSearcher(std::unique_ptr<Searcher> inner, SearchSpace space, uint64_t seed,
                               bool counts_history)
    : inner_(std::move(inner)), draws_(std::move(space), seed), counts_history_(counts_history) {
  TUNE_CHECK(!inner_->LearnsFromResults());
  Result<Grid> combinations = Grid::OfAll(draws_.space());
  if (combinations.ok()) combinations_ = *std::move(combinations);
}

bool UniqueSearcher::Remember(const Configuration& configuration) {
  return seen_.insert(ToJson(configuration.ToFlat())).second;
}

void UniqueSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  inner_->Restore(number, configuration);
  if (number.value >= 0 || counts_history_) Remember(configuration);
}

std::optional<Configuration> UniqueSearcher::Suggest(TrialNumber number) {
  if (combinations_ && next_combination_ == combinations_->size()) return std::nullopt;
  std::optional<Configuration> suggestion = inner_->Suggest(number);
  if (!suggestion || Remember(*suggestion)) return suggestion;
  constexpr uint64_t kAttemptsMax = 1000;
  for (uint64_t attempt = 1; attempt < kAttemptsMax; ++attempt) {
    Configuration configuration = draws_.At(number, attempt);
    if (draws_.space().Allows(configuration) && Remember(configuration)) return configuration;
  }
  // Hardly anything is left: take it in order.
  if (!combinations_) return std::nullopt;
  while (next_combination_ < combinations_->size()) {
    Configuration configuration =
        combinations_->ConfigurationAt(next_combination_++, draws_.space());
    if (Remember(configuration)) return configuration;
  }
  return std::nullopt;
}

std::string UniqueSearcher::DebugString() const { return "unique " + inner_->DebugString(); }

}  // namespace tune
