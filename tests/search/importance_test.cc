#include "search/importance.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <string>

#include "bench/search_quality/functions.h"
#include "core/json.h"
#include "core/random.h"
#include "search/searcher.h"
#include "tests/sanitized.h"

namespace tune {
namespace {

using Shares = std::map<std::string, double>;

SearchSpace Space(std::string_view json) { return *SearchSpace::Parse(*ParseJson(json)); }

// Of `trials` that `search` chose, each with the loss.
template <typename Loss>
Shares SharesOf(std::string_view space, int64_t trials, Loss loss,
                std::string_view search = R"({"algorithm": "random"})") {
  const auto searcher =
      *MakeSearcher(*ParseJson(search), {.space = Space(space), .modes = {Mode::kMin}, .seed = 5});
  std::vector<Configuration> configurations;
  std::vector<double> losses;
  for (int64_t n = 0; n < trials; ++n) {
    configurations.push_back(*searcher->Suggest(TrialNumber{n}));
    losses.push_back(loss(configurations.back()));
    const Metric value = losses.back();
    searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
  }
  Shares shares;
  for (const ParameterImportance& one : Importances(Space(space), configurations, losses)) {
    shares[one.name] = one.share;
  }
  return shares;
}

double SumOf(const Shares& shares) {
  double sum = 0;
  for (const auto& [name, share] : shares) sum += share;
  return sum;
}

constexpr char kThree[] =
    R"({"lr": {"loguniform": [1e-5, 1]}, "layers": {"randint": [1, 9]}, "idle": {"uniform": [0, 1]},
        "constant": 3})";

double Three(const Configuration& c) {
  return std::fabs(std::log10(c.Find("lr")->AsDouble()) + 3) +
         0.3 * std::fabs(c.Find("layers")->AsDouble() - 4);
}

struct ClearCalls {
  int x = 0;      // Sweeps in which the only one that matters is called clear,
  int wrong = 0;  // and in which another one is.
};

ClearCalls CallsOfSearch(const std::string& search, int sweeps, int64_t trials) {
  const SearchSpace space =
      Space(R"({"x": {"uniform": [0, 1]}, "y": {"uniform": [0, 1]}, "z": {"randint": [1, 9]},
                "c": {"choice": ["a", "b", "c"]}})");
  ClearCalls calls;
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    const auto seed = static_cast<uint64_t>(sweep);
    const auto searcher = *MakeSearcher(*ParseJson(R"({"algorithm": ")" + search + "\"}"),
                                        {.space = space, .modes = {Mode::kMin}, .seed = seed});
    std::vector<Configuration> configurations;
    std::vector<double> losses;
    for (int64_t n = 0; n < trials; ++n) {
      configurations.push_back(*searcher->Suggest(TrialNumber{n}));
      const double from_best = configurations.back().Find("x")->AsDouble() - 0.3;
      KeyedRandom random(seed, "noise", static_cast<uint64_t>(n));
      losses.push_back(from_best * from_best + 0.01 * random.NextNormal());
      const Metric value = losses.back();
      searcher->OnTrialEnded(TrialNumber{n}, {&value, 1}, false);
    }
    bool is_wrong = false;
    for (const ParameterImportance& one : Importances(space, configurations, losses)) {
      if (one.name == "x") calls.x += one.is_clear ? 1 : 0;
      if (one.name != "x") is_wrong = is_wrong || one.is_clear;
    }
    calls.wrong += is_wrong ? 1 : 0;
  }
  return calls;
}

// A search that learns moves all parameters together: by itself each seems to matter.
TEST(Importances, OfASearchThatLearnsOnlyWhatMattersIsClear) {
  constexpr int kSweeps = 15;
  for (const char* const search : {"random", "tpe", "gp"}) {
    const ClearCalls calls = CallsOfSearch(search, kSweeps, 40);
    EXPECT_LE(calls.wrong, 2) << search;  // Of thirty at 30 and at 60 trials each, at most three.
    EXPECT_GE(calls.x, 12) << search;
  }
}

TEST(Importances, AnIntervalHoldsTheShareThatItIsOf) {
  // Of few trials those drawn anew tend to one side of the trials themselves.
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const auto searcher =
        *MakeSearcher(*ParseJson(R"({"algorithm": "random"})"),
                      {.space = Space(kThree), .modes = {Mode::kMin}, .seed = seed});
    std::vector<Configuration> configurations;
    std::vector<double> losses;
    for (int64_t n = 0; n < 12; ++n) {
      configurations.push_back(*searcher->Suggest(TrialNumber{n}));
      losses.push_back(Three(configurations.back()));
    }
    for (const ParameterImportance& one : Importances(Space(kThree), configurations, losses)) {
      EXPECT_LE(one.low, one.share) << one.name << ", seed " << seed;
      EXPECT_GE(one.high, one.share) << one.name << ", seed " << seed;
    }
  }
}

TEST(Importances, OrderTheParametersByWhatTheyDo) {
  const Shares shares = SharesOf(kThree, 100, Three);
  EXPECT_EQ(shares.size(), 3u);  // Not the constant.
  EXPECT_NEAR(SumOf(shares), 1, 1e-9);
  EXPECT_GT(shares.at("lr"), 0.7);
  EXPECT_GT(shares.at("layers"), shares.at("idle"));
  EXPECT_LT(shares.at("idle"), 0.1);
}

TEST(Importances, AreHardlyMovedByASearchThatNarrowsEverythingDown) {
  const TestFunction& function = *FindTestFunction("ellipsoid10");
  const Shares shares = SharesOf(function.space, 300, function.value, R"({"algorithm": "cmaes"})");
  // Each parameter has half of the weight of the one before it.
  EXPECT_GT(shares.at("x0"), shares.at("x1"));
  EXPECT_GT(shares.at("x1"), shares.at("x3"));
  EXPECT_GT(shares.at("x0") + shares.at("x1") + shares.at("x2"), 0.6);
  EXPECT_LT(shares.at("x7") + shares.at("x8") + shares.at("x9"), 0.2);
}

TEST(Importances, AChoiceCountsLikeANumber) {
  const Shares shares =
      SharesOf(R"({"kind": {"choice": ["a", "b", "c", "d"]}, "x": {"uniform": [0, 1]}})", 80,
               [](const Configuration& c) {
                 return (c.Find("kind")->AsString() == "c" ? 0 : 1) + 0.1 * c.Find("x")->AsDouble();
               });
  EXPECT_GT(shares.at("kind"), 0.5);
}

constexpr char kOfKind[] =
    R"({"kind": {"choice": ["sgd", "adam"]},
        "beta2": {"uniform": [0.9, 0.999], "when": {"kind": "adam"}},
        "momentum": {"uniform": [0, 0.95], "when": {"kind": "sgd"}}})";

// Of `trials` random ones of kOfKind, each with the loss of its number and configuration.
template <typename Loss>
std::map<std::string, ParameterImportance> OfKind(int64_t trials, uint64_t seed, Loss loss) {
  const SearchSpace space = Space(kOfKind);
  const auto searcher = *MakeSearcher(*ParseJson(R"({"algorithm": "random"})"),
                                      {.space = space, .modes = {Mode::kMin}, .seed = seed});
  std::vector<Configuration> configurations;
  std::vector<double> losses;
  for (int64_t n = 0; n < trials; ++n) {
    configurations.push_back(*searcher->Suggest(TrialNumber{n}));
    losses.push_back(loss(n, configurations.back()));
  }
  std::map<std::string, ParameterImportance> by_name;
  for (const auto& one : Importances(space, configurations, losses)) by_name[one.name] = one;
  return by_name;
}

TEST(Importances, WhetherAParameterExistsIsDueToItsCondition) {
  for (const uint64_t seed : {1, 2, 3}) {
    const auto found = OfKind(60, seed, [](int64_t n, const Configuration& c) {
      return (c.Find("kind")->AsString() == "adam" ? 0.2 : 0.6) + 0.01 * static_cast<double>(n % 5);
    });
    EXPECT_GT(found.at("kind").share, 0.95) << seed;
    EXPECT_TRUE(found.at("kind").is_clear) << seed;
    EXPECT_FALSE(found.at("beta2").is_clear) << seed;
    EXPECT_FALSE(found.at("momentum").is_clear) << seed;
  }
}

TEST(Importances, AParameterUnderAConditionCountsWhereItExists) {
  const auto found = OfKind(120, 1, [](int64_t, const Configuration& c) {
    const Value* const beta2 = c.Find("beta2");
    return beta2 != nullptr ? 20 * std::fabs(beta2->AsDouble() - 0.95) : 1.1;
  });
  EXPECT_GT(found.at("beta2").share, 0.2);
  EXPECT_TRUE(found.at("beta2").is_clear);
  EXPECT_LT(found.at("momentum").share, 0.02);
  EXPECT_FALSE(found.at("momentum").is_clear);
}

TEST(Importances, OneOfTwoValuesThatMovesTheLossTenTimesAsFarComesFirst) {
  const Shares shares =
      SharesOf(R"({"bn": {"choice": [true, false]}, "lr": {"loguniform": [1e-4, 1]}})", 60,
               [](const Configuration& c) {
                 return (c.Find("bn")->AsBool() ? 0.5 : 1.0) +
                        0.05 * std::fabs(std::log10(c.Find("lr")->AsDouble()) + 2);
               });
  EXPECT_GT(shares.at("bn"), 0.95);
}

TEST(Importances, TrialsThatDivergedDoNotHideTheOthers) {
  const auto diverging = [](const Configuration& c) {
    if (c.Find("idle")->AsDouble() > 0.9) return std::numeric_limits<double>::infinity();
    if (c.Find("idle")->AsDouble() > 0.8) return 1e30;
    return Three(c);
  };
  EXPECT_GT(SharesOf(kThree, 150, diverging).at("lr"), 0.6);
}

TEST(Importances, AreZeroWhereAllLossesAreAlike) {
  for (const double loss : {1.0, std::numeric_limits<double>::infinity()}) {
    EXPECT_EQ(SumOf(SharesOf(kThree, 20, [&](const Configuration&) { return loss; })), 0);
  }
}

std::vector<ParameterImportance> OfRandomTrials(int64_t trials, double (*loss)(double lr)) {
  const SearchSpace space = Space(
      R"({"lr": {"uniform": [0, 1]}, "kind": {"choice": ["a", "b", "c"]}, "x": {"uniform": [0, 1]}})");
  const auto searcher = *MakeSearcher(*ParseJson(R"({"algorithm": "random"})"),
                                      {.space = space, .modes = {Mode::kMin}, .seed = 11});
  std::vector<Configuration> configurations;
  std::vector<double> losses;
  for (int64_t n = 0; n < trials; ++n) {
    configurations.push_back(*searcher->Suggest(TrialNumber{n}));
    losses.push_back(loss(configurations.back().Find("lr")->AsDouble()));
  }
  return Importances(space, configurations, losses);
}

TEST(Importances, TheParameterThatMattersAloneIsClearHoweverFewTheTrials) {
  const auto distance = [](double lr) { return std::fabs(lr - 0.4); };
  for (const int64_t trials : {14, 40, 120}) {
    const auto of_all = OfRandomTrials(trials, distance);
    EXPECT_TRUE(of_all[0].is_clear) << trials;
    EXPECT_FALSE(of_all[1].is_clear) << trials;
    EXPECT_FALSE(of_all[2].is_clear) << trials;
  }
}

TEST(Importances, AnIntervalHoldsTheShareAndNarrowsWithTrials) {
  const auto distance = [](double lr) { return std::fabs(lr - 0.4); };
  const ParameterImportance few = OfRandomTrials(14, distance)[0];
  const ParameterImportance many = OfRandomTrials(200, distance)[0];
  for (const ParameterImportance& one : {few, many}) {
    EXPECT_LE(one.low, one.share);
    EXPECT_GE(one.high, one.share);
  }
  EXPECT_GT(few.high - few.low, many.high - many.low);
}

int64_t PeakKilobytes() {
  rusage usage;
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_maxrss;
}

// Two thousand configurations with each of 50 parameters drawn anew: whole ones were 40 MB, and of
// a thousand parameters 16 GB.
TEST(Importances, OfManyParametersTakeNoMemoryByTheSquareOfThem) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer keeps more than is kept here";
  std::string space;
  for (int d = 0; d < 50; ++d) {
    space +=
        std::string(d == 0 ? "{" : ", ") + "\"p" + std::to_string(d) + R"(": {"uniform": [0, 1]})";
  }
  std::ofstream("/proc/self/clear_refs") << 5;  // The peak of what ran before, where it may.
  const int64_t before = PeakKilobytes();
  const auto loss = [](const Configuration& c) { return c.Find("p7")->AsDouble(); };
  EXPECT_EQ(SharesOf(space + "}", 20, loss).size(), 50u);
  EXPECT_LT(PeakKilobytes() - before, 25'000);
}

TEST(Importances, OfASpaceWithoutDomainsAreNone) {
  EXPECT_TRUE(SharesOf(R"({"a": 1})", 12, [](const Configuration&) { return 1.0; }).empty());
}

}  // namespace
}  // namespace tune
