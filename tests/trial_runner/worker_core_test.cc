#include "trial_runner/worker/worker_core.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"
#include "tests/trial_runner/worker_core_fixture.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

// Some, and nothing else.
auto HeartbeatsAlone() { return AllOf(Not(IsEmpty()), Each(std::string("heartbeat"))); }

TEST_F(WorkerCoreTest, SaysHelloAndStartsAProcessAheadOfNeed) {
  core_.emplace(WorkerCore::Options{Greeting(), true, "tune_trial"});
  core_->Begin();
  EXPECT_THAT(Effects(), ElementsAre("spawn 1 tune_trial", "hello"));
}

TEST_F(WorkerCoreTest, WithoutAHintStartsAProcessWhenTheTrainableIsKnown) {
  core_.emplace(WorkerCore::Options{Greeting(), true, ""});
  core_->Begin();
  EXPECT_THAT(Effects(), ElementsAre("hello"));
  Tell(WelcomeTo({SweepOf(R"("food11")")}));
  EXPECT_THAT(Effects(), ElementsAre("spawn 1 tune_trial_food11"));
}

TEST_F(WorkerCoreTest, ReplacesAProcessThatWasStartedForAnotherTrainable) {
  core_.emplace(WorkerCore::Options{Greeting(), true, "tune_trial"});
  core_->Begin();
  Effects();
  Tell(WelcomeTo({SweepOf(R"("food11")")}));
  Tell(Start(Ref(0, 1, 1)));
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "spawn 2 tune_trial_food11",
                                     "log 2 /a/0/attempt_1.log", "start 2 trial 0"));
}

TEST_F(WorkerCoreTest, ForwardsReportsWithSequenceNumbersAndAnswersToTheProcess) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/0/attempt_1.log", "start 1 trial 0"));
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
  Line(1, kReport);
  Answer(Ref(0, 1, 1), 2, ReportAnswer::kStop);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 2", "answer 1 stop"));
  Line(1, kStopped);
  EXPECT_THAT(Effects(), ElementsAre("ended 0 stopped"));
}

TEST_F(WorkerCoreTest, AnAnswerThatComesTwiceOrForAnotherLeaseIsDropped) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kReport);
  Effects();
  Answer(Ref(0, 1, 9), 1, ReportAnswer::kStop);
  Answer(Ref(0, 2, 1), 1, ReportAnswer::kStop);
  Answer(Ref(0, 1, 1), 2, ReportAnswer::kStop);
  EXPECT_THAT(Effects(), ElementsAre());
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
}

TEST_F(WorkerCoreTest, AStartThatComesTwiceStartsOnce) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(0, 1, 1)));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/0/attempt_1.log", "start 1 trial 0"));
}

// A tuner that was restored from a backup counts on from an earlier one.
TEST_F(WorkerCoreTest, AnotherAttemptUnderAnEpochThatIsStillHeldIsBegun) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(KillAttempt{Ref(0, 1, 1)});
  Effects();
  Tell(Start(Ref(1, 1, 1)));
  EXPECT_THAT(Effects(),
              ElementsAre("spawn 2 tune_trial", "log 2 /a/1/attempt_1.log", "start 2 trial 1"));
  Ended(1, {0, "SIGTERM"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
  Line(2, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre("ended 1 completed"));
}

TEST_F(WorkerCoreTest, AProcessThatEndedItsAttemptTakesTheNextOne) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kCompleted);
  Effects();
  Tell(Start(Ref(1, 1, 2)));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/1/attempt_1.log", "start 1 trial 1"));
  Tell(Start(Ref(2, 1, 3)));
  EXPECT_THAT(Effects(),
              ElementsAre("spawn 2 tune_trial", "log 2 /a/2/attempt_1.log", "start 2 trial 2"));
}

TEST_F(WorkerCoreTest, TheQueuesHeadTakesOverCpusAndSlices) {
  Join();
  StartAttempt first = Start(Ref(0, 1, 1));
  first.cpu_milli = 3000;
  first.slices = {{1, 500}};
  Tell(first);
  Tell(Start(Ref(1, 1, 2), true));
  Effects();
  Line(1, kCompleted);
  const std::vector<Effect> effects = core_->TakeEffects();
  ASSERT_EQ(effects.size(), 3u);
  EXPECT_EQ(Text(effects[0]), "ended 0 completed");
  EXPECT_EQ(Text(effects[1]), "log 1 /a/1/attempt_1.log");
  const auto start = ParseToTrial(std::get<WriteToProcess>(effects[2]).line);
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(std::get<TrialStart>(*start).threads, 3);
  EXPECT_THAT(std::get<TrialStart>(*start).device_environment,
              testing::Contains(testing::Pair("CUDA_VISIBLE_DEVICES", "1")));
}

// The tuner sent the lease ahead before it heard of end 1, which had found the queue empty.
TEST_F(WorkerCoreTest, ALeaseAheadThatCrossedWithAnEndTakesWhatTheEndLeftIdle) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kCompleted);
  Effects();
  Tell(Start(Ref(1, 1, 2), true, 0));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/1/attempt_1.log", "start 1 trial 1"));
}

// The tuner knew of end 1 and has the room in its own books again.
TEST_F(WorkerCoreTest, WhatAnEndKnownToTheTunerLeftIdleIsNotTheQueues) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(5, 1, 2)));
  Line(1, kCompleted);
  Effects();
  Tell(Start(Ref(1, 1, 3), true, 1));
  EXPECT_THAT(Effects(), ElementsAre());
  Line(2, kCompleted);
  EXPECT_THAT(Effects(),
              ElementsAre("ended 5 completed", "log 1 /a/1/attempt_1.log", "start 1 trial 1"));
}

// Ends 1 and 2 both found the queue empty; the tuner had seen end 1 only. The room of end 2 is free
// for the queue.
TEST_F(WorkerCoreTest, CrossedLeasesTakeTheOldestRoomThatTheTunerDidNotKnowOf) {
  Join();
  StartAttempt first = Start(Ref(0, 1, 1));
  first.cpu_milli = 1000;
  StartAttempt second = Start(Ref(1, 1, 2));
  second.cpu_milli = 2000;
  Tell(first);
  Tell(second);
  Line(1, kCompleted);
  Line(2, kCompleted);
  core_->TakeEffects();
  Tell(Start(Ref(2, 1, 3), true, 1));
  const std::vector<Effect> effects = core_->TakeEffects();
  ASSERT_EQ(effects.size(), 2u);
  const auto start = ParseToTrial(std::get<WriteToProcess>(effects[1]).line);
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(std::get<TrialStart>(*start).threads, 2);
  Tell(Start(Ref(3, 1, 4), true, 1));
  EXPECT_THAT(Effects(), ElementsAre());
}

TEST_F(WorkerCoreTest, KillingALeaseThatWaitsDropsIt) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2), true));
  Effects();
  Tell(KillAttempt{Ref(1, 1, 2)});
  EXPECT_THAT(Effects(), ElementsAre("ended 1 preempted"));
  Line(1, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre("ended 0 completed"));
}

TEST_F(WorkerCoreTest, KillingIsSigtermThenAfterTheGraceTimeSigkill) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Tell(KillAttempt{Ref(0, 1, 1)});
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  Pass(Milliseconds(limits::kKillGraceMs - 1));
  EXPECT_THAT(Effects(), HeartbeatsAlone());
  Pass(Milliseconds(1));
  EXPECT_THAT(Effects(), testing::Contains("kill 1"));
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
}

TEST_F(WorkerCoreTest, OneThatIsToldToEndMayReportAndIsAnswered) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(KillAttempt{Ref(0, 1, 1)});
  Effects();
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
}

TEST_F(WorkerCoreTest, OneThatIsToldToEndAndEndsByItselfJustThenSaysHow) {
  struct Case {
    const char* report;
    ReportAnswer answer;
    const char* end;
    const char* said;
  };
  const Case cases[] = {
      {kFinal, ReportAnswer::kStop, kCompleted, "ended 0 completed"},
      {kReport, ReportAnswer::kStop, kStopped, "ended 0 stopped"},
  };
  for (const Case& c : cases) {
    Join();
    Tell(Start(Ref(0, 1, 1)));
    Tell(KillAttempt{Ref(0, 1, 1)});
    Line(1, c.report);
    Answer(Ref(0, 1, 1), 1, c.answer);
    Effects();
    Line(1, c.end);
    EXPECT_THAT(Effects(), ElementsAre(c.said));
    // The process goes all the same, and by force if it must.
    Tell(Start(Ref(1, 1, 2)));
    EXPECT_THAT(Effects(), Contains("start 2 trial 1"));
    Pass(Milliseconds(limits::kKillGraceMs));
    EXPECT_THAT(Effects(), Contains("kill 1"));
    Pass(Milliseconds(limits::kStopGraceMs));
    EXPECT_THAT(Effects(), HeartbeatsAlone());
    Ended(1, {0, "SIGKILL", ""});
    EXPECT_THAT(Effects(), ElementsAre());
  }
}

TEST_F(WorkerCoreTest, OneThatIsToldToEndGetsNoLongerThanItsGraceTimeForAnAnswer) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(KillAttempt{Ref(0, 1, 1)});
  Line(1, kReport);
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kStop);
  Effects();
  Pass(Milliseconds(limits::kKillGraceMs));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat", "kill 1"));
  EXPECT_GT(*core_->NextDeadline(), now_);
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
}

TEST_F(WorkerCoreTest, WhatIsKilledAtOnceIsNotHeardAnyMore) {
  for (const bool was_told_before : {false, true}) {
    Join();
    Tell(Start(Ref(0, 1, 1)));
    if (was_told_before) Tell(KillAttempt{Ref(0, 1, 1)});
    Effects();
    Tell(KillAttempt{Ref(0, 1, 1), true});
    EXPECT_THAT(Effects(), ElementsAre("kill 1"));
    Line(1, kReport);
    Line(1, kCompleted);
    EXPECT_THAT(Effects(), ElementsAre());
    Ended(1, {0, "SIGKILL", ""});
    EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
  }
}

TEST_F(WorkerCoreTest, AProcessThatFailedIsNotHeardAgainWhenItIsToldToEnd) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, "hello");
  Tell(KillAttempt{Ref(0, 1, 1)});
  Effects();
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre());
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre(HasSubstr("ended 0 crashed")));
}

TEST_F(WorkerCoreTest, AWorkerThatEndsWaitsForWhatItsTrialsStillReport) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted", "goodbye", "exit 0"));
}

TEST_F(WorkerCoreTest, KillingTwiceOrWhatIsNotThereDoesNothing) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(KillAttempt{Ref(0, 1, 1)});
  Effects();
  Tell(KillAttempt{Ref(0, 1, 1)});
  Tell(KillAttempt{Ref(7, 1, 7)});
  EXPECT_THAT(Effects(), ElementsAre());
}

TEST_F(WorkerCoreTest, EndsAreToldApart) {
  struct Case {
    ProcessEnd end;
    const char* said;
  };
  const Case cases[] = {
      {{3, "", ""}, "ended 0 crashed: the trial process exited with status 3"},
      {{0, "", ""}, "ended 0 crashed: the trial process exited with status 0"},
      {{0, "SIGSEGV", ""}, "ended 0 crashed: the trial process died of SIGSEGV"},
      {{0, "SIGKILL", ""}, "ended 0 killed: "},
      {{0, "", "cannot start x"}, "ended 0 crashed: cannot start x"},
  };
  for (const Case& c : cases) {
    Join();
    Tell(Start(Ref(0, 1, 1)));
    Effects();
    Ended(1, c.end);
    EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith(c.said)));
  }
}

TEST_F(WorkerCoreTest, ABadConfigurationKeepsTheProcessAndLackOfMemoryReplacesIt) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Line(1, R"({"end":{"outcome":"bad_config","error":"x is missing"}})");
  EXPECT_THAT(Effects(), ElementsAre("ended 0 bad_config: x is missing"));
  Tell(Start(Ref(1, 1, 2)));
  Effects();
  Line(1, R"({"end":{"outcome":"out_of_memory","error":"no room"}})");
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 1 out_of_memory: no room"));
  Tell(Start(Ref(2, 1, 3)));
  EXPECT_THAT(Effects(), testing::Contains("spawn 2 tune_trial"));
}

TEST_F(WorkerCoreTest, GarbageFromATrialIsACrashOfThatTrialAlone) {
  const std::string_view garbage[] = {
      "",
      "hello",
      "{}",
      "[1]",
      R"({"report":{}})",
      R"({"report":{"iteration":0,"metrics":{}}})",
      R"({"report":{"iteration":1,"metrics":{"loss":"high"}}})",
      R"({"report":{"iteration":1,"metrics":{},"checkpoint":{"path":"relative"}}})",
      R"({"end":{"outcome":"running"}})",
      R"({"end":{"outcome":"lost"}})",
      R"({"end":{}})",
      R"({"start":{}})",
      R"({"report":{"iteration":1,"metrics":{}},"end":{}})",
      "\xff\xfe",
      std::string_view("\0\0", 2),
  };
  for (const std::string_view line : garbage) {
    Join();
    Tell(Start(Ref(0, 1, 1)));
    Effects();
    Line(1, line);
    EXPECT_THAT(Effects(), ElementsAre("kill 1")) << line;
    Ended(1, {0, "SIGKILL", ""});
    EXPECT_THAT(Effects(), ElementsAre(HasSubstr("ended 0 crashed: the trial process sent what is "
                                                 "no message")))
        << line;
  }
}

TEST_F(WorkerCoreTest, ALineWithoutEndIsACrash) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  core_->OnProcessLineTooLong(ProcessId{1}, now_);
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("kill 1", HasSubstr("sent a line longer than")));
}

TEST_F(WorkerCoreTest, AReportThatDoesNotWaitForItsAnswerIsACrash) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kReport);
  Effects();
  Line(1, kReport);
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("kill 1", HasSubstr("before the one before it was answered")));
}

TEST_F(WorkerCoreTest, AProcessThatSpeaksWithoutAnAttemptIsReplaced) {
  Join();
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
  Tell(Start(Ref(0, 1, 1)));
  EXPECT_THAT(Effects(), testing::Contains("spawn 2 tune_trial"));
}

TEST_F(WorkerCoreTest, AFinalReportWaitsForNoAnswer) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2), true));
  Effects();
  Line(1, kFinal);
  Line(1, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "ended 0 completed",
                                     "log 1 /a/1/attempt_1.log", "start 1 trial 1"));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kStop);  // Trial 1 must not take it for its own.
  EXPECT_THAT(Effects(), ElementsAre());
}

TEST_F(WorkerCoreTest, TheAnswerToAFinalReportIsNotForTheProcess) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kFinal);
  Effects();
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kStop);
  EXPECT_THAT(Effects(), ElementsAre());
  Line(1, kReport);
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("kill 1", HasSubstr("a report after its final one")));
}

TEST_F(WorkerCoreTest, AProcessThatExitsAfterItsFinalReportHasCompleted) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kFinal);
  Effects();
  Ended(1, {0, "", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 completed"));
}

TEST_F(WorkerCoreTest, AProcessThatStaysAfterItsFinalReportIsEnded) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kFinal);
  Effects();
  Pass(Milliseconds(limits::kStopGraceMs));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat", "term 1"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("ended 0 completed")));
}

TEST_F(WorkerCoreTest, StoppedIsBelievedOfAnAttemptThatWasToldTo) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Line(1, kStopped);
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("kill 1", HasSubstr("without being told to")));
}

TEST_F(WorkerCoreTest, AProcessThatExitsAfterItWasToldToStopHasStopped) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kReport);
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kRefused);
  Effects();
  Ended(1, {0, "", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 stopped"));
}

TEST_F(WorkerCoreTest, AProcessThatDoesNotStopWhenToldIsMadeTo) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kReport);
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kStop);
  Effects();
  Pass(Milliseconds(limits::kStopGraceMs));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat", "term 1"));
  Pass(Milliseconds(limits::kKillGraceMs));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat", "kill 1"));
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("ended 0 stopped")));
}

TEST_F(WorkerCoreTest, AProcessThatClosesItsConnectionAndStaysIsKilled) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  core_->OnProcessClosed(ProcessId{1}, now_);
  EXPECT_THAT(Effects(), ElementsAre());
  Pass(Milliseconds(limits::kKillGraceMs));
  EXPECT_THAT(Effects(), testing::Contains("kill 1"));
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(),
              ElementsAre(HasSubstr("crashed: the trial process closed its connection")));
}

TEST_F(WorkerCoreTest, AProcessThatExitsAfterItsEndTakesNoOther) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2), true));
  Effects();
  core_->OnProcessLeaving(ProcessId{1});
  Line(1, kCompleted);
  Ended(1, {0, "", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 completed", "spawn 2 tune_trial",
                                     "log 2 /a/1/attempt_1.log", "start 2 trial 1"));
}

TEST_F(WorkerCoreTest, AProcessKeepsToTheDevicesOfItsFirstAttempt) {
  Join();
  StartAttempt first = Start(Ref(0, 1, 1));
  first.slices = {{0, 500}};
  Tell(first);
  Line(1, kCompleted);
  Effects();
  StartAttempt other = Start(Ref(1, 1, 2));
  other.slices = {{1, 500}};
  Tell(other);
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "spawn 2 tune_trial", "log 2 /a/1/attempt_1.log",
                                     "start 2 trial 1"));
}

TEST_F(WorkerCoreTest, HeartbeatsComeAtTheirTime) {
  Join();
  EXPECT_EQ(core_->NextDeadline(), Instant{2'000'000});
  Pass(Milliseconds(999));
  EXPECT_THAT(Effects(), ElementsAre());
  Pass(Milliseconds(1));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat"));
  EXPECT_EQ(core_->NextDeadline(), Instant{3'000'000});
}

TEST_F(WorkerCoreTest, SigtermGivesEverythingBackThenSaysGoodbye) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2), true));
  Effects();
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), ElementsAre("ended 1 preempted", "term 1"));
  Tell(Start(Ref(2, 1, 3)));
  EXPECT_THAT(Effects(), ElementsAre("ended 2 preempted: the worker is ending"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted", "goodbye", "exit 0"));
}

TEST_F(WorkerCoreTest, ShutdownEndsAllProcessesThenTheWorker) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kCompleted);
  Effects();
  Tell(Shutdown{});
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("exit 0"));
  core_->OnTunerGone(OkStatus(), now_);
  EXPECT_THAT(Effects(), ElementsAre());
}

TEST_F(WorkerCoreTest, AWorkerThatIsDrainedGivesItsTrialsBackAndSaysGoodbye) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Tell(Shutdown{"tune drain"});
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted", "goodbye", "exit 0"));
}

// ---- a machine that goes

class WorkerOfSpotMachine : public WorkerCoreTest {
 protected:
  void Join(const std::string& trainable, std::optional<Instant> leave_at = {}) {
    WorkerCore::Options options{Greeting(), false, ""};
    options.grace = Seconds(25);
    options.leave_at = leave_at;
    core_.emplace(std::move(options));
    core_->Begin();
    Tell(WelcomeTo({SweepOf(trainable)}));
    Tell(Start(Ref(0, 1, 1)));
    Effects();
    Notes();
  }
  static constexpr char kCurve[] = R"({"curve":{"value":"x"}})";
  static constexpr char kCommand[] = R"({"command":["x"]})";
};

TEST_F(WorkerOfSpotMachine, ANoticeEndsItAsADrainDoes) {
  Join(kCurve);
  core_->OnNotice("EC2 takes this spot machine back", now_);
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  EXPECT_THAT(Notes(), ElementsAre("draining (EC2 takes this spot machine back): 1 running trial "
                                   "goes back to the tuner"));
  Tell(Start(Ref(2, 1, 3)));
  EXPECT_THAT(Effects(), ElementsAre("ended 2 preempted: the worker is ending"));
  core_->OnNotice("EC2 takes this spot machine back", now_);
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), ElementsAre()) << "it goes already";
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted", "goodbye", "exit 0"));
}

TEST_F(WorkerOfSpotMachine, WhatRunsHasTheGraceToSave) {
  Join(kCurve);
  core_->OnNotice("it goes", now_);
  Effects();
  Pass(Milliseconds(24'999));
  EXPECT_THAT(Effects(), HeartbeatsAlone());
  Pass(Milliseconds(1));
  EXPECT_THAT(Effects(), Contains("kill 1"));
}

TEST_F(WorkerOfSpotMachine, AProgramIsAskedByItsRunnerToLeaveWithinTheGrace) {
  for (const bool is_drained : {false, true}) {
    Join(kCommand);
    if (is_drained) {
      Tell(Shutdown{"tune drain"});
    } else {
      core_->OnNotice("it goes", now_);
    }
    EXPECT_THAT(Effects(), ElementsAre("leave 1 within 25000"));
    Line(1, kReport);
    EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1")) << "it is heard";
    Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
    EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
    Ended(1, {1, "", ""});
    EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted", "goodbye", "exit 0"));
  }
}

TEST_F(WorkerOfSpotMachine, AnInterruptedSweepIsNotGivenThatTime) {
  Join(kCommand);
  Tell(Shutdown{"", true});
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
}

TEST_F(WorkerOfSpotMachine, OutOfReachOfItsTunerItWaitsForNothing) {
  Join(kCommand);
  LoseTuner();
  core_->OnNotice("it goes", now_);
  EXPECT_THAT(Effects(), ElementsAre("leave 1 within 5000"));
}

TEST_F(WorkerOfSpotMachine, ItLeavesByItselfAfterTheTimeItWasGiven) {
  Join(kCurve, now_ + Seconds(0.5));
  EXPECT_EQ(core_->NextDeadline(), now_ + Seconds(0.5));
  Pass(Milliseconds(499));
  EXPECT_THAT(Notes(), ElementsAre());
  Pass(Milliseconds(1));
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  EXPECT_THAT(Notes(), ElementsAre("draining (its time is over): 1 running trial "
                                   "goes back to the tuner"));
}

// ---- data that are fetched before the first trial

class WorkerWithInputs : public WorkerCoreTest {
 protected:
  void SetUp() override {
    finds_places_ = false;
    core_.emplace(WorkerCore::Options{Greeting(), true, ""});
    core_->Begin();
    Tell(WelcomeTo(
        {SweepOf(R"({"command":["x"],"inputs":[{"from":"s3://bucket/set","to":"data"}]})")}));
    core_->TakeEffects();
    Tell(Start(Ref(0, 1, 1)));
    for (const Effect& effect : core_->TakeEffects()) {
      if (const auto* const find = std::get_if<FindPlace>(&effect)) wanted_ = find->wanted;
    }
  }
  // What the next heartbeat says.
  std::string Waits() {
    Pass(Seconds(1));
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const send = std::get_if<SendToTuner>(&effect);
      const auto* const beat = send == nullptr ? nullptr : std::get_if<Heartbeat>(&send->message);
      if (beat != nullptr) return beat->waits_for;
    }
    return "no heartbeat";
  }
  std::optional<WantedPlace> wanted_;
};

TEST_F(WorkerWithInputs, TheTunersOwnWorkerLooksForThemTooAndItsTrialsWait) {
  ASSERT_TRUE(wanted_.has_value());
  EXPECT_EQ(wanted_->inputs, (std::vector<CommandInput>{{{"bucket", "set"}, "data"}}));
  EXPECT_TRUE(wanted_->is_here);
  FoundPlace found{{}, "/a"};
  found.place.inputs = "/a/inputs";
  core_->OnPlace({}, *wanted_, found, now_);
  EXPECT_THAT(Effects(), Contains("start 1 trial 0"));
}

TEST_F(WorkerWithInputs, WhatTheyWaitForIsToldUntilTheyAreThere) {
  EXPECT_EQ(Waits(), "");
  core_->OnPlaceWaits({}, "cannot list s3://bucket/set");
  EXPECT_EQ(Waits(), "trials wait for their data: cannot list s3://bucket/set");
  core_->OnPlaceWaits({}, "s3://bucket/set: 5 of 10 files");
  EXPECT_EQ(Waits(), "trials wait for their data: s3://bucket/set: 5 of 10 files");
  core_->OnPlace({}, *wanted_, FoundPlace{{}, "/a"}, now_);
  EXPECT_EQ(Waits(), "");
}

TEST_F(WorkerCoreTest, AWorkerTellsWhatItDoes) {
  core_.emplace(WorkerCore::Options{Greeting(), false, ""});
  core_->Begin();
  Tell(SampleWelcome());
  ASSERT_EQ(Notes().size(), 1u);
  Tell(Start(Ref(3, 1, 1)));
  EXPECT_THAT(Notes(), ElementsAre("trial 3 begins"));
  Line(1, kCompleted);
  EXPECT_THAT(Notes(), ElementsAre("trial 3 ended: completed"));
  StartAttempt again = Start(Ref(4, 2, 2));
  again.from_iteration = 5;
  Tell(again);
  EXPECT_THAT(Notes(), ElementsAre("trial 4 begins, attempt 2, from iteration 5"));
  core_->OnTerminate(now_);
  EXPECT_THAT(Notes(),
              ElementsAre("draining (told to end): 1 running trial goes back to the tuner"));

  core_.emplace(WorkerCore::Options{Greeting(), false, ""});
  core_->Begin();
  Tell(SampleWelcome());
  Notes();
  Tell(Shutdown{"", true});
  EXPECT_THAT(Notes(), ElementsAre("the sweep was interrupted: tune resume, where its tuner ran, "
                                   "goes on and says how to join again"));
}

TEST_F(WorkerCoreTest, AWorkerThatEndsOutOfReachSaysWhatBecomesOfItsTrials) {
  core_.emplace(WorkerCore::Options{Greeting(), false, ""});
  core_->Begin();
  Tell(SampleWelcome());
  Tell(Start(Ref(3, 1, 1)));
  core_->OnTunerGone(Unavailable("no route"), now_);
  Notes();
  core_->OnTerminate(now_);
  EXPECT_THAT(Notes(),
              ElementsAre("draining (told to end): the tuner cannot be reached: 1 running trial "
                          "ended here; it begins that again, from the last checkpoint, when this "
                          "worker's lease is over"));
}

TEST_F(WorkerCoreTest, ALocalWorkerLeavesTellingToItsTuner) {
  Join(true);
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kCompleted);
  EXPECT_THAT(Notes(), ElementsAre());
}

TEST_F(WorkerCoreTest, ALocalWorkerEndsAtOnceWithItsTuner) {
  Join(true);
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  core_->OnTunerGone(Unavailable("the connection to the tuner broke"), now_);
  // By another status than one that cannot run the trials.
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "exit 3"));
}

TEST_F(WorkerCoreTest, AWorkerThatWasNeverWelcomedSaysWhyItEnds) {
  core_.emplace(WorkerCore::Options{Greeting(), false, ""});
  core_->Begin();
  Effects();
  core_->OnTunerGone(Unavailable("nobody listens there"), now_);
  EXPECT_THAT(Effects(), ElementsAre("print nobody listens there", "exit 1"));
}

// ---- a connected worker loses its tuner and finds it again

TEST_F(WorkerCoreTest, AConnectedWorkerThatLosesItsTunerKeepsItsTrialsAndConnectsAgain) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("connect", "hello holding 0 on 1000"));
  EXPECT_EQ(core_->running_count(), 1);
  Tell(SampleWelcome());
  EXPECT_THAT(Effects(), ElementsAre());
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
}

TEST_F(WorkerCoreTest, AReportThatWasNotAnsweredIsSentAgainWithItsSequence) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Line(1, kReport);
  Effects();
  LoseTuner();
  Pass(Seconds(1));
  Effects();
  Tell(SampleWelcome());
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1"));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 continue"));
  LoseTuner();
  Pass(Seconds(1));
  Effects();
  Tell(SampleWelcome());
  EXPECT_THAT(Effects(), ElementsAre());
}

TEST_F(WorkerCoreTest, EndsAreSentAgainUntilTheyAreAcknowledged) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2)));
  Line(1, kFinal);
  Line(1, kCompleted);
  Line(2, kFinal);
  Line(2, kCompleted);
  Effects();
  Tell(EndsAcknowledged{1});
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("connect", "hello holding 1 on 0"));
  Tell(SampleWelcome());
  EXPECT_THAT(Effects(), ElementsAre("report 1 sequence 1", "ended 1 completed"));
  Tell(EndsAcknowledged{1});  // Of this connection.
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("connect", "hello"));
}

TEST_F(WorkerCoreTest, WhatEndsWhileThereIsNoTunerIsSaidWhenThereIsOne) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  LoseTuner();
  Line(1, kFinal);
  Line(1, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre());
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("connect", "hello holding 0 on 0"));
  Tell(SampleWelcome());
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "ended 0 completed"));
}

TEST_F(WorkerCoreTest, WithoutATunerForAWholeLeaseItEndsWithItsTrials) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  LoseTuner();
  const Instant begin = now_;
  for (int i = 0; i < 100 && core_->NextDeadline(); ++i) {
    Pass(*core_->NextDeadline() - now_);
    core_->OnTunerGone(Unavailable("nobody listens there"), now_);
  }
  const std::vector<std::string> effects = Effects();
  ASSERT_GE(effects.size(), 3u);
  EXPECT_THAT(effects[effects.size() - 3],
              HasSubstr("nothing was heard of the tuner for 1 min 00 s; its trials are ended, and "
                        "so is this worker"));
  EXPECT_EQ(effects[effects.size() - 2], "kill 1");
  EXPECT_EQ(effects.back(), "exit 1");
  EXPECT_EQ(now_.us, begin.us + Seconds(60).us);
}

TEST_F(WorkerCoreTest, ATunerThatIsSilentIsGivenUpThoughTheConnectionStands) {
  Join(false);
  Effects();
  for (int i = 0; i < 30; ++i) {
    Tell(Heartbeat{});
    Pass(Seconds(1));
  }
  EXPECT_THAT(Effects(), HeartbeatsAlone());
  Pass(Seconds(14));
  EXPECT_THAT(Effects(), Contains(HasSubstr("the tuner is silent; trying again")));
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), ElementsAre("connect", "hello"));
}

TEST_F(WorkerCoreTest, AnotherSweepAtTheSameAddressGetsNothingOfTheOldOne) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2)));
  Line(2, kFinal);
  Line(2, kCompleted);
  Effects();
  LoseTuner();
  Pass(Seconds(1));
  Effects();
  Welcome other = SampleWelcome();
  other.sweeps[0].experiment = "another";
  Tell(other);
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "kill 2", "leave 0", "spawn 3 tune_trial"));
  // The same numbers are another attempt now.
  Tell(KillAttempt{Ref(0, 1, 1)});
  Tell(Start(Ref(0, 1, 1)));
  EXPECT_THAT(Effects(), Contains("start 3 trial 0"));
  Ended(1, {0, "SIGKILL", ""});
  Ended(2, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre());
}

// ---- several sweeps of one tuner

class SweepsTest : public WorkerCoreTest {
 protected:
  static constexpr ExperimentId kCurves{1}, kOthers{2};

  void SetUp() override {
    core_.emplace(WorkerCore::Options{Greeting(), /*is_local=*/false, "tune_trial"});
    core_->Begin();
    Tell(WelcomeTo({Curves()}));
    Effects();
  }
  static SweepInfo Curves() { return Numbered(kCurves, "curves"); }
  static SweepInfo Others() { return Numbered(kOthers, "others"); }
  static SweepInfo Numbered(ExperimentId id, const std::string& name) {
    SweepInfo sweep = SweepOf(R"({"curve":{"value":"x"}})");
    sweep.sweep = id;
    sweep.experiment = name;
    return sweep;
  }
  static AttemptRef Of(ExperimentId sweep, int64_t trial, int64_t epoch) {
    AttemptRef ref = Ref(trial, 1, epoch);
    ref.sweep = sweep;
    return ref;
  }
};

TEST_F(SweepsTest, EachHasItsOwnProcessesAndPlaces) {
  Tell(Start(Of(kCurves, 0, 1)));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/0/attempt_1.log", "start 1 trial 0"));
  Line(1, kFinal);
  Line(1, kCompleted);
  Effects();
  Tell(Others());
  StartAttempt start = Start(Of(kOthers, 0, 2));
  start.artifact_dir = "/b/0";
  Tell(start);
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "spawn 2 tune_trial", "log 2 /b/0/attempt_1.log",
                                     "start 2 trial 0"))
      << "a process that ran the one sweep's trials takes none of the other's";
  Ended(1, {0, "SIGKILL", ""});
  Tell(Start(Of(kCurves, 1, 3)));
  EXPECT_THAT(Effects(), Contains("start 3 trial 1"));
}

TEST_F(SweepsTest, AnAttemptOfASweepThatIsNotKnownIsNotBegun) {
  Tell(Start(Of(kOthers, 0, 1)));
  EXPECT_THAT(Effects(),
              ElementsAre("ended 0 bad_config: the tuner has not said what its sweep is"));
}

TEST_F(SweepsTest, WhatATunerThatCameBackDoesNotNameIsOverAndTheOthersGoOn) {
  Tell(Others());
  Tell(Start(Of(kCurves, 0, 1)));
  Tell(Start(Of(kOthers, 0, 2)));
  Tell(Start(Of(kOthers, 1, 3)));
  Line(2, kReport);
  Line(3, kFinal);
  Line(3, kCompleted);
  Effects();
  EXPECT_EQ(core_->running_count(), 2);
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("hello holding 0 on 1000 holding 0 on 1000 holding 1 on 0"));
  Tell(WelcomeTo({Curves()}));
  EXPECT_THAT(Effects(), ElementsAre("kill 2", "kill 3", "leave 2"))
      << "neither its report nor its end is said again";
  EXPECT_EQ(core_->running_count(), 1);
  Line(1, kReport);
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("report 0")));
  Ended(2, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), testing::IsEmpty());
}

TEST_F(SweepsTest, AttemptsOfASweepThatCameBackWithAnotherTrainableAreLostAndBeginUnderIt) {
  Tell(Start(Of(kCurves, 0, 1)));
  Tell(Start(Of(kCurves, 1, 2)));
  Line(2, kFinal);
  Line(2, kCompleted);
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("hello holding 0 on 1000 holding 1 on 0"));
  SweepInfo changed = Curves();
  changed.trainable = R"({"curve":{"value":"y"}})";
  Tell(WelcomeTo({changed}));
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "kill 2", "leave 1", "spawn 3 tune_trial",
                                     "report 1 sequence 1", "ended 1 completed",
                                     "ended 0 lost: the sweep's settings were changed"));
  EXPECT_EQ(core_->running_count(), 0);
  Ended(1, {0, "SIGKILL", ""});
  Ended(2, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), testing::IsEmpty());
  Tell(Start(Of(kCurves, 0, 3)));
  EXPECT_THAT(Effects(), ElementsAre("log 3 /a/0/attempt_1.log", "start 3 trial 0"));
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("hello holding 0 on 1000 holding 1 on 0 holding 0 on 0"))
      << "the ends are said until the tuner has them";
}

TEST_F(SweepsTest, APlaceThatWasSoughtForOneIsNotTakenForTheOther) {
  finds_places_ = false;
  Tell(Others());
  Tell(Start(Of(kCurves, 0, 1)));
  StartAttempt start = Start(Of(kOthers, 0, 2));
  start.artifact_dir = "/b/0";
  Tell(start);
  Effects();
  const WantedPlace curves{{}, "", "/a"}, others{{}, "", "/b"};
  EXPECT_FALSE(core_->OnPlace(kOthers, curves, FoundPlace{{}, "/c/a"}, now_));
  EXPECT_THAT(Effects(), testing::IsEmpty());
  EXPECT_TRUE(core_->OnPlace(kOthers, others, FoundPlace{{}, "/c/b"}, now_));
  EXPECT_THAT(Effects(), ElementsAre("log 2 /c/b/0/attempt_1.log", "start 2 trial 0"));
  EXPECT_TRUE(core_->OnPlace(kCurves, curves, FoundPlace{{}, "/c/a"}, now_));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /c/a/0/attempt_1.log", "start 1 trial 0"));
}

TEST_F(WorkerCoreTest, ATerminatedWorkerWithoutATunerEndsItsTrialsAndGoes) {
  Join(false);
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  LoseTuner();
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(), ElementsAre("exit 0"));
}

TEST_F(WorkerCoreTest, ARefusedWorkerPrintsTheReason) {
  core_.emplace(WorkerCore::Options{Greeting(), false, ""});
  core_->Begin();
  Effects();
  Tell(Refused{"too old"});
  EXPECT_THAT(Effects(), ElementsAre("print the tuner refused this worker: too old", "exit 2"));
}

TEST_F(WorkerCoreTest, ATrainableThatItCannotRunIsTheAttemptsBadConfiguration) {
  core_.emplace(WorkerCore::Options{Greeting(), false, ""});
  core_->Begin();
  Effects();
  Tell(WelcomeTo({SweepOf(R"({"nothing":1})")}));
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2), true));
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("ended 0 bad_config: trainable: read"),
                                     testing::StartsWith("ended 1 bad_config")));
}

TEST_F(WorkerCoreTest, LongErrorsAreCutAndMadeOneLineOfText) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Line(1, R"({"end":{"outcome":"bad_config","error":"two\nlines)" +
              std::string(2 * limits::kErrorBytesMax, 'x') + R"("}})");
  const auto effects = core_->TakeEffects();
  ASSERT_EQ(effects.size(), 1u);
  const auto& ended = std::get<AttemptEnded>(std::get<SendToTuner>(effects[0]).message);
  EXPECT_EQ(ended.error.size(), limits::kErrorBytesMax);
  EXPECT_THAT(ended.error, testing::StartsWith("two lines"));
}

// ---- folders that a worker of another machine does not have

class ElsewhereTest : public WorkerCoreTest {
 protected:
  void JoinCommand(bool is_local = false) {
    core_.emplace(WorkerCore::Options{Greeting(), is_local, "tune_trial_command", "/cache"});
    core_->Begin();
    Tell(CommandWelcome("aa"));
    core_->TakeEffects();
  }
  static Welcome CommandWelcome(const std::string& hash) {
    SweepInfo sweep = SweepOf(R"({"command":["./train.sh"],"working_dir":"code/"})");
    sweep.base_dir = "/home/me";
    sweep.package = {hash, 100};
    return WelcomeTo({sweep});
  }
  static WantedPlace Wanted(const std::string& hash) {
    return {{hash, 100}, "/home/me/code", "/a"};
  }
  void Found(const std::string& hash, const std::string& folder) {
    core_->OnPlace({}, Wanted(hash), FoundPlace{{folder, hash, "/cache"}, "/cache/artifacts"},
                   now_);
  }
  // What the last start told the trial process.
  TrialStart LastStart() {
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const write = std::get_if<WriteToProcess>(&effect);
      if (write == nullptr) continue;
      const auto message = ParseToTrial(write->line.substr(0, write->line.size() - 1));
      EXPECT_TRUE(message.ok()) << message.status().message();
      return std::get<TrialStart>(*message);
    }
    ADD_FAILURE() << "nothing was started";
    return {};
  }
};

TEST_F(ElsewhereTest, AnAttemptIsHeldBackUntilItsFolderIsFound) {
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2)));
  EXPECT_THAT(Effects(),
              ElementsAre("find aa for /home/me/code and /a", "spawn 2 tune_trial_command"));
  Found("aa", "/cache/packages/aa");
  EXPECT_THAT(Effects(), ElementsAre("log 1 /cache/artifacts/0/attempt_1.log", "start 1 trial 0",
                                     "log 2 /cache/artifacts/1/attempt_1.log", "start 2 trial 1"));
  // Later ones begin at once, in the same place, when what they go on from is there.
  Line(1, kCompleted);
  Effects();
  StartAttempt start = Start(Ref(2, 1, 3));
  start.checkpoint_path = "/a/0/checkpoint_000001";
  Tell(start);
  EXPECT_THAT(Effects(), ElementsAre("obtain /a/0/checkpoint_000001"));
  core_->OnCheckpointObtained(start.ref, CheckpointCopy{"/cache/artifacts/0/checkpoint_000001", ""},
                              now_);
  const TrialStart told = LastStart();
  EXPECT_EQ(told.place, (WorkPlace{"/cache/packages/aa", "aa", "/cache"}));
  EXPECT_EQ(told.artifact_dir, "/cache/artifacts/2");
  EXPECT_EQ(told.checkpoint_path, "/cache/artifacts/0/checkpoint_000001");
}

TEST_F(ElsewhereTest, ALocalWorkerUsesTheTunersFolder) {
  JoinCommand(true);
  Tell(Start(Ref(0, 1, 1)));
  const TrialStart told = LastStart();
  EXPECT_EQ(told.place, (WorkPlace{"", "aa", "/cache"}));
  EXPECT_EQ(told.artifact_dir, "/a/0");
}

TEST_F(ElsewhereTest, WhatIsHeldBackIsHeldAlsoWhileTheConnectionIsAway) {
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  LoseTuner();
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("hello holding 0 on 1000"));
  Tell(CommandWelcome("aa"));
  Found("aa", "/cache/packages/aa");
  EXPECT_THAT(Effects(), ElementsAre("log 1 /cache/artifacts/0/attempt_1.log", "start 1 trial 0"));
}

TEST_F(ElsewhereTest, ATunerThatComesBackWithAnotherContentIsAskedForThat) {
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  LoseTuner();
  Pass(Seconds(1));
  Effects();
  Tell(CommandWelcome("bb"));
  EXPECT_THAT(Effects(), Contains("find bb for /home/me/code and /a"));
  Found("aa", "/cache/packages/aa");
  EXPECT_THAT(Effects(), testing::IsEmpty());
  Found("bb", "/cache/packages/bb");
  EXPECT_EQ(LastStart().place.folder, "/cache/packages/bb");
}

// The tuner was killed and goes on, and its working_dir has changed meanwhile.
TEST_F(ElsewhereTest, WhatRanBeforeTheContentChangedStillSendsItsFilesAndItsLog) {
  sends_logs_ = false;
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  FoundPlace own{{"/cache/packages/aa", "aa", "/cache"}, "/cache/artifacts"};
  own.storage = CheckpointStorage::kTuner;
  core_->OnPlace({}, Wanted("aa"), own, now_);
  LoseTuner();
  Pass(Seconds(1));
  Tell(CommandWelcome("bb"));
  Effects();
  Line(1, kFinal);
  Line(1, kCompleted);
  EXPECT_THAT(Effects(),
              ElementsAre("report 0 sequence 1",
                          "send all of /cache/artifacts/0/attempt_1.log and /cache/artifacts/0"));
  core_->OnLogSent(Ref(0, 1, 1), OkStatus());
  EXPECT_THAT(Effects(), ElementsAre("clear /cache/artifacts/0", "ended 0 completed"));
  // The next one waits for the new content.
  Tell(Start(Ref(1, 1, 2)));
  EXPECT_THAT(Effects(), ElementsAre("find bb for /home/me/code and /a"));
  own.place = {"/cache/packages/bb", "bb", "/cache"};
  core_->OnPlace({}, Wanted("bb"), own, now_);
  EXPECT_EQ(LastStart().place.folder, "/cache/packages/bb");
}

TEST_F(ElsewhereTest, AFullDiskHereIsTheWorkersAlsoAfterTheContentChanged) {
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  FoundPlace own{{"/cache/packages/aa", "aa", "/cache"}, "/cache/artifacts"};
  own.storage = CheckpointStorage::kTuner;
  core_->OnPlace({}, Wanted("aa"), own, now_);
  LoseTuner();
  Pass(Seconds(1));
  Tell(CommandWelcome("bb"));
  Effects();
  Line(1, R"({"end":{"outcome":"crashed","error":"cannot write","detail":"disk_full"}})");
  EXPECT_THAT(Effects(), Contains("print this worker's disk takes no writes: cannot write"));
}

TEST_F(ElsewhereTest, AnAttemptThatIsHeldBackCanBeKilled) {
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Tell(KillAttempt{Ref(0, 1, 1), true});
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
  Found("aa", "/cache/packages/aa");
  EXPECT_THAT(Effects(), testing::IsEmpty());
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted"));
}

TEST_F(ElsewhereTest, AWorkerThatCannotHaveTheFolderGivesItsTrialsBackAndEnds) {
  JoinCommand();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  core_->OnPlace({}, Wanted("aa"), ResourceExhausted("cannot write /c: No space left on device"),
                 now_);
  const std::string why =
      "this worker cannot have the working_dir /home/me/code: cannot write /c: No space left on "
      "device";
  EXPECT_THAT(Effects(), ElementsAre("print " + why, "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted: " + why, "goodbye", "exit 1"));
}

TEST_F(WorkerCoreTest, IdleProcessesMakeRoomForStartsThatWait) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Tell(Start(Ref(1, 1, 2)));
  Effects();
  Line(1, kFinal);
  Line(1, kCompleted);
  Effects();
  core_->GiveUpIdle();
  EXPECT_THAT(Effects(), ElementsAre("kill 1"));
  core_->GiveUpIdle();
  EXPECT_THAT(Effects(), testing::IsEmpty()) << "process 2 runs a trial";
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), testing::IsEmpty());
}

TEST_F(WorkerCoreTest, OnTheTunersOwnMachineAMissingProgramIsTheSweepsFault) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  Effects();
  Line(1, R"({"end":{"outcome":"bad_config","error":"cannot start 'julia'",)"
          R"("detail":"unfit_machine"}})");
  EXPECT_THAT(Effects(), ElementsAre("ended 0 bad_config: cannot start 'julia'"));
}

TEST_F(WorkerCoreTest, AWorkerWithoutAVariableOfTheSweepLeavesAndSaysWhichOne) {
  WorkerCore::Options options{Greeting(), /*is_local=*/false, ""};
  options.has_variable = [](const std::string& name) { return name == "HOME"; };
  core_.emplace(std::move(options));
  core_->Begin();
  Effects();
  Tell(WelcomeTo({SweepOf(
      R"({"command":["a"],"env":{"HOME":{"from_environment":true},"HF_TOKEN":{"from_environment":true}}})")}));
  EXPECT_THAT(Effects(), Contains(testing::StartsWith(
                             "print trainable: env: HF_TOKEN is not set in this environment")));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre("goodbye", "exit 1"));
}

// A job after the other: starting one costs no process of ours.
TEST_F(WorkerCoreTest, AProcessThatStartsProgramsGoesOnWithTheNextSweep) {
  SweepInfo first = SweepOf(R"({"command":["a"]})");
  first.sweep = ExperimentId{1};
  SweepInfo second = SweepOf(R"({"command":["b"]})");
  second.sweep = ExperimentId{2};
  SweepInfo serves = SweepOf(R"({"command":["c"],"serve":true})");
  serves.sweep = ExperimentId{3};
  const auto start = [](int64_t sweep, int64_t epoch) {
    StartAttempt message = Start(Ref(0, 1, epoch));
    message.ref.sweep = ExperimentId{sweep};
    return message;
  };
  core_.emplace(WorkerCore::Options{Greeting(), true, ""});
  core_->Begin();
  Tell(WelcomeTo({first}));
  Effects();
  Tell(start(1, 1));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/0/attempt_1.log", "start 1 trial 0"));
  Line(1, kCompleted);
  Effects();
  Tell(second);
  Tell(start(2, 2));  // The first one is open still.
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/0/attempt_1.log", "start 1 trial 0"));
  Line(1, kCompleted);
  Effects();
  Tell(SweepOver{ExperimentId{2}});
  EXPECT_THAT(Effects(), ElementsAre("leave 2"));
  Tell(first);
  Tell(start(1, 3));
  EXPECT_THAT(Effects(), ElementsAre("log 1 /a/0/attempt_1.log", "start 1 trial 0"));
  Line(1, kCompleted);
  Effects();
  // A program that serves keeps what it has of its trials.
  Tell(serves);
  Tell(start(3, 4));
  EXPECT_THAT(Effects(), ElementsAre("kill 1", "spawn 2 tune_trial_command",
                                     "log 2 /a/0/attempt_1.log", "start 2 trial 0"));
}

// Of a head: other sweeps go on here.
TEST_F(WorkerCoreTest, OfManySweepsAWorkerLeavesOutTheOneThatItCannotRun) {
  WorkerCore::Options options{Greeting(), /*is_local=*/false, ""};
  options.has_variable = [](const std::string&) { return false; };
  core_.emplace(std::move(options));
  core_->Begin();
  Effects();
  SweepInfo fit = SweepOf(R"({"curve":{"value":"x"}})");
  fit.sweep = ExperimentId{1};
  SweepInfo unfit = SweepOf(R"({"command":["a"],"env":{"TOKEN":{"from_environment":true}}})");
  unfit.sweep = ExperimentId{2};
  Welcome welcome = WelcomeTo({fit});
  welcome.is_head = true;
  Tell(welcome);
  StartAttempt runs = Start(Ref(0, 1, 1));
  runs.ref.sweep = ExperimentId{1};
  Tell(runs);
  Effects();
  Tell(unfit);
  StartAttempt cannot = Start(Ref(5, 1, 2));
  cannot.ref.sweep = ExperimentId{2};
  Tell(cannot);
  EXPECT_THAT(Effects(), ElementsAre(testing::HasSubstr("TOKEN is not set in this environment"),
                                     "unfit for 2", testing::StartsWith("ended 5 preempted: ")));
  Line(1, kCompleted);
  EXPECT_THAT(Effects(), ElementsAre("ended 0 completed"));
  // Who forgets it is told again.
  LoseTuner();
  Pass(Seconds(1));
  Effects();
  Tell(welcome);
  Tell(unfit);
  EXPECT_THAT(Effects(), Contains("unfit for 2"));
}

// What waits there would begin in the room of what is ended, and find the folder gone as well.
TEST_F(WorkerCoreTest, OfASweepThatAHeadsWorkerCannotRunNothingBeginsFromItsQueue) {
  core_.emplace(WorkerCore::Options{Greeting(), /*is_local=*/true, ""});
  core_->Begin();
  SweepInfo info = SweepOf(R"({"command":["./train.sh"]})");
  info.sweep = ExperimentId{1};
  Welcome welcome = WelcomeTo({info});
  welcome.is_head = true;
  Tell(welcome);
  const auto start = [](int64_t trial, bool ahead) {
    StartAttempt message = Start(Ref(trial, 1, trial + 1), ahead);
    message.ref.sweep = ExperimentId{1};
    return message;
  };
  Tell(start(0, false));
  Tell(start(1, true));
  Tell(start(2, true));
  Effects();
  Line(1, R"({"end":{"outcome":"bad_config","error":"there is no folder /data",)"
          R"("detail":"absent_path"}})");
  EXPECT_THAT(
      Effects(),
      ElementsAre(testing::HasSubstr("there is no folder /data"), "unfit for 1",
                  testing::StartsWith("ended 1 preempted: this worker has not what"),
                  testing::StartsWith("ended 2 preempted: this worker has not what"), "kill 1"));
  Ended(1, {0, "SIGKILL"});
  EXPECT_THAT(Effects(), ElementsAre(testing::StartsWith("ended 0 preempted: ")));
  EXPECT_EQ(core_->running_count(), 0);
}

// A head that begins before its disks are mounted.
TEST_F(WorkerCoreTest, AHeadsOwnWorkerThatLacksAFolderOfASweepTriesAgainWithGrowingPauses) {
  core_.emplace(WorkerCore::Options{Greeting(), /*is_local=*/true, ""});
  core_->Begin();
  SweepInfo info = SweepOf(R"({"command":["./train.sh"]})");
  info.sweep = ExperimentId{1};
  Welcome welcome = WelcomeTo({info});
  welcome.is_head = true;
  Tell(welcome);
  const auto run = [&](int64_t attempt) {
    StartAttempt start = Start(Ref(0, attempt, attempt));
    start.ref.sweep = ExperimentId{1};
    Tell(start);
    Effects();
    Line(attempt, R"({"end":{"outcome":"bad_config","error":"there is no folder /data",)"
                  R"("detail":"absent_path"}})");
    EXPECT_THAT(Effects(), Contains("unfit for 1"));
    Ended(attempt, {0, "SIGKILL"});
    EXPECT_THAT(Effects(), Contains(testing::StartsWith("ended 0 preempted: ")));
  };
  run(1);
  Pass(Seconds(59));
  EXPECT_THAT(Effects(), testing::Not(Contains("fit for 1")));
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("fit for 1"));
  run(2);
  Pass(Seconds(119));
  EXPECT_THAT(Effects(), testing::Not(Contains("fit for 1"))) << "twice as long";
  Pass(Seconds(1));
  EXPECT_THAT(Effects(), Contains("fit for 1"));
}

// What it started may take a while to end.
TEST_F(WorkerCoreTest, AProcessThatHasEndedIsNotLateUntilItsEndIsTold) {
  Join();
  Tell(Start(Ref(0, 1, 1)));
  core_->OnProcessLeaving(ProcessId{1});
  core_->OnProcessClosed(ProcessId{1}, now_);
  Effects();
  Pass(Milliseconds(limits::kKillGraceMs));
  EXPECT_THAT(Effects(), testing::Not(Contains(testing::StartsWith("kill"))));
  EXPECT_GT(core_->NextDeadline().value_or(now_ + Seconds(1)), now_);
  Ended(1, {0, "SIGSEGV"});
  EXPECT_THAT(Effects(), Contains("ended 0 crashed: the trial process died of SIGSEGV"));
}

}  // namespace
}  // namespace tune
