#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "core/json.h"
#include "schedulers/brackets.h"
#include "schedulers/hyperband_scheduler.h"
#include "tests/contract/played_sweep.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using State = PlayedSweep::State;

std::unique_ptr<TrialScheduler> Make(std::string_view json, Mode mode = Mode::kMax) {
  auto made = MakeScheduler(*ParseJson(json), mode, 7);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string Orders(TrialScheduler& scheduler) {
  std::string text;
  for (const Order& order : scheduler.TakeOrders()) {
    text += (order.kind == Order::Kind::kResume ? "+" : "-") + std::to_string(order.trial.value);
  }
  return text;
}

std::string Report(TrialScheduler& scheduler, int64_t trial, int64_t iteration, Metric value) {
  const Verdict verdict = scheduler.OnReport(TrialNumber{trial}, iteration, value).verdict;
  if (verdict == Verdict::kStop) scheduler.OnTrialEnded(TrialNumber{trial}, false);
  const char letter = verdict == Verdict::kPause ? 'P' : verdict == Verdict::kStop ? 'S' : 'C';
  return letter + Orders(scheduler);
}

// max_t 4, factor 2: brackets of 4 at 1, 3 at 2, 3 at 4.
std::unique_ptr<TrialScheduler> MakeSmall() {
  return Make(R"({"hyperband": {"max_t": 4, "reduction_factor": 2}})");
}

TEST(Hyperband, BracketsAreThoseOfThePaper) {
  std::vector<int64_t> sizes;
  for (int64_t halvings = 4; halvings >= 0; --halvings)
    sizes.push_back(BracketSize(halvings, 4, 3));
  EXPECT_THAT(sizes, ElementsAre(81, 34, 15, 8, 5));
  const Brackets brackets = HyperbandBrackets(81, 3);
  EXPECT_THAT(brackets.milestones,
              ElementsAre(ElementsAre(1, 3, 9, 27, 81), ElementsAre(3, 9, 27, 81),
                          ElementsAre(9, 27, 81), ElementsAre(27, 81), ElementsAre(81)));
  EXPECT_THAT(brackets.weights, ElementsAre(81, 34, 15, 8, 5));
}

TEST(Hyperband, MoreTrialsThanAnIntegerHoldsAreManyTrials) {
  EXPECT_EQ(BracketSize(62, 62, 2), int64_t{1} << 62);
}

// All trials of a band at once, each better than the one before: who is where in the end.
TEST(Hyperband, ABandHalvesAsThePaperSays) {
  const auto scheduler = Make(R"("hyperband")");
  PlayedSweep sweep(*scheduler);
  constexpr int kBand = 81 + 34 + 15 + 8 + 5;
  for (int i = 0; i < kBand; ++i) sweep.Add();
  std::map<int64_t, int> ended_at;
  for (std::vector<size_t> running = sweep.In(State::kRunning); !running.empty();
       running = sweep.In(State::kRunning)) {
    for (const size_t i : running) sweep.Report(i, 1, 0.001 * static_cast<double>(i));
  }
  EXPECT_THAT(sweep.In(State::kPaused), IsEmpty());
  for (size_t i = 0; i < kBand; ++i) ++ended_at[sweep.lives()[i].iteration];
  // s4: 81 27 9 3 1; s3: 34 11 3 1; s2: 15 5 1; s1: 8 2; s0: 5.
  EXPECT_EQ(ended_at, (std::map<int64_t, int>{{1, 81 - 27},
                                              {3, 27 - 9 + 34 - 11},
                                              {9, 9 - 3 + 11 - 3 + 15 - 5},
                                              {27, 3 - 1 + 3 - 1 + 5 - 1 + 8 - 2},
                                              {81, 1 + 1 + 1 + 2 + 5}}));
  // The best of each bracket reached the end: trials come in order, the best last.
  for (const size_t best : {80, 114, 129, 137, 136, 142, 138}) {
    EXPECT_EQ(sweep.lives()[best].iteration, 81) << best;
  }
}

TEST(Hyperband, TheLastMilestoneIsMaxTWhateverTheFactor) {
  const auto scheduler = Make(R"({"hyperband": {"max_t": 20, "reduction_factor": 2}})");
  std::map<int64_t, int> milestones;
  for (const RungView& rung : scheduler->Rungs()) ++milestones[rung.milestone];
  EXPECT_EQ(milestones, (std::map<int64_t, int>{{1, 1}, {2, 2}, {5, 3}, {10, 4}, {20, 5}}));
}

TEST(Hyperband, ARungIsDecidedWhenNobodyOfItRunsAnyMore) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  EXPECT_EQ(Report(*scheduler, 0, 1, .1), "P");
  EXPECT_EQ(Report(*scheduler, 1, 1, .4), "P");
  EXPECT_EQ(Report(*scheduler, 2, 1, .3), "P");
  EXPECT_EQ(Report(*scheduler, 3, 1, .2), "P+1+2-3-0");
  EXPECT_EQ(Report(*scheduler, 1, 2, .1), "P");
  EXPECT_EQ(Report(*scheduler, 2, 2, .2), "P+2-1");
  EXPECT_EQ(Report(*scheduler, 2, 3, .2), "C");
  EXPECT_EQ(Report(*scheduler, 2, 4, .2), "S");
}

TEST(Hyperband, OrdersSayWhy) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, .1),
            (Decision{Verdict::kPause, StopCause::kNone, 1, std::nullopt, 1, 1}));
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, .4),
            (Decision{Verdict::kPause, StopCause::kNone, 1, std::nullopt, 1, 2}));
  scheduler->OnReport(TrialNumber{2}, 1, .1);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{3}, 1, std::nullopt),
            (Decision{Verdict::kPause, StopCause::kNone, 1}));
  EXPECT_THAT(scheduler->TakeOrders(),
              ElementsAre(Order{Order::Kind::kResume, TrialNumber{1}, {}, 1, .1, 1, 4},
                          // Of equals the earlier.
                          Order{Order::Kind::kResume, TrialNumber{0}, {}, 1, .1, 2, 4},
                          Order{Order::Kind::kStop, TrialNumber{2}, {}, 1, .1, 2, 4},
                          Order{Order::Kind::kStop, TrialNumber{3}, {}, 1, {}, {}, {}}));
}

TEST(Hyperband, TheNextBracketFillsWhileTheFirstIsPlayed) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 5; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  // The fifth is in the second bracket, whose first milestone is 2.
  EXPECT_EQ(Report(*scheduler, 4, 1, .9), "C");
  EXPECT_EQ(Report(*scheduler, 4, 2, .9), "P");
}

TEST(Hyperband, AfterTheLastBracketTheFirstComesAgain) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 11; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  EXPECT_EQ(Report(*scheduler, 9, 3, .9), "C");  // Of the bracket without halvings.
  EXPECT_EQ(Report(*scheduler, 10, 1, .9), "P");
}

TEST(Hyperband, ABracketThatIsNotFullIsClosedWhenNoTrialComesAnyMore) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 3; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  for (int64_t n = 0; n < 3; ++n) EXPECT_EQ(Report(*scheduler, n, 1, 0.1 * double(n)), "P");
  scheduler->OnNoMoreTrials();
  EXPECT_EQ(Orders(*scheduler), "+2-1-0");         // floor(3 / 2) goes on.
  EXPECT_EQ(Report(*scheduler, 2, 2, .9), "P+2");  // One always does.
  scheduler->OnNoMoreTrials();
  EXPECT_EQ(Orders(*scheduler), "");
  EXPECT_EQ(Report(*scheduler, 2, 4, .9), "S");
}

TEST(Hyperband, WhoFailsIsNotWaitedForAndTakesNobodysPlace) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  Report(*scheduler, 0, 1, .1);
  Report(*scheduler, 1, 1, .4);
  scheduler->OnTrialEnded(TrialNumber{2}, true);
  EXPECT_EQ(Orders(*scheduler), "");
  scheduler->OnTrialEnded(TrialNumber{3}, false);
  EXPECT_EQ(Orders(*scheduler), "+1+0");  // Two of the four that entered.
}

TEST(Hyperband, WhoIsEndedWhilePausedLeavesItsPlaceToOthers) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  for (int64_t n = 0; n < 3; ++n) Report(*scheduler, n, 1, 0.1 * double(n));
  scheduler->OnTrialEnded(TrialNumber{2}, false);
  EXPECT_EQ(Report(*scheduler, 3, 1, .05), "P+1+3-0");
}

TEST(Hyperband, ASecondChanceRejoinsARungThatIsUndecided) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  scheduler->OnTrialEnded(TrialNumber{3}, true);
  for (int64_t n = 0; n < 2; ++n) Report(*scheduler, n, 1, 0.1 * double(n));
  scheduler->OnTrialAdded(TrialNumber{3});
  EXPECT_EQ(Report(*scheduler, 2, 1, .2), "P");
  EXPECT_EQ(Report(*scheduler, 3, 1, .9), "P+3+2-1-0");
}

TEST(Hyperband, ASecondChanceAfterTheDecisionJoinsTheBracketThatIsFilled) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  scheduler->OnTrialEnded(TrialNumber{3}, true);
  for (int64_t n = 0; n < 3; ++n) Report(*scheduler, n, 1, 0.1 * double(n));
  scheduler->OnTrialAdded(TrialNumber{3});
  EXPECT_EQ(Report(*scheduler, 3, 1, .9), "C");
  EXPECT_EQ(Report(*scheduler, 3, 2, .9), "P");
  scheduler->OnNoMoreTrials();
  EXPECT_EQ(Orders(*scheduler), "+3");
}

TEST(Hyperband, AReportBeyondItsMilestoneIsTheMilestones) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  EXPECT_EQ(Report(*scheduler, 0, 3, .9), "P");
  for (int64_t n = 1; n < 3; ++n) EXPECT_EQ(Report(*scheduler, n, 1, .1), "P");
  EXPECT_EQ(Report(*scheduler, 3, 9, .1), "S+0+1-2");  // Beyond max_t it has ended.
  EXPECT_EQ(Report(*scheduler, 1, 2, .1), "P");
}

TEST(Hyperband, WithoutAValueNobodyGoesOn) {
  const auto scheduler = MakeSmall();
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  for (int64_t n = 0; n < 3; ++n) Report(*scheduler, n, 1, std::nullopt);
  EXPECT_EQ(Report(*scheduler, 3, 1, std::nan("")), "P-0-1-2-3");
}

TEST(Hyperband, AsyncStopsAshasWayInBracketsDrawnBySize) {
  const auto scheduler = Make(R"({"hyperband": {"max_t": 9, "variant": "async"}})");
  EXPECT_EQ(scheduler->name(), "hyperband");
  constexpr int kTrials = 6000;
  std::map<int64_t, int> first_rungs;
  for (int64_t n = 0; n < kTrials; ++n) {
    scheduler->OnTrialAdded(TrialNumber{n});
    for (const int64_t t : {1, 3, 9}) {
      const Decision decision = scheduler->OnReport(TrialNumber{n}, t, 1.0);
      EXPECT_NE(decision.verdict, Verdict::kPause);
      if (!decision.rung) continue;
      ++first_rungs[t];
      break;
    }
  }
  // 9, 5 and 3 trials of 17.
  EXPECT_NEAR(first_rungs[1], kTrials * 9 / 17.0, 150);
  EXPECT_NEAR(first_rungs[3], kTrials * 5 / 17.0, 150);
  EXPECT_NEAR(first_rungs[9], kTrials * 3 / 17.0, 150);
}

TEST(Hyperband, OptionsAreRaysAndTheVariants) {
  const auto error_of = [](const char* json) {
    return MakeScheduler(*ParseJson(json), Mode::kMax, 7).status().message();
  };
  EXPECT_EQ(SchedulerMaxT(Value("hyperband")), 81);
  EXPECT_EQ(SchedulerMaxT(*ParseJson(R"({"hyperband": {"max_t": 9}})")), 9);
  EXPECT_THAT(
      Make(R"({"hyperband": {"variant": "async_promote", "paused_max": 9}})")->DebugString(),
      HasSubstr("hyperband promoting"));
  EXPECT_THAT(error_of(R"({"hyperband": {"variant": "asynch"}})"),
              HasSubstr("variant: read 'asynch', expected sync, async or async_promote"));
  EXPECT_THAT(error_of(R"({"hyperband": {"paused_max": 9}})"),
              HasSubstr("only the variant async_promote"));
  EXPECT_THAT(error_of(R"({"hyperband": {"grace_period": 9}})"),
              HasSubstr("'grace_period' is not an option of hyperband"));
}

}  // namespace
}  // namespace tune
