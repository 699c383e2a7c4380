// tune export and --log tensorboard, as a user runs them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

std::string Contents(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  return std::string(std::istreambuf_iterator<char>(in), {});
}

// The bytes of all event files by their paths, but for the one of the whole sweep, which cannot
// know beforehand what the last reports bring.
std::map<std::string, std::string> Runs(const std::string& folder) {
  std::map<std::string, std::string> runs;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    const std::string path = fs::relative(entry.path(), folder).string();
    if (entry.is_regular_file() && path.find('/') != std::string::npos)
      runs[path] = Contents(entry.path());
  }
  return runs;
}

TEST(Export, ASweepOpensInEveryForm) {
  const TestFolder folder;
  const std::string space = CurveSweep("    iterations: 9\n", kAsha) + "samples: 8\n";
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", space)})));
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

TEST(Export, LiveEventFilesOfAKilledSweepEndAsAnExportOfIt) {
  const TestFolder folder;
  const std::string space =
      CurveSweep("    iterations: 9\n    seconds: 0.02\n", kAsha) + "samples: 8\n";
  {
    Program run(folder, "tune",
                {"run", folder.Write("space.yaml", space), "--cpus", "2", "--log", "tensorboard"});
    ASSERT_TRUE(run.WaitForText("event files: tensorboard --logdir"));
    const auto has_reported = [&folder] {
      return Query(folder, "select count(*) >= 6 from reports") == std::vector<std::string>{"1"};
    };
    while (!has_reported()) {
    }
    run.Signal(SIGKILL);
    run.Wait();
  }
  const ProgramResult resumed = RunTune(folder, {"resume", "--cpus", "2", "--log", "tensorboard"});
  ASSERT_EQ(resumed.exit_status, 0) << resumed.err;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"export", "--to", "tensorboard", "runs"})));
  const auto live = Runs(folder / "tune.artifacts/space/tensorboard");
  EXPECT_EQ(live.size(), 8u);
  EXPECT_EQ(live, Runs(folder / "runs"));
  // The sweep that is over goes on without a word of them.
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc"})));
  EXPECT_EQ(Runs(folder / "tune.artifacts/space/tensorboard"), live);
}

TEST(Export, EventFilesThatCannotBeWrittenEndNoSweep) {
  const TestFolder folder;
  fs::create_directories(folder / "tune.artifacts/space");
  folder.Write("tune.artifacts/space/tensorboard", "a file is in the way");
  const ProgramResult result = RunTune(
      folder,
      {"run", folder.Write("space.yaml", CurveSweep("", "samples: 4\n")), "--log", "tensorboard"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(result.err, HasSubstr("warning: the event files"));
}

TEST(Export, AnUnknownLogIsRefusedBeforeAnythingIsMade) {
  const TestFolder folder;
  const ProgramResult result = RunTune(
      folder,
      {"run", folder.Write("space.yaml", CurveSweep("", "samples: 4\n")), "--log", "tensorbord"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("did you mean 'tensorboard'?"));
  EXPECT_FALSE(fs::exists(folder / "tune.db"));
}

}  // namespace
}  // namespace tune::testing
