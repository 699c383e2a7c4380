#include "trial_runner/fusion.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>
#include <vector>

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

TEST(Fusion, HasRoomForAsManyAsEachOfThemAllows) {
  const Fusion four = Of(R"({"lanes":4})");
  const Fusion two = Of(R"({"lanes":2})");
  EXPECT_TRUE(FitsInto(four, 3, four));
  EXPECT_FALSE(FitsInto(four, 4, four));
  EXPECT_TRUE(FitsInto(four, 1, two));
  EXPECT_FALSE(FitsInto(four, 2, two)) << "it would have three beside it";
  EXPECT_FALSE(FitsInto(two, 2, four));
  EXPECT_FALSE(FitsInto(four, 1, Of(R"({"lanes":4,"batch_size":64})")));
  EXPECT_FALSE(FitsInto(four, 1, Of("{}"))) << "it runs alone";
  EXPECT_FALSE(FitsInto({}, 1, {})) << "nothing fuses with what has no shape";
}

Report SpeedReport(int64_t iteration, Metrics metrics) {
  Report report;
  report.iteration = iteration;
  report.metrics = std::move(metrics);
  return report;
}

TEST(FusedSpeed, IsThatOfAllLanesInEpochsThatTrainTheBackbone) {
  const Value config = *ParseJson(R"({"initial_epochs":2})");
  const Metrics metrics = {{"val_loss", 1}, {"images_per_second", 300}, {"lanes", 8}};
  EXPECT_FALSE(FusedSpeedOf(config, SpeedReport(2, metrics)));
  const auto speed = FusedSpeedOf(config, SpeedReport(3, metrics));
  ASSERT_TRUE(speed);
  EXPECT_EQ(speed->lanes, 8);
  EXPECT_EQ(speed->images_per_second, 2400);
}

TEST(FusedSpeed, IsNothingWhereAReportDoesNotSayOrCannotBe) {
  const Value config = *ParseJson("{}");
  const double infinite = std::numeric_limits<double>::infinity();
  for (const Metrics& metrics :
       std::vector<Metrics>{{{"images_per_second", 300}},
                            {{"lanes", 8}},
                            {{"lanes", 0}, {"images_per_second", 300}},
                            {{"lanes", 65}, {"images_per_second", 300}},
                            {{"lanes", 8}, {"images_per_second", 0}},
                            {{"lanes", 8}, {"images_per_second", infinite}}}) {
    EXPECT_FALSE(FusedSpeedOf(config, SpeedReport(1, metrics)));
  }
  EXPECT_FALSE(FusedSpeedOf(*ParseJson(R"({"lr":-1})"),
                            SpeedReport(1, {{"lanes", 8}, {"images_per_second", 300}})));
}

}  // namespace
}  // namespace tune
