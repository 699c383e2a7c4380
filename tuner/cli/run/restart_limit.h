// Whether a process that has ended is started again: a few times within a window, counted anew
// whenever something was reported in between. A worker that somebody kills now and then is replaced
// for as long as the sweep lasts; one that ends as soon as it starts is not.
//
// Thread rule: one thread; pure.
#pragma once

#include <cstdint>
#include <deque>

#include "core/time.h"

namespace tune {

class RestartLimit {
 public:
  RestartLimit(int64_t restarts_max, Duration window)
      : restarts_max_(restarts_max), window_(window) {}

  // It has ended. `report_count`: all reports of the sweep so far.
  bool MayRestart(Instant now, int64_t report_count) {
    if (report_count > report_count_) ends_.clear();
    report_count_ = report_count;
    while (!ends_.empty() && ends_.front() + window_ <= now) ends_.pop_front();
    ends_.push_back(now);
    return end_count() <= restarts_max_;
  }
  // Ends that counted at the last call, that one included.
  int64_t end_count() const { return static_cast<int64_t>(ends_.size()); }

 private:
  int64_t restarts_max_;
  Duration window_;
  int64_t report_count_ = 0;
  std::deque<Instant> ends_;  // Rising, all within the window.
};

}  // namespace tune
