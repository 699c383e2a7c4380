// Iterations found in what a program prints, however its output comes in pieces.
#include "trial_runner/output_metrics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/limits.h"

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

OutputPattern Pattern(const std::string& metric, StreamChoice from = StreamChoice::kStdout) {
  Result<OutputPattern> made = OutputPattern::Make(metric, "\\b" + metric + ": {number}", from);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}
OutputRules Rules(std::vector<std::string> metrics, const std::string& report_on = "") {
  OutputRules rules;
  for (const std::string& metric : metrics) rules.patterns.push_back(Pattern(metric));
  rules.report_on = report_on;
  return rules;
}
OutputRules NumberedRules(std::vector<std::string> metrics, int64_t first = 1) {
  OutputRules rules = Rules(std::move(metrics));
  rules.iteration = IterationPattern{*OutputPattern::Make("iteration", "epoch {number}"), first};
  return rules;
}

// "acc=0.5 loss=2", with "3: " before it where the iteration was printed.
std::vector<std::string> Shown(const std::vector<OutputReport>& reports) {
  std::vector<std::string> texts;
  for (const OutputReport& report : reports) {
    std::string text = report.iteration ? std::to_string(*report.iteration) + ":" : "";
    for (const auto& [name, value] : report.metrics) {
      std::string number = std::to_string(value);
      number.erase(number.find_last_not_of('0') + 1);
      if (number.ends_with('.')) number.pop_back();
      text += (text.empty() ? "" : " ") + name + "=" + number;
    }
    texts.push_back(text);
  }
  return texts;
}

class OutputMetricsTest : public testing::Test {
 protected:
  void Begin(OutputRules rules, std::vector<std::string> wanted = {"acc"}) {
    metrics_.emplace(std::move(rules), std::move(wanted));
  }
  std::vector<std::string> Print(const std::string& text) {
    return Shown(metrics_->Read(OutputStream::kStdout, text));
  }
  std::vector<std::string> PrintError(const std::string& text) {
    return Shown(metrics_->Read(OutputStream::kStderr, text));
  }
  std::vector<std::string> Finish() { return Shown(metrics_->Finish()); }
  std::string Refusal() { return metrics_->refusal().value_or(""); }

  std::optional<OutputMetrics> metrics_;
};

// ---- what an iteration is

TEST_F(OutputMetricsTest, AnIterationIsAValueOfTheSweepsMetric) {
  Begin(Rules({"acc", "loss"}));
  EXPECT_THAT(Print("loss: 5\nloss: 4\nloss: 3\n"), IsEmpty());
  EXPECT_THAT(Print("acc: 0.5\n"), ElementsAre("acc=0.5 loss=3"));
  EXPECT_THAT(Print("acc: 0.6\n"), ElementsAre("acc=0.6 loss=3")) << "the last value is held";
  EXPECT_THAT(Print("loss: 1 acc: 0.7\n"), ElementsAre("acc=0.7 loss=1"));
  EXPECT_THAT(Finish(), IsEmpty());
}

TEST_F(OutputMetricsTest, AMetricThatWasNotSeenYetIsAbsent) {
  Begin(Rules({"acc", "loss"}));
  EXPECT_THAT(Print("acc: 1\nloss: 2\nacc: 3\n"), ElementsAre("acc=1", "acc=3 loss=2"));
}

TEST_F(OutputMetricsTest, OthersOfTheSameLineAreOfTheSameIterationWhereverTheyStand) {
  Begin(Rules({"loss", "acc"}));
  EXPECT_THAT(Print("acc: 1 loss: 9\nacc: 2 loss: 8\n"),
              ElementsAre("loss=9 acc=1", "loss=8 acc=2"));
}

TEST_F(OutputMetricsTest, ReportOnNamesTheMetricThatLeads) {
  Begin(Rules({"acc", "loss"}, "loss"));
  EXPECT_THAT(Print("acc: 1\nloss: 9\nacc: 2\nloss: 8\n"),
              ElementsAre("acc=1 loss=9", "acc=2 loss=8"));
}

TEST_F(OutputMetricsTest, OfSeveralNamesTheOneThatCameLastLeads) {
  Begin(Rules({"acc", "f1", "loss"}), {"f1", "acc"});
  EXPECT_THAT(Print("acc: 1\nloss: 7\n"), IsEmpty());
  EXPECT_THAT(Print("f1: 2\n"), ElementsAre("acc=1 f1=2 loss=7"));
  EXPECT_THAT(Print("acc: 3\nf1: 4\n"), ElementsAre("acc=3 f1=4 loss=7"));
}

// The size of a model is printed once, its accuracy each epoch.
TEST_F(OutputMetricsTest, ANameThatIsPrintedOnceIsHeld) {
  Begin(Rules({"acc", "size"}), {"acc", "size"});
  EXPECT_THAT(Print("size: 9\nacc: 1\nacc: 2\n"), ElementsAre("acc=1 size=9", "acc=2 size=9"));
}

TEST_F(OutputMetricsTest, WithoutAllItsNamesInTheOutputNothingLeads) {
  Begin(Rules({"acc"}), {"acc", "parameters"});
  EXPECT_THAT(Print("acc: 1\nacc: 2\n"), IsEmpty());
  EXPECT_THAT(metrics_->Unreported({}), ElementsAre(testing::Pair("acc", 2)));
}

TEST_F(OutputMetricsTest, KnowsWhatNoReportHad) {
  Begin(Rules({"acc", "test"}));
  EXPECT_THAT(Print("acc: 1\ntest: 5\n"), ElementsAre("acc=1"));
  EXPECT_THAT(metrics_->Unreported({}), ElementsAre(testing::Pair("test", 5)));
  EXPECT_THAT(metrics_->Unreported({"acc"}),
              ElementsAre(testing::Pair("acc", 1), testing::Pair("test", 5)));
}

TEST_F(OutputMetricsTest, TheFirstReportSaysWhereItWasRead) {
  OutputRules rules = Rules({"acc"});
  rules.patterns.push_back(Pattern("loss", StreamChoice::kStderr));
  Begin(std::move(rules));
  EXPECT_THAT(PrintError("the loss: 2 is small\n"), IsEmpty());
  const auto reports = metrics_->Read(OutputStream::kStdout, "acc: 1\nacc: 2\n");
  ASSERT_EQ(reports.size(), 2u);
  ASSERT_EQ(reports[0].findings.size(), 2u);
  EXPECT_EQ(reports[0].findings[0].line, "acc: 1");
  EXPECT_EQ(reports[0].findings[1].line, "the loss: 2 is small");
  EXPECT_EQ(reports[0].findings[1].stream, OutputStream::kStderr);
  EXPECT_THAT(reports[1].findings, IsEmpty());
}

// ---- lines

TEST_F(OutputMetricsTest, ReadsTheSameInWhateverPiecesTheOutputComes) {
  const std::string text = "a acc: 0.5\r\nacc: 0.6\rloss: 1 acc: 1\n\nloss: 2 acc: 7\nacc: 8";
  const auto read = [&](size_t size) {
    Begin(Rules({"acc", "loss"}));
    std::vector<std::string> all;
    for (size_t i = 0; i < text.size(); i += size) {
      for (std::string& report : Print(text.substr(i, size))) all.push_back(std::move(report));
    }
    for (std::string& report : Finish()) all.push_back(std::move(report));
    return all;
  };
  const std::vector<std::string> whole = read(text.size());
  EXPECT_THAT(whole, ElementsAre("acc=0.5", "acc=1 loss=1", "acc=7 loss=2", "acc=8 loss=2"));
  for (size_t size = 1; size < text.size(); ++size) EXPECT_EQ(read(size), whole) << size;
}

TEST_F(OutputMetricsTest, ALineOfAMegabyteIsSearched) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Print(std::string(1'000'000, '.')), IsEmpty());
  EXPECT_THAT(Print(" acc: 0.75\n"), ElementsAre("acc=0.75"));
}

// 60 redraws are not 60 iterations.
TEST_F(OutputMetricsTest, ABarCountsByItsLastState) {
  Begin(Rules({"acc"}));
  std::string bar;
  for (int i = 0; i < 60; ++i) bar += "\r" + std::to_string(i) + "/60 acc: 0." + std::to_string(i);
  EXPECT_THAT(Print(bar + "\ndone\n"), ElementsAre("acc=0.59"));
}

TEST_F(OutputMetricsTest, StandardErrorIsReadWhereItIsAskedFor) {
  OutputRules rules;
  rules.patterns = {Pattern("acc"), Pattern("loss", StreamChoice::kStderr),
                    Pattern("f", StreamChoice::kBoth)};
  Begin(std::move(rules));
  EXPECT_THAT(PrintError("acc: 9 loss: 3 f: 4\n"), IsEmpty());
  EXPECT_THAT(Print("acc: 1 loss: 9\nf: 5 acc: 2\n"),
              ElementsAre("acc=1 loss=3 f=4", "acc=2 loss=3 f=5"));
}

// ---- numbers that are printed

TEST_F(OutputMetricsTest, AnIterationHasTheNumberThatWasPrinted) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("epoch 5\nacc: 1\nepoch 7 acc: 2\n"), ElementsAre("5: acc=1", "7: acc=2"));
  EXPECT_EQ(Refusal(), "");
}

TEST_F(OutputMetricsTest, NumbersFromZeroAreSaidToBe) {
  Begin(NumberedRules({"acc"}, 0));
  EXPECT_THAT(Print("epoch 0 acc: 1\nepoch 1 acc: 2\n"), ElementsAre("1: acc=1", "2: acc=2"));
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("epoch 0 acc: 1\n"), IsEmpty());
  EXPECT_EQ(Refusal(),
            "iteration: read 0, in the line 'epoch 0 acc: 1', expected a whole number from 1; for "
            "a program that counts from 0 write iteration: {regex: ..., first: 0}");
}

TEST_F(OutputMetricsTest, ASecondValueOfAnIterationIsRefused) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("epoch 1\nacc: 1\nacc: 2\nepoch 2 acc: 3\n"), ElementsAre("1: acc=1"));
  EXPECT_THAT(Refusal(), AllOf(HasSubstr("iteration: read 1 with another value of 'acc'"),
                               HasSubstr("'acc: 2'"), HasSubstr("must rise")));
}

TEST_F(OutputMetricsTest, ANumberThatFallsIsRefused) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("epoch 3 acc: 1\nepoch 1 acc: 2\n"), ElementsAre("3: acc=1"));
  EXPECT_THAT(Refusal(), HasSubstr("must rise"));
}

TEST_F(OutputMetricsTest, ASummaryThatRepeatsAnIterationIsPassedOver) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("epoch 1 acc: 2\nepoch 2 acc: 1\nthe best: epoch 1 acc: 2\n"),
              ElementsAre("1: acc=2", "2: acc=1"));
  EXPECT_EQ(Refusal(), "");
}

TEST_F(OutputMetricsTest, AValueBeforeTheFirstNumberIsRefused) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("acc: 1\nepoch 1 done\n"), IsEmpty());
  EXPECT_THAT(Refusal(), HasSubstr("stands before the first number of `iteration`"));
}

TEST_F(OutputMetricsTest, PartsOfIterationsAreRefused) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Print("epoch 0.5 acc: 1\n"), IsEmpty());
  EXPECT_THAT(Refusal(), HasSubstr("read 0.5"));
}

// A bar over all epochs is one line; its states under one number are one iteration.
TEST_F(OutputMetricsTest, ABarWithNumbersCountsByItsLastStateUnderEach) {
  Begin(NumberedRules({"acc"}, 0));
  EXPECT_THAT(Print("\repoch 0 acc: 1\repoch 0 acc: 2\repoch 1 acc: 2\repoch 1 acc: 3\r"),
              ElementsAre("1: acc=2"));
  EXPECT_THAT(Print("\repoch 2 acc: 3\repoch 2 acc: 4\n"), ElementsAre("2: acc=3"));
  EXPECT_THAT(Finish(), ElementsAre("3: acc=4"));
}

// ---- what is doubtful

std::vector<std::string> Notes(const std::vector<OutputReport>& reports) {
  std::vector<std::string> notes;
  for (const OutputReport& report : reports) {
    if (!report.note.empty()) notes.push_back(report.note);
  }
  return notes;
}

TEST_F(OutputMetricsTest, ALineOfAnotherKindIsTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(
          metrics_->Read(OutputStream::kStdout,
                         "Epoch 1: acc: 0.5\nEpoch 2: acc: 0.6\nDone. acc: 0.6\nBest acc: 0.6\n")),
      ElementsAre(
          "the regular expression of 'acc' matches lines of two kinds: 'Epoch 1: acc: 0.5' and "
          "'Done. acc: 0.6'; each of them counts as an iteration. If one kind is a summary, begin "
          "the expression with what the other lines begin with, such as "
          "'^Epoch\\b.*\\bacc: {number}'"));
}

TEST_F(OutputMetricsTest, TheExpressionThatItNamesMatchesOneKind) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "acc: 0.5\nbest acc: 0.6\n")),
              ElementsAre(HasSubstr("such as '^\\bacc: {number}'")));
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "  3/10 acc: 0.5\nbest acc: 0.6\n")),
              ElementsAre(HasSubstr("such as '^ *[\\d.]+/[\\d.]+ +\\bacc: {number}'")));
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout, "Epoch best acc: 0.5\nEpoch last acc: 0.6\n")),
      ElementsAre(HasSubstr("such as '^Epoch +best +\\bacc: {number}'")));
}

TEST_F(OutputMetricsTest, BesideALineThatNamesNoPartOfTheDataThatOfTheValidationIsProposed) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout,
                           "Epoch 1 - loss: 0.9, acc: 0.5\n"
                           "Epoch 1 - Validation - loss: 0.9, acc: 0.4\n")),
      ElementsAre(HasSubstr(
          "One is of 'Validation', the other does not say of what: write into the expression "
          "which of them is meant; '^Epoch +[\\d.]+ +- +Validation +- +loss: +[\\d.]+, +\\bacc: "
          "{number}' reads 'Validation'")));
}

TEST_F(OutputMetricsTest, ALineOfAnotherKindWithItsOwnNumberIsAnIteration) {
  Begin(NumberedRules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "epoch 1 acc: 0.5\nthe last one, epoch 2 acc: 0.6\n")),
              IsEmpty());
}

TEST_F(OutputMetricsTest, TwoValuesInALineAreTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout,
                           "train acc: 0.9, val acc: 0.8\ntrain acc: 0.9, val acc: 0.85\n")),
      ElementsAre(
          "the regular expression of 'acc' found two values in one line: in 'train acc: 0.9, val "
          "acc: 0.8' the last one, 0.8, is read and 0.9 is not; write into it what stands before "
          "the one that is meant: 'train \\bacc: {number}' reads 0.9, 'val \\bacc: {number}' "
          "reads 0.8"));
}

TEST_F(OutputMetricsTest, APartOfTheDataThatIsNamedBehindTheValueIsTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout,
                           "epoch 1 acc: 0.99 (train)\nepoch 1 acc: 0.5 (Val)\n")),
      ElementsAre("the regular expression of 'acc' matches lines of two kinds: 'epoch 1 "
                  "acc: 0.99 (train)' and 'epoch 1 acc: 0.5 (Val)'; each of them counts as "
                  "an iteration. Write into the expression which of them is meant: '\\bacc: "
                  "{number}.*\\btrain' or '\\bacc: {number}.*\\bVal'"));
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "acc: 0.9, test: 0.7\nacc: 0.8, saved the best val model\n"
                                   "acc: 0.7, val: 0.8\nacc: 0.9 in validation\n")),
              IsEmpty())
      << "a name of another number, and one word for one part of the data";
}

TEST_F(OutputMetricsTest, TwoValuesForOneEpochAreTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout,
                           "Epoch 1/3 - 2s - acc: 0.9\nEpoch 1/3 - 1s - acc: 0.5\n"
                           "Epoch 2/3 - 2s - acc: 0.9\nEpoch 2/3 - 1s - acc: 0.5\n")),
      ElementsAre("two values of 'acc' are printed for one epoch: in 'Epoch 1/3 - 2s - acc: 0.9' "
                  "and 'Epoch 1/3 - 1s - acc: 0.5'; each of them counts as an iteration. Let the "
                  "program say in the line which it is, and write that into the expression"));
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "epoch=1 acc: 0.5\nepoch=1 acc: 0.5\n")),
              ElementsAre(HasSubstr("write iteration: {regex: ...}")));
}

TEST_F(OutputMetricsTest, EpochsThatBeginAgainAreTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "Epoch 1 acc: 0.5\nEpoch 2 acc: 0.6\nEpoch 1 acc: 0.4\n")),
              ElementsAre(HasSubstr("the epochs of 'acc' begin again: in 'Epoch 2 acc: 0.6' and "
                                    "'Epoch 1 acc: 0.4'; the values of several trainings")));
}

TEST_F(OutputMetricsTest, TheSameOnBothStreamsIsTold) {
  OutputRules rules = Rules({"acc"});
  rules.patterns = {*OutputPattern::Make("acc", "acc: {number}", StreamChoice::kBoth)};
  Begin(rules);
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "epoch 1 acc: 0.5\n")), IsEmpty());
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStderr, "epoch 1 acc: 0.5\n")),
              ElementsAre(HasSubstr("stand on standard output and on standard error")));
}

TEST_F(OutputMetricsTest, AMeanBesideItsPartsAndABaselineAreTold) {
  for (const std::string line : {"acc: 0.6 (mean of 3)\n", "acc: 0.6 (majority baseline)\n"}) {
    Begin(Rules({"acc"}));
    EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "acc: 0.5\n" + line)),
                ElementsAre(HasSubstr("lines of two kinds")))
        << line;
  }
}

TEST_F(OutputMetricsTest, TheAdviceReadsTheValidationsLine) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "train acc: 0.9\nval acc: 0.5\n")),
              ElementsAre(HasSubstr("One is of 'train', the other of 'val': write into the "
                                    "expression which of them is meant; '^val +\\bacc: {number}' "
                                    "reads 'val'")));
}

TEST_F(OutputMetricsTest, TheAdviceSpeaksOfTheDataThatIsNamedNextToTheValue) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "Epoch 1/4 | train loss 1.0 | val acc: 0.5\n"
                                   "Restoring weights, val acc: 0.7\n")),
              ElementsAre(HasSubstr("such as '^Epoch\\b")));
}

TEST_F(OutputMetricsTest, TheAdviceForTwoValuesHoldsForOtherLinesToo) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "epoch 3 acc: 0.78 best acc: 0.65\n")),
              ElementsAre(AllOf(HasSubstr("'best \\bacc: {number}' reads 0.65"),
                                Not(HasSubstr("reads 0.78")))));
}

TEST_F(OutputMetricsTest, TwoValuesUnderOneEpochsHeadingAreTold) {
  for (const std::string last : {"acc: 0.7\n", "\nFinal model\nacc: 0.7\n"}) {
    Begin(Rules({"acc"}));
    EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                     "Epoch 1/2\nacc: 0.5\nEpoch 2/2\nacc: 0.6\n" + last)),
                ElementsAre(HasSubstr("two values of 'acc' are printed for one epoch")))
        << last;
  }
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(
                  OutputStream::kStdout,
                  "Dev set after epoch 1:\nacc: 0.5\nHeld out after epoch 1:\nacc: 0.6\n"
                  "Dev set after epoch 2:\nacc: 0.5\nHeld out after epoch 2:\nacc: 0.6\n")),
              ElementsAre(HasSubstr("for one epoch")));
  // What counts within an epoch is none.
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "Epoch 1/2\nstep 100 acc: 0.5\nstep 200 acc: 0.6\n"
                                   "Epoch 2/2\nstep 100 acc: 0.7\nstep 200 acc: 0.8\n")),
              IsEmpty());
}

TEST_F(OutputMetricsTest, HowTheFirstValueStandsIsToldOnce) {
  Begin(Rules({"acc"}));
  const auto reports =
      metrics_->Read(OutputStream::kStdout, "Epoch 4: acc: 93 %\nEpoch 5: acc: 94 %\n");
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(reports[0].reading, "4 %");
  EXPECT_EQ(reports[1].reading, "");
  Begin(Rules({"acc"}));
  EXPECT_EQ(metrics_->Read(OutputStream::kStdout, "acc: 46/50\n")[0].reading, "- /50");
  Begin(Rules({"acc"}));
  EXPECT_EQ(metrics_->Read(OutputStream::kStdout, "acc: nan\n")[0].reading, "");
}

TEST_F(OutputMetricsTest, BatchesOfAnEpochAreIterationsWhereNothingElseIs) {
  for (const std::string lines :
       {"Epoch: 1 [640/60000 (1%)] acc: 0.1\nEpoch: 1 [1280/60000 (2%)] acc: 0.2\n",
        "Epoch 1 step 100 acc: 0.1\nEpoch 1 step 200 acc: 0.2\n", "acc: 0.1\nacc: 0.1\n"}) {
    Begin(Rules({"acc"}));
    EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, lines)), IsEmpty()) << lines;
  }
}

TEST_F(OutputMetricsTest, BatchesBesideEpochsAreTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "Epoch 1 step 100 acc: 0.3\nEpoch 1 step 200 acc: 0.4\n"
                                   "Epoch 1 acc: 0.5\n")),
              ElementsAre(HasSubstr("matches lines of two kinds: 'Epoch 1 step 100 acc: 0.3'")));
}

TEST_F(OutputMetricsTest, OneOfSeveralIsTold) {
  for (const std::string word : {"[rank 0] epoch 1 ", "fold 0: ", "gpu0 "}) {
    std::string other = word;
    other[other.find('0')] = '1';
    Begin(Rules({"acc"}));
    EXPECT_THAT(
        Notes(metrics_->Read(OutputStream::kStdout, word + "acc: 0.3\n" + other + "acc: 0.4\n")),
        ElementsAre(HasSubstr("the lines of 'acc' seem to be of several '")))
        << word;
  }
}

TEST_F(OutputMetricsTest, AHeadingSaysWhatStandsBelowIt) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout,
                           "Epoch 1\nTraining:\n  loss: 1\n  acc: 0.9\nValidation:\n  acc: 0.8\n")),
      ElementsAre(HasSubstr("One stands under the heading of 'train', the other under that of "
                            "'val'")));
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "Training started\nacc: 0.5\nEpoch 2\nacc: 0.6\n"
                                   "Validation took 3 s\nacc: 0.7\n")),
              IsEmpty());
}

TEST_F(OutputMetricsTest, ValuesUnderTwoHeadingsOfAnyNameByTurnsAreTold) {
  for (const std::string frame : {":", " ==="}) {
    const std::string open = frame == ":" ? "" : "=== ";
    const std::string clean = open + "Clean set" + frame + "\nloss: 1\nacc: 0.9\n";
    const std::string noisy = open + "Noisy set" + frame + "\nloss: 1\nacc: 0.5\n";
    Begin(Rules({"acc"}));
    EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, clean + noisy + clean + noisy)),
                ElementsAre(HasSubstr("the values of 'acc' stand under two headings by turns: "
                                      "'acc: 0.5' under 'noisy set' and 'acc: 0.9' under 'clean "
                                      "set'")));
  }
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  EXPECT_THAT(notes("Warm up:\nacc: 0.1\nacc: 0.2\nMain phase:\nacc: 0.3\nacc: 0.4\n"), IsEmpty())
      << "one after the other";
  EXPECT_THAT(notes("Results:\nacc: 0.1\nSaving:\nResults:\nacc: 0.2\nResults:\nacc: 0.3\n"),
              IsEmpty());
  EXPECT_THAT(notes("New best:\nepoch 1 acc: 0.1\nPatience:\nepoch 2 acc: 0.2\n"
                    "New best:\nepoch 3 acc: 0.3\n"),
              IsEmpty())
      << "each is of an epoch of its own";
}

TEST_F(OutputMetricsTest, AHeadingWithinAnEpochPartsItsValues) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"loss"}), {"loss"});
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  const std::string epoch = "    loss: 0.1\nValidating...\n    loss: 1.1\n";
  EXPECT_THAT(notes("Epoch 1\n" + epoch + "Epoch 2\n" + epoch),
              ElementsAre(HasSubstr("loss: 1.1' under 'validating' and '    loss: 0.1' under "
                                    "none")));
  const std::string saved = "    loss: 0.1\nSaving...\n";
  EXPECT_THAT(notes("Epoch 1\n" + saved + "Epoch 2\n" + saved + "Epoch 3\n" + saved), IsEmpty());
}

TEST_F(OutputMetricsTest, SeveralTrainingsByTheirHeadingsAreTold) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  for (const auto& [first, second] :
       {std::pair("=== Fold 1 ===", "=== Fold 2 ==="), std::pair("fold 1/5:", "fold 2/5:"),
        std::pair("Stage 1: pretraining", "Stage 2: finetuning"), std::pair("Run 1", "Run 2")}) {
    EXPECT_THAT(notes(std::string(first) + "\nacc: 0.1\nacc: 0.2\n" + second + "\nacc: 0.3\n"),
                ElementsAre(HasSubstr("are of several trainings")))
        << first;
  }
  EXPECT_THAT(notes("Fold 1 took 3 s\nacc: 0.1\nFold 2 took 4 s\nacc: 0.2\n"), IsEmpty());
  EXPECT_THAT(notes("Stage 1\nloss: 1\nStage 2\nacc: 0.1\nacc: 0.2\n"), IsEmpty());
}

TEST_F(OutputMetricsTest, TheAdviceIsForTheEpochsLines) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout, "Initial acc: 0.25\nEpoch 1: acc: 1.0\n")),
      ElementsAre(HasSubstr("such as '^Epoch\\b.*\\bacc: {number}'")));
}

TEST_F(OutputMetricsTest, ValuesAtPartsOfARoundAreToldWhenTheNextOneBegins) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  EXPECT_THAT(notes("[50%] acc: 0.1\n[100%] acc: 0.3\n[50%] acc: 0.2\n[100%] acc: 0.4\n"),
              ElementsAre(AllOf(HasSubstr("the values of 'acc' are printed at parts of a round: in "
                                          "'[100%] acc: 0.3' and '[50%] acc: 0.2'"),
                                HasSubstr("'100 ?%.*\\bacc: {number}'"))));
  EXPECT_THAT(notes("25% acc: 0.1\n50% acc: 0.3\n100% acc: 0.4\n"), IsEmpty());
  EXPECT_THAT(notes("100%|##| acc: 0.1\n100%|##| acc: 0.3\n"), IsEmpty());
  EXPECT_THAT(notes("cpu 40% acc: 0.1\ncpu 90% acc: 0.3\ncpu 35% acc: 0.3\n"), IsEmpty());
}

TEST_F(OutputMetricsTest, ARemarkBehindOneValueIsToldAndThatItIsTheBestIsNone) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  EXPECT_THAT(notes("acc: 0.99 (target)\nacc: 0.1\nacc: 0.2\n"),
              ElementsAre(HasSubstr("matches lines of two kinds")));
  EXPECT_THAT(notes("acc: 0.1\nacc: 0.2\nacc: 0.99 (test)\n"),
              ElementsAre(HasSubstr("matches lines of two kinds")));
  EXPECT_THAT(notes("acc: 0.1 (new best)\nacc: 0.05\nacc: 0.2 (saved)\n"), IsEmpty());
}

TEST_F(OutputMetricsTest, EachLineThatWasEndedIsAnIterationThoughItIsDrawnOver) {
  const std::string up = "\x1b[1A\x1b[2K";
  Begin(Rules({"acc"}));
  const auto reports =
      metrics_->Read(OutputStream::kStdout, "epoch 1 acc: 0.1\n" + up + "epoch 2 acc: 0.2\n" + up +
                                                "epoch 3 acc: 0.3\n" + up + "epoch 4 acc: 0.4\n");
  EXPECT_THAT(Shown(reports), ElementsAre("acc=0.1", "acc=0.2", "acc=0.3", "acc=0.4"));
  EXPECT_THAT(Notes(reports), IsEmpty());
  Begin(Rules({"acc"}));
  EXPECT_THAT(
      Notes(metrics_->Read(OutputStream::kStdout, "10% acc: 0.1\n" + up + "20% acc: 0.2\n")),
      ElementsAre(HasSubstr("is drawn over one that was read: '20% acc: 0.2' over '10% acc: "
                            "0.1'")));
}

TEST_F(OutputMetricsTest, AnEpochThatABarDrawsOverIsTold) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    std::vector<std::string> told = Notes(metrics_->Read(OutputStream::kStdout, output));
    for (const std::string& note : Notes(metrics_->Finish())) told.push_back(note);
    return told;
  };
  EXPECT_THAT(notes("\repoch 1 acc: 0.1\repoch 1 acc: 0.2\repoch 2 acc: 0.3\repoch 3 acc: 0.4\n"),
              ElementsAre(HasSubstr("'epoch 1 acc: 0.2' was not read, and 'epoch 2 acc: 0.3' "
                                    "follows")));
  EXPECT_THAT(notes("\repoch 1 acc: 0.1\repoch 1 acc: 0.2\n\repoch 2 acc: 0.3\repoch 2 acc: 0.4\n"),
              IsEmpty());
}

TEST_F(OutputMetricsTest, ValuesOnBothStreamsAreTold) {
  OutputRules rules = Rules({});
  rules.patterns.push_back(Pattern("acc", StreamChoice::kBoth));
  Begin(std::move(rules));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "acc: 1\nacc: 2\n")), IsEmpty());
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStderr, "acc: 1\nacc: 2\n")),
              ElementsAre(HasSubstr("stand on standard output and on standard error")));
}

TEST_F(OutputMetricsTest, EachLineTwiceIsTold) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  EXPECT_THAT(
      notes("acc: 1\nacc: 1\nacc: 2\nacc: 2\nacc: 3\nacc: 3\nacc: 4\nacc: 4\n"),
      ElementsAre(HasSubstr("each value of 'acc' is printed twice: 'acc: 3' and 'acc: 3'")));
  EXPECT_THAT(notes("12:00:01 acc: 1\nacc: 1\n12:00:02 acc: 2\nacc: 2\n12:00:03 acc: 3\nacc: 3\n"),
              ElementsAre(HasSubstr("'12:00:03 acc: 3' and 'acc: 3'")));
  EXPECT_THAT(notes("acc: 0\nacc: 0\nacc: 0\nacc: 0\nacc: 1\nacc: 1\nacc: 1\nacc: 2\n"), IsEmpty());
  EXPECT_THAT(notes("loss 3 acc: 1\nloss 2 acc: 1\nloss 1 acc: 2\n"), IsEmpty());
}

TEST_F(OutputMetricsTest, ACommaThatMayBeThePointIsTold) {
  const auto notes = [this](const std::string& output) {
    Begin(Rules({"acc"}));
    std::vector<std::string> told = Notes(metrics_->Read(OutputStream::kStdout, output));
    if (const std::string end = metrics_->NoteAtEnd(); !end.empty()) told.push_back(end);
    return told;
  };
  const char* const told = "have one comma and three digits behind it each, as in 'acc: 14,100'";
  EXPECT_THAT(notes("acc: 12,935\nacc: 13,001\nacc: 14,100\nacc: 15,200\n"),
              ElementsAre(HasSubstr(told)));
  EXPECT_THAT(notes("acc: 14,100\n"), ElementsAre(HasSubstr(told)));
  EXPECT_THAT(notes("acc: 12,935\nacc: 935\nacc: 14,100\n"), IsEmpty());
  EXPECT_THAT(notes("acc: 12,935\nacc: 1,012,935\nacc: 14,100\nacc: 14,100\n"), IsEmpty());
  EXPECT_THAT(notes("loss 0.5 acc: 12,935\nloss 0.4 acc: 14,100\n"), IsEmpty());
  EXPECT_THAT(notes("loss 0,5 acc: 12,935\n"), IsEmpty());
  EXPECT_THAT(Refusal(), HasSubstr("took '12,935' beside '0,5', which has a decimal comma"));
}

TEST_F(OutputMetricsTest, TwoUnitsAreTold) {
  Begin(Rules({"acc"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "acc: 896ms\nacc: nan\nacc: 896ms.\nacc: 1.02s\nacc: 2k\n")),
              ElementsAre(HasSubstr("the values of 'acc' are printed in two units: in 'acc: 896ms' "
                                    "and 'acc: 1.02s'")));
}

// A longer one, or one that is no text, would be refused as a report.
TEST_F(OutputMetricsTest, ANoteIsNeverLongerThanAReportTakes) {
  Begin(Rules({"acc"}));
  const std::string digits = "0." + std::string(5'000, '1');
  const auto notes = Notes(
      metrics_->Read(OutputStream::kStdout, "acc: " + digits + "/2\nacc: " + digits + "/3\n"));
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(notes[0].size(), limits::kErrorBytesMax);
}

TEST_F(OutputMetricsTest, ANumberThatGoesOnInAnotherNotationIsTold) {
  const auto notes = [this](const char* output) {
    Begin(Rules({"acc"}));
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  EXPECT_THAT(notes("acc: 1 234.5\nacc: 2 000\n"),
              ElementsAre("the regular expression of 'acc' reads 1 out of '1 234.5' in 'acc: 1 "
                          "234.5'; print the value as one number, such as 12345.6, or, if 1 is "
                          "what is meant, write what stands behind it into the expression"));
  EXPECT_THAT(notes("acc: 5-fold 0.3\n"), ElementsAre(HasSubstr("reads 5 out of '5-fold'")));
  EXPECT_THAT(notes("acc: 2024-01-05\n"), ElementsAre(HasSubstr("reads 2024 out of '2024-01-05'")));
  EXPECT_THAT(notes("acc: 0.5-loss 0.1\nacc: 3 - loss 1\nacc: 3-\n"), IsEmpty());
  EXPECT_THAT(notes("acc: 3:45\n"), ElementsAre(HasSubstr("reads 3 out of '3:45'")));
  EXPECT_THAT(notes("acc: 45/50\nacc: 46/50\nacc: 46/48\n"),
              ElementsAre(HasSubstr("reads 46 out of '46/48'")));
  EXPECT_THAT(notes("acc: 9843/10000 (98%)\nacc: 9850/10000 (98%)\n"), IsEmpty());
  EXPECT_THAT(notes("acc: 1.0(3)e-2 m\n"), ElementsAre(HasSubstr("reads 1.0 out of '1.0(3)e-2'")));
  EXPECT_THAT(notes("acc: 1.0 (3)\nacc: 1.0(best)\n"), IsEmpty());
  EXPECT_THAT(notes("acc: 0.5 100\nacc: 1: next\nacc: 12 100 ms\n"), IsEmpty());
  EXPECT_THAT(notes("acc: 969 of 980\nacc: 971 of 980\n"), IsEmpty());
  EXPECT_THAT(notes("acc: 969 of 980\nacc: 950 of 960\n"),
              ElementsAre(HasSubstr("reads 950 out of '950 of 960'")));
  EXPECT_THAT(notes("epoch 1: acc: 0.057 -> 0.615\n"),
              ElementsAre(HasSubstr("reads 0.057 out of '0.057 -> 0.615'")));
  // What the program prints need not be text, nor short.
  EXPECT_THAT(notes("acc: 5-f\xe4ltig 0.3\n"), ElementsAre(HasSubstr("reads 5 out of '5-f?ltig'")));
  const std::string hash(5'000, 'f');
  EXPECT_THAT(notes(("acc: 7-" + hash + "\n").c_str()),
              ElementsAre(HasSubstr("reads 7 out of '7-" + hash.substr(0, 118) + "...'")));
  OutputRules spelled = Rules({});
  spelled.patterns.push_back(*OutputPattern::Make("acc", "acc: {number}/"));
  Begin(spelled);
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout, "acc: 4/50\nacc: 4/48\n")), IsEmpty());
}

TEST_F(OutputMetricsTest, ADashThatMayPartANameFromItsValueIsTold) {
  const auto notes = [this](const char* regex, const char* output) {
    OutputRules rules = Rules({});
    rules.patterns.push_back(*OutputPattern::Make("acc", regex));
    Begin(rules);
    return Notes(metrics_->Read(OutputStream::kStdout, output));
  };
  EXPECT_THAT(notes("reward{number}", "ep-2-reward-0.20\nep-3-reward-0.30\n"),
              ElementsAre(HasSubstr("reads -0.2 in 'ep-2-reward-0.20', where the - may part")));
  EXPECT_THAT(notes("reward-{number}", "ep-2-reward-0.20\n"), IsEmpty());
  EXPECT_THAT(notes("reward[=: ]{number}", "reward=-0.2\nreward: -0.2\nreward -0.2\n"), IsEmpty());
}

// The two streams come through two pipes, whose lines have no order.
TEST_F(OutputMetricsTest, OnAnotherStreamNothingIsBehind) {
  OutputRules rules = Rules({"acc", "mem"});
  rules.patterns[1] = *OutputPattern::Make("mem", "mem: {number}", StreamChoice::kStderr);
  Begin(rules);
  std::vector<std::string> notes;
  for (int i = 0; i < 4; ++i) {
    for (const std::string& note : Notes(metrics_->Read(OutputStream::kStdout, "acc: 1\n"))) {
      notes.push_back(note);
    }
    metrics_->Read(OutputStream::kStderr, "mem: 1\n");
  }
  EXPECT_THAT(notes, IsEmpty());
}

TEST_F(OutputMetricsTest, AMetricBehindTheLeadingOneIsToldOf) {
  Begin(Rules({"acc", "mem"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "acc: 1\nmem: 1\nacc: 2\nmem: 2\nacc: 3\nmem: 3\nacc: 4\n")),
              ElementsAre("each report has the 'mem' of the iteration before: it is printed behind "
                          "'acc', which makes the report; write report_on: mem"));
  Begin(Rules({"acc", "mem"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "acc: 1\nmem: 1\nacc: 2\nacc: 3\nmem: 2\nacc: 4\n")),
              IsEmpty())
      << "each second iteration has one";
  Begin(Rules({"acc", "mem"}));
  EXPECT_THAT(Notes(metrics_->Read(OutputStream::kStdout,
                                   "acc: 1\nmem: 1\nmem: 1\nacc: 2\nmem: 2\nmem: 3\nacc: 3\nmem: "
                                   "4\nacc: 4\n")),
              IsEmpty())
      << "it is printed more often";
}

TEST_F(OutputMetricsTest, PartsOfAMetricThatChangeTheirOrderAreToldOf) {
  const auto notes = [this](const std::string& text, const std::vector<std::string>& wanted) {
    metrics_.emplace(Rules({"power", "delay"}), wanted);
    return Notes(metrics_->Read(OutputStream::kStdout, text));
  };
  const std::string turning =
      "power: 1\ndelay: 1\ndelay: 2\npower: 2\npower: 3\ndelay: 3\ndelay: 4\npower: 4\n";
  EXPECT_THAT(notes(turning, {"power", "delay"}),
              ElementsAre(StartsWith("'power' is printed before 'delay' and then behind it")));
  EXPECT_THAT(notes(turning, {"delay"}), IsEmpty()) << "it decides nothing";
  EXPECT_THAT(notes("power: 1\ndelay: 1\ndelay: 2\ndelay: 3\n", {"power", "delay"}), IsEmpty())
      << "it is printed once";
  EXPECT_THAT(
      notes("power: 1\npower: 2\ndelay: 1\npower: 3\npower: 4\ndelay: 2\n", {"power", "delay"}),
      IsEmpty())
      << "it is printed more often";
}

// What is printed once before the loop hides that each report has the value of the one before: what
// is left over at the end tells it, where the best trial depends on it.
TEST_F(OutputMetricsTest, ADecidingValueThatIsLeftOverIsToldAtTheEnd) {
  const auto note = [this](const std::string& text, const std::vector<std::string>& wanted,
                           const std::vector<std::string>& constrained) {
    metrics_.emplace(Rules({"acc", "size"}), wanted, constrained);
    metrics_->Read(OutputStream::kStdout, text);
    metrics_->Finish();
    return metrics_->NoteAtEnd();
  };
  const std::string late = "size: 100\nacc: 1\nsize: 1\nacc: 2\nsize: 2\nacc: 3\nsize: 3\n";
  EXPECT_THAT(note(late, {"acc"}, {"size"}),
              StartsWith("the last 'size' is printed behind the last 'acc' and counts for no "
                         "iteration"));
  EXPECT_THAT(note(late, {"acc", "size"}, {}), EndsWith("write report_on: size"));
  EXPECT_EQ(note(late, {"acc"}, {}), "") << "it decides nothing";
  EXPECT_EQ(note("size: 1\nacc: 1\nsize: 2\nacc: 2\n", {"acc"}, {"size"}), "");
  EXPECT_EQ(note("size: 1\nacc: 1\nsize: 2\nacc: 2\nsize: 2\n", {"acc"}, {"size"}), "")
      << "a summary says it again";
  EXPECT_EQ(
      note("size: 1\nsize: 2\nacc: 1\nsize: 3\nsize: 4\nacc: 2\nsize: 5\n", {"acc"}, {"size"}), "")
      << "steps that are left over";
}

// ---- what cannot be read

TEST_F(OutputMetricsTest, APartOfANumberEndsTheReading) {
  OutputRules rules;
  rules.patterns.push_back(*OutputPattern::Make("acc", "acc: ([0-9.]+)"));
  Begin(std::move(rules));
  EXPECT_THAT(Print("acc: 0.5\nacc: 9.8e-05\nacc: 0.25\n"), ElementsAre("acc=0.5"));
  EXPECT_EQ(Refusal(),
            "the regular expression of 'acc' took '9.8' out of '9.8e-05'; write {number} for its "
            "group, which takes a number whole, in the line 'acc: 9.8e-05'");
  EXPECT_THAT(Print("acc: 0.5\n"), IsEmpty());
}

TEST_F(OutputMetricsTest, SaysWhyAMetricWasNotFound) {
  Begin(Rules({"acc", "loss"}));
  (void)Print("loss: 1\nacc: many\n");
  EXPECT_EQ(metrics_->WhyMissing("loss"), std::nullopt);
  EXPECT_EQ(metrics_->WhyMissing("other"), std::nullopt);
  EXPECT_EQ(metrics_->WhyMissing("acc"),
            "the regular expression of 'acc' found no number in anything it printed on standard "
            "output");
}

TEST_F(OutputMetricsTest, SaysThatAMetricStandsOnTheOtherStream) {
  Begin(Rules({"acc"}));
  (void)PrintError("acc: 0.5\n");
  EXPECT_THAT(*metrics_->WhyMissing("acc"),
              HasSubstr("it stands on standard error, in 'acc: 0.5': write from: stderr"));
}

TEST_F(OutputMetricsTest, SaysThatAMetricStoodInABarAlone) {
  Begin(Rules({"acc"}));
  (void)Print("\racc: 0.5\r        \rdone\n");
  EXPECT_THAT(*metrics_->WhyMissing("acc"),
              AllOf(HasSubstr("in a bar that was drawn over, 'acc: 0.5'"), HasSubstr("iteration")));
}

TEST_F(OutputMetricsTest, SaysThatALineWasTooLongToBeReadToItsEnd) {
  Begin(Rules({"acc"}));
  (void)Print(std::string(OutputLines::kLineBytesMax, 'x') + " acc: 0.5\ndone\n");
  EXPECT_THAT(*metrics_->WhyMissing("acc"), HasSubstr("within the first MiB of a line"));
}

TEST_F(OutputMetricsTest, SaysThatALineBehindTheValuesWasTooLongToBeReadToItsEnd) {
  Begin(Rules({"acc"}));
  (void)Print("acc: 0.2\n" + std::string(OutputLines::kLineBytesMax, 'x') + " acc: 0.5\ndone\n");
  EXPECT_THAT(metrics_->NoteAtEnd(), HasSubstr("a line above 1 MiB"));
}

TEST_F(OutputMetricsTest, WithoutExpressionsNothingIsFound) {
  Begin({});
  EXPECT_THAT(Print("acc: 0.5\n\n"), IsEmpty());
  EXPECT_THAT(Finish(), IsEmpty());
}

}  // namespace
}  // namespace tune
