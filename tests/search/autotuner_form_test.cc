#include "search/autotuner_form.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/json.h"
#include "search/space.h"

namespace tune {
namespace {

using testing::HasSubstr;

std::string Read(std::string_view json) {
  const auto content = ReadAutoTunerForm(*ParseJson(json));
  EXPECT_TRUE(content.ok()) << content.status().message();
  const auto* const constant = std::get_if<Value>(&*content);
  return constant != nullptr ? ToJson(*constant) : std::get<Domain>(*content).ToText();
}

std::string ErrorOf(std::string_view json) {
  const auto content = ReadAutoTunerForm(*ParseJson(json));
  EXPECT_FALSE(content.ok()) << json;
  return content.status().message();
}

TEST(AutoTunerForm, AStepOfZeroIsContinuousForAFloatAndConstantForAnInt) {
  EXPECT_EQ(Read(R"({"type": "float", "minmax": [1.0, 3.7439], "step": 0})"),
            "uniform: [1, 3.7439]");
  EXPECT_EQ(Read(R"({"type": "int", "minmax": [2, 2], "step": 0})"), "2");
  EXPECT_EQ(Read(R"({"type": "int", "minmax": [2, 9], "step": 0})"), "2");
  EXPECT_EQ(Read(R"({"type": "float", "minmax": [0.5, 0.5], "step": 0.1})"), "0.5");
}

TEST(AutoTunerForm, AGridBeginsAtTheMinimumAndReachesTheMaximumWhereItMeetsIt) {
  EXPECT_EQ(Read(R"({"type": "int", "minmax": [1, 8], "step": 1})"), "randint: [1, 9]");
  EXPECT_EQ(Read(R"({"type": "int", "minmax": [2, 8], "step": 2})"), "qrandint: [2, 8, 2]");
  EXPECT_EQ(Read(R"({"type": "int", "minmax": [1, 8], "step": 3})"), "ordinal: [1, 4, 7]");
  EXPECT_EQ(Read(R"({"type": "float", "minmax": [0, 1], "step": 0.25})"), "quniform: [0, 1, 0.25]");
  // Each point is the double nearest to its decimal.
  EXPECT_EQ(Read(R"({"type": "float", "minmax": [0.05, 0.4], "step": 0.1})"),
            "ordinal: [0.05, 0.15, 0.25, 0.35]");
}

TEST(AutoTunerForm, WhatItCannotBeIsTold) {
  EXPECT_THAT(ErrorOf(R"({"type": "double", "minmax": [0, 1], "step": 0})"),
              HasSubstr("type: read 'double', expected int or float"));
  EXPECT_THAT(ErrorOf(R"({"type": "int", "minmax": [0, 1.5], "step": 1})"),
              HasSubstr("minmax: read 1.5, expected an integer"));
  EXPECT_THAT(ErrorOf(R"({"type": "int", "minmax": [3], "step": 1})"),
              HasSubstr("minmax: read a list, expected a list, [min, max]"));
  EXPECT_THAT(ErrorOf(R"({"type": "float", "minmax": [3, 1], "step": 0})"),
              HasSubstr("the minimum is above the maximum"));
  EXPECT_THAT(ErrorOf(R"({"type": "float", "minmax": [0, 1], "step": -1})"),
              HasSubstr("step: read -1, expected a finite number of 0 or more"));
  EXPECT_THAT(ErrorOf(R"({"type": "float", "minmax": [0, 1]})"),
              HasSubstr("'step' is missing beside 'minmax'"));
  EXPECT_THAT(ErrorOf(R"({"type": "float", "minmax": [0, 1], "stpe": 0})"),
              HasSubstr("did you mean 'step'?"));
  EXPECT_THAT(ErrorOf(R"({"type": "float", "minmax": [0.05, 1], "step": 3e-7})"),
              HasSubstr("more than 10000 points"));
}

TEST(AutoTunerForm, StandsInASpaceBesideOurOwn) {
  const auto space = SearchSpace::Parse(*ParseJson(
      R"({"_SDC_FILE_PATH": "constraint.sdc", "lr": {"uniform": [0, 1]},
          "_SDC_CLK_PERIOD": {"type": "float", "minmax": [1.0, 3.7439], "step": 0},
          "CORE_MARGIN": {"type": "int", "minmax": [2, 2], "step": 0,
                          "when": {"_SDC_FILE_PATH": "constraint.sdc"}}})"));
  ASSERT_TRUE(space.ok()) << space.status().message();
  ASSERT_EQ(space->parameters().size(), 4u);
  EXPECT_EQ(std::get<Domain>(space->parameters()[2].content).kind(), Domain::Kind::kUniform);
  EXPECT_EQ(std::get<Value>(space->parameters()[3].content), Value(2));
  EXPECT_EQ(space->parameters()[3].conditions.size(), 1u);
}

}  // namespace
}  // namespace tune
