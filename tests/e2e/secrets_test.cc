// Secrets of a user's programs from the outside: they reach the trials, and lie nowhere.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kToken[] = "hf_AbCdEfGhIjKl";
constexpr char kPassword[] = "swordfish-7";

class Secrets : public ::testing::Test {
 protected:
  Secrets() {
    unsetenv("HF_TOKEN");
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    fs::create_directories(folder_ / "code");
    // Reports 1 where it has the token, 0 where not.
    folder_.Write("code/trial.sh", "#!/bin/sh\ntest \"$HF_TOKEN\" = " + std::string(kToken, 6) +
                                       "\"" + std::string(kToken + 6) +
                                       "\" && acc=1 || acc=0\ntune report acc=$acc\n");
    chmod((folder_ / "code/trial.sh").c_str(), 0755);
  }
  ~Secrets() override { unsetenv("HF_TOKEN"); }

  std::string Space(const std::string& env) const {
    return folder_.Write("space.yaml",
                         "trainable:\n  command: [./trial.sh]\n  working_dir: code\n  env: " + env +
                             "\nmetric: acc\nmode: max\nspace: {x: {uniform: [0, 1]}}\n");
  }
  // Files below the folder that hold the text.
  std::vector<std::string> Holding(const std::string& text) const {
    std::vector<std::string> found;
    for (const auto& entry : fs::recursive_directory_iterator(folder_.path())) {
      if (!entry.is_regular_file()) continue;
      std::ifstream in(entry.path(), std::ios::binary);
      const std::string content(std::istreambuf_iterator<char>(in), {});
      if (content.find(text) != std::string::npos) found.push_back(entry.path().filename());
    }
    return found;
  }

  TestFolder folder_;
  TestFolder cache_;
};

TEST_F(Secrets, ReachTheTrialsAndAreStoredNowhere) {
  const std::string space = Space(std::string("{HF_TOKEN: ") + kToken + "}");
  const ProgramResult run =
      RunTune(folder_, {"run", space, "--set", "trainable.env.API_KEY=taken-back-22", "--set",
                        std::string("trainable.env={HF_TOKEN: ") + kToken + "}", "--set",
                        "trainable.env.DB_PASSWORD=corrected-later-1", "--set",
                        std::string("trainable.env.DB_PASSWORD=") + kPassword});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("trainable.env.HF_TOKEN is a secret by its name"),
                             HasSubstr("trainable.env.DB_PASSWORD is a secret by its name")));
  EXPECT_EQ(Query(folder_, "select value from reports"), std::vector<std::string>{"1.0"});
  fs::remove(space);
  EXPECT_THAT(Holding(kToken), IsEmpty());
  EXPECT_THAT(Holding(kPassword), IsEmpty());
  EXPECT_THAT(Holding("corrected-later"), IsEmpty()) << "what a later --set overrides";
  EXPECT_THAT(Holding("taken-back"), IsEmpty());

  const ProgramResult without = RunTune(folder_, {"resume", "--samples", "2"});
  EXPECT_EQ(without.exit_status, 2);
  EXPECT_THAT(without.err, HasSubstr("trainable: env: HF_TOKEN is not set in this environment"));
  setenv("HF_TOKEN", kToken, 1);
  setenv("DB_PASSWORD", kPassword, 1);
  const ProgramResult with = RunTune(folder_, {"resume", "--samples", "2"});
  unsetenv("DB_PASSWORD");
  EXPECT_EQ(with.exit_status, 0) << with.err;
  EXPECT_EQ(Query(folder_, "select value from reports"), (std::vector<std::string>{"1.0", "1.0"}));
}

TEST_F(Secrets, ThatAProgramPrintsWhenItFailsAreInNoFailure) {
  folder_.Write("code/trial.sh",
                "#!/bin/sh\necho \"401 for https://$HF_TOKEN@host/x\" >&2\nexit 3\n");
  for (const char* const setup : {"", "  setup: ['echo cannot use $HF_TOKEN; exit 3']\n"}) {
    const std::string space =
        folder_.Write("space.yaml", "trainable:\n  command: [./trial.sh]\n  working_dir: code\n" +
                                        std::string(setup) + "  env: {HF_TOKEN: " + kToken +
                                        "}\nmetric: acc\nmode: max\nsamples: 1\n"
                                        "space: {x: {uniform: [0, 1]}}\n");
    const ProgramResult run = RunTune(folder_, {"run", space});
    EXPECT_EQ(run.exit_status, 3) << run.err;
    EXPECT_THAT(run.err, AllOf(HasSubstr("***"), Not(HasSubstr(kToken))));
    for (const std::string& file : Holding(kToken)) {
      EXPECT_TRUE(file == "space.yaml" || file.ends_with(".log")) << file;
    }
  }
}

TEST_F(Secrets, FromTheEnvironmentMustBeThereBeforeAnythingStarts) {
  const std::string space = Space("{HF_TOKEN: {from_environment: true}}");
  const ProgramResult without = RunTune(folder_, {"run", space});
  EXPECT_EQ(without.exit_status, 2);
  EXPECT_THAT(without.err, HasSubstr("space.yaml:4:8: trainable: env: HF_TOKEN is not set"));
  EXPECT_FALSE(fs::exists(folder_ / "tune.db"));
  setenv("HF_TOKEN", kToken, 1);
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"run", space})));
  EXPECT_EQ(Query(folder_, "select value from reports"), std::vector<std::string>{"1.0"});
}

TEST_F(Secrets, OfAWorkerOfAnotherMachineAreItsOwn) {
  const std::string space = Space("{HF_TOKEN: {from_environment: true}}");
  Program tune(folder_, "tune", {"run", space, "--cpus", "0", "--listen", FreePlace()});
  const JoinLine join = WaitForJoinLine(tune);
  const ProgramResult unfit = RunTune(folder_, join.Worker());
  EXPECT_EQ(unfit.exit_status, 1);
  EXPECT_THAT(unfit.err, HasSubstr("HF_TOKEN is not set in this environment"));
  setenv("HF_TOKEN", kToken, 1);
  const ProgramResult fit = RunTune(folder_, join.Worker());
  EXPECT_EQ(fit.exit_status, 0) << fit.err;
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_EQ(Query(folder_, "select value from reports"), std::vector<std::string>{"1.0"});
}

TEST_F(Secrets, InTheFolderThatIsSentKeepASweepFromListening) {
  Space(std::string("{HF_TOKEN: ") + kToken + "}");
  fs::rename(folder_ / "space.yaml", folder_ / "code/space.yaml");
  const std::vector<std::string> listening = {"run",      folder_ / "code/space.yaml",
                                              "--listen", FreePlace(),
                                              "--set",    "trainable.working_dir=."};
  const ProgramResult refused = RunTune(folder_, listening);
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err, HasSubstr("code: space.yaml holds the value of HF_TOKEN, which would be "
                                     "sent to every worker that joins; move it"));
  std::vector<std::string> dry = listening;
  dry.push_back("--dry-run");
  EXPECT_EQ(RunTune(folder_, dry).err, refused.err);
  folder_.Write("code/.tuneignore", "space.yaml\n");
  EXPECT_TRUE(Succeeded(RunTune(folder_, dry)));
  EXPECT_TRUE(Succeeded(RunTune(folder_, listening)));
}

TEST_F(Secrets, AnEarlierTunersOutputInTheFolderDoesNotKeepASweepFromListening) {
  Space("{}");
  fs::rename(folder_ / "space.yaml", folder_ / "code/space.yaml");
  folder_.Write("code/t.out", "tune worker --connect a:1 --join tune1_" + std::string(80, 'a'));
  const ProgramResult run = RunTune(folder_, {"run", folder_ / "code/space.yaml", "--listen",
                                              FreePlace(), "--set", "trainable.working_dir=."});
  EXPECT_EQ(run.exit_status, 0) << run.err;
  EXPECT_THAT(run.err, AllOf(HasSubstr("warning: "),
                             HasSubstr("code/t.out holds a join token and is not sent")));
}

}  // namespace
}  // namespace tune::testing
