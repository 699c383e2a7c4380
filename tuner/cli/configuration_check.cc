#include "tuner/cli/configuration_check.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <string>

#include "search/searcher.h"
#include "trial_runner/trainable_catalog.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

constexpr int64_t kCheckedMax = 256;

}  // namespace

Result<Configuration> CheckConfigurations(const ExperimentSpec& spec, uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Searcher> searcher,
                        MakeSearcher(spec.search, ProblemOf(spec, space, spec.samples, seed)));
  const int64_t count_max = TrialCountOf(spec, space, spec.samples);
  const int64_t count = count_max < 0 ? kCheckedMax : std::min(count_max, kCheckedMax);
  Configuration first;
  for (int64_t i = 0; i < count; ++i) {
    const std::optional<Configuration> configuration = searcher->Suggest(TrialNumber{i});
    if (!configuration) break;
    TUNE_RETURN_IF_ERROR(CheckConfiguration(spec.trainable, *configuration, spec.resources.workers)
                             .At("the configuration of trial " + std::to_string(i)));
    if (i == 0) first = *configuration;
  }
  return first;
}

}  // namespace tune
