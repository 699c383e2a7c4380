// How ranks meet by NCCL, and what it is asked, with a library in its place (tests/standin_nccl):
// dlopen, symbols and the layouts of our own prototypes are the real ones. Ranks are threads.
#include "models/cuda/nccl.h"

#include <dlfcn.h>
#include <gmock/gmock.h>

#include <cstdlib>
#include <string>
#include <vector>

#include "models/cuda/nccl_meeting.h"
#include "tests/models/training/on_ranks.h"

namespace tune::models::cuda {
namespace {

constexpr int kRemoteError = 6;  // ncclRemoteError
constexpr int kSystemError = 2;  // ncclSystemError

DeviceUuid DeviceOf(int rank) {
  DeviceUuid uuid;
  uuid.fill(200);
  uuid[15] = static_cast<uint8_t>(rank);
  return uuid;
}

// Not looked at by who stands in for NCCL.
CUstream_st* AStream() {
  static char stream;
  return reinterpret_cast<CUstream_st*>(&stream);
}

class NcclTest : public testing::Test {
 protected:
  void SetUp() override {
    const char* const build = std::getenv("TUNE_BUILD_DIR");
    ASSERT_NE(build, nullptr) << "run by ctest, or set TUNE_BUILD_DIR";
    const std::string path = std::string(build) + "/tests/nccl/libnccl.so.2";
    library_ = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    ASSERT_NE(library_, nullptr) << dlerror();
    Fail(nullptr, 0, 0);
  }
  void TearDown() override { EXPECT_EQ(Find<int()>("standin_nccl_open")(), 0); }

  void Fail(const char* call, int rank, int error) {
    Find<void(const char*, int, int)>("standin_nccl_fail")(call, rank, error);
  }

  // What each rank is told; each has a device of its own.
  std::vector<Status> Meet(int world_size) {
    std::vector<Status> statuses(static_cast<size_t>(world_size));
    OnRanks(world_size, [&](AllReduce& ranks) {
      statuses[static_cast<size_t>(ranks.rank())] =
          MeetByNccl(ranks, DeviceOf(ranks.rank())).status();
    });
    return statuses;
  }

 private:
  template <class Function>
  Function* Find(const char* name) {
    return reinterpret_cast<Function*>(dlsym(library_, name));
  }

  void* library_ = nullptr;
};

TEST_F(NcclTest, SaysItsVersion) {
  const auto nccl = Nccl::Load();
  ASSERT_TRUE(nccl.ok()) << nccl.status().message();
  EXPECT_EQ((*nccl)->name(), "NCCL 2.28.9");
}

TEST_F(NcclTest, RanksThatMeetAddUp) {
  for (const int world_size : {2, 3}) {
    OnRanks(world_size, [&](AllReduce& ranks) {
      const auto nccl = MeetByNccl(ranks, DeviceOf(ranks.rank()));
      ASSERT_TRUE(nccl.ok()) << nccl.status().message();
      for (int sum = 1; sum <= 3; ++sum) {
        std::vector<float> numbers(static_cast<size_t>(100 * sum), static_cast<float>(sum));
        ASSERT_EQ((*nccl)->Sum(numbers.data(), 100 * sum, AStream()), OkStatus());
        EXPECT_THAT(numbers, testing::Each(static_cast<float>(sum * world_size)));
      }
      EXPECT_EQ((*nccl)->Check(), OkStatus());
    });
  }
}

TEST_F(NcclTest, RanksThatShareADeviceDoNotMeet) {
  OnRanks(3, [](AllReduce& ranks) {
    const auto nccl = MeetByNccl(ranks, DeviceOf(ranks.rank() == 2 ? 1 : ranks.rank()));
    EXPECT_EQ(nccl.status(), FailedPrecondition("ranks 1 and 2 share a device"));
  });
}

// As one does that has none: it says so and goes on without.
TEST_F(NcclTest, OneWithoutNcclIsToldToTheOthers) {
  OnRanks(2, [](AllReduce& ranks) {
    if (ranks.rank() == 1) {
      std::vector<double> nobody_has(2, 0.0);
      ASSERT_TRUE(ranks.Sum(std::span<double>(nobody_has)).ok());
      return;
    }
    EXPECT_EQ(MeetByNccl(ranks, DeviceOf(0)).status(), FailedPrecondition("rank 1 has no NCCL"));
  });
}

TEST_F(NcclTest, OneThatCannotConnectKeepsAllFromIt) {
  Fail("ncclCommInitRank", 1, kSystemError);
  EXPECT_THAT(Meet(2), testing::ElementsAre(
                           FailedPrecondition("rank 1 cannot connect by NCCL; its log says why"),
                           FailedPrecondition("ncclCommInitRank: unhandled system error")));
}

TEST_F(NcclTest, OneThatMakesNoIdKeepsAllFromIt) {
  Fail("ncclGetUniqueId", 0, kSystemError);
  EXPECT_THAT(Meet(2), testing::ElementsAre(
                           FailedPrecondition("ncclGetUniqueId: unhandled system error"),
                           FailedPrecondition("rank 0 cannot begin with NCCL; its log says why")));
}

TEST_F(NcclTest, ARankThatIsGoneBeforeTheyMetIsUnavailable) {
  OnRanks(2, [](AllReduce& ranks) {
    if (ranks.rank() == 1) return;
    EXPECT_EQ(MeetByNccl(ranks, DeviceOf(0)).status().code(), StatusCode::kUnavailable);
  });
}

TEST_F(NcclTest, ARankThatIsGoneLaterIsUnavailable) {
  OnRanks(2, [this](AllReduce& ranks) {
    const auto nccl = MeetByNccl(ranks, DeviceOf(ranks.rank()));
    ASSERT_TRUE(nccl.ok()) << nccl.status().message();
    if (ranks.rank() == 1) return;
    Fail("async", 0, kRemoteError);
    EXPECT_EQ((*nccl)->Check(), Unavailable("ncclAllReduce: remote process exited or there was a "
                                            "network error"));
  });
}

TEST_F(NcclTest, OtherErrorsHaveTheirCallsNames) {
  OnRanks(2, [this](AllReduce& ranks) {
    const auto nccl = MeetByNccl(ranks, DeviceOf(ranks.rank()));
    ASSERT_TRUE(nccl.ok()) << nccl.status().message();
    if (ranks.rank() == 1) return;
    Fail("ncclAllReduce", 0, kSystemError);
    float number = 1;
    EXPECT_EQ((*nccl)->Sum(&number, 1, AStream()),
              Internal("ncclAllReduce: unhandled system error"));
  });
}

}  // namespace
}  // namespace tune::models::cuda
