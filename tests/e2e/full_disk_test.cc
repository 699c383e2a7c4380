// A head whose database's disk gets full: it waits for room, and what it runs goes on.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"
#include "tests/small_disk.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using Rows = std::vector<std::string>;

constexpr char kHeld[] = "Nothing is taken until there is room";

class FullDisk : public ::testing::Test {
 protected:
  FullDisk() : disk_(folder_ / "small", 16 << 20) {}
  void SetUp() override {
    if (!disk_.is_mounted()) GTEST_SKIP() << disk_.why_not();
  }
  std::unique_ptr<Program> Start() const {
    return StartHead(folder_, {"--db", "small/tune.db", "--cpus", "3", "--gpus", "0"});
  }
  ProgramResult Tune(Rows arguments) const {
    arguments.insert(arguments.begin() + 1, {"--db", "small/tune.db"});
    return RunTune(folder_, arguments);
  }
  void SubmitShell(const std::string& name, const std::string& text) const {
    const Rows arguments = {"submit", "--no-wait", "--name", name, "--", "sh", "-c", text};
    ASSERT_TRUE(Succeeded(Tune(arguments)));
  }
  void WaitUntilRun(int count) const {
    WaitForRows(folder_, "select count(*) from attempts where outcome = 'running'",
                {std::to_string(count)}, "small/tune.db");
  }
  // The next commit finds no room: one of the jobs ends.
  void FillAndEnd(const std::string& job, Program& head) const {
    disk_.Fill("ballast");
    folder_.Write(job, "");
    ASSERT_TRUE(head.WaitForText(kHeld));
  }
  void MakeRoom() const { fs::remove(folder_ / "small/ballast"); }

  const TestFolder folder_;
  const SmallDisk disk_;
};

TEST_F(FullDisk, AHeadWaitsForRoomAndWhatItRunsGoesOn) {
  const auto head = Start();
  SubmitShell("short", "until test -e short; do sleep 0.01; done");
  SubmitShell("long",
              "until test -e print; do sleep 0.01; done; seq 100000; touch printed; "
              "until test -e long; do sleep 0.01; done; echo end");
  WaitUntilRun(2);
  FillAndEnd("short", *head);

  const ProgramResult refused = Tune({"submit", "--", "true"});
  EXPECT_NE(refused.exit_status, 0);
  EXPECT_THAT(refused.err, HasSubstr("small/tune.db: database or disk is full; free some space"));
  EXPECT_THAT(refused.err, HasSubstr(kHeld));
  const ProgramResult stop = Tune({"stop", "long"});
  EXPECT_NE(stop.exit_status, 0);
  EXPECT_THAT(stop.err, HasSubstr(kHeld));
  const ProgramResult jobs = Tune({"jobs", "--format", "csv"});
  EXPECT_THAT(jobs.out, HasSubstr("long,RUNNING")) << jobs.err;
  EXPECT_THAT(jobs.out, HasSubstr("short,RUNNING")) << "its end is not durable";
  folder_.Write("print", "");
  while (!fs::exists(folder_ / "printed")) {
  }
  folder_.Write("long", "");  // It ends, and nobody can be told.

  MakeRoom();
  EXPECT_TRUE(head->WaitForText("the disk of the database has room again"));
  EXPECT_TRUE(Succeeded(Tune({"wait", "short"})));
  EXPECT_TRUE(Succeeded(Tune({"wait", "long"})));
  EXPECT_EQ(Query(folder_, "select attempts from trials", "small/tune.db"), (Rows{"1", "1"}));
  ASSERT_TRUE(Succeeded(Tune({"submit", "--name", "next", "--", "true"})));
  // Its worker says it when there is room, be the program over or not.
  while (Tune({"logs", "long"}).out.find(" bytes are missing here: the disk took no writes]") ==
         std::string::npos) {
  }
}

TEST_F(FullDisk, AHeadThatIsKilledMeanwhileLosesNothingThatItHasSaid) {
  auto head = Start();
  SubmitShell("short", "until test -e short; do sleep 0.01; done");
  SubmitShell("other", "until test -e other; do sleep 0.01; done");
  WaitUntilRun(2);
  FillAndEnd("short", *head);
  head->Signal(SIGKILL);
  head->Wait();
  MakeRoom();
  folder_.Write("other", "");
  head = Start();
  EXPECT_TRUE(Succeeded(Tune({"wait", "short"})));
  EXPECT_TRUE(Succeeded(Tune({"wait", "other"})));
}

// SIGTERM, too, needs no room.
TEST_F(FullDisk, AHeadThatWaitsForRoomEndsWhenItIsTold) {
  auto head = Start();
  SubmitShell("short", "until test -e short; do sleep 0.01; done");
  WaitUntilRun(1);
  FillAndEnd("short", *head);
  head->Signal(SIGTERM);
  EXPECT_EQ(head->Wait().exit_status, 143);
  MakeRoom();
  head = Start();
  EXPECT_TRUE(Succeeded(Tune({"wait", "short"})));
}

}  // namespace
}  // namespace tune::testing
