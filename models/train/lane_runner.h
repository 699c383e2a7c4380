// Who computes the steps of several runs of one shape: a lane for each, with weights, optimizer and
// randomness of its own. On a card one launch does the work of all (models/cuda/card_lanes.h); the
// host's steps one network after the other, over one data set.
//
// What one lane computes does not depend on the others: on the host and on the processor in a
// card's place bit for bit; on a card within the rounding of products that cuBLAS may cut otherwise
// for another number of lanes.
//
// Thread rule: one thread. Errors: of a lane, the network's; of a card that fails, every lane's.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/mobilenet_v2.h"
#include "models/train/batch_runner.h"

namespace tune::models {

struct LaneStep {
  NetworkTensors* lane = nullptr;
  BatchStep step;
};

// Whether two steps can be one launch's: of one split, and as many images.
bool AreAlike(const BatchStep& a, const BatchStep& b);

// What a lane was given.
struct LaneResources {
  int threads = 1;
  int64_t device_bytes = 0;  // Its share of a card's memory; 0: no limit.
};

class LaneRunner {
 public:
  virtual ~LaneRunner() = default;

  // A lane more, its weights drawn from the seed. It is there
  // until it is removed or the runner ends.
  virtual Result<NetworkTensors*> Add(uint64_t seed, const LaneResources& resources) = 0;
  virtual void Remove(NetworkTensors* lane) = 0;

  // Steps that are alike, each of another lane; a result each, in their order. Other lanes stay as
  // they are. Where the memory does not hold them all, those that were added last are refused.
  virtual std::vector<Result<BatchResult>> Run(std::span<const LaneStep> steps) = 0;
  // As BatchRunner's; it may change with a step.
  virtual std::string Note() const { return ""; }
};

// `options.threads` of the shape are not used: each lane says how many it has.
std::unique_ptr<LaneRunner> MakeHostLaneRunner(const NetworkOptions& options,
                                               std::shared_ptr<const Dataset> dataset);
// Where the options' device says.
Result<std::unique_ptr<LaneRunner>> MakeLaneRunner(const NetworkOptions& options,
                                                   std::shared_ptr<const Dataset> dataset);

}  // namespace tune::models
