#include "schedulers/brackets.h"

#include <cmath>
#include <limits>
#include <string>

#include "core/check.h"
#include "core/input_error.h"
#include "core/random.h"
#include "schedulers/rung_levels.h"

namespace tune {

Status ReadLadder(const OptionMap& options, LadderOptions& ladder) {
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  TUNE_RETURN_IF_ERROR(options.Read("max_t", 1, kNoMax, ladder.max_t));
  TUNE_RETURN_IF_ERROR(options.Read("grace_period", 1, kNoMax, ladder.grace_period));
  TUNE_RETURN_IF_ERROR(options.Read("reduction_factor", 2, kNoMax, ladder.reduction_factor));
  if (ladder.grace_period <= ladder.max_t) return OkStatus();
  return InvalidAt(options.PlaceOf("grace_period"),
                   "scheduler: grace_period is " + std::to_string(ladder.grace_period) +
                       " and max_t is " + std::to_string(ladder.max_t) +
                       "; grace_period must not be above max_t");
}

Brackets AshaBrackets(const LadderOptions& ladder, int64_t count) {
  const std::vector<int64_t> levels =
      RungLevels(ladder.grace_period, ladder.max_t, ladder.reduction_factor);
  TUNE_CHECK(count >= 1 && count <= static_cast<int64_t>(levels.size()));
  Brackets brackets;
  brackets.max_t = ladder.max_t;
  brackets.reduction_factor = ladder.reduction_factor;
  for (int64_t s = 0; s < count; ++s) {
    brackets.milestones.emplace_back(levels.begin() + s, levels.end());
    brackets.weights.push_back(std::exp(-static_cast<double>(s)));
  }
  return brackets;
}

Brackets HyperbandBrackets(int64_t max_t, int64_t reduction_factor) {
  const std::vector<int64_t> levels = RungLevelsFromTop(max_t, reduction_factor);
  Brackets brackets;
  brackets.max_t = max_t;
  brackets.reduction_factor = reduction_factor;
  const int64_t halvings_max = static_cast<int64_t>(levels.size()) - 1;
  for (int64_t b = 0; b <= halvings_max; ++b) {
    brackets.milestones.emplace_back(levels.begin() + b, levels.end());
    brackets.weights.push_back(
        static_cast<double>(BracketSize(halvings_max - b, halvings_max, reduction_factor)));
  }
  return brackets;
}

int64_t BracketSize(int64_t halvings, int64_t halvings_max, int64_t reduction_factor) {
  TUNE_CHECK(halvings >= 0 && halvings <= halvings_max);
  constexpr int64_t kMax = int64_t{1} << 62;
  int64_t numerator = halvings_max + 1;
  for (int64_t i = 0; i < halvings; ++i) {
    if (numerator > kMax / reduction_factor) return kMax;  // More than any sweep has trials.
    numerator *= reduction_factor;
  }
  return (numerator - 1) / (halvings + 1) + 1;
}

uint32_t DrawBracket(const Brackets& brackets, uint64_t seed, TrialNumber trial) {
  const std::vector<double>& weights = brackets.weights;
  if (weights.size() == 1) return 0;
  double sum = 0;
  for (const double weight : weights) sum += weight;
  KeyedRandom random(seed, "bracket", static_cast<uint64_t>(trial.value));
  double u = random.NextUniform(0, sum);
  for (uint32_t s = 0; s + 1 < weights.size(); ++s) {
    u -= weights[s];
    if (u < 0) return s;
  }
  return static_cast<uint32_t>(weights.size() - 1);
}

bool FillsRung(const std::vector<int64_t>& milestones, int64_t iteration, uint32_t& first_open) {
  uint32_t reached = first_open;
  while (reached < milestones.size() && milestones[reached] <= iteration) ++reached;
  const bool fills = reached > first_open;
  first_open = reached;
  return fills;
}

}  // namespace tune
