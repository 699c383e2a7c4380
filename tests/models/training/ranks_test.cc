// Several ranks train one network: real sums over real connections, each rank a thread.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/random.h"
#include "models/data/synthetic.h"
#include "models/ranks/gradient_buckets.h"
#include "models/train/rank_batch_runner.h"
#include "models/train/rank_check.h"
#include "models/train/trainer.h"
#include "tests/models/training/fake_network.h"
#include "tests/models/training/on_ranks.h"
#include "tests/models/training/small_training.h"
#include "tests/models/training/temp_folder.h"

// Gloo forgets what it looked up where it then cannot listen. (A reserved name, by which the
// sanitizer of leaks asks.)
extern "C" const char* __lsan_default_suppressions();
extern "C" const char* __lsan_default_suppressions() {
  return "leak:gloo::transport::tcp::CreateDeviceAttr";
}

// Minutes that pass each time when a thread that says so looks at the clock.
static thread_local bool time_flies = false;
static std::atomic<int> minutes_flown = 0;

// In the place of the standard library's, for Gloo too.
std::chrono::steady_clock::time_point std::chrono::steady_clock::now() noexcept {
  timespec now = {};
  clock_gettime(CLOCK_MONOTONIC, &now);
  const int minutes = time_flies ? ++minutes_flown : 0;
  return time_point(seconds(now.tv_sec) + nanoseconds(now.tv_nsec) + std::chrono::minutes(minutes));
}

namespace tune::models {
namespace {

TEST(ConnectRanks, EachRankGetsTheSameSums) {
  for (const int world_size : {2, 3}) {
    for (const size_t count : {size_t{1}, size_t{2}, size_t{100'003}}) {
      std::vector<std::vector<float>> of_ranks(static_cast<size_t>(world_size));
      OnRanks(world_size, [&](AllReduce& ranks) {
        EXPECT_EQ(ranks.world_size(), world_size);
        std::vector<float>& mine = of_ranks[static_cast<size_t>(ranks.rank())];
        KeyedRandom random(7, "numbers", static_cast<uint64_t>(ranks.rank()));
        for (size_t i = 0; i < count; ++i) {
          mine.push_back(static_cast<float>(random.NextDouble()));
        }
        std::vector<double> exact(mine.begin(), mine.end());
        ASSERT_TRUE(ranks.Sum(std::span<float>(mine)).ok());
        ASSERT_TRUE(ranks.Sum(std::span<double>(exact)).ok());
        for (size_t i = 0; i < count; ++i) ASSERT_NEAR(mine[i], exact[i], 1e-6) << i;
      });
      for (const auto& other : of_ranks) EXPECT_EQ(other, of_ranks.front());
    }
  }
}

TEST(ConnectRanks, OneThatLeavesIsHeardOfByThoseThatWaitForIt) {
  OnRanks(3, [](AllReduce& ranks) {
    if (ranks.rank() == 1) return;
    std::vector<float> numbers(10, 1.0F);
    const Status status = ranks.Sum(std::span<float>(numbers));
    EXPECT_EQ(status.code(), StatusCode::kUnavailable);
    EXPECT_TRUE(status.message().starts_with("the connection to another rank broke: "))
        << status.message();
    EXPECT_EQ(ranks.Sum(std::span<float>(numbers)), status);
  });
}

// It may have had to decode the images first.
TEST(ConnectRanks, OneThatComesLateIsWaitedFor) {
  for (const int late : {0, 1}) {
    const TempFolder folder;
    const auto connect = [&](int rank) { return ConnectRanks({rank, 2, folder / "ranks"}); };
    minutes_flown = 0;
    std::atomic<bool> has_ended = false;
    std::thread early([&] {
      time_flies = true;
      const auto connected = connect(1 - late);
      EXPECT_TRUE(connected.ok()) << connected.status().message();
      has_ended = true;
    });
    while (minutes_flown < 10 && !has_ended) std::this_thread::yield();
    const auto connected = has_ended ? Unavailable("nobody waits") : connect(late).status();
    EXPECT_TRUE(connected.ok()) << "after " << minutes_flown << " minutes: " << connected.message();
    early.join();
  }
}

TEST(ConnectRanks, SaysWhatAddressItCannotHave) {
  const TempFolder folder;
  const auto connected = ConnectRanks({0, 2, folder / "ranks", "192.0.2.1"});
  ASSERT_FALSE(connected.ok());
  EXPECT_EQ(connected.status().code(), StatusCode::kUnavailable);
}

// Doubles what it is given, as if the other rank had the same, and can be waited for.
class Twin final : public AllReduce {
 public:
  int rank() const override { return 0; }
  int world_size() const override { return 2; }
  Status Sum(std::span<float> numbers) override {
    {
      const std::lock_guard lock(mutex_);
      sizes_.push_back(numbers.size());
      if (sizes_.size() > fails_after_) return Unavailable("it left");
    }
    for (float& number : numbers) number *= 2;
    changed_.notify_all();
    return OkStatus();
  }
  Status Sum(std::span<double> numbers) override {
    for (double& number : numbers) number *= 2;
    return OkStatus();
  }
  void WaitForSums(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return sizes_.size() >= count; });
  }
  void FailAfter(size_t count) { fails_after_ = count; }
  const std::vector<size_t>& sizes() const { return sizes_; }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<size_t> sizes_;
  size_t fails_after_ = 1000;
};

TEST(GradientBuckets, AreUnderWayBeforeTheBackwardPassHasEnded) {
  Twin twin;
  GradientBuckets buckets(twin, 10);
  std::vector<float> gradients(35, 1.0F);
  for (int step = 0; step < 2; ++step) {
    buckets.Begin(gradients);
    buckets.Ready(27);  // Not a whole bucket yet.
    buckets.Ready(12);
    twin.WaitForSums(static_cast<size_t>(4 * step + 2));  // Nothing more is ready.
    buckets.Ready(0);
    ASSERT_TRUE(buckets.Finish().ok());
  }
  EXPECT_EQ(twin.sizes(), (std::vector<size_t>{10, 10, 10, 5, 10, 10, 10, 5}));
  EXPECT_EQ(gradients, std::vector<float>(35, 4.0F));
}

TEST(GradientBuckets, LeaveWhatWasNotComputed) {
  Twin twin;
  GradientBuckets buckets(twin, 10);
  std::vector<float> gradients(35, 1.0F);
  buckets.Begin(gradients);
  buckets.Ready(31);
  ASSERT_TRUE(buckets.Finish().ok());
  EXPECT_EQ(gradients[30], 1.0F);
  EXPECT_EQ(gradients[31], 2.0F);
}

TEST(GradientBuckets, SayThatARankIsGoneAndGoOnSayingIt) {
  Twin twin;
  twin.FailAfter(1);
  GradientBuckets buckets(twin, 10);
  std::vector<float> gradients(35, 1.0F);
  for (int step = 0; step < 2; ++step) {
    buckets.Begin(gradients);
    buckets.Ready(0);
    EXPECT_EQ(buckets.Finish(), Unavailable("it left"));
  }
  EXPECT_EQ(twin.sizes().size(), 2u);
}

// ---- training steps

// Of 32 pixels the last maps are single ones, and batch norm over a few of those makes much of a
// rounding: where sums are taken in another order, as over the same images in two ways, that is a
// thousandth and more of a gradient. Of 64 pixels it is a hundred-thousandth.
constexpr int kPixels = 64;

NetworkOptions SmallNetwork(int threads) {
  NetworkOptions options;
  options.width_mult = 0.35;
  options.image_size = kPixels;
  options.class_count = 4;
  options.batch_max = 16;
  options.threads = threads;
  return options;
}

struct Batch {
  std::vector<float> images;
  std::vector<int32_t> labels;
};

Batch DrawBatch(int count) {
  Batch batch;
  for (int i = 0; i < count; ++i) {
    KeyedRandom random(11, "image", static_cast<uint64_t>(i));
    for (int j = 0; j < kPixels * kPixels * 3; ++j) {
      batch.images.push_back(static_cast<float>(random.NextNormal()));
    }
    batch.labels.push_back(static_cast<int32_t>(random.NextBelow(4)));
  }
  return batch;
}

Batch Part(const Batch& batch, size_t begin, size_t count) {
  const size_t floats = kPixels * kPixels * 3;
  return {{batch.images.begin() + static_cast<ptrdiff_t>(begin * floats),
           batch.images.begin() + static_cast<ptrdiff_t>((begin + count) * floats)},
          {batch.labels.begin() + static_cast<ptrdiff_t>(begin),
           batch.labels.begin() + static_cast<ptrdiff_t>(begin + count)}};
}

// The gradients that rank `rank` holds after one step on its part of the batch.
using Gradients = std::vector<NamedTensor>;
std::vector<Gradients> StepOnRanks(const Batch& batch, const std::vector<size_t>& counts,
                                   int threads, const TrainStepOptions& options) {
  std::vector<Gradients> of_ranks(counts.size());
  OnRanks(static_cast<int>(counts.size()), [&](AllReduce& ranks) {
    const size_t rank = static_cast<size_t>(ranks.rank());
    size_t begin = 0;
    for (size_t i = 0; i < rank; ++i) begin += counts[i];
    GradientBuckets exchange(ranks, 10'000);
    const auto network = *MobileNetV2::Create(SmallNetwork(threads), 5);
    TrainStepOptions step = options;
    step.share =
        BatchShare{static_cast<int>(batch.labels.size()), static_cast<int>(begin), &exchange};
    const Batch mine = Part(batch, begin, counts[rank]);
    const auto result = network->TrainStep(mine.images, mine.labels, step);
    ASSERT_TRUE(result.ok()) << result.status().message();
    of_ranks[rank] = *network->ExportGradients();
  });
  return of_ranks;
}

// Of the gradients over all, in the 2-norm.
double RelativeDistance(const Gradients& a, const Gradients& b) {
  double difference = 0, size = 0;
  EXPECT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].name, b[i].name);
    for (size_t j = 0; j < a[i].data.size(); ++j) {
      difference += std::pow(a[i].data[j] - b[i].data[j], 2);
      size += std::pow(a[i].data[j], 2);
    }
  }
  return std::sqrt(difference / size);
}

// Each rank's share has images of its own, so has batch norm: the reference computes each share
// apart and adds up the gradients, each weighted by its images.
TEST(RankedStep, IsTheWeightedSumOfStepsOnTheShares) {
  const Batch batch = DrawBatch(11);
  const std::vector<size_t> counts = {5, 3, 3};
  TrainStepOptions step;
  step.dropout_probability = 0;
  for (const int threads : {1, 2}) {
    Gradients sum;
    for (size_t begin = 0, rank = 0; rank < counts.size(); begin += counts[rank++]) {
      const auto network = *MobileNetV2::Create(SmallNetwork(threads), 5);
      const Batch part = Part(batch, begin, counts[rank]);
      ASSERT_TRUE(network->TrainStep(part.images, part.labels, step).ok());
      const Gradients mine = *network->ExportGradients();
      if (sum.empty()) {
        sum = mine;
        for (NamedTensor& tensor : sum) tensor.data.assign(tensor.data.size(), 0.0F);
      }
      for (size_t i = 0; i < sum.size(); ++i) {
        for (size_t j = 0; j < sum[i].data.size(); ++j) {
          sum[i].data[j] += mine[i].data[j] * static_cast<float>(counts[rank]) / 11.0F;
        }
      }
    }
    const std::vector<Gradients> of_ranks = StepOnRanks(batch, counts, threads, step);
    for (const Gradients& gradients : of_ranks) {
      EXPECT_LT(RelativeDistance(sum, gradients), 1e-5);
      EXPECT_TRUE(SameTensors(gradients, of_ranks.front()));
    }
    // The same bits each time.
    EXPECT_TRUE(SameTensors(StepOnRanks(batch, counts, threads, step).front(), of_ranks.front()));
  }
}

// Where both shares hold the same images, their batch norms see what one over the whole would see:
// in the backward pass too, unless dropout makes the shares' gradients differ.
TEST(RankedStep, OfTwoRanksIsOneRanksStepWithTheDoubledBatch) {
  Batch batch = DrawBatch(8);
  const Batch half = batch;
  batch.images.insert(batch.images.end(), half.images.begin(), half.images.end());
  batch.labels.insert(batch.labels.end(), half.labels.begin(), half.labels.end());
  for (const bool train_backbone : {true, false}) {
    TrainStepOptions step;
    step.train_backbone = train_backbone;
    step.dropout_probability = train_backbone ? 0 : 0.4;  // Each image has a mask of its own.
    const auto network = *MobileNetV2::Create(SmallNetwork(2), 5);
    ASSERT_TRUE(network->TrainStep(batch.images, batch.labels, step).ok());
    const std::vector<Gradients> of_ranks = StepOnRanks(batch, {8, 8}, 2, step);
    EXPECT_LT(RelativeDistance(*network->ExportGradients(), of_ranks[0]), 1e-4);
    EXPECT_TRUE(SameTensors(of_ranks[0], of_ranks[1]));
  }
}

TEST(RankedStep, ThatFailsMovesNoWeight) {
  Twin twin;
  twin.FailAfter(0);
  GradientBuckets exchange(twin);
  const Batch batch = DrawBatch(4);
  const auto network = *MobileNetV2::Create(SmallNetwork(1), 5);
  const std::vector<NamedTensor> before = *network->ExportOptimizer();
  TrainStepOptions step;
  step.share = BatchShare{8, 0, &exchange};
  EXPECT_EQ(network->TrainStep(batch.images, batch.labels, step).status(), Unavailable("it left"));
  EXPECT_TRUE(SameTensors(*network->ExportOptimizer(), before));
}

// ---- whole trainings

constexpr int kTrainingPerClass = 11;  // 44: batches of 10 leave four, two a rank.
constexpr int kBatchSize = 10;

struct Trained {
  std::vector<NamedTensor> weights, optimizer;
  std::vector<EpochReport> history;
  std::vector<std::vector<NamedTensor>> after_epoch;
};

// `from`: a checkpoint, or empty; rank 0 saves into `parent`, unless empty, after `save_after`.
std::vector<Trained> TrainOnRanks(int world_size, const std::string& from = "",
                                  const std::string& parent = "", size_t save_after = 0) {
  std::vector<Trained> of_ranks(static_cast<size_t>(world_size));
  OnRanks(world_size, [&](AllReduce& ranks) {
    Trained& trained = of_ranks[static_cast<size_t>(ranks.rank())];
    auto made = MakeTrainer(
        SmallTraining(kBatchSize), SmallData(kTrainingPerClass), 1, [] { return 0.0; }, &ranks);
    ASSERT_TRUE(made.ok()) << made.status().message();
    Trainer& trainer = **made;
    if (!from.empty()) {
      const Status restored = trainer.RestoreCheckpoint(from);
      ASSERT_TRUE(restored.ok()) << restored.message();
    }
    while (!trainer.finished()) {
      ASSERT_TRUE(trainer.RunEpoch().ok());
      trained.after_epoch.push_back(*trainer.network().ExportWeights());
      if (ranks.rank() == 0 && trainer.history().size() == save_after) {
        ASSERT_TRUE(trainer.SaveCheckpoint(parent, "saved").ok());
      }
    }
    trained.weights = *trainer.network().ExportWeights();
    trained.optimizer = *trainer.network().ExportOptimizer();
    trained.history = trainer.history();
  });
  return of_ranks;
}

TEST(RankedTraining, LeavesAllRanksWithTheSameWeightsAndScoresAfterEachEpoch) {
  const std::vector<Trained> of_ranks = TrainOnRanks(3);
  for (const Trained& trained : of_ranks) {
    const Trained& first = of_ranks.front();
    ASSERT_EQ(trained.after_epoch.size(), first.after_epoch.size());
    for (size_t i = 0; i < first.after_epoch.size(); ++i) {
      EXPECT_TRUE(SameTensors(trained.after_epoch[i], first.after_epoch[i])) << "epoch " << i + 1;
      EXPECT_EQ(trained.history[i].train_loss, first.history[i].train_loss);
      EXPECT_EQ(trained.history[i].val_loss, first.history[i].val_loss);
    }
    EXPECT_TRUE(SameTensors(trained.optimizer, first.optimizer));
    EXPECT_EQ(trained.history.back().test_loss, first.history.back().test_loss);
  }
}

TEST(RankedTraining, SeesEachImageOnce) {
  const std::vector<EpochReport> history = TrainOnRanks(2).front().history;
  ASSERT_EQ(history.size(), 4u);
  // 44 images in training, 20 in validation: the accuracies are their multiples.
  for (const EpochReport& report : history) {
    EXPECT_NEAR(report.train_accuracy * 44, std::round(report.train_accuracy * 44), 1e-9);
    EXPECT_NEAR(report.val_accuracy * 20, std::round(report.val_accuracy * 20), 1e-9);
  }
}

// Who is told ahead what images come next, and counts the steps that it was told nothing of.
class Foretold final : public BatchRunner {
 public:
  Foretold(std::unique_ptr<BatchRunner> inner, int& surprises)
      : inner_(std::move(inner)), surprises_(surprises) {}

  std::string Note() const override { return "the inner one"; }
  Result<BatchResult> Run(const BatchStep& step) override {
    if (!next_.empty()) {
      EXPECT_EQ(NumbersOf(step), next_);
    } else {
      ++surprises_;
    }
    next_ = NumbersOf(step.next);
    return inner_->Run(step);
  }

 private:
  static std::vector<int64_t> NumbersOf(const BatchImages& images) {
    std::vector<int64_t> numbers;
    for (int64_t i = 0; i < images.count; ++i) numbers.push_back(images.Number(i));
    return numbers;
  }

  const std::unique_ptr<BatchRunner> inner_;
  int& surprises_;
  std::vector<int64_t> next_;
};

TEST(RankedTraining, TellsEachRankAheadWhichImagesItsNextStepHas) {
  OnRanks(2, [](AllReduce& ranks) {
    const Food11Options options = SmallTraining(kBatchSize);
    const auto data = SmallData(kTrainingPerClass);
    auto network = MakeNetwork(options, data->class_count(), 1, /*world_size=*/2);
    ASSERT_TRUE(network.ok());
    int surprises = 0;
    auto foretold = std::make_unique<Foretold>(MakeHostBatchRunner(**network, *data), surprises);
    auto batches = MakeRankBatchRunner(std::move(foretold), **network, ranks, nullptr, "the ranks");
    EXPECT_EQ(batches->Note(), "the ranks\nthe inner one");
    Trainer trainer(
        options, data, *std::move(network), [] { return 0.0; }, std::move(batches),
        /*world_size=*/2);
    ASSERT_TRUE(trainer.RunEpoch().ok());
    EXPECT_EQ(surprises, 2);  // The first steps of training and of validation.
  });
}

TEST(RankedTraining, ResumesBitForBitInBothPhases) {
  for (const size_t save_after : {size_t{1}, size_t{2}}) {
    const TempFolder folder;
    const Trained whole = TrainOnRanks(2, "", folder.path(), save_after).front();
    const Trained resumed = TrainOnRanks(2, folder / "saved").front();
    EXPECT_TRUE(SameTensors(resumed.weights, whole.weights));
    EXPECT_TRUE(SameTensors(resumed.optimizer, whole.optimizer));
    EXPECT_EQ(resumed.history.back().test_loss, whole.history.back().test_loss);
  }
}

// ---- what ranks must have alike

// What each of two ranks says of its first epoch, where the second one begins with something else.
struct Beginning {
  Food11Options options = SmallTraining(kBatchSize);
  std::shared_ptr<const Dataset> data = SmallData(kTrainingPerClass);
  float added_to_weights = 0;
};
std::vector<Status> BeginApart(const Beginning& other) {
  std::vector<Status> of_ranks(2);
  OnRanks(2, [&](AllReduce& ranks) {
    const Beginning mine = ranks.rank() == 0 ? Beginning() : other;
    const auto made = MakeTrainer(
        mine.options, mine.data, 1, [] { return 0.0; }, &ranks);
    ASSERT_TRUE(made.ok()) << made.status().message();
    Trainer& trainer = **made;
    std::vector<NamedTensor> weights = *trainer.network().ExportWeights();
    weights.front().data.front() += mine.added_to_weights;
    ASSERT_TRUE(trainer.network().ImportWeights(weights, /*head_optional=*/false).ok());
    of_ranks[static_cast<size_t>(ranks.rank())] = trainer.RunEpoch().status();
    EXPECT_EQ(trainer.history().empty(), !of_ranks[static_cast<size_t>(ranks.rank())].ok());
  });
  return of_ranks;
}

void ExpectRefusal(const Beginning& other, const std::string& why) {
  const std::vector<Status> of_ranks = BeginApart(other);
  EXPECT_EQ(of_ranks[0].code(), StatusCode::kFailedPrecondition) << why;
  EXPECT_THAT(of_ranks[0].message(), testing::HasSubstr("they differ in " + why));
  EXPECT_EQ(of_ranks[1], of_ranks[0]) << "each rank has the same line";
}

TEST(RankedTraining, BeginsWhereAllRanksHaveTheSame) {
  EXPECT_TRUE(BeginApart({})[0].ok());
  Beginning elsewhere;  // The same under another path.
  elsewhere.options.data = "/mnt/food";
  EXPECT_TRUE(BeginApart(elsewhere)[1].ok());
}

TEST(RankedTraining, DoesNotBeginWithOtherOptionsDataOrWeightsOnSomeRank) {
  Beginning options;
  options.options.lr *= 2;
  ExpectRefusal(options, "lr: rank 1 has hash ");
  Beginning count;
  count.data = SmallData(kTrainingPerClass + 1);
  ExpectRefusal(count,
                "the number of images in training: rank 1 has 48, rank 0 has 44; each machine "
                "needs the same data");
  Beginning images;
  auto other_images = std::make_shared<Dataset>(*images.data);
  other_images->hash += 1;
  images.data = other_images;
  ExpectRefusal(images, "the images of the data: rank 1 has hash ");
  Beginning weights;
  weights.added_to_weights = 1e-3F;
  ExpectRefusal(weights, "the weights that they begin with: rank 1 has hash ");
}

// As it is of programs for other processors, of which a machine has but one.
TEST(RankedTraining, DoesNotBeginWhereRanksRoundOtherwise) {
  OnRanks(3, [](AllReduce& ranks) {
    const auto made = MakeTrainer(
        SmallTraining(kBatchSize), SmallData(kTrainingPerClass), 1, [] { return 0.0; }, &ranks);
    ASSERT_TRUE(made.ok()) << made.status().message();
    auto mine = AlikeOf((*made)->run(), *SmallData(kTrainingPerClass), (*made)->network());
    ASSERT_TRUE(mine.ok()) << mine.status().message();
    EXPECT_TRUE(CheckAlike(ranks, *mine).ok());
    const auto rounding = std::find_if(mine->begin(), mine->end(), [](const Alike& alike) {
      return alike.what.starts_with("how their processors round");
    });
    ASSERT_NE(rounding, mine->end());
    rounding->value += ranks.rank() == 2 ? 1 : 0;
    const Status status = CheckAlike(ranks, *mine);
    EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
    EXPECT_THAT(status.message(), testing::HasSubstr("round an update of the weights: rank 2 has"));
  });
}

TEST(RankedTraining, RefusesWhatRanksCannotShare) {
  Twin two;
  const auto make = [&two](const Food11Options& options) {
    return MakeTrainer(
               options, SmallData(kTrainingPerClass), 1, [] { return 0.0; }, &two)
        .status();
  };
  Food11Options options = SmallTraining(kBatchSize);
  options.batch_size = 3;
  EXPECT_EQ(make(options),
            InvalidArgument("batch_size: read 3, which 2 ranks share; expected 4 or more"));
}

}  // namespace
}  // namespace tune::models
