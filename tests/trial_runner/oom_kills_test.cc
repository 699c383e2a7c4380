// What the system says of those it killed for want of memory.
#include "trial_runner/worker/oom_kills.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace tune {
namespace {

using testing::ElementsAre;

TEST(OomKills, AreReadFromEachKindOfFile) {
  EXPECT_EQ(ParseOomKills("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 0\n"), 2);
  EXPECT_EQ(ParseOomKills("oom_kill_disable 0\nunder_oom 1\noom_kill 5\n"), 5);
  EXPECT_EQ(ParseOomKills("nr_free_pages 1\noom_kill 7"), 7);
  EXPECT_EQ(ParseOomKills("oom_kill_disable 0\nunder_oom 0\n"), std::nullopt) << "an old kernel";
  EXPECT_EQ(ParseOomKills("oom_kill many\n"), std::nullopt);
  EXPECT_EQ(ParseOomKills(""), std::nullopt);
}

TEST(OomKills, AreLookedForInOurOwnCgroupFirst) {
  EXPECT_THAT(OomKillFiles("0::/user.slice/a\n"),
              ElementsAre("/sys/fs/cgroup/user.slice/a/memory.events",
                          "/sys/fs/cgroup/memory.events", "/proc/vmstat"));
  EXPECT_THAT(OomKillFiles("4:cpu,memory:/b\n1:name=systemd:/\n"),
              ElementsAre("/sys/fs/cgroup/memory/b/memory.oom_control",
                          "/sys/fs/cgroup/memory/memory.oom_control", "/proc/vmstat"));
  EXPECT_THAT(OomKillFiles(""), ElementsAre("/proc/vmstat"));
  EXPECT_EQ(ReadOomKills({"/nowhere/memory.events"}), std::nullopt);
}

TEST(OomKills, ExplainAsManyDeathsAsThereWere) {
  OomKillBook book;
  Instant now{1'000'000};
  book.Saw(40, now);  // Before us.
  EXPECT_FALSE(book.Claim(now));
  book.Saw(42, now);
  EXPECT_TRUE(book.Claim(now));
  EXPECT_TRUE(book.Claim(now));
  EXPECT_FALSE(book.Claim(now));
}

TEST(OomKills, ThatNobodyDiedOfAreForgotten) {
  OomKillBook book;
  Instant now{1'000'000};
  book.Saw(0, now);
  book.Saw(1, now);
  now = now + Seconds(60);
  book.Saw(1, now);
  EXPECT_FALSE(book.Claim(now)) << "a minute later somebody kills a trial by hand";
}

}  // namespace
}  // namespace tune
