// Which checkpoints stay: of each trial the latest `keep`, and over the sweep the `keep_best` with
// the best values. What a trial would be resumed from is always among its latest. Pure.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/metric.h"
#include "trial_runner/messages.h"
#include "tuner/experiment_spec.h"

namespace tune {

class CheckpointRetention {
 public:
  struct Entry {
    TrialNumber trial;
    int64_t iteration = 0;
    CheckpointRef ref;
    Metric value;  // The sweep's metric at that iteration.
  };

  CheckpointRetention(const CheckpointPolicy& policy, Mode mode);

  // Adds one; returns those that need not stay any longer, in order of iteration. An iteration that
  // was saved before (a retry) replaces the earlier entry, whose folder is the same.
  std::vector<Entry> Add(const Entry& entry);

  // The trial's checkpoint of that iteration if it is kept, else its latest; null if it has none.
  const Entry* Nearest(TrialNumber trial, int64_t iteration) const;

 private:
  bool IsBetterEntry(const Entry& a, const Entry& b) const;
  bool IsAmongBest(const Entry& entry) const;

  CheckpointPolicy policy_;
  Mode mode_;
  std::map<TrialNumber, std::vector<Entry>> kept_;  // By iteration.
  std::vector<Entry> best_;                         // Best first, at most keep_best.
};

}  // namespace tune
