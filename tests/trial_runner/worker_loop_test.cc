// The worker's loop with real processes: shell scripts in the place of our trial programs, and a
// tuner in the same process.
#include "trial_runner/worker/worker_loop.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/capability.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <sstream>
#include <thread>

#include "core/limits.h"
#include "core/posix/real_clock.h"
#include "tests/small_memory.h"
#include "tests/trial_runner/message_samples.h"
#include "tests/trial_runner/scripted_tuner.h"
#include "tests/trial_runner/sharing_tuner.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr WorkerId kWorker{1};

// What the worker sends goes to a sink, as from the gateway.
class DirectLink final : public TunerLink {
 public:
  DirectLink(GatheringSink& sink, TunerInbox& inbox) : sink_(sink), inbox_(inbox) {}
  void Send(std::vector<FromWorker> messages) override {
    std::vector<Incoming> incoming;
    for (FromWorker& message : messages) incoming.push_back({kWorker, "", std::move(message)});
    sink_.Push(std::move(incoming));
  }
  void CloseAfterSending() override { inbox_.OnClosed(OkStatus()); }

 private:
  GatheringSink& sink_;
  TunerInbox& inbox_;
};

// As the real one, but that it leaps ahead when it is told to.
class LeapingClock final : public Clock {
 public:
  Instant Now() const override { return real_.Now() + Duration{ahead_us_.load()}; }
  void Leap(Duration by) { ahead_us_ += by.us; }

 private:
  const RealClock real_;
  std::atomic<int64_t> ahead_us_ = 0;
};

// Takes CAP_KILL from this thread. Programs that root starts have it again.
bool GiveUpKillingOthers() {
  __user_cap_header_struct header = {_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[2] = {};
  if (syscall(SYS_capget, &header, sets) != 0) return false;
  sets[0].effective &= ~(1u << CAP_KILL);
  return syscall(SYS_capset, &header, sets) == 0;
}

class WorkerLoopTest : public testing::Test {
 protected:
  void SetUp() override {
    sigset_t watched;
    sigemptyset(&watched);
    sigaddset(&watched, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &watched, nullptr);
    std::string name = (fs::temp_directory_path() / "tune_loop_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override {
    if (thread_.joinable()) {
      Tell(Shutdown{});
      EXPECT_EQ(WaitForExit(), 0);
    }
    fs::remove_all(folder_);
  }
  int WaitForExit() {
    thread_.join();
    return exit_status_;
  }

  // A worker whose curve program is this script. Nothing: there is no such program.
  void Run(const std::string& script) {
    if (!script.empty()) WriteProgram("tune_trial", script);
    thread_ = std::thread([this] {
      WorkerCore core(WorkerCore::Options{Greeting(), true, ""});
      WorkerLoop loop(core, inbox_, clock_, folder_);
      loop.Begin();
      exit_status_ = loop.Run([this](TunerSink&) -> std::unique_ptr<TunerLink> {
        return std::make_unique<DirectLink>(sink_, inbox_);
      });
    });
    Greet(/*lease_ms=*/0);
  }

  // A worker whose program for users' programs is this script, and whose thread may kill no process
  // of another user: as if that waited for a disk.
  void RunWithoutKillingOthers(const std::string& script) {
    WriteProgram("tune_trial_command", script);
    thread_ = std::thread([this] {
      ASSERT_TRUE(GiveUpKillingOthers());
      WorkerCore core(WorkerCore::Options{Greeting(), true, ""});
      WorkerLoop loop(core, inbox_, clock_, folder_);
      loop.Begin();
      exit_status_ = loop.Run([this](TunerSink&) -> std::unique_ptr<TunerLink> {
        return std::make_unique<DirectLink>(sink_, inbox_);
      });
    });
    Greet(/*lease_ms=*/0, R"({"command":["x"]})");
  }

  // A worker of another machine, which sees the tuner's disk. `on_kept` is called on the loop's
  // thread, in the midst of a turn, when a trial has saved a checkpoint.
  void RunRemote(const std::string& script, std::function<void()> on_kept) {
    WriteProgram("tune_trial", script);
    fs::create_directories(folder_ + "/artifacts");
    thread_ = std::thread([this, on_kept = std::move(on_kept)] {
      SharingTuner tuner;
      WorkerCore core(WorkerCore::Options{Greeting(), false, ""});
      CheckpointCarrier carrier(
          tuner, {[&](const AttemptRef& ref, Result<KeptCheckpoint> kept) {
                    on_kept();
                    inbox_.OnCheckpointKept(ref, std::move(kept));
                  },
                  [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {}});
      PackageFetcher fetcher({nullptr, &tuner, "", "", {}});
      WorkerLoop loop(core, inbox_, clock_, folder_, &fetcher, &carrier);
      loop.Begin();
      exit_status_ = loop.Run([this](TunerSink&) -> std::unique_ptr<TunerLink> {
        return std::make_unique<DirectLink>(sink_, inbox_);
      });
    });
    Greet(/*lease_ms=*/60'000);
  }

  void WriteProgram(const std::string& name, const std::string& script) {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n" << script;
    chmod((folder_ + "/" + name).c_str(), 0755);
  }

  void Greet(int64_t lease_ms, const std::string& trainable = R"({"curve":{"value":"x"}})") {
    ASSERT_TRUE(sink_.WaitForMessage<Hello>());
    SweepInfo sweep;
    sweep.trainable = trainable;
    Tell(Welcome{kWorker, 1000, lease_ms, {sweep}});
  }

  void Tell(ToWorker message) {
    std::vector<ToWorker> messages;
    messages.push_back(std::move(message));
    inbox_.OnMessages(std::move(messages));
  }

  void Start(const AttemptRef& ref, std::vector<DeviceSlice> slices = {}) {
    StartAttempt start;
    start.ref = ref;
    start.cpu_milli = 3000;
    start.slices = std::move(slices);
    start.config = "{}";
    start.artifact_dir = folder_ + "/artifacts/" + std::to_string(ref.trial.value);
    Tell(start);
  }

  AttemptEnded End() {
    const auto message = sink_.WaitForMessage<AttemptEnded>();
    EXPECT_TRUE(message) << "no end came";
    return message ? message->second : AttemptEnded{};
  }

  std::string LogOf(int64_t trial, int64_t attempt) {
    std::ifstream in(folder_ + "/artifacts/" + std::to_string(trial) + "/attempt_" +
                     std::to_string(attempt) + ".log");
    std::stringstream text;
    text << in.rdbuf();
    return text.str();
  }

  LeapingClock clock_;
  std::string folder_;
  GatheringSink sink_;
  TunerInbox inbox_{clock_};
  std::thread thread_;
  int exit_status_ = -1;
};

TEST_F(WorkerLoopTest, KeepsWhatEachAttemptPrintsInItsOwnLog) {
  Run(R"(while read -r line <&3; do
           echo "out of $line"; echo "err" >&2
           printf '{"end":{"outcome":"completed"}}\n' >&3
         done)");
  for (int64_t trial = 0; trial < 20; ++trial) {
    Start(Ref(trial, 1, trial + 1));
    ASSERT_EQ(End().outcome, Outcome::kCompleted);
    EXPECT_THAT(LogOf(trial, 1), HasSubstr("\"trial\":" + std::to_string(trial) + ","));
    EXPECT_THAT(LogOf(trial, 1), testing::EndsWith("err\n"));
  }
}

TEST_F(WorkerLoopTest, AnAttemptsLogEndsAtItsLimit) {
  Run(R"(read -r line <&3
         head -c 20000000 /dev/zero | tr '\0' x
         printf '{"end":{"outcome":"completed"}}\n' >&3
         read -r line <&3)");
  Start(Ref(0, 1, 1));
  ASSERT_EQ(End().outcome, Outcome::kCompleted);
  const std::string log = LogOf(0, 1);
  EXPECT_GT(log.size(), static_cast<size_t>(limits::kAttemptLogBytesMax));
  EXPECT_LT(log.size(), static_cast<size_t>(limits::kAttemptLogBytesMax) + 100);
  EXPECT_THAT(log.substr(log.size() - 100), HasSubstr("the log has reached its limit"));
}

TEST_F(WorkerLoopTest, GivesTheProcessItsThreadsAndDevicesAndNothingElse) {
  Run(R"sh(read -r line <&3
         echo "threads $OMP_NUM_THREADS devices $CUDA_VISIBLE_DEVICES"
         readlink /proc/self/fd/0
         echo files $(ls /proc/$$/fd)
         echo score $(cat /proc/self/oom_score_adj)
         printf '{"end":{"outcome":"completed"}}\n' >&3
         read -r line <&3)sh");
  // The first process was started before anything was known of an attempt; the second one knows.
  Start(Ref(0, 1, 1), {{0, 1000}});
  ASSERT_EQ(End().outcome, Outcome::kCompleted);
  Start(Ref(1, 1, 2), {{1, 500}});
  ASSERT_EQ(End().outcome, Outcome::kCompleted);
  EXPECT_THAT(LogOf(1, 1), HasSubstr("threads 3 devices 1\n"));
  EXPECT_THAT(LogOf(1, 1), HasSubstr("/dev/null\n"));
  EXPECT_THAT(LogOf(1, 1), HasSubstr("score 500\n"));
  // Its input, output, errors and socket; 4 and 10 are the shell's own, for the list and the
  // script.
  EXPECT_THAT(LogOf(1, 1), testing::ContainsRegex("files 0 1 (10 )?2 3( 4)?\n"));
}

TEST_F(WorkerLoopTest, GarbageIsACrashAndTheWholeGroupGoes) {
  Run(R"(read -r line <&3
         tail -f /dev/null &
         echo $!
         printf 'garbage\n' >&3
         wait)");
  Start(Ref(0, 1, 1));
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
  EXPECT_THAT(end.error, HasSubstr("'garbage'"));
  EXPECT_TRUE(WaitUntilGone(std::stoi(LogOf(0, 1))));
}

TEST_F(WorkerLoopTest, ALineWithoutEndIsACrash) {
  Run(R"(read -r line <&3
         head -c 5000000 /dev/zero | tr '\0' x >&3
         read -r line <&3)");
  Start(Ref(0, 1, 1));
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
  EXPECT_THAT(end.error, HasSubstr("a line longer than"));
}

TEST_F(WorkerLoopTest, TellsExitStatusAndSignal) {
  Run(R"(read -r line <&3
         case "$line" in *'"trial":0,'*) exit 7;; *) kill -SEGV $$;; esac)");
  Start(Ref(0, 1, 1));
  EXPECT_THAT(End().error, HasSubstr("exited with status 7"));
  Start(Ref(1, 1, 2));
  EXPECT_THAT(End().error, HasSubstr("died of SIGSEGV"));
}

// One trial takes all the memory there is, another is killed by hand: the two are told apart.
TEST_F(WorkerLoopTest, TellsAKillForWantOfMemoryFromAnother) {
  const SmallMemory memory(256 << 20);  // More than this process has, with sanitizers too.
  if (!memory.is_there()) GTEST_SKIP() << "no memory cgroup can be made here";
  Run(R"(read -r line <&3
         case "$line" in *'"trial":0,'*) exec tail /dev/zero;; *) kill -KILL $$;; esac)");
  Start(Ref(0, 1, 1));
  const AttemptEnded starved = End();
  EXPECT_EQ(starved.outcome, Outcome::kOutOfMemory) << starved.error;
  EXPECT_THAT(starved.error, HasSubstr("memory is short"));
  Start(Ref(1, 1, 2));
  EXPECT_EQ(End().outcome, Outcome::kKilled);
}

TEST_F(WorkerLoopTest, ReportsAndAnswersPassWholeHoweverLong) {
  // 100,000 bytes of metric names are more than one read and one write hold.
  Run(R"(read -r line <&3
         { printf '{"report":{"iteration":1,"metrics":{"loss":1'
           i=0; while [ $i -lt 900 ]; do printf ',"%0100d":1' $i; i=$((i + 1)); done
           printf '}}}\n'; } >&3
         read -r answer <&3; echo "$answer"
         printf '{"end":{"outcome":"completed"}}\n' >&3
         read -r line <&3)");
  Start(Ref(0, 1, 1));
  const auto report = sink_.WaitForMessage<AttemptReport>();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->second.report.metrics.size(), 901u);
  Tell(AnswerReport{Ref(0, 1, 1), 1, ReportAnswer::kContinue});
  EXPECT_EQ(End().outcome, Outcome::kCompleted);
  EXPECT_EQ(LogOf(0, 1), "{\"answer\":\"continue\"}\n");
}

TEST_F(WorkerLoopTest, AStartForWhichThereAreNoDescriptorsWaitsAndHurtsNoTrial) {
  Run(R"(read -r line <&3
         printf '{"report":{"iteration":1,"metrics":{"loss":1}}}\n' >&3
         read -r answer <&3; echo "$answer"
         printf '{"end":{"outcome":"completed"}}\n' >&3
         read -r line <&3)");
  Start(Ref(0, 1, 1));
  ASSERT_TRUE(sink_.WaitForMessage<AttemptReport>());
  std::vector<FileDescriptor> all;
  do {
    all.emplace_back(dup(STDERR_FILENO));
  } while (all.back().is_open());
  ASSERT_EQ(errno, EMFILE);
  Start(Ref(1, 1, 2));
  // Messages are taken in order: when the end of this one comes, the one before has been tried.
  StartAttempt bad;
  bad.ref = Ref(2, 1, 3);
  bad.config = "\n";
  Tell(bad);
  const AttemptEnded end = End();
  EXPECT_EQ(end.ref.trial.value, 2) << end.error;
  all.clear();
  const auto report = sink_.WaitForMessage<AttemptReport>();
  ASSERT_TRUE(report);
  EXPECT_EQ(report->second.ref.trial.value, 1);
  Tell(AnswerReport{Ref(1, 1, 2), 1, ReportAnswer::kContinue});
  EXPECT_EQ(End().ref.trial.value, 1);
  EXPECT_EQ(LogOf(1, 1), "{\"answer\":\"continue\"}\n");
  Tell(AnswerReport{Ref(0, 1, 1), 1, ReportAnswer::kContinue});
  EXPECT_EQ(End().outcome, Outcome::kCompleted);
}

TEST_F(WorkerLoopTest, AStartThatWaitsCanBeTakenBack) {
  Run(R"(while read -r line <&3; do printf '{"end":{"outcome":"completed"}}\n' >&3; done)");
  Start(Ref(0, 1, 1));
  ASSERT_EQ(End().outcome, Outcome::kCompleted);
  std::vector<FileDescriptor> all;
  do {
    all.emplace_back(dup(STDERR_FILENO));
  } while (all.back().is_open());
  Start(Ref(1, 1, 2), {{0, 1000}});  // The idle process is of no device.
  Tell(KillAttempt{Ref(1, 1, 2), true});
  const AttemptEnded end = End();
  EXPECT_EQ(end.ref.trial.value, 1);
  EXPECT_NE(end.outcome, Outcome::kCompleted);
  all.clear();
}

// The loop was at something for more than a lease; the tuner's heartbeats lay in its inbox.
TEST_F(WorkerLoopTest, ALateLoopHearsWhatTheTunerSaidBeforeItTakesTheTunerForSilent) {
  RunRemote(R"(read -r line <&3
               printf '{"report":{"iteration":1,"metrics":{"loss":1},"checkpoint":' >&3
               printf '{"path":"/a/0/checkpoint_000001","bytes":1,"checksum":"00"}}}\n' >&3
               read -r answer <&3
               printf '{"end":{"outcome":"completed"}}\n' >&3
               read -r line <&3)",
            [this] {
              for (int i = 0; i < 7; ++i) {
                clock_.Leap(Seconds(10));
                Tell(Heartbeat{});
              }
            });
  Start(Ref(0, 1, 1));
  ASSERT_TRUE(sink_.WaitForMessage<AttemptReport>()) << "the worker has ended its trials";
  Tell(AnswerReport{Ref(0, 1, 1), 1, ReportAnswer::kContinue});
  EXPECT_EQ(End().outcome, Outcome::kCompleted);
}

// As to a machine that slept: the connection looks whole, and the trials are others' by now.
TEST_F(WorkerLoopTest, WhatATunerSaysThatWasSilentForALeaseComesTooLate) {
  RunRemote(R"(read -r line <&3
               printf '{"report":{"iteration":1,"metrics":{"loss":1},"checkpoint":' >&3
               printf '{"path":"/a/0/checkpoint_000001","bytes":1,"checksum":"00"}}}\n' >&3
               sleep 1000)",
            [this] {
              clock_.Leap(Seconds(61));
              Tell(Heartbeat{});
            });
  Start(Ref(0, 1, 1));
  EXPECT_EQ(WaitForExit(), 1);
}

// Of trials whose processes were killed with what they had started in sessions of its own.
TEST_F(WorkerLoopTest, AnOrphanThatNothingEndsKeepsNoOtherTrialWaiting) {
  const bool can_be = geteuid() == 0 && access("/usr/bin/setpriv", X_OK) == 0 && AdoptOrphans();
  if (!can_be) GTEST_SKIP() << "needs root and setpriv(1), for a process that cannot be killed";
  RunWithoutKillingOthers(R"sh(read -r line <&3
      case "$line" in *'"trial":1,'*)
        printf '{"end":{"outcome":"completed"}}\n' >&3
        read -r line <&3
        exit 0;;
      esac
      orphan=$(setsid setpriv --reuid 65534 sh -c \
               'echo $$; exec sleep 1000 >/dev/null 2>&1 3>&-' &)
      printf '{"report":{"iteration":1,"metrics":{"runner":%d,"orphan":%d}}}\n' $$ $orphan >&3
      read -r answer <&3
      kill -KILL $$)sh");
  Start(Ref(0, 1, 1));
  const auto report = sink_.WaitForMessage<AttemptReport>();
  ASSERT_TRUE(report);
  int runner = 0, orphan = 0;
  for (const auto& [name, value] : report->second.report.metrics) {
    (name == "runner" ? runner : orphan) = static_cast<int>(value);
  }
  ASSERT_TRUE(runner > 0 && orphan > 0);
  Tell(AnswerReport{Ref(0, 1, 1), 1, ReportAnswer::kContinue});
  EXPECT_TRUE(WaitUntilGone(runner));
  Start(Ref(1, 1, 2));
  EXPECT_EQ(End().ref.trial.value, 1) << "it completes while the orphan is waited for";
  clock_.Leap(Seconds(10));
  const AttemptEnded end = End();
  EXPECT_EQ(end.ref.trial.value, 0);
  EXPECT_EQ(end.outcome, Outcome::kKilled);
  EXPECT_EQ(kill(orphan, SIGKILL), 0) << "it has lived all the time";
}

TEST_F(WorkerLoopTest, AProgramThatIsNotThereIsTold) {
  Run("");
  Start(Ref(0, 1, 1));
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
  EXPECT_EQ(end.error, "cannot start " + folder_ + "/tune_trial: No such file or directory");
}

}  // namespace
}  // namespace tune
