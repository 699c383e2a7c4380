#include "search/sobol_searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/json.h"
#include "search/sobol_sequence.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Coordinates times 16.
std::vector<uint32_t> Sixteenths(size_t dimension, uint32_t index_from, uint32_t count) {
  const SobolSequence sequence(dimension + 1);
  std::vector<uint32_t> all;
  for (uint32_t i = 0; i < count; ++i) all.push_back(sequence.At(dimension, index_from + i) >> 28);
  return all;
}

TEST(SobolSequence, BeginsAsPublished) {
  // Joe and Kuo's sobol.cc prints these points in the order of Gray codes; here they are binary.
  EXPECT_THAT(Sixteenths(0, 0, 8), ElementsAre(0, 8, 4, 12, 2, 10, 6, 14));
  EXPECT_THAT(Sixteenths(1, 0, 8), ElementsAre(0, 8, 12, 4, 10, 2, 6, 14));
  EXPECT_THAT(Sixteenths(2, 0, 8), ElementsAre(0, 8, 12, 4, 6, 14, 10, 2));
  EXPECT_THAT(Sixteenths(3, 0, 8), ElementsAre(0, 8, 12, 4, 2, 10, 14, 6));
}

TEST(SobolSequence, EachBlockOf2ToTheKHasOnePointInEachStratumOfEachDimension) {
  const SobolSequence sequence(SobolSequence::kDimensionsMax);
  for (size_t d = 0; d < sequence.dimensions(); ++d) {
    for (const uint32_t bits : {1u, 3u, 7u, 10u}) {
      const uint32_t count = 1u << bits;
      for (const uint32_t from : {0u, 5 * count}) {
        std::set<uint32_t> strata;
        for (uint32_t i = 0; i < count; ++i) {
          strata.insert(sequence.At(d, from + i) >> (32 - bits));
        }
        EXPECT_EQ(strata.size(), count) << "dimension " << d << " from " << from;
      }
    }
  }
}

TEST(SobolSequence, ScramblingKeepsTheStrataAndMovesThePoints) {
  const SobolSequence sequence(40);
  for (const size_t d : {0u, 1u, 17u, 39u}) {
    std::set<int> strata;
    std::set<double> points;
    for (uint32_t i = 0; i < 256; ++i) {
      const double x = sequence.ScrambledAt(d, i, 7);
      ASSERT_TRUE(x >= 0 && x < 1);
      strata.insert(static_cast<int>(x * 256));
      points.insert(x);
      EXPECT_NE(x, sequence.ScrambledAt(d, i, 8));
    }
    EXPECT_EQ(strata.size(), 256u);
    EXPECT_EQ(points.size(), 256u);
  }
}

TEST(SobolSequence, ScramblingKeepsTheEvennessOfPairsOfDimensions) {
  // The first two dimensions are a (0, 2)-sequence: 256 points put one into each rectangle of
  // 2^-a by 2^-(8-a).
  const SobolSequence sequence(2);
  for (int a = 0; a <= 8; ++a) {
    std::set<std::pair<int, int>> rectangles;
    for (uint32_t i = 0; i < 256; ++i) {
      rectangles.emplace(static_cast<int>(sequence.ScrambledAt(0, i, 3) * (1 << a)),
                         static_cast<int>(sequence.ScrambledAt(1, i, 3) * (1 << (8 - a))));
    }
    EXPECT_EQ(rectangles.size(), 256u) << a;
  }
}

TEST(SobolSequence, APointIsUniformOverTheSeeds) {
  const SobolSequence sequence(3);
  std::vector<int> counts(8);
  for (uint64_t seed = 0; seed < 8000; ++seed) {
    ++counts[static_cast<size_t>(sequence.ScrambledAt(2, 5, seed) * 8)];
  }
  // 1000 each; the deviation of a count is 30.
  for (const int count : counts) EXPECT_NEAR(count, 1000, 150);
}

SearchSpace Space(std::string_view json) { return *SearchSpace::Parse(*ParseJson(json)); }

std::unique_ptr<Searcher> Make(std::string_view search, std::string_view space) {
  return *MakeSearcher(*ParseJson(search), {.space = Space(space), .seed = 1});
}

TEST(SobolSearcher, TheFirst2ToTheKTrialsHaveEachValueEquallyOften) {
  const auto searcher = Make(R"({"algorithm": "sobol"})",
                             R"({"a": {"randint": [0, 8]}, "b": {"choice": ["x", "y"]}})");
  std::map<std::string, int> counts;
  for (int64_t n = 0; n < 64; ++n) {
    ++counts[ToJson(searcher->Suggest(TrialNumber{n})->ToNested())];
  }
  EXPECT_EQ(counts.size(), 16u);
  for (const auto& [configuration, count] : counts) EXPECT_EQ(count, 4) << configuration;
}

TEST(SobolSearcher, UnscrambledItBeginsInTheLowestCorner) {
  const auto searcher = Make(R"({"algorithm": "sobol", "scramble": false})",
                             R"({"a": {"uniform": [2, 4]}, "b": {"uniform": [0, 8]}})");
  EXPECT_EQ(ToJson(searcher->Suggest(TrialNumber{0})->ToNested()), R"({"a":2.0,"b":0.0})");
  EXPECT_EQ(ToJson(searcher->Suggest(TrialNumber{2})->ToNested()), R"({"a":2.5,"b":6.0})");
}

TEST(SobolSearcher, GoesOnBeyondTheTableOfDimensions) {
  std::string space = "{";
  for (int i = 0; i < 140; ++i) {
    space += (i == 0 ? "" : ",") + ("\"p" + std::to_string(i) + "\"") + R"(:{"uniform":[0,1]})";
  }
  const auto searcher = Make(R"({"algorithm": "sobol"})", space + "}");
  std::set<double> values;
  for (int64_t n = 0; n < 8; ++n) {
    const auto configuration = searcher->Suggest(TrialNumber{n});
    for (const auto& [name, value] : configuration->parameters()) {
      values.insert(value.AsDouble());
    }
  }
  EXPECT_EQ(values.size(), 8u * 140u);
}

TEST(SobolSearcher, RefusesWhatItDoesNotKnow) {
  const auto error = [](std::string_view search, std::string_view space) {
    return MakeSearcher(*ParseJson(search), {.space = Space(space)}).status().message();
  };
  EXPECT_THAT(error(R"({"algorithm": "sobol", "scrambel": true})", "{}"),
              HasSubstr("did you mean 'scramble'?"));
  EXPECT_THAT(error(R"({"algorithm": "sobol", "scramble": 1})", "{}"),
              HasSubstr("scramble: read 1, expected true or false"));
  EXPECT_THAT(error(R"({"algorithm": "sobol"})", R"({"g": {"grid_search": [1, 2]}})"),
              HasSubstr("'g' is grid_search, which sobol does not repeat"));
}

}  // namespace
}  // namespace tune
