// Commands to sweeps, with the real programs: one that runs, one that sleeps, one whose tuner is
// killed meanwhile.
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using Rows = std::vector<std::string>;

// Trials of `iterations`, each of which takes `seconds`.
std::string CurveSpace(int iterations, const std::string& seconds, const std::string& more = "") {
  return CurveSweep(
      "    iterations: " + std::to_string(iterations) + "\n    seconds: " + seconds + "\n" + more,
      "samples: 4\n");
}
constexpr int kForever = 1'000'000;

// `tune run` with two places, both taken and reported from.
std::unique_ptr<Program> RunTwo(const TestFolder& folder, const std::string& space) {
  folder.Write("space.yaml", space);
  auto tune = std::make_unique<Program>(
      folder, "tune", std::vector<std::string>{"run", "space.yaml", "--cpus", "2"});
  EXPECT_TRUE(tune->WaitForText("sweep space"));
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING' and iterations > 0",
              {"2"});
  return tune;
}

Rows StatusOf(const TestFolder& folder, int trial) {
  return Query(folder, "select status from trials where number = " + std::to_string(trial));
}

::testing::AssertionResult Says(const ProgramResult& result, int exit_status,
                                const std::string& words) {
  if (result.exit_status == exit_status &&
      (result.out + result.err).find(words) != std::string::npos) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure()
         << "expected " << exit_status << " and '" << words << "', read " << result.exit_status
         << " and " << result.out << result.err;
}

TEST(Control, ADatabaseHasOneTunerAndOneSocketWhateverLinkNamesIt) {
  TestFolder folder;
  std::filesystem::create_symlink("tune.db", folder / "link.db");  // Before the database is there.
  std::filesystem::create_directory_symlink(".", folder / "here");
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  for (const std::string name : {"link.db", "here/tune.db", "here/link.db"}) {
    EXPECT_TRUE(Says(RunTune(folder, {"--db", name, "resume"}), 1, "is held by the tuner with pid"))
        << name;
  }
  EXPECT_TRUE(
      Says(RunTune(folder, {"--db", "link.db", "stop", "--trial", "1", "--now"}), 0, "is stopped"));
  EXPECT_FALSE(std::filesystem::exists(folder / "link.db.lock"));
  EXPECT_FALSE(std::filesystem::exists(folder / "link.artifacts"));
}

TEST(Control, OneTrialIsPausedGoesOnAndIsStopped) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  EXPECT_TRUE(Says(RunTune(folder, {"pause", "--trial", "0"}), 0, "trial 0 pauses at its next"));
  WaitForRows(folder, "select number from trials where status = 'RUNNING' order by number",
              {"1", "2"});
  EXPECT_EQ(StatusOf(folder, 0), Rows{"PAUSED"});
  EXPECT_TRUE(Says(RunTune(folder, {"pause", "space", "--trial", "0"}), 2, "paused already"));

  EXPECT_TRUE(Says(RunTune(folder, {"unpause", "--trial", "0"}), 0, "trial 0 goes on"));
  EXPECT_EQ(StatusOf(folder, 0), Rows{"PENDING"});  // Both places are taken.
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "--trial", "1", "--now"}), 0, "trial 1 is stopped"));
  EXPECT_EQ(Query(folder, "select status, stop_reason from trials where number = 1"),
            Rows{"TERMINATED|user"});
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "--trial", "1"}), 2, "trial 1 of space is over"));
  WaitForRows(folder, "select number from trials where status = 'RUNNING' order by number",
              {"0", "2"});
  EXPECT_EQ(Query(folder,
                  "select count(*) from attempts join trials on id = trial where trials.number = 0 "
                  "and attempts.number = 2 and from_iteration > 0"),
            Rows{"1"});

  EXPECT_TRUE(Says(RunTune(folder, {"stop"}), 0, "space stops"));
  const ProgramResult result = tune->Wait();
  EXPECT_TRUE(Says(result, 0, "space STOPPED"));
  EXPECT_TRUE(Says(result, 0, "tune pause: trial 0 pauses at its next"));
  EXPECT_EQ(Query(folder, "select distinct status || ' ' || stop_reason from trials"),
            Rows{"TERMINATED user"});
  EXPECT_EQ(Query(folder, "select status from experiments"), Rows{"STOPPED"});
  EXPECT_TRUE(Says(RunTune(folder, {"stop"}), 2, "space is over (STOPPED)"));
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.artifacts/control.sock"));
}

TEST(Control, ANoteAndTagsAreWrittenToAnySweepAtAnyTime) {
  TestFolder folder;
  const std::string small = CurveSweep("    iterations: 1\n", "samples: 2\n");
  folder.Write("small.yaml", small);
  EXPECT_EQ(RunTune(folder, {"run", "small.yaml", "--tag", "a b"}).exit_status, 2);
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.db")) << "nothing is begun";
  ASSERT_TRUE(
      Succeeded(RunTune(folder, {"run", "small.yaml", "--tag", "team=vision", "--tag", "old"})));
  EXPECT_EQ(RunTune(folder, {"note"}).out, "small: old team=vision\n");
  EXPECT_TRUE(Says(RunTune(folder, {"note", "small", "it's over\n2", "--untag", "old"}), 0,
                   "small: team=vision\n  it's over\n  2\n"));
  {
    const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
    EXPECT_TRUE(Says(RunTune(folder, {"note", "small", "--tag", "late"}), 0, "late team=vision"));
    EXPECT_TRUE(Says(RunTune(folder, {"note", "space", "runs"}), 0, "space: no tags\n  runs\n"));
    EXPECT_TRUE(
        Says(RunTune(folder, {"note", "space", "--untag", "x"}), 2, "no tag is called 'x'"));
    EXPECT_TRUE(Says(RunTune(folder, {"note", "spac", "x"}), 2, "did you mean 'space'?"));
    EXPECT_TRUE(Says(RunTune(folder, {"note", "space", "--tag", "a", "--tag", "a=1"}), 2, "twice"));
    tune->Signal(SIGKILL);
    tune->Wait();
  }
  EXPECT_EQ(Query(folder, "select name, note, tags from experiments order by id"),
            (Rows{"small|it's over", "2|{\"late\":\"\",\"team\":\"vision\"}", "space|runs|{}"}));
  EXPECT_EQ(RunTune(folder, {"list", "--names", "--tag", "team=vision", "--tag", "late"}).out,
            "small\n");
  EXPECT_EQ(RunTune(folder, {"list", "--names", "--tag", "team=nlp"}).out, "");
  EXPECT_EQ(RunTune(folder, {"list", "--names", "--tag", "team"}).out, "small\n");
  EXPECT_TRUE(Says(RunTune(folder, {"status", "small"}), 0, "tags       late team=vision\n"));
  EXPECT_TRUE(Says(RunTune(folder, {"doctor"}), 0, "0 problems"));
}

TEST(Control, WhoAsksATunerThatIsStoppedIsToldSoAndIsAnsweredWhenItGoesOn) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  tune->Signal(SIGSTOP);
  Program stop(folder, "tune", {"stop"});
  EXPECT_TRUE(stop.WaitForText(" does not answer; waiting for it for 30.0 s"));
  tune->Signal(SIGCONT);
  EXPECT_TRUE(Says(stop.Wait(), 0, "space stops"));
  EXPECT_TRUE(Says(tune->Wait(), 0, "space STOPPED"));
}

TEST(Control, ASweepIsPausedAndItsTunerLivesOn) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  EXPECT_TRUE(Says(RunTune(folder, {"pause"}), 0, "space is paused"));
  WaitForRows(folder, "select number, status from trials order by number",
              {"0|PAUSED", "1|PAUSED"});
  EXPECT_TRUE(Says(RunTune(folder, {"pause"}), 2, "paused already"));
  EXPECT_TRUE(Says(RunTune(folder, {"set", "max_concurrent=1"}), 0,
                   "limits.max_concurrent is 1, was not set"));
  EXPECT_TRUE(Says(RunTune(folder, {"unpause", "space"}), 0, "space goes on"));
  WaitForRows(folder, "select number from trials where status = 'RUNNING'", {"0"});
  EXPECT_TRUE(Says(RunTune(folder, {"set", "space", "max_concurrent=2"}), 0, "was 1"));
  WaitForRows(folder, "select number from trials where status = 'RUNNING' order by number",
              {"0", "1"});
  tune->Signal(SIGINT);
  EXPECT_EQ(tune->Wait().exit_status, 130);
}

// What counts from now on stands in the database, and a resume knows it.
TEST(Control, AnyLimitCanBeSetWhileASweepGoesOn) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  EXPECT_TRUE(Says(RunTune(folder, {"set", "trial_time=1h", "failure.max_failures=3"}), 0,
                   "limits.trial_time is \"1h\", was not set"));
  EXPECT_EQ(Query(folder,
                  "select json_extract(spec, '$.limits.trial_time'),"
                  " json_extract(spec, '$.failure.max_failures') from experiments"),
            Rows{"1h|3"});
  EXPECT_TRUE(Says(RunTune(folder, {"set", "trial_time=1h"}), 2, "that is how it is set already"));
  EXPECT_TRUE(Says(RunTune(folder, {"set", "trial_time=10ms"}), 0, "was \"1h\""));
  EXPECT_EQ(tune->Wait().exit_status, 0) << "each trial ran for longer than that";
  EXPECT_EQ(Query(folder, "select distinct status, stop_reason from trials"),
            Rows{"TERMINATED|stop_condition"});
}

TEST(Control, ASweepWhoseTimeWasUpGoesOnWithMore) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace(5, "0.02") + "limits: {sweep_time: 10ms}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "space.yaml", "--cpus", "1"})));
  EXPECT_NE(Query(folder, "select count(*) from trials"), Rows{"4"});
  EXPECT_TRUE(Says(RunTune(folder, {"resume", "--set", "seed=4"}), 2, "seed: it keys every draw"));
  EXPECT_TRUE(Says(RunTune(folder, {"resume", "--set", "samples=2"}), 2, "tune resume --samples"));
  const ProgramResult resumed =
      RunTune(folder, {"resume", "--set", "limits.sweep_time=1h", "--cpus", "1"});
  EXPECT_TRUE(Says(resumed, 0, "from now on limits.sweep_time is \"1h\", was \"10ms\""));
  EXPECT_EQ(Query(folder, "select count(*) from trials"), Rows{"4"});
}

TEST(Control, AResumeTakesOtherSettingsAndRefusesAnotherSweep) {
  TestFolder folder;
  const std::string space = CurveSpace(kForever, "0.01");
  {
    const auto tune = RunTwo(folder, space);
    tune->Signal(SIGINT);
    EXPECT_EQ(tune->Wait().exit_status, 130);
  }
  EXPECT_TRUE(Says(RunTune(folder, {"resume", "--set", "mode=max"}), 2,
                   "--set differs from what space was begun with"));
  EXPECT_TRUE(Says(RunTune(folder, {"resume", "--set", "limits.trial_tiem=10ms"}), 2,
                   "did you mean 'trial_time'?"));
  EXPECT_EQ(Query(folder, "select status from experiments"), Rows{"INTERRUPTED"});
  const ProgramResult resumed =
      RunTune(folder, {"resume", "--set", "limits.trial_time=10ms", "--cpus", "2"});
  EXPECT_TRUE(Says(resumed, 0, "from now on limits.trial_time is \"10ms\", was not set"));
  EXPECT_EQ(Query(folder, "select status from experiments"), Rows{"FINISHED"});
  // The file's greater number of samples extends it.
  std::string more = space;
  more.replace(more.find("samples: "), std::string("samples: ").size() + 1, "samples: 9");
  folder.Write("other.yaml", more + "limits: {trial_time: 20ms}\n");
  EXPECT_TRUE(Says(RunTune(folder, {"resume", "--space", "other.yaml"}), 0,
                   "from now on limits.trial_time is \"20ms\", was \"10ms\""));
  EXPECT_EQ(Query(folder,
                  "select json_extract(spec, '$.limits.trial_time'),"
                  " (select count(*) from trials) from experiments"),
            Rows{"20ms|9"});
}

TEST(Control, StopNowDoesNotWaitForAReport) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace(2, "100000"));
  Program tune(folder, "tune", {"run", "space.yaml", "--cpus", "2"});
  ASSERT_TRUE(tune.WaitForText("sweep space"));
  WaitForRows(folder, "select count(*) from attempts", {"2"});
  EXPECT_TRUE(Says(RunTune(folder, {"stop"}), 0, "2 running trials end at their next reports"));
  EXPECT_TRUE(Says(RunTune(folder, {"pause"}), 2, "about to end"));
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "--now"}), 0, "end now"));
  EXPECT_TRUE(Says(tune.Wait(), 0, "space STOPPED"));
}

TEST(Control, ASweepThatSleepsIsChangedInItsDatabase) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(40, "0.01"));
  tune->Signal(SIGINT);
  EXPECT_EQ(tune->Wait().exit_status, 130);
  EXPECT_TRUE(Says(RunTune(folder, {"pause"}), 2, "tune resume space"));
  EXPECT_TRUE(Says(RunTune(folder, {"pause", "--trial", "0"}), 0, "trial 0 is paused"));
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "--trial", "1"}), 0, "trial 1 is stopped"));
  EXPECT_TRUE(Says(RunTune(folder, {"set", "max_concurrent=1"}), 0, "when the sweep is resumed"));
  EXPECT_EQ(Query(folder, "select number, status from trials order by number"),
            (Rows{"0|PAUSED", "1|TERMINATED"}));
  EXPECT_EQ(Query(folder, "select status from experiments"), Rows{"INTERRUPTED"});
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.db.lock"));

  Program resumed(folder, "tune", {"resume", "--cpus", "2"});
  ASSERT_TRUE(resumed.WaitForText("only paused trials are left (0)"));
  EXPECT_EQ(Query(folder,
                  "select count(*) from attempts a join attempts b on a.trial < b.trial and "
                  "a.started_at < b.finished_at and b.started_at < a.finished_at "
                  "where a.number + b.number > 2"),
            Rows{"0"});  // One at a time.
  EXPECT_TRUE(Says(RunTune(folder, {"unpause", "--trial", "0"}), 0, "goes on when there is room"));
  EXPECT_TRUE(Says(resumed.Wait(), 0, "space FINISHED"));
  EXPECT_EQ(
      Query(folder, "select number, stop_reason, iterations = 40 from trials order by number"),
      (Rows{"0|completed|1", "1|user|0", "2|completed|1", "3|completed|1"}));
}

TEST(Control, ASweepThatSleepsCanBeStoppedForGood) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  tune->Signal(SIGKILL);
  tune->Wait();
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "space"}), 0, "space is STOPPED: 2 trials"));
  EXPECT_EQ(Query(folder, "select status from experiments"), Rows{"STOPPED"});
  EXPECT_EQ(Query(folder, "select distinct status || ' ' || stop_reason from trials"),
            Rows{"TERMINATED user"});
  EXPECT_EQ(Query(folder, "select count(*) from attempts where outcome = 'running'"), Rows{"0"});
  EXPECT_TRUE(Says(RunTune(folder, {"resume"}), 0, "nothing to resume"));
}

struct Mistake {
  std::vector<std::string> arguments;
  std::string says;
};

TEST(Control, WhatIsWrongIsOneLineAndChangesNothing) {
  TestFolder folder;
  EXPECT_TRUE(Says(RunTune(folder, {"stop"}), 2, "make one with tune run"));
  EXPECT_EQ(folder.Names(), Rows{});
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  const std::vector<Mistake> mistakes = {
      {{"stop", "spce"}, "did you mean 'space'?"},
      {{"stop", "--trial", "99"}, "space has no trial 99; it has trials 0 to 1"},
      {{"stop", "--trial", "-1"}, "--trial: read -1"},
      {{"stop", "--trial", "first"}, "--trial"},
      {{"unpause", "--trial", "0"}, "trial 0 of space is not paused but RUNNING"},
      {{"unpause"}, "space is not paused"},
      {{"unpause", "--now"}, "--now"},
      {{"set"}, "arguments"},
      {{"set", "max_concurrent=2", "limits.max_concurrent=1"},
       "read limits.max_concurrent twice, expected it once"},
      {{"set", "space"}, "expected NAME=VALUE"},
      {{"set", "samples=4"}, "what decides (space, search, scheduler, metric) cannot change"},
      {{"set", "max_concurent=4"}, "did you mean 'max_concurrent'?"},
      {{"set", "limits=4"}, "one setting of limits, as limits.NAME=VALUE; the names are max_con"},
      {{"set", "limits={max_concurrent: 4}"}, "one setting of limits"},
      {{"set", "stop={training_iteration: 4}"}, "one setting of stop, as stop.NAME=VALUE"},
      {{"set", "max_concurrent=0"}, "limits.max_concurrent: read 0, expected an integer"},
      {{"set", "max_concurrent=4x"}, "limits.max_concurrent: read '4x', expected"},
      {{"set", "trial_time=soon"}, "limits.trial_time: read 'soon', expected"},
      {{"set", "resources.cpu=2"}, "tune resume --set resources.cpu=2"},
      {{"set", "spce", "max_concurrent=4"}, "did you mean 'space'?"},
      {{"set", "a", "b", "c"}, "expected NAME=VALUE"}};
  for (const Mistake& mistake : mistakes) {
    const ProgramResult result = RunTune(folder, mistake.arguments);
    EXPECT_TRUE(Says(result, 2, mistake.says));
    EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'RUNNING'"), Rows{"2"});
  tune->Signal(SIGTERM);
  EXPECT_EQ(tune->Wait().exit_status, 143);
}

TEST(Control, ASweepOtherThanTheOneThatRunsHasToWait) {
  TestFolder folder;
  folder.Write("first.yaml", CurveSpace(1, "0"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "first.yaml"})));
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  const ProgramResult other = RunTune(folder, {"stop", "first"});
  EXPECT_TRUE(Says(other, 1, "which runs space; first can be changed when that one has ended"));
  EXPECT_NE(other.err.find("pid " + std::to_string(tune->pid())), std::string::npos) << other.err;
  EXPECT_TRUE(Says(RunTune(folder, {"stop"}), 0, "space stops"));  // The one that runs.
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "first"}), 2, "first is over (FINISHED)"));
}

TEST(Control, CommandsAtOnceAreTakenOneAfterTheOther) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(kForever, "0.01"));
  constexpr int kCount = 12;
  std::vector<std::unique_ptr<Program>> commands;
  for (int i = 0; i < kCount; ++i) {
    commands.push_back(std::make_unique<Program>(
        folder, "tune",
        std::vector<std::string>{"set", "max_concurrent=" + std::to_string(i + 2)}));
  }
  for (const auto& command : commands) EXPECT_TRUE(Says(command->Wait(), 0, "max_concurrent"));
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "--now"}), 0, "stops"));
  EXPECT_TRUE(Succeeded(tune->Wait()));
  EXPECT_EQ(Query(folder, "select count(*) from journal_rows where events glob '*[[]\\\"n\\\",*'"),
            Rows{std::to_string(kCount)});
}

// The tuner dies at some moment of a command: what was told as done is done, and what was not told
// either is done or is not.
TEST(Control, ATunerThatIsKilledUnderACommandHasDoneItOrNot) {
  int told_count = 0;
  for (int round = 0; round < 8; ++round) {
    TestFolder folder;
    const auto tune = RunTwo(folder, CurveSpace(30, "0.01"));
    Program command(folder, "tune", {"stop", "--trial", "0", "--now"});
    // The moments differ by how long the kill takes to be sent.
    for (int i = 0; i < round; ++i) Query(folder, "select 1");
    tune->Signal(SIGKILL);
    const ProgramResult said = command.Wait();
    tune->Wait();
    const bool is_done = StatusOf(folder, 0) == Rows{"TERMINATED"};
    if (said.exit_status == 0) {
      ++told_count;
      EXPECT_TRUE(is_done) << said.out << said.err;
    } else {
      EXPECT_TRUE(Says(said, 1, "tune status shows whether it was done"));
    }
    EXPECT_TRUE(Says(RunTune(folder, {"resume", "--cpus", "2"}), 0, "space FINISHED"));
    EXPECT_EQ(Query(folder, "select stop_reason from trials where number = 0"),
              Rows{is_done ? "user" : "completed"});
  }
  EXPECT_GT(told_count, 0);
}

TEST(Control, ADatabaseDeepInFoldersIsReachedToo) {
  TestFolder folder;
  std::string deep = "d";
  while (deep.size() < 200) deep += "/a-long-name-of-a-folder";
  std::filesystem::create_directories(folder / deep);
  folder.Write("space.yaml", CurveSpace(kForever, "0.01"));
  const std::string db = deep + "/tune.db";
  Program tune(folder, "tune", {"run", "space.yaml", "--db", db});
  ASSERT_TRUE(tune.WaitForText("sweep space"));
  EXPECT_TRUE(Says(RunTune(folder, {"stop", "--now", "--db", db}), 0, "space stops"));
  EXPECT_TRUE(Says(tune.Wait(), 0, "space STOPPED"));
}

TEST(Control, APausedSweepCanBeInterruptedAndGoesOnUnpaused) {
  TestFolder folder;
  const auto tune = RunTwo(folder, CurveSpace(40, "0.01"));
  EXPECT_TRUE(Says(RunTune(folder, {"pause", "--now"}), 0, "space is paused"));
  WaitForRows(folder, "select count(*) from attempts where outcome = 'running'", {"0"});
  tune->Signal(SIGINT);
  EXPECT_TRUE(Says(tune->Wait(), 130, "tune resume space"));
  EXPECT_TRUE(Says(RunTune(folder, {"resume"}), 0, "space FINISHED"));
  EXPECT_EQ(Query(folder, "select count(*) from trials where stop_reason = 'completed'"),
            Rows{"4"});
}

TEST(Control, ADetachedSweepIsStoppedFromAnywhere) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace(kForever, "0.01"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "space.yaml", "--detach"})));
  Program attach(folder, "tune", {"attach"});
  ASSERT_TRUE(attach.WaitForText("attached to space"));
  EXPECT_TRUE(Says(RunTune(folder, {"stop"}), 0, "space stops"));
  EXPECT_TRUE(Says(attach.Wait(), 0, "space STOPPED"));
}

TEST(Resume, TrialsThatFailedGetAnotherChanceOnDemand) {
  TestFolder folder;
  folder.Write("space.yaml", CurveSpace(9, "0", "    crash: 0.15\n"));
  ASSERT_EQ(RunTune(folder, {"run", "space.yaml"}).exit_status, 3);
  const Rows failed = Query(folder, "select number from trials where status = 'ERROR'");
  ASSERT_FALSE(failed.empty());
  EXPECT_TRUE(Says(RunTune(folder, {"resume"}), 0, "--errored"));
  int exit_status = 3;
  for (int i = 0; i < 50 && exit_status == 3; ++i) {
    exit_status = RunTune(folder, {"resume", "--errored"}).exit_status;
  }
  EXPECT_EQ(exit_status, 0);
  EXPECT_EQ(Query(folder, "select count(*) from trials where stop_reason = 'completed'"),
            Rows{"4"});
  EXPECT_TRUE(Says(RunTune(folder, {"resume", "--errored"}), 0, "no trial of it failed"));
}

}  // namespace
}  // namespace tune::testing
