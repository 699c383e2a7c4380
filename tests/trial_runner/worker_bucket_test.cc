// A worker's decisions about checkpoints that go to an object store: what waits for it, and how
// long what was told to end does.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "tests/trial_runner/worker_core_fixture.h"

namespace tune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::string SavedIn(int64_t iteration, bool final = false) {
  const std::string n = std::to_string(iteration);
  return R"({"report":{"iteration":)" + n + R"(,"metrics":{"loss":0.5},"final":)" +
         (final ? "true" : "false") + R"(,"checkpoint":{"path":"/a/0/)" + n +
         R"(","bytes":9,"checksum":"00"}}})";
}

class WorkerBucket : public WorkerCoreTest {
 protected:
  // The tuner's own worker, where trial 0 has begun in process 1.
  void SetUp() override {
    Join(true);
    SweepInfo sweep = SweepOf(R"({"curve":{"value":"x"}})");
    sweep.sweep = ExperimentId{7};
    sweep.bucket = "s3://bucket/p/sweep";
    Tell(sweep);
    Effects();
    Tell(Of(Start(Ref(0, 1, 1))));
    ASSERT_THAT(Effects(), Contains("settle /a and s3://bucket/p/sweep"));
  }
  static StartAttempt Of(StartAttempt start) {
    start.ref.sweep = ExperimentId{7};
    return start;
  }
  AttemptRef ref() const { return Of(Start(Ref(0, 1, 1))).ref; }
  void Keep(int64_t iteration) {
    const std::string n = "/0/" + std::to_string(iteration);
    core_->OnCheckpointKept(ref(), KeptCheckpoint{"s3://bucket/p/sweep" + n, {"/a" + n, "sha"}},
                            now_);
  }
  // What the next heartbeat says.
  std::string ToldWait() {
    Effects();
    Pass(Seconds(1.5));
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const send = std::get_if<SendToTuner>(&effect);
      const auto* const beat = send == nullptr ? nullptr : std::get_if<Heartbeat>(&send->message);
      if (beat != nullptr) return beat->waits_for;
    }
    return "no heartbeat";
  }
};

TEST_F(WorkerBucket, AReportOfTheTunersOwnWorkerWaitsForTheStoreToo) {
  Line(1, SavedIn(1));
  EXPECT_THAT(Effects(), ElementsAre("keep /a/0/1"));
  Keep(1);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
  Answer(ref(), 1, ReportAnswer::kContinue);
  Line(1, SavedIn(2));
  Effects();
  Keep(2);
  EXPECT_THAT(Effects(), ElementsAre("drop /a/0/1", "report 0 sequence 2"))
      << "what is on the disk is a copy";
}

TEST_F(WorkerBucket, WhatAnAttemptGoesOnFromIsBroughtFirst) {
  StartAttempt start = Of(Start(Ref(1, 2, 5)));
  start.checkpoint_path = "s3://bucket/p/sweep/1/checkpoint_000003";
  start.from_iteration = 3;
  Tell(start);
  EXPECT_THAT(Effects(), Contains("obtain s3://bucket/p/sweep/1/checkpoint_000003"));
  core_->OnCheckpointObtained(start.ref, CheckpointCopy{"/a/1/checkpoint_000003", "sha"}, now_);
  EXPECT_THAT(Effects(), Contains("start 2 trial 1"));
}

TEST_F(WorkerBucket, WhatCheckpointsWaitForIsToldWithEachHeartbeat) {
  Line(1, SavedIn(1));
  EXPECT_EQ(ToldWait(), "");
  core_->OnCheckpointWaits(ref(), "cannot write: refused", now_);
  EXPECT_EQ(ToldWait(), "cannot write: refused");
  Keep(1);
  EXPECT_EQ(ToldWait(), "");
}

TEST_F(WorkerBucket, AnAttemptThatEndsBeforeItsCheckpointIsHereIsWaitedForNoMore) {
  StartAttempt start = Of(Start(Ref(1, 2, 5)));
  start.checkpoint_path = "s3://bucket/p/sweep/1/checkpoint_000003";
  start.from_iteration = 3;
  Tell(start);
  core_->OnCheckpointWaits(start.ref, "cannot read: refused", now_);
  EXPECT_EQ(ToldWait(), "cannot read: refused");
  Ended(2, {0, "SIGKILL"});
  EXPECT_EQ(ToldWait(), "");
}

TEST_F(WorkerBucket, WhatIsToldLateOfACheckpointThatWasGivenUpIsPassedOver) {
  Line(1, SavedIn(1));
  Tell(KillAttempt{ref(), true});
  core_->OnCheckpointWaits(ref(), "cannot write: refused", now_);
  EXPECT_EQ(ToldWait(), "");
}

TEST_F(WorkerBucket, AnAttemptThatEndedByItselfWaitsAsLongAsTheStoreIsAway) {
  Line(1, SavedIn(1, true));
  Line(1, kCompleted);
  core_->OnCheckpointWaits(ref(), "cannot write: refused", now_);
  Effects();
  Pass(Seconds(3600));
  EXPECT_THAT(Effects(), testing::Not(Contains(HasSubstr("ended"))));
  Keep(1);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "ended 0 completed"));
}

TEST_F(WorkerBucket, OneThatWasToldToEndHasAWhileForIt) {
  Line(1, SavedIn(1));
  Tell(KillAttempt{ref()});
  Ended(1, {0, "SIGTERM"});
  Effects();
  Pass(Milliseconds(limits::kUploadGraceMs - 1));
  EXPECT_THAT(Effects(), testing::Not(Contains(HasSubstr("ended"))));
  Keep(1);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "ended 0 preempted"));
}

TEST_F(WorkerBucket, AndIsGivenUpThen) {
  Line(1, SavedIn(1));
  Tell(KillAttempt{ref()});
  Ended(1, {0, "SIGTERM"});
  Effects();
  ASSERT_TRUE(core_->NextDeadline().has_value());
  Pass(Milliseconds(limits::kUploadGraceMs));
  EXPECT_THAT(Effects(), Contains("give up 0"));
  Keep(1);
  EXPECT_THAT(Effects(), IsEmpty()) << "it has ended";
}

TEST_F(WorkerBucket, SoonerWhereTheStoreIsAwayAlready) {
  Line(1, SavedIn(1));
  core_->OnCheckpointWaits(ref(), "cannot write: refused", now_);
  Tell(KillAttempt{ref()});
  Ended(1, {0, "SIGTERM"});
  Effects();
  Pass(Milliseconds(limits::kKillGraceMs));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat", "give up 0",
                                     HasSubstr("ended 0 preempted: its last checkpoint did not")));
}

TEST_F(WorkerBucket, AWorkerThatIsToEndDoesNotWaitForAStoreThatIsAway) {
  Line(1, SavedIn(1, true));
  Line(1, kCompleted);
  core_->OnCheckpointWaits(ref(), "cannot write: refused", now_);
  Ended(1, {0, ""});
  Tell(Shutdown{});
  Effects();
  Pass(Milliseconds(limits::kKillGraceMs));
  const std::vector<std::string> effects = Effects();
  EXPECT_THAT(effects, Contains("give up 0"));
  EXPECT_THAT(effects, Contains(HasSubstr("exit 0")));
}

}  // namespace
}  // namespace tune
