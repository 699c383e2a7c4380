// A training of the real network that takes moments and goes through both phases.
#pragma once

#include <memory>

#include "models/data/synthetic.h"
#include "models/train/food11_options.h"

namespace tune::models {

inline std::shared_ptr<const Dataset> SmallData(int training_per_class, int class_count = 4) {
  SyntheticOptions options;
  options.image_size = 32;
  options.class_count = class_count;
  options.training_per_class = training_per_class;
  options.validation_per_class = 5;
  options.evaluation_per_class = 5;
  return std::make_shared<const Dataset>(MakeSynthetic(options));
}

inline Food11Options SmallTraining(int batch_size) {
  Food11Options options;
  options.batch_size = batch_size;
  options.width_mult = 0.35;
  options.image_size = 32;
  options.lr = 3e-3;
  options.fine_tune_lr = 2e-3;
  options.initial_epochs = 1;
  options.total_epochs = 4;
  options.seed = 3;
  return options;
}

}  // namespace tune::models
