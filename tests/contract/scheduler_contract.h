// What every scheduler must do, whatever its rule. Each scheduler's test instantiates the suite
// with its spec.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"

namespace tune {

struct SchedulerCase {
  std::string name;
  std::string scheduler;  // JSON.
  Mode mode = Mode::kMax;
};
inline void PrintTo(const SchedulerCase& c, std::ostream* out) { *out << c.name; }

class SchedulerContract : public testing::TestWithParam<SchedulerCase> {
 protected:
  std::unique_ptr<TrialScheduler> Make() const {
    const Result<Value> spec = ParseJson(GetParam().scheduler);
    auto made = MakeScheduler(*spec, GetParam().mode, 7);
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  static double DrawValue(KeyedRandom& random) {
    switch (random.NextBelow(12)) {
      case 0:
        return std::numeric_limits<double>::infinity();
      case 1:
        return -std::numeric_limits<double>::infinity();
      case 2:
        return std::nan("");
      default:
        return static_cast<double>(random.NextBelow(20)) / 20;  // Coarse, so that there are ties.
    }
  }

  // Plays a random life of 40 trials with gaps, failures and every kind of value; returns all
  // decisions.
  std::vector<Decision> Play(TrialScheduler& scheduler, uint64_t seed) const {
    KeyedRandom random(seed, "contract");
    struct Life {
      int64_t iteration = 0;
      bool over = false;
    };
    std::vector<Life> lives;
    std::vector<Decision> decisions;
    for (int step = 0; step < 1500; ++step) {
      if (lives.size() < 40 && random.NextBelow(10) == 0) {
        scheduler.OnTrialAdded(TrialNumber{static_cast<int64_t>(lives.size())});
        lives.emplace_back();
      }
      if (lives.empty()) continue;
      const size_t index = random.NextBelow(lives.size());
      const TrialNumber number{static_cast<int64_t>(index)};
      Life& life = lives[index];
      if (life.over) continue;
      if (random.NextBelow(40) == 0) {
        life.over = true;
        scheduler.OnTrialEnded(number, random.NextBelow(2) == 0);
        continue;
      }
      life.iteration += random.NextBelow(6) == 0 ? 3 : 1;
      const double value = DrawValue(random);
      const Metric metric = random.NextBelow(15) == 0 ? Metric() : Metric(value);
      const Decision decision = scheduler.OnReport(number, life.iteration, metric);
      if (decision.verdict == Verdict::kStop) {
        life.over = true;
        scheduler.OnTrialEnded(number, false);
      }
      decisions.push_back(decision);
    }
    return decisions;
  }
};

TEST_P(SchedulerContract, TheSameEventsGiveTheSameDecisions) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    const auto first = Make();
    const auto second = Make();
    EXPECT_EQ(Play(*first, seed), Play(*second, seed));
    EXPECT_EQ(first->DebugString(), second->DebugString());
  }
}

TEST_P(SchedulerContract, AStopHasACauseAndNothingElseHas) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const Decision& decision : Play(*Make(), seed)) {
      EXPECT_EQ(decision.verdict == Verdict::kStop, decision.cause != StopCause::kNone);
    }
  }
}

TEST_P(SchedulerContract, WhatExplainsADecisionHangsTogether) {
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (const Decision& decision : Play(*Make(), seed)) {
      EXPECT_EQ(decision.rank.has_value(), decision.count.has_value());
      EXPECT_LE(decision.count.has_value(), decision.rung.has_value());
      EXPECT_LE(decision.cutoff.has_value(), decision.count.has_value());
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
      EXPECT_EQ(decision.verdict, Verdict::kContinue);
      EXPECT_FALSE(decision.cutoff || decision.rank || decision.count);
    }
  }
}

TEST_P(SchedulerContract, TheFirstTrialOfAllIsNeverStoppedByTheOthers) {
  const auto scheduler = Make();
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, -1e300).verdict, Verdict::kContinue);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 2, 1e300).verdict, Verdict::kContinue);
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
