// CPUs of a trial's own. The names that stand for them are the machine's; the test takes a network
// namespace, where they are its own.
#include "trial_runner/command/cpu_share.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <set>
#include <vector>

namespace tune {
namespace {

using ::testing::IsEmpty;
using ::testing::SizeIs;

class CpuShareTest : public testing::Test {
 protected:
  void SetUp() override {
    cpu_set_t set;
    CPU_ZERO(&set);
    ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
    count_ = CPU_COUNT(&set);
    if (count_ < 2) GTEST_SKIP() << "one CPU is nobody's own";
    static const bool is_alone =
        unshare(CLONE_NEWNET) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) == 0;
    if (!is_alone) GTEST_SKIP() << "no network namespace can be made here";
  }
  int64_t count_ = 0;
};

TEST_F(CpuShareTest, EachOfTheMachineIsGivenOnceAndFreeAgainAtTheEnd) {
  for (int round = 0; round < 2; ++round) {
    std::vector<CpuShare> shares;
    std::set<int64_t> given;
    for (int64_t i = 0; i < count_; ++i) {
      shares.push_back(CpuShare::Take(1));
      ASSERT_THAT(shares.back().cpus(), SizeIs(1));
      EXPECT_TRUE(given.insert(shares.back().cpus()[0]).second) << "given twice";
    }
    EXPECT_THAT(CpuShare::Take(1).cpus(), IsEmpty()) << "none is free";
  }
}

TEST_F(CpuShareTest, WhereTooFewAreFreeNoneIsTaken) {
  std::vector<CpuShare> shares;
  for (int64_t i = 0; i + 1 < count_; ++i) shares.push_back(CpuShare::Take(1));
  if (count_ > 2) {
    EXPECT_THAT(CpuShare::Take(2).cpus(), IsEmpty());
  }
  EXPECT_THAT(CpuShare::Take(1).cpus(), SizeIs(1)) << "the failed one gave back what it had";
}

TEST_F(CpuShareTest, AllOfThemOrNoneIsNoShare) {
  EXPECT_THAT(CpuShare::Take(count_).cpus(), IsEmpty());
  EXPECT_THAT(CpuShare::Take(count_ + 1).cpus(), IsEmpty());
  EXPECT_THAT(CpuShare::Take(0).cpus(), IsEmpty());
  EXPECT_THAT(CpuShare::Take(-1).cpus(), IsEmpty());
}

TEST_F(CpuShareTest, TheShareOfAProcessThatDiesIsFree) {
  const pid_t pid = fork();
  if (pid == 0) {
    CpuShare share = CpuShare::Take(1);
    _exit(share.cpus().size() == 1 ? 0 : 1);  // Without a destructor.
  }
  int status = 0;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
  std::vector<CpuShare> shares;
  for (int64_t i = 0; i < count_; ++i) {
    shares.push_back(CpuShare::Take(1));
    EXPECT_THAT(shares.back().cpus(), SizeIs(1));
  }
}

}  // namespace
}  // namespace tune
