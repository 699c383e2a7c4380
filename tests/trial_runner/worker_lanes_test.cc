// Several attempts in one trial process: which share one, how one is ended, and what becomes of the
// others.
#include "core/limits.h"
#include "tests/trial_runner/worker_core_fixture.h"

namespace tune {
namespace {

using testing::Contains;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

class WorkerLanesTest : public WorkerCoreTest {
 protected:
  // Trials of food11 of which up to four train as one.
  void JoinForFood11(bool is_local = true, bool has_mps = false) {
    WorkerCore::Options options{Greeting(), is_local, "tune_trial_food11"};
    core_.emplace(std::move(options));
    core_->OnMpsSeen(has_mps);
    core_->Begin();
    Tell(WelcomeTo({SweepOf(R"("food11")")}));
    core_->TakeEffects();
  }
  static StartAttempt Fused(const AttemptRef& ref, const std::string& more = "") {
    StartAttempt start = Start(ref);
    start.config = R"({"data":"synthetic","lanes":4,"lr":0.00)" +
                   std::to_string(ref.trial.value + 1) + more + "}";
    return start;
  }
  // Trials 0 to `count` - 1 in process 1, in lanes 1 to `count`.
  void StartFused(int64_t count) {
    for (int64_t i = 0; i < count; ++i) Tell(Fused(Ref(i, 1, i + 1)));
    core_->TakeEffects();
  }
  static std::string OfLane(int64_t lane, const std::string& line) {
    return R"({"lane":)" + std::to_string(lane) + "," + line.substr(1);
  }
  static constexpr char kCrashed[] = R"({"end":{"outcome":"crashed","error":"disk"}})";
};

TEST_F(WorkerLanesTest, TrialsOfOneShapeShareAProcessAndEachIsSpokenOfByItsLane) {
  JoinForFood11();
  Tell(Fused(Ref(0, 1, 1)));
  Tell(Fused(Ref(1, 1, 2)));
  EXPECT_THAT(Effects(),
              ElementsAre("log 1 /a/0/attempt_1.log", "start 1 lane 1 trial 0",
                          "log 1 /a/0/attempt_1.log /a/1/attempt_1.log", "start 1 lane 2 trial 1"));
  Line(1, OfLane(2, kReport));
  Line(1, OfLane(1, kReport));
  EXPECT_THAT(Effects(), ElementsAre("report 1 sequence 1", "report 0 sequence 1"));
  Answer(Ref(1, 1, 2), 1, ReportAnswer::kStop);
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("answer 1 lane 2 stop", "answer 1 lane 1 continue"));
  Line(1, OfLane(2, kStopped));
  EXPECT_THAT(Effects(), ElementsAre("ended 1 stopped", "log 1 /a/0/attempt_1.log"));
  Tell(Fused(Ref(2, 1, 3)));
  EXPECT_THAT(Effects(), Contains("start 1 lane 3 trial 2"));
}

TEST_F(WorkerLanesTest, OtherShapesOtherDevicesAndOneTooManyHaveProcessesOfTheirOwn) {
  JoinForFood11();
  Tell(Fused(Ref(0, 1, 1)));
  Tell(Fused(Ref(1, 1, 2), R"(,"batch_size":64)"));
  EXPECT_THAT(Effects(), Contains("start 2 lane 1 trial 1"));
  StartAttempt on_device = Fused(Ref(2, 1, 3));
  on_device.slices = {{0, 500}};
  Tell(on_device);
  EXPECT_THAT(Effects(), Contains("start 3 lane 1 trial 2"));
  StartAttempt alone = Start(Ref(3, 1, 4));
  alone.config = R"({"data":"synthetic"})";
  Tell(alone);
  EXPECT_THAT(Effects(), Contains("start 4 trial 3"));
  for (int64_t i = 4; i < 7; ++i) Tell(Fused(Ref(i, 1, i + 1)));
  EXPECT_THAT(Effects(), Contains("start 1 lane 4 trial 6"));
  Tell(Fused(Ref(7, 1, 8)));
  EXPECT_THAT(Effects(), Contains("start 5 lane 1 trial 7"));
}

// Their process's context would be held to the first one's share.
TEST_F(WorkerLanesTest, WhatFusesIsNotHeldToOneShareByMps) {
  JoinForFood11(/*is_local=*/true, /*has_mps=*/true);
  const auto is_held = [this](StartAttempt start) {
    start.slices = {{0, 125}};
    Tell(start);
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const write = std::get_if<WriteToProcess>(&effect);
      if (write == nullptr) continue;
      const auto read = ParseToLane(write->line.substr(0, write->line.size() - 1));
      for (const auto& [name, value] : std::get<TrialStart>(read->message).device_environment) {
        if (name.starts_with("CUDA_MPS")) return true;
      }
    }
    return false;
  };
  StartAttempt alone = Start(Ref(0, 1, 1));
  alone.config = R"({"data":"synthetic"})";
  EXPECT_TRUE(is_held(alone));
  EXPECT_FALSE(is_held(Fused(Ref(1, 1, 2))));
}

TEST_F(WorkerLanesTest, OneIsAskedToLeaveAndTheOthersGoOn) {
  JoinForFood11();
  StartFused(2);
  Tell(KillAttempt{Ref(0, 1, 1)});
  EXPECT_THAT(Effects(), ElementsAre("leave 1 lane 1 soon"));
  // It may save and report the iteration that it is at.
  Line(1, OfLane(1, kReport));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "answer 1 lane 1 continue"));
  Line(1, OfLane(1, kStopped));
  EXPECT_THAT(Effects(), ElementsAre("ended 0 preempted", "log 1 /a/1/attempt_1.log"));
  Pass(Milliseconds(limits::kLeaveGraceMs));
  Line(1, OfLane(2, kReport));
  EXPECT_THAT(Effects(), ElementsAre("heartbeat", "report 1 sequence 1"));
}

TEST_F(WorkerLanesTest, AsManyAsTheTunerSaysShareAProcessOrFewerIfTheConfigurationSaysSo) {
  JoinForFood11();
  const auto at_most = [](const AttemptRef& ref, int64_t lanes_max) {
    StartAttempt start = Fused(ref);
    start.lanes_max = lanes_max;
    return start;
  };
  StartFused(3);
  Tell(at_most(Ref(3, 1, 4), 2));
  EXPECT_THAT(Effects(), Contains("start 2 lane 1 trial 3")) << "the first has three";
  Tell(at_most(Ref(4, 1, 5), 2));
  EXPECT_THAT(Effects(), Contains("start 2 lane 2 trial 4"));
  Tell(Fused(Ref(5, 1, 6)));
  EXPECT_THAT(Effects(), Contains("start 1 lane 4 trial 5")) << "the second has its two";
  Tell(at_most(Ref(6, 1, 7), 9));
  EXPECT_THAT(Effects(), Contains("start 3 lane 1 trial 6")) << "four, as it asks itself";
  Tell(at_most(Ref(7, 1, 8), 1));
  EXPECT_THAT(Effects(), Contains("start 4 trial 7"));
}

TEST_F(WorkerLanesTest, OneThatIsEndedAtOnceIsNotHeardAndMayHaveCompletedJustThen) {
  JoinForFood11();
  StartFused(3);
  Tell(KillAttempt{Ref(0, 1, 1), true});
  Tell(KillAttempt{Ref(1, 1, 2)});
  EXPECT_THAT(Effects(), ElementsAre("leave 1 lane 1 now", "leave 1 lane 2 soon"));
  Line(1, OfLane(1, kFinal));
  Line(1, OfLane(1, kCompleted));
  EXPECT_THAT(Effects(), Contains("ended 0 preempted"));
  Line(1, OfLane(2, kFinal));
  Line(1, OfLane(2, kCompleted));
  EXPECT_THAT(Effects(), Contains("ended 1 completed"));
}

TEST_F(WorkerLanesTest, OneThatDoesNotLeaveCostsTheProcessAndTheOthersAreLostNotFailed) {
  JoinForFood11();
  StartFused(2);
  Tell(KillAttempt{Ref(0, 1, 1)});
  Effects();
  Pass(Milliseconds(limits::kLeaveGraceMs - 1));
  EXPECT_THAT(Effects(), Each(std::string("heartbeat")));
  Pass(Milliseconds(1));
  EXPECT_THAT(Effects(), Contains("kill 1"));
  Ended(1, {0, "SIGKILL", ""});
  const std::vector<std::string> ended = Effects();
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0], "ended 0 preempted");
  EXPECT_THAT(ended[1], HasSubstr("ended 1 lost: it shared its process with 1 other trial"));
  Tell(Fused(Ref(0, 2, 3)));
  Tell(Fused(Ref(1, 2, 4)));
  EXPECT_THAT(Effects(), testing::IsSupersetOf({"start 2 trial 0", "start 3 trial 1"})) << "alone";
}

TEST_F(WorkerLanesTest, OneThatIsToldToStopAndDoesNotIsAskedToLeave) {
  JoinForFood11();
  StartFused(2);
  Line(1, OfLane(1, kReport));
  Answer(Ref(0, 1, 1), 1, ReportAnswer::kStop);
  Effects();
  Pass(Milliseconds(limits::kStopGraceMs));
  EXPECT_THAT(Effects(), Contains("leave 1 lane 1 now"));
  Line(1, OfLane(1, kStopped));
  EXPECT_THAT(Effects(), Contains(HasSubstr("ended 0 stopped")));
}

// The process's death is nobody's fault that is known: all go on, and each by itself.
TEST_F(WorkerLanesTest, WhenTheProcessDiesAllAreLostAndGoOnAlone) {
  JoinForFood11();
  StartFused(2);
  Line(1, OfLane(2, kFinal));
  Effects();
  Ended(1, {0, "SIGSEGV", ""});
  EXPECT_THAT(Effects(),
              ElementsAre("ended 0 lost: it shared its process with 1 other trial and goes on "
                          "alone: the trial process died of SIGSEGV",
                          "ended 1 lost: it shared its process with 1 other trial and goes on "
                          "alone: the trial process died of SIGSEGV"));
  Tell(Fused(Ref(0, 2, 3)));
  Tell(Fused(Ref(1, 2, 4)));
  EXPECT_THAT(Effects(), ElementsAre("spawn 2 tune_trial_food11", "log 2 /a/0/attempt_2.log",
                                     "start 2 trial 0", "spawn 3 tune_trial_food11",
                                     "log 3 /a/1/attempt_2.log", "start 3 trial 1"));
  Ended(2, {0, "SIGSEGV", ""});
  EXPECT_THAT(Effects(), ElementsAre("ended 0 crashed: the trial process died of SIGSEGV"));
  Tell(Fused(Ref(5, 1, 5)));
  Tell(Fused(Ref(6, 1, 6)));
  EXPECT_THAT(Effects(), Contains("start 4 lane 2 trial 6"));
}

TEST_F(WorkerLanesTest, OneThatFailsHurtsItselfAloneAndItsProcessTakesNoOther) {
  JoinForFood11();
  StartFused(2);
  Line(1, OfLane(1, kCrashed));
  EXPECT_THAT(Effects(), ElementsAre("ended 0 crashed: disk", "log 1 /a/1/attempt_1.log"));
  Tell(Fused(Ref(2, 1, 3)));
  EXPECT_THAT(Effects(), Contains("start 2 lane 1 trial 2"));
  Line(1, OfLane(2, kCompleted));
  EXPECT_THAT(Effects(), ElementsAre("ended 1 completed", "kill 1"));
}

// It said that it has no memory, and took the process with it.
TEST_F(WorkerLanesTest, OneThatFailsAndEndsItsProcessIsChargedAlone) {
  JoinForFood11();
  StartFused(2);
  Line(1, OfLane(1, R"({"end":{"outcome":"out_of_memory","error":"no memory"}})"));
  EXPECT_THAT(Effects(), Contains("ended 0 out_of_memory: no memory"));
  Ended(1, {1, "", ""});
  EXPECT_THAT(Effects(),
              ElementsAre(HasSubstr("ended 1 lost: it shared its process with 1 other")));
}

TEST_F(WorkerLanesTest, WhatIsNoMessageOrOfALaneThatThereIsNotEndsTheProcess) {
  for (const std::string& line :
       {std::string("garbage"), OfLane(9, kReport), std::string(kReport)}) {
    JoinForFood11();
    StartFused(2);
    Line(1, line);
    EXPECT_THAT(Effects(), ElementsAre("kill 1"));
    Ended(1, {0, "SIGKILL", ""});
    EXPECT_THAT(Effects(), ElementsAre(HasSubstr("ended 0 lost"), HasSubstr("ended 1 lost")));
  }
  JoinForFood11();
  StartFused(2);
  Line(1, OfLane(1, kReport));
  Line(1, OfLane(1, kReport));
  Ended(1, {0, "SIGKILL", ""});
  EXPECT_THAT(Effects(), ElementsAre("report 0 sequence 1", "kill 1",
                                     HasSubstr("ended 0 crashed: the trial process sent a report"),
                                     HasSubstr("ended 1 lost")));
}

TEST_F(WorkerLanesTest, AWorkerThatEndsGivesAllBackWithOneSigterm) {
  JoinForFood11();
  StartFused(2);
  core_->OnTerminate(now_);
  EXPECT_THAT(Effects(), ElementsAre("term 1"));
  Line(1, OfLane(2, kReport));
  Answer(Ref(1, 1, 2), 1, ReportAnswer::kContinue);
  EXPECT_THAT(Effects(), ElementsAre("report 1 sequence 1", "answer 1 lane 2 continue"));
  Ended(1, {0, "SIGTERM", ""});
  EXPECT_THAT(Effects(),
              ElementsAre("ended 0 preempted", "ended 1 preempted", "goodbye", "exit 0"));
}

TEST_F(WorkerLanesTest, TheQueuesHeadTakesTheLaneThatBecameFree) {
  JoinForFood11();
  StartFused(2);
  StartAttempt ahead = Fused(Ref(2, 1, 3));
  ahead.ahead = true;
  ahead.cpu_milli = 0;
  Tell(ahead);
  Line(1, OfLane(1, kCompleted));
  EXPECT_THAT(Effects(),
              ElementsAre("ended 0 completed", "log 1 /a/1/attempt_1.log /a/2/attempt_1.log",
                          "start 1 lane 3 trial 2", "log 1 /a/1/attempt_1.log /a/2/attempt_1.log"));
}

TEST_F(WorkerLanesTest, AWorkerThatComesBackHoldsAllOfThem) {
  JoinForFood11(/*is_local=*/false);
  StartFused(2);
  LoseTuner();
  Pass(*core_->NextDeadline() - now_);
  EXPECT_THAT(Effects(), ElementsAre("connect", "hello holding 0 on 1000 holding 1 on 1000"));
}

}  // namespace
}  // namespace tune
