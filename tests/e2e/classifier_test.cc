// The built-in classifier as its users meet it: what a sweep says of its model is true of the model
// that it exports, and what would spoil a sweep is said before it runs.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <string>
#include <vector>

#include "core/json.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The learning rates are so high that losses jump: an epoch of the highest accuracy is mostly
// another one than that of the lowest loss.
constexpr char kSpace[] =
    "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 3\nseed: 5\n"
    "space: {data: synthetic, image_size: 32, width_mult: 0.35, batch_size: 32, patience: 50,\n"
    "        lr: {loguniform: [0.01, 0.1]}, total_epochs: 6}\n";

Value ConfigIn(const std::string& folder) {
  std::ifstream in(folder + "/config.json");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const Result<Value> config = ParseJson(text);
  EXPECT_TRUE(config.ok()) << text;
  return config.ok() ? *config : Value::MakeMap();
}

// What `food11 evaluate` says of the evaluation set.
double EvaluatedAccuracy(const TestFolder& folder, const std::string& model) {
  const ProgramResult result =
      RunProgram(folder, "food11", {"evaluate", "--data", "synthetic", "--weights", model});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  const size_t line = result.out.find("evaluation");
  EXPECT_NE(line, std::string::npos) << result.out;
  long long images = 0;
  double loss = 0, accuracy = 0;
  EXPECT_EQ(
      std::sscanf(result.out.c_str() + line, "evaluation %lld %lf %lf", &images, &loss, &accuracy),
      3);
  return accuracy;
}

TEST(Classifier, TheTestScoresAreThoseOfTheModelThatIsExported) {
  TestFolder folder;
  const ProgramResult ran = RunTune(folder, {"run", folder.Write("space.yaml", kSpace)});
  ASSERT_EQ(ran.exit_status, 0) << ran.err;
  EXPECT_EQ(Query(folder,
                  "select count(*) from trials t join reports r on r.trial = t.id where "
                  "r.iteration = 6 and json_extract(r.metrics, '$.test_epoch') = t.best_iteration"),
            std::vector<std::string>{"3"});
  const std::vector<std::string> best =
      Query(folder,
            "select t.best_iteration, json_extract(r.metrics, '$.test_accuracy') from trials t "
            "join reports r on r.trial = t.id where r.iteration = 6 order by t.best_value desc, "
            "t.number limit 1");
  ASSERT_EQ(best.size(), 1u);
  const ProgramResult exported = RunTune(folder, {"best", "--export", "model"});
  ASSERT_EQ(exported.exit_status, 0) << exported.err;
  const std::string epoch = best[0].substr(0, best[0].find('|'));
  EXPECT_THAT(exported.err, HasSubstr("exported to model: the model of epoch " + epoch + "\n"));
  EXPECT_THAT(exported.out, HasSubstr(", of epoch " + epoch + "\n"));
  const Value config = ConfigIn(folder / "model");
  EXPECT_EQ(ToJson(*config.Find("epoch")), epoch);
  const Value* const test_accuracy = config.Find("metrics")->Find("test_accuracy");
  ASSERT_NE(test_accuracy, nullptr);
  EXPECT_NEAR(test_accuracy->AsDouble(), std::stod(best[0].substr(best[0].find('|') + 1)), 1e-9);
  EXPECT_NEAR(EvaluatedAccuracy(folder, "model"), test_accuracy->AsDouble(), 6e-5);
}

TEST(Classifier, AModelOfATrialThatWasStoppedHasNoTestScores) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml",
                   std::string(kSpace) + "stop: {training_iteration: 2}\ncheckpoint: {every: 1}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space, "--samples", "1"})));
  const ProgramResult exported = RunTune(folder, {"best", "--export", "model"});
  ASSERT_EQ(exported.exit_status, 0) << exported.err;
  EXPECT_THAT(exported.out, Not(HasSubstr("test ")));
  EXPECT_EQ(ConfigIn(folder / "model").Find("metrics")->Find("test_accuracy"), nullptr);
}

// Where checkpoints are rare, the one that is there has the best epoch's weights beside its own.
TEST(Classifier, TheBestEpochIsExportedThoughItHasNoCheckpointOfItsOwn) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml", std::string(kSpace) + "checkpoint: {every: 50}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  const std::vector<std::string> best =
      Query(folder, "select best_iteration from trials order by best_value desc, number limit 1");
  const ProgramResult exported = RunTune(folder, {"best", "--export", "model"});
  ASSERT_EQ(exported.exit_status, 0) << exported.err;
  EXPECT_THAT(exported.err, HasSubstr("the model of epoch " + best[0] + "\n"));
  const Value config = ConfigIn(folder / "model");
  EXPECT_EQ(ToJson(*config.Find("epoch")), best[0]);
  EXPECT_NEAR(EvaluatedAccuracy(folder, "model"),
              config.Find("metrics")->Find("test_accuracy")->AsDouble(), 6e-5);
}

TEST(Classifier, AFrozenBackboneOfRandomWeightsIsWarnedOfBeforeAnythingRuns) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml",
                   "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 4\nseed: 5\n"
                   "space: {data: synthetic, image_size: 32, initial_epochs: {choice: [0, 5]}}\n");
  for (const std::vector<std::string>& arguments :
       {std::vector<std::string>{"plan", space}, {"run", space, "--dry-run"}}) {
    const ProgramResult result = RunTune(folder, arguments);
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_THAT(result.err, HasSubstr("warning: the configuration of trial "));
    EXPECT_THAT(result.err, HasSubstr(": initial_epochs: read 5 without weights: "));
  }
  const ProgramResult example =
      RunTune(folder, {"plan", std::string(TUNE_SOURCE_DIR) + "/examples/food11/space.yaml"});
  EXPECT_EQ(example.exit_status, 0) << example.err;
  EXPECT_THAT(example.err, Not(HasSubstr("initial_epochs")));
}

}  // namespace
}  // namespace tune::testing
