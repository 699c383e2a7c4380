// The program food11, run as its users do.

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/json.h"
#include "tests/models/training/temp_folder.h"

namespace tune::models {
namespace {

using ::testing::HasSubstr;

struct Outcome {
  int status = -1;
  std::string out;
  std::string error;
};

Outcome RunFood11(const TempFolder& folder, const std::string& arguments) {
  const char* const bin = std::getenv("TUNE_BIN_DIR");
  if (bin == nullptr) return {};
  const std::string command = std::string(bin) + "/food11 " + arguments + " >" +
                              (folder / "out.txt") + " 2>" + (folder / "error.txt");
  const int status = std::system(command.c_str());
  return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, ReadText(folder / "out.txt"),
          ReadText(folder / "error.txt")};
}

int CountLines(const std::string& text) {
  return static_cast<int>(std::count(text.begin(), text.end(), '\n'));
}

constexpr char kSmall[] =
    " --data synthetic --width_mult 0.35 --image_size 32 --lr 3e-3 --threads 1 --total_epochs ";

TEST(Food11Program, TrainsResumesEvaluatesAndPredicts) {
  const TempFolder folder;
  const std::string model = folder / "model";
  const Outcome trained = RunFood11(folder, "train" + std::string(kSmall) + "1 --out " + model);
  ASSERT_EQ(trained.status, 0) << trained.error;
  EXPECT_THAT(trained.out, HasSubstr("best epoch 1"));
  EXPECT_TRUE(std::filesystem::exists(model + "/model.safetensors"));

  const Outcome again = RunFood11(folder, "train" + std::string(kSmall) + "2 --out " + model);
  EXPECT_EQ(again.status, 2);  // Nothing is overwritten by accident.
  EXPECT_THAT(again.error, HasSubstr("--resume"));
  const Outcome resumed =
      RunFood11(folder, "train --resume" + std::string(kSmall) + "2 --out " + model);
  ASSERT_EQ(resumed.status, 0) << resumed.error;
  EXPECT_TRUE(std::filesystem::exists(model + "/checkpoint_000002"));
  EXPECT_FALSE(std::filesystem::exists(model + "/checkpoint_000001"));

  const Outcome evaluated = RunFood11(folder, "evaluate --data synthetic --weights " + model);
  ASSERT_EQ(evaluated.status, 0) << evaluated.error;
  EXPECT_THAT(evaluated.out, HasSubstr("evaluation     110"));

  std::string picture = "P6\n40 30\n255\n" + std::string(40 * 30 * 3, 'z');
  WriteText(folder / "a.ppm", picture);
  WriteText(folder / "b.ppm", "broken");
  const Outcome predicted = RunFood11(folder, "predict --top 2 --weights " + model + " " +
                                                  (folder / "a.ppm") + " " + (folder / "b.ppm"));
  EXPECT_EQ(predicted.status, 2);
  EXPECT_THAT(predicted.out, HasSubstr("a.ppm: texture"));
  EXPECT_EQ(CountLines(predicted.out), 1);
  EXPECT_THAT(predicted.error, HasSubstr("b.ppm: not an image"));
}

TEST(Food11Program, PredictsAsJsonWithTheTopFiveAndAllDigits) {
  const TempFolder folder;
  const std::string model = folder / "model";
  ASSERT_EQ(RunFood11(folder, "train" + std::string(kSmall) + "1 --out " + model).status, 0);
  WriteText(folder / "a.ppm", "P6\n40 30\n255\n" + std::string(40 * 30 * 3, 'z'));
  WriteText(folder / "b.ppm", "broken");
  const std::string images = " " + (folder / "b.ppm") + " " + (folder / "a.ppm");
  const Outcome predicted = RunFood11(folder, "predict --format json --weights " + model + images);
  EXPECT_EQ(predicted.status, 2);
  const Result<Value> answers = ParseJson(predicted.out);
  ASSERT_TRUE(answers.ok()) << predicted.out;
  ASSERT_EQ(answers->AsList().size(), 2U);
  EXPECT_THAT(answers->AsList()[0].Find("error")->AsString(), HasSubstr("not an image"));
  const Value& answer = answers->AsList()[1];
  EXPECT_EQ(*answer.Find("image"), Value(folder / "a.ppm"));
  const Value::List& classes = answer.Find("classes")->AsList();
  ASSERT_EQ(classes.size(), 5U);
  double before = 1;
  bool has_more_digits = false;
  for (const Value& entry : classes) {
    const double probability = entry.Find("probability")->AsDouble();
    EXPECT_LE(probability, before);
    before = probability;
    has_more_digits =
        has_more_digits || std::abs(std::round(probability * 1e6) / 1e6 - probability) > 0;
  }
  EXPECT_TRUE(has_more_digits);
  EXPECT_THAT(classes[0].Find("class")->AsString(), HasSubstr("texture"));
  EXPECT_EQ(RunFood11(folder, "predict --format yaml --weights " + model + images).status, 2);
}

// The same on every machine: what is trained depends on it.
TEST(Food11Program, TrainsWithFourThreadsOrAsManyAsBefore) {
  const TempFolder folder;
  const std::string train = "train --data synthetic --width_mult 0.35 --image_size 32 --lr 3e-3 ";
  const std::string fresh = folder / "fresh", other = folder / "other";
  ASSERT_EQ(RunFood11(folder, train + "--total_epochs 1 --out " + fresh).status, 0);
  EXPECT_THAT(ReadText(fresh + "/checkpoint_000001/manifest.json"), HasSubstr(R"("threads":4)"));
  ASSERT_EQ(RunFood11(folder, train + "--total_epochs 1 --threads 1 --out " + other).status, 0);
  const Outcome as_before = RunFood11(folder, train + "--total_epochs 2 --resume --out " + other);
  EXPECT_EQ(as_before.status, 0);
  EXPECT_EQ(as_before.error, "");
  EXPECT_THAT(ReadText(other + "/checkpoint_000002/manifest.json"), HasSubstr(R"("threads":1)"));
  const Outcome with_others =
      RunFood11(folder, train + "--total_epochs 3 --resume --threads 2 --out " + other);
  EXPECT_EQ(with_others.status, 0);
  EXPECT_THAT(with_others.error,
              HasSubstr("warning: trained with 1 threads so far and with 2 from here on"));
}

TEST(Food11Program, SaysThatThereIsNothingToResume) {
  const TempFolder folder;
  const Outcome trained =
      RunFood11(folder, "train --resume" + std::string(kSmall) + "1 --out " + (folder / "empty"));
  EXPECT_EQ(trained.status, 0);
  EXPECT_THAT(trained.error, HasSubstr("warning: --resume: there is no checkpoint in "));
}

TEST(Food11Program, WarnsOfAFrozenBackboneOfRandomWeights) {
  const TempFolder folder;
  const Outcome trained = RunFood11(folder, "train" + std::string(kSmall) + "1 --initial_epochs 1");
  EXPECT_EQ(trained.status, 0);
  EXPECT_THAT(
      trained.error,
      HasSubstr("food11: warning: initial_epochs: read 1 without weights: in these epochs"));
}

TEST(Food11Program, AnswersBadUseWithOneLineAndStatusTwo) {
  const TempFolder folder;
  const std::pair<std::string, std::string> cases[] = {
      {"", "subcommand"},
      {"trian", "no command 'trian'; did you mean 'train'?"},
      {"train --data synthetic --lr -1", "lr: read -1, expected a number above 0"},
      {"train --data synthetic --batch_size many", "batch_size: read \"many\""},
      {"train --data /nowhere/at/all", "no folder '/nowhere/at/all'"},
      {"train --data synthetic --image_size 32 --weights /nowhere.safetensors",
       "/nowhere.safetensors"},
      {"train --data synthetic --resume", "--resume: --out is missing"},
      {"predict --weights /nowhere a.jpg", "no model in '/nowhere'"},
      {"evaluate", "--weights"},
  };
  for (const auto& [arguments, expected] : cases) {
    const Outcome outcome = RunFood11(folder, arguments);
    EXPECT_EQ(outcome.status, 2) << arguments << ": " << outcome.error;
    EXPECT_THAT(outcome.error, HasSubstr(expected)) << arguments;
    EXPECT_EQ(CountLines(outcome.error), 1) << outcome.error;
    EXPECT_EQ(outcome.out, "");
  }
}

TEST(Food11Program, ShowsExamplesInItsHelp) {
  const TempFolder folder;
  for (const char* arguments : {"--help", "train --help", "predict --help"}) {
    const Outcome outcome = RunFood11(folder, arguments);
    EXPECT_EQ(outcome.status, 0);
    EXPECT_THAT(outcome.out, HasSubstr("Example:")) << arguments;
  }
}

}  // namespace
}  // namespace tune::models
