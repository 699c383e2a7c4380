// What a worker does about its devices: limits that it watches, memory that it tells of, and
// devices that fall away.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <set>
#include <string>

#include "tests/trial_runner/message_samples.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr char kCommand[] = R"({"command":["train"]})";
constexpr char kReport[] = R"({"report":{"iteration":1,"metrics":{"loss":0.5}}})";

class WorkerDevices : public testing::Test {
 protected:
  void Join(const std::string& trainable = kCommand, bool has_mps = false, bool is_local = true) {
    WorkerCore::Options options;
    options.hello = Greeting();
    options.hello.capacity.devices = {{0, "H100", 80 * kGiB, "GPU-1b2c"},
                                      {1, "L4", 24 * kGiB, "GPU-77aa"}};
    options.is_local = is_local;
    options.near_ranks = {{"NCCL_SOCKET_IFNAME", "=lo"}};
    options.spread_ranks = {{"NCCL_SOCKET_IFNAME", "=eth0"}};
    core_.emplace(std::move(options));
    core_->OnMpsSeen(has_mps);
    core_->Begin();
    Welcome_(trainable);
    core_->TakeEffects();
  }
  void Welcome_(const std::string& trainable) {
    SweepInfo sweep;
    sweep.experiment = "sweep";
    sweep.trainable = trainable;
    core_->OnMessage(Welcome{WorkerId{1}, 1000, 60'000, {sweep}}, now_);
  }
  void Start(const AttemptRef& ref, std::vector<DeviceSlice> slices) {
    StartAttempt start;
    start.ref = ref;
    start.cpu_milli = 1000;
    start.slices = std::move(slices);
    start.config = "{}";
    start.artifact_dir = "/a/0";
    core_->OnMessage(start, now_);
  }
  void Use(int64_t process, int64_t device, int64_t bytes) {
    DevicesSeen seen;
    seen.by_process = {{ProcessId{process}, {device, bytes}}};
    core_->OnDevicesSeen(seen, now_);
  }
  void LoseDevice(int64_t device) {
    DevicesSeen seen;
    seen.lost = {{device, "NVML: GPU is lost (15)"}};
    core_->OnDevicesSeen(seen, now_);
  }
  // The process dies as it was told to.
  void Ended(int64_t process) {
    core_->OnProcessEnded(ProcessId{process}, {0, "SIGKILL", ""}, now_);
  }

  // What was sent, and which processes were killed.
  std::vector<std::string> Said() {
    std::vector<std::string> said;
    for (const Effect& effect : core_->TakeEffects()) {
      if (const auto* const signal = std::get_if<SignalProcess>(&effect)) {
        said.push_back((signal->kill ? "kill " : "term ") + std::to_string(signal->process.value));
      }
      const auto* const sent = std::get_if<SendToTuner>(&effect);
      if (sent == nullptr) continue;
      if (const auto* const ended = std::get_if<AttemptEnded>(&sent->message)) {
        said.push_back(std::string(OutcomeName(ended->outcome)) + ": " + ended->error);
      } else if (const auto* const lost = std::get_if<DeviceLost>(&sent->message)) {
        said.push_back("lost " + std::to_string(lost->device) + ": " + lost->why);
      } else if (const auto* const peak = std::get_if<DeviceMemoryPeak>(&sent->message)) {
        said.push_back("peak " + std::to_string(peak->bytes / kGiB));
      } else if (std::holds_alternative<AttemptReport>(sent->message)) {
        said.push_back("report");
      }
    }
    return said;
  }

  std::optional<WorkerCore> core_;
  Instant now_{1'000'000};
};

// ---- limits

TEST_F(WorkerDevices, EndsAProgramThatUsesMoreThanItsShare) {
  Join();
  Start(Ref(0, 1, 1), {{0, 250, 20 * kGiB}});
  Use(1, 0, 20 * kGiB);
  EXPECT_THAT(Said(), IsEmpty());
  Use(1, 0, 21 * kGiB);
  EXPECT_THAT(Said(), ElementsAre("kill 1"));
  Ended(1);
  EXPECT_THAT(Said(),
              ElementsAre("peak 21",
                          "device_out_of_memory: it used 21 GiB of device 0 (H100), more than its "
                          "share's 20 GiB; without MPS that is watched for"));
}

TEST_F(WorkerDevices, LeavesAloneWhatHasNoLimitOrIsHeldToIt) {
  Join();
  Start(Ref(0, 1, 1), {{0, 250, 0}});
  Use(1, 0, 70 * kGiB);
  Use(1, 1, 70 * kGiB);  // Not its device: nobody's share of it is known to it.
  EXPECT_THAT(Said(), IsEmpty());

  Join(kCommand, /*has_mps=*/true);
  Start(Ref(0, 1, 1), {{0, 250, 20 * kGiB}});
  Use(1, 0, 21 * kGiB);
  EXPECT_THAT(Said(), IsEmpty()) << "MPS sees to it";

  Join(R"({"curve":{"value":"x"}})");
  Start(Ref(0, 1, 1), {{0, 250, 20 * kGiB}});
  Use(1, 0, 21 * kGiB);
  EXPECT_THAT(Said(), IsEmpty()) << "our own knows its limit";
}

TEST_F(WorkerDevices, HoldsTrialsByMpsFromTheOneOnThatBeginsAfterIt) {
  Join();
  Start(Ref(0, 1, 1), {{0, 250, 20 * kGiB}});
  core_->OnMpsSeen(true);
  Start(Ref(1, 1, 2), {{0, 250, 20 * kGiB}});
  Use(2, 0, 21 * kGiB);
  EXPECT_THAT(Said(), IsEmpty()) << "MPS sees to it";
  core_->OnMpsSeen(false);
  Use(2, 0, 21 * kGiB);
  EXPECT_THAT(Said(), IsEmpty()) << "it began under MPS";
  Use(1, 0, 21 * kGiB);
  core_->OnProcessEnded(ProcessId{1}, {0, "SIGKILL", ""}, now_);
  EXPECT_THAT(Said(), Contains(HasSubstr("device_out_of_memory")));
}

// ---- ranks

// NCCL reads its environment once: a process that listens here is not one that listens there.
TEST_F(WorkerDevices, RanksListenOnTheLoopbackAloneUnlessTheyAreSpread) {
  Join();
  const auto started = [this] {
    std::vector<std::string> texts;
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const written = std::get_if<WriteToProcess>(&effect);
      if (written == nullptr) continue;
      const auto read =
          ParseToTrial(std::string_view(written->line).substr(0, written->line.size() - 1));
      const TrialStart start = std::get<TrialStart>(*read);
      std::string text = std::to_string(written->process.value);
      for (const auto& [name, value] : start.device_environment) {
        if (name.starts_with("NCCL")) text += " " + name + value;
      }
      texts.push_back(text);
    }
    return texts;
  };
  int64_t epoch = 0;
  const auto run = [&](int64_t world_size, bool is_spread) {
    StartAttempt start;
    ++epoch;
    start.ref = Ref(0, epoch, epoch);
    start.cpu_milli = 1000;
    start.slices = {{0, 1000, 80 * kGiB}};
    start.world_size = world_size;
    start.is_spread = is_spread;
    start.config = "{}";
    start.artifact_dir = "/a/0";
    core_->OnMessage(start, now_);
    const std::vector<std::string> texts = started();
    const int64_t process = std::stoll(texts.front());
    core_->OnProcessLine(ProcessId{process}, R"({"end":{"outcome":"completed"}})", now_);
    core_->TakeEffects();
    return texts.front();
  };
  EXPECT_EQ(run(1, false), "1");
  EXPECT_EQ(run(2, false), "2 NCCL_SOCKET_IFNAME=lo");
  EXPECT_EQ(run(2, true), "3 NCCL_SOCKET_IFNAME=eth0");
  EXPECT_EQ(run(2, true), "3 NCCL_SOCKET_IFNAME=eth0");
}

// ---- trials that share a process

// Where MPS runs, its limits are fixed when the process begins; lanes bring theirs as they come.
TEST_F(WorkerDevices, LanesHaveNoLimitsThatCannotGrowAndShareAProcessWhateverTheirParts) {
  for (const int64_t lanes : {1, 4}) {
    Join(R"("food11")", /*has_mps=*/true);
    StartAttempt start;
    start.cpu_milli = 1000;
    start.config = R"({"data":"synthetic","lanes":)" + std::to_string(lanes) + "}";
    start.artifact_dir = "/a/0";
    int64_t begun = 0;
    for (const int64_t memory : {20, 34}) {
      start.ref = Ref(begun, 1, begun + 1);
      start.slices = {{0, 250, memory * kGiB}};
      core_->OnMessage(start, now_);
      ++begun;
    }
    std::set<int64_t> processes;
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const write = std::get_if<WriteToProcess>(&effect);
      if (write == nullptr) continue;
      processes.insert(write->process.value);
      const bool has_mps = write->line.find("CUDA_MPS") != std::string::npos;
      EXPECT_EQ(has_mps, lanes == 1) << write->line;
    }
    EXPECT_EQ(static_cast<int64_t>(processes.size()), lanes == 1 ? 2 : 1);
  }
}

// ---- what is told

TEST_F(WorkerDevices, TellsTheMostThatWasUsedBeforeReportsAndEnds) {
  Join();
  Start(Ref(0, 1, 1), {{0, 1000, 80 * kGiB}});
  Use(1, 0, 30 * kGiB);
  Use(1, 0, 10 * kGiB);
  EXPECT_THAT(Said(), IsEmpty());
  core_->OnProcessLine(ProcessId{1}, kReport, now_);
  EXPECT_THAT(Said(), ElementsAre("peak 30", "report"));
  core_->OnMessage(AnswerReport{Ref(0, 1, 1), 1, ReportAnswer::kContinue}, now_);
  core_->OnProcessLine(ProcessId{1}, R"({"end":{"outcome":"completed"}})", now_);
  EXPECT_THAT(Said(), ElementsAre("completed: "));
}

TEST_F(WorkerDevices, HeartbeatsTellWhatIsUsed) {
  Join();
  DevicesSeen seen;
  seen.use = {{0, 5 * kGiB}, {1, kGiB}};
  core_->OnDevicesSeen(seen, now_);
  now_ = now_ + Seconds(1);
  core_->OnTime(now_);
  const std::vector<Effect> effects = core_->TakeEffects();
  ASSERT_EQ(effects.size(), 1u);
  EXPECT_EQ(std::get<Heartbeat>(std::get<SendToTuner>(effects[0]).message).devices, seen.use);
}

// ---- a device falls away

TEST_F(WorkerDevices, ALostDeviceIsToldOfOnceAndWhatRanThereEndsAsLost) {
  Join();
  Start(Ref(0, 1, 1), {{0, 500, 40 * kGiB}});
  Start(Ref(1, 1, 2), {{1, 1000, 24 * kGiB}});
  Said();
  LoseDevice(0);
  LoseDevice(0);
  EXPECT_THAT(Said(), ElementsAre("lost 0: device 0 (H100): NVML: GPU is lost (15)", "kill 1"));
  Ended(1);
  EXPECT_THAT(Said(), ElementsAre("lost: device 0 (H100) fell away: NVML: GPU is lost (15)"));
  EXPECT_EQ(core_->running_count(), 1);
}

// The tuner had not heard yet.
TEST_F(WorkerDevices, WhatIsSentToALostDeviceIsGivenBack) {
  Join();
  LoseDevice(1);
  Said();
  Start(Ref(0, 1, 1), {{1, 500, 12 * kGiB}});
  EXPECT_THAT(Said(), ElementsAre(HasSubstr("lost: device 1 (L4) fell away")));
  Start(Ref(0, 2, 2), {{0, 500, 40 * kGiB}});
  EXPECT_EQ(core_->running_count(), 1);
}

// Between its Hello and the Welcome nothing is said.
TEST_F(WorkerDevices, WhatFellAwayBeforeTheWelcomeIsToldAfterIt) {
  WorkerCore::Options options;
  options.hello = Greeting();
  options.hello.capacity.devices = {{0, "H100", 80 * kGiB, "GPU-1b2c"}};
  core_.emplace(std::move(options));
  core_->Begin();
  core_->TakeEffects();
  LoseDevice(0);
  EXPECT_THAT(Said(), IsEmpty());
  Welcome_(kCommand);
  EXPECT_THAT(Said(), ElementsAre("lost 0: device 0 (H100): NVML: GPU is lost (15)"));
}

TEST_F(WorkerDevices, AWorkerThatComesBackOffersWhatIsLeft) {
  Join(kCommand, false, /*is_local=*/false);
  core_->OnTunerGone(Unavailable("it broke"), now_);
  LoseDevice(0);
  core_->TakeEffects();
  now_ = *core_->NextDeadline();
  core_->OnTime(now_);
  for (const Effect& effect : core_->TakeEffects()) {
    const auto* const sent = std::get_if<SendToTuner>(&effect);
    if (sent == nullptr) continue;
    const auto& devices = std::get<Hello>(sent->message).capacity.devices;
    ASSERT_EQ(devices.size(), 1u);
    EXPECT_EQ(devices[0].index, 1);
    return;
  }
  FAIL() << "it said no Hello";
}

// A program takes the device of its LOCAL_RANK.
TEST_F(WorkerDevices, ARanksProgramSeesTheDevicesOfAllRanksHereWhereEachHasAWholeOne) {
  const auto visible = [this](const std::string& trainable, std::vector<int64_t> devices) {
    Join(trainable);
    StartAttempt start;
    start.ref = Ref(0, 1, 1);
    start.cpu_milli = 1000;
    start.slices = {{1, 1000, 24 * kGiB}};
    start.rank = 1;
    start.world_size = 2;
    start.group = {1, 2, 0, 1, std::move(devices), "", 0};
    start.config = "{}";
    start.artifact_dir = "/a/0";
    core_->OnMessage(start, now_);
    for (const Effect& effect : core_->TakeEffects()) {
      const auto* const written = std::get_if<WriteToProcess>(&effect);
      if (written == nullptr) continue;
      const auto read =
          ParseToTrial(std::string_view(written->line).substr(0, written->line.size() - 1));
      for (const auto& [name, value] : std::get<TrialStart>(*read).device_environment) {
        if (name == "CUDA_VISIBLE_DEVICES") return value;
      }
    }
    return std::string();
  };
  EXPECT_EQ(visible(kCommand, {0, 1}), "GPU-1b2c,GPU-77aa");
  EXPECT_EQ(visible(kCommand, {}), "GPU-77aa");
  EXPECT_EQ(visible(R"("food11")", {0, 1}), "GPU-77aa") << "it takes the first that it sees";
}

}  // namespace
}  // namespace tune
