// What one training step is told: read by the kernels from the card's memory, so that a captured
// step can be run again with other numbers.
//
// Thread rule: values.
#pragma once

#include <cstdint>

#include "models/cuda/augment.h"

namespace tune::models::cuda {

// Adam, as cpu/adam.h has it.
struct AdamInput {
  float step_size = 0;  // lr / (1 - beta1^step)
  float root = 1;       // sqrt(1 - beta2^step)
  float kept = 1;       // 1 - lr * weight_decay
};

// Of one lane.
struct LaneInput {
  AdamInput head, backbone;
  int32_t train_backbone = 0;
  float kept_scale = 1;  // 1 / (1 - dropout_probability)
  double dropout_probability = 0;
};

// Of one image of one lane's batch.
struct ImageInput {
  int64_t source = 0;  // Its place in the images that MakeImages was given.
  int32_t label = 0;
  uint64_t dropout_key = 0;  // KeyedRandom::key() of (dropout seed, "dropout", place in the batch).
  Change change;
};

}  // namespace tune::models::cuda
