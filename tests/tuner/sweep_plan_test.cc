// What a plan says is what the sweep then does.
#include "tuner/simulate/sweep_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sstream>

#include "core/json.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/run/plan_command.h"
#include "tuner/cli/words/time_left.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kSpace[] =
    "name: s\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\n"
    "trainable: {curve: {value: x, iterations: 27}}\n";

SweepPlan PlanOf(const std::string& yaml, int64_t cpus = 4, int64_t gpus = 0) {
  const auto document = ParseYaml(yaml);
  EXPECT_TRUE(document.ok()) << document.status().message();
  const auto spec = InterpretSpec(*document, "space.yaml", "/", false);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  WorkerCapacity capacity{cpus * kWholeMilli, {}};
  for (int64_t i = 0; i < gpus; ++i) capacity.devices.push_back({i, "", 0});
  auto plan = PlanSweep(*spec, 7, capacity);
  EXPECT_TRUE(plan.ok()) << plan.status().message();
  return *std::move(plan);
}

TEST(SweepPlan, AStopAtTheLargestIterationIsNoEnd) {
  const std::string yaml =
      std::string(kSpace) + "samples: 2\nstop: {training_iteration: 9223372036854775807}\n";
  EXPECT_EQ(PlanOf(yaml).trial_iterations, 27);
  const auto spec = InterpretSpec(*ParseYaml(yaml), "space.yaml", "/", false);
  ASSERT_TRUE(spec.ok());
  EXPECT_EQ(LongestTrial(*spec), std::nullopt);
}

TEST(SweepPlan, WhatEndsTheSweepByItsResultsIsLeftOut) {
  for (const char* const until : {"regret: 0.01", "no_gain: 2"}) {
    const SweepPlan plan = PlanOf(std::string(kSpace) +
                                  "samples: 10\nsearch: {algorithm: gp}\nuntil: {" + until + "}\n");
    EXPECT_EQ(plan.expected->total, 270) << until;
  }
}

TEST(SweepPlan, FifoTrainsEverything) {
  const SweepPlan plan = PlanOf(std::string(kSpace) + "samples: 10\n");
  EXPECT_EQ(plan.trials, 10);
  EXPECT_EQ(plan.points, std::nullopt);
  EXPECT_EQ(plan.trial_iterations, 27);
  EXPECT_EQ(plan.at_once, 4);
  EXPECT_EQ(plan.expected->total, 270);
  EXPECT_EQ(plan.worst->total, 270);
  // 10 trials by four: three rounds.
  EXPECT_NEAR(plan.expected->in_a_row, 81, 1e-6);
  EXPECT_EQ(plan.worst->live_max, 4);
  EXPECT_THAT(plan.rungs, IsEmpty());
  EXPECT_THAT(plan.warnings, IsEmpty());
}

TEST(SweepPlan, AshaIsExpectedToHalveItsRungsAndAtWorstStopsNobody) {
  const SweepPlan plan = PlanOf(
      std::string(kSpace) + "samples: 300\nscheduler: {asha: {max_t: 27, reduction_factor: 3}}\n");
  ASSERT_EQ(plan.rungs.size(), 4u);
  const int64_t milestones[] = {1, 3, 9, 27};
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(plan.rungs[i].milestone, milestones[i]);
    EXPECT_EQ(plan.rungs[i].worst_count, 300);
  }
  EXPECT_EQ(plan.rungs[0].expected_count, 300);
  // A third goes on, and some of the first arrivals.
  EXPECT_NEAR(plan.rungs[1].expected_count, 100, 15);
  EXPECT_NEAR(plan.rungs[2].expected_count, 33, 15);
  EXPECT_EQ(plan.worst->total, 300 * 27);
  EXPECT_LT(plan.expected->total, plan.worst->total / 4);
}

TEST(SweepPlan, LongSweepsArePlayedInSmall) {
  const SweepPlan plan = PlanOf(std::string(kSpace) + "samples: 1000000\n");
  EXPECT_EQ(plan.trials, 1'000'000);
  EXPECT_NEAR(plan.expected->total, 27e6, 1);
}

// Of one with an end of its own, whatever `samples` says.
TEST(SweepPlan, AGridIsCountedByItsPoints) {
  for (const char* const samples : {"", "samples: -1\n", "samples: 1000000\n"}) {
    const SweepPlan plan = PlanOf(
        "name: s\nmetric: loss\nmode: min\nspace: {x: {choice: [1, 2, 3]}}\n"
        "trainable: {curve: {value: x, iterations: 9}}\n"
        "search: {algorithm: grid, repeat: 2}\nscheduler: {asha: {max_t: 9}}\n" +
        std::string(samples));
    EXPECT_EQ(plan.trials, 6) << samples;
    EXPECT_EQ(plan.worst->total, 6 * 9) << samples;
    EXPECT_NEAR(plan.rungs[0].expected_count, 6, 1e-9) << samples;
  }
  const SweepPlan large = PlanOf(
      "name: s\nmetric: loss\nmode: min\nspace: {x: {randint: [0, 1000000]}}\n"
      "trainable: {curve: {value: x, iterations: 9}}\nsearch: {algorithm: grid}\n");
  EXPECT_NEAR(large.expected->total, 9e6, 1);
}

TEST(SweepPlan, WarnsOfWhatIsOdd) {
  const auto warnings = [](const std::string& rest, int64_t cpus = 4) {
    return PlanOf("name: s\nmetric: loss\nmode: min\n" + rest, cpus).warnings;
  };
  const std::string curve = "trainable: {curve: {value: x, iterations: 20}}\n";
  const std::string space = "space: {x: {uniform: [0, 1]}}\n";
  EXPECT_THAT(warnings(curve + "space: {x: {choice: [1, 2, 3, 4]}}\nsamples: 16\n"),
              Contains(HasSubstr("the space has 4 points for 16 trials")));
  EXPECT_THAT(warnings(curve + space + "scheduler: {asha: {max_t: 100}}\n"),
              Contains(HasSubstr("max_t is 100, but a trial ends by itself after 20 iterations")));
  EXPECT_THAT(
      warnings(curve + space + "samples: 2\nscheduler: {asha: {variant: promote, max_t: 16}}\n", 1),
      Contains(HasSubstr("less than one trial is expected at the rung ")));
  EXPECT_THAT(warnings(curve + space + "resources: {cpu: 8}\n"),
              Contains(HasSubstr("no trial fits: each needs cpu: 8, the worker has 4 CPUs")));
  EXPECT_THAT(warnings(curve + space + "samples: -1\n"), Contains(HasSubstr("samples: -1")));
  EXPECT_THAT(warnings(space), Contains(HasSubstr("only the trainable knows how long a trial is")));
  EXPECT_THAT(
      warnings(curve + space + "samples: 1\npoints: [{x: 0.5}, {x: 0.25}]\n"),
      Contains(HasSubstr("points: 2 configurations for 1 trial: the last ones are never tried")));
  EXPECT_THAT(warnings(curve + space + "samples: 9\nsearch: {algorithm: tpe}\nfrom: earlier\n"),
              Contains(HasSubstr("from: earlier is in a database, which a plan does not read")));
}

TEST(SweepPlan, SaysWhatAutoIsAndHowLargeCheckpointsAre) {
  const SweepPlan curve = PlanOf(
      "metric: loss\nmode: min\nname: s\nspace: {x: {uniform: [0, 1]}}\nsamples: 50\n"
      "trainable: {curve: {value: x, iterations: 5, checkpoint_bytes: 4KiB}}\n");
  EXPECT_EQ(curve.checkpoint_bytes, 4096);
  EXPECT_THAT(curve.automatic, HasSubstr(": "));
  // Two million parameters, four copies of four bytes.
  const SweepPlan food11 = PlanOf(
      "metric: val_loss\nmode: min\nname: s\nspace: {lr: {uniform: [0, 1]}}\ntrainable: food11\n");
  ASSERT_TRUE(food11.checkpoint_bytes.has_value());
  EXPECT_NEAR(static_cast<double>(*food11.checkpoint_bytes), 36e6, 3e6);
  EXPECT_EQ(food11.trial_iterations, 20);
}

TEST(SweepPlan, TrialsEndWhereTheirStopSaysSo) {
  EXPECT_EQ(PlanOf(std::string(kSpace) + "stop: {training_iteration: 5}\n").expected->total, 5);
}

TEST(PlanCommand, AnswersForPeopleAndPrograms) {
  TempFolder folder(true);
  PlanOptions options;
  options.space_path = folder.path() + "/space.yaml";
  options.cpus = 2;
  options.samples = 9;
  std::ofstream(options.space_path) << kSpace << "scheduler: {asha: {max_t: 27}}\n";
  std::ostringstream out, err;
  EXPECT_EQ(PlanCommand(options, out, err), 0);
  EXPECT_THAT(out.str(),
              HasSubstr("at once        2 trials on 2 CPUs, 0 GPUs (each needs cpu: 1)"));
  EXPECT_THAT(out.str(), HasSubstr("epochs         "));
  EXPECT_THAT(out.str(), HasSubstr("bracket  milestone"));

  options.format = OutputFormat::kJson;
  out.str("");
  EXPECT_EQ(PlanCommand(options, out, err), 0);
  const auto object = ParseJson(out.str());
  ASSERT_TRUE(object.ok()) << object.status().message();
  EXPECT_EQ(object->Find("trials")->AsInt(), 9);
  EXPECT_EQ(object->Find("epochs_worst")->AsDouble(), 243);
  EXPECT_EQ(object->Find("rungs")->AsList().size(), 3u);

  // What tune run would refuse.
  std::ofstream(options.space_path)
      << "metric: val_loss\nmode: min\nname: s\nspace: {lr: -1}\ntrainable: food11\n";
  EXPECT_EQ(PlanCommand(options, out, err), 2);
  EXPECT_THAT(err.str(),
              HasSubstr(":4:9: trainable: lr: read -1, expected a number above 0 to 10"));

  options.space_path += ".not";
  EXPECT_EQ(PlanCommand(options, out, err), 2);
  EXPECT_THAT(err.str(), HasSubstr("there is no such file"));
}

// Those of trials that are over stay too.
TEST(PlanCommand, CountsTheCheckpointsOfAllTrials) {
  TempFolder folder(true);
  PlanOptions options;
  options.space_path = folder.path() + "/space.yaml";
  options.format = OutputFormat::kJson;
  const auto planned = [&](const std::string& policy) {
    std::ofstream(options.space_path)
        << "metric: loss\nmode: min\nname: s\nspace: {x: {uniform: [0, 1]}}\nsamples: 16\n"
        << "trainable: {curve: {value: x, iterations: 5, checkpoint_bytes: 1000}}\n"
        << "checkpoint: {" << policy << "}\n";
    std::ostringstream out, err;
    EXPECT_EQ(PlanCommand(options, out, err), 0) << err.str();
    const Value object = *ParseJson(out.str());
    return std::pair(object.Find("checkpoints_max")->AsInt(), object.Find("disk_bytes")->AsInt());
  };
  EXPECT_EQ(planned(""), std::pair(int64_t{17}, int64_t{17'000}));
  EXPECT_EQ(planned("keep: 2, keep_best: 3"), std::pair(int64_t{35}, int64_t{35'000}));
  // There are no more than are made.
  EXPECT_EQ(planned("keep: 9, keep_best: 9"), std::pair(int64_t{80}, int64_t{80'000}));
  EXPECT_EQ(planned("disk_budget: 9000").second, 9'000);
  // One to go on from, and the very best.
  EXPECT_EQ(planned("disk_budget: 1000").second, 2'000);
}

}  // namespace
}  // namespace tune
