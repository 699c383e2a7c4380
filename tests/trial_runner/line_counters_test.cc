// Which counters of a line are of time, and which say whose value it is.
#include "trial_runner/line_counters.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace tune {
namespace {

TEST(LineCounters, TimePassesByItsWordsAndByBareNumbers) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"Epoch 1: acc ", "Epoch 2: acc "},
      {"epoch=1, loss 3, acc ", "epoch=2, loss 3, acc "},
      {"[12]\tvalid-rmse:", "[13]\tvalid-rmse:"},
      {"2026-03-01 12:00:01,123 INFO [0]\tvalid-rmse:",
       "2026-03-01 12:00:02,9 INFO [25]\tvalid-rmse:"},
      {"INFO:root:[0] rmse ", "INFO:root:[25] rmse "},
      {"   1    0.5  ", "   2    0.5  "},
      {"3/10 acc ", "4/10 acc "},
      {"Train 3/10 acc ", "Train 4/10 acc "},
      {"num_timesteps=100, reward ", "num_timesteps=200, reward "},
      {"step100 acc ", "step200 acc "},
      {"{'epoch': 1.0, 'acc': ", "{'epoch': 1.5, 'acc': "},
      {"\xe7\xac\xac 1 acc ", "\xe7\xac\xac 2 acc "}};
  for (const auto& [one, other] : pairs) {
    EXPECT_TRUE(HasTimePassed(one, other)) << one;
    EXPECT_FALSE(HasTimePassed(one, one)) << one;
    EXPECT_EQ(DifferingThing(one, other, false), "") << one;
  }
}

TEST(LineCounters, AThingIsCountedByAnyOtherWord) {
  struct Case {
    const char *one, *other, *name;
  };
  for (const Case& c :
       std::vector<Case>{{"Fold 0: acc ", "Fold 1: acc ", "fold"},
                         {"[rank 0] loss: ", "[rank 1] loss: ", "rank"},
                         {"rank0 loss: ", "rank1 loss: ", "rank"},
                         {"loss 0.5 class 1 acc ", "loss 0.4 class 2 acc ", "class"},
                         {"Subject S01 acc ", "Subject S02 acc ", "subject"},
                         {"threshold 0.5 f1 ", "threshold 0.7 f1 ", "threshold"},
                         {"Organ 3: dice ", "Organ 8: dice ", "organ"},
                         {"acc@1: ", "acc@5: ", "acc@..."},
                         {"acc[0] = ", "acc[1] = ", "acc[...]"},
                         {"error[0] = ", "error[1] = ", "error[...]"},
                         {"INFO fold [0] acc ", "INFO fold [1] acc ", "fold"},
                         {"PM10: R2=", "PM25: R2=", "pm..."},
                         {"top1_acc: ", "top5_acc: ", "top..._acc"}}) {
    EXPECT_EQ(DifferingThing(c.one, c.other, false), c.name) << c.one;
    EXPECT_EQ(DifferingThing(c.one, c.one, false), "") << c.one;
  }
}

TEST(LineCounters, WhatChangesWithTimeIsNoThing) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"loss 3 epoch 1 acc ", "loss 2 epoch 2 acc "},
      {"epoch 1 layer3 acc ", "epoch 2 layer4 acc "},
      {"loss: 3 acc: ", "loss: 2 acc: "},
      {"train_loss 3 acc ", "train_loss 2 acc "},
      {"took 3 s acc ", "took 4 s acc "},
      {"saved model-1.pt acc ", "saved model-2.pt acc "},
      {"2026-03-01 12:00:01,123 acc ", "2026-03-02 12:00:03,456 acc "},
      {"commit 3f2a acc ", "commit a1b2 acc "},
      {"98% acc ", "99% acc "}};
  for (const auto& [one, other] : pairs) EXPECT_EQ(DifferingThing(one, other, false), "") << one;
  EXPECT_EQ(DifferingThing("Organ 1 acc ", "Organ 2 acc ", true), "") << "lines between tell it";
  EXPECT_EQ(DifferingThing("fold 1 acc ", "fold 2 acc ", true), "fold");
}

TEST(FindTraining, IsNamedByAHeading) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"=== Fold 1 ===", "fold 1"},
      {"fold 1/5:", "fold 1"},
      {"Fold 0: train on 100", "fold 0"},
      {"Training fold 3 of 5", "fold 3"},
      {"Stage 2: finetuning", "stage 2"},
      {"Running with seed 42", "seed 42"},
      {"Subject S01", "subject s01"},
      {"Organ 3", "organ 3"},
      {"Model: SVM", "model svm"},
      {"Fold 1 took 3 s", ""},
      {"Model saved", ""},
      {"Epoch 3", ""},
      {"EarlyStopping counter: 1 out of 5", ""},
      {"Patience: 1", ""},
      {"loss 0.5", ""},
      {"Using 2 GPUs", ""}};
  for (const auto& [line, training] : cases) EXPECT_EQ(FindTraining(line), training) << line;
}

}  // namespace
}  // namespace tune
