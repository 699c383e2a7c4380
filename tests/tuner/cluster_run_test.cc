// tune run --cluster: whether it takes the cluster down again.
#include "tuner/cli/head/cluster_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <sstream>

#include "tests/tuner/temp_folder.h"
#include "tests/tuner/tuner_parts.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class ClusterRunTest : public ::testing::Test {
 protected:
  ClusterRunTest() {
    options_.db_path = folder_ / "tune.db";
    options_.space_path = folder_ / "space.yaml";
    options_.cluster_path = folder_ / "lab.yaml";
    options_.program_dir = folder_.path();
    WriteText(options_.cluster_path,
              "pools: {vm: {command: {up: [u, \"{name}\"], down: [d, \"{name}\"], list: [l]}}}\n");
    // A head that is about to start.
    WriteText(folder_ / "tune_cli", "#!/bin/sh\nexec tail -f /dev/null\n");
    std::filesystem::permissions(folder_ / "tune_cli", std::filesystem::perms::owner_all);
    auto lock = AcquireWriterLock(options_.db_path, clock_.now);
    EXPECT_TRUE(lock.ok());
    lock_.emplace(*std::move(lock));
  }

  // What it says. It waits `waits` times, and is interrupted then.
  std::string Run(int waits) {
    const WaitFunction wait = [&](Duration) {
      lock_.reset();
      return waits-- > 0;
    };
    LiveScreen screen;
    std::ostringstream out, err;
    RunOnCluster(options_, clock_, wait, screen, out, err);
    return err.str();
  }

  TempFolder folder_;
  testing::SetClock clock_;
  RunOptions options_;
  std::optional<WriterLock> lock_;
};

TEST_F(ClusterRunTest, AClusterThatItBeganGoesDownThoughACommandHeldTheDatabaseForAMoment) {
  EXPECT_THAT(Run(1), HasSubstr("the cluster lab is down"));
}

TEST_F(ClusterRunTest, AClusterOfAHeadThatWasThereStaysUpThoughTheHeadDoesNotAnswer) {
  ASSERT_TRUE(lock_->AnnounceHead().ok());
  EXPECT_THAT(Run(0), Not(HasSubstr("is down")));
}

}  // namespace
}  // namespace tune
