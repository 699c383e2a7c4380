#include "tuner/sqlite/file_watch.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using Change = FileWatch::Change;
using Wrote = FileWatch::Wrote;

class FileWatchTest : public testing::Test {
 protected:
  FileWatchTest() {
    Write("tune.db", "file");
    Write("tune.db-wal", "wal");
    watch_.Note(Wrote::kWal);
  }
  void Write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name) << text;
  }

  TempFolder folder_;
  FileWatch watch_{folder_ / "tune.db"};
};

TEST_F(FileWatchTest, TellsWhatOthersWriteAndNotWhatIsNoted) {
  EXPECT_EQ(watch_.Look(), Change::kNone);
  Write("tune.db-wal", "longer");
  EXPECT_EQ(watch_.Look(), Change::kWritten);
  watch_.Note(Wrote::kWal);
  EXPECT_EQ(watch_.Look(), Change::kNone);
  Write("tune.db", "longer");
  EXPECT_EQ(watch_.Look(), Change::kWritten);
  watch_.Note(Wrote::kBoth);
  EXPECT_EQ(watch_.Look(), Change::kNone);
}

// Between the look before a commit and the note behind it: a commit writes the WAL alone.
TEST_F(FileWatchTest, TellsOfAFileThatOthersWroteWhileTheWalWasWritten) {
  Write("tune.db-wal", "longer");
  Write("tune.db", "spoiled");
  watch_.Note(Wrote::kWal);
  EXPECT_EQ(watch_.Look(), Change::kWritten);
}

TEST_F(FileWatchTest, TellsOfAWalThatIsGoneOrAnother) {
  fs::copy_file(folder_ / "tune.db-wal", folder_ / "copy");
  fs::rename(folder_ / "copy", folder_ / "tune.db-wal");
  EXPECT_EQ(watch_.Look(), Change::kWalGone);
  fs::remove(folder_ / "tune.db-wal");
  EXPECT_EQ(watch_.Look(), Change::kWalGone);
}

}  // namespace
}  // namespace tune
