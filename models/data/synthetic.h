// A small learnable data set that needs no files: each class is a pair of colours and a stripe
// direction and width, each image a drawn phase, brightness, hue shift and noise. For tests and for
// machines with no data.
#pragma once

#include <cstdint>

#include "models/data/dataset.h"

namespace tune::models {

struct SyntheticOptions {
  int image_size = 96;
  int class_count = 11;
  int training_per_class = 32;
  int validation_per_class = 10;
  int evaluation_per_class = 10;
  uint64_t seed = 11;  // The same for every trial: trials differ in configuration, never in data.
};

Dataset MakeSynthetic(const SyntheticOptions& options);

}  // namespace tune::models
