// What every searcher must do, whatever its algorithm. Each searcher's test instantiates the suite
// with its spec.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/json.h"
#include "core/random.h"
#include "search/points.h"
#include "search/searcher.h"
#include "tests/contract/searcher_cases.h"

namespace tune {

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

  Result<std::unique_ptr<Searcher>> TryMake(uint64_t seed, std::vector<EarlierTrial> history,
                                            std::vector<EarlierTrial> prior = {}) const {
    const Result<Value> search = ParseJson(GetParam().search);
    const auto points = ReadPoints(*ParseJson(GetParam().points), Space());
    EXPECT_TRUE(points.ok()) << points.status().message();
    SearchProblem problem{.space = Space(),
                          .modes = GetParam().modes,
                          .samples = kTrials,
                          .seed = seed,
                          .points = *points,
                          .history = std::move(history)};
    problem.has_prior = !prior.empty();
    problem.prior = std::move(prior);
    return MakeSearcher(*search, std::move(problem));
  }
  std::unique_ptr<Searcher> Make(uint64_t seed, std::vector<EarlierTrial> history = {}) const {
    Result<std::unique_ptr<Searcher>> made = TryMake(seed, std::move(history));
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  // What an earlier sweep of this searcher came to; some failed, some never reported.
  std::vector<EarlierTrial> EarlierTrials() const {
    std::vector<EarlierTrial> trials;
    const auto earlier = Make(11);
    for (int64_t n = 0; n < kTrials; ++n) {
      const auto configuration = earlier->Suggest(TrialNumber{n});
      if (!configuration) continue;
      EarlierTrial trial{*configuration, {}, n % 7 == 3};
      for (int64_t iteration = 1; iteration <= n % 4; ++iteration) {
        trial.reports.push_back({iteration, ValuesAt(Text(configuration), iteration)});
      }
      trials.push_back(std::move(trial));
    }
    return trials;
  }
  // `second` is told in the first half what `first` suggested.
  void ExpectSameAfterARestart(Searcher& first, Searcher& second) const {
    const SearchSpace space = Space();
    for (int64_t n = 0; n < kTrials; ++n) {
      const auto configuration = first.Suggest(TrialNumber{n});
      if (configuration && n < kTrials / 2) second.Restore(TrialNumber{n}, *configuration);
      if (n >= kTrials / 2) {
        EXPECT_EQ(Text(second.Suggest(TrialNumber{n})), Text(configuration)) << n;
      }
      if (!configuration) continue;
      ExpectOfSpace(*configuration, space);
      Tell(first, n, Text(configuration));
      Tell(second, n, Text(configuration));
    }
  }

  static std::string Text(const std::optional<Configuration>& configuration) {
    return configuration ? ToJson(configuration->ToFlat()) : "exhausted";
  }

  std::vector<std::string> Draw(Searcher& searcher) const {
    std::vector<std::string> all;
    for (int64_t n = 0; n < kTrials; ++n) all.push_back(Text(searcher.Suggest(TrialNumber{n})));
    return all;
  }

  // One for each objective, by the configuration.
  std::vector<Metric> ValuesAt(const std::string& text, int64_t iteration) const {
    std::vector<Metric> values;
    for (size_t i = 0; i < GetParam().modes.size(); ++i) {
      KeyedRandom random(StableHash(text), "result", static_cast<uint64_t>(iteration), i);
      values.push_back(DrawValue(random));
    }
    return values;
  }

  // What becomes of trial n: reports, some without a value, and an end, some failed.
  void Tell(Searcher& searcher, int64_t n, const std::string& text) const {
    for (int64_t iteration = 1; iteration <= n % 4; ++iteration) {
      searcher.OnReport(TrialNumber{n}, iteration, ValuesAt(text, iteration));
    }
    searcher.OnTrialEnded(TrialNumber{n}, ValuesAt(text, n % 4), n % 5 == 3);
  }

  // Its parameters are those that exist in it, in the space's order, each with a value of its
  // domain, and the constraints are kept.
  static void ExpectOfSpace(const Configuration& configuration, const SearchSpace& space) {
    std::vector<std::string> names, expected;
    for (const auto& [name, value] : configuration.parameters()) names.push_back(name);
    for (size_t i = 0; i < space.parameters().size(); ++i) {
      if (!space.IsActive(i, configuration)) continue;
      const auto& [name, content, place, conditions] = space.parameters()[i];
      expected.push_back(name);
      const Value* const value = configuration.Find(name);
      ASSERT_NE(value, nullptr) << name;
      const auto* const constant = std::get_if<Value>(&content);
      EXPECT_EQ(constant ? *constant : std::get<Domain>(content).OwnValue(*value), *value) << name;
    }
    EXPECT_EQ(names, expected);
    EXPECT_TRUE(space.Allows(configuration)) << Text(configuration);
  }
};

TEST_P(SearcherContract, TheSameSeedGivesTheSameConfigurations) {
  EXPECT_EQ(Draw(*Make(7)), Draw(*Make(7)));
}

// Whatever the results were.
TEST_P(SearcherContract, EverySuggestionIsOfTheSpace) {
  const SearchSpace space = Space();
  const auto searcher = Make(7);
  for (int64_t n = 0; n < kTrials; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    ASSERT_TRUE(n > 0 || configuration);
    if (!configuration) continue;
    ExpectOfSpace(*configuration, space);
    Tell(*searcher, n, Text(configuration));
  }
}

// As with many workers: several run at a time, and they end in another order.
TEST_P(SearcherContract, SuggestionsAheadOfResultsAreOfTheSpaceAndRepeatable) {
  const SearchSpace space = Space();
  const auto first = Make(7);
  const auto second = Make(7);
  constexpr int64_t kAtOnce = 6;
  for (int64_t begin = 0; begin < kTrials; begin += kAtOnce) {
    std::vector<std::pair<int64_t, std::string>> running;
    for (int64_t n = begin; n < begin + kAtOnce; ++n) {
      const auto configuration = first->Suggest(TrialNumber{n});
      EXPECT_EQ(Text(second->Suggest(TrialNumber{n})), Text(configuration));
      if (!configuration) continue;
      ExpectOfSpace(*configuration, space);
      running.emplace_back(n, Text(configuration));
    }
    for (auto it = running.rbegin(); it != running.rend(); ++it) {
      Tell(*first, it->first, it->second);
      Tell(*second, it->first, it->second);
    }
  }
}

// With another chance it reports on, and ends again.
TEST_P(SearcherContract, ATrialThatFailedMayGoOnAndEndAgain) {
  const SearchSpace space = Space();
  const auto searcher = Make(7);
  for (int64_t n = 0; n < kTrials; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    if (!configuration) continue;
    ExpectOfSpace(*configuration, space);
    const std::string text = Text(configuration);
    searcher->OnReport(TrialNumber{n}, 1, ValuesAt(text, 1));
    if (n % 3 == 0) {
      searcher->OnTrialEnded(TrialNumber{n}, ValuesAt(text, 1), true);
      searcher->OnReport(TrialNumber{n}, 2, ValuesAt(text, 2));
    }
    searcher->OnTrialEnded(TrialNumber{n}, ValuesAt(text, 2), n % 6 == 3);
  }
}

TEST_P(SearcherContract, WithAnEarlierSweepSuggestionsAreOfTheSpaceAndSurviveARestart) {
  const std::vector<EarlierTrial> history = EarlierTrials();
  ExpectSameAfterARestart(*Make(7, history), *Make(7, history));
}

TEST_P(SearcherContract, WithAPriorSuggestionsAreOfTheSpaceAndSurviveARestart) {
  const std::vector<EarlierTrial> prior = EarlierTrials();
  const auto first = TryMake(7, {}, prior);
  if (!first.ok()) {
    EXPECT_THAT(first.status().message(), ::testing::HasSubstr("prior"));
    GTEST_SKIP() << "takes no prior";
  }
  ExpectSameAfterARestart(**first, **TryMake(7, {}, prior));
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
