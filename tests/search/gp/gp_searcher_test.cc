#include "search/gp/gp_searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "bench/search_quality/functions.h"
#include "core/json.h"
#include "core/random.h"
#include "search/searcher.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr char kPlane[] = R"({"x": {"uniform": [-4, 6]}, "y": {"loguniform": [1e-4, 1]}})";
constexpr char kMixed[] =
    R"({"x": {"uniform": [0, 1]}, "k": {"randint": [0, 400]},
        "c": {"choice": ["a", "b", "c", "d"]}, "deep": {"uniform": [0, 1], "when": {"c": "b"}}})";
constexpr char kFew[] = R"({"a": {"choice": ["x", "y"]}, "b": {"randint": [1, 10]}, "c": 3})";
constexpr char kGp[] = R"({"algorithm": "gp"})";

Result<std::unique_ptr<Searcher>> TryMake(std::string_view search, std::string_view space,
                                          uint64_t seed = 1,
                                          std::vector<Mode> modes = {Mode::kMin}) {
  return MakeSearcher(
      *ParseJson(search),
      {.space = *SearchSpace::Parse(*ParseJson(space)), .modes = std::move(modes), .seed = seed});
}

std::unique_ptr<Searcher> Make(std::string_view search, std::string_view space, uint64_t seed = 1) {
  auto made = TryMake(search, space, seed);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string ErrorOf(std::string_view search, std::string_view space) {
  const auto made = TryMake(search, space);
  EXPECT_FALSE(made.ok());
  return made.status().message();
}

double Plane(const Configuration& c) {
  const double x = c.Find("x")->AsDouble() - 1;
  const double y = std::log10(c.Find("y")->AsDouble()) + 3;
  return x * x + y * y + x * y;
}

// The optimum, 0: x 1 (at the side), k 290, c "b", deep 0.3.
double Mixed(const Configuration& c) {
  const double k = (c.Find("k")->AsDouble() - 290) / 100;
  const Value* const deep = c.Find("deep");
  const double off = deep == nullptr ? 1 : deep->AsDouble() - 0.3;
  return 1 - c.Find("x")->AsDouble() + k * k + off * off;
}

std::string Text(const Configuration& configuration) { return ToJson(configuration.ToFlat()); }

// Trials in the order of their numbers, `workers` of them running at a time. A loss of NaN: failed.
template <typename Loss>
class Sweep {
 public:
  Sweep(Searcher& searcher, size_t workers, Loss loss)
      : searcher_(searcher), workers_(workers), loss_(loss) {}

  // What is asked for; nothing when the space is exhausted.
  std::optional<Configuration> Ask() {
    const auto configuration = searcher_.Suggest(TrialNumber{next_});
    if (configuration) Start(*configuration);
    return configuration;
  }
  void Restore(const Configuration& configuration) {
    searcher_.Restore(TrialNumber{next_}, configuration);
    Start(configuration);
  }
  double best() const { return best_; }

 private:
  void Start(const Configuration& configuration) {
    running_.emplace_back(next_++, configuration);
    if (running_.size() < workers_) return;
    const auto [number, oldest] = running_.front();
    running_.pop_front();
    const double loss = loss_(oldest);
    const Metric value = std::isnan(loss) ? Metric() : Metric(loss);
    searcher_.OnTrialEnded(TrialNumber{number}, {&value, 1}, std::isnan(loss));
    best_ = std::fmin(best_, loss);
  }

  Searcher& searcher_;
  size_t workers_;
  Loss loss_;
  int64_t next_ = 0;
  std::deque<std::pair<int64_t, Configuration>> running_;
  double best_ = std::numeric_limits<double>::infinity();
};

template <typename Loss>
double BestOf(Searcher& searcher, int64_t trials, size_t workers, Loss loss) {
  Sweep sweep(searcher, workers, loss);
  for (int64_t n = 0; n < trials; ++n) sweep.Ask();
  return sweep.best();
}

// Random search comes to about 0.5, 0.3 and 0.1.
TEST(GpSearcher, FindsTheMinimumOfClassicFunctionsInFewTrials) {
  struct Case {
    const char* function;
    double regret;
  };
  for (const auto& [name, regret] : {Case{"branin", 1e-3}, Case{"sgd_log", 0.08}}) {
    const TestFunction* const function = FindTestFunction(name);
    ASSERT_NE(function, nullptr);
    for (uint64_t seed = 0; seed < 3; ++seed) {
      const auto searcher = Make(kGp, function->space, seed);
      const auto loss = [&](const Configuration& c) { return function->value(c); };
      EXPECT_LT(BestOf(*searcher, 45, 1, loss) - function->minimum, regret) << name << " " << seed;
    }
  }
}

TEST(GpSearcher, FindsTheRightChoiceIntegerAndConditionalParameter) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_LT(BestOf(*Make(kGp, kMixed, seed), 50, 1, Mixed), 0.01) << seed;
  }
}

TEST(GpSearcher, FindsItWithManyTrialsRunningAtATime) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_LT(BestOf(*Make(kGp, kPlane, seed), 60, 8, Plane), 1e-3) << seed;
  }
}

// How near, in the unit square, the nearest two of eight trials side by side are, after 15 others.
template <typename Loss>
double NearestOfEight(uint64_t seed, Loss loss) {
  const auto searcher = Make(kGp, kPlane, seed);
  Sweep sweep(*searcher, 1, loss);
  for (int n = 0; n < 15; ++n) sweep.Ask();
  std::vector<std::pair<double, double>> places;
  double nearest = 2;
  for (int64_t n = 15; n < 23; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    const double x = configuration->Find("x")->AsDouble() / 10;
    const double y = std::log10(configuration->Find("y")->AsDouble()) / 4;
    for (const auto& [u, v] : places) nearest = std::fmin(nearest, std::hypot(x - u, y - v));
    places.emplace_back(x, y);
  }
  return nearest;
}

// Without noise it knows the minimum by then, and small differences tell something; with noise they
// tell nothing.
TEST(GpSearcher, TrialsSideBySideAreAsFarApartAsTheNoiseAsksFor) {
  for (uint64_t seed = 0; seed < 3; ++seed) {
    EXPECT_GT(NearestOfEight(seed, Plane), 1e-4) << seed;
    KeyedRandom random(seed, "noise", 0);
    const auto noisy = [&](const Configuration& c) { return Plane(c) + random.NextNormal(); };
    EXPECT_GT(NearestOfEight(seed, noisy), 1e-2) << seed;
  }
}

TEST(GpSearcher, ARestoredOneGoesOnBitForBit) {
  for (const char* space : {kPlane, kMixed}) {
    const auto loss = [&](const Configuration& c) {
      const double value = space == kPlane ? Plane(c) : Mixed(c);
      return value > 10 ? std::nan("") : value;
    };
    const auto first = Make(kGp, space);
    const auto second = Make(kGp, space);
    Sweep before(*first, 3, loss);
    Sweep after(*second, 3, loss);
    for (int n = 0; n < 40; ++n) {
      const auto configuration = before.Ask();
      if (n < 33) {
        after.Restore(*configuration);
      } else {
        EXPECT_EQ(Text(*after.Ask()), Text(*configuration)) << n;
      }
    }
  }
}

TEST(GpSearcher, AFailedTrialKeepsOthersAway) {
  // Half of the plane fails; the optimum is next to it.
  int failed_count = 0;
  const auto loss = [&](const Configuration& c) {
    if (c.Find("x")->AsDouble() >= 0.9) return Plane(c);
    ++failed_count;
    return std::nan("");
  };
  EXPECT_LT(BestOf(*Make(kGp, kPlane), 50, 1, loss), 0.05);
  EXPECT_LT(failed_count, 25);
}

TEST(GpSearcher, GoesOnWhereEverythingFailsIsAlikeOrInfinite) {
  for (const double value : {std::nan(""), 1.0, std::numeric_limits<double>::infinity(),
                             -std::numeric_limits<double>::infinity()}) {
    const auto searcher = Make(kGp, kMixed);
    Sweep sweep(*searcher, 2, [&](const Configuration&) { return value; });
    std::set<std::string> seen;
    for (int n = 0; n < 30; ++n) seen.insert(Text(*sweep.Ask()));
    EXPECT_EQ(seen.size(), 30u);
  }
}

// Where only ends count, a process would be one of nothing.
TEST(GpSearcher, GoesOnWhileAllTrialsThatHaveReportedRun) {
  const std::vector<std::pair<std::string, std::vector<Mode>>> cases = {
      {kGp, {Mode::kMin, Mode::kMax}}, {R"({"algorithm": "gp", "fidelity": false})", {Mode::kMin}}};
  for (const auto& [search, modes] : cases) {
    const auto gp = *TryMake(search, kPlane, 1, modes);
    std::vector<double> places;
    for (int64_t number = 0; number < 60; ++number) {
      const auto configuration = gp->Suggest(TrialNumber{number});
      ASSERT_TRUE(configuration) << search;
      places.push_back(Plane(*configuration));
      const std::vector<Metric> values(modes.size(), places.back());
      gp->OnReport(TrialNumber{number}, 1, values);
      if (number >= 20) gp->OnTrialEnded(TrialNumber{number - 20}, values, false);
    }
    // It learns once some have ended.
    if (modes.size() > 1) continue;
    EXPECT_LT(*std::min_element(places.begin() + 25, places.end()), 0.1);
  }
}

TEST(GpSearcher, TriesEveryConfigurationOfAFiniteSpaceOnceAndIsExhausted) {
  const auto searcher = Make(kGp, kFew);
  Sweep sweep(*searcher, 2, [](const Configuration& c) { return c.Find("b")->AsDouble(); });
  std::set<std::string> seen;
  for (int n = 0; n < 18; ++n) {
    const auto configuration = sweep.Ask();
    ASSERT_TRUE(configuration);
    seen.insert(Text(*configuration));
  }
  EXPECT_EQ(seen.size(), 18u);
  EXPECT_FALSE(sweep.Ask());
}

TEST(GpSearcher, GreaterIsBetterWhereTheModeSaysSo) {
  const auto made = TryMake(kGp, kPlane, 1, {Mode::kMax});
  ASSERT_TRUE(made.ok());
  double best = 1e9;
  const auto worth = [&](const Configuration& c) {
    best = std::fmin(best, Plane(c));
    return -Plane(c);
  };
  BestOf(**made, 40, 1, worth);
  EXPECT_LT(best, 1e-2);
}

TEST(GpSearcher, LearnsFromTrialsThatWereStoppedEarly) {
  // Every trial reports Plane at iteration 1; only the better ones go on, to iteration 9.
  const auto searcher = Make(kGp, kPlane);
  double best = 1e9;
  for (int64_t n = 0; n < 50; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    const double loss = Plane(*configuration);
    const bool goes_on = loss <= best;
    for (int64_t iteration = 1; iteration <= (goes_on ? 9 : 1); ++iteration) {
      const Metric value = loss + 1.0 / static_cast<double>(iteration);
      searcher->OnReport(TrialNumber{n}, iteration, {&value, 1});
    }
    const Metric last = loss + (goes_on ? 1.0 / 9 : 1.0);
    if (!goes_on) searcher->OnStopped(TrialNumber{n});
    searcher->OnTrialEnded(TrialNumber{n}, {&last, 1}, false);
    best = std::fmin(best, loss);
  }
  EXPECT_LT(best, 1e-2);
  EXPECT_THAT(searcher->DebugString(), HasSubstr("2 levels"));
}

// As above, but what is seen has a deviation of 1 at iteration 1 and of 0.05 at iteration 9, and
// few go on. By plain expected improvement 39 of 90 trials are within 0.005 of an earlier one.
TEST(GpSearcher, DoesNotComeToThePlaceOfStoppedTrialsAgainAndAgain) {
  const auto searcher = Make(kGp, kPlane);
  std::vector<std::pair<double, double>> earlier;  // In the unit space.
  int64_t repeated = 0;
  for (int64_t n = 0; n < 90; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    const double x = (configuration->Find("x")->AsDouble() + 4) / 10;
    const double y = (std::log10(configuration->Find("y")->AsDouble()) + 4) / 4;
    repeated += std::any_of(earlier.begin(), earlier.end(), [&](const auto& other) {
      return std::hypot(x - other.first, y - other.second) < 0.005;
    });
    earlier.emplace_back(x, y);
    const double loss = Plane(*configuration);
    KeyedRandom noise(1, "noise", static_cast<uint64_t>(n));
    Metric value = loss + noise.NextNormal();
    searcher->OnReport(TrialNumber{n}, 1, {&value, 1});
    if (loss < 1 && n % 5 == 0) {
      value = loss + 0.05 * noise.NextNormal();
      searcher->OnReport(TrialNumber{n}, 9, {&value, 1});
    }
    searcher->OnStopped(TrialNumber{n});
    searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
  }
  EXPECT_LT(repeated, 27);
}

// A second for each of x = 0, a hundred for each of x = 1; both sides are as good.
TEST(GpSearcher, PerSecondsItPrefersWhatIsCheap) {
  const auto share_of_cheap = [](std::string_view search) {
    const auto searcher = Make(search, kPlane);
    int cheap = 0;
    for (int64_t n = 0; n < 40; ++n) {
      const auto configuration = searcher->Suggest(TrialNumber{n});
      const double x = (configuration->Find("x")->AsDouble() + 4) / 10;
      const Metric loss = std::sin(9 * x) * std::sin(9 * x);
      searcher->OnDuration(TrialNumber{n}, std::pow(100, x));
      searcher->OnTrialEnded(TrialNumber{n}, {&loss, 1}, false);
      if (n >= 10 && x < 0.5) ++cheap;
    }
    return cheap / 30.0;
  };
  EXPECT_GT(share_of_cheap(R"({"algorithm": "gp", "per": "seconds"})"), 0.7);
  EXPECT_LT(share_of_cheap(R"({"algorithm": "gp", "per": "trial"})"), 0.7);
}

TEST(GpSearcher, AnEarlierSweepAloneSaysNothingOfWhatIsLeftToGain) {
  const auto searcher = Make(kGp, kPlane);
  for (int64_t n = 1; n <= 30; ++n) {
    Configuration configuration;
    configuration.Set("x", Value(-4 + 0.3 * static_cast<double>(n)));
    configuration.Set("y", Value(1e-3));
    searcher->Restore(TrialNumber{-n}, configuration);
    const Metric loss = Plane(configuration);
    searcher->OnTrialEnded(TrialNumber{-n}, {&loss, 1}, false);
  }
  EXPECT_EQ(searcher->RemainingRegret(), std::nullopt);
}

TEST(GpSearcher, WhatMoreTrialsMayGainFallsAndIsInTheMetricsUnits) {
  const auto searcher = Make(kGp, kPlane);
  ASSERT_TRUE(searcher->EstimatesRegret());
  std::vector<double> regrets;
  double least = 1e9;
  for (int64_t n = 0; n < 40; ++n) {
    const auto regret = searcher->RemainingRegret();
    EXPECT_EQ(regret.has_value(), n >= 10) << n;
    if (regret) regrets.push_back(*regret);
    const auto configuration = searcher->Suggest(TrialNumber{n});
    const Metric loss = 100 * Plane(*configuration);
    least = std::min(least, *loss);
    searcher->OnTrialEnded(TrialNumber{n}, {&loss, 1}, false);
  }
  EXPECT_GT(regrets.front(), 1);
  EXPECT_LT(regrets.back(), 0.1 * regrets.front());
  EXPECT_GE(regrets.back(), 0);
  EXPECT_LT(least, 1);
  EXPECT_FALSE((*TryMake(kGp, kPlane, 1, {Mode::kMin, Mode::kMin}))->EstimatesRegret());
}

// A process of equal values sees nothing to gain anywhere.
TEST(GpSearcher, WhatMoreTrialsMayGainIsNotKnownWhileTooFewHaveSucceededOrAllAlike) {
  constexpr double kFails = std::numeric_limits<double>::quiet_NaN();
  const auto tells = [](std::vector<double> losses, SearchRules rules = SearchRules::kFrom15) {
    const auto searcher =
        *MakeSearcher(*ParseJson(kGp), {.space = *SearchSpace::Parse(*ParseJson(kPlane)),
                                        .modes = {Mode::kMin},
                                        .seed = 1,
                                        .rules = rules});
    for (size_t n = 0; n < losses.size(); ++n) {
      const TrialNumber number{static_cast<int64_t>(n)};
      const bool fails = std::isnan(losses[n]);
      const Metric loss = losses[n];
      const Metric none;
      searcher->Suggest(number);
      searcher->OnTrialEnded(number, {fails ? &none : &loss, 1}, fails);
    }
    return searcher->RemainingRegret().has_value();
  };
  std::vector<double> losses(10, kFails);
  EXPECT_FALSE(tells(losses));
  losses.back() = 0.5;
  EXPECT_FALSE(tells(losses));
  EXPECT_TRUE(tells(losses, SearchRules::kFrom14)) << "a sweep of an older build";
  for (int n = 0; n < 9; ++n) losses.push_back(0.5);
  EXPECT_FALSE(tells(losses)) << "ten good ones that say the same";
  losses.push_back(0.25);
  EXPECT_TRUE(tells(losses));
}

// What constraints leave of the space has to be looked at for that.
TEST(GpSearcher, WhatMoreTrialsMayGainIsNotKnownWhereConstraintsLeaveHardlyAnything) {
  const auto tells = [](std::string_view constraint, SearchRules rules) {
    const auto space =
        SearchSpace::Parse(*ParseJson(R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}})"),
                           *ParseJson("[\"" + std::string(constraint) + "\"]"));
    EXPECT_TRUE(space.ok()) << space.status().message();
    const auto searcher = *MakeSearcher(
        *ParseJson(kGp), {.space = *space, .modes = {Mode::kMin}, .seed = 1, .rules = rules});
    for (int64_t n = 0; n < 12; ++n) {
      const Configuration configuration = *searcher->Suggest(TrialNumber{n});
      const double x = configuration.Find("x")->AsDouble();
      const Metric loss = 1 - x * configuration.Find("y")->AsDouble() + 0.1 * x;
      searcher->OnTrialEnded(TrialNumber{n}, {&loss, 1}, false);
    }
    return searcher->RemainingRegret().has_value();
  };
  // One point in 200, which are drawn for; one in 5,000.
  EXPECT_TRUE(tells("x * y > 0.9", SearchRules::kFrom16));
  EXPECT_FALSE(tells("x * y > 0.98", SearchRules::kFrom16));
  EXPECT_TRUE(tells("x * y > 0.98", SearchRules::kFrom15)) << "a sweep of an older build";
}

TEST(GpSearcher, SaysWhatItDoesNotTake) {
  EXPECT_THAT(ErrorOf(R"({"algorithm": "gp", "n_startup": 3})", kPlane),
              HasSubstr("'n_startup' is not an option of gp"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "gp", "n_startup_trials": -1})", kPlane),
              HasSubstr("expected an integer from 0"));
  EXPECT_THAT(ErrorOf(R"({"algorithm": "gp", "fidelity": 1})", kPlane),
              HasSubstr("expected true or false"));
  EXPECT_THAT(ErrorOf(kGp, R"({"a": {"grid_search": [1, 2]}})"), HasSubstr("grid_search"));
}

}  // namespace
}  // namespace tune
