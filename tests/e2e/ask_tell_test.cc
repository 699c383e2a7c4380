// Trials that others run, kept in a database: tune ask, tune tell, and ask-tell with a name.
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune {
namespace {

using testing::BinDir;
using testing::Program;
using testing::ProgramResult;
using testing::Query;
using testing::RunTune;
using testing::TestFolder;

constexpr char kSpace[] =
    "metric: loss\nmode: min\nseed: 3\nspace: {x: {uniform: [0, 1]}, k: {randint: [0, 3]}}\n";

// A conversation over pipes.
class Conversation {
 public:
  Conversation(const TestFolder& folder, const std::vector<std::string>& arguments) {
    int in[2];
    int out[2];
    TUNE_CHECK(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
    pid_ = fork();
    TUNE_CHECK(pid_ >= 0);
    if (pid_ == 0) {
      TUNE_CHECK(chdir(folder.path().c_str()) == 0);
      dup2(in[0], STDIN_FILENO);
      dup2(out[1], STDOUT_FILENO);
      const std::string program = BinDir() + "/tune";
      std::vector<char*> argv = {const_cast<char*>(program.c_str())};
      for (const std::string& a : arguments) argv.push_back(const_cast<char*>(a.c_str()));
      argv.push_back(nullptr);
      execv(program.c_str(), argv.data());
      _exit(126);
    }
    close(in[0]);
    close(out[1]);
    in_ = in[1];
    out_ = fdopen(out[0], "r");
  }
  ~Conversation() {
    Kill();
    close(in_);
    fclose(out_);
  }

  void Say(const std::string& line) {
    const std::string text = line + "\n";
    TUNE_CHECK(write(in_, text.data(), text.size()) == static_cast<ssize_t>(text.size()));
  }
  std::string Hear() {
    char* buffer = nullptr;
    size_t capacity = 0;
    const ssize_t length = getline(&buffer, &capacity, out_);
    const std::string line(buffer, length > 0 ? static_cast<size_t>(length) - 1 : 0);
    free(buffer);
    return line;
  }
  void Kill() {
    if (pid_ <= 0) return;
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    pid_ = 0;
  }

 private:
  pid_t pid_ = 0;
  int in_ = -1;
  FILE* out_ = nullptr;
};

TEST(AskTell, WhatIsAskedAndToldStandsInTheDatabase) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  const ProgramResult first = RunTune(folder, {"ask", "study.yaml"});
  EXPECT_EQ(first.exit_status, 0) << first.err;
  EXPECT_TRUE(first.out.starts_with("{\"trial\":0,\"config\":{\"x\":")) << first.out;
  EXPECT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml", "--count", "2"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "0", "0.5"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "study", "1", "0.4", "--iteration", "2"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "2", "--failed"})));
  EXPECT_EQ(Query(folder, "select number, status, iterations, best_value from trials"),
            (std::vector<std::string>{"0|TERMINATED|1|0.5", "1|RUNNING|2|0.4", "2|ERROR|0|"}));
  EXPECT_EQ(Query(folder, "select trial, iteration, value, metrics from reports"),
            (std::vector<std::string>{"1|1|0.5|{\"loss\":0.5}", "2|2|0.4|{\"loss\":0.4}"}));
}

TEST(AskTell, AFinalValueIsTheLastReport) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "0", "0.9", "--iteration", "1"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "0", "0.1"})));
  EXPECT_EQ(Query(folder, "select iterations, last_value, best_value, best_iteration from trials"),
            (std::vector<std::string>{"2|0.1|0.1|2"}));
  EXPECT_EQ(Query(folder, "select iteration, value from reports order by iteration"),
            (std::vector<std::string>{"1|0.9", "2|0.1"}));
}

TEST(AskTell, AnInfiniteValueIsNoValue) {
  TestFolder folder;
  std::string space = kSpace;
  space.replace(space.find("min"), 3, "max");
  folder.Write("study.yaml", space);
  EXPECT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml", "--count", "2"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "0", "inf"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "1", "0.5"})));
  EXPECT_EQ(Query(folder, "select number, best_value is null from trials"),
            (std::vector<std::string>{"0|1", "1|0"}));
}

TEST(AskTell, ThoseWhoAskAndTellAtATimeWaitForEachOther) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  constexpr int64_t kCount = 8;
  const auto all = [&](const std::function<std::vector<std::string>(int64_t)>& arguments) {
    std::vector<std::unique_ptr<Program>> programs;
    for (int64_t i = 0; i < kCount; ++i) {
      programs.push_back(std::make_unique<Program>(folder, "tune", arguments(i)));
    }
    for (const auto& program : programs) {
      const ProgramResult result = program->Wait();
      EXPECT_EQ(result.exit_status, 0) << result.err;
    }
  };
  all([](int64_t) { return std::vector<std::string>{"ask", "study.yaml"}; });
  all([](int64_t i) { return std::vector<std::string>{"tell", std::to_string(i), "0.5"}; });
  EXPECT_EQ(Query(folder, "select count(*), sum(status = 'TERMINATED') from trials"),
            std::vector<std::string>{"8|8"});
}

TEST(AskTell, NumbersAreToldAsProgramsPrintThem) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml", "--count", "7"})));
  const std::vector<std::string> told = {"nan", "+.5", "-1e-3", "inf", "-inf", "-.5", "-NaN"};
  for (size_t i = 0; i < told.size(); ++i) {
    const ProgramResult result = RunTune(folder, {"tell", std::to_string(i), told[i]});
    EXPECT_EQ(result.exit_status, 0) << result.err;
  }
  EXPECT_EQ(
      Query(folder, "select number, metrics from trials join reports on trial = trials.id"),
      (std::vector<std::string>{"0|{\"loss\":\"NaN\"}", "1|{\"loss\":0.5}", "2|{\"loss\":-0.001}",
                                "3|{\"loss\":\"Infinity\"}", "4|{\"loss\":\"-Infinity\"}",
                                "5|{\"loss\":-0.5}", "6|{\"loss\":\"NaN\"}"}));
  EXPECT_NE(RunTune(folder, {"why", "1"}).out.find("told by tune tell; no scheduler decides"),
            std::string::npos);
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 2);
  EXPECT_NE(resumed.err.find("holds only sweeps of tune ask"), std::string::npos) << resumed.err;
}

TEST(AskTell, NumbersThatAShellReadFromALineAreTaken) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml", "--count", "2\r"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "study/0\r", " 0.5\r", "--iteration=2\r"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "1\r", "0.25\r"})));
  EXPECT_EQ(Query(folder, "select trial, iteration, value from reports"),
            (std::vector<std::string>{"1|2|0.5", "2|1|0.25"}));
  const ProgramResult csv = RunTune(folder, {"results", "--format", "csv"});
  EXPECT_EQ(csv.out.find('\r'), std::string::npos) << csv.out;
  EXPECT_TRUE(Succeeded(RunTune(folder, {"why", "1\r"})));
}

TEST(AskTell, WhatATunerWouldDoIsRefusedWithTheReason) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml"})));
  for (const std::vector<std::string>& arguments :
       std::vector<std::vector<std::string>>{{"stop", "study"},
                                             {"pause", "study"},
                                             {"set", "study", "max_concurrent=2"},
                                             {"retrain", "study", "--top", "1", "--seeds", "2"}}) {
    const ProgramResult result = RunTune(folder, arguments);
    EXPECT_EQ(result.exit_status, 2) << arguments[0];
    EXPECT_NE(result.err.find("study: is a sweep of tune ask and tune tell"), std::string::npos)
        << result.err;
  }
}

TEST(AskTell, WhatWasAnsweredSurvivesAKillAndTheNextGoesOnAsIfNothingHadBeen) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  std::vector<std::string> whole;
  {
    Conversation unbroken(folder, {"ask-tell", "study.yaml"});
    for (int i = 0; i < 4; ++i) {
      unbroken.Say("{\"ask\": 1}");
      whole.push_back(unbroken.Hear());
    }
  }
  Conversation first(folder, {"ask-tell", "study.yaml", "--name", "s"});
  first.Say("{\"ask\": 2}\n{\"tell\": {\"trial\": 1, \"value\": 0.25}}");
  EXPECT_EQ(first.Hear(), whole[0]);
  EXPECT_EQ(first.Hear(), whole[1]);
  EXPECT_EQ(first.Hear(), "{\"ok\":true}");
  first.Kill();
  EXPECT_EQ(Query(folder, "select status, best_value from trials order by number"),
            (std::vector<std::string>{"RUNNING|", "TERMINATED|0.25"}));
  Conversation second(folder, {"ask-tell", "study.yaml", "--name", "s"});
  second.Say("{\"ask\": 2}");
  EXPECT_EQ(second.Hear(), whole[2]);
  EXPECT_EQ(second.Hear(), whole[3]);
}

TEST(AskTell, BadInputIsOneLineAndChangesNothing) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  EXPECT_EQ(RunTune(folder, {"tell", "0", "1"}).exit_status, 2);
  const ProgramResult named = RunTune(folder, {"ask", "study.yaml", "--name", "-x"});
  EXPECT_EQ(named.exit_status, 2);
  EXPECT_NE(named.err.find("a name that does not begin with '-'"), std::string::npos) << named.err;
  const std::vector<std::string> costs = {"--set", "search={algorithm: gp, per: seconds}"};
  for (std::vector<std::string> arguments :
       {std::vector<std::string>{"ask", "study.yaml"}, {"ask-tell", "study.yaml"}}) {
    arguments.insert(arguments.end(), costs.begin(), costs.end());
    const ProgramResult refused = RunTune(folder, arguments);
    EXPECT_EQ(refused.exit_status, 2);
    EXPECT_NE(refused.err.find("tune: search.per: read seconds, expected trial"), std::string::npos)
        << refused.err;
  }
  EXPECT_EQ(folder.Names(), std::vector<std::string>{"study.yaml"});
  ASSERT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml"})));
  const std::pair<std::vector<std::string>, std::string> cases[] = {
      {{"tell", "7", "1"}, "tune: study: tell: the trial 7 was never asked for\n"},
      {{"tell", "x", "1"}, "tune: a value is missing; or write --failed\n"},
      {{"tell", "x", "y", "1"}, "tune: read 'x/y', expected a trial: 3, or NAME/3\n"},
      {{"tell", "x", "-1", "1"}, "tune: read 'x/-1', expected a trial: 3, or NAME/3\n"},
      {{"tell", "0"}, "tune: a value is missing; or write --failed\n"},
      {{"tell", "0", "1", "--iteration", "0"},
       "tune: --iteration: read 0, expected an integer of 1 or more (tune help tell shows "
       "its options)\n"},
      {{"tell", "0", "abc"}, "tune: read 'abc', expected a number, NaN or null\n"},
      {{"tell", "0", "1", "--failed"}, "tune: --failed: a failed trial has no value\n"},
      {{"tell", "other/0", "1"},
       "tune: tune.db: there is no ask-tell sweep 'other'; it has study\n"},
      {{"resume"},
       "tune: nothing to resume: tune.db holds only sweeps of tune ask; go on with tune ask and "
       "tune tell\n"},
      {{"resume", "study"},
       "tune: nothing to resume: study is a sweep of tune ask; go on with tune ask and tune "
       "tell\n"},
      {{"ask", "study.yaml", "--set", "space.x.uniform=[0,2]"},
       "tune: the space file differs from what study was begun with; go on with that one, or name "
       "another sweep with --name:\n  space.x.uniform[1]: 1 is stored, the file has 2\n"},
      {{"ask", "study.yaml", "--count", "0"},
       "tune: --count: ask: read 0, expected an integer of 1 or more\n"},
  };
  for (const auto& [arguments, message] : cases) {
    const ProgramResult result = RunTune(folder, arguments);
    EXPECT_EQ(result.exit_status, 2) << message;
    EXPECT_EQ(result.err, message);
  }
  EXPECT_EQ(Query(folder, "select status from trials"), std::vector<std::string>{"RUNNING"});
}

TEST(AskTell, ADatabaseThatCannotBeLookedAtIsSaid) {
  TestFolder folder;
  folder.Write("study.yaml", kSpace);
  const ProgramResult result =
      RunTune(folder, {"ask", "study.yaml", "--db", std::string(300, 'a') + ".db"});
  EXPECT_NE(result.exit_status, 0);
  EXPECT_NE(result.err.find("tune: "), std::string::npos) << result.err;
  EXPECT_NE(result.err.find("File name too long"), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("filesystem error"), std::string::npos) << result.err;
}

TEST(AskTell, ATellOfSeveralObjectivesHasAValueForEach) {
  TestFolder folder;
  folder.Write("study.yaml",
               "metric: [loss, latency]\nmode: [min, min]\nspace: {x: {uniform: [0, 1]}}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"ask", "study.yaml"})));
  const ProgramResult one = RunTune(folder, {"tell", "0", "1"});
  EXPECT_EQ(one.exit_status, 2);
  EXPECT_NE(one.err.find("expected a list of 2 numbers"), std::string::npos) << one.err;
  EXPECT_TRUE(Succeeded(RunTune(folder, {"tell", "0", "0.5", "12"})));
  EXPECT_EQ(Query(folder, "select metrics from reports"),
            std::vector<std::string>{"{\"loss\":0.5,\"latency\":12.0}"});
}

TEST(Decide, ALimitOnAParameterIsRefusedAsNoLineTellsAConfiguration) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", std::string(kSpace) + "feasible: ['k * ms < 10']\n");
  const ProgramResult result = RunTune(folder, {"decide", space});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_EQ(result.err,
            "tune: feasible: a limit names the parameter k, and tune decide is told no "
            "configurations; leave the limit out, or run the sweep\n");
}

}  // namespace
}  // namespace tune
