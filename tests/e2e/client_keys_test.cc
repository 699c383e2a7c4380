// Keys of a head's clients: whose they are, what each may, and since when no more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/database_rows.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;
using Rows = std::vector<std::string>;

class ClientKey : public ::testing::Test {
 protected:
  void SetUp() override {
    setenv("XDG_CACHE_HOME", (here_ / "cache").c_str(), 1);
    setenv("XDG_CONFIG_HOME", config_.path().c_str(), 1);
    place_ = FreePlace();
    Start();
  }
  void TearDown() override {
    unsetenv("XDG_CACHE_HOME");
    unsetenv("XDG_CONFIG_HOME");
  }

  void Start() {
    head_ =
        std::make_unique<Program>(there_, "tune", Rows{"head", "--http", place_, "--cpus", "2"});
    ASSERT_TRUE(head_->WaitForText("the page of"));
  }
  // The page's address with a new key in it.
  std::string Make(const std::string& role, const std::string& name, const Rows& more = {}) {
    Rows arguments = {"tokens", "create", "--role", role, "--name", name};
    arguments.insert(arguments.end(), more.begin(), more.end());
    const ProgramResult made = RunTune(there_, arguments);
    EXPECT_TRUE(Succeeded(made));
    EXPECT_THAT(made.out, AllOf(StartsWith("http://" + place_ + "/?key="), EndsWith("\n")));
    return made.out.substr(0, made.out.size() - 1);
  }
  static std::string IdOf(const std::string& address) {
    return address.substr(address.find("key=") + 4, 8);
  }
  ProgramResult Ask(const std::string& address, const Rows& arguments) {
    Rows all = {"--head", address};
    all.insert(all.end(), arguments.begin(), arguments.end());
    return RunTune(here_, all);
  }
  void Refused(const std::string& address, const Rows& arguments, const std::string& why) {
    const ProgramResult refused = Ask(address, arguments);
    EXPECT_NE(refused.exit_status, 0) << why;
    EXPECT_THAT(refused.err, HasSubstr(why)) << arguments[0];
  }

  TestFolder here_;   // The clients'.
  TestFolder there_;  // The head's.
  TestFolder config_;
  std::string place_;
  std::unique_ptr<Program> head_;
};

TEST_F(ClientKey, AUserSubmitsAndChangesWhatIsHisOwnAndNothingElse) {
  const std::string ada = Make("user", "ada");
  const std::string bob = Make("user", "bob");
  EXPECT_EQ(Ask(ada, {"submit", "--no-wait", "--name", "long", "--", "sleep", "1000"}).out,
            "long\n");
  EXPECT_THAT(Ask(bob, {"jobs", "--format", "csv"}).out, HasSubstr("long,"));
  EXPECT_EQ(Query(there_,
                  "select json_extract(spec, '$.owner'), json_extract(provenance, '$.by')"
                  " from experiments"),
            Rows{"ada|ada"});
  Refused(bob, {"stop", "long"}, "long is ada's");
  Refused(bob, {"set", "long", "priority=5"}, "long is ada's");
  Refused(bob, {"note", "long", "mine"}, "long is ada's");
  Refused(bob, {"delete", "long", "--yes"}, "long is ada's");
  EXPECT_TRUE(Succeeded(Ask(ada, {"note", "long", "--tag", "team=vision", "of today"})));
  EXPECT_THAT(Ask(bob, {"note", "long"}).out, HasSubstr("team=vision"));
  Refused(ada, {"set", "long", "owner=bob"}, "an owner is changed by an admin's key alone");
  Refused(ada, {"drain", "local"}, "workers are let go by an admin's key alone");
  EXPECT_TRUE(Succeeded(Ask(ada, {"set", "long", "priority=5"})));
  EXPECT_TRUE(Succeeded(Ask(ada, {"stop", "long", "--now"})));
  EXPECT_EQ(Query(there_, "select sweep, change, \"by\", role from changes order by id"),
            (Rows{"long|note tag team=vision text|ada|user", "long|set priority=5|ada|user",
                  "long|stop now|ada|user"}));
  const std::string status = Ask(bob, {"status", "long"}).out;
  EXPECT_THAT(status, HasSubstr("stop now, by ada (user)"));
  EXPECT_THAT(status, HasSubstr("set priority=5, by ada (user)"));
  EXPECT_THAT(status, HasSubstr("submitted by ada"));
}

TEST_F(ClientKey, AnotherOwnerInTheSpaceFileOfAUserIsNotTaken) {
  const std::string ada = Make("user", "ada");
  here_.Write("space.yaml",
              "trainable: {curve: {value: x, iterations: 2}}\nmetric: v\nmode: max\n"
              "owner: bob\nspace: {x: {uniform: [0, 1]}}\n");
  const ProgramResult submitted = Ask(ada, {"submit", "space.yaml"});
  ASSERT_TRUE(Succeeded(submitted));
  EXPECT_EQ(Query(there_, "select json_extract(spec, '$.owner') from experiments"), Rows{"ada"});
}

TEST_F(ClientKey, AViewerLooksAndAnAdminChangesAll) {
  const std::string viewer = Make("viewer", "the board in the hall");
  const std::string root = Make("admin", "root");
  const std::string ada = Make("user", "ada");
  EXPECT_EQ(Ask(ada, {"submit", "--no-wait", "--name", "long", "--", "sleep", "1000"}).out,
            "long\n");
  EXPECT_THAT(Ask(viewer, {"jobs", "--format", "csv"}).out, HasSubstr("long,"));
  EXPECT_TRUE(Succeeded(Ask(viewer, {"note", "long"}))) << "shows it";
  Refused(viewer, {"stop", "long"}, "changes nothing");
  Refused(viewer, {"note", "long", "mine"}, "changes nothing");
  Refused(viewer, {"submit", "--", "true"}, "changes nothing");
  EXPECT_TRUE(Succeeded(Ask(root, {"set", "long", "owner=bob"})));
  Refused(ada, {"stop", "long", "--now"}, "long is bob's");
  EXPECT_TRUE(Succeeded(Ask(root, {"stop", "long", "--now"})));
  WaitForRows(there_, "select status from experiments", {"STOPPED"});
  EXPECT_TRUE(Succeeded(Ask(root, {"delete", "long", "--yes"})));
  // What was asked of it goes with it; that it was deleted, and by whom, stays.
  EXPECT_EQ(Query(there_, "select sweep, change, \"by\", role from changes"),
            Rows{"long|delete|root|admin"});
}

TEST_F(ClientKey, WhoFollowsAQuietJobWithARevokedOneEndsWithOneLine) {
  const std::string ada = Make("user", "ada");
  EXPECT_TRUE(Succeeded(Ask(ada, {"submit", "--no-wait", "--name", "quiet", "--", "sh", "-c",
                                  "echo once; exec sleep 1000"})));
  Program follower(here_, "tune", {"--head", ada, "logs", "quiet", "-f"});
  while (!follower.HasPrinted("once")) {
  }
  EXPECT_TRUE(Succeeded(RunTune(there_, {"tokens", "revoke", IdOf(ada)})));
  const ProgramResult followed = follower.Wait();
  EXPECT_EQ(followed.exit_status, 2);
  EXPECT_EQ(followed.err, "tune: the key counts no more: it was revoked, or has expired\n");
}

TEST_F(ClientKey, OneThatIsRevokedOrHasExpiredCountsNoMoreAlsoForWhoFollows) {
  const std::string ada = Make("user", "ada");
  const std::string bob = Make("user", "bob");
  EXPECT_EQ(Ask(ada, {"submit", "--no-wait", "--name", "long", "--", "sh", "-c",
                      "while echo tick; do sleep 0.1; done"})
                .out,
            "long\n");
  Program follower(here_, "tune", {"--head", ada, "logs", "long", "-f"});
  while (!follower.HasPrinted("tick")) {
  }
  EXPECT_TRUE(Succeeded(RunTune(there_, {"tokens", "revoke", IdOf(ada)})));
  EXPECT_THAT(RunTune(there_, {"tokens", "revoke", IdOf(ada)}).err,
              HasSubstr(IdOf(ada) + " was revoked already, at "));
  const ProgramResult followed = follower.Wait();
  EXPECT_EQ(followed.exit_status, 2);
  EXPECT_THAT(followed.err, HasSubstr("the key counts no more"));
  Refused(ada, {"list"}, "the key that was sent is not one of this head's");
  Refused(Make("admin", "brief", {"--expires", "1ms"}), {"list"}, "is not one of this head's");
  EXPECT_TRUE(Succeeded(Ask(bob, {"list"})));
  const std::string listed = RunTune(there_, {"tokens", "--format", "csv"}).out;
  EXPECT_THAT(listed, HasSubstr(IdOf(ada) + ",revoked,"));
  EXPECT_THAT(listed, HasSubstr(",user,ada\n"));
  EXPECT_THAT(listed, HasSubstr(",expired,"));
  // The secret itself is kept nowhere.
  EXPECT_THAT(there_.Read("tune.artifacts/tls/tokens.json"),
              Not(HasSubstr(ada.substr(ada.find("key=") + 4))));
}

TEST_F(ClientKey, WhatIsAskedWithoutAHeadIsWrittenDownToo) {
  // A variable of a job does not say who asks.
  const ProgramResult forged =
      RunTune(there_, {"submit", "--env", "TUNE_ASKS_FOR=admin root", "--", "true"});
  EXPECT_NE(forged.exit_status, 0);
  EXPECT_THAT(forged.err, HasSubstr("TUNE_ASKS_FOR"));
  RunTune(there_, {"submit", "--name", "over", "--", "true"});
  head_->Signal(SIGTERM);
  head_->Wait();
  EXPECT_TRUE(Succeeded(RunTune(there_, {"note", "over", "mine"})));
  EXPECT_TRUE(Succeeded(RunTune(there_, {"delete", "over", "--yes"})));
  EXPECT_EQ(Query(there_, "select sweep, change, role from changes"), Rows{"over|delete|"});
}

// The page runs it for an admin who asks from elsewhere.
TEST_F(ClientKey, WithoutAHeadNoSweepIsRunByACommandFromElsewhere) {
  there_.Write("space.yaml",
               "trainable:\n  command: [echo, \"loss={x}\"]\n"
               "  metrics: {loss: {regex: \"loss={number}\"}}\n"
               "metric: loss\nmode: min\nseed: 5\nspace: {x: {uniform: [1, 2]}}\nsamples: 1\n");
  ASSERT_TRUE(Succeeded(RunTune(there_, {"submit", "space.yaml"})));
  WaitForRows(there_, "select status from experiments", {"FINISHED"});
  head_->Signal(SIGTERM);
  head_->Wait();
  setenv("TUNE_ASKS_FOR", "admin ada", 1);
  const ProgramResult longer = RunTune(there_, {"resume", "space", "--samples", "2"});
  const ProgramResult over = RunTune(there_, {"resume", "space"});
  unsetenv("TUNE_ASKS_FOR");
  EXPECT_EQ(longer.exit_status, 2) << longer.err;
  EXPECT_THAT(longer.err, HasSubstr("a command from elsewhere does not run a sweep itself"));
  EXPECT_TRUE(Succeeded(over));
  EXPECT_EQ(Query(there_, "select count(*) from trials"), Rows{"1"});
}

TEST_F(ClientKey, TheSameIdOfTwoPeopleIsTwoJobs) {
  const std::string ada = Make("user", "ada");
  const std::string bob = Make("user", "bob");
  const Rows submit = {"submit", "--id", "nightly", "--name", "n", "--"};
  const auto of = [&](Rows program) {
    Rows all = submit;
    all.insert(all.end(), program.begin(), program.end());
    return all;
  };
  EXPECT_EQ(Ask(ada, of({"echo", "ada"})).out, "ada\n");
  EXPECT_EQ(Ask(bob, of({"echo", "bob"})).out, "bob\n");
  EXPECT_EQ(Ask(bob, of({"echo", "bob"})).out, "bob\n");
  EXPECT_EQ(Query(there_, "select count(*) from experiments"), Rows{"2"});
}

TEST_F(ClientKey, TheyOutliveTheHeadAndADamagedListKeepsThePagesOwnKeys) {
  const std::string ada = Make("user", "ada");
  head_->Signal(SIGKILL);
  head_->Wait();
  Start();
  EXPECT_TRUE(Succeeded(Ask(ada, {"list"})));
  const std::string tokens = there_ / "tune.artifacts/tls/tokens.json";
  const std::string whole = there_.Read("tune.artifacts/tls/tokens.json");
  there_.Write("tune.artifacts/tls/tokens.json", "{\"tokens\": [");
  EXPECT_TRUE(Succeeded(Ask(ada, {"list"}))) << "as it was read last";
  const ProgramResult refused =
      RunTune(there_, {"tokens", "create", "--role", "user", "--name", "b"});
  EXPECT_NE(refused.exit_status, 0);
  EXPECT_THAT(refused.err, HasSubstr("tokens.json"));
  const std::string own =
      "http://" + place_ + "/?key=" + there_.Read("tune.artifacts/page.key").substr(0, 32);
  EXPECT_TRUE(Succeeded(Ask(own, {"list"})));
  there_.Write("tune.artifacts/tls/tokens.json", whole);
  EXPECT_TRUE(Succeeded(Ask(ada, {"list"})));
}

TEST_F(ClientKey, LoginKeepsAHeadUnderANameForItsOwnerAlone) {
  const std::string ada = Make("user", "ada");
  // The address comes from standard input, and lies in no folder that is submitted.
  const TestFolder away;
  const auto login = [&](const std::string& address, const Rows& arguments) {
    away.Write("address", address);
    std::string line = "cd " + away.path() + " && " + BinDir() + "/tune login";
    for (const std::string& argument : arguments) line += " " + argument;
    const int status = std::system((line + " < address > said 2> complained").c_str());
    return ProgramResult{WEXITSTATUS(status), away.Read("said"), away.Read("complained")};
  };
  const ProgramResult kept = login("  " + ada + "\r\n", {"lab"});
  ASSERT_TRUE(Succeeded(kept));
  EXPECT_THAT(kept.out, HasSubstr("knows you as ada, a user"));
  struct stat state = {};
  ASSERT_EQ(stat((config_ / "tune/heads/lab").c_str(), &state), 0);
  EXPECT_EQ(state.st_mode & 0777, 0600u);
  EXPECT_EQ(Ask("lab", {"submit", "--", "echo", "hello"}).out, "hello\n");
  setenv("TUNE_HEAD", "lab", 1);
  EXPECT_THAT(RunTune(here_, {"jobs", "--format", "csv"}).out, HasSubstr("SUCCEEDED"));
  unsetenv("TUNE_HEAD");
  // What is wrong keeps the one that is there.
  const std::string stranger = "http://" + place_ + "/?key=" + std::string(40, '0');
  EXPECT_THAT(login(stranger, {"lab"}).err, HasSubstr("open the address with the key"));
  EXPECT_THAT(login("lab", {"lab"}).err, HasSubstr("the address"));
  EXPECT_THAT(login(ada, {"../lab"}).err, HasSubstr("expected a word"));
  // A folder into which others may write is left as it is.
  const TestFolder open;
  std::filesystem::create_directory(config_ / "x");
  setenv("XDG_CONFIG_HOME", (config_ / "x").c_str(), 1);
  std::filesystem::create_directory(config_ / "x/tune");
  std::filesystem::create_directory_symlink(open.path(), config_ / "x/tune/heads");
  std::filesystem::permissions(open.path(), std::filesystem::perms::all);
  EXPECT_THAT(login(ada, {"lab"}).err, HasSubstr("can be written by other users"));
  EXPECT_EQ(std::filesystem::status(open.path()).permissions(), std::filesystem::perms::all);
  setenv("XDG_CONFIG_HOME", config_.path().c_str(), 1);
  EXPECT_EQ(Ask("lab", {"list", "--names"}).exit_status, 0);
  EXPECT_THAT(Ask("lib", {"list"}).err, HasSubstr("(lab)"));
  EXPECT_TRUE(Succeeded(login("", {"lab", "--forget"})));
  EXPECT_THAT(Ask("lab", {"list"}).err, HasSubstr("expected the address of a head"));
  EXPECT_THAT(login("", {"lab", "--forget"}).err, HasSubstr("there is no head 'lab'"));
}

TEST_F(ClientKey, RunOnAHeadElsewhereIsSubmittedAndWatched) {
  const std::string ada = Make("user", "ada");
  here_.Write("space.yaml",
              "trainable: {curve: {value: x, iterations: 2}}\nmetric: v\nmode: max\n"
              "space: {x: {uniform: [0, 1]}}\n");
  const ProgramResult ran = Ask(ada, {"run", "space.yaml", "--samples", "3", "--seed", "7"});
  EXPECT_TRUE(Succeeded(ran));
  EXPECT_THAT(ran.out, HasSubstr("space FINISHED: 3 trials"));
  EXPECT_THAT(ran.out, HasSubstr("tune results space")) << "its database is not here";
  EXPECT_EQ(Query(there_, "select status, samples, seed from experiments"), Rows{"FINISHED|3|7"});
  EXPECT_FALSE(std::filesystem::exists(here_ / "tune.db"));
  EXPECT_EQ(Ask(ada, {"run", "space.yaml", "--detach", "--name", "later"}).out, "later\n");
  const ProgramResult checked =
      Ask(ada, {"run", "space.yaml", "--set", "resources.gpu=8", "--dry-run"});
  EXPECT_TRUE(Succeeded(checked)) << "the head may have what this machine has not";
  EXPECT_THAT(checked.out, HasSubstr("those of the head at " + place_));
  EXPECT_EQ(Query(there_, "select count(*) from experiments"), Rows{"2"});
  Refused(ada, {"run", "space.yaml", "--cpus", "2"},
          "--cpus: is of a sweep with workers of its own");
  EXPECT_THAT(Ask(ada, {"run", "space.yaml", "--set", "limits.lease=5s"}).err,
              HasSubstr("warning: limits.lease: workers of a head have the head's lease"));
  Refused(ada, {"run", "nothing.yaml"}, "nothing.yaml");
  Refused(ada, {"run", "space.yaml", "--samples", "0"}, "samples");
}

TEST_F(ClientKey, WhatIsWrongIsSaidInALine) {
  const auto refused = [&](const Rows& arguments, const std::string& why) {
    const ProgramResult result = RunTune(there_, arguments);
    EXPECT_EQ(result.exit_status, 2) << why;
    EXPECT_THAT(result.err, HasSubstr(why));
    EXPECT_EQ(result.out, "");
  };
  refused({"tokens", "create", "--role", "boss", "--name", "a"}, "expected worker, viewer, user");
  refused({"tokens", "create", "--role", "user"}, "--name: read ''");
  refused({"tokens", "create", "--name", "ada"}, "--name: is for keys of people");
  refused({"tokens", "--role", "user"}, "are for tune tokens create");
  refused({"tokens", "make"}, "expected create, or revoke and an ID");
  refused({"tokens", "revoke"}, "expected create, or revoke and an ID");
  refused({"tokens", "create", "--role", "user", "--name", "a\nb"}, "expected whose it is");
  const TestFolder other;
  const ProgramResult none = RunTune(other, {"tokens", "create", "--role", "user", "--name", "a"});
  EXPECT_EQ(none.exit_status, 2);
  EXPECT_THAT(none.err, HasSubstr("has served a page yet"));
  EXPECT_FALSE(std::filesystem::exists(other / "tune.artifacts"));
}

}  // namespace
}  // namespace tune::testing
