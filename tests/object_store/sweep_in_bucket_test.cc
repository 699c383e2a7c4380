// Whole sweeps with `checkpoint: {storage: s3://...}` against a real store.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <optional>

#include "tests/e2e/join_line.h"
#include "tests/e2e/running_head.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::SizeIs;
using ::testing::StartsWith;

// Checkpoints' folders below.
std::vector<std::string> CopiesBelow(const std::string& folder) {
  std::vector<std::string> found;
  std::error_code error;
  for (fs::recursive_directory_iterator it(folder, error), end; !error && it != end;
       it.increment(error)) {
    if (it->path().filename().string().starts_with("checkpoint_")) found.push_back(it->path());
  }
  return found;
}

TEST_F(BucketSweep, KeepsItsCheckpointsThereAndNoneOnThisDisk) {
  TestFolder folder;
  const std::string space = Space("0", ", keep: 2, keep_best: 2");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", space)})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  EXPECT_THAT(Durable(folder), Each(StartsWith(Storage() + "/space/")));
  EXPECT_FALSE(Durable(folder).empty());
  ExpectStoreIsWhatRowsSay(folder);
  EXPECT_THAT(CopiesBelow(folder / "tune.artifacts"), IsEmpty());
  EXPECT_TRUE(Succeeded(RunTune(folder, {"doctor", "--db", "tune.db"})));
}

TEST_F(BucketSweep, GoesOnFromThereAfterEachKillAsIfNothingHadHappened) {
  TestFolder folder;
  const std::string space = Space("0.03");
  folder.Write("space.yaml", space);
  int reports = 0;
  for (int life = 0; life < 4; ++life) {
    Program tune(folder, "tune",
                 life == 0 ? std::vector<std::string>{"run", "space.yaml"}
                           : std::vector<std::string>{"resume"});
    if (life == 0) {
      ASSERT_TRUE(tune.WaitForText("sweep space"));
    }
    reports += 4;
    while (!fs::exists(folder / "tune.db")) {
    }
    WaitForReports(folder, reports);
    kill(tune.pid(), SIGKILL);
    tune.Wait();
    LoseArtifacts(folder);
  }
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  ExpectStoreIsWhatRowsSay(folder);
  // No iteration of a checkpoint that was told of was trained again.
  EXPECT_EQ(Query(folder,
                  "select count(*) from attempts a where a.number > 1 and a.from_iteration < "
                  "(select max(iteration) from reports r where r.trial = a.trial and "
                  "r.attempt < a.number)"),
            std::vector<std::string>{"0"});
}

TEST_F(BucketSweep, GoesOnOfADatabaseThatWasMoved) {
  TestFolder folder;
  TestFolder other;
  const std::string space = Space("0.03");
  {
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
    ASSERT_TRUE(tune.WaitForText("trial 0 ended"));
    tune.Signal(SIGINT);
    EXPECT_EQ(tune.Wait().exit_status, 130);
  }
  fs::copy_file(folder / "tune.db", other / "tune.db");
  ASSERT_TRUE(Succeeded(RunTune(other, {"resume"})));
  EXPECT_EQ(FinalTable(other), UndisturbedTable(OnDisk(space)));
  ExpectStoreIsWhatRowsSay(other);
}

TEST_F(BucketSweep, AProgramsOwnCheckpointsGoThere) {
  TestFolder folder;
  folder.Write("trial.py",
               "import pathlib, tune\n"
               "restored = tune.restored()\n"
               "total = float(restored.joinpath('the total %').read_text()) if restored else 0.0\n"
               "x = float(tune.config()['x'])\n"
               "for i in range(tune.iteration() + 1, 9):\n"
               "    total += x * i\n"
               "    state = pathlib.Path('state')\n"
               "    (state / 'ä b').mkdir(parents=True, exist_ok=True)\n"
               "    state.joinpath('the total %').write_text(repr(total))\n"
               "    state.joinpath('ä b', 'ends ').write_bytes(bytes([i]) * 100000)\n"
               "    tune.report(sum=total, checkpoint=state)\n");
  const std::string space =
      "trainable: {command: [python3, trial.py], working_dir: .}\nmetric: sum\nmode: max\nseed: 5\n"
      "space: {x: {uniform: [0, 1]}}\nsamples: 2\nlimits: {max_concurrent: 1}\n"
      "checkpoint: {storage: \"" +
      Storage("in a folder/100% ü") + "\"}\n";
  {
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
    AwaitReports(tune, folder, 5);
    kill(tune.pid(), SIGKILL);
    tune.Wait();
  }
  LoseArtifacts(folder);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume"})));
  TestFolder calm;
  fs::copy_file(folder / "trial.py", calm / "trial.py");
  ASSERT_TRUE(Succeeded(RunTune(calm, {"run", calm.Write("space.yaml", OnDisk(space))})));
  EXPECT_EQ(FinalTable(folder), FinalTable(calm));
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(BucketSweep, WorkersOfOtherMachinesSendTheirCheckpointsThereThemselves) {
  if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  TestFolder folder;
  TestFolder away;
  const std::string space = Space("0.05");
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", space), "--cpus", "0", "--db", folder / "tune.db",
                "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  {
    Program first(away, "tune", join.Worker({"--cpus", "1", "--cache", away / "first"}), "",
                  folder.path());
    WaitForReports(folder, 5);
    first.Signal(SIGKILL);
    first.Wait();
    fs::rename(away / "first", away / "first.lost");
  }
  Program second(away, "tune", join.Worker({"--cpus", "1", "--cache", away / "second"}), "",
                 folder.path());
  EXPECT_TRUE(Succeeded(second.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(space)));
  ExpectStoreIsWhatRowsSay(folder);
  EXPECT_THAT(CopiesBelow(folder / "tune.artifacts"), IsEmpty());
  EXPECT_THAT(CopiesBelow(away / "second"), IsEmpty());
}

// Its environment and what was said to it are there. On one machine it has seen others'
// environments, too, where it looks for what trials left behind: there the text follows a "=".
bool MemoryHolds(pid_t pid, const std::string& text) {
  const std::string proc = "/proc/" + std::to_string(pid);
  std::ifstream maps(proc + "/maps");
  std::ifstream memory(proc + "/mem", std::ios::binary);
  for (std::string line; std::getline(maps, line);) {
    size_t end = 0;
    const uint64_t from = std::stoull(line, &end, 16);
    const uint64_t to = std::stoull(line.substr(end + 1), nullptr, 16);
    if (line.find(" rw") == std::string::npos || to - from > (256u << 20)) continue;
    std::string bytes(to - from, '\0');
    memory.clear();
    memory.seekg(static_cast<std::streamoff>(from));
    memory.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
    bytes.resize(static_cast<size_t>(memory.gcount()));
    for (size_t at = bytes.find(text); at != std::string::npos; at = bytes.find(text, at + 1)) {
      if (at == 0 || bytes[at - 1] != '=') return true;
    }
  }
  return false;
}

TEST_F(BucketSweep, AWorkerWithoutCredentialsKeepsItsCheckpointsByWhatTheTunerSigns) {
  if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  TestFolder folder;
  TestFolder away;
  const std::string space =
      CurveSweep("    iterations: 6\n    seconds: 0.05\n    checkpoint_bytes: 18MiB\n",
                 "checkpoint: {storage: \"" + Storage() +
                     "\", storage_credentials: tuner}\nsamples: 2\nlimits: {max_concurrent: 1}\n");
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", space), "--cpus", "0", "--db", folder / "tune.db",
                "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  const std::string key = std::getenv("AWS_ACCESS_KEY_ID");
  const std::string secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  const std::string endpoint = std::getenv("AWS_ENDPOINT_URL_S3");
  for (const char* const name :
       {"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_ENDPOINT_URL_S3", "AWS_REGION"}) {
    unsetenv(name);
  }
  std::optional<Program> worker;
  for (const std::string life : {"first", "second"}) {
    worker.emplace(away, "tune", join.Worker({"--cpus", "1", "--cache", away / life}), "",
                   folder.path());
    if (life == "second") break;
    WaitForReports(folder, 3);
    EXPECT_TRUE(MemoryHolds(worker->pid(), "AWS_EC2_METADATA_DISABLED")) << "it can be read";
    EXPECT_FALSE(MemoryHolds(worker->pid(), secret));
    std::ifstream environment("/proc/" + std::to_string(worker->pid()) + "/environ");
    EXPECT_THAT(std::string(std::istreambuf_iterator<char>(environment), {}),
                AllOf(HasSubstr("AWS_EC2_METADATA_DISABLED"), Not(HasSubstr(secret))));
    worker->Signal(SIGKILL);
    worker->Wait();
    fs::rename(away / life, away / "lost");
  }
  EXPECT_TRUE(Succeeded(worker->Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
  setenv("AWS_ACCESS_KEY_ID", key.c_str(), 1);
  setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1);
  setenv("AWS_ENDPOINT_URL_S3", endpoint.c_str(), 1);
  setenv("AWS_REGION", "us-east-1", 1);
  EXPECT_EQ(Query(folder, "select from_iteration > 0 from attempts where number = 2"),
            std::vector<std::string>{"1"});
  ExpectStoreIsWhatRowsSay(folder);
}

TEST_F(BucketSweep, AHeadsSweepsKeepTheirsThere) {
  TestFolder folder;
  const auto head = StartHead(folder);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"submit", folder.Write("space.yaml", Space("0"))})));
  WaitForRows(folder, "select status from experiments", {"FINISHED"});
  EXPECT_FALSE(Checkpoints().empty());
  EXPECT_THAT(Checkpoints(), Each(StartsWith(Storage() + "/space/")));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
  head->Signal(SIGTERM);
  head->Wait();
  EXPECT_THAT(Keys(), IsEmpty());
}

// ---- housekeeping

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
  EXPECT_NE(RunTune(folder, {"doctor", "--db", "copy.db"}).exit_status, 0);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume", "--db", "copy.db", "--samples", "4"})));
  EXPECT_EQ(Keys(*lost), std::vector<std::string>{*lost});
  EXPECT_TRUE(Succeeded(RunTune(folder, {"doctor", "--db", "copy.db"})));
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

TEST_F(BucketSweep, ADryRunLooksAtTheStoreAndWritesNothingThere) {
  TestFolder folder;
  const ProgramResult there =
      RunTune(folder, {"run", folder.Write("space.yaml", Space("0")), "--dry-run"});
  EXPECT_TRUE(Succeeded(there));
  EXPECT_THAT(there.err, HasSubstr("can be listed and has no object"));
  EXPECT_THAT(Keys(), IsEmpty());
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", "space.yaml", "--db", "other.db"})));
  const ProgramResult taken = RunTune(folder, {"run", "space.yaml", "--dry-run"});
  EXPECT_EQ(taken.exit_status, 2);
  EXPECT_THAT(taken.err, HasSubstr("belongs to another sweep, space of "));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes", "--db", "other.db"})));
  const ProgramResult none = RunTune(folder, {"run", "space.yaml", "--dry-run", "--set",
                                              "checkpoint.storage=s3://no-such-bucket-here/p"});
  EXPECT_EQ(none.exit_status, 2);
  EXPECT_THAT(none.err, HasSubstr("checkpoint.storage: cannot read s3://no-such-bucket-here"));
  EXPECT_THAT(none.err, HasSubstr("NoSuchBucket"));
  unsetenv("AWS_ACCESS_KEY_ID");
  const ProgramResult unseen = RunTune(folder, {"run", "space.yaml", "--dry-run"});
  setenv("AWS_ACCESS_KEY_ID", "TUNEKEY", 1);
  EXPECT_EQ(unseen.exit_status, 2) << "as the run itself";
  EXPECT_THAT(unseen.err, HasSubstr("checkpoint.storage: there are no credentials"));
}

TEST_F(BucketSweep, MeetsItsBudgetThere) {
  TestFolder folder;
  const std::string space = Space("0", ", keep: 3, keep_best: 3, disk_budget: 600KiB");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", space)})));
  ExpectStoreIsWhatRowsSay(folder);
  EXPECT_LE(Checkpoints().size(), 2u);
}

// ---- what a person gets wrong

TEST_F(BucketSweep, NothingBeginsWhereTheStoreRefuses) {
  TestFolder folder;
  const auto refused = [&](const std::string& storage) {
    const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", Space("0")),
                                                  "--set", "checkpoint.storage=" + storage});
    EXPECT_EQ(result.exit_status, 2) << result.err;
    EXPECT_FALSE(fs::exists(folder / "tune.db"));
    return result.err;
  };
  EXPECT_THAT(refused("s3://no-such-bucket-here/p"),
              AllOf(HasSubstr("checkpoint.storage: cannot write s3://no-such-bucket-here/p/"),
                    HasSubstr("NoSuchBucket; make the bucket, or name another one")));
  EXPECT_THAT(refused("s3:/bucket"), HasSubstr("checkpoint.storage: read 's3:/bucket', expected"));
  const std::string secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  setenv("AWS_SECRET_ACCESS_KEY", "WRONG", 1);
  EXPECT_THAT(refused(Storage()), HasSubstr("SignatureDoesNotMatch; the secret access key"));
  setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1);
}

TEST_F(BucketSweep, NothingBeginsInABucketThatCanOnlyBeRead) {
  TestFolder folder;
  const std::string admin = std::getenv("TUNE_RGW_ADMIN");
  const std::string reader = "reader" + HashToHex(DrawEntropy());
  const std::string made = admin + " user create --uid=" + reader + " --display-name=reader " +
                           "--access-key=" + reader +
                           " --secret-key=READERSECRET --op-mask=read >/dev/null 2>&1";
  ASSERT_EQ(std::system(made.c_str()), 0);
  const std::string key = std::getenv("AWS_ACCESS_KEY_ID");
  const std::string secret = std::getenv("AWS_SECRET_ACCESS_KEY");
  setenv("AWS_ACCESS_KEY_ID", reader.c_str(), 1);
  setenv("AWS_SECRET_ACCESS_KEY", "READERSECRET", 1);
  const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", Space("0"))});
  setenv("AWS_ACCESS_KEY_ID", key.c_str(), 1);
  setenv("AWS_SECRET_ACCESS_KEY", secret.c_str(), 1);
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_THAT(result.err, HasSubstr("AccessDenied"));
  EXPECT_THAT(result.err, HasSubstr("these credentials may not do that: they need s3:GetObject"));
}

TEST_F(BucketSweep, APrefixThatBelongsToAnotherSweepIsRefused) {
  TestFolder first;
  TestFolder second;
  ASSERT_TRUE(Succeeded(RunTune(first, {"run", first.Write("space.yaml", Space("0"))})));
  const ProgramResult result = RunTune(second, {"run", second.Write("space.yaml", Space("0"))});
  EXPECT_EQ(result.exit_status, 2) << result.err;
  EXPECT_THAT(result.err, AllOf(HasSubstr("checkpoint.storage: " + Storage() +
                                          "/space belongs to another sweep, space of "),
                                HasSubstr(first / "tune.db"), HasSubstr("aws s3 rm --recursive")));
  EXPECT_EQ(Query(second, "select count(*) from experiments"), std::vector<std::string>{"0"});
  ExpectStoreIsWhatRowsSay(first);
  // Nor does it take what is there where somebody has removed the mark; who has the rows goes on.
  ASSERT_TRUE(client_->Delete("p/space/owner.json", {}).ok());
  const ProgramResult unmarked = RunTune(second, {"run", "space.yaml"});
  EXPECT_EQ(unmarked.exit_status, 2) << unmarked.err;
  EXPECT_THAT(unmarked.err, HasSubstr("/space has objects and no owner.json"));
  EXPECT_TRUE(Succeeded(RunTune(first, {"resume", "--samples", "4"})));
  EXPECT_EQ(Keys("p/space/owner.json").size(), 1u);
  ExpectStoreIsWhatRowsSay(first);
  // A second one of the same database has a name of its own.
  EXPECT_TRUE(Succeeded(RunTune(first, {"run", "space.yaml"})));
  EXPECT_THAT(Keys("p/space-2/"), Not(IsEmpty()));
}

}  // namespace
}  // namespace tune::testing
