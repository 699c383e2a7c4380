#include "search/random_draws.h"

#include <algorithm>
#include <utility>

#include "core/limits.h"
#include "core/random.h"
#include "search/combination_walk.h"

namespace tune {
namespace {

constexpr uint64_t kAttemptsBeforeEnumeration = 200;
constexpr uint64_t kAttemptsMax = 100'000;
constexpr size_t kCombinationsMax = 100'000;

bool IsGiven(const GivenValues& given, size_t parameter) {
  return !given.empty() && given[parameter].has_value();
}

}  // namespace

RandomDraws::RandomDraws(SearchSpace space, uint64_t seed)
    : space_(std::move(space)), seed_(seed), constrained_(space_.ConstrainedParameters()) {}

Configuration RandomDraws::At(TrialNumber number, uint64_t attempt,
                              const GivenValues& given) const {
  return space_.Assemble([&](size_t i) {
    if (IsGiven(given, i)) return *given[i];
    const SpaceParameter& parameter = space_.parameters()[i];
    KeyedRandom random(seed_, "search", static_cast<uint64_t>(number.value),
                       StableHash(parameter.name) + attempt);
    return std::get<Domain>(parameter.content).Draw(random);
  });
}

std::optional<Configuration> RandomDraws::Allowed(TrialNumber number, const GivenValues& given,
                                                  bool* is_none_allowed) {
  for (uint64_t attempt = 0; attempt < kAttemptsMax; ++attempt) {
    Configuration configuration = At(number, attempt, given);
    if (space_.Allows(configuration)) return configuration;
    if (attempt != kAttemptsBeforeEnumeration) continue;
    if (!given.empty()) {
      const std::optional<Combinations> combinations = Enumerate(given);
      if (combinations) return Choose(*combinations, number, given, is_none_allowed);
      continue;
    }
    if (!is_enumerated_) combinations_ = Enumerate(given);
    is_enumerated_ = true;
    if (combinations_) return Choose(*combinations_, number, given, is_none_allowed);
  }
  return std::nullopt;
}

std::optional<RandomDraws::Combinations> RandomDraws::Enumerate(const GivenValues& given) const {
  if (!CombinationWalk::IsPossible(space_, constrained_, given)) return std::nullopt;
  Combinations combinations;
  CombinationWalk walk(space_, constrained_, given);
  for (int64_t seen = 0; walk.Next(); ++seen) {
    if (seen == limits::kLeadingCombinationsMax) return std::nullopt;
    if (!space_.Allows(walk.ToConfiguration())) continue;
    if (combinations.all.size() == kCombinationsMax) return std::nullopt;
    Combination combination;
    combination.mass_before = combinations.mass;
    double mass = 1;
    for (const size_t i : constrained_) {
      combination.values.push_back(walk.values()[i]);
      const auto* const domain = std::get_if<Domain>(&space_.parameters()[i].content);
      if (domain == nullptr || IsGiven(given, i) || !walk.values()[i]) continue;
      const auto cell = domain->ToUnit(*walk.values()[i]);
      mass *= cell->hi - cell->lo;
    }
    combinations.all.push_back(std::move(combination));
    combinations.mass += mass;
  }
  return combinations;
}

std::optional<Configuration> RandomDraws::Choose(const Combinations& combinations,
                                                 TrialNumber number, const GivenValues& given,
                                                 bool* is_none_allowed) const {
  if (combinations.all.empty()) {
    if (is_none_allowed != nullptr) *is_none_allowed = true;
    return std::nullopt;
  }
  KeyedRandom random(seed_, "search constrained", static_cast<uint64_t>(number.value));
  const double u = random.NextUniform(0, combinations.mass);
  const auto after =
      std::upper_bound(combinations.all.begin(), combinations.all.end(), u,
                       [](double x, const Combination& each) { return x < each.mass_before; });
  GivenValues all = given;
  all.resize(space_.parameters().size());
  for (size_t i = 0; i < constrained_.size(); ++i) {
    all[constrained_[i]] = (after - 1)->values[i];
  }
  return At(number, 0, all);
}

}  // namespace tune
