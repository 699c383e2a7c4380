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
using ::testing::StartsWith;

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
