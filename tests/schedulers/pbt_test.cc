#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/json.h"
#include "schedulers/trial_scheduler.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::unique_ptr<TrialScheduler> Make(std::string_view options, Mode mode = Mode::kMax,
                                     uint64_t seed = 7) {
  auto made = MakeScheduler(*ParseJson(R"({"pbt": )" + std::string(options) + "}"), mode, seed);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

constexpr char kEveryTwo[] = R"({"perturbation_interval": 2})";

void Add(TrialScheduler& scheduler, int64_t count) {
  for (int64_t n = 0; n < count; ++n) scheduler.OnTrialAdded(TrialNumber{n});
}

// "4<1" where 4 exploits 1, "+2" where 2 is resumed.
std::string Orders(TrialScheduler& scheduler) {
  std::string text;
  for (const Order& order : scheduler.TakeOrders()) {
    if (!text.empty()) text += " ";
    text += order.kind == Order::Kind::kExploit
                ? std::to_string(order.trial.value) + "<" + std::to_string(order.source->value)
                : "+" + std::to_string(order.trial.value);
  }
  return text;
}

TEST(Pbt, WhoIsOfTheBottomExploitsOneOfTheTop) {
  const auto scheduler = Make(kEveryTwo);
  Add(*scheduler, 4);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, .1), Decision{});  // Not due.
  // Alone, then the better of two, then of three.
  for (int64_t n = 1; n < 4; ++n) {
    EXPECT_EQ(scheduler->OnReport(TrialNumber{n}, 2, static_cast<double>(n)).verdict,
              Verdict::kContinue);
  }
  EXPECT_THAT(scheduler->TakeOrders(), IsEmpty());
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 2, 0.0),
            (Decision{Verdict::kPause, StopCause::kNone, 2, 1, 4, 4}));
  EXPECT_THAT(scheduler->TakeOrders(), ElementsAre(Order{Order::Kind::kExploit, TrialNumber{0},
                                                         TrialNumber{3}, 2, 1, 4, 4}));
}

TEST(Pbt, ATrialMayExploitAgainAndAgain) {
  const auto scheduler = Make(kEveryTwo);
  Add(*scheduler, 2);
  std::string orders;
  for (int64_t t = 1; t <= 8; ++t) {
    scheduler->OnReport(TrialNumber{0}, t, 1.0);
    scheduler->OnReport(TrialNumber{1}, t, 0.0);
    orders += Orders(*scheduler) + ";";
  }
  EXPECT_EQ(orders, ";1<0;;1<0;;1<0;;1<0;");
}

TEST(Pbt, TheDrawIsKeyedAndMeetsAllOfTheTop) {
  const auto play = [](uint64_t seed) {
    const auto scheduler = Make(R"({"perturbation_interval": 1})", Mode::kMin, seed);
    Add(*scheduler, 16);
    std::string orders;
    for (int64_t t = 1; t <= 20; ++t) {
      for (int64_t n = 0; n < 16; ++n) {
        scheduler->OnReport(TrialNumber{n}, t, static_cast<double>(n));
      }
      // At first some are known and others not yet.
      const std::string named = Orders(*scheduler);
      if (t > 1) orders += " " + named;
    }
    return orders;
  };
  EXPECT_EQ(play(1), play(1));
  EXPECT_NE(play(1), play(2));
  for (const char* exploit : {"15<0", "15<1", "15<2", "15<3", "12<0"}) {
    EXPECT_THAT(play(1), HasSubstr(exploit));
  }
  // A quarter of sixteen: 12 to 15 are the bottom, 0 to 3 the top.
  EXPECT_THAT(play(1), Not(HasSubstr("<4")));
  EXPECT_THAT(play(1), Not(HasSubstr(" 11<")));
}

TEST(Pbt, AtMostHalfIsTheBottom) {
  const auto scheduler = Make(R"({"perturbation_interval": 1, "quantile_fraction": 0.5})");
  Add(*scheduler, 3);
  scheduler->OnReport(TrialNumber{2}, 1, 3);
  scheduler->OnReport(TrialNumber{1}, 1, 2);
  EXPECT_EQ(Orders(*scheduler), "1<2");
  scheduler->OnReport(TrialNumber{0}, 1, 2.5);
  EXPECT_EQ(Orders(*scheduler), "");
  const auto none = Make(R"({"perturbation_interval": 1, "quantile_fraction": 0})");
  Add(*none, 2);
  none->OnReport(TrialNumber{0}, 1, 2);
  EXPECT_EQ(none->OnReport(TrialNumber{1}, 1, 1).verdict, Verdict::kContinue);
}

TEST(Pbt, NobodyIsLookedAtBeforeTheBurnInEnds) {
  const auto scheduler = Make(R"({"perturbation_interval": 2, "burn_in_period": 5})");
  Add(*scheduler, 2);
  for (int64_t t = 1; t < 5; ++t) {
    for (int64_t n = 0; n < 2; ++n) {
      EXPECT_EQ(scheduler->OnReport(TrialNumber{n}, t, static_cast<double>(n)), Decision{});
    }
  }
  scheduler->OnReport(TrialNumber{1}, 5, 1);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 5, 0).verdict, Verdict::kPause);
}

TEST(Pbt, WithoutAValueATrialIsTheWorstAndExploitedByNobody) {
  const auto scheduler = Make(R"({"perturbation_interval": 1})");
  Add(*scheduler, 3);
  scheduler->OnReport(TrialNumber{0}, 1, std::nullopt);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, std::nullopt).verdict, Verdict::kContinue);
  scheduler->OnReport(TrialNumber{2}, 1, -1e300);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 2, std::nullopt),
            (Decision{Verdict::kPause, StopCause::kNone, 2}));
  EXPECT_EQ(Orders(*scheduler), "1<2");
}

TEST(Pbt, WhoIsOverIsExploitedByNobody) {
  const auto scheduler = Make(R"({"perturbation_interval": 1})");
  Add(*scheduler, 4);
  for (int64_t n = 0; n < 3; ++n) scheduler->OnReport(TrialNumber{n}, 1, 9.0 - double(n));
  scheduler->TakeOrders();
  scheduler->OnTrialEnded(TrialNumber{0}, true);
  scheduler->OnTrialEnded(TrialNumber{1}, false);
  scheduler->OnReport(TrialNumber{3}, 1, 1);
  EXPECT_EQ(Orders(*scheduler), "3<2");
}

TEST(Pbt, OfEqualsTheEarlierIsBetter) {
  const auto scheduler = Make(R"({"perturbation_interval": 1})");
  Add(*scheduler, 2);
  scheduler->OnReport(TrialNumber{1}, 1, 5);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, 5).verdict, Verdict::kContinue);
  const Decision decision = scheduler->OnReport(TrialNumber{1}, 2, 5);
  EXPECT_EQ(decision.verdict, Verdict::kPause);
  EXPECT_EQ(decision.rank, 1);  // Ties share the better rank.
}

TEST(Pbt, InSynchAllWaitAndAreRankedAtOnce) {
  const auto scheduler = Make(R"({"perturbation_interval": 2, "synch": true})");
  Add(*scheduler, 4);
  for (int64_t n = 0; n < 4; ++n) {
    EXPECT_EQ(scheduler->OnReport(TrialNumber{n}, 1, 1).verdict, Verdict::kContinue);
    EXPECT_EQ(scheduler->OnReport(TrialNumber{n}, 2, double(n)),
              (Decision{Verdict::kPause, StopCause::kNone, 2}));
  }
  EXPECT_EQ(Orders(*scheduler), "");  // More may come.
  scheduler->OnNoMoreTrials();
  EXPECT_EQ(Orders(*scheduler), "+3 +2 +1 0<3");
  for (int64_t n = 0; n < 2; ++n) scheduler->OnReport(TrialNumber{n}, 4, double(n));
  scheduler->OnReport(TrialNumber{2}, 5, 2);
  EXPECT_EQ(Orders(*scheduler), "");
  scheduler->OnTrialEnded(TrialNumber{3}, true);  // It is waited for no longer.
  EXPECT_EQ(Orders(*scheduler), "+2 +1 0<2");
}

TEST(Pbt, InSynchATrialThatComesLaterIsWaitedFor) {
  const auto scheduler = Make(R"({"perturbation_interval": 1, "synch": true})");
  Add(*scheduler, 2);
  scheduler->OnNoMoreTrials();
  scheduler->OnReport(TrialNumber{0}, 1, 1);
  scheduler->OnTrialAdded(TrialNumber{2});
  scheduler->OnReport(TrialNumber{1}, 1, 2);
  scheduler->OnNoMoreTrials();
  EXPECT_EQ(Orders(*scheduler), "");
  scheduler->OnReport(TrialNumber{2}, 1, 3);
  EXPECT_EQ(Orders(*scheduler), "+2 +1 0<2");
}

TEST(Pbt, OptionsAreRays) {
  const auto error_of = [](const char* json) {
    return MakeScheduler(*ParseJson(json), Mode::kMax, 7).status().message();
  };
  EXPECT_THAT(error_of(R"({"pbt": {"quantile_fraction": 0.6}})"),
              HasSubstr("read 0.6, expected a number from 0.0 to 0.5"));
  EXPECT_THAT(error_of(R"({"pbt": {"perturbation_factors": [1.2, 0]}})"),
              HasSubstr("perturbation_factors: read 0, expected a number above 0"));
  EXPECT_THAT(error_of(R"({"pbt": {"perturbation_factors": 1.2}})"),
              HasSubstr("read 1.2, expected a list of numbers"));
  EXPECT_THAT(error_of(R"({"pbt": {"hyperparam_mutations": {"lr": {"uniform": [0, 1]}}}})"),
              HasSubstr("read a map, expected a list of parameters' names"));
  EXPECT_THAT(error_of(R"({"pbt": {"hyperparam_mutations": [3]}})"),
              HasSubstr("read 3, expected a parameter's name"));
  EXPECT_EQ(SchedulerMaxT(Value("pbt")), std::nullopt);
  EXPECT_TRUE(SchedulerPauses(Value("pbt")));
}

TEST(SchedulerExplore, IsThatOfPbtAloneOrCombined) {
  EXPECT_FALSE(SchedulerExplore(Value("asha")).has_value());
  EXPECT_FALSE(SchedulerExplore(*ParseJson(R"({"combine": ["asha", "fifo"]})")).has_value());
  const auto plain = SchedulerExplore(Value("pbt"));
  ASSERT_TRUE(plain.has_value());
  EXPECT_EQ(plain->resample_probability, 0.25);
  EXPECT_THAT(plain->perturbation_factors, ElementsAre(1.2, 0.8));
  EXPECT_THAT(plain->parameters, IsEmpty());
  const auto combined = SchedulerExplore(*ParseJson(
      R"({"combine": ["fifo", {"pbt": {"resample_probability": 0, "perturbation_factors": [2],
                                       "hyperparam_mutations": ["lr"]}}]})"));
  ASSERT_TRUE(combined.has_value());
  EXPECT_EQ(combined->resample_probability, 0);
  EXPECT_THAT(combined->perturbation_factors, ElementsAre(2));
  EXPECT_THAT(combined->parameters, ElementsAre(Value("lr")));
}

}  // namespace
}  // namespace tune
