// Sweeps that are only played, beside the same ones run: plan, simulate, and retrain afterwards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/e2e/program.h"

namespace tune {
namespace {

using ::testing::HasSubstr;
using testing::ProgramResult;
using testing::Query;
using testing::RunTune;
using testing::Succeeded;
using testing::TestFolder;

constexpr char kSpace[] =
    "trainable:\n  curve: {value: \"(x - 0.3)^2 + exp(-0.2 * t)\", iterations: 9, noise: 0.1}\n"
    "metric: loss\nmode: min\nsamples: 30\nseed: 11\nspace: {x: {uniform: [0, 1]}}\n"
    "scheduler: {asha: {max_t: 9, reduction_factor: 3}}\nlimits: {max_concurrent: 1}\n";

// The one row of an answer in JSON.
Value OnlyRow(const std::string& out) {
  const auto rows = ParseJson(out);
  EXPECT_TRUE(rows.ok()) << out;
  EXPECT_EQ(rows->AsList().size(), 1u);
  return rows->AsList().front();
}

TEST(Simulate, OneWorkerInVirtualTimeDecidesAsARealOne) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kSpace);
  const ProgramResult run = RunTune(folder, {"run", space});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const ProgramResult simulated =
      RunTune(folder, {"simulate", space, "--workers", "1", "--format", "json"});
  ASSERT_EQ(simulated.exit_status, 0) << simulated.err;
  const Value row = OnlyRow(simulated.out);
  const std::string epochs = std::to_string(row.Find("epochs")->AsInt());
  const std::string stopped = std::to_string(row.Find("stopped_early")->AsInt());
  const std::string best = std::to_string(row.Find("best_trial")->AsInt());
  EXPECT_EQ(Query(folder, "select count(*) from reports"), std::vector<std::string>{epochs});
  EXPECT_EQ(Query(folder, "select count(*) from trials where stop_reason = 'scheduler'"),
            std::vector<std::string>{stopped});
  EXPECT_EQ(Query(folder, "select number from trials order by best_value, number limit 1"),
            std::vector<std::string>{best});

  // The same sweep over its own record: every trial is had, as far as it went.
  const ProgramResult replayed = RunTune(
      folder, {"simulate", space, "--workers", "3", "--curves", "tune.db", "--format", "json"});
  ASSERT_EQ(replayed.exit_status, 0) << replayed.err;
  EXPECT_EQ(OnlyRow(replayed.out).Find("trials")->AsInt(), 30);
  EXPECT_THAT(replayed.err, HasSubstr("recorded curves are shorter than the longest"));
}

TEST(Simulate, LimitsOnResultsChooseTheBestAsInARealSweep) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", std::string(kSpace) + "feasible: [\"loss >= 0.5\"]\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  const ProgramResult simulated =
      RunTune(folder, {"simulate", space, "--workers", "1", "--format", "json"});
  ASSERT_TRUE(Succeeded(simulated));
  const Value row = OnlyRow(simulated.out);
  EXPECT_GE(row.Find("best_value")->AsDouble(), 0.5);
  EXPECT_EQ(Query(folder, "select number from trials where feasible order by best_value limit 1"),
            std::vector<std::string>{std::to_string(row.Find("best_trial")->AsInt())});
  const std::string none =
      folder.Write("none.yaml", std::string(kSpace) + "feasible: [\"loss >= 50\"]\n");
  const ProgramResult infeasible = RunTune(folder, {"simulate", none, "--workers", "1"});
  EXPECT_THAT(infeasible.out,
              HasSubstr("NOT FEASIBLE   no trial is feasible: none kept loss >= 50"));
}

TEST(Plan, RunsNothing) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kSpace);
  const std::vector<std::string> before = folder.Names();
  const ProgramResult plan = RunTune(folder, {"plan", space, "--cpus", "4", "--gpus", "0"});
  ASSERT_EQ(plan.exit_status, 0) << plan.err;
  EXPECT_THAT(plan.out, HasSubstr("at once        1 trial on 4 CPUs, 0 GPUs"));
  EXPECT_THAT(plan.out, HasSubstr("270 at worst"));
  EXPECT_EQ(folder.Names(), before);
}

TEST(Retrain, RunsTheBestAgainAsASweepOfItsOwn) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kSpace);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  const ProgramResult again =
      RunTune(folder, {"retrain", "--top", "2", "--seeds", "3", "--cpus", "2"});
  ASSERT_EQ(again.exit_status, 0) << again.err;
  EXPECT_THAT(again.out, HasSubstr("space-retrain: loss of each configuration's runs"));
  EXPECT_EQ(Query(folder,
                  "select status, samples, (select count(*) from trials where experiment = e.id), "
                  "(select count(distinct config) from trials where experiment = e.id), "
                  "(select min(iterations) from trials where experiment = e.id) "
                  "from experiments as e where name = 'space-retrain'"),
            std::vector<std::string>{"FINISHED|2|6|2|9"});
  // Runs of one configuration are not alike: the noise is drawn for each trial.
  EXPECT_EQ(Query(folder,
                  "select count(distinct best_value) from trials as t join experiments as e on "
                  "e.id = t.experiment where e.name = 'space-retrain'"),
            std::vector<std::string>{"6"});

  const std::vector<std::string> show = {"retrain", "space", "--show", "--format", "json"};
  const ProgramResult shown = RunTune(folder, show);
  ASSERT_EQ(shown.exit_status, 0) << shown.err;
  EXPECT_EQ(RunTune(folder, {"retrain", "--show", "--format", "json"}).out, shown.out)
      << "the latest sweep is the retrained one";
  // One that is made of that one is not meant.
  EXPECT_TRUE(Succeeded(RunTune(folder, {"retrain", "--top", "1", "--seeds", "1", "--cpus", "2"})));
  EXPECT_EQ(RunTune(folder, show).out, shown.out);
  const auto rows = ParseJson(shown.out);
  ASSERT_TRUE(rows.ok()) << shown.out;
  ASSERT_EQ(rows->AsList().size(), 2u);
  EXPECT_EQ(rows->AsList()[0].Find("reported")->AsInt(), 3);
  EXPECT_GT(rows->AsList()[0].Find("deviation")->AsDouble(), 0);
  EXPECT_EQ(RunTune(folder, {"retrain", "--top", "0"}).exit_status, 2);
  EXPECT_THAT(RunTune(folder, {"retrain", "--seeds", "1001"}).err,
              HasSubstr("--seeds: read 1001, expected 1 to 1000"));
  EXPECT_THAT(RunTune(folder, {"retrain", "nosuch"}).err, HasSubstr("no sweep is named 'nosuch'"));
}

// A noisy program whose luckiest run is not of its best configuration.
TEST(Repeat, TheSweepEndsWithTheConfigurationThatHasTheBestMean) {
  TestFolder folder;
  const std::string space = folder.Write(
      "space.yaml",
      "trainable:\n  curve: {value: \"x\", iterations: 2, noise: 5}\n"
      "metric: loss\nmode: min\nseed: 3\nsamples: 1\nspace: {x: {grid_search: [1, 2, 3, 4]}}\n"
      "search: {algorithm: random, repeat: 3}\n");
  const ProgramResult run = RunTune(folder, {"run", space});
  ASSERT_EQ(run.exit_status, 0) << run.err;
  const std::string best = "select number / 3 from trials group by 1 order by avg(best_value)";
  const std::string first = Query(folder, best + " limit 1").at(0);
  EXPECT_NE(Query(folder, "select number / 3 from trials order by best_value limit 1").at(0), first)
      << "the test needs a sweep where the luckiest run is of another one";
  const int64_t number = std::stoll(first);
  std::string trials = "of 3 runs (trials " + std::to_string(3 * number);
  trials += ", " + std::to_string(3 * number + 1) + ", " + std::to_string(3 * number + 2) + ")\n";
  EXPECT_THAT(run.out, HasSubstr("best configuration: loss mean "));
  EXPECT_THAT(run.out, HasSubstr(trials));
  EXPECT_THAT(RunTune(folder, {"best"}).out, HasSubstr(trials));
  EXPECT_THAT(RunTune(folder, {"status"}).out, HasSubstr("12 of 12: 12 TERMINATED"));
  EXPECT_EQ(OnlyRow(RunTune(folder, {"results", "--top", "1", "--format", "json"}).out)
                .Find("configuration")
                ->AsInt(),
            number);
}

TEST(Retrain, AFailedTrialThatIsRetrainedIsNamedInTheTableWithoutAValue) {
  TestFolder folder;
  const std::string space = folder.Write(
      "space.yaml",
      "trainable: {command: [sh, -c, 'test $1 != 0 || exit 3; tune report loss=$1', trial, "
      "\"{x}\"]}\nmetric: loss\nmode: min\nsamples: 1\nspace: {x: {grid_search: [1, 0]}}\n");
  RunTune(folder, {"run", space});
  RunTune(folder, {"retrain", "space", "--trial", "1", "--trial", "0", "--seeds", "1"});
  const auto rows =
      ParseJson(RunTune(folder, {"retrain", "space", "--show", "--format", "json"}).out);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->AsList().size(), 2u);
  EXPECT_EQ(rows->AsList()[0].Find("trial_before")->AsInt(), 1);
  EXPECT_TRUE(rows->AsList()[0].Find("value_before")->is_null());
  EXPECT_EQ(rows->AsList()[0].Find("failed")->AsInt(), 1);
  EXPECT_EQ(rows->AsList()[1].Find("trial_before")->AsInt(), 0);
  EXPECT_EQ(rows->AsList()[1].Find("value_before")->AsDouble(), 1);
}

TEST(Retrain, OfSeveralObjectivesTheWholeFrontIsRetrained) {
  TestFolder folder;
  const std::string space = folder.Write(
      "space.yaml",
      "trainable:\n  curve: {values: {a: \"x\", b: \"(x - 2)^2\"}, iterations: 2}\n"
      "metric: [a, b]\nmode: [min, min]\nsamples: 1\nspace: {x: {grid_search: [0, 1, 2, 3]}}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  EXPECT_THAT(RunTune(folder, {"retrain", "--top", "1"}).err,
              HasSubstr("none of the 3 configurations of the Pareto front (trials 0, 1, 2) comes "
                        "before another; leave --top out"));
  const ProgramResult all = RunTune(folder, {"retrain", "--seeds", "2", "--format", "json"});
  ASSERT_EQ(all.exit_status, 0) << all.err;
  const std::vector<std::string> show = {"retrain", "space", "--show", "--format", "csv"};
  EXPECT_THAT(RunTune(folder, show).out,
              HasSubstr("trial_before,metric,value_before,runs,reported,failed,mean,"));
  EXPECT_THAT(RunTune(folder, show).out, HasSubstr("\n1,b,1,2,2,0,1,0,1,1,"));
  EXPECT_TRUE(Succeeded(
      RunTune(folder, {"retrain", "space", "--trial", "3", "--trial", "1", "--seeds", "1"})));
  EXPECT_EQ(Query(folder,
                  "select json_extract(config, '$.x') from trials where experiment = 3 order by "
                  "number"),
            (std::vector<std::string>{"3", "1"}));
  EXPECT_THAT(RunTune(folder, {"retrain", "space", "--trial", "9"}).err,
              HasSubstr("--trial: space has no trial 9"));
}

}  // namespace
}  // namespace tune
