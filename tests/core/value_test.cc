#include "core/value.h"

#include <gtest/gtest.h>

#include "core/configuration.h"
#include "core/input_error.h"
#include "core/json.h"
#include "core/status.h"

namespace tune {
namespace {

TEST(Value, ANumberKeepsItsKind) {
  EXPECT_TRUE(Value(1).is_int());
  EXPECT_TRUE(Value(1.0).is_double());
  EXPECT_NE(Value(1), Value(1.0));
  EXPECT_EQ(Value(1).AsDouble(), 1.0);
  EXPECT_NE(Value(1), Value(true));
  EXPECT_NE(Value(), Value(""));
}

TEST(Value, PlacesDoNotCountInComparisons) {
  Value a(1);
  a.place = Place{3, 4};
  EXPECT_EQ(a, Value(1));
}

TEST(Value, SetReplacesOrAppends) {
  Value map = Value::MakeMap();
  map.Set("b", 1);
  map.Set("a", 2);
  map.Set("b", "x");
  EXPECT_EQ(ToJson(map), R"({"b":"x","a":2})");
  EXPECT_EQ(map.Find("c"), nullptr);
}

TEST(Value, NamesItsKindForPeople) {
  EXPECT_STREQ(Value().KindName(), "null");
  EXPECT_STREQ(Value(true).KindName(), "a boolean");
  EXPECT_STREQ(Value(1).KindName(), "an integer");
  EXPECT_STREQ(Value(1.5).KindName(), "a number");
  EXPECT_STREQ(Value("x").KindName(), "a string");
  EXPECT_STREQ(Value::MakeList().KindName(), "a list");
  EXPECT_STREQ(Value::MakeMap().KindName(), "a map");
}

TEST(ValueDeathTest, AskingForAnotherKindIsABug) {
  EXPECT_DEATH(Value("x").AsInt(), "check failed");
  EXPECT_DEATH(Value(1.5).AsInt(), "check failed");
  EXPECT_DEATH(Value(1).AsMap(), "check failed");
}

TEST(Configuration, NestsItsNamesAtSlashes) {
  Configuration configuration;
  configuration.Set("optimizer/lr", 0.5);
  configuration.Set("depth", 3);
  configuration.Set("optimizer/adam/beta", 0.9);
  configuration.Set("depth", 4);
  EXPECT_EQ(ToJson(configuration.ToNested()),
            R"({"optimizer":{"lr":0.5,"adam":{"beta":0.9}},"depth":4})");
}

TEST(Configuration, ItsFlatFormComesBackEvenWithMapsAsValues) {
  Configuration configuration;
  configuration.Set("opt/kind", *ParseJson(R"({"name": "adam", "betas": [0.9, 0.99]})"));
  configuration.Set("n", 1);
  configuration.Set("x", 1.0);
  const auto back = Configuration::FromFlat(*ParseJson(ToJson(configuration.ToFlat())));
  ASSERT_TRUE(back.ok());
  EXPECT_EQ(*back, configuration);
}

TEST(Configuration, ASecondValueOfANameReplacesTheFirst) {
  const auto read = Configuration::FromFlat(*ParseJson(R"([["a", 1], ["b", 2], ["a", 3]])"));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(ToJson(read->ToFlat()), R"([["a",3],["b",2]])");
}

TEST(Configuration, ANameThatIsTheBeginningOfAnotherOneGivesWayInTheOrderOfNames) {
  const auto nested = [](const char* flat) {
    return ToJson(Configuration::FromFlat(*ParseJson(flat))->ToNested());
  };
  EXPECT_EQ(nested(R"([["a", 1], ["c", 2], ["a/b", 3]])"), R"({"a":{"b":3},"c":2})");
  EXPECT_EQ(nested(R"([["a/b", 3], ["c", 2], ["a", 1]])"), R"({"a":1,"c":2})");
  EXPECT_EQ(nested(R"([["a", {"b": 1, "d": 4}], ["a/b", 3]])"), R"({"a":{"b":3,"d":4}})")
      << "a choice's own map";
  EXPECT_EQ(nested(R"([["a//b", 1], ["/c", 2], ["a/", 3]])"), R"({"a":{"":3},"":{"c":2}})");
}

// Looking for each name among those before it would take minutes.
TEST(Configuration, ManyNamesCostNoMoreThanTheirNumber) {
  constexpr int kCount = 200'000;
  Value::List flat;
  for (int i = 0; i < kCount; ++i) {
    const std::string name = (i % 2 == 0 ? "" : "model/") + std::to_string(i);
    flat.push_back(Value(Value::List{name, i}));
  }
  const auto read = Configuration::FromFlat(Value(std::move(flat)));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(read->parameters().size(), size_t{kCount});
  const Value nested = read->ToNested();
  EXPECT_EQ(nested.AsMap().size(), size_t{kCount / 2 + 1});
  EXPECT_EQ(nested.Find("model")->AsMap().back().value, Value(kCount - 1));
}

TEST(Configuration, AFlatFormThatIsNoneIsDataLoss) {
  for (const char* text : {"{}", "[1]", "[[1, 2]]", "[[\"a\"]]"}) {
    EXPECT_EQ(Configuration::FromFlat(*ParseJson(text)).status().code(), StatusCode::kDataLoss)
        << text;
  }
}

TEST(InputError, SaysPlaceAndFile) {
  EXPECT_EQ(InvalidAt(Place{3, 12}, "no").message(), "3:12: no");
  EXPECT_EQ(InvalidAt(Place{}, "no").message(), "no");
  EXPECT_EQ(InvalidAt(OverridePlace(2), "no").message(), "--set 2: no");
  EXPECT_EQ(InFile("f.yaml", InvalidAt(Place{3, 12}, "no")).message(), "f.yaml:3:12: no");
  EXPECT_EQ(InFile("f.yaml", InvalidAt(Place{}, "no")).message(), "f.yaml: no");
  EXPECT_EQ(InFile("f.yaml", InvalidAt(Place{}, "17 is too many")).message(),
            "f.yaml: 17 is too many");
  EXPECT_EQ(InFile("f.yaml", InvalidAt(OverridePlace(2), "no")).message(), "--set 2: no");
  EXPECT_TRUE(InFile("f.yaml", OkStatus()).ok());
}

TEST(InputError, ShowsWhatWasRead) {
  EXPECT_EQ(Shown(Value("abc")), "'abc'");
  EXPECT_EQ(Shown(Value(0.5)), "0.5");
  EXPECT_EQ(Shown(Value(true)), "true");
  EXPECT_EQ(Shown(Value::MakeList()), "a list");
  EXPECT_EQ(Shown(Value(1e308 * 10)), "Infinity");
  EXPECT_LT(Shown(Value(std::string(1000, 'x'))).size(), 80u);
}

TEST(Status, AtPutsThePlaceBeforeTheMessage) {
  EXPECT_EQ(InvalidArgument("no").At("data").message(), "data: no");
  EXPECT_TRUE(OkStatus().At("data").ok());
  EXPECT_EQ(NotFound("x").At("y").code(), StatusCode::kNotFound);
}

TEST(StatusDeathTest, TheValueOfAFailureIsABug) {
  const Result<int> failed = NotFound("x");
  EXPECT_DEATH((void)*failed, "check failed");
}

}  // namespace
}  // namespace tune
