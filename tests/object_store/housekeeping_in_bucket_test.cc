// backup, gc, delete and doctor of sweeps whose checkpoints lie in a real object store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "tests/e2e/running_head.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;

TEST_F(BucketSweep, ItsBestIsExportedAndBackedUpFromThere) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  const ProgramResult best = RunTune(folder, {"best", "--export", "best"});
  ASSERT_TRUE(Succeeded(best));
  EXPECT_THAT(best.out, HasSubstr("checkpoint     " + Storage() + "/space/"));
  EXPECT_TRUE(fs::exists(folder / "best/state.bin"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"backup", "copy.db"})));
  EXPECT_EQ(CopiesBelow(folder / "copy.artifacts").size(), Durable(folder).size());
  // The store has lost all of it: the copy goes on with what it has.
  ASSERT_TRUE(RemoveAllBelow(*client_, "", {}).ok());
  ASSERT_TRUE(
      Succeeded(RunTune(folder, {"best", "--db", "copy.db", "--export", "best of the copy"})));
  EXPECT_TRUE(fs::exists(folder / "best of the copy/state.bin"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume", "--db", "copy.db", "--samples", "4"})));
  EXPECT_EQ(Query(folder, "select count(*), min(status) from trials", "copy.db"),
            std::vector<std::string>{"4|TERMINATED"});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"doctor", "--db", "copy.db"})));
}

TEST_F(BucketSweep, ABackupKeepsAndPutsBackWhatTheStoreHasOnlyInPart) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"backup", "copy.db"})));
  // One object of a checkpoint is lost; its manifest is not.
  const std::vector<std::string> keys = Keys("p/space/0/");
  const auto lost = std::find_if(keys.begin(), keys.end(), [](const std::string& key) {
    return key.find("/data/") != std::string::npos;
  });
  ASSERT_NE(lost, keys.end());
  ASSERT_TRUE(client_->Delete(*lost, {}).ok());
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc", "--db", "copy.db"})));
  EXPECT_THAT(CopiesBelow(folder / "copy.artifacts"), SizeIs(1)) << "the others are there whole";
  const ProgramResult doctor = RunTune(folder, {"doctor", "--db", "copy.db"});
  EXPECT_NE(doctor.exit_status, 0);
  EXPECT_THAT(doctor.out, HasSubstr("is whole: tune resume space puts it back"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume", "--db", "copy.db", "--samples", "4"})));
  EXPECT_EQ(Keys(*lost), std::vector<std::string>{*lost});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"doctor", "--db", "copy.db"})));
}

TEST_F(BucketSweep, ACopyThatIsDamagedIsNotPutBack) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"backup", "copy.db"})));
  ASSERT_TRUE(RemoveAllBelow(*client_, "p/space/0/", {}).ok());
  for (const std::string& copy : CopiesBelow(folder / "copy.artifacts/space/0")) {
    std::ofstream(copy + "/state.bin") << "another";
  }
  EXPECT_THAT(RunTune(folder, {"doctor", "--db", "copy.db"}).out,
              HasSubstr("restore it from a backup"));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc", "--db", "copy.db"})));
  EXPECT_THAT(Keys("p/space/0/"), IsEmpty());
}

TEST_F(BucketSweep, GcRemovesWhatNobodyNeedsAndDeleteEverything) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  const std::vector<std::string> before = Durable(folder);
  const std::string root = "p/space/0/checkpoint_000099";
  ASSERT_TRUE(client_->Put(DataKey(root, "half"), "text", {}, {}).ok());
  const Result<std::string> upload = client_->BeginUpload(DataKey(root + ".2", "large"), {});
  ASSERT_TRUE(upload.ok());
  const ProgramResult dry = RunTune(folder, {"gc", "--dry-run", "--format", "csv"});
  EXPECT_TRUE(Succeeded(dry));
  EXPECT_THAT(dry.out,
              HasSubstr("s3://" + bucket_ + "/" + root + ",4,a checkpoint that no trial told of"));
  EXPECT_EQ(Keys(root).size(), 1u);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc"})));
  EXPECT_EQ(Durable(folder), before);
  ExpectStoreIsWhatRowsSay(folder);
  const ProgramResult deleted = RunTune(folder, {"delete", "space", "--yes"});
  EXPECT_TRUE(Succeeded(deleted));
  EXPECT_THAT(deleted.out, HasSubstr("and all below " + Storage() + "/space"));
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_THAT(*client_->ListUploads("", {}), IsEmpty());
}

// Its rows go first; a store that refuses it then is one of which the database knows.
TEST_F(BucketSweep, WhatADeleteThatFailedHasLeftGoesWithTheNextGc) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  const auto fail_to_delete = [&] {
    unsetenv("AWS_ACCESS_KEY_ID");
    const ProgramResult failed = RunTune(folder, {"delete", "space", "--yes"});
    setenv("AWS_ACCESS_KEY_ID", "TUNEKEY", 1);
    EXPECT_EQ(failed.exit_status, 1);
    EXPECT_THAT(failed.err, HasSubstr("tune gc goes on with it"));
  };
  fail_to_delete();
  EXPECT_NE(RunTune(folder, {"delete", "space", "--yes"}).exit_status, 0) << "it is deleted";
  EXPECT_FALSE(Keys().empty());
  const ProgramResult dry = RunTune(folder, {"gc", "--dry-run"});
  EXPECT_THAT(dry.out, HasSubstr("of a sweep that was deleted"));
  EXPECT_FALSE(Keys().empty());
  const ProgramResult collected = RunTune(folder, {"gc"});
  EXPECT_TRUE(Succeeded(collected));
  EXPECT_THAT(collected.out, HasSubstr("of a sweep that was deleted"));
  EXPECT_THAT(Keys(), IsEmpty());
  EXPECT_THAT(RunTune(folder, {"gc"}).out, Not(HasSubstr("s3://")));
  // Its name is free, also before anybody has collected what is left.
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "space.yaml"})));
  fail_to_delete();
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "space.yaml"})));
  ExpectStoreIsWhatRowsSay(folder);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc"})));
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(BucketSweep, AHeadGoesOnWithTheDeletesOfItsLastLife) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  {
    const Stopped stopped;
    Program head(folder, "tune", {"head", "--cpus", "1"});
    ASSERT_TRUE(head.WaitForText("the head runs"));
    ASSERT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
    head.Signal(SIGKILL);
    head.Wait();
  }
  EXPECT_FALSE(Keys().empty());
  Program head(folder, "tune", {"head", "--cpus", "1"});
  ASSERT_TRUE(head.WaitForText("the head runs"));
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!Keys().empty() && std::chrono::steady_clock::now() < end) {
  }
  EXPECT_THAT(Keys(), IsEmpty());
  head.Signal(SIGTERM);
  head.Wait();
  EXPECT_TRUE(Succeeded(RunTune(folder, {"doctor"})));
}

TEST_F(BucketSweep, NoneBeginsWithinThePlaceOfAnotherAndDeleteLeavesOneThatIsThere) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  std::string within = Space("0");
  within.replace(within.find(Storage()), Storage().size(), Storage() + "/space");
  folder.Write("within.yaml", within);
  const ProgramResult refused = RunTune(folder, {"run", "within.yaml", "--db", "other.db"});
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("lies within " + Storage() + "/space, which belongs to"));
  // As an older build would have left it.
  const std::string mark = *client_->Get("p/space/owner.json", {});
  for (const std::string name : {"owner.json", "0/checkpoint_000001/data/state.bin"}) {
    ASSERT_TRUE(client_->Put("p/space/within/" + name, mark, {}, {}).ok());
  }
  EXPECT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
  EXPECT_EQ(Keys(), (std::vector<std::string>{"p/space/within/0/checkpoint_000001/data/state.bin",
                                              "p/space/within/owner.json"}));
}

// Whose it is, nobody knows then.
TEST_F(BucketSweep, DeleteTouchesNothingWithoutTheOwnersMarkAndSaysSo) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  ASSERT_TRUE(client_->Delete("p/space/owner.json", {}).ok());
  const std::vector<std::string> before = Keys();
  const ProgramResult deleted = RunTune(folder, {"delete", "space", "--yes"});
  EXPECT_EQ(deleted.exit_status, 1) << deleted.out << deleted.err;
  EXPECT_THAT(deleted.out + deleted.err, HasSubstr("/space has no owner.json any more, and"));
  EXPECT_EQ(Keys(), before);
}

TEST_F(BucketSweep, ASweepThatRunsWritesALostMarkAgain) {
  TestFolder folder;
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", Space("0.05", "", "samples: 100\n"))});
  AwaitReports(tune, folder, 2);
  ASSERT_TRUE(client_->Delete("p/space/owner.json", {}).ok());
  ASSERT_TRUE(tune.WaitForText("owner.json was gone and is written again"));
  EXPECT_EQ(Keys("p/space/owner.json").size(), 1u);
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait().exit_status, 130);
}

TEST_F(BucketSweep, TheDoctorNamesAnObjectThatIsMissingOrHasAnotherSize) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))})));
  const std::string bucket = "s3://" + bucket_ + "/";
  const std::vector<std::string> durable = Durable(folder);
  ASSERT_EQ(durable.size(), 3u);
  const auto key_of = [&](size_t i) {
    return DataKey(durable[i].substr(bucket.size()), "state.bin");
  };
  ASSERT_TRUE(client_->Delete(key_of(0), {}).ok());
  ASSERT_TRUE(client_->Put(key_of(1), "abc", {}, {}).ok());
  const ProgramResult doctor = RunTune(folder, {"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr(durable[0] + ": data/state.bin is missing"));
  EXPECT_THAT(doctor.out,
              HasSubstr(durable[1] + ": data/state.bin has 3 bytes, the manifest says"));
  EXPECT_THAT(doctor.out, Not(HasSubstr(durable[2])));
}

}  // namespace
}  // namespace tune::testing
