// How the folder of a deleted sweep gets out of the way of a new one.
#include "tuner/cli/keep/deleted_folders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <stop_token>

#include "tests/tuner/temp_folder.h"
#include "tuner/artifact_path.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

void MakeSweep(const TempFolder& folder, const std::string& name) {
  fs::create_directories(folder / (name + "/0/checkpoint_000001"));
  WriteText(folder / (name + "/0/attempt_1.log"), "said");
}

TEST(DeletedFolders, ADeletedSweepLeavesItsNameAtOnce) {
  TempFolder folder;
  MakeSweep(folder, "s");
  WriteText(folder / "s/notes", "of a person");
  const Result<std::string> first = SetDeletedAside(folder.path(), "s");
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(*first, folder / ".deleted-1");
  EXPECT_EQ(*SetDeletedAside(folder.path(), "s"), "");
  MakeSweep(folder, "s");
  EXPECT_EQ(*SetDeletedAside(folder.path(), "s"), folder / ".deleted-2");
  EXPECT_THAT(ListSetAside(folder.path()),
              ElementsAre(folder / ".deleted-1", folder / ".deleted-2"));
  EXPECT_TRUE(fs::exists(folder / ".deleted-1/0/checkpoint_000001"));
}

TEST(DeletedFolders, WhatADeleteHasLeftIsSetAsideButNoFolderOfAPersons) {
  TempFolder folder;
  MakeSweep(folder, "s");
  WriteText(folder / "s/tuner.log", "said");
  WriteText(folder / "s/setup-host.done", "made");
  EXPECT_EQ(*SetLeftAside(folder.path(), "s"), folder / ".left-1");
  EXPECT_THAT(ListSetAside(folder.path()), IsEmpty()) << "tune gc alone removes it";
  EXPECT_TRUE(IsNameOfDeleted(".left-1"));
  MakeSweep(folder, "results");
  WriteText(folder / "results/notes", "of a person");
  EXPECT_EQ(*SetLeftAside(folder.path(), "results"), "");
  fs::create_directory(folder / "tls");
  EXPECT_EQ(*SetLeftAside(folder.path(), "tls"), "");
  WriteText(folder / "head.log", "said");
  EXPECT_EQ(*SetLeftAside(folder.path(), "head.log"), "");
  EXPECT_EQ(*SetLeftAside(folder.path(), "none"), "");
  EXPECT_THAT(folder.List(), ElementsAre(".left-1", "head.log", "results", "tls"));
}

TEST(DeletedFolders, AFolderGoesWithAllThatIsInItAndNothingBehindLinks) {
  TempFolder folder;
  MakeSweep(folder, ".deleted-1");
  WriteText(folder / "kept", "elsewhere");
  fs::create_directory_symlink(folder.path(), folder / ".deleted-1/0/link");
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_TRUE(RemoveFolder(folder / ".deleted-1", stopped.get_token()).ok());
  EXPECT_TRUE(fs::exists(folder / ".deleted-1/0/attempt_1.log"));
  EXPECT_TRUE(RemoveFolder(folder / ".deleted-1", {}).ok());
  EXPECT_TRUE(RemoveFolder(folder / ".deleted-1", {}).ok()) << "somebody else was first";
  EXPECT_THAT(folder.List(), ElementsAre("kept"));
}

}  // namespace
}  // namespace tune
