// A program that runs: where it starts, with what, what it prints, how it ends, and why it does not
// start.
#include "trial_runner/command/program.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/command/program_environment.h"
#include "trial_runner/find_program.h"

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

struct Ended {
  int status = 0;
  std::string output;  // Of both streams.
  std::string error;
};

class ProgramTest : public testing::Test {
 protected:
  ProgramTest() {
    options_.folder = folder_.path();
    options_.environment = {{"PATH", "/usr/bin:/bin"}};
  }
  static bool Take(Program& program, Ended& ended) {
    const std::vector<OutputPiece> output = program.TakeOutput();
    for (const OutputPiece& piece : output) {
      ended.output += piece.text;
      if (piece.stream == OutputStream::kStderr) ended.error += piece.text;
    }
    return !output.empty();
  }
  // To its end.
  Ended Run(const std::string& script) {
    options_.arguments = {"sh", "-c", script};
    Result<Program> program = Program::Start(options_);
    EXPECT_TRUE(program.ok()) << program.status().message();
    Ended ended;
    while (true) {
      std::vector<pollfd> fds;
      program->AddTo(fds, true);
      poll(fds.data(), fds.size(), -1);
      Take(*program, ended);
      const std::optional<int> status = program->TakeEnd();
      if (!status) continue;
      while (Take(*program, ended)) {
      }
      ended.status = *status;
      return ended;
    }
  }
  Status Failure(const std::string& name) {
    options_.arguments = {name};
    return Program::Start(options_).status();
  }
  std::string WriteScript(const std::string& name, const std::string& text, mode_t mode = 0755) {
    WriteText(folder_ / name, text);
    chmod((folder_ / name).c_str(), mode);
    return folder_ / name;
  }

  TempFolder folder_;
  ProgramOptions options_;
};

TEST_F(ProgramTest, RunsInItsFolderWithItsEnvironmentAlone) {
  options_.environment["LR"] = "0.5";
  const Ended ended = Run("pwd; env; echo told >&2; exit 3");
  EXPECT_EQ(WEXITSTATUS(ended.status), 3);
  EXPECT_THAT(ended.output, AllOf(HasSubstr(folder_.path() + "\n"), HasSubstr("LR=0.5\n"),
                                  HasSubstr("told\n"), Not(HasSubstr("HOME="))));
}

TEST_F(ProgramTest, TellsItsStreamsApart) {
  const Ended ended = Run("echo out; echo err >&2; echo both >&2 2>&1");
  EXPECT_EQ(ended.error, "err\nboth\n");
  EXPECT_THAT(ended.output, HasSubstr("out\n"));
}

TEST_F(ProgramTest, ReadsNothing) { EXPECT_EQ(Run("cat; echo end").output, "end\n"); }

TEST_F(ProgramTest, SignalsDoToItWhatTheyDoToOthers) {
  EXPECT_EQ(WTERMSIG(Run("kill -TERM $$").status), SIGTERM);
  EXPECT_EQ(WTERMSIG(Run("kill -PIPE $$").status), SIGPIPE);
}

TEST_F(ProgramTest, RunsOnTheCpusThatItIsGiven) {
  cpu_set_t set;
  CPU_ZERO(&set);
  ASSERT_EQ(sched_getaffinity(0, sizeof set, &set), 0);
  int cpu = CPU_SETSIZE - 1;
  while (!CPU_ISSET(static_cast<size_t>(cpu), &set)) --cpu;
  options_.cpus = {cpu};
  EXPECT_THAT(Run("grep Cpus_allowed_list /proc/self/status").output,
              HasSubstr("\t" + std::to_string(cpu) + "\n"));
}

TEST_F(ProgramTest, IsLookedForAsAShellWould) {
  WriteScript("here", "#!/bin/sh\necho here\n");
  std::filesystem::create_directory(folder_ / "bin");
  WriteScript("bin/there", "#!/bin/sh\necho there\n");
  const auto find = [&](const std::string& name, const std::string& path) {
    const Result<std::string> found = FindProgram(name, path, folder_.path());
    return found.ok() ? *found : found.status().message();
  };
  EXPECT_EQ(find("./here", ""), folder_ / "./here");
  EXPECT_EQ(find(folder_ / "here", ""), folder_ / "here");
  EXPECT_EQ(find("there", "/nowhere:bin:/bin"), folder_ / "bin/there");
  EXPECT_EQ(find("there", "/nowhere:" + (folder_ / "bin")), folder_ / "bin/there");
  EXPECT_THAT(find("here", "/usr/bin:/bin"),
              AllOf(HasSubstr("no folder of PATH"), HasSubstr("'./here' names the file here")));
  EXPECT_THAT(find("nothing-of-this-name", "/usr/bin::/bin:"), HasSubstr("no folder of PATH"));
  EXPECT_THAT(find("", "/bin"), HasSubstr("no folder of PATH"));
  EXPECT_THAT(find("./gone", ""), HasSubstr("there is no file " + (folder_ / "./gone")));
  EXPECT_THAT(find("bin", "."), HasSubstr("no folder of PATH")) << "a folder is no program";
}

TEST_F(ProgramTest, WhatCannotBeStartedIsToldWithItsRemedy) {
  WriteScript("data", "#!/bin/sh\n", 0644);
  EXPECT_THAT(Failure("./data").message(), HasSubstr("is not executable; chmod +x it"));
  WriteScript("script", "echo hello\n");
  const Status no_line = Failure("./script");
  EXPECT_EQ(no_line.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(no_line.message(), HasSubstr("no #! line"));
  WriteScript("wrong", "#!/no/such/interpreter\n");
  EXPECT_THAT(Failure("./wrong").message(), HasSubstr("cannot start './wrong'"));
  EXPECT_EQ(Failure("./gone").code(), StatusCode::kNotFound);
  EXPECT_EQ(Failure("no-program-of-this-name").code(), StatusCode::kNotFound);
  options_.folder = folder_ / "no-folder";
  EXPECT_THAT(Failure("true").message(), HasSubstr("no-folder"));
}

TEST_F(ProgramTest, ArgumentsThatAreTooLongForTheSystemAreTold) {
  options_.arguments = {"echo", std::string(4 << 20, 'x')};
  const Status status = Program::Start(options_).status();
  EXPECT_EQ(status.code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(status.message(), HasSubstr("Argument list too long"));
}

// ---- its environment

TEST(ProgramEnvironment, HasTheConfigurationInBothForms) {
  TrialStart start;
  start.experiment = "sweep";
  start.metric = "acc";
  start.sweep_seed = 18446744073709551615u;
  start.seed = 1804289383;
  start.trial = TrialNumber{4};
  start.attempt = AttemptNumber{2};
  start.artifact_dir = "/a/4";
  start.from_iteration = 7;
  start.threads = 3;
  Value optimizer = Value::MakeMap();
  optimizer.Set("kind", Value("a b"));
  start.config = Value::MakeMap();
  start.config.Set("lr-rate", Value(0.5));
  start.config.Set("optimizer", optimizer);
  start.device_environment = {{"CUDA_VISIBLE_DEVICES", "1,3"}};
  const Environment environment = ProgramEnvironment(
      {{"PATH", "/bin"}, {"TUNE_PARAM_OLD", "1"}, {"TUNE_RESTORED", "/old"}, {"HOME", "/me"}},
      start, {"@tune-1", "/a/4/config.json", "", "/opt/tune", "/opt/tune/python"},
      {{"HOME", "/own"}});
  const Environment expected = {{"PATH", "/bin:/opt/tune"},
                                {"PYTHONPATH", "/opt/tune/python"},
                                {"PYTHONUNBUFFERED", "1"},
                                {"HOME", "/own"},
                                {"OMP_NUM_THREADS", "3"},
                                {"CUDA_VISIBLE_DEVICES", "1,3"},
                                {"TUNE_SOCKET", "@tune-1"},
                                {"TUNE_CONFIG", "/a/4/config.json"},
                                {"TUNE_TRIAL", "4"},
                                {"TUNE_ATTEMPT", "2"},
                                {"TUNE_EXPERIMENT", "sweep"},
                                {"TUNE_SEED", "1804289383"},
                                {"TUNE_SWEEP_SEED", "18446744073709551615"},
                                {"TUNE_METRIC", "acc"},
                                {"TUNE_MODE", "max"},
                                {"TUNE_DIR", "/a/4"},
                                {"TUNE_FROM_ITERATION", "7"},
                                {"TUNE_PARAM_LR_RATE", "0.5"},
                                {"TUNE_PARAM_OPTIMIZER", R"({"kind":"a b"})"},
                                {"TUNE_PARAM_OPTIMIZER_KIND", "a b"}};
  EXPECT_EQ(environment, expected);
}

TEST(ProgramEnvironment, TellsARankWhatTorchrunWould) {
  TrialStart start;
  start.config = Value::MakeMap();
  start.experiment = "sweep";
  start.trial = TrialNumber{4};
  start.attempt = AttemptNumber{2};
  start.rank = 3;
  start.world_size = 5;
  start.group = {1, 2, 1, 3, {}, "10.0.0.7", 20'123};
  // As where a worker runs within torchrun.
  const Environment base = {{"RANK", "9"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  const Environment environment =
      ProgramEnvironment(base, start, {"@tune-1", "/c.json", "", "/opt/tune", ""}, {});
  const Environment expected = {{"RANK", "3"},
                                {"WORLD_SIZE", "5"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"GROUP_RANK", "1"},
                                {"NODE_RANK", "1"},
                                {"GROUP_WORLD_SIZE", "3"},
                                {"ROLE_NAME", "default"},
                                {"ROLE_RANK", "3"},
                                {"ROLE_WORLD_SIZE", "5"},
                                {"MASTER_ADDR", "10.0.0.7"},
                                {"MASTER_PORT", "20123"},
                                {"TORCHELASTIC_RUN_ID", "sweep-4-2"},
                                {"TORCHELASTIC_RESTART_COUNT", "1"},
                                {"TORCHELASTIC_MAX_RESTARTS", "0"},
                                {"TORCHELASTIC_USE_AGENT_STORE", "False"}};
  for (const auto& [name, value] : expected) EXPECT_EQ(environment.at(name), value) << name;
  start.world_size = 1;
  start.rank = 0;
  EXPECT_EQ(
      ProgramEnvironment({}, start, {"@tune-1", "/c.json", "", "/opt/tune", ""}, {}).count("RANK"),
      0u);
}

TEST(ProgramEnvironment, AVariableThatWouldBeTwoParametersIsNotSet) {
  TrialStart start;
  start.config = Value::MakeMap();
  start.config.Set("opt", Value::MakeMap());
  start.config.AsMap().back().value.Set("lr", Value(0.5));
  start.config.Set("opt_lr", Value(0.25));
  start.config.Set("momentum", Value(0.9));
  const Environment environment =
      ProgramEnvironment({}, start, {"@tune-1", "/c.json", "", "/opt/tune", ""}, {});
  EXPECT_EQ(environment.count("TUNE_PARAM_OPT_LR"), 0u);
  EXPECT_EQ(environment.at("TUNE_PARAM_MOMENTUM"), "0.9");
}

TEST(ProgramEnvironment, NamesWhatToGoOnFromAndNoDevicesWhereThereAreNone) {
  TrialStart start;
  start.config = Value::MakeMap();
  const Environment environment = ProgramEnvironment(
      {{"PYTHONUNBUFFERED", ""}, {"CUDA_VISIBLE_DEVICES", "0"}}, start,
      {"@tune-1", "/c.json", "/a/4/checkpoint_000007/data/model", "/opt/tune", ""}, {});
  EXPECT_EQ(environment.at("TUNE_RESTORED"), "/a/4/checkpoint_000007/data/model");
  EXPECT_EQ(environment.at("CUDA_VISIBLE_DEVICES"), "0") << "as the worker has it";
  EXPECT_EQ(environment.at("PYTHONUNBUFFERED"), "") << "as it was set";
  EXPECT_EQ(environment.at("PATH"), "/opt/tune");
  EXPECT_EQ(environment.count("PYTHONPATH"), 0u);
}

// What it gives on to our standard output, for the log.
TEST_F(ProgramTest, OfAnOutputThatIsTooLongForALogTheMiddleIsLeftOut) {
  const auto logged = [this](const std::string& script) {
    testing::internal::CaptureStdout();
    const Ended ended = Run(script);
    std::fflush(stdout);
    return std::pair(testing::internal::GetCapturedStdout(), ended.output);
  };
  const auto [log, output] =
      logged("echo first; head -c 20000000 /dev/zero | tr '\\0' x; echo last");
  EXPECT_EQ(output.size(), 6u + 20'000'000u + 5u);
  EXPECT_LT(log.size(), static_cast<size_t>(limits::kAttemptLogBytesMax) - 100'000);
  EXPECT_THAT(log, testing::StartsWith("first\nxxx"));
  EXPECT_THAT(log.substr(log.size() - 70'000),
              AllOf(HasSubstr("bytes of the output are left out here]\nxxx"),
                    testing::EndsWith("xxxlast\n")));

  const auto [whole_log, whole] = logged("head -c 16600000 /dev/zero | tr '\\0' x; echo last");
  EXPECT_EQ(whole_log, whole) << "what fits is whole";
}

}  // namespace
}  // namespace tune
