// How often clients are told that something has changed. Each of them then asks for what it shows,
// so what an event costs is known once they have asked; where that is much, the next event comes
// later. So pages take little of the machine from the tuner that they show, however many they are.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <chrono>

#include "core/time.h"

namespace tune {

// Of a clock that is never set.
inline Instant SteadyNow() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return Instant{std::chrono::duration_cast<std::chrono::microseconds>(since).count()};
}

class EventPace {
 public:
  // Of the time: what is spent on answers, unless the wait would be longer than kWaitMax.
  static constexpr double kShare = 0.05;
  static constexpr Duration kWaitMax = Seconds(2);

  // An answer took so long.
  void Spent(Duration time) { spent_ = spent_ + time; }
  bool IsDue(Instant now) const {
    return now - told_at_ >= std::min(kWaitMax, Seconds(spent_.seconds() / kShare));
  }
  void Told(Instant now) {
    told_at_ = now;
    spent_ = Duration{};
  }

 private:
  Instant told_at_;
  Duration spent_;  // Since the last event.
};

}  // namespace tune
