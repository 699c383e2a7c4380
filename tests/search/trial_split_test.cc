#include "search/trial_split.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <numeric>

namespace tune {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::UnorderedElementsAre;

using State = ObservedTrial::State;

ObservedTrial Trial(Losses losses, State state = State::kEnded, int64_t iterations = 1) {
  ObservedTrial trial;
  trial.state = state;
  for (int64_t i = 1; i <= iterations && !losses.empty(); ++i) trial.reports.push_back({i, losses});
  trial.losses = std::move(losses);
  return trial;
}

TEST(SplitByLoss, TheBestShareIsGoodAndTheRestBad) {
  const std::vector<ObservedTrial> trials = {Trial({5}), Trial({1}), Trial({4}), Trial({2}),
                                             Trial({3})};
  // ceil(0.3 * 5) = 2.
  const TrialSplit split = SplitByLoss(trials, {.gamma = 0.3}, std::nullopt);
  EXPECT_THAT(split.good, ElementsAre(1, 3));
  EXPECT_THAT(split.bad_weights, ElementsAre(1, 0, 1, 0, 1));
  EXPECT_EQ(split.ranked_count, 5u);
  // log(3) - log(1) and log(3) - log(2), made to add up to 2.
  EXPECT_THAT(split.good_weights, ElementsAre(DoubleNear(1.4608, 1e-4), DoubleNear(0.5392, 1e-4)));
}

TEST(SplitByLoss, OneThatEndedByItselfIsNotBehindLongerOnes) {
  std::vector<ObservedTrial> trials = {Trial({1}, State::kEnded, 12), Trial({4}, State::kEnded, 40),
                                       Trial({3}, State::kEnded, 100)};
  EXPECT_THAT(SplitByLoss(trials, {.gamma = 0.1}, 100).good, ElementsAre(2));
  trials[0].is_whole = true;
  EXPECT_THAT(SplitByLoss(trials, {.gamma = 0.1}, 100).good, ElementsAre(0));
}

TEST(SplitAtHighestLevel, OneThatEndedByItselfStandsBesideTheLongest) {
  std::vector<ObservedTrial> trials(4, Trial({4}, State::kEnded, 40));
  trials.push_back(Trial({1}, State::kEnded, 12));
  trials.back().is_whole = true;
  const auto split = SplitAtHighestLevel(trials, {.gamma = 0.1}, 2);
  ASSERT_TRUE(split.has_value());
  EXPECT_THAT(split->good, testing::Contains(4));
}

TEST(SplitByLoss, OfTwoAlikeTheEarlierIsBetter) {
  const std::vector<ObservedTrial> trials = {Trial({2}), Trial({1}), Trial({1})};
  EXPECT_THAT(SplitByLoss(trials, {.gamma = 0.1}, std::nullopt).good, ElementsAre(1));
}

TEST(SplitByLoss, NoMoreThanTheMostAreGood) {
  const std::vector<ObservedTrial> trials(10, Trial({1}));
  EXPECT_EQ(SplitByLoss(trials, {.gamma = 0.9, .good_max = 3}, std::nullopt).good.size(), 3u);
}

TEST(SplitByLoss, WhatHasNoValueIsBadAndDoesNotCount) {
  const std::vector<ObservedTrial> trials = {Trial({}, State::kFailed), Trial({}, State::kEnded),
                                             Trial({}, State::kRunning), Trial({3})};
  const TrialSplit split = SplitByLoss(trials, {}, std::nullopt);
  EXPECT_THAT(split.good, ElementsAre(3));
  EXPECT_THAT(split.bad_weights, ElementsAre(1, 1, 0.3, 0));
  EXPECT_EQ(split.ranked_count, 1u);
  // Without the liar a running trial is neither.
  const TrialSplit honest = SplitByLoss(trials, {.running_weight = 0}, std::nullopt);
  EXPECT_THAT(honest.bad_weights, ElementsAre(1, 1, 0, 0));
}

TEST(SplitByLoss, ARunningOrPausedTrialCountsByWhatItReported) {
  const std::vector<ObservedTrial> trials = {Trial({3}), Trial({1}, State::kRunning), Trial({2})};
  EXPECT_THAT(SplitByLoss(trials, {.gamma = 0.3}, std::nullopt).good, ElementsAre(1));
}

TEST(SplitByLoss, WhereTheWholeLengthIsKnownThoseThatCameFurtherAreBetter) {
  const std::vector<ObservedTrial> trials = {
      Trial({9}, State::kEnded, 8), Trial({1}, State::kEnded, 1), Trial({8}, State::kEnded, 8),
      Trial({5}, State::kEnded, 4), Trial({7}, State::kEnded, 30)};
  const SplitRule all = {.gamma = 0.999};
  // Beyond max_t is no further than max_t.
  EXPECT_THAT(SplitByLoss(trials, all, 8).good, ElementsAre(4, 2, 0, 3, 1));
  EXPECT_THAT(SplitByLoss(trials, all, std::nullopt).good, ElementsAre(1, 3, 4, 2, 0));
}

TEST(SplitByLoss, NothingIsGoodOfNothing) {
  EXPECT_TRUE(SplitByLoss({}, {}, std::nullopt).good.empty());
  EXPECT_TRUE(SplitByFronts({}, {}).good.empty());
}

TEST(SplitAtHighestLevel, ComparesWhereEnoughTrialsHaveCome) {
  std::vector<ObservedTrial> trials;
  for (int i = 0; i < 6; ++i) trials.push_back(Trial({10.0 + i}, State::kEnded, 1));
  for (int i = 0; i < 4; ++i) trials.push_back(Trial({5.0 - i}, State::kRunning, 3));
  trials.push_back(Trial({0}, State::kEnded, 9));
  // Five came to iteration 3, one to 9. What they reported there counts, not their best.
  trials[10].reports[2].losses = {2.5};
  const auto split = SplitAtHighestLevel(trials, {}, 2);
  ASSERT_TRUE(split);
  EXPECT_THAT(split->good, ElementsAre(9, 10));
  EXPECT_EQ(split->ranked_count, 5u);
  EXPECT_EQ(split->bad_weights[0], 1);
  // Three good ones need six.
  EXPECT_THAT(SplitAtHighestLevel(trials, {}, 3)->ranked_count, 11u);
  EXPECT_FALSE(SplitAtHighestLevel(trials, {}, 6));
}

TEST(SplitAtHighestLevel, AFailedTrialOrAValuelessReportIsNotThere) {
  std::vector<ObservedTrial> trials(4, Trial({1}));
  trials[0].state = State::kFailed;
  EXPECT_FALSE(SplitAtHighestLevel(trials, {}, 2));
  trials[0].state = State::kEnded;
  EXPECT_TRUE(SplitAtHighestLevel(trials, {}, 2));
  trials[0].reports[0].losses = {std::numeric_limits<double>::quiet_NaN()};
  EXPECT_FALSE(SplitAtHighestLevel(trials, {}, 2));
}

TEST(SplitAtHighestLevel, ATrialThatOnlyTellsItsResultIsAWholeOne) {
  std::vector<ObservedTrial> trials = {Trial({4}), Trial({1}), Trial({3}), Trial({2})};
  for (ObservedTrial& trial : trials) trial.reports.clear();
  const auto split = SplitAtHighestLevel(trials, {}, 2);
  ASSERT_TRUE(split);
  EXPECT_THAT(split->good, ElementsAre(1, 3));
  // Beside one that reports it is compared with that one's latest.
  trials[0] = Trial({4}, State::kRunning, 5);
  trials[0].reports[4].losses = {0.5};
  const auto mixed = SplitAtHighestLevel(trials, {}, 2);
  ASSERT_TRUE(mixed);
  EXPECT_THAT(mixed->good, ElementsAre(0, 1));
}

TEST(SplitByFronts, FirstTheFrontThenWhatCoversTheMostOfTheNext) {
  // Front 0: (0, 3), (3, 0). Front 1: (1, 4), (4, 1), (3.5, 3.5).
  const std::vector<ObservedTrial> trials = {Trial({1, 4}), Trial({0, 3}), Trial({3.5, 3.5}),
                                             Trial({4, 1}), Trial({3, 0}), Trial({9, 9})};
  const TrialSplit two = SplitByFronts(trials, {.gamma = 0.3});
  EXPECT_THAT(two.good, UnorderedElementsAre(1, 4));
  EXPECT_THAT(two.good_weights, ElementsAre(DoubleNear(1, 1e-12), DoubleNear(1, 1e-12)));
  const TrialSplit four = SplitByFronts(trials, {.gamma = 0.6});
  EXPECT_THAT(four.good, UnorderedElementsAre(1, 4, 0, 3));
  EXPECT_NEAR(std::accumulate(four.good_weights.begin(), four.good_weights.end(), 0.0), 4, 1e-12);
  EXPECT_EQ(four.bad_weights[5], 1);
}

TEST(SplitByFronts, LossesThatDivergedAreWeighedToo) {
  constexpr double kMost = std::numeric_limits<double>::max();
  const std::vector<ObservedTrial> trials = {Trial({kMost, -kMost, 0}), Trial({-kMost, kMost, 0}),
                                             Trial({0, 0, 0}), Trial({kMost, kMost, 0})};
  const TrialSplit split = SplitByFronts(trials, {.gamma = 0.7});
  EXPECT_THAT(split.good, UnorderedElementsAre(0, 1, 2));
  for (const double weight : split.good_weights) {
    EXPECT_GT(weight, 0);
    EXPECT_LT(weight, 3);
  }
}

TEST(SplitByFronts, AnInfiniteLossIsNotRanked) {
  const double kInfinity = std::numeric_limits<double>::infinity();
  const std::vector<ObservedTrial> trials = {Trial({-kInfinity, 0}), Trial({1, 1}),
                                             Trial({1, kInfinity})};
  const TrialSplit split = SplitByFronts(trials, {.gamma = 0.9});
  EXPECT_THAT(split.good, ElementsAre(1));
  EXPECT_THAT(split.bad_weights, ElementsAre(1, 0, 1));
}

}  // namespace
}  // namespace tune
