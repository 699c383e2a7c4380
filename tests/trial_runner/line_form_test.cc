// Which lines are of one kind.
#include "trial_runner/line_form.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace tune {
namespace {

// What ordinary programs print before a value, at one epoch and at another.
TEST(LineForm, IsTheSameInEachEpoch) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"Epoch 1: val_acc ", "Epoch 10: val_acc "},
      {"epoch  9 | loss 0.5 | val acc ", "epoch 10 | loss nan | val acc "},
      {"Epoch 3/10 [#####     ] val_acc=", "Epoch 4/10 [######    ] val_acc="},
      {"100%|\xe2\x96\x88\xe2\x96\x88| 5/5 [00:01<00:00, 3.20it/s, acc=",
       "100%|\xe2\x96\x88| 5/5 [00:09<00:00,  1.52s/it, acc="},
      {"0%| | 0/5 [00:00<?, ?it/s, acc=", "100%|\xe2\x96\x88| 5/5 [00:09<00:00,  1.52s/it, acc="},
      {"938/938 - 3s 15us/step - loss: 0.5 - val_loss: ",
       "938/938 - 1m 2ms/step - loss: 1e-05 - val_loss: "},
      {"Mon Nov 23 23:59:59 2026 INFO acc=", "Tue Nov 24 00:00:01 2026 INFO acc="},
      {"[2026-03-01T12:00:01.5Z] rank0 acc=", "[2026-03-01T12:59:01Z] rank0 acc="},
      {"{\"epoch\": 1, \"best\": null, \"acc\": ", "{\"epoch\": 2, \"best\": 0.5, \"acc\": "},
      {"Epoch 0: v_num=0, train_loss_step=0.5, val_acc=",
       "Epoch 1: v_num=0, train_loss_step=0.4, train_loss_epoch=0.5, val_acc="},
      {"took 3 s, acc ", "took 2 min 3 s, acc "},
      {"* epoch 3 acc ", "\xe2\x9c\x93 epoch 4 acc "},
      {"mem 900 MB acc ", "mem 1.2GB acc "},
      {"[10]\tvalid_0's auc: ", "[20]\tvalid_0's auc: "},
      {"\xe7\xac\xac"
       "1\xe8\xbd\xae acc ",
       "\xe7\xac\xac"
       "12\xe8\xbd\xae acc "},
      {"is_best=True acc=", "is_best=False acc="},
      {"  1    0.5    ", " 10    0.25   "}};
  for (const auto& [one, other] : pairs) EXPECT_EQ(LineForm(one), LineForm(other)) << one;
}

TEST(LineForm, OfASummaryIsAnother) {
  const std::vector<std::pair<const char*, const char*>> pairs = {
      {"Epoch 3: val_acc: ", "Done. val_acc: "},
      {"Epoch 3: val_acc: ", "Best val_acc: "},
      {"val_acc: ", "Best val_acc: "},
      {"Epoch 3: val_acc: ", "val_acc: "},
      {"Epoch 3: val_acc: ", "Epoch 3 summary: val_acc: "},
      {"Epoch 3: val_acc ", "Restored best: val_acc "},
      {"epoch 1 train acc: ", "epoch 1 valid acc: "},
      {"[train] acc: ", "[val] acc: "},
      {"{\"epoch\": 1, \"acc\": ", "{\"event\": \"summary\", \"acc\": "},
      {"2026-03-01 12:00:01,123 INFO epoch=1 acc=", "2026-03-01 12:00:01,123 INFO final acc="},
      {"\xe7\xac\xac"
       "1\xe8\xbd\xae acc ",
       "\xe6\x9c\x80\xe5\xa5\xbd acc "},
      {"  Valid loss: ", "Valid loss: "},
      {"Epoch 1 step 100 loss: ", "Epoch 1 loss: "},
      {"0.5 acc ", "best 0.5 acc "}};
  for (const auto& [one, other] : pairs) EXPECT_NE(LineForm(one), LineForm(other)) << one;
}

TEST(LineForm, LineBeginningIsAnExpressionOfAnyNumbers) {
  const std::string line = "  3/10 (a.b)  acc";
  EXPECT_EQ(LineBeginning(line, line.size() - 3), "^ *[\\d.]+/[\\d.]+ +\\(a\\.b\\) +");
  EXPECT_EQ(LineBeginning("x", 0), "^");
}

TEST(LineForm, WordBeforeHasWhatPartsIt) {
  const std::string line = "epoch 3 val - acc: 0.5";
  EXPECT_EQ(WordBefore(line, line.find("acc")), "val - ");
  EXPECT_EQ(WordBefore(line, 0), "");
  EXPECT_EQ(EscapedForRegex("a (b.c) d-e"), "a \\(b\\.c\\) d-e");
}

TEST(FindDataSplit, IsNamedBehindAValue) {
  EXPECT_EQ(FindDataSplit("0.99 (Train)").name, "train");
  EXPECT_EQ(FindDataSplit("0.99 (Train)").word, "Train");
  EXPECT_EQ(FindDataSplit("0.9, \"split\": \"valid\"}").name, "val");
  EXPECT_EQ(FindDataSplit("0.9 on the test set").name, "test");
  EXPECT_EQ(FindDataSplit("0.9 val_loss 0.1, val: 0.3, trained for 3 s").name, "");
}

TEST(LineForm, AUnitStandsRightBehindANumberOrApart) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"ms", "ms"}, {" ms, lr 0.1", "ms"}, {"%", "%"}, {" %", "%"},      {"k img/s", "k"},
      {" s", "s"},  {" s 3", ""},          {"", ""},   {" min 0.5", ""}, {" sloss 3", ""}};
  for (const auto& [tail, unit] : cases) EXPECT_EQ(UnitBehind(tail), unit) << tail;
}

TEST(LineForm, AChangeOrAWholeBehindANumberMayBeTheRestOfIt) {
  EXPECT_EQ(RestBehind("0.057", " -> 0.615"), " -> 0.615");
  EXPECT_EQ(RestBehind("0.057", " --> 0.615).  Saving"), " --> 0.615");
  EXPECT_EQ(RestBehind("969", " of 980 right"), " of 980");
  EXPECT_EQ(RestBehind("969", " / 980"), " / 980");
  for (const char* const none : {" -> saved", " of all", " / epoch", ", lr 0.1", " - 0.3"}) {
    EXPECT_EQ(RestBehind("0.5", none), "") << none;
  }
}

TEST(LineForm, ASummaryIsToldByAWordBehindItsValue) {
  EXPECT_EQ(FindSummaryWord(" (mean of 3)"), "mean");
  EXPECT_EQ(FindSummaryWord(" (majority baseline, no training)"), "baseline");
  EXPECT_EQ(FindSummaryWord(" (target)"), "target");
  EXPECT_EQ(FindSummaryWord("% [before training]"), "before training");
  EXPECT_EQ(FindSummaryWord(" (test)"), "test");
  EXPECT_EQ(FindSummaryWord(" (best so far)"), "best so far");
  EXPECT_EQ(FindSummaryWord(" <- goal"), "goal");
  for (const char* const none : {" mean 0.5", " (new best)", "", ", saved the best model", " (3 s)",
                                 " (saving model)", " (improved)", " (0.25)"}) {
    EXPECT_EQ(FindSummaryWord(none), "") << none;
  }
}

TEST(LineForm, AnEpochIsToldByItsNumberAndTheCountersBesideIt) {
  const std::vector<std::pair<const char*, const char*>> cases = {
      {"Epoch 3/10 - 12s 15 ms - acc: ", "3/10/"},
      {"[12:30:01] Epoch:3 acc ", "3/"},
      {"2026-11-23 12:30:01,123 INFO epoch=3, loss 0.25, acc ", "3/"},
      {"{\"epoch\":3,\"acc\":", "3/"},
      {"Train Epoch: 1 [640/60000 (1%)]\tLoss: ", "1/640/60000/1/"},
      {"epoch 1.5/3 acc ", ""},
      {"epoch time 3 acc ", ""},
      {"step 3 acc ", ""},
      {"acc ", ""}};
  for (const auto& [before, counters] : cases) {
    const EpochPlace place = FindEpoch(before);
    EXPECT_EQ(place.epoch ? place.counters : "", counters) << before;
  }
  EXPECT_EQ(FindEpoch("Epoch 3/10 acc ").epoch, 3);
}

}  // namespace
}  // namespace tune
