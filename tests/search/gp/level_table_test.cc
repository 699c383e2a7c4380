#include "search/gp/level_table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "core/json.h"

namespace tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
using State = ObservedTrial::State;
using Row = std::vector<std::optional<double>>;

// A trial that reported `losses` at the iterations 1, 2, ...
ObservedTrial Trial(State state, const std::vector<double>& losses) {
  ObservedTrial trial;
  trial.state = state;
  double best = kInfinity;
  for (const double loss : losses) {
    trial.reports.push_back({static_cast<int64_t>(trial.reports.size()) + 1, {loss}});
    best = std::fmin(best, loss);
  }
  if (std::isfinite(best) && state != State::kFailed) trial.losses = {best};
  return trial;
}

ObservedTrial Long(State state, int64_t iterations) {
  return Trial(state, std::vector<double>(static_cast<size_t>(iterations), 1.0));
}

std::vector<ObservedTrial> Ladder() {
  std::vector<ObservedTrial> trials;
  for (int i = 0; i < 16; ++i) trials.push_back(Long(State::kEnded, 1));
  for (int i = 0; i < 6; ++i) trials.push_back(Long(State::kEnded, 4));
  for (int i = 0; i < 3; ++i) trials.push_back(Long(State::kEnded, 16));
  for (int i = 0; i < 2; ++i) trials.push_back(Long(State::kRunning, 20));
  return trials;
}

// 27 trials have come to 1, 11 to 3, 5 to 9, 4 to 16.
TEST(LevelTable, LevelsEndWhereEnoughTrialsHaveComeAndLeaveOutWhatTeachesNothing) {
  EXPECT_EQ(ChooseLevels(Ladder(), 4), (std::vector<int64_t>{1, 3, 16}));
  EXPECT_EQ(ChooseLevels(Ladder(), 2), (std::vector<int64_t>{1, 3, 9, 20}));
  EXPECT_EQ(ChooseLevels(Ladder(), 27), (std::vector<int64_t>{1}));
  EXPECT_EQ(ChooseLevels(Ladder(), 28), (std::vector<int64_t>{0}));
}

TEST(LevelTable, TrialsThatAllGoTheWholeWayHaveOneLevel) {
  const std::vector<ObservedTrial> trials(10, Long(State::kEnded, 50));
  EXPECT_EQ(ChooseLevels(trials, 4), (std::vector<int64_t>{50}));
}

// A program that ends its training by itself, after 12 epochs or after 40.
TEST(LevelTable, WhatEndedByItselfHasReachedEveryLevel) {
  std::vector<ObservedTrial> trials;
  for (const int64_t iterations : {12, 40, 30, 40, 40, 40}) {
    trials.push_back(Long(State::kEnded, iterations));
    trials.back().is_whole = true;
  }
  trials[0].losses = {0.25};
  EXPECT_EQ(ChooseLevels(trials, 4), (std::vector<int64_t>{40}));
  EXPECT_EQ(TableOf(trials, {3, 40}, 0).losses[1][0], 0.25);
  EXPECT_EQ(TableOf(trials, {3, 40}, 0).losses[0][0], 1.0) << "what it had by then";
  trials[0].is_whole = false;
  EXPECT_EQ(TableOf(trials, {3, 40}, 0).losses[1][0], std::nullopt);
}

TEST(LevelTable, FailedTrialsAndThoseWithoutReportsMakeNoLevel) {
  std::vector<ObservedTrial> trials(10, Long(State::kFailed, 9));
  trials.push_back(Trial(State::kRunning, {}));
  EXPECT_EQ(ChooseLevels(trials, 4), (std::vector<int64_t>{0}));
}

TEST(LevelTable, HoldsTheBestUpToALevelWhatMayStillComeAndWhatWillNot) {
  const std::vector<ObservedTrial> trials = {
      Trial(State::kEnded, {5, 3, 4, 2, 7}), Trial(State::kEnded, {6, 5}),
      Trial(State::kRunning, {8, 7, 9}),     Trial(State::kRunning, {}),
      Trial(State::kFailed, {1, 1, 1}),      Trial(State::kEnded, {std::nan("")}),
  };
  const LevelTable table = TableOf(trials, {1, 3, 4});
  ASSERT_EQ(table.losses.size(), 3u);
  EXPECT_EQ(table.losses[0][0], 5.0);
  EXPECT_EQ(table.losses[1][0], 3.0);
  EXPECT_EQ(table.losses[2][0], 2.0);
  EXPECT_EQ(table.losses[0][1], 6.0);
  EXPECT_EQ(table.losses[1][1], std::nullopt);
  EXPECT_EQ(table.losses[2][1], std::nullopt);
  EXPECT_EQ(table.losses[1][2], 7.0);
  EXPECT_TRUE(std::isnan(*table.losses[2][2]));
  EXPECT_TRUE(std::isnan(*table.losses[0][3]));
  EXPECT_EQ(table.losses[0][4], kInfinity);
  EXPECT_EQ(table.losses[2][5], kInfinity);
}

TEST(LevelTable, WithoutLevelsATrialCountsWhenItHasEndedWithTheBestThatItHad) {
  ObservedTrial told;  // At its end alone, as by ask and tell.
  told.state = State::kEnded;
  told.losses = {0.5};
  const std::vector<ObservedTrial> trials = {told, Trial(State::kEnded, {3, 1, 2}),
                                             Trial(State::kRunning, {3, 1, 2})};
  const LevelTable table = TableOf(trials, {0});
  EXPECT_EQ(table.losses[0][0], 0.5);
  EXPECT_EQ(table.losses[0][1], 1.0);
  EXPECT_TRUE(std::isnan(*table.losses[0][2]));
}

}  // namespace
}  // namespace tune
