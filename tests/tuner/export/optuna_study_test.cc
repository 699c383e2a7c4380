#include "tuner/export/optuna_study.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/tuner/export/exported_sweep.h"
#include "tuner/earlier_sweep.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

// A study's file: the exported sweep, whose trials are complete, pruned, failed, running and
// waiting.
class OptunaStudyTest : public ::testing::Test {
 protected:
  OptunaStudyTest() {
    {
      const std::unique_ptr<SqliteStore> store = OpenStore(folder_ / "tune.db");
      WriteExportedSweep(*store, "food", ExportedSpec());
    }
    EXPECT_EQ(Export(folder_, "optuna", {folder_ / "out"}).exit_status, 0);
  }

  void Change(const std::string& sql) {
    const std::string command = "sqlite3 '" + (folder_ / "out/optuna.db") + "' \"" + sql + "\"";
    ASSERT_EQ(std::system(command.c_str()), 0);
  }
  ExperimentSpec Spec(const std::string& from, const std::string& mode = "max") {
    const auto document = ParseYaml(
        "trainable: {curve: {value: lr}}\nmetric: val_accuracy\nmode: " + mode +
        "\nsearch: {algorithm: tpe}\nspace:\n  lr: {loguniform: [0.01, 1]}\n"
        "  batch_size: {choice: [32, 64, 128, 256]}\n"
        "  optimizer: {kind: {choice: [adam, 'sgd, \"plain\"']}}\n  augment: true\nfrom: " +
        from + "\n");
    EXPECT_TRUE(document.ok()) << document.status().message();
    const auto spec = InterpretSpec(*document, "space.yaml", folder_.path(), true);
    EXPECT_TRUE(spec.ok()) << spec.status().message();
    return *spec;
  }
  EarlierSweep Learn(ExperimentSpec spec) {
    const Status taken = TakeOptunaTrials(spec);
    EXPECT_TRUE(taken.ok()) << taken.message();
    const std::unique_ptr<SqliteStore> store = OpenStore(folder_ / "tune.db");
    const auto sweep = ReadEarlierSweep(spec, *SpaceOf(spec), SampleTime(0), *store);
    EXPECT_TRUE(sweep.ok()) << sweep.status().message();
    return *sweep;
  }
  std::string ErrorOf(const std::string& from, const std::string& mode = "max") {
    ExperimentSpec spec = Spec(from, mode);
    return TakeOptunaTrials(spec).message();
  }

  TempFolder folder_;
};

constexpr char kFrom[] = "{optuna: out/optuna.db}";

TEST_F(OptunaStudyTest, TheTrialsOfAnExportedSweepComeBack) {
  const EarlierSweep sweep = Learn(Spec(kFrom));
  EXPECT_EQ(sweep.note,
            "from: learning from 4 trials of the Optuna study 'food'; 1 trial without a value yet");
  ASSERT_EQ(sweep.trials.size(), 4u);
  const EarlierTrial& complete = sweep.trials[0];
  EXPECT_EQ(ToJson(complete.configuration.ToNested()),
            R"({"lr":0.1,"batch_size":32,"optimizer":{"kind":"adam"},"augment":true})");
  ASSERT_EQ(complete.reports.size(), 2u) << "its value is that of its last report";
  EXPECT_EQ(complete.reports[1].iteration, 2);
  EXPECT_EQ(complete.reports[1].values, std::vector<Metric>{0.75});
  EXPECT_EQ(sweep.trials[1].reports.size(), 1u);
  EXPECT_TRUE(sweep.trials[2].has_failed);
}

TEST_F(OptunaStudyTest, WhatWasTakenNeedsTheFileNoMore) {
  ExperimentSpec spec = Spec(kFrom);
  ASSERT_TRUE(TakeOptunaTrials(spec).ok());
  const std::string stored = ToJson(spec.document);
  ASSERT_EQ(std::remove((folder_ / "out/optuna.db").c_str()), 0);
  const auto again = InterpretStoredSpec(stored, "second", folder_.path(), true);
  ASSERT_TRUE(again.ok()) << again.status().message();
  EXPECT_EQ(Learn(*again).trials.size(), 4u);
}

TEST_F(OptunaStudyTest, AFinalValueOfItsOwnIsTheLastReport) {
  Change("update trial_values set value = 0.8 where trial_id = 1");
  const EarlierSweep sweep = Learn(Spec(kFrom));
  ASSERT_EQ(sweep.trials[0].reports.size(), 3u);
  EXPECT_EQ(sweep.trials[0].reports[2].iteration, 3);
  EXPECT_EQ(sweep.trials[0].reports[2].values, std::vector<Metric>{0.8});
}

TEST_F(OptunaStudyTest, StepsFromZeroBecomeIterationsFromOne) {
  Change("update trial_intermediate_values set step = step - 1");
  const EarlierSweep sweep = Learn(Spec(kFrom));
  EXPECT_EQ(sweep.trials[0].reports[0].iteration, 1);
  EXPECT_EQ(sweep.trials[0].reports[1].iteration, 2);
}

// In their order; a trial without any, or with another number of them, tells nothing of limits.
TEST_F(OptunaStudyTest, AsManyConstraintsAsTheSweepHasLimitsAreItsLimits) {
  Change(
      "insert into trial_system_attributes (trial_id, key, value_json) values (1, 'constraints', "
      "'[-1.0, 0.5]'), (2, 'constraints:a', '-0.25'), (2, 'constraints:b', '-2.0')");
  const EarlierSweep sweep =
      Learn(Spec(std::string(kFrom) + "\nfeasible: [ms <= 20, gb * batch_size <= 4]"));
  ASSERT_EQ(sweep.trials.size(), 4u);
  EXPECT_FALSE(sweep.trials[0].has_failed) << "it is infeasible, and learned from";
  EXPECT_EQ(sweep.trials[0].reports[1].values, (std::vector<Metric>{0.75, -1.0, 0.5}));
  EXPECT_EQ(sweep.trials[1].reports[0].values, (std::vector<Metric>{0.25, -0.25, -2.0}));
  EXPECT_EQ(sweep.trials[3].reports[0].values,
            (std::vector<Metric>{0.5, std::nullopt, std::nullopt}));
}

TEST_F(OptunaStudyTest, ATrialThatBreaksAConstraintHasFailed) {
  Change(
      "insert into trial_system_attributes (trial_id, key, value_json) values (1, 'constraints', "
      "'[-1.0, 0.5]'),"
      " (2, 'constraints:memory', '0.0')");
  const EarlierSweep sweep = Learn(Spec(kFrom));
  EXPECT_TRUE(sweep.trials[0].has_failed);
  EXPECT_TRUE(sweep.trials[0].reports.empty());
  EXPECT_FALSE(sweep.trials[1].has_failed);
}

TEST_F(OptunaStudyTest, TheStudyIsNamedWhereThereAreSeveral) {
  Change(
      "insert into studies values (2, 'second'); insert into study_directions values"
      " (2, 'MINIMIZE', 2, 0)");
  EXPECT_THAT(ErrorOf(kFrom),
              HasSubstr("holds 2 studies; name one of them, as in {optuna: FILE, study: food}"));
  EXPECT_THAT(ErrorOf("{optuna: out/optuna.db, study: fod}"), HasSubstr("did you mean 'food'?"));
  EXPECT_EQ(ErrorOf("{optuna: out/optuna.db, study: food}"), "");
}

TEST_F(OptunaStudyTest, AnotherDirectionOrAFileThatIsNoStudyIsRefused) {
  EXPECT_THAT(ErrorOf(kFrom, "min"),
              HasSubstr("the study 'food' has the mode max, this sweep min"));
  EXPECT_THAT(
      ErrorOf("{optuna: missing.db}"),
      ::testing::AllOf(StartsWith("from: " + (folder_ / "missing.db")), HasSubstr("is not there")));
  EXPECT_THAT(ErrorOf("{optuna: tune.db}"), HasSubstr("is no file of Optuna's"));
  WriteText(folder_ / "text", "no database at all, as anybody can see who looks into it");
  EXPECT_THAT(ErrorOf("{optuna: text}"), HasSubstr("cannot be read as a file of Optuna's"));
}

}  // namespace
}  // namespace tune
