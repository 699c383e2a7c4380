#include "trial_runner/fusion.h"

#include <gtest/gtest.h>

#include "core/json.h"

namespace tune {
namespace {

const std::vector<DeviceSlice> kShare = {{0, 125}};

Fusion Of(const std::string& config, const std::vector<DeviceSlice>& slices = {}) {
  return FusionOf(Value("food11"), config, slices);
}

TEST(Fusion, IsOfTrialsWhoseShapesAgree) {
  const Fusion one = Of(R"({"lanes":4,"lr":0.1,"patience":3,"image_size":224})");
  EXPECT_EQ(one.lanes_max, 4);
  EXPECT_EQ(one.key, Of(R"({"lanes":4,"lr":0.2,"dropout_probability":0.3})").key)
      << "a default is a value as any";
  EXPECT_NE(one.key, Of(R"({"lanes":4,"batch_size":64})").key);
  EXPECT_NE(one.key, Of(R"({"lanes":4,"image_size":64})").key);
  EXPECT_NE(one.key, Of(R"({"lanes":4,"data":"elsewhere"})").key);
}

TEST(Fusion, IsOnForSharesOfACardAndOffOnTheCpuUnlessAskedFor) {
  EXPECT_EQ(Of("{}").lanes_max, 1);
  EXPECT_EQ(Of("{}", kShare).lanes_max, 1) << "the device's default is the CPU";
  EXPECT_GT(Of(R"({"device":"cuda"})", kShare).lanes_max, 1);
  EXPECT_GT(Of(R"({"device":"auto"})", kShare).lanes_max, 1);
  EXPECT_EQ(Of(R"({"device":"cuda"})", {{0, 1000}}).lanes_max, 1) << "nobody shares it";
  EXPECT_EQ(Of(R"({"device":"cuda","lanes":1})", kShare).lanes_max, 1);
  EXPECT_EQ(Of(R"({"lanes":3})").lanes_max, 3);
}

TEST(Fusion, IsNotOfOtherTrainablesNorOfWhatCannotBeRead) {
  const Value curve = *ParseJson(R"({"curve":{"value":"x"}})");
  EXPECT_EQ(FusionOf(curve, R"({"lanes":4})", {}).lanes_max, 1);
  EXPECT_EQ(Of("no json").lanes_max, 1);
  EXPECT_EQ(Of("[1]").lanes_max, 1);
  EXPECT_EQ(Of(R"({"lanes":4,"lr":-1})").lanes_max, 1);
  EXPECT_TRUE(Of(R"({"lanes":4,"lr":-1})").key.empty());
}

}  // namespace
}  // namespace tune
