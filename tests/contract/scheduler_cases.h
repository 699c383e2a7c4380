// What the contract's cases are made of: a scheduler by its spec, and lives drawn at random that it
// is played through.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"
#include "tests/contract/played_sweep.h"

namespace tune {

struct SchedulerCase {
  std::string name;
  std::string scheduler;  // JSON.
  Mode mode = Mode::kMax;
  // Whether trials may stay paused when nothing is left to run: by the rule of promotion they wait
  // for others that a longer sweep may bring.
  bool leaves_paused = false;
  // Whether it decides of paused trials once all have come to the rung.
  bool waits_for_all = false;
};
inline void PrintTo(const SchedulerCase& c, std::ostream* out) { *out << c.name; }

class SchedulerContract : public testing::TestWithParam<SchedulerCase> {
 protected:
  static constexpr uint64_t kSeeds = 20;
  static constexpr int64_t kLongest = 200;  // Iterations of a trial that nobody stops.
  static constexpr int64_t kOnce = 8;       // One report of this iteration reaches a rung of each.

  std::unique_ptr<TrialScheduler> Make() const { return Make(GetParam().mode); }
  std::unique_ptr<TrialScheduler> Make(Mode mode) const {
    const Result<Value> spec = ParseJson(GetParam().scheduler);
    auto made = MakeScheduler(*spec, mode, 7);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  Metric DrawValue(KeyedRandom& random) const {
    switch (random.NextBelow(14)) {
      case 0:
        return sign_ * std::numeric_limits<double>::infinity();
      case 1:
        return -sign_ * std::numeric_limits<double>::infinity();
      case 2:
        return std::nan("");
      case 3:
        return std::nullopt;
      default:  // Coarse, so that there are ties.
        return sign_ * static_cast<double>(random.NextBelow(20)) / 20;
    }
  }

  // A random life of up to 40 trials with gaps, failures, second chances and every kind of value.
  void PlayMiddle(PlayedSweep& sweep, KeyedRandom& random) const {
    using State = PlayedSweep::State;
    for (int step = 0; step < 1500; ++step) {
      if (sweep.lives().size() < 40 && random.NextBelow(10) == 0) sweep.Add();
      if (sweep.lives().empty()) continue;
      const size_t index = random.NextBelow(sweep.lives().size());
      const State state = sweep.lives()[index].state;
      if (state == State::kFailed && random.NextBelow(10) == 0) sweep.Retry(index);
      if (state == State::kOver || state == State::kFailed) continue;
      if (random.NextBelow(40) == 0) {
        sweep.End(index, random.NextBelow(2) == 0);
      } else if (state == State::kRunning) {
        sweep.Report(index, random.NextBelow(6) == 0 ? 3 : 1, DrawValue(random));
      }
    }
  }

  // No trial comes any more; each that runs goes on to its end.
  void PlayEnd(PlayedSweep& sweep, KeyedRandom& random) const {
    sweep.NoMoreTrials();
    for (;;) {
      const std::vector<size_t> running = sweep.In(PlayedSweep::State::kRunning);
      if (running.empty()) break;
      const size_t index = running[random.NextBelow(running.size())];
      if (sweep.lives()[index].iteration >= kLongest) {
        sweep.End(index, random.NextBelow(5) == 0);
      } else {
        sweep.Report(index, 1, DrawValue(random));
      }
    }
    sweep.NoMoreTrials();
  }

  std::vector<Decision> Play(TrialScheduler& scheduler, uint64_t seed) const {
    KeyedRandom random(seed, "contract");
    PlayedSweep sweep(scheduler);
    PlayMiddle(sweep, random);
    PlayEnd(sweep, random);
    return sweep.decisions();
  }

  // The numbers in an order of its own; 0 leaves them as they are.
  static std::vector<size_t> Shuffled(std::vector<size_t> numbers, uint64_t shuffle) {
    if (shuffle == 0) return numbers;
    KeyedRandom random(shuffle, "order");
    for (size_t i = numbers.size(); i > 1; --i) {
      std::swap(numbers[i - 1], numbers[random.NextBelow(i)]);
    }
    return numbers;
  }

  std::vector<Metric> DrawValues(size_t count, uint64_t seed) const {
    KeyedRandom random(seed, "values");
    std::vector<Metric> values;
    while (values.size() < count) values.push_back(DrawValue(random));
    return values;
  }

  double sign_ = 1;  // Of the values.
};

}  // namespace tune
