// Ranks on cards, with the processor in each card's place: real connections between them, in both
// ways that gradients go.
#include "models/cuda/host_card.h"
#include "tests/models/cuda/full_card.h"
#include "tests/models/cuda/rank_cases.h"

namespace tune::models::cuda {
namespace {

constexpr auto kMake = [] { return std::make_unique<HostCard>(); };

class OnBothPaths : public testing::TestWithParam<Path> {};

TEST_P(OnBothPaths, ASharedStepIsThatOfProcessors) {
  SharedStepIsThatOfProcessors<HostCard>(GetParam(), kMake, 1e-3);
}
TEST_P(OnBothPaths, TwoRanksAreOneWithTheDoubledBatch) {
  TwoRanksAreOneWithTheDoubledBatch<HostCard>(GetParam(), kMake, 1e-4);
}
TEST_P(OnBothPaths, TrainingIsThatOnProcessors) {
  TrainingOnCardsIsThatOnProcessors<HostCard>(GetParam(), kMake, 2e-2);
}

INSTANTIATE_TEST_SUITE_P(Cards, OnBothPaths, testing::Values(Path::kCards));
INSTANTIATE_TEST_SUITE_P(Host, OnBothPaths, testing::Values(Path::kHost));

TEST(RanksOnTheHost, WhoseDataStreamsEndWithTheBitsOfThoseWhoseDataIsThere) {
  const auto there = TrainRanksOnCards<HostCard>(Path::kCards, kMake);
  const auto streamed =
      TrainRanksOnCards<FullCard>(Path::kCards, [] { return std::make_unique<FullCard>(); });
  EXPECT_TRUE(SameBits(streamed.front().weights, there.front().weights));
  EXPECT_EQ(streamed.front().history.back().test_loss, there.front().history.back().test_loss);
}

// Of three ranks the order of addition matters.
TEST(RanksOnTheHost, HaveTheSameBitsEachTimeAndOnBothPaths) {
  SharedStep step;
  step.counts = {3, 2, 2};
  const auto first = RunOnCards<HostCard, Bf16>(step, Path::kCards, kMake);
  for (const Path path : {Path::kCards, Path::kHost}) {
    for (const AfterStep& rank : RunOnCards<HostCard, Bf16>(step, path, kMake)) {
      EXPECT_TRUE(SameBits(rank.gradients, first.front().gradients));
    }
  }
}

TEST(RanksOnTheHost, WhoseDataStreamsEndAsThoseWhoseDataIsThere) {
  const NetworkOptions options = NetworkOptionsOf(RankTraining(), 5, 1, 2);
  const int64_t bytes = OnCard<HostCard, float>(kMake, options)->device().budget().taken() +
                        StreamBytes(*RankData(), options.batch_max);
  const auto with_little_room = [bytes] { return std::make_unique<HostCard>(MemoryBudget(bytes)); };
  const auto streamed = TrainRanksOnCards<HostCard>(Path::kCards, with_little_room);
  const auto there = TrainRanksOnCards<HostCard>(Path::kCards, kMake);
  EXPECT_NE(streamed[0].note, "");
  EXPECT_EQ(there[0].note, "");
  EXPECT_TRUE(SameBits(streamed[0].weights, there[0].weights));
}

// A card on which sums begin as late as they may: what it was given to add up must not be touched
// until then. It knows how much was launched when.
class LateCard final : public HostCard {
 public:
  template <class Kernel>
  void Launch(const Kernel& kernel, const Grid& grid) {
    ++launches_;
    HostCard::Launch(kernel, grid);
  }
  void SumOverRanks(float* data, int64_t count) {
    asked_at_.push_back(launches_);
    asked_.push_back({data, std::vector<float>(data, data + count)});
  }
  void AwaitSums() {
    for (const Asked& asked : asked_) {
      const int64_t count = static_cast<int64_t>(asked.then.size());
      EXPECT_EQ(std::memcmp(asked.data, asked.then.data(), asked.then.size() * sizeof(float)), 0);
      HostCard::SumOverRanks(asked.data, count);
    }
    asked_.clear();
    launches_ = 0;
  }
  const std::vector<int>& asked_at() const { return asked_at_; }
  int launches_since() const { return launches_; }

 private:
  struct Asked {
    float* data;
    std::vector<float> then;
  };
  std::vector<Asked> asked_;
  std::vector<int> asked_at_;
  int launches_ = 0;
};

TEST(RanksOnTheHost, AddUpBesideTheBackwardPass) {
  const SharedStep step;
  const auto at_once = RunOnCards<HostCard, float>(step, Path::kCards, kMake);
  const auto late = RunShared(step, [](AllReduce& ranks) {
    auto network =
        OnCard<LateCard, float>([] { return std::make_unique<LateCard>(); }, SmallOptions());
    auto exchange = ExchangeBy(Path::kCards, *network, ranks);
    return Joined{std::move(network), std::move(exchange)};
  });
  EXPECT_TRUE(SameBits(late[0].weights, at_once[0].weights));
  EXPECT_TRUE(SameBits(late[1].weights, at_once[1].weights));
}

TEST(RanksOnTheHost, AskForASumAsSoonAsItsGradientsAreThere) {
  const SharedStep step;
  OnRanks(2, [&](AllReduce& ranks) {
    const auto network =
        OnCard<LateCard, float>([] { return std::make_unique<LateCard>(); }, SmallOptions());
    const auto exchange = ExchangeBy(Path::kCards, *network, ranks);
    TrainStepOptions options = step.options;
    options.share = BatchShare{2 * kBatch, kBatch * ranks.rank(), exchange.get()};
    const LateCard& card = network->device();
    ASSERT_TRUE(network->TrainStep(Images(kBatch, 40, 0), Labels(kBatch), options).ok());
    const std::vector<int>& asked_at = card.asked_at();
    // 0.4 million gradients by 40,000.
    ASSERT_GE(asked_at.size(), 10U);
    for (size_t i = 1; i < asked_at.size(); ++i) EXPECT_GE(asked_at[i], asked_at[i - 1]);
    // Between the first and the last lies most of the backward pass: more than a launch a layer.
    EXPECT_GE(asked_at.back() - asked_at.front(), 52);
    EXPECT_EQ(card.launches_since(), 2) << "Adam and the weights' copies come after the sums";
  });
}

// ---- a rank that is gone

// The other rank ends in the middle of a step, when `leaves_after` sums have been.
Status StepWhenTheOtherLeaves(Path path, int leaves_after, bool& weights_moved) {
  Status status;
  OnRanks(2, [&](AllReduce& ranks) {
    const SharedStep step;
    auto network = OnCard<HostCard, float>(kMake, SmallOptions());
    if (ranks.rank() == 1) {
      std::vector<float> zeros(kSmallBucket);
      for (int i = 0; i < leaves_after; ++i) {
        ASSERT_TRUE(ranks.Sum(std::span<float>(zeros)).ok());
      }
      return;
    }
    const auto before = *network->ExportOptimizer();
    const auto exchange = ExchangeBy(path, *network, ranks);
    TrainStepOptions options = step.options;
    options.share = BatchShare{2 * kBatch, 0, exchange.get()};
    status = network->TrainStep(Images(kBatch, 40, 0), Labels(kBatch), options).status();
    const auto after = network->ExportOptimizer();
    // A card that failed tells nothing more of what it holds.
    weights_moved = after.ok() && !SameBits(*after, before);
    if (path == Path::kCards) {
      EXPECT_EQ(after.status(), status);
      EXPECT_EQ(network->TrainStep(Images(kBatch, 40, 0), Labels(kBatch), options).status(),
                status);
    }
  });
  return status;
}

TEST(RanksOnTheHost, ARankThatIsGoneIsToldAndMovesNoWeight) {
  for (const Path path : {Path::kCards, Path::kHost}) {
    for (const int leaves_after : {0, 3}) {
      bool weights_moved = true;
      const Status status = StepWhenTheOtherLeaves(path, leaves_after, weights_moved);
      EXPECT_EQ(status.code(), StatusCode::kUnavailable) << status.message();
      EXPECT_FALSE(weights_moved);
    }
  }
}

}  // namespace
}  // namespace tune::models::cuda
