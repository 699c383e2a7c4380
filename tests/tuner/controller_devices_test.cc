// Devices with memory that fall away, as the controller knows them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/device_world.h"

namespace tune::testing {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

constexpr TrialNumber kFirst{0};
constexpr TrialNumber kSecond{1};
constexpr int64_t kGiB = int64_t{1} << 30;

ExperimentSpec Shares(int64_t gpu_milli, int64_t samples = 2) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(samples);
  spec.resources.gpu_milli = gpu_milli;
  return spec;
}

TEST(ControllerDevices, WhatRanOnALostDeviceGoesOnElsewhereFreeOfCharge) {
  ControllerWorld world(Shares(1000, 1));
  const WorkerId worker = JoinWithDevices(world, 4, {24 * kGiB, 80 * kGiB});
  world.Apply({world.NextReport(worker, kFirst, 0.5)});
  EXPECT_EQ(world.Running(worker).at(kFirst).slices.at(0).device, 0);
  world.Apply(LoseDevice(world, worker, 0));
  EXPECT_EQ(world.attempts.at({kFirst, AttemptNumber{1}}).outcome, Outcome::kLost);
  ASSERT_TRUE(world.Running(worker).contains(kFirst));
  const auto& attempt = world.Running(worker).at(kFirst);
  EXPECT_EQ(attempt.slices.at(0).device, 1);
  EXPECT_EQ(attempt.start.from_iteration, 1);
  EXPECT_EQ(world.worker_rows.at(worker).capacity.devices.size(), 1u);
  EXPECT_EQ(world.worker_rows.at(worker).state, WorkerState::kAlive);
  EXPECT_THAT(world.said, Contains(HasSubstr("lost device 0: it fell off")));
}

TEST(ControllerDevices, WithoutTheLastDeviceNothingCanBePlacedAndThatIsSaid) {
  ControllerWorld world(Shares(500, 1));
  const WorkerId worker = JoinWithDevices(world, 4, {24 * kGiB});
  world.Apply(LoseDevice(world, worker, 0));
  EXPECT_TRUE(world.Running(worker).empty());
  EXPECT_THAT(world.said, Contains(HasSubstr("needs cpu: 1, gpu: 0.5; the workers have 4 CPUs, 0 "
                                             "GPUs; waiting 10 min")));
}

TEST(ControllerDevices, ADeviceIsLostOnce) {
  ControllerWorld world(Shares(500, 1));
  const WorkerId worker = JoinWithDevices(world, 4, {24 * kGiB, 24 * kGiB});
  world.Apply(LoseDevice(world, worker, 0));
  const size_t said = world.said.size();
  world.Apply({DeviceFellAway{worker, {0, "again"}}, DeviceFellAway{worker, {7, "which?"}},
               DeviceFellAway{WorkerId{99}, {0, "whose?"}}});
  EXPECT_EQ(world.said.size(), said);
}

// Its queue would take over room that is gone.
TEST(ControllerDevices, TrialsOnRealDevicesDoNotQueueAhead) {
  for (const bool is_real : {false, true}) {
    ControllerWorld world(Shares(500, 100));
    const WorkerId worker = is_real ? JoinWithDevices(world, 4, {24 * kGiB}) : world.Join(4, 1);
    for (int i = 0; i < 5; ++i) {
      const TrialNumber trial = world.Running(worker).begin()->first;
      world.Apply({world.NextReport(worker, trial, 0.5, true)});
      world.Apply({world.End(worker, trial, Outcome::kCompleted)});
    }
    EXPECT_EQ(world.Queue(worker).empty(), is_real);
  }
}

// ---- memory

TEST(ControllerDevices, GpuMemoryIsAdmission) {
  ExperimentSpec spec = Shares(100, 4);
  spec.resources.gpu_memory_bytes = 30 * kGiB;
  ControllerWorld world(spec);
  const WorkerId worker = JoinWithDevices(world, 16, {80 * kGiB});
  EXPECT_EQ(world.Running(worker).size(), 2u);
  EXPECT_EQ(world.Running(worker).at(kFirst).start.slices.at(0).memory_bytes, 30 * kGiB);
  world.Apply({world.End(worker, kFirst, Outcome::kCrashed)});
  EXPECT_EQ(world.Running(worker).size(), 2u);
}

// A quarter of the device is too little; it is tried on the whole, and what it took there is what
// the next ones get.
TEST(ControllerDevices, WhatATrialWasSeenToUseIsWhatTheNextOnesGet) {
  ControllerWorld world(Shares(250, 9));
  const WorkerId worker = JoinWithDevices(world, 16, {80 * kGiB});
  ASSERT_EQ(world.Running(worker).size(), 4u);
  EXPECT_EQ(world.Running(worker).at(kFirst).slices.at(0).memory_bytes, 20 * kGiB);
  const AttemptRef ref = world.Running(worker).at(kFirst).start.ref;
  world.Apply({DeviceMemorySeen{worker, {ref, 32 * kGiB}}});
  EXPECT_THAT(world.said, Contains("a trial used 32 GiB of a device, more than its share: each "
                                   "gets at least so much from now on (resources.gpu_memory sets "
                                   "it)"));
  // 34 GiB are free when two of the four have ended.
  for (const TrialNumber trial : {kFirst, kSecond}) {
    world.Apply({world.NextReport(worker, trial, 0.5, true)});
    world.Apply({world.End(worker, trial, Outcome::kCompleted)});
  }
  ASSERT_TRUE(world.Running(worker).contains(TrialNumber{4}));
  EXPECT_EQ(world.Running(worker).at(TrialNumber{4}).slices.at(0).memory_bytes, 34 * kGiB);
  EXPECT_EQ(world.Running(worker).size(), 3u) << "a fourth would not fit";
  // The journal has it.
  world.Recover();
  EXPECT_EQ(world.controller().leases().Views()[0].free_gpu_memory[0], 6 * kGiB);
}

// One trial after the other, each of two ranks on devices of their own.
ExperimentSpec TwoRanks(int64_t gpu_milli) {
  ExperimentSpec spec = Shares(gpu_milli, 2);
  spec.limits.max_concurrent = 1;
  spec.resources.workers = 2;
  spec.resources.spread = true;
  return spec;
}

// The simulator found that a sweep waited for devices that nobody had.
TEST(ControllerDevices, RanksThatCouldNotAllHaveWhatOneUsedGoOnWithTheirShares) {
  ControllerWorld world(TwoRanks(750));
  const WorkerId large = JoinWithDevices(world, 4, {80 * kGiB});
  const WorkerId small = JoinWithDevices(world, 4, {24 * kGiB});
  const AttemptRef ref = world.Running(large).at(kFirst).start.ref;
  world.Apply({DeviceMemorySeen{large, {ref, 70 * kGiB}}});
  world.Apply({world.NextReport(large, kFirst, 0.5, true)});
  world.Apply({world.End(large, kFirst, Outcome::kCompleted)});
  world.Apply({world.End(small, kFirst, Outcome::kPreempted)});
  ASSERT_TRUE(world.Running(large).contains(kSecond));
  EXPECT_EQ(world.Running(large).at(kSecond).slices.at(0).memory_bytes, 60 * kGiB);
  EXPECT_EQ(world.Running(small).at(kSecond).slices.at(0).memory_bytes, 18 * kGiB);
}

// The simulator found that a sweep waited for devices that had been there twice: a machine and its
// former self, whose connection was not known to be broken.
TEST(ControllerDevices, RanksForgetWhatWasLearnedOfAWorkerThatIsGone) {
  ControllerWorld world(TwoRanks(1000));
  const WorkerId gone = JoinWithDevices(world, 4, {24 * kGiB});
  const WorkerId small = JoinWithDevices(world, 4, {16 * kGiB});
  const AttemptRef ref = world.Running(gone).at(kFirst).start.ref;
  const WorkerId here = JoinWithDevices(world, 4, {24 * kGiB});
  world.Apply({DeviceMemorySeen{gone, {ref, 30 * kGiB}}});
  world.Apply({WorkerGone{gone, Departure::kGoodbye}});
  world.Apply({world.End(small, kFirst, Outcome::kPreempted)});
  ASSERT_TRUE(world.Running(here).contains(kFirst));
  EXPECT_EQ(world.Running(here).at(kFirst).slices.at(0).memory_bytes, 24 * kGiB);
  EXPECT_EQ(world.Running(small).at(kFirst).slices.at(0).memory_bytes, 16 * kGiB);
}

TEST(ControllerDevices, WhatWasSeenIsNeverMoreThanThereIs) {
  ControllerWorld world(Shares(250, 9));
  const WorkerId worker = JoinWithDevices(world, 16, {80 * kGiB});
  const AttemptRef ref = world.Running(worker).at(kFirst).start.ref;
  world.Apply({DeviceMemorySeen{worker, {ref, 79 * kGiB}}});
  for (int64_t trial = 0; trial < 4; ++trial) {
    world.Apply({world.NextReport(worker, TrialNumber{trial}, 0.5, true)});
    world.Apply({world.End(worker, TrialNumber{trial}, Outcome::kCompleted)});
  }
  ASSERT_EQ(world.Running(worker).size(), 1u);
  EXPECT_EQ(world.Running(worker).begin()->second.slices.at(0).memory_bytes, 80 * kGiB);
}

TEST(ControllerDevices, WhatWasAskedForIsNotLearnedAnew) {
  ExperimentSpec spec = Shares(250, 9);
  spec.resources.gpu_memory_bytes = 10 * kGiB;
  ControllerWorld world(spec);
  const WorkerId worker = JoinWithDevices(world, 16, {80 * kGiB});
  const AttemptRef ref = world.Running(worker).at(kFirst).start.ref;
  world.Apply({DeviceMemorySeen{worker, {ref, 12 * kGiB}}});
  world.Apply({world.NextReport(worker, kFirst, 0.5, true)});
  world.Apply({world.End(worker, kFirst, Outcome::kCompleted)});
  EXPECT_EQ(world.Running(worker).at(TrialNumber{4}).slices.at(0).memory_bytes, 10 * kGiB);
}

}  // namespace
}  // namespace tune::testing
