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
using testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<TrialScheduler> Make(int64_t reduction_factor, int64_t max_t = 100,
                                     std::string_view more = "", Mode mode = Mode::kMax) {
  const std::string json = R"({"asha": {"variant": "promote", "max_t": )" + std::to_string(max_t) +
                           R"(, "reduction_factor": )" + std::to_string(reduction_factor) +
                           std::string(more) + "}}";
  auto made = MakeScheduler(*ParseJson(json), mode, 7);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

// "+3" for a trial that is resumed, "-3" for one that is stopped, in order.
std::string Orders(TrialScheduler& scheduler) {
  std::string text;
  for (const Order& order : scheduler.TakeOrders()) {
    text += (order.kind == Order::Kind::kResume ? "+" : "-") + std::to_string(order.trial.value);
  }
  return text;
}

// Adds the trial at its first report. What follows from it: "P" for its pause, then the orders.
std::string Report(TrialScheduler& scheduler, int64_t trial, int64_t iteration, Metric value) {
  if (iteration == 1) scheduler.OnTrialAdded(TrialNumber{trial});
  const Verdict verdict = scheduler.OnReport(TrialNumber{trial}, iteration, value).verdict;
  if (verdict == Verdict::kStop) scheduler.OnTrialEnded(TrialNumber{trial}, false);
  const char letter = verdict == Verdict::kPause ? 'P' : verdict == Verdict::kStop ? 'S' : 'C';
  return letter + Orders(scheduler);
}

// The trials that are promoted from the first rung, by number.
std::vector<int64_t> Promoted(int64_t reduction_factor, const std::vector<double>& values,
                              Mode mode = Mode::kMax) {
  const auto scheduler = Make(reduction_factor, 100, "", mode);
  std::set<int64_t> promoted;
  for (size_t n = 0; n < values.size(); ++n) {
    const TrialNumber trial{static_cast<int64_t>(n)};
    scheduler->OnTrialAdded(trial);
    EXPECT_EQ(scheduler->OnReport(trial, 1, values[n]).verdict, Verdict::kPause);
    for (const Order& order : scheduler->TakeOrders()) promoted.insert(order.trial.value);
  }
  return {promoted.begin(), promoted.end()};
}

TEST(AshaPromotion, PromotesWhomThePaperPromotes) {
  const std::vector<double> values = {.10, .20, .30, .40, .35, .25, .40, .05};
  EXPECT_THAT(Promoted(2, values), ElementsAre(1, 2, 3, 4, 6));
  EXPECT_THAT(Promoted(3, values), ElementsAre(2, 3, 4, 6));
  EXPECT_THAT(Promoted(4, values), ElementsAre(3, 6));
  EXPECT_THAT(Promoted(2, {.8, .7, .6, .5, .4, .3, .2, .1}), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(Promoted(2, {.1, .2, .3, .4, .5, .6, .7, .8}), ElementsAre(1, 2, 3, 4, 5, 6, 7));
}

TEST(AshaPromotion, MinimisingIsTheMirrorImage) {
  EXPECT_THAT(Promoted(2, {-.10, -.20, -.30, -.40, -.35, -.25, -.40, -.05}, Mode::kMin),
              ElementsAre(1, 2, 3, 4, 6));
}

TEST(AshaPromotion, OfEqualsTheEarlierTrialIsPromoted) {
  EXPECT_THAT(Promoted(2, {.3, .3, .3, .3}), ElementsAre(0, 1));
}

TEST(AshaPromotion, APromotionIsEarnedByOnesOwnReportOrAnothers) {
  const auto scheduler = Make(2);
  EXPECT_EQ(Report(*scheduler, 0, 1, .5), "P");
  EXPECT_EQ(Report(*scheduler, 1, 1, .3), "P+0");  // The best of two.
  EXPECT_EQ(Report(*scheduler, 2, 1, .6), "P+2");  // Better than it, and at once.
  EXPECT_EQ(Report(*scheduler, 3, 1, .2), "P");    // The two best of four are on their way.
  EXPECT_EQ(Report(*scheduler, 2, 2, .6), "P");
  EXPECT_EQ(Report(*scheduler, 0, 2, .4), "P+2");
  EXPECT_EQ(Report(*scheduler, 2, 3, .4), "C");  // Between rungs.
}

TEST(AshaPromotion, APausedTrialMayBePromotedMuchLater) {
  const auto scheduler = Make(4);
  EXPECT_EQ(Report(*scheduler, 0, 1, .5), "P");
  for (int64_t n = 1; n < 3; ++n) EXPECT_EQ(Report(*scheduler, n, 1, .1), "P");
  EXPECT_EQ(Report(*scheduler, 3, 1, .9), "P+3");
  for (int64_t n = 4; n < 7; ++n) EXPECT_EQ(Report(*scheduler, n, 1, .1), "P");
  EXPECT_EQ(Report(*scheduler, 7, 1, .1), "P+0");
}

TEST(AshaPromotion, ExplainsPauseAndPromotion) {
  const auto scheduler = Make(2);
  for (int64_t n = 0; n < 3; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, .5),
            (Decision{Verdict::kPause, StopCause::kNone, 1, std::nullopt, 1, 1}));
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, .3),
            (Decision{Verdict::kPause, StopCause::kNone, 1, .5, 2, 2}));
  EXPECT_THAT(scheduler->TakeOrders(),
              ElementsAre(Order{Order::Kind::kResume, TrialNumber{0}, {}, 1, .5, 1, 2}));
}

TEST(AshaPromotion, AtMaxTTheTrialStopsAndItsValueCounts) {
  // 1 2 4 are rungs, 5 is not.
  const auto scheduler = Make(2, 5);
  EXPECT_EQ(Report(*scheduler, 0, 1, .5), "P");
  EXPECT_EQ(Report(*scheduler, 1, 1, .6), "P+1");
  EXPECT_EQ(Report(*scheduler, 2, 1, .7), "P+2");
  EXPECT_EQ(Report(*scheduler, 1, 4, .6), "P");  // It skips a rung.
  EXPECT_EQ(Report(*scheduler, 2, 4, .7), "P+2");
  EXPECT_EQ(Report(*scheduler, 2, 5, .1), "S");
  // 4 is one.
  const auto other = Make(2, 4);
  Report(*other, 0, 1, .5);
  Report(*other, 1, 1, .6);
  EXPECT_EQ(other->OnReport(TrialNumber{1}, 4, .6),
            (Decision{Verdict::kStop, StopCause::kMaxT, 4, std::nullopt, 1, 1}));
}

TEST(AshaPromotion, ASkippedMilestoneIsClosedAndNeverFilledLater) {
  const auto scheduler = Make(2, 20);
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 5, .5).rung, 4);
  std::map<int64_t, int64_t> counts;
  for (const RungView& rung : scheduler->Rungs()) counts[rung.milestone] = rung.count;
  EXPECT_EQ(counts, (std::map<int64_t, int64_t>{{1, 0}, {2, 0}, {4, 1}, {8, 0}, {16, 0}}));
}

TEST(AshaPromotion, WithoutAValueATrialCountsAsWorstAndIsNeverPromoted) {
  const auto scheduler = Make(2);
  EXPECT_EQ(Report(*scheduler, 0, 1, std::nullopt), "P");
  EXPECT_EQ(Report(*scheduler, 1, 1, std::nan("")), "P");
  EXPECT_EQ(Report(*scheduler, 2, 1, kInf), "P");
  EXPECT_EQ(Report(*scheduler, 4, 1, 0.1), "P+4");  // The best of four.
  EXPECT_EQ(Report(*scheduler, 3, 1, std::nullopt), "P");
  EXPECT_EQ(scheduler->Rungs()[0].count, 5);
}

TEST(AshaPromotion, AFailedTrialCountsAsWorstInTheRungThatItWasOnItsWayTo) {
  const auto scheduler = Make(2);
  scheduler->OnTrialAdded(TrialNumber{1});
  EXPECT_EQ(Report(*scheduler, 0, 1, .5), "P");
  scheduler->OnTrialEnded(TrialNumber{1}, true);
  EXPECT_EQ(Orders(*scheduler), "+0");
  // With another chance it counts by what it reports.
  scheduler->OnTrialAdded(TrialNumber{1});
  EXPECT_EQ(scheduler->Rungs()[0].count, 1);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, .4).rank, 2);
  EXPECT_EQ(scheduler->Rungs()[0].count, 2);
  EXPECT_EQ(Orders(*scheduler), "");
}

TEST(AshaPromotion, ATrialThatEndedByItselfFinishedNoMoreRungs) {
  const auto scheduler = Make(2);
  scheduler->OnTrialAdded(TrialNumber{1});
  Report(*scheduler, 0, 1, .5);
  scheduler->OnTrialEnded(TrialNumber{1}, false);
  EXPECT_EQ(Orders(*scheduler), "");
}

TEST(AshaPromotion, ATrialThatWasEndedWhilePausedKeepsItsPlaceAndIsNotPromoted) {
  const auto scheduler = Make(2);
  Report(*scheduler, 0, 1, .5);
  scheduler->OnTrialEnded(TrialNumber{0}, false);
  EXPECT_EQ(Report(*scheduler, 1, 1, .3), "P");
  EXPECT_EQ(Report(*scheduler, 2, 1, .2), "P");
  EXPECT_EQ(Report(*scheduler, 3, 1, .1), "P+1");
}

TEST(AshaPromotion, TheWorstOfTheLowestRungIsStoppedWhereTooManyArePaused) {
  const auto scheduler = Make(4, 100, R"(, "paused_max": 2)");
  EXPECT_EQ(Report(*scheduler, 0, 1, .2), "P");
  EXPECT_EQ(Report(*scheduler, 1, 1, .3), "P");
  EXPECT_EQ(Report(*scheduler, 2, 1, .1), "P-2");  // Itself.
  EXPECT_EQ(Report(*scheduler, 3, 1, .4), "P+3");
  EXPECT_EQ(Report(*scheduler, 3, 4, .4), "P-0");  // Of the lowest rung, however good the higher.
  EXPECT_EQ(Report(*scheduler, 4, 1, std::nullopt), "P-4");
  EXPECT_EQ(Report(*scheduler, 5, 1, .3), "P-5");  // Of equals the later.
  const Order stop{Order::Kind::kStop, TrialNumber{1}, {}, 1, .4, 2, 7};
  scheduler->OnTrialAdded(TrialNumber{6});
  scheduler->OnReport(TrialNumber{6}, 1, .35);
  EXPECT_THAT(scheduler->TakeOrders(),
              ElementsAre((Order{stop.kind, stop.trial, {}, 1, .4, 3, 7})));
}

TEST(AshaPromotion, BracketsHaveRungsOfTheirOwn) {
  const auto scheduler = Make(3, 9, R"(, "brackets": 3)");
  std::map<int64_t, int64_t> paused_at;
  for (int64_t n = 0; n < 300; ++n) {
    scheduler->OnTrialAdded(TrialNumber{n});
    for (const int64_t t : {1, 3, 9}) {
      const Decision decision = scheduler->OnReport(TrialNumber{n}, t, .5);
      if (decision.verdict == Verdict::kContinue) continue;
      ++paused_at[t];
      break;
    }
    scheduler->TakeOrders();
  }
  EXPECT_GT(paused_at[1], paused_at[3]);
  EXPECT_GT(paused_at[3], paused_at[9]);
  EXPECT_GT(paused_at[9], 0);
}

// Algorithm 2 once more, as the paper writes it: asked after every event, until it has no more to
// promote; each rung a plain list.
TEST(AshaPromotion, AgreesWithAPlainReadingOfThePaper) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int64_t eta = 2 + static_cast<int64_t>(seed % 3);
    const auto scheduler = Make(eta, 30);
    struct Entry {
      double value;
      int64_t trial;
      bool is_promoted;
    };
    std::map<int64_t, std::vector<Entry>> rungs;  // By milestone.
    for (int64_t m = 1; m <= 30; m *= eta) rungs[m];
    std::map<int64_t, int64_t> iterations;  // Of what runs.
    KeyedRandom random(seed, "paper");
    int64_t trial_count = 0;
    for (int step = 0; step < 1500; ++step) {
      if (iterations.size() < 5) {
        scheduler->OnTrialAdded(TrialNumber{trial_count});
        iterations[trial_count++] = 0;
      }
      auto running = iterations.begin();
      std::advance(running, random.NextBelow(iterations.size()));
      const int64_t trial = running->first;
      const int64_t t = ++running->second;
      const double value = static_cast<double>(random.NextBelow(64));
      const Verdict verdict = scheduler->OnReport(TrialNumber{trial}, t, value).verdict;
      std::set<int64_t> expected;
      if (t == 30) {
        ASSERT_EQ(verdict, Verdict::kStop);
        iterations.erase(trial);
      } else if (!rungs.contains(t)) {
        ASSERT_EQ(verdict, Verdict::kContinue);
      } else {
        ASSERT_EQ(verdict, Verdict::kPause);
        iterations.erase(trial);
        rungs[t].push_back({value, trial, false});
        for (auto& [milestone, entries] : rungs) {
          std::sort(entries.begin(), entries.end(), [](const Entry& a, const Entry& b) {
            return a.value != b.value ? a.value > b.value : a.trial < b.trial;
          });
          const size_t top = entries.size() / static_cast<size_t>(eta);
          for (size_t i = 0; i < top; ++i) {
            if (entries[i].is_promoted) continue;
            entries[i].is_promoted = true;
            expected.insert(entries[i].trial);
            iterations[entries[i].trial] = milestone;
          }
        }
      }
      if (verdict == Verdict::kStop) scheduler->OnTrialEnded(TrialNumber{trial}, false);
      std::set<int64_t> resumed;
      for (const Order& order : scheduler->TakeOrders()) resumed.insert(order.trial.value);
      ASSERT_EQ(resumed, expected) << "seed " << seed << " step " << step;
    }
    ASSERT_GT(trial_count, 100);
  }
}

TEST(AshaPromotion, RefusesOptionsThatDoNotGoTogether) {
  const auto error_of = [](const char* json) {
    return MakeScheduler(*ParseJson(json), Mode::kMax, 7).status().message();
  };
  EXPECT_THAT(error_of(R"({"asha": {"paused_max": 3}})"),
              HasSubstr("only the variant promote pauses trials"));
  EXPECT_THAT(error_of(R"({"asha": {"variant": "promote", "paused_max": 0}})"),
              HasSubstr("paused_max: read 0, expected an integer of 1 or more"));
  EXPECT_THAT(error_of(R"({"asha": {"variant": "promotion"}})"),
              HasSubstr("variant: read 'promotion', expected stop or promote"));
}

TEST(AshaPromotion, SaysHowManyArePaused) {
  const auto scheduler = Make(2, 4);
  EXPECT_EQ(scheduler->name(), "asha");
  Report(*scheduler, 0, 1, .5);
  EXPECT_THAT(scheduler->DebugString(), HasSubstr("0/1:1 0/2:0 0/4:0 paused:1"));
  EXPECT_THAT(scheduler->TakeOrders(), IsEmpty());
}

}  // namespace
}  // namespace tune
