#include "tuner/cli/keep/import_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/small_disk.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr char kAutoTuner[] = R"({
  "_SDC_FILE_PATH": "constraint.sdc",
  "_SDC_CLK_PERIOD": {"type": "float", "minmax": [1.0, 3.7439], "step": 0},
  "CORE_UTILIZATION": {"type": "int", "minmax": [20, 50], "step": 1},
  "CORE_MARGIN": {"type": "int", "minmax": [2, 2], "step": 0}
})";

TEST(Import, WritesASpaceFileThatCanBeRead) {
  const Result<std::string> space = SpaceFromAutoTuner(kAutoTuner, "autotuner.json");
  ASSERT_TRUE(space.ok()) << space.status().message();
  const TempFolder folder;
  std::ofstream(folder / "space.yaml") << *space;
  const Result<ExperimentSpec> spec = ReadSpecFile(folder / "space.yaml", {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->name, "autotuner");
  EXPECT_THAT(*space, HasSubstr("\"_SDC_CLK_PERIOD\": {uniform: [1, 3.7439]}\n"));
  EXPECT_THAT(*space, HasSubstr("\"CORE_UTILIZATION\": {randint: [20, 51]}\n"));
  EXPECT_THAT(*space, HasSubstr("\"CORE_MARGIN\": 2\n"));
  EXPECT_THAT(*space, HasSubstr("\"CORE_MARGIN={CORE_MARGIN}\""));
}

TEST(Import, WhatCannotBeReadHasItsPlace) {
  const auto error = [](const std::string& json) {
    return SpaceFromAutoTuner(json, "a.json").status().message();
  };
  EXPECT_THAT(error("[1]"), HasSubstr("a.json:1:1: read a list, expected a map of parameters"));
  EXPECT_THAT(error("{}"), HasSubstr("no parameter is there"));
  EXPECT_THAT(error(R"({"x": {"min": 1}})"), HasSubstr("a.json:1:7: 'x': read a map"));
  EXPECT_THAT(error(R"({"x": {"type": "int", "minmax": [3], "step": 1}})"), HasSubstr("a.json:1:"));
}

TEST(Import, AFullDiskLeavesNothingThatIsInTheWayOfTheNextTry) {
  const TempFolder folder;
  const SmallDisk disk(folder / "small", 1 << 20);
  if (!disk.is_mounted()) GTEST_SKIP() << disk.why_not();
  WriteText(folder / "autotuner.json", kAutoTuner);
  const ImportOptions options{folder / "autotuner.json", folder / "small/space.yaml"};
  std::ostringstream out, err;
  disk.Fill("all");
  EXPECT_FALSE(ImportCommand(options, out, err).ok());
  std::filesystem::remove(folder / "small/all");
  EXPECT_TRUE(std::filesystem::is_empty(folder / "small"));
  const Status again = ImportCommand(options, out, err);
  EXPECT_TRUE(again.ok()) << again.message();
  EXPECT_TRUE(ReadSpecFile(options.out, {}).ok());
}

}  // namespace
}  // namespace tune
