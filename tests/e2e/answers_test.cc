// What a person asks of an answer: that a wrong name, a crash, a seed and a correction never make
// it a wrong one. The real programs, with scripts as people have them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cstdlib>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

using Rows = std::vector<std::string>;

class Answers : public ::testing::Test {
 protected:
  void WriteScript(const std::string& text) {
    folder_.Write("train.sh", "#!/bin/sh\n" + text);
    chmod((folder_ / "train.sh").c_str(), 0755);
  }
  // `trainable`: what stands beside the command.
  std::string WriteSpace(const std::string& trainable, const std::string& more) {
    return folder_.Write("space.yaml",
                         "name: s\nmetric: acc\nmode: max\nseed: 3\n"
                         "space: {x: {uniform: [0, 1]}}\n"
                         "trainable:\n  command: [./train.sh, \"{x}\"]\n" +
                             trainable + more);
  }
  ProgramResult Run() { return RunTune(folder_, {"run", folder_ / "space.yaml", "--cpus", "1"}); }

  TestFolder folder_;
};

constexpr char kAccuracy[] = "  metrics: {acc: {regex: 'acc {number}'}}\n";

TEST_F(Answers, AMisnamedMetricEndsTheSweepAfterThreeTrialsUnderASchedulerToo) {
  WriteScript("for i in 1 2 3 4; do tune report val_accuracy=$1; done\n");
  for (const char* scheduler :
       {"{asha: {max_t: 4}}", "{hyperband: {max_t: 4}}", "median_stopping"}) {
    SCOPED_TRACE(scheduler);
    WriteSpace("", std::string("samples: 9\nscheduler: ") + scheduler + "\n");
    RunTune(folder_, {"delete", "s", "--yes"});
    const ProgramResult result =
        RunTune(folder_, {"run", folder_ / "space.yaml", "--cpus", "1", "--set", "metric=val_acc"});
    EXPECT_EQ(result.exit_status, 3) << result.err;
    EXPECT_THAT(result.err,
                AllOf(HasSubstr("reports val_accuracy; the sweep wants val_acc"),
                      HasSubstr("did you mean 'val_accuracy'?"), HasSubstr("the sweep ends")));
    EXPECT_EQ(Query(folder_, "select count(*) from trials where status = 'ERROR'"), Rows{"3"});
  }
}

TEST_F(Answers, ATrialThatCrashedWithTheBestValueIsToldAndIsNotTheBest) {
  WriteScript("echo acc $1\ntest \"$TUNE_TRIAL\" != 1 || { echo acc 7; exit 3; }\n");
  WriteSpace(kAccuracy, "samples: 4\nfailure: {max_failures: 0}\n");
  const ProgramResult result = Run();
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("trial 1 failed after iteration 2 with a better value, 7"),
                    Not(HasSubstr("best trial      1"))));
  const ProgramResult best = RunTune(folder_, {"best", "s"});
  EXPECT_THAT(best.out, Not(HasSubstr("trial 1:")));
  const ProgramResult with_failed = RunTune(folder_, {"best", "s", "--with-failed"});
  EXPECT_THAT(with_failed.out, HasSubstr("7"));
}

TEST_F(Answers, EachRepetitionAndEachRetrainingHasASeedOfItsOwn) {
  WriteScript(
      "echo seed $TUNE_SEED of $TUNE_SWEEP_SEED >> seeds\n"
      "awk -v s=$TUNE_SEED 'BEGIN {srand(s); print \"acc\", rand()}'\n");
  WriteSpace(kAccuracy, "samples: 2\nsearch: {algorithm: random, repeat: 3}\n");
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(Query(folder_, "select count(*), count(distinct best_value) from trials"), Rows{"6|3"});
  const ProgramResult retrained = RunTune(folder_, {"retrain", "s", "--seeds", "3", "--cpus", "1"});
  EXPECT_EQ(retrained.exit_status, 0) << retrained.err;
  EXPECT_EQ(Query(folder_,
                  "select count(*), count(distinct best_value) from trials"
                  " where experiment = (select max(id) from experiments)"),
            Rows{"3|3"});
  std::ifstream seeds(folder_ / "seeds");
  std::set<std::string> told;
  int count = 0;
  for (std::string line; std::getline(seeds, line); ++count) told.insert(line);
  EXPECT_EQ(count, 9);
  EXPECT_EQ(told.size(), 6u);  // A configuration's n-th run has the seed of the other's n-th.
}

TEST_F(Answers, AResumeTakesWhatWasCorrectedAndRefusesAnotherSeed) {
  WriteScript("echo \"val acc $SIGN$1\"\n");
  WriteSpace("  metrics: {acc: {regex: 'accuracy {number}'}}\n", "samples: 6\n");
  EXPECT_EQ(Run().exit_status, 3);
  const std::string more = "samples: 6\nresources: {cpu: 0.5}\n";
  const std::string corrected =
      "  env: {SIGN: '-'}\n  metrics: {acc: {regex: 'val acc {number}'}}\n";
  WriteSpace(corrected, more);
  ProgramResult result =
      RunTune(folder_, {"resume", "s", "--errored", "--space", folder_ / "space.yaml", "--set",
                        "seed=4", "--cpus", "1"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("seed: 4, where the sweep has 3"));
  EXPECT_EQ(Query(folder_, "select count(*) from trials where status = 'ERROR'"), Rows{"3"});
  result = RunTune(folder_,
                   {"resume", "s", "--errored", "--space", folder_ / "space.yaml", "--cpus", "1"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("from now on trainable.metrics.acc.regex is"),
                                HasSubstr("from now on trainable.env is"),
                                HasSubstr("from now on resources.cpu is 0.5")));
  EXPECT_EQ(Query(folder_, "select count(*) from trials where number < 3 and best_value < 0"),
            Rows{"3"});
  folder_.Write("other.sh", "#!/bin/sh\necho \"val acc 5\"\n");
  chmod((folder_ / "other.sh").c_str(), 0755);
  result = RunTune(folder_, {"resume", "s", "--samples", "8", "--set",
                             "trainable.command=[./other.sh, \"{x}\"]", "--cpus", "1"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder_, "select best_value from trials where number >= 6"),
            (Rows{"5.0", "5.0"}));
  WriteSpace(corrected, "samples: 9\nresources: {cpu: 0.5}\n");
  result = RunTune(folder_, {"resume", "s", "--space", folder_ / "space.yaml", "--cpus", "1"});
  EXPECT_THAT(result.err, HasSubstr("from now on samples is 9, was 8"));
}

TEST_F(Answers, ANameWithEscapesDoesNothingToTheTerminal) {
  WriteScript("tune report \"$(printf 'a\\033[31mc\\033]0;pwn\\007')=$1\"\n");
  WriteSpace("", "samples: 1\n");
  const ProgramResult result = Run();
  EXPECT_THAT(result.err, HasSubstr("reports a\\x1b[31mc"));
  for (const std::string& text : {result.err, result.out}) {
    EXPECT_EQ(text.find_first_of("\033\007"), std::string::npos) << text;
  }
}

TEST_F(Answers, ATrialThatReportsNanStopsAtItsFirstRungAndIsNotTheBest) {
  WriteScript(
      "for i in 1 2 3 4; do test \"$TUNE_TRIAL\" = 1 && echo acc nan || echo acc 0.$i; done\n");
  WriteSpace(kAccuracy, "samples: 3\nscheduler: {asha: {max_t: 4, grace_period: 1}}\n");
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(Query(folder_, "select stop_reason, best_value is null from trials where number = 1"),
            Rows{"scheduler|1"});
  EXPECT_THAT(RunTune(folder_, {"best", "s"}).out, Not(HasSubstr("trial 1")));
}

TEST_F(Answers, OfTwoObjectivesTableAndFrontShowTheSameReport) {
  WriteScript("for i in 1 2 3; do echo \"a: $i b: $((4 - i))\"; done\n");
  WriteSpace("  metrics: {a: {regex: 'a: {number}'}, b: {regex: 'b: {number}'}}\n", "samples: 2\n");
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"run", folder_ / "space.yaml", "--cpus", "1", "--set",
                                          "metric=[a, b]", "--set", "mode=[max, max]"})));
  const ProgramResult table = RunTune(folder_, {"results", "s"});
  EXPECT_EQ(RunTune(folder_, {"results", "s", "--best"}).out, table.out);
  EXPECT_THAT(table.err, HasSubstr("each trial's last report that has all of a and b"));
  EXPECT_THAT(table.out, HasSubstr("0  TERMINATED  3  1"));
}

// The whole way: metrics from the output, the searcher, the rung, the answer, and a sweep that was
// interrupted and goes on.
TEST_F(Answers, ResultsThatKeepTheLimitsComeFirstAlsoAfterAnInterruption) {
  WriteScript(
      "python3 -c \"x = float('$1')\nfor t in (1, 2): print('acc', x, 'ms', 40 * x, "
      "flush=True)\"\n");
  WriteSpace("  metrics: {acc: {regex: 'acc {number}'}, ms: {regex: 'ms {number}'}}\n",
             "samples: 20\nsearch: {algorithm: gp}\nfeasible: [\"ms <= 20\"]\n"
             "limits: {max_concurrent: 1}\n");
  Program tune(folder_, "tune", {"run", folder_ / "space.yaml", "--cpus", "1"});
  ASSERT_TRUE(tune.WaitForLine(
      [](const std::string& line) { return line.find("trial 4 ended") != std::string::npos; }));
  tune.Signal(SIGKILL);
  tune.Wait();
  const ProgramResult resumed = RunTune(folder_, {"resume", "s", "--cpus", "1"});
  ASSERT_TRUE(Succeeded(resumed));
  EXPECT_THAT(resumed.out, HasSubstr("limits          feasible"));
  const std::string best =
      "select number, violation = 0 from trials order by coalesce(violation, 0), best_value desc "
      "limit 1";
  const Rows first = Query(folder_, best);
  EXPECT_THAT(first[0], HasSubstr("|1"));
  EXPECT_EQ(Query(folder_, "select count(*) from trials where feasible and best_value > 0.49"),
            Query(folder_,
                  "select count(*) from trials where best_value > 0.49 and best_value <= "
                  "0.5"));
  // One that was left alone ends with the same trials.
  RunTune(folder_, {"delete", "s", "--yes"});
  ASSERT_TRUE(Succeeded(Run()));
  EXPECT_EQ(Query(folder_, best), first);
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"run", folder_ / "space.yaml", "--cpus", "1", "--set",
                                          "feasible=[ms <= -1]", "--name", "none"})));
  const ProgramResult none = RunTune(folder_, {"best", "none"});
  EXPECT_THAT(none.err, HasSubstr("warning: no trial is feasible: none kept ms <= -1"));
}

TEST_F(Answers, AProgramThatHangsBeforeItsFirstReportIsToldWithTheRemedy) {
  WriteScript("test \"$TUNE_TRIAL\" != 5 || exec sleep 1000\necho acc $1\n");
  WriteSpace(kAccuracy, "samples: 6\nlimits: {max_concurrent: 1}\n");
  Program tune(folder_, "tune", {"run", folder_ / "space.yaml", "--cpus", "1"});
  std::string told;
  ASSERT_TRUE(tune.WaitForLine([&](const std::string& line) {
    told = line;
    return line.find("has been silent for") != std::string::npos;
  }));
  EXPECT_THAT(told, AllOf(HasSubstr("trial 5 has been silent for"),
                          HasSubstr("tune stop s --trial 5 --now ends it")));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"stop", "s", "--trial", "5", "--now"})));
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

TEST_F(Answers, AScriptThatMayNotBeReadIsToldBeforeAnythingRuns) {
  const std::string as_nobody = "setpriv --reuid=65534 --regid=65534 --clear-groups ";
  if (std::system((as_nobody + "test -x " + BinDir() + "/tune 2>/dev/null").c_str()) != 0) {
    GTEST_SKIP() << "nobody cannot run the programs here";
  }
  folder_.Write("train.py", "print('acc 1')\n");
  chmod((folder_ / "train.py").c_str(), 0);
  chmod(folder_.path().c_str(), 0777);
  WriteSpace(kAccuracy, "samples: 1\n");
  const std::string run = "cd " + folder_.path() + " && " + as_nobody + BinDir() +
                          "/tune run space.yaml --dry-run --set "
                          "'trainable.command=[python3, train.py, \"{x}\"]' 2> said";
  EXPECT_NE(std::system(run.c_str()), 0);
  std::ifstream said(folder_ / "said");
  std::string line;
  std::getline(said, line);
  EXPECT_THAT(line, AllOf(HasSubstr("train.py"), HasSubstr("read")));
}

TEST_F(Answers, WhySaysWhatPatienceComparedAndNothingOfRungs) {
  WriteScript("for i in 5 4 6 7 8; do echo acc 0.$i; done\n");
  WriteSpace(kAccuracy, "samples: 1\nscheduler: {patience: {patience: 1}}\n");
  RunTune(folder_, {"run", folder_ / "space.yaml", "--cpus", "1", "--set", "mode=min"});
  const ProgramResult why = RunTune(folder_, {"why", "s/0"});
  EXPECT_THAT(why.out, AllOf(HasSubstr("stopped by patience at check 4: acc was 0.7, the cutoff "
                                       "was 0.4"),
                             Not(HasSubstr("rank")), Not(HasSubstr("rung"))));
}

TEST_F(Answers, HelpIsThereByEachOfItsWays) {
  EXPECT_THAT(RunTune(folder_, {}).out, HasSubstr("usage: tune [--db FILE] COMMAND"));
  EXPECT_EQ(RunTune(folder_, {"help", "run"}).out, RunTune(folder_, {"run", "--help"}).out);
  WriteScript("echo acc $1\n");
  WriteSpace(kAccuracy, "samples: 2\n");
  ASSERT_TRUE(Succeeded(Run()));
  const ProgramResult why = RunTune(folder_, {"why", "s", "1"});
  EXPECT_THAT(why.out, HasSubstr("trial s/1"));
  EXPECT_EQ(RunTune(folder_, {"why", "s/1"}).out, why.out);
}

TEST_F(Answers, ASweepInAnotherSpaceIsAPriorWhichARestartHasToo) {
  const auto sweep = [&](const std::string& name, const std::string& more) {
    return folder_.Write(name + ".yaml",
                         "metric: loss\nmode: min\nseed: 3\n"
                         "trainable: {curve: {value: \"(x - 0.3)^2\", iterations: "
                         "1}}\nlimits: {max_concurrent: 1}\n" +
                             more);
  };
  const auto run = [&](const std::string& space, const std::string& name,
                       const std::string& samples) {
    return RunTune(folder_,
                   {"run", space, "--name", name, "--cpus", "1", "--set", "samples=" + samples});
  };
  ASSERT_TRUE(Succeeded(run(sweep("before",
                                  "space: {x: {uniform: [0, 1]}, old: {uniform: [0, 1]}}\n"
                                  "search: {algorithm: sobol}\n"),
                            "before", "20")));
  const std::string later =
      sweep("later",
            "space: {x: {uniform: [0, 0.9]}, new: {uniform: [0, 1]}}\nfrom: {prior: before}\n"
            "search: {algorithm: gp}\n");
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"plan", later})));
  const ProgramResult whole = run(later, "whole", "16");
  ASSERT_TRUE(Succeeded(whole));
  EXPECT_THAT(whole.err, AllOf(HasSubstr(" trials of before; "), HasSubstr("do not fit this space"),
                               HasSubstr("the prior explains a part of the results")));
  ASSERT_TRUE(Succeeded(run(later, "parts", "12")));
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"resume", "parts", "--samples", "16", "--cpus", "1"})));
  const auto trials = [&](const std::string& name) {
    return Query(folder_,
                 "select t.config from trials as t join experiments as e on e.id = "
                 "t.experiment where e.name = '" +
                     name + "' order by number");
  };
  EXPECT_EQ(trials("parts"), trials("whole"));
  EXPECT_EQ(trials("whole").size(), 16u);
  // Its first one is the best of the prior.
  EXPECT_EQ(Query(folder_,
                  "select abs(json_extract(config, '$.x') - 0.3) < 0.05 from trials as t "
                  "join experiments as e on e.id = t.experiment where e.name = 'whole' and "
                  "number = 0"),
            Rows{"1"});
  EXPECT_THAT(
      RunTune(folder_, {"run", later, "--name", "other", "--set", "search.algorithm=tpe"}).err,
      HasSubstr("it is gp that learns from a prior"));
  EXPECT_THAT(RunTune(folder_, {"run", later, "--name", "other", "--set", "from.prior=befoer"}).err,
              HasSubstr("did you mean 'before'?"));
}

}  // namespace
}  // namespace tune::testing
