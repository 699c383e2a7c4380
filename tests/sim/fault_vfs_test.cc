// SQLite over the simulated disk: what it promises of a real one holds here, and what must be able
// to go wrong does.
#include "tests/sim/fault_vfs.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "core/check.h"
#include "core/random.h"
#include "tuner/sqlite/database.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune::sim {
namespace {

constexpr char kPath[] = "/disk/a.db";

class FaultVfsTest : public ::testing::Test {
 protected:
  Result<std::unique_ptr<Database>> Open() {
    return Database::Open(kPath, Access::kCreate, vfs_.name());
  }

  // A table in a WAL database, as tune's are.
  static Status Prepare(Database& database) {
    TUNE_RETURN_IF_ERROR(database.Execute("CREATE TABLE IF NOT EXISTS t (v INTEGER, pad TEXT);"));
    return database.Execute("PRAGMA journal_mode = WAL;");
  }

  static Status Insert(Database& database, int64_t value) {
    static constexpr char kInsertSql[] = "INSERT INTO t (v, pad) VALUES (?1, ?2)";
    return database.Run(kInsertSql, value, std::string(700, 'x'));
  }

  std::unique_ptr<Database> OpenWithOneRow() {
    auto database = Open();
    TUNE_CHECK(database.ok() && Prepare(**database).ok() && Insert(**database, 1).ok());
    return *std::move(database);
  }

  // Rows of the database as a new process finds it; -1: it is damaged.
  int64_t CountAfterRestart() {
    vfs_.Revive();
    auto database = Open();
    if (!database.ok()) return -1;
    auto check = (*database)->Prepare("PRAGMA integrity_check");
    if (!check.ok()) return -1;
    const Result<bool> row = check->Step();
    if (!row.ok() || !*row || check->Text(0) != "ok") return -1;
    const auto has_table =
        (*database)->QueryInt("SELECT count(name) FROM sqlite_schema WHERE name = 't'");
    if (!has_table.ok()) return -1;
    if (*has_table == 0) return 0;
    const auto count = (*database)->QueryInt("SELECT count(v) FROM t");
    return count.ok() ? *count : -1;
  }

  // Rows as a reader finds them who begins now, made durable.
  int64_t CountMadeDurable() {
    vfs_.Revive();
    auto database = Open();
    TUNE_CHECK(database.ok());
    const auto has_table =
        (*database)->QueryInt("SELECT count(name) FROM sqlite_schema WHERE name = 't'");
    TUNE_CHECK((*database)->MakeDurable().ok());
    if (*has_table == 0) return 0;
    const int64_t count = *(*database)->QueryInt("SELECT count(v) FROM t");
    vfs_.Kill();
    return count;
  }

  // Inserts until the process dies at its `calls`th changing call; how many were acknowledged.
  // `is_whole`: it was never killed.
  int64_t LiveUntilKilled(int64_t calls, bool& is_whole) {
    vfs_.KillAtCall(calls);
    int64_t acknowledged = 0;
    auto database = Open();
    if (database.ok() && Prepare(**database).ok()) {
      for (int64_t i = 0; i < 12; ++i) {
        if (!Insert(**database, i).ok()) break;
        ++acknowledged;
      }
    }
    database = Unavailable("closed");
    is_whole = !vfs_.is_dead();
    return acknowledged;
  }

  SimulatedDisk disk_;
  FaultVfs vfs_{disk_, 7};
};

TEST_F(FaultVfsTest, WhatWasAcknowledgedSurvivesADeathAtEveryCallAndAPowerLoss) {
  for (const auto loss : {SimulatedDisk::Loss::kAll, SimulatedDisk::Loss::kSome}) {
    bool is_whole = false;
    for (int64_t calls = 1; !is_whole; ++calls) {
      disk_ = SimulatedDisk();
      vfs_.Revive();
      const int64_t acknowledged = LiveUntilKilled(calls, is_whole);
      vfs_.Kill();
      KeyedRandom random(7, "power", static_cast<uint64_t>(calls));
      disk_.PowerLoss(loss, random);
      const int64_t count = CountAfterRestart();
      EXPECT_GE(count, acknowledged) << "at call " << calls;
      EXPECT_LE(count, acknowledged + 1) << "at call " << calls;
      ASSERT_LT(calls, 1000);
    }
  }
}

TEST_F(FaultVfsTest, TheDeathOfAProcessLosesNothingThatWasWritten) {
  bool is_whole = false;
  for (int64_t calls = 1; !is_whole; ++calls) {
    disk_ = SimulatedDisk();
    vfs_.Revive();
    const int64_t acknowledged = LiveUntilKilled(calls, is_whole);
    vfs_.Kill();
    EXPECT_GE(CountAfterRestart(), acknowledged) << "at call " << calls;
  }
}

TEST_F(FaultVfsTest, WhatAProcessDidNotLiveToSyncIsDurableOnceANextOneHasMadeItSo) {
  bool is_whole = false;
  for (int64_t calls = 1; !is_whole; ++calls) {
    disk_ = SimulatedDisk();
    vfs_.Revive();
    LiveUntilKilled(calls, is_whole);
    vfs_.Kill();
    const int64_t count = CountMadeDurable();
    KeyedRandom random(7, "power", static_cast<uint64_t>(calls));
    disk_.PowerLoss(SimulatedDisk::Loss::kAll, random);
    EXPECT_EQ(CountAfterRestart(), count) << "at call " << calls;
  }
}

TEST_F(FaultVfsTest, ADiskThatLiesAboutItsSyncsLosesWhatWasAcknowledged) {
  vfs_.set_lying(true);
  {
    auto database = Open();
    ASSERT_TRUE(database.ok() && Prepare(**database).ok());
    for (int64_t i = 0; i < 5; ++i) ASSERT_TRUE(Insert(**database, i).ok());
    vfs_.Kill();
  }
  KeyedRandom random(7, "power");
  disk_.PowerLoss(SimulatedDisk::Loss::kAll, random);
  EXPECT_LT(CountAfterRestart(), 5);
}

TEST_F(FaultVfsTest, AFullDiskIsToldAndGoesOnWhenThereIsRoom) {
  std::unique_ptr<Database> database = OpenWithOneRow();
  vfs_.set_full(true);
  EXPECT_EQ(Insert(*database, 2).code(), StatusCode::kResourceExhausted);
  vfs_.set_full(false);
  EXPECT_TRUE(Insert(*database, 3).ok());
  database.reset();
  EXPECT_EQ(CountAfterRestart(), 2);
}

TEST_F(FaultVfsTest, AFailingCallIsAnErrorOnce) {
  std::unique_ptr<Database> database = OpenWithOneRow();
  vfs_.FailAtCall(1);
  EXPECT_EQ(Insert(*database, 2).code(), StatusCode::kInternal);
  EXPECT_TRUE(Insert(*database, 3).ok());
  database.reset();
  EXPECT_EQ(CountAfterRestart(), 2);
}

TEST_F(FaultVfsTest, AReaderSeesWhatIsCommittedWhileTheWriterLives) {
  auto writer = Open();
  ASSERT_TRUE(writer.ok() && Prepare(**writer).ok());
  ASSERT_TRUE(Insert(**writer, 1).ok());
  auto reader = Database::Open(kPath, Access::kRead, vfs_.name());
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  EXPECT_EQ(*(*reader)->QueryInt("SELECT count(v) FROM t"), 1);
  ASSERT_TRUE(Insert(**writer, 2).ok());
  EXPECT_EQ(*(*reader)->QueryInt("SELECT count(v) FROM t"), 2);
}

TEST_F(FaultVfsTest, TwoWritersWaitForEachOther) {
  auto first = Open();
  ASSERT_TRUE(first.ok() && Prepare(**first).ok());
  auto second = Open();
  ASSERT_TRUE(second.ok());
  ASSERT_TRUE((*first)->Execute("BEGIN IMMEDIATE;").ok());
  EXPECT_EQ(Insert(**second, 1).code(), StatusCode::kUnavailable);
  ASSERT_TRUE((*first)->Execute("COMMIT;").ok());
  EXPECT_TRUE(Insert(**second, 1).ok());
}

TEST(SimulatedDisk, ANameThatWasNotSyncedIsGoneAfterAPowerLoss) {
  SimulatedDisk disk;
  KeyedRandom random(7, "power");
  const auto kept = disk.FindOrMake("/a/kept");
  SimulatedDisk::Write(*kept, 0, "kept");
  SimulatedDisk::Sync(*kept);
  disk.SyncFolderOf("/a/kept");
  const auto nameless = disk.FindOrMake("/a/nameless");
  SimulatedDisk::Write(*nameless, 0, "synced, but nobody knows where");
  SimulatedDisk::Sync(*nameless);
  SimulatedDisk::Write(*kept, 4, " and more");
  disk.PowerLoss(SimulatedDisk::Loss::kAll, random);
  ASSERT_NE(disk.Find("/a/kept"), nullptr);
  EXPECT_EQ(disk.Find("/a/kept")->cached, "kept");
  EXPECT_EQ(disk.Find("/a/nameless"), nullptr);
}

// One sync for a sweep and its first step.
TEST_F(FaultVfsTest, ASweepThatIsSyncedLaterOutlivesAPowerCutFromTheNextCommitOn) {
  enum class Then { kNothing, kMakeDurable, kCommit };
  KeyedRandom random(1, "power");
  const auto left_after = [&](const std::string& name, Then then) -> size_t {
    vfs_.Revive();
    auto store = SqliteStore::Open(kPath, Access::kCreate, Instant{}, vfs_.name());
    TUNE_CHECK(store.ok());
    NewExperiment wanted;
    wanted.name = name;
    wanted.metric = "v";
    wanted.mode = "max";
    wanted.spec = wanted.provenance = "{}";
    wanted.base_dir = "/";
    wanted.is_synced_later = true;
    const auto created = (*store)->CreateExperiment(wanted);
    TUNE_CHECK(created.ok());
    if (then == Then::kMakeDurable) {
      EXPECT_TRUE((*store)->MakeDurable().ok());
    }
    if (then == Then::kCommit) {
      EXPECT_TRUE((*store)->Commit(created->id, {1, Instant{}, "[]"}, {}).ok());
    }
    vfs_.Kill();
    store = Unavailable("closed");
    disk_.PowerLoss(SimulatedDisk::Loss::kAll, random);
    vfs_.Revive();
    auto next = SqliteStore::Open(kPath, Access::kCreate, Instant{}, vfs_.name());
    TUNE_CHECK(next.ok());
    const auto experiments = (*next)->ListExperiments();
    TUNE_CHECK(experiments.ok());
    return experiments->size();
  };
  EXPECT_EQ(left_after("lost", Then::kNothing), 0U);
  EXPECT_EQ(left_after("first", Then::kMakeDurable), 1U);
  EXPECT_EQ(left_after("second", Then::kCommit), 2U);
  EXPECT_EQ(left_after("lost", Then::kNothing), 2U);
}

}  // namespace
}  // namespace tune::sim
