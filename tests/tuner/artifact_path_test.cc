// Stored paths of artifacts, where the database was moved since.
#include "tuner/artifact_path.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

TEST(ArtifactPath, AStoredPathIsFoundBelowThePresentFolder) {
  EXPECT_EQ(PresentPath("/old/tune.artifacts/s/3/checkpoint_000002", "/new/copy.artifacts", "s", 3),
            "/new/copy.artifacts/s/3/checkpoint_000002");
}

TEST(ArtifactPath, TheLastFolderOfThatNameCounts) {
  EXPECT_EQ(WithinTrialFolder("/runs/s/3/tune.artifacts/s/3/a/b", "s", 3), "a/b");
}

TEST(ArtifactPath, WhatIsNoTrialsIsLeftAsItIs) {
  EXPECT_EQ(PresentPath("/elsewhere/model", "/a.artifacts", "s", 3), "/elsewhere/model");
  EXPECT_EQ(WithinTrialFolder("/a/s/3/", "s", 3), std::nullopt);
  EXPECT_EQ(WithinTrialFolder("/a/s/33/x", "s", 3), std::nullopt);
  EXPECT_EQ(WithinTrialFolder("/a/s/3/../../etc", "s", 3), std::nullopt);
}

TEST(ArtifactPath, ANameMayBeginWithTwoDots) {
  EXPECT_EQ(WithinTrialFolder("/x/..a/0/checkpoint_000001", "..a", 0), "checkpoint_000001");
  EXPECT_EQ(WithinTrialFolder("/mnt/..data/tune.artifacts/s/0/c", "s", 0), "c");
  EXPECT_EQ(WithinTrialFolder("/a/s/3/x/..", "s", 3), std::nullopt);
}

TEST(ArtifactPath, TheFolderIsNamedAfterTheDatabase) {
  EXPECT_EQ(ArtifactsDirOf("/data/sweeps/tune.db"), "/data/sweeps/tune.artifacts");
  EXPECT_EQ(ArtifactsDirOf("/data/x/../y.v2.db"), "/data/y.v2.artifacts");
}

}  // namespace
}  // namespace tune
