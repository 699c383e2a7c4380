// A sweep as a scheduler sees it, played by hand.
#pragma once

#include <gtest/gtest.h>

#include <set>
#include <variant>
#include <vector>

#include "schedulers/trial_scheduler.h"

namespace tune {

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
    const bool may_pause = scheduler_.PausesAt(Number(index), life.iteration);
    const Decision decision = scheduler_.OnReport(Number(index), life.iteration, value);
    if (decision.verdict == Verdict::kPause && scheduler_.name() != "median_stopping") {
      EXPECT_TRUE(may_pause) << "paused at " << life.iteration << ", where it said it would not";
    }
    said_.push_back(decision);
    decisions_.push_back(decision);
    if (decision.verdict == Verdict::kPause) life.state = State::kPaused;
    if (decision.verdict == Verdict::kStop) life.state = State::kOver;
    FollowOrders();
    if (decision.verdict == Verdict::kStop) End(index, false);
  }
  void ReportAndEnd(size_t index, Metric value, bool failed) {
    Life& life = lives_[index];
    ASSERT_EQ(life.state, State::kRunning);
    scheduler_.OnReport(Number(index), ++life.iteration, value);
    End(index, failed);
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

}  // namespace tune
