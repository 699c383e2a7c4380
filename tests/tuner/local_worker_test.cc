// How a tuner keeps its own worker.
#include "tuner/cli/run/local_worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>
#include <string>
#include <thread>

#include "tests/tuner/temp_folder.h"
#include "trial_runner/worker_status.h"

namespace tune {
namespace {

using ::testing::HasSubstr;

constexpr Instant kNow{1'000'000'000};
constexpr WorkerId kFirst{1}, kSecond{2};

// Its program ends with the status that is written into the pipe "status".
class LocalWorkerTest : public ::testing::Test {
 protected:
  LocalWorkerTest() {
    std::ofstream(folder_ / "tune_worker")
        << "#!/bin/sh\nread -r status < \"$(dirname \"$0\")/status\"\nexit $status\n";
    EXPECT_EQ(mkfifo((folder_ / "status").c_str(), 0600), 0);
    EXPECT_EQ(chmod((folder_ / "tune_worker").c_str(), 0755), 0);
    WorkerCapacity capacity;
    capacity.cpu_milli = 1000;
    keeper_.emplace(LocalWorkerOptions{folder_.path(), capacity, "", "", ""});
    EXPECT_TRUE(keeper_->Start().ok());
  }

  // Until the worker has ended.
  Result<std::string> LookWhenItEnds(int status, std::optional<WorkerId> leased) {
    std::ofstream(folder_ / "status") << status << "\n";
    while (true) {
      Result<std::string> news = keeper_->Look(kNow, 0, leased);
      if (!news.ok() || !news->empty()) return news;
      std::this_thread::yield();
    }
  }

  TempFolder folder_;
  std::optional<LocalWorkerKeeper> keeper_;
};

TEST_F(LocalWorkerTest, OneThatLeavesForItsTrialsIsNotReplaced) {
  EXPECT_EQ(*keeper_->Look(kNow, 0, kFirst), "");
  EXPECT_EQ(LookWhenItEnds(1, std::nullopt).status().message(),
            "the local worker cannot run these trials");
}

TEST_F(LocalWorkerTest, OneWhoseTunerWasAwayIsReplaced) {
  EXPECT_EQ(*keeper_->Look(kNow, 0, kFirst), "");
  EXPECT_EQ(*LookWhenItEnds(kTunerLostStatus, std::nullopt),
            "the local worker ended with exit status 3; started another one");
}

TEST_F(LocalWorkerTest, TheLateLossOfTheOneBeforeIsNotTakenForItsOwn) {
  EXPECT_EQ(*keeper_->Look(kNow, 0, kFirst), "");
  EXPECT_THAT(*LookWhenItEnds(kTunerLostStatus, kFirst), HasSubstr("started another one"));
  // The first is counted with until its loss is noticed, and again before the second has joined.
  EXPECT_EQ(*keeper_->Look(kNow, 0, kFirst), "");
  EXPECT_EQ(*keeper_->Look(kNow + Seconds(1), 0, std::nullopt), "");
  EXPECT_EQ(*keeper_->Look(kNow + Seconds(10), 0, std::nullopt), "");
  EXPECT_EQ(*keeper_->Look(kNow + Seconds(11), 0, kSecond), "");
  // Its own loss is.
  EXPECT_EQ(*keeper_->Look(kNow + Seconds(12), 0, std::nullopt), "");
  EXPECT_THAT(*keeper_->Look(kNow + Seconds(14), 0, std::nullopt),
              HasSubstr("was given up and is killed; started another one"));
}

}  // namespace
}  // namespace tune
