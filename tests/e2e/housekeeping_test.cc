// Explaining and keeping in order, with the real programs.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune {
namespace {

using testing::Program;
using testing::ProgramResult;
using testing::Query;
using testing::RunTune;
using testing::TestFolder;

constexpr char kSpace[] =
    "trainable: {curve: {value: \"(x - 0.3)^2 + exp(-0.2 * t)\", iterations: 9}}\n"
    "metric: loss\nmode: min\nsamples: 8\nseed: 11\nspace: {x: {uniform: [0, 1]}}\n"
    "scheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}\n";

TEST(Why, ExplainsATrialOfARealSweep) {
  TestFolder folder;
  ASSERT_EQ(RunTune(folder, {"run", folder.Write("space.yaml", kSpace)}).exit_status, 0);
  const std::vector<std::string> stopped =
      Query(folder, "select number from trials where stop_reason = 'scheduler' order by number");
  ASSERT_FALSE(stopped.empty());
  const ProgramResult why = RunTune(folder, {"why", "space/" + stopped[0]});
  EXPECT_EQ(why.exit_status, 0) << why.err;
  EXPECT_NE(why.out.find("stopped by asha at rung"), std::string::npos) << why.out;
}

TEST(Provenance, AResumeSaysWhatIsNotAsItWas) {
  TestFolder folder;
  const std::string git = "git -C '" + folder.path() + "' -c user.name=a -c user.email=a@b ";
  if (std::system((git + "init -q 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no git here";
  const std::string space = folder.Write("space.yaml", kSpace);
  ASSERT_EQ(std::system((git + "add space.yaml && " + git + "commit -q -m first").c_str()), 0);
  ASSERT_EQ(RunTune(folder, {"run", space}).exit_status, 0);
  EXPECT_EQ(Query(folder,
                  "select length(json_extract(provenance, '$.git.commit')), json_extract("
                  "provenance, '$.git.dirty') from experiments"),
            std::vector<std::string>{"40|0"});

  const ProgramResult same = RunTune(folder, {"resume", "--samples", "9"});
  EXPECT_EQ(same.exit_status, 0) << same.err;
  EXPECT_EQ(same.err.find("warning"), std::string::npos) << same.err;

  folder.Write("space.yaml", std::string(kSpace) + "# changed\n");
  const ProgramResult changed = RunTune(folder, {"resume", "--samples", "10"});
  EXPECT_EQ(changed.exit_status, 0) << changed.err;
  EXPECT_NE(changed.err.find("warning: not as when space began: git: was "), std::string::npos)
      << changed.err;
  EXPECT_NE(changed.err.find("with uncommitted changes"), std::string::npos) << changed.err;
}

}  // namespace
}  // namespace tune
