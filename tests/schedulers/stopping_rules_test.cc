// The rules that stop a trial by its own curve or by others' at the same iteration.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<TrialScheduler> Make(std::string_view json, Mode mode = Mode::kMax,
                                     CombineRules combine_rules = CombineRules::kPausesLast) {
  auto made = MakeScheduler(*ParseJson(json), mode, 7, combine_rules);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string ErrorOf(std::string_view json) {
  const auto made = MakeScheduler(*ParseJson(json), Mode::kMax, 7);
  EXPECT_FALSE(made.ok()) << json;
  return made.status().message();
}

// Reports the values at iterations 1, 2, ...: C continues, S stops, P pauses; then no more.
std::string Play(TrialScheduler& scheduler, int64_t trial, const std::vector<Metric>& values) {
  scheduler.OnTrialAdded(TrialNumber{trial});
  std::string verdicts;
  for (size_t i = 0; i < values.size() && verdicts.find_first_of("SP") == std::string::npos; ++i) {
    const auto iteration = static_cast<int64_t>(i) + 1;
    const Verdict verdict = scheduler.OnReport(TrialNumber{trial}, iteration, values[i]).verdict;
    verdicts += verdict == Verdict::kStop ? 'S' : verdict == Verdict::kPause ? 'P' : 'C';
    if (verdict == Verdict::kStop) scheduler.OnTrialEnded(TrialNumber{trial}, false);
  }
  return verdicts;
}

TEST(MedianStopping, StopsWhoseBestIsWorseThanTheMedianOfRunningMeans) {
  const auto scheduler = Make(R"("median_stopping")");
  // Means 1; 2; 3 at the first, 2; 2; 3 at the second iteration.
  EXPECT_EQ(Play(*scheduler, 0, {1, 3}), "CC");
  EXPECT_EQ(Play(*scheduler, 1, {2, 2}), "CC");
  EXPECT_EQ(Play(*scheduler, 2, {3, 3}), "CC");
  EXPECT_EQ(Play(*scheduler, 3, {2, 1}), "CC");  // Its best, 2, is no worse than 2.
  EXPECT_EQ(Play(*scheduler, 4, {1.9, 9}), "S");
}

TEST(MedianStopping, WaitsForGraceAndForEnoughOthers) {
  const auto scheduler =
      Make(R"({"median_stopping": {"grace_period": 3, "min_samples_required": 2}})", Mode::kMin);
  EXPECT_EQ(Play(*scheduler, 0, {1, 1, 1, 1}), "CCCC");
  EXPECT_EQ(Play(*scheduler, 1, {2, 2, 2, 2}), "CCCC");
  EXPECT_EQ(Play(*scheduler, 2, {5, 5, 5, 5}), "CCS");
  // What it reported in its grace counts for its best.
  EXPECT_EQ(Play(*scheduler, 3, {1, 5, 5, 5}), "CCCC");
}

TEST(MedianStopping, SaysWhatItCompared) {
  const auto scheduler = Make(R"("median_stopping")");
  for (int64_t n = 0; n < 4; ++n) Play(*scheduler, n, {0.5 * static_cast<double>(n)});
  scheduler->OnTrialAdded(TrialNumber{4});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{4}, 1, .25),
            (Decision{Verdict::kStop, StopCause::kScheduler, 1, .75, 4, 5}));
}

TEST(MedianStopping, WithoutHardStopWhatItPausesRunsInTheEnd) {
  const auto scheduler =
      Make(R"({"median_stopping": {"min_samples_required": 1, "hard_stop": false}})");
  EXPECT_EQ(Play(*scheduler, 0, {5}), "C");
  EXPECT_EQ(Play(*scheduler, 1, {1}), "P");
  EXPECT_EQ(Play(*scheduler, 2, {2}), "P");
  scheduler->OnNoMoreTrials();
  EXPECT_TRUE(scheduler->TakeOrders().empty());
  scheduler->OnTrialEnded(TrialNumber{0}, true);
  EXPECT_THAT(scheduler->TakeOrders(), ElementsAre(Order{Order::Kind::kResume, TrialNumber{1}},
                                                   Order{Order::Kind::kResume, TrialNumber{2}}));
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 2, 0).verdict, Verdict::kContinue);
}

// Ray's rule once more, written as in median_stopping_rule.py: everything from lists, each time.
TEST(MedianStopping, AgreesWithAPlainReadingOfRaysRule) {
  for (uint64_t seed = 0; seed < 30; ++seed) {
    const auto scheduler =
        Make(R"({"median_stopping": {"grace_period": 4, "min_samples_required": 3}})");
    using Results = std::vector<std::pair<int64_t, double>>;
    std::map<int64_t, Results> results;
    std::set<int64_t> stopped;
    KeyedRandom random(seed, "median");
    for (int64_t n = 0; n < 15; ++n) scheduler->OnTrialAdded(TrialNumber{n});
    int stop_count = 0;
    for (int step = 0; step < 600; ++step) {
      const int64_t n = static_cast<int64_t>(random.NextBelow(15));
      if (stopped.contains(n)) continue;
      Results& own = results[n];
      const int64_t t = (own.empty() ? 0 : own.back().first) + 1 +
                        static_cast<int64_t>(random.NextBelow(seed % 2 == 0 ? 1 : 3));
      // Better trials and worse ones; whole numbers, so that sums are exact.
      const double value = static_cast<double>(random.NextBelow(40) + 2 * static_cast<uint64_t>(n));
      own.emplace_back(t, value);
      bool stop = false;
      if (t >= 4) {
        std::vector<double> means;
        for (const auto& [other, reports] : results) {
          if (other == n || reports.empty() || reports.back().first < t) continue;
          double sum = 0;
          int count = 0;
          for (const auto& [iteration, reported] : reports) {
            if (iteration < 4 || iteration > t) continue;
            sum += reported;
            ++count;
          }
          if (count > 0) means.push_back(sum / count);
        }
        if (means.size() >= 3) {
          std::sort(means.begin(), means.end());
          const double low = means[(means.size() - 1) / 2];
          const double high = means[means.size() / 2];
          double best = -kInf;
          for (const auto& [iteration, reported] : own) best = std::max(best, reported);
          stop = best < low + (high - low) / 2;
        }
      }
      const Decision decision = scheduler->OnReport(TrialNumber{n}, t, value);
      ASSERT_EQ(decision.verdict == Verdict::kStop, stop) << "seed " << seed << " step " << step;
      if (!stop) continue;
      ++stop_count;
      stopped.insert(n);
      scheduler->OnTrialEnded(TrialNumber{n}, false);
    }
    EXPECT_GT(stop_count, 0) << seed;
  }
}

// Optuna's MedianPruner, once five trials have completed.
TEST(Percentile, StopsWhoseBestIsWorseThanThePercentileOfCompletedTrials) {
  const auto scheduler = Make(R"({"percentile": {"percentile": 50}})");
  for (int64_t n = 0; n < 5; ++n) {
    EXPECT_EQ(Play(*scheduler, n, {static_cast<double>(n), 10}), "CC");
    EXPECT_EQ(Play(*scheduler, n + 10, {-1}), "C");  // Runs on, and is no example.
    scheduler->OnTrialEnded(TrialNumber{n}, false);
  }
  EXPECT_EQ(Play(*scheduler, 20, {2, 10}), "CC");  // The median of 0 1 2 3 4.
  EXPECT_EQ(Play(*scheduler, 21, {1.9}), "S");
  EXPECT_EQ(Play(*scheduler, 22, {3, 9}), "CS");
  EXPECT_EQ(Play(*scheduler, 23, {10, 1, 0}), "CCC");  // Its best stands; nobody came to 3.
}

TEST(Percentile, KeepsTheBestPercentInBothDirections) {
  for (const Mode mode : {Mode::kMax, Mode::kMin}) {
    const auto scheduler =
        Make(R"({"percentile": {"percentile": 25, "n_startup_trials": 1}})", mode);
    const double sign = mode == Mode::kMax ? 1 : -1;
    for (int64_t n = 0; n < 5; ++n) {
      scheduler->OnTrialAdded(TrialNumber{n});
      scheduler->OnReport(TrialNumber{n}, 1, sign * static_cast<double>(n));
    }
    for (int64_t n = 0; n < 5; ++n) scheduler->OnTrialEnded(TrialNumber{n}, false);
    EXPECT_EQ(Play(*scheduler, 20, {sign * 3}), "C");
    EXPECT_EQ(Play(*scheduler, 21, {sign * 2.9}), "S");
  }
}

TEST(Percentile, WaitsForTrialsAndSteps) {
  const auto scheduler =
      Make(R"({"percentile": {"percentile": 50, "n_startup_trials": 2, "n_warmup_steps": 2,
                              "interval_steps": 3, "n_min_trials": 2}})");
  const std::vector<Metric> good = {9, 9, 9, 9, 9, 9, 9};
  const std::vector<Metric> poor = {1, 1, 1, 1, 1, 1, 1};
  Play(*scheduler, 0, good);
  scheduler->OnTrialEnded(TrialNumber{0}, false);
  EXPECT_EQ(Play(*scheduler, 1, poor), "CCCCCCC");  // One has completed.
  scheduler->OnTrialEnded(TrialNumber{1}, true);    // A failure is no completion.
  Play(*scheduler, 2, {9});
  scheduler->OnTrialEnded(TrialNumber{2}, false);
  EXPECT_EQ(Play(*scheduler, 3, poor), "CCCCCCC");  // Two, but one at each step.
  Play(*scheduler, 4, {9, std::nullopt, 9, 9, 9});
  scheduler->OnTrialEnded(TrialNumber{4}, false);
  EXPECT_EQ(Play(*scheduler, 5, poor), "CCCCS");  // Steps 2 and 5 are looked at; 2 has one example.
}

TEST(Percentile, AsksForItsPercentile) {
  EXPECT_THAT(ErrorOf(R"("percentile")"), HasSubstr("percentile: read nothing, expected a number"));
  EXPECT_THAT(ErrorOf(R"({"percentile": {"percentile": 101}})"),
              HasSubstr("read 101, expected a number from 0.0 to 100.0"));
}

TEST(Patience, StopsWhoGotNoBetterForTooLong) {
  constexpr char kTwo[] = R"({"patience": {"patience": 2}})";
  EXPECT_EQ(Play(*Make(kTwo), 0, {5, 4, 4, 4, 4}), "CCCS");
  EXPECT_EQ(Play(*Make(kTwo), 0, {5, 4, 4, 5, 4, 4, 4}), "CCCCCCS");  // 5 is as good.
  EXPECT_EQ(Play(*Make(kTwo), 0, {1, 2, 3, 4, 5}), "CCCCC");
  EXPECT_EQ(Play(*Make(kTwo, Mode::kMin), 0, {1, 2, 3, 4, 5}), "CCCS");
  EXPECT_EQ(Play(*Make(R"({"patience": {"patience": 0}})"), 0, {5, 5, 4}), "CCS");
}

TEST(Patience, MinDeltaIsWhatMayBeLost) {
  constexpr char kHalf[] = R"({"patience": {"patience": 1, "min_delta": 0.5}})";
  EXPECT_EQ(Play(*Make(kHalf), 0, {5, 4.5, 4.5, 4.5}), "CCCC");
  EXPECT_EQ(Play(*Make(kHalf), 0, {5, 4.4, 4.4}), "CCS");
  const auto scheduler = Make(kHalf);
  Play(*scheduler, 0, {5, 4});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 3, 4),
            (Decision{Verdict::kStop, StopCause::kScheduler, 3, 4.5}));
}

TEST(Patience, AValueThatIsNotFiniteIsWorseThanAnyOther) {
  constexpr char kOne[] = R"({"patience": {"patience": 1}})";
  EXPECT_EQ(Play(*Make(kOne), 0, {5, std::nan(""), kInf}), "CCS");
  EXPECT_EQ(Play(*Make(kOne), 0, {5, std::nan(""), 5, std::nullopt, 6}), "CCCCC");
  EXPECT_EQ(Play(*Make(kOne), 0, {kInf, 4, 4}), "CCC");
  EXPECT_EQ(Play(*Make(kOne), 0, {-kInf, -kInf, -kInf}), "CCS") << "it never had a value";
  EXPECT_EQ(Play(*Make(kOne, Mode::kMin), 0, {kInf, std::nan(""), kInf}), "CCS");
}

TEST(Patience, WithNanContinueReportsWithoutAValueDoNotCount) {
  constexpr char kOne[] = R"({"patience": {"patience": 1, "nan": "continue"}})";
  EXPECT_EQ(Play(*Make(kOne), 0, {5, std::nullopt, std::nan(""), 4, {}, {}, 4}), "CCCCCCS");
}

// Optuna's rule once more, with the whole history each time.
TEST(Patience, AgreesWithAPlainReadingOfOptunasRule) {
  for (uint64_t seed = 0; seed < 200; ++seed) {
    KeyedRandom random(seed, "patience");
    const size_t patience = random.NextBelow(4);
    std::vector<double> values;
    const auto scheduler =
        Make(R"({"patience": {"min_delta": 1, "patience": )" + std::to_string(patience) + "}}");
    scheduler->OnTrialAdded(TrialNumber{0});
    for (int64_t t = 1; t <= 30; ++t) {
      values.push_back(static_cast<double>(random.NextBelow(8)));
      bool stop = false;
      if (values.size() > patience + 1) {
        const auto split = values.end() - static_cast<ptrdiff_t>(patience) - 1;
        stop =
            *std::max_element(values.begin(), split) - 1 > *std::max_element(split, values.end());
      }
      const Verdict verdict = scheduler->OnReport(TrialNumber{0}, t, values.back()).verdict;
      ASSERT_EQ(verdict == Verdict::kStop, stop) << "seed " << seed << " t " << t;
      if (stop) break;
    }
  }
}

TEST(Threshold, StopsWhatLeavesItsBounds) {
  constexpr char kBounds[] = R"({"threshold": {"lower": -1, "upper": 100}})";
  EXPECT_EQ(Play(*Make(kBounds), 0, {-1, 100, 100.5}), "CCS");
  EXPECT_EQ(Play(*Make(kBounds, Mode::kMin), 0, {-1.5}), "S");
  EXPECT_EQ(Play(*Make(kBounds), 0, {std::nan("")}), "S");
  EXPECT_EQ(Play(*Make(R"({"threshold": {"lower": 0}})"), 0, {7, kInf}), "CS");
  EXPECT_EQ(Play(*Make(R"({"threshold": {"lower": 0, "nan": "continue"}})"), 0, {kInf, 7, -1}),
            "CCS");
}

TEST(Threshold, LooksAtTheFirstReportOfEachInterval) {
  constexpr char kSome[] =
      R"({"threshold": {"upper": 10, "n_warmup_steps": 3, "interval_steps": 4}})";
  EXPECT_EQ(Play(*Make(kSome), 0, {11, 11, 1, 11, 11, 11, 11}), "CCCCCCS");  // At 3 and 7.
  const auto scheduler = Make(kSome);
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 5, 1).verdict, Verdict::kContinue);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 6, 11).verdict, Verdict::kContinue);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 9, 11).verdict, Verdict::kStop);  // 7 was skipped.
}

TEST(Threshold, AsksForBoundsThatLeaveRoom) {
  EXPECT_THAT(ErrorOf(R"("threshold")"), HasSubstr("threshold needs lower or upper"));
  EXPECT_THAT(ErrorOf(R"({"threshold": {"lower": 2, "upper": 1}})"),
              HasSubstr("lower is 2.0 and upper is 1.0; lower must not be above upper"));
  EXPECT_THAT(ErrorOf(R"({"threshold": {"lower": "low"}})"),
              HasSubstr("lower: read 'low', expected a finite number"));
}

TEST(Combine, TheFirstStopWins) {
  const auto scheduler =
      Make(R"({"combine": [{"threshold": {"upper": 10}}, {"patience": {"patience": 0}}]})");
  EXPECT_EQ(scheduler->name(), "threshold+patience");
  EXPECT_EQ(Play(*scheduler, 0, {5, 4}), "CS");
  EXPECT_EQ(Play(*scheduler, 1, {5, 11}), "CS");
  EXPECT_EQ(Play(*scheduler, 2, {5, 6, 6, 7}), "CCCC");
}

TEST(Combine, ReachingMaxTComesBeforeJudgement) {
  const auto scheduler = Make(
      R"({"combine": [{"threshold": {"upper": 10}}, {"asha": {"max_t": 3, "grace_period": 3}}]})");
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 3, 11).cause, StopCause::kMaxT);
  const auto pausing =
      Make(R"({"combine": [{"threshold": {"upper": 10}}, {"hyperband": {"max_t": 3}}]})");
  pausing->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(pausing->OnReport(TrialNumber{0}, 3, 11).cause, StopCause::kMaxT);
  EXPECT_EQ(
      SchedulerMaxT(*ParseJson(R"({"combine": [{"asha": {"max_t": 30}}, "hyperband", "fifo"]})")),
      30);
}

TEST(Combine, WhatOneStopsTheOtherDoesNotResume) {
  const auto scheduler =
      Make(R"({"combine": [{"asha": {"variant": "promote", "reduction_factor": 2}},
                           {"threshold": {"upper": 10}}]})");
  EXPECT_EQ(Play(*scheduler, 0, {5}), "P");
  scheduler->OnTrialAdded(TrialNumber{1});
  // It is the best of two, but out of bounds.
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, 11).verdict, Verdict::kStop);
  scheduler->OnTrialEnded(TrialNumber{1}, false);
  EXPECT_TRUE(scheduler->TakeOrders().empty());
  EXPECT_EQ(Play(*scheduler, 2, {1}), "P");
  EXPECT_THAT(scheduler->TakeOrders(),
              ElementsAre(Order{Order::Kind::kResume, TrialNumber{0}, {}, 1, 5, 1, 2}))
      << "the rung is that of the two others";
}

// A rung of three trials; the last one is the best, and another part stops it there.
std::vector<Order> OrdersOfRungWhoseBestIsStopped(CombineRules rules) {
  const auto scheduler = Make(R"({"combine": [{"hyperband": {"max_t": 3, "reduction_factor": 3}},
                                              {"threshold": {"upper": 10}}]})",
                              Mode::kMax, rules);
  for (int64_t n = 0; n < 3; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  scheduler->OnNoMoreTrials();
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, 5).verdict, Verdict::kPause);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, 4).verdict, Verdict::kPause);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{2}, 1, 11).verdict, Verdict::kStop);
  scheduler->OnTrialEnded(TrialNumber{2}, false);
  return scheduler->TakeOrders();
}

TEST(Combine, HyperbandGoesOnWithTheBestOfThoseThatNoOtherPartStops) {
  EXPECT_THAT(OrdersOfRungWhoseBestIsStopped(CombineRules::kPausesLast),
              ElementsAre(Order{Order::Kind::kResume, TrialNumber{0}, {}, 1, 5, 1, 3},
                          Order{Order::Kind::kStop, TrialNumber{1}, {}, 1, 5, 2, 3}));
  // As sweeps of earlier versions were decided.
  EXPECT_THAT(OrdersOfRungWhoseBestIsStopped(CombineRules::kInOrder),
              ElementsAre(Order{Order::Kind::kStop, TrialNumber{0}, {}, 1, 11, 2, 3},
                          Order{Order::Kind::kStop, TrialNumber{1}, {}, 1, 11, 3, 3}));
}

TEST(LastReport, FillsNoRungOfASchedulerThatPausesTrials) {
  for (const char* const json :
       {R"({"asha": {"variant": "promote", "max_t": 9}})", R"({"pasha": {"max_t": 9}})",
        R"({"hyperband": {"max_t": 9}})", R"({"pbt": {"perturbation_interval": 1}})",
        R"({"combine": [{"hyperband": {"max_t": 9}}, {"patience": {"patience": 3}}]})"}) {
    const auto scheduler = Make(json);
    scheduler->OnTrialAdded(TrialNumber{0});
    EXPECT_EQ(scheduler->OnLastReport(TrialNumber{0}, 1, 5), Decision{}) << json;
    scheduler->OnTrialEnded(TrialNumber{0}, false);
    EXPECT_TRUE(scheduler->TakeOrders().empty()) << json;
    for (const RungView& rung : scheduler->Rungs()) EXPECT_EQ(rung.count, 0) << json;
  }
}

TEST(LastReport, IsHeardAtMaxTAndByThoseThatPauseNobody) {
  for (const char* const json :
       {R"({"asha": {"variant": "promote", "max_t": 9}})", R"({"pasha": {"max_t": 9}})",
        R"({"hyperband": {"max_t": 9}})", R"({"asha": {"max_t": 9}})"}) {
    const auto scheduler = Make(json);
    scheduler->OnTrialAdded(TrialNumber{0});
    EXPECT_EQ(scheduler->OnLastReport(TrialNumber{0}, 9, 5).cause, StopCause::kMaxT) << json;
  }
  const auto stopping = Make(R"({"asha": {"max_t": 9}})");
  stopping->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(stopping->OnLastReport(TrialNumber{0}, 1, 5).rung, 1);
  const auto combined =
      Make(R"({"combine": [{"hyperband": {"max_t": 9}}, {"threshold": {"upper": 10}}]})");
  combined->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(combined->OnLastReport(TrialNumber{0}, 1, 11).verdict, Verdict::kStop);
}

TEST(Combine, ATrialThatAnotherPartStopsTakesNoPlaceAmongThePaused) {
  const auto scheduler = Make(
      R"({"combine": [{"asha": {"variant": "promote", "reduction_factor": 4, "paused_max": 2}},
                      {"threshold": {"upper": 10}}]})");
  EXPECT_EQ(Play(*scheduler, 0, {5}), "P");
  EXPECT_EQ(Play(*scheduler, 1, {4}), "P");
  EXPECT_EQ(Play(*scheduler, 2, {11}), "S");
  EXPECT_TRUE(scheduler->TakeOrders().empty());
}

TEST(Combine, OnlyOneMayPause) {
  EXPECT_THAT(ErrorOf(R"({"combine": ["hyperband", {"asha": {"variant": "promote"}}]})"),
              HasSubstr("both hyperband and asha pause trials; at most one may"));
  EXPECT_TRUE(Make(R"({"combine": ["hyperband", "asha", "median_stopping"]})") != nullptr);
  EXPECT_TRUE(SchedulerPauses(*ParseJson(R"({"combine": ["asha", "hyperband"]})")));
  EXPECT_FALSE(SchedulerPauses(*ParseJson(R"({"combine": ["asha", "median_stopping"]})")));
}

TEST(Combine, RefusesWhatIsNoListOfSchedulers) {
  EXPECT_THAT(ErrorOf(R"({"combine": {"asha": {}}})"),
              HasSubstr("combine: read a map, expected a list of schedulers"));
  EXPECT_THAT(ErrorOf(R"("combine")"), HasSubstr("expected fifo, asha or"));
  EXPECT_THAT(ErrorOf(R"({"combine": []})"), HasSubstr("an empty list"));
  EXPECT_THAT(ErrorOf(R"({"combine": ["asha", {"combine": ["fifo"]}]})"),
              HasSubstr("a combine within a combine"));
  EXPECT_THAT(ErrorOf(R"({"combine": ["asha", {"patience": {"patient": 1}}]})"),
              HasSubstr("scheduler: 'patient' is not an option of patience"));
}

}  // namespace
}  // namespace tune
