#include "search/sobol_searcher.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>
#include <vector>

#include "core/option_map.h"
#include "core/random.h"
#include "search/grid.h"
#include "search/random_searcher.h"
#include "search/search_options.h"

namespace tune {

SobolSearcher::SobolSearcher(UnitSpace space, bool scramble, uint64_t seed,
                             std::unique_ptr<Searcher> random)
    : space_(std::move(space)),
      sequence_(std::min(space_.size(), SobolSequence::kDimensionsMax)),
      scramble_(scramble),
      seed_(seed),
      random_(std::move(random)) {}

double SobolSearcher::Coordinate(size_t dimension, TrialNumber number) const {
  if (dimension >= sequence_.dimensions()) {
    return KeyedRandom(seed_, "sobol beyond", dimension, static_cast<uint64_t>(number.value))
        .NextDouble();
  }
  const auto index = static_cast<uint32_t>(number.value);
  return scramble_ ? sequence_.ScrambledAt(dimension, index, seed_)
                   : sequence_.At(dimension, index) * 0x1p-32;
}

std::optional<Configuration> SobolSearcher::Suggest(TrialNumber number) {
  std::vector<double> point(space_.size());
  for (size_t d = 0; d < point.size(); ++d) point[d] = Coordinate(d, number);
  Configuration configuration = space_.At(point);
  if (!space_.space().Allows(configuration)) return random_->Suggest(number);
  return configuration;
}

std::string SobolSearcher::DebugString() const {
  return std::string(scramble_ ? "scrambled " : "") + "sobol over " +
         std::to_string(space_.size()) + " parameters";
}

Result<std::unique_ptr<Searcher>> MakeSobolSearcher(const Value& options,
                                                    const SearchProblem& problem) {
  constexpr std::array<std::string_view, 2> kOptions = {"algorithm", "scramble"};
  const OptionMap map = SearchOptions("sobol", options);
  TUNE_RETURN_IF_ERROR(map.CheckNames(kOptions));
  bool scramble = true;
  TUNE_RETURN_IF_ERROR(map.Read("scramble", scramble));
  TUNE_RETURN_IF_ERROR(RefuseGridSearch(problem.space, "sobol"));
  TUNE_ASSIGN_OR_RETURN(auto random, MakeRandomSearcher(Value(), problem));
  return std::unique_ptr<Searcher>(std::make_unique<SobolSearcher>(
      UnitSpace(problem.space), scramble, problem.seed, std::move(random)));
}

}  // namespace tune
