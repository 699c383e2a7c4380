// Which checkpoints stay: the rule on examples, and against a plain re-computation over random
// lives.
#include "tuner/checkpoint_retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

using Entry = CheckpointRetention::Entry;

Entry MakeEntry(int64_t trial, int64_t iteration, Metric value, int64_t bytes = 10,
                const std::string& suffix = "") {
  return {TrialNumber{trial},
          iteration,
          {"/a/" + std::to_string(trial) + "/" + std::to_string(iteration) + suffix, bytes, "00"},
          value,
          0};
}

std::vector<std::string> Paths(const std::vector<Entry>& entries) {
  std::vector<std::string> paths;
  for (const Entry& entry : entries) paths.push_back(entry.ref.path);
  return paths;
}

// What goes in a step in which nothing else happens.
std::vector<Entry> Step(CheckpointRetention& retention, std::vector<Entry> removed) {
  for (Entry& entry : retention.MeetBudget()) removed.push_back(std::move(entry));
  return removed;
}

CheckpointPolicy Policy(int64_t keep, int64_t keep_best,
                        std::optional<int64_t> budget = std::nullopt) {
  return {1, keep, keep_best, budget, {}};
}

TEST(CheckpointRetention, KeepsTheLatestOfEachTrialAndTheBestOfTheSweep) {
  CheckpointRetention retention(Policy(1, 1), Mode::kMax);
  EXPECT_THAT(retention.Add(MakeEntry(0, 1, 0.5)), IsEmpty());
  EXPECT_THAT(retention.Add(MakeEntry(0, 2, 0.4)), IsEmpty());  // 0/1 is the best.
  EXPECT_THAT(Paths(retention.Add(MakeEntry(0, 3, 0.3))), ElementsAre("/a/0/2"));
  EXPECT_THAT(Paths(retention.Add(MakeEntry(1, 1, 0.9))), ElementsAre("/a/0/1"));
  EXPECT_EQ(retention.bytes(), 20);
  EXPECT_EQ(retention.Latest(TrialNumber{0})->iteration, 3);
  EXPECT_EQ(retention.Latest(TrialNumber{2}), nullptr);
}

// Trial 1 is to go on from what trial 0 had at iteration 2; trial 0, which exploited another since,
// comes there again.
TEST(CheckpointRetention, AnIterationOfAnEarlierLifeStaysWhileAnotherTrialGoesOnFromIt) {
  CheckpointRetention retention(Policy(1, 0), Mode::kMax);
  retention.Add(MakeEntry(0, 2, 0.5));
  EXPECT_THAT(retention.Borrow(TrialNumber{1}, TrialNumber{0}, "2"), IsEmpty());
  Entry again = MakeEntry(0, 2, 0.1, 10, ".2");
  again.lineage = 1;
  EXPECT_THAT(retention.Add(again), IsEmpty());
  EXPECT_EQ(retention.Latest(TrialNumber{0})->ref.path, "/a/0/2.2");
  EXPECT_EQ(retention.Find(TrialNumber{0}, "2")->ref.path, "/a/0/2");
  // Until that one has its own.
  EXPECT_THAT(Paths(retention.Add(MakeEntry(1, 3, 0.6))), ElementsAre("/a/0/2"));
  EXPECT_EQ(retention.Find(TrialNumber{0}, "2"), nullptr);
  EXPECT_EQ(retention.bytes(), 20);
}

TEST(CheckpointRetention, TheBestOfAnEarlierLifeStaysTheBest) {
  CheckpointRetention retention(Policy(1, 1), Mode::kMax);
  retention.Add(MakeEntry(0, 2, 0.5));
  Entry again = MakeEntry(0, 2, 0.1, 10, ".2");
  again.lineage = 1;
  EXPECT_THAT(retention.Add(again), IsEmpty());
  EXPECT_EQ(retention.Nearest(TrialNumber{0}, 2, 0)->ref.path, "/a/0/2") << "whose value is known";
}

TEST(CheckpointRetention, TheSameIterationOfALaterAttemptTakesItsPlace) {
  CheckpointRetention retention(Policy(2, 1), Mode::kMin);
  retention.Add(MakeEntry(0, 1, 0.5));
  retention.Add(MakeEntry(0, 2, 0.4));
  EXPECT_THAT(Paths(retention.Add(MakeEntry(0, 2, 0.6, 10, ".2"))), ElementsAre("/a/0/2"));
  EXPECT_EQ(retention.Latest(TrialNumber{0})->ref.path, "/a/0/2.2");
  // Of the same path: told twice.
  EXPECT_THAT(retention.Add(MakeEntry(0, 2, 0.6, 10, ".2")), IsEmpty());
  EXPECT_EQ(retention.bytes(), 20);
}

TEST(CheckpointRetention, ADamagedOneGivesWayToTheOneBefore) {
  CheckpointRetention retention(Policy(2, 1), Mode::kMax);
  for (int64_t iteration = 1; iteration <= 3; ++iteration) {
    retention.Add(MakeEntry(0, iteration, 0.1 * static_cast<double>(iteration)));
  }
  ASSERT_TRUE(retention.Drop(TrialNumber{0}, "3").has_value());
  EXPECT_FALSE(retention.Drop(TrialNumber{0}, "3").has_value());
  EXPECT_EQ(retention.Nearest(TrialNumber{0}, 3, 0)->iteration, 2);
  EXPECT_EQ(retention.bytes(), 10);
  ASSERT_TRUE(retention.Drop(TrialNumber{0}, "2").has_value());
  EXPECT_EQ(retention.Latest(TrialNumber{0}), nullptr) << "from the start again";
  EXPECT_EQ(retention.bytes(), 0);
}

// keep 2, keep_best 2, budget 40, each 10 bytes. Trials 0 and 1 run; 2 is over.
TEST(CheckpointRetention, TheBudgetTakesExtrasThenTheLesserBestThenTheLatestOfTheEnded) {
  CheckpointRetention retention(Policy(2, 2, 40), Mode::kMax);
  retention.Add(MakeEntry(2, 1, 0.3));
  retention.Add(MakeEntry(2, 2, 0.2));
  EXPECT_THAT(retention.OnTrialOver(TrialNumber{2}, false), IsEmpty());
  retention.Add(MakeEntry(0, 1, 0.8));
  retention.Add(MakeEntry(0, 2, 0.9));
  EXPECT_FALSE(retention.is_over_budget());
  // Five of them; 2/1 is neither its trial's latest nor among the two best.
  EXPECT_THAT(Paths(Step(retention, retention.Add(MakeEntry(1, 1, 0.1)))), ElementsAre("/a/2/1"));
  // 0/1 is the second best and no latest.
  EXPECT_THAT(Paths(Step(retention, retention.Add(MakeEntry(1, 2, 0.1)))), ElementsAre("/a/1/1"));
  EXPECT_THAT(Paths(Step(retention, retention.Add(MakeEntry(3, 1, 0.1)))), ElementsAre("/a/0/1"));
  // Left: 0/2 (the best), 1/2, 3/1, 2/2; the last one's trial is over.
  EXPECT_THAT(Paths(Step(retention, retention.Add(MakeEntry(4, 1, 0.1)))), ElementsAre("/a/2/2"));
  EXPECT_THAT(Step(retention, retention.Add(MakeEntry(5, 1, 0.1))), IsEmpty());
  EXPECT_TRUE(retention.is_over_budget()) << "each is needed by a trial that is not over";
  EXPECT_THAT(Paths(Step(retention, retention.OnTrialOver(TrialNumber{4}, false))),
              ElementsAre("/a/4/1"));
  EXPECT_FALSE(retention.is_over_budget());
  EXPECT_THAT(Step(retention, retention.OnTrialOver(TrialNumber{0}, false)), IsEmpty())
      << "the very best stays";
}

// tune resume --errored: what was running when the tuner was killed fails for good and is opened
// again, in one step.
TEST(CheckpointRetention, TheBudgetTakesNothingOfATrialThatIsOpenedAgainInTheStepThatEndedIt) {
  CheckpointRetention retention(Policy(1, 0, 15), Mode::kMax);
  EXPECT_THAT(Step(retention, retention.Add(MakeEntry(0, 1, 0.1))), IsEmpty());
  EXPECT_THAT(Step(retention, retention.Add(MakeEntry(1, 1, 0.2))), IsEmpty());
  EXPECT_TRUE(retention.is_over_budget());
  EXPECT_THAT(retention.OnTrialOver(TrialNumber{0}, /*has_failed=*/true), IsEmpty());
  EXPECT_THAT(Step(retention, retention.OnTrialReopened(TrialNumber{0})), IsEmpty());
  EXPECT_EQ(retention.Latest(TrialNumber{0})->iteration, 1);
  EXPECT_THAT(Paths(Step(retention, retention.OnTrialOver(TrialNumber{0}, true))),
              ElementsAre("/a/0/1"));
}

TEST(CheckpointRetention, WhatAFailedTrialSavedIsNotAmongTheBest) {
  CheckpointRetention retention(Policy(1, 1), Mode::kMax);
  retention.Add(MakeEntry(0, 1, 0.9));
  retention.Add(MakeEntry(0, 2, 0.1));  // 0/1 stays, as the best.
  retention.Add(MakeEntry(1, 1, 0.5));
  EXPECT_THAT(Paths(retention.OnTrialOver(TrialNumber{0}, true)), ElementsAre("/a/0/1"));
  EXPECT_THAT(retention.Add(MakeEntry(1, 2, 0.4)), IsEmpty()) << "1/1 is the best now";
  // tune resume --errored: what is left of it counts again.
  EXPECT_THAT(retention.OnTrialReopened(TrialNumber{0}), IsEmpty());
  EXPECT_EQ(retention.Latest(TrialNumber{0})->iteration, 2);
}

// The rule said once more, plainly: lists instead of books.
class PlainRetention {
 public:
  PlainRetention(const CheckpointPolicy& policy, Mode mode) : policy_(policy), mode_(mode) {}

  void Add(const Entry& entry) {
    Forget(entry.trial, entry.iteration);
    entries_.push_back(entry);
    RemoveSuperfluous();
  }
  void End(TrialNumber trial, bool has_failed) {
    over_.insert(trial);
    if (has_failed) failed_.insert(trial);
    RemoveSuperfluous();
  }
  void Reopen(TrialNumber trial) {
    over_.erase(trial);
    if (failed_.erase(trial) > 0) RemoveSuperfluous();
  }
  void MeetBudget() {
    while (policy_.disk_budget_bytes && Bytes() > *policy_.disk_budget_bytes) {
      const auto index = FirstToGo();
      if (!index) return;
      Remove(*index);
    }
  }
  void Forget(TrialNumber trial, int64_t iteration) {
    std::erase_if(entries_, [&](const Entry& entry) {
      return entry.trial == trial && entry.iteration == iteration;
    });
  }

  // How many of its trial's were made after it.
  int64_t Age(size_t index) const {
    return std::count_if(entries_.begin() + static_cast<int64_t>(index) + 1, entries_.end(),
                         [&](const Entry& e) { return e.trial == entries_[index].trial; });
  }
  // 1: the best.
  int64_t Rank(size_t index) const {
    const Entry& own = entries_[index];
    if (!own.value || failed_.contains(own.trial)) return std::numeric_limits<int64_t>::max();
    return 1 + std::count_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
             if (!other.value || failed_.contains(other.trial)) return false;
             if (*other.value != *own.value) return IsBetter(*other.value, *own.value, mode_);
             return std::tie(other.trial, other.iteration) < std::tie(own.trial, own.iteration);
           });
  }
  bool IsNeeded(size_t index) const {
    return (Age(index) == 0 && !over_.contains(entries_[index].trial)) ||
           (Rank(index) == 1 && policy_.keep_best > 0);
  }
  int64_t Bytes() const {
    int64_t bytes = 0;
    for (const Entry& entry : entries_) bytes += entry.ref.bytes;
    return bytes;
  }
  std::set<std::string> Paths() const {
    std::set<std::string> paths;
    for (const Entry& entry : entries_) paths.insert(entry.ref.path);
    return paths;
  }
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  void RemoveSuperfluous() {
    while (const auto index = Superfluous()) Remove(*index);
  }
  std::optional<size_t> Superfluous() const {
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (Age(i) >= policy_.keep && Rank(i) > policy_.keep_best) return i;
    }
    return std::nullopt;
  }
  std::optional<size_t> FirstToGo() const {
    std::optional<std::tuple<int, int64_t, int64_t, TrialNumber, size_t>> first;
    for (size_t i = 0; i < entries_.size(); ++i) {
      if (IsNeeded(i)) continue;
      const bool is_best = Rank(i) <= policy_.keep_best;
      const bool is_latest = Age(i) == 0;
      const int step = !is_latest && !is_best ? 1 : !is_latest ? 2 : !is_best ? 3 : 4;
      // The worst first; ranks are of all that are there, so that ties are told apart by trial.
      const int64_t badness = step == 1 ? 0 : -GroupRank(i);
      const std::tuple candidate(step, badness, entries_[i].iteration, entries_[i].trial, i);
      if (!first || candidate < *first) first = candidate;
    }
    return first ? std::optional<size_t>(std::get<4>(*first)) : std::nullopt;
  }
  // 1 + how many are better; equal values share it, none are the worst.
  int64_t GroupRank(size_t index) const {
    const Metric& own = entries_[index].value;
    return 1 + std::count_if(entries_.begin(), entries_.end(), [&](const Entry& other) {
             return other.value && (!own || IsBetter(*other.value, *own, mode_));
           });
  }
  void Remove(size_t index) { entries_.erase(entries_.begin() + static_cast<int64_t>(index)); }

  const CheckpointPolicy policy_;
  const Mode mode_;
  std::vector<Entry> entries_;  // In the order they were made.
  std::set<TrialNumber> over_;
  std::set<TrialNumber> failed_;
};

class RandomLife {
 public:
  explicit RandomLife(uint64_t seed) : random_(seed, "retention") {
    policy_ = Policy(1 + Below(3), Below(4));
    if (Below(4) != 0) policy_.disk_budget_bytes = 20 + Below(300);
    mode_ = Below(2) == 0 ? Mode::kMax : Mode::kMin;
  }

  void Run() {
    CheckpointRetention retention(policy_, mode_);
    PlainRetention plain(policy_, mode_);
    std::set<std::string> present;
    for (int step = 0; step < 200; ++step) {
      const TrialNumber trial{Below(6)};
      std::vector<Entry> removed;
      // What may not go whatever happens: but for the trial that reports, whose own may.
      std::set<std::string> needed;
      for (size_t i = 0; i < plain.entries().size(); ++i) {
        const Entry& entry = plain.entries()[i];
        const bool goes_on_from_it = plain.Age(i) == 0 && !over_.contains(entry.trial);
        if (goes_on_from_it && entry.trial != trial) needed.insert(entry.ref.path);
      }
      const int64_t kind = Below(20);
      if (kind == 0 && retention.Latest(trial) != nullptr) {
        const int64_t iteration = retention.Latest(trial)->iteration;
        const std::string path = retention.Latest(trial)->ref.path;
        ASSERT_TRUE(retention.Drop(trial, path.substr(path.rfind('/') + 1)).has_value());
        present.erase(path);
        plain.Forget(trial, iteration);
      } else if (kind <= 2) {
        // A trial that is over does not fail any more.
        const bool has_failed = kind == 2 && !over_.contains(trial);
        over_.insert(trial);
        removed = retention.OnTrialOver(trial, has_failed);
        plain.End(trial, has_failed);
      } else if (kind == 3) {
        over_.erase(trial);
        removed = retention.OnTrialReopened(trial);
        plain.Reopen(trial);
      } else if (!over_.contains(trial)) {
        const Entry entry = NextOf(trial, step);
        removed = retention.Add(entry);
        plain.Add(entry);
        present.insert(entry.ref.path);
      }
      const bool is_end_of_step = Below(3) != 0;
      if (is_end_of_step) {
        removed = Step(retention, std::move(removed));
        plain.MeetBudget();
      }
      for (const Entry& entry : removed) {
        EXPECT_EQ(present.erase(entry.ref.path), 1u) << entry.ref.path << " was there";
        EXPECT_FALSE(needed.contains(entry.ref.path)) << entry.ref.path << " is needed";
      }
      ASSERT_EQ(present, plain.Paths()) << "at step " << step;
      ASSERT_EQ(retention.bytes(), plain.Bytes());
      if (is_end_of_step) ExpectBudgetHeldIfItCanBe(retention, plain);
    }
  }

 private:
  int64_t Below(uint64_t bound) { return static_cast<int64_t>(random_.NextBelow(bound)); }

  // Mostly the next iteration; at times one is made again by another attempt.
  Entry NextOf(TrialNumber trial, int step) {
    int64_t& iteration = iterations_[trial];
    iteration = std::max<int64_t>(1, Below(8) == 0 ? iteration - Below(3) : iteration + 1);
    const Metric value =
        Below(6) == 0 ? Metric() : Metric(static_cast<double>(Below(12)) / 4);  // With ties.
    return MakeEntry(trial.value, iteration, value, 1 + Below(40), "." + std::to_string(step));
  }

  // At the end of a step all that is left over the budget is needed.
  void ExpectBudgetHeldIfItCanBe(const CheckpointRetention& retention,
                                 const PlainRetention& plain) {
    if (!retention.is_over_budget()) return;
    for (size_t i = 0; i < plain.entries().size(); ++i) {
      EXPECT_TRUE(plain.IsNeeded(i)) << plain.entries()[i].ref.path << " could have gone";
    }
  }

  KeyedRandom random_;
  CheckpointPolicy policy_;
  Mode mode_ = Mode::kMax;
  std::set<TrialNumber> over_;
  std::map<TrialNumber, int64_t> iterations_;
};

TEST(CheckpointRetention, IsThePlainRuleOverRandomLives) {
  for (uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomLife(seed).Run();
    if (HasFatalFailure()) return;
  }
}

TEST(ExperimentController, ADiskBudgetThatCannotBeMetIsSaidOnceAndTakesWhatEndedTrialsLeft) {
  using testing::ControllerWorld;
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  spec.checkpoint.disk_budget_bytes = 150;
  ControllerWorld world(spec);
  const WorkerId worker = world.Join(2);
  const auto report = [&](int64_t trial, double value) {
    Event event = world.NextReport(worker, TrialNumber{trial}, value);
    std::get<ReportArrived>(event).message.report.checkpoint.bytes = 100;
    return event;
  };
  world.Apply({report(0, 0.5)});
  EXPECT_THAT(world.said, IsEmpty());
  world.Apply({report(1, 0.4)});
  world.Apply({report(1, 0.3)});
  EXPECT_THAT(world.said, ElementsAre(HasSubstr("checkpoint.disk_budget: 200 bytes")));
  EXPECT_THAT(world.removed, ElementsAre("/artifacts/sweep/1/checkpoint_1")) << "an older one";

  world.Apply({world.End(worker, TrialNumber{1}, Outcome::kCrashed)});
  EXPECT_EQ(world.removed.back(), "/artifacts/sweep/1/checkpoint_2") << "its trial failed for good";
  EXPECT_EQ(world.checkpoints.at({TrialNumber{0}, 1}).state, CheckpointState::kDurable);
}

}  // namespace
}  // namespace tune
