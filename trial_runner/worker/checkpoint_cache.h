// Which checkpoints that the tuner keeps lie on this machine too: of each trial the latest that it
// saved here or went on from, so that it can go on here without a transfer. Pure; what is said to
// be dropped, somebody else removes.
//
// What an attempt goes on from stays until the attempt has saved one itself, or is over.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/work_place.h"

namespace tune {

class CheckpointCache {
 public:
  // Each of these returns the folders that need not stay any longer.
  using Dropped = std::vector<std::string>;

  // The attempt saved this, its trial's latest from now on.
  Dropped Add(const AttemptRef& by, const std::string& path, const CheckpointCopy& copy);
  // The attempt goes on from this, which was brought here, or was here and is.
  Dropped Use(const AttemptRef& by, const std::string& path, const CheckpointCopy& copy);
  // The attempt is over.
  Dropped Release(const AttemptRef& by);
  // The tuner keeps it no longer.
  Dropped Remove(const std::string& path);

  // What is here of it, for an attempt that is to go on from it: it stays while it is looked at.
  CheckpointCopy Hold(const AttemptRef& by, const std::string& path);
  // What is here of it; no folder: nothing.
  CheckpointCopy Find(const std::string& path) const;
  // The next `count` paths after those of the last call, from the first on again.
  std::vector<std::string> TakeNext(size_t count);

  bool is_empty() const { return entries_.empty(); }
  // All of that sweep; somebody else removes what is here of it.
  void Forget(ExperimentId sweep);

 private:
  struct Entry {
    CheckpointCopy copy;
    ExperimentId sweep;
    TrialNumber trial;  // For which it is here.
    std::set<AttemptRef> users;
    bool is_wanted = true;
  };
  void LetGo(const AttemptRef& by);
  Dropped Prune();

  std::map<std::string, Entry> entries_;  // By the tuner's path.
  std::string last_told_;
};

}  // namespace tune
