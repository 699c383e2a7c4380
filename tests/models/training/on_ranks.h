// Ranks that are threads, with real connections between them.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>
#include <thread>
#include <vector>

#include "models/ranks/gloo_all_reduce.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {

// Each rank in a thread of its own, connected with the others.
inline void OnRanks(int world_size, const std::function<void(AllReduce&)>& run) {
  const TempFolder folder;
  std::vector<std::thread> ranks;
  for (int rank = 0; rank < world_size; ++rank) {
    ranks.emplace_back([&, rank] {
      const auto connected = ConnectRanks({rank, world_size, folder / "ranks"});
      ASSERT_TRUE(connected.ok()) << connected.status().message();
      run(**connected);
    });
  }
  for (std::thread& rank : ranks) rank.join();
  EXPECT_FALSE(std::filesystem::exists(folder / "ranks"));
}

}  // namespace tune::models
