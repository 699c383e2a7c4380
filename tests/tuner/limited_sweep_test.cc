// A stored sweep with limits on results (`feasible`): what each command calls its best.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

#include "core/posix/real_clock.h"
#include "core/standing.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/two_sweeps.h"
#include "tuner/best_configuration.h"
#include "tuner/cli/keep/export_command.h"
#include "tuner/cli/look/best_command.h"
#include "tuner/cli/look/compare_command.h"
#include "tuner/cli/look/importance_command.h"
#include "tuner/cli/look/plot_command.h"
#include "tuner/cli/look/results_command.h"
#include "tuner/cli/look/status_command.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/why_command.h"
#include "tuner/page/markdown_report.h"
#include "tuner/page/sweep_summary.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

struct Told {
  double value = 0;
  double latency = 0;
};

class LimitedSweep : public testing::Test {
 protected:
  // A trial for each, with one report.
  void Write(const std::vector<Told>& all, const std::string& limits = R"(["latency <= 20"])",
             int64_t repeat = 1) {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.metric = "acc";
    wanted.spec = R"({"name":"s","metric":"acc","mode":"max","samples":4,"feasible":)" + limits +
                  R"(,"search":{"algorithm":"random","repeat":)" + std::to_string(repeat) +
                  R"(},"space":{"lr":{"uniform":[0,10]},"batch_size":{"choice":[32,64,128,256]},)"
                  R"("optimizer":{"kind":{"choice":["adam","sgd, \"plain\""]}},"augment":true}})";
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok()) << experiment.status().message();
    Transition rows;
    int64_t number = 0;
    for (const Told& told : all) {
      NewTrialRow& row = rows.new_trials.emplace_back(SampleTrial(number));
      row.trial.status = TrialStatus::kTerminated;
      row.trial.stop_reason = StopReason::kCompleted;
      row.trial.iterations = 1;
      row.trial.best_value = row.trial.last_value = told.value;
      row.trial.best_iteration = 1;
      row.trial.best_violation =
          std::isnan(told.latency) ? kViolationUnknown : std::max(0.0, told.latency / 20 - 1);
      ReportRow report = SampleReport(number, 1, 1, told.value);
      report.metrics = {
          {"acc", told.value}, {"latency", told.latency}, {"violation", *row.trial.best_violation}};
      report.decision = Decision{};
      rows.reports.push_back(report);
      ++number;
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  Answer Best(OutputFormat format = OutputFormat::kTable) const {
    auto options = OfDatabase<BestOptions>(path_);
    options.format = format;
    return AnswerOf([&](auto& out, auto& err) { return BestCommand(options, nullptr, out, err); });
  }
  Answer Results(ResultsOptions options = {}) const {
    options.db_path = path_;
    return AnswerOf([&](auto& out, auto& err) { return ResultsCommand(options, out, err); });
  }
  Answer Why(const std::string& trial) const {
    auto options = OfDatabase<WhyOptions>(path_);
    options.trial = trial;
    return AnswerOf([&](auto& out, auto& err) { return WhyCommand(options, out, err); });
  }
  std::string Exported(const std::string& format, const std::string& file) const {
    const ExportOptions options{path_, format, {folder_ / format}};
    std::ostringstream err;
    EXPECT_EQ(ExportCommand(options, err), 0) << err.str();
    std::ifstream in(folder_ / format + "/" + file);
    return {std::istreambuf_iterator<char>(in), {}};
  }

  TempFolder folder_;
  std::string path_ = folder_ / "tune.db";
};

TEST_F(LimitedSweep, TheBestTrialKeepsTheLimits) {
  Write({{0.9, 30}, {0.5, 20}, {0.7, 15}, {0.95, 25}});
  EXPECT_THAT(Best().out, AllOf(HasSubstr("best trial     s/2 "), HasSubstr("acc = 0.7"),
                                HasSubstr("limits         feasible\n")));
  EXPECT_EQ(Best().err, "");
  EXPECT_THAT(Best(OutputFormat::kJson).out, HasSubstr(R"("feasible":true,"violation":0)"));
  const std::vector<std::string> lines = Lines(Results().out);
  ASSERT_EQ(lines.size(), 5u);
  EXPECT_THAT(lines[0], StartsWith("number  status      best_value  feasible  violation"));
  const char* const kOrder[] = {"     2", "     1", "     3", "     0"};
  for (size_t i = 0; i < 4; ++i) EXPECT_THAT(lines[i + 1], StartsWith(kOrder[i]));
  EXPECT_THAT(Results().err, Not(HasSubstr("warning")));
}

TEST_F(LimitedSweep, ThatNoTrialIsFeasibleIsSaidByEachAnswer) {
  Write({{0.9, 30}, {0.5, 22}, {0.7, 25}});
  const std::string warning =
      "warning: no trial is feasible: none kept latency <= 20; the best is the one that violates "
      "them least, by 0.1\n";
  EXPECT_THAT(Best().out, AllOf(HasSubstr("best trial     s/1 "),
                                HasSubstr("infeasible: it violates the limits by 0.1\n")));
  EXPECT_EQ(Best().err, warning);
  EXPECT_THAT(Results().err, HasSubstr(warning));
  ResultsOptions best;
  best.best = true;
  EXPECT_THAT(Results(best).err, HasSubstr(warning));
  EXPECT_THAT(Lines(Results(best).out)[1], StartsWith("     1"));
}

TEST_F(LimitedSweep, OfSeveralRunsItIsSaidInHowManyTheBestConfigurationKeepsTheLimits) {
  Write({{0.9, 18}, {0.9, 22}, {0.9, 30}, {0.9, 30}}, R"(["latency <= 20"])", 2);
  const std::string warning =
      "warning: the best configuration kept latency <= 20 in 1 of 2 runs; its runs violate the "
      "limits by 0.05 in the mean\n";
  EXPECT_THAT(Best().out, AllOf(HasSubstr("s/0 "), HasSubstr("limits         feasible\n")));
  EXPECT_EQ(Best().err, warning);
  const Answer results = Results();
  EXPECT_THAT(results.err, HasSubstr(warning));
  EXPECT_THAT(Lines(results.out)[0], HasSubstr("  violation  "));
  EXPECT_THAT(Lines(results.out)[1], HasSubstr("  0.05  "));
}

TEST_F(LimitedSweep, OfARunOfWhichNobodyCanTellNoMeanViolationIsSaid) {
  Write({{0.9, 30}, {0.9, std::nan("")}}, R"(["latency <= 20"])", 2);
  EXPECT_THAT(Best().err, AllOf(HasSubstr("in none of 2 runs; by how much is not known of all"),
                                Not(HasSubstr("e+89"))));
}

TEST_F(LimitedSweep, TheQueryOverConfigurationsRanksThemAsTheRuleWhereARunIsUnknown) {
  Write({{0.2, 10}, {0.2, std::nan("")}, {0.9, std::nan("")}, {0.9, std::nan("")}},
        R"(["latency <= 20"])", 2);
  const auto database = OpenForQueries(path_);
  const auto sweep = FindSweep(**database, "s");
  ASSERT_TRUE(sweep.ok()) << sweep.status().message();
  const auto ranked = ReadConfigurationRuns(**database, *sweep);
  ASSERT_TRUE(ranked.ok()) << ranked.status().message();
  EXPECT_EQ(ranked->front().number, 1);
  auto query = (*database)->Prepare(RankConfigurationsSql(sweep->id, 2, Mode::kMax, true));
  ASSERT_TRUE(query.ok()) << query.status().message();
  ASSERT_TRUE(*query->Step());
  EXPECT_EQ(query->Int(0), 1);
}

TEST_F(LimitedSweep, WhatNobodyCanTellComesLast) {
  Write({{0.9, std::nan("")}, {0.5, 400}});
  EXPECT_THAT(Best().out, HasSubstr("best trial     s/1 "));
  EXPECT_THAT(Why("0").out, HasSubstr("infeasible: a metric that a limit names was NaN or not "
                                      "reported, or a limit came to no number"));
}

TEST_F(LimitedSweep, WhySaysWhichLimitIsBrokenByWhat) {
  Write({{0.9, 30}}, R"(["latency <= 20", "acc * batch_size >= 1"])");
  EXPECT_THAT(Why("0").out,
              AllOf(HasSubstr("limits         infeasible: it violates the limits by 0.5\n"),
                    HasSubstr("breaks latency <= 20 (latency = 30)\n"),
                    HasSubstr("keeps  acc * batch_size >= 1 (acc = 0.9, batch_size = 32)\n")));
}

TEST_F(LimitedSweep, TheViewHasBothColumns) {
  Write({{0.9, 30}, {0.5, 20}});
  ResultsOptions options;
  options.sql = "select number, feasible, violation from trials order by number";
  options.format = OutputFormat::kCsv;
  EXPECT_EQ(Results(options).out, "number,feasible,violation\n0,0,0.5\n1,1,0\n");
}

TEST_F(LimitedSweep, ExportsHaveThem) {
  Write({{0.9, 30}, {0.5, 20}});
  const std::vector<std::string> csv = Lines(Exported("csv", "trials.csv"));
  EXPECT_THAT(csv[0], HasSubstr("run_seconds,feasible,violation,config/lr"));
  EXPECT_THAT(csv[1], HasSubstr(",0,0.5,"));
  EXPECT_THAT(Exported("jsonl", "trials.jsonl"),
              AllOf(HasSubstr(R"("feasible":false,"violation":0.5)"),
                    HasSubstr(R"("feasible":true,"violation":0)")));
  EXPECT_NE(Exported("optuna", "optuna.db"), "");
  sqlite3* study = nullptr;
  ASSERT_EQ(sqlite3_open((folder_ / "optuna/optuna.db").c_str(), &study), SQLITE_OK);
  std::string constraints;
  sqlite3_exec(
      study,
      "select value_json from trial_system_attributes where \"key\" = 'constraints' order by "
      "trial_id",
      [](void* text, int, char** columns, char**) {
        *static_cast<std::string*>(text) += std::string(columns[0]) + " ";
        return 0;
      },
      &constraints, nullptr);
  sqlite3_close(study);
  EXPECT_EQ(constraints, "[0.5] [0.0] ");
}

TEST_F(LimitedSweep, ImportanceTellsWhatDecidesWhetherTheLimitsAreKept) {
  std::vector<Told> all;
  for (int i = 0; i < 30; ++i) all.push_back({0.1 * (i % 7), 10.0 + i});
  Write(all);
  auto options = OfDatabase<ImportanceOptions>(path_);
  const auto importance = [&] {
    return AnswerOf([&](auto& out, auto& err) { return ImportanceCommand(options, out, err); });
  };
  EXPECT_THAT(importance().err, HasSubstr("--metric violation: which parameters decide that"));
  options.metric = "violation";
  const Answer answer = importance();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(Lines(answer.out)[1], StartsWith("lr"));
}

TEST_F(LimitedSweep, CompareShowsHowTheBestReportsStandToTheLimits) {
  Write({{0.9, 30}, {0.5, 20}});
  auto options = OfDatabase<CompareOptions>(path_);
  options.words = {"0", "1"};
  const Answer answer =
      AnswerOf([&](auto& out, auto& err) { return CompareCommand(options, out, err); });
  EXPECT_THAT(answer.out, AllOf(HasSubstr("feasible               false       true\n"),
                                HasSubstr("violation              0.5         0\n")));
}

TEST_F(LimitedSweep, PlotBestSaysWhyThereIsNoCourse) {
  Write({{0.9, 30}, {0.5, 22}});
  auto options = OfDatabase<PlotOptions>(path_);
  options.words = {"best"};
  const Answer answer =
      AnswerOf([&](auto& out, auto& err) { return PlotCommand(options, out, err); });
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("s: no trial is feasible: none kept latency <= 20; the best"));
}

TEST_F(LimitedSweep, AReportSaysWhatAResultHasToKeep) {
  Write({{0.9, 30}, {0.5, 20}});
  const auto database = OpenForQueries(path_);
  ASSERT_TRUE(database.ok());
  const auto sweep = FindSweep(**database, "s");
  ASSERT_TRUE(sweep.ok());
  const RealClock clock;
  const auto report = MakeMarkdownReport(**database, *sweep, "s", clock);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->markdown, HasSubstr("A result has to keep `latency <= 20`.\n"));
}

TEST_F(LimitedSweep, AReportOfSeveralRunsRanksConfigurationsByTheirMeans) {
  Write({{0.99, 10}, {0.5, 10}, {0.8, 10}, {0.9, 10}, {0.95, 10}}, R"(["latency <= 20"])", 2);
  const auto database = OpenForQueries(path_);
  ASSERT_TRUE(database.ok());
  const auto sweep = FindSweep(**database, "s");
  ASSERT_TRUE(sweep.ok());
  const RealClock clock;
  const auto report = MakeMarkdownReport(**database, *sweep, "s", clock);
  ASSERT_TRUE(report.ok()) << report.status().message();
  EXPECT_THAT(report->markdown, HasSubstr("Trial 3: `acc` **0.9**"));
  const size_t table =
      report->markdown.find("## The best 3 configurations, each with its best run");
  ASSERT_NE(table, std::string::npos);
  const std::vector<std::string> lines = Lines(report->markdown.substr(table));
  EXPECT_THAT(lines[2], StartsWith("| trial | mean `acc` | deviation | runs | limits |"));
  EXPECT_THAT(lines[4], StartsWith("| 3 | 0.85 |"));
  EXPECT_THAT(lines[5], StartsWith("| 0 | 0.745 |"));
  EXPECT_THAT(lines[6], StartsWith("| 4 | 0.95 | - | 1 of 2 | feasible |"));
}

// By `until`, say: whoever looks later finds few trials, and why.
TEST_F(LimitedSweep, WhyItEndedEarlyIsToldByStatusAndPage) {
  Write({{0.9, 10}, {0.5, 10}});
  {
    const auto store = OpenStore(path_, Access::kWrite);
    Transition end;
    end.experiment = ExperimentRow{ExperimentStatus::kFinished, 4, kSampleStart, "",
                                   "until.no_gain: 1 trial in a row came to nothing"};
    ASSERT_TRUE(store->Commit(ExperimentId{1}, {2, kSampleStart, "[]"}, end).ok());
  }
  const RealClock clock;
  const auto status = [&](OutputFormat format) {
    auto options = OfDatabase<StatusOptions>(path_);
    options.format = format;
    const auto ask = [&](auto& out, auto& err) {
      return StatusCommand(options, clock, nullptr, out, err);
    };
    return AnswerOf(ask).out;
  };
  EXPECT_THAT(status(OutputFormat::kTable),
              StartsWith("s: FINISHED; ended early: until.no_gain: 1 trial in a row came to "
                         "nothing\n"));
  EXPECT_THAT(status(OutputFormat::kJson),
              HasSubstr(R"("ended_early":"until.no_gain: 1 trial in a row came to nothing")"));
  const auto database = OpenForQueries(path_);
  ASSERT_TRUE(database.ok());
  const auto sweep = FindSweep(**database, "s");
  ASSERT_TRUE(sweep.ok());
  const auto json = SummaryJson(**database, *sweep, clock);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_THAT(*json, HasSubstr(R"("ended_early":"until.no_gain: )"));
}

TEST_F(LimitedSweep, ThePageIsToldTheSame) {
  Write({{0.9, 30}, {0.5, 22}});
  const auto database = OpenForQueries(path_);
  ASSERT_TRUE(database.ok());
  const auto sweep = FindSweep(**database, "s");
  ASSERT_TRUE(sweep.ok());
  EXPECT_THAT(sweep->limits, testing::ElementsAre("latency <= 20"));
  const RealClock clock;
  const auto json = SummaryJson(**database, *sweep, clock);
  ASSERT_TRUE(json.ok()) << json.status().message();
  EXPECT_THAT(*json, AllOf(HasSubstr(R"("feasible":["latency <= 20"])"),
                           HasSubstr(R"("none_feasible":"no trial is feasible)"),
                           HasSubstr(R"("number":1)")));
}

}  // namespace
}  // namespace tune
