#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "core/json.h"
#include "models/network_state.h"
#include "models/train/safetensors.h"
#include "tests/tuner/temp_folder.h"
#include "trial_runner/curve.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

Value Json(std::string_view text) {
  Result<Value> value = ParseJson(text);
  EXPECT_TRUE(value.ok()) << value.status().message();
  return *std::move(value);
}

BoundCurve Bind(std::string_view options, std::string_view config) {
  const Result<Curve> curve = Curve::Parse(Json(options));
  EXPECT_TRUE(curve.ok()) << curve.status().message();
  Result<BoundCurve> bound = curve->Bind(Json(config));
  EXPECT_TRUE(bound.ok()) << bound.status().message();
  return *std::move(bound);
}

// (1 - 0.3)^2 + exp(-0.2 * 2) = 0.49 + 0.670320046...
TEST(Curve, FollowsItsExpression) {
  const BoundCurve curve =
      Bind(R"j({"value":"(x - 0.3)^2 + exp(-0.2 * t)","iterations":20})j", R"({"x":1})");
  EXPECT_EQ(curve.iterations(), 20);
  const CurveStep step = curve.Step(7, 0, 1, 2);
  EXPECT_DOUBLE_EQ(step.values.at(0), 0.49 + std::exp(-0.4));
  EXPECT_EQ(step.seconds, 0);
  EXPECT_FALSE(step.crashes);
  EXPECT_FALSE(step.hangs);
}

TEST(Curve, ReportsSeveralMetrics) {
  const BoundCurve curve = Bind(R"j({"values":{"loss":"x","latency":"2 * t"}})j", R"({"x":1})");
  const Metrics metrics = curve.MetricsOf(curve.Step(7, 0, 1, 3), "ignored");
  EXPECT_EQ(metrics, (Metrics{{"loss", 1.0}, {"latency", 6.0}}));
  EXPECT_FALSE(Curve::Parse(Json(R"({"value":"1","values":{"a":"1"}})")).ok());
  EXPECT_FALSE(Curve::Parse(Json(R"({"values":{}})")).ok());
}

TEST(Curve, AParameterThatDoesNotExistUnderItsConditionsCountsAsZero) {
  EXPECT_EQ(Bind(R"({"value":"x + momentum"})", R"({"x":1})").Step(7, 0, 1, 1).values,
            std::vector<double>{1});
}

TEST(Curve, KnowsNestedParametersAndTextsAndExpressionsForSeconds) {
  const BoundCurve curve = Bind(R"j({"value":"a.b * (kind == 'big')","seconds":"a.b * t"})j",
                                R"({"a":{"b":3},"kind":"big"})");
  EXPECT_EQ(curve.Step(7, 0, 1, 2).values, std::vector<double>{3});
  EXPECT_EQ(curve.Step(7, 0, 1, 2).seconds, 6);
}

TEST(Curve, AParameterThatTheConfigurationDoesNotHaveCountsAsZero) {
  const BoundCurve curve =
      Bind(R"j({"value":"1 + (kind == 'a') * a.x + (b == 'big') * 4"})j", R"({"kind":"b"})");
  EXPECT_EQ(curve.Step(7, 0, 1, 1).values[0], 1);
}

TEST(Curve, NoiseDependsOnTrialAndIterationNotOnTheAttempt) {
  const BoundCurve curve = Bind(R"({"value":"0","noise":1})", "{}");
  EXPECT_EQ(curve.Step(7, 3, 1, 5).values, curve.Step(7, 3, 2, 5).values);
  EXPECT_NE(curve.Step(7, 3, 1, 5).values, curve.Step(7, 4, 1, 5).values);
  EXPECT_NE(curve.Step(7, 3, 1, 5).values, curve.Step(7, 3, 1, 6).values);
  EXPECT_NE(curve.Step(7, 3, 1, 5).values, curve.Step(8, 3, 1, 5).values);
}

TEST(Curve, CrashesAsOftenAsSaidAndAnotherAttemptDrawsAnew) {
  const BoundCurve curve = Bind(R"({"value":"0","crash":0.25})", "{}");
  int crashes = 0;
  int differing = 0;
  for (int64_t trial = 0; trial < 4000; ++trial) {
    const bool first = curve.Step(7, trial, 1, 1).crashes;
    crashes += first ? 1 : 0;
    differing += first != curve.Step(7, trial, 2, 1).crashes ? 1 : 0;
  }
  // 1000 expected, deviation 27; 1500 expected (2 * 0.25 * 0.75 * 4000), deviation 31.
  EXPECT_NEAR(crashes, 1000, 140);
  EXPECT_NEAR(differing, 1500, 160);
}

TEST(Curve, GoesWrongInEachWayByItsOwnDraw) {
  const BoundCurve curve =
      Bind(R"({"value":"0","crash":0.5,"hang":0.5,"out_of_memory":0.5,"device_out_of_memory":0.5,)"
           R"("bad_config":0.5,"checkpoint_bytes":"4KiB"})",
           "{}");
  EXPECT_EQ(curve.checkpoint_bytes(), 4096);
  std::set<std::vector<bool>> seen;
  for (int64_t trial = 0; trial < 1000; ++trial) {
    const CurveStep step = curve.Step(7, trial, 1, 1);
    seen.insert({step.crashes, step.hangs, step.is_out_of_memory, step.is_out_of_device_memory,
                 step.is_bad_config});
  }
  EXPECT_EQ(seen.size(), 32u);
}

TEST(Curve, RefusesWhatItCannotBe) {
  const auto error = [](std::string_view text) {
    return Curve::Parse(Json(text)).status().message();
  };
  EXPECT_THAT(error("{}"), HasSubstr("`value` is missing"));
  EXPECT_THAT(error(R"({"value":"x +"})"), HasSubstr("curve.value: column"));
  EXPECT_EQ(error(R"({"valu":"x"})"), "curve: unknown option 'valu'; did you mean 'value'?");
  EXPECT_THAT(error(R"({"value":"x","iterations":0})"), HasSubstr("curve.iterations: read 0"));
  EXPECT_THAT(error(R"({"value":"x","crash":1.5})"), HasSubstr("a probability from 0 to 1"));
  EXPECT_THAT(error(R"({"value":"x","noise":-1})"), HasSubstr("curve.noise: read -1"));
  EXPECT_FALSE(Curve::Parse(Json("3")).ok());
  EXPECT_FALSE(Curve::Parse(Json(R"({"value":"x"})"))->Bind(Json(R"({"x":"text"})")).ok());
}

TEST(TrainableCatalog, DescribesACurveByTheSweepsMetric) {
  const auto info = DescribeTrainable(Json(R"({"curve":{"value":"x * t"}})"), {"loss"}, {"x", "y"});
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->kind, "curve");
  EXPECT_EQ(info->program, "tune_trial");
  EXPECT_THAT(info->metrics, testing::ElementsAre("loss"));
}

TEST(TrainableCatalog, NamesWhatACurveMissesAndWhere) {
  Value trainable = Json(R"({"curve":{"value":"rate"}})");
  trainable.place = Place{3, 12};
  EXPECT_EQ(DescribeTrainable(trainable, {"loss"}, {"rates"}).status().message(),
            "3:12: trainable: the curve uses 'rate', which is no parameter of the space; did you "
            "mean 'rates'?");
}

TEST(TrainableCatalog, KnowsFood11sMetricsAndParameters) {
  const Value food11("food11");
  const auto info = DescribeTrainable(food11, {"val_accuracy"}, {"lr", "batch_size"});
  ASSERT_TRUE(info.ok()) << info.status().message();
  EXPECT_EQ(info->program, "tune_trial_food11");
  EXPECT_THAT(info->metrics, testing::Contains("test_accuracy"));
  EXPECT_EQ(DescribeTrainable(food11, {"val_acuracy"}, {"lr"}).status().message(),
            "trainable: food11 never reports the metric 'val_acuracy'; did you mean "
            "'val_accuracy'?");
  EXPECT_EQ(DescribeTrainable(food11, {"val_accuracy"}, {"batchsize"}).status().message(),
            "trainable: food11 has no parameter 'batchsize'; did you mean 'batch_size'?");
}

TEST(TrainableCatalog, RefusesTrainablesThatAreNotThere) {
  const auto error = [](std::string_view text) {
    return DescribeTrainable(Json(text), {"loss"}, {}).status().message();
  };
  EXPECT_THAT(error(R"("food12")"), HasSubstr("did you mean 'food11'?"));
  EXPECT_THAT(error("7"),
              HasSubstr("read an integer, expected food11, {command: [...]} or {curve: {...}}"));
}

TEST(TrainableCatalog, ChecksConcreteConfigurations) {
  Configuration configuration;
  configuration.Set("lr", Value(-1.0));
  EXPECT_THAT(CheckConfiguration(Value("food11"), configuration).message(), HasSubstr("lr"));
  configuration.Set("lr", Value(1e-3));
  EXPECT_TRUE(CheckConfiguration(Value("food11"), configuration).ok());
  const Value curve = Json(R"({"curve":{"value":"a.b"}})");
  configuration.Set("a/b", Value("a text"));
  EXPECT_FALSE(CheckConfiguration(curve, configuration).ok());
  configuration.Set("a/b", Value(2));
  EXPECT_TRUE(CheckConfiguration(curve, configuration).ok());
}

TEST(TrainableCatalog, AdvisesAgainstAFrozenBackboneOfRandomWeights) {
  Configuration configuration;
  EXPECT_EQ(ConfigurationAdvice(Value("food11"), configuration), "");
  configuration.Set("initial_epochs", Value(5));
  EXPECT_THAT(ConfigurationAdvice(Value("food11"), configuration),
              StartsWith("initial_epochs: read 5 without weights: "));
  EXPECT_EQ(ConfigurationAdvice(Json(R"({"command":["true"]})"), configuration), "");
  configuration.Set("weights", Value("imagenet.safetensors"));
  EXPECT_EQ(ConfigurationAdvice(Value("food11"), configuration), "");
  configuration.Set("initial_epochs", Value(0));
  configuration.Set("weights", Value(""));
  EXPECT_EQ(ConfigurationAdvice(Value("food11"), configuration), "");
}

TEST(TrainableCatalog, LooksForDataAndWeightsBeforeTheStart) {
  Configuration configuration;
  EXPECT_THAT(CheckInputs(Value("food11"), configuration, {"/", "", ""}).message(),
              HasSubstr("FOOD11_DATA_DIR"));
  EXPECT_THAT(CheckInputs(Value("food11"), configuration, {"/nowhere", "data", ""}).message(),
              HasSubstr("/nowhere/data"));
  configuration.Set("data", Value("synthetic"));
  EXPECT_TRUE(CheckInputs(Value("food11"), configuration, {"/", "", ""}).ok());
  configuration.Set("weights", Value("absent.safetensors"));
  EXPECT_EQ(CheckInputs(Value("food11"), configuration, {"/nowhere", "", ""}).message(),
            "weights: read '/nowhere/absent.safetensors', expected a file that exists");
}

TEST(TrainableCatalog, LooksForEachFolderAndFileThatTheSpaceLists) {
  const TempFolder folder;
  WriteText(folder / "there.safetensors", "");
  const auto check = [&](const char* parameter, const Value& value,
                         const Value& trainable = Value("food11")) {
    return CheckListedInput(trainable, parameter, value, {folder.path(), "", ""}).message();
  };
  EXPECT_EQ(check("weights", Value("there.safetensors")), "");
  EXPECT_EQ(check("weights", Value("")), "");
  EXPECT_EQ(
      check("weights", Value("there.safetensorss")),
      "weights: read '" + folder.path() + "/there.safetensorss', expected a file that exists");
  EXPECT_EQ(check("data", Value("synthetic")), "");
  EXPECT_EQ(check("data", Value("s3://bucket/data")), "");
  EXPECT_THAT(check("data", Value("nowhere")), HasSubstr("expected a folder that exists"));
  EXPECT_EQ(check("device", Value("cpu")), "");
  EXPECT_EQ(check("data", Value("nowhere"), Json(R"({"command":["true"]})")), "");
}

TEST(TrainableCatalog, ReadsTheWeightsBeforeTheStart) {
  const models::Architecture small = models::BuildArchitecture({.width_mult = 0.35});
  const TempFolder folder;
  const std::string path = folder / "theirs.safetensors";
  Configuration configuration;
  configuration.Set("data", Value("synthetic"));
  configuration.Set("weights", Value("theirs.safetensors"));
  configuration.Set("width_mult", Value(0.35));
  const auto check = [&] {
    return CheckInputs(Value("food11"), configuration, {folder.path(), "", ""});
  };
  WriteText(path, models::SerializeSafetensors(
                      models::ExportWeights(small, models::InitialState(small, 1))));
  EXPECT_TRUE(check().ok()) << check().message();
  configuration.Set("width_mult", Value(0.5));
  EXPECT_EQ(check().code(), StatusCode::kInvalidArgument);
  EXPECT_THAT(check().message(),
              AllOf(StartsWith("weights: " + path + ": tensor features."),
                    HasSubstr("the weights are of a network with other options")));
  WriteText(path, "hi");
  EXPECT_EQ(check().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(check().message(), "weights: " + path + ": shorter than a safetensors header");
}

}  // namespace
}  // namespace tune
