// Runs as lanes of the card's network, with the processor in the card's place.
#include "models/cuda/host_card.h"
#include "tests/models/cuda/lane_cases.h"

namespace tune::models::cuda {
namespace {

LaneWorld OnTheHostCard() {
  return OnTheCard<HostCard, float>([] { return std::make_unique<HostCard>(); });
}

TEST(LanesOnTheHostCard, OfAllPhasesAreAsAlone) { LanesOfAllPhasesAreAsAlone(OnTheHostCard()); }
TEST(LanesOnTheHostCard, JoinAndLeaveWithoutATrace) {
  LanesJoinAndLeaveWithoutATrace(OnTheHostCard());
}
TEST(LanesOnTheHostCard, ThatDivergeHurtThemselvesAlone) {
  ALaneThatDivergesHurtsItselfAlone(OnTheHostCard());
}

// A card whose memory holds so much and no more.
class SmallCard : public HostCard {
 public:
  explicit SmallCard(int64_t bytes) : left_(bytes) {}

  const Status& status() const { return status_; }
  Status Finish() { return status_; }
  template <class T>
  Array<T> New(int64_t count) {
    left_ -= count * static_cast<int64_t>(sizeof(T));
    if (left_ >= 0) return HostCard::New<T>(count);
    status_ = ResourceExhausted("cudaMalloc on the small card: out of memory");
    return {};
  }
  template <class Kernel>
  void Launch(const Kernel& kernel, const Grid& grid) {
    if (status_.ok()) HostCard::Launch(kernel, grid);
  }
  template <class T>
  void Upload(const T* from, int64_t count, T* to) {
    if (status_.ok()) HostCard::Upload(from, count, to);
  }
  template <class T>
  void Zero(T* data, int64_t count) {
    if (status_.ok()) HostCard::Zero(data, count);
  }

 private:
  int64_t left_;
  Status status_;
};

TEST(LanesOnTheHostCard, TheOneForWhichThereIsNoMemoryFailsAlone) {
  const NetworkOptions options = NetworkOptionsOf(LaneOptions(0), LaneData()->class_count(), 1);
  HostCard card;
  const int64_t two = LaneNetwork<HostCard, float>(card, options, 2).memory_bytes();
  LaneTest test(OnTheCard<SmallCard, float>([two] { return std::make_unique<SmallCard>(two); }));
  TrainingRun* const first = test.Add(LaneOptions(1));
  TrainingRun* const second = test.Add(LaneOptions(2));
  test.Epoch();
  TrainingRun* const third = test.Add(LaneOptions(3));
  test.Begin();
  const auto failed = test.EndEpoch();
  ASSERT_EQ(failed.size(), 1u);
  EXPECT_EQ(failed.begin()->first, third);
  EXPECT_EQ(failed.begin()->second.code(), StatusCode::kResourceExhausted);
  test.array.Remove(third);
  test.ExpectAsAlone(*first, "the first");
  test.ExpectAsAlone(*second, "the second");
}

}  // namespace
}  // namespace tune::models::cuda
