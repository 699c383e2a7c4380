#include "core/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <string>

#include "core/json_places.h"
#include "core/limits.h"
#include "core/random.h"

namespace tune {
namespace {

using testing::HasSubstr;

std::string ErrorOf(std::string_view text) {
  const Result<Value> value = ParseJson(text);
  EXPECT_FALSE(value.ok()) << text;
  return value.status().message();
}

TEST(Json, KeepsEveryKindOfValue) {
  const char* const text =
      R"({"a":null,"b":[true,false],"c":-17,"d":1.0,"e":1e-06,"f":"x\"\\\n","g":{},"h":[]})";
  const Result<Value> value = ParseJson(text);
  ASSERT_TRUE(value.ok()) << value.status().message();
  EXPECT_TRUE(value->Find("c")->is_int());
  EXPECT_TRUE(value->Find("d")->is_double());
  EXPECT_EQ(ToJson(*value), text);
}

TEST(Json, AMapOfManyKeysIsReadInTheTimeThatItsLengthAsksFor) {
  // Looked for one by one, these would be compared 45,000,000,000 times.
  std::string text = "{";
  for (int i = 0; i < 300'000; ++i) text += "\"" + std::to_string(i) + "\":0,";
  const Result<Value> map = ParseJson(text + "\"last\":1}");
  ASSERT_TRUE(map.ok()) << map.status().message();
  EXPECT_EQ(map->AsMap().size(), 300'001u);
  EXPECT_THAT(ErrorOf(text + "\"5\":1}"), HasSubstr("duplicate key '5'"));
  EXPECT_THAT(ErrorOf(R"({"a":1,"b":2,"a":3})"), HasSubstr("duplicate key 'a'"));
}

TEST(Json, ValuesAndKeysKnowTheirPlacesWhereTheyAreAskedFor) {
  const Value value =
      *ParseJsonWithPlaces("{\"a\": [1,\n  {\"b\":\"\\ud83d\\ude00\"}],\n\n \"c\":2}");
  EXPECT_EQ(value.AsMap()[1].key_place.line, 4);
  EXPECT_EQ(value.AsMap()[1].key_place.column, 2);
  EXPECT_EQ(value.Find("c")->place.column, 6);
  const Value& map = value.Find("a")->AsList()[1];
  EXPECT_EQ(map.place.line, 2);
  EXPECT_EQ(map.place.column, 3);
  EXPECT_EQ(map.Find("b")->place.column, 8);
  EXPECT_EQ(ParseJson("[1]")->AsList()[0].place.line, 0);
}

TEST(Json, AnIntegerAndANumberWithoutAFractionStayApart) {
  EXPECT_EQ(ToJson(Value(1)), "1");
  EXPECT_EQ(ToJson(Value(1.0)), "1.0");
  EXPECT_NE(*ParseJson("1"), *ParseJson("1.0"));
  EXPECT_EQ(ToJson(Value(1e300)), "1e+300");
}

TEST(Json, EveryDoubleComesBackWithTheSameBits) {
  KeyedRandom random(5, "json");
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random.NextU64();
    double number;
    std::memcpy(&number, &bits, sizeof number);
    if (!std::isfinite(number)) continue;
    const Result<Value> back = ParseJson(ToJson(Value(number)));
    ASSERT_TRUE(back.ok()) << ToJson(Value(number));
    const double read = back->AsDouble();
    ASSERT_EQ(std::memcmp(&read, &number, sizeof number), 0) << ToJson(Value(number));
  }
  for (const double number : {5e-324, -0.0, std::numeric_limits<double>::max()}) {
    EXPECT_EQ(ParseJson(ToJson(Value(number)))->AsDouble(), number);
  }
  EXPECT_TRUE(std::signbit(ParseJson(ToJson(Value(-0.0)))->AsDouble()));
}

TEST(Json, IntegersReachTheEndsOf64Bits) {
  EXPECT_EQ(ParseJson("9223372036854775807")->AsInt(), INT64_MAX);
  EXPECT_EQ(ParseJson("-9223372036854775808")->AsInt(), INT64_MIN);
  EXPECT_EQ(ToJson(Value(INT64_MIN)), "-9223372036854775808");
  EXPECT_THAT(ErrorOf("9223372036854775808"), HasSubstr("beyond 64 bits"));
}

TEST(Json, WhatJsonCannotSayIsAStringThatReadNumberKnows) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  EXPECT_EQ(ToJson(Value(kInf)), "\"Infinity\"");
  EXPECT_EQ(ReadNumber(*ParseJson(ToJson(Value(-kInf)))), -kInf);
  EXPECT_TRUE(std::isnan(*ReadNumber(*ParseJson(ToJson(Value(std::nan("")))))));
  EXPECT_EQ(ReadNumber(Value("nan")), std::nullopt);
  EXPECT_EQ(ReadNumber(Value(3)), 3.0);
  EXPECT_EQ(ReadNumber(Value(true)), std::nullopt);
}

TEST(Json, NumbersThatPythonTakesAreReadAsDoublesWhereItsWordsAre) {
  const auto read = ParseJson("[100000000000000000000, -9223372036854775809, 1e-400, -1e-400]",
                              JsonDialect::kWithNaN);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->AsList()[0], Value(1e20));
  EXPECT_EQ(read->AsList()[1], Value(-0x1p63));
  EXPECT_EQ(read->AsList()[2].AsDouble(), 0);
  EXPECT_EQ(read->AsList()[3].AsDouble(), 0);
  EXPECT_FALSE(ParseJson("1e400", JsonDialect::kWithNaN).ok());
  EXPECT_FALSE(ParseJson("1e-400").ok());
}

TEST(Json, TheWordsOfPythonAreReadWhereTheyAreAskedFor) {
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const auto read = ParseJson("[NaN, Infinity, -Infinity, -1]", JsonDialect::kWithNaN);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(std::isnan(read->AsList()[0].AsDouble()));
  EXPECT_EQ(read->AsList()[1], Value(kInf));
  EXPECT_EQ(read->AsList()[2], Value(-kInf));
  EXPECT_FALSE(ParseJson("[NaN]").ok());
}

TEST(Json, UnicodeEscapesBecomeUtf8) {
  EXPECT_EQ(ParseJson(R"("\u0041\u00e9\u20ac\ud83d\ude00")")->AsString(), "Aé€😀");
  EXPECT_EQ(ParseJson("\"é😀\"")->AsString(), "é😀");
  EXPECT_EQ(ToJson(Value(std::string("\x01\0", 2))), "\"\\u0001\\u0000\"");
  EXPECT_EQ(ParseJson("\"\\u0000\"")->AsString(), std::string(1, '\0'));
}

TEST(Json, ErrorsHaveLineAndColumn) {
  EXPECT_EQ(ErrorOf("{\n  \"a\": 1,\n  \"a\": 2}"), "3:6: duplicate key 'a'");
  EXPECT_THAT(ErrorOf("[1,]"), HasSubstr("1:4: "));
  EXPECT_EQ(ErrorOf(""), "1:1: expected a value, read the end of the text");
  EXPECT_THAT(ErrorOf("{\"a\" 1}"), HasSubstr("expected ':' after the key 'a'"));
}

TEST(Json, ForYamlHasAPointInEachNumberWithAnExponent) {
  const auto for_yaml = [](std::string_view json) { return ToJsonForYaml(*ParseJson(json)); };
  EXPECT_EQ(for_yaml(R"({"a":3e-07,"b":[1e-07,1.57e-07,-2e+30,3,0.5],"e":true,"1e-07":"3e-07"})"),
            R"({"a":3.0e-07,"b":[1.0e-07,1.57e-07,-2.0e+30,3,0.5],"e":true,"1e-07":"3e-07"})");
  EXPECT_EQ(for_yaml(R"({"a":"\"3e-07, [1e-07","b":1e-07})"),
            R"({"a":"\"3e-07, [1e-07","b":1.0e-07})");
  EXPECT_EQ(for_yaml("1e-07"), "1.0e-07");
}

TEST(Json, RefusesWhatIsNotJson) {
  for (const char* text :
       {"01",          "1.",          ".5",    "+1",   "1e",  "-",       "nul",     "True",
        "'a'",         "{a:1}",       "[1 2]", "[1,]", "{,}", "\"\t\"",  "\"\\x\"", "\"\\u12\"",
        "\"\\ud83d\"", "\"\\ude00\"", "\"a",   "1 2",  "[",   "{\"a\":", "NaN",     "1e999"}) {
    EXPECT_FALSE(ParseJson(text).ok()) << text;
  }
}

TEST(Json, NestingIsLimited) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(ParseJson(nested(limits::kJsonDepthMax)).ok());
  EXPECT_THAT(ErrorOf(nested(limits::kJsonDepthMax + 2)), HasSubstr("nested too deeply"));
  EXPECT_FALSE(ParseJson(std::string(1'000'000, '[')).ok());
}

TEST(Json, AnyTextIsReadOrRefusedAndWhatIsReadComesBack) {
  const std::string good =
      R"({"a":[1,-2.5e-3,"x\u00e9\n"],"b":{"c":null,"d":[true,{}]},"e":"\ud83d\ude00"})";
  KeyedRandom random(9, "json mutations");
  int read = 0;
  for (int i = 0; i < 20000; ++i) {
    std::string text = good;
    for (uint64_t j = 0; j <= random.NextBelow(3); ++j) {
      const size_t at = random.NextBelow(text.size());
      switch (random.NextBelow(3)) {
        case 0:
          text.erase(at, 1 + random.NextBelow(3));
          break;
        case 1:
          text.insert(at, 1, "{}[],:\"\\u0e-."[random.NextBelow(13)]);
          break;
        default:
          text[at] = static_cast<char>(random.NextBelow(256));
      }
    }
    const Result<Value> value = ParseJson(text);
    if (!value.ok()) continue;
    ++read;
    const Result<Value> back = ParseJson(ToJson(*value));
    ASSERT_TRUE(back.ok()) << ToJson(*value);
    EXPECT_EQ(*back, *value);
  }
  EXPECT_GT(read, 500);
}

}  // namespace
}  // namespace tune
