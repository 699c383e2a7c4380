// What ranks on cards must do together, on any Device: called with the processor in the card's
// place, and with a card that two ranks share. Ranks are threads with real connections; a card is
// made by make().
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "models/cuda/card_buckets.h"
#include "models/data/synthetic.h"
#include "models/ranks/gradient_buckets.h"
#include "models/train/rank_batch_runner.h"
#include "models/train/trainer.h"
#include "tests/models/cuda/network_cases.h"
#include "tests/models/training/on_ranks.h"

namespace tune::models::cuda {

// Where ranks add up their gradients.
enum class Path { kCards, kHost };

// Small, so that a network's gradients are many of them.
inline constexpr int64_t kSmallBucket = 40'000;

template <class Device, class T>
std::unique_ptr<GradientExchange> ExchangeBy(Path path, CardNetwork<Device, T>& network,
                                             AllReduce& ranks) {
  if (path == Path::kHost) return std::make_unique<GradientBuckets>(ranks, kSmallBucket);
  auto on_cards = MakeCardBuckets(network.device(), ranks, kSmallBucket);
  TUNE_CHECK(on_cards.ok());
  return *std::move(on_cards);
}

// One step on a batch that ranks share, each with so many of its images; what each rank holds then.
struct SharedStep {
  std::vector<int> counts = {4, 3};
  TrainStepOptions options = StepOptions(1);
  int image_size = 40;
  // The images are those of the first rank, again and again.
  bool repeats = false;

  int whole_count() const {
    int sum = 0;
    for (const int count : counts) sum += count;
    return sum;
  }
  NetworkOptions network() const {
    NetworkOptions network = SmallOptions(image_size);
    network.batch_max = whole_count();
    return network;
  }
  std::vector<float> WholeImages() const {
    std::vector<float> images = Images(repeats ? counts.front() : whole_count(), image_size, 0);
    const std::vector<float> once = images;
    for (size_t i = 1; repeats && i < counts.size(); ++i) {
      images.insert(images.end(), once.begin(), once.end());
    }
    return images;
  }
  std::vector<int32_t> WholeLabels() const {
    std::vector<int32_t> labels;
    for (int i = 0; i < whole_count(); ++i) {
      labels.push_back((repeats ? i % counts.front() : i) % 5);
    }
    return labels;
  }
};

struct AfterStep {
  double loss = 0;  // Of the rank's share.
  std::vector<NamedTensor> gradients, weights;
};

// `join` makes a rank's network of it, and the exchange.
struct Joined {
  std::unique_ptr<MobileNetV2> network;
  std::unique_ptr<GradientExchange> exchange;  // Ends before the network.
};

template <class Join>
std::vector<AfterStep> RunShared(const SharedStep& step, Join join) {
  std::vector<AfterStep> of_ranks(step.counts.size());
  const std::vector<float> images = step.WholeImages();
  const std::vector<int32_t> labels = step.WholeLabels();
  OnRanks(static_cast<int>(step.counts.size()), [&](AllReduce& ranks) {
    const size_t rank = static_cast<size_t>(ranks.rank());
    size_t first = 0;
    for (size_t i = 0; i < rank; ++i) first += static_cast<size_t>(step.counts[i]);
    const size_t count = static_cast<size_t>(step.counts[rank]);
    const size_t floats = images.size() / labels.size();
    const Joined joined = join(ranks);
    SetLivelyWeights(*joined.network);
    TrainStepOptions options = step.options;
    options.share = BatchShare{step.whole_count(), static_cast<int>(first), joined.exchange.get()};
    const auto result =
        joined.network->TrainStep(std::span(images).subspan(first * floats, count * floats),
                                  std::span(labels).subspan(first, count), options);
    ASSERT_TRUE(result.ok()) << result.status().message();
    of_ranks[rank] = {result->loss_sum, *joined.network->ExportGradients(),
                      *joined.network->ExportWeights()};
  });
  return of_ranks;
}

template <class Device, class T, class Make>
std::vector<AfterStep> RunOnCards(const SharedStep& step, Path path, Make make) {
  return RunShared(step, [&](AllReduce& ranks) {
    auto network = OnCard<Device, T>(make, step.network());
    auto exchange = ExchangeBy(path, *network, ranks);
    return Joined{std::move(network), std::move(exchange)};
  });
}

inline std::vector<AfterStep> RunOnCpus(const SharedStep& step) {
  return RunShared(step, [&](AllReduce& ranks) {
    return Joined{OnCpu(step.network()), std::make_unique<GradientBuckets>(ranks, kSmallBucket)};
  });
}

// Shares, dropout's places and the whole batch's mean as on processors.
template <class Device, class Make>
void SharedStepIsThatOfProcessors(Path path, Make make, double tolerance) {
  for (const bool backbone : {true, false}) {
    SharedStep step;
    step.options.train_backbone = backbone;
    const auto on_cards = RunOnCards<Device, float>(step, path, make);
    const auto on_cpus = RunOnCpus(step);
    for (size_t rank = 0; rank < on_cards.size(); ++rank) {
      EXPECT_NEAR(on_cards[rank].loss, on_cpus[rank].loss, 1e-4 * step.counts[rank]);
      EXPECT_LE(Distance(on_cpus[rank].gradients, on_cards[rank].gradients), tolerance);
      EXPECT_TRUE(SameBits(on_cards[rank].gradients, on_cards.front().gradients));
    }
  }
}

// The batch norms of both shares see what one over the whole would see, for they hold the same.
template <class Device, class Make>
void TwoRanksAreOneWithTheDoubledBatch(Path path, Make make, double tolerance) {
  SharedStep step;
  step.counts = {8, 8};
  step.repeats = true;
  step.image_size = 64;
  step.options.dropout_probability = 0;
  const auto of_ranks = RunOnCards<Device, float>(step, path, make);
  const auto one = OnCard<Device, float>(make, step.network());
  SetLivelyWeights(*one);
  ASSERT_TRUE(one->TrainStep(step.WholeImages(), step.WholeLabels(), step.options).ok());
  EXPECT_LE(DistanceOverAll(*one->ExportGradients(), of_ranks[0].gradients), tolerance);
}

// ---- whole trainings

inline std::shared_ptr<const Dataset> RankData() {
  SyntheticOptions options;
  options.image_size = 40;
  options.class_count = 5;
  options.training_per_class = 3;  // 15: batches of 8 and 7.
  options.validation_per_class = options.evaluation_per_class = 2;
  return std::make_shared<const Dataset>(MakeSynthetic(options));
}

inline Food11Options RankTraining() {
  Food11Options options;
  options.batch_size = 8;
  options.width_mult = 0.35;
  options.image_size = 40;
  options.lr = options.fine_tune_lr = 1e-5;  // Adam turns rounding into steps.
  options.initial_epochs = 1;
  options.total_epochs = 2;
  options.seed = 3;
  return options;
}

struct RankTrained {
  std::vector<EpochReport> history;
  std::vector<NamedTensor> weights;
  std::string note;
};

// `make_batches`: this rank's runner and how it exchanges gradients.
template <class MakeNetworkAndBatches>
std::vector<RankTrained> TrainRanks(MakeNetworkAndBatches make) {
  std::vector<RankTrained> of_ranks(2);
  const auto data = RankData();
  OnRanks(2, [&](AllReduce& ranks) {
    const NetworkOptions options = NetworkOptionsOf(RankTraining(), 5, 1, 2);
    auto [network, inner, exchange] = make(options, data, ranks);
    auto batches = MakeRankBatchRunner(std::move(inner), *network, ranks, std::move(exchange));
    Trainer trainer(
        RankTraining(), data, std::move(network), [] { return 0.0; }, std::move(batches), 2);
    while (!trainer.finished()) {
      const auto epoch = trainer.RunEpoch();
      ASSERT_TRUE(epoch.ok()) << epoch.status().message();
    }
    of_ranks[static_cast<size_t>(ranks.rank())] = {
        trainer.history(), *trainer.network().ExportWeights(), trainer.Note()};
  });
  return of_ranks;
}

struct RankParts {
  std::unique_ptr<MobileNetV2> network;
  std::unique_ptr<BatchRunner> batches;
  std::unique_ptr<GradientExchange> exchange;
};

template <class Device, class Make>
std::vector<RankTrained> TrainRanksOnCards(Path path, Make make) {
  return TrainRanks(
      [&](const NetworkOptions& options, std::shared_ptr<const Dataset> data, AllReduce& ranks) {
        auto network = OnCard<Device, float>(make, options, RankTraining().seed);
        auto batches = CardBatchRunner<Device, float>::Make(*network, std::move(data));
        TUNE_CHECK(batches.ok());
        auto exchange = ExchangeBy(path, *network, ranks);
        return RankParts{std::move(network), *std::move(batches), std::move(exchange)};
      });
}

inline std::vector<RankTrained> TrainRanksOnCpus() {
  return TrainRanks(
      [](const NetworkOptions& options, std::shared_ptr<const Dataset> data, AllReduce& ranks) {
        auto network = OnCpu(options, RankTraining().seed);
        auto batches = MakeHostBatchRunner(*network, *data);
        return RankParts{std::move(network), std::move(batches),
                         std::make_unique<GradientBuckets>(ranks)};
      });
}

// Augmentation, both phases, the short last batch, statistics averaged, evaluation shared.
template <class Device, class Make>
void TrainingOnCardsIsThatOnProcessors(Path path, Make make, double tolerance) {
  const auto on_cards = TrainRanksOnCards<Device>(path, make);
  const auto on_cpus = TrainRanksOnCpus();
  EXPECT_TRUE(SameBits(on_cards[0].weights, on_cards[1].weights));
  const auto& cards = on_cards.front().history;
  const auto& cpus = on_cpus.front().history;
  ASSERT_EQ(cards.size(), cpus.size());
  for (size_t i = 0; i < cards.size(); ++i) {
    EXPECT_NEAR(cards[i].train_loss, cpus[i].train_loss, tolerance) << i;
    EXPECT_NEAR(cards[i].val_loss, cpus[i].val_loss, tolerance) << i;
    EXPECT_EQ(cards[i].train_loss, on_cards[1].history[i].train_loss);
  }
}

}  // namespace tune::models::cuda
