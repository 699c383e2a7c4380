// What trials must have in common.
#include "tuner/compared_trials.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> First(ComparedTrials& trials, int64_t trial, const std::string& reading,
                               int64_t iteration = 1) {
  return trials.OnFirstReport(TrialNumber{trial}, iteration, ParseFirstReading(reading));
}

TEST(ComparedTrials, ATrialThatBeginsFurtherOnThanTheFirstIsTold) {
  for (const std::string first : {"0 ", "1 "}) {
    ComparedTrials trials;
    EXPECT_THAT(First(trials, 0, first), IsEmpty());
    EXPECT_THAT(First(trials, 1, "1 "), IsEmpty());
    EXPECT_THAT(First(trials, 2, "4 "), ElementsAre(HasSubstr("and begins at epoch 4, where")));
  }
  ComparedTrials seldom;
  EXPECT_THAT(First(seldom, 0, "5 "), IsEmpty()) << "it prints every fifth";
  EXPECT_THAT(First(seldom, 1, "10 "), IsEmpty());
  ComparedTrials counted;
  EXPECT_THAT(First(counted, 0, "", 1), IsEmpty());
  EXPECT_THAT(First(counted, 1, "", 6), ElementsAre(HasSubstr("begins at iteration 6, where the "
                                                              "first trial began at 1")));
}

TEST(ComparedTrials, AnotherUnitIsTold) {
  ComparedTrials trials;
  EXPECT_THAT(First(trials, 0, "- s"), IsEmpty());
  EXPECT_THAT(First(trials, 1, "- s"), IsEmpty());
  EXPECT_THAT(
      First(trials, 2, "- ms"),
      ElementsAre(HasSubstr("another unit than those of trial 0: 'ms' where that has 's'")));
  EXPECT_THAT(First(trials, 3, "- "), ElementsAre(HasSubstr("none where that has 's'")));
  EXPECT_THAT(First(trials, 4, ""), IsEmpty()) << "a value that is not finite has none";
}

// `values`: what each trial reports.
std::optional<std::string> Said(const std::vector<std::vector<double>>& values,
                                bool are_configurations_alike = false, int64_t failed = -1,
                                Mode mode = Mode::kMax) {
  ComparedTrials trials;
  std::optional<std::string> said;
  for (size_t i = 0; i < values.size(); ++i) {
    const TrialNumber trial{static_cast<int64_t>(i)};
    for (size_t step = 0; step < values[i].size(); ++step) {
      trials.OnReport(trial, static_cast<int64_t>(step) + 1, values[i][step]);
    }
    Configuration configuration;
    configuration.Set("x", Value(are_configurations_alike ? 1 : static_cast<int64_t>(i)));
    auto line = trials.OnTrialEnded(trial, configuration, trial.value == failed, mode);
    if (line) said = line;
  }
  return said;
}

TEST(ComparedTrials, TrialsThatReportTheSameWithOtherConfigurationsAreTold) {
  EXPECT_THAT(
      Said({{1, 2}, {1}, {1, 2}, {1, 2}, {1, 2}}).value_or(""),
      AllOf(HasSubstr("trials 0, 1, 2, 3 have different configurations and reported exactly"),
            HasSubstr("or the number that is read is none of its results, such as a count")));
  EXPECT_FALSE(Said({{1, 2}, {1, 2}, {1, 2}, {1, 3}}));
  EXPECT_FALSE(Said({{1}, {1}, {1}})) << "too few to tell";
  EXPECT_FALSE(Said({{1}, {1}, {1}, {1}}, /*are_configurations_alike=*/true));
  EXPECT_FALSE(Said({{1}, {}, {1}, {1}}));
  EXPECT_FALSE(Said({{1}, {1}, {1}, {1}}, false, /*failed=*/2));
  EXPECT_THAT(Said({{1}, {1}, {1}, {1}, {1}}, false, /*failed=*/2).value_or(""),
              HasSubstr("trials 0, 1, 3, 4 have different configurations"));
}

TEST(FirstReading, ComesBackAsItWasWritten) {
  for (const FirstReading& reading :
       {FirstReading{4, "%"}, FirstReading{std::nullopt, ""}, FirstReading{0, "/50"}}) {
    EXPECT_EQ(ParseFirstReading(EncodeFirstReading(reading)), reading);
  }
  for (const char* const none : {"", "x y", "4", "99999999999999999999 s"}) {
    EXPECT_FALSE(ParseFirstReading(none)) << none;
  }
}

TEST(ComparedTrials, ABeginningThatAllShareAndOneNeverReachesAgainIsTold) {
  EXPECT_THAT(Said({{9, 1, 2}, {9, 3}, {9, 12}, {9, 4}}).value_or(""),
              AllOf(HasSubstr("trials 0, 1, 2, 3 have different configurations and began with "
                              "exactly the same value at iteration 1, which trial 0 was never"),
                    HasSubstr("a value of before training")));
  EXPECT_TRUE(Said({{1, 2}, {1, 3}, {1, 2}, {1, 4}}, false, -1, Mode::kMin));
  EXPECT_FALSE(Said({{1, 2}, {1, 3}, {1, 2}, {1, 4}})) << "a first epoch at the level of chance";
  EXPECT_FALSE(Said({{1, 1, 1}, {1, 3}, {1, 2}, {1, 4}})) << "one that never learns";
  EXPECT_FALSE(Said({{9, 1}, {9, 3}, {8, 2}, {9, 4}}));
  EXPECT_FALSE(Said({{9, 1}, {9, 3}, {9, 2}, {9, 4}}, /*are_configurations_alike=*/true));
}

}  // namespace
}  // namespace tune
