// Jobs on a head: programs that run once, with real processes.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::string>;

ProgramResult Submit(const TestFolder& folder, const Rows& options, const Rows& program) {
  Rows arguments = {"submit"};
  arguments.insert(arguments.end(), options.begin(), options.end());
  arguments.push_back("--");
  arguments.insert(arguments.end(), program.begin(), program.end());
  return RunTune(folder, arguments);
}

Rows States(const TestFolder& folder) {
  const std::string csv = RunTune(folder, {"jobs", "--format", "csv"}).out;
  Rows states;
  for (size_t at = csv.find('\n') + 1; at < csv.size(); at = csv.find('\n', at) + 1) {
    const size_t comma = csv.find(',', csv.find(',', csv.find(',', at) + 1) + 1);
    states.push_back(csv.substr(at, comma - at));
  }
  return states;
}

TEST(Jobs, AJobWithTheNameOfADeletedOneHasItsOwnOutput) {
  TestFolder folder;
  const auto head = StartHead(folder);
  for (const std::string said : {"one", "two", "three"}) {
    EXPECT_EQ(Submit(folder, {"--name", "a"}, {"echo", said}).out, said + "\n");
    EXPECT_EQ(RunTune(folder, {"logs", "a"}).out, said + "\n");
    EXPECT_TRUE(Succeeded(RunTune(folder, {"delete", "a", "--yes"})));
  }
}

TEST(Jobs, AProgramRunsOnceAndItsOutputAndExitStatusAreOurs) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const ProgramResult well =
      Submit(folder, {}, {"sh", "-c", "echo '{a} {1} {{b}} {\"c\": {}}'; echo to err >&2", "it"});
  EXPECT_EQ(well.exit_status, 0) << well.err;
  EXPECT_EQ(well.out, "{a} {1} {{b}} {\"c\": {}}\nto err\n") << "braces are meant as they stand";
  const ProgramResult ill =
      Submit(folder, {"--name", "ill", "--env", "X={{b}}"}, {"sh", "-c", "echo $X; exit 7"});
  EXPECT_EQ(ill.exit_status, 7);
  EXPECT_EQ(ill.out, "{{b}}\n");
  EXPECT_THAT(ill.err, HasSubstr("ill is FAILED (exit_status): the program exited with status 7"));
  EXPECT_EQ(States(folder), (Rows{"sh,SUCCEEDED,", "ill,FAILED,exit_status"}));
  EXPECT_EQ(RunTune(folder, {"wait", "sh", "ill"}).exit_status, 7);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"wait", "sh"})));
  EXPECT_EQ(RunTune(folder, {"logs", "ill"}).out, "{{b}}\n");
  EXPECT_EQ(
      Submit(folder, {}, {"python3", "-c", "import os; os.kill(os.getpid(), 15)"}).exit_status,
      128 + SIGTERM)
      << "as a shell has it";
  EXPECT_EQ(States(folder).back(), "python3,FAILED,exit_status");
  EXPECT_EQ(
      Submit(folder, {}, {"sh", "-c", "echo the program died of SIGKILL; exit 4"}).exit_status, 4);
}

TEST(Jobs, OneThatIsSubmittedAgainIsFollowedToItsStatus) {
  TestFolder folder;
  const auto head = StartHead(folder);
  EXPECT_EQ(Submit(folder, {"--name", "ill"}, {"sh", "-c", "echo here; exit 7"}).exit_status, 7);
  const ProgramResult again = RunTune(folder, {"submit", "--again", "ill"});
  EXPECT_EQ(again.exit_status, 7) << again.err;
  EXPECT_EQ(again.out, "here\n");
  EXPECT_THAT(again.err, HasSubstr("job ill-2"));
  EXPECT_EQ(RunTune(folder, {"submit", "--again", "ill", "--no-wait"}).out, "ill-3\n");
  EXPECT_EQ(RunTune(folder, {"wait", "ill-3"}).exit_status, 7);
  const ProgramResult wrong = RunTune(folder, {"submit", "--again", "ill", "--samples", "0"});
  EXPECT_EQ(wrong.exit_status, 2);
  EXPECT_THAT(wrong.err, HasSubstr("--samples: read 0, expected"));
  const ProgramResult often = RunTune(folder, {"submit", "--again", "ill", "--samples", "3"});
  EXPECT_EQ(often.exit_status, 2);
  EXPECT_THAT(often.err, HasSubstr("samples: read 3, expected 1: ill is a job, which runs once"));
}

TEST(Jobs, BothStreamsComeInTheOrderInWhichTheyWereWritten) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const ProgramResult ran = Submit(
      folder, {}, {"sh", "-c", "for i in $(seq 200); do echo out $i; echo err $i >&2; done"});
  std::string wanted;
  for (int i = 1; i <= 200; ++i) {
    wanted += "out " + std::to_string(i) + "\nerr " + std::to_string(i) + "\n";
  }
  EXPECT_EQ(ran.out, wanted);
}

// Also over a death of the head, which knows nothing of those that wait but what is stored.
TEST(Jobs, OneBeginsWhenThoseBeforeItAreOverAndIsStoppedWhenOneFails) {
  TestFolder folder;
  auto head = StartHead(folder, {"--cpus", "4"});
  const Rows waits = {"sh", "-c", "until test -e go; do sleep 0.01; done; echo first >> order"};
  EXPECT_TRUE(Succeeded(Submit(folder, {"--no-wait", "--name", "first"}, waits)));
  EXPECT_EQ(Submit(folder, {"--no-wait", "--name", "second", "--after", "first"},
                   {"sh", "-c", "echo second >> order"})
                .out,
            "second\n");
  EXPECT_EQ(
      Submit(folder, {"--no-wait", "--name", "third", "--after", "second", "--after", "first"},
             {"sh", "-c", "echo third >> order; exit 4"})
          .out,
      "third\n");
  EXPECT_EQ(Submit(folder, {"--no-wait", "--name", "never", "--after", "third"}, {"true"}).out,
            "never\n");
  EXPECT_EQ(States(folder), (Rows{"first,RUNNING,", "second,PENDING,waits_for_job",
                                  "third,PENDING,waits_for_job", "never,PENDING,waits_for_job"}));
  EXPECT_THAT(RunTune(folder, {"jobs", "--format", "json"}).out,
              HasSubstr("begins when first is over"));
  EXPECT_THAT(RunTune(folder, {"queue"}).out, HasSubstr("begins when first is over"));
  EXPECT_THAT(RunTune(folder, {"status", "second"}).out, HasSubstr("begins when first is over"));
  head->Signal(SIGKILL);
  head->Wait();
  head = StartHead(folder, {"--cpus", "4"});
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING'", {"1"});
  EXPECT_EQ(States(folder).at(1), "second,PENDING,waits_for_job");
  folder.Write("go", "");
  EXPECT_EQ(RunTune(folder, {"wait", "never"}).exit_status, 3);
  EXPECT_EQ(States(folder), (Rows{"first,SUCCEEDED,", "second,SUCCEEDED,",
                                  "third,FAILED,exit_status", "never,STOPPED,dependency_failed"}));
  EXPECT_EQ(folder.Read("order"), "first\nsecond\nthird\n");
  // What has failed already, or is not there, is said at once.
  const ProgramResult late = Submit(folder, {"--after", "third"}, {"true"});
  EXPECT_EQ(late.exit_status, 2);
  EXPECT_THAT(late.err, HasSubstr("after: third is FAILED"));
  EXPECT_THAT(Submit(folder, {"--after", "frist"}, {"true"}).err,
              HasSubstr("did you mean 'first'?"));
  EXPECT_EQ(Submit(folder, {"--after", "first"}, {"true"}).exit_status, 0) << "is over, and well";
  folder.Write("space.yaml",
               "trainable: {curve: {value: x, iterations: 1}}\nmetric: loss\nmode: min\n"
               "space: {x: {uniform: [0, 1]}}\nafter: [first, second]\n");
  EXPECT_EQ(RunTune(folder, {"submit", "space.yaml"}).out, "space\n");
  WaitForRows(folder, "select status from experiments where name = 'space'", {"FINISHED"});
  EXPECT_THAT(RunTune(folder, {"--db", "other.db", "run", "space.yaml"}).err,
              HasSubstr("after: is for a head"));
}

// Also when those before it end otherwise afterwards.
TEST(Jobs, OneThatWasStoppedSaysWhatStoppedIt) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "4"});
  EXPECT_TRUE(
      Succeeded(Submit(folder, {"--no-wait", "--name", "first"},
                       {"sh", "-c", "until test -e go; do sleep 0.01; done; test -e mended"})));
  EXPECT_TRUE(
      Succeeded(Submit(folder, {"--no-wait", "--name", "unwanted", "--after", "first"}, {"true"})));
  EXPECT_TRUE(
      Succeeded(Submit(folder, {"--no-wait", "--name", "next", "--after", "first"}, {"true"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"stop", "unwanted"})));
  EXPECT_EQ(RunTune(folder, {"wait", "unwanted"}).exit_status, 3);
  folder.Write("go", "");
  EXPECT_EQ(RunTune(folder, {"wait", "next"}).exit_status, 3);
  EXPECT_EQ(States(folder), (Rows{"first,FAILED,exit_status", "unwanted,STOPPED,stopped_by_user",
                                  "next,STOPPED,dependency_failed"}));
  folder.Write("mended", "");
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume", "first", "--errored"})));
  EXPECT_EQ(RunTune(folder, {"wait", "first"}).exit_status, 0);
  EXPECT_EQ(States(folder), (Rows{"first,SUCCEEDED,", "unwanted,STOPPED,stopped_by_user",
                                  "next,STOPPED,dependency_failed"}));
}

// Whatever becomes of those before it.
TEST(Jobs, OneThatAPersonLetBeginGoesOn) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "4"});
  EXPECT_TRUE(Succeeded(Submit(folder, {"--no-wait", "--name", "first"},
                               {"sh", "-c", "until test -e go; do sleep 0.01; done; exit 1"})));
  EXPECT_TRUE(Succeeded(Submit(folder, {"--no-wait", "--name", "second", "--after", "first"},
                               {"sh", "-c", "until test -e on; do sleep 0.01; done"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"unpause", "second"})));
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING'", {"2"});
  folder.Write("go", "");
  EXPECT_EQ(RunTune(folder, {"wait", "first"}).exit_status, 1);
  // The head has looked at who follows it when another one has come and gone.
  EXPECT_TRUE(Succeeded(Submit(folder, {}, {"true"})));
  folder.Write("on", "");
  EXPECT_EQ(RunTune(folder, {"wait", "second"}).exit_status, 0);
}

TEST(Jobs, OneThatAPersonLetBeginSaysThatItWaitsForRoom) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "1"});
  EXPECT_TRUE(Succeeded(Submit(folder, {"--no-wait", "--name", "first"},
                               {"sh", "-c", "until test -e go; do sleep 0.01; done"})));
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING'", {"1"});
  EXPECT_TRUE(
      Succeeded(Submit(folder, {"--no-wait", "--name", "second", "--after", "first"}, {"true"})));
  const auto jobs = [&] { return RunTune(folder, {"jobs", "--format", "csv"}).out; };
  EXPECT_THAT(jobs(), HasSubstr("second,PENDING,waits_for_job,"));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"unpause", "second"})));
  EXPECT_THAT(jobs(), HasSubstr("second,PENDING,waits_for_resources,"));
  // A job without a trial has a reason, too.
  EXPECT_THAT(RunTune(folder, {"why", "second"}).err, HasSubstr("of the next one: "));
  EXPECT_EQ(RunTune(folder, {"wait", "second", "nothing"}).exit_status, 2) << "before it waits";
  folder.Write("go", "");
  EXPECT_EQ(RunTune(folder, {"wait", "second"}).exit_status, 0);
}

TEST(Jobs, AreFoundByTheirTags) {
  TestFolder folder;
  const auto head = StartHead(folder);
  EXPECT_TRUE(
      Succeeded(Submit(folder, {"--name", "a", "--tag", "team=vision", "--note", "n"}, {"true"})));
  EXPECT_TRUE(Succeeded(Submit(folder, {"--name", "b"}, {"true"})));
  EXPECT_EQ(Submit(folder, {"--tag", "a b"}, {"true"}).exit_status, 2);
  const std::string csv = RunTune(folder, {"jobs", "--tag", "team", "--format", "csv"}).out;
  EXPECT_THAT(csv, HasSubstr("\na,SUCCEEDED,"));
  EXPECT_THAT(csv, ::testing::Not(HasSubstr("\nb,")));
  EXPECT_EQ(RunTune(folder, {"note", "b", "--tag", "team=nlp"}).out, "b: team=nlp\n");
  EXPECT_EQ(RunTune(folder, {"list", "--names", "--tag", "team"}).out, "a\nb\n");
}

// Its trials are many: it is judged as a sweep is.
TEST(Jobs, ASweepOfExitStatusesIsNoJob) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const std::string space = folder.Write(
      "codes.yaml",
      "trainable: {command: [sh, -c, \"exit {code}\"]}\nmetric: exit_status\nmode: min\n"
      "space: {code: {grid_search: [0, 6, 0]}}\n");
  EXPECT_EQ(RunTune(folder, {"submit", space}).out, "codes\n");
  WaitForRows(folder, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(States(folder), Rows{});
  EXPECT_EQ(RunTune(folder, {"wait", "codes"}).exit_status, 2);
  EXPECT_EQ(Query(folder, "select number, status, best_value from trials order by number"),
            (Rows{"0|TERMINATED|0.0", "1|ERROR|", "2|TERMINATED|0.0"}));
}

TEST(Jobs, OneThatHasNoRoomWaitsAndSaysWhy) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--cpus", "1"});
  const Rows sleeper = {"sh", "-c", "until test -e go; do sleep 0.01; done"};
  EXPECT_EQ(Submit(folder, {"--no-wait", "--name", "first"}, sleeper).out, "first\n");
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING'", {"1"});
  EXPECT_EQ(Submit(folder, {"--no-wait", "--name", "second"}, {"true"}).out, "second\n");
  EXPECT_EQ(Submit(folder, {"--no-wait", "--name", "urgent", "--priority", "9"}, {"true"}).out,
            "urgent\n");
  EXPECT_EQ(States(folder), (Rows{"first,RUNNING,", "second,PENDING,waits_for_resources",
                                  "urgent,PENDING,waits_for_resources"}));
  EXPECT_THAT(RunTune(folder, {"jobs", "--format", "json"}).out,
              HasSubstr("there is no room now: it needs cpu: 1"));
  const std::string queue = RunTune(folder, {"queue", "--format", "csv"}).out;
  EXPECT_THAT(queue, HasSubstr("\n1,urgent,"));
  EXPECT_THAT(queue, HasSubstr("\n2,second,"));
  EXPECT_THAT(queue, HasSubstr("\n,first,"));
  folder.Write("go", "");
  EXPECT_TRUE(Succeeded(RunTune(folder, {"wait", "first", "second", "urgent"})));
  EXPECT_EQ(Query(folder,
                  "select e.name from attempts as a join trials as t on t.id = a.trial join "
                  "experiments as e on e.id = t.experiment order by a.started_at"),
            (Rows{"first", "urgent", "second"}));
}

// Also when what was packed of it has changed since.
TEST(Jobs, OneOnAWorkerThatSharesTheFolderLeavesItsFilesThere) {
  TestFolder folder;
  folder.Write("results.csv", "job\n");
  auto head = StartHead(folder, {"--cpus", "0", "--listen", FreePlace()});
  const JoinLine join = WaitForJoinLine(*head);
  for (const std::string name : {"one", "two"}) {
    ASSERT_TRUE(Succeeded(Submit(folder, {"--no-wait", "--name", name},
                                 {"sh", "-c", "echo " + name + " >> results.csv"})));
  }
  TestFolder cache;
  Program worker(cache, "tune", join.Worker({"--cpus", "1", "--cache", cache / "cache"}));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"wait", "one", "two"})));
  EXPECT_EQ(folder.Read("results.csv"), "job\none\ntwo\n");
  worker.Signal(SIGTERM);
  worker.Wait();
}

// Its last report comes before the rest of what it printed.
TEST(Jobs, OneIsOverWhenAllThatItPrintedIsThere) {
  if (geteuid() != 0) GTEST_SKIP() << "hiding a folder needs root";
  TestFolder folder;
  TestFolder there;
  const auto head = StartHead(folder, {"--cpus", "0", "--listen", FreePlace()});
  const JoinLine join = WaitForJoinLine(*head);
  Program worker(there, "tune", join.Worker({"--cpus", "1", "--cache", there / "cache"}), "",
                 folder.path());
  std::filesystem::create_directory(folder / "empty");
  for (int i = 0; i < 20; ++i) {
    EXPECT_EQ(Submit(folder, {"--working-dir", folder / "empty"},
                     {"sh", "-c", "echo a; sleep 0.0" + std::to_string(i) + "; echo b"})
                  .out,
              "a\nb\n");
  }
  worker.Signal(SIGTERM);
  worker.Wait();
}

// What it prints is followed while it runs, over a death of the head, and whole when it has ended.
TEST(Jobs, TheOutputOfOneOnAMachineThatSeesNoDiskOfOursIsFollowed) {
  if (geteuid() != 0) GTEST_SKIP() << "hiding a folder needs root";
  TestFolder folder;
  TestFolder there;
  auto head = StartHead(folder, {"--cpus", "0", "--listen", FreePlace()});
  const JoinLine join = WaitForJoinLine(*head);
  Program worker(there, "tune", join.Worker({"--cpus", "1", "--cache", there / "cache"}), "",
                 folder.path());
  const std::string script = "for i in 1 2 3; do echo line $i; until test -e " + (there / "go") +
                             "$i; do sleep 0.01; done; done; seq 20000; echo end; exit 4";
  Program submit(folder, "tune", {"submit", "--name", "far", "--", "sh", "-c", script});
  const auto wait_for = [&](const std::string& text) {
    while (folder.Read("tune.artifacts/far/0/attempt_1.log").find(text) == std::string::npos) {
    }
  };
  wait_for("line 1\n");
  there.Write("go1", "");
  wait_for("line 2\n");
  head->Signal(SIGKILL);
  head->Wait();
  there.Write("go2", "");
  head = StartHead(folder, {"--cpus", "0"});
  wait_for("line 3\n");
  there.Write("go3", "");
  const ProgramResult followed = submit.Wait();
  EXPECT_EQ(followed.exit_status, 4) << followed.err;
  EXPECT_THAT(followed.out, ::testing::StartsWith("line 1\nline 2\nline 3\n1\n2\n"));
  EXPECT_THAT(followed.out, ::testing::EndsWith("\n20000\nend\n"));
  EXPECT_EQ(followed.out.size(), folder.Read("tune.artifacts/far/0/attempt_1.log").size());
  worker.Signal(SIGTERM);
  worker.Wait();
}

TEST(Jobs, OneWhoseFolderIsNotThereYetWaitsForIt) {
  TestFolder folder;
  auto head = StartHead(folder, {"--cpus", "1"});
  std::filesystem::create_directory(folder / "disk");
  Submit(folder, {"--no-wait", "--name", "first"},
         {"sh", "-c", "until test -e go; do sleep 0.01; done"});
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING'", {"1"});
  Submit(folder, {"--no-wait", "--name", "second", "--working-dir", folder / "disk"}, {"pwd"});
  std::filesystem::rename(folder / "disk", folder / "unmounted");
  folder.Write("go", "");
  EXPECT_TRUE(head->WaitForText("second: worker local gets no trials of it"));
  EXPECT_THAT(RunTune(folder, {"jobs", "--format", "json"}).out,
              HasSubstr("there is no folder " + (folder / "disk")));
  head->Signal(SIGKILL);
  head->Wait();
  std::filesystem::rename(folder / "unmounted", folder / "disk");
  head = StartHead(folder, {"--cpus", "1"});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"wait", "second"})));
  EXPECT_EQ(RunTune(folder, {"logs", "second"}).out, folder / "disk" + "\n");
}

TEST(Jobs, WhatIsNoUtf8IsRefusedAndNothingIsStored) {
  TestFolder folder;
  const auto head = StartHead(folder);
  for (const Rows& options : {Rows{"--name", "\xfe\xff"}, Rows{"--env", "A=\xff"}}) {
    EXPECT_EQ(Submit(folder, options, {"true"}).exit_status, 2);
  }
  const ProgramResult refused = Submit(folder, {}, {"echo", "\xff"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("the program's arguments: read '"));
  EXPECT_EQ(RunTune(folder, {"list", "--format", "json"}).out, "[]\n");
}

TEST(Jobs, TheSameIdIsTheSameJob) {
  TestFolder folder;
  auto head = StartHead(folder);
  EXPECT_EQ(Submit(folder, {"--no-wait", "--id", "monday"}, {"true"}).out, "true\n");
  head->Signal(SIGKILL);
  head->Wait();
  head = StartHead(folder);
  const ProgramResult again = Submit(folder, {"--no-wait", "--id", "monday"}, {"true"});
  EXPECT_EQ(again.out, "true\n");
  EXPECT_THAT(again.err, HasSubstr("it was submitted before"));
  EXPECT_EQ(Submit(folder, {"--no-wait", "--id", "tuesday"}, {"true"}).out, "true-2\n");
  EXPECT_EQ(Query(folder, "select count(*) from experiments"), Rows{"2"});
}

TEST(Jobs, OneThatIsSubmittedWhileTheHeadIsStartedAgainIsThereOnce) {
  TestFolder folder;
  auto head = StartHead(folder);
  for (int i = 0; i < 10; ++i) {
    const std::string name = "job" + std::to_string(i);
    Program submit(folder, "tune", {"submit", "--no-wait", "--name", name, "--", "true"});
    head->Signal(SIGKILL);
    head->Wait();
    head = StartHead(folder);
    const ProgramResult submitted = submit.Wait();
    const bool was_told = submitted.exit_status == 0;
    if (was_told) {
      EXPECT_EQ(submitted.out, name + "\n");
    } else {
      EXPECT_THAT(submitted.err, HasSubstr("no head holds")) << "it came between the two";
    }
    EXPECT_EQ(Query(folder, "select count(*) from experiments where name = '" + name + "'"),
              Rows{was_told ? "1" : "0"});
  }
  EXPECT_EQ(Query(folder, "select count(*) from experiments where name like '%-2'"), Rows{"0"});
}

TEST(Jobs, OneIsStoppedOneTakesTooLongOneIsTriedAgain) {
  TestFolder folder;
  const auto head = StartHead(folder);
  Submit(folder, {"--no-wait", "--name", "endless"}, {"sleep", "1000"});
  WaitForRows(folder, "select count(*) from trials where status = 'RUNNING'", {"1"});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"stop", "endless"})));
  EXPECT_EQ(RunTune(folder, {"wait", "endless"}).exit_status, 3);

  // It is asked to end first.
  folder.Write("tidy.sh", "trap 'touch tidied; exit' TERM\ntouch ready\nsleep 1000 & wait\n");
  Submit(folder, {"--no-wait", "--name", "tidy"}, {"sh", "tidy.sh"});
  while (!std::filesystem::exists(folder / "ready")) {
  }
  EXPECT_TRUE(Succeeded(RunTune(folder, {"stop", "tidy"})));
  EXPECT_EQ(RunTune(folder, {"wait", "tidy"}).exit_status, 3);
  while (!std::filesystem::exists(folder / "tidied")) {
  }

  const ProgramResult late =
      Submit(folder, {"--name", "late", "--time", "200ms"}, {"sleep", "1000"});
  EXPECT_EQ(late.exit_status, 3);
  EXPECT_THAT(late.err, HasSubstr("late is FAILED (time_limit)"));

  const ProgramResult again = Submit(folder, {"--name", "again", "--retries", "1"},
                                     {"sh", "-c", "test -e seen && exit 0; touch seen; exit 1"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_EQ(States(folder), (Rows{"endless,STOPPED,stopped_by_user", "tidy,STOPPED,stopped_by_user",
                                  "late,FAILED,time_limit", "again,SUCCEEDED,"}));
}

TEST(Jobs, OfASetupThatFailsWithoutAWordTheStatusIsTold) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const ProgramResult failed = Submit(folder, {"--setup", "exit 4"}, {"true"});
  EXPECT_EQ(failed.exit_status, 3);
  EXPECT_THAT(failed.err, HasSubstr("setup: 'exit 4' failed: it exited with status 4"));
}

TEST(Jobs, WhatCannotRunIsRefusedBeforeItIsStored) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const auto refused = [&](const Rows& options, const Rows& program, const std::string& why) {
    const ProgramResult result = Submit(folder, options, program);
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_THAT(result.err, HasSubstr(why));
  };
  refused({}, {"no-such-program"}, "no-such-program");
  refused({"--cpus", "64"}, {"true"}, "64");
  refused({"--cpus", "many"}, {"true"}, "resources.cpu");
  refused({"--env", "=X"}, {"true"}, "--env: read '=X', expected NAME=VALUE");
  refused({"--env", "NOT_SET_HERE"}, {"true"}, "NOT_SET_HERE is not set in this environment");
  refused({"--working-dir", "nowhere"}, {"true"}, "is no folder");
  refused({"--env", "HF_TOKEN=hf_abcdefghijklmnopqrstuvwxyz"}, {"true"}, "is a secret");
  EXPECT_EQ(States(folder), Rows{});
}

TEST(Jobs, ManyGoThroughTwoPlacesAndNoneIsLostWhenTheHeadIsKilled) {
  TestFolder folder;
  auto head = StartHead(folder);
  constexpr int kCount = 30;
  for (int i = 0; i < kCount; ++i) {
    const std::string name = "job" + std::to_string(i);
    ASSERT_EQ(Submit(folder, {"--no-wait", "--name", name}, {"true"}).out, name + "\n");
    if (i % 10 != 9) continue;
    head->Signal(SIGKILL);
    head->Wait();
    head = StartHead(folder);
  }
  WaitForRows(folder, "select count(*) from experiments where status = 'FINISHED'",
              {std::to_string(kCount)});
  EXPECT_EQ(Query(folder, "select count(*) from trials where stop_reason = 'completed'"),
            Rows{std::to_string(kCount)});
}

TEST(Jobs, OneThatNoMachineCanTakeIsGivenUpWhenItsTimeIsOver) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--listen", FreePlace()});
  const ProgramResult job = Submit(folder, {"--cpus", "64", "--unplaceable", "50ms"}, {"true"});
  EXPECT_EQ(job.exit_status, 3);
  EXPECT_THAT(job.err,
              HasSubstr("true is FAILED (can_never_run): no worker could take cpu: 64 for"));
  EXPECT_THAT(job.err, HasSubstr("(limits.unplaceable); tune resume tries it again"));
  EXPECT_EQ(RunTune(folder, {"wait", "true"}).exit_status, 3);
  EXPECT_EQ(States(folder), Rows{"true,FAILED,can_never_run"});

  folder.Write("space.yaml",
               "name: large\ntrainable: {curve: {value: x, iterations: 1}}\nmetric: v\nmode: max\n"
               "space: {x: {uniform: [0, 1]}}\nsamples: 1\n"
               "limits: {unplaceable: 50ms}\nresources: {cpu: 64}\n");
  const ProgramResult sweep = RunTune(folder, {"submit", "space.yaml"});
  ASSERT_EQ(sweep.exit_status, 0) << sweep.err;
  const ProgramResult watched = RunTune(folder, {"attach", "large"});
  EXPECT_EQ(watched.exit_status, 3);
  EXPECT_THAT(watched.out, HasSubstr("given up        no worker could take cpu: 64 for 50 ms"));
  EXPECT_THAT(RunTune(folder, {"status", "large"}).out,
              HasSubstr("large: INTERRUPTED, given up: no worker could take cpu: 64 for 50 ms"));
  const ProgramResult again = RunTune(folder, {"resume", "large"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_EQ(RunTune(folder, {"attach", "large"}).exit_status, 3);
}

TEST(Jobs, OneThatFollowsOneThatIsGivenUpIsStopped) {
  TestFolder folder;
  const auto head = StartHead(folder, {"--listen", "127.0.0.1:0"});
  ASSERT_TRUE(Succeeded(Submit(
      folder, {"--no-wait", "--cpus", "64", "--unplaceable", "1h", "--name", "large"}, {"true"})));
  ASSERT_TRUE(
      Succeeded(Submit(folder, {"--no-wait", "--name", "next", "--after", "large"}, {"true"})));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"set", "large", "unplaceable=50ms"})));
  EXPECT_EQ(RunTune(folder, {"wait", "next"}).exit_status, 3);
  EXPECT_EQ(States(folder), (Rows{"large,FAILED,can_never_run", "next,STOPPED,dependency_failed"}));
  EXPECT_THAT(Submit(folder, {"--after", "large"}, {"true"}).err,
              HasSubstr("after: large is FAILED"));
}

// Not by itself: who has said how long it may wait tries it again himself. Its next head has room
// for it, and a worker that its first one never had.
TEST(Jobs, OneThatIsGivenUpStaysSoUntilItIsResumedAtAnyHead) {
  TestFolder folder;
  auto head = StartHead(folder, {"--cpus", "1", "--gpus", "0", "--listen", "127.0.0.1:0"});
  EXPECT_EQ(Submit(folder, {"--cpus", "2", "--unplaceable", "50ms", "--name", "once"}, {"true"})
                .exit_status,
            3);
  head->Signal(SIGINT);
  head->Wait();
  EXPECT_EQ(States(folder), Rows{"once,FAILED,can_never_run"}) << "without a head, too";
  head = StartHead(folder, {"--cpus", "2", "--gpus", "0"});
  // The worker is there.
  ASSERT_TRUE(Succeeded(Submit(folder, {"--name", "other"}, {"true"})));
  EXPECT_EQ(States(folder), (Rows{"once,FAILED,can_never_run", "other,SUCCEEDED,"}));
  EXPECT_EQ(RunTune(folder, {"attach", "once"}).exit_status, 3);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume", "once"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"wait", "once"})));
}

}  // namespace
}  // namespace tune::testing
