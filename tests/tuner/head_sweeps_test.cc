// The sweeps of a head over its life, on a real database: how they are interrupted and tried again,
// deleted, and submitted under a name that was another one's.
#include "tuner/cli/head/head_sweeps.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "core/posix/real_clock.h"
#include "tests/tuner/head_sweeps_world.h"
#include "tests/tuner/sample_sweep.h"
#include "tuner/cli/run/control_desk.h"
#include "tuner/control/control_client.h"
#include "tuner/sqlite/database.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

namespace fs = std::filesystem;

TEST_F(HeadSweepsTest, AnInterruptedSweepIsTriedAgainAfterAMinute) {
  Submit("s");
  Interrupt("s");
  LookAfter(Seconds(59));
  EXPECT_FALSE(IsOpen("s"));
  LookAfter(Seconds(1));
  EXPECT_TRUE(IsOpen("s"));
  LookAfter(Seconds(61));
  EXPECT_TRUE(IsOpen("s"));
}

TEST_F(HeadSweepsTest, ASweepThatAPersonHasResumedIsNotTriedAgainOnTopOfThat) {
  Submit("s");
  Interrupt("s");
  const auto resumed = Ask(ControlVerb::kResume, "s");
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  LookAfter(Seconds(61));
  EXPECT_TRUE(IsOpen("s"));
}

TEST_F(HeadSweepsTest, ANewSweepWithTheNameOfADeletedOneIsNotTriedAgainInItsPlace) {
  Submit("s");
  Interrupt("s");
  ASSERT_TRUE(Ask(ControlVerb::kDelete, "s").ok());
  Submit("s");
  LookAfter(Seconds(61));
  EXPECT_TRUE(IsOpen("s"));
}

TEST_F(HeadSweepsTest, AnInterruptedSweepKeepsItsPackageHoweverManyOthersEnd) {
  SubmitWithPackage("s", "first");
  Interrupt("s");
  EndOthersWithPackages(20);
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/packages/first"));
  EXPECT_FALSE(fs::exists(artifacts_dir_ + "/packages/other0"));
  LookAfter(Seconds(61));
  EXPECT_TRUE(IsOpen("s"));
}

TEST_F(HeadSweepsTest, ASweepOfAnotherBuildKeepsItsPackageHoweverManyOthersEnd) {
  SubmitWithPackage("s", "first");
  life_.reset();
  {
    const auto database = Database::Open(db_path_, Access::kWrite);
    ASSERT_TRUE(database.ok());
    ASSERT_TRUE((*database)->Execute("UPDATE experiment_rows SET decision_version = 99").ok());
  }
  Begin();
  ASSERT_FALSE(IsOpen("s")) << "it stays closed";
  EndOthersWithPackages(20);
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/packages/first"));
  EXPECT_FALSE(fs::exists(artifacts_dir_ + "/packages/other0"));
}

TEST_F(HeadSweepsTest, ASweepThatEndsLastKeepsItsPackageHoweverLongAgoItCame) {
  const std::string packages = artifacts_dir_ + "/packages";
  SubmitWithPackage("s", "first");
  EndOthersWithPackages(20);
  const auto now = fs::file_time_type::clock::now();
  for (const fs::directory_entry& package : fs::directory_iterator(packages)) {
    const bool is_first = package.path().filename() == "first";
    fs::last_write_time(package, now - std::chrono::hours(is_first ? 2 : 1));
  }
  Take("s", StopRequested{std::nullopt, true});
  EXPECT_TRUE(fs::exists(packages + "/first"));
  EXPECT_EQ(std::distance(fs::directory_iterator(packages), fs::directory_iterator()), 16);
}

TEST_F(HeadSweepsTest, AHeadThatBeginsGivesUpASweepWhoseFolderIsNoLongerKept) {
  SubmitWithPackage("s", "first");
  SubmitWithPackage("kept", "second");
  fs::remove(artifacts_dir_ + "/packages/first");
  BeginAgain();
  LeaveEnded();
  EXPECT_FALSE(IsOpen("s"));
  EXPECT_TRUE(IsOpen("kept"));
  const auto stored = life_->store->ListExperiments();
  ASSERT_TRUE(stored.ok());
  EXPECT_EQ(stored->front().status, ExperimentStatus::kInterrupted);
  EXPECT_EQ(stored->front().given_up,
            "the folder of s, which was submitted from another machine, is no longer kept; submit "
            "it there again");
  EXPECT_EQ(stored->back().given_up, "");

  WriteText(artifacts_dir_ + "/packages/first", "files");
  const auto resumed = Ask(ControlVerb::kResume, "s");
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  EXPECT_TRUE(IsOpen("s"));
  EXPECT_EQ(life_->store->ListExperiments()->front().given_up, "");
}

TEST_F(HeadSweepsTest, AnInterruptedSweepThatCannotGoOnYetIsTriedAgain) {
  Submit("s");
  Interrupt("s");
  fs::rename(folder_ / "tune_trial", folder_ / "elsewhere");
  LookAfter(Seconds(61));
  EXPECT_FALSE(IsOpen("s"));
  fs::rename(folder_ / "elsewhere", folder_ / "tune_trial");
  LookAfter(Seconds(61));
  EXPECT_TRUE(IsOpen("s"));
}

TEST_F(HeadSweepsTest, TheStoreKeepsTheRowIdsOfOpenSweepsAlone) {
  for (const std::string name : {"a", "b", "c"}) Submit(name);
  EXPECT_EQ(life_->store->known_count(), 3u);
  for (const std::string name : {"a", "b"}) Take(name, StopRequested{std::nullopt, true});
  EXPECT_EQ(life_->store->known_count(), 1u);
  const auto resumed = Ask(ControlVerb::kResume, "a", {});
  EXPECT_FALSE(resumed.ok()) << "it is over";
  EXPECT_EQ(life_->store->known_count(), 1u);
  Interrupt("c");
  EXPECT_EQ(life_->store->known_count(), 0u);
  ASSERT_TRUE(Ask(ControlVerb::kStop, "c").ok());
  EXPECT_EQ(life_->store->known_count(), 0u) << "changed while it did not run";
}

TEST_F(HeadSweepsTest, ANewSweepFindsNothingOfADeletedOneOfItsName) {
  Submit("s");
  Take("s", StopRequested{std::nullopt, true});
  fs::create_directories(artifacts_dir_ + "/s/0/checkpoint_000001");
  WriteText(artifacts_dir_ + "/s/own_words", "whatever is in it");
  ASSERT_TRUE(Ask(ControlVerb::kDelete, "s").ok());
  EXPECT_FALSE(fs::exists(artifacts_dir_ + "/s"));
  Submit("s");
  fs::create_directories(artifacts_dir_ + "/s/0/checkpoint_000001");
  BeginAgain();  // Whatever was still to be removed goes.
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/s/0/checkpoint_000001"));
}

TEST_F(HeadSweepsTest, ANewSweepFindsNothingOfADeleteThatWasCutOff) {
  fs::create_directories(artifacts_dir_ + "/s/0");
  WriteText(artifacts_dir_ + "/s/0/attempt_1.log", "of another person");
  fs::create_directories(artifacts_dir_ + "/own/0");
  WriteText(artifacts_dir_ + "/own/notes", "of a person");
  Submit("s");
  EXPECT_FALSE(fs::exists(artifacts_dir_ + "/s"));
  Submit("own");
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/own/notes"));
}

TEST_F(HeadSweepsTest, AHeadThatBeginsRemovesWhatDeletesHaveSetAsideAndNothingElse) {
  Submit("s");
  for (const char* const folder : {"/s/0", "/gone/0", "/.deleted-7/0", "/tls", "/cluster"}) {
    fs::create_directories(artifacts_dir_ + folder);
  }
  BeginAgain();
  while (fs::exists(artifacts_dir_ + "/.deleted-7")) {
  }
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/s/0"));
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/gone/0")) << "another database may know of it";
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/tls"));
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/cluster"));
}

// After a boot its clock may be months ahead until NTP has set it.
TEST_F(HeadSweepsTest, AHeadThatHasJustBegunRemovesNothingForItsAge) {
  const auto experiment = life_->store->CreateExperiment(SampleExperiment("over"));
  ASSERT_TRUE(experiment.ok());
  Transition end;
  end.experiment = ExperimentRow{ExperimentStatus::kFinished, 4, kSampleStart};
  ASSERT_TRUE(life_->store->Commit(experiment->id, {1, kSampleStart, "[]"}, end).ok());
  keep_.age = Seconds(7 * 86'400);
  now() = kSampleStart + Seconds(30 * 86'400);
  LookAfter(Seconds(1));
  EXPECT_TRUE(Ask(ControlVerb::kDelete, "over").ok()) << "it is not there any more";
}

TEST_F(HeadSweepsTest, WhatEndedSweepsHaveLeftIsMeasuredBesideTheLoopAndTheOldestGoes) {
  for (const std::string name : {"old", "new"}) {
    const auto experiment = life_->store->CreateExperiment(SampleExperiment(name));
    ASSERT_TRUE(experiment.ok());
    Transition end;
    end.experiment = ExperimentRow{ExperimentStatus::kFinished, 4,
                                   kSampleStart + Seconds(name == "old" ? 0 : 60)};
    ASSERT_TRUE(life_->store->Commit(experiment->id, {1, kSampleStart, "[]"}, end).ok());
    fs::create_directories(artifacts_dir_ + "/" + name + "/0");
    WriteText(artifacts_dir_ + "/" + name + "/0/weights", std::string(1'000, 'x'));
  }
  keep_.bytes = 1'500;
  now() = kSampleStart + Seconds(3'600);
  LookAfter(Seconds(1));
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/old")) << "nobody knows yet how large it is";
  while (fs::exists(artifacts_dir_ + "/old")) LookAfter(Seconds(1));
  LookAfter(Seconds(3'600));
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/new")) << "the rest fits";
  EXPECT_FALSE(Ask(ControlVerb::kDelete, "old").ok()) << "it is not there any more";
}

TEST(FolderRemover, SizeOfAnEndedSweepIsMeasuredOnce) {
  const TempFolder folder;
  const std::string artifacts = ArtifactsDirOf(folder / "tune.db");
  fs::create_directories(artifacts + "/s/0");
  WriteText(artifacts + "/s/0/weights", std::string(1'000, 'x'));
  FolderRemover folders(folder / "tune.db");
  const auto wait_for_size = [&folders](Instant ended_at) {
    std::optional<int64_t> bytes;
    while (!(bytes = folders.SizeOf("s", ended_at))) {
    }
    return *bytes;
  };
  EXPECT_EQ(folders.SizeOf("s", kSampleStart), std::nullopt);
  EXPECT_EQ(wait_for_size(kSampleStart), 1'000);
  WriteText(artifacts + "/s/0/more", "12345");
  EXPECT_EQ(folders.SizeOf("s", kSampleStart), 1'000) << "nobody looks at its files again";
  EXPECT_EQ(wait_for_size(kSampleStart + Seconds(1)), 1'005) << "it went on, and ended again";
}

TEST(FolderRemover, NothingGoesOfAnEndedSweepOnceItIsLeftAlone) {
  const TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  WriteSampleSweep(*store, "s");
  const std::string unfinished = ArtifactsDirOf(folder / "tune.db") + "/s/0/checkpoint_000009.tmp";
  FolderRemover folders(folder / "tune.db");
  fs::create_directories(unfinished);
  folders.CleanUp("s", kSampleStart, Seconds(60));
  while (fs::exists(unfinished)) {
  }
  folders.CleanUp("s", kSampleStart, Seconds(60));
  folders.LeaveAlone("s");
  fs::create_directories(unfinished);
  // What was asked for before it is done by then.
  while (!folders.SizeOf("s", kSampleStart)) {
  }
  EXPECT_TRUE(fs::exists(unfinished));
  EXPECT_THAT(folders.TakeLines(), IsEmpty());
}

// What may leave the store unable to sync ends the head, as at a commit: it goes on in a next life.
TEST_F(HeadSweepsTest, AChangeThatCannotBeRecordedForADiskThatFailsEndsTheHead) {
  Submit("s");
  {
    const auto database = Database::Open(db_path_, Access::kWrite);
    ASSERT_TRUE(database.ok());
    const Status refuses = (*database)->Execute(
        "CREATE TRIGGER fails BEFORE INSERT ON change_rows"
        " BEGIN SELECT RAISE(ABORT, 'the disk fails'); END");
    ASSERT_TRUE(refuses.ok()) << refuses.message();
  }
  ControlDesk desk(artifacts_dir_, {life_->controller, life_->tuner, life_->queue, clock_,
                                    *life_->doors, *life_->store, &sweeps()});
  ASSERT_TRUE(desk.status().ok()) << desk.status().message();
  ControlRequest request;
  request.verb = ControlVerb::kPause;
  request.tuner = getpid();
  request.sweep = "s";
  std::atomic<bool> is_answered = false;
  std::jthread asks([&] {
    const RealClock clock;
    const auto answer = AskTuner(artifacts_dir_, request, clock, Seconds(60));
    EXPECT_THAT(answer.ok() ? answer->status.message() : "no answer", HasSubstr("the disk fails"));
    is_answered = true;
  });
  Status served;
  while (served.ok() && !is_answered) served = desk.Serve();
  EXPECT_EQ(served.code(), StatusCode::kInternal) << served.message();
  while (!is_answered) {
    (void)desk.Serve();  // Its answer may still be on its way.
  }
}

TEST_F(HeadSweepsTest, NoNewSweepHasTheNameOfAThingOfTheHeads) {
  for (const char* const name : {"cluster", "page.address", "packages", ".deleted-1", ".left-1"}) {
    EXPECT_EQ(TrySubmit(name).status().code(), StatusCode::kInvalidArgument) << name;
  }
}

TEST_F(HeadSweepsTest, ASweepOfAnOlderBuildGoesOnAndIsDeletedWithoutTheHeadsThings) {
  NewExperiment wanted;
  wanted.name = "cluster";
  wanted.metric = "value";
  wanted.mode = "max";
  wanted.samples = 2;
  wanted.spec = kHeadSweepSpec;
  wanted.base_dir = folder_.path();
  ASSERT_TRUE(life_->store->CreateExperiment(wanted).ok());
  BeginAgain();
  ASSERT_TRUE(IsOpen("cluster"));
  Interrupt("cluster");
  const auto resumed = Ask(ControlVerb::kResume, "cluster");
  ASSERT_TRUE(resumed.ok()) << resumed.status().message();
  Take("cluster", StopRequested{std::nullopt, true});
  fs::create_directories(artifacts_dir_ + "/cluster");
  WriteText(artifacts_dir_ + "/cluster/state.json", "{}");
  ASSERT_TRUE(Ask(ControlVerb::kDelete, "cluster").ok());
  EXPECT_TRUE(fs::exists(artifacts_dir_ + "/cluster/state.json"));
}

TEST_F(HeadSweepsTest, ASweepThatWasGivenUpIsTriedAgainWhenItIsChanged) {
  std::string spec = kHeadSweepSpec;
  spec.insert(spec.rfind('}'), R"(, "limits": {"unplaceable": "10m"})");
  Submit("s", spec);
  now() = now() + Seconds(601);
  Take("s", DeadlinePassed{});
  ASSERT_FALSE(IsOpen("s"));
  LookAfter(Seconds(61));
  EXPECT_FALSE(IsOpen("s")) << "it was given up";

  const auto changed = Ask(ControlVerb::kSet, "s", {"limits.unplaceable=1h"});
  ASSERT_TRUE(changed.ok()) << changed.status().message();
  EXPECT_EQ(changed->back(), "s was given up, and is tried again");
  LookAfter({});
  EXPECT_TRUE(IsOpen("s"));
}

TEST_F(HeadSweepsTest, ASweepThatWasGivenUpAndIsStoppedStaysSo) {
  std::string spec = kHeadSweepSpec;
  spec.insert(spec.rfind('}'), R"(, "limits": {"unplaceable": "10m"})");
  Submit("s", spec);
  now() = now() + Seconds(601);
  Take("s", DeadlinePassed{});
  ASSERT_TRUE(Ask(ControlVerb::kStop, "s").ok());
  LookAfter(Seconds(61));
  EXPECT_FALSE(IsOpen("s"));
}

// A sweep that begins when `first` is over.
std::string SpecAfter(const std::string& first) {
  std::string spec = kHeadSweepSpec;
  spec.insert(spec.rfind('}'), R"(, "after": [")" + first + "\"]");
  return spec;
}

TEST_F(HeadSweepsTest, ASweepThatFollowsOneThatIsStoppedWhileItDoesNotRunIsStopped) {
  Submit("first");
  Submit("second", SpecAfter("first"));
  Interrupt("first");
  LookAfter({});
  LeaveEnded();
  EXPECT_TRUE(IsOpen("second")) << "the first one is to be tried again";
  ASSERT_TRUE(Ask(ControlVerb::kStop, "first").ok());
  LookAfter({});
  LeaveEnded();
  EXPECT_FALSE(IsOpen("second"));
}

// Beside many others each of them would cost the head's thread a look at the database.
TEST_F(HeadSweepsTest, OnlyTheEndOfASweepThatItFollowsMakesASweepBeLookedAt) {
  Submit("first");
  Submit("second", SpecAfter("first"));
  Submit("other");
  Interrupt("first");
  LookAfter({});
  const auto is_paused = [&] { return life_->controller.At(Find("second")).sweep.is_paused(); };
  ASSERT_TRUE(is_paused());
  {
    const auto database = Database::Open(db_path_, Access::kWrite);
    ASSERT_TRUE(database.ok()) << database.status().message();
    ASSERT_TRUE((*database)
                    ->Run("UPDATE experiment_rows SET status = 'FINISHED' WHERE name = 'first'")
                    .ok());
  }
  Take("other", StopRequested{std::nullopt, true});
  LookAfter({});
  EXPECT_TRUE(is_paused()) << "the other one's end is not the first one's";
  ASSERT_TRUE(Ask(ControlVerb::kDelete, "first").ok());
  LookAfter({});
  LeaveEnded();
  EXPECT_FALSE(IsOpen("second")) << "the first one is gone";
}

TEST(InterruptedSweeps, SayOnceWhyOneCannotGoOn) {
  InterruptedSweeps sweeps;
  const Instant begin{1'000'000};
  sweeps.Add("s", "hash", begin);
  EXPECT_THAT(sweeps.Due(begin), ElementsAre("s"));
  EXPECT_THAT(sweeps.Refuse("s", NotFound("no program"), begin), HasSubstr("no program"));
  EXPECT_THAT(sweeps.Due(begin), IsEmpty());
  EXPECT_THAT(sweeps.Due(begin + Seconds(60)), ElementsAre("s"));
  EXPECT_EQ(sweeps.Refuse("s", NotFound("no program"), begin + Seconds(60)), "");
  EXPECT_THAT(sweeps.Refuse("s", NotFound("no folder"), begin), HasSubstr("no folder"));
  EXPECT_THAT(sweeps.Packages(), ElementsAre("hash"));
  sweeps.Remove("s");
  EXPECT_THAT(sweeps.Packages(), IsEmpty());
}

}  // namespace
}  // namespace tune
