// Threads under a limit of the address space that leaves no room for a stack.
#include "core/posix/threads.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>
#include <atomic>
#include <csignal>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <thread>
#include <utility>

#include "core/posix/process_limits.h"
#include "tests/sanitized.h"

namespace tune {
namespace {

class NoAddressSpace {
 public:
  NoAddressSpace() {
    EXPECT_EQ(getrlimit(RLIMIT_AS, &before_), 0);
    rlimit none = before_;
    none.rlim_cur = 1;
    EXPECT_EQ(setrlimit(RLIMIT_AS, &none), 0);
  }
  ~NoAddressSpace() { End(); }
  void End() { setrlimit(RLIMIT_AS, &before_); }

 private:
  rlimit before_ = {};
};

// The stack of a thread that has ended would do for the next one: no other begins before these.
TEST(Threads, BeginAsSoonAsThereIsRoomWithWhatTheyWereGivenOrNotAtAll) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer maps memory of its own for each thread";
  std::atomic<int> ran = 0;
  int tries = 0;
  auto given = std::make_unique<int>(7);
  NoAddressSpace none;
  std::optional<std::thread> thread = TryThread([&ran, given = std::move(given)] { ran = *given; },
                                                [&] {
                                                  if (++tries == 3) none.End();
                                                  return true;
                                                });
  ASSERT_TRUE(thread.has_value());
  thread->join();
  EXPECT_EQ(ran, 7);
  EXPECT_EQ(tries, 3);
}

TEST(Threads, ThatFindNoMemoryEndTheProcessWithALine) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto run_out = [] {
    MeetLimits();
    std::thread([] { throw std::bad_alloc(); }).join();
  };
  EXPECT_EXIT(run_out(), ::testing::ExitedWithCode(1), "no memory left.*tune resume");
}

TEST(Threads, ThatMeetAnotherExceptionSayWhatItWas) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto fail = [] {
    MeetLimits();
    std::thread([] { throw std::runtime_error("no such folder"); }).join();
  };
  EXPECT_EXIT(fail(), ::testing::KilledBySignal(SIGABRT), "tune: no such folder");
}

TEST(Threads, ThatLetOthersGoFirstAreTheOnlyOnesThatDo) {
  const int before = getpriority(PRIO_PROCESS, 0);
  int inside = before;
  std::thread([&inside] {
    LetOthersGoFirst();
    inside = getpriority(PRIO_PROCESS, 0);
  }).join();
  EXPECT_EQ(inside, std::min(before + 5, 19));
  EXPECT_EQ(getpriority(PRIO_PROCESS, 0), before);
}

TEST(Threads, AreAskedToEnd) {
  std::atomic<bool> was_asked = false;
  {
    const auto thread = BeginThread<std::jthread>([&was_asked](std::stop_token stop) {
      while (!stop.stop_requested()) std::this_thread::yield();
      was_asked = true;
    });
  }
  EXPECT_TRUE(was_asked);
}

// Nobody waits here: the one time is none, the other one ends at once.
TEST(WaitUnlessStopped, SaysWhetherItWasStopped) {
  std::stop_source stop;
  EXPECT_TRUE(WaitUnlessStopped(Duration{}, stop.get_token()));
  stop.request_stop();
  EXPECT_FALSE(WaitUnlessStopped(Seconds(3600), stop.get_token()));
}

}  // namespace
}  // namespace tune
