// A head as clients on other machines use it: over HTTP, with folders that it does not see.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"
#include "tests/sanitized.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using Rows = std::vector<std::string>;

class RemoteHead : public ::testing::Test {
 protected:
  void SetUp() override {
    if (geteuid() != 0) GTEST_SKIP() << "hiding a folder needs root";
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
  }
  void TearDown() override { unsetenv("XDG_CACHE_HOME"); }

  // It does not see the client's folder.
  void Start(const std::string& http = FreePlace()) {
    Rows arguments = {"head", "--http", http_.empty() ? http : http_};
    arguments.insert(arguments.end(), arguments_.begin(), arguments_.end());
    head_ = std::make_unique<Program>(there_, "tune", arguments, "", here_.path());
    ASSERT_TRUE(head_->WaitForLine([&](const std::string& line) {
      if (const JoinLine join = ParseJoinLine(line); !join.token.empty()) join_ = join;
      return Note(line, address_);
    }));
  }
  // What follows "https://", to the line's end.
  static bool Note(const std::string& line, std::string& address) {
    const size_t at = line.find(": http");
    if (at == std::string::npos) return false;
    address = line.substr(at + 2, line.find('\n') - at - 2);
    return true;
  }
  // At the same place, as a person starts it.
  void StartAgain() {
    const size_t port = address_.rfind(':', address_.find("/?key="));
    http_ = address_.substr(address_.find("//") + 2, address_.find("/?key=") - 7);
    ASSERT_NE(port, std::string::npos);
    Start();
  }
  void Kill() {
    head_->Signal(SIGKILL);
    head_->Wait();
  }

  ProgramResult Ask(const Rows& arguments, const std::string& address = "") {
    Rows all = {"--head", address.empty() ? address_ : address};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunTune(here_, all);
  }

  TestFolder here_;   // The client's.
  TestFolder there_;  // The head's.
  TestFolder cache_;
  std::string address_;
  std::string http_;
  Rows arguments_ = {"--cpus", "2"};
  JoinLine join_;  // Where it listens; stands before the page's address.
  std::unique_ptr<Program> head_;
};

TEST_F(RemoteHead, AJobRunsInACopyOfTheFolderAndItsOutputAndStatusAreOurs) {
  Start();
  std::filesystem::create_directory(here_ / "data");
  here_.Write("data/words.txt", "from data\n");
  here_.Write(".tuneignore", "left_out\n");
  here_.Write("left_out", "");
  here_.Write("train.sh",
              "cat data/words.txt; ls left_out; echo '{x}' $1 >&2; touch made; exit 7\n");
  const ProgramResult ran = Ask({"submit", "--", "sh", "train.sh", "{{a}}"});
  EXPECT_EQ(ran.exit_status, 7) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("from data\n"));
  EXPECT_THAT(ran.out, HasSubstr("{x} {{a}}\n"));
  EXPECT_THAT(ran.out, HasSubstr("left_out"));
  EXPECT_THAT(ran.err, HasSubstr("job train\n"));
  EXPECT_THAT(ran.err,
              HasSubstr("train is FAILED (exit_status): the program exited with status 7"));
  EXPECT_FALSE(std::filesystem::exists(here_ / "made"));
  EXPECT_THAT(Ask({"jobs", "--format", "csv"}).out, HasSubstr("\ntrain,FAILED,exit_status,"));
  EXPECT_EQ(Ask({"wait", "train"}).exit_status, 7);
  EXPECT_EQ(Ask({"logs", "train"}).out, ran.out);
  EXPECT_EQ(RunTune(there_, {"logs", "train"}).out, ran.out) << "the head's own commands";
}

TEST_F(RemoteHead, AFolderIsSentFromWhereTmpdirNamesNoFolder) {
  Start();
  here_.Write("train.sh", "echo trained\n");
  const MissingTmpdir missing;
  const ProgramResult ran = Ask({"submit", "--", "sh", "train.sh"});
  EXPECT_EQ(ran.exit_status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("trained\n"));
}

TEST_F(RemoteHead, ASweepRunsAndIsLookedAtFromElsewhere) {
  Start();
  here_.Write("train.py", "import sys\nprint('loss=' + sys.argv[1])\n");
  here_.Write("space.yaml",
              "trainable:\n  command: [python3, train.py, \"{x}\"]\n"
              "  metrics: {loss: {regex: \"loss={number}\"}}\n"
              "metric: loss\nmode: min\nseed: 5\nspace: {x: {grid_search: [3, 1, 2]}}\n");
  EXPECT_EQ(Ask({"submit", "space.yaml", "--tag", "team=vision"}).out, "space\n");
  WaitForRows(there_, "select status from experiments", {"FINISHED"});
  EXPECT_EQ(Ask({"note", "space", "two\nlines"}).out, "space: team=vision\n  two\n  lines\n");
  EXPECT_EQ(Ask({"list", "--names", "--tag", "team=vision"}).out, "space\n");
  EXPECT_THAT(Ask({"results", "space", "--format", "csv"}).out, HasSubstr("\n1,TERMINATED,"));
  EXPECT_EQ(Ask({"results", "space"}).out, RunTune(there_, {"results", "space"}).out);
  EXPECT_THAT(Ask({"best", "space", "--format", "json"}).out, HasSubstr("\"config\":{\"x\":1}"));
  // What they write comes here.
  const ProgramResult exported = Ask({"best", "space", "--export", here_ / "model"});
  EXPECT_TRUE(Succeeded(exported));
  EXPECT_THAT(exported.err, HasSubstr("exported to model"));
  EXPECT_EQ(here_.Read("model/config.json"), "{\"x\":1}\n");
  EXPECT_TRUE(Succeeded(Ask({"plot", "space", "best", "--svg", "best.svg"})));
  EXPECT_THAT(here_.Read("best.svg"), HasSubstr("<svg"));
  EXPECT_THAT(Ask({"export", "space", "--to", "csv", here_ / "tables"}).err,
              HasSubstr("exported space to tables\n"));
  EXPECT_THAT(here_.Read("tables/trials.csv"), HasSubstr("TERMINATED"));
  EXPECT_TRUE(Succeeded(Ask({"report", "space", "--html", "space.html"})));
  EXPECT_THAT(here_.Read("space.html"), HasSubstr("<!doctype html>"));
  EXPECT_TRUE(Succeeded(Ask({"delete", "space", "--yes"})));
  EXPECT_EQ(Query(there_, "select count(*) from experiments"), Rows{"0"});
}

// The worker that runs it sees neither the client's folder nor the head's disk.
TEST_F(RemoteHead, WhatAJobLeavesInItsFolderComesToTheClient) {
  arguments_ = {"--cpus", "0", "--listen", FreePlace()};
  Start();
  const Program worker(cache_, "tune", join_.Worker({"--cpus", "1", "--cache", cache_ / "apart"}),
                       "", there_.path());
  here_.Write("train.sh",
              "mkdir -p $TUNE_DIR/plots; echo 1,0.5 > $TUNE_DIR/history.csv; echo x > "
              "$TUNE_DIR/plots/a.svg; echo w > $TUNE_DIR/checkpoint_best.pt; mkfifo "
              "$TUNE_DIR/pipe; exit 3\n");
  const ProgramResult ran = Ask({"submit", "--", "sh", "train.sh"});
  EXPECT_EQ(ran.exit_status, 3) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tune: 1 link in this attempt's folder did not go to the tuner"));
  EXPECT_THAT(Ask({"files", "train", "--format", "csv"}).out, HasSubstr("plots/a.svg,2,"));
  const ProgramResult came = Ask({"files", "train", "--export", here_ / "came"});
  EXPECT_EQ(came.exit_status, 0) << came.err;
  EXPECT_EQ(came.err, "4 files in came\n");
  EXPECT_EQ(here_.Read("came/checkpoint_best.pt"), "w\n") << "it is no checkpoint of ours";
  EXPECT_EQ(here_.Read("came/history.csv"), "1,0.5\n");
  EXPECT_EQ(here_.Read("came/plots/a.svg"), "x\n");
  EXPECT_EQ(Ask({"files", "train", "--export", here_ / "came"}).exit_status, 2);
}

TEST_F(RemoteHead, WhatAProgramWritesBesideItsCodeIsToldToStayThere) {
  Start();
  here_.Write("words.txt", "");
  here_.Write("train.sh",
              "until [ words.txt -nt train.sh ]; do touch words.txt; done\n"
              "mkdir -p runs; touch runs/best.pt .hidden\n");
  const ProgramResult ran = Ask({"submit", "--", "sh", "train.sh"});
  EXPECT_EQ(ran.exit_status, 0) << ran.err;
  EXPECT_THAT(ran.out, HasSubstr("tune: left on another machine: the program wrote runs/best.pt, "
                                 "words.txt beside its code"));
}

TEST_F(RemoteHead, AJobFindsNothingThatAnotherOneLeftBesideTheSameCode) {
  Start();
  here_.Write("train.sh", "test ! -e ckpt || exit 7; echo epoch 3 > ckpt\n");
  for (int i = 0; i < 2; ++i) {
    const ProgramResult ran = Ask({"submit", "--", "sh", "train.sh"});
    EXPECT_EQ(ran.exit_status, 0) << ran.out << ran.err;
  }
}

TEST_F(RemoteHead, CtrlCEndsWhoFollowsAJobAndSaysThatItGoesOn) {
  Start();
  Program follower(
      here_, "tune",
      {"--head", address_, "submit", "--name", "long", "--", "sh", "-c", "echo begun; sleep 1000"});
  while (!follower.HasPrinted("begun")) {
  }
  follower.Signal(SIGINT);
  const ProgramResult left = follower.Wait();
  EXPECT_EQ(left.exit_status, 130);
  EXPECT_THAT(left.err, HasSubstr("the job goes on: tune logs long -f shows it again"));
  EXPECT_EQ(Query(there_, "select status from trials"), Rows{"RUNNING"});
}

TEST_F(RemoteHead, WhoFollowsAJobMissesNothingWhenTheHeadIsKilled) {
  Start();
  here_.Write("count.sh",
              "for i in 1 2 3 4 5 6; do echo line $i; "
              "while ! test -e " +
                  (there_ / "go") + "$i; do sleep 0.01; done; done\n");
  Program submit(here_, "tune",
                 {"--head", address_, "submit", "--retries", "0", "--", "sh", "count.sh"});
  WaitForRows(there_, "select count(*) from trials where status = 'RUNNING'", {"1"});
  there_.Write("go1", "");
  there_.Write("go2", "");
  ASSERT_TRUE(submit.WaitForText("job count"));
  Kill();
  StartAgain();
  for (int i = 3; i <= 6; ++i) there_.Write("go" + std::to_string(i), "");
  const ProgramResult followed = submit.Wait();
  EXPECT_EQ(followed.exit_status, 0) << followed.err;
  EXPECT_THAT(followed.out, HasSubstr("line 6\n"));
  EXPECT_EQ(followed.out, Ask({"logs", "count"}).out) << "nothing twice, nothing missing";
}

TEST_F(RemoteHead, ASubmissionWhileTheHeadIsStartedAgainIsThereOnce) {
  Start();
  for (int i = 0; i < 5; ++i) {
    const std::string name = "job" + std::to_string(i);
    Program submit(here_, "tune",
                   {"--head", address_, "submit", "--no-wait", "--name", name, "--", "true"});
    if (i % 2 == 0) submit.WaitForText("waiting for the head");  // Or its end.
    Kill();
    StartAgain();
    const ProgramResult submitted = submit.Wait();
    const bool was_told = submitted.exit_status == 0;
    EXPECT_EQ(submitted.out, was_told ? name + "\n" : "");
    EXPECT_EQ(Query(there_, "select count(*) from experiments where name = '" + name + "'"),
              Rows{was_told ? "1" : "0"})
        << submitted.err;
  }
  EXPECT_EQ(Query(there_, "select count(*) from experiments where name like '%-2'"), Rows{"0"});
}

TEST_F(RemoteHead, ADoorThatIsKilledIsOpenedAgainAndNoJobIsNamedAsAThingOfTheHeads) {
  Start();
  for (const std::string name : {"page.key", "page.address", "packages", "cluster", "head.log",
                                 "tls", "control.sock", ".deleted-1"}) {
    EXPECT_EQ(Ask({"submit", "--no-wait", "--name", name, "--", "true"}).exit_status, 2) << name;
  }
  const pid_t page = ChildOf(head_->pid(), "tune_cli");
  ASSERT_GT(page, 0);
  kill(page, SIGKILL);
  ASSERT_TRUE(head_->WaitForLine([&](const std::string& line) { return Note(line, address_); }));
  EXPECT_EQ(Ask({"submit", "--", "echo", "hello"}).out, "hello\n");
}

TEST_F(RemoteHead, TheKeyGoesToNoWorker) {
  Start();
  here_.Write("lab.head", address_ + "\n");
  const ProgramResult refused = Ask({"submit", "--", "true"}, "lab.head");
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("lab.head"));
  EXPECT_THAT(refused.err, HasSubstr("the head's key"));
  here_.Write(".tuneignore", "*.head\n");
  EXPECT_TRUE(Succeeded(Ask({"submit", "--", "true"}, "lab.head")));
}

TEST_F(RemoteHead, WhatIsWrongIsSaidInALine) {
  Start();
  const auto refused = [&](const Rows& arguments, const std::string& why,
                           const std::string& address = "") {
    const ProgramResult answer = Ask(arguments, address);
    EXPECT_NE(answer.exit_status, 0) << why;
    EXPECT_THAT(answer.err, HasSubstr(why));
    EXPECT_EQ(answer.out, "");
  };
  const std::string other =
      address_.substr(0, address_.find("key=")) + "key=" + std::string(32, '0');
  refused({"list"}, "the key that was sent is not one of this head's", other);
  refused({"submit", "--", "true"}, "key", other);
  refused({"list"}, "expected the address of a head", "127.0.0.1:8080");
  refused({"list"}, "it has no key", "http://127.0.0.1:8080/");
  refused({"list"}, "nobody answers", "http://127.0.0.1:1/?key=abc");
  refused({"list"}, "over TLS alone", "http://192.0.2.7:8080/?key=abc");
  refused({"gc"}, "works on a database of this machine");
  refused({"resume", "a", "--space", "a.yaml"}, "--space: is about files of the head's machine");
  here_.Write("mine.svg", "");
  refused({"plot", "a", "--svg", "mine.svg"}, "mine.svg is there already");
  refused({"--db", "tune.db", "list"}, "expected one of them");
  refused({"logs", "nothing/0"}, "no sweep is in it yet");
  refused({"submit", "--", "./nothing.sh"}, "there is no file");
  EXPECT_EQ(Ask({"list", "--format", "json"}).out, "[]\n");
  // The address may stand in a file.
  here_.Write("lab.head", address_ + "\n");
  EXPECT_EQ(Ask({"list", "--format", "json"}, "lab.head").out, "[]\n");
}

TEST_F(RemoteHead, AQueryOfLargeValuesLeavesTheHeadItsMemory) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer takes more than the limit";
  Start();
  const ProgramResult answer =
      Ask({"results", "--sql", "SELECT length(hex(zeroblob(450000000))) AS characters"});
  EXPECT_NE(answer.exit_status, 0) << answer.out;
  EXPECT_THAT(answer.err, HasSubstr("memory"));
  EXPECT_EQ(Ask({"list", "--format", "json"}).out, "[]\n");
}

// What lies at the folder's path on the head's machine is another one.
TEST_F(RemoteHead, WhatCameWithAFolderThatIsNoLongerKeptIsNotResumedInAnother) {
  Start();
  here_.Write("train.sh", "exit 7\n");
  EXPECT_EQ(Ask({"submit", "--", "sh", "train.sh"}).exit_status, 7);
  std::filesystem::remove_all(there_ / "tune.artifacts/packages");
  const ProgramResult refused = Ask({"resume", "train", "--errored"});
  EXPECT_NE(refused.exit_status, 0);
  EXPECT_THAT(refused.err, HasSubstr("the folder of train, which was submitted from another "
                                     "machine, is no longer kept; submit it there again"));
  EXPECT_EQ(Query(there_, "select count(*) from attempts"), Rows{"1"});
  head_->Signal(SIGTERM);
  head_->Wait();
  const ProgramResult alone = RunTune(there_, {"resume", "train", "--errored"});
  EXPECT_EQ(alone.exit_status, 2);
  EXPECT_THAT(alone.err, HasSubstr("was submitted to a head from another machine"));
}

TEST_F(RemoteHead, AHeadThatBeginsGivesUpAJobWhoseFolderIsNoLongerKept) {
  Start();
  here_.Write("train.sh", "exec sleep 1000\n");
  EXPECT_EQ(Ask({"submit", "--no-wait", "--", "sh", "train.sh"}).out, "train\n");
  WaitForRows(there_, "select status from trials", {"RUNNING"});
  Kill();
  std::filesystem::remove_all(there_ / "tune.artifacts/packages");
  StartAgain();
  WaitForRows(there_, "select status from experiments", {"INTERRUPTED"});
  EXPECT_THAT(Ask({"jobs", "--format", "csv"}).out, HasSubstr("\ntrain,FAILED,can_never_run,"));
  const ProgramResult waited = Ask({"wait", "train"});
  EXPECT_EQ(waited.exit_status, 3);
  EXPECT_THAT(waited.out, HasSubstr("the folder of train, which was submitted from another "
                                    "machine, is no longer kept; submit it there again"));
}

TEST_F(RemoteHead, AJobStaysAJobAndWhatIsSubmittedAgainKeepsItsName) {
  Start();
  EXPECT_EQ(Ask({"submit", "--name", "once", "--", "true"}).exit_status, 0);
  const ProgramResult more = Ask({"resume", "once", "--samples", "3"});
  EXPECT_EQ(more.exit_status, 2);
  EXPECT_THAT(more.err, HasSubstr("once is a job, which runs once; tune submit --again once"));
  EXPECT_THAT(Ask({"jobs", "--format", "csv"}).out, HasSubstr("\nonce,SUCCEEDED,"));
  here_.Write(
      "space.yaml",
      "trainable: {curve: {value: x, iterations: 1, seconds: 0}}\nmetric: accuracy\nmode: max\n"
      "samples: 1\nspace: {x: {uniform: [0, 1]}}\n");
  const ProgramResult named = Ask({"submit", "space.yaml", "--name", "mine"});
  EXPECT_EQ(named.out, "mine\n") << named.err;
  EXPECT_EQ(Ask({"submit", "--again", "mine"}).out, "mine-2\n");
  EXPECT_EQ(Ask({"submit", "--again", "mine-2"}).out, "mine-3\n");
}

TEST_F(RemoteHead, OverTlsItIsKnownByItsCertificate) {
  Start("0.0.0.0:0");
  ASSERT_THAT(address_, HasSubstr("https://"));
  ASSERT_THAT(address_, HasSubstr("&cert="));
  EXPECT_EQ(Ask({"list", "--format", "json"}).out, "[]\n");
  EXPECT_TRUE(Succeeded(Ask({"submit", "--", "true"})));
  const size_t cert = address_.find("&cert=");
  const std::string other = address_.substr(0, cert) + "&cert=" + std::string(64, 'a');
  EXPECT_THAT(Ask({"list"}, other).err, HasSubstr("shows another certificate"));
  EXPECT_THAT(Ask({"list"}, address_.substr(0, cert)).err, HasSubstr("cannot be trusted"));
  // Who only looks.
  std::string viewer;
  ASSERT_TRUE(head_->WaitForLine([&](const std::string& line) {
    return line.find("only look") != std::string::npos && Note(line, viewer);
  }));
  EXPECT_THAT(Ask({"jobs"}, viewer).out, HasSubstr("true"));
  EXPECT_THAT(Ask({"stop", "true"}, viewer).err, HasSubstr("changes nothing"));
  EXPECT_THAT(Ask({"submit", "--", "true"}, viewer).err, HasSubstr("changes nothing"));
  EXPECT_EQ(Query(there_, "select count(*) from experiments"), Rows{"1"});
}

}  // namespace
}  // namespace tune::testing
