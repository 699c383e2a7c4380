// tune export, as a user runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;

TEST(Export, ASweepOpensInEveryForm) {
  const TestFolder folder;
  const std::string space = CurveSweep("    iterations: 9\n", kAsha) + "samples: 8\n";
  ASSERT_EQ(RunTune(folder, {"run", folder.Write("space.yaml", space)}).exit_status, 0);
  for (const char* format : {"csv", "jsonl", "tensorboard", "optuna", "mlflow"}) {
    const ProgramResult result = RunTune(folder, {"export", "space", "--to", format, format});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("exported space to " + (folder / format)));
    EXPECT_EQ(result.out, "");
  }
  EXPECT_EQ(Query(folder, "select count(*), sum(state = 'PRUNED') from trials", "optuna/optuna.db"),
            Query(folder, "select count(*), sum(stop_reason = 'scheduler') from trials"));
  const ProgramResult again = RunTune(folder, {"export", "--to", "csv", "csv"});
  EXPECT_EQ(again.exit_status, 2);
  EXPECT_THAT(again.err, HasSubstr("is there already and is not an empty folder"));
  EXPECT_EQ(RunTune(folder, {"export", "--to", "tensorbord", "x"}).exit_status, 2);
}

}  // namespace
}  // namespace tune::testing
