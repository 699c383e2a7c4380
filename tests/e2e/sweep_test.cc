// Whole sweeps with the real programs: tune, its local worker, trial processes, gRPC, SQLite.
#include <gtest/gtest.h>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

// `more` goes into the trainable, `rest` to the end.
std::string CurveSpace(const std::string& more = "", const std::string& rest = "") {
  return CurveSweep("    iterations: 9\n" + more, "samples: 16\n" + rest);
}

// Four trials of the classifier, with images that are made up; `rest` goes to the end.
std::string ClassifierSpace(const std::string& width_mult, int total_epochs,
                            const std::string& rest) {
  return "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 4\nseed: 3\n"
         "space:\n  data: synthetic\n  image_size: 32\n  width_mult: " +
         width_mult +
         "\n  lr: {loguniform: [0.0003, 0.01]}\n  batch_size: {choice: [16, 32]}\n"
         "  total_epochs: " +
         std::to_string(total_epochs) + "\n" + rest;
}

TEST(Sweep, RunsToItsEndAndEverythingIsInTheDatabase) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", CurveSpace("", kAsha));
  const ProgramResult result = RunTune(folder, {"run", space, "--cpus", "4"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_NE(result.out.find("best"), std::string::npos) << result.out;
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'TERMINATED'"),
            std::vector<std::string>{"16"});
  EXPECT_EQ(Query(folder, "select name, metric, mode, status, seed, samples from experiments"),
            std::vector<std::string>{"space|loss|min|FINISHED|11|16"});
  EXPECT_EQ(
      Query(folder, "select count(*) from params where name = 'x' and typeof(value) = 'real'"),
      std::vector<std::string>{"16"});
  // Each report was decided once, and someone was stopped early.
  EXPECT_EQ(
      Query(folder, "select (select count(*) from reports) = (select count(*) from decisions)"),
      std::vector<std::string>{"1"});
  EXPECT_NE(Query(folder, "select count(*) from trials where stop_reason = 'scheduler'"),
            std::vector<std::string>{"0"});
  EXPECT_EQ(
      Query(folder, "select count(*) from attempts where outcome not in ('completed', 'stopped')"),
      std::vector<std::string>{"0"});
  // The lock is gone with the tuner.
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.db.lock"));
}

TEST(Sweep, ASeedIsARunWhateverTheNumberOfWorkers) {
  TestFolder one;
  TestFolder many;
  ASSERT_TRUE(
      Succeeded(RunTune(one, {"run", one.Write("space.yaml", CurveSpace()), "--cpus", "1"})));
  ASSERT_TRUE(
      Succeeded(RunTune(many, {"run", many.Write("space.yaml", CurveSpace()), "--cpus", "8"})));
  EXPECT_EQ(FinalTable(one), FinalTable(many));
}

TEST(Sweep, ATrialProcessThatDiesIsRetriedFromItsLastIteration) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", CurveSpace("    crash: 0.1\n", "failure: {max_failures: 50}\n"));
  const ProgramResult result = RunTune(folder, {"run", space, "--cpus", "4"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(
      Query(folder, "select count(*) from trials where status = 'TERMINATED' and iterations = 9"),
      std::vector<std::string>{"16"});
  EXPECT_NE(Query(folder, "select count(*) from attempts where outcome = 'crashed'"),
            std::vector<std::string>{"0"});
  EXPECT_NE(Query(folder, "select count(*) from attempts where from_iteration > 0"),
            std::vector<std::string>{"0"});
  EXPECT_EQ(Query(folder,
                  "select count(*) from (select 1 from reports group by trial, iteration having "
                  "count(*) > 1)"),
            std::vector<std::string>{"0"});
}

TEST(Sweep, ATrialThatKeepsDyingIsAnErrorAndTheOthersGoOn) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", CurveSpace("    crash: 0.5\n", "failure: {max_failures: 1}\n"));
  const ProgramResult result = RunTune(folder, {"run", space, "--cpus", "4"});
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_EQ(Query(folder, "select status from experiments"), std::vector<std::string>{"FINISHED"});
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'ERROR' and attempts <> 2"),
            std::vector<std::string>{"0"});
}

TEST(Sweep, TheDatabaseAnswersWhileTheSweepRuns) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", CurveSpace("    seconds: 0.02\n"));
  Program tune(folder, "tune", {"run", space, "--cpus", "2"});
  ASSERT_TRUE(tune.WaitForText("ended"));
  EXPECT_EQ(Query(folder, "select status from experiments"), std::vector<std::string>{"RUNNING"});
  EXPECT_FALSE(Query(folder,
                     "select number, status, stop_reason, iterations, best_value from trials order "
                     "by best_value desc")
                   .empty());
  const ProgramResult status = RunTune(folder, {"status"});
  EXPECT_EQ(status.exit_status, 0) << status.err;
  EXPECT_NE(status.out.find("RUNNING"), std::string::npos) << status.out;
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

TEST(Sweep, CtrlCStopsCleanlyAndResumeEndsWithTheSameAnswer) {
  TestFolder folder;
  const std::string text =
      CurveSpace("    seconds: 0.02\n", std::string(kAsha) + "limits: {max_concurrent: 1}\n");
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", text)});
  ASSERT_TRUE(tune.WaitForText("ended"));
  tune.Signal(SIGINT);
  const ProgramResult interrupted = tune.Wait();
  EXPECT_EQ(interrupted.exit_status, 130) << interrupted.err;
  EXPECT_NE((interrupted.err + interrupted.out).find("tune resume"), std::string::npos)
      << interrupted.err;
  EXPECT_EQ(Query(folder, "select status from experiments"),
            std::vector<std::string>{"INTERRUPTED"});
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'RUNNING'"),
            std::vector<std::string>{"0"});

  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

TEST(Sweep, UnderNohupAHangUpIsNoEnd) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", CurveSpace());
  const auto before = signal(SIGHUP, SIG_IGN);
  Program tune(folder, "tune", {"run", space});
  signal(SIGHUP, before);
  ASSERT_TRUE(tune.WaitForText("sweep "));
  tune.Signal(SIGHUP);
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

TEST(Sweep, UnderAParentThatIgnoresTheEndsOfChildrenTrialsMayCrash) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", CurveSpace("    crash: 0.1\n", "failure: {max_failures: 50}\n"));
  const auto before = signal(SIGCHLD, SIG_IGN);
  Program tune(folder, "tune", {"run", space});
  signal(SIGCHLD, before);
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_NE(Query(folder, "select count(*) from attempts where outcome = 'crashed'"),
            std::vector<std::string>{"0"});
}

TEST(Sweep, GoesOnWhenNobodyReadsWhatItSays) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace());
  const std::string command = "cd '" + folder.path() + "' && (" + BinDir() +
                              "/tune run space.yaml 2>&1; echo $? > status) | true";
  ASSERT_EQ(std::system(command.c_str()), 0);  // The shell waits for both ends.
  int status = -1;
  std::ifstream(folder / "status") >> status;
  EXPECT_EQ(status, 0);
  EXPECT_EQ(Query(folder, "select status from experiments"), std::vector<std::string>{"FINISHED"});
}

TEST(Sweep, AfterKillMinusNineNothingIsLeftAndResumeEndsWithTheSameAnswer) {
  TestFolder folder;
  const std::string text =
      CurveSpace("    seconds: 0.05\n", std::string(kAsha) + "limits: {max_concurrent: 1}\n");
  const std::string space = folder.Write("space.yaml", text);
  for (int life = 0; life < 3; ++life) {
    Program tune(
        folder, "tune",
        life == 0 ? std::vector<std::string>{"run", space} : std::vector<std::string>{"resume"});
    tune.WaitForText("ended");
    tune.Signal(SIGKILL);
    // Standard error is inherited by the worker: its end is theirs too.
    EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
  }
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
  EXPECT_EQ(Query(folder, "select count(*) from attempts where outcome = 'running'"),
            std::vector<std::string>{"0"});
}

TEST(Sweep, ResumeOfAFinishedSweepDoesNothingAndMoreSamplesExtendIt) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", CurveSpace("", kAsha));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space, "--samples", "4"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(Query(folder, "select count(*) from trials"), std::vector<std::string>{"4"});
  const ProgramResult extended = RunTune(folder, {"resume", "--samples", "9"});
  EXPECT_EQ(extended.exit_status, 0) << extended.err;
  EXPECT_EQ(Query(folder, "select count(*), samples from trials, experiments"),
            std::vector<std::string>{"9|9"});
}

TEST(Sweep, TheNewTotalOfAResumeIsHeldToTheRulesOfTheFile) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml",
                   "trainable: {curve: {value: \"x\"}}\nmetric: loss\nmode: min\nsamples: 2\n"
                   "space: {x: {grid_search: [1, 2, 3]}}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  // The last but one has more trials in its grid than a sweep may have; the last is below its own.
  for (const std::string total : {"-2", "0", "9000000000000000000", "4000000", "1"}) {
    const ProgramResult result = RunTune(folder, {"resume", "--samples", total});
    EXPECT_EQ(result.exit_status, 2) << total << ": " << result.err;
    EXPECT_NE(result.err.find("samples"), std::string::npos) << result.err;
    EXPECT_EQ(Query(folder, "select status, samples from experiments"),
              std::vector<std::string>{"FINISHED|2"});
  }
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume", "--samples", "3"})));
  EXPECT_EQ(Query(folder, "select count(*) from trials"), std::vector<std::string>{"9"});
}

TEST(Sweep, APortThatIsTakenIsNamedAndNothingIsMade) {
  TestFolder holder;
  Program tune(
      holder, "tune",
      {"run", holder.Write("space.yaml", CurveSpace()), "--cpus", "0", "--listen", FreePlace()});
  const std::string address = WaitForJoinLine(tune).address;
  ASSERT_NE(address, "");
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", CurveSpace());
  const ProgramResult second = RunTune(folder, {"run", space, "--listen", address});
  EXPECT_EQ(second.exit_status, 2) << second.err;
  EXPECT_NE(second.err.find(address), std::string::npos) << second.err;
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"space.yaml"});
}

TEST(Sweep, ASweepToWhichNoWorkerComesEndsInTimeAndCanBeResumed) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", CurveSpace("", "limits: {unplaceable: 50ms}\n"));
  const ProgramResult result =
      RunTune(folder, {"run", space, "--cpus", "0", "--listen", FreePlace()});
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_EQ(RunTune(folder, {"attach"}).exit_status, 3);
  EXPECT_NE(result.err.find("no worker is there; the sweep ends after waiting 50 ms"),
            std::string::npos)
      << result.err;
  EXPECT_EQ(Query(folder, "select status from experiments"),
            std::vector<std::string>{"INTERRUPTED"});
}

TEST(Sweep, FractionsOfALogicalGpuBoundWhatRunsAtATime) {
  TestFolder folder;
  const std::string space = folder.Write(
      "space.yaml", CurveSpace("    seconds: 0.005\n", "resources: {cpu: 1, gpu: 0.5}\n"));
  const ProgramResult result = RunTune(folder, {"run", space, "--cpus", "8", "--gpus", "1"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  // At no attempt's start were more than two running, itself included.
  EXPECT_EQ(
      Query(folder,
            "select count(*) from attempts a where 2 < (select count(*) from attempts b where "
            "b.started_at <= a.started_at and b.finished_at > a.started_at)"),
      std::vector<std::string>{"0"});
}

TEST(Sweep, ASecondTunerOnTheSameDatabaseIsRefusedByName) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", CurveSpace("    seconds: 0.02\n"));
  Program tune(folder, "tune", {"run", space, "--cpus", "1"});
  ASSERT_TRUE(tune.WaitForText("ended"));
  const ProgramResult second = RunTune(folder, {"resume"});
  EXPECT_EQ(second.exit_status, 1);
  EXPECT_NE(second.err.find(std::to_string(tune.pid())), std::string::npos) << second.err;
  tune.Signal(SIGTERM);
  EXPECT_EQ(tune.Wait().exit_status, 143);
}

TEST(Sweep, GridTriesEachPointOnce) {
  TestFolder folder;
  const std::string space =
      folder.Write("grid.yaml",
                   "trainable: {curve: {value: \"x + y\"}}\nmetric: loss\nmode: min\nsamples: "
                   "100\nsearch: {algorithm: grid}\n"
                   "space: {x: {choice: [1, 2, 3]}, y: {randint: [0, 2]}}\n");
  const ProgramResult result = RunTune(folder, {"run", space});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select count(*), count(distinct config) from trials"),
            std::vector<std::string>{"6|6"});
}

TEST(Sweep, TheClassifierTrainsItsTrialsAndTheBestOneCanBeExported) {
  TestFolder folder;
  const std::string space = folder.Write(
      "food.yaml",
      ClassifierSpace("0.35", 4, "scheduler: {asha: {max_t: 4, reduction_factor: 2}}\n"));
  const ProgramResult result = RunTune(folder, {"run", space});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'TERMINATED'"),
            std::vector<std::string>{"4"});
  EXPECT_EQ(
      Query(folder,
            "select count(*) from reports where json_extract(metrics, '$.train_loss') is null or "
            "json_extract(metrics, '$.val_loss') is null or json_extract(metrics, "
            "'$.images_per_second') is null"),
      std::vector<std::string>{"0"});
  for (const std::string& path :
       Query(folder, "select path from checkpoints where state = 'durable'")) {
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
  for (const std::string& path :
       Query(folder, "select path from checkpoints where state = 'removed'")) {
    EXPECT_FALSE(std::filesystem::exists(path)) << path;
  }
  const ProgramResult exported = RunTune(folder, {"best", "--export", "model"});
  ASSERT_EQ(exported.exit_status, 0) << exported.err;
  const ProgramResult evaluated =
      RunProgram(folder, "food11", {"evaluate", "--data", "synthetic", "--weights", "model"});
  EXPECT_EQ(evaluated.exit_status, 0) << evaluated.err;
}

// Every other trial goes on from a better one's weights with another learning rate, and nobody
// trains an epoch twice, though no checkpoint is due before the end.
TEST(Sweep, TheClassifierIsTrainedByAPopulation) {
  TestFolder folder;
  const std::string space = folder.Write(
      "food.yaml",
      ClassifierSpace(
          "{choice: [0.35, 0.4]}", 3,
          "scheduler:\n  pbt: {perturbation_interval: 1, synch: true, quantile_fraction: 0.5,\n"
          "        resample_probability: 0.5, hyperparam_mutations: [lr, batch_size]}\n"
          "checkpoint: {every: 10}\n"));
  const ProgramResult result = RunTune(folder, {"run", space});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select count(*) from trials where stop_reason = 'completed'"),
            std::vector<std::string>{"4"});
  EXPECT_EQ(Query(folder, "select count(*) from attempts where outcome = 'bad_config'"),
            std::vector<std::string>{"0"});
  EXPECT_EQ(Query(folder, "select count(*) from lineage"), std::vector<std::string>{"4"});
  EXPECT_EQ(Query(folder, "select count(*), count(distinct trial * 10 + iteration) from reports"),
            std::vector<std::string>{"12|12"});
}

}  // namespace
}  // namespace tune::testing
