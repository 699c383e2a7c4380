// Virtual time: what shall happen, in order of (time, when it was asked for). Whoever runs it moves
// the clock.
//
// Thread rule: one thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

#include "core/clock.h"

namespace tune::sim {

class Happenings {
 public:
  using Act = std::function<void()>;

  explicit Happenings(Instant start) : now_(start) {}

  Instant now() const { return now_; }
  void At(Instant when, Act act) {
    heap_.push_back({std::max(when, now_), ++last_sequence_, std::move(act)});
    std::push_heap(heap_.begin(), heap_.end(), IsLater);
  }
  void After(Duration wait, Act act) { At(now_ + wait, std::move(act)); }

  bool is_empty() const { return heap_.empty(); }
  Instant next_time() const { return heap_.front().when; }
  void RunNext() {
    std::pop_heap(heap_.begin(), heap_.end(), IsLater);
    Happening next = std::move(heap_.back());
    heap_.pop_back();
    now_ = next.when;
    ++count_;
    next.act();
  }
  int64_t count() const { return count_; }

 private:
  struct Happening {
    Instant when;
    int64_t sequence = 0;
    Act act;
  };
  static bool IsLater(const Happening& a, const Happening& b) {
    return a.when != b.when ? a.when > b.when : a.sequence > b.sequence;
  }

  Instant now_;
  int64_t last_sequence_ = 0;
  int64_t count_ = 0;
  std::vector<Happening> heap_;
};

// A machine's clock: virtual time with an offset of its own.
class VirtualClock final : public Clock {
 public:
  explicit VirtualClock(const Happenings& happenings, Duration offset = {})
      : happenings_(happenings), offset_(offset) {}
  Instant Now() const override { return happenings_.now() + offset_; }

 private:
  const Happenings& happenings_;
  const Duration offset_;
};

}  // namespace tune::sim
