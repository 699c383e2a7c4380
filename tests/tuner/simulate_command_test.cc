// `tune simulate` as its user meets it: what it prints, and what it refuses.
#include "tuner/cli/run/simulate_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/instant_sweep.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

class StillClock final : public Clock {
 public:
  Instant Now() const override { return Instant{0}; }
};

class SimulateCommandTest : public ::testing::Test {
 protected:
  SimulateCommandTest() {
    options_.space_path = folder_.path() + "/space.yaml";
    options_.workers = 2;
    Write("space.yaml",
          "metric: loss\nmode: min\nsamples: 4\nspace: {x: {uniform: [0, 1]}}\n"
          "trainable: {curve: {value: x, iterations: 9, seconds: 1}}\n");
  }

  std::string Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_.path() + "/" + name) << text;
    return folder_.path() + "/" + name;
  }

  Answer Simulate() const {
    return AnswerOf(
        [&](auto& out, auto& err) { return SimulateCommand(options_, StillClock(), out, err); });
  }

  TempFolder folder_{true};
  SimulateOptions options_;
};

TEST_F(SimulateCommandTest, SaysWhatASweepCameTo) {
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.out, HasSubstr("trials         4 (0 stopped early, 0 failed)\n"
                                    "epochs         36\n"
                                    "duration       18.0 s on 2 workers, 1 trial on each\n"
                                    "best           loss = "));
}

TEST_F(SimulateCommandTest, ATextThatTheFormulaTakesForANumberIsRefusedAsARunRefusesIt) {
  Write("space.yaml",
        "metric: loss\nmode: min\nsamples: 4\nspace: {x: {choice: ['1', '2']}}\n"
        "trainable: {curve: {value: x + t, iterations: 9}}\n");
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("'x' is a string, and the expression needs a number"));
}

TEST_F(SimulateCommandTest, PutsSchedulersSideBySide) {
  options_.samples = 50;
  options_.compare = {"asha", "fifo"};
  options_.schedulers = {"{asha: {max_t: 9, reduction_factor: 2}}"};
  options_.format = OutputFormat::kJson;
  const Answer answer = Simulate();
  ASSERT_EQ(answer.status, 0) << answer.err;
  const auto rows = ParseJson(answer.out);
  ASSERT_TRUE(rows.ok());
  ASSERT_EQ(rows->AsList().size(), 3u);
  const Value& fifo = rows->AsList()[1];
  EXPECT_EQ(fifo.Find("epochs")->AsInt(), 450);
  EXPECT_EQ(*fifo.Find("best_value"), *fifo.Find("best_at_100"));
  EXPECT_LT(rows->AsList()[0].Find("epochs")->AsInt(), 450);
  EXPECT_EQ(rows->AsList()[2].Find("scheduler")->AsString(), options_.schedulers[0]);
  options_.format = OutputFormat::kTable;
  EXPECT_THAT(Simulate().out, HasSubstr("best value by then:\n"));
}

TEST_F(SimulateCommandTest, TheLastTenthHasWhatIsReportedAtTheVeryEnd) {
  Write("space.yaml",
        "metric: loss\nmode: min\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\n"
        "trainable: {curve: {value: x - t, iterations: 9, seconds: 0.000003}}\n");
  options_.format = OutputFormat::kJson;
  const Value row = ParseJson(Simulate().out)->AsList()[0];
  EXPECT_EQ(*row.Find("best_value"), *row.Find("best_at_100"));
}

TEST_F(SimulateCommandTest, SaysThatNothingIsLearnedFromAnEarlierSweep) {
  Write("space.yaml",
        "metric: loss\nmode: min\nsamples: 4\nspace: {x: {uniform: [0, 1]}}\nfrom: before\n"
        "search: {algorithm: tpe}\ntrainable: {curve: {value: x, iterations: 9, seconds: 1}}\n");
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 0);
  EXPECT_THAT(answer.err,
              HasSubstr("warning: from: before: a simulated search learns nothing from it\n"));
}

TEST_F(SimulateCommandTest, PlaysSeveralSeeds) {
  options_.seeds = 3;
  options_.format = OutputFormat::kJson;
  const Answer answer = Simulate();
  ASSERT_EQ(answer.status, 0) << answer.err;
  const Value rows = *ParseJson(answer.out);
  ASSERT_EQ(rows.AsList().size(), 3u);
  double sum = 0;
  for (int64_t i = 0; i < 3; ++i) {
    const Value& row = rows.AsList()[static_cast<size_t>(i)];
    EXPECT_EQ(row.Find("seed")->AsInt(), i);
    sum += row.Find("best_value")->AsDouble();
  }
  EXPECT_NE(*rows.AsList()[0].Find("best_value"), *rows.AsList()[1].Find("best_value"));
  options_.format = OutputFormat::kTable;
  EXPECT_THAT(Simulate().out, HasSubstr(ShortNumber(sum / 3)));
}

TEST_F(SimulateCommandTest, ReplaysATable) {
  options_.curves = Write("curves.csv", "x,iteration,loss\n0.5,1,3\n0.5,2,2\n0.25,1,4\n");
  options_.samples = 2;
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("best           loss = 2 of trial "));
  EXPECT_THAT(answer.out, HasSubstr("configuration  x=0.5\n"));
  EXPECT_THAT(answer.err, HasSubstr("1 of 2 recorded curves are shorter than the longest, 2 "));
}

TEST_F(SimulateCommandTest, ATrialThatDivergedIsStoppedInAReplayAsInASweep) {
  std::string table = "x,iteration,loss\n";
  for (int iteration = 1; iteration <= 9; ++iteration) {
    for (const char* const x : {"0.1", "0.2", "0.3"}) {
      table += x + (("," + std::to_string(iteration)) + ",1\n");
    }
    table += "0.4," + std::to_string(iteration) + (iteration < 3 ? ",1\n" : ",nan\n");
  }
  options_.curves = Write("curves.csv", table);
  options_.samples = 4;
  options_.schedulers = {"{asha: {max_t: 9, grace_period: 3, reduction_factor: 3}}"};
  options_.format = OutputFormat::kJson;
  const Answer answer = Simulate();
  ASSERT_EQ(answer.status, 0) << answer.err;
  EXPECT_LE(ParseJson(answer.out)->AsList()[0].Find("epochs")->AsInt(), 3 * 9 + 3);
}

TEST_F(SimulateCommandTest, ReplaysAnEarlierSweep) {
  const testing::WrittenSweep written =
      testing::WriteInstantSweep({.samples = 6, .iterations = 5}, folder_.path());
  // It writes a space of its own.
  options_.curves = folder_.path() + "/tune.db:space";
  options_.samples = 6;
  options_.format = OutputFormat::kJson;
  const Answer answer = Simulate();
  ASSERT_EQ(answer.status, 0) << answer.err;
  const Value row = ParseJson(answer.out)->AsList()[0];
  EXPECT_EQ(row.Find("epochs")->AsInt(), written.reports);
  // Reports are 10 ms apart; the last ones of six trials wait for those of the others.
  EXPECT_GT(row.Find("busy_seconds")->AsDouble(), 0.01 * 6);

  options_.curves = folder_.path() + "/tune.db:spice";
  EXPECT_THAT(Simulate().err, HasSubstr("no sweep is named 'spice'; did you mean 'space'?"));
}

TEST_F(SimulateCommandTest, PlaysWhatWasToldOfTrialsThatOthersRun) {
  options_.curves = folder_.path() + "/tune.db:told";
  {
    const auto store = OpenStore(folder_.path() + "/tune.db");
    NewExperiment wanted = SampleExperiment("told");
    wanted.spec = R"({"name":"told","metric":"loss","mode":"min","trainable":"ask-tell",)"
                  R"("space":{"x":{"uniform":[0,1]}}})";
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok()) << experiment.status().message();
    Transition rows;
    NewTrialRow trial;
    trial.trial.number = TrialNumber{0};
    trial.trial.created_at = kSampleStart;
    trial.configuration.Set("x", 0.5);
    rows.new_trials = {trial};
    for (const int64_t iteration : {1, 2}) {
      ReportRow& report = rows.reports.emplace_back(SampleReport(0, 1, iteration, 0.25));
      report.metrics = {{"loss", 0.25}};
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr("best           loss = 0.25"));
}

TEST_F(SimulateCommandTest, AMetricExpressionIsComputedFromRecordedParts) {
  Write("space.yaml",
        "metric: \"loss * 2 + cost\"\nmode: min\nsamples: 1\nspace: {x: {uniform: [0, 1]}}\n");
  options_.curves = Write("parts.csv", "x,iteration,loss,cost\n0.5,1,3,1\n0.5,2,2,0.5\n");
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr(" = 4.5 of trial 0 at iteration 2"));
  options_.curves = Write("part.csv", "x,iteration,loss\n0.5,1,3\n");
  EXPECT_THAT(Simulate().err, HasSubstr("there is no column 'cost'"));
}

TEST_F(SimulateCommandTest, SaysOfAnEarlierSweepThatItIsOfAnotherSpace) {
  testing::WriteInstantSweep({.samples = 2, .iterations = 2}, folder_.path());
  Write("space.yaml", "metric: loss\nmode: min\nspace: {y: {uniform: [0, 1]}}\n");
  options_.curves = folder_.path() + "/tune.db";
  const Answer answer = Simulate();
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("tune.db: trial space/0: y: has no value"));
}

TEST_F(SimulateCommandTest, RefusesWhatItCannotUse) {
  const auto error_with = [this](auto change) {
    const SimulateOptions kept = options_;
    change(options_);
    const Answer answer = Simulate();
    options_ = kept;
    EXPECT_EQ(answer.status, 2);
    EXPECT_EQ(answer.out, "");
    return answer.err;
  };
  EXPECT_THAT(error_with([](auto& o) { o.curves = "/no/such.csv"; }),
              StartsWith("tune: --curves: there is no file /no/such.csv"));
  EXPECT_THAT(error_with([this](auto& o) { o.curves = folder_.path(); }), HasSubstr("is a folder"));
  EXPECT_THAT(error_with([this](auto& o) { o.curves = o.space_path + ":name"; }),
              HasSubstr("is not a database"));
  EXPECT_THAT(error_with([](auto& o) { o.workers = 0; }), StartsWith("tune: --workers: read 0"));
  EXPECT_THAT(error_with([](auto& o) { o.seeds = 0; }), StartsWith("tune: --seeds: read 0"));
  EXPECT_THAT(error_with([](auto& o) { o.compare = {"fifi"}; }), HasSubstr("did you mean 'fifo'"));
  EXPECT_THAT(error_with([](auto& o) {
                o.compare = {"asha", "fifo", "asha"};
              }),
              StartsWith("tune: --compare: 'asha' stands there twice"));
  EXPECT_THAT(error_with([](auto& o) { o.schedulers = {"{asha: {max: 3}}"}; }),
              StartsWith("tune: --scheduler: 1:9: "));
  EXPECT_THAT(error_with([this](auto& o) { o.curves = Write("c.csv", "x\n"); }),
              HasSubstr("c.csv:1:1: there is no column"));
  Write("space.yaml",
        "metric: [loss, cost]\nmode: [min, min]\nspace: {x: {uniform: [0, 1]}}\n"
        "trainable: {curve: {values: {loss: x, cost: 1 - x}}}\n");
  EXPECT_THAT(error_with([](auto& o) {
                o.compare = {"fifo", "asha"};
              }),
              StartsWith("tune: --compare: 'asha': a sweep of several objectives has no value"));
}

}  // namespace
}  // namespace tune
