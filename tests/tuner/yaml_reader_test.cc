#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/json.h"
#include "core/limits.h"
#include "core/random.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using testing::HasSubstr;
using testing::StartsWith;

Value Read(std::string_view text) {
  const Result<Value> value = ParseYaml(text);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return value.ok() ? *value : Value();
}

std::string ErrorOf(std::string_view text) {
  const Result<Value> value = ParseYaml(text);
  EXPECT_FALSE(value.ok()) << text;
  return value.status().message();
}

TEST(ParseYaml, PlainScalarsHaveTheKindsOfTheCoreSchema) {
  const std::pair<const char*, Value> cases[] = {
      {"1", Value(1)},
      {"-17", Value(-17)},
      {"+3", Value(3)},
      {"010", Value(10)},
      {"0o17", Value(15)},
      {"0xfF", Value(255)},
      {"1e-6", Value(1e-6)},
      {"1E3", Value(1000.0)},
      {"1.", Value(1.0)},
      {".5", Value(0.5)},
      {"-.5e1", Value(-5.0)},
      {"+1.5", Value(1.5)},
      {"true", Value(true)},
      {"True", Value(true)},
      {"FALSE", Value(false)},
      {"yes", Value("yes")},
      {"no", Value("no")},
      {"on", Value("on")},
      {"~", Value()},
      {"null", Value()},
      {"NULL", Value()},
      {"nuLL", Value("nuLL")},
      {"1_000", Value("1_000")},
      {"0b1", Value("0b1")},
      {"1e", Value("1e")},
      {".", Value(".")},
      {"-", Value("-")},
      {"0x", Value("0x")},
      {"-0x1", Value("-0x1")},
      {"1:30", Value("1:30")},
      {"2026-11-21", Value("2026-11-21")},
      {"tRue", Value("tRue")},
      {"10m", Value("10m")},
      {"e5", Value("e5")},
  };
  for (const auto& [text, expected] : cases) {
    EXPECT_EQ(*Read("v: [" + std::string(text) + "]").Find("v"), Value(Value::List{expected}))
        << text;
  }
}

TEST(ParseYaml, KnowsTheNumbersThatAreNotFinite) {
  const Value value = Read("[.inf, -.Inf, .nan]");
  EXPECT_EQ(value.AsList()[0].AsDouble(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(value.AsList()[1].AsDouble(), -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(value.AsList()[2].AsDouble()));
}

TEST(ParseYaml, WhatIsQuotedIsAString) {
  EXPECT_EQ(ToJson(Read("a: '1'\nb: \"true\"\nc: ''\nd: |\n  1\n")),
            R"({"a":"1","b":"true","c":"","d":"1\n"})");
}

TEST(ParseYaml, TagsOfTheCoreSchemaAreObeyed) {
  EXPECT_EQ(ToJson(Read("[!!str 1, !!float 1, !!int 0x10]")), R"(["1",1.0,16])");
  EXPECT_THAT(ErrorOf("a: !!int x"), HasSubstr("1:4: read 'x', expected the !!int"));
  EXPECT_THAT(ErrorOf("a: !thing x"), HasSubstr("is not known here"));
  EXPECT_THAT(ErrorOf("a: !!python/tuple [1, 2]"), HasSubstr("is not known here"));
  EXPECT_THAT(ErrorOf("a: !!python/object:x.Y {b: 1}"), HasSubstr("is not known here"));
  EXPECT_TRUE(ParseYaml("a: !!seq [1, 2]\nb: !!map {c: 1}\nd: ! [1]").ok());
}

TEST(ParseYaml, EachValueAndKeyHasItsPlace) {
  const Value value = Read("a: 1\nspace:\n  lr: {uniform: [0, 1]}\nempty:\nlast: x\n");
  const Value& space = *value.Find("space");
  EXPECT_EQ(value.AsMap()[1].key_place.line, 2);
  EXPECT_EQ(space.AsMap()[0].key_place.column, 3);
  const Value& list = *space.Find("lr")->Find("uniform");
  EXPECT_EQ(list.AsList()[1].place.line, 3);
  EXPECT_EQ(list.AsList()[1].place.column, 21);
  EXPECT_EQ(value.Find("empty")->place.line, 4);
}

TEST(ParseYaml, AnyJsonIsYaml) {
  const char* const json =
      "{\n\t\"a\": [1, 2.5e-3, \"x\\/y\\u00e9\"],\n\t\"b\":{\"c\":null},\"d\":true\n}";
  EXPECT_EQ(Read(json), *ParseJson(json));
  EXPECT_EQ(Read(R"({"a": "\ud83d\ude00"})"), *ParseJson(R"({"a": "\ud83d\ude00"})"));
  EXPECT_EQ(Read("{\"a\": \"\\ud83d\\ude00\",\n \"b\": 1}").Find("b")->place.line, 2);
}

TEST(ParseYaml, AnEmptyTextIsNull) {
  EXPECT_TRUE(Read("").is_null());
  EXPECT_TRUE(Read("# only a comment\n").is_null());
}

TEST(ParseYaml, AliasesAreWrittenOut) {
  EXPECT_EQ(ToJson(Read("a: &x {b: [1, 2]}\nc: *x\n")), R"({"a":{"b":[1,2]},"c":{"b":[1,2]}})");
}

TEST(ParseYaml, ABillionLaughsAreRefused) {
  std::string text = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string last = "*a" + std::to_string(i - 1);
    text += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int j = 0; j < 10; ++j) text += (j > 0 ? ", " : "") + last;
    text += "]\n";
  }
  EXPECT_THAT(ErrorOf(text), HasSubstr("more than 1000000 values"));
  EXPECT_THAT(ErrorOf("a: &x [1, *x]\n"), HasSubstr("1:11: an alias inside of what it stands for"));
}

TEST(ParseYaml, NestingIsLimitedAlsoThroughAliases) {
  const auto nested = [](int depth) {
    return std::string(static_cast<size_t>(depth), '[') +
           std::string(static_cast<size_t>(depth), ']');
  };
  EXPECT_TRUE(ParseYaml(nested(limits::kJsonDepthMax)).ok());
  EXPECT_THAT(ErrorOf(nested(limits::kJsonDepthMax + 1)),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_FALSE(ParseYaml(nested(100'000)).ok());
  EXPECT_THAT(ErrorOf("a: &x " + nested(40) + "\nb: &y [" + std::string(30, '[') + "*x" +
                      std::string(30, ']') + "]\n"),
              HasSubstr("nested deeper"));
}

TEST(ParseYaml, DuplicateKeysAreRefusedInEveryForm) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\na: 3\n"), "3:1: the key 'a' is there twice; first in line 1");
  EXPECT_THAT(ErrorOf("{a: 1, \"a\": 2}"), StartsWith("1:8: the key 'a' is there twice"));
}

TEST(ParseYaml, SyntaxErrorsHaveAPlaceAndARemedy) {
  EXPECT_THAT(ErrorOf("a: 1\nb: c: d\n"), StartsWith("2:5: not valid YAML"));
  EXPECT_EQ(ErrorOf("a:\n\tb: 1\n"), "2:1: a tab in the indentation; YAML allows spaces only");
  EXPECT_EQ(ErrorOf("a: 'x\nb: 2\n"), "1:4: this quote is never closed");
  EXPECT_EQ(ErrorOf("b: 2\na: \"x\\\"\n"), "2:4: this quote is never closed");
  EXPECT_THAT(ErrorOf("a: [1, 2\n"), HasSubstr("not valid YAML"));
  EXPECT_THAT(ErrorOf("a: *nowhere"), HasSubstr("not valid YAML"));
}

TEST(ParseYaml, NothingBetweenTwoCommasIsNoValue) {
  EXPECT_EQ(ErrorOf("a: [32,,64]"), "1:8: read ',', expected a value; write null for none");
  EXPECT_EQ(ErrorOf("a: [, 1]"), "1:5: read ',', expected a value; write null for none");
  EXPECT_EQ(ErrorOf("a:\n  [1,\n  , 2]"), "3:3: read ',', expected a value; write null for none");
  // These are values.
  EXPECT_EQ(Read("[1, 2,]"), Read("[1, 2]"));
  EXPECT_EQ(Read("[~, &x , null, \",\"]"), Value(Value::List{Value(), Value(), Value(), ","}));
  EXPECT_EQ(Read("-\n- ','\n"), Value(Value::List{Value(), ","}));
  EXPECT_EQ(Read("[{a: , b}]"), Read("[{a: null, b: null}]"));
}

TEST(ParseYaml, RefusesWhatASpaceFileCannotMean) {
  EXPECT_THAT(ErrorOf("a: 1\n---\nb: 2\n"), StartsWith("2:1: a second document begins here"));
  EXPECT_THAT(ErrorOf("? [a]\n: 1\n"), HasSubstr("read a list as a key"));
  EXPECT_THAT(ErrorOf("a: &x 1\n*x : 2\n"), HasSubstr("an alias as a key"));
  EXPECT_THAT(ErrorOf("a: &x {b: 1}\nc:\n  <<: *x\n"), HasSubstr("'<<' is not part of YAML 1.2"));
  EXPECT_THAT(ErrorOf("a: 9223372036854775808"), HasSubstr("an integer beyond 64 bits"));
  EXPECT_THAT(ErrorOf("a: 1e999"), HasSubstr("beyond the range of a double"));
  EXPECT_EQ(Read("a: 9223372036854775807").Find("a")->AsInt(), INT64_MAX);
}

TEST(ParseYaml, RefusesWhatIsNoText) {
  EXPECT_THAT(ErrorOf(std::string("a: 1\n\x04", 6)), StartsWith("2:1: the control character 4"));
  EXPECT_THAT(ErrorOf(std::string("a: \0", 4)), HasSubstr("control character 0"));
  EXPECT_THAT(ErrorOf("a: \xff"), StartsWith("1:4: not UTF-8"));
  EXPECT_THAT(ErrorOf("a: \xed\xa0\x80"), HasSubstr("not UTF-8"));
  EXPECT_EQ(Read("\xEF\xBB\xBF"
                 "a: 'é'")
                .Find("a")
                ->AsString(),
            "é");
}

TEST(ParseYaml, RefusesATextBeyondTheLimit) {
  const std::string head = "a: 1\n#";
  EXPECT_TRUE(ParseYaml(head + std::string(limits::kSpecBytesMax - head.size(), 'x')).ok());
  EXPECT_THAT(ErrorOf(head + std::string(limits::kSpecBytesMax, 'x')), HasSubstr("bytes; at most"));
}

}  // namespace
}  // namespace tune
