// The interrupted sweeps that a head tries again by itself, each minute, until they go on or
// somebody ends them: a disk took no writes.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/store.h"

namespace tune {

// Whether a head tries it again by itself.
inline bool IsTriedAgain(const StoredExperiment& experiment) {
  return experiment.status == ExperimentStatus::kInterrupted && experiment.given_up.empty();
}

class InterruptedSweeps {
 public:
  // The sweep is tried at `due`. `package`: the hash of the package that it runs from; empty: none.
  void Add(const std::string& name, const std::string& package, Instant due);
  // The sweep goes on, is over, or is deleted.
  void Remove(const std::string& name) { entries_.erase(name); }

  // The names of those that are to be tried now.
  std::vector<std::string> Due(Instant now) const;
  // The sweep was tried, and could not go on. It is tried again in a minute. Returns a line for the
  // head's log; empty: the log has had the same one.
  std::string Refuse(const std::string& name, const Status& why, Instant now);

  // The hashes of all packages that they run from.
  std::set<std::string> Packages() const;

 private:
  struct Entry {
    std::string package;
    Instant due;
    std::string said;  // Why it could not go on, as the log has it.
  };
  std::map<std::string, Entry> entries_;  // By name.
};

}  // namespace tune
