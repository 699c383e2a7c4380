// tune results, on a real database.
#include "tuner/cli/look/results_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/two_sweeps.h"
#include "tuner/cli/look/retrain_rows.h"
#include "tuner/cli/look/sweep_lookup.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Answer Results(const ResultsOptions& options) {
  return AnswerOf([&](auto& out, auto& err) { return ResultsCommand(options, out, err); });
}

class ResultsTest : public TwoSweeps {
 protected:
  ResultsOptions For(OutputFormat format = OutputFormat::kTable) const {
    ResultsOptions options;
    options.db_path = path_;
    options.format = format;
    return options;
  }
  // The numbers of the trials that come out, in order.
  std::vector<std::string> Numbers(ResultsOptions options) const {
    options.format = OutputFormat::kCsv;
    const Answer answer = Results(options);
    EXPECT_EQ(answer.status, 0) << answer.err;
    std::vector<std::string> numbers;
    for (const std::string& line : Lines(answer.out))
      numbers.push_back(line.substr(0, line.find(',')));
    if (!numbers.empty()) numbers.erase(numbers.begin());
    return numbers;
  }
};

TEST_F(ResultsTest, ResultsShowsWhatAPersonLooksForTheBestTrialFirst) {
  const Answer answer = Results(For());
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out,
            "number  status      best_value   lr  batch_size  optimizer/kind  iterations  failure\n"
            "     0  TERMINATED        0.75  0.1          32  adam                     2\n"
            "     3  RUNNING            0.5  0.4         256  sgd, \"plain\"             1\n"
            "     1  TERMINATED        0.25  0.2          64  sgd, \"plain\"             1\n"
            "     2  ERROR                   0.3         128  adam                     1  "
            "out_of_memory\n");
  EXPECT_EQ(answer.err, "the same in all trials: augment=true\n");
}

TEST_F(ResultsTest, ATerminalThatIsTooNarrowCutsNoParameter) {
  ResultsOptions options = For();
  options.width = 70;
  const Answer answer = Results(options);
  EXPECT_EQ(answer.out,
            "number  status      best_value  iterations  parameters\n"
            "     0  TERMINATED        0.75           2  lr=0.1 batch_size=32\n"
            "                                            optimizer/kind=adam\n"
            "     3  RUNNING            0.5           1  lr=0.4 batch_size=256\n"
            "                                            optimizer/kind=sgd,\n"
            "                                            \"plain\"\n"
            "     1  TERMINATED        0.25           1  lr=0.2 batch_size=64\n"
            "                                            optimizer/kind=sgd,\n"
            "                                            \"plain\"\n"
            "     2  ERROR                            1  lr=0.3 batch_size=128\n"
            "                                            optimizer/kind=adam\n"
            "                                            failed: out_of_memory\n");
}

TEST_F(ResultsTest, AFailureIsCutBeforeTheTableIsLaidOutOtherwise) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    const StoredExperiment experiment = WriteSampleSweep(*store, "failing");
    Transition rows;
    AttemptRow attempt = SampleAttempt(2, 1, Outcome::kCrashed);
    attempt.error = "exit status 1: " + std::string(100, 'x');
    rows.attempts = {attempt};
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  }
  ResultsOptions options = For();
  options.width = 110;
  const std::vector<std::string> lines = Lines(Results(options).out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[4], HasSubstr("1  exit status 1: xxxxxxxxxxxx"));
  EXPECT_EQ(DisplayWidth(lines[4]), 110u);
  options.format = OutputFormat::kCsv;
  EXPECT_THAT(Results(options).out, HasSubstr(std::string(100, 'x')));
}

TEST_F(ResultsTest, AllColumnsAreBlocksWhereATerminalIsTooNarrow) {
  ResultsOptions options = For();
  options.all = true;
  EXPECT_THAT(Lines(Results(options).out)[0],
              HasSubstr("run_seconds   lr  batch_size  optimizer/kind  augment  val_accuracy"));
  options.width = 60;
  options.where = "number = 1";
  EXPECT_EQ(Results(options).out,
            "trial           1\n"
            "status          TERMINATED\n"
            "stop_reason     scheduler\n"
            "iterations      1\n"
            "best_value      0.25\n"
            "best_iteration  1\n"
            "last_value      0.25\n"
            "attempts        1\n"
            "run_seconds     15\n"
            "lr              0.2\n"
            "batch_size      64\n"
            "optimizer/kind  sgd, \"plain\"\n"
            "augment         true\n"
            "val_accuracy    0.25\n"
            "val_loss        0.75\n");
}

TEST_F(ResultsTest, ColumnsAreShownAsNamedAndAnUnknownOneIsRefused) {
  ResultsOptions options = For(OutputFormat::kCsv);
  options.columns = "val_loss,number";
  options.limit = 2;
  const Answer answer = Results(options);
  EXPECT_THAT(Lines(answer.out)[1], testing::StartsWith("0.25,0"));
  EXPECT_EQ(answer.err, "2 of 4 trials are shown\n");
  options.columns = "number,val_los";
  EXPECT_EQ(Results(options).err,
            "tune: --columns: there is no column 'val_los'; did you mean 'val_loss'?; tune results "
            "--all shows them all\n");
}

TEST_F(ResultsTest, TheTopTrialsAreTheBestAndNoFailedOneIsAmongThem) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    const StoredExperiment experiment = WriteSampleSweep(*store, "failing");
    Transition rows;
    TrialRow failed = SampleRows().trials[2];
    failed.best_value = failed.last_value = 0.9;
    failed.best_iteration = 1;
    rows.trials = {failed};
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  }
  ResultsOptions options = For();
  options.top = 2;
  EXPECT_THAT(Numbers(options), ElementsAre("0", "3"));
  options.top = 9;
  EXPECT_THAT(Numbers(options), ElementsAre("0", "3", "1"));
  options.with_failed = true;
  EXPECT_THAT(Numbers(options), ElementsAre("2", "0", "3", "1"));
  options.sort = "lr";
  EXPECT_EQ(Results(options).status, 2);
}

TEST_F(ResultsTest, ResultsAsCsvKeepsEveryColumnAndEveryBit) {
  const Answer answer = Results(For(OutputFormat::kCsv));
  const std::vector<std::string> lines = Lines(answer.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0],
            "number,status,stop_reason,iterations,best_value,best_iteration,last_value,attempts,"
            "run_seconds,"
            "lr,batch_size,optimizer/kind,augment,val_accuracy,val_loss,test_accuracy,failure");
  EXPECT_EQ(
      lines[2],
      "1,TERMINATED,scheduler,1,0.25,1,0.25,1,15,0.2,64,\"sgd, \"\"plain\"\"\",true,0.25,0.75,,");
  EXPECT_EQ(lines[3], "2,ERROR,,1,,,,1,15,0.30000000000000004,128,adam,true,,,,out_of_memory");
  EXPECT_EQ(answer.err, "");
}

TEST_F(ResultsTest, ResultsAsJsonIsAListOfTypedObjects) {
  const Answer answer = Results(For(OutputFormat::kJson));
  const Result<Value> list = ParseJson(answer.out);
  ASSERT_TRUE(list.ok()) << list.status().message();
  ASSERT_EQ(list->AsList().size(), 4u);
  const Value& first = list->AsList()[0];
  EXPECT_EQ(first.Find("number")->AsInt(), 0);
  EXPECT_TRUE(first.Find("augment")->AsBool());
  EXPECT_EQ(first.Find("lr")->AsDouble(), 0.1);
  EXPECT_EQ(first.Find("optimizer/kind")->AsString(), "adam");
  EXPECT_TRUE(list->AsList()[2].Find("val_accuracy")->is_null());  // It reported NaN.
}

TEST_F(ResultsTest, ResultsSortsByAnyColumnTheBestFirstForTheMetric) {
  ResultsOptions options = For();
  options.sort = "val_accuracy";
  EXPECT_THAT(Numbers(options), ElementsAre("0", "3", "1", "2"));
  options.sort = "best_value";
  EXPECT_THAT(Numbers(options), ElementsAre("0", "3", "1", "2"));
  options.sort = "+val_accuracy";
  EXPECT_THAT(Numbers(options), ElementsAre("1", "3", "0", "2"));
  options.sort = "lr";
  EXPECT_THAT(Numbers(options), ElementsAre("0", "1", "2", "3"));
  options.sort = "-lr";
  EXPECT_THAT(Numbers(options), ElementsAre("3", "2", "1", "0"));
  options.sort = "optimizer/kind";
  EXPECT_THAT(Numbers(options), ElementsAre("0", "2", "1", "3"));
}

TEST_F(ResultsTest, ResultsNamesTheNearestColumnWhenThereIsNone) {
  ResultsOptions options = For();
  options.sort = "val_acuracy";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err,
            "tune: --sort: there is no column 'val_acuracy'; did you mean 'val_accuracy'?\n");
}

TEST_F(ResultsTest, ResultsFiltersByAnExpressionOverParametersAndMetrics) {
  ResultsOptions options = For();
  options.where = "lr < 0.35 AND val_loss IS NOT NULL";
  EXPECT_THAT(Numbers(options), ElementsAre("0", "1"));
  options.where = "\"optimizer/kind\" LIKE 'sgd%' -- a comment";
  options.sort = "-number";
  EXPECT_THAT(Numbers(options), ElementsAre("3", "1"));
  options.where =
      "number IN (SELECT t.number FROM trials AS t JOIN decisions AS d ON d.trial = t.id"
      " WHERE d.decision = 'stop')";
  EXPECT_THAT(Numbers(options), ElementsAre("1", "0"));
}

TEST_F(ResultsTest, ResultsNamesTheColumnsWhenAnExpressionIsWrong) {
  ResultsOptions options = For();
  options.where = "accuracy > 0.5";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("--where: no such column: accuracy; the columns are number, status"),
                    HasSubstr("val_accuracy")));
  EXPECT_EQ(answer.out, "");
}

TEST_F(ResultsTest, AnExpressionCannotChangeAnything) {
  const std::string before = ReadText(path_);
  for (const char* where :
       {"1); DELETE FROM trial_rows; --", "1) UNION SELECT 1; DROP TABLE trial_rows; --",
        "load_extension('x')", "1); ATTACH 'evil.db' AS e; --"}) {
    ResultsOptions options = For();
    options.where = where;
    EXPECT_EQ(Results(options).status, 2) << where;
  }
  EXPECT_EQ(ReadText(path_), before);
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

TEST_F(ResultsTest, ResultsBestIsTheBestTrialAlone) {
  ResultsOptions options = For();
  options.best = true;
  EXPECT_THAT(Numbers(options), ElementsAre("0"));
  options.sort = "lr";
  EXPECT_EQ(Results(options).status, 2);
}

TEST_F(ResultsTest, ResultsBestSaysThatNoTrialHasAValue) {
  ASSERT_TRUE(OpenStore(path_, Access::kWrite)->CreateExperiment(SampleExperiment("new")).ok());
  ResultsOptions options = For();
  options.best = true;
  EXPECT_EQ(Results(options).err, "new: no trial has reported val_accuracy\n");
  EXPECT_THAT(Numbers(options), IsEmpty());
}

TEST_F(ResultsTest, ATrialThatExploitedAnotherHasTheConfigurationOfItsTime) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    const StoredExperiment experiment = WriteSampleSweep(*store, "population");
    Transition rows;
    // The first one was best after it, the second one before; both were at iteration 1.
    for (const int64_t trial : {0, 1}) {
      ExploitRow row{TrialNumber{trial}, 1, TrialNumber{3}, 1, SampleTrial(trial).configuration};
      row.configuration.Set("lr", 0.05);
      rows.exploits.push_back(row);
    }
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
    // Of the suggestions: not what came after.
    const auto reports = store->ReadReports(experiment.id);
    ASSERT_TRUE(reports.ok());
    for (const ReportRow& report : *reports) EXPECT_EQ(report.iteration, 1);
  }
  ResultsOptions options = For(OutputFormat::kJson);
  options.where = "number < 2";
  const Value shown = *ParseJson(Results(options).out);
  EXPECT_EQ(*shown.AsList().at(0).Find("lr"), Value(0.05));
  EXPECT_EQ(*shown.AsList().at(1).Find("lr"), Value(0.2)) << "the value beside it was before";
  const auto database = OpenForQueries(path_);
  ASSERT_TRUE(database.ok());
  const FoundSweep sweep = *FindSweep(**database, "population");
  EXPECT_EQ(*FindBestTrial(**database, sweep)->value().config.Find("lr"), Value(0.05));
  EXPECT_EQ(FindBestTrial(**database, sweep)->value().earlier_configs, 1);
  const auto best = ReadBestConfigurations(**database, sweep, 9);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(best->at(0).earlier_configs, 1);
  EXPECT_EQ(best->at(2).earlier_configs, 0) << "what came after counts for nothing";
  EXPECT_EQ(*best->at(0).configuration.Find("lr"), Value(0.05));
  EXPECT_EQ(best->at(2).trial, 1);
  EXPECT_EQ(*best->at(2).configuration.Find("lr"), Value(0.2));
}

TEST_F(ResultsTest, ANameThatATrialsColumnHasIsPrefixed) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    const auto experiment = store->CreateExperiment(SampleExperiment("clash"));
    Transition rows;
    NewTrialRow trial = SampleTrial(0);
    trial.configuration.Set("status", "mine");
    trial.configuration.Set("val_loss", 7);
    rows.new_trials = {trial};
    rows.reports = {SampleReport(0, 1, 1, 0.5)};
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const Answer answer = Results(For(OutputFormat::kCsv));
  EXPECT_THAT(Lines(answer.out)[0],
              HasSubstr("augment,param.status,val_loss,val_accuracy,metric.val_loss"));
}

TEST_F(ResultsTest, AParameterMayBeNamedAsSqlNamesItsRows) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    const auto experiment = store->CreateExperiment(SampleExperiment("rows"));
    Transition rows;
    for (int64_t number = 0; number < 3; ++number) {
      NewTrialRow trial = SampleTrial(number);
      trial.configuration.Set("RowID", 2 - number);
      trial.configuration.Set("place in the listing", 7);
      rows.new_trials.push_back(trial);
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  ResultsOptions options = For();
  options.sort = "-number";
  EXPECT_THAT(Numbers(options), ElementsAre("2", "1", "0"));
  options.sort = "RowID";
  options.where = "rowid < 2";
  EXPECT_THAT(Numbers(options), ElementsAre("2", "1"));
}

TEST_F(ResultsTest, ANameIsFoundAndAnUnknownOneIsAnsweredWithThoseThatAre) {
  ResultsOptions options = For();
  options.name = "first";
  EXPECT_EQ(Results(options).status, 0);
  options.name = "frist";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "tune: " + path_ + ": no sweep is named 'frist'; did you mean 'first'?\n");
}

TEST_F(ResultsTest, ADatabaseWithoutASweepSaysSo) {
  const std::string path = folder_ / "empty.db";
  OpenStore(path);
  ResultsOptions options = For();
  options.db_path = path;
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "tune: " + path + ": no sweep is in it yet; make one with tune run\n");
}

// ---- results --sql

TEST_F(ResultsTest, SqlRunsAnyQueryThatReads) {
  ResultsOptions options = For(OutputFormat::kJson);
  options.sql =
      "SELECT number, best_value, status AS \"the status\", NULL AS missing, 9e999 AS big FROM "
      "trials"
      " WHERE experiment = 1 ORDER BY best_value DESC NULLS LAST LIMIT 2 -- the best";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "[\n{\"number\":0,\"best_value\":0.75,\"the "
            "status\":\"TERMINATED\",\"missing\":null,\"big\":null},\n"
            "{\"number\":3,\"best_value\":0.5,\"the "
            "status\":\"RUNNING\",\"missing\":null,\"big\":null}\n]\n");
  options.sql = "SELECT count() FROM trials, json_each(config)";
  EXPECT_EQ(Results(options).out, "[\n{\"count()\":32}\n]\n");
  options.sql = "SELECT x'00ff1b' AS bytes";
  EXPECT_EQ(Results(options).out, "[\n{\"bytes\":\"x'00ff1b'\"}\n]\n");
  options.sql = "SELECT name FROM params WHERE 0";
  EXPECT_EQ(Results(options).out, "[]\n");
  options.format = OutputFormat::kCsv;
  EXPECT_EQ(Results(options).out, "name\n");
  options.sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM "
      "n;";
  EXPECT_EQ(Results(options).out, "i\n1\n2\n3\n");
}

TEST_F(ResultsTest, SqlRefusesWhatDoesMoreThanRead) {
  const std::string before = ReadText(path_);
  for (const char* sql :
       {"DELETE FROM trial_rows", "UPDATE experiment_rows SET name = 'x'", "CREATE TABLE t (a)",
        "DROP VIEW trials", "UPDATE sqlite_master SET sql = ''", "CREATE TEMP TABLE t (a)",
        "ATTACH 'other.db' AS o", "PRAGMA journal_mode = DELETE", "PRAGMA user_version = 9",
        "VACUUM INTO 'copy.db'", "BEGIN EXCLUSIVE", "SELECT 1; SELECT 2",
        "SELECT 1; DELETE FROM trial_rows", "SELECT load_extension('x')", "", "  -- nothing",
        "SELEC 1"}) {
    ResultsOptions options = For();
    options.sql = sql;
    const Answer answer = Results(options);
    if (options.sql.empty()) continue;  // No query at all: the usual results.
    EXPECT_EQ(answer.status, 2) << sql;
    EXPECT_THAT(answer.err, HasSubstr("tune: --sql: ")) << sql;
    EXPECT_EQ(answer.out, "") << sql;
  }
  EXPECT_EQ(ReadText(path_), before);
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

TEST_F(ResultsTest, SqlNamesTheViewsAndTheirColumns) {
  ResultsOptions options = For();
  options.sql = "SELECT number FROM trial";
  EXPECT_THAT(Results(options).err, HasSubstr("no such table: trial; the views are experiments, "
                                              "trials, params, reports, decisions, attempts,"
                                              " checkpoints, workers"));
  options.sql = "SELECT accuracy FROM reports";
  EXPECT_THAT(Results(options).err, HasSubstr("no such column: accuracy; the columns of reports "
                                              "(trial, attempt, iteration, value, metrics,"
                                              " reported_at)"));
}

TEST_F(ResultsTest, SqlKnowsTheSweepByItsParameter) {
  ResultsOptions options = For(OutputFormat::kCsv);
  options.columns.clear();
  options.sql = "SELECT name FROM experiments WHERE id = :experiment";
  EXPECT_THAT(Lines(Results(options).out)[1], testing::StartsWith("second"));
  options.name = "first";
  EXPECT_THAT(Lines(Results(options).out)[1], testing::StartsWith("first"));
  options.name = "third";
  EXPECT_EQ(Results(options).status, 2);
}

TEST_F(ResultsTest, SqlRefusesANameThatTheQueryDoesNotAskFor) {
  ResultsOptions options = For();
  options.sql = "SELECT count() FROM trials";
  options.name = "first";
  EXPECT_EQ(Results(options).err,
            "tune: --sql: the query is over all sweeps and does not say :experiment, the id of "
            "'first'; add WHERE experiment = :experiment, or leave the name out\n");
  options.sql = "SELECT :sweep, ?";
  EXPECT_EQ(Results(options).err,
            "tune: --sql: :sweep has no value; the one parameter is :experiment, the sweep's id\n");
}

// A sweep of accuracy and latency with one trial, which has these reports.
void WriteOneTrial(const std::string& path, Transition rows) {
  const auto store = OpenStore(path);
  NewExperiment wanted = SampleExperiment("s");
  wanted.metric = "accuracy";
  wanted.spec = R"({"name":"s","metric":["accuracy","latency"],"mode":["max","min"]})";
  const auto experiment = store->CreateExperiment(wanted);
  rows.new_trials = {SampleTrial(0)};
  rows.new_trials[0].trial.iterations = 3;
  ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
}

// Of several objectives a trial counts with its last report that has them all, in the table as in
// the front.
TEST(ResultsOfSeveralObjectives, TableAndFrontShowTheSameReport) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  Transition rows;
  const auto report = [&](int64_t iteration, Metrics metrics) {
    rows.reports.push_back(SampleReport(0, 1, iteration, 0.5));
    rows.reports.back().metrics = std::move(metrics);
  };
  report(1, {{"accuracy", 0.7}, {"latency", 20}});
  report(2, {{"accuracy", 0.8}, {"latency", 30}});
  report(3, {{"accuracy", 0.9}});
  WriteOneTrial(path, std::move(rows));
  ResultsOptions options;
  options.db_path = path;
  for (const bool best : {false, true}) {
    options.best = best;
    const Answer answer = Results(options);
    EXPECT_THAT(answer.out,
                AllOf(HasSubstr("0.8"), HasSubstr("30"), testing::Not(HasSubstr("0.9"))));
    EXPECT_THAT(answer.err,
                HasSubstr("each trial's last report that has all of accuracy and latency"));
  }
}

// On a device the iterations that a retry trains again come out a little different.
TEST(ResultsOfSeveralObjectives, OfAnIterationThatCameAgainTheFirstReportCounts) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  Transition rows;
  const auto report = [&](int64_t attempt, int64_t iteration, double accuracy) {
    rows.reports.push_back(SampleReport(0, attempt, iteration, accuracy));
    rows.reports.back().metrics = {{"accuracy", accuracy}, {"latency", 30}};
  };
  report(1, 1, 0.61);
  report(1, 3, 0.73);
  report(2, 2, 0.84);
  report(2, 3, 0.95);
  WriteOneTrial(path, std::move(rows));
  ResultsOptions options;
  options.db_path = path;
  for (const bool best : {false, true}) {
    options.best = best;
    EXPECT_THAT(Results(options).out, AllOf(HasSubstr("0.73"), testing::Not(HasSubstr("0.95"))))
        << best;
  }
}

}  // namespace
}  // namespace tune
