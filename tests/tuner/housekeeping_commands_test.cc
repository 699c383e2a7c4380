// The commands that keep databases and artifacts in order, on real files.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mount.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>
#include <streambuf>
#include <string>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "tests/small_disk.h"
#include "tests/tuner/answer.h"
#include "tests/tuner/child_process.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/watched_syncs.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/backup_command.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/delete_command.h"
#include "tuner/cli/keep/files_command.h"
#include "tuner/cli/keep/gc_command.h"
#include "tuner/cli/look/logs_command.h"
#include "tuner/cli/words/text_table.h"
#include "tuner/provenance.h"
#include "tuner/sqlite/writer_lock.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::StartsWith;

// A checkpoint is known by it. As a folder it says nothing of what is in the checkpoint.
constexpr char kManifest[] = "/manifest.json";

class FixedClock final : public Clock {
 public:
  Instant Now() const override { return SampleTime(86'400); }
};

class Housekeeping : public testing::Test {
 protected:
  Housekeeping() : path_(folder_ / "tune.db"), artifacts_(folder_ / "tune.artifacts") {}

  // A sweep on a disk that then has no room left.
  void FillWithSweep(const SmallDisk& disk) {
    path_ = folder_ / "small/tune.db";
    artifacts_ = folder_ / "small/tune.artifacts";
    WriteSweep("s");
    disk.Fill("all");
  }

  // A sweep whose trial 0 (ended) gave checkpoint 1 up and has checkpoint 2; trial 3 runs.
  void WriteSweep(const std::string& name) {
    const auto store = OpenStore(path_);
    const auto experiment = store->CreateExperiment(SampleExperiment(name));
    Transition rows = SampleRows();
    for (CheckpointRow& row : rows.checkpoints) {
      row.ref.path =
          "/moved/from.artifacts/" + name + "/0/checkpoint_00000" + std::to_string(row.iteration);
    }
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
    for (const std::string made : {"/0/checkpoint_000001", "/0/checkpoint_000002",
                                   "/0/checkpoint_000003.tmp", "/3/checkpoint_000001"}) {
      fs::create_directories(artifacts_ + "/" + name + made);
      WriteText(artifacts_ + "/" + name + made + "/weights", "1234567890");
      fs::create_directory(artifacts_ + "/" + name + made + kManifest);
    }
    WriteText(artifacts_ + "/" + name + "/0/attempt_1.log", "said\n");
  }

  Answer Gc(GcOptions options = {}) const {
    options.db_path = path_;
    return AnswerOf(
        [&](auto& out, auto& err) { return GcCommand(options, FixedClock(), out, err); });
  }

  Answer Delete(const std::string& name, bool yes, const std::string& typed = "",
                bool is_terminal = false) const {
    std::istringstream in(typed);
    return DeleteReading(in, name, yes, is_terminal);
  }
  Answer DeleteReading(std::istream& in, const std::string& name, bool yes,
                       bool is_terminal) const {
    DeleteOptions options{path_, name, yes, is_terminal};
    return AnswerOf(
        [&](auto& out, auto& err) { return DeleteCommand(options, FixedClock(), in, out, err); });
  }

  Answer Backup(const std::string& file, const std::function<void()>& between = nullptr) const {
    return AnswerOf([&](auto& out, auto& err) {
      return BackupCommand({path_, file, between}, out, err);
    });
  }

  // To the user that a child becomes (BecomeNobody).
  void GiveAllToNobody() const {
    if (geteuid() != 0) return;
    ASSERT_EQ(chown(folder_.path().c_str(), 65534, 65534), 0);
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      ASSERT_EQ(chown(entry.path().c_str(), 65534, 65534), 0);
    }
  }

  Answer Files(const std::string& trial, const std::string& export_dir = "") const {
    return AnswerOf([&](auto& out, auto& err) {
      return FilesCommand({path_, trial, export_dir}, out, err);
    });
  }

  // All that lies below the artifacts, with its folders.
  std::vector<std::string> Artifacts() const { return FilesBelow(artifacts_); }
  static std::vector<std::string> FilesBelow(const std::string& folder) {
    std::vector<std::string> paths;
    for (const auto& entry : fs::recursive_directory_iterator(folder)) {
      if (entry.is_regular_file()) {
        paths.push_back(entry.path().lexically_relative(folder).string());
      }
    }
    std::sort(paths.begin(), paths.end());
    return paths;
  }

  TempFolder folder_;
  std::string path_;
  std::string artifacts_;
};

// ---- gc

TEST_F(Housekeeping, GcRemovesWhatNothingNeedsAndSaysWhatWasFreed) {
  WriteSweep("s");
  fs::create_directories(artifacts_ + "/gone/0");
  WriteText(artifacts_ + "/gone/0/attempt_1.log", "12345");
  const Answer answer = Gc();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err, "freed 35 bytes in 4 places\n");
  EXPECT_THAT(answer.out, AllOf(HasSubstr("5  its sweep was deleted"), HasSubstr("never finished"),
                                HasSubstr("is removed")));
  EXPECT_THAT(Artifacts(), ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
  EXPECT_EQ(Gc().err, "freed 0 bytes in 0 places\n");
}

TEST_F(Housekeeping, GcOnlySaysWhatItWouldRemoveWhenAskedForADryRun) {
  WriteSweep("s");
  const std::vector<std::string> before = Artifacts();
  const std::vector<std::string> files = folder_.List();
  GcOptions options;
  options.dry_run = true;
  options.format = OutputFormat::kCsv;
  const Answer answer = Gc(options);
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.err, "would free 30 bytes in 3 places\n");
  EXPECT_THAT(answer.out, HasSubstr(artifacts_ + "/s/0/checkpoint_000001,10,"));
  EXPECT_EQ(Artifacts(), before);
  EXPECT_EQ(folder_.List(), files);
}

TEST_F(Housekeeping, GcBesideALivingTunerTouchesOnlyEndedTrialsOfItsSweep) {
  WriteSweep("s");
  WriteSweep("other");
  const auto lock = AcquireWriterLock(path_, kSampleStart);
  ASSERT_TRUE(lock.ok());
  ASSERT_TRUE(const_cast<WriterLock&>(*lock).Announce("s").ok());
  const Answer answer = Gc();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.err, HasSubstr("of s only ended trials are looked at"));
  EXPECT_THAT(Artifacts(), ElementsAre("other/0/attempt_1.log", "other/0/checkpoint_000002/weights",
                                       "s/0/attempt_1.log", "s/0/checkpoint_000002/weights",
                                       "s/3/checkpoint_000001/weights"));
}

TEST_F(Housekeeping, WhatATrialElsewhereMayYetTellOfIsKeptByItsLease) {
  {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.spec.insert(wanted.spec.size() - 1, R"(,"limits":{"lease":"2h"})");
    const auto experiment = store->CreateExperiment(wanted);
    Transition rows = SampleRows();
    rows.workers[0].name = "far";
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  const auto database = Database::Open(path_, Access::kRead);
  const auto patience = [&](std::optional<Duration> lease) {
    const auto sweeps = ReadForGarbage(**database, "", std::nullopt, nullptr, lease);
    EXPECT_TRUE(sweeps.ok()) << sweeps.status().message();
    return sweeps->at("s").patience;
  };
  EXPECT_EQ(patience({}), Seconds(4 * 3600));
  EXPECT_EQ(patience(Seconds(60)), Seconds(4 * 3600));
  EXPECT_EQ(patience(Seconds(10'000)), Seconds(20'000));
}

TEST_F(Housekeeping, GcRemovesWhatAKilledTunerLeftBesideTheDatabase) {
  WriteSweep("s");
  WriteText(path_ + ".lock", "{\"pid\":1}\n");
  GcOptions options;
  options.vacuum = true;
  const Answer answer = Gc(options);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, HasSubstr(path_ + ".lock"));
  EXPECT_THAT(answer.err, HasSubstr("packed " + path_));
  EXPECT_THAT(folder_.List(), ElementsAre("tune.artifacts", "tune.db"));
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), ElementsAre("s"));
}

// As a container leaves it that runs as another user.
TEST_F(Housekeeping, GcNamesAFolderThatItMayNotEnterAndRemovesTheRest) {
  WriteSweep("s");
  const std::string closed = artifacts_ + "/s/0/cache";
  fs::create_directory(closed);
  GiveAllToNobody();
  fs::permissions(closed, fs::perms::none);
  const std::string said = InChild([this] {
    BecomeNobody();
    const Answer answer = Gc();
    return std::to_string(answer.status) + "\n" + answer.out + answer.err;
  });
  fs::permissions(closed, fs::perms::owner_all);
  EXPECT_THAT(said, AllOf(StartsWith("1\n"), HasSubstr(artifacts_ + "/s/0/checkpoint_000001"),
                          HasSubstr("tune: " + closed + ": cannot be read: Permission denied; ")));
  EXPECT_FALSE(fs::exists(artifacts_ + "/s/0/checkpoint_000001"));
  EXPECT_TRUE(fs::exists(artifacts_ + "/s/0/checkpoint_000002"));
  EXPECT_EQ(Gc().status, 0);
}

TEST_F(Housekeeping, GcDoesNotPackUnderALivingTuner) {
  WriteSweep("s");
  const auto lock = AcquireWriterLock(path_, kSampleStart);
  GcOptions options;
  options.vacuum = true;
  const Answer answer = Gc(options);
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.err, HasSubstr("--vacuum needs it to have ended"));
}

TEST_F(Housekeeping, GcOfNoDatabaseMakesNone) {
  const Answer answer = Gc();
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("there is no such database"));
  EXPECT_THAT(folder_.List(), IsEmpty());
}

// ---- delete

TEST_F(Housekeeping, DeleteRemovesRowsJournalAndArtifactsOfThatSweepAlone) {
  WriteSweep("other");
  const std::string only = folder_ / "only";
  fs::copy_file(path_, only);
  WriteSweep("s");
  const Answer answer = Delete("s", true);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out, "deleted s: 4 trials, 45 bytes of artifacts\n");
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), ElementsAre("other"));
  for (const std::string table : {"trial_rows", "attempt_rows", "report_rows", "journal_rows",
                                  "worker_rows", "configuration_rows", "checkpoint_rows"}) {
    // Those of the other one alone.
    EXPECT_EQ(Query(path_, "SELECT count() FROM " + table),
              Query(only, "SELECT count() FROM " + table))
        << table;
  }
  EXPECT_THAT(Query(path_, "SELECT count() FROM trials"), ElementsAre("4"));
  EXPECT_THAT(Query(path_, "SELECT count() FROM journal_rows"), ElementsAre("1"));
  EXPECT_FALSE(fs::exists(artifacts_ + "/s"));
  EXPECT_TRUE(fs::exists(artifacts_ + "/other/0/checkpoint_000002"));
  EXPECT_THAT(folder_.List(), ElementsAre("only", "tune.artifacts", "tune.db"));
  // With the last one goes the folder of all.
  ASSERT_EQ(Delete("other", true).status, 0);
  EXPECT_THAT(folder_.List(), ElementsAre("only", "tune.db"));
}

// A copy that was made by hand knows nothing of what came after it.
TEST_F(Housekeeping, OfTwoDatabasesThatShareTheirArtifactsNeitherRemovesAny) {
  WriteSweep("s");
  fs::copy_file(path_, folder_ / "tune.old");
  WriteSweep("later");
  const std::vector<std::string> before = Artifacts();
  const std::string path = std::exchange(path_, folder_ / "tune.old");
  const Answer gc = Gc();
  EXPECT_EQ(gc.status, 2);
  EXPECT_THAT(gc.err, HasSubstr("tune.old: tune.db lies beside it, and its artifacts in the same"));
  const Answer deleted = Delete("s", true);
  EXPECT_EQ(deleted.status, 2);
  EXPECT_THAT(deleted.err, HasSubstr("nothing was deleted: "));
  path_ = path;
  EXPECT_EQ(Gc().status, 2);
  EXPECT_EQ(Artifacts(), before);
  fs::create_directories(folder_ / "copies");
  fs::rename(folder_ / "tune.old", folder_ / "copies/tune.old");
  EXPECT_EQ(Gc().status, 0);
}

TEST_F(Housekeeping, GcEndsADeleteThatCouldNotRemoveAllOfTheFolder) {
  WriteSweep("s");
  WriteText(artifacts_ + "/s/tuner.log", "began\n");
  const SmallDisk disk(artifacts_ + "/s/0/busy", 100'000);  // What is mounted cannot be removed.
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const Answer answer = Delete("s", true);
  EXPECT_EQ(answer.status, 1);
  const std::string left = artifacts_ + "/.deleted-1";
  EXPECT_THAT(answer.err,
              AllOf(HasSubstr("the rows of s are deleted, but cannot remove " + left + "/0/busy: "),
                    HasSubstr("; tune gc tries again\n")));
  ASSERT_EQ(umount2((left + "/0/busy").c_str(), MNT_DETACH), 0);
  const Answer gc = Gc();
  EXPECT_EQ(gc.status, 0) << gc.err;
  EXPECT_THAT(gc.out, HasSubstr("its sweep was deleted"));
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

// Laid over what a delete has written, the WAL would spoil it when it is put back.
TEST_F(Housekeeping, DeleteChangesNothingWhileTheWalOfAKilledTunerIsMissing) {
  WriteSweep("s");
  WriteSweep("other");
  const std::string database = ReadText(path_);
  WriteText(path_ + ".lock", "{}\ncommitted 2 9\n");
  for (const std::string name : {"s", "other"}) {
    const Answer answer = Delete(name, true);
    EXPECT_EQ(answer.status, 1);
    EXPECT_THAT(answer.err, HasSubstr("step 9 of sweep 2 was committed, but its journal ends with "
                                      "step 1: "));
    EXPECT_EQ(ReadText(path_), database);
    EXPECT_TRUE(fs::exists(artifacts_ + "/" + name + "/0/checkpoint_000002"));
  }
  fs::remove(path_ + ".lock");
  EXPECT_EQ(Delete("s", true).status, 0);
}

// Else a loss of power between the two leaves a lock that calls the database cut.
TEST_F(Housekeeping, DeleteTakesTheWitnessOfAKilledTunerBackBeforeTheRowsGo) {
  WriteSweep("s");
  WriteText(path_ + ".lock", "{}\ncommitted 1 1\n");
  const WatchedSyncs syncs;
  ASSERT_EQ(Delete("s", true).status, 0);
  const auto taken_back = std::ranges::find(syncs.names(), "tune.db.lock");
  EXPECT_THAT(std::vector<std::string>(taken_back, syncs.names().end()), Contains("tune.db-wal"));
  EXPECT_THAT(syncs.names(), Not(Contains("tune.db.lock with a step")));
}

TEST_F(Housekeeping, DeleteKeepsWhatOthersPutBesideTheArtifacts) {
  WriteSweep("s");
  fs::create_directories(artifacts_ + "/tls");
  ASSERT_EQ(Delete("s", true).status, 0);
  EXPECT_THAT(folder_.List(), ElementsAre("tune.artifacts", "tune.db"));
}

TEST_F(Housekeeping, DeleteAsksOnATerminalAndTakesNothingElseForAYes) {
  WriteSweep("s");
  for (const std::string typed : {"n\n", "\n", "", "yess\n"}) {
    const Answer answer = Delete("s", false, typed, true);
    EXPECT_EQ(answer.status, 0);
    EXPECT_EQ(answer.out, "");
    EXPECT_EQ(answer.err, "delete s: 4 trials, 45 bytes of artifacts? [y/N] nothing was deleted\n");
  }
  EXPECT_EQ(Delete("s", false, "y\n", true).out, "deleted s: 4 trials, 45 bytes of artifacts\n");
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), IsEmpty());
}

TEST_F(Housekeeping, DeleteWithoutATerminalNeedsToBeSure) {
  WriteSweep("s");
  const Answer answer = Delete("s", false, "y\n");
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("say --yes to delete s: 4 trials"));
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), ElementsAre("s"));
}

TEST_F(Housekeeping, DeleteOfALivingSweepIsRefusedWithItsTuner) {
  WriteSweep("s");
  WriteSweep("other");
  auto lock = AcquireWriterLock(path_, kSampleStart);
  ASSERT_TRUE(lock.ok() && lock->Announce("s").ok());
  const Answer answer = Delete("s", true);
  EXPECT_EQ(answer.status, 1);
  EXPECT_THAT(answer.err, HasSubstr("s is being run by the tuner with pid " +
                                    std::to_string(getpid()) + " on "));
  const Answer other = Delete("other", true);
  EXPECT_EQ(other.status, 1);
  EXPECT_THAT(other.err, HasSubstr("which runs s; wait for its end"));
  EXPECT_THAT(Query(path_, "SELECT count() FROM experiments"), ElementsAre("2"));
}

TEST_F(Housekeeping, DeleteKeepsWhatAnUnfinishedSweepLearnsFrom) {
  WriteSweep("s");
  NewExperiment learner = SampleExperiment("learner");
  learner.spec = R"({"from":"s","search":{"algorithm":"tpe"}})";
  ASSERT_TRUE(OpenStore(path_)->CreateExperiment(learner).ok());
  const Answer answer = Delete("s", true);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("nothing was deleted: learner, which is not finished, learns "
                                    "from s and could not go on without it"));
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments ORDER BY id"),
              ElementsAre("s", "learner"));
  EXPECT_EQ(Delete("learner", true).status, 0);
  EXPECT_EQ(Delete("s", true).status, 0);
}

// A person who says yes once something else has happened.
class YesAfter final : public std::streambuf {
 public:
  explicit YesAfter(std::function<void()> first) : first_(std::move(first)) {}

 private:
  int_type underflow() override {
    if (gptr() == egptr() && first_) {
      std::exchange(first_, nullptr)();
      setg(text_, text_, text_ + 4);
      return traits_type::to_int_type(*gptr());
    }
    return traits_type::eof();
  }
  std::function<void()> first_;
  char text_[5] = "yes\n";
};

TEST_F(Housekeeping, DeleteKeepsASweepThatOneLearnsFromWhichBeganWhileItAsked) {
  WriteSweep("s");
  YesAfter yes([this] {
    NewExperiment learner = SampleExperiment("learner");
    learner.spec = R"({"from":"s","search":{"algorithm":"tpe"}})";
    ASSERT_TRUE(OpenStore(path_)->CreateExperiment(learner).ok());
  });
  std::istream in(&yes);
  const Answer answer = DeleteReading(in, "s", /*yes=*/false, /*is_terminal=*/true);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("nothing was deleted: learner, which is not finished, learns"));
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments ORDER BY id"),
              ElementsAre("s", "learner"));
  EXPECT_TRUE(fs::exists(artifacts_ + "/s/0/checkpoint_000002"));
}

TEST_F(Housekeeping, DeleteKeepsASweepThatGotTheNameAndTheIdWhileItAskedForAnother) {
  WriteSweep("s");
  YesAfter yes([this] {
    ASSERT_EQ(Delete("s", true).status, 0);
    NewExperiment again = SampleExperiment("s");
    again.created_at = SampleTime(60);
    ASSERT_TRUE(OpenStore(path_)->CreateExperiment(again).ok());
  });
  std::istream in(&yes);
  const Answer answer = DeleteReading(in, "s", /*yes=*/false, /*is_terminal=*/true);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("nothing was deleted: the sweep s that began "));
  EXPECT_THAT(Query(path_, "SELECT id, name FROM experiments"), ElementsAre("1|s"));
}

TEST_F(Housekeeping, DeleteOfAMistypedNameDeletesNothing) {
  WriteSweep("first");
  const Answer answer = Delete("frist", true);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr("did you mean 'first'?"));
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), ElementsAre("first"));
}

TEST_F(Housekeeping, WhatADeleteThatWasKilledLeavesGcFinds) {
  WriteSweep("s");
  fs::rename(artifacts_, folder_ / "kept");
  ASSERT_EQ(Delete("s", true).status, 0);
  fs::rename(folder_ / "kept", artifacts_);
  EXPECT_EQ(Gc().err, "freed 45 bytes in 1 place\n");
  EXPECT_THAT(folder_.List(), ElementsAre("tune.db"));
}

// The store may have taken the new sweep's mark, although its answer did not come.
TEST_F(Housekeeping, APlaceInAStoreThatDidNotAnswerCountsAsLeftByTheSweepThatDidNotBegin) {
  setenv("AWS_ENDPOINT_URL_S3", "http://127.0.0.1:1", 1);  // Nobody listens there.
  setenv("AWS_ACCESS_KEY_ID", "A", 1);
  setenv("AWS_SECRET_ACCESS_KEY", "B", 1);
  const auto claim = [this](bool empties) {
    const auto store = OpenStore(path_);
    NewExperiment wanted = SampleExperiment("s");
    wanted.seed = empties ? 1 : 2;
    wanted.spec = R"({"name":"s","checkpoint":{"storage":"s3://bucket/p"}})";
    const auto experiment = store->CreateExperiment(wanted);
    return ClaimNew(*experiment, "s3://bucket/p", path_, *store, empties, Milliseconds(1));
  };
  const Status away = claim(/*empties=*/true);
  EXPECT_EQ(away.code(), StatusCode::kUnavailable) << away.message();
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), IsEmpty());
  const auto left = [this] { return Query(path_, "SELECT sweep, storage FROM left_storage_rows"); };
  EXPECT_THAT(left(), ElementsAre("s|s3://bucket/p"));
  // One that is refused before it asks the store leaves nothing more.
  const Status refused = claim(/*empties=*/false);
  EXPECT_THAT(refused.message(), HasSubstr("is still being removed; try again in a while"));
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), IsEmpty());
  EXPECT_THAT(left(), ElementsAre("s|s3://bucket/p"));
  for (const char* const name :
       {"AWS_ENDPOINT_URL_S3", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"}) {
    unsetenv(name);
  }
}

// ---- files

TEST_F(Housekeeping, FilesOfATrialAreListedAndCopiedAlsoWhereTheyAreCalledAsACheckpointIs) {
  WriteSweep("s");
  const std::string trial = artifacts_ + "/s/0";
  WriteText(trial + "/result.csv", "1,2");
  fs::create_directories(trial + "/checkpoint_000007");
  WriteText(trial + "/checkpoint_000007/weights", "theirs");
  const auto files = [&](const std::string& export_dir) {
    FilesOptions options{path_, "s/0", export_dir};
    options.format = OutputFormat::kCsv;
    return AnswerOf([&](auto& out, auto& err) { return FilesCommand(options, out, err); });
  };
  EXPECT_THAT(files("").out,
              AllOf(HasSubstr("checkpoint_000007/weights,6,"), HasSubstr("result.csv,3,"),
                    Not(HasSubstr("checkpoint_000002"))));
  const std::string copied = folder_ / "copied";
  const Answer answer = files(copied);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err, "2 files in " + copied + "\n");
  EXPECT_THAT(FilesBelow(copied), ElementsAre("checkpoint_000007/weights", "result.csv"));
}

// ---- backup

// As WriteSweep, with the bytes of its durable checkpoint as they are on disk.
class BackupTest : public Housekeeping {
 protected:
  BackupTest() : file_(folder_ / "copy.db"), copies_(folder_ / "copy.artifacts") {
    WriteSweep("s");
    SetCheckpoint(2, CheckpointState::kDurable, 1);
  }
  // The row of trial 0's checkpoint, in the journal's next step.
  void SetCheckpoint(int64_t iteration, CheckpointState state, int64_t times) {
    const auto store = OpenStore(path_, Access::kWrite);
    Transition rows;
    rows.checkpoints = {
        {TrialNumber{0},
         iteration,
         {"/moved/from.artifacts/s/0/checkpoint_00000" + std::to_string(iteration), 10, "00fe"},
         state}};
    const auto steps = store->ReadJournal(ExperimentId{1});
    const int64_t step = static_cast<int64_t>(steps->size()) + times;
    ASSERT_TRUE(store->Commit(ExperimentId{1}, {step, kSampleStart, "[]"}, rows).ok());
  }
  void MakeCheckpoint(int64_t iteration) {
    const std::string path = artifacts_ + "/s/0/checkpoint_00000" + std::to_string(iteration);
    fs::create_directories(path);
    WriteText(path + "/weights", "1234567890");
    fs::create_directory(path + kManifest);
  }
  void RemoveCheckpoint(int64_t iteration) {
    fs::remove_all(artifacts_ + "/s/0/checkpoint_00000" + std::to_string(iteration));
  }

  std::string file_;
  std::string copies_;
};

TEST_F(BackupTest, CopiesTheDatabaseItsDurableCheckpointsAndTheLogs) {
  const Answer answer = Backup(file_);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err, "");
  EXPECT_THAT(answer.out,
              HasSubstr("1 checkpoint and the trials' files in " + copies_ + ", 15 bytes"));
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
  const std::string all =
      "SELECT id, events FROM journal_rows UNION ALL SELECT id, number FROM "
      "trials UNION ALL SELECT trial, path FROM checkpoints ORDER BY 1, 2";
  EXPECT_EQ(Query(file_, all), Query(path_, all));
  EXPECT_THAT(folder_.List(),
              ElementsAre("copy.artifacts", "copy.db", "tune.artifacts", "tune.db"));
}

TEST_F(BackupTest, CopiesWhatProgramsLeftInTheirTrialsFolders) {
  const std::string trial = artifacts_ + "/s/3";
  fs::create_directories(trial + "/model/checkpoint_000001");
  WriteText(trial + "/checkpoint_000007", "theirs");  // No folder, so none of ours.
  WriteText(trial + "/model/checkpoint_000001/weights", "of the program");
  WriteText(trial + "/results.csv", "a,b\n");
  fs::create_symlink("results.csv", trial + "/latest");
  fs::create_directories(trial + "/empty");
  fs::create_directories(trial + "/.files-incoming.tmp");
  WriteText(trial + "/.files-incoming.tmp/half", "h");
  WriteText(artifacts_ + "/s/tuner.log", "began\n");
  const Answer answer = Backup(file_);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err, "");
  EXPECT_THAT(
      FilesBelow(copies_),
      ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights", "s/3/checkpoint_000007",
                  "s/3/latest", "s/3/model/checkpoint_000001/weights", "s/3/results.csv"));
  EXPECT_EQ(fs::read_symlink(copies_ + "/s/3/latest"), "results.csv");
  EXPECT_EQ(ReadText(copies_ + "/s/3/results.csv"), "a,b\n");
  EXPECT_TRUE(fs::is_directory(copies_ + "/s/3/empty"));
}

TEST_F(BackupTest, CopiesThePackagesOfSweepsThatCameFromOtherMachines) {
  Provenance provenance;
  provenance.is_elsewhere = true;
  provenance.package = {"00ff", 5};
  NewExperiment sent = SampleExperiment("sent");
  sent.provenance = EncodeProvenance(provenance);
  ASSERT_TRUE(OpenStore(path_, Access::kWrite)->CreateExperiment(sent).ok());
  fs::create_directories(artifacts_ + "/packages");
  WriteText(artifacts_ + "/packages/00ff", "files");
  WriteText(artifacts_ + "/packages/00fe", "of a sweep that was deleted");
  const Answer answer = Backup(file_);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("packages/00ff", "s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
  EXPECT_EQ(ReadText(copies_ + "/packages/00ff"), "files");
}

TEST_F(BackupTest, IsNoUseOfThePackagesThatItCopies) {
  Provenance provenance;
  provenance.is_elsewhere = true;
  provenance.package = {"00ff", 5};
  NewExperiment sent = SampleExperiment("sent");
  sent.provenance = EncodeProvenance(provenance);
  ASSERT_TRUE(OpenStore(path_, Access::kWrite)->CreateExperiment(sent).ok());
  const std::string package = artifacts_ + "/packages/00ff";
  fs::create_directories(artifacts_ + "/packages");
  WriteText(package, "files");
  fs::last_write_time(package, fs::last_write_time(package) - std::chrono::hours(48));
  const fs::file_time_type used = fs::last_write_time(package);
  ASSERT_EQ(Backup(file_).status, 0);
  EXPECT_EQ(fs::last_write_time(package), used);
  EXPECT_EQ(fs::last_write_time(copies_ + "/packages/00ff"), used);
}

TEST_F(BackupTest, ACheckpointGivenUpMeanwhileIsReplacedByTheOneThatCameAfterIt) {
  int round = 0;
  const Answer answer = Backup(file_, [&] {
    if (++round > 1) return;
    MakeCheckpoint(5);
    SetCheckpoint(5, CheckpointState::kDurable, 1);
    SetCheckpoint(2, CheckpointState::kRemoved, 1);
    RemoveCheckpoint(2);
  });
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err, "");
  EXPECT_EQ(round, 2);
  EXPECT_THAT(Query(file_, "SELECT iteration, state FROM checkpoints ORDER BY iteration"),
              ElementsAre("1|removed", "2|removed", "5|durable"));
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000005/weights"));
}

TEST_F(BackupTest, WhatWasCopiedAndThenGivenUpDoesNotStayInTheCopy) {
  MakeCheckpoint(5);
  SetCheckpoint(5, CheckpointState::kDurable, 1);
  int round = 0;
  const Answer answer = Backup(file_, [&] {
    if (++round > 1) return;
    RemoveCheckpoint(2);  // So that there is a second round, in which 5 is given up.
    SetCheckpoint(2, CheckpointState::kRemoved, 1);
    MakeCheckpoint(6);
    SetCheckpoint(6, CheckpointState::kDurable, 1);
    SetCheckpoint(5, CheckpointState::kRemoved, 1);
  });
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000006/weights"));
}

TEST_F(BackupTest, ADamagedDatabaseIsNotCopiedWithoutAWord) {
  std::string text = ReadText(path_);
  constexpr size_t kPageBytes = 4096;
  size_t at = 0;
  while (at < text.size() && text[at] != 0x0a) at += kPageBytes;  // A leaf of an index.
  ASSERT_LT(at, text.size());
  text[at] = 0x0d;
  WriteText(path_, text);
  const Answer answer = Backup(file_);
  EXPECT_NE(answer.status, 0);
  EXPECT_THAT(answer.err, HasSubstr("the file is damaged"));
  EXPECT_FALSE(fs::exists(file_));
}

TEST_F(BackupTest, ACheckpointThatIsLostOrDamagedIsSaidAndTheCopyDoesNotCallItDurable) {
  MakeCheckpoint(5);
  SetCheckpoint(5, CheckpointState::kDurable, 1);
  RemoveCheckpoint(2);
  WriteText(artifacts_ + "/s/0/checkpoint_000005/weights", "short");
  const Answer answer = Backup(file_);
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err,
            "warning: the checkpoint of s/0 at iteration 2 is not on disk any more; the copy calls "
            "it removed\n"
            "warning: the checkpoint of s/0 at iteration 5 is not as it was reported; the copy "
            "calls it corrupt\n");
  EXPECT_THAT(Query(file_, "SELECT iteration, state FROM checkpoints ORDER BY iteration"),
              ElementsAre("1|removed", "2|removed", "5|corrupt"));
  EXPECT_THAT(Query(path_, "SELECT state FROM checkpoints WHERE iteration = 2"),
              ElementsAre("durable"));
}

TEST_F(BackupTest, NothingIsOverwritten) {
  WriteText(file_, "mine");
  EXPECT_EQ(Backup(file_).status, 2);
  EXPECT_EQ(ReadText(file_), "mine");
  fs::remove(file_);
  fs::create_directories(copies_);
  EXPECT_THAT(Backup(file_).err, HasSubstr(copies_ + ": is there already"));
  EXPECT_THAT(Backup(folder_ / "tune.bak").err, HasSubstr("its artifacts would be those of"));
  EXPECT_THAT(Backup(folder_ / "no/copy.db").err, HasSubstr("does not exist"));
  EXPECT_EQ(Backup(path_).status, 2);
  EXPECT_EQ(Backup("").status, 2);
  EXPECT_THAT(folder_.List(), ElementsAre("copy.artifacts", "tune.artifacts", "tune.db"));
}

TEST_F(BackupTest, WhatAKilledBackupLeftIsReplacedAndAFailedOneLeavesNothing) {
  WriteText(file_ + ".partial", "half");
  fs::create_directories(copies_ + ".partial/s/0/old");
  WriteText(copies_ + ".partial/s/0/old/x", "x");
  const Answer refused = Backup(file_);
  EXPECT_EQ(refused.status, 2);
  EXPECT_THAT(refused.err, HasSubstr(copies_ + ".partial: holds what no backup left"));
  EXPECT_EQ(ReadText(copies_ + ".partial/s/0/old/x"), "x");
  EXPECT_EQ(ReadText(file_ + ".partial"), "half");
  WriteText(copies_ + ".partial/.tune-backup", "");  // As one has that was killed.
  EXPECT_EQ(Backup(file_).status, 0);
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));

  const Answer failed = Backup(folder_ / "other.db", [&] { WriteText(folder_ / "other.db", "!"); });
  EXPECT_EQ(failed.status, 2);
  EXPECT_EQ(ReadText(folder_ / "other.db"), "!");
  EXPECT_THAT(folder_.List(),
              ElementsAre("copy.artifacts", "copy.db", "other.db", "tune.artifacts", "tune.db"));
}

TEST_F(BackupTest, OneThatWasKilledWhileItNamedItsFilesIsReplaced) {
  ASSERT_EQ(Backup(file_).status, 0);
  fs::rename(file_, file_ + ".partial");
  WriteText(copies_ + "/.tune-backup", "copy.db");
  WriteText(copies_ + "/s/0/old", "x");
  const Answer of_its_stem = Backup(folder_ / "copy.sqlite");
  EXPECT_EQ(of_its_stem.status, 2);
  EXPECT_THAT(of_its_stem.err, HasSubstr(copies_ + ": is there already"));
  const Answer again = Backup(file_);
  EXPECT_EQ(again.status, 0) << again.err;
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
  EXPECT_THAT(folder_.List(),
              ElementsAre("copy.artifacts", "copy.db", "tune.artifacts", "tune.db"));
}

TEST_F(BackupTest, ASecondBackupToTheSamePlaceIsRefusedWhileTheFirstIsWritten) {
  Answer same;
  Answer of_its_stem;
  const Answer first = Backup(file_, [&] {
    same = Backup(file_);
    of_its_stem = Backup(folder_ / "copy.sqlite");
  });
  EXPECT_EQ(first.status, 0) << first.err;
  for (const Answer& second : {same, of_its_stem}) {
    EXPECT_EQ(second.status, 2);
    EXPECT_THAT(second.err, HasSubstr(copies_ + ".partial: another backup is being written there"));
  }
  EXPECT_THAT(Query(file_, "SELECT name FROM experiments"), ElementsAre("s"));
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
  EXPECT_THAT(folder_.List(),
              ElementsAre("copy.artifacts", "copy.db", "tune.artifacts", "tune.db"));
}

TEST_F(BackupTest, APersonsOwnFileInThePlaceOfThePartialCopyStays) {
  WriteText(file_ + ".partial", "mine");
  const Answer answer = Backup(file_);
  EXPECT_EQ(answer.status, 2);
  EXPECT_THAT(answer.err, HasSubstr(file_ + ".partial: is there already"));
  EXPECT_EQ(ReadText(file_ + ".partial"), "mine");
  EXPECT_THAT(folder_.List(), ElementsAre("copy.db.partial", "tune.artifacts", "tune.db"));
}

TEST_F(BackupTest, ToADiskWithoutRoomLeavesNothingThereAndSaysSo) {
  MakeCheckpoint(5);
  WriteText(artifacts_ + "/s/0/checkpoint_000005/weights", std::string(3'000'000, 'x'));
  for (const int64_t room : {20'000, 1'000'000}) {  // For the database alone, and not even that.
    const SmallDisk disk(folder_ / "small", room);
    if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
    SetCheckpoint(5, CheckpointState::kDurable, 1);
    const Answer answer = Backup(folder_ / "small/copy.db");
    EXPECT_EQ(answer.status, 1);
    EXPECT_THAT(answer.err, AllOf(HasSubstr("tune: "), HasSubstr(folder_ / "small/copy"),
                                  Not(HasSubstr("warning"))));
    EXPECT_TRUE(fs::is_empty(folder_ / "small"));
  }
}

TEST_F(Housekeeping, GcMakesRoomOnAFullDisk) {
  const SmallDisk disk(folder_ / "small", 400'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  FillWithSweep(disk);
  const Answer answer = Gc();
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err, "freed 30 bytes in 3 places\n");
  EXPECT_THAT(Artifacts(), ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
}

TEST_F(Housekeeping, DeleteOnAFullDiskDeletesNothing) {
  const SmallDisk disk(folder_ / "small", 400'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  FillWithSweep(disk);
  const Answer answer = Delete("s", true);
  EXPECT_EQ(answer.status, 1) << answer.err;
  EXPECT_THAT(answer.err, AllOf(HasSubstr("tune: "), Not(HasSubstr("rows of s are deleted"))));
  EXPECT_TRUE(fs::exists(artifacts_ + "/s/0/checkpoint_000002/weights"));
  fs::remove(folder_ / "small/all");
  EXPECT_THAT(Query(path_, "SELECT name FROM experiments"), ElementsAre("s"));
  EXPECT_EQ(Delete("s", true).status, 0);
}

TEST_F(BackupTest, TheLogInWhichTheTunerSaysHowWorkersJoinIsNotCopied) {
  WriteText(artifacts_ + "/s/tuner.log", "workers join with: tune worker --join tune1_secret\n");
  EXPECT_EQ(Backup(file_).status, 0);
  EXPECT_THAT(FilesBelow(copies_),
              ElementsAre("s/0/attempt_1.log", "s/0/checkpoint_000002/weights"));
}

TEST_F(BackupTest, ASweepWithoutArtifactsIsADatabaseAlone) {
  fs::remove_all(artifacts_);
  SetCheckpoint(2, CheckpointState::kRemoved, 1);
  EXPECT_THAT(Backup(file_).out, HasSubstr("no artifacts"));
  EXPECT_THAT(folder_.List(), ElementsAre("copy.db", "tune.db"));
}

// ---- logs

class LogsTest : public Housekeeping {
 protected:
  Answer Logs(const std::string& trial, const WaitFunction& follow = nullptr) const {
    return AnswerOf([&](auto& out, auto& err) {
      return LogsCommand({path_, trial, follow != nullptr}, follow, out, err);
    });
  }
  void Say(int64_t trial, int64_t attempt, const std::string& text) {
    const std::string folder = artifacts_ + "/s/" + std::to_string(trial);
    fs::create_directories(folder);
    std::ofstream(folder + "/attempt_" + std::to_string(attempt) + ".log", std::ios::app) << text;
  }
};

TEST_F(LogsTest, OfOneAttemptAreJustThat) {
  WriteSweep("s");
  const Answer answer = Logs("s/0");
  EXPECT_EQ(answer.status, 0);
  EXPECT_EQ(answer.out, "said\n");
  EXPECT_EQ(answer.err, "");
}

TEST_F(LogsTest, OfSeveralAttemptsAreToldApartAndInOrder) {
  WriteSweep("s");
  Say(0, 2, "second\n");
  Say(0, 10, "tenth\n");
  EXPECT_EQ(Logs("0").out,
            "said\n\n==> attempt 2 <==\nsecond\n\n==> attempt 10 <==\n"
            "tenth\n");
}

TEST_F(LogsTest, OfATrialThatPrintedNothingSayWhereItRan) {
  WriteSweep("s");
  EXPECT_EQ(Logs("1").err,
            "nothing on this machine was printed by trial s/1; it ran on local "
            "(127.0.0.1:4000)\n");
  EXPECT_EQ(Logs("1").status, 0);
  EXPECT_EQ(Logs("9").status, 2);
}

TEST_F(LogsTest, AreFollowedUntilTheTrialEndsThroughItsAttempts) {
  WriteSweep("s");
  auto store = OpenStore(path_, Access::kWrite);
  // The store says which sweep it runs with its first commit.
  ASSERT_TRUE(store->Commit(ExperimentId{1}, {2, SampleTime(1), "[]"}, Transition()).ok());
  Say(3, 1, "one ");
  int looks = 0;
  const Answer answer = Logs("3", [&](Duration) {
    ++looks;
    if (looks == 1) Say(3, 1, "two\n");
    if (looks == 2) {
      Transition rows;
      rows.attempts = {SampleAttempt(3, 1, Outcome::kCrashed),
                       SampleAttempt(3, 2, Outcome::kRunning)};
      EXPECT_TRUE(store->Commit(ExperimentId{1}, {3, SampleTime(2), "[]"}, rows).ok());
      Say(3, 2, "three\n");
    }
    if (looks == 3) {
      Transition rows;
      rows.trials = SampleRows().trials;
      rows.trials.erase(rows.trials.begin(), rows.trials.begin() + 3);
      rows.trials[0].status = TrialStatus::kTerminated;  // Told, and its process is about to end.
      EXPECT_TRUE(store->Commit(ExperimentId{1}, {4, SampleTime(3), "[]"}, rows).ok());
    }
    if (looks == 4) {
      Say(3, 2, "last\n");
      Transition rows;
      rows.attempts = {SampleAttempt(3, 2, Outcome::kStopped)};
      EXPECT_TRUE(store->Commit(ExperimentId{1}, {5, SampleTime(4), "[]"}, rows).ok());
    }
    return looks < 10;
  });
  EXPECT_EQ(looks, 4);
  EXPECT_EQ(answer.out, "one two\n\n==> attempt 2 <==\nthree\nlast\n");
}

TEST_F(LogsTest, AreNotFollowedWhenNoTunerLives) {
  WriteSweep("s");
  Say(3, 1, "one\n");
  const Answer answer = Logs("3", [](Duration) {
    ADD_FAILURE() << "nothing more can come";
    return false;
  });
  EXPECT_EQ(answer.out, "one\n");
}

TEST_F(LogsTest, AndFilesThatMayNotBeReadAreAnErrorAndNotNone) {
  WriteSweep("s");
  WriteText(artifacts_ + "/s/0/plot.svg", "plot");
  GiveAllToNobody();
  const std::string closed = artifacts_ + "/s/0";
  fs::permissions(closed, fs::perms::none);
  const std::string said = InChild([this] {
    BecomeNobody();
    const Answer files = Files("s/0");
    const Answer logs = Logs("s/0");
    return std::to_string(files.status) + " " + files.out + files.err +
           std::to_string(logs.status) + " " + logs.out + logs.err;
  });
  fs::permissions(closed, fs::perms::owner_all);
  const std::string why = " tune: " + closed + ": cannot be read: Permission denied\n";
  EXPECT_EQ(said, "1" + why + "2" + why);
}

// A second database may lie there, whose artifacts these are.
TEST_F(Housekeeping, NothingIsRemovedInAFolderWhoseDatabasesNobodyCanList) {
  WriteSweep("s");
  GiveAllToNobody();
  fs::permissions(folder_.path(), fs::perms::owner_write | fs::perms::owner_exec);
  const std::string said = InChild([this] {
    BecomeNobody();
    const Answer answer = Gc();
    return std::to_string(answer.status) + " " + answer.out + answer.err;
  });
  fs::permissions(folder_.path(), fs::perms::owner_all);
  EXPECT_THAT(said, StartsWith("2 tune: " + folder_.path() + ": cannot be read: Permission den"));
  EXPECT_TRUE(fs::exists(artifacts_ + "/s/0/checkpoint_000001"));
}

TEST_F(Housekeeping, FilesOfATrialThatWroteNoneAreExportedAsAnEmptyFolder) {
  WriteSweep("s");
  const Answer answer = Files("s/1", folder_ / "came");
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.err,
            "trial s/1 has left no file in its folder\n0 files in " + (folder_ / "came") + "\n");
  EXPECT_TRUE(fs::is_empty(folder_ / "came"));
  EXPECT_EQ(Files("s/1", folder_ / "nowhere/came").status, 2);
}

TEST(Bytes, AreTellableToPeople) {
  EXPECT_EQ(FormatBytes(0), "0 bytes");
  EXPECT_EQ(FormatBytes(1), "1 byte");
  EXPECT_EQ(FormatBytes(999), "999 bytes");
  EXPECT_EQ(FormatBytes(1'500), "1.5 kB");
  EXPECT_EQ(FormatBytes(999'999), "1.0 MB");
  EXPECT_EQ(FormatBytes(2'340'000'000), "2.3 GB");
}

}  // namespace
}  // namespace tune
