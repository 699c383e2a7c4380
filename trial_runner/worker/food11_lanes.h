// The built-in trainable `food11` behind a session: the one place where trials and the classifier
// meet. Attempts that run at the same time are lanes of one array (models/train/lane_array.h): they
// train in step, an epoch at a time, and begin together when each has been answered. Where some
// have ended, the others wait a moment for those that come in their place. A step ends before the
// worker is heard again; so a lane leaves between two steps. A rank of several trains alone
// (food11_rank.h).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>

#include "core/status.h"
#include "models/train/lane_array.h"
#include "trial_runner/worker/checkpoint_place.h"
#include "trial_runner/worker/lane_session.h"

namespace tune {

class Food11Lanes {
 public:
  struct Surroundings {
    std::string data_dir;      // FOOD11_DATA_DIR, or empty.
    std::string cache_folder;  // For a data folder that cannot be written; may be empty.
  };
  // The session outlives it.
  Food11Lanes(Surroundings surroundings, LaneSession& session);
  ~Food11Lanes();

  // Runs what the worker says until it says no more. Each attempt trains from the start or from the
  // checkpoint and reports each epoch. Weights, shuffle and dropout are drawn from the sweep's seed
  // and the trial's number, so that another attempt does the same, beside whomever.
  void Run();

 private:
  struct Lane {
    Lane(const TrialStart& start, models::TrainingRun* its_run)
        : run(its_run), place(start), checkpoint_every(start.checkpoint_every) {}
    models::TrainingRun* run;
    CheckpointPlace place;
    int64_t checkpoint_every;
    bool awaits_answer = false;
  };

  bool AwaitsAnswers() const;
  int WaitMs() const;
  void On(int64_t lane, const TrialStart& start);
  void On(int64_t lane, const LaneGoesOn& answer);
  void On(int64_t lane, const LaneShallEnd& order);
  std::optional<TrialEnd> Begin(int64_t lane, const TrialStart& start);
  void Step();
  void EndEpoch(const models::LaneArray::Ended& ended);
  void End(int64_t lane, const TrialEnd& end);
  bool IsAsLoaded(const std::string& data) const;
  Result<std::shared_ptr<const models::Dataset>> Load(const std::string& data, int image_size);

  const Surroundings surroundings_;
  LaneSession& session_;
  std::unique_ptr<models::LaneArray> array_;  // Of the lanes that run; they are of one shape.
  std::string shape_;
  models::DeviceKind device_ = models::DeviceKind::kCpu;  // Of the array; never kAuto.
  std::map<int64_t, Lane> lanes_;
  size_t epoch_lane_count_ = 0;     // That began the last epoch.
  double awaits_others_until_ = 0;  // By the clock, for as many as those.
  std::string logged_;              // Of the array.
  // Kept for the next attempt, which mostly wants the same.
  std::shared_ptr<const models::Dataset> dataset_;
  std::string dataset_data_;
  int dataset_image_size_ = 0;
};

}  // namespace tune
