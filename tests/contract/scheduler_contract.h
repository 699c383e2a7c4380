// What every scheduler must do, whatever its rule. Each scheduler's test instantiates the suite
// with its spec.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <ostream>
#include <string>
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
};
inline void PrintTo(const SchedulerCase& c, std::ostream* out) { *out << c.name; }

class SchedulerContract : public testing::TestWithParam<SchedulerCase> {
 protected:
  static constexpr uint64_t kSeeds = 20;
  static constexpr int64_t kLongest = 200;  // Iterations of a trial that nobody stops.

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

  double sign_ = 1;  // Of the values.
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

// Its pause was overtaken in the same event: by its own end, or by a stop condition of the sweep.
TEST_P(SchedulerContract, ATrialMayEndBeforeTheOrdersOfItsReportAreTaken) {
  for (const bool failed : {false, true}) {
    const auto scheduler = Make();
    KeyedRandom random(3, "contract");
    PlayedSweep sweep(*scheduler);
    for (int i = 0; i < 20; ++i) sweep.Add();
    for (int step = 0; step < 400; ++step) {
      const std::vector<size_t> running = sweep.In(PlayedSweep::State::kRunning);
      if (running.empty()) break;
      const size_t index = running[random.NextBelow(running.size())];
      if (random.NextBelow(3) == 0) {
        sweep.ReportAndEnd(index, DrawValue(random), failed);
      } else {
        sweep.Report(index, 1, DrawValue(random));
      }
    }
    PlayEnd(sweep, random);
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

TEST_P(SchedulerContract, MinimisingIsTheMirrorImageOfMaximising) {
  if (GetParam().scheduler.find("threshold") != std::string::npos) GTEST_SKIP() << "has bounds";
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    sign_ = 1;
    const std::vector<Decision> decisions = Play(*Make(Mode::kMax), seed);
    sign_ = -1;
    const std::vector<Decision> mirrored = Play(*Make(Mode::kMin), seed);
    ASSERT_EQ(decisions.size(), mirrored.size()) << "seed " << seed;
    for (size_t i = 0; i < decisions.size(); ++i) {
      Decision expected = decisions[i];
      if (expected.cutoff) expected.cutoff = -*expected.cutoff;
      ASSERT_EQ(mirrored[i], expected) << "seed " << seed << " report " << i;
    }
  }
}

TEST_P(SchedulerContract, OneThatDoesNotPauseStopsNobodyOfEquals) {
  if (SchedulerPauses(*ParseJson(GetParam().scheduler))) GTEST_SKIP() << "pauses";
  const auto scheduler = Make();
  for (int64_t n = 0; n < 12; ++n) {
    scheduler->OnTrialAdded(TrialNumber{n});
    Verdict verdict = Verdict::kContinue;
    for (int64_t t = 1; t <= kLongest && verdict == Verdict::kContinue; ++t) {
      const Decision decision = scheduler->OnReport(TrialNumber{n}, t, 0.5);
      EXPECT_NE(decision.cause, StopCause::kScheduler) << "trial " << n << " iteration " << t;
      verdict = decision.verdict;
    }
    scheduler->OnTrialEnded(TrialNumber{n}, false);
  }
}

// Every milestone is skipped, and the last report is beyond each max_t.
TEST_P(SchedulerContract, AReportMayLeapToTheLastIterationThereIs) {
  const auto scheduler = Make();
  const auto max_t = SchedulerMaxT(*ParseJson(GetParam().scheduler));
  PlayedSweep sweep(*scheduler);
  for (int i = 0; i < 8; ++i) sweep.Add();
  for (size_t i = 0; i < 8; ++i) sweep.Report(i, 1, 0.1 * static_cast<double>(i));
  for (size_t i = 0; i < 8; ++i) {
    if (sweep.lives()[i].state != PlayedSweep::State::kRunning) continue;
    sweep.Report(i, std::numeric_limits<int64_t>::max() - 1, 0.1 * static_cast<double>(i));
    const bool has_stopped = sweep.decisions().back().cause == StopCause::kMaxT;
    EXPECT_TRUE(has_stopped || !max_t) << i;
  }
  EXPECT_FALSE(scheduler->DebugString().empty());
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
