// Events from workers that change nothing: what is said about leases that are over, twice, or about
// devices that are gone. They are answered at once and not journalled, since a worker that went on
// with them would fill the database of a sweep that it has no part in.
//
// Thread rule: one thread.
#pragma once

#include <map>
#include <utility>
#include <vector>

#include "core/ids.h"
#include "tuner/controller.h"
#include "tuner/event.h"

namespace tune {

class EffectlessEvents {
 public:
  struct Taken {
    std::vector<std::pair<WorkerId, ToWorker>> answers;
    std::vector<WorkerId> expelled;  // Workers that sent more ends than they ever had leases.
  };
  // Takes them out of `events`, which are about to be applied to the controller in this order.
  Taken TakeFrom(std::vector<HeadEvent>& events, const Controller& controller);

  // Ends of leases that a connection has not, which count in its books (messages.h, ends_seen) and
  // so must be journalled; far more than a worker sends that keeps the protocol.
  static constexpr int64_t kStrayEndsMax = 100'000;

 private:
  std::map<WorkerId, int64_t> stray_ends_;
};

}  // namespace tune
