#include "trial_runner/command/left_in_copy.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

// A file that is looked at and changed again has a finer stamp than the kernel's clocks of ticks.
TEST(LeftInCopy, FileOfThePackageIsNotTakenForOneThatTheProgramWrote) {
  const TempFolder cache;
  const std::string folder = cache / "packages/abc";
  std::filesystem::create_directories(folder);
  WorkPlace place;
  place.cache = cache.path();
  for (int i = 0; i < 200; ++i) {
    const std::string file = folder + "/train.sh";
    std::ofstream(file) << "true\n";
    struct stat info = {};
    ASSERT_EQ(stat(file.c_str(), &info), 0);
    ASSERT_EQ(chmod(file.c_str(), 0600), 0);
    ASSERT_EQ(NoteOfFilesInCopy(place, folder, FileClockNow(), {}), "");
    std::filesystem::remove(file);
  }
}

TEST(LeftInCopy, WhatIsWrittenLaterIsNamed) {
  const TempFolder cache;
  const std::string folder = cache / "packages/abc";
  std::filesystem::create_directories(folder);
  WorkPlace place;
  place.cache = cache.path();
  const Instant begun = FileClockNow();
  while (NoteOfFilesInCopy(place, folder, begun, {}).empty()) {
    std::ofstream(folder + "/best.pt") << "x";
  }
  EXPECT_EQ(NoteOfFilesInCopy(place, folder, begun, {"best.pt"}), "");
  EXPECT_EQ(NoteOfFilesInCopy(place, cache / "elsewhere", begun, {}), "");
}

}  // namespace
}  // namespace tune
