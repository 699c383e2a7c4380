// kill -9 of any process at any moment of sweeps whose checkpoints go to an object store: each ends
// with the answer of one left alone, the store has what the rows say, and `tune delete` leaves
// nothing there.
//
// More runs, and others, are tried with TUNE_KILL_RUNS and TUNE_KILL_SEED.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/random.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/kill_runs.h"
#include "tests/e2e/running_head.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

constexpr char kEndless[] = "failure: {max_failures: -1, backoff: 0s}\n";

class KillInBucket : public BucketSweep {
 protected:
  const uint64_t seed_ = NumberFrom("TUNE_KILL_SEED", 1);
  const int64_t runs_ = static_cast<int64_t>(NumberFrom("TUNE_KILL_RUNS", 3));

  // The store has the checkpoints that rows call durable, and whose they are, and no other object.
  void ExpectNoObjectBeside(const TestFolder& folder, const std::string& db = "tune.db") {
    const std::vector<std::string> durable =
        Query(folder, "select path from checkpoints where state = 'durable'", db);
    std::set<std::string> whole;
    for (const std::string& key : Keys()) {
      const std::string url = "s3://" + bucket_ + "/" + key;
      // A tuner that was killed while it looked whether it may write leaves that until `delete`.
      const bool is_probe = key.find("/.tune-probe-") != std::string::npos;
      if (is_probe || key.ends_with("/owner.json")) continue;
      const auto owner =
          std::find_if(durable.begin(), durable.end(),
                       [&url](const std::string& path) { return url.starts_with(path + "/"); });
      if (owner == durable.end()) {
        ADD_FAILURE() << url << " belongs to no row";
      } else if (url == *owner + "/manifest.json") {
        whole.insert(*owner);
      }
    }
    EXPECT_EQ(whole.size(), durable.size());
    EXPECT_THAT(*client_->ListUploads("", {}), IsEmpty());
  }
  void ExpectDeleteLeavesNothing(const TestFolder& folder, const std::string& sweep,
                                 const std::string& db = "tune.db") {
    EXPECT_TRUE(Succeeded(RunTune(folder, {"delete", sweep, "--yes", "--db", db})));
    EXPECT_THAT(Keys(), IsEmpty());
    EXPECT_THAT(*client_->ListUploads("", {}), IsEmpty());
  }
  // One trial at a time, with ASHA.
  std::string AshaSpace(const std::string& bytes, const std::string& samples,
                        const std::string& checkpoint = "") const {
    return CurveSweep("    iterations: 9\n    seconds: 0.01\n    checkpoint_bytes: " + bytes + "\n",
                      "checkpoint: {storage: \"" + Storage() + "\"" + checkpoint + "}\nsamples: " +
                          samples + "\nlimits: {max_concurrent: 1}\n" + kAsha + kEndless);
  }
  void KillAndLook(const KillSweep& sweep) {
    const std::string witness =
        std::string(std::getenv("TUNE_BUILD_DIR")) + "/tests/tune_witness_trial";
    constexpr char kDb[] = "sweep/tune.db";
    TestFolder folder;
    KillRuns runs(sweep, BinDir(), witness, folder.path(), seed_);
    ASSERT_THAT(runs.findings(), IsEmpty()) << sweep.name << ", left alone";
    ExpectDeleteLeavesNothing(folder, "space", kDb);
    int64_t kills = 0;
    for (int64_t number = 1; number <= runs_; ++number) {
      const KillRun run = runs.Run(number);
      kills += run.kills();
      EXPECT_THAT(run.findings, IsEmpty())
          << sweep.name << ", seed " << seed_ << ", run " << number << ":\n"
          << run.story;
      ExpectNoObjectBeside(folder, kDb);
      ExpectDeleteLeavesNothing(folder, "space", kDb);
      if (HasFailure()) return;
    }
    std::cout << sweep.name << ": " << runs_ << " runs, " << kills << " kills\n";
  }
};

TEST_F(KillInBucket, SmallCheckpointsAreThoseOfASweepLeftAlone) {
  KillAndLook({"bucket-asha-1", AshaSpace("64KiB", "6"), {}, true, false});
}

TEST_F(KillInBucket, CheckpointsThatFollowTheirReportsAreThoseOfASweepLeftAlone) {
  KillAndLook({"bucket-asha-1-async", AshaSpace("64KiB", "6", ", async: true"), {}, true, false});
}

TEST_F(KillInBucket, CheckpointsThatAreSentInPartsAreThoseOfASweepLeftAlone) {
  KillAndLook({"bucket-asha-1-parts", AshaSpace("18MiB", "2"), {}, true, false});
}

TEST_F(KillInBucket, WorkersOfOtherMachinesMayGoWithTheirDisks) {
  if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  KeyedRandom random(seed_, "workers in bucket");
  TestFolder folder;
  TestFolder away;
  const std::string space =
      CurveSweep("    iterations: 9\n    seconds: 0.03\n    checkpoint_bytes: 256KiB\n",
                 "checkpoint: {storage: \"" + Storage() +
                     "\"}\nsamples: 4\nlimits: {max_concurrent: 1}\n" + kEndless);
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", space), "--cpus", "0", "--db", folder / "tune.db",
                "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  std::optional<Program> worker;
  int reports = 0;
  for (int64_t life = 0; life <= runs_; ++life) {
    const std::string cache = "cache" + std::to_string(life);
    worker.emplace(away, "tune", join.Worker({"--cpus", "1", "--cache", away / cache}), "",
                   folder.path());
    if (life == runs_) break;
    reports += 1 + static_cast<int>(random.NextBelow(6));
    WaitForReports(folder, std::min(reports, 30));
    worker->Signal(SIGKILL);
    worker->Wait();
    std::error_code error;
    do {
      fs::remove_all(away / cache, error);
    } while (error);
  }
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  ExpectNoObjectBeside(folder);
  ExpectDeleteLeavesNothing(folder, "space");
}

TEST_F(KillInBucket, AHeadMayDieAtAnyMoment) {
  KeyedRandom random(seed_, "head in bucket");
  TestFolder folder;
  const std::string space =
      Space("0.02", "", "samples: 4\nlimits: {max_concurrent: 1}\n" + std::string(kEndless));
  auto head = StartHead(folder);
  for (const std::string name : {"one", "two"}) {
    ASSERT_TRUE(Succeeded(RunTune(folder, {"submit", folder.Write(name + ".yaml", space)})));
  }
  int reports = 0;
  for (int64_t life = 0; life < runs_; ++life) {
    reports += 1 + static_cast<int>(random.NextBelow(12));
    WaitForReports(folder, std::min(reports, 60));
    head->Signal(SIGKILL);
    head->Wait();
    if (random.NextBelow(2) == 0) LoseArtifacts(folder);
    head = StartHead(folder);
  }
  const std::vector<std::string> wanted = UndisturbedTable(OnDisk(space));
  for (const std::string name : {"one", "two"}) {
    WaitForRows(folder, "select status from experiments where name = '" + name + "'", {"FINISHED"});
    EXPECT_EQ(Query(folder,
                    "select number, t.status, stop_reason, config, iterations, best_value, "
                    "best_iteration, last_value from trials as t join experiments as e on e.id = "
                    "t.experiment where e.name = '" +
                        name + "' order by number"),
              wanted)
        << name;
  }
  for (const std::string name : {"one", "two"}) {
    ASSERT_TRUE(Succeeded(RunTune(folder, {"delete", name, "--yes"})));
  }
  head->Signal(SIGTERM);
  head->Wait();
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_THAT(*client_->ListUploads("", {}), IsEmpty());
}

}  // namespace
}  // namespace tune::testing
