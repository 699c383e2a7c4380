// A sweep of one trial of two ranks, on this machine or with workers from elsewhere, and how it
// ends when nobody disturbs it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"

namespace tune::testing {

inline constexpr int kRankEpochs = 20;

inline std::string RankSpace(const std::string& more = "") {
  return "trainable: food11\nmetric: val_loss\nmode: min\nsamples: 1\nseed: 5\n"
         "space: {data: synthetic, image_size: 32, width_mult: 0.35, batch_size: 32, lr: 0.01,\n"
         "        patience: 100, total_epochs: " +
         std::to_string(kRankEpochs) +
         "}\n"
         "resources: {cpu: 1, workers: 2, spread: true}\n"
         "failure: {max_failures: 1, backoff: 0}\n" +
         more;
}

inline std::string FileText(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

// Weights, Adam's moments and the best epoch's weights at the end of trial 0.
inline std::string EndState(const TestFolder& folder) {
  const auto paths = Query(
      folder, "select path from checkpoints where iteration = " + std::to_string(kRankEpochs));
  EXPECT_EQ(paths.size(), 1u);
  if (paths.size() != 1) return "";
  return FileText(paths[0] + "/model.safetensors") + FileText(paths[0] + "/state.safetensors");
}

// Of a sweep that nobody disturbs; run once.
inline const std::string& UndisturbedEnd() {
  static const std::string state = [] {
    TestFolder folder;
    const ProgramResult result =
        RunTune(folder, {"run", folder.Write("space.yaml", RankSpace()), "--cpus", "2"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(Query(folder, "select outcome, error from attempts"),
              std::vector<std::string>{"completed|"});
    EXPECT_EQ(result.err.find("encrypted"), std::string::npos) << result.err;
    EXPECT_FALSE(std::filesystem::exists(folder / "tune.artifacts/space/0/ranks_1"));
    return EndState(folder);
  }();
  return state;
}

// A sweep whose two ranks need a worker each, and whose workers come from elsewhere. Networks are
// those of Program.
class JoinedRankSweep {
 public:
  explicit JoinedRankSweep(const std::string& more = "", const std::string& host = "127.0.0.1",
                           const std::string& network = "")
      : tune_(folder_, "tune",
              {"run", folder_.Write("space.yaml", RankSpace(more)), "--cpus", "0", "--listen",
               host + ":0"},
              network),
        join_(WaitForJoinLine(tune_)) {
    EXPECT_NE(join_.token, "");
  }

  const TestFolder& folder() const { return folder_; }
  Program Worker(const std::string& name, const std::string& network = "") const {
    return Program(folder_, "tune", join_.Worker({"--cpus", "1", "--name", name}), network);
  }
  ProgramResult Wait() { return tune_.Wait(); }
  std::vector<std::string> Ask(const std::string& sql) const { return Query(folder_, sql); }

  // That both workers had a part in the one attempt, whose end is that of one machine.
  void ExpectUndisturbedEnd(Program& first, Program& second) {
    const ProgramResult result = Wait();
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_TRUE(Succeeded(first.Wait()));
    EXPECT_TRUE(Succeeded(second.Wait()));
    EXPECT_EQ(Ask("select outcome, error, '[' || (3 - worker) || ']' = other_workers"
                  " from attempts"),
              std::vector<std::string>{"completed||1"});
    EXPECT_NE(result.err.find("neither encrypted nor authenticated"), std::string::npos)
        << result.err;
    EXPECT_EQ(EndState(folder_), UndisturbedEnd());
  }

 private:
  TestFolder folder_;
  Program tune_;
  JoinLine join_;
};

}  // namespace tune::testing
