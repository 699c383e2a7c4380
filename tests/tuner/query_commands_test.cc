// The commands that only look: results, status, list, best, on a real database.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/best_command.h"
#include "tuner/cli/lane_speeds.h"
#include "tuner/cli/list_command.h"
#include "tuner/cli/results_command.h"
#include "tuner/cli/retrain_rows.h"
#include "tuner/cli/status_command.h"
#include "tuner/cli/sweep_lookup.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

struct Answer {
  int status = -1;
  std::string out;
  std::string err;
};

class FixedClock final : public Clock {
 public:
  Instant Now() const override { return SampleTime(120); }
};

Answer Results(const ResultsOptions& options) {
  std::ostringstream out, err;
  const int status = ResultsCommand(options, out, err);
  return {status, out.str(), err.str()};
}

Answer ShowStatus(const StatusOptions& options, const WaitFunction& wait = nullptr) {
  std::ostringstream out, err;
  const int status = StatusCommand(options, FixedClock(), wait, out, err);
  return {status, out.str(), err.str()};
}

Answer List(const ListOptions& options) {
  std::ostringstream out, err;
  const int status = ListCommand(options, out, err);
  return {status, out.str(), err.str()};
}

Answer Best(const BestOptions& options, const ModelExporter& exporter = nullptr) {
  std::ostringstream out, err;
  const int status = BestCommand(options, exporter, out, err);
  return {status, out.str(), err.str()};
}

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class QueryCommands : public testing::Test {
 protected:
  QueryCommands() : path_(folder_ / "tune.db") {
    const auto store = OpenStore(path_);
    WriteSampleSweep(*store, "first");
    WriteSampleSweep(*store, "second");
  }

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

  TempFolder folder_;
  std::string path_;
};

// ---- results

TEST_F(QueryCommands, ResultsShowsTrialsWithParametersAndLastMetrics) {
  const Answer answer = Results(For());
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out,
            "number  status      stop_reason  iterations  best_value  best_iteration  last_value  "
            "attempts  "
            "run_seconds   lr  batch_size  optimizer/kind  val_accuracy  val_loss  test_accuracy\n"
            "     0  TERMINATED  max_t                 2        0.75               2        0.75   "
            "      2           "
            "15  0.1          32  adam                    0.75      0.25            0.7\n"
            "     1  TERMINATED  scheduler             1        0.25               1        0.25   "
            "      1           "
            "15  0.2          64  sgd, \"plain\"            0.25      0.75\n"
            "     2  ERROR                             1                                           "
            "      1           "
            "15  0.3         128  adam\n"
            "     3  RUNNING                           1         0.5               1         0.5   "
            "      1           "
            "15  0.4         256  sgd, \"plain\"             0.5       0.5\n");
  EXPECT_EQ(answer.err, "the same in all trials: augment=true\n");
}

TEST_F(QueryCommands, ResultsAsCsvKeepsEveryColumnAndEveryBit) {
  const Answer answer = Results(For(OutputFormat::kCsv));
  const std::vector<std::string> lines = Lines(answer.out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_EQ(lines[0],
            "number,status,stop_reason,iterations,best_value,best_iteration,last_value,attempts,"
            "run_seconds,"
            "lr,batch_size,optimizer/kind,augment,val_accuracy,val_loss,test_accuracy\r");
  EXPECT_EQ(
      lines[2],
      "1,TERMINATED,scheduler,1,0.25,1,0.25,1,15,0.2,64,\"sgd, \"\"plain\"\"\",true,0.25,0.75,\r");
  EXPECT_EQ(lines[3], "2,ERROR,,1,,,,1,15,0.30000000000000004,128,adam,true,,,\r");
  EXPECT_EQ(answer.err, "");
}

TEST_F(QueryCommands, ResultsAsJsonIsAListOfTypedObjects) {
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

TEST_F(QueryCommands, ResultsSortsByAnyColumnTheBestFirstForTheMetric) {
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

TEST_F(QueryCommands, ResultsNamesTheNearestColumnWhenThereIsNone) {
  ResultsOptions options = For();
  options.sort = "val_acuracy";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err,
            "tune: --sort: there is no column 'val_acuracy'; did you mean 'val_accuracy'?\n");
}

TEST_F(QueryCommands, ResultsFiltersByAnExpressionOverParametersAndMetrics) {
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

TEST_F(QueryCommands, ResultsNamesTheColumnsWhenAnExpressionIsWrong) {
  ResultsOptions options = For();
  options.where = "accuracy > 0.5";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("--where: no such column: accuracy; the columns are number, status"),
                    HasSubstr("val_accuracy")));
  EXPECT_EQ(answer.out, "");
}

TEST_F(QueryCommands, AnExpressionCannotChangeAnything) {
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

TEST_F(QueryCommands, ResultsBestIsTheBestTrialAlone) {
  ResultsOptions options = For();
  options.best = true;
  EXPECT_THAT(Numbers(options), ElementsAre("0"));
  options.sort = "lr";
  EXPECT_EQ(Results(options).status, 2);
}

TEST_F(QueryCommands, ResultsBestSaysThatNoTrialHasAValue) {
  ASSERT_TRUE(OpenStore(path_, Access::kWrite)->CreateExperiment(SampleExperiment("new")).ok());
  ResultsOptions options = For();
  options.best = true;
  EXPECT_EQ(Results(options).err, "new: no trial has reported val_accuracy yet\n");
  EXPECT_THAT(Numbers(options), IsEmpty());
}

TEST_F(QueryCommands, ATrialThatExploitedAnotherHasTheConfigurationOfItsTime) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    const StoredExperiment experiment = WriteSampleSweep(*store, "population");
    Transition rows;
    // The first one was best after it, the second one before.
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
  for (const Value& trial : shown.AsList()) EXPECT_EQ(*trial.Find("lr"), Value(0.05));
  const auto database = OpenForQueries(path_);
  ASSERT_TRUE(database.ok());
  const FoundSweep sweep = *FindSweep(**database, "population");
  EXPECT_EQ(*FindBestTrial(**database, sweep)->value().config.Find("lr"), Value(0.05));
  const auto best = ReadBestConfigurations(**database, sweep, 9);
  ASSERT_TRUE(best.ok());
  EXPECT_EQ(*best->at(0).configuration.Find("lr"), Value(0.05));
  EXPECT_EQ(best->at(2).trial, 1);
  EXPECT_EQ(*best->at(2).configuration.Find("lr"), Value(0.2));
}

TEST_F(QueryCommands, ANameThatATrialsColumnHasIsPrefixed) {
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

TEST_F(QueryCommands, ANameIsFoundAndAnUnknownOneIsAnsweredWithThoseThatAre) {
  ResultsOptions options = For();
  options.name = "first";
  EXPECT_EQ(Results(options).status, 0);
  options.name = "frist";
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "tune: " + path_ + ": no sweep is named 'frist'; did you mean 'first'?\n");
}

TEST_F(QueryCommands, WithoutADatabaseEachCommandSaysSoInOneLine) {
  const std::string missing = folder_ / "none.db";
  const std::string line =
      "tune: " + missing +
      ": there is no such database; make one with tune run, or name another with --db\n";
  ResultsOptions results = For();
  results.db_path = missing;
  StatusOptions status;
  status.db_path = missing;
  ListOptions list;
  list.db_path = missing;
  BestOptions best;
  best.db_path = missing;
  for (const Answer& answer : {Results(results), ShowStatus(status), List(list), Best(best)}) {
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err, line);
  }
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

TEST_F(QueryCommands, ADatabaseWithoutASweepSaysSo) {
  const std::string path = folder_ / "empty.db";
  OpenStore(path);
  ResultsOptions options = For();
  options.db_path = path;
  const Answer answer = Results(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "tune: " + path + ": no sweep is in it yet; make one with tune run\n");
}

// ---- results --sql

TEST_F(QueryCommands, SqlRunsAnyQueryThatReads) {
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
  options.sql = "SELECT name FROM params WHERE 0";
  EXPECT_EQ(Results(options).out, "[]\n");
  options.format = OutputFormat::kCsv;
  EXPECT_EQ(Results(options).out, "name\r\n");
  options.sql =
      "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM "
      "n;";
  EXPECT_EQ(Results(options).out, "i\r\n1\r\n2\r\n3\r\n");
}

TEST_F(QueryCommands, SqlRefusesWhatDoesMoreThanRead) {
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

TEST_F(QueryCommands, SqlNamesTheViewsAndTheirColumns) {
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

TEST_F(QueryCommands, SqlDoesNotGoWithASweepsName) {
  ResultsOptions options = For();
  options.sql = "SELECT 1";
  options.name = "first";
  EXPECT_EQ(Results(options).status, 2);
}

// ---- formats

TEST(RowPrinter, CutsTheWidestColumnsToATerminal) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kTable, 30, out);
  printer.Begin({"n", "text"});
  printer.Row({1, std::string(100, 'x')});
  printer.Row({22, "Brötchen 面包"});
  printer.End();
  EXPECT_EQ(out.str(), " n  text\n 1  xxxxxxxxxxxxxxxxxxxxxxxxx…\n22  Brötchen 面包\n");
  for (const std::string& line : Lines(out.str())) EXPECT_LE(DisplayWidth(line), 30u);
}

TEST(RowPrinter, NothingThatATrialPrintedMovesTheCursor) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kTable, 0, out);
  printer.Begin({"error"});
  printer.Row({"\x1b[2Jboom\nand\tmore \xff\xc2\x9b"});
  printer.End();
  EXPECT_EQ(out.str(), "error\n\\x1b[2Jboom\\nand\\tmore ?\\x9b\n");
}

TEST(RowPrinter, CsvQuotesAsRfc4180Says) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kCsv, 0, out);
  printer.Begin({"a,b", "c"});
  printer.Row({"say \"hi\"\nthere", Value()});
  printer.Row({0.1, std::numeric_limits<double>::infinity()});
  printer.End();
  EXPECT_EQ(out.str(), "\"a,b\",c\r\n\"say \"\"hi\"\"\nthere\",\r\n0.1,inf\r\n");
}

TEST(RowPrinter, JsonIsValidWhateverTheTextsHold) {
  std::ostringstream out;
  RowPrinter printer(OutputFormat::kJson, 0, out);
  printer.Begin({"na\"me", "x"});
  printer.Row({"\xff \x01 \"", std::nan("")});
  printer.Row({Value(Value::List{1, "a"}), int64_t{9'007'199'254'740'993}});
  printer.End();
  EXPECT_EQ(out.str(),
            "[\n{\"na\\\"me\":\"? \\u0001 "
            "\\\"\",\"x\":null},\n{\"na\\\"me\":[1,\"a\"],\"x\":9007199254740993}\n]\n");
}

TEST(OutputFormat, KnowsThreeNames) {
  EXPECT_EQ(*ParseOutputFormat("json"), OutputFormat::kJson);
  EXPECT_THAT(ParseOutputFormat("xml").status().message(), HasSubstr("table, csv and json"));
}

// ---- status, list

TEST_F(QueryCommands, StatusTellsASweepAtAGlance) {
  StatusOptions options;
  options.db_path = path_;
  options.name = "first";
  const Answer answer = ShowStatus(options);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "first: INTERRUPTED; go on with: tune resume first\n"
            "metric     val_accuracy (max), scheduler asha, seed 7\n"
            "trials     4 of 4: 1 ERROR, 1 RUNNING, 2 TERMINATED (1 max_t, 1 scheduler)\n"
            "best       val_accuracy = 0.75, trial 0 at iteration 2\n"
            "           lr=0.1 batch_size=32 optimizer/kind=adam augment=true\n"
            "rungs      1: 3 reached, 1 stopped, cutoff 0.5\n"
            "           2: 1 reached, 1 stopped, cutoff 0.7\n"
            "iterations 5\n"
            "attempts   5, 2 failed (1 crashed, 1 out_of_memory)\n"
            "started    2026-11-21T09:30:00.125Z (2 min 00 s ago)\n");
}

// Each has a decision at its report and an order later.
TEST_F(QueryCommands, StatusCountsATrialThatPausedAtARungOnce) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    Transition rows;
    rows.reports = {SampleReport(1, 1, 4, 0.5), SampleReport(3, 1, 4, 0.6)};
    for (ReportRow& report : rows.reports) {
      report.decision = SampleDecision(Verdict::kPause, 4, 0.5, 1, 2);
    }
    rows.orders = {{{Order::Kind::kStop, TrialNumber{1}, {}, 4}, 4, SampleTime(40)},
                   {{Order::Kind::kResume, TrialNumber{3}, {}, 4}, 4, SampleTime(40)}};
    const Status committed = store->Commit(ExperimentId{1}, {3, kSampleStart, "[]"}, rows);
    ASSERT_TRUE(committed.ok()) << committed.message();
  }
  StatusOptions options;
  options.db_path = path_;
  options.name = "first";
  EXPECT_THAT(ShowStatus(options).out, HasSubstr(" 4: 2 reached, 1 stopped, cutoff 0.5\n"));
}

TEST_F(QueryCommands, WhetherATunerLivesIsToldByItsLock) {
  StatusOptions options;
  options.db_path = path_;
  options.name = "second";
  options.format = OutputFormat::kCsv;
  EXPECT_THAT(ShowStatus(options).out, HasSubstr("second,INTERRUPTED,"));
  const auto store = OpenStore(path_, Access::kWrite);
  // It works on the second sweep, not on the first.
  ASSERT_TRUE(store->Commit(ExperimentId{2}, {3, kSampleStart, "[]"}, {}).ok());
  EXPECT_THAT(ShowStatus(options).out, HasSubstr("second,RUNNING,"));
  options.name = "first";
  EXPECT_THAT(ShowStatus(options).out, HasSubstr("first,INTERRUPTED,"));
}

// The second sweep says how many lanes: nothing limits them.
TEST_F(QueryCommands, StatusSaysWhatLimitsLanesWhereTheSpaceDoesNotSayHowMany) {
  {
    const LaneKind kind = {"{}", "NVIDIA H200"};
    const auto store = OpenStore(path_);
    Transition rows;
    rows.lane_speeds = {{kind, {4, 2480, 9}},
                        {kind, {8, 2310, 9}},
                        {{"{}", ""}, {4, 9, 9}},
                        {{"{}", ""}, {8, 1, 9}}};
    for (const int64_t id : {1, 2}) {
      ASSERT_TRUE(store->Commit(ExperimentId{id}, {3, kSampleStart, "[]"}, rows).ok());
    }
    rows.lane_speeds = {{kind, {4, 3000, 3}}};
    ASSERT_TRUE(store->Commit(ExperimentId{2}, {4, kSampleStart, "[]"}, rows).ok());
    const auto database = Database::Open(path_, Access::kWrite);
    ASSERT_TRUE((*database)
                    ->Execute("UPDATE experiment_rows SET spec = json_set(spec, '$.space', "
                              "json('{\"lanes\":8}')) WHERE id = 2")
                    .ok());
  }
  StatusOptions options;
  options.db_path = path_;
  options.name = "first";
  EXPECT_THAT(
      ShowStatus(options).out,
      HasSubstr("lanes      4 train as one on NVIDIA H200: 8 were slower (2310 against 2480 "
                "images/s); {}\n"));
  options.name = "second";
  EXPECT_THAT(ShowStatus(options).out, Not(HasSubstr("lanes")));
  // What the latest sweep measured is what a new one goes by.
  const Result<std::vector<LaneSpeedRow>> known = ReadLaneSpeeds(path_);
  ASSERT_TRUE(known.ok());
  EXPECT_THAT(*known,
              ElementsAre(LaneSpeedRow{{"{}", ""}, {4, 9, 9}}, LaneSpeedRow{{"{}", ""}, {8, 1, 9}},
                          LaneSpeedRow{{"{}", "NVIDIA H200"}, {4, 3000, 3}},
                          LaneSpeedRow{{"{}", "NVIDIA H200"}, {8, 2310, 9}}));
}

TEST_F(QueryCommands, StatusAsJsonHasTheRungs) {
  StatusOptions options;
  options.db_path = path_;
  options.format = OutputFormat::kJson;
  const Result<Value> list = ParseJson(ShowStatus(options).out);
  ASSERT_TRUE(list.ok());
  const Value& sweep = list->AsList().at(0);
  EXPECT_EQ(sweep.Find("terminated")->AsInt(), 2);
  EXPECT_EQ(sweep.Find("failed_attempts")->AsInt(), 2);
  EXPECT_EQ(
      ToJson(*sweep.Find("rungs")),
      R"([{"rung":1,"reached":3,"stopped":1,"cutoff":0.5},{"rung":2,"reached":1,"stopped":1,"cutoff":0.7}])");
  EXPECT_EQ(sweep.Find("best_config")->Find("optimizer")->Find("kind")->AsString(), "adam");
}

TEST_F(QueryCommands, WatchDrawsAgainUntilTheSweepEnds) {
  auto store = OpenStore(path_, Access::kWrite);
  ASSERT_TRUE(store->Commit(ExperimentId{2}, {3, kSampleStart, "[]"}, {}).ok());
  StatusOptions options;
  options.db_path = path_;
  options.watch = true;
  options.is_terminal = true;
  options.width = 40;
  int waited_count = 0;
  const Answer answer = ShowStatus(options, [&](Duration) {
    if (++waited_count == 2) {
      Transition rows;
      rows.experiment = ExperimentRow{ExperimentStatus::kFinished, 4, SampleTime(60)};
      EXPECT_TRUE(store->Commit(ExperimentId{2}, {4, kSampleStart, "[]"}, rows).ok());
    }
    return true;
  });
  EXPECT_EQ(waited_count, 2);
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("second: RUNNING (tuner: pid "),
                                HasSubstr("second: FINISHED"), HasSubstr("\x1b[11A\r")));
}

TEST_F(QueryCommands, WatchEndsWhenTold) {
  const auto store = OpenStore(path_, Access::kWrite);
  ASSERT_TRUE(store->Commit(ExperimentId{2}, {3, kSampleStart, "[]"}, {}).ok());
  StatusOptions options;
  options.db_path = path_;
  options.watch = true;
  const Answer answer = ShowStatus(options, [](Duration) { return false; });
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, Not(HasSubstr("\x1b")));
}

TEST_F(QueryCommands, ListShowsAllSweeps) {
  ListOptions options;
  options.db_path = path_;
  options.format = OutputFormat::kCsv;
  EXPECT_EQ(List(options).out,
            "name,status,trials,ended,metric,mode,best_value,best_trial,created_at,finished_at\r\n"
            "first,INTERRUPTED,4,3,val_accuracy,max,0.75,0,2026-11-21T09:30:00.125Z,\r\n"
            "second,INTERRUPTED,4,3,val_accuracy,max,0.75,0,2026-11-21T09:30:00.125Z,\r\n");
}

TEST(List, IsAnEmptyTableForADatabaseWithoutSweeps) {
  const TempFolder folder;
  OpenStore(folder / "tune.db");
  ListOptions options;
  options.db_path = folder / "tune.db";
  options.format = OutputFormat::kJson;
  const Answer answer = List(options);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, "[]\n");
}

// ---- best

TEST_F(QueryCommands, BestTellsTrialConfigurationAndCheckpoint) {
  BestOptions options;
  options.db_path = path_;
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
      R"("checkpoint":"/a/s/0/checkpoint_2","checkpoint_iteration":2})");
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
  BestOptions options;
  options.db_path = path;
  EXPECT_THAT(Best(options).out,
              AllOf(HasSubstr("best trial     s/1 "), HasSubstr("checkpoint     none")));
}

TEST(Best, OfASweepWithoutAValueIsOneLine) {
  const TempFolder folder;
  { ASSERT_TRUE(OpenStore(folder / "tune.db")->CreateExperiment(SampleExperiment("s")).ok()); }
  BestOptions options;
  options.db_path = folder / "tune.db";
  const Answer answer = Best(options);
  EXPECT_EQ(answer.status, 2);
  EXPECT_EQ(answer.err, "tune: s: no trial has reported val_accuracy yet\n");
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
  void Write(const std::string& trainable) {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.spec = R"({"trainable":)" + trainable + "}";
    const auto experiment = store->CreateExperiment(wanted);
    Transition rows = SampleRows();
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
  const Answer answer = Best(options_, [](const std::string&, const std::string&) -> Status {
    ADD_FAILURE() << "not food11";
    return OkStatus();
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
      Best(options_, [](const std::string& from, const std::string& to) -> Status {
        WriteText(to + "/config.json", "the exporter's, from " + from);
        return OkStatus();
      });
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(ReadText(options_.export_dir + "/config.json"), "the exporter's, from " + checkpoint_);
  EXPECT_FALSE(std::filesystem::exists(options_.export_dir + "/weights.bin"));
  EXPECT_THAT(ReadText(options_.export_dir + "/best.json"), HasSubstr(R"("config":{"lr":0.1)"));
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
  const auto exporter = [](const std::string&, const std::string&) -> Status {
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
