// Ranks on processors, over TCP, by Gloo: a ring, so that each rank sends and receives twice its
// numbers, however many ranks there are. What goes between ranks is neither encrypted nor
// authenticated.
//
// Thread rule: ConnectRanks may be called from any thread; see all_reduce.h for what it makes.
#pragma once

#include <memory>
#include <string>

#include "core/status.h"
#include "models/ranks/all_reduce.h"

namespace tune::models {

struct RankPlace {
  int rank = 0;
  int world_size = 1;
  std::string folder;  // Where the ranks of this training, and no others, find each other. Made
                       // when needed; gone when they have.
  std::string host = "127.0.0.1";  // Of this machine, as the other ranks reach it.
};

// Waits for the others. kUnavailable: `host` is none of this machine's, the folder cannot be used,
// or another rank is there no more.
Result<std::unique_ptr<AllReduce>> ConnectRanks(const RankPlace& place);

}  // namespace tune::models
