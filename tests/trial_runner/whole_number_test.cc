// Which texts are numbers, and which numbers are parts of longer ones.
#include "trial_runner/whole_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace tune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

TEST(ReadWholeNumber, ReadsEachForm) {
  const std::pair<const char*, double> forms[] = {{"3", 3},
                                                  {"+3", 3},
                                                  {"-3.5", -3.5},
                                                  {"\xe2\x88\x92"
                                                   "3.5",
                                                   -3.5},
                                                  {".5", 0.5},
                                                  {"5.", 5},
                                                  {"1.98e-05", 1.98e-05},
                                                  {"1.5e\xe2\x88\x92"
                                                   "6",
                                                   1.5e-6},
                                                  {"7.032E-01", 0.7032},
                                                  {"1e3", 1000},
                                                  {"1.e+05", 1e5},
                                                  {"1,234,567", 1234567},
                                                  {"1,234.5", 1234.5},
                                                  {"12,345e2", 1234500},
                                                  {"1_000", 1000},
                                                  {"1_000.25", 1000.25},
                                                  {"inf", kInfinity},
                                                  {"-Infinity", -kInfinity},
                                                  {"1e999", kInfinity},
                                                  {"-1e999", -kInfinity},
                                                  {"1e-999", 0}};
  for (const auto& [text, number] : forms) EXPECT_EQ(ReadWholeNumber(text), number) << text;
  EXPECT_TRUE(std::isnan(*ReadWholeNumber("nan")));
  EXPECT_TRUE(std::isnan(*ReadWholeNumber("NaN")));
}

TEST(ReadWholeNumber, RefusesWhatIsNoNumber) {
  for (const char* const text : {"",
                                 "-",
                                 ".",
                                 "e5",
                                 "1.2.3",
                                 "0,93",
                                 "1,23",
                                 "1,2345",
                                 "1234,567",
                                 ",123",
                                 "1__0",
                                 "_1",
                                 "1_",
                                 "0x10",
                                 "++1",
                                 "+-1",
                                 "1e",
                                 "1e-",
                                 "12s",
                                 "50%",
                                 "2024-01-02",
                                 "nanometre",
                                 "1e\xe2\x80\x93"
                                 "6",
                                 "1\xe2\x88\x92"
                                 "6"}) {
    EXPECT_EQ(ReadWholeNumber(text), std::nullopt) << text;
  }
}

// The number is marked by < and >.
bool IsPart(std::string marked, SpelledBeside spelled = {}) {
  const size_t begin = marked.find('<');
  marked.erase(begin, 1);
  const size_t end = marked.find('>');
  marked.erase(end, 1);
  return IsPartOfNumber(marked, begin, end, spelled);
}

TEST(IsPartOfNumber, FindsWhatGoesOnBehindIt) {
  for (const char* const line : {"lr <1.98>e-05",
                                 "lr <7>.032e-01",
                                 "<1>2",
                                 "<1.5>e3",
                                 "<1>.e-05",
                                 "<1>,234",
                                 "<0>,93",
                                 "<1>,234.5",
                                 "<12>_000",
                                 "<0>x1f",
                                 "<1.2>.3",
                                 "<1.5>D-03",
                                 "<1.5>d03",
                                 "<1>D+2",
                                 "<12>'345",
                                 "<12>\xe2\x80\x99"
                                 "345",
                                 "<12>\xc2\xa0"
                                 "345",
                                 "<1.5>x10^3",
                                 "<1.5> x 10^-3",
                                 "<1.5>\xc3\x97"
                                 "10^3",
                                 "<1.5>\xc2\xb7"
                                 "10\xc2\xb3",
                                 "<1.5>*10**3",
                                 "<1.5> \\times 10^{-3}",
                                 "<10>^3",
                                 "<1.234>,5",
                                 "-<1.234>,56",
                                 "<3>f2a",
                                 "<0.5>abc1",
                                 "<12>abc3d",
                                 "<1>__0",
                                 "<1.50000>-101",
                                 "<1.5>+100",
                                 "<1.>#QNAN",
                                 "-<1.>#IND",
                                 "<1>.#INF",
                                 "<1.5> E+03",
                                 "<1.5> e-3",
                                 "<1.5>\xe2\x8b\x85"
                                 "10\xe2\x81\xbb\xc2\xb3"}) {
    EXPECT_TRUE(IsPart(line)) << line;
  }
}

// Written with a minus, dashes, points and digits that are not ASCII's.
TEST(IsPartOfNumber, FindsOtherScripts) {
  for (const std::string line :
       {"<1>e\u22126",      "<1.5>e\u20136", "<1>E\uff0d6", "<0>\uff0e93", "<0>\u066b93",
        "<12>\u066c345",    "<0>\u00b793",   "<5>\u00b2",   "<1>\u00bd",   "<2>\u2075",
        "<9>\uff13",        "<9>\u0663",     "<3>\u2153",   "1e\u2212<6>", "1.5e\u2013<6>",
        "loss \u2013<3.5>", "\uff0d<1>",     "0\uff0e<93>", "0\u066b<93>", "0\u00b7<93>",
        "\uff19<3>"}) {
    EXPECT_TRUE(IsPart(line)) << line;
  }
  for (const std::string line :
       {"10\u2013<20>", "<10>\u201320", "acc\u2013<0.5>", "acc \u2014 <0.5>", "R\u00b2 <0.9>",
        "x\u2083=<0.5>", "<0.93>\u3001", "<3>\u79d2", "<21>\u00b0C", "\u7b2c<3>\u8f6e",
        "<0.93> \u00b1 0.01", "<0.93>\u00b10.01", "\u00b7 <3>", "<3> \u00b7 5"}) {
    EXPECT_FALSE(IsPart(line)) << line;
  }
}

TEST(IsPartOfNumber, FindsWhatStandsBeforeIt) {
  for (const char* const line :
       {"loss -<3.5>", "-<3.5>",    "loss=-<3.5>", "(-<1>)",    "\xe2\x88\x92<3.5>", "0.9<8>",
        "0.<98>",      "=.<5>",     "1e-<05>",     "1.5D-<03>", "1.5D<-03>",         "12'<345>",
        "1.5x10^<3>",  "1.234,<5>", "1.5e<3>",     "1.e+<05>",  "1e<-05>",           "1,<234>",
        "0,<93>",      "1_<000>",   "x -<inf>"}) {
    EXPECT_TRUE(IsPart(line)) << line;
  }
}

TEST(IsPartOfNumber, KnowsWhatStandsBesideANumber) {
  for (const char* const line :
       {"acc: <0.93>.", "<0.93>, <0.5>", "<93.4>%",      "<8>s",          "<3>ms/step",
        "epoch-<3>",    "10-<20>",       "fold_<3>",     "resnet<50>",    "v<2>",
        "a.<5>",        "...<5>",        "[<3>/10]",     "<1>:20",        "--<5>",
        "<5>e",         "<2>epochs",     "[<0.5>,0.25]", "<12>ms",        "<93>%",
        "<0.5>s",       "<3>/10",        "<1.2>GB",      "<5>it/s",       "<0.5>x",
        "<1>h30m",      "<3>x10",        "<2>d12h",      "<12>m2",        "<0.93>_best",
        "<0.93>.ckpt",  "'<0.5>'",       "<12>'34",      "'<12>', '345'", "<0.5> x 10",
        "<0.123>,5",    "<1.234>,0.5",   "<1.2345>,5",   "<12.5>,5",      "R^<2>",
        "<0.5> e",      "<3> #1",        "<10>-101",     "<1.5>-10",      "<3>x faster",
        "0.5,<0.25>",   "3,<0.5>",       "0.5,<12>",     "<3>,0.5",       "loss<nan>,",
        "loss -<-3>"}) {
    EXPECT_FALSE(IsPart(line)) << line;
  }
}

TEST(IsPartOfNumber, AnExpressionMaySpellWhatStandsBesideIt) {
  EXPECT_TRUE(IsPart("3,<200>"));
  EXPECT_FALSE(IsPart("3,<200>", {',', 0}));
  EXPECT_TRUE(IsPart("<3>,200"));
  EXPECT_FALSE(IsPart("<3>,200", {0, ','}));
  EXPECT_FALSE(IsPart(" -<0.5>", {'-', 0}));
  EXPECT_TRUE(IsPart(" -<0.5>e-3", {'-', 0})) << "what is spelled on one side counts there";
}

TEST(WordAround, IsWhatAPersonReads) {
  const std::string line = "lr 1.98e-05, loss";
  EXPECT_EQ(WordAround(line, 3, 7), "1.98e-05,");
  EXPECT_EQ(WordAround(line, 0, 2), "lr");
}

}  // namespace
}  // namespace tune
