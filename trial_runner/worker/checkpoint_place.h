// Where an attempt's checkpoints go, below its trial's artifact folder, and how a trial says what
// went wrong with one.
//
// "checkpoint_000005" is the first attempt's at iteration 5, "checkpoint_000005.2" the second's.
// Two attempts of one trial can overlap for a moment (a worker that was frozen wakes up), so each
// has names of its own. The tuner takes the path as it is told.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <string>

#include "core/status.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

// Which attempt made a checkpoint of that iteration, by its path; 0: none that is named so.
int64_t AttemptThatMade(const std::string& path, int64_t iteration);

class CheckpointPlace {
 public:
  explicit CheckpointPlace(const TrialStart& start)
      : folder_(start.artifact_dir),
        attempt_(start.attempt.value),
        config_since_(start.config_since.value) {}

  // Before each checkpoint; works at the first one of an attempt. Makes the folder, makes its name
  // durable up to the database's folder, and removes what killed attempts left half-written.
  Status Prepare();

  const std::string& folder() const { return folder_; }
  std::string NameOf(int64_t iteration) const;

  // Once this attempt has its checkpoint of an iteration, those that earlier attempts under the
  // same configuration made of it are for nothing: known to the tuner or not, it keeps this one in
  // their place.
  void RemoveEarlierOf(int64_t iteration) const;

 private:
  const std::string folder_;
  const int64_t attempt_;
  const int64_t config_since_;  // Attempt.
  bool is_prepared_ = false;
};

// The end of an attempt that could not save: kDiskFull when the disk takes no writes.
TrialEnd EndForUnsaved(const std::string& folder, const Status& status);

// The end of an attempt that could not go on from a checkpoint: kBadCheckpoint when it is torn,
// corrupt or gone; a bad configuration when it does not belong to it (kFailedPrecondition).
TrialEnd EndForUnrestored(const Status& status);

}  // namespace tune
