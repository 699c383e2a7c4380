// Who makes a setup, who waits for it, and what of it stays. Claims are those of programs beside
// each other: locks of folders belong to what opened them, not to the process.
#include "trial_runner/command/setup_place.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/package/packed_folder.h"

namespace {
std::vector<std::string>* synced = nullptr;  // By which calls.

void Note(const char* call) {
  if (synced != nullptr) synced->push_back(call);
}
}  // namespace

// In place of the C library's.
extern "C" {
int fsync(int fd) {
  Note("fsync");
  return static_cast<int>(syscall(SYS_fsync, fd));
}
int syncfs(int fd) noexcept {
  Note("syncfs");
  return static_cast<int>(syscall(SYS_syncfs, fd));
}
}

namespace tune {
namespace {

namespace fs = std::filesystem;
using Turn = SetupPlace::Turn;

class SetupPlaces : public testing::Test {
 protected:
  SetupPlaces() {
    fs::create_directories(folder_ / "program");
    std::ofstream(folder_ / "program/train.py") << "print(1)\n";
    const auto named = NameFolder(folder_ / "program", limits::kPackageBytesMax);
    EXPECT_TRUE(named.ok());
    content_ = named->sha256;
  }
  SetupPlace Place(const std::string& command = "make", bool is_shared = true,
                   const std::string& sweep = "1") const {
    TrialStart start;
    start.artifact_dir = folder_ / ("artifacts/" + sweep + "/0");
    fs::create_directories(start.artifact_dir);
    start.trainable = Value::MakeMap();
    if (is_shared) {
      start.place.cache = folder_ / "cache";
      start.place.content = content_;
    }
    return SetupPlace(start, {command}, folder_ / "program", "/bin");
  }
  static SetupPlace::Claim Ask(SetupPlace& place) {
    Result<SetupPlace::Claim> claim = place.Ask();
    EXPECT_TRUE(claim.ok()) << claim.status().message();
    return claim.ok() ? *std::move(claim) : SetupPlace::Claim();
  }
  void Make(SetupPlace place) {
    SetupPlace::Claim claim = Ask(place);
    ASSERT_EQ(claim.turn, Turn::kToMake);
    std::ofstream(place.folder() + "/made") << "x";
    ASSERT_TRUE(place.Finish(claim).ok());
    EXPECT_EQ(claim.turn, Turn::kMade);
  }

  const TempFolder folder_;
  std::string content_;
};

TEST_F(SetupPlaces, TheFirstMakesItTheOthersWaitAndFindItMade) {
  for (const bool is_shared : {true, false}) {
    SetupPlace place = Place("make", is_shared);
    SetupPlace::Claim first = Ask(place);
    EXPECT_EQ(first.turn, Turn::kToMake);
    EXPECT_EQ(Ask(place).turn, Turn::kWait);
    EXPECT_TRUE(fs::is_directory(place.folder()));
    ASSERT_TRUE(place.Finish(first).ok());
    const SetupPlace::Claim second = Ask(place);
    EXPECT_EQ(second.turn, Turn::kMade);
    EXPECT_EQ(Ask(place).turn, Turn::kMade) << "beside those who hold it";
  }
}

TEST_F(SetupPlaces, WhoFailsOrDiesLeavesItToTheNext) {
  SetupPlace place = Place();
  { EXPECT_EQ(Ask(place).turn, Turn::kToMake); }
  EXPECT_EQ(Ask(place).turn, Turn::kToMake);
}

// A `git clone` or `mkdir` would fail in it, and each time after that.
TEST_F(SetupPlaces, WhatASetupThatWasBrokenOffLeftIsGoneBeforeTheNext) {
  for (const bool is_shared : {true, false}) {
    SetupPlace place = Place("make", is_shared);
    {
      const SetupPlace::Claim broken_off = Ask(place);
      fs::create_directories(place.folder() + "/repo/.git");
      std::ofstream(place.folder() + "/repo/.git/HEAD") << "x";
    }
    SetupPlace::Claim next = Ask(place);
    EXPECT_EQ(next.turn, Turn::kToMake);
    EXPECT_TRUE(fs::is_empty(place.folder()));
    std::ofstream(place.folder() + "/made") << "x";
    ASSERT_TRUE(place.Finish(next).ok());
    EXPECT_EQ(Ask(place).turn, Turn::kMade);
    EXPECT_TRUE(fs::exists(place.folder() + "/made"));
  }
}

TEST_F(SetupPlaces, OtherCommandsHaveAnotherPlace) {
  Make(Place("make"));
  SetupPlace other = Place("make all"), same = Place("make");
  EXPECT_EQ(Ask(other).turn, Turn::kToMake);
  EXPECT_EQ(Ask(same).turn, Turn::kMade);
}

TEST_F(SetupPlaces, OneThatChangesItsFolderIsKeptForItsSweepAlone) {
  SetupPlace place = Place();
  SetupPlace::Claim claim = Ask(place);
  std::ofstream(folder_ / "program/built") << "x";
  ASSERT_TRUE(place.Finish(claim).ok());
  EXPECT_EQ(Ask(place).turn, Turn::kMade);
  EXPECT_TRUE(fs::remove_all(folder_ / "artifacts"));  // As it is for another sweep.
  EXPECT_EQ(Ask(place).turn, Turn::kWait) << "who made it still uses it";
  claim.hold.Close();
  EXPECT_EQ(Ask(place).turn, Turn::kToMake);
}

// A worker copies a folder that was changed again, to the same path; a cache is emptied.
TEST_F(SetupPlaces, OneThatChangedItsFolderIsMadeAgainWhereAFolderWasMadeAnew) {
  SetupPlace place = Place();
  const auto make = [&] {
    SetupPlace::Claim claim = Ask(place);
    EXPECT_EQ(claim.turn, Turn::kToMake);
    std::ofstream(folder_ / "program/built") << "x";
    EXPECT_TRUE(place.Finish(claim).ok());
  };
  make();
  EXPECT_EQ(Ask(place).turn, Turn::kMade);
  fs::rename(folder_ / "program", folder_ / "program-before");
  fs::create_directories(folder_ / "program");
  make();
  EXPECT_EQ(Ask(place).turn, Turn::kMade);
  fs::rename(place.folder(), folder_ / "setup-before");
  EXPECT_EQ(Ask(place).turn, Turn::kToMake);
}

// Neither makes it a second time in what the other uses, and what fails there is its own.
TEST_F(SetupPlaces, WhatIsKeptForOneSweepIsNotEmptiedByTheSetupOfAnother) {
  SetupPlace one = Place(), other = Place("make", true, "2");
  {
    SetupPlace::Claim claim = Ask(one);
    std::ofstream(one.folder() + "/made") << "x";
    std::ofstream(folder_ / "program/built") << "x";
    ASSERT_TRUE(one.Finish(claim).ok());
  }
  {
    EXPECT_EQ(Ask(other).turn, Turn::kToMake);
    EXPECT_NE(other.folder(), one.folder());
    EXPECT_TRUE(fs::is_empty(other.folder()));
  }  // It is broken off.
  EXPECT_EQ(Ask(one).turn, Turn::kMade);
  EXPECT_TRUE(fs::exists(one.folder() + "/made"));
  SetupPlace::Claim again = Ask(other);
  EXPECT_EQ(again.turn, Turn::kToMake);
  ASSERT_TRUE(other.Finish(again).ok());
  EXPECT_EQ(Ask(other).turn, Turn::kMade);
  SetupPlace later = Place("make", true, "2");
  EXPECT_EQ(Ask(later).turn, Turn::kMade);
  EXPECT_EQ(later.folder(), other.folder());
}

TEST_F(SetupPlaces, WhatIsKeptForASweepIsMadeAgainOnceItWasRemovedForOthers) {
  SetupPlace place = Place();
  {
    SetupPlace::Claim claim = Ask(place);
    std::ofstream(folder_ / "program/built") << "x";
    ASSERT_TRUE(place.Finish(claim).ok());
  }
  EXPECT_EQ(Ask(place).turn, Turn::kMade);
  EXPECT_TRUE(fs::remove_all(place.folder()));
  EXPECT_EQ(Ask(place).turn, Turn::kToMake);
}

// Else a loss of power leaves the mark beside files without contents.
TEST_F(SetupPlaces, WhatWasMadeIsDurableBeforeTheMarkIs) {
  for (const bool is_shared : {true, false}) {
    SetupPlace place = Place("make", is_shared);
    SetupPlace::Claim claim = Ask(place);
    ASSERT_EQ(claim.turn, Turn::kToMake);
    std::vector<std::string> calls;
    synced = &calls;
    const Status finished = place.Finish(claim);
    synced = nullptr;
    ASSERT_TRUE(finished.ok()) << finished.message();
    const auto mark = std::find(calls.begin(), calls.end(), "fsync");
    EXPECT_NE(mark, calls.end());
    EXPECT_THAT(std::vector<std::string>(calls.begin(), mark), testing::Contains("syncfs"));
    EXPECT_THAT(std::vector<std::string>(mark, calls.end()),
                testing::Not(testing::Contains("syncfs")));
  }
}

TEST_F(SetupPlaces, TheLatestUsedStayAndThoseThatAreHeldDo) {
  SetupPlace held = Place("held"), left = Place("left");
  Make(held);
  Make(left);
  const SetupPlace::Claim hold = Ask(held);
  for (size_t i = 0; i < limits::kPackagesKeptMax; ++i) Make(Place("other " + std::to_string(i)));
  EXPECT_TRUE(fs::exists(held.folder() + "/made"));
  EXPECT_FALSE(fs::exists(left.folder()));
  EXPECT_EQ(Ask(left).turn, Turn::kToMake);
}

// As one that says `python3 -m venv` elsewhere and links it.
TEST_F(SetupPlaces, AFolderThatBecameALinkIsMade) {
  SetupPlace place = Place();
  SetupPlace::Claim claim = Ask(place);
  fs::create_directories(folder_ / "elsewhere");
  fs::remove_all(place.folder());
  fs::create_directory_symlink(folder_ / "elsewhere", place.folder());
  ASSERT_TRUE(place.Finish(claim).ok());
  EXPECT_EQ(Ask(place).turn, Turn::kMade);
}

}  // namespace
}  // namespace tune
