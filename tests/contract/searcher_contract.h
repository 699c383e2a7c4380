// What every searcher must do, whatever its algorithm. Each searcher's test instantiates the suite
// with its spec.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "core/json.h"
#include "search/searcher.h"

namespace tune {

struct SearcherCase {
  std::string name;
  std::string search;       // JSON.
  std::string space;        // JSON.
  bool is_ordered = false;  // A suggestion may depend on those before it.
};
inline void PrintTo(const SearcherCase& c, std::ostream* out) { *out << c.name; }

class SearcherContract : public testing::TestWithParam<SearcherCase> {
 protected:
  static constexpr int64_t kTrials = 24;

  std::unique_ptr<Searcher> Make(uint64_t seed) const {
    const Result<Value> search = ParseJson(GetParam().search);
    const Result<Value> tree = ParseJson(GetParam().space);
    const Result<SearchSpace> space = SearchSpace::Parse(*tree);
    EXPECT_TRUE(space.ok()) << space.status().message();
    Result<std::unique_ptr<Searcher>> made =
        MakeSearcher(*search, {.space = *space, .samples = kTrials, .seed = seed});
    EXPECT_TRUE(made.ok()) << made.status().message();
    return *std::move(made);
  }

  std::vector<std::string> Names() const {
    const Result<Value> tree = ParseJson(GetParam().space);
    const Result<SearchSpace> space = SearchSpace::Parse(*tree);
    std::vector<std::string> names;
    for (const SpaceParameter& parameter : space->parameters()) names.push_back(parameter.name);
    return names;
  }

  static std::string Text(const std::optional<Configuration>& configuration) {
    return configuration ? ToJson(configuration->ToFlat()) : "exhausted";
  }

  std::vector<std::string> Draw(Searcher& searcher) const {
    std::vector<std::string> all;
    for (int64_t n = 0; n < kTrials; ++n) all.push_back(Text(searcher.Suggest(TrialNumber{n})));
    return all;
  }
};

TEST_P(SearcherContract, TheSameSeedGivesTheSameConfigurations) {
  EXPECT_EQ(Draw(*Make(7)), Draw(*Make(7)));
}

TEST_P(SearcherContract, EveryParameterOfTheSpaceIsThereInItsOrder) {
  const auto configuration = Make(7)->Suggest(TrialNumber{0});
  ASSERT_TRUE(configuration);
  std::vector<std::string> names;
  for (const auto& [name, value] : configuration->parameters()) names.push_back(name);
  EXPECT_EQ(names, Names());
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
    const Metric value = n % 2 == 0 ? Metric(0.5) : std::nullopt;
    told->OnReport(TrialNumber{n}, 1, {&value, 1});
    told->OnTrialEnded(TrialNumber{n}, {&value, 1}, n % 3 == 0);
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
