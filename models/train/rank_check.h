// What the ranks of one training must have alike, compared before their first step: they add up
// their gradients and nothing else of the weights, so that a difference would stay, in silence,
// and the run would be that of two networks.
//
// Thread rule: one thread.
// Errors: kFailedPrecondition: two ranks differ, with the same line at each rank; AllReduce's.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/status.h"
#include "models/data/dataset.h"
#include "models/mobilenet_v2.h"
#include "models/ranks/all_reduce.h"
#include "models/train/training_run.h"

namespace tune::models {

struct Alike {
  std::string what;  // "the number of images in training".
  uint64_t value = 0;
  bool is_hash = true;  // Of what it is; else the number itself.
  std::string remedy;   // Of a difference: "bring the same data to each machine".
};

// Each rank brings as many, of the same things. Names the first that differs, and both values.
Status CheckAlike(AllReduce& ranks, std::span<const Alike> mine);

// The options but for where files lie, the data set, how this processor rounds, the weights and
// optimizer with which the next epoch begins, and which one that is.
Result<std::vector<Alike>> AlikeOf(const TrainingRun& run, const Dataset& dataset,
                                   const MobileNetV2& network);

}  // namespace tune::models
