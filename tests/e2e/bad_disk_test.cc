// Disks that are full or may not be written, and databases that somebody or something damaged: one
// clear line, nothing made worse, and tune resume goes on once the cause is gone.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <fstream>

#include "core/random.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"
#include "tests/small_disk.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;

// One trial at a time: the answer does not depend on what came between.
std::string Space(const std::string& curve, int samples) {
  return CurveSweep("    iterations: 9\n" + curve, "samples: " + std::to_string(samples) + "\n" +
                                                       kAsha + "limits: {max_concurrent: 1}\n");
}

std::string ReadBytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}
void WriteBytes(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

// ---- a full disk, a disk that may not be written

TEST(BadDisk, AFullOneInterruptsTheSweepAndWithRoomItGoesOnToTheSameAnswer) {
  TestFolder folder;
  const SmallDisk disk(folder / "small", 700 << 10);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string text = Space("", 300);
  const std::string space = folder.Write("space.yaml", text);
  const ProgramResult full = RunTune(folder, {"run", space, "--db", "small/tune.db"});
  EXPECT_EQ(full.exit_status, 1);
  EXPECT_NE(full.err.find("full"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("tune resume"), std::string::npos) << full.err;
  const ProgramResult status = RunTune(folder, {"status", "--db", "small/tune.db"});
  EXPECT_NE(status.out.find("INTERRUPTED"), std::string::npos) << status.out << status.err;
  const auto reports =
      Query(folder, "select * from reports order by trial, iteration", "small/tune.db");

  // Still no room: the same again, and nothing is lost by trying.
  const ProgramResult still_full = RunTune(folder, {"resume", "--db", "small/tune.db"});
  EXPECT_EQ(still_full.exit_status, 1) << still_full.err;
  EXPECT_NE(still_full.err.find("full"), std::string::npos) << still_full.err;

  disk.Resize(64 << 20);
  const ProgramResult resumed = RunTune(folder, {"resume", "--db", "small/tune.db"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(FinalTable(folder, "small/tune.db"), UndisturbedTable(text));
  const auto all =
      Query(folder, "select * from reports order by trial, iteration", "small/tune.db");
  for (const std::string& report : reports) {
    EXPECT_NE(std::find(all.begin(), all.end(), report), all.end()) << report;
  }
}

TEST(BadDisk, NoRoomForADatabaseIsSaidAndNothingIsLeft) {
  TestFolder folder;
  const SmallDisk disk(folder / "small", 64 << 10);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = folder.Write("space.yaml", Space("", 4));
  const ProgramResult full = RunTune(folder, {"run", space, "--db", "small/tune.db"});
  EXPECT_EQ(full.exit_status, 1) << full.err;
  EXPECT_NE(full.err.find("full"), std::string::npos) << full.err;
  EXPECT_TRUE(fs::is_empty(folder / "small"));
  const ProgramResult nothing = RunTune(folder, {"resume", "--db", "small/tune.db"});
  EXPECT_EQ(nothing.exit_status, 2);
  EXPECT_NE(nothing.err.find("nothing to resume"), std::string::npos) << nothing.err;
  disk.Resize(64 << 20);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"run", space, "--db", "small/tune.db"})));
  EXPECT_EQ(Query(folder, "select name, status from experiments", "small/tune.db"),
            std::vector<std::string>{"space|FINISHED"});
}

TEST(BadDisk, AFullOneUnderACheckpointInterruptsTheSweepAndCostsNoRetry) {
  TestFolder folder;
  const SmallDisk disk(folder / "tune.artifacts", 3 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = folder.Write(
      "food.yaml",
      "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 2\nseed: 3\n"
      "space: {data: synthetic, width_mult: 0.35, image_size: 32, batch_size: 32, lr: 0.001, "
      "total_epochs: 3}\nlimits: {max_concurrent: 1}\n");
  const ProgramResult full = RunTune(folder, {"run", space});
  EXPECT_EQ(full.exit_status, 1) << full.err;
  EXPECT_NE(full.err.find("No space left"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("until the disk takes writes"), std::string::npos) << full.err;
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'ERROR'"),
            std::vector<std::string>{"0"});
  disk.Resize(256 << 20);
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(Query(folder, "select status, iterations from trials order by number"),
            (std::vector<std::string>{"TERMINATED|3", "TERMINATED|3"}));
}

// Three trials of a script, two at a time, whose artifacts lie on the small disk.
std::string ScriptSpace(const TestFolder& folder, const std::string& script) {
  folder.Write("trial.sh", script);
  return folder.Write("space.yaml",
                      "trainable:\n  command: [sh, trial.sh, \"{tune.dir}\"]\nmetric: acc\n"
                      "mode: max\nseed: 3\nspace: {x: {uniform: [0, 1]}}\nsamples: 3\n"
                      "limits: {max_concurrent: 2}\n");
}

// The run met a full disk, which cost no trial an attempt, and the resume needs nothing said.
void ExpectInterruptedForNothing(const TestFolder& folder, const ProgramResult& full) {
  EXPECT_EQ(full.exit_status, 1) << full.err;
  EXPECT_NE(full.err.find("No space left on device"), std::string::npos) << full.err;
  EXPECT_NE(full.err.find("the sweep stops until the disk takes writes"), std::string::npos)
      << full.err;
  EXPECT_EQ(Query(folder,
                  "select count(*) from attempts where outcome not in ('preempted', 'completed')"),
            std::vector<std::string>{"0"});
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'ERROR'"),
            std::vector<std::string>{"0"});
}
void ExpectResumedToTheEnd(const TestFolder& folder) {
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(Query(folder, "select status, count(*) from trials"),
            std::vector<std::string>{"TERMINATED|3"});
}

TEST(BadDisk, AFullOneWhenAttemptsBeginInterruptsTheSweepAndCostsNoRetry) {
  TestFolder folder;
  const SmallDisk disk(folder / "tune.artifacts", 200'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = ScriptSpace(folder, "tune report acc=1\n");
  disk.Fill("ballast");
  ExpectInterruptedForNothing(folder, RunTune(folder, {"run", space}));
  disk.Resize(64 << 20);
  ExpectResumedToTheEnd(folder);
}

TEST(BadDisk, OneThatHoldsNoMoreFoldersInterruptsTheSweepAndCostsNoRetry) {
  TestFolder folder;
  const SmallDisk disk(folder / "tune.artifacts", 64 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = ScriptSpace(folder, "tune report acc=1\n");
  fs::create_directory(folder / "tune.artifacts/space");
  disk.LimitNames(2);
  ExpectInterruptedForNothing(folder, RunTune(folder, {"run", space}));
  disk.LimitNames(1000);
  ExpectResumedToTheEnd(folder);
}

TEST(BadDisk, AProgramThatEndsBecauseTheDiskIsFullInterruptsTheSweepAndCostsNoRetry) {
  TestFolder folder;
  const SmallDisk disk(folder / "tune.artifacts", 200'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = ScriptSpace(
      folder, "head -c 400000 /dev/zero > $1/model || exit 1\nrm $1/model\ntune report acc=1\n");
  ExpectInterruptedForNothing(folder, RunTune(folder, {"run", space}));
  disk.Resize(64 << 20);
  ExpectResumedToTheEnd(folder);
}

TEST(BadDisk, WordsOfAFullOneAreTheProgramsOwnMatterWhereThereIsRoom) {
  TestFolder folder;
  const std::string space = ScriptSpace(
      folder, "echo 'OSError: [Errno 28] No space left on device: /small/quota' >&2; exit 1\n");
  const ProgramResult result = RunTune(folder, {"run", space});
  EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts"),
            std::vector<std::string>{"crashed|3"})
      << result.err;
}

TEST(BadDisk, ASetupThatEndsBecauseTheDiskIsFullInterruptsTheSweepAndCostsNoRetry) {
  TestFolder folder;
  const SmallDisk disk(folder / "tune.artifacts", 200'000);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  folder.Write("trial.sh", "tune report acc=1\n");
  const std::string space =
      folder.Write("space.yaml",
                   "trainable:\n  command: [sh, trial.sh]\n"
                   "  setup: [\"head -c 400000 /dev/zero > $TUNE_DIR/packages\"]\nmetric: acc\n"
                   "mode: max\nseed: 3\nspace: {x: {uniform: [0, 1]}}\nsamples: 3\n");
  ExpectInterruptedForNothing(folder, RunTune(folder, {"run", space}));
  disk.Resize(64 << 20);
  ExpectResumedToTheEnd(folder);
}

// Of a working folder on the small disk: each trial waits at the gate before it writes there.
std::string GatedSpace(const TestFolder& folder, const std::string& script) {
  TUNE_CHECK(mkfifo((folder / "there").c_str(), 0600) == 0);
  TUNE_CHECK(mkfifo((folder / "gate").c_str(), 0600) == 0);
  folder.Write("small/trial.sh", script);
  return folder.Write("space.yaml",
                      "trainable: {command: [sh, trial.sh], working_dir: small}\nmetric: acc\n"
                      "mode: max\nseed: 3\nspace: {x: {uniform: [0, 1]}}\nsamples: 3\n"
                      "limits: {max_concurrent: 1}\n");
}

TEST(BadDisk, OneThatIsReadOnlyUnderAProgramInterruptsTheSweepAndCostsNoRetry) {
  TestFolder folder;
  const SmallDisk disk(folder / "small", 1 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space =
      GatedSpace(folder,
                 "echo here > ../there; read line < ../gate; echo 1 > model || exit 1\n"
                 "tune report acc=1\n");
  std::fstream there(folder / "there");  // Both ways: neither end waits for the other.
  std::fstream gate(folder / "gate");
  Program tune(folder, "tune", {"run", space});
  std::string line;
  std::getline(there, line);
  disk.Protect();
  gate << "go on\n" << std::flush;
  const ProgramResult stopped = tune.Wait();
  EXPECT_EQ(stopped.exit_status, 1) << stopped.err;
  EXPECT_NE(stopped.err.find("Read-only file system"), std::string::npos) << stopped.err;
  EXPECT_NE(stopped.err.find("the sweep stops until the disk takes writes"), std::string::npos)
      << stopped.err;
  EXPECT_EQ(Query(folder, "select outcome from attempts"), std::vector<std::string>{"preempted"});
  disk.Unprotect();
  gate << "go on\ngo on\ngo on\n" << std::flush;
  ExpectResumedToTheEnd(folder);
}

TEST(BadDisk, WordsOfAReadOnlyOneAreTheProgramsOwnMatterWhereThatMayBeWritten) {
  TestFolder folder;
  const std::string space = ScriptSpace(
      folder, "echo \"OSError: [Errno 30] Read-only file system: '/model'\" >&2; exit 1\n");
  const ProgramResult result = RunTune(folder, {"run", space});
  EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts"),
            std::vector<std::string>{"crashed|3"})
      << result.err;
}

// As the code in a container: it is so on purpose, and what a program says of a disk is of another.
TEST(BadDisk, AFolderThatIsReadOnlyFromTheBeginningIsTheProgramsOwnMatter) {
  for (const std::string words : {"OSError: [Errno 28] No space left on device: '/dev/shm/torch_1'",
                                  "OSError: [Errno 30] Read-only file system: 'model'"}) {
    TestFolder folder;
    const SmallDisk disk(folder / "small", 16 << 20);
    if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
    folder.Write("small/trial.sh", "echo \"" + words + "\" >&2; exit 1\n");
    const std::string space =
        folder.Write("space.yaml",
                     "trainable: {command: [sh, trial.sh], working_dir: small}\nmetric: acc\n"
                     "mode: max\nseed: 3\nspace: {x: {uniform: [0, 1]}}\nsamples: 3\n");
    disk.Protect();
    const ProgramResult result = RunTune(folder, {"run", space});
    EXPECT_EQ(Query(folder, "select outcome, count(*) from attempts"),
              std::vector<std::string>{"crashed|3"})
        << result.err;
  }
}

TEST(BadDisk, ALimitOfAFilesSizeIsToldAndTheSweepGoesOnWithoutIt) {
  const std::string text = Space("", 300);
  TestFolder folder;
  folder.Write("space.yaml", text);
  folder.Write("limited.sh", "ulimit -f 800; exec \"$1\" run space.yaml\n");
  const std::string programs = fs::absolute(BinDir());
  Program limited(folder, fs::relative("/bin/sh", BinDir()), {"limited.sh", programs + "/tune"});
  const ProgramResult stopped = limited.Wait();
  EXPECT_EQ(stopped.exit_status, 1) << stopped.err;
  EXPECT_NE(stopped.err.find("go on with tune resume"), std::string::npos) << stopped.err;
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
}

TEST(BadDisk, OneThatMayNotBeWrittenIsNamedAndItsSweepsCanStillBeRead) {
  TestFolder folder;
  const SmallDisk disk(folder / "small", 16 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string space = folder.Write("space.yaml", Space("", 4));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space, "--db", "small/tune.db"})));
  disk.Protect();
  for (const std::vector<std::string>& command : std::vector<std::vector<std::string>>{
           {"run", space, "--db", "small/tune.db"},
           {"run", space, "--db", "small/new.db"},
           {"resume", "--samples", "5", "--db", "small/tune.db"}}) {
    const ProgramResult refused = RunTune(folder, command);
    EXPECT_EQ(refused.exit_status, 2) << refused.err;
    EXPECT_NE(refused.err.find("small/"), std::string::npos) << refused.err;
    EXPECT_NE(refused.err.find("writable"), std::string::npos) << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
  }
  EXPECT_TRUE(Succeeded(RunTune(folder, {"results", "--db", "small/tune.db"})));
  disk.Unprotect();
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume", "--samples", "5", "--db", "small/tune.db"})));
}

// ---- damage

// A sweep whose tuner was killed: the database, its WAL, and the lock that nobody holds.
class KilledSweep {
 public:
  KilledSweep() : text_(Space("    seconds: 0.01\n", 12)) {
    Program tune(folder_, "tune", {"run", folder_.Write("space.yaml", text_)});
    EXPECT_TRUE(tune.WaitForText("ended"));
    tune.Signal(SIGKILL);
    EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
    for (const std::string suffix : {"", "-wal", "-shm", ".lock"}) {
      files_[suffix] = ReadBytes(db() + suffix);
      EXPECT_FALSE(files_[suffix].empty()) << suffix;
    }
  }

  const TestFolder& folder() const { return folder_; }
  std::string db() const { return folder_ / "tune.db"; }
  const std::string& bytes(const std::string& suffix) const { return files_.at(suffix); }
  void Restore() const {
    for (const auto& [suffix, bytes] : files_) WriteBytes(db() + suffix, bytes);
  }

  // Refused in one line that says `words`, with the database and the WAL as they were left.
  void ExpectRefused(const std::string& what, const std::vector<std::string>& words) const {
    const std::string before = ReadBytes(db());
    const std::string wal_before = ReadBytes(db() + "-wal");
    const ProgramResult refused = RunTune(folder_, {"resume"});
    EXPECT_TRUE(refused.exit_status == 1 || refused.exit_status == 2)
        << what << ": " << refused.exit_status << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1) << refused.err;
    for (const std::string& word : words) {
      EXPECT_NE(refused.err.find(word), std::string::npos) << what << ": " << refused.err;
    }
    EXPECT_TRUE(ReadBytes(db()) == before) << what;
    EXPECT_TRUE(ReadBytes(db() + "-wal") == wal_before) << what;
  }
  // With its files as they were, it goes on to the answer of one left alone.
  void ExpectGoesOn(const std::string& what) const {
    const ProgramResult resumed = RunTune(folder_, {"resume"});
    EXPECT_EQ(resumed.exit_status, 0) << what << ": " << resumed.err;
    EXPECT_EQ(FinalTable(folder_), UndisturbedTable(text_)) << what;
  }

 private:
  std::string text_;
  TestFolder folder_;
  std::map<std::string, std::string> files_;
};

TEST(Damage, AWalThatIsMissingCutOrGarbageIsToldAndWhenItIsBackTheSweepGoesOn) {
  const KilledSweep sweep;
  const std::string& wal = sweep.bytes("-wal");
  fs::remove(sweep.db() + "-wal");
  sweep.ExpectRefused("missing", {"tune.db-wal is missing, cut or damaged", "tune.db.lock"});
  // More than the last commit, which nobody may have been told of yet.
  for (const size_t size : {wal.size() / 4, wal.size() / 2, wal.size() - 60'000}) {
    sweep.Restore();
    WriteBytes(sweep.db() + "-wal", wal.substr(0, size));
    sweep.ExpectRefused("cut to " + std::to_string(size), {"tune.db-wal is missing, cut"});
  }
  sweep.Restore();
  std::string garbage = wal;
  KeyedRandom random(1, "garbage");
  for (size_t i = wal.size() / 2; i < wal.size() / 2 + 4096; ++i) {
    garbage[i] = static_cast<char>(random.NextU64());
  }
  WriteBytes(sweep.db() + "-wal", garbage);
  sweep.ExpectRefused("garbage", {"tune.db-wal is missing, cut or damaged"});

  // Nor is anything concluded from such rows: gc would take newer checkpoints for garbage.
  const ProgramResult gc = RunTune(sweep.folder(), {"gc"});
  EXPECT_EQ(gc.exit_status, 1) << gc.err;
  EXPECT_NE(gc.err.find("tune.db-wal is missing, cut"), std::string::npos) << gc.err;

  sweep.Restore();
  sweep.ExpectGoesOn("WAL restored");
}

TEST(Damage, WithoutItsWalASweepGoesOnFromWhatIsThereWhenOneSaysSo) {
  const KilledSweep sweep;
  WriteBytes(sweep.db() + "-wal",
             sweep.bytes("-wal").substr(0, sweep.bytes("-wal").size() - 60'000));
  sweep.ExpectRefused("cut", {"remove", "tune.db.lock to go on without those steps"});
  fs::remove(sweep.db() + ".lock");
  sweep.ExpectGoesOn("lock removed");
}

TEST(Damage, ADatabaseThatIsMovedOrRemovedUnderItsTunerInterruptsTheSweepAndLosesNothing) {
  const std::string text = Space("    seconds: 0.01\n", 12);
  for (const bool is_removed : {false, true}) {
    TestFolder folder;
    Program tune(folder, "tune", {"run", folder.Write("space.yaml", text)});
    ASSERT_TRUE(tune.WaitForText("ended"));
    if (is_removed) {
      fs::remove(folder / "tune.db");
    } else {
      fs::rename(folder / "tune.db", folder / "moved.db");
    }
    const ProgramResult result = tune.Wait();
    EXPECT_EQ(result.exit_status, 1) << result.err;
    EXPECT_NE(result.err.find("the database was moved or removed"), std::string::npos)
        << result.err;
    ASSERT_TRUE(fs::exists(folder / "tune.db.kept")) << result.err;
    if (is_removed) {
      fs::rename(folder / "tune.db.kept", folder / "tune.db");
    } else {
      EXPECT_EQ(Query(folder, "select * from reports", "moved.db"),
                Query(folder, "select * from reports", "tune.db.kept"));
      fs::rename(folder / "moved.db", folder / "tune.db");
    }
    const ProgramResult resumed = RunTune(folder, {"resume"});
    EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
    EXPECT_EQ(FinalTable(folder), UndisturbedTable(text));
  }
}

// An answer out of a damaged index looks like any other.
TEST(Damage, WhatIsReadFromADamagedIndexIsToldToBeInDoubtAndNothingIsWrittenUponIt) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", Space("    seconds: 0\n", 4));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  for (const char* const question : {"best", "results", "status"}) {
    EXPECT_EQ(RunTune(folder, {question}).err.find("may be wrong"), std::string::npos) << question;
  }
  const std::string db = folder / "tune.db";
  std::string bytes = ReadBytes(db);
  const size_t page_bytes = std::stoul(Query(folder, "pragma page_size").at(0));
  const size_t page = std::stoul(Query(folder,
                                       "select min(rootpage) from sqlite_schema where type = "
                                       "'index' and tbl_name = 'trial_rows'")
                                     .at(0));
  // The index has no entries: the number of cells of its root (SQLite's file format, 1.6).
  bytes.replace((page - 1) * page_bytes + 3, 2, 2, '\0');
  WriteBytes(db, bytes);

  for (const char* const question : {"best", "results", "status", "importance"}) {
    const ProgramResult result = RunTune(folder, {question});
    EXPECT_NE(result.err.find("warning: what follows may be wrong: tune.db: the file is damaged"),
              std::string::npos)
        << question << ": " << result.err;
  }
  for (const std::vector<std::string>& writer :
       {std::vector<std::string>{"run", space}, {"resume", "--samples", "6"}, {"retrain"}}) {
    const ProgramResult refused = RunTune(folder, writer);
    EXPECT_EQ(refused.exit_status, 1) << writer[0] << ": " << refused.err;
    EXPECT_NE(refused.err.find("the file is damaged"), std::string::npos) << refused.err;
    EXPECT_TRUE(ReadBytes(db) == bytes) << writer[0];
  }
}

// What may happen to the files while a tuner writes them. Gives what it said.
template <typename Harm>
std::string ErrorOfHarmed(const TestFolder& folder, const std::string& space, const Harm& harm) {
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", space)});
  EXPECT_TRUE(tune.WaitForText("ended"));
  harm();
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 1) << result.err;
  return result.err;
}

TEST(Damage, AWalThatIsMovedRemovedOrReplacedUnderItsTunerInterruptsTheSweepAndLosesNothing) {
  const std::string text = Space("    seconds: 0.01\n", 12);
  for (const char* const harm : {"remove", "move", "replace"}) {
    TestFolder folder;
    const std::string wal = folder / "tune.db-wal";
    const std::string said = ErrorOfHarmed(folder, text, [&] {
      if (harm == std::string("replace")) {
        fs::copy_file(wal, folder / "copy");
        fs::rename(folder / "copy", wal);
      } else if (harm == std::string("move")) {
        fs::rename(wal, folder / "moved");
      } else {
        fs::remove(wal);
      }
    });
    EXPECT_NE(said.find("tune.db-wal: it was moved, removed or replaced"), std::string::npos)
        << said;
    ASSERT_TRUE(fs::exists(folder / "tune.db.kept")) << said;
    fs::remove(wal);
    fs::remove(folder / "tune.db-shm");
    fs::rename(folder / "tune.db.kept", folder / "tune.db");
    const ProgramResult resumed = RunTune(folder, {"resume"});
    EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
    EXPECT_EQ(FinalTable(folder), UndisturbedTable(text)) << harm;
  }
}

// There is nothing left to keep: what can be done is to stop, and to say so.
TEST(Damage, ADatabaseThatIsWrittenOverUnderItsTunerEndsTheSweepWithAWord) {
  const std::string text = Space("    seconds: 0.05\n", 40);
  for (const std::string harm : {"written over", "cut", "its WAL is cut"}) {
    TestFolder folder;
    const std::string said = ErrorOfHarmed(folder, text, [&] {
      if (harm == "cut") return fs::resize_file(folder / "tune.db", 0);
      if (harm == "its WAL is cut") return fs::resize_file(folder / "tune.db-wal", 20'000);
      folder.Write("tune.db", std::string(200'000, 'x'));
    });
    EXPECT_NE(said.find("another program wrote over it while the sweep ran"), std::string::npos)
        << said;
    EXPECT_EQ(said.find("FINISHED"), std::string::npos) << said;
    EXPECT_EQ(said.find("nothing that was reported is lost"), std::string::npos) << said;
    // Nor is it begun anew as if nothing had been.
    const ProgramResult resumed = RunTune(folder, {"resume"});
    EXPECT_NE(resumed.exit_status, 0) << harm << "\n" << resumed.err;
    EXPECT_EQ(resumed.err.find("trial 0 ended"), std::string::npos) << resumed.err;
  }
}

TEST(Damage, AnotherProgramOfSqlitesMayWriteBesideTheTuner) {
  TestFolder folder;
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", Space("    seconds: 0.01\n", 12))});
  ASSERT_TRUE(tune.WaitForText("ended"));
  EXPECT_EQ(std::system(("sqlite3 " + (folder / "tune.db") +
                         " 'pragma busy_timeout = 5000; create table mine (x); pragma "
                         "wal_checkpoint' > /dev/null")
                            .c_str()),
            0);
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

TEST(Damage, TheIndexOfTheWalMayBeGarbageOrMissing) {
  const KilledSweep sweep;
  KeyedRandom random(2, "garbage");
  std::string garbage = sweep.bytes("-shm");
  for (char& c : garbage) c = static_cast<char>(random.NextU64());
  WriteBytes(sweep.db() + "-shm", garbage);
  sweep.ExpectGoesOn("-shm is garbage");
  const KilledSweep other;
  fs::remove(other.db() + "-shm");
  other.ExpectGoesOn("-shm is missing");
}

TEST(Damage, AWalWithoutItsDatabaseIsNotThrownAway) {
  const KilledSweep sweep;
  fs::rename(sweep.db(), sweep.folder() / "elsewhere.db");
  const ProgramResult refused = RunTune(sweep.folder(), {"run", "space.yaml"});
  EXPECT_EQ(refused.exit_status, 2) << refused.err;
  EXPECT_NE(refused.err.find("tune.db-wal"), std::string::npos) << refused.err;
  EXPECT_FALSE(fs::exists(sweep.db()));
  EXPECT_TRUE(ReadBytes(sweep.db() + "-wal") == sweep.bytes("-wal"));
  fs::rename(sweep.folder() / "elsewhere.db", sweep.db());
  sweep.ExpectGoesOn("the database is back");
}

// The sweep ended, or was killed and folded its WAL back: all of it is in the main file.
TEST(Damage, ADatabaseCutOrOverwrittenIsRefusedAndStaysAsItIs) {
  TestFolder folder;
  const std::string text = Space("", 60);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", text)})));
  const std::string whole = ReadBytes(folder / "tune.db");
  ASSERT_GT(whole.size(), 90'000u);
  const auto expect_refused = [&](const std::string& what, const std::string& bytes) {
    WriteBytes(folder / "tune.db", bytes);
    const ProgramResult refused = RunTune(folder, {"resume", "--samples", "61"});
    EXPECT_TRUE(refused.exit_status == 1 || refused.exit_status == 2)
        << what << ": " << refused.exit_status << " " << refused.err;
    EXPECT_NE(refused.err.find("tune.db"), std::string::npos) << what << ": " << refused.err;
    EXPECT_EQ(std::count(refused.err.begin(), refused.err.end(), '\n'), 1)
        << what << ": " << refused.err;
    EXPECT_TRUE(ReadBytes(folder / "tune.db") == bytes) << what;
  };
  for (const size_t size : {size_t{1}, size_t{99}, size_t{100}, size_t{4096}, whole.size() / 3,
                            whole.size() / 2, whole.size() - 4096, whole.size() - 1}) {
    expect_refused("cut to " + std::to_string(size), whole.substr(0, size));
  }
  KeyedRandom random(3, "garbage");
  for (int i = 0; i < 12; ++i) {
    std::string bytes = whole;
    const size_t page = 1 + random.NextBelow(whole.size() / 4096 - 1);
    for (size_t at = page * 4096; at < page * 4096 + 4096; ++at) {
      bytes[at] = static_cast<char>(random.NextU64());
    }
    expect_refused("garbage in page " + std::to_string(page + 1), bytes);
  }
  WriteBytes(folder / "tune.db", whole);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"resume", "--samples", "61"})));
}

TEST(Damage, AJournalThatWasEditedIsToldAndChangesNothing) {
  const KilledSweep sweep;
  // With a program of one's own, which also folds the WAL back.
  const std::string command =
      "sqlite3 '" + sweep.db() +
      "' \"update journal_rows set events = replace(events, '0.', '1.') where id = (select max(id) "
      "from journal_rows where events like '%0.%')\"";
  ASSERT_EQ(std::system(command.c_str()), 0);
  const std::string before = ReadBytes(sweep.db());
  const ProgramResult refused = RunTune(sweep.folder(), {"resume"});
  EXPECT_EQ(refused.exit_status, 1) << refused.err;
  EXPECT_NE(refused.err.find("is not what was written"), std::string::npos) << refused.err;
  sweep.Restore();
  sweep.ExpectGoesOn("restored");
}

TEST(Damage, ADatabaseHeldByAnotherTunerIsNamedByPidHostAndTime) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", Space("    seconds: 0.02\n", 12));
  Program tune(folder, "tune", {"run", space});
  ASSERT_TRUE(tune.WaitForText("ended"));
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  for (const std::vector<std::string>& command :
       std::vector<std::vector<std::string>>{{"resume"}, {"run", space}}) {
    const ProgramResult refused = RunTune(folder, command);
    EXPECT_EQ(refused.exit_status, 1) << refused.err;
    for (const std::string& word :
         {"pid " + std::to_string(tune.pid()), std::string(host), std::string("since 20")}) {
      EXPECT_NE(refused.err.find(word), std::string::npos) << refused.err;
    }
  }
  tune.Signal(SIGTERM);
  EXPECT_EQ(tune.Wait().exit_status, 143);
}

}  // namespace
}  // namespace tune::testing
