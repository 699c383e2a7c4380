// tune importance on a real database.
#include "tuner/cli/look/importance_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <utility>

#include "core/json.h"
#include "core/random.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr char kSpace[] =
    R"({"lr": {"loguniform": [1e-5, 1]}, "net": {"depth": {"randint": [1, 9]}, "act": "relu"}})";

// Random trials that all report an accuracy, which lr alone makes, and a time, which depth alone
// makes; every eighth fails.
void WriteSweep(SqliteStore& store, const std::string& name, int64_t trials,
                const std::string& space = kSpace, bool has_several = false) {
  NewExperiment experiment = SampleExperiment(name);
  experiment.spec =
      R"({"name":")" + name +
      (has_several ? R"(","metric":["accuracy","seconds"],"mode":["max","min"],"space":)"
                   : R"(","metric":"accuracy","mode":"max","space":)") +
      space + "}";
  experiment.metric = "accuracy";
  const auto created = store.CreateExperiment(experiment);
  ASSERT_TRUE(created.ok()) << created.status().message();
  Transition rows;
  for (int64_t n = 0; n < trials; ++n) {
    KeyedRandom random(1, "trial", static_cast<uint64_t>(n));
    const double exponent = random.NextUniform(-5, 0);
    const auto depth = static_cast<int64_t>(1 + random.NextBelow(8));
    NewTrialRow added;
    added.trial.number = TrialNumber{n};
    added.configuration.Set("lr", std::pow(10, exponent));
    added.configuration.Set("net/depth", depth);
    added.configuration.Set("net/act", "relu");
    rows.new_trials.push_back(added);
    const double accuracy = 1 - std::fabs(exponent + 3) / 5;
    TrialRow row = added.trial;
    row.status = n % 8 == 7 ? TrialStatus::kError : TrialStatus::kTerminated;
    row.iterations = 1;
    row.last_value = accuracy;
    row.best_value = accuracy;
    row.best_iteration = 1;
    row.attempts = 1;
    rows.trials.push_back(row);
    ReportRow report;
    report.trial = TrialNumber{n};
    report.attempt = AttemptNumber{1};
    report.iteration = 1;
    report.value = accuracy;
    report.metrics = {{"accuracy", accuracy}, {"seconds", 10.0 * static_cast<double>(depth)}, {}};
    for (int i = 0; i < 8; ++i) {
      report.metrics.emplace_back("noise" + std::to_string(i), random.NextDouble());
    }
    rows.reports.push_back(report);
    if (!has_several) continue;
    // It decides nothing: an objective is missing.
    report.iteration = 2;
    report.metrics = {{"accuracy", 0.5}, {"test", 0.5}};
    rows.reports.push_back(report);
  }
  const Status status =
      store.Commit(created->id, {1, SampleTime(20), EncodeEvents({DeadlinePassed{}})}, rows);
  ASSERT_TRUE(status.ok()) << status.message();
}

class ImportanceCommandTest : public testing::Test {
 protected:
  ImportanceCommandTest() : path_(folder_ / "tune.db") {}

  Answer Ask(ImportanceOptions options) const {
    options.db_path = path_;
    return AnswerOf([&](auto& out, auto& err) { return ImportanceCommand(options, out, err); });
  }

  TempFolder folder_;
  std::string path_;
};

TEST_F(ImportanceCommandTest, ATableHasTheMostImportantParameterFirstWithTheLongestBar) {
  WriteSweep(*OpenStore(path_), "one", 64);
  const Answer answer = Ask({});
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.err, HasSubstr("one: from 56 of 64 trials"));
  const size_t lr = answer.out.find("lr ");
  const size_t depth = answer.out.find("net/depth ");
  EXPECT_LT(lr, depth);
  EXPECT_NE(depth, std::string::npos);
  EXPECT_EQ(answer.out.find("net/act"), std::string::npos);
  EXPECT_THAT(answer.out, HasSubstr("####################"));
}

TEST_F(ImportanceCommandTest, JsonAndCsvHaveTheSharesOfAllParameters) {
  WriteSweep(*OpenStore(path_), "one", 64);
  const Answer json = Ask({.format = OutputFormat::kJson});
  const Result<Value> rows = ParseJson(json.out);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->AsList().size(), 2u);
  double sum = 0;
  for (const Value& row : rows->AsList()) {
    sum += row.Find("importance")->AsDouble();
    EXPECT_EQ(*row.Find("metric"), Value("accuracy"));
    EXPECT_EQ(*row.Find("trials"), Value(56));
  }
  EXPECT_NEAR(sum, 1, 1e-9);
  EXPECT_EQ(json.err, "");
  EXPECT_THAT(
      Ask({.format = OutputFormat::kCsv}).out,
      testing::StartsWith(
          "experiment,metric,parameter,importance,trials,low,high,clear\none,accuracy,lr,"));
}

TEST_F(ImportanceCommandTest, OfSeveralObjectivesTheLastWholeReportsCount) {
  WriteSweep(*OpenStore(path_), "one", 64, kSpace, true);
  const Result<Value> rows = ParseJson(Ask({.format = OutputFormat::kJson}).out);
  ASSERT_TRUE(rows.ok());
  std::vector<std::pair<std::string, std::string>> first;
  for (const Value& row : rows->AsList()) {
    EXPECT_EQ(*row.Find("trials"), Value(56));
    if (row.Find("importance")->AsDouble() < 0.5) continue;
    first.emplace_back(row.Find("metric")->AsString(), row.Find("parameter")->AsString());
  }
  EXPECT_THAT(first, testing::ElementsAre(testing::Pair("accuracy", "lr"),
                                          testing::Pair("seconds", "net/depth")));
}

TEST_F(ImportanceCommandTest, AnotherMetricIsWeighedInTheDirectionThatIsSaid) {
  WriteSweep(*OpenStore(path_), "one", 64);
  const Answer answer =
      Ask({.metric = "seconds", .mode = Mode::kMin, .format = OutputFormat::kCsv});
  EXPECT_THAT(answer.out, HasSubstr("\none,seconds,net/depth,0.9"));
}

TEST_F(ImportanceCommandTest, WhatChanceWouldShowIsToldAsThat) {
  WriteSweep(*OpenStore(path_), "one", 64);
  EXPECT_THAT(Ask({}).err, HasSubstr("by itself no clearer than chance: net/depth"));
  // Of 20 metrics that are noise one is expected to have a parameter that is called clear.
  WriteSweep(*OpenStore(path_), "few", 16);
  int told = 0;
  for (int i = 0; i < 8; ++i) {
    const Answer few =
        Ask({.name = "few", .metric = "noise" + std::to_string(i), .mode = Mode::kMin});
    if (few.err.find("too few trials to tell") != std::string::npos) ++told;
  }
  EXPECT_GE(told, 6);
}

// Trials that were stopped at iteration 1 have worse best values than the others, whatever their
// configuration: at iteration 1 they are alike.
TEST_F(ImportanceCommandTest, TrialsThatWereStoppedAreComparedAtEqualIterations) {
  const auto store = OpenStore(path_);
  NewExperiment experiment = SampleExperiment("one");
  experiment.metric = "accuracy";
  experiment.spec =
      R"({"name":"one","metric":"accuracy","mode":"max","space":)" + std::string(kSpace) + "}";
  const auto created = store->CreateExperiment(experiment);
  Transition rows;
  for (int64_t n = 0; n < 24; ++n) {
    KeyedRandom random(1, "trial", static_cast<uint64_t>(n));
    const double exponent = random.NextUniform(-5, 0);
    NewTrialRow added;
    added.trial.number = TrialNumber{n};
    added.configuration.Set("lr", std::pow(10, exponent));
    added.configuration.Set("net/depth", 1 + static_cast<int64_t>(random.NextBelow(8)));
    added.configuration.Set("net/act", "relu");
    const bool is_stopped = n % 3 != 0;
    TrialRow& row = added.trial;
    row.status = TrialStatus::kTerminated;
    row.stop_reason = is_stopped ? StopReason::kScheduler : StopReason::kMaxT;
    row.iterations = is_stopped ? 1 : 9;
    row.best_value = is_stopped ? 0.5 : 0.9;
    row.best_iteration = row.iterations;
    rows.new_trials.push_back(added);
    for (const int64_t iteration : {1, 9}) {
      if (iteration > row.iterations) continue;
      ReportRow report;
      report.trial = TrialNumber{n};
      report.attempt = AttemptNumber{1};
      report.iteration = iteration;
      report.value = iteration == 1 ? 0.5 - std::fabs(exponent + 3) / 50 : 0.9;
      report.metrics = {{"accuracy", *report.value}};
      rows.reports.push_back(report);
    }
  }
  ASSERT_TRUE(store->Commit(created->id, {1, SampleTime(20), "[]"}, rows).ok());
  const Answer answer = Ask({});
  EXPECT_THAT(answer.err, HasSubstr("from 24 of 24 trials, compared at iteration 1,"));
  EXPECT_LT(answer.out.find("lr "), answer.out.find("net/depth "));
}

TEST_F(ImportanceCommandTest, SaysWhatIsWrong) {
  WriteSweep(*OpenStore(path_), "one", 64);
  WriteSweep(*OpenStore(path_), "few", 9);
  WriteSweep(*OpenStore(path_), "constant", 20, R"({"lr": 1})");
  const auto error = [&](const ImportanceOptions& options) {
    const Answer answer = Ask(options);
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  EXPECT_THAT(error({.name = "on"}), HasSubstr("one"));
  EXPECT_THAT(error({.name = "few"}),
              HasSubstr("few: 8 trials have a value of accuracy; at least 10 are needed"));
  EXPECT_THAT(error({.name = "constant"}), HasSubstr("all of its parameters are constants"));
  EXPECT_THAT(error({.name = "one", .metric = "second", .mode = Mode::kMin}),
              HasSubstr("has no metric 'second'; did you mean 'seconds'?"));
  EXPECT_THAT(error({.name = "one", .metric = "seconds"}),
              HasSubstr("say --mode min or --mode max"));
  EXPECT_THAT(error({.name = "one", .mode = Mode::kMin}), HasSubstr("--mode is the direction"));
}

}  // namespace
}  // namespace tune
