#include "tuner/cli/keep/export_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/small_disk.h"
#include "tests/tuner/export/exported_sweep.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::StartsWith;

std::vector<std::string> Lines(const std::string& path) {
  std::vector<std::string> lines;
  std::istringstream in(ReadText(path));
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

class ExportTest : public ::testing::Test {
 protected:
  ExportTest() {
    const std::unique_ptr<SqliteStore> store = OpenStore(folder_ / "tune.db");
    WriteExportedSweep(*store, "food", ExportedSpec());
  }

  TempFolder folder_{/*in_memory=*/true};
};

TEST_F(ExportTest, CsvHasALineATrialAndALineAReport) {
  const ExportAnswer answer = Export(folder_, "csv", {"food", folder_ / "out"});
  ASSERT_EQ(answer.exit_status, 0) << answer.err;
  const std::vector<std::string> trials = Lines(folder_ / "out/trials.csv");
  ASSERT_EQ(trials.size(), 6u);
  EXPECT_EQ(trials[0],
            "number,status,stop_reason,iterations,best_value,best_iteration,last_value,attempts,"
            "created_at,started_at,finished_at,run_seconds,config/lr,config/batch_size,"
            "config/optimizer/kind,config/augment");
  EXPECT_EQ(trials[2],
            "1,TERMINATED,scheduler,1,0.25,1,0.25,1,2026-11-21T09:30:01.125Z,"
            "2026-11-21T09:30:05.125Z,2026-11-21T09:30:20.125Z,15,0.2,64,\"sgd, \"\"plain\"\"\","
            "true");
  EXPECT_THAT(trials[5], StartsWith("4,PENDING,,0,,,,0,2026-11-21T09:30:04.125Z,,,"));
  EXPECT_THAT(Lines(folder_ / "out/reports.csv"),
              ElementsAre("trial,attempt,iteration,reported_at,val_accuracy,test_accuracy,val_loss",
                          "0,1,1,2026-11-21T09:30:11.125Z,0.5,,0.5",
                          "0,2,1,2026-11-21T09:30:11.125Z,0.5,,0.5",
                          "0,2,2,2026-11-21T09:30:12.125Z,0.75,0.7,0.25",
                          "1,1,1,2026-11-21T09:30:11.125Z,0.25,,0.75",
                          "2,1,1,2026-11-21T09:30:11.125Z,nan,,nan",
                          "3,1,1,2026-11-21T09:30:11.125Z,0.5,,0.5"));
}

TEST_F(ExportTest, JsonLinesHoldConfigurationsReportsAndDecisions) {
  const ExportAnswer answer = Export(folder_, "jsonl", {folder_ / "out"});
  ASSERT_EQ(answer.exit_status, 0) << answer.err;
  const std::vector<std::string> trials = Lines(folder_ / "out/trials.jsonl");
  ASSERT_EQ(trials.size(), 5u);
  const Value first = *ParseJson(trials[0]);
  EXPECT_EQ(At(first, "config/optimizer/kind"), Value("adam"));
  EXPECT_EQ(At(first, "config/augment"), Value(true));
  EXPECT_EQ(At(first, "best_value"), Value(0.75));
  const std::vector<std::string> reports = Lines(folder_ / "out/reports.jsonl");
  ASSERT_EQ(reports.size(), 6u);
  EXPECT_EQ(reports[4], R"({"trial":2,"attempt":1,"iteration":1,"value":null,)"
                        R"("metrics":{"val_accuracy":"NaN","val_loss":"NaN"},)"
                        R"("reported_at":"2026-11-21T09:30:11.125Z"})");
  const std::vector<std::string> decisions = Lines(folder_ / "out/decisions.jsonl");
  ASSERT_EQ(decisions.size(), 5u);
  EXPECT_EQ(decisions[2],
            R"({"trial":1,"iteration":1,"decision":"stop","scheduler":"asha","rung":1,)"
            R"("cutoff":0.375,"rank":2,"count":2})");
}

TEST_F(ExportTest, EventFilesHoldCurvesAndHyperparameters) {
  if (!HasPython()) GTEST_SKIP() << "there is no /usr/bin/python3 to read them with";
  ASSERT_EQ(Export(folder_, "tensorboard", {folder_ / "out"}).exit_status, 0);
  const PythonAnswer read = RunPython("read_event_files.py", folder_ / "out");
  ASSERT_EQ(read.exit_status, 0) << read.text;
  ASSERT_EQ(read.json.AsMap().size(), 6u) << read.text;

  const Value& root = *read.json.Find(".");
  EXPECT_EQ(At(root, "0/version"), Value("brain.Event:2"));
  EXPECT_EQ(At(root, "1/summary/0/tag"), Value("_hparams_/experiment"));
  EXPECT_EQ(At(root, "1/summary/0/metadata/data/plugin"), Value("hparams"));
  const Value experiment = At(root, "1/summary/0/metadata/data/content/experiment");
  EXPECT_EQ(ToJson(At(experiment, "hparams")),
            R"([{"interval":[0.01,1.0],"name":"lr","type":3},)"
            R"({"name":"batch_size","type":3,"values":[32.0,64.0,128.0,256.0]},)"
            R"({"name":"optimizer/kind","type":1,"values":["adam","sgd, \"plain\""]}])");
  EXPECT_EQ(ToJson(At(experiment, "metrics")),
            R"([{"tag":"val_accuracy"},{"tag":"test_accuracy"},{"tag":"val_loss"}])");

  const Value& run = *read.json.Find("0");
  ASSERT_EQ(run.AsList().size(), 5u) << ToJson(run);
  EXPECT_EQ(ToJson(At(run, "1/summary/0/metadata/data/content/start/hparams")),
            R"([["lr",0.1],["batch_size",32.0],["optimizer/kind","adam"],["augment",true]])");
  EXPECT_EQ(At(run, "2/step"), Value(1));
  EXPECT_EQ(At(run, "3/step"), Value(2));
  EXPECT_DOUBLE_EQ(At(run, "3/time").AsDouble(), 1'795'253'412.125999);
  EXPECT_EQ(ToJson(At(run, "3/summary")),
            R"([{"tag":"val_accuracy","value":"0.75"},{"tag":"val_loss","value":"0.25"},)"
            R"({"tag":"test_accuracy","value":"0.699999988079071"}])");
  EXPECT_EQ(At(run, "4/summary/0/metadata/data/content/end/status"), Value(1));
  EXPECT_EQ(At(read.json, "2/2/summary/0/value"), Value("nan"));
  EXPECT_EQ(At(read.json, "2/3/summary/0/metadata/data/content/end/status"), Value(2));
  EXPECT_EQ(read.json.Find("3")->AsList().size(), 3u) << "a trial that runs has no end";
}

// A query's rows, or the whole database as text.
std::vector<std::string> Ask(const std::string& database, const std::string& sql) {
  const std::string command = "sqlite3 -readonly '" + database + "' \"" + sql + "\"";
  FILE* const pipe = popen(command.c_str(), "r");
  std::vector<std::string> rows;
  char line[4096];
  while (fgets(line, sizeof line, pipe) != nullptr) {
    rows.emplace_back(line);
    rows.back().pop_back();
  }
  EXPECT_EQ(pclose(pipe), 0) << sql;
  return rows;
}

TEST_F(ExportTest, MlflowsStoreHasARunATrial) {
  const ExportAnswer answer = Export(folder_, "mlflow", {folder_ / "out"});
  ASSERT_EQ(answer.exit_status, 0) << answer.err;
  const std::string store = folder_ / "out/mlflow.db";
  EXPECT_THAT(answer.err, HasSubstr("mlflow ui --backend-store-uri sqlite:///" + store));
  EXPECT_THAT(Ask(store, "select name, lifecycle_stage, length(experiment_id) from experiments"),
              ElementsAre("food|active|18"));
  EXPECT_THAT(Ask(store, "select name, status, start_time, end_time from runs order by name"),
              ElementsAre("food/0|FINISHED|1795253405125|1795253420125",
                          StartsWith("food/1|FINISHED|"), StartsWith("food/2|FAILED|"),
                          StartsWith("food/3|RUNNING|"), StartsWith("food/4|SCHEDULED|")));
  const std::string of_first =
      " where run_uuid = (select run_uuid from runs where name = 'food/0') order by key";
  EXPECT_THAT(Ask(store, "select key, value from params" + of_first),
              ElementsAre("augment|True", "batch_size|32", "lr|0.1", "optimizer/kind|adam"));
  EXPECT_THAT(Ask(store, "select step, value, timestamp from metrics" + of_first +
                             " desc, step limit 2 offset 2"),
              ElementsAre("1|0.5|1795253411125", "2|0.75|1795253412125"));
  EXPECT_THAT(Ask(store,
                  "select step, value from latest_metrics where key = 'val_accuracy'"
                  " and run_uuid = (select run_uuid from runs where name = 'food/0')"),
              ElementsAre("2|0.75"));
  EXPECT_THAT(Ask(store, "select value from tags" + of_first + " limit 2 offset 1"),
              ElementsAre("2", "0.75"))
      << "best_iteration and best_value";
}

TEST_F(ExportTest, MlflowsStoreKeepsNumbersThatSqlHasNot) {
  ASSERT_EQ(Export(folder_, "mlflow", {folder_ / "out"}).exit_status, 0);
  EXPECT_THAT(Ask(folder_ / "out/mlflow.db",
                  "select value, is_nan from metrics where is_nan and key = 'val_accuracy'"),
              ElementsAre("0.0|1"));
}

TEST_F(ExportTest, ASecondExportToMlflowHasTheSameRuns) {
  ASSERT_EQ(Export(folder_, "mlflow", {folder_ / "a"}).exit_status, 0);
  ASSERT_EQ(Export(folder_, "mlflow", {folder_ / "b"}).exit_status, 0);
  const char* const sql = "select experiment_id, run_uuid, name from runs order by name";
  EXPECT_EQ(Ask(folder_ / "a/mlflow.db", sql), Ask(folder_ / "b/mlflow.db", sql));
}

TEST_F(ExportTest, AFolderWithSomethingInItIsRefusedAndLeftAlone) {
  fs::create_directory(folder_ / "out");
  WriteText(folder_ / "out/mine", "text");
  const ExportAnswer answer = Export(folder_, "csv", {folder_ / "out"});
  EXPECT_EQ(answer.exit_status, 2);
  EXPECT_EQ(answer.err, "tune: " + (folder_ / "out") +
                            ": is there already and is not an empty folder; name another one\n");
  EXPECT_THAT(folder_.List(), ElementsAre("out", "tune.db"));
  EXPECT_EQ(ReadText(folder_ / "out/mine"), "text");
}

TEST_F(ExportTest, AnEmptyFolderIsFilledAndWhatAKilledExportLeftGoes) {
  fs::create_directory(folder_ / "out");
  fs::create_directories(folder_ / "out.partial/0");
  WriteText(folder_ / "out.partial/.tune-export", "");
  WriteText(folder_ / "out.partial/trials.csv", "half");
  ASSERT_EQ(Export(folder_, "csv", {folder_ / "out/"}).exit_status, 0);
  EXPECT_THAT(folder_.List(), ElementsAre("out", "tune.db"));
  EXPECT_EQ(Lines(folder_ / "out/trials.csv").size(), 6u);
  EXPECT_FALSE(fs::exists(folder_ / "out/.tune-export"));
}

TEST_F(ExportTest, APersonsFolderInThePlaceOfThePartialOneIsRefusedAndLeftAlone) {
  fs::create_directory(folder_ / "out.partial");
  WriteText(folder_ / "out.partial/mine", "text");
  fs::create_directory(folder_ / "elsewhere");
  WriteText(folder_ / "elsewhere/mine", "text");
  fs::create_directory_symlink(folder_ / "elsewhere", folder_ / "linked.partial");
  const ExportAnswer answer = Export(folder_, "csv", {folder_ / "out"});
  EXPECT_EQ(answer.exit_status, 2);
  EXPECT_THAT(answer.err, HasSubstr((folder_ / "out.partial") +
                                    ": is there already and is not what an export left"));
  EXPECT_EQ(Export(folder_, "csv", {folder_ / "linked"}).exit_status, 2);
  EXPECT_EQ(ReadText(folder_ / "out.partial/mine"), "text");
  EXPECT_EQ(ReadText(folder_ / "elsewhere/mine"), "text");
  EXPECT_THAT(folder_.List(), ElementsAre("elsewhere", "linked.partial", "out.partial", "tune.db"));
}

TEST_F(ExportTest, WhatIsMistypedIsNamed) {
  EXPECT_THAT(
      Export(folder_, "tensorbord", {folder_ / "out"}).err,
      HasSubstr("--to: 'tensorbord' is no format to export to; did you mean 'tensorboard'?"));
  const ExportAnswer unknown = Export(folder_, "csv", {"fod", folder_ / "out"});
  EXPECT_EQ(unknown.exit_status, 2);
  EXPECT_THAT(unknown.err, HasSubstr("no sweep is named 'fod'; did you mean 'food'?"));
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

TEST_F(ExportTest, AFailedExportLeavesNothing) {
  // A trial whose configuration is damaged, in the midst of it.
  const std::string damage = "sqlite3 '" + (folder_ / "tune.db") +
                             "' \"update configuration_rows set flat = '[[' where trial = 3\"";
  ASSERT_EQ(std::system(damage.c_str()), 0);
  const ExportAnswer answer = Export(folder_, "jsonl", {folder_ / "out"});
  EXPECT_NE(answer.exit_status, 0);
  EXPECT_THAT(answer.err, HasSubstr("the configuration of trial food/2"));
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

TEST_F(ExportTest, AFullDiskIsToldAndNothingStaysOnIt) {
  const SmallDisk disk(folder_ / "small", 64 << 10);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  disk.Fill("filler");
  for (const char* format : {"csv", "jsonl", "tensorboard", "optuna", "mlflow"}) {
    const ExportAnswer answer = Export(folder_, format, {folder_ / "small/out"});
    EXPECT_EQ(answer.exit_status, 1) << format;
    EXPECT_THAT(answer.err, ::testing::AnyOf(HasSubstr("No space left on device"),
                                             HasSubstr("the disk is full")))
        << format;
    EXPECT_EQ(std::distance(fs::directory_iterator(folder_ / "small"), {}), 1) << format;
  }
}

}  // namespace
}  // namespace tune
