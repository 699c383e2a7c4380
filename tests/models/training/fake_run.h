// A run of the fake network over three classes: takes milliseconds.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "models/train/trainer.h"
#include "tests/models/training/fake_network.h"
#include "tests/models/training/small_training.h"

namespace tune::models {

inline std::shared_ptr<const Dataset> ThreeClasses(int training_per_class = 8) {
  return SmallData(training_per_class, 3);
}

inline Food11Options SmallOptions() {
  Food11Options options;
  options.batch_size = 8;
  options.image_size = 32;
  options.lr = 0.01;
  options.fine_tune_lr = 0.001;
  options.initial_epochs = 2;
  options.total_epochs = 6;
  options.patience = 100;
  options.seed = 5;
  return options;
}

struct TrialRun {
  std::unique_ptr<Trainer> trainer;
  FakeNetwork* network = nullptr;

  TrialRun(const Food11Options& options, std::shared_ptr<const Dataset> data, int threads = 1) {
    NetworkOptions network_options;
    network_options.image_size = options.image_size;
    network_options.class_count = data->class_count();
    network_options.batch_max = options.batch_size;
    network_options.threads = threads;
    auto made = std::make_unique<FakeNetwork>(network_options, options.seed);
    network = made.get();
    trainer = std::make_unique<Trainer>(options, std::move(data), std::move(made),
                                        [this] { return seconds += 0.5; });
  }

  EpochReport Epoch() {
    Result<EpochReport> report = trainer->RunEpoch();
    EXPECT_TRUE(report.ok());
    return *report;
  }
  void Epochs(int count) {
    for (int i = 0; i < count; ++i) Epoch();
  }

  double seconds = 0;
};

}  // namespace tune::models
