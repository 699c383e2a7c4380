// A worker's decisions about checkpoints that the tuner keeps for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "tests/trial_runner/worker_core_fixture.h"

namespace tune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;

std::string Saved(int64_t iteration, bool final = false) {
  const std::string n = std::to_string(iteration);
  return R"({"report":{"iteration":)" + n + R"(,"metrics":{"loss":0.5},"final":)" +
         (final ? "true" : "false") + R"(,"checkpoint":{"path":"/c/0/)" + n +
         R"(","bytes":9,"checksum":"00"}}})";
}

class WorkerCheckpoints : public WorkerCoreTest {
 protected:
  // On a machine with a disk of its own, where trial 0 has begun in process 1.
  void SetUp() override {
    finds_places_ = false;
    Join(false);
    Tell(Start(Ref(0, 1, 1)));
    Effects();
    FindPlace();
    ASSERT_THAT(Effects(), ElementsAre("log 1 /c/0/attempt_1.log", "start 1 trial 0"));
  }
  void FindPlace() {
    core_->OnPlace({}, {{}, "", "/a"}, FoundPlace{{}, "/c", CheckpointStorage::kTuner}, now_);
  }
  void Keep(int64_t iteration, const AttemptRef& ref = Ref(0, 1, 1)) {
    const std::string n = "/0/" + std::to_string(iteration);
    core_->OnCheckpointKept(ref, KeptCheckpoint{"/a" + n, {"/c" + n, "sha" + n}}, now_);
  }
  void FailToKeep(const Status& status) { core_->OnCheckpointKept(Ref(0, 1, 1), status, now_); }
  // The checkpoint's path in the report that was sent.
  std::string ToldPath() {
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const send = std::get_if<SendToTuner>(&effect);
      const auto* const report =
          send == nullptr ? nullptr : std::get_if<AttemptReport>(&send->message);
      if (report != nullptr) return report->report.checkpoint.path;
    }
    return "nothing";
  }
  // Of an attempt, to the tuner.
  std::optional<AttemptEnded> ToldEnd() {
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const send = std::get_if<SendToTuner>(&effect);
      const auto* const ended =
          send == nullptr ? nullptr : std::get_if<AttemptEnded>(&send->message);
      if (ended != nullptr) return *ended;
    }
    return std::nullopt;
  }
};

TEST_F(WorkerCheckpoints, AReportWaitsUntilItsCheckpointIsKeptAndNamesTheTunersPath) {
  Line(1, Saved(1));
  EXPECT_THAT(Effects(), ElementsAre("keep /c/0/1"));
  Keep(1);
  EXPECT_EQ(ToldPath(), "/a/0/1");
  // The next one takes the place of the one before.
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  Line(1, Saved(2));
  Effects();
  Keep(2);
  EXPECT_THAT(Effects(), ElementsAre("drop /c/0/1", "report 0 sequence 2"));
}

TEST_F(WorkerCheckpoints, WhatHasNoFolderWaitsForNothing) {
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
}

TEST_F(WorkerCheckpoints, AnEndWaitsForTheReportBeforeIt) {
  Line(1, Saved(1, true));
  Line(1, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre("keep /c/0/1"));
  Keep(1);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "clear /c/0", "ended 0 completed"))
      << "what else its program left here nobody will ever have";
}

TEST_F(WorkerCheckpoints, WhatWasSavedIsToldOfThoughTheProcessIsGone) {
  Line(1, Saved(1));
  Ended(1, {0, "SIGSEGV"});
  EXPECT_THAT(Effects(), ElementsAre("keep /c/0/1"));
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("hello holding 0 on 1000"));
  Keep(1);
  EXPECT_THAT(Effects(), IsEmpty());
  Tell(SampleWelcome());
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1",
                                     "ended 0 crashed: the trial process died of SIGSEGV"));
}

TEST_F(WorkerCheckpoints, AWorkerThatIsToEndWaitsForWhatIsOnItsWay) {
  Line(1, Saved(1));
  core_->OnTerminate(now_);
  Ended(1, {0, "SIGTERM"});
  EXPECT_THAT(Effects(), ElementsAre("keep /c/0/1", "term 1"));
  Keep(1);
  EXPECT_THAT(Effects(),
              ElementsAre("report 0 sequence 1", "ended 0 preempted", "goodbye", "exit 0"));
}

// It looks for its tuner no more, so that what is on its way would be for ever.
TEST_F(WorkerCheckpoints, AWorkerThatIsToEndWhileItsTunerIsAwayWaitsForNothing) {
  Line(1, Saved(1));
  Ended(1, {0, "SIGSEGV"});
  LoseTuner();
  Effects();
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), ElementsAre("give up 0", "exit 0"));
}

TEST_F(WorkerCheckpoints, NorForWhatItsLastProcessesSaveThen) {
  Line(1, Saved(1));
  LoseTuner();
  core_->OnTerminate(now_);
  Effects();
  Ended(1, {0, "SIGTERM"});
  EXPECT_THAT(Effects(), ElementsAre("give up 0", "exit 0"));
}

TEST_F(WorkerCheckpoints, AWorkerThatEndsWaitsNoLongerThanItsLease) {
  Line(1, Saved(1));
  core_->OnTerminate(now_);
  Ended(1, {0, "SIGTERM"});
  Effects();
  ASSERT_TRUE(core_->NextDeadline().has_value());
  Pass(Seconds(3600));
  EXPECT_THAT(Effects(), Contains("exit 1"));
}

TEST_F(WorkerCheckpoints, AnAttemptThatIsKilledAtOnceIsGivenUp) {
  Line(1, Saved(1));
  Effects();
  Tell(KillAttempt{Ref(0, 1, 1), true});
  EXPECT_THAT(Effects(), ElementsAre("give up 0", "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
  Keep(1);
  EXPECT_THAT(Effects(), IsEmpty());
}

TEST_F(WorkerCheckpoints, SoIsOneThatIsKilledWhenItsProcessIsGone) {
  Line(1, Saved(1));
  Ended(1, {0, "SIGSEGV"});
  Effects();
  Tell(KillAttempt{Ref(0, 1, 1), true});
  EXPECT_THAT(Effects(), ElementsAre("give up 0", "ended 0 preempted"));
}

TEST_F(WorkerCheckpoints, ATunerWithoutRoomIsTheSweepsTrouble) {
  Line(1, Saved(1));
  Effects();
  FailToKeep(ResourceExhausted("40 are free"));
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 crashed: the tuner cannot keep a checkpoint: 40 are "
                                     "free"));
}

TEST_F(WorkerCheckpoints, ALeaseThatIsOverEndsTheAttemptAlone) {
  Line(1, Saved(1));
  Effects();
  FailToKeep(FailedPrecondition("it is over"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "ended 0 lost: it is over"));
}

TEST_F(WorkerCheckpoints, AWorkerThatCannotSendLeaves) {
  Line(1, Saved(1));
  Effects();
  FailToKeep(DataLoss("what came has another SHA-256"));
  const std::string why =
      "this worker cannot send a checkpoint to the tuner: what came has another SHA-256";
  EXPECT_THAT(Effects(), ElementsAre("print " + why, "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted: " + why, "goodbye", "exit 1"));
}

TEST_F(WorkerCheckpoints, AFullDiskHereIsTheWorkersTrouble) {
  Line(1, R"({"end":{"outcome":"crashed","error":"cannot save a checkpoint in /c/0",)"
          R"("detail":"disk_full"}})");
  EXPECT_THAT(
      Effects(),
      ElementsAre("print this worker's disk takes no writes: cannot save a checkpoint in /c/0",
                  "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("ended 0 preempted: this worker's disk"),
                                     "goodbye", "exit 1"));
}

TEST_F(WorkerCheckpoints, SoIsADiskOfThisMachineThatTheArtifactsAreNotOn) {
  Line(1, R"({"end":{"outcome":"crashed","error":"cannot begin: cannot write /w/x",)"
          R"("detail":"own_disk_full"}})");
  EXPECT_THAT(
      Effects(),
      ElementsAre("print this worker's disk takes no writes: cannot begin: cannot write /w/x",
                  "kill 1"));
}

TEST_F(WorkerCheckpoints, SoIsAMachineWithoutWhatTheTrialsNeed) {
  Line(1, R"({"end":{"outcome":"bad_config","error":"cannot start 'julia'",)"
          R"("detail":"unfit_machine"}})");
  EXPECT_THAT(Effects(),
              ElementsAre("print this worker has not what the trials need: cannot start 'julia'",
                          "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("ended 0 preempted: this worker has not"),
                                     "goodbye", "exit 1"));
}

TEST_F(WorkerCheckpoints, WhatTheTunerRemovesGoesFromTheCacheAndIsToldOfNoMore) {
  const auto told = [this] {
    std::vector<std::string> cached;
    Pass(Seconds(1));
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const send = std::get_if<SendToTuner>(&effect);
      const auto* const beat = send == nullptr ? nullptr : std::get_if<Heartbeat>(&send->message);
      if (beat != nullptr) cached = beat->cached;
    }
    return cached;
  };
  EXPECT_THAT(told(), IsEmpty());
  Line(1, Saved(1));
  Keep(1);
  EXPECT_THAT(told(), ElementsAre("/a/0/1"));
  EXPECT_THAT(told(), ElementsAre("/a/0/1"));
  Tell(RemoveCached{"/a/0/1"});
  EXPECT_THAT(Effects(), ElementsAre("drop /c/0/1"));
  EXPECT_THAT(told(), IsEmpty());
}

// ---- going on

TEST_F(WorkerCheckpoints, AnAttemptBeginsOnceWhatItGoesOnFromIsHere) {
  StartAttempt start = Start(Ref(1, 2, 5));
  start.checkpoint_path = "/a/1/4";
  Tell(start);
  EXPECT_THAT(Effects(), ElementsAre("spawn 2 tune_trial", "obtain /a/1/4, files /a/1 to /c/1"));
  core_->OnCheckpointObtained(Ref(1, 2, 5), CheckpointCopy{"/c/1/4", "sha"}, now_);
  EXPECT_THAT(Effects(), ElementsAre("log 2 /c/1/attempt_2.log", "start 2 trial 1"));
}

TEST_F(WorkerCheckpoints, WhatThisMachineHasNeedNotCome) {
  Line(1, Saved(1));
  Keep(1);
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kStop);
  Line(1, kStopped);
  Effects();
  StartAttempt start = Start(Ref(0, 2, 5));
  start.checkpoint_path = "/a/0/1";
  Tell(start);
  EXPECT_THAT(Effects(), ElementsAre("obtain /a/0/1, here /c/0/1, files /a/0 to /c/0"));
}

TEST_F(WorkerCheckpoints, OneThatIsGoneAtTheTunerIsABadCheckpoint) {
  StartAttempt start = Start(Ref(1, 2, 5));
  start.checkpoint_path = "/a/1/4";
  Tell(start);
  Effects();
  core_->OnCheckpointObtained(Ref(1, 2, 5), NotFound("there is no folder /a/1/4"), now_);
  const std::optional<AttemptEnded> ended = ToldEnd();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->detail, EndDetail::kBadCheckpoint);
}

// Another worker, which sees the tuner's disk, can still go on from it.
TEST_F(WorkerCheckpoints, ACheckpointThatTheTunerCannotSendIsNotABadOne) {
  StartAttempt start = Start(Ref(1, 2, 5));
  start.checkpoint_path = "/a/1/4";
  Tell(start);
  Effects();
  core_->OnCheckpointObtained(Ref(1, 2, 5), InvalidArgument("/a/1/4 holds too many files"), now_);
  const std::optional<AttemptEnded> ended = ToldEnd();
  ASSERT_TRUE(ended);
  EXPECT_EQ(ended->outcome, Outcome::kCrashed);
  EXPECT_EQ(ended->detail, EndDetail::kNone);
  EXPECT_EQ(ended->error, "cannot have a checkpoint: /a/1/4 holds too many files");
}

TEST_F(WorkerCheckpoints, AnAttemptThatWaitsCanBeKilled) {
  StartAttempt start = Start(Ref(1, 2, 5));
  start.checkpoint_path = "/a/1/4";
  Tell(start);
  Effects();
  Tell(KillAttempt{Ref(1, 2, 5), true});
  Ended(2, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("kill 2", "give up 1", "ended 1 preempted"));
  core_->OnCheckpointObtained(Ref(1, 2, 5), CheckpointCopy{"/c/1/4", "sha"}, now_);
  EXPECT_THAT(Effects(), IsEmpty());
}

// ---- what is printed

class WorkerLogs : public WorkerCheckpoints {
 protected:
  void SetUp() override {
    sends_logs_ = false;
    finds_places_ = false;
    Join(false);
    Tell(Start(Ref(0, 1, 1)));
    Effects();
    FindPlace();
    ASSERT_THAT(Effects(), ElementsAre("log 1 /c/0/attempt_1.log", "send /c/0/attempt_1.log",
                                       "start 1 trial 0"));
  }
};

TEST_F(WorkerLogs, AnEndWaitsUntilTheTunerHasAllThatWasPrinted) {
  Line(1, kFinal);
  Line(1, kCompleted);
  EXPECT_THAT(Effects(),
              ElementsAre("report 0 sequence 1", "send all of /c/0/attempt_1.log and /c/0"));
  core_->OnLogSent(Ref(0, 1, 1), OkStatus());
  EXPECT_THAT(Effects(), ElementsAre("clear /c/0", "ended 0 completed"));
}

TEST_F(WorkerLogs, AlsoOfAProcessThatDied) {
  Line(1, Saved(1));
  Ended(1, {0, "SIGSEGV"});
  EXPECT_THAT(Effects(), ElementsAre("keep /c/0/1"));
  Keep(1);
  EXPECT_THAT(Effects(),
              ElementsAre("report 0 sequence 1", "send all of /c/0/attempt_1.log and /c/0"));
  core_->OnLogSent(Ref(0, 1, 1), OkStatus());
  EXPECT_THAT(Effects(), ElementsAre("ended 0 crashed: the trial process died of SIGSEGV"));
}

// Else the worker, which is told to end it again and again, never says that it has.
TEST_F(WorkerLogs, AlsoOfAProcessThatDiedWhoseCheckpointTheTunerCannotKeep) {
  Line(1, Saved(1));
  Ended(1, {0, "SIGSEGV"});
  EXPECT_THAT(Effects(), ElementsAre("keep /c/0/1"));
  FailToKeep(ResourceExhausted("the disk is full"));
  EXPECT_THAT(Effects(), ElementsAre("send all of /c/0/attempt_1.log and /c/0"));
  core_->OnLogSent(Ref(0, 1, 1), OkStatus());
  EXPECT_THAT(Effects(),
              ElementsAre(testing::HasSubstr(
                  "ended 0 crashed: the tuner cannot keep a checkpoint: the disk is full")));
}

// It leaves, and what it still has to say it says.
TEST_F(WorkerLogs, AlsoOfAProcessThatDiedWhoseCheckpointCannotBeSent) {
  Line(1, Saved(1));
  Ended(1, {0, "SIGSEGV"});
  Effects();
  FailToKeep(DataLoss("it arrives otherwise than it was sent"));
  EXPECT_THAT(Effects(), Contains("send all of /c/0/attempt_1.log and /c/0"));
  core_->OnLogSent(Ref(0, 1, 1), OkStatus());
  EXPECT_THAT(Effects(), testing::IsSupersetOf(
                             {"ended 0 crashed: the trial process died of SIGSEGV", "exit 1"}));
}

TEST_F(WorkerLogs, WhatCannotBeSentIsNoFaultOfTheTrials) {
  Line(1, kFinal);
  Line(1, kCompleted);
  Effects();
  core_->OnLogSent(Ref(0, 1, 1), ResourceExhausted("the disk is full"));
  EXPECT_THAT(Effects(), ElementsAre(testing::HasSubstr("what trial 0 printed stays here, in "
                                                        "/c/0/attempt_1.log: the disk is full"),
                                     "clear /c/0", "ended 0 completed"));
}

TEST_F(WorkerLogs, ALaterAttemptBeginsOnceWhatEarlierOnesLeftIsHere) {
  Tell(Start(Ref(1, 2, 2)));
  EXPECT_THAT(Effects(), ElementsAre("spawn 2 tune_trial", "obtain , files /a/1 to /c/1"));
  core_->OnCheckpointObtained(Ref(1, 2, 2), CheckpointCopy{}, now_);
  EXPECT_THAT(Effects(), ElementsAre("log 2 /c/1/attempt_2.log", "send /c/1/attempt_2.log",
                                     "start 2 trial 1"));
}

TEST_F(WorkerLogs, TheNextAttemptBeginsMeanwhileInThatProcess) {
  Line(1, kFinal);
  Line(1, kCompleted);
  Effects();
  Tell(Start(Ref(1, 1, 2)));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /c/1/attempt_1.log", "send /c/1/attempt_1.log",
                                     "start 1 trial 1"));
  core_->OnLogSent(Ref(0, 1, 1), OkStatus());
  EXPECT_THAT(Effects(), ElementsAre("clear /c/0", "ended 0 completed"));
}

TEST_F(WorkerLogs, AWorkerThatIsToEndWhileItsTunerIsAwayWaitsForNothing) {
  Line(1, kFinal);
  Line(1, kCompleted);
  LoseTuner();
  Effects();
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), testing::IsSupersetOf({"give up 0", "clear /c/0"}));
}

}  // namespace
}  // namespace tune
