// What every searcher must do, whatever its algorithm. Each searcher's test instantiates the suite
// with its spec.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "search/points.h"
#include "search/searcher.h"

namespace tune {

struct SearcherCase {
  std::string name;
  std::string search;       // JSON.
  std::string space;        // JSON.
  bool is_ordered = false;  // A suggestion may depend on those before it.
  std::string constraints = "null";
  std::vector<Mode> modes = {Mode::kMax};
  std::string points = "null";
};
inline void PrintTo(const SearcherCase& c, std::ostream* out) { *out << c.name; }

// What a searcher must get along with.
inline constexpr char kMixedSpace[] =
    R"({"lr": {"loguniform": [1e-5, 1e-1]}, "net": {"width": {"choice": [16, 32]}, "act": "relu"},
        "depth": {"randint": [1, 5]}, "q": {"quniform": [0.0, 1.0, 0.1]}})";
inline constexpr char kDiscreteSpace[] =
    R"({"a": {"choice": ["x", "y"]}, "b": {"randint": [1, 4]}, "c": 3,
        "d": {"quniform": [0, 1, 0.5]}})";
inline constexpr char kConditionalSpace[] =
    R"({"beta": {"uniform": [0.8, 0.99], "when": {"kind": "adam"}},
        "kind": {"choice": ["adam", "sgd", "lion"]}, "lr": {"loguniform": [1e-5, 1e-1]},
        "sgd": {"when": {"kind": "sgd"}, "nesterov": {"choice": [true, false]}, "decay": 0.1,
                "steps": {"randint": [1, 9], "when": {"nesterov": true}}}})";
// 9 configurations.
inline constexpr char kConditionalDiscreteSpace[] =
    R"({"b": {"randint": [0, 3], "when": {"a": ["x", "z"]}}, "a": {"choice": ["w", "x", "y", "z"]},
        "c": {"ordinal": [1, 2], "when": {"a": "y"}}})";
inline constexpr char kConstrainedSpace[] =
    R"({"width": {"randint": [1, 65]}, "depth": {"randint": [1, 65]}, "x": {"uniform": [0, 1]},
        "kind": {"choice": ["a", "b"]}, "y": {"uniform": [0, 1], "when": {"kind": "b"}}})";
inline constexpr char kConstraints[] =
    R"(["width * depth <= 64", "x > 0.2 or kind == 'a'", "x + y < 1"])";
inline constexpr char kPoints[] =
    R"([{"width": 16, "depth": 4, "x": 0.5, "kind": "a"}, {"width": 60}, {"kind": "b", "y": 0.25}])";
// 19 of 2401 configurations are allowed.
inline constexpr char kTightSpace[] =
    R"({"a": {"randint": [0, 49]}, "b": {"qrandint": [0, 480, 10]}})";
inline constexpr char kTightConstraints[] = R"(["b / 10 + a == 18"])";

// An algorithm's cases. `counts_only`: it cannot search what is continuous.
inline std::vector<SearcherCase> CasesOf(const std::string& name, const std::string& search,
                                         bool is_ordered = false, bool counts_only = false) {
  std::vector<SearcherCase> cases = {
      {name + "_discrete", search, kDiscreteSpace, is_ordered},
      {name + "_conditional_discrete", search, kConditionalDiscreteSpace, is_ordered},
      {name + "_tight", search, kTightSpace, is_ordered, kTightConstraints}};
  if (counts_only) return cases;
  cases.push_back({name + "_mixed", search, kMixedSpace, is_ordered});
  cases.push_back({name + "_conditional", search, kConditionalSpace, is_ordered});
  cases.push_back({name + "_constrained", search, kConstrainedSpace, is_ordered, kConstraints});
  cases.push_back({name + "_points",
                   search,
                   kConstrainedSpace,
                   is_ordered,
                   kConstraints,
                   {Mode::kMax},
                   kPoints});
  return cases;
}

class SearcherContract : public testing::TestWithParam<SearcherCase> {
 protected:
  static constexpr int64_t kTrials = 24;

  SearchSpace Space() const {
    const Result<Value> tree = ParseJson(GetParam().space);
    const Result<Value> constraints = ParseJson(GetParam().constraints);
    const Result<SearchSpace> space = SearchSpace::Parse(*tree, *constraints);
    EXPECT_TRUE(space.ok()) << space.status().message();
    return *space;
  }

  std::unique_ptr<Searcher> Make(uint64_t seed) const {
    const Result<Value> search = ParseJson(GetParam().search);
    const auto points = ReadPoints(*ParseJson(GetParam().points), Space());
    EXPECT_TRUE(points.ok()) << points.status().message();
    Result<std::unique_ptr<Searcher>> made = MakeSearcher(*search, {.space = Space(),
                                                                    .modes = GetParam().modes,
                                                                    .samples = kTrials,
                                                                    .seed = seed,
                                                                    .points = *points});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  static std::string Text(const std::optional<Configuration>& configuration) {
    return configuration ? ToJson(configuration->ToFlat()) : "exhausted";
  }

  std::vector<std::string> Draw(Searcher& searcher) const {
    std::vector<std::string> all;
    for (int64_t n = 0; n < kTrials; ++n) all.push_back(Text(searcher.Suggest(TrialNumber{n})));
    return all;
  }

  // What becomes of trial n, by its configuration: reports, some without a value, and an end, some
  // failed.
  void Tell(Searcher& searcher, int64_t n, const std::string& text) const {
    std::vector<Metric> values;
    const auto draw = [&](int64_t iteration) {
      values.clear();
      for (size_t i = 0; i < GetParam().modes.size(); ++i) {
        KeyedRandom random(StableHash(text), "result", static_cast<uint64_t>(iteration), i);
        values.push_back(random.NextBelow(8) == 0 ? Metric() : Metric(random.NextNormal()));
      }
    };
    for (int64_t iteration = 1; iteration <= n % 4; ++iteration) {
      draw(iteration);
      searcher.OnReport(TrialNumber{n}, iteration, values);
    }
    draw(n % 4);
    searcher.OnTrialEnded(TrialNumber{n}, values, n % 5 == 3);
  }
};

TEST_P(SearcherContract, TheSameSeedGivesTheSameConfigurations) {
  EXPECT_EQ(Draw(*Make(7)), Draw(*Make(7)));
}

// Its parameters are those that exist in it, in the space's order, each with a value of its domain,
// and the constraints are kept; whatever the results were.
TEST_P(SearcherContract, EverySuggestionIsOfTheSpace) {
  const SearchSpace space = Space();
  const auto searcher = Make(7);
  for (int64_t n = 0; n < kTrials; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    ASSERT_TRUE(n > 0 || configuration);
    if (!configuration) continue;
    std::vector<std::string> names, expected;
    for (const auto& [name, value] : configuration->parameters()) names.push_back(name);
    for (size_t i = 0; i < space.parameters().size(); ++i) {
      if (!space.IsActive(i, *configuration)) continue;
      const auto& [name, content, place, conditions] = space.parameters()[i];
      expected.push_back(name);
      const Value* const value = configuration->Find(name);
      ASSERT_NE(value, nullptr) << name;
      const auto* const constant = std::get_if<Value>(&content);
      EXPECT_EQ(constant ? *constant : std::get<Domain>(content).OwnValue(*value), *value) << name;
    }
    EXPECT_EQ(names, expected);
    EXPECT_TRUE(space.Allows(*configuration)) << Text(configuration);
    Tell(*searcher, n, Text(configuration));
  }
}

TEST_P(SearcherContract, OneThatLearnsOrIsUniqueNeverRepeatsAConfiguration) {
  const auto searcher = Make(7);
  const bool is_unique = GetParam().search.find("unique") != std::string::npos;
  const bool repeats = GetParam().search.find("repeat") != std::string::npos;
  if (repeats || (!searcher->LearnsFromResults() && !is_unique)) GTEST_SKIP() << "may repeat";
  std::set<std::string> seen;
  for (int64_t n = 0; n < kTrials; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    if (!configuration) break;
    EXPECT_TRUE(seen.insert(Text(configuration)).second) << n << " " << Text(configuration);
    Tell(*searcher, n, Text(configuration));
  }
}

TEST_P(SearcherContract, ARestoredLifeThatHearsTheSameGoesOnAlike) {
  const auto first = Make(7);
  const auto second = Make(7);
  for (int64_t n = 0; n < kTrials; ++n) {
    const auto configuration = first->Suggest(TrialNumber{n});
    if (n < kTrials / 2) {
      if (configuration) second->Restore(TrialNumber{n}, *configuration);
    } else {
      EXPECT_EQ(Text(second->Suggest(TrialNumber{n})), Text(configuration)) << n;
    }
    if (!configuration) continue;
    Tell(*first, n, Text(configuration));
    Tell(*second, n, Text(configuration));
  }
}

TEST_P(SearcherContract, ATrialsConfigurationDoesNotDependOnTheOrderOfAsking) {
  const auto searcher = Make(7);
  if (searcher->LearnsFromResults() || GetParam().is_ordered) GTEST_SKIP() << "depends on order";
  const std::vector<std::string> rising = Draw(*searcher);
  const auto other = Make(7);
  std::vector<std::string> falling;
  for (int64_t n = kTrials; n-- > 0;) falling.push_back(Text(other->Suggest(TrialNumber{n})));
  std::reverse(falling.begin(), falling.end());
  EXPECT_EQ(falling, rising);
}

TEST_P(SearcherContract, RestoringAnEarlierLifeChangesNothingThatFollows) {
  const std::vector<std::string> whole = Draw(*Make(7));
  const auto before = Make(7);
  const auto after = Make(7);
  for (int64_t n = 0; n < kTrials; ++n) {
    if (n < kTrials / 2) {
      const auto configuration = before->Suggest(TrialNumber{n});
      if (configuration) after->Restore(TrialNumber{n}, *configuration);
    } else {
      EXPECT_EQ(Text(after->Suggest(TrialNumber{n})), whole[static_cast<size_t>(n)]);
    }
  }
}

TEST_P(SearcherContract, OneThatDoesNotLearnIgnoresEveryKindOfResult) {
  const auto told = Make(7);
  if (told->LearnsFromResults()) GTEST_SKIP() << "learns from results";
  const std::vector<std::string> untold = Draw(*Make(7));
  std::vector<std::string> all;
  for (int64_t n = 0; n < kTrials; ++n) {
    all.push_back(Text(told->Suggest(TrialNumber{n})));
    Tell(*told, n, all.back());
  }
  EXPECT_EQ(all, untold);
}

TEST_P(SearcherContract, OnceExhaustedItStaysExhausted) {
  const auto searcher = Make(7);
  bool exhausted = false;
  for (int64_t n = 0; n < 1000; ++n) {
    const bool nothing = !searcher->Suggest(TrialNumber{n});
    EXPECT_TRUE(nothing || !exhausted) << n;
    exhausted = nothing;
  }
}

TEST_P(SearcherContract, SaysWhatItIs) { EXPECT_FALSE(Make(7)->DebugString().empty()); }

}  // namespace tune
