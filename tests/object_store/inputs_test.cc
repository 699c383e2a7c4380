// Sweeps whose programs read data from an object store (`inputs:`), against a real one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>

#include "tests/e2e/join_line.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

class Inputs : public BucketSweep {
 protected:
  void SetUp() override {
    BucketSweep::SetUp();
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    Put("set/train ä/1.txt", "20\n");
    Put("set/train ä/2.txt", "20\n");
    Put("words.txt", "2\n");
  }
  void Put(const std::string& key, const std::string& text) {
    const Status put = client_->Put(key, text, {}, {});
    ASSERT_TRUE(put.ok()) << put.message();
  }
  // Each trial reports the sum of all numbers, until the file `go` is there where it `waits`.
  std::string Space(int samples = 2, bool waits = false) const {
    return folder_.Write(
        "space.yaml",
        "trainable:\n"
        "  shell: true\n"
        "  command: 'while true; do tune report sum=$(( $(cat {tune.inputs}/photos/*/*.txt "
        "\"$TUNE_INPUTS/words.txt\" | paste -sd+) )) || exit 0; " +
            std::string(waits ? "test ! -e go || exit 0; sleep 0.1" : "exit 0") +
            "; done'\n"
            "  working_dir: .\n"
            "  inputs:\n"
            "    - {from: \"s3://" +
            bucket_ + "/set\", to: photos}\n    - {from: \"s3://" + bucket_ +
            "/words.txt\"}\n"
            "metric: sum\nmode: max\nspace: {x: {uniform: [0, 1]}}\nsamples: " +
            std::to_string(samples) + "\n");
  }
  size_t CopiesInCache() const {
    size_t count = 0;
    for (const auto& entry : fs::directory_iterator(cache_ / "tune/data")) {
      count += entry.is_directory() ? 1 : 0;
    }
    return count;
  }
  std::vector<std::string> Values() const {
    return Query(folder_, "select distinct value from reports order by value");
  }

  TestFolder folder_;
  TestFolder cache_;
};

TEST_F(Inputs, AreFetchedOnceAMachineAndSharedByItsTrials) {
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"run", Space(4), "--cpus", "2"})));
  EXPECT_EQ(Values(), std::vector<std::string>{"42.0"});
  EXPECT_EQ(CopiesInCache(), 2u);
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"run", Space(1), "--db", "second.db"})));
  EXPECT_EQ(CopiesInCache(), 2u) << "another sweep has them too";
}

TEST_F(Inputs, WorkersOfOtherMachinesFetchThemThemselves) {
  if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  TestFolder away;
  Program tune(folder_, "tune", {"run", Space(), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  Program worker(away, "tune", join.Worker({"--cpus", "1", "--cache", away / "cache"}), "",
                 folder_.path());
  EXPECT_TRUE(Succeeded(worker.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(Values(), std::vector<std::string>{"42.0"});
  EXPECT_TRUE(fs::exists(away / "cache/data"));
}

TEST_F(Inputs, AWorkerThatTheStoreRefusesLeavesItsTrialsToOthers) {
  TestFolder away;
  Program tune(folder_, "tune", {"run", Space(), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  const std::string secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
  Program worker(away, "tune", join.Worker({"--cpus", "1", "--cache", away / "cache"}));
  setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1);
  const std::string said =
      "this worker cannot have what its trials need: cannot list s3://" + bucket_;
  EXPECT_TRUE(tune.WaitForText(said));
  const ProgramResult left = worker.Wait();
  EXPECT_EQ(left.exit_status, 1);
  EXPECT_THAT(left.err + left.out, HasSubstr(said));
  Program other(away, "tune",
                join.Worker({"--cpus", "1", "--cache", away / "cache", "--name", "other"}));
  EXPECT_TRUE(Succeeded(other.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(Query(folder_,
                  "select count(*) from attempts where outcome not in ('completed', "
                  "'preempted')"),
            std::vector<std::string>{"0"});
}

TEST_F(Inputs, ASweepWhoseOnlyWorkerTheStoreRefusesEndsAtOnceAndGoesOnLater) {
  const std::string secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  setenv("AWS_SECRET_ACCESS_KEY", "wrong", 1);
  const ProgramResult refused = RunTune(folder_, {"run", Space()});
  setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1);
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_THAT(refused.err, HasSubstr("this worker cannot have what its trials need: cannot list "));
  EXPECT_THAT(refused.err, HasSubstr("the local worker cannot run these trials"));
  EXPECT_THAT(refused.err, Not(HasSubstr("started another one")));
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"resume"})));
  EXPECT_EQ(Values(), std::vector<std::string>{"42.0"});
}

TEST_F(Inputs, AWorkerWithoutAPlaceForThemLeavesItsTrialsToOthers) {
  TestFolder away;
  Program tune(folder_, "tune", {"run", Space(), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  const std::string in_the_way = away.Write("file", "");
  Program worker(away, "tune", join.Worker({"--cpus", "1", "--cache", in_the_way + "/cache"}));
  EXPECT_TRUE(tune.WaitForText("this worker cannot have what its trials need: cannot "));
  EXPECT_EQ(worker.Wait().exit_status, 1);
  Program other(away, "tune", join.Worker({"--cpus", "1", "--cache", away / "cache"}));
  EXPECT_TRUE(Succeeded(other.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

// The sweep's record says what was listed when it began.
TEST_F(Inputs, ATrialThatReadOtherDataThanTheSweepBeganWithSaysSo) {
  TestFolder away;
  Program tune(folder_, "tune", {"run", Space(), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  Put("set/train ä/2.txt", "30\n");
  Program worker(away, "tune", join.Worker({"--cpus", "1", "--cache", away / "cache"}));
  EXPECT_TRUE(Succeeded(worker.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(Query(folder_, "select count(*) from notes where note like '%: other data (%): s3://" +
                               bucket_ +
                               "/set was 2 files, 6 bytes, hash % when the sweep began; "
                               "this attempt read 2 files, 6 bytes, hash %'"),
            std::vector<std::string>{"2"});
}

TEST_F(Inputs, AResumeSaysThatTheDataAreOthersNow) {
  const std::string space = Space(1, true);
  {
    Program tune(folder_, "tune", {"run", space});
    AwaitReports(tune, folder_, 1);
    tune.Signal(SIGINT);
    EXPECT_EQ(tune.Wait().exit_status, 130);
  }
  folder_.Write("go", "");
  Put("set/train ä/2.txt", "30\n");
  const ProgramResult resumed = RunTune(folder_, {"resume"});
  EXPECT_TRUE(Succeeded(resumed));
  EXPECT_THAT(resumed.err, HasSubstr("warning: changed since space began: data in s3://" + bucket_ +
                                     "/set: was 2 files of 6 bytes (hash "));
  EXPECT_THAT(resumed.err, Not(HasSubstr("words.txt")));
  EXPECT_THAT(Values(), SizeIs(2));
}

TEST_F(Inputs, ThatAWorkerWhichComesLaterFindsOtherDataIsTold) {
  TestFolder away;
  Program tune(folder_, "tune", {"run", Space(3, true), "--cpus", "0", "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  const auto worker = [&](const std::string& name) {
    return std::make_unique<Program>(
        away, "tune",
        join.Worker({"--cpus", "1", "--name", name, "--cache", away / ("cache-" + name)}));
  };
  const auto first = worker("first");
  WaitForReports(folder_, 3);
  EXPECT_EQ(Values(), std::vector<std::string>{"42.0"});
  Put("set/train ä/2.txt", "30\n");
  const auto second = worker("second");
  const std::string changed = "data in s3://" + bucket_ + "/set: was 2 files of 6 bytes";
  EXPECT_TRUE(tune.WaitForText("warning: changed since the sweep began: " + changed));
  WaitForRows(folder_, "select max(value) from reports", {"52.0"});
  folder_.Write("go", "");
  WaitForRows(folder_, "select count(*) > 0 from notes where note like '%" + changed + "%'",
              {"1"});  // The third trial's at least.
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_TRUE(Succeeded(first->Wait()));
  EXPECT_TRUE(Succeeded(second->Wait()));
}

TEST_F(Inputs, WhatIsNowhereIsToldBeforeTheSweepBegins) {
  Space();
  const auto said = [&](const std::string& from) {
    folder_.Write("bad.yaml", "trainable: {command: [\"true\"], inputs: [{from: \"" + from +
                                  "\", to: data}]}\nmetric: m\nmode: max\n");
    const ProgramResult result = RunTune(folder_, {"run", "bad.yaml"});
    EXPECT_EQ(result.exit_status, 2);
    EXPECT_FALSE(fs::exists(folder_ / "tune.db"));
    const ProgramResult dry = RunTune(folder_, {"run", "bad.yaml", "--dry-run"});
    EXPECT_EQ(dry.exit_status, 2);
    EXPECT_EQ(dry.err, result.err);
    return result.err;
  };
  EXPECT_THAT(said("s3://" + bucket_ + "/sett"),
              HasSubstr("trainable: inputs: s3://" + bucket_ + "/sett at "));
  EXPECT_THAT(said("s3://no-such-bucket-here/set"), HasSubstr("NoSuchBucket"));
  Put("odd/a", "file");
  Put("odd/a/b", "below it");
  EXPECT_THAT(said("s3://" + bucket_ + "/odd"), HasSubstr("it cannot be file and folder at once"));
}

}  // namespace
}  // namespace tune::testing
