// The books of what workers hold, with the memory of devices and devices that fall away.
#include "trial_runner/lease_table.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/random.h"

namespace tune {
namespace {

using testing::ElementsAre;

constexpr int64_t kGiB = int64_t{1} << 30;
const WorkerCapacity kMixed{16'000,
                            {{0, "H100", 80 * kGiB, "GPU-a"}, {1, "L4", 24 * kGiB, "GPU-b"}}};

ResourceRequest Share(int64_t milli, int64_t asked = 0) {
  ResourceRequest request;
  request.gpu_milli = milli;
  request.gpu_memory_bytes = asked;
  return request;
}

// Two of 30 GiB fit on 80 and none of them on 24, though the share would fit four and four times.
TEST(LeaseTable, AdmitsOnlyWhereMemoryIsLeft) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, kMixed, false);
  const ResourceRequest request = Share(250, 30 * kGiB);
  for (int64_t trial = 0; trial < 2; ++trial) {
    const auto lease = table.Grant(request, TrialNumber{trial}, AttemptNumber{1});
    ASSERT_TRUE(lease);
    EXPECT_THAT(lease->placement.slices, ElementsAre(DeviceSlice{0, 250, 30 * kGiB}));
  }
  EXPECT_FALSE(table.HasRoom(request));
  EXPECT_TRUE(table.CouldTake(request)) << "unavailable, not infeasible";
  EXPECT_FALSE(table.CouldTake(Share(250, 81 * kGiB)));
  EXPECT_TRUE(table.HasRoom(Share(250, 20 * kGiB)));
  table.End(WorkerId{1}, {TrialNumber{0}, AttemptNumber{1}, LeaseEpoch{1}});
  EXPECT_TRUE(table.HasRoom(request));
}

// ---- a device falls away

TEST(LeaseTable, ALostDeviceTakesItsRoomAlong) {
  LeaseTable table;
  table.AddWorker(WorkerId{1}, kMixed, false);
  const auto lease = table.Grant(Share(500), TrialNumber{0}, AttemptNumber{1});
  ASSERT_TRUE(lease);
  ASSERT_EQ(lease->placement.slices[0].device, 1);
  EXPECT_TRUE(table.LoseDevice(WorkerId{1}, 1));
  EXPECT_FALSE(table.LoseDevice(WorkerId{1}, 1));
  EXPECT_TRUE(table.IsRunning(WorkerId{1}, lease->ref)) << "until its end arrives";
  EXPECT_FALSE(table.CouldTake(Share(2000)));
  const auto other = table.Grant(Share(1000), TrialNumber{1}, AttemptNumber{1});
  ASSERT_TRUE(other);
  EXPECT_THAT(other->placement.slices, ElementsAre(DeviceSlice{0, 1000, 80 * kGiB}));
  EXPECT_TRUE(table.End(WorkerId{1}, lease->ref).known);
  EXPECT_FALSE(table.HasRoom(Share(250)));
  table.End(WorkerId{1}, other->ref);
  EXPECT_TRUE(table.HasRoom(Share(1000)));
  EXPECT_EQ(table.Views()[0].free_cpu_milli, 16'000);
}

// Grants, ends and losses in any order leave the books as a plain count of what runs would.
TEST(LeaseTable, BooksOfMemoryAreThoseOfAPlainCount) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    KeyedRandom random(seed, "books of memory");
    LeaseTable table;
    table.AddWorker(WorkerId{1}, kMixed, false);
    std::vector<LeaseTable::Lease> leases;
    for (int64_t step = 0; step < 200; ++step) {
      if (!leases.empty() && random.NextBelow(2) == 0) {
        const size_t at = random.NextBelow(leases.size());
        table.End(WorkerId{1}, leases[at].ref);
        leases.erase(leases.begin() + static_cast<std::ptrdiff_t>(at));
      } else {
        const auto lease = table.Grant(Share(125 * static_cast<int64_t>(1 + random.NextBelow(8)),
                                             static_cast<int64_t>(random.NextBelow(3)) * 10 * kGiB),
                                       TrialNumber{step}, AttemptNumber{1});
        if (lease) leases.push_back(*lease);
      }
      if (step == 150) table.LoseDevice(WorkerId{1}, 0);
      const WorkerView view = table.Views()[0];
      for (size_t i = 0; i < view.capacity.devices.size(); ++i) {
        int64_t milli = 0, memory = 0;
        for (const LeaseTable::Lease& lease : leases) {
          for (const DeviceSlice& slice : lease.placement.slices) {
            if (slice.device != view.capacity.devices[i].index) continue;
            milli += slice.milli;
            memory += slice.memory_bytes;
          }
        }
        ASSERT_EQ(view.free_gpu_milli[i], kWholeMilli - milli);
        ASSERT_EQ(view.free_gpu_memory[i], view.capacity.devices[i].memory_bytes - memory);
        ASSERT_LE(milli, kWholeMilli);
        ASSERT_LE(memory, view.capacity.devices[i].memory_bytes);
      }
    }
  }
}

}  // namespace
}  // namespace tune
