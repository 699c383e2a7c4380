// What every scheduler must do, whatever its rule. Each scheduler's test instantiates the suite
// with its spec.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"

namespace tune {

struct SchedulerCase {
  std::string name;
  std::string scheduler;  // JSON.
  Mode mode = Mode::kMax;
  // Whether trials may stay paused when nothing is left to run: by the rule of promotion they wait
  // for others that a longer sweep may bring.
  bool leaves_paused = false;
};
inline void PrintTo(const SchedulerCase& c, std::ostream* out) { *out << c.name; }

// The caller's part, as the controller plays it: keeps each trial's state, follows the orders, and
// checks that each can be followed.
class PlayedSweep {
 public:
  explicit PlayedSweep(TrialScheduler& scheduler) : scheduler_(scheduler) {}

  enum class State { kRunning, kPaused, kOver, kFailed };
  struct Life {
    State state = State::kRunning;
    int64_t iteration = 0;
  };

  void Add() {
    lives_.emplace_back();
    scheduler_.OnTrialAdded(Number(lives_.size() - 1));
    FollowOrders();
  }
  void Retry(size_t index) {
    ASSERT_EQ(lives_[index].state, State::kFailed);
    lives_[index].state = State::kRunning;
    scheduler_.OnTrialAdded(Number(index));
    FollowOrders();
  }
  void End(size_t index, bool failed) {
    lives_[index].state = failed ? State::kFailed : State::kOver;
    scheduler_.OnTrialEnded(Number(index), failed);
    FollowOrders();
  }
  void Report(size_t index, int64_t iterations, Metric value) {
    Life& life = lives_[index];
    ASSERT_EQ(life.state, State::kRunning);
    life.iteration += iterations;
    const Decision decision = scheduler_.OnReport(Number(index), life.iteration, value);
    said_.push_back(decision);
    decisions_.push_back(decision);
    if (decision.verdict == Verdict::kPause) life.state = State::kPaused;
    if (decision.verdict == Verdict::kStop) life.state = State::kOver;
    FollowOrders();
    if (decision.verdict == Verdict::kStop) End(index, false);
  }
  void NoMoreTrials() {
    scheduler_.OnNoMoreTrials();
    FollowOrders();
  }

  const std::vector<Life>& lives() const { return lives_; }
  const std::vector<Decision>& decisions() const { return decisions_; }
  // Decisions and orders as they came.
  const std::vector<std::variant<Decision, Order>>& said() const { return said_; }
  std::vector<size_t> In(State state) const {
    std::vector<size_t> found;
    for (size_t i = 0; i < lives_.size(); ++i) {
      if (lives_[i].state == state) found.push_back(i);
    }
    return found;
  }

 private:
  static TrialNumber Number(size_t index) { return TrialNumber{static_cast<int64_t>(index)}; }

  void FollowOrders() {
    std::set<TrialNumber> named;
    for (const Order& order : scheduler_.TakeOrders()) {
      said_.push_back(order);
      EXPECT_TRUE(named.insert(order.trial).second) << "named twice: " << order.trial.value;
      Life& life = lives_.at(static_cast<size_t>(order.trial.value));
      EXPECT_EQ(life.state, State::kPaused) << "not paused: " << order.trial.value;
      EXPECT_EQ(order.kind == Order::Kind::kExploit, order.source.has_value());
      if (order.source) {
        EXPECT_NE(*order.source, order.trial);
        const Life& source = lives_.at(static_cast<size_t>(order.source->value));
        EXPECT_NE(source.state, State::kFailed) << order.source->value;
        EXPECT_GT(source.iteration, 0) << "has no checkpoint: " << order.source->value;
      }
      life.state = order.kind == Order::Kind::kStop ? State::kOver : State::kRunning;
    }
    EXPECT_TRUE(scheduler_.TakeOrders().empty()) << "orders are taken once";
  }

  TrialScheduler& scheduler_;
  std::vector<Life> lives_;
  std::vector<Decision> decisions_;
  std::vector<std::variant<Decision, Order>> said_;
};

class SchedulerContract : public testing::TestWithParam<SchedulerCase> {
 protected:
  static constexpr uint64_t kSeeds = 20;
  static constexpr int64_t kLongest = 200;  // Iterations of a trial that nobody stops.

  std::unique_ptr<TrialScheduler> Make() const {
    const Result<Value> spec = ParseJson(GetParam().scheduler);
    auto made = MakeScheduler(*spec, GetParam().mode, 7);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  static Metric DrawValue(KeyedRandom& random) {
    switch (random.NextBelow(14)) {
      case 0:
        return std::numeric_limits<double>::infinity();
      case 1:
        return -std::numeric_limits<double>::infinity();
      case 2:
        return std::nan("");
      case 3:
        return std::nullopt;
      default:
        return static_cast<double>(random.NextBelow(20)) / 20;  // Coarse, so that there are ties.
    }
  }

  // A random life of up to 40 trials with gaps, failures, second chances and every kind of value.
  static void PlayMiddle(PlayedSweep& sweep, KeyedRandom& random) {
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
  static void PlayEnd(PlayedSweep& sweep, KeyedRandom& random) {
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
};

TEST_P(SchedulerContract, TheSameEventsGiveTheSameDecisionsAndOrders) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::unique_ptr<TrialScheduler> schedulers[] = {Make(), Make()};
    std::vector<std::variant<Decision, Order>> said[2];
    for (int i = 0; i < 2; ++i) {
      KeyedRandom random(seed, "contract");
      PlayedSweep sweep(*schedulers[i]);
      PlayMiddle(sweep, random);
      PlayEnd(sweep, random);
      said[i] = sweep.said();
    }
    EXPECT_EQ(said[0], said[1]);
    EXPECT_EQ(schedulers[0]->DebugString(), schedulers[1]->DebugString());
  }
}

TEST_P(SchedulerContract, WhatIsPausedIsResumedOrStoppedInTheEnd) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto scheduler = Make();
    KeyedRandom random(seed, "contract");
    PlayedSweep sweep(*scheduler);
    PlayMiddle(sweep, random);
    PlayEnd(sweep, random);
    if (!GetParam().leaves_paused) {
      EXPECT_EQ(sweep.In(PlayedSweep::State::kPaused), std::vector<size_t>()) << "seed " << seed;
    }
  }
}

TEST_P(SchedulerContract, ASweepThatIsExtendedGoesOn) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto scheduler = Make();
    KeyedRandom random(seed, "contract");
    PlayedSweep sweep(*scheduler);
    for (int i = 0; i < 5; ++i) sweep.Add();
    PlayEnd(sweep, random);
    for (int i = 0; i < 12; ++i) sweep.Add();
    PlayEnd(sweep, random);
    if (!GetParam().leaves_paused) {
      EXPECT_EQ(sweep.In(PlayedSweep::State::kPaused), std::vector<size_t>()) << "seed " << seed;
    }
  }
}

TEST_P(SchedulerContract, NothingWaitsForTrialsThatFailed) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const auto scheduler = Make();
    KeyedRandom random(seed, "contract");
    PlayedSweep sweep(*scheduler);
    for (int i = 0; i < 9; ++i) sweep.Add();
    for (size_t i = 0; i < 9; i += 2) sweep.Report(i, 1, DrawValue(random));
    sweep.NoMoreTrials();
    for (size_t i = 0; i < 9; ++i) {
      if (sweep.lives()[i].state == PlayedSweep::State::kRunning) sweep.End(i, true);
    }
    PlayEnd(sweep, random);
    if (!GetParam().leaves_paused) {
      EXPECT_EQ(sweep.In(PlayedSweep::State::kPaused), std::vector<size_t>()) << "seed " << seed;
    }
  }
}

TEST_P(SchedulerContract, AStopHasACauseAndNothingElseHas) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Decision& decision : Play(*Make(), seed)) {
      EXPECT_EQ(decision.verdict == Verdict::kStop, decision.cause != StopCause::kNone);
    }
  }
}

TEST_P(SchedulerContract, WhatExplainsADecisionHangsTogether) {
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    for (const Decision& decision : Play(*Make(), seed)) {
      EXPECT_EQ(decision.rank.has_value(), decision.count.has_value());
      EXPECT_LE(decision.count.has_value(), decision.rung.has_value());
      EXPECT_LE(decision.cutoff.has_value(), decision.rung.has_value());
      if (decision.count) {
        EXPECT_GE(*decision.rank, 1);
        EXPECT_LE(*decision.rank, *decision.count);
      }
      EXPECT_FALSE(decision.cutoff && std::isnan(*decision.cutoff));
    }
  }
}

TEST_P(SchedulerContract, AReportWithoutAValueIsNeverStoppedForIt) {
  const auto scheduler = Make();
  for (int64_t n = 0; n < 30; ++n) {
    scheduler->OnTrialAdded(TrialNumber{n});
    const Metric value =
        n % 3 == 0 ? Metric() : Metric(n % 3 == 1 ? std::nan("") : 0.1 * static_cast<double>(n));
    const Decision decision = scheduler->OnReport(TrialNumber{n}, 1, value);
    if (n % 3 != 2) {
      EXPECT_NE(decision.verdict, Verdict::kStop);
      EXPECT_FALSE(decision.cutoff || decision.rank || decision.count);
    }
  }
}

TEST_P(SchedulerContract, TheFirstTrialOfAllIsNeverStoppedByTheOthers) {
  const auto scheduler = Make();
  scheduler->OnTrialAdded(TrialNumber{0});
  const Decision first = scheduler->OnReport(TrialNumber{0}, 1, 0.5);
  EXPECT_NE(first.verdict, Verdict::kStop);
  if (first.verdict == Verdict::kPause) return;
  EXPECT_NE(scheduler->OnReport(TrialNumber{0}, 2, 0.5).verdict, Verdict::kStop);
}

TEST_P(SchedulerContract, NothingIsResumedThatNeverPaused) {
  const auto scheduler = Make();
  for (int64_t n = 0; n < 5; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  for (int64_t n = 0; n < 5; ++n) scheduler->OnTrialEnded(TrialNumber{n}, n % 2 == 0);
  EXPECT_TRUE(scheduler->TakeOrders().empty());
}

TEST_P(SchedulerContract, SaysWhatItIs) {
  EXPECT_FALSE(Make()->name().empty());
  EXPECT_FALSE(Make()->DebugString().empty());
}

}  // namespace tune
