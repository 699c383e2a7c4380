// A program's memory: where a limit may be made, and that it holds; on real processes.
#include "trial_runner/command/memory_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "core/posix/environment.h"
#include "tests/trial_runner/shell.h"
#include "trial_runner/command/program.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

using ::testing::IsEmpty;

std::string Shown(const std::vector<MemoryGroupPlace>& places) {
  std::string text;
  for (const MemoryGroupPlace& place : places) {
    text += place.folder + (place.is_version_2 ? " (2)\n" : " (1)\n");
  }
  return text;
}

TEST(MemoryGroupPlaces, AreThoseOfEitherVersionWhereWeAre) {
  EXPECT_EQ(Shown(MemoryGroupPlaces("0::/user.slice/a\n")), "/sys/fs/cgroup/user.slice/a (2)\n");
  EXPECT_EQ(Shown(MemoryGroupPlaces("0::/\n")), "/sys/fs/cgroup (2)\n");
  EXPECT_EQ(Shown(MemoryGroupPlaces("9:name=systemd:/\n4:cpu,memory:/b\n0::/\n")),
            "/sys/fs/cgroup/memory/b (1)\n/sys/fs/cgroup/memory (1)\n/sys/fs/cgroup (2)\n");
  EXPECT_EQ(Shown(MemoryGroupPlaces("4:memory:/\n")), "/sys/fs/cgroup/memory (1)\n");
  EXPECT_EQ(Shown(MemoryGroupPlaces("4:memory:/a:b\n")),
            "/sys/fs/cgroup/memory/a:b (1)\n/sys/fs/cgroup/memory (1)\n");
}

TEST(MemoryGroupPlaces, AreNoneWhereNothingIsSaid) {
  for (const char* const text : {"", "\n", "memory", "4:memory", "3:memoryx:/a\n", "1:cpu:/\n"}) {
    EXPECT_EQ(Shown(MemoryGroupPlaces(text)), "") << text;
  }
}

// Its wait status.
int RunShell(const std::string& script, int cgroup_procs) {
  ProgramOptions options;
  options.arguments = {"/bin/sh", "-c", script};
  options.environment = {{"PATH", EnvironmentText("PATH")}};
  options.folder = "/";
  options.cgroup_procs = cgroup_procs;
  Result<Program> program = Program::Start(options);
  EXPECT_TRUE(program.ok()) << program.status().message();
  while (true) {
    std::vector<pollfd> fds;
    program->AddTo(fds, true);
    poll(fds.data(), fds.size(), -1);
    (void)program->TakeOutput();
    if (const std::optional<int> status = program->TakeEnd()) return *status;
  }
}

// What tail keeps is the last line: all of it.
constexpr char kTakesMuch[] = "head -c 40000000 /dev/zero | tail -n 1 > /dev/null";

std::vector<std::string> FoldersNamed(const std::string& name) {
  std::ostringstream cgroups;
  cgroups << std::ifstream("/proc/self/cgroup").rdbuf();
  std::vector<std::string> found;
  for (const MemoryGroupPlace& place : MemoryGroupPlaces(cgroups.str())) {
    if (std::filesystem::exists(place.folder + "/" + name)) found.push_back(place.folder);
  }
  return found;
}

TEST(MemoryGroup, EndsWhatTakesMoreThanItsLimitAndLeavesNoTrace) {
  const std::string name = "tune-test-" + std::to_string(getpid());
  {
    const MemoryGroup group(24 << 20, name);
    if (!group.is_enforced()) GTEST_SKIP() << "no memory cgroup can be made here";
    EXPECT_EQ(FoldersNamed(name).size(), 1u);
    EXPECT_EQ(RunShell("exit 0", group.procs_fd()), 0);
    EXPECT_FALSE(group.HasKilled());
    EXPECT_NE(RunShell(kTakesMuch, group.procs_fd()), 0);
    EXPECT_TRUE(group.HasKilled());
  }
  EXPECT_THAT(FoldersNamed(name), IsEmpty());
}

TEST(MemoryGroup, TwoLimitAProgramEach) {
  const std::string name = "tune-test-" + std::to_string(getpid());
  const MemoryGroup small(24 << 20, name + "-a");
  const MemoryGroup large(int64_t{1} << 30, name + "-b");
  if (!small.is_enforced()) GTEST_SKIP() << "no memory cgroup can be made here";
  EXPECT_EQ(RunShell(kTakesMuch, large.procs_fd()), 0);
  EXPECT_FALSE(large.HasKilled());
  EXPECT_NE(RunShell(kTakesMuch, small.procs_fd()), 0);
}

TEST(MemoryGroup, OneThatCannotBeMadeIsWatched) {
  const MemoryGroup group(24 << 20, "no/such/folder");
  EXPECT_FALSE(group.is_enforced());
  EXPECT_EQ(group.procs_fd(), -1);
  EXPECT_FALSE(group.HasKilled());
  EXPECT_EQ(group.bytes(), 24 << 20);
}

TEST(DescendantsBytes, CountsAllThatIsBelow) {
  if (!AdoptOrphans()) GTEST_SKIP() << "this system lets nobody adopt orphans";
  EXPECT_EQ(DescendantsBytes(), 0);
  const std::string holds = "x=$(head -c 8000000 /dev/zero | tr '\\0' x); echo; sleep 1000";
  Shell shell("setsid sh -c \"" + std::string("x=\\$(head -c 8000000 /dev/zero | tr '\\\\0' x); ") +
              "echo; sleep 1000\" & " + holds);
  shell.Line();
  shell.Line();
  EXPECT_GT(DescendantsBytes(), 16'000'000);
  EXPECT_LT(DescendantsBytes(), 200'000'000);
  EXPECT_TRUE(EndDescendants());
  EXPECT_EQ(DescendantsBytes(), 0);
}

}  // namespace
}  // namespace tune
