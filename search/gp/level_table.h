// What trials had reached at some levels of training, for a model that learns from those that were
// stopped early, or still run, as well as from whole ones.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "search/trial_observations.h"

namespace tune {

struct LevelTable {
  // For each level, the lowest first, and each trial: the best loss up to there. NaN: it may still
  // come there; nothing: it ended before. A trial that failed or never had a value has infinity.
  std::vector<std::vector<std::optional<double>>> losses;
};

// The iterations that make a level, rising. The last is the most that `whole_count` trials have
// reached; the others are powers of 3 below, where distinctly more trials have come than to the
// next. One level, 0, where too few trials report: a trial then counts when it has ended.
std::vector<int64_t> ChooseLevels(const std::vector<ObservedTrial>& trials, size_t whole_count);

// `levels`: as ChooseLevels gave them, of these trials or of the same at an earlier time. Where
// there are several objectives, whose reports have no best, the one level 0.
LevelTable TableOf(const std::vector<ObservedTrial>& trials, const std::vector<int64_t>& levels,
                   size_t objective = 0);

// By how much trials break one limit, as losses of the one level 0: of trials that have ended. What
// nobody can tell, and a trial that failed or never had a value, has infinity.
LevelTable MarginTableOf(const std::vector<ObservedTrial>& trials, size_t limit);

}  // namespace tune
