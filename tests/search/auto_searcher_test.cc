// Who suggests under `auto` (search/auto_searcher.h).
#include "search/auto_searcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// Suggests its own name, and writes down what it hears.
class NamedSearcher final : public Searcher {
 public:
  NamedSearcher(std::string name, std::optional<double> skill, std::vector<std::string>& heard)
      : name_(std::move(name)), skill_(skill), heard_(heard) {}

  std::optional<Configuration> Suggest(TrialNumber) override {
    Configuration configuration;
    configuration.Set("by", Value(name_));
    return configuration;
  }
  void Restore(TrialNumber number, const Configuration&) override {
    heard_.push_back(name_ + " hears of " + std::to_string(number.value));
  }
  void OnReport(TrialNumber, int64_t, Objectives) override {}
  void OnTrialEnded(TrialNumber number, Objectives, bool) override {
    heard_.push_back(name_ + " hears the end of " + std::to_string(number.value));
  }
  std::optional<double> PredictiveSkill() override {
    ++asked;
    return skill_;
  }
  bool LearnsFromResults() const override { return true; }
  std::string DebugString() const override { return name_; }

  int64_t asked = 0;  // For its skill.

 private:
  std::string name_;
  std::optional<double> skill_;
  std::vector<std::string>& heard_;
};

struct Sweep {
  explicit Sweep(std::optional<double> skill, std::optional<Mode> mode = Mode::kMin,
                 SearchRules rules = SearchRules::kFrom15)
      : searcher(std::make_unique<NamedSearcher>("gp", skill, heard),
                 std::make_unique<NamedSearcher>("tpe", std::nullopt, heard), mode, rules) {}

  // Who suggested it.
  std::string Trial(double seconds = 0) {
    const TrialNumber number{next++};
    const auto configuration = searcher.Suggest(number);
    const Metric loss = gains ? -static_cast<double>(number.value) : 1;
    if (seconds > 0) searcher.OnDuration(number, seconds);
    searcher.OnTrialEnded(number, {&loss, 1}, false);
    return configuration->Find("by")->AsString();
  }
  // One that reports these losses and ends; who suggested it.
  std::string Reporting(const std::vector<double>& losses, bool failed = false) {
    const TrialNumber number{next++};
    const auto configuration = searcher.Suggest(number);
    Metric loss;
    for (size_t i = 0; i < losses.size(); ++i) {
      loss = losses[i];
      searcher.OnReport(number, static_cast<int64_t>(i) + 1, {&loss, 1});
    }
    searcher.OnTrialEnded(number, {&loss, 1}, failed);
    return configuration->Find("by")->AsString();
  }
  std::vector<std::string> Trials(int count, double seconds = 0) {
    std::vector<std::string> by;
    for (int i = 0; i < count; ++i) by.push_back(Trial(seconds));
    return by;
  }

  std::vector<std::string> heard;
  AutoSearcher searcher;
  int64_t next = 0;
  bool gains = true;  // Each trial is better than all before.
};

TEST(AutoSearcher, BothHearOfEachTrial) {
  Sweep sweep(0.9);
  EXPECT_EQ(sweep.Trial(), "gp");
  EXPECT_THAT(sweep.heard,
              ElementsAre("tpe hears of 0", "gp hears the end of 0", "tpe hears the end of 0"));
}

TEST(AutoSearcher, AModelThatPredictsLeadsAlone) {
  Sweep sweep(0.5);
  EXPECT_THAT(sweep.Trials(100, 10), testing::Each("gp"));
  EXPECT_EQ(sweep.searcher.TakeNews(), "");
}

TEST(AutoSearcher, AModelThatPredictsNothingTakesTurns) {
  Sweep sweep(0.05);
  EXPECT_THAT(sweep.Trials(30), testing::Each("gp"));
  EXPECT_EQ(sweep.searcher.TakeNews(), "");
  EXPECT_THAT(sweep.Trials(4), ElementsAre("gp", "tpe", "gp", "tpe"));
  EXPECT_THAT(sweep.searcher.TakeNews(),
              HasSubstr("auto now asks gp and tpe in turns, since gp does not predict"));
  EXPECT_EQ(sweep.searcher.TakeNews(), "") << "once";
  Sweep front(0.05, std::nullopt);
  EXPECT_THAT(front.Trials(60), testing::Each("gp"));
}

TEST(AutoSearcher, AModelThatFindsNothingBetterForLongTakesTurnsUntilThereIsAGain) {
  Sweep sweep(0.9);
  sweep.Trials(10);
  sweep.gains = false;
  EXPECT_THAT(sweep.Trials(40), testing::Each("gp"));
  EXPECT_THAT(sweep.Trials(4), ElementsAre("gp", "tpe", "gp", "tpe"));
  EXPECT_THAT(sweep.searcher.TakeNews(), HasSubstr("gp found nothing better in the last 40"));
  sweep.gains = true;
  sweep.Trial();
  EXPECT_THAT(sweep.Trials(10), testing::Each("gp"));
  EXPECT_THAT(sweep.searcher.TakeNews(), HasSubstr("gp alone again"));
}

TEST(AutoSearcher, ATrialThatIsOpenedAgainCountsOnce) {
  Sweep sweep(0.9);
  sweep.Trials(10);
  sweep.gains = false;
  sweep.Trials(39);
  const Metric loss = 1;
  sweep.searcher.OnReopened(TrialNumber{20});
  sweep.searcher.OnTrialEnded(TrialNumber{20}, {&loss, 1}, false);
  EXPECT_EQ(sweep.Trial(), "gp") << "forty without a gain make it take turns";
  EXPECT_THAT(sweep.Trials(2), ElementsAre("gp", "tpe"));
}

// Nets that overfit end worse than they were.
TEST(AutoSearcher, WhatATrialHasFoundIsItsBestReport) {
  Sweep overfit(0.9);
  for (int n = 0; n < 100; ++n) {
    EXPECT_EQ(overfit.Reporting({1.0 - 0.001 * n, 5.0 + n}), "gp") << n;
  }
  EXPECT_EQ(overfit.searcher.TakeNews(), "");
  // One that was best in its first report, while those after it end a little better each.
  Sweep caught(0.9);
  caught.Reporting({0.1, 5});
  for (int n = 1; n <= 40; ++n) EXPECT_EQ(caught.Reporting({4.0 - 0.01 * n}), "gp") << n;
  EXPECT_EQ(caught.Reporting({2}), "tpe");
  EXPECT_THAT(caught.searcher.TakeNews(), HasSubstr("gp found nothing better in the last 40"));
  Sweep older(0.9, Mode::kMin, SearchRules::kFrom14);
  older.Reporting({0.1, 5});
  for (int n = 1; n <= 60; ++n) EXPECT_EQ(older.Reporting({4.0 - 0.01 * n}), "gp") << n;
}

TEST(AutoSearcher, WhatAFailedTrialReportedIsNothingFound) {
  Sweep sweep(0.9);
  sweep.Reporting({0.1}, /*failed=*/true);
  for (int n = 0; n < 100; ++n) EXPECT_EQ(sweep.Reporting({1.0 - 0.001 * n}), "gp") << n;
}

TEST(AutoSearcher, ARestoredLifeSaysNothingAgain) {
  Sweep sweep(0.05);
  for (int64_t n = 0; n < 40; ++n) {
    const Metric loss = 1;
    sweep.searcher.Restore(TrialNumber{n}, Configuration());
    sweep.searcher.OnTrialEnded(TrialNumber{n}, {&loss, 1}, false);
  }
  sweep.next = 40;
  sweep.Trials(2);
  EXPECT_EQ(sweep.searcher.TakeNews(), "");
}

// Each answer takes a fit, and a head replays all its sweeps before anybody is let in.
TEST(AutoSearcher, ARestoredLifeAsksNoModelForItsSkill) {
  std::vector<std::string> heard;
  auto gp = std::make_unique<NamedSearcher>("gp", 0.05, heard);
  const NamedSearcher& model = *gp;
  AutoSearcher searcher(std::move(gp), std::make_unique<NamedSearcher>("tpe", std::nullopt, heard),
                        Mode::kMin);
  for (int64_t n = 0; n < 100; ++n) {
    const Metric loss = -static_cast<double>(n);
    searcher.Restore(TrialNumber{n}, Configuration());
    searcher.OnTrialEnded(TrialNumber{n}, {&loss, 1}, false);
  }
  EXPECT_EQ(model.asked, 0);
  searcher.Suggest(TrialNumber{100});
  EXPECT_EQ(model.asked, 1);
  EXPECT_EQ(searcher.TakeNews(), "");
}

TEST(AutoSearcher, AnEarlierSweepsTrialsAreNotItsOwn) {
  Sweep sweep(0.9);
  const Metric loss = -1e9;
  for (int64_t i = 1; i <= 400; ++i) {
    Configuration configuration;
    sweep.searcher.Restore(TrialNumber{-i}, configuration);
    sweep.searcher.OnReport(TrialNumber{-i}, 1, {&loss, 1});
    sweep.searcher.OnTrialEnded(TrialNumber{-i}, {&loss, 1}, false);
  }
  EXPECT_THAT(sweep.Trials(20, 0.01), testing::Each("gp"));
  EXPECT_EQ(sweep.searcher.TakeNews(), "");
}

TEST(AutoSearcher, OfManyShortTrialsThinkingIsNoPart) {
  Sweep fast(0.9);
  EXPECT_THAT(fast.Trials(300, 0.01), testing::Each("gp"));
  EXPECT_THAT(fast.Trials(10, 0.01), testing::Each("tpe"));
  EXPECT_THAT(fast.searcher.TakeNews(),
              HasSubstr("auto now asks tpe alone, since trials are short"));
  Sweep slow(0.9);
  EXPECT_THAT(slow.Trials(400, 2), testing::Each("gp"));
  Sweep unknown(0.9);
  EXPECT_THAT(unknown.Trials(400), testing::Each("gp")) << "nobody says how long they take";
}

}  // namespace
}  // namespace tune
