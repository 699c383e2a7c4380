// tune compare, on a real database, and TRIAL in several words.
#include "tuner/cli/look/compare_command.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/tuner/answer.h"
#include "tests/tuner/two_sweeps.h"
#include "tuner/cli/look/trial_lookup.h"

namespace tune {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

class CompareTest : public TwoSweeps {
 protected:
  Answer Compare(std::vector<std::string> words, OutputFormat format = OutputFormat::kTable,
                 size_t width = 0) const {
    CompareOptions options;
    options.db_path = path_;
    options.words = std::move(words);
    options.format = format;
    options.width = width;
    return AnswerOf([&](auto& out, auto& err) { return CompareCommand(options, out, err); });
  }
};

TEST_F(CompareTest, CompareShowsWhatIsDifferentAndTellsWhatIsTheSame) {
  const Answer answer = Compare({"0", "1"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_EQ(answer.out,
            "                    trial 0     trial 1\n"
            "status              TERMINATED  TERMINATED\n"
            "stop_reason         max_t       scheduler\n"
            "best_value          0.75        0.25\n"
            "best_iteration      2           1\n"
            "last_value          0.75        0.25\n"
            "iterations          2           1\n"
            "attempts            2           1\n"
            "lr                  0.1         0.2\n"
            "batch_size          32          64\n"
            "optimizer/kind      adam        sgd, \"plain\"\n"
            "last val_accuracy   0.75        0.25\n"
            "last val_loss       0.25        0.75\n"
            "last test_accuracy  0.7         -\n");
  EXPECT_EQ(answer.err, "the same in all: augment=true\n");
}

TEST_F(CompareTest, CompareTellsWhyATrialFailed) {
  EXPECT_THAT(Compare({"0", "2"}).out,
              HasSubstr("failure             -           out_of_memory\n"));
}

TEST_F(CompareTest, CompareTakesTrialsOfSeveralSweeps) {
  const Answer answer = Compare({"first", "0", "3", "second/1"});
  EXPECT_EQ(answer.status, 0) << answer.err;
  EXPECT_THAT(answer.out, AllOf(HasSubstr("trial first/0"), HasSubstr("trial first/3"),
                                HasSubstr("trial second/1")));
}

TEST_F(CompareTest, CompareCutsNoValueOnANarrowTerminal) {
  const Answer answer = Compare({"0", "1"}, OutputFormat::kTable, 36);
  EXPECT_THAT(answer.out, AllOf(HasSubstr("\"plain\""), Not(HasSubstr("…"))));
  for (const std::string& line : Lines(answer.out)) EXPECT_LE(DisplayWidth(line), 36u) << line;
}

TEST_F(CompareTest, CompareAsCsvHasEveryRowAndSaysWhichDiffer) {
  const Answer answer = Compare({"0", "1"}, OutputFormat::kCsv);
  EXPECT_THAT(
      answer.out,
      AllOf(HasSubstr("kind,name,differs,0,1"), HasSubstr("trial,run_seconds,false,15,15"),
            HasSubstr("parameter,lr,true,0.1,0.2"), HasSubstr("parameter,augment,false,true,true"),
            HasSubstr("metric,test_accuracy,true,0.7,")));
}

TEST_F(CompareTest, CompareRefusesOneTrialAloneAndATrialThatIsNotThere) {
  EXPECT_EQ(Compare({"0"}).err, "tune: expected 2 to 50 trials, as in tune compare 3 7; read 1\n");
  EXPECT_EQ(Compare({"0", "9"}).err,
            "tune: " + path_ + ": there is no trial 9; second has trials 0 to 3\n");
  EXPECT_THAT(Compare({"0", "first"}).err, HasSubstr("TRIAL: read 'first'"));
}

TEST(TrialWords, ASweepsNameStandsBeforeItsNumbers) {
  EXPECT_THAT(TrialTexts({"3", "7"}), ElementsAre("3", "7"));
  EXPECT_THAT(TrialTexts({"ref", "3", "7", "b/2", "c", "1"}),
              ElementsAre("ref/3", "ref/7", "b/2", "c/1"));
  EXPECT_THAT(TrialTexts({"3", "ref"}), ElementsAre("3", "ref"));
}

TEST(TrialWords, ATrialIsTakenOffTheWordsBeforeItsValues) {
  std::vector<std::string> words = {"ref", "3", "0.42", "7"};
  EXPECT_EQ(TakeTrial(words), "ref/3");
  EXPECT_THAT(words, ElementsAre("0.42", "7"));
  words = {"3", "0.42"};
  EXPECT_EQ(TakeTrial(words), "3");
  EXPECT_THAT(words, ElementsAre("0.42"));
  words = {"a/b/3", "1"};
  EXPECT_EQ(TakeTrial(words), "a/b/3");
  words = {"ref"};
  EXPECT_EQ(TakeTrial(words), "ref");
}

}  // namespace
}  // namespace tune
