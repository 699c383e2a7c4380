// The built-in trainable `food11` behind a trial session: the one place where trials and the
// classifier meet.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <string>
#include <utility>

#include "core/status.h"
#include "trial_runner/worker/trial_session.h"

namespace tune::models {
struct Dataset;
}

namespace tune {

class Food11Trainable {
 public:
  struct Surroundings {
    std::string data_dir;      // FOOD11_DATA_DIR, or empty.
    std::string cache_folder;  // For a data folder that cannot be written; may be empty.
  };
  explicit Food11Trainable(Surroundings surroundings) : surroundings_(std::move(surroundings)) {}

  // Trains from the start or from the checkpoint and reports each epoch. Weights, shuffle and
  // dropout are drawn from the sweep's seed and the trial's number, so that another attempt does
  // the same.
  TrialEnd Run(const TrialStart& start, TrialSession& session);

 private:
  Result<std::shared_ptr<const models::Dataset>> Load(const std::string& data, int image_size,
                                                      int threads);

  const Surroundings surroundings_;
  // Kept for the next attempt, which mostly wants the same.
  std::shared_ptr<const models::Dataset> dataset_;
  std::string dataset_data_;
  int dataset_image_size_ = 0;
};

}  // namespace tune
