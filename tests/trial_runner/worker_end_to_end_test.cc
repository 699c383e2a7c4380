// The real worker and real trial processes behind real gRPC, driven by a tuner that says what the
// test wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <sstream>

#include "tests/trial_runner/message_samples.h"
#include "tests/trial_runner/one_worker_test.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr char kStill[] = R"({"curve":{"value":"x * t","iterations":3}})";

class WorkerEndToEnd : public OneWorkerTest {
 protected:
  // Starts a worker and welcomes it.
  void Join(const std::string& trainable, std::vector<std::string> more = {"--local"}) {
    more.insert(more.begin(), {"--cpus", "2"});
    const Hello hello = StartWorker(std::move(more));
    EXPECT_EQ(hello.pid, worker_->pid());
    EXPECT_EQ(hello.capacity.cpu_milli, 2000);
    SendWelcome("loss", trainable, lease_ms_);
  }

  StartAttempt Start(const AttemptRef& ref) {
    StartAttempt start;
    start.ref = ref;
    start.cpu_milli = 1000;
    start.config = R"({"x":0.5})";
    start.artifact_dir = folder_ + "/" + std::to_string(ref.trial.value);
    return start;
  }

  int64_t lease_ms_ = 60'000;
};

TEST_F(WorkerEndToEnd, RunsACurveToItsEnd) {
  Join(kStill);
  Send(Start(Ref(0, 1, 1)));
  for (int64_t t = 1; t <= 3; ++t) {
    const AttemptReport report = Report();
    EXPECT_EQ(report.ref, Ref(0, 1, 1));
    EXPECT_EQ(report.sequence, t);
    EXPECT_EQ(report.report.iteration, t);
    ASSERT_EQ(report.report.metrics.size(), 1u);
    EXPECT_EQ(report.report.metrics[0].first, "loss");
    EXPECT_EQ(report.report.metrics[0].second, 0.5 * static_cast<double>(t));
    EXPECT_EQ(report.report.final, t == 3);
    EXPECT_TRUE(report.report.has_checkpoint);
    EXPECT_EQ(report.report.checkpoint.path, "");
    Answer(report, t == 3 ? ReportAnswer::kStop : ReportAnswer::kContinue);
  }
  const AttemptEnded end = End();
  EXPECT_EQ(end.ref, Ref(0, 1, 1));
  EXPECT_EQ(end.outcome, Outcome::kCompleted);
  EXPECT_EQ(end.error, "");
  EXPECT_FALSE(fs::exists(folder_ + "/0")) << "a curve leaves nothing on disk";

  Send(Shutdown{});
  const auto status = worker_->Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 0);
  EXPECT_EQ(worker_->ReadErrors(), "");
}

TEST_F(WorkerEndToEnd, GoesOnFromACheckpointAndTellsOfNewOnesAsOftenAsAsked) {
  Join(R"({"curve":{"value":"t","iterations":6}})");
  StartAttempt start = Start(Ref(4, 2, 9));
  start.from_iteration = 2;
  start.checkpoint_every = 2;
  Send(start);
  for (int64_t t = 3; t <= 6; ++t) {
    const AttemptReport report = Report();
    EXPECT_EQ(report.report.iteration, t);
    EXPECT_EQ(report.report.has_checkpoint, t % 2 == 0);
    Answer(report);
  }
  EXPECT_EQ(End().outcome, Outcome::kCompleted);
}

TEST_F(WorkerEndToEnd, StopsWhenTold) {
  Join(kStill);
  Send(Start(Ref(0, 1, 1)));
  Answer(Report(), ReportAnswer::kStop);
  EXPECT_EQ(End().outcome, Outcome::kStopped);
}

TEST_F(WorkerEndToEnd, ACrashIsToldAndTheNextAttemptGetsAFreshProcess) {
  Join(R"({"curve":{"value":"x","iterations":2,"crash":"1"}})");
  Send(Start(Ref(0, 1, 1)));
  const AttemptEnded refused = End();
  EXPECT_EQ(refused.outcome, Outcome::kBadConfig);
  EXPECT_THAT(refused.error, testing::HasSubstr("curve.crash"));

  worker_.reset();
  Join(R"({"curve":{"value":"x","crash":1}})");
  Send(Start(Ref(0, 1, 1)));
  const AttemptEnded crashed = End();
  EXPECT_EQ(crashed.outcome, Outcome::kCrashed);
  EXPECT_THAT(crashed.error, testing::HasSubstr("SIGABRT"));
  Send(Start(Ref(0, 2, 2)));
  EXPECT_EQ(End().ref, Ref(0, 2, 2));
}

TEST_F(WorkerEndToEnd, AProcessKilledFromOutsideIsToldApart) {
  Join(R"({"curve":{"value":"x","iterations":2,"seconds":1000}})");
  Send(Start(Ref(0, 1, 1)));
  Send(Start(Ref(1, 1, 2)));
  Send(KillAttempt{Ref(1, 1, 2)});
  const AttemptEnded preempted = End();
  EXPECT_EQ(preempted.ref, Ref(1, 1, 2));
  EXPECT_EQ(preempted.outcome, Outcome::kPreempted);
  const std::vector<int> children = ChildrenOf(worker_->pid());
  ASSERT_EQ(children.size(), 1u);
  kill(children[0], SIGKILL);
  const AttemptEnded killed = End();
  EXPECT_EQ(killed.ref, Ref(0, 1, 1));
  EXPECT_EQ(killed.outcome, Outcome::kKilled);
}

TEST_F(WorkerEndToEnd, LeasesAheadTakeOverWithoutTheTuner) {
  Join(R"({"curve":{"value":"x"}})");
  Send(Start(Ref(0, 1, 1)));
  const AttemptReport first = Report();
  StartAttempt second = Start(Ref(1, 1, 2));
  second.ahead = true;
  second.cpu_milli = 0;
  Send(second);
  Answer(first);
  EXPECT_EQ(End().ref, Ref(0, 1, 1));
  const AttemptReport report = Report();  // Nothing was sent meanwhile.
  EXPECT_EQ(report.ref, Ref(1, 1, 2));
  Answer(report);
  EXPECT_EQ(End().ref, Ref(1, 1, 2));
  EXPECT_EQ(ChildrenOf(worker_->pid()).size(), 1u) << "one process served both";
}

TEST_F(WorkerEndToEnd, AWorkerThatDiesTakesItsTrialsWithIt) {
  Join(R"({"curve":{"value":"x","hang":1}})", {});
  Send(Start(Ref(0, 1, 1)));
  Send(Start(Ref(1, 1, 2)));
  Send(KillAttempt{Ref(1, 1, 2)});
  ASSERT_EQ(End().ref, Ref(1, 1, 2));  // So the first one has been started, too.
  const std::vector<int> children = ChildrenOf(worker_->pid());
  ASSERT_EQ(children.size(), 1u);
  worker_->Signal(SIGKILL);
  EXPECT_TRUE(WaitUntilGone(children[0]));
  EXPECT_EQ(sink_.WaitForDisconnect(), id_);
}

TEST_F(WorkerEndToEnd, ALocalWorkerDiesWithItsTunerWithoutAWord) {
  Join(R"({"curve":{"value":"x","iterations":9}})");
  Send(Start(Ref(0, 1, 1)));
  Report();
  const std::vector<int> children = ChildrenOf(worker_->pid());
  ASSERT_EQ(children.size(), 1u);
  gateway_.reset();
  EXPECT_TRUE(WaitUntilGone(children[0]));
  ASSERT_TRUE(worker_->Wait());
  EXPECT_EQ(worker_->ReadErrors(), "");
}

TEST_F(WorkerEndToEnd, AConnectedWorkerTriesAgainForALeaseAndSaysSo) {
  lease_ms_ = 2000;  // A quarter of it is silence: by then the connection is closed.
  Join(kStill, {"--name", "guest"});
  Send(Start(Ref(0, 1, 1)));
  Report();  // So it was welcomed, and is not one that could not connect.
  gateway_.reset();
  const auto status = worker_->Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 1);
  EXPECT_THAT(worker_->ReadErrors(),
              testing::AllOf(testing::HasSubstr(" trial 0 begins\n"),
                             testing::HasSubstr(" the connection to the tuner"),
                             testing::HasSubstr("trying again for"),
                             testing::HasSubstr("nothing was heard of the tuner for 2.0 s")));
}

TEST_F(WorkerEndToEnd, SigtermGivesAttemptsBackAndSaysGoodbye) {
  Join(R"({"curve":{"value":"x","seconds":1000}})", {});
  Send(Start(Ref(0, 1, 1)));
  StartAttempt ahead = Start(Ref(1, 1, 2));
  ahead.ahead = true;
  Send(ahead);
  Send(Start(Ref(2, 1, 3)));
  Send(KillAttempt{Ref(2, 1, 3)});
  ASSERT_EQ(End().ref, Ref(2, 1, 3));
  worker_->Signal(SIGTERM);
  // The lease ahead took over from the killed one: both run, both come back.
  for (int i = 0; i < 2; ++i) EXPECT_EQ(End().outcome, Outcome::kPreempted);
  EXPECT_TRUE(sink_.WaitForMessage<Goodbye>());
  EXPECT_EQ(sink_.WaitForDisconnect(), id_);
  const auto status = worker_->Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 0);
}

TEST_F(WorkerEndToEnd, ARefusedWorkerSaysWhyAndEnds) {
  worker_ = std::make_unique<ScriptedProgram>(
      "tune_worker", std::vector<std::string>{"--connect", gateway_->address()});
  const auto hello = sink_.WaitForMessage<Hello>();
  ASSERT_TRUE(hello);
  id_ = hello->first;
  Send(Refused{"the sweep is over"});
  gateway_->Close(id_);
  const auto status = worker_->Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 2);
  EXPECT_THAT(worker_->ReadErrors(),
              testing::EndsWith("Z the tuner refused this worker: the sweep is over\n"));
}

TEST_F(WorkerEndToEnd, APrewarmedProcessRunsTheFirstAttempt) {
  Join(R"({"curve":{"value":"x","seconds":1000}})", {"--local", "--prewarm", "curve"});
  const std::vector<int> before = ChildrenOf(worker_->pid());
  ASSERT_EQ(before.size(), 1u);
  Send(Start(Ref(0, 1, 1)));
  Send(Start(Ref(1, 1, 2)));
  Send(KillAttempt{Ref(1, 1, 2)});
  ASSERT_EQ(End().ref, Ref(1, 1, 2));
  EXPECT_EQ(ChildrenOf(worker_->pid()), before);
}

TEST_F(WorkerEndToEnd, SendsHeartbeats) {
  Join(kStill);
  EXPECT_TRUE(sink_.WaitForMessage<Heartbeat>());
  EXPECT_TRUE(sink_.WaitForMessage<Heartbeat>());
}

TEST(WorkerProgram, ConnectsToOtherMachinesWithATokenOnly) {
  ScriptedProgram worker("tune_worker", {"--connect", "192.0.2.1:7000"});
  const auto status = worker.Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 2);
  EXPECT_THAT(worker.ReadErrors(), testing::HasSubstr("--join TOKEN is missing"));
}

TEST(WorkerProgram, OnlyTheTunersOwnIsCalledLocal) {
  ScriptedProgram worker("tune_worker", {"--connect", "127.0.0.1:1", "--name", "local"});
  const auto status = worker.Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 2);
  EXPECT_EQ(worker.ReadErrors(),
            "tune worker: only the tuner's own workers are called 'local'; give this one another "
            "name with --name\n");
}

TEST(WorkerProgram, SaysThatNobodyListens) {
  ScriptedProgram worker("tune_worker", {"--connect", "127.0.0.1:1"});
  const auto status = worker.Wait();
  ASSERT_TRUE(status);
  EXPECT_EQ(WEXITSTATUS(*status), 1);
  EXPECT_THAT(worker.ReadErrors(),
              testing::EndsWith("Z cannot connect to the tuner at 127.0.0.1:1: nobody listens "
                                "there\n"));
}

}  // namespace
}  // namespace tune
