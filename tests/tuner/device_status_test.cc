// Who has what of each device, from the books to a line and back.
#include "tuner/device_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "trial_runner/lease_table.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

constexpr int64_t kGiB = int64_t{1} << 30;
constexpr WorkerId kNear{1};
constexpr WorkerId kFar{2};

DeviceStatus Sample() {
  DeviceStatus status;
  status.worker = "local";
  status.device = {1, "NVIDIA L4", 24 * kGiB, "GPU-77aa"};
  status.used_bytes = 16 * kGiB;
  status.slices = {{TrialNumber{3}, 500, 12 * kGiB}, {TrialNumber{7}, 125, 3 * kGiB}};
  return status;
}

TEST(DeviceStatus, IsWhatTheBooksAndTheHeartbeatsSay) {
  LeaseTable table;
  table.AddWorker(kNear, {8000, {{0, "H100", 80 * kGiB, "GPU-1"}, {1, "L4", 24 * kGiB, "GPU-2"}}},
                  false);
  table.AddWorker(kFar, {8000, {{0, "logical device 0", 0}}}, false);
  ResourceRequest share;
  share.gpu_milli = 500;
  for (int64_t trial = 0; trial < 4; ++trial) {
    ASSERT_EQ(table.Grant(share, {TrialNumber{9 - trial}, AttemptNumber{1}, {}}).size(), 1u);
  }
  const std::vector<DeviceStatus> devices =
      DevicesOf(table, {{kNear, "local"}, {kFar, "far"}}, {{kNear, {{1, 5 * kGiB}}}});
  ASSERT_THAT(devices, SizeIs(3));
  EXPECT_EQ(devices[0].worker, "local");
  EXPECT_FALSE(devices[0].used_bytes) << "nothing was told of it";
  EXPECT_EQ(devices[1].used_bytes, 5 * kGiB);
  EXPECT_EQ(devices[2].worker, "far");
  size_t slices = 0;
  for (const DeviceStatus& device : devices) {
    slices += device.slices.size();
    EXPECT_TRUE(std::is_sorted(device.slices.begin(), device.slices.end(),
                               [](const auto& a, const auto& b) { return a.trial < b.trial; }));
  }
  EXPECT_EQ(slices, 4u);
}

TEST(DeviceStatus, ComesBackFromItsLine) {
  const Result<DeviceStatus> read = DecodeDeviceStatus(EncodeDeviceStatus(Sample()));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, Sample());
  DeviceStatus untold = Sample();
  untold.used_bytes.reset();
  untold.slices.clear();
  EXPECT_EQ(*DecodeDeviceStatus(EncodeDeviceStatus(untold)), untold);
}

TEST(DeviceStatus, ALineThatIsNoneIsRefused) {
  const std::string good = EncodeDeviceStatus(Sample());
  for (const auto& [from, to] :
       std::vector<std::pair<std::string, std::string>>{{"\"gpu\":0.5", "\"gpu\":1.5"},
                                                        {"\"gpu\":0.5", "\"gpu\":0"},
                                                        {"\"gpu\":0.5", "\"gpu\":\"half\""},
                                                        {"\"device\":1", "\"device\":-1"},
                                                        {"\"name\"", "\"nome\""},
                                                        {"\"slices\":[", "\"slices\":[3,"},
                                                        {"{", "["}}) {
    std::string bad = good;
    ASSERT_NE(bad.find(from), std::string::npos) << from;
    bad.replace(bad.find(from), from.size(), to);
    EXPECT_FALSE(DecodeDeviceStatus(bad).ok()) << bad;
  }
}

TEST(DeviceStatus, ReadsWell) {
  EXPECT_EQ(DescribeDevice(Sample()),
            "local 1  NVIDIA L4, 16 GiB of 24 GiB used: trial 3 has 0.5 (12 GiB), trial 7 has "
            "0.125 (3 GiB)");
  DeviceStatus logical;
  logical.worker = "far";
  logical.device = {0, "logical device 0", 0};
  EXPECT_EQ(DescribeDevice(logical), "far 0  logical device 0: free");
  logical.slices = {{TrialNumber{0}, 1000, 0}};
  EXPECT_EQ(DescribeDevice(logical), "far 0  logical device 0: trial 0 has 1");
}

}  // namespace
}  // namespace tune
