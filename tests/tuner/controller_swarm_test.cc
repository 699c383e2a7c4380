// Sweeps of any kind on workers that come, break off, come back and are lost, under a head that
// dies: drawn from a seed. Each sweep must end with its trials, whatever the others do; one whose
// trials do not depend on their order ends as it would alone; and each must be what its own stream
// leads to.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "core/random.h"
#include "tests/tuner/head_world.h"

namespace tune {
namespace {

using testing::HeadWorld;

class Swarm {
 public:
  explicit Swarm(uint64_t seed) : random_(seed, "swarm"), of_reserves_(seed, "reserves") {}

  void Run() {
    for (int64_t i = 1 + Below(3); i > 0; --i) JoinOne();
    OpenOne();
    for (int step = 0; step < 400; ++step) {
      Happen();
      if (::testing::Test::HasFatalFailure()) return;
    }
    // Faults are over: all come to their end.
    for (auto& [id, sweep] : world_.stored) {
      if (!sweep.ended) world_.Apply({HeadEvent{UnpauseRequested{}, id}});
    }
    world_.Join(8);
    for (int round = 0; round < 100 && world_.OpenCount() > 0; ++round) {
      world_.RunToEnd();
      world_.now = world_.now + Seconds(61);
      world_.Apply({HeadEvent{DeadlinePassed{}}});
    }
    EXPECT_EQ(world_.OpenCount(), 0);
    for (const auto& [id, sweep] : world_.stored) Check(id, sweep);
  }

 private:
  int64_t Below(int64_t end) {
    return static_cast<int64_t>(random_.NextBelow(static_cast<uint64_t>(end)));
  }
  bool OneIn(int64_t n) { return Below(n) == 0; }

  void OpenOne() {
    ExperimentSpec spec = HeadWorld::MakeSpec(1 + Below(12));
    spec.resources.cpu_milli = (1 + Below(3)) * kWholeMilli;
    if (OneIn(3)) spec.limits.max_concurrent = 1 + Below(3);
    if (OneIn(3)) {
      Value asha = Value::MakeMap();
      asha.Set("max_t", Value(int64_t{3}));
      asha.Set("grace_period", Value(int64_t{1}));
      spec.scheduler = Value::MakeMap();
      spec.scheduler.Set("asha", asha);
    }
    if (OneIn(4)) spec.resources.workers = 2;
    Share share{Below(3), 100 * (1 + Below(3))};
    if (of_reserves_.NextBelow(2) == 0) {
      const auto trials = static_cast<int64_t>(1 + of_reserves_.NextBelow(3));
      share.reserve.cpu_milli = trials * spec.resources.cpu_milli * spec.resources.workers;
    }
    world_.Open(spec, share);
  }

  void JoinOne() { world_.Join(3 + Below(4), OneIn(3) ? "" : "s" + std::to_string(++sessions_)); }

  // Somebody of those for whom it holds; nothing: nobody.
  template <typename Condition>
  std::optional<WorkerId> AnyWorker(const Condition& holds) {
    std::vector<WorkerId> some;
    for (const auto& [id, worker] : world_.workers) {
      if (holds(worker)) some.push_back(id);
    }
    if (some.empty()) return std::nullopt;
    return some[static_cast<size_t>(Below(static_cast<int64_t>(some.size())))];
  }

  void Happen() {
    world_.now = world_.now + Milliseconds(OneIn(50) ? 30'000 : Below(500));
    const auto is_connected = [](const HeadWorld::Worker& worker) { return worker.is_connected; };
    const auto is_away = [](const HeadWorld::Worker& worker) { return !worker.is_connected; };
    const int64_t draw = Below(100);
    if (draw < 70) return AdvanceOne();
    if (draw < 74) return OpenCountIsBelow(5) ? OpenOne() : AdvanceOne();
    if (draw < 78) return JoinOne();
    if (draw < 83) {
      if (const auto worker = AnyWorker(is_connected)) world_.Break(*worker);
    } else if (draw < 90) {
      if (const auto worker = AnyWorker(is_away)) world_.ComeBack(*worker);
    } else if (draw < 92) {
      if (const auto worker = AnyWorker(is_away)) {
        world_.workers.erase(*worker);
        world_.now = world_.now + Seconds(61);
        world_.Apply({HeadEvent{DeadlinePassed{}}});
      }
    } else if (draw < 94) {
      world_.Restart();
    } else if (draw < 96) {
      CrashOne();
    } else {
      Command();
    }
  }

  bool OpenCountIsBelow(int64_t max) const { return world_.OpenCount() < max; }

  void AdvanceOne() {
    const auto runs = world_.Runs();
    if (runs.empty()) return world_.Apply({HeadEvent{DeadlinePassed{}}});
    const auto& run = runs[static_cast<size_t>(Below(static_cast<int64_t>(runs.size())))];
    world_.Advance(run.first, run.second);
  }

  void CrashOne() {
    const auto runs = world_.Runs();
    if (runs.empty()) return;
    const auto& run = runs[static_cast<size_t>(Below(static_cast<int64_t>(runs.size())))];
    world_.End(run.first, run.second, Outcome::kCrashed);
  }

  void Command() {
    for (const auto& [id, sweep] : world_.stored) {
      if (sweep.ended || !OneIn(3)) continue;
      if (OneIn(6)) {
        stopped_.insert(id);
        return world_.Apply({HeadEvent{StopRequested{std::nullopt, OneIn(2)}, id}});
      }
      if (OneIn(2)) return world_.Apply({HeadEvent{PauseRequested{}, id}});
      return world_.Apply({HeadEvent{UnpauseRequested{}, id}});
    }
  }

  void Check(ExperimentId id, const HeadWorld::Stored& sweep) {
    SCOPED_TRACE("sweep " + std::to_string(id.value));
    world_.ExpectStreamLeadsToRows(id);
    if (stopped_.contains(id)) return;
    EXPECT_EQ(sweep.ended, ExperimentStatus::kFinished);
    if (sweep.spec.scheduler.is_map()) {
      EXPECT_EQ(static_cast<int64_t>(sweep.trials.size()), sweep.spec.samples);
      return;
    }
    HeadWorld alone;
    alone.Join(8);
    const ExperimentId same = alone.Open(sweep.spec);
    alone.RunToEnd();
    const HeadWorld::Stored& expected = alone.stored.at(same);
    ASSERT_EQ(sweep.trials.size(), expected.trials.size());
    for (const auto& [number, row] : expected.trials) {
      const TrialRow& ours = sweep.trials.at(number);
      EXPECT_EQ(ours.status, row.status) << "trial " << number.value;
      EXPECT_EQ(ours.iterations, row.iterations);
      EXPECT_EQ(ours.best_value, row.best_value);
      EXPECT_EQ(sweep.configurations.at(number), expected.configurations.at(number));
    }
  }

  KeyedRandom random_;
  KeyedRandom of_reserves_;
  HeadWorld world_;
  int64_t sessions_ = 0;
  std::set<ExperimentId> stopped_;
};

TEST(ControllerSwarm, EachSweepEndsAsItWouldAlone) {
  for (uint64_t seed = 1; seed <= 300; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Swarm(seed).Run();
    if (::testing::Test::HasFailure()) return;
  }
}

}  // namespace
}  // namespace tune
