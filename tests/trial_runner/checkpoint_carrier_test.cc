// What is carried for several sweeps at once, with real folders and a tuner that is played.
#include "trial_runner/worker/checkpoint_carrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <set>
#include <string>

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr ExperimentId kOne{1}, kOther{2};

AttemptRef RefOf(ExperimentId sweep) {
  return {TrialNumber{0}, AttemptNumber{1}, LeaseEpoch{sweep.value}, sweep};
}

// Takes the checkpoints of one sweep, and lets those of the other wait until they are given up.
class PatientTuner final : public CheckpointLink {
 public:
  explicit PatientTuner(ExperimentId waiting) : waiting_(waiting) {}

  Result<int64_t> SendLog(const PutLog& /*put*/, std::stop_token /*stop*/) override { return 0; }
  Result<bool> Sees(const SeeNonce& /*see*/, std::stop_token /*stop*/) override { return false; }
  Result<std::string> Put(const PutCheckpoint& put, const PackageSource& /*text*/,
                          std::stop_token stop) override {
    std::unique_lock lock(mutex_);
    if (put.ref.sweep == waiting_) {
      ++waiting_count_;
      change_.notify_all();
      change_.wait(lock, stop, [] { return false; });
      return Unavailable("given up");
    }
    return "/there/" + put.name;
  }
  Status Get(const GetCheckpoint& /*get*/, const Taker& /*taker*/,
             std::stop_token /*stop*/) override {
    return NotFound("it is not there");
  }

  void WaitUntilOneWaits() {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(change_.wait_for(lock, std::chrono::minutes(1), [this] {
      return waiting_count_ > 0;
    })) << "no checkpoint was sent";
  }

 private:
  const ExperimentId waiting_;
  std::mutex mutex_;
  std::condition_variable_any change_;
  int waiting_count_ = 0;
};

class CheckpointCarrierTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "tune_carrier_XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    root_ = name;
  }
  void TearDown() override { fs::remove_all(root_); }

  // This machine's own folder for the sweep, and a checkpoint in it.
  FoundPlace PlaceOf(ExperimentId sweep) {
    const std::string artifacts = root_ + "/" + std::to_string(sweep.value);
    fs::create_directories(artifacts + "/0");
    return {{}, artifacts, CheckpointStorage::kTuner};
  }
  std::string Save(ExperimentId sweep) {
    const std::string folder = root_ + "/" + std::to_string(sweep.value) + "/0/checkpoint_000001";
    fs::create_directories(folder);
    std::ofstream(folder + "/state") << "x";
    return folder;
  }
  void OnKept(const AttemptRef& ref, const Result<KeptCheckpoint>& kept) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(kept.ok()) << kept.status().message();
    kept_.insert(ref);
    change_.notify_all();
  }
  bool WaitUntilKept(const AttemptRef& ref) {
    std::unique_lock lock(mutex_);
    return change_.wait_for(lock, std::chrono::minutes(1), [&] { return kept_.contains(ref); });
  }

  std::string root_;
  std::mutex mutex_;
  std::condition_variable change_;
  std::set<AttemptRef> kept_;
};

TEST_F(CheckpointCarrierTest, LeavesNothingOfTrialsButTheirLogs) {
  const FoundPlace place = PlaceOf(kOne);
  const fs::path trial = fs::path(place.artifacts) / "0";
  const auto leave = [&] {
    Save(kOne);
    std::ofstream(trial / "model.pt") << "x";
    std::ofstream(trial / "attempt_1.log") << "x";
  };
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(trial)) found.insert(entry.path().filename());
    return found;
  };
  leave();
  ClearFolderOfTrial(trial, /*with_checkpoints=*/false);
  EXPECT_EQ(names(), (std::set<std::string>{"attempt_1.log", "checkpoint_000001"}));
  leave();
  PatientTuner tuner(kOne);
  CheckpointCarrier carrier(tuner,
                            {[](const AttemptRef& /*ref*/, Result<KeptCheckpoint> /*kept*/) {},
                             [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {}});
  carrier.Settle(kOne, place);
  EXPECT_EQ(names(), (std::set<std::string>{"attempt_1.log"})) << "of a worker that was killed";
  leave();
  carrier.Leave(kOne);
  EXPECT_EQ(names(), (std::set<std::string>{"attempt_1.log"}));
}

TEST_F(CheckpointCarrierTest, LeavesOneSweepAndGoesOnWithTheOther) {
  PatientTuner tuner(kOne);
  CheckpointCarrier carrier(
      tuner, {[this](const AttemptRef& ref, Result<KeptCheckpoint> kept) { OnKept(ref, kept); },
              [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {}});
  carrier.Settle(kOne, PlaceOf(kOne));
  carrier.Settle(kOther, PlaceOf(kOther));
  const std::string of_one = Save(kOne), of_other = Save(kOther);
  carrier.Keep({RefOf(kOne), of_one});
  tuner.WaitUntilOneWaits();
  carrier.Leave(kOne);
  EXPECT_FALSE(fs::exists(of_one)) << "what the tuner has, or will never have";
  EXPECT_TRUE(fs::exists(of_other));
  carrier.Keep({RefOf(kOther), of_other});
  EXPECT_TRUE(WaitUntilKept(RefOf(kOther)));
  EXPECT_FALSE(kept_.contains(RefOf(kOne)));
  // It may come back, and begins anew.
  carrier.Settle(kOne, PlaceOf(kOne));
  carrier.Leave(kOther);
  EXPECT_FALSE(fs::exists(of_other));
}

}  // namespace
}  // namespace tune
