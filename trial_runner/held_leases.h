// The leases that a worker holds by what went over its connection: what it said that it holds, what
// it was given, what was taken back, what has ended. The gateway asks before it takes anything of
// an attempt over another connection; the truth is the tuner's (lease_table.h), which sends what
// follows from it.
//
// What a worker claims counts once it is welcomed: what of it is not leased is taken back in the
// same breath.
//
// Thread rule: one thread at a time.
#pragma once

#include <set>
#include <vector>

#include "trial_runner/messages.h"

namespace tune {

class HeldLeases {
 public:
  void OnHeard(const FromWorker& message);
  void OnSent(const std::vector<ToWorker>& messages);
  bool Holds(const AttemptRef& ref) const { return is_welcome_ && held_.contains(ref); }
  // Or it was taken back, and its end was not heard yet: what it printed may still be told.
  bool HasNotEnded(const AttemptRef& ref) const { return Holds(ref) || killed_.contains(ref); }

 private:
  bool is_welcome_ = false;
  std::set<AttemptRef> held_;
  std::set<AttemptRef> killed_;
};

}  // namespace tune
