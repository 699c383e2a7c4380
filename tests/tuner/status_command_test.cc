// tune status and tune list, on a real database; and what every command says that finds none.
#include "tuner/cli/look/status_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/frozen_database.h"
#include "tests/tuner/two_sweeps.h"
#include "tuner/cli/look/best_command.h"
#include "tuner/cli/look/compare_command.h"
#include "tuner/cli/look/lane_speeds.h"
#include "tuner/cli/look/list_command.h"
#include "tuner/cli/look/results_command.h"
#include "tuner/cli/look/why_command.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class FixedClock final : public Clock {
 public:
  Instant Now() const override { return SampleTime(120); }
};

Answer ShowStatus(const StatusOptions& options, const WaitFunction& wait = nullptr) {
  return AnswerOf(
      [&](auto& out, auto& err) { return StatusCommand(options, FixedClock(), wait, out, err); });
}

Answer List(const ListOptions& options) {
  return AnswerOf(
      [&](auto& out, auto& err) { return ListCommand(options, FixedClock(), out, err); });
}

using StatusTest = TwoSweeps;

TEST_F(StatusTest, StatusTellsASweepAtAGlance) {
  StatusOptions options = OfDatabase<StatusOptions>(path_);
  options.name = "first";
  const Answer answer = ShowStatus(options);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "first: INTERRUPTED; go on with: tune resume first --db " + path_ +
                "\n"
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

TEST_F(StatusTest, WhatIsInDoubtIsToldWhereverTheAnswerIs) {
  {
    const auto store = OpenStore(path_, Access::kWrite);
    Transition rows;
    rows.notes = {{TrialNumber{1}, "two kinds", "trial 1: two kinds: a and b"},
                  {TrialNumber{0}, "two kinds", "trial 0: two kinds: c and d"}};
    ASSERT_TRUE(store->Commit(ExperimentId{1}, {3, kSampleStart, "[]"}, rows).ok());
    ASSERT_TRUE(store->Commit(ExperimentId{1}, {4, kSampleStart, "[]"}, rows).ok());
  }
  constexpr char kDoubt[] = "trial 1: two kinds: a and b; 1 more trial alike";
  StatusOptions options = OfDatabase<StatusOptions>(path_);
  options.name = "first";
  options.width = 40;
  EXPECT_THAT(ShowStatus(options).out, HasSubstr(std::string("\nin doubt   ") + kDoubt + "\n"))
      << "whole, however narrow the terminal is";
  options.format = OutputFormat::kJson;
  EXPECT_THAT(ShowStatus(options).out, HasSubstr(std::string("\"doubts\":[\"") + kDoubt + "\"]"));
  ResultsOptions results = OfDatabase<ResultsOptions>(path_);
  results.name = "first";
  EXPECT_THAT(AnswerOf([&](auto& out, auto& err) { return ResultsCommand(results, out, err); }).err,
              HasSubstr(std::string("in doubt: ") + kDoubt + "\n"));
  BestOptions best = OfDatabase<BestOptions>(path_);
  best.name = "first";
  EXPECT_THAT(AnswerOf([&](auto& out, auto& err) {
                return BestCommand(best, ModelExporter(), out, err);
              }).err,
              HasSubstr(std::string("in doubt: ") + kDoubt + "\n"));
  WhyOptions why = OfDatabase<WhyOptions>(path_);
  why.trial = "first/0";
  EXPECT_THAT(AnswerOf([&](auto& out, auto& err) { return WhyCommand(why, out, err); }).out,
              HasSubstr("in doubt       trial 0: two kinds: c and d\n"));
}

// Each has a decision at its report and an order later.
TEST_F(StatusTest, StatusCountsATrialThatPausedAtARungOnce) {
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

TEST_F(StatusTest, WhetherATunerLivesIsToldByItsLock) {
  StatusOptions options = OfDatabase<StatusOptions>(path_);
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
TEST_F(StatusTest, StatusSaysWhatLimitsLanesWhereTheSpaceDoesNotSayHowMany) {
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
  StatusOptions options = OfDatabase<StatusOptions>(path_);
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

TEST_F(StatusTest, StatusAsJsonHasTheRungs) {
  StatusOptions options = OfDatabase<StatusOptions>(path_);
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

TEST_F(StatusTest, WatchDrawsAgainUntilTheSweepEnds) {
  auto store = OpenStore(path_, Access::kWrite);
  ASSERT_TRUE(store->Commit(ExperimentId{2}, {3, kSampleStart, "[]"}, {}).ok());
  StatusOptions options = OfDatabase<StatusOptions>(path_);
  options.watch = true;
  options.terminal_size = [] { return TerminalSize{40, 24}; };
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

TEST_F(StatusTest, WatchEndsWhenTold) {
  const auto store = OpenStore(path_, Access::kWrite);
  ASSERT_TRUE(store->Commit(ExperimentId{2}, {3, kSampleStart, "[]"}, {}).ok());
  StatusOptions options = OfDatabase<StatusOptions>(path_);
  options.watch = true;
  const Answer answer = ShowStatus(options, [](Duration) { return false; });
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, Not(HasSubstr("\x1b")));
}

TEST_F(StatusTest, ListShowsAllSweeps) {
  ListOptions options = OfDatabase<ListOptions>(path_);
  options.format = OutputFormat::kCsv;
  EXPECT_EQ(
      List(options).out,
      "name,status,trials,ended,metric,mode,best_value,best_trial,created_at,finished_at,tags,"
      "note\n"
      "first,INTERRUPTED,4,3,val_accuracy,max,0.75,0,2026-11-21T09:30:00.125Z,,{},\n"
      "second,INTERRUPTED,4,3,val_accuracy,max,0.75,0,2026-11-21T09:30:00.125Z,,{},\n");
}

TEST(List, IsAnEmptyTableForADatabaseWithoutSweeps) {
  const TempFolder folder;
  OpenStore(folder / "tune.db");
  ListOptions options = OfDatabase<ListOptions>(folder / "tune.db");
  options.format = OutputFormat::kJson;
  const Answer answer = List(options);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, "[]\n");
}

TEST_F(StatusTest, WithoutADatabaseEachCommandSaysSoInOneLine) {
  const std::string missing = folder_ / "none.db";
  const std::string line =
      "tune: " + missing +
      ": there is no such database; make one with tune run, or name another with --db\n";
  for (const Answer& answer :
       {AnswerOf([&](auto&out, auto&err) {
          return ResultsCommand(OfDatabase<ResultsOptions>(missing), out, err);
        }),
        AnswerOf([&](auto&out, auto&err) {
          return BestCommand(OfDatabase<BestOptions>(missing), nullptr, out, err);
        }),
        ShowStatus(OfDatabase<StatusOptions>(missing)), List(OfDatabase<ListOptions>(missing))}) {
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err, line);
  }
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

// Without bringing it up to date, which is a writer's to do.
TEST(OlderDatabase, IsReadByEveryCommandAsThePresentOneIs) {
  std::string results, best;
  for (int64_t version = SchemaVersion(); version >= 1; --version) {
    const TempFolder folder;
    const std::string path = ThawDatabase(folder, version);
    const std::string before = ReadText(path);
    const std::vector<Answer> answers = {
        AnswerOf([&](auto& out, auto& err) {
          return ResultsCommand(OfDatabase<ResultsOptions>(path), out, err);
        }),
        AnswerOf([&](auto& out, auto& err) {
          return BestCommand(OfDatabase<BestOptions>(path), nullptr, out, err);
        }),
        AnswerOf([&](auto& out, auto& err) {
          auto options = OfDatabase<WhyOptions>(path);
          options.trial = "0";
          return WhyCommand(options, out, err);
        }),
        AnswerOf([&](auto& out, auto& err) {
          auto options = OfDatabase<CompareOptions>(path);
          options.words = {"0", "1"};
          return CompareCommand(options, out, err);
        }),
        ShowStatus(OfDatabase<StatusOptions>(path)),
        List(OfDatabase<ListOptions>(path))};
    for (size_t i = 0; i < answers.size(); ++i) {
      EXPECT_EQ(answers[i].status, 0)
          << "version " << version << ", command " << i << ": " << answers[i].err;
    }
    if (version == SchemaVersion()) {
      results = answers[0].out;
      best = answers[1].out;
    }
    EXPECT_EQ(answers[0].out, results) << "version " << version;
    EXPECT_EQ(answers[1].out, best) << "version " << version;
    EXPECT_EQ(ReadText(path), before) << "version " << version;
  }
}

}  // namespace
}  // namespace tune
