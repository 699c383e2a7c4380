// Which sweeps go that are over.
#include "tuner/cli/head/head_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kNow{1'000'000'000};
EndedSweep Ended(const std::string& name, int64_t seconds_ago, int64_t bytes = 0) {
  return {name, Instant{kNow.us - seconds_ago * 1'000'000}, bytes};
}
std::vector<std::string> Going(const std::vector<EndedSweep>& ended, const RetentionRule& rule) {
  std::vector<std::string> names;
  for (const EndedSweep& sweep : Expired(ended, rule, kNow)) names.push_back(sweep.name);
  return names;
}

TEST(Retention, WhatEndedLongAgoGoesTheOldestFirst) {
  const std::vector<EndedSweep> ended = {Ended("a", 10), Ended("b", 30), Ended("c", 20)};
  EXPECT_THAT(Going(ended, {Seconds(20), {}}), ElementsAre("b", "c"));
  EXPECT_THAT(Going(ended, {Seconds(31), {}}), IsEmpty());
  EXPECT_THAT(Going(ended, {Seconds(0), {}}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(Going(ended, {}), IsEmpty());
}

TEST(Retention, OfTooMuchTheOldestGoUntilTheRestFits) {
  const std::vector<EndedSweep> ended = {Ended("a", 10, 100), Ended("b", 30, 50),
                                         Ended("job", 25, 0), Ended("c", 20, 70)};
  EXPECT_THAT(Going(ended, {{}, 220}), IsEmpty());
  EXPECT_THAT(Going(ended, {{}, 219}), ElementsAre("b"));
  EXPECT_THAT(Going(ended, {{}, 100}), ElementsAre("b", "c")) << "a job makes no room";
  EXPECT_THAT(Going(ended, {{}, 0}), ElementsAre("b", "c", "a"));
  EXPECT_THAT(Going(ended, {Seconds(25), 100}), ElementsAre("b", "job", "c"));
}

TEST(Retention, WhatIsNotOverOrIsKeptOrLearnedFromStays) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  const auto store = OpenStore(path);
  const auto make = [&](const std::string& name, const std::string& spec, const Tags& tags,
                        bool is_over) {
    NewExperiment wanted = SampleExperiment(name);
    if (!spec.empty()) wanted.spec = spec;
    wanted.labels.tags = tags;
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok());
    Transition end;
    end.experiment = ExperimentRow{ExperimentStatus::kFinished, 4, kSampleStart};
    if (!is_over) return;
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, end).ok());
  };
  make("over", "", {}, true);
  make("kept", "", {{"keep", "paper"}}, true);
  make("teacher", "", {}, true);
  make("learner", R"({"metric":"val_accuracy","from":"teacher"})", {}, false);
  const auto interrupt = [&](const std::string& name, const std::string& given_up) {
    const auto experiment = store->CreateExperiment(SampleExperiment(name));
    ASSERT_TRUE(experiment.ok());
    Transition end;
    end.experiment = ExperimentRow{ExperimentStatus::kInterrupted, 4, kSampleStart, given_up};
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, end).ok());
  };
  interrupt("goes on", "");
  interrupt("given up", "no worker could take 9 GPUs for 10m");
  const auto ended = FindEnded(path);
  ASSERT_TRUE(ended.ok()) << ended.status().message();
  EXPECT_THAT(*ended, ElementsAre(EndedSweep{"over", kSampleStart, 0},
                                  EndedSweep{"given up", kSampleStart, 0}));
}

TEST(Retention, AHeadTrustsItsClockOnceItHasLivedForAnHourOrForTheAge) {
  EXPECT_EQ(ClockTrustedAfter({Seconds(30 * 86400.0), {}}), Seconds(3600));
  EXPECT_EQ(ClockTrustedAfter({Seconds(2), {}}), Seconds(2));
  EXPECT_EQ(ClockTrustedAfter({{}, 100}), Seconds(0)) << "no clock says how much is too much";
}

TEST(Retention, IsLookedAtAsOftenAsItsAgeNeeds) {
  EXPECT_EQ(LookEvery({Seconds(3600), {}}), Seconds(180));
  EXPECT_EQ(LookEvery({Seconds(2), {}}), Seconds(1));
  EXPECT_EQ(LookEvery({Seconds(30 * 86400.0), {}}), Seconds(600));
  EXPECT_EQ(LookEvery({{}, 100}), Seconds(600));
}

}  // namespace
}  // namespace tune
