// The classifier as a trial: a worker, its food11 process, and a tuner that says what the test
// wants.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>

#include "models/train/checkpoint.h"
#include "tests/trial_runner/driven_trial.h"
#include "tests/trial_runner/message_samples.h"
#include "tests/trial_runner/one_worker_test.h"
#include "trial_runner/worker/food11_attempt.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr char kSmall[] =
    R"({"data":"synthetic","image_size":32,"width_mult":0.35,"batch_size":32,"lr":0.01,)"
    R"("total_epochs":3,"dropout_probability":0.2})";

class Food11Trial : public OneWorkerTest {
 protected:
  void SetUp() override {
    OneWorkerTest::SetUp();
    StartWorker(WorkerArguments());
    SendWelcome("val_accuracy", R"("food11")", 60'000, OwnPaths());
  }
  virtual std::vector<std::string> OwnPaths() const { return {}; }
  virtual std::vector<std::string> WorkerArguments() const {
    return {"--cpus", "1", "--local", "--prewarm", "food11"};
  }

  void Start(const AttemptRef& ref, const std::string& config,
             const AttemptReport* from = nullptr) {
    StartAttempt start;
    start.ref = ref;
    start.cpu_milli = 1000;
    start.config = config;
    start.artifact_dir = folder_ + "/" + std::to_string(ref.attempt.value);
    if (from != nullptr) {
      start.from_iteration = from->report.iteration;
      start.checkpoint_path = from->report.checkpoint.path;
    }
    Send(start);
  }

  // What does not depend on how fast the machine is.
  static std::map<std::string, double> Learned(const AttemptReport& report) {
    std::map<std::string, double> learned(report.report.metrics.begin(),
                                          report.report.metrics.end());
    learned.erase("epoch_seconds");
    learned.erase("images_per_second");
    return learned;
  }
};

// Three epochs in one go; then two, a stop, and the third from the checkpoint: the same numbers,
// bit for bit.
TEST_F(Food11Trial, GoesOnFromItsCheckpointAsIfItHadNeverStopped) {
  std::vector<AttemptReport> whole;
  Start(Ref(0, 1, 1), kSmall);
  for (int epoch = 1; epoch <= 3; ++epoch) {
    whole.push_back(Report());
    ASSERT_EQ(whole.back().report.iteration, epoch);
    ASSERT_TRUE(whole.back().report.has_checkpoint);
    EXPECT_TRUE(fs::is_directory(whole.back().report.checkpoint.path));
    EXPECT_GT(whole.back().report.checkpoint.bytes, 0);
    EXPECT_EQ(whole.back().report.checkpoint.checksum.size(), 16u);
    Answer(whole.back(), epoch == 3 ? ReportAnswer::kStop : ReportAnswer::kContinue);
  }
  EXPECT_TRUE(whole[2].report.final);
  EXPECT_TRUE(Learned(whole[2]).contains("test_accuracy"));
  // Of the epoch with the highest val_accuracy, the sweep's metric.
  const auto best = std::max_element(whole.begin(), whole.end(), [](const auto& a, const auto& b) {
    return Learned(a).at("val_accuracy") < Learned(b).at("val_accuracy");
  });
  EXPECT_EQ(Learned(whole[2]).at("test_epoch"), static_cast<double>(best->report.iteration));
  EXPECT_EQ(End().outcome, Outcome::kCompleted);

  Start(Ref(0, 2, 2), kSmall);
  Answer(Report(), ReportAnswer::kContinue);
  const AttemptReport second = Report();
  EXPECT_EQ(Learned(second), Learned(whole[1]));
  Answer(second, ReportAnswer::kStop);
  EXPECT_EQ(End().outcome, Outcome::kStopped);

  Start(Ref(0, 3, 3), kSmall, &second);
  const AttemptReport third = Report();
  EXPECT_EQ(third.report.iteration, 3);
  EXPECT_EQ(Learned(third), Learned(whole[2]));
  Answer(third, ReportAnswer::kStop);
  EXPECT_EQ(End().outcome, Outcome::kCompleted);
  EXPECT_EQ(ChildrenOf(worker_->pid()).size(), 1u) << "one process ran all three";
}

TEST(Food11Options, TheBestEpochIsThatOfTheSweepsMetricInItsDirection) {
  TrialStart start;
  start.config = Value::MakeMap();
  start.metric = "val_accuracy - val_loss";
  const auto most = ReadFood11Options(start, "synthetic");
  ASSERT_TRUE(most.ok()) << most.status().message();
  EXPECT_EQ(most->best_epoch.metric(), start.metric);
  EXPECT_TRUE(most->best_epoch.IsBetter(0.5, 0.4));
  start.mode = Mode::kMin;
  EXPECT_TRUE(ReadFood11Options(start, "synthetic")->best_epoch.IsBetter(0.4, 0.5));
}

TEST_F(Food11Trial, SaysWhatIsWrongWithAConfiguration) {
  Start(Ref(0, 1, 1), R"({"data":"synthetic","lr":-1})");
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_THAT(end.error, testing::HasSubstr("lr"));
}

// The other processes of the sweep begin with what the folder has.
TEST_F(Food11Trial, AWarmProcessLoadsDataAgainThatHaveChanged) {
  const auto write_image = [this](const std::string& path, char level) {
    fs::create_directories(fs::path(folder_ + "/images/" + path).parent_path());
    std::ofstream(folder_ + "/images/" + path, std::ios::binary) << "P5\n8 8\n255\n"
                                                                 << std::string(64, level);
  };
  for (const std::string split : {"training", "validation", "evaluation"}) {
    for (const std::string name : {"/a/", "/b/"}) {
      write_image(split + name + "0.pgm", 10);
      write_image(split + name + "1.pgm", 90);
    }
  }
  const auto data_hash_of_trial = [this](int64_t trial) {
    Start(Ref(0, trial, trial),
          R"({"data":"images","image_size":32,"width_mult":0.35,"batch_size":2,"total_epochs":1})");
    const AttemptReport report = Report();
    Answer(report, ReportAnswer::kStop);
    EXPECT_EQ(End().outcome, Outcome::kCompleted);
    const auto manifest = models::ReadCheckpointManifest(report.report.checkpoint.path);
    EXPECT_TRUE(manifest.ok()) << manifest.status().message();
    return manifest.ok() ? manifest->data_hash : 0;
  };
  const uint64_t first = data_hash_of_trial(1);
  EXPECT_EQ(data_hash_of_trial(2), first);
  write_image("training/b/2.pgm", 120);
  EXPECT_NE(data_hash_of_trial(3), first);
  EXPECT_EQ(ChildrenOf(worker_->pid()).size(), 1u) << "one process ran all three";
}

TEST_F(Food11Trial, OnTheTunersOwnMachineMissingDataFailTheTrial) {
  Start(Ref(0, 1, 1), R"({"data":"nowhere","image_size":32})");
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_THAT(end.error, testing::HasSubstr("no folder '" + folder_ + "/nowhere'"));
}

// A worker of another machine than the tuner's.
class JoinedFood11Trial : public Food11Trial {
 protected:
  std::vector<std::string> WorkerArguments() const override { return {"--cpus", "1"}; }

  void ExpectTrialGivenBack(const std::string& config, const std::string& why) {
    Start(Ref(0, 1, 1), config);
    const AttemptEnded end = End();
    EXPECT_EQ(end.outcome, Outcome::kPreempted);
    EXPECT_THAT(end.error, testing::HasSubstr(why));
    EXPECT_TRUE(sink_.WaitForMessage<Goodbye>()) << "it would be given the next trial";
  }
};

TEST_F(JoinedFood11Trial, IsGivenBackWhereTheDataAreNot) {
  ExpectTrialGivenBack(R"({"data":"nowhere","image_size":32})",
                       "no folder '" + folder_ + "/nowhere'");
}

TEST_F(JoinedFood11Trial, IsGivenBackWhereTheDiskOfTheDataIsNotMounted) {
  fs::create_directory(folder_ + "/mount_point");
  ExpectTrialGivenBack(R"({"data":"mount_point","image_size":32})", "mount_point' is empty");
}

TEST_F(JoinedFood11Trial, IsGivenBackWhereNoDataFolderIsNamed) {
  ExpectTrialGivenBack(R"({"image_size":32})", "FOOD11_DATA_DIR");
}

TEST_F(JoinedFood11Trial, IsGivenBackWhereTheWeightsAreNot) {
  ExpectTrialGivenBack(
      R"({"data":"synthetic","image_size":32,"width_mult":0.35,"weights":"nowhere.safetensors"})",
      "nowhere.safetensors");
}

// A typing mistake in one of the choices is on each machine.
class JoinedFood11TrialOfSeveralWeights : public JoinedFood11Trial {
 protected:
  std::vector<std::string> OwnPaths() const override { return {"weights"}; }
};

TEST_F(JoinedFood11TrialOfSeveralWeights, FailsAloneWhereItsOwnAreNot) {
  Start(
      Ref(0, 1, 1),
      R"({"data":"synthetic","image_size":32,"width_mult":0.35,"weights":"nowhere.safetensors"})");
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kBadConfig);
  EXPECT_THAT(end.error, testing::HasSubstr("nowhere.safetensors"));
  Start(Ref(1, 1, 2), R"({"data":"synthetic","lr":-1})");
  EXPECT_THAT(End().error, testing::HasSubstr("lr")) << "the worker is there for the others";
}

TEST_F(JoinedFood11TrialOfSeveralWeights, IsGivenBackWhereTheDataOfAllAreNot) {
  ExpectTrialGivenBack(R"({"data":"nowhere","image_size":32})",
                       "no folder '" + folder_ + "/nowhere'");
}

// Each would wait for the others in a folder of its own.
TEST(Food11Rank, ThatCannotMeetThoseOfOtherWorkersSaysSoAtOnce) {
  SweepInfo sweep;
  sweep.experiment = "sweep";
  sweep.metric = "val_accuracy";
  sweep.trainable = R"("food11")";
  sweep.base_dir = "/nowhere";
  StartAttempt start;
  start.ref = Ref(0, 1, 1);
  start.cpu_milli = 1000;
  start.config = kSmall;
  start.artifact_dir = "/nowhere/sweep/0";
  start.world_size = 2;
  start.is_spread = true;
  start.group.local_world_size = 1;
  start.group.node_count = 2;
  WorkPlace place;
  place.has_own_artifacts = true;
  DrivenTrial rank("tune_trial_food11");
  rank.Start(sweep, start, place);
  const TrialEnd end = rank.Expect<TrialEnd>();
  EXPECT_EQ(end.detail, EndDetail::kUnfitMachine);
  EXPECT_THAT(end.error, testing::HasSubstr("/nowhere/sweep/0 is a folder of this machine alone"));
}

TEST_F(Food11Trial, EndsSoonWhenKilledInTheMiddleOfAnEpoch) {
  Start(Ref(0, 1, 1), kSmall);
  Answer(Report(), ReportAnswer::kContinue);
  Send(KillAttempt{Ref(0, 1, 1)});
  EXPECT_EQ(End().outcome, Outcome::kPreempted);
}

TEST_F(Food11Trial, ADamagedCheckpointIsToldAndIsNoFaultOfTheConfiguration) {
  AttemptReport from;
  from.report.iteration = 1;
  from.report.checkpoint.path = folder_ + "/absent";
  Start(Ref(0, 1, 1), kSmall, &from);
  const AttemptEnded end = End();
  EXPECT_EQ(end.outcome, Outcome::kCrashed);
  EXPECT_THAT(end.error, testing::HasSubstr("absent"));
}

}  // namespace
}  // namespace tune
