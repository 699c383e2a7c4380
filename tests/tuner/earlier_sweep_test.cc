#include "tuner/earlier_sweep.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "tests/tuner/instant_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/search_problem.h"

namespace tune {
namespace {

using ::testing::HasSubstr;
using testing::InstantSweep;
using testing::kInstantBegin;
using testing::WriteInstantSweep;

constexpr Instant kLater = kInstantBegin + Seconds(1'000'000);
constexpr char kSpec[] =
    "trainable: {curve: {value: x}}\nmetric: loss\nmode: min\nsearch: {algorithm: tpe}\n"
    "space: {x: {uniform: [0, 1]}, lr: {loguniform: [0.0001, 0.1]}}\n";

ExperimentSpec Read(const std::string& text) {
  const auto document = ParseYaml(text);
  EXPECT_TRUE(document.ok()) << document.status().message();
  const auto spec = InterpretSpec(*document, "space.yaml", "/", true);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return *spec;
}

// A database with the sweep "space": 10 trials of 10 reports.
class EarlierSweepTest : public ::testing::Test {
 protected:
  void SetUp() override {
    WriteInstantSweep(InstantSweep(), folder_.path());
    Open();
  }

  Result<EarlierSweep> From(const std::string& spec_text, Instant before = kLater) {
    const ExperimentSpec spec = Read(spec_text);
    return ReadEarlierSweep(spec, *SpaceOf(spec), before, *store_);
  }
  std::string ErrorOf(const std::string& spec_text) {
    const auto sweep = From(spec_text);
    EXPECT_FALSE(sweep.ok());
    return sweep.status().message();
  }
  // By another program, while no tuner has the database.
  void Change(const std::string& sql) {
    store_.reset();
    sqlite3* database = nullptr;
    ASSERT_EQ(sqlite3_open((folder_ / "tune.db").c_str(), &database), SQLITE_OK);
    EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
        << sqlite3_errmsg(database);
    EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
    Open();
  }
  void Open() {
    auto store = SqliteStore::Open(folder_ / "tune.db", Access::kWrite, kInstantBegin);
    ASSERT_TRUE(store.ok()) << store.status().message();
    store_ = *std::move(store);
  }
  static std::string With(std::string text, const std::string& from, const std::string& to) {
    return text.replace(text.find(from), from.size(), to);
  }

  TempFolder folder_{/*in_memory=*/true};
  std::unique_ptr<SqliteStore> store_;
};

TEST_F(EarlierSweepTest, BringsEachTrialWithItsReports) {
  const auto sweep = From(std::string(kSpec) + "from: space\n");
  ASSERT_TRUE(sweep.ok()) << sweep.status().message();
  ASSERT_EQ(sweep->trials.size(), 10u);
  EXPECT_EQ(sweep->note, "from: learning from 10 trials of space");
  const EarlierTrial& first = sweep->trials[0];
  ASSERT_EQ(first.reports.size(), 10u);
  EXPECT_EQ(first.reports[9].iteration, 10);
  EXPECT_EQ(first.reports[9].values, std::vector<Metric>{std::exp(-0.5)});
  EXPECT_FALSE(first.has_failed);
  EXPECT_EQ(first.configuration, (*store_->ReadSuggestions(ExperimentId{1}))[0].second);
  EXPECT_TRUE(From(kSpec)->trials.empty());
  EXPECT_EQ(From(kSpec)->note, "");
}

TEST_F(EarlierSweepTest, WhatCameLaterDoesNotCount) {
  // One report a step of 10 ms; 10 trials at a time.
  const auto sweep = From(std::string(kSpec) + "from: space\n", kInstantBegin + Milliseconds(250));
  ASSERT_TRUE(sweep.ok());
  size_t reports = 0;
  for (const EarlierTrial& trial : sweep->trials) reports += trial.reports.size();
  EXPECT_GT(reports, 10u);
  EXPECT_LT(reports, 26u);
  EXPECT_TRUE(From(std::string(kSpec) + "from: space\n", kInstantBegin)->trials.empty());
}

TEST_F(EarlierSweepTest, WhatDoesNotFitIsLeftOutAndTold) {
  const auto sweep = From(With(std::string(kSpec) + "from: space\n", "[0, 1]", "[0, 0.5]"));
  ASSERT_TRUE(sweep.ok());
  EXPECT_GT(sweep->trials.size(), 0u);
  EXPECT_LT(sweep->trials.size(), 10u);
  EXPECT_THAT(sweep->note, HasSubstr(std::to_string(10 - sweep->trials.size()) +
                                     " do not fit this space (trial "));
  EXPECT_THAT(sweep->note, HasSubstr("now it is uniform: [0, 0.5])"));
}

// ---- {prior: NAME}

std::string WithPrior(std::string text) {
  text.replace(text.find("tpe"), 3, "gp");
  return text + "from: {prior: space}\n";
}

TEST_F(EarlierSweepTest, OfAPriorWhatTheSpaceHasIsEnough) {
  const auto sweep = From(With(WithPrior(kSpec), "lr: {loguniform: [0.0001, 0.1]}",
                               "momentum: {uniform: [0, 1]}, epochs: 20"));
  ASSERT_TRUE(sweep.ok()) << sweep.status().message();
  EXPECT_EQ(sweep->note, "from: the prior is 10 trials of space; it knows nothing of momentum");
  EXPECT_EQ(sweep->trials[0].configuration.parameters().size(), 1u);
  EXPECT_EQ(*sweep->from.Find("prior"), Value("space"));
  EXPECT_EQ(EarlierNameIn(WithEarlier(Value::MakeMap(), *sweep)), "space");
}

TEST_F(EarlierSweepTest, OfAPriorWhatWasOutsideADomainIsLeftOutAndTold) {
  const auto sweep = From(With(WithPrior(kSpec), "[0, 1]", "[0, 0.5]"));
  ASSERT_TRUE(sweep.ok());
  EXPECT_GT(sweep->trials.size(), 0u);
  EXPECT_LT(sweep->trials.size(), 10u);
  EXPECT_THAT(sweep->note, HasSubstr("now it is uniform: [0, 0.5])"));
}

TEST_F(EarlierSweepTest, OfAPriorThoseWithAConstantOfThisSpaceGoBeforeTheOthers) {
  const auto all = From(WithPrior(kSpec));
  ASSERT_TRUE(all.ok());
  const std::string third = ToJson(*all->trials[3].configuration.Find("lr"));
  const auto one = From(With(WithPrior(kSpec), "{loguniform: [0.0001, 0.1]}", third));
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(one->trials.size(), 1u);
  EXPECT_THAT(one->note, HasSubstr("from: the prior is 1 trial of space; 9 do not fit this space "
                                   "(trial 0: 'lr' was "));
  EXPECT_EQ(From(With(WithPrior(kSpec), "{loguniform: [0.0001, 0.1]}", "7"))->trials.size(), 10u)
      << "no trial had it, so that none is nearer than another";
  EXPECT_EQ(From(With(WithPrior(kSpec), "{loguniform: [0.0001, 0.1]}", third + ", new: 3"))
                ->trials.size(),
            1u)
      << "each constant counts for itself";
}

TEST_F(EarlierSweepTest, ASweepThatIsNotThereOrFollowsSomethingElseIsRefused) {
  EXPECT_EQ(ErrorOf(std::string(kSpec) + "from: spcae\n"),
            "from: there is no sweep 'spcae' in the database; did you mean 'space'?");
  EXPECT_EQ(ErrorOf(With(std::string(kSpec) + "from: space\n", "mode: min", "mode: max")),
            "from: the sweep 'space' follows loss (min), this one loss (max)");
}

TEST_F(EarlierSweepTest, ANewSweepNeedsSomethingToLearnFrom) {
  const auto error_of = [&](const std::string& text, Instant before) {
    const ExperimentSpec spec = Read(text);
    const auto sweep = ReadEarlierAtStart(spec, *SpaceOf(spec), before, *store_);
    EXPECT_FALSE(sweep.ok());
    return sweep.status().message();
  };
  const std::string from_space = std::string(kSpec) + "from: space\n";
  EXPECT_EQ(
      error_of(from_space, kInstantBegin),
      "from: there is nothing to learn from space: no trial of it has reported or failed yet; "
      "leave `from` out to begin without");
  EXPECT_THAT(error_of(With(from_space, "lr:", "rate:"), kLater),
              HasSubstr("nothing to learn from space; 10 do not fit this space (trial 0: "));
  // One that began so, by an earlier version, goes on.
  EXPECT_TRUE(From(from_space, kInstantBegin).ok());
  const ExperimentSpec without = Read(kSpec);
  EXPECT_TRUE(ReadEarlierAtStart(without, *SpaceOf(without), kLater, *store_).ok());
}

// A resume learns from what the sweep learned from at its start, whatever became of the earlier
// one.
TEST_F(EarlierSweepTest, WhichTrialsHadFailedIsStoredWithTheSweep) {
  Change("UPDATE trial_rows SET status = 'ERROR' WHERE number = 3");
  ExperimentSpec spec = Read(std::string(kSpec) + "from: space\n");
  const auto at_start = ReadEarlierAtStart(spec, *SpaceOf(spec), kLater, *store_);
  ASSERT_TRUE(at_start.ok()) << at_start.status().message();
  EXPECT_TRUE(at_start->trials[3].has_failed);

  spec.document = WithEarlier(spec.document, *at_start);
  EXPECT_EQ(EarlierNameIn(spec.document), "space");
  Change("UPDATE trial_rows SET status = 'RUNNING', finished_us = NULL WHERE number = 3");
  Change("UPDATE trial_rows SET status = 'ERROR' WHERE number = 5");
  const auto stored = InterpretStoredSpec(ToJson(spec.document), "b", "/", true);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  EXPECT_EQ(stored->from, "space");
  const auto at_resume = ReadEarlierSweep(*stored, *SpaceOf(*stored), kLater, *store_);
  ASSERT_TRUE(at_resume.ok()) << at_resume.status().message();
  for (size_t i = 0; i < at_resume->trials.size(); ++i) {
    EXPECT_EQ(at_resume->trials[i].has_failed, i == 3) << i;
  }

  Change("UPDATE experiment_rows SET created_us = created_us + 1");
  EXPECT_THAT(ReadEarlierSweep(*stored, *SpaceOf(*stored), kLater, *store_).status().message(),
              HasSubstr("that this one learned from was deleted, and another has its name"));
}

TEST_F(EarlierSweepTest, AnIterationThatIsNotWholeIsNoReport) {
  const std::string from_space = std::string(kSpec) + "from: space\n";
  const size_t before = From(from_space)->trials[0].reports.size();
  Change(
      "UPDATE report_rows SET value = NULL, decision = NULL WHERE iteration = 10"
      " AND trial = (SELECT id FROM trial_rows WHERE number = 0)");
  EXPECT_EQ(From(from_space)->trials[0].reports.size(), before - 1);
}

// What is stored of a study (tuner/export/optuna_study.h puts it there).
constexpr char kStudySpec[] =
    "trainable: {curve: {value: x}}\nmetric: loss\nmode: min\nsearch: {algorithm: tpe}\n"
    "space: {x: {uniform: [0, 1]}, optimizer: {kind: {choice: [adam, sgd]}}, depth: 3}\n"
    "from: {optuna: study.db, study: food, trials: [\n"
    "  {number: 0, config: [[x, 0.5], [optimizer.kind, sgd]], reports: [[1, 0.5], [2, null]]},\n"
    "  {number: 1, config: [[x, 0.25], [optimizer/kind, adam], [depth, 3]], reports: [],"
    "   failed: true},\n"
    "  {number: 2, config: [[x, 2.5], [optimizer.kind, adam]], reports: [[1, 0.5]]},\n"
    "  {number: 3, config: [[x, 0.5], [optimizer.kind, adam]], reports: []},\n"
    "  {number: 4, config: [[x, 0.5], [width, 3]], reports: [[1, 0.5]]}]}\n";

TEST_F(EarlierSweepTest, ATrialOfAStudyIsTakenByItsNamesAndWithTheConstants) {
  const auto sweep = From(kStudySpec, kInstantBegin);
  ASSERT_TRUE(sweep.ok()) << sweep.status().message();
  ASSERT_EQ(sweep->trials.size(), 2u);
  const EarlierTrial& first = sweep->trials[0];
  EXPECT_EQ(ToJson(first.configuration.ToNested()),
            R"({"x":0.5,"optimizer":{"kind":"sgd"},"depth":3})");
  ASSERT_EQ(first.reports.size(), 2u);
  EXPECT_EQ(first.reports[0].values, std::vector<Metric>{0.5});
  EXPECT_EQ(first.reports[1].iteration, 2);
  EXPECT_EQ(first.reports[1].values, std::vector<Metric>{std::nullopt});
  EXPECT_FALSE(first.has_failed);
  EXPECT_TRUE(sweep->trials[1].has_failed);
}

TEST_F(EarlierSweepTest, WhatOfAStudyIsNotLearnedFromIsTold) {
  const auto sweep = From(kStudySpec, kInstantBegin);
  ASSERT_TRUE(sweep.ok());
  EXPECT_EQ(sweep->note,
            "from: learning from 2 trials of the Optuna study 'food'; 2 do not fit this space "
            "(trial 2: 'x' was 2.5, now it is uniform: [0, 1]); 1 trial without a value yet");
}

TEST_F(EarlierSweepTest, AResumedSweepNeedsItStill) {
  const ExperimentSpec spec = Read(std::string(kSpec) + "from: space\nname: second\n");
  const auto second = store_->CreateExperiment(
      {"second", "loss", "min", 7, 4, ToJson(spec.document), "/", "{}", kLater});
  ASSERT_TRUE(second.ok());
  EXPECT_TRUE(Recover(*second, "/artifacts", *store_).ok());
  Change("DELETE FROM experiment_rows WHERE name = 'space'");
  EXPECT_THAT(Recover(*second, "/artifacts", *store_).status().message(),
              HasSubstr("from: there is no sweep 'space' in the database"));
}

TEST_F(EarlierSweepTest, OneThatWasDeletedSinceIsNamedSo) {
  const ExperimentSpec spec =
      Read(std::string(kSpec) + "from: {sweep: spcae, began: 1, failed: []}\n");
  const auto sweep = ReadEarlierSweep(spec, *SpaceOf(spec), kLater, *store_);
  EXPECT_THAT(sweep.status().message(),
              HasSubstr("'spcae' that this one learned from was deleted; what is there can be "
                        "read"));
}

}  // namespace
}  // namespace tune
