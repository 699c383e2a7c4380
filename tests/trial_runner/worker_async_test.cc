// A worker's decisions where reports do not wait for their checkpoints: what is on its way, what
// waits behind it, and what the tuner hears of both.
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
using testing::Not;

std::string SavedAt(int64_t iteration, bool final = false) {
  const std::string n = std::to_string(iteration);
  return R"({"report":{"iteration":)" + n + R"(,"metrics":{"loss":0.5},"final":)" +
         (final ? "true" : "false") + R"(,"checkpoint":{"path":"/a/0/)" + n +
         R"(","bytes":9,"checksum":"00"}}})";
}

class WorkerAsync : public WorkerCoreTest {
 protected:
  // A worker where trial 0 has begun in process 1.
  void Begin(bool is_local) {
    Join(is_local);
    Tell(sweep());
    Effects();
    Tell(Of(Start(Ref(0, 1, 1))));
    ASSERT_THAT(Effects(), Contains("start 1 trial 0"));
  }
  void SetUp() override { Begin(true); }

  static SweepInfo sweep() {
    SweepInfo sweep = SweepOf(R"({"curve":{"value":"x"}})");
    sweep.sweep = ExperimentId{7};
    sweep.bucket = "s3://bucket/p/sweep";
    sweep.has_async_checkpoints = true;
    return sweep;
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
  void Report(int64_t iteration) {
    Line(1, SavedAt(iteration));
    Answer(ref(), iteration, ReportAnswer::kContinue);
  }
};

class ConnectedWorkerAsync : public WorkerAsync {
 protected:
  void SetUp() override { Begin(false); }
  void ComeBack() {
    core_->OnTunerGone(Unavailable("the connection to the tuner broke"), now_);
    Pass(Seconds(5));
    Effects();
    Tell(WelcomeTo({SampleWelcome().sweeps.front(), sweep()}));
  }
};

TEST_F(WorkerAsync, AReportIsToldBeforeItsCheckpointIsKept) {
  Line(1, SavedAt(1));
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1, a checkpoint follows", "keep /a/0/1"));
  Answer(ref(), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
  Keep(1);
  EXPECT_THAT(Effects(), ElementsAre("durable 0 iteration 1 at s3://bucket/p/sweep/0/1"));
}

TEST_F(WorkerAsync, OneIsOnItsWayAtATimeAndTheLatestSavedMeanwhileFollowsIt) {
  Report(1);
  Report(2);
  Effects();
  Line(1, SavedAt(3));
  EXPECT_THAT(Effects(), ElementsAre("drop /a/0/2", "report 0 sequence 3, a checkpoint follows"));
  Keep(1);
  EXPECT_THAT(Effects(),
              ElementsAre("durable 0 iteration 1 at s3://bucket/p/sweep/0/1", "keep /a/0/3"));
  Keep(3);
  EXPECT_THAT(Effects(),
              ElementsAre("drop /a/0/1", "durable 0 iteration 3 at s3://bucket/p/sweep/0/3"));
}

TEST_F(WorkerAsync, TheFinalReportWaitsForItsCheckpointAndForTheOneBeforeIt) {
  Report(1);
  Report(2);
  Effects();
  Line(1, SavedAt(3, true));
  Line(1, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre("drop /a/0/2"));
  Keep(1);
  EXPECT_THAT(Effects(),
              ElementsAre("durable 0 iteration 1 at s3://bucket/p/sweep/0/1", "keep /a/0/3"));
  Keep(3);
  EXPECT_THAT(Effects(), ElementsAre("drop /a/0/1", "report 0 sequence 3", "ended 0 completed"));
}

TEST_F(WorkerAsync, TheEndOfAStoppedAttemptWaitsForItsLastCheckpoint) {
  Line(1, SavedAt(1));
  Answer(ref(), 1, ReportAnswer::kStop);
  Line(1, kStopped);
  EXPECT_THAT(Effects(), Not(Contains(HasSubstr("ended"))));
  Keep(1);
  EXPECT_THAT(Effects(),
              ElementsAre("durable 0 iteration 1 at s3://bucket/p/sweep/0/1", "ended 0 stopped"));
}

TEST_F(WorkerAsync, SoDoesTheEndOfOneWhoseProcessDied) {
  Report(1);
  Report(2);
  Ended(1, {0, "SIGSEGV"});
  Effects();
  Keep(1);
  EXPECT_THAT(Effects(),
              ElementsAre("durable 0 iteration 1 at s3://bucket/p/sweep/0/1", "keep /a/0/2"));
  Keep(2);
  EXPECT_THAT(Effects(),
              ElementsAre("drop /a/0/1", "durable 0 iteration 2 at s3://bucket/p/sweep/0/2",
                          "ended 0 crashed: the trial process died of SIGSEGV"));
}

TEST_F(WorkerAsync, WhatWasToldToEndGivesItUpInTimeAndKeepsItsEnd) {
  Line(1, SavedAt(1));
  Answer(ref(), 1, ReportAnswer::kStop);
  Line(1, kStopped);
  Tell(KillAttempt{ref()});
  Effects();
  ASSERT_TRUE(core_->NextDeadline().has_value());
  Pass(Milliseconds(limits::kUploadGraceMs));
  const std::vector<std::string> effects = Effects();
  EXPECT_THAT(effects, Contains("give up 0"));
  EXPECT_THAT(effects, Contains("ended 0 stopped")) << "its reports were told";
}

TEST_F(WorkerAsync, APreemptedOneSaysThatItsLastCheckpointIsMissing) {
  Report(1);
  Tell(KillAttempt{ref()});
  Ended(1, {0, "SIGTERM"});
  Effects();
  Pass(Milliseconds(limits::kUploadGraceMs));
  EXPECT_THAT(Effects(), Contains(HasSubstr("ended 0 preempted: its last checkpoint did not")));
}

TEST_F(WorkerAsync, AnAttemptThatIsKilledAtOnceKeepsNothing) {
  Report(1);
  Report(2);
  Effects();
  Tell(KillAttempt{ref(), true});
  EXPECT_THAT(Effects(), ElementsAre("give up 0", "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
  Keep(1);
  EXPECT_THAT(Effects(), IsEmpty());
}

TEST_F(ConnectedWorkerAsync, SaysAgainWhatTheTunerMayNotHaveHeardInItsOrder) {
  Report(1);
  Keep(1);
  Line(1, SavedAt(2));
  Keep(2);
  Effects();
  ComeBack();
  EXPECT_THAT(Effects(), ElementsAre("durable 0 iteration 1 at s3://bucket/p/sweep/0/1",
                                     "report 0 sequence 2, a checkpoint follows",
                                     "durable 0 iteration 2 at s3://bucket/p/sweep/0/2"));
}

TEST_F(ConnectedWorkerAsync, TheAnswerToALaterReportSaysThatItWasHeard) {
  Report(1);
  Keep(1);
  Report(2);
  Effects();
  ComeBack();
  EXPECT_THAT(Effects(), Not(Contains(HasSubstr("durable"))));
}

TEST_F(ConnectedWorkerAsync, WhatADeadProcessReportedAndSavedIsSaidAgainBeforeItsEnd) {
  Line(1, SavedAt(1));
  Ended(1, {0, "SIGSEGV"});
  Effects();
  LoseTuner();
  Keep(1);
  ComeBack();
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1, a checkpoint follows",
                                     "durable 0 iteration 1 at s3://bucket/p/sweep/0/1",
                                     "ended 0 crashed: the trial process died of SIGSEGV"));
}

}  // namespace
}  // namespace tune
