// What may be removed from the artifacts, and above all what may not.
#include "tuner/artifact_garbage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/sqlite/artifact_rows.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr Instant kNow{1'795'253'400'000'000};
constexpr Instant kLongAgo{kNow.us - 3'600'000'000};

FoundArtifact Folder(const std::string& path, Instant modified = kLongAgo) {
  return {path, true, modified};
}
FoundArtifact File(const std::string& path) { return {path, false, kLongAgo}; }

std::vector<std::string> Paths(const std::vector<Garbage>& garbage) {
  std::vector<std::string> paths;
  for (const Garbage& item : garbage) paths.push_back(item.path);
  return paths;
}

// One sweep "s" with one trial 0, which has checkpoints 1 (removed), 2 (durable) and 3 (corrupt).
KnownSweeps OneTrial(TrialStatus status) {
  KnownSweeps sweeps;
  KnownTrial& trial = sweeps["s"].trials[0];
  trial.status = status;
  trial.checkpoints = {{"checkpoint_000001", CheckpointState::kRemoved},
                       {"checkpoint_000002", CheckpointState::kDurable},
                       {"checkpoint_000003", CheckpointState::kCorrupt}};
  return sweeps;
}

std::vector<FoundArtifact> ItsFolders(Instant modified = kLongAgo) {
  return {Folder("s", modified),
          Folder("s/0", modified),
          File("s/0/attempt_1.log"),
          Folder("s/0/checkpoint_000001", modified),
          Folder("s/0/checkpoint_000002", modified),
          Folder("s/0/checkpoint_000003", modified),
          Folder("s/0/checkpoint_000004", modified),
          Folder("s/0/checkpoint_000004.tmp", modified)};
}

TEST(ArtifactGarbage, OfARestingTrialOnlyWhatADurableRowNamesAndWhatIsNotOursStays) {
  for (const TrialStatus status :
       {TrialStatus::kPending, TrialStatus::kPaused, TrialStatus::kTerminated, TrialStatus::kError,
        TrialStatus::kRunning}) {  // Its local worker died.
    EXPECT_THAT(
        FindGarbage(ItsFolders(kNow), OneTrial(status), kNow),
        ElementsAre(Garbage{"s/0/checkpoint_000001", "its checkpoint is removed"},
                    Garbage{"s/0/checkpoint_000003", "its checkpoint is corrupt"},
                    Garbage{"s/0/checkpoint_000004", "a checkpoint that no trial told of"},
                    Garbage{"s/0/checkpoint_000004.tmp", "a checkpoint that was never finished"}))
        << TrialStatusName(status);
  }
}

TEST(ArtifactGarbage, WhileATunerRunsTheSweepOnlyEndedTrialsAreTouched) {
  for (const TrialStatus status :
       {TrialStatus::kPending, TrialStatus::kPaused, TrialStatus::kRunning}) {
    KnownSweeps sweeps = OneTrial(status);
    sweeps["s"].has_tuner = true;
    EXPECT_THAT(FindGarbage(ItsFolders(), sweeps, kNow), IsEmpty()) << TrialStatusName(status);
  }
  KnownSweeps ended = OneTrial(TrialStatus::kTerminated);
  ended["s"].has_tuner = true;
  EXPECT_EQ(FindGarbage(ItsFolders(), ended, kNow).size(), 4u);
}

TEST(ArtifactGarbage, ATrialThatMayStillRunElsewhereKeepsWhatIsNew) {
  KnownSweeps sweeps = OneTrial(TrialStatus::kRunning);
  sweeps["s"].trials[0].may_run = true;
  EXPECT_THAT(FindGarbage(ItsFolders(kNow), sweeps, kNow), IsEmpty());
  EXPECT_EQ(FindGarbage(ItsFolders(kLongAgo), sweeps, kNow).size(), 3u);
  sweeps["s"].patience = UnclaimedPatience(Seconds(7200));
  EXPECT_THAT(FindGarbage(ItsFolders(kLongAgo), sweeps, kNow), IsEmpty());
}

TEST(ArtifactGarbage, ATrialThatMayStillRunElsewhereKeepsTheNewestHoweverOldItIs) {
  const std::vector<FoundArtifact> found = {Folder("s/0/checkpoint_000004", kLongAgo),
                                            Folder("s/0/checkpoint_000005", kLongAgo + Seconds(2)),
                                            Folder("s/0/checkpoint_000009", kLongAgo + Seconds(1))};
  KnownSweeps sweeps = OneTrial(TrialStatus::kRunning);
  sweeps["s"].trials[0].may_run = true;
  EXPECT_THAT(Paths(FindGarbage(found, sweeps, kNow)),
              ElementsAre("s/0/checkpoint_000004", "s/0/checkpoint_000009"));
  sweeps["s"].trials[0].may_run = false;
  EXPECT_EQ(FindGarbage(found, sweeps, kNow).size(), 3u);
}

TEST(ArtifactGarbage, PatienceIsTenMinutesAndMoreWhereLeasesAreLong) {
  EXPECT_EQ(UnclaimedPatience(Seconds(60)), Seconds(600));
  EXPECT_EQ(UnclaimedPatience(Seconds(7200)), Seconds(14'400));
}

TEST(ArtifactGarbage, APathThatIsDurableForOneIterationStaysThoughAnotherGaveItUp) {
  KnownSweeps sweeps;
  KnownTrial& trial = sweeps["s"].trials[0];
  trial.status = TrialStatus::kTerminated;
  trial.checkpoints = {{"latest", CheckpointState::kRemoved},
                       {"latest", CheckpointState::kDurable},
                       {"kept/inner", CheckpointState::kDurable},
                       {"kept", CheckpointState::kRemoved}};
  EXPECT_THAT(FindGarbage({Folder("s"), Folder("s/0"), Folder("s/0/kept"), Folder("s/0/kept/inner"),
                           Folder("s/0/latest")},
                          sweeps, kNow),
              IsEmpty());
}

TEST(ArtifactGarbage, ACheckpointUnderATrialsOwnNameIsRemovedOnlyWhenItsRowSaysSo) {
  KnownSweeps sweeps;
  KnownTrial& trial = sweeps["s"].trials[0];
  trial.status = TrialStatus::kTerminated;
  trial.checkpoints = {{"models/a.bin", CheckpointState::kRemoved}};
  EXPECT_THAT(
      Paths(FindGarbage({Folder("s"), Folder("s/0"), Folder("s/0/models"), File("s/0/models/a.bin"),
                         File("s/0/models/b.bin"), File("s/0/checkpoint_notes.txt")},
                        sweeps, kNow)),
      ElementsAre("s/0/models/a.bin"));
}

TEST(ArtifactGarbage, WhatAProgramCallsACheckpointIsItsOwn) {
  const std::vector<FoundArtifact> found = {Folder("s"),
                                            Folder("s/0"),
                                            Folder("s/0/checkpoint_best"),
                                            Folder("s/0/checkpoint_epoch_3"),
                                            Folder("s/0/checkpoint_12"),
                                            Folder("s/0/checkpoint_000012_best"),
                                            Folder("s/0/checkpoint_best.tmp"),
                                            Folder("s/0/checkpoint_000012"),
                                            Folder("s/0/checkpoint_000012.2-3"),
                                            Folder("s/0/checkpoint_1000012.2.tmp")};
  EXPECT_THAT(Paths(FindGarbage(found, OneTrial(TrialStatus::kTerminated), kNow)),
              ElementsAre("s/0/checkpoint_000012", "s/0/checkpoint_000012.2-3",
                          "s/0/checkpoint_1000012.2.tmp"));
}

TEST(ArtifactGarbage, FoldersOfDeletedSweepsAndOfTrialsThatAreNoneGoWhole) {
  KnownSweeps sweeps = OneTrial(TrialStatus::kTerminated);
  EXPECT_THAT(FindGarbage({Folder("gone"), Folder("gone/0"), File("gone/0/attempt_1.log"),
                           Folder("gone/0/checkpoint_000001"), Folder("gone/12"), Folder("s"),
                           Folder("s/7"), Folder("s/7/checkpoint_000001")},
                          sweeps, kNow),
              ElementsAre(Garbage{"gone", "its sweep was deleted"},
                          Garbage{"s/7", "there is no such trial"}));
}

TEST(ArtifactGarbage, OfDeletedSweepsOnlyWhatWasSetAsideGoesBesideAnotherProcess) {
  const std::vector<FoundArtifact> found = {Folder("gone"), Folder("gone/0"), Folder(".deleted-1"),
                                            File(".deleted-1/tuner.log"), Folder(".deleted-1/0")};
  EXPECT_THAT(FindGarbage(found, {}, kNow, /*is_held=*/true),
              ElementsAre(Garbage{".deleted-1", "its sweep was deleted"}))
      << "a new sweep may be called gone by now";
  EXPECT_THAT(Paths(FindGarbage(found, {}, kNow)), ElementsAre(".deleted-1", "gone"));
}

TEST(ArtifactGarbage, WhatADeletedSweepLeftBesideItsTrialsGoesWithThem) {
  const std::vector<FoundArtifact> found = {Folder("gone"),
                                            Folder("gone/.incoming"),
                                            Folder("gone/0"),
                                            Folder("gone/setup-host"),
                                            File("gone/setup-host.done"),
                                            Folder("gone/tensorboard"),
                                            Folder("gone/tensorboard/0"),
                                            File("gone/tuner.log"),
                                            Folder("runs"),
                                            Folder("runs/tensorboard"),
                                            File("runs/tensorboard/mine")};
  EXPECT_THAT(FindGarbage(found, {}, kNow), ElementsAre(Garbage{"gone", "its sweep was deleted"}))
      << "without a trial's folder it may be a person's";
}

TEST(ArtifactGarbage, AFolderThatNobodyMayLookIntoIsNoDeletedSweeps) {
  std::vector<FoundArtifact> found = {Folder("gone"), Folder("private")};
  found.back().unread = "Permission denied";
  EXPECT_THAT(FindGarbage(found, {}, kNow), ElementsAre(Garbage{"gone", "its sweep was deleted"}));
}

TEST(ArtifactGarbage, WhatDoesNotLookLikeASweepIsLeftAlone) {
  EXPECT_THAT(FindGarbage({File("README"), Folder("notes"), Folder("notes/0"), File("notes/text"),
                           Folder("odd"), Folder("odd/007"), Folder("odd2"), File("odd2/3"),
                           Folder("tls"), File("tls/key.pem")},
                          {}, kNow),
              IsEmpty());
}

TEST(ArtifactGarbage, TheKeysOfATunerAreNoSweepEvenWithoutAnyFile) {
  EXPECT_THAT(FindGarbage({Folder("tls")}, {}, kNow), IsEmpty());
}

TEST(ArtifactGarbage, ASocketGoesUnlessAnotherProcessHoldsTheDatabase) {
  const std::vector<FoundArtifact> found = {File("control.sock")};
  EXPECT_THAT(Paths(FindGarbage(found, OneTrial(TrialStatus::kRunning), kNow)),
              ElementsAre("control.sock"));
  EXPECT_THAT(FindGarbage(found, {}, kNow, /*is_held=*/true), IsEmpty())
      << "a head listens before it has any sweep";
}

TEST(ArtifactGarbage, WhatAProgramCallsAsACheckpointOfOursIsItsOwn) {
  TempFolder folder;
  for (const std::string made :
       {"checkpoint_000001", "checkpoint_000002", "checkpoint_000003.tmp"}) {
    std::filesystem::create_directories(folder / ("s/0/" + made));
  }
  WriteText(folder / "s/0/checkpoint_000001/manifest.json", "{}");
  WriteText(folder / "s/0/checkpoint_000004", "a file of the program's");
  const auto found = ListArtifacts(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  std::vector<std::string> own;
  for (const FoundArtifact& artifact : *found) {
    if (artifact.is_programs) own.push_back(artifact.path);
  }
  EXPECT_THAT(own, ElementsAre("s/0/checkpoint_000002"));
}

TEST(ArtifactGarbage, TheListGoesDownToTheCheckpoints) {
  TempFolder folder;
  std::filesystem::create_directories(folder / "s/0/checkpoint_000001/inner");
  WriteText(folder / "s/0/checkpoint_000001/weights", "123");
  WriteText(folder / "s/0/attempt_1.log", "said");
  std::filesystem::create_directories(folder / "s/0/own/deep");
  const auto found = ListArtifacts(folder.path());
  ASSERT_TRUE(found.ok()) << found.status().message();
  std::vector<std::string> paths;
  for (const FoundArtifact& artifact : *found) paths.push_back(artifact.path);
  EXPECT_THAT(paths, ElementsAre("s", "s/0", "s/0/attempt_1.log", "s/0/checkpoint_000001",
                                 "s/0/own", "s/0/own/deep"));
  EXPECT_EQ(MeasureBytes(folder / "s"), 7);
  EXPECT_EQ(MeasureBytes(folder / "s/0/attempt_1.log"), 4);
  EXPECT_EQ(MeasureBytes(folder / "none"), 0);
  EXPECT_THAT(*ListArtifacts(folder / "none"), IsEmpty());
}

TEST(ArtifactGarbage, TheRowsTellSweepsTrialsAndCheckpoints) {
  TempFolder folder;
  {
    const auto store = OpenStore(folder / "tune.db");
    const auto experiment = store->CreateExperiment(SampleExperiment("s"));
    Transition rows = SampleRows();
    rows.workers[0].name = "far";
    rows.checkpoints[0].ref.path = "/old.artifacts/s/0/checkpoint_000001";
    rows.checkpoints[1].ref.path = "/somewhere/else";
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
    ASSERT_TRUE(store->CreateExperiment(SampleExperiment("empty")).ok());
  }
  auto database = Database::Open(folder / "tune.db", Access::kRead);
  const Result<KnownSweeps> sweeps = ReadKnownSweeps(**database);
  ASSERT_TRUE(sweeps.ok()) << sweeps.status().message();
  EXPECT_THAT(sweeps->at("empty").trials, IsEmpty());
  const auto& trials = sweeps->at("s").trials;
  ASSERT_EQ(trials.size(), 4u);
  EXPECT_EQ(trials.at(2).status, TrialStatus::kError);
  EXPECT_FALSE(trials.at(2).may_run);
  EXPECT_EQ(trials.at(3).status, TrialStatus::kRunning);
  EXPECT_TRUE(trials.at(3).may_run);
  ASSERT_EQ(trials.at(0).checkpoints.size(), 1u);
  EXPECT_EQ(trials.at(0).checkpoints[0].within, "checkpoint_000001");
  EXPECT_EQ(trials.at(0).checkpoints[0].state, CheckpointState::kRemoved);
}

}  // namespace
}  // namespace tune
