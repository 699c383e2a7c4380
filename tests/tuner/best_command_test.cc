// tune best, on a real database.
#include "tuner/cli/look/best_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/two_sweeps.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Answer Best(const BestOptions& options, const ModelExporter& exporter = nullptr) {
  return AnswerOf([&](auto& out, auto& err) { return BestCommand(options, exporter, out, err); });
}

using BestTest = TwoSweeps;

TEST_F(BestTest, BestTellsTrialConfigurationAndCheckpoint) {
  BestOptions options = OfDatabase<BestOptions>(path_);
  const Answer answer = Best(options);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out,
            "best trial     second/0 (TERMINATED)\n"
            "value          val_accuracy = 0.75 at iteration 2\n"
            "configuration  lr=0.1 batch_size=32 optimizer/kind=adam augment=true\n"
            "checkpoint     /a/s/0/checkpoint_2\n");
  options.format = OutputFormat::kJson;
  const Result<Value> list = ParseJson(Best(options).out);
  ASSERT_TRUE(list.ok());
  EXPECT_EQ(
      ToJson(list->AsList().at(0)),
      R"({"experiment":"second","trial":0,"status":"TERMINATED","metric":"val_accuracy","value":0.75,)"
      R"("iteration":2,"config":{"lr":0.1,"batch_size":32,"optimizer":{"kind":"adam"},"augment":true},)"
      R"("checkpoint":"/a/s/0/checkpoint_2","checkpoint_iteration":2,"test":null,"runs":null,"earlier_configs":0,)"
      R"("feasible":null,"violation":null,"expected":null})");
}

TEST(Best, IsTheLowestWhereLessIsBetterAndTheEarliestOfEquals) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    NewExperiment wanted = SampleExperiment("s");
    wanted.mode = "min";
    const auto experiment = store->CreateExperiment(wanted);
    Transition rows;
    for (int64_t number = 0; number < 4; ++number) {
      rows.new_trials.push_back(SampleTrial(number));
      if (number == 3) break;  // The last one has no value.
      rows.new_trials.back().trial.best_value = number == 0 ? 0.5 : 0.25;
      rows.new_trials.back().trial.best_iteration = 1;
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const auto options = OfDatabase<BestOptions>(path);
  EXPECT_THAT(Best(options).out,
              AllOf(HasSubstr("best trial     s/1 "), HasSubstr("checkpoint     none")));
}

class ExpectedBestTest : public testing::Test {
 protected:
  // A trial for each pair of lr and value; of the last one the value is a stroke of luck.
  void Write(const std::vector<std::pair<double, double>>& trials, const std::string& rest = "") {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.metric = "acc";
    wanted.spec = R"({"name":"s","metric":"acc","mode":"max","samples":4)" + rest +
                  R"(,"space":{"lr":{"uniform":[0,1]}}})";
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok()) << experiment.status().message();
    Transition rows;
    for (size_t i = 0; i < trials.size(); ++i) {
      NewTrialRow& row = rows.new_trials.emplace_back(SampleTrial(static_cast<int64_t>(i)));
      row.configuration = Configuration();
      row.configuration.Set("lr", Value(trials[i].first));
      row.trial.status = TrialStatus::kTerminated;
      row.trial.stop_reason = StopReason::kCompleted;
      row.trial.iterations = 1;
      row.trial.best_value = row.trial.last_value = trials[i].second;
      row.trial.best_iteration = 1;
      rows.reports.push_back(SampleReport(static_cast<int64_t>(i), 1, 1, trials[i].second));
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  Answer Ask(OutputFormat format = OutputFormat::kTable, bool with_failed = false) const {
    auto options = OfDatabase<BestOptions>(path_);
    options.by_expectation = true;
    options.with_failed = with_failed;
    options.format = format;
    return Best(options);
  }

  TempFolder folder_;
  std::string path_ = folder_ / "tune.db";
};

// Accuracy falls with the distance from 0.5, a little up and down; at 0.95 one trial was lucky
// among two that were not.
std::vector<std::pair<double, double>> WithOneLucky() {
  std::vector<std::pair<double, double>> trials;
  for (int i = 0; i < 16; ++i) {
    const double lr = 0.1 + 0.05 * i;
    trials.emplace_back(lr, 0.9 - (lr - 0.5) * (lr - 0.5) + (i % 2 == 0 ? 0.02 : -0.02));
  }
  trials.insert(trials.end(), {{0.94, 0.68}, {0.96, 0.69}, {0.93, 0.71}, {0.95, 0.95}});
  return trials;
}

TEST_F(ExpectedBestTest, IsNotTheLuckyOne) {
  Write(WithOneLucky());
  EXPECT_THAT(Best(OfDatabase<BestOptions>(path_)).out, HasSubstr("best trial     s/19 "));
  const Answer answer = Ask();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out,
              AllOf(HasSubstr("best           by what is expected, not by what was "
                              "reported\n"),
                    HasSubstr("expected       acc = 0.8"), HasSubstr("; from 20 trials\n")));
  const Result<Value> list = ParseJson(Ask(OutputFormat::kJson).out);
  ASSERT_TRUE(list.ok());
  const Value& row = list->AsList().at(0);
  EXPECT_NEAR(row.Find("config")->Find("lr")->AsDouble(), 0.5, 0.16);
  const Value& expected = *row.Find("expected");
  EXPECT_NEAR(expected.Find("value")->AsDouble(), 0.9, 0.05);
  EXPECT_LE(expected.Find("low")->AsDouble(), expected.Find("value")->AsDouble());
  EXPECT_LE(expected.Find("value")->AsDouble(), expected.Find("high")->AsDouble());
}

TEST_F(ExpectedBestTest, NeedsSomeTrials) {
  Write({{0.1, 0.5}, {0.2, 0.6}});
  const Answer answer = Ask();
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("from 10 trials that were neither stopped nor failed; there "
                                    "are 2\n"));
}

TEST_F(ExpectedBestTest, HasNoFailedTrials) {
  Write(WithOneLucky());
  const Answer answer = Ask(OutputFormat::kTable, true);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("--expected with --with-failed"));
}

TEST(Best, HasTheCheckpointOfTheAttemptThatReportedIt) {
  for (const int64_t attempt : {1, 2, 12}) {
    const TempFolder folder;
    const std::string path = folder / "tune.db";
    {
      const auto store = OpenStore(path);
      const auto experiment = store->CreateExperiment(SampleExperiment("s"));
      Transition rows;
      rows.new_trials = {SampleTrial(0)};
      rows.new_trials[0].trial.best_value = 0.5;
      rows.new_trials[0].trial.best_iteration = 5;
      rows.reports = {SampleReport(0, attempt, 5, 0.5)};
      for (const char* const made : {"checkpoint_000005", "checkpoint_000005.2",
                                     "checkpoint_000005.12", "checkpoint_000009.20"}) {
        rows.checkpoints.push_back({TrialNumber{0},
                                    std::string(made).find("9") == std::string::npos ? 5 : 9,
                                    {std::string("/a/s/0/") + made, 1, "00"},
                                    CheckpointState::kDurable});
      }
      ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
    }
    const std::string made = attempt == 1 ? "" : "." + std::to_string(attempt);
    EXPECT_THAT(Best(OfDatabase<BestOptions>(path)).out,
                HasSubstr("/s/0/checkpoint_000005" + made + "\n"));
  }
}

TEST(Best, ATrialInErrorIsNeverTheBestUnlessItIsAskedFor) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const auto experiment = store->CreateExperiment(SampleExperiment("s"));
  Transition rows;
  for (int64_t number = 0; number < 3; ++number) {
    rows.new_trials.push_back(SampleTrial(number));
    TrialRow& trial = rows.new_trials.back().trial;
    trial.best_value = 0.1 * static_cast<double>(number);
    trial.best_iteration = 1;
    trial.status = number == 2 ? TrialStatus::kError : TrialStatus::kTerminated;
  }
  ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  auto options = OfDatabase<BestOptions>(folder / "tune.db");
  EXPECT_THAT(Best(options).out, HasSubstr("best trial     s/1 "));
  options.with_failed = true;
  EXPECT_THAT(Best(options).out, HasSubstr("best trial     s/2 (ERROR)"));
}

TEST(Best, WhereEachTrialThatReportedFailedSaysSo) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const auto experiment = store->CreateExperiment(SampleExperiment("s"));
  Transition rows;
  rows.new_trials.push_back(SampleTrial(0));
  rows.new_trials.back().trial.best_value = 0.5;
  rows.new_trials.back().trial.status = TrialStatus::kError;
  ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  EXPECT_EQ(Best(OfDatabase<BestOptions>(folder / "tune.db")).err,
            "tune: s: each trial that reported val_accuracy failed\n");
}

TEST(Best, OfASweepWithoutAValueIsOneLine) {
  const TempFolder folder;
  { ASSERT_TRUE(OpenStore(folder / "tune.db")->CreateExperiment(SampleExperiment("s")).ok()); }
  const auto options = OfDatabase<BestOptions>(folder / "tune.db");
  const Answer answer = Best(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "tune: s: no trial has reported val_accuracy\n");
}

class BestExport : public testing::Test {
 protected:
  explicit BestExport() : path_(folder_ / "tune.db"), checkpoint_(folder_ / "checkpoint") {
    std::filesystem::create_directories(checkpoint_ + "/inner");
    WriteText(checkpoint_ + "/weights.bin", "bytes");
    WriteText(checkpoint_ + "/inner/state", "more");
    options_.db_path = path_;
    options_.export_dir = folder_ / "out/model";
  }
  void Write(const std::string& trainable, const Metrics& test = {}) {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.spec = R"({"trainable":)" + trainable + "}";
    const auto experiment = store->CreateExperiment(wanted);
    Transition rows = SampleRows();
    rows.reports.push_back(SampleReport(0, 2, 3, 0.5));
    rows.reports.back().metrics.insert(rows.reports.back().metrics.end(), test.begin(), test.end());
    rows.reports[2].metrics.pop_back();  // The sample's test, whose epoch it does not say.
    rows.checkpoints[1].ref.path = checkpoint_;
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }

  TempFolder folder_;
  std::string path_;
  std::string checkpoint_;
  BestOptions options_;
};

TEST_F(BestExport, CopiesTheCheckpointAndAddsTheConfiguration) {
  Write(R"({"curve":{"value":"x"}})");
  const Answer answer =
      Best(options_, [](const auto&, const auto&, const auto&) -> Result<int64_t> {
        ADD_FAILURE() << "not food11";
        return 0;
      });
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(ReadText(options_.export_dir + "/weights.bin"), "bytes");
  EXPECT_EQ(ReadText(options_.export_dir + "/inner/state"), "more");
  EXPECT_EQ(ReadText(options_.export_dir + "/config.json"),
            R"({"lr":0.1,"batch_size":32,"optimizer":{"kind":"adam"},"augment":true})"
            "\n");
  EXPECT_THAT(ReadText(options_.export_dir + "/best.json"),
              HasSubstr(R"("trial":0,"metric":"val_accuracy","value":0.75)"));
}

TEST_F(BestExport, FindsTheCheckpointWhereTheDatabaseWasMovedTo) {
  std::filesystem::create_directories(folder_ / "tune.artifacts/s/0");
  std::filesystem::rename(checkpoint_, folder_ / "tune.artifacts/s/0/checkpoint_2");
  checkpoint_ = "/no/such/place/old.artifacts/s/0/checkpoint_2";
  Write(R"({"curve":{"value":"x"}})");
  const Answer answer = Best(options_);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(ReadText(options_.export_dir + "/weights.bin"), "bytes");
  EXPECT_THAT(answer.out, HasSubstr(folder_ / "tune.artifacts/s/0/checkpoint_2"));
}

TEST_F(BestExport, LeavesTheModelToTheExporterOfFood11) {
  Write(R"("food11")");
  const Answer answer =
      Best(options_, [](const auto& from, const BestModel& model, const auto& to) {
        WriteText(to + "/config.json", "the exporter's, from " + from);
        return Result<int64_t>(model.epoch);
      });
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("out/model: the model of epoch 2\n"));
  EXPECT_EQ(ReadText(options_.export_dir + "/config.json"), "the exporter's, from " + checkpoint_);
  EXPECT_FALSE(std::filesystem::exists(options_.export_dir + "/weights.bin"));
  EXPECT_THAT(ReadText(options_.export_dir + "/best.json"), HasSubstr(R"("config":{"lr":0.1)"));
}

TEST_F(BestExport, ThatCannotBeWrittenWholeLeavesNothing) {
  Write(R"("food11")");
  const ModelExporter fails = [](const auto&, const BestModel&, const auto& to) -> Result<int64_t> {
    WriteText(to + "/weights.bin", "a part");
    return Internal("no room");
  };
  EXPECT_EQ(Best(options_, fails).status, 1);
  EXPECT_TRUE(std::filesystem::is_empty(options_.export_dir));
}

// Beside a sweep that runs: what was copied may be a part.
TEST_F(BestExport, OfACheckpointThatIsGivenUpMeanwhileIsThatOfTheNextOne) {
  Write(R"("food11")");
  const std::string next = folder_ / "checkpoint_000003";
  std::filesystem::create_directories(next);
  std::vector<std::string> copied;
  const ModelExporter gives_up = [&](const auto& from, const BestModel& model, const auto& to) {
    copied.push_back(from);
    if (copied.size() == 1) {
      Transition rows;
      rows.checkpoints = {
          {TrialNumber{0}, 2, {checkpoint_, 100, "00fe"}, CheckpointState::kRemoved},
          {TrialNumber{0}, 3, {next, 100, "00fd"}, CheckpointState::kDurable}};
      const auto store = OpenStore(path_, Access::kWrite);
      EXPECT_TRUE(store->Commit(ExperimentId{1}, {2, kSampleStart, "[]"}, rows).ok());
      WriteText(to + "/a part", "of the first");
    }
    return Result<int64_t>(model.epoch);
  };
  const Answer answer = Best(options_, gives_up);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(copied, testing::ElementsAre(checkpoint_, next));
  EXPECT_FALSE(std::filesystem::exists(options_.export_dir + "/a part"));
  EXPECT_THAT(ReadText(options_.export_dir + "/best.json"),
              HasSubstr(R"("checkpoint_iteration":3)"));
  EXPECT_THAT(answer.out, HasSubstr("checkpoint     " + next));
}

// The best value, 0.75, is of iteration 2; the trial ended with iteration 3.
TEST_F(BestExport, HasTheScoresOfTheModelsOwnEpoch) {
  Write(R"("food11")", {{"test_loss", 0.5}, {"test_accuracy", 0.625}, {"test_epoch", 2}});
  Metrics tested;
  const Answer answer = Best(options_, [&tested](const auto&, const BestModel& model, const auto&) {
    tested = model.tested;
    return Result<int64_t>(model.epoch);
  });
  EXPECT_THAT(answer.out, HasSubstr("\ntest           test_accuracy = 0.625, test_loss = 0.5, of "
                                    "epoch 2\n"));
  EXPECT_THAT(tested, testing::ElementsAre(
                          testing::Pair("val_accuracy", 0.75), testing::Pair("val_loss", 0.25),
                          testing::Pair("test_loss", 0.5), testing::Pair("test_accuracy", 0.625),
                          testing::Pair("test_epoch", 2)));
  options_.export_dir.clear();
  options_.format = OutputFormat::kJson;
  EXPECT_THAT(Best(options_).out,
              HasSubstr(R"("test":{"test_loss":0.5,"test_accuracy":0.625,"test_epoch":2.0},)"));
}

TEST_F(BestExport, HasNoScoresOfAnotherEpochsWeights) {
  Write(R"("food11")", {{"test_loss", 0.5}, {"test_accuracy", 0.625}, {"test_epoch", 3}});
  const Answer answer = Best(options_, [](const auto&, const BestModel& model, const auto&) {
    EXPECT_TRUE(model.tested.empty());
    return Result<int64_t>(3);
  });
  EXPECT_THAT(answer.out, HasSubstr("test           not of epoch 2: the scores that the trial "
                                    "reported are of another epoch's weights"));
  EXPECT_THAT(answer.err, HasSubstr("the model of epoch 3; no checkpoint has the weights of epoch "
                                    "2, which has the best value"));
}

TEST_F(BestExport, OfATrialThatWasStoppedEarlyHasNoScores) {
  Write(R"("food11")");
  options_.export_dir.clear();
  EXPECT_THAT(Best(options_).out, testing::Not(HasSubstr("test ")));
}

TEST_F(BestExport, OfATrialWithoutACheckpointIsItsConfiguration) {
  Write(R"({"curve":{"value":"x"}})");
  {
    const auto store = OpenStore(path_, Access::kWrite);
    Transition rows;
    rows.checkpoints = {SampleRows().checkpoints[1]};
    rows.checkpoints[0].ref.path = checkpoint_;
    rows.checkpoints[0].state = CheckpointState::kRemoved;
    ASSERT_TRUE(store->Commit(ExperimentId{1}, {2, kSampleStart, "[]"}, rows).ok());
  }
  const Answer answer = Best(options_);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("it has no checkpoint"));
  EXPECT_THAT(ReadText(options_.export_dir + "/config.json"), HasSubstr(R"("lr":0.1)"));
}

TEST_F(BestExport, TellsWhatWentWrong) {
  Write(R"("food11")");
  const auto exporter = [](const auto&, const auto&, const auto&) -> Result<int64_t> {
    return Internal("no room");
  };
  EXPECT_EQ(Best(options_, exporter).status, 1);

  WriteText(folder_ / "file", "mine");
  options_.export_dir = folder_ / "file";
  EXPECT_EQ(Best(options_, exporter).status, 2);
  EXPECT_EQ(ReadText(folder_ / "file"), "mine");

  options_.export_dir = checkpoint_;  // Not empty.
  EXPECT_THAT(Best(options_, exporter).err, HasSubstr("is not an empty folder"));

  std::filesystem::remove_all(checkpoint_);
  options_.export_dir = folder_ / "other";
  const Answer answer = Best(options_, exporter);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err,
              HasSubstr("the checkpoint of trial s/0 is not where it was: " + checkpoint_));
}

}  // namespace
}  // namespace tune
