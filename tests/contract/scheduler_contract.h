// What every scheduler must do, whatever its rule. Each scheduler's test instantiates the suite
// with its spec.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"
#include "tests/contract/played_sweep.h"
#include "tests/contract/scheduler_cases.h"

namespace tune {

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

// What two trials are told after the others have reported once, and after these have ended.
TEST_P(SchedulerContract, ADecisionDependsOnWhatCameBeforeAndNotOnItsOrder) {
  const Value spec = *ParseJson(GetParam().scheduler);
  if (spec.is_map() && spec.Find("combine") != nullptr && SchedulerPauses(spec)) {
    GTEST_SKIP() << "whom one part stops depends on who came first, and is news to the other";
  }
  constexpr size_t kFirst = 3;
  constexpr size_t kSecond = 9;
  const auto decisions = [&](const std::vector<Metric>& values, uint64_t shuffle) {
    const auto scheduler = Make();
    PlayedSweep sweep(*scheduler);
    std::vector<size_t> others;
    for (size_t i = 0; i < values.size(); ++i) {
      sweep.Add();
      if (i != kFirst && i != kSecond) others.push_back(i);
    }
    for (const size_t i : Shuffled(others, shuffle)) sweep.Report(i, kOnce, values[i]);
    sweep.Report(kFirst, kOnce, values[kFirst]);
    std::vector<Decision> said = {sweep.decisions().back()};
    for (const size_t i : Shuffled(others, shuffle)) {
      if (sweep.lives()[i].state == PlayedSweep::State::kRunning) sweep.End(i, false);
    }
    sweep.Report(kSecond, kOnce, values[kSecond]);
    said.push_back(sweep.decisions().back());
    return said;
  };
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<Metric> values = DrawValues(14, seed);
    const std::vector<Decision> rising = decisions(values, 0);
    for (uint64_t shuffle = 1; shuffle <= 5; ++shuffle) {
      EXPECT_EQ(decisions(values, shuffle), rising) << "seed " << seed << " shuffle " << shuffle;
    }
  }
}

TEST_P(SchedulerContract, WhatWaitsForAllIsDecidedAlikeInWhateverOrderTheyCome) {
  if (!GetParam().waits_for_all) GTEST_SKIP() << "decides of each when it comes";
  const auto orders = [&](const std::vector<Metric>& values, uint64_t shuffle) {
    const auto scheduler = Make();
    PlayedSweep sweep(*scheduler);
    std::vector<size_t> all;
    for (size_t i = 0; i < values.size(); ++i) {
      sweep.Add();
      all.push_back(i);
    }
    sweep.NoMoreTrials();
    for (const size_t i : Shuffled(all, shuffle)) sweep.Report(i, kOnce, values[i]);
    std::map<TrialNumber, Order> by_trial;
    for (const auto& said : sweep.said()) {
      if (const Order* const order = std::get_if<Order>(&said)) by_trial[order->trial] = *order;
    }
    return by_trial;
  };
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<Metric> values = DrawValues(13, seed);
    const std::map<TrialNumber, Order> rising = orders(values, 0);
    EXPECT_FALSE(rising.empty());
    for (uint64_t shuffle = 1; shuffle <= 5; ++shuffle) {
      EXPECT_EQ(orders(values, shuffle), rising) << "seed " << seed << " shuffle " << shuffle;
    }
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

TEST_P(SchedulerContract, AValueThatIsNotFiniteIsNeverBetterThanAnother) {
  const auto scheduler = Make();
  const Metric values[] = {Metric(), std::nan(""), std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity()};
  for (size_t n = 0; n < 40; ++n) {
    const TrialNumber number{static_cast<int64_t>(n)};
    scheduler->OnTrialAdded(number);
    const bool has_value = n % 5 == 4;
    const Decision decision = scheduler->OnReport(
        number, 1, has_value ? Metric(0.1 * static_cast<double>(n)) : values[n % 5]);
    if (!has_value && decision.rank) {
      EXPECT_EQ(decision.rank, decision.count);
      EXPECT_EQ(decision.verdict, Verdict::kStop);
    }
    EXPECT_TRUE(!decision.cutoff || std::isfinite(*decision.cutoff));
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
