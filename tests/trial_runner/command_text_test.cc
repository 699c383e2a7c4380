// Texts of a command: what is a place for a parameter, what is a brace, and what a shell makes of
// it.
#include "trial_runner/command_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>
#include <vector>

#include "core/json.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

Value Tree(const std::string& json) { return *ParseJson(json); }

std::string Filled(const std::string& text, const std::string& json) {
  const Result<std::string> filled = CommandText::Parse(text).Fill(Tree(json));
  return filled.ok() ? *filled : "error: " + filled.status().message();
}

TEST(CommandText, PutsTheValuesWhereTheirNamesStand) {
  EXPECT_EQ(Filled("--lr={lr}", R"({"lr":0.5})"), "--lr=0.5");
  EXPECT_EQ(Filled("{a}{b}", R"({"a":1,"b":"two"})"), "1two");
  EXPECT_EQ(Filled("plain", "{}"), "plain");
  EXPECT_EQ(Filled("", "{}"), "");
}

TEST(CommandText, ReachesIntoGroupsWithADotOrASlash) {
  const std::string config = R"({"optimizer":{"lr":0.1,"name":"adam"}})";
  EXPECT_EQ(Filled("{optimizer.lr} {optimizer/name}", config), "0.1 adam");
  EXPECT_EQ(Filled("{optimizer}", config), R"({"lr":0.1,"name":"adam"})");
}

TEST(CommandText, WritesStringsAsTheyAreAndAllElseAsJson) {
  EXPECT_EQ(Filled("{x}", R"({"x":"a b"})"), "a b");
  EXPECT_EQ(Filled("{x}", R"({"x":true})"), "true");
  EXPECT_EQ(Filled("{x}", R"({"x":null})"), "null");
  EXPECT_EQ(Filled("{x}", R"({"x":[1,2.5]})"), "[1,2.5]");
  EXPECT_EQ(Filled("{x}", R"({"x":3})"), "3");
}

TEST(CommandText, LeavesBracesAloneThatHoldNoName) {
  const std::string config = R"({"x":1})";
  EXPECT_EQ(Filled("awk '{print $1}' {x}", config), "awk '{print $1}' 1");
  EXPECT_EQ(Filled("{}", config), "{}");
  EXPECT_EQ(Filled("{1}", config), "{1}");
  EXPECT_EQ(Filled("{x", config), "{x");
  EXPECT_EQ(Filled("x}", config), "x}");
  EXPECT_EQ(Filled("{ x }", config), "{ x }");
}

TEST(CommandText, ReadsADoubledBraceAsOne) {
  EXPECT_EQ(Filled("{{x}}", R"({"x":1})"), "{x}");
  EXPECT_EQ(Filled("{{{x}}}", R"({"x":1})"), "{1}");
  EXPECT_THAT(CommandText::Parse("{{x}} {{{{").ParameterNames(), IsEmpty());
}

TEST(CommandText, NamesItsParametersFlatAndInOrder) {
  EXPECT_THAT(CommandText::Parse("{b.c} {a} {tune.dir} {a}").ParameterNames(),
              ElementsAre("b/c", "a", "tune/dir", "a"));
}

TEST(CommandText, SaysWhichParameterHasNoValue) {
  const Result<std::string> filled = CommandText::Parse("{a} {momentum}").Fill(Tree(R"({"a":1})"));
  ASSERT_FALSE(filled.ok());
  EXPECT_EQ(filled.status().code(), StatusCode::kNotFound);
  EXPECT_THAT(filled.status().message(), HasSubstr("{momentum}"));
  // A number is no group to reach into.
  EXPECT_THAT(Filled("{a.b}", R"({"a":1})"), HasSubstr("error: "));
}

// What /bin/sh prints of `printf %s <text>`.
std::string ShellWord(const std::string& word) {
  FILE* const pipe = popen(("printf '[%s]' " + word).c_str(), "r");
  std::string out;
  for (int c; (c = fgetc(pipe)) != EOF;) out += static_cast<char>(c);
  pclose(pipe);
  return out;
}

TEST(CommandText, AQuotedValueIsOneWordForAShellWhateverItHolds) {
  for (const std::string value :
       {"plain", "two words", "it's", "''", "$HOME `id` $(id)", "a\nb", "*", "~", "; exit 3", "\\",
        "-n", "#no comment", "a\"b", "!x", "", "\xff\xfe"}) {
    EXPECT_EQ(ShellWord(ShellQuoted(value)), "[" + value + "]") << value;
  }
}

TEST(CommandText, PutsNoQuotesAroundANumberSoThatItMayStandWithinQuotes) {
  const Result<std::string> line =
      CommandText::Parse("echo \"{lr}\" {name}").FillQuoted(Tree(R"({"lr":1e-05,"name":"a b"})"));
  ASSERT_TRUE(line.ok());
  EXPECT_EQ(*line, "echo \"1e-05\" 'a b'");
}

TEST(FindNested, FollowsAFlatNameThroughGroups) {
  const Value tree = Tree(R"({"a":{"b":{"c":1}},"d":2})");
  ASSERT_NE(FindNested(tree, "a/b/c"), nullptr);
  EXPECT_EQ(*FindNested(tree, "a/b/c"), Value(1));
  EXPECT_EQ(*FindNested(tree, "d"), Value(2));
  EXPECT_EQ(FindNested(tree, "a/c"), nullptr);
  EXPECT_EQ(FindNested(tree, "d/e"), nullptr);
  EXPECT_EQ(FindNested(tree, "a/b/c/d"), nullptr);
  EXPECT_EQ(FindNested(tree, ""), nullptr);
  EXPECT_EQ(FindNested(Value(3), "a"), nullptr);
}

}  // namespace
}  // namespace tune
