// tune run --cluster: whether it takes the cluster down again.
#include "tuner/cli/head/cluster_run.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/tuner/temp_folder.h"
#include "tests/tuner/tuner_parts.h"
#include "tests/tuner/watched_syncs.h"
#include "tuner/cli/head/cluster_state.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/pool_book.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
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

// After a power loss an empty token would let no worker join.
TEST_F(ClusterRunTest, TheTokenIsOnTheDiskBeforeItHasItsName) {
  const auto cluster = ReadClusterFile(options_.cluster_path);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  std::filesystem::create_directories(folder_ / "tune.artifacts");
  const auto state = ClusterState::OpenOrMake(folder_ / "tune.artifacts", *cluster);
  ASSERT_TRUE(state.ok()) << state.status().message();
  const WatchedSyncs syncs;
  const auto kept = state->KeepToken("secret");
  ASSERT_TRUE(kept.ok()) << kept.status().message();
  EXPECT_THAT(syncs.paths(), ElementsAre(*kept + ".new", state->folder()));
  EXPECT_EQ(ReadText(*kept), "secret");
}

TEST_F(ClusterRunTest, AClusterThatItBeganGoesDownThoughACommandHeldTheDatabaseForAMoment) {
  EXPECT_THAT(Run(1), HasSubstr("the cluster lab is down"));
}

TEST_F(ClusterRunTest, AClusterOfAHeadThatWasThereStaysUpThoughTheHeadDoesNotAnswer) {
  ASSERT_TRUE(lock_->AnnounceHead().ok());
  EXPECT_THAT(Run(0), Not(HasSubstr("is down")));
}

TEST(ClusterState, NamesThatAreTooLongAreRefusedWhereNoWorkerHasThemAlone) {
  const TempFolder folder;
  const std::string path = folder / "lab.yaml";
  WriteText(path, "name: " + std::string(24, 'c') + "\npools: {" + std::string(24, 'p') +
                      ": {kubernetes: {image: i}}}\n");
  const Result<ClusterSpec> cluster = ReadClusterFile(path);
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const std::string artifacts = folder / "tune.artifacts";
  fs::create_directory(artifacts);
  const auto check = [&] { return ClusterState::CheckNames(artifacts, *cluster).message(); };
  EXPECT_THAT(check(), HasSubstr(path + ":2:9: pools: read 'pppp"));

  // As an earlier build has begun it.
  Result<ClusterState> state = ClusterState::OpenOrMake(artifacts, *cluster);
  ASSERT_TRUE(state.ok()) << state.status().message();
  PoolBook book(*cluster, state->Prefix());
  (void)book.Look({}, {}, Instant{1'000'000});
  book.OnListed(0, std::vector<Machine>{{book.PrefixOf(0) + "1", MachineState::kRunning, ""}},
                Instant{1'000'000});
  ASSERT_TRUE(state->Keep(book.Encode()).ok());
  EXPECT_EQ(check(), "");

  ASSERT_TRUE(state->Keep(PoolBook(*cluster, state->Prefix()).Encode()).ok());
  EXPECT_THAT(check(), HasSubstr("expected a name")) << "all are given back";
}

}  // namespace
}  // namespace tune
