// Which of a package's programs a processor runs.
#include "core/posix/processor_level.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace tune {
namespace {

namespace fs = std::filesystem;

class ProcessorLevel : public ::testing::Test {
 protected:
  void SetUp() override { fs::create_directories(folder_); }
  void TearDown() override { fs::remove_all(folder_); }
  void Write(const std::string& path, mode_t mode = 0755) {
    fs::create_directories(fs::path(folder_ + "/" + path).parent_path());
    std::ofstream(folder_ + "/" + path) << "#!/bin/sh\n";
    chmod((folder_ + "/" + path).c_str(), mode);
  }

  const std::string folder_ = ::testing::TempDir() + "processor_level_test";
};

TEST_F(ProcessorLevel, TheHighestThatIsThereIsTaken) {
  Write("food11");
  Write("x86-64-v3/food11");
  const auto found = [this](const std::vector<std::string>& levels) {
    return ProgramForProcessor(folder_, "food11", levels);
  };
  EXPECT_EQ(found({"x86-64-v4", "x86-64-v3"}), folder_ + "/x86-64-v3/food11");
  EXPECT_EQ(found({}), folder_ + "/food11") << "an old processor";
  Write("x86-64-v4/food11");
  EXPECT_EQ(found({"x86-64-v4", "x86-64-v3"}), folder_ + "/x86-64-v4/food11");
  EXPECT_EQ(found({"x86-64-v3"}), folder_ + "/x86-64-v3/food11");
}

TEST_F(ProcessorLevel, WhereNothingElseIsThereItIsTheOneForAny) {
  EXPECT_EQ(ProgramForProcessor(folder_, "tune_trial"), folder_ + "/tune_trial");
}

TEST_F(ProcessorLevel, TheFlagsThatTheKernelTellsAreAmongIt) {
  std::ifstream in("/proc/cpuinfo");
  const std::string text((std::istreambuf_iterator<char>(in)), {});
  const std::vector<std::string> levels = ProcessorLevels();
  const auto has = [&](const char* level) {
    return std::find(levels.begin(), levels.end(), level) != levels.end();
  };
  if (has("x86-64-v4")) {
    EXPECT_THAT(text, ::testing::HasSubstr("avx512vl"));
  }
  if (text.find(" avx2 ") == std::string::npos) {
    EXPECT_FALSE(has("x86-64-v3"));
  }
}

}  // namespace
}  // namespace tune
