// The signed-rank test, and the scheduler that stops trials by it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/json.h"
#include "schedulers/signed_ranks.h"
#include "schedulers/trial_scheduler.h"
#include "schedulers/wilcoxon_scheduler.h"

namespace tune {
namespace {

using testing::HasSubstr;

double P(const std::vector<double>& differences) { return SignedRankP(differences); }

// SciPy 1.10's scipy.stats.wilcoxon(d, alternative="greater", method="exact").
TEST(SignedRankP, IsTheShareOfSignsThatGiveAsGreatASum) {
  EXPECT_DOUBLE_EQ(P({1, 2, 3, 4, 5}), 1.0 / 32);
  EXPECT_DOUBLE_EQ(P({1, -2, 3, 4, 5}), 0.09375);
  EXPECT_DOUBLE_EQ(P({0.5, 0.25, -0.1, 0.3}), 0.125);
  EXPECT_DOUBLE_EQ(P({-1, -2, -3}), 1);
  EXPECT_DOUBLE_EQ(P({1, 2}), 0.25);
}

TEST(SignedRankP, SharesRanksAndSplitsZeros) {
  EXPECT_DOUBLE_EQ(P({1, 1, 1, 1, -1, 1}), 7.0 / 64) << "five or six of six";
  EXPECT_DOUBLE_EQ(P({0, 1, 2, 3}), 1.0 / 8);
  EXPECT_DOUBLE_EQ(P({0, 0, 0}), 1);
  EXPECT_DOUBLE_EQ(P({}), 1);
}

TEST(SignedRankP, OfManyIsNearlyTheExactShare) {
  std::vector<double> fifty;
  for (int i = 1; i <= 50; ++i) fifty.push_back(i % 3 == 0 ? -i : i);
  std::vector<double> more = fifty;
  more.push_back(1e-9);  // Now it is the normal distribution's.
  EXPECT_NEAR(P(more), P(fifty), 0.005);
  EXPECT_LT(P(more), 0.05);
}

std::unique_ptr<TrialScheduler> Make(const std::string& json, Mode mode = Mode::kMax) {
  auto made = MakeScheduler(*ParseJson(json), mode, 7);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string Play(TrialScheduler& scheduler, int64_t trial, const std::vector<Metric>& values) {
  scheduler.OnTrialAdded(TrialNumber{trial});
  std::string verdicts;
  for (size_t i = 0; i < values.size(); ++i) {
    const auto iteration = static_cast<int64_t>(i) + 1;
    const Decision decision = scheduler.OnReport(TrialNumber{trial}, iteration, values[i]);
    verdicts += decision.verdict == Verdict::kStop ? 'S' : 'C';
    if (decision.verdict == Verdict::kStop) break;
  }
  scheduler.OnTrialEnded(TrialNumber{trial}, false);
  return verdicts;
}

TEST(Wilcoxon, StopsATrialThatIsWorseFoldByFoldHoweverMuchFoldsDiffer) {
  const auto scheduler = Make(R"({"wilcoxon": {"p_threshold": 0.1}})");
  EXPECT_EQ(Play(*scheduler, 0, {0.5, 0.9, 0.2, 0.7, 0.4}), "CCCCC");
  // A little worse on each: p is 1/4, 1/8, 1/16, then 1/32. After four its mean is still above
  // that of all five of the best.
  EXPECT_EQ(Play(*scheduler, 1, {0.49, 0.88, 0.17, 0.66, 0.35}), "CCCCS");
  // Worse in the mean of two folds and better of others.
  EXPECT_EQ(Play(*scheduler, 2, {0.6, 0.8, 0.3, 0.6, 0.5}), "CCCCC");
  EXPECT_EQ(Play(*scheduler, 3, {0.55, 0.95, 0.25, 0.75, 0.45}), "CCCCC");
  // Now trial 3 is the best.
  EXPECT_EQ(Play(*scheduler, 4, {0.5, 0.9, 0.2, 0.7, 0.4}), "CCCS");
}

TEST(Wilcoxon, SaysWhatItCompared) {
  const auto scheduler = Make(R"("wilcoxon")", Mode::kMin);
  Play(*scheduler, 0, {1, 2, 3, 4});
  scheduler->OnTrialAdded(TrialNumber{1});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, 2), Decision{});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 2, 4),
            (Decision{Verdict::kContinue, StopCause::kNone, 2, 1.5, 2, 2}));
  scheduler->OnReport(TrialNumber{1}, 3, 6);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 4, 8),
            (Decision{Verdict::kStop, StopCause::kScheduler, 4, 2.5, 2, 2}));
}

// As Optuna's "average is best": the other folds of the best trial were bad.
TEST(Wilcoxon, KeepsATrialWhoseMeanIsAsGoodAsThatOfTheBest) {
  const auto scheduler = Make(R"("wilcoxon")");
  Play(*scheduler, 0, {0.9, 0.9, 0.9, 0.9, 0.1, 0.1});
  EXPECT_EQ(Play(*scheduler, 1, {0.8, 0.8, 0.8, 0.8, 0.8, 0.8}), "CCCCCC");
}

TEST(Wilcoxon, FindsFoldsInRunningMeans) {
  const auto scheduler = Make(R"({"wilcoxon": {"running_mean": true}})");
  EXPECT_EQ(Play(*scheduler, 0, {0.5, 0.7, 1.6 / 3, 2.3 / 4}), "CCCC");  // 0.5, 0.9, 0.2, 0.7.
  EXPECT_EQ(Play(*scheduler, 1, {0.49, 1.37 / 2, 1.54 / 3, 2.2 / 4}), "CCCS");
  // An iteration that was left out hides two folds, and nothing is made of them.
  scheduler->OnTrialAdded(TrialNumber{2});
  scheduler->OnReport(TrialNumber{2}, 1, 0.1);
  for (const int64_t iteration : {3, 5, 7}) {
    EXPECT_EQ(scheduler->OnReport(TrialNumber{2}, iteration, 0.1).verdict, Verdict::kContinue);
  }
}

TEST(Wilcoxon, ComparesNoTrialWithValuesThatAreNoNumbersUnlessItIsToStopThem) {
  const double nan = std::nan("");
  const auto kept = Make(R"("wilcoxon")");
  Play(*kept, 0, {0.9, 0.9, 0.9, 0.9});
  EXPECT_EQ(Play(*kept, 1, {0.1, nan, 0.1, 0.1, 0.1}), "CCCCC");
  const auto stopped = Make(R"({"wilcoxon": {"nan": "stop"}})");
  Play(*stopped, 0, {0.9, 0.9, 0.9, 0.9});
  EXPECT_EQ(Play(*stopped, 1, {0.1, nan}), "CS");
}

TEST(Wilcoxon, RefusesOptionsThatItDoesNotKnow) {
  const auto error = [](const char* json) {
    return MakeScheduler(*ParseJson(json), Mode::kMax, 7).status().message();
  };
  EXPECT_THAT(error(R"({"wilcoxon": {"p_treshold": 0.1}})"), HasSubstr("p_threshold"));
  EXPECT_THAT(error(R"({"wilcoxon": {"p_threshold": 2}})"), HasSubstr("p_threshold"));
  EXPECT_THAT(error(R"({"wilcoxon": {"n_startup_steps": -1}})"), HasSubstr("n_startup_steps"));
}

}  // namespace
}  // namespace tune
