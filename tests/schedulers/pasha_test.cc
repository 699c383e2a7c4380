#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
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

// Rungs 1 2 4 8 16, max_t 20.
std::unique_ptr<TrialScheduler> Make(std::string_view more = "", Mode mode = Mode::kMax) {
  auto made = MakeScheduler(
      *ParseJson(R"({"pasha": {"max_t": 20, "reduction_factor": 2)" + std::string(more) + "}}"),
      mode, 7);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

// Plays all trials, each along its curve, until nobody runs; the iteration that each came to.
template <typename Curve>  // Metric(int64_t trial, int64_t iteration)
std::map<int64_t, int64_t> Play(TrialScheduler& scheduler, int64_t trial_count, Curve curve) {
  std::map<int64_t, int64_t> reached;
  std::set<int64_t> running;
  for (int64_t n = 0; n < trial_count; ++n) {
    scheduler.OnTrialAdded(TrialNumber{n});
    running.insert(n);
  }
  while (!running.empty()) {
    const int64_t n = *running.begin();
    const int64_t t = ++reached[n];
    const Verdict verdict = scheduler.OnReport(TrialNumber{n}, t, curve(n, t)).verdict;
    if (verdict != Verdict::kContinue) running.erase(n);
    if (verdict == Verdict::kStop) scheduler.OnTrialEnded(TrialNumber{n}, false);
    for (const Order& order : scheduler.TakeOrders()) running.insert(order.trial.value);
  }
  return reached;
}

int64_t Furthest(const std::map<int64_t, int64_t>& reached) {
  int64_t furthest = 0;
  for (const auto& [trial, iteration] : reached) furthest = std::max(furthest, iteration);
  return furthest;
}

std::vector<int64_t> Milestones(const TrialScheduler& scheduler) {
  std::vector<int64_t> milestones;
  for (const RungView& rung : scheduler.Rungs()) milestones.push_back(rung.milestone);
  return milestones;
}

TEST(Pasha, StaysLowWhereTheRankingIsStable) {
  const auto scheduler = Make();
  EXPECT_THAT(Milestones(*scheduler), ElementsAre(1, 2));
  const auto reached =
      Play(*scheduler, 64, [](int64_t n, int64_t t) { return static_cast<double>(100 * n + t); });
  EXPECT_EQ(Furthest(reached), 2);
  EXPECT_THAT(Milestones(*scheduler), ElementsAre(1, 2));
}

TEST(Pasha, GrowsToTheEndWhereTheRankingTurns) {
  const auto scheduler = Make();
  // At each rung the order is that of the one below, turned round.
  const auto reached = Play(*scheduler, 128, [](int64_t n, int64_t t) {
    const bool is_turned = t == 2 || t == 8;
    return static_cast<double>(is_turned ? -n : n);
  });
  EXPECT_EQ(Furthest(reached), 20);
  EXPECT_THAT(Milestones(*scheduler), ElementsAre(1, 2, 4, 8, 16));
}

TEST(Pasha, WhatWaitsAtTheTopIsPromotedWhenItIsOpened) {
  const auto scheduler = Make();
  for (int64_t n = 0; n < 6; ++n) {
    scheduler->OnTrialAdded(TrialNumber{n});
    scheduler->OnReport(TrialNumber{n}, 1, static_cast<double>(n));
  }
  scheduler->TakeOrders();
  // In the same order at the top: nobody goes on, and no cutoff lets anyone.
  for (int64_t n = 3; n < 5; ++n) {
    const Decision decision = scheduler->OnReport(TrialNumber{n}, 2, static_cast<double>(n));
    EXPECT_EQ(decision.verdict, Verdict::kPause);
    EXPECT_EQ(decision.cutoff, std::nullopt);
    EXPECT_TRUE(scheduler->TakeOrders().empty());
  }
  // The best one is the worst now: of the three that came the best goes on.
  scheduler->OnReport(TrialNumber{5}, 2, 1);
  EXPECT_THAT(scheduler->TakeOrders(),
              ElementsAre(Order{Order::Kind::kResume, TrialNumber{4}, {}, 2, 4, 1, 3}));
  EXPECT_THAT(Milestones(*scheduler), ElementsAre(1, 2, 4));
}

TEST(Pasha, WithinEpsilonARankingMayTurn) {
  const auto play = [](const char* epsilon, double apart) {
    const auto scheduler = Make(epsilon);
    return Furthest(Play(*scheduler, 64, [&](int64_t n, int64_t t) {
      const double place = static_cast<double>(n);
      return 10 * static_cast<double>(t) + apart * (t == 2 ? -place : place);
    }));
  };
  EXPECT_EQ(play(R"(, "epsilon": 0.5)", 0.005), 2);
  EXPECT_GT(play(R"(, "epsilon": 0.5)", 0.5), 2);
  EXPECT_GT(play(R"(, "epsilon": 0)", 0.005), 2);
}

TEST(Pasha, MeasuresEpsilonByCurvesThatCrossTwice) {
  const auto scheduler = Make(R"(, "grace_period": 3)");  // 3 6 12.
  // Trials 0 and 1 are promoted; they cross at 4 and at 5, and are 0.25 apart at 6.
  const std::vector<std::vector<double>> curves = {
      {1, 2, 3.0, 4.5, 5.5, 6.00}, {1, 2, 3.5, 4.0, 5.6, 6.25}, {0, 0, 0.1}, {0, 0, 0.2}};
  Play(*scheduler, 4, [&](int64_t n, int64_t t) {
    return curves.at(static_cast<size_t>(n)).at(static_cast<size_t>(t) - 1);
  });
  EXPECT_THAT(scheduler->DebugString(), HasSubstr("top:6 epsilon:0.25"));
}

TEST(Pasha, MinimisingIsTheMirrorImage) {
  for (const double turn : {-1.0, 1.0}) {
    const auto curve = [&](int64_t n, int64_t t) {
      return static_cast<double>(n) * (t >= 2 ? turn : 1);
    };
    const auto up = Make();
    const auto down = Make("", Mode::kMin);
    EXPECT_EQ(Play(*up, 40, curve),
              Play(*down, 40, [&](int64_t n, int64_t t) { return -curve(n, t); }));
  }
}

TEST(Pasha, TrialsWithoutAValueAreNotRanked) {
  const auto scheduler = Make();
  const auto reached = Play(*scheduler, 64, [](int64_t n, int64_t t) {
    if (n % 3 == 0 && t == 2) return Metric();
    return Metric(n == 40 && t == 2 ? std::numeric_limits<double>::infinity()
                                    : static_cast<double>(n == 40 ? 1000 : n));
  });
  EXPECT_EQ(Furthest(reached), 2);
}

TEST(Pasha, OneRungAloneLeadsToMaxT) {
  auto scheduler =
      *MakeScheduler(*ParseJson(R"({"pasha": {"max_t": 3, "grace_period": 2}})"), Mode::kMax, 7);
  EXPECT_EQ(Furthest(Play(*scheduler, 8, [](int64_t n, int64_t) { return double(n); })), 3);
}

TEST(Pasha, OptionsAreAshasAndEpsilon) {
  const auto error_of = [](const char* json) {
    return MakeScheduler(*ParseJson(json), Mode::kMax, 7).status().message();
  };
  EXPECT_EQ(SchedulerMaxT(Value("pasha")), 100);
  EXPECT_TRUE(SchedulerPauses(Value("pasha")));
  EXPECT_THAT(error_of(R"({"pasha": {"epsilon": -1}})"),
              HasSubstr("epsilon: read -1, expected a number of 0.0 or more"));
  EXPECT_THAT(error_of(R"({"pasha": {"grace_period": 101}})"),
              HasSubstr("grace_period must not be above max_t"));
}

}  // namespace
}  // namespace tune
