// What is held free for sweeps with a reserve, and what others may still take.
#include "tuner/reserves.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr WorkerId kFirst{1};
constexpr WorkerId kSecond{2};

ResourceRequest Cpus(int64_t cpus, int64_t workers = 1) {
  ResourceRequest request;
  request.cpu_milli = cpus * kWholeMilli;
  request.workers = workers;
  return request;
}

ResourceRequest Gpu(int64_t milli, int64_t memory = 0) {
  ResourceRequest request = Cpus(1);
  request.gpu_milli = milli;
  request.gpu_memory_bytes = memory;
  return request;
}

WorkerView Worker(WorkerId id, int64_t cpus, int64_t free_cpus) {
  WorkerView view = EmptyWorker(id, WorkerCapacity{cpus * kWholeMilli, {}});
  view.free_cpu_milli = free_cpus * kWholeMilli;
  return view;
}

TEST(Reserves, CountWholeTrialsWorth) {
  EXPECT_EQ(TrialsWorth({}, Cpus(2)), 0);
  EXPECT_EQ(TrialsWorth({5000, 0}, Cpus(2)), 2);
  EXPECT_EQ(TrialsWorth({1000, 0}, Cpus(2)), 0);
  EXPECT_EQ(TrialsWorth({0, 2000}, Gpu(500)), 4);
  EXPECT_EQ(TrialsWorth({3000, 2000}, Gpu(500)), 3) << "the scarcer bounds it";
  EXPECT_EQ(TrialsWorth({0, 2000}, Cpus(1)), 0) << "its trials take no GPU";
  EXPECT_EQ(TrialsWorth({8000, 0}, Cpus(2, 2)), 2) << "a trial of two ranks takes both";
}

TEST(Reserves, OthersTakeWhatIsLeftAndNoMore) {
  const std::vector<HeldRoom> held = {{Cpus(2), 2, {}}};
  EXPECT_THAT(ClosedByReserves(held, Cpus(1), {Worker(kFirst, 8, 5)}, {}), IsEmpty());
  EXPECT_THAT(ClosedByReserves(held, Cpus(2), {Worker(kFirst, 8, 5)}, {}), ElementsAre(kFirst));
  EXPECT_THAT(ClosedByReserves(held, Cpus(1), {Worker(kFirst, 8, 4)}, {}), ElementsAre(kFirst));
  // The second trial finds room on the other worker, and leaves some there.
  EXPECT_THAT(ClosedByReserves(held, Cpus(1), {Worker(kFirst, 8, 2), Worker(kSecond, 8, 3)}, {}),
              ElementsAre(kFirst));
}

TEST(Reserves, WhereTooLittleIsFreeTheWorkerThatLacksLeastGathers) {
  const std::vector<HeldRoom> held = {{Cpus(4), 1, {}}};
  EXPECT_THAT(ClosedByReserves(held, Cpus(1), {Worker(kFirst, 4, 1), Worker(kSecond, 4, 3)}, {}),
              ElementsAre(kSecond));
  EXPECT_THAT(ClosedByReserves(held, Cpus(1), {Worker(kFirst, 2, 2), Worker(kSecond, 4, 1)}, {}),
              ElementsAre(kSecond))
      << "the first could never run its trial";
}

TEST(Reserves, WorkersThatAreOfNoUseToItAreOpenToOthers) {
  EXPECT_THAT(ClosedByReserves({{Cpus(4), 2, {}}}, Cpus(1), {Worker(kFirst, 2, 2)}, {}), IsEmpty());
  EXPECT_THAT(ClosedByReserves({{Cpus(1), 9, {kFirst}}}, Cpus(1), {Worker(kFirst, 2, 2)}, {}),
              IsEmpty());
}

TEST(Reserves, RanksThatSpreadAreHeldFreeTogether) {
  ResourceRequest pair = Cpus(2, 2);
  pair.spread = true;
  const std::vector<WorkerView> workers = {Worker(kFirst, 2, 2), Worker(kSecond, 2, 1)};
  EXPECT_THAT(ClosedByReserves({{pair, 1, {}}}, Cpus(1), workers, {}),
              ElementsAre(kFirst, kSecond));
  EXPECT_THAT(ClosedByReserves({{Cpus(2), 1, {}}}, pair, {Worker(kFirst, 4, 4)}, {}),
              ElementsAre(kFirst));
}

// A share goes to the fullest device, which is the only one with memory enough for the reserve.
TEST(Reserves, ATrialThatWouldBePutOnTheReservedDeviceWaits) {
  constexpr int64_t kGiB = int64_t{1} << 30;
  WorkerView view = EmptyWorker(
      kFirst, WorkerCapacity{8 * kWholeMilli, {{0, "", 24 * kGiB}, {1, "", 80 * kGiB}}});
  view.free_gpu_milli[1] = 500;
  const std::vector<HeldRoom> held = {{Gpu(500, 40 * kGiB), 1, {}}};
  EXPECT_THAT(ClosedByReserves(held, Gpu(500), {view}, {}), ElementsAre(kFirst));
  EXPECT_THAT(ClosedByReserves(held, Gpu(1000), {view}, {}), IsEmpty());
}

}  // namespace
}  // namespace tune
