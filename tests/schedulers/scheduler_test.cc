#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <set>

#include "core/json.h"
#include "core/random.h"
#include "schedulers/trial_scheduler.h"

namespace tune {
namespace {

using testing::HasSubstr;

constexpr double kInf = std::numeric_limits<double>::infinity();

std::unique_ptr<TrialScheduler> Make(std::string_view json, Mode mode = Mode::kMax,
                                     uint64_t seed = 7) {
  auto made = MakeScheduler(*ParseJson(json), mode, seed);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return *std::move(made);
}

std::string ErrorOf(std::string_view json) {
  const auto made = MakeScheduler(*ParseJson(json), Mode::kMax, 7);
  EXPECT_FALSE(made.ok()) << json;
  return made.status().message();
}

// The verdicts of trials that each report one value at iteration 1: C continues, S stops.
std::string Verdicts(int64_t reduction_factor, const std::vector<double>& values,
                     Mode mode = Mode::kMax) {
  const auto scheduler = Make(
      R"({"asha": {"max_t": 100, "reduction_factor": )" + std::to_string(reduction_factor) + "}}",
      mode);
  std::string verdicts;
  for (size_t n = 0; n < values.size(); ++n) {
    const TrialNumber number{static_cast<int64_t>(n)};
    scheduler->OnTrialAdded(number);
    verdicts += scheduler->OnReport(number, 1, values[n]).verdict == Verdict::kStop ? 'S' : 'C';
  }
  return verdicts;
}

TEST(Asha, DecidesAsRayDoes) {
  const std::vector<double> values = {.10, .20, .30, .40, .35, .25, .40, .05};
  EXPECT_EQ(Verdicts(2, values), "CCCCCSCS");
  EXPECT_EQ(Verdicts(3, values), "CCCCCSCS");
  EXPECT_EQ(Verdicts(4, values), "CCCCCSCS");
  EXPECT_EQ(Verdicts(2, {.8, .7, .6, .5, .4, .3, .2, .1}), "CSSSSSSS");
  EXPECT_EQ(Verdicts(2, {.1, .2, .3, .4, .5, .6, .7, .8}), "CCCCCCCC");
}

TEST(Asha, MinimisingIsTheMirrorImage) {
  EXPECT_EQ(Verdicts(2, {-.10, -.20, -.30, -.40, -.35, -.25, -.40, -.05}, Mode::kMin), "CCCCCSCS");
}

TEST(Asha, ATieWithTheCutoffContinues) { EXPECT_EQ(Verdicts(2, {.3, .3, .3, .3}), "CCCC"); }

TEST(Asha, ExplainsADecisionWithCutoffRankAndCount) {
  const auto scheduler = Make(R"({"asha": {"max_t": 20, "reduction_factor": 2}})");
  for (int64_t n = 0; n < 4; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  Decision first = scheduler->OnReport(TrialNumber{0}, 1, 0.5);
  EXPECT_EQ(first, (Decision{Verdict::kContinue, StopCause::kNone, 1, std::nullopt, 1, 1}));
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, 0.7),
            (Decision{Verdict::kContinue, StopCause::kNone, 1, 0.5, 1, 2}));
  // The others' median is 0.6.
  EXPECT_EQ(scheduler->OnReport(TrialNumber{2}, 1, 0.55),
            (Decision{Verdict::kStop, StopCause::kScheduler, 1, 0.5 + (0.7 - 0.5) * 0.5, 2, 3}));
  // Ties share the better rank.
  EXPECT_EQ(scheduler->OnReport(TrialNumber{3}, 1, 0.55).rank, 2);
}

TEST(Asha, NothingIsDecidedBetweenRungs) {
  const auto scheduler = Make(R"({"asha": {"max_t": 20, "reduction_factor": 2}})");
  scheduler->OnTrialAdded(TrialNumber{0});
  scheduler->OnReport(TrialNumber{0}, 2, 0.5);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 3, 0.1), Decision{});
}

TEST(Asha, ASkippedMilestoneIsClosedAndNeverFilledLater) {
  const auto scheduler = Make(R"({"asha": {"max_t": 20, "reduction_factor": 2}})");
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 5, 0.5).rung, 4);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 6, 0.5).rung, std::nullopt);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 7, 0.5).rung, std::nullopt);
  std::map<int64_t, int64_t> counts;
  for (const RungView& rung : scheduler->Rungs()) counts[rung.milestone] = rung.count;
  EXPECT_EQ(counts, (std::map<int64_t, int64_t>{{1, 0}, {2, 0}, {4, 1}, {8, 0}, {16, 0}}));
}

TEST(Asha, AtMaxTTheTrialStopsWhateverItsValue) {
  const auto scheduler = Make(R"({"asha": {"max_t": 4, "reduction_factor": 2}})");
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 3, 0.5).verdict, Verdict::kContinue);
  // 4 is a rung as well, and the value is there for `tune why`.
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 4, 0.9),
            (Decision{Verdict::kStop, StopCause::kMaxT, 4, std::nullopt, 1, 1}));
  scheduler->OnTrialAdded(TrialNumber{1});
  const Decision worse = scheduler->OnReport(TrialNumber{1}, 7, std::nullopt);
  EXPECT_EQ(worse.cause, StopCause::kMaxT);
  EXPECT_EQ(worse.verdict, Verdict::kStop);
}

TEST(Asha, AValueThatIsNotFiniteIsTheWorstOfItsRungAndStopsThere) {
  const auto scheduler = Make(R"({"asha": {"max_t": 20, "reduction_factor": 2}})");
  for (int64_t n = 0; n < 5; ++n) scheduler->OnTrialAdded(TrialNumber{n});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, std::nullopt),
            (Decision{Verdict::kStop, StopCause::kScheduler, 1, std::nullopt, 1, 1}));
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, std::nan("")).verdict, Verdict::kStop);
  // The first value in the rung, after two that had none.
  const Decision first = scheduler->OnReport(TrialNumber{2}, 1, 0.1);
  EXPECT_EQ(first.verdict, Verdict::kContinue);
  EXPECT_EQ(first.cutoff, std::nullopt);
  EXPECT_EQ(first.count, 1);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{3}, 1, kInf),
            (Decision{Verdict::kStop, StopCause::kScheduler, 1, 0.1, 2, 2}));
  // Between rungs nothing is compared.
  EXPECT_EQ(scheduler->OnReport(TrialNumber{2}, 3, std::nan("")).verdict, Verdict::kStop);
  EXPECT_EQ(scheduler->OnReport(TrialNumber{4}, 1, 0.2).verdict, Verdict::kContinue);
  EXPECT_EQ(Verdicts(2, {-kInf, 0.5, -kInf, 0.5, 0.6}), "SCSCC");
  EXPECT_EQ(Verdicts(2, {kInf, 0.5, kInf}, Mode::kMin), "SCS");
}

TEST(Asha, NanContinueKeepsATrialWithoutAValue) {
  const auto scheduler = Make(R"({"asha": {"max_t": 20, "nan": "continue"}})");
  scheduler->OnTrialAdded(TrialNumber{0});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{0}, 1, std::nan("")),
            (Decision{Verdict::kContinue, StopCause::kNone, 1}));
}

TEST(Asha, AFailedTrialLeavesWhatItReportedAndNothingMore) {
  const auto scheduler = Make(R"({"asha": {"max_t": 20, "reduction_factor": 2}})");
  scheduler->OnTrialAdded(TrialNumber{0});
  scheduler->OnReport(TrialNumber{0}, 1, 0.9);
  scheduler->OnTrialEnded(TrialNumber{0}, true);
  scheduler->OnTrialAdded(TrialNumber{1});
  EXPECT_EQ(scheduler->OnReport(TrialNumber{1}, 1, 0.5).cutoff, 0.9);
  EXPECT_EQ(scheduler->Rungs()[1].count, 0);
}

TEST(Asha, RungsTellWhatItTakesToPass) {
  const auto scheduler = Make(R"({"asha": {"max_t": 4, "reduction_factor": 2}})");
  for (int64_t n = 0; n < 3; ++n) {
    scheduler->OnTrialAdded(TrialNumber{n});
    scheduler->OnReport(TrialNumber{n}, 1, 0.1 * static_cast<double>(n));
  }
  const std::vector<RungView> rungs = scheduler->Rungs();
  ASSERT_EQ(rungs.size(), 3u);
  EXPECT_EQ(rungs[0].count, 3);
  EXPECT_EQ(rungs[0].cutoff, 0.1);
  EXPECT_EQ(rungs[2].milestone, 4);
  EXPECT_EQ(rungs[2].cutoff, std::nullopt);
}

TEST(Asha, BracketsFollowRaysWeightsAndTheSeed) {
  constexpr char kThree[] = R"({"asha": {"max_t": 9, "reduction_factor": 3, "brackets": 3}})";
  const auto scheduler = Make(kThree);
  const auto again = Make(kThree);
  const auto other = Make(kThree, Mode::kMax, 8);
  std::map<int64_t, int> counts;
  int differences = 0;
  constexpr int kTrials = 20000;
  for (int64_t n = 0; n < kTrials; ++n) {
    for (TrialScheduler* s : {scheduler.get(), again.get(), other.get()})
      s->OnTrialAdded(TrialNumber{n});
    // The first rung that a trial reaches tells its bracket: 1, 3 or 9.
    const auto first_rung = [&](TrialScheduler& s) {
      for (const int64_t iteration : {1, 3, 9}) {
        if (const auto rung = s.OnReport(TrialNumber{n}, iteration, 1.0).rung) return *rung;
      }
      return int64_t{0};
    };
    const int64_t rung = first_rung(*scheduler);
    ++counts[rung];
    EXPECT_EQ(first_rung(*again), rung);
    if (first_rung(*other) != rung) ++differences;
  }
  EXPECT_NEAR(counts[1], 0.665 * kTrials, 300);
  EXPECT_NEAR(counts[3], 0.245 * kTrials, 300);
  EXPECT_NEAR(counts[9], 0.090 * kTrials, 300);
  EXPECT_GT(differences, kTrials / 10);
}

// Ray's rule once more, written as in async_hyperband.py: the others' values in a list, numpy's
// percentile. Each trial reports every iteration, so that no milestone is skipped, and max_t is no
// milestone.
TEST(Asha, AgreesWithAPlainReadingOfRaysRule) {
  for (uint64_t seed = 0; seed < 40; ++seed) {
    const int64_t rf = 2 + static_cast<int64_t>(seed % 3);
    const auto scheduler =
        Make(R"({"asha": {"max_t": 40, "reduction_factor": )" + std::to_string(rf) + "}}");
    std::map<int64_t, std::vector<double>> recorded;
    KeyedRandom random(seed, "oracle");
    std::map<int64_t, int64_t> iterations;
    std::set<int64_t> stopped;
    for (int64_t n = 0; n < 30; ++n) scheduler->OnTrialAdded(TrialNumber{n});
    for (int step = 0; step < 1200; ++step) {
      const int64_t n = static_cast<int64_t>(random.NextBelow(30));
      if (stopped.contains(n)) continue;
      const int64_t t = ++iterations[n];
      // Sixty-fourths tie often and interpolate exactly by halves and quarters; thirds get no ties.
      const double value =
          rf == 3 ? random.NextDouble() : static_cast<double>(random.NextBelow(64)) / 64;
      bool stop = t >= 40;
      std::vector<double>& others = recorded[t];
      bool is_milestone = false;
      for (int64_t m = 1; m <= 40; m *= rf) is_milestone = is_milestone || m == t;
      if (!stop && is_milestone) {
        std::sort(others.begin(), others.end());
        if (!others.empty()) {
          const double position =
              (1 - 1 / static_cast<double>(rf)) * static_cast<double>(others.size() - 1);
          const size_t low = static_cast<size_t>(position + 1e-9);
          const double fraction = std::max(0.0, position - static_cast<double>(low));
          const double high = others[std::min(low + 1, others.size() - 1)];
          const double cutoff = others[low] + (high - others[low]) * fraction;
          stop = value < cutoff;
        }
        others.push_back(value);
      }
      const Decision decision = scheduler->OnReport(TrialNumber{n}, t, value);
      ASSERT_EQ(decision.verdict == Verdict::kStop, stop)
          << "seed " << seed << " trial " << n << " t " << t;
      if (stop) stopped.insert(n);
    }
  }
}

TEST(MakeScheduler, DefaultsAreRays) {
  EXPECT_EQ(SchedulerMaxT(Value("asha")), 100);
  const auto rungs = Make(R"("asha")")->Rungs();
  ASSERT_EQ(rungs.size(), 4u);
  EXPECT_EQ(rungs[3].milestone, 64);
  EXPECT_EQ(SchedulerMaxT(Value("fifo")), std::nullopt);
  EXPECT_EQ(SchedulerMaxT(Value()), std::nullopt);
  EXPECT_EQ(SchedulerMaxT(*ParseJson(R"({"asha": {"max_t": 7}})")), 7);
  EXPECT_EQ(Make(R"({"asha": {"variant": "stop"}})")->name(), "asha");
  EXPECT_EQ(Make(R"({"fifo": {}})")->name(), "fifo");
}

TEST(MakeScheduler, RefusesImpossibleOptions) {
  EXPECT_THAT(
      ErrorOf(R"({"asha": {"grace_period": 30, "max_t": 20}})"),
      HasSubstr("grace_period is 30 and max_t is 20; grace_period must not be above max_t"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"grace_period": 101}})"), HasSubstr("max_t is 100"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"reduction_factor": 1}})"),
              HasSubstr("reduction_factor: read 1, expected an integer of 2 or more"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"reduction_factor": 2.5}})"), HasSubstr("read 2.5"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"brackets": 0}})"),
              HasSubstr("expected an integer of 1 or more"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"brackets": 5}})"), HasSubstr("expected at most 4"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"max_t": "20"}})"),
              HasSubstr("max_t: read '20', expected an integer"));
  EXPECT_THAT(ErrorOf(R"({"asha": 20})"),
              HasSubstr("read 20 for asha, expected a map of its options"));
  EXPECT_THAT(ErrorOf(R"({"asha": {}, "fifo": {}})"), HasSubstr("a map of 2 keys"));
  EXPECT_THAT(ErrorOf("[]"), HasSubstr("read a list, expected fifo"));
}

TEST(MakeScheduler, NamesTheNearestSchedulerAndOption) {
  EXPECT_THAT(ErrorOf(R"({"ahsa": {}})"),
              HasSubstr("'ahsa' is not a scheduler; did you mean 'asha'?"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"max_T": 3}})"), HasSubstr("did you mean 'max_t'?"));
  EXPECT_THAT(ErrorOf(R"({"asha": {"time_attribute": 3}})"),
              HasSubstr("is not an option of asha; known are"));
  EXPECT_THAT(ErrorOf(R"({"fifo": {"max_t": 3}})"), HasSubstr("fifo has no options"));
}

TEST(MakeScheduler, SaysWhatBohbIs) {
  EXPECT_THAT(ErrorOf(R"("bohb")"), HasSubstr("the search algorithm bohb with the scheduler"));
}

TEST(MakeScheduler, KnowsWhoPauses) {
  EXPECT_FALSE(SchedulerPauses(Value()));
  EXPECT_FALSE(SchedulerPauses(Value("asha")));
  EXPECT_TRUE(SchedulerPauses(*ParseJson(R"({"asha": {"variant": "promote"}})")));
  EXPECT_TRUE(SchedulerPauses(Value("hyperband")));
  EXPECT_FALSE(SchedulerPauses(*ParseJson(R"({"hyperband": {"variant": "async"}})")));
  EXPECT_FALSE(SchedulerPauses(Value("median_stopping")));
  EXPECT_TRUE(SchedulerPauses(*ParseJson(R"({"median_stopping": {"hard_stop": false}})")));
}

}  // namespace
}  // namespace tune
