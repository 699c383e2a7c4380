// How checkpoints go from this disk.
#include "tuner/cli/keep/removed_checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "core/posix/durable_folder.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class RemovedCheckpoint : public ::testing::Test {
 protected:
  std::string Save(const std::string& name) {
    fs::create_directories(folder_ / ("0/" + name));
    WriteText(folder_ / ("0/" + name + "/state"), "x");
    return folder_ / ("0/" + name);
  }
  std::vector<std::string> Left() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_ / "0")) {
      names.push_back(entry.path().filename().string());
    }
    return names;
  }

  TempFolder folder_;
  LocalArtifactStore store_{folder_.path()};
};

TEST_F(RemovedCheckpoint, ACheckpointThatIsSetAsideIsGoneFromItsPathBeforeItIsRemoved) {
  const std::string saved = Save("checkpoint_000001");
  const Result<std::string> aside = SetCheckpointAside(store_, saved);
  ASSERT_TRUE(aside.ok()) << aside.status().message();
  EXPECT_FALSE(store_.Has(saved));
  EXPECT_THAT(Left(), ElementsAre("checkpoint_000001.tmp"));
  EXPECT_TRUE(RemoveSetAside(*aside).ok());
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_EQ(*SetCheckpointAside(store_, saved), "") << "tune gc was first";
}

// As tune gc would not know it under another name.
TEST_F(RemovedCheckpoint, WhatAProgramNamedItselfIsRemovedAtOnce) {
  EXPECT_EQ(*SetCheckpointAside(store_, Save("best")), "");
  EXPECT_THAT(Left(), IsEmpty());
  EXPECT_FALSE(SetCheckpointAside(store_, folder_.path() + "/../elsewhere").ok());
}

TEST_F(RemovedCheckpoint, ACheckpointThatIsWrittenUnderTheNameOfOneSetAsideStays) {
  const std::string saved = Save("checkpoint_000001");
  const std::string aside = *SetCheckpointAside(store_, saved);
  Result<DurableFolder> written = DurableFolder::Begin(folder_ / "0", "checkpoint_000001");
  ASSERT_TRUE(written.ok()) << written.status().message();
  ASSERT_TRUE(written->Write("state", "y").ok());
  EXPECT_FALSE(RemoveSetAside(aside).ok());
  EXPECT_TRUE(written->Commit().ok());
  EXPECT_EQ(ReadText(saved + "/state"), "y");
}

}  // namespace
}  // namespace tune
