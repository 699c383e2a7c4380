// A head with real programs: sweeps come and go, the head is killed and started again, workers of
// other machines join it once.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <memory>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Rows = std::vector<std::string>;

ProgramResult Submit(const TestFolder& folder, const std::string& name, const std::string& space,
                     const Rows& more = {}) {
  Rows arguments = {"submit", folder.Write(name + ".yaml", space)};
  arguments.insert(arguments.end(), more.begin(), more.end());
  return RunTune(folder, arguments);
}

std::string Table(const std::string& sweep) {
  return "select number, t.status, stop_reason, config, iterations, best_value, best_iteration, "
         "last_value from trials as t join experiments as e on e.id = t.experiment where e.name = "
         "'" +
         sweep + "' order by number";
}

void WaitForEnd(const TestFolder& folder, const std::string& sweep,
                const std::string& status = "FINISHED") {
  WaitForRows(folder, "select status from experiments where name = '" + sweep + "'", {status});
}

// One trial at a time: the order of reports is its own.
std::string AshaSpace(int seed) {
  return CurveSweep("    iterations: 9\n    seconds: 0.01\n",
                    kAsha + std::string("samples: 9\nlimits: {max_concurrent: 1}\n")) +
         "# " + std::to_string(seed) + "\n";
}
const std::string kEndless = CurveSweep("    iterations: 1000000000\n    seconds: 0.02\n",
                                        "samples: 4\nlimits: {max_concurrent: 1}\n");

TEST(Head, AJobThatAPersonLetBeginIsNotHeldBackByTheNextHeadWhereItFoundNoRoom) {
  TestFolder folder;
  auto head = StartHead(folder, {"--cpus", "2"});
  const std::string first = "until test -e go; do sleep 0.01; done";
  EXPECT_TRUE(Succeeded(
      RunTune(folder, {"submit", "--no-wait", "--name", "first", "--", "sh", "-c", first})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"submit", "--no-wait", "--cpus", "2", "--name", "second",
                                         "--after", "first", "--", "true"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"unpause", "second"})));
  head->Signal(SIGKILL);
  head->Wait();
  head = StartHead(folder, {"--cpus", "4"});
  EXPECT_EQ(RunTune(folder, {"wait", "second"}).exit_status, 0) << "first is not over";
  folder.Write("go", "");
  EXPECT_EQ(RunTune(folder, {"wait", "first"}).exit_status, 0);
}

TEST(Head, WhatIsOverGoesWhenItsTimeHasComeButForWhatIsToBeKept) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "2", "--keep", "2s"});
  const std::string small =
      CurveSweep("    iterations: 2\n    checkpoint_bytes: 1000\n", "samples: 2\n");
  for (const Rows& more : {Rows{}, Rows{"--name", "kept", "--tag", "keep"}}) {
    EXPECT_TRUE(Succeeded(Submit(folder, "small", small, more)));
  }
  const ProgramResult endless = Submit(folder, "endless", kEndless);
  EXPECT_EQ(endless.exit_status, 0) << endless.err;
  WaitForEnd(folder, "kept");
  WaitForRows(folder, "select name from experiments order by name", {"endless", "kept"});
  EXPECT_TRUE(head->WaitForText("was removed (--keep)"));
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.artifacts/small"));
  EXPECT_TRUE(std::filesystem::exists(folder / "tune.artifacts/kept"));
  EXPECT_EQ(RunTune(folder, {"head", "--keep", "soon"}).exit_status, 2);
}

TEST(Head, SweepsSideBySideComeToWhatEachComesToAlone) {
  TestFolder folder;
  const auto head = StartHead(folder);
  for (const std::string name : {"one", "two", "three"}) {
    const ProgramResult submitted =
        Submit(folder, name, AshaSpace(0), {"--seed", std::to_string(name.size())});
    EXPECT_EQ(submitted.exit_status, 0) << submitted.err;
    EXPECT_EQ(submitted.out, name + "\n");
  }
  for (const std::string name : {"one", "two", "three"}) {
    WaitForEnd(folder, name);
    TestFolder alone;
    const ProgramResult result =
        RunTune(alone, {"run", alone.Write(name + ".yaml", AshaSpace(0)), "--seed",
                        std::to_string(name.size()), "--set", "trainable.curve.seconds=0"});
    ASSERT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(Query(folder, Table(name)), Query(alone, Table(name))) << name;
  }
  EXPECT_EQ(Query(folder, "select count(distinct name || joined_at) from workers"), Rows{"1"})
      << "one worker had them all";
}

TEST(Head, GoesOnWithAllThatRanWhenItWasKilled) {
  TestFolder folder;
  auto head = StartHead(folder);
  Submit(folder, "one", AshaSpace(0));
  Submit(folder, "two", AshaSpace(0));
  for (int i = 1; i <= 4; ++i) {
    WaitForReports(folder, 4 * i);
    head->Signal(i % 2 == 0 ? SIGTERM : SIGKILL);
    head->Wait();
    EXPECT_THAT(RunTune(folder, {"list"}).out, Not(HasSubstr("RUNNING")));
    head = StartHead(folder);
  }
  const Rows undisturbed = UndisturbedTable(AshaSpace(0));
  for (const std::string name : {"one", "two"}) {
    WaitForEnd(folder, name);
    EXPECT_EQ(Query(folder, Table(name)), undisturbed) << name;
  }
  EXPECT_EQ(Query(folder,
                  "select count(*) from (select trial, iteration from reports group by "
                  "trial, iteration having count(*) > 1)"),
            Rows{"0"})
      << "each report was acknowledged once, and none was made again";
}

TEST(Head, WhatIsAskedOfOneSweepConcernsNoOtherOne) {
  TestFolder folder;
  const auto head = StartHead(folder);
  Submit(folder, "one", kEndless);
  Submit(folder, "two", kEndless);
  WaitForRows(folder, "select count(*) from trials where iterations > 0", {"2"});

  EXPECT_THAT(RunTune(folder, {"pause", "one", "--now"}).out, HasSubstr("one is paused"));
  EXPECT_THAT(RunTune(folder, {"status", "one"}).out, HasSubstr("one: PAUSED"));
  EXPECT_THAT(RunTune(folder, {"status", "two"}).out, HasSubstr("two: RUNNING"));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"set", "two", "max_concurrent=2"})));
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING' and experiment = 2",
              {"2"});

  EXPECT_THAT(RunTune(folder, {"stop", "two", "--now"}).out, HasSubstr("two stops"));
  WaitForEnd(folder, "two", "STOPPED");
  const ProgramResult again = RunTune(folder, {"stop", "two"});
  EXPECT_EQ(again.exit_status, 2);
  EXPECT_THAT(again.err, HasSubstr("two is over (STOPPED)"));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"unpause", "one"})));
  WaitForRows(folder, "select count(*) > 0 from trials where status = 'RUNNING' and experiment = 1",
              {"1"});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"stop", "one", "--now"})));
  WaitForEnd(folder, "one", "STOPPED");
}

TEST(Head, WhatIsRefusedIsNotThere) {
  TestFolder folder;
  const ProgramResult nobody = Submit(folder, "one", kEndless);
  EXPECT_EQ(nobody.exit_status, 1);
  EXPECT_THAT(nobody.err, HasSubstr("no head holds"));
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.db"));

  const auto head = StartHead(folder);
  const auto refused = [&](const std::string& space, const Rows& more, const std::string& why) {
    const ProgramResult result = Submit(folder, "refused", space, more);
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_EQ(result.out, "");
  };
  refused("metric: loss\n", {}, "refused.yaml");
  refused(kEndless, {"--name", "a/b"}, "--name");
  refused(kEndless, {"--name", "packages"}, "another name");
  refused(kEndless, {"--priority", "5000"}, "priority");
  refused(kEndless + "resources: {cpu: 64}\n", {}, "this head takes no workers of other machines");
  refused(kEndless + "owner: [a]\n", {}, "owner");
  EXPECT_EQ(RunTune(folder, {"list", "--format", "json"}).out, "[]\n");

  const ProgramResult second = RunTune(folder, {"head"});
  EXPECT_EQ(second.exit_status, 1);
  EXPECT_THAT(second.err, HasSubstr("is held by the head with pid"));
  const ProgramResult alone = RunTune(folder, {"run", folder.Write("alone.yaml", kEndless)});
  EXPECT_EQ(alone.exit_status, 1);
  EXPECT_THAT(alone.err, HasSubstr("tune submit gives it a sweep"));
}

// Trials of each sweep run a program of its own folder, on a worker that sees neither.
TEST(Head, AWorkerThatSeesNoDiskOfOursHasEachSweepsFolder) {
  if (geteuid() != 0) GTEST_SKIP() << "hiding a folder needs root";
  TestFolder folder;
  TestFolder cache;
  auto head = StartHead(folder, {"--cpus", "0", "--listen", FreePlace()}, "head runs");
  JoinLine join = WaitForJoinLine(*head);
  ASSERT_NE(join.token, "");
  for (const std::string name : {"one", "two"}) {
    std::filesystem::create_directory(folder / name);
    folder.Write(name + "/train.sh", "echo value=" + std::to_string(name == "one" ? 1 : 2) + "\n");
    const ProgramResult submitted = Submit(
        folder, name + "/space",
        "name: " + name +
            "\ntrainable:\n  command: [sh, train.sh]\n  metrics: {v: {regex: \"value={number}\"}}\n"
            "metric: v\nmode: max\nspace: {x: {uniform: [0, 1]}}\nsamples: 2\n");
    ASSERT_EQ(submitted.exit_status, 0) << submitted.err;
  }
  // What is packed is what was there then.
  folder.Write("one/train.sh", "exit 1\n");
  head->Signal(SIGKILL);
  head->Wait();
  head = StartHead(folder, {"--cpus", "0"}, "head runs");
  join = WaitForJoinLine(*head);
  Program worker(cache, "tune", join.Worker({"--cpus", "2", "--cache", cache / "cache"}), "",
                 folder.path());
  WaitForEnd(folder, "one");
  WaitForEnd(folder, "two");
  EXPECT_EQ(Query(folder,
                  "select e.name, max(best_value) from trials as t join experiments as e on "
                  "e.id = t.experiment group by e.id"),
            (Rows{"one|1.0", "two|2.0"}));
  worker.Signal(SIGTERM);
  worker.Wait();
}

TEST(Head, IsReachedAfterAGcBesideItThoughItHasNoSweep) {
  TestFolder folder;
  const auto head = StartHead(folder);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"submit", "--name", "first", "--", "true"})));
}

TEST(Head, GoesOnWithOneThatHasEndedAndDeletesIt) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const std::string space = CurveSweep("    iterations: 3\n", "samples: 2\n");
  EXPECT_TRUE(Succeeded(Submit(folder, "one", space)));
  WaitForEnd(folder, "one");
  // As without a head, that is no error.
  for (const Rows& more : {Rows{}, {"--errored"}, {"--samples", "2"}}) {
    Rows arguments = {"resume", "one"};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult nothing = RunTune(folder, arguments);
    EXPECT_TRUE(Succeeded(nothing));
    EXPECT_THAT(nothing.err, HasSubstr("nothing to resume"));
  }
  EXPECT_THAT(RunTune(folder, {"resume", "one", "--cpus", "1"}).err,
              HasSubstr("--cpus: is not for a sweep of a head"));
  EXPECT_THAT(RunTune(folder, {"resume", "one", "--samples", "1"}).err,
              HasSubstr("cannot be less"));
  EXPECT_THAT(RunTune(folder, {"resume", "one", "--samples", "0"}).err,
              HasSubstr("--samples: read 0, expected an integer from 1"));
  EXPECT_EQ(RunTune(folder, {"resume", "one", "--samples", "5"}).out,
            "one goes on from 2 trials\n");
  WaitForRows(folder, "select count(*) from trials where stop_reason = 'completed'", {"5"});
  WaitForEnd(folder, "one");

  EXPECT_TRUE(Succeeded(Submit(folder, "two", kEndless)));
  EXPECT_THAT(RunTune(folder, {"delete", "two", "--yes"}).err, HasSubstr("two runs; end it first"));
  const ProgramResult running = RunTune(folder, {"resume", "two"});
  EXPECT_EQ(running.exit_status, 1);
  EXPECT_THAT(running.err, HasSubstr("the head with pid " + std::to_string(head->pid())));
  EXPECT_THAT(running.err, HasSubstr("two runs; end it first"));
  const ProgramResult deleted = RunTune(folder, {"delete", "one", "--yes"});
  EXPECT_EQ(deleted.exit_status, 0) << deleted.err;
  EXPECT_EQ(Query(folder, "select name from experiments"), Rows{"two"});
  EXPECT_FALSE(std::filesystem::exists(folder / "tune.artifacts/one"));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"set", "two", "priority=7"})));
  EXPECT_THAT(RunTune(folder, {"queue"}).out, HasSubstr("7"));
}

TEST(Head, WhoIsAttachedStaysOverItsDeath) {
  TestFolder folder;
  auto head = StartHead(folder);
  Submit(folder, "one", AshaSpace(0));
  Program attached(folder, "tune", {"attach", "one"});
  ASSERT_TRUE(attached.WaitForText("attached to one"));
  WaitForReports(folder, 3);
  head->Signal(SIGKILL);
  head->Wait();
  head = StartHead(folder);
  const ProgramResult result = attached.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("one FINISHED: 9 trials"));
}

TEST(Head, WhoIsAttachedIsToldWhyNothingRuns) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "1", "--listen", FreePlace()});
  ASSERT_TRUE(Succeeded(Submit(folder, "large", kEndless + "resources: {cpu: 64}\n")));
  Program attached(folder, "tune", {"attach", "large"});
  EXPECT_TRUE(attached.WaitForText("large waits: can run on no worker that is there"));
}

TEST(Head, WhoIsAttachedIsToldThatNoHeadRunsTheSweep) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "1", "--listen", FreePlace()});
  ASSERT_TRUE(Succeeded(Submit(folder, "large", kEndless + "resources: {cpu: 64}\n")));
  Program attached(folder, "tune", {"attach", "large"});
  ASSERT_TRUE(attached.WaitForText("attached to large"));
  head->Signal(SIGTERM);
  head->Wait();
  EXPECT_TRUE(attached.WaitForText("large waits: no head runs it"));
}

TEST(Head, TakesUpWhatATunerOfOneSweepLeft) {
  TestFolder folder;
  {
    Program alone(folder, "tune", {"run", folder.Write("alone.yaml", AshaSpace(0)), "--cpus", "1"});
    ASSERT_TRUE(alone.WaitForText("sweep alone"));
    WaitForReports(folder, 5);
    alone.Signal(SIGKILL);
    alone.Wait();
  }
  const auto head = StartHead(folder);
  Submit(folder, "new", AshaSpace(0));
  WaitForEnd(folder, "alone");
  WaitForEnd(folder, "new");
  const Rows undisturbed = UndisturbedTable(AshaSpace(0));
  EXPECT_EQ(Query(folder, Table("alone")), undisturbed);
  EXPECT_EQ(Query(folder, Table("new")), undisturbed);
}

TEST(Head, ThePageHasOneKeyOverItsLives) {
  TestFolder folder;
  std::string address;
  for (int life = 0; life < 2; ++life) {
    const auto head = StartHead(folder, {"--cpus", "1", "--http", FreePlace()}, "head runs");
    std::string key;
    ASSERT_TRUE(head->WaitForLine([&](const std::string& line) {
      const size_t at = line.find("?key=");
      if (at != std::string::npos) key = line.substr(at);
      return at != std::string::npos;
    }));
    EXPECT_TRUE(address.empty() || key == address) << key;
    address = key;
  }
}

TEST(Head, InTheBackgroundItSaysHowWorkersJoin) {
  TestFolder folder;
  const ProgramResult started =
      RunTune(folder, {"head", "--cpus", "1", "--listen", FreePlace(), "--detach"});
  ASSERT_EQ(started.exit_status, 0) << started.err;
  EXPECT_THAT(started.out, HasSubstr("the head runs (pid "));
  EXPECT_THAT(started.out, HasSubstr("tune worker --connect 127.0.0.1:"));
  EXPECT_TRUE(Succeeded(Submit(folder, "one", AshaSpace(0))));
  WaitForEnd(folder, "one");
  const pid_t pid = std::atoi(started.out.c_str() + started.out.find("(pid ") + 5);
  ASSERT_GT(pid, 1);
  kill(pid, SIGTERM);
  while (kill(pid, 0) == 0) {
  }
}

}  // namespace
}  // namespace tune::testing
