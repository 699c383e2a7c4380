// What a trial process prints, kept in a file: also where the disk does not take all of it.
#include "trial_runner/worker/output_log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "core/limits.h"
#include "tests/small_disk.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using ::testing::EndsWith;

TEST(OutputLog, KeepsWhatComesAndMakesItsFolder) {
  const TempFolder folder;
  const std::string path = folder / "sweep/0/attempt_1.log";
  OutputLog log(path);
  log.Append("one\n");
  log.Append("two\n");
  EXPECT_EQ(ReadText(path), "one\ntwo\n");
  EXPECT_FALSE(log.has_untold_loss());
  log.TellLoss();
  EXPECT_EQ(ReadText(path), "one\ntwo\n");
}

TEST(OutputLog, KnowsWhenItsFolderWasRemovedOrAnotherTookItsPlace) {
  const TempFolder folder;
  OutputLog log(folder / "sweep/0/attempt_1.log");
  EXPECT_FALSE(log.is_elsewhere()) << "nothing was printed yet";
  log.Append("one\n");
  EXPECT_FALSE(log.is_elsewhere());
  std::filesystem::rename(folder / "sweep", folder / ".deleted-1");
  EXPECT_TRUE(log.is_elsewhere());
  OutputLog(folder / "sweep/0/attempt_1.log").Append("of another sweep\n");
  EXPECT_TRUE(log.is_elsewhere());
}

TEST(OutputLog, AtItsLimitItIsCutAndSaysSoOnce) {
  const TempFolder folder;
  const std::string path = folder / "log";
  OutputLog log(path);
  log.Append(std::string(static_cast<size_t>(limits::kAttemptLogBytesMax), 'x') + "more");
  log.Append("and more");
  EXPECT_THAT(ReadText(path),
              EndsWith("xx\n[what follows is not kept: the log has reached its limit]\n"));
  OutputLog(path).Append("of another process");
  EXPECT_THAT(ReadText(path), EndsWith("has reached its limit]\n"));
  EXPECT_FALSE(log.has_untold_loss());
}

// All that is printed is there, or counted where it is missing.
TEST(OutputLog, SaysHowManyBytesAFullDiskDidNotTakeAsSoonAsThereIsRoom) {
  const TempFolder folder;
  const SmallDisk disk(folder / "small", 64 << 10);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  const std::string path = folder / "small/log";
  OutputLog log(path);
  log.Append("begun\n");
  disk.Fill("ballast");
  log.Append(std::string(10'000, 'x'));
  log.Append(std::string(5'000, 'y'));
  ASSERT_TRUE(log.has_untold_loss());
  log.TellLoss();
  EXPECT_TRUE(log.has_untold_loss()) << "there is no room for that either";
  const std::string kept = ReadText(path);
  EXPECT_EQ(kept, "begun\n" + std::string(kept.size() - 6, 'x'));

  std::filesystem::remove(folder / "small/ballast");
  log.TellLoss();
  EXPECT_FALSE(log.has_untold_loss());
  log.Append("goes on\n");
  const size_t missing = 6 + 10'000 + 5'000 - kept.size();
  EXPECT_EQ(ReadText(path), kept + "\n[" + std::to_string(missing) +
                                " bytes are missing here: the disk took no writes]\ngoes on\n");
}

TEST(OutputLog, WithRoomAgainTheLossIsToldBeforeWhatComesNext) {
  const TempFolder folder;
  const SmallDisk disk(folder / "small", 64 << 10);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  disk.Fill("ballast");
  OutputLog log(folder / "small/log");
  log.Append("lost\n");
  std::filesystem::remove(folder / "small/ballast");
  log.Append("kept\n");
  EXPECT_EQ(ReadText(folder / "small/log"),
            "\n[5 bytes are missing here: the disk took no writes]\nkept\n");
}

}  // namespace
}  // namespace tune
