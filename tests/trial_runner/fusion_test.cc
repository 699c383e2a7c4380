#include "trial_runner/fusion.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace tune {
namespace {

constexpr int64_t kShare = 125;

Fusion Of(const std::string& config, int64_t gpu_milli = 0) {
  return FusionOf(Value("food11"), *ParseJson(config), gpu_milli);
}

TEST(Fusion, IsOfTrialsWhoseShapesAgree) {
  const Fusion one = Of(R"({"lanes":4,"lr":0.1,"patience":3,"image_size":224})");
  EXPECT_EQ(one.lanes_max, 4);
  EXPECT_EQ(one, Of(R"({"lanes":4,"lr":0.2,"dropout_probability":0.3})"))
      << "a default is a value as any";
  EXPECT_NE(one.shape, Of(R"({"lanes":4,"batch_size":64})").shape);
  EXPECT_NE(one.shape, Of(R"({"lanes":4,"image_size":64})").shape);
  EXPECT_NE(one.shape, Of(R"({"lanes":4,"data":"elsewhere"})").shape);
  EXPECT_EQ(one.shape, Of(R"({"lanes":3})").shape);
  EXPECT_NE(one, Of(R"({"lanes":3})"));
}

TEST(Fusion, IsOnForSharesOfACardAndOffOnTheCpuUnlessAskedFor) {
  EXPECT_EQ(Of("{}").lanes_max, 1);
  EXPECT_EQ(Of("{}", kShare).lanes_max, 1) << "the device's default is the CPU";
  EXPECT_GT(Of(R"({"device":"cuda"})", kShare).lanes_max, 1);
  EXPECT_EQ(Of(R"({"device":"auto"})", kShare).lanes_max, 1) << "it may be the CPU";
  EXPECT_EQ(Of(R"({"device":"cuda"})", 1000).lanes_max, 1) << "nobody shares it";
  EXPECT_EQ(Of(R"({"device":"cuda","lanes":1})", kShare).lanes_max, 1);
  EXPECT_EQ(Of(R"({"lanes":3})").lanes_max, 3);
}

TEST(Fusion, IsNotOfOtherTrainablesNorOfWhatCannotBeRead) {
  const Value curve = *ParseJson(R"({"curve":{"value":"x"}})");
  EXPECT_FALSE(MayFuse(curve));
  EXPECT_EQ(FusionOf(curve, *ParseJson(R"({"lanes":4})"), kShare).lanes_max, 1);
  EXPECT_EQ(Of("[1]").lanes_max, 1);
  EXPECT_EQ(Of(R"({"lanes":4,"lr":-1})").lanes_max, 1);
  EXPECT_TRUE(Of(R"({"lanes":4,"lr":-1})").shape.empty());
}

}  // namespace
}  // namespace tune
