// The commands that look, on a sweep that tries each configuration three times.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "core/json.h"
#include "core/posix/real_clock.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/two_sweeps.h"
#include "tuner/cli/look/best_command.h"
#include "tuner/cli/look/live_table.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/results_command.h"
#include "tuner/cli/look/retrain_rows.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/look/stored_snapshot.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

// Four configurations; the luckiest run is of the first one, the best mean that of the second. The
// third has a run that failed, the fourth has nothing but failures.
class RepeatedSweep : public testing::Test {
 protected:
  RepeatedSweep() : path_(folder_ / "tune.db") {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.spec = R"({"name":"s","metric":"val_accuracy","mode":"max","samples":4,)"
                  R"("space":{"lr":{"uniform":[0,1]}},"search":{"algorithm":"random","repeat":3}})";
    const auto experiment = store->CreateExperiment(wanted);
    EXPECT_TRUE(experiment.ok());
    const Metric values[] = {0.99, 0.5, 0.5, 0.8, 0.9, 0.85, 0.95, {}, 0.97, {}, {}, {}};
    Transition rows;
    for (int64_t number = 0; number < 12; ++number) {
      NewTrialRow row = SampleTrial(number);
      row.configuration = Configuration();
      row.configuration.Set("lr", 0.1 * static_cast<double>(number / 3 + 1));
      TrialRow& trial = row.trial;
      trial.best_value = values[number];
      trial.status = trial.best_value ? TrialStatus::kTerminated : TrialStatus::kError;
      trial.iterations = 2;
      if (trial.best_value) trial.best_iteration = 2;
      rows.new_trials.push_back(row);
    }
    const std::string checkpoint = folder_ / "checkpoint_4";
    std::filesystem::create_directory(checkpoint);
    rows.checkpoints = {{TrialNumber{4}, 2, {checkpoint, 1, "00"}, CheckpointState::kDurable}};
    rows.experiment = ExperimentRow{ExperimentStatus::kFinished, 4, SampleTime(60)};
    EXPECT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }

  Answer Results(ResultsOptions options) const {
    options.db_path = path_;
    return AnswerOf([&](auto& out, auto& err) { return ResultsCommand(options, out, err); });
  }
  Answer Best(BestOptions options) const {
    options.db_path = path_;
    return AnswerOf([&](auto& out, auto& err) { return BestCommand(options, nullptr, out, err); });
  }

  TempFolder folder_;
  std::string path_;
};

constexpr char kMean[] = "mean 0.85 deviation 0.05 of 3 runs (trials 3, 4, 5)";

TEST_F(RepeatedSweep, ResultsAreConfigurationsByTheirMeans) {
  const Answer answer = Results({});
  EXPECT_THAT(
      answer.out,
      testing::ContainsRegex("^configuration +runs +mean +deviation +best +worst +lr +best_trial"));
  // The whole ones, then two of three, then the one of which no run counts.
  EXPECT_THAT(answer.out,
              testing::ContainsRegex("\n *1 +3 +0.85 +0.05[0-9]* +0.9 +0.8 +0.2 +4 *\n"
                                     " *0 +3 +0.66[0-9]+ .*\n *2 +2 of 3 +0.96 .*\n *3 +0 of 3 "));
  EXPECT_THAT(answer.err, HasSubstr("each row is a configuration of 3 runs; --by run shows"));
}

TEST_F(RepeatedSweep, ResultsShowSingleRunsWhereTheyAreAskedFor) {
  ResultsOptions by_run, sorted, all;
  by_run.rows = ResultRows::kRuns;
  sorted.sort = "best_value";
  all.all = true;
  for (const ResultsOptions& options : {by_run, sorted, all}) {
    const Answer answer = Results(options);
    EXPECT_THAT(answer.out, AllOf(HasSubstr("number"), HasSubstr("0.99"), Not(HasSubstr("mean"))));
  }
  ResultsOptions json;
  json.format = OutputFormat::kJson;
  EXPECT_EQ(ParseJson(Results(json).out)->AsList().size(), 12u);
  json.rows = ResultRows::kConfigurations;
  const Value rows = *ParseJson(Results(json).out);
  ASSERT_EQ(rows.AsList().size(), 4u);
  const Value& best = rows.AsList()[0];
  EXPECT_EQ(*best.Find("configuration"), Value(1));
  EXPECT_EQ(*best.Find("runs"), Value(3));
  EXPECT_EQ(*best.Find("best_trial"), Value(4));
  EXPECT_EQ(ToJson(*best.Find("trials")), "[3,4,5]");
  // The lucky one of two comes after those that are whole.
  EXPECT_EQ(*rows.AsList()[2].Find("configuration"), Value(2));
  EXPECT_EQ(*rows.AsList()[2].Find("runs"), Value(2));
  EXPECT_EQ(*rows.AsList()[3].Find("runs"), Value(0));
}

TEST_F(RepeatedSweep, TheTopAndTheBestAreConfigurations) {
  ResultsOptions top, best, both;
  top.top = 1;
  top.format = OutputFormat::kCsv;
  EXPECT_THAT(Results(top).out, HasSubstr("\n1,3,3,0.85"));
  best.best = true;
  EXPECT_THAT(Results(best).out, AllOf(HasSubstr("0.85"), Not(HasSubstr("0.99"))));
  both.where = "1";
  both.rows = ResultRows::kConfigurations;
  EXPECT_THAT(Results(both).err, HasSubstr("--by configuration: --all, --columns, --where"));
}

TEST_F(RepeatedSweep, TheBestIsTheConfigurationWithTheBestMean) {
  EXPECT_THAT(Best({}).out, AllOf(HasSubstr(kMean), HasSubstr("its best run   s/4 (TERMINATED)\n"),
                                  HasSubstr("val_accuracy = 0.9 "), HasSubstr("lr=0.2"),
                                  HasSubstr("checkpoint_4")));
  BestOptions options;
  options.export_dir = folder_ / "out";
  options.format = OutputFormat::kJson;
  const Answer exported = Best(options);
  EXPECT_THAT(exported.err, HasSubstr("of trial 4, the best run of the configuration"));
  const Value row = ParseJson(exported.out)->AsList().at(0);
  EXPECT_EQ(*row.Find("trial"), Value(4));
  EXPECT_EQ(row.Find("runs")->Find("mean")->AsDouble(), (0.8 + 0.9 + 0.85) / 3);
}

TEST_F(RepeatedSweep, TheSummaryAndTheStatusTellTheMean) {
  const auto database = OpenForQueries(path_);
  const FoundSweep sweep = *FindSweep(**database, "");
  StoredSnapshots snapshots(SampleTime(0));
  const auto summary = snapshots.ReadSummary(**database, sweep, SampleTime(60));
  ASSERT_TRUE(summary.ok());
  EXPECT_THAT(RenderSummary(*summary),
              AllOf(HasSubstr("best configuration: val_accuracy " + std::string(kMean) + "\n"),
                    HasSubstr("its best run    4: val_accuracy 0.9 at iteration 2\n"),
                    HasSubstr("select number / 3 as configuration")));
  const auto snapshot = snapshots.Read(**database, sweep, SampleTime(60));
  ASSERT_TRUE(snapshot.ok());
  EXPECT_EQ(snapshot->samples, 12);
  EXPECT_THAT(RenderTable(*snapshot, {}, 200, 8, Palette::kPlain)[1],
              "best    val_accuracy " + std::string(kMean) + "  lr=0.2");
  EXPECT_THAT(RenderProgress(*snapshot), HasSubstr("12/12 trials ended"));
  StatusOptions options;
  options.db_path = path_;
  const RealClock clock;
  const WaitFunction wait = [](Duration) { return false; };
  const Answer status =
      AnswerOf([&](auto& out, auto& err) { return StatusCommand(options, clock, wait, out, err); });
  EXPECT_THAT(status.out, AllOf(HasSubstr("trials     12 of 12: "), HasSubstr(kMean)));
}

TEST_F(RepeatedSweep, WhatIsRetrainedIsTheConfigurationWithTheBestMean) {
  const auto database = OpenForQueries(path_);
  const auto best = ReadBestConfigurations(**database, *FindSweep(**database, ""), 2);
  ASSERT_TRUE(best.ok()) << best.status().message();
  EXPECT_EQ((*best)[0].trial, 4);
  EXPECT_EQ((*best)[1].trial, 0);
  EXPECT_NEAR((*best)[0].values.at(0), 0.85, 1e-12);
}

}  // namespace
}  // namespace tune
