// Files that are not ours, or not well, or of an earlier program. Real files throughout.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <string>
#include <vector>

#include "tests/tuner/child_process.h"
#include "tests/tuner/frozen_database.h"
#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/sqlite/database_file.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::AnyOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// Each is refused with its name, and neither it nor its folder is changed.
void ExpectRefusedUntouched(const TempFolder& folder, const std::string& name, StatusCode code,
                            const std::string& words) {
  const std::string path = folder / name;
  const std::string before = ReadText(path);
  const std::vector<std::string> files = folder.List();
  for (const Access access : {Access::kRead, Access::kWrite, Access::kCreate}) {
    const Status status = OpenError(path, access);
    EXPECT_EQ(status.code(), code) << status.message();
    EXPECT_THAT(status.message(), AllOf(HasSubstr(path), HasSubstr(words)));
  }
  EXPECT_EQ(ReadText(path), before);
  EXPECT_EQ(folder.List(), files);
}

TEST(Open, RefusesAnotherProgramsDatabaseUntouched) {
  const TempFolder folder;
  const std::string path = folder / "photos.db";
  sqlite3* other = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &other), SQLITE_OK);
  ASSERT_EQ(
      sqlite3_exec(
          other, "PRAGMA journal_mode=WAL; CREATE TABLE trials (a); INSERT INTO trials VALUES (1);",
          nullptr, nullptr, nullptr),
      SQLITE_OK);
  sqlite3_close(other);
  ExpectRefusedUntouched(folder, "photos.db", StatusCode::kFailedPrecondition,
                         "another program's SQLite file");
}

TEST(Open, MakesADatabaseForItsOwnerAloneWhateverTheUmask) {
  for (const mode_t mask : {0, 022, 0777}) {
    const TempFolder folder;
    const mode_t before = umask(mask);
    const Result<std::unique_ptr<Database>> made =
        Database::Open(folder / "tune.db", Access::kCreate);
    ASSERT_TRUE(made.ok()) << made.status().message();
    EXPECT_TRUE((*made)->Execute("PRAGMA journal_mode = WAL; CREATE TABLE a (b);").ok());
    EXPECT_TRUE((*made)->CopyTo(folder / "copy.db").ok());
    umask(before);
    EXPECT_THAT(folder.List(), ElementsAre("copy.db", "tune.db", "tune.db-shm", "tune.db-wal"));
    for (const std::string& name : folder.List()) {
      struct stat info = {};
      ASSERT_EQ(stat((folder / name).c_str(), &info), 0);
      EXPECT_EQ(info.st_mode & 0777, 0600u) << name << " with the umask " << std::oct << mask;
    }
  }
}

TEST(Open, RefusesAFileThatIsNoDatabaseUntouched) {
  const TempFolder folder;
  WriteText(folder / "space.yaml", "name: food11\nmetric: val_accuracy\n");
  ExpectRefusedUntouched(folder, "space.yaml", StatusCode::kFailedPrecondition,
                         "is not a tune database");
  WriteText(folder / "long.txt", std::string(100'000, 'x'));
  ExpectRefusedUntouched(folder, "long.txt", StatusCode::kFailedPrecondition,
                         "is not a tune database");
}

TEST(Open, ADatabaseCutShortIsRefusedOrTellsItsLoss) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  const std::string whole = ReadText(path);
  for (const size_t size :
       {size_t{1}, size_t{50}, size_t{99}, size_t{600}, size_t{4096}, whole.size() / 2}) {
    WriteText(path, whole.substr(0, size));
    const auto reader = Database::Open(path, Access::kRead);
    if (!reader.ok()) {
      EXPECT_THAT(reader.status().message(), HasSubstr(path)) << size;
      continue;
    }
    const auto rows = Query(path, "SELECT count() FROM reports");
    EXPECT_THAT(rows.at(0), AllOf(HasSubstr(path), HasSubstr("malformed"))) << size;
  }
}

// As a full disk or a kill leaves it: the main file's first page says more pages than there are,
// and only the WAL has them.
TEST(Open, AnIndexThatIsDamagedIsRefusedBeforeASweepGoesOn) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    WriteSampleSweep(*store, "s");
  }
  const std::string whole = ReadText(path);
  constexpr size_t kPageBytes = 4096;
  constexpr char kIndexLeaf = 0x0a;
  constexpr char kTableLeaf = 0x0d;
  int damaged = 0;
  for (size_t at = 0; at < whole.size(); at += kPageBytes) {
    if (whole[at] != kIndexLeaf) continue;
    ++damaged;
    std::string text = whole;
    text[at] = kTableLeaf;
    WriteText(path, text);
    EXPECT_THAT(OpenError(path, Access::kWrite).message(),
                AnyOf(HasSubstr("the file is damaged"), HasSubstr("malformed")))
        << "page " << at / kPageBytes;
  }
  EXPECT_GE(damaged, 5);
}

TEST(Open, ACheckpointCutShortLosesNothing) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  const StoredExperiment experiment = WriteSampleSweep(*store, "s");
  Transition rows = OneReport(3);  // Large: the file must grow by it.
  rows.reports[0].metrics.emplace_back(std::string(50'000, 'm'), 1.0);
  ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  std::string main_file = ReadText(folder / "tune.db");
  main_file.replace(28, 4, std::string("\0\0\x03\xe8", 4));
  WriteText(folder / "cut.db", main_file);
  WriteText(folder / "cut.db-wal", ReadText(folder / "tune.db-wal"));
  EXPECT_EQ(Query(folder / "cut.db", "SELECT count() FROM reports"),
            Query(folder / "tune.db", "SELECT count() FROM reports"));
  EXPECT_TRUE(SqliteStore::Open(folder / "cut.db", Access::kWrite, kSampleStart).ok());
}

TEST(Open, AMissingOrEmptyFileIsMadeOnlyByCreate) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  for (const bool is_empty_file : {false, true}) {
    if (is_empty_file) WriteText(path, "");
    for (const Access access : {Access::kRead, Access::kWrite}) {
      const Status status = OpenError(path, access);
      EXPECT_EQ(status.code(), StatusCode::kNotFound);
      EXPECT_THAT(status.message(), HasSubstr(path));
    }
    EXPECT_EQ(folder.List().size(), is_empty_file ? 1u : 0u);
  }
  EXPECT_TRUE(OpenError(path, Access::kCreate).ok());
  EXPECT_THAT(folder.List(), ElementsAre("tune.db"));
  EXPECT_TRUE(OpenError(path, Access::kWrite).ok());
}

TEST(Open, RefusesFoldersAndFoldersThatAreNotThere) {
  const TempFolder folder;
  EXPECT_THAT(OpenError(folder.path(), Access::kCreate).message(), HasSubstr("is a folder"));
  EXPECT_THAT(OpenError(folder / "no/tune.db", Access::kCreate).message(),
              AllOf(HasSubstr("no does not exist"), HasSubstr("mkdir -p")));
  WriteText(folder / "file", "x");
  EXPECT_FALSE(OpenError(folder / "file/tune.db", Access::kCreate).ok());
  EXPECT_THAT(folder.List(), ElementsAre("file"));
}

TEST(Open, AFolderThatMayNotBeWrittenIsOneClearLine) {
  const TempFolder folder;
  chmod(folder.path().c_str(), 0555);
  const std::string message = InChild([&] {
    BecomeNobody();
    return OpenError(folder / "tune.db", Access::kCreate).message();
  });
  EXPECT_THAT(message, AllOf(HasSubstr("is not writable"), HasSubstr("--db")));
  chmod(folder.path().c_str(), 0755);
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(Open, ADatabaseThatMayNotBeReadIsOneClearLine) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  chmod(path.c_str(), 0);
  EXPECT_THAT(InChild([&] {
                BecomeNobody();
                return OpenError(path, Access::kRead).message();
              }),
              AllOf(HasSubstr(path), HasSubstr("permissions")));
}

TEST(Open, KnowsTheFileSystemsWhereWalCannotWork) {
  EXPECT_STREQ(NetworkFileSystemName(0x6969), "NFS");
  EXPECT_STREQ(NetworkFileSystemName(int64_t{0xff534d42}), "SMB");
  EXPECT_STREQ(NetworkFileSystemName(0x0bd00bd0), "Lustre");
  EXPECT_STREQ(NetworkFileSystemName(0x47504653), "GPFS");
  EXPECT_STREQ(NetworkFileSystemName(0x19830326), "BeeGFS");
  EXPECT_STREQ(NetworkFileSystemName(0x00c36400), "CephFS");
  EXPECT_STREQ(NetworkFileSystemName(0x01021997), "9p");
  EXPECT_STREQ(NetworkFileSystemName(0x65735546), "FUSE");
  EXPECT_EQ(NetworkFileSystemName(0xef53), nullptr);      // ext4.
  EXPECT_EQ(NetworkFileSystemName(0x01021994), nullptr);  // tmpfs.
}

TEST(Open, ADatabaseOfANewerProgramIsRefused) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  {
    const auto database = Database::Open(path, Access::kWrite);
    ASSERT_TRUE((*database)->Execute("PRAGMA user_version = 1000").ok());
  }
  const Status status = OpenError(path, Access::kCreate);
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("newer tune (schema 1000"));
  const auto reader = Database::Open(path, Access::kRead);
  EXPECT_EQ(CheckSchema(**reader).code(), StatusCode::kFailedPrecondition);
}

TEST(Open, ACreationThatDiedHalfwayIsBegunAgain) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {  // The header says that it is ours, the schema is not there yet.
    sqlite3* half = nullptr;
    ASSERT_EQ(sqlite3_open(path.c_str(), &half), SQLITE_OK);
    ASSERT_EQ(sqlite3_exec(half, "PRAGMA application_id = 1953853029;", nullptr, nullptr, nullptr),
              SQLITE_OK);
    sqlite3_close(half);
  }
  EXPECT_EQ(OpenError(path, Access::kWrite).code(), StatusCode::kNotFound);
  const auto store = OpenStore(path);
  EXPECT_TRUE(store->CreateExperiment(SampleExperiment("s")).ok());
}

// ---- what deleted sweeps leave elsewhere

TEST(DeletedSweep, ItsPlaceInAnObjectStoreIsKnownUntilItIsForgotten) {
  const TempFolder folder;
  auto store = OpenStore(folder / "tune.db");
  for (const std::string name : {"on_disk", "in_bucket"}) {
    NewExperiment wanted = SampleExperiment(name);
    wanted.spec = name == "on_disk" ? R"({"checkpoint":{"storage":"auto"}})"
                                    : R"({"checkpoint":{"storage":"s3://bucket/p"}})";
    const auto experiment = store->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok());
    ASSERT_TRUE(store->DeleteExperiment(*experiment).ok());
  }
  const auto read = [&] {
    const auto database = Database::Open(folder / "tune.db", Access::kRead);
    EXPECT_TRUE(database.ok());
    return *ReadLeftStorages(**database);
  };
  const std::vector<LeftStorage> left = read();
  ASSERT_EQ(left.size(), 1u);
  EXPECT_EQ(left[0].sweep, "in_bucket");
  EXPECT_EQ(left[0].storage, "s3://bucket/p");
  EXPECT_EQ(left[0].created_at, kSampleStart);
  EXPECT_EQ(left[0].seed, SampleExperiment("in_bucket").seed);
  // The next life finds a database that is well.
  store.reset();
  store = OpenStore(folder / "tune.db", Access::kWrite);
  ASSERT_NE(store, nullptr);
  EXPECT_THAT(Query(folder / "tune.db", "PRAGMA quick_check"), ElementsAre("ok"));
  ASSERT_TRUE(store->ForgetLeft(left[0]).ok());
  EXPECT_TRUE(read().empty());
}

// ---- databases of earlier programs

constexpr char kSchemaSql[] = "SELECT type, name, sql FROM sqlite_schema ORDER BY name";

TEST(FrozenDatabase, OfEachVersionIsBroughtUpToDateAndGoesOn) {
  const TempFolder fresh;
  WriteSampleSweep(*OpenStore(fresh / "tune.db"), "frozen");
  for (int version = 1; version <= SchemaVersion(); ++version) {
    const TempFolder folder;
    const std::string path = ThawDatabase(folder, version);
    {
      const auto store = OpenStore(path, Access::kWrite);
      ASSERT_NE(store, nullptr);
      const auto journal = store->ReadJournal(ExperimentId{1});
      ASSERT_TRUE(journal.ok()) << journal.status().message();
      ASSERT_EQ(journal->size(), 2u);
      const std::string& step = journal->at(0).events;
      ASSERT_EQ(IsStream(step), version >= 9);
      if (IsStream(step)) {
        const auto stream = DecodeStream(step);
        ASSERT_TRUE(stream.ok()) << stream.status().message();
        EXPECT_EQ(EncodeStream(*stream), EncodeStream(SampleStream()));
      } else {
        const auto events = DecodeEvents(step);
        ASSERT_TRUE(events.ok()) << events.status().message();
        EXPECT_EQ(EncodeEvents(*events), EncodeEvents(SampleEvents()));
      }
      EXPECT_EQ(store->ReadSuggestions(ExperimentId{1})->at(3).second,
                SampleTrial(3).configuration);
    }
    EXPECT_EQ(Query(path, kSchemaSql), Query(fresh / "tune.db", kSchemaSql))
        << "from version " << version;
    EXPECT_EQ(Query(path, "SELECT number, status, config, best_value FROM trials ORDER BY id"),
              Query(fresh / "tune.db",
                    "SELECT number, status, config, best_value FROM trials ORDER BY id"));
    const auto store = OpenStore(path, Access::kWrite);
    EXPECT_TRUE(store->Commit(ExperimentId{1}, {3, kSampleStart, "[]"}, OneReport(3)).ok());
  }
}

}  // namespace
}  // namespace tune
