// What is carried for several sweeps at once, with real folders and a tuner that is played.
#include "trial_runner/worker/checkpoint_carrier.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <fstream>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>

#include "core/limits.h"
#include "trial_runner/package/artifact_depot.h"
#include "trial_runner/worker/checkpoint_store.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr ExperimentId kOne{1}, kOther{2};

AttemptRef RefOf(ExperimentId sweep, int64_t trial = 0) {
  return {TrialNumber{trial}, AttemptNumber{1}, LeaseEpoch{sweep.value}, sweep};
}

// Takes the checkpoints of one sweep, and lets those of the other wait until they are given up.
// Signs nothing, so that an object store cannot be reached.
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
      change_.wait(lock, [this] { return !is_stubborn_; });
      return Unavailable("given up");
    }
    return "/there/" + put.name;
  }
  Status Get(const GetCheckpoint& /*get*/, const Taker& /*taker*/,
             std::stop_token /*stop*/) override {
    return NotFound("it is not there");
  }
  Result<std::string> Sign(const SignStoreRequest& /*request*/, std::stop_token /*stop*/) override {
    const std::lock_guard lock(mutex_);
    ++waiting_count_;
    change_.notify_all();
    return Unavailable("nothing is signed now");
  }

  // It heeds no stop as long as that is so.
  void SetStubborn(bool is_stubborn) {
    const std::lock_guard lock(mutex_);
    is_stubborn_ = is_stubborn;
    change_.notify_all();
  }
  void WaitUntilOneWaits() { WaitUntilWaiting(1); }
  void WaitUntilWaiting(int count) {
    std::unique_lock lock(mutex_);
    ASSERT_TRUE(change_.wait_for(lock, std::chrono::minutes(1),
                                 [this, count] { return waiting_count_ >= count; }))
        << "only " << waiting_count_ << " checkpoints were sent";
  }

 private:
  const ExperimentId waiting_;
  std::mutex mutex_;
  std::condition_variable_any change_;
  int waiting_count_ = 0;
  bool is_stubborn_ = false;
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
  // What is kept is noted; what is obtained is not.
  CheckpointCarrier::Answers Answers() {
    return {[this](const AttemptRef& ref, Result<KeptCheckpoint> kept) { OnKept(ref, kept); },
            [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {}};
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
  PatientTuner tuner(kOne);
  CheckpointCarrier carrier(tuner,
                            {[](const AttemptRef& /*ref*/, Result<KeptCheckpoint> /*kept*/) {},
                             [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {}});
  leave();
  carrier.ClearTrial(trial);
  EXPECT_EQ(names(), (std::set<std::string>{"attempt_1.log", "checkpoint_000001"}));
  leave();
  carrier.Settle(kOne, place);
  EXPECT_EQ(names(), (std::set<std::string>{"attempt_1.log"})) << "of a worker that was killed";
  leave();
  carrier.Leave(kOne);
  EXPECT_EQ(names(), (std::set<std::string>{"attempt_1.log"}));
}

// A folder of many files is removed later. What was moved aside for that lies beside the trials'.
TEST_F(CheckpointCarrierTest, WhatWasMovedAsideIsRemovedInTheEndAlsoThatOfAWorkerThatWasKilled) {
  const FoundPlace place = PlaceOf(kOne);
  const fs::path artifacts = place.artifacts;
  const auto names = [&] {
    std::set<std::string> found;
    for (const auto& entry : fs::directory_iterator(artifacts)) {
      found.insert(entry.path().filename());
    }
    return found;
  };
  fs::create_directories(artifacts / ".cleared-abcdef/0/data");
  std::ofstream(artifacts / ".cleared-abcdef/0/data/1") << "x";
  PatientTuner tuner(kOther);
  {
    CheckpointCarrier carrier(tuner,
                              {[](const AttemptRef& /*ref*/, Result<KeptCheckpoint> /*kept*/) {},
                               [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {}});
    carrier.Settle(kOne, place);
    fs::create_directories(artifacts / "0/data");
    std::ofstream(artifacts / "0/data/1") << "x";
    fs::permissions(artifacts / "0/data", fs::perms::owner_read | fs::perms::owner_exec);
    carrier.ClearTrial(artifacts / "0");
    EXPECT_TRUE(fs::is_empty(artifacts / "0"));
    std::ofstream(artifacts / "0/model.pt") << "x";
  }
  EXPECT_EQ(names(), (std::set<std::string>{"0"}));
  EXPECT_TRUE(fs::is_empty(artifacts / "0"));
}

TEST_F(CheckpointCarrierTest, LeavesOneSweepAndGoesOnWithTheOther) {
  PatientTuner tuner(kOne);
  CheckpointCarrier carrier(tuner, Answers());
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

TEST_F(CheckpointCarrierTest, CheckpointsOfOneSweepThatWaitHoldUpNoOtherSweep) {
  PatientTuner tuner(kOne);
  CheckpointCarrier carrier(tuner, Answers());
  carrier.Settle(kOne, PlaceOf(kOne));
  carrier.Settle(kOther, PlaceOf(kOther));
  const std::string of_one = Save(kOne), of_other = Save(kOther);
  for (int64_t trial = 0; trial < 2 * limits::kCheckpointThreadsMax; ++trial) {
    carrier.Keep({RefOf(kOne, trial), of_one});
  }
  tuner.WaitUntilWaiting(limits::kCheckpointThreadsMax);
  carrier.Keep({RefOf(kOther), of_other});
  EXPECT_TRUE(WaitUntilKept(RefOf(kOther)));
}

TEST_F(CheckpointCarrierTest, WhatGoesToTheTunerDoesNotWaitForAnObjectStoreThatIsAway) {
  PatientTuner tuner(kOther);
  CheckpointCarrier carrier(
      tuner, {[this](const AttemptRef& ref, Result<KeptCheckpoint> kept) { OnKept(ref, kept); },
              [](const AttemptRef& /*ref*/, Result<CheckpointCopy> /*copy*/) {},
              [this](const SendLog& last) {
                OnKept(last.ref, KeptCheckpoint{});  // The files of a trial.
              },
              [](const AttemptRef& /*ref*/, const std::string& /*why*/) {}});
  FoundPlace place = PlaceOf(kOne);
  place.bucket = "s3://bucket/p";
  place.lends_credentials = true;
  carrier.Settle(kOne, place);
  const std::string saved = Save(kOne);
  for (int64_t trial = 0; trial < limits::kCheckpointThreadsMax; ++trial) {
    carrier.Keep({RefOf(kOne, trial), saved});
  }
  tuner.WaitUntilWaiting(limits::kCheckpointThreadsMax);
  SendLog last{{}, RefOf(kOne, 9), root_ + "/1/9/attempt_1.log", 0, /*is_last=*/true};
  last.folder = root_ + "/1/9";
  fs::create_directories(last.folder);
  carrier.SendFiles(last);
  EXPECT_TRUE(WaitUntilKept(last.ref));
}

TEST_F(CheckpointCarrierTest, AFolderThatTheTunerSharesHasWhatWasSavedAtOnce) {
  PatientTuner tuner(kOther);
  std::string obtained;
  CheckpointCarrier carrier(
      tuner,
      {[this](const AttemptRef& ref, Result<KeptCheckpoint> kept) { OnKept(ref, kept); },
       [&](const AttemptRef& /*ref*/, Result<CheckpointCopy> copy) { obtained = copy->folder; }});
  FoundPlace place = PlaceOf(kOne);
  place.storage = CheckpointStorage::kSharedFolder;
  carrier.Settle(kOne, place);
  const std::string saved = Save(kOne);
  carrier.Keep({RefOf(kOne), saved});
  EXPECT_TRUE(kept_.contains(RefOf(kOne)));
  carrier.Obtain({RefOf(kOne), saved, {}});
  EXPECT_EQ(obtained, saved);
}

// It is at a file that takes minutes to read, say. The worker's heartbeats would not go out.
TEST_F(CheckpointCarrierTest, ASweepIsLeftThoughAJobDoesNotHeedItAndItsFolderIsClearedThen) {
  PatientTuner tuner(kOne);
  tuner.SetStubborn(true);
  CheckpointCarrier carrier(tuner, Answers());
  carrier.Settle(kOne, PlaceOf(kOne));
  const std::string saved = Save(kOne);
  carrier.Keep({RefOf(kOne), saved});
  tuner.WaitUntilOneWaits();
  carrier.Leave(kOne);
  EXPECT_TRUE(fs::exists(saved)) << "it is still being read";
  tuner.SetStubborn(false);
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (fs::exists(saved) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::yield();
  }
  EXPECT_FALSE(fs::exists(saved));
  EXPECT_FALSE(kept_.contains(RefOf(kOne)));
}

// The attempt fails by that. Were its lease said to be over, it would begin again without end.
TEST_F(CheckpointCarrierTest, ACheckpointThatIsTooDeepToBeSentIsInvalid) {
  const std::string folder = root_ + "/checkpoint_000001";
  std::string deep = folder;
  for (int depth = 0; depth <= limits::kPackageDepthMax; ++depth) deep += "/d";
  fs::create_directories(deep);
  PatientTuner tuner(kOther);
  const auto kept = TunerStore(tuner, root_ + "/1").Keep(RefOf(kOne), folder, {});
  EXPECT_EQ(kept.status().code(), StatusCode::kInvalidArgument) << kept.status().message();
}

// ---- what programs leave in their trials' folders

// Keeps them in a depot, or refuses them.
class TunerOfFiles final : public CheckpointLink {
 public:
  explicit TunerOfFiles(const std::string& root) : depot_(*ArtifactDepot::Make({root, 1 << 20})) {}
  void Refuse(Status status) { refusal_ = std::move(status); }

  Result<int64_t> SendLog(const PutLog& /*put*/, std::stop_token /*stop*/) override { return 0; }
  Result<bool> Sees(const SeeNonce& /*see*/, std::stop_token /*stop*/) override { return false; }
  Result<std::string> Put(const PutCheckpoint& put, const PackageSource& text,
                          std::stop_token /*stop*/) override {
    TUNE_RETURN_IF_ERROR(refusal_);
    TUNE_ASSIGN_OR_RETURN(const auto incoming, depot_->Receive(put));
    TUNE_ASSIGN_OR_RETURN(const std::string all, text.Read(0, size_t{1} << 20));
    TUNE_RETURN_IF_ERROR(incoming->Append(all));
    return incoming->Commit();
  }
  Status Get(const GetCheckpoint& get, const Taker& taker, std::stop_token /*stop*/) override {
    TUNE_ASSIGN_OR_RETURN(const auto source, depot_->Open(get));
    TUNE_RETURN_IF_ERROR(taker.begin(source->name()));
    TUNE_ASSIGN_OR_RETURN(const std::string all, source->Read(get.offset, size_t{1} << 20));
    return taker.take(all);
  }

 private:
  const std::shared_ptr<ArtifactDepot> depot_;
  Status refusal_;
};

class CarrierOfFiles : public CheckpointCarrierTest {
 protected:
  void SetUp() override {
    CheckpointCarrierTest::SetUp();
    tuner_.emplace(there_.substr(0, there_.rfind('/')));
    carrier_.emplace(*tuner_,
                     CheckpointCarrier::Answers{
                         [](const AttemptRef& /*ref*/, Result<KeptCheckpoint> /*kept*/) {},
                         [this](const AttemptRef& ref, const Result<CheckpointCopy>& copy) {
                           EXPECT_TRUE(copy.ok()) << copy.status().message();
                           Answered(ref);
                         },
                         [this](const SendLog& last) { Answered(last.ref); }});
    carrier_->Settle(kOne, PlaceOf(kOne));
  }
  void Answered(const AttemptRef& ref) {
    const std::lock_guard lock(mutex_);
    kept_.insert(ref);
    change_.notify_all();
  }
  static void Write(const std::string& path, const std::string& text) {
    fs::create_directories(fs::path(path).parent_path());
    std::ofstream(path) << text;
  }
  static std::string Read(const std::string& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
  }
  bool SendAll() {
    kept_.clear();
    SendLog last{{}, RefOf(kOne), here() + "/attempt_1.log", 0, /*is_last=*/true};
    last.folder = here();
    carrier_->SendFiles(last);
    return WaitUntilKept(last.ref);
  }
  std::string here() const { return root_ + "/1/0"; }

  const std::string there_ =
      fs::temp_directory_path() / ("tune_files_" + std::to_string(getpid())) / "0";
  std::optional<TunerOfFiles> tuner_;
  std::optional<CheckpointCarrier> carrier_;

  void TearDown() override {
    carrier_.reset();
    tuner_.reset();
    fs::remove_all(fs::path(there_).parent_path());
    CheckpointCarrierTest::TearDown();
  }
};

TEST_F(CarrierOfFiles, GoToTheTunerAndComeBackForALaterAttempt) {
  Write(here() + "/history.csv", "1\n");
  Write(here() + "/plots/a.svg", "<svg/>");
  Write(here() + "/attempt_1.log", "printed\n");
  fs::create_symlink("history.csv", here() + "/latest");
  ASSERT_TRUE(SendAll());
  EXPECT_EQ(Read(there_ + "/history.csv"), "1\n");
  EXPECT_EQ(Read(there_ + "/plots/a.svg"), "<svg/>");
  EXPECT_FALSE(fs::exists(fs::symlink_status(there_ + "/latest")));
  EXPECT_FALSE(fs::exists(there_ + "/attempt_1.log")) << "it goes by itself";
  EXPECT_EQ(Read(here() + "/attempt_1.log"),
            "printed\ntune: 1 link in this attempt's folder did not go to the tuner (links and "
            "sockets stay)\n");
  // On another machine, where another one of that name lies.
  const std::string other = root_ + "/other/0";
  Write(other + "/history.csv", "older");
  kept_.clear();
  carrier_->Obtain({RefOf(kOne), "", {}, there_, other});
  ASSERT_TRUE(WaitUntilKept(RefOf(kOne)));
  EXPECT_EQ(Read(other + "/history.csv"), "1\n");
  EXPECT_EQ(Read(other + "/plots/a.svg"), "<svg/>");
}

TEST_F(CarrierOfFiles, ThatAreCalledAsCheckpointsOfOursAreNamedInTheLog) {
  Write(here() + "/checkpoint_000002", "the program's");
  Write(here() + "/checkpoint_000003/weights", "the program's");
  Write(here() + "/checkpoint_000004/manifest.json", "{}");
  ASSERT_TRUE(SendAll());
  EXPECT_FALSE(fs::exists(there_ + "/checkpoint_000002"));
  const std::string said = Read(here() + "/attempt_1.log");
  for (const std::string name : {"checkpoint_000002", "checkpoint_000003"}) {
    EXPECT_NE(said.find(name), std::string::npos) << said;
  }
  EXPECT_EQ(said.find("checkpoint_000004"), std::string::npos) << said;
  EXPECT_NE(said.find("did not go to the tuner: such names are for checkpoints of tune's own"),
            std::string::npos)
      << said;
}

TEST_F(CarrierOfFiles, ThatTheTunerDoesNotTakeArePutAsideAndTheLogSaysWhere) {
  Write(here() + "/model.pt", "weights");
  tuner_->Refuse(ResourceExhausted("the disk is full"));
  ASSERT_TRUE(SendAll());
  const std::string aside = here() + "/attempt_1-1.files";
  EXPECT_EQ(Read(aside + "/model.pt"), "weights");
  EXPECT_EQ(Read(here() + "/attempt_1.log"),
            "tune: what this attempt left in its folder did not come to the tuner: the disk is "
            "full; it stays on this worker's machine, in " +
                aside + "\n");
  carrier_->Leave(kOne);
  EXPECT_EQ(Read(aside + "/model.pt"), "weights");
}

// They are not what the trial goes on from.
TEST_F(CarrierOfFiles, ThatCannotComeKeepNoAttemptFromGoingOnAndTheLogSaysWhy) {
  Write(there_ + "/checkpoint_000001/state", "x");
  std::string deep = there_ + "/deep";
  for (int depth = 0; depth <= limits::kPackageDepthMax; ++depth) deep += "/d";
  fs::create_directories(deep);
  ObtainCheckpoint obtain{RefOf(kOne), there_ + "/checkpoint_000001", {}, there_, here()};
  obtain.log_path = here() + "/attempt_2.log";
  carrier_->Obtain(obtain);
  ASSERT_TRUE(WaitUntilKept(RefOf(kOne)));
  EXPECT_EQ(Read(here() + "/checkpoint_000001/state"), "x");
  EXPECT_THAT(Read(obtain.log_path),
              testing::MatchesRegex("tune: what earlier attempts left in the trial's folder did "
                                    "not come here: .* lies too deep to be sent\n"));
}

// A program that finds no history begins a new one, which is not the whole of it.
TEST_F(CarrierOfFiles, OfAnAttemptThatBeganWithoutThemTakeThePlaceOfNothingThere) {
  Write(there_ + "/history.csv", "1\n");
  std::string deep = there_ + "/deep";
  for (int depth = 0; depth <= limits::kPackageDepthMax; ++depth) deep += "/d";
  fs::create_directories(deep);
  ObtainCheckpoint obtain{RefOf(kOne), "", {}, there_, here()};
  obtain.log_path = here() + "/attempt_1.log";
  carrier_->Obtain(obtain);
  ASSERT_TRUE(WaitUntilKept(RefOf(kOne)));
  Write(here() + "/history.csv", "2\n");
  Write(here() + "/plots/a.svg", "<svg/>");
  ASSERT_TRUE(SendAll());
  EXPECT_EQ(Read(there_ + "/history.csv"), "1\n");
  EXPECT_EQ(Read(there_ + "/attempt_1_files/history.csv"), "2\n");
  EXPECT_EQ(Read(there_ + "/attempt_1_files/plots/a.svg"), "<svg/>");
  EXPECT_THAT(Read(obtain.log_path), testing::HasSubstr("is at the tuner in attempt_1_files"));
}

TEST_F(CarrierOfFiles, ThatWouldLieBelowALinkOfThePrograms) {
  Write(there_ + "/runs/1.csv", "1\n");
  fs::create_directories(root_ + "/scratch");
  fs::create_directory_symlink(root_ + "/scratch", here() + "/runs");
  ObtainCheckpoint obtain{RefOf(kOne), "", {}, there_, here()};
  obtain.log_path = here() + "/attempt_2.log";
  carrier_->Obtain(obtain);
  ASSERT_TRUE(WaitUntilKept(RefOf(kOne)));
  EXPECT_TRUE(fs::is_empty(root_ + "/scratch"));
  EXPECT_THAT(Read(obtain.log_path), testing::HasSubstr("runs would lie below a link"));
}

TEST_F(CarrierOfFiles, NothingThereIsNothingToTell) {
  Write(here() + "/config.json", "{}");  // As each program is given.
  ASSERT_TRUE(SendAll());
  EXPECT_FALSE(fs::exists(here() + "/attempt_1.log"));
  EXPECT_FALSE(fs::exists(there_ + "/config.json"));
  carrier_->Obtain({RefOf(kOne), "", {}, there_, here()});
  EXPECT_TRUE(WaitUntilKept(RefOf(kOne)));
}

}  // namespace
}  // namespace tune
