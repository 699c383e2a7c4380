// How many trials are in which state: counted by the indexes that schema 11 has, and without them.
#include "tuner/cli/look/trial_counts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/look/sweep_lookup.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;

TEST(TrialCounts, AreThoseOfTheSweepByState) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    WriteSampleSweep(*store, "first");
    WriteSampleSweep(*store, "second");
    ASSERT_TRUE(store->CreateExperiment(SampleExperiment("empty")).ok());
  }
  const auto database = OpenForQueries(path);
  ASSERT_TRUE(database.ok()) << database.status().message();
  for (const int64_t sweep : {1, 2}) {
    const auto counts = CountTrials(**database, sweep);
    ASSERT_TRUE(counts.ok()) << counts.status().message();
    EXPECT_THAT(counts->by_status,
                ElementsAre(Pair("ERROR", 1), Pair("RUNNING", 1), Pair("TERMINATED", 2)));
    EXPECT_EQ(counts->total, 4);
    EXPECT_EQ(counts->ended(), 3);
  }
  const auto none = CountTrials(**database, 3);
  ASSERT_TRUE(none.ok()) << none.status().message();
  EXPECT_THAT(none->by_status, IsEmpty());
  EXPECT_EQ(none->total, 0);
}

}  // namespace
}  // namespace tune
