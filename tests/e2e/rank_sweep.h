// A sweep of one trial of two ranks, and how it ends when nobody disturbs it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

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

// Requires that the database is there.
inline void WaitForReports(const TestFolder& folder, int count) {
  const std::string there = "select count(*) >= " + std::to_string(count) + " from reports";
  while (Query(folder, there) != std::vector<std::string>{"1"}) {
  }
}

}  // namespace tune::testing
