// What reports say of lanes, and what workers are told of how many train as one.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "tests/tuner/device_world.h"

namespace tune::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr int64_t kGiB = int64_t{1} << 30;

// Trials of one shape, eight to a card.
ExperimentSpec Eighths(int64_t samples, std::vector<std::pair<std::string, Value>> more = {}) {
  ExperimentSpec spec = ControllerWorld::MakeSpec(samples);
  spec.trainable = Value("food11");
  spec.space = Value::MakeMap();
  spec.space.Set("data", "synthetic");
  spec.space.Set("device", "cuda");
  for (auto& [name, value] : more) spec.space.Set(name, std::move(value));
  spec.resources.gpu_milli = 125;
  return spec;
}

class ControllerLanes : public ::testing::Test {
 protected:
  void Begin(const ExperimentSpec& spec, const std::vector<LaneSpeedRow>& known = {}) {
    world_.emplace(spec);
    if (!known.empty()) rows_ = world_->Apply({LaneSpeedsKnown{known}}).lane_speeds;
    worker_ = JoinWithDevices(*world_, 16, {80 * kGiB});
  }
  // A trial reports that so many trained as one, and how fast its own part of it was.
  void Report(int64_t trial, double lanes, double own) {
    Event event = world_->NextReport(worker_, TrialNumber{trial}, 0.5);
    auto& report = std::get<ReportArrived>(event).message.report;
    report.metrics.emplace_back("lanes", lanes);
    report.metrics.emplace_back("images_per_second", own);
    for (LaneSpeedRow& row : world_->Apply({event}).lane_speeds) rows_.push_back(std::move(row));
  }
  void End(int64_t trial) {
    world_->Apply({world_->NextReport(worker_, TrialNumber{trial}, 0.5, true)});
    world_->Apply({world_->End(worker_, TrialNumber{trial}, Outcome::kCompleted)});
  }
  int64_t LanesMaxOf(int64_t trial) {
    return world_->Running(worker_).at(TrialNumber{trial}).start.lanes_max;
  }
  LaneKind Kind() const { return rows_.at(0).kind; }

  std::optional<ControllerWorld> world_;
  WorkerId worker_;
  std::vector<LaneSpeedRow> rows_;
};

TEST_F(ControllerLanes, AreMeasuredByThreeReportsOfThoseThatHaveTheDeviceToThemselves) {
  Begin(Eighths(8));
  ASSERT_THAT(world_->Running(worker_), SizeIs(8));
  Report(0, 4, 500);  // Four others run beside them.
  Report(1, 8, 300);
  Report(2, 8, 290);
  EXPECT_THAT(rows_, IsEmpty());
  Report(3, 8, 280);
  ASSERT_THAT(rows_, SizeIs(1));
  EXPECT_EQ(rows_[0].speed, (LaneSpeed{8, 8 * 290, 3}));
  EXPECT_EQ(rows_[0].kind.device, "card");
  EXPECT_THAT(rows_[0].kind.shape, HasSubstr("\"batch_size\":32"));
}

TEST_F(ControllerLanes, AreNotMeasuredWhileHeadsTrainAloneNorByNonsense) {
  Begin(Eighths(8, {{"initial_epochs", 2}}));
  for (int64_t trial = 0; trial < 8; ++trial) Report(trial, 8, 900);
  for (int64_t trial = 0; trial < 8; ++trial) Report(trial, 8, 900);
  EXPECT_THAT(rows_, IsEmpty());
  for (int64_t trial = 0; trial < 5; ++trial) Report(trial, trial == 0 ? 1e18 : 8, -1);
  EXPECT_THAT(rows_, IsEmpty());
  for (int64_t trial = 0; trial < 3; ++trial) Report(trial, 8, 300);
  EXPECT_THAT(rows_, SizeIs(1));
}

TEST_F(ControllerLanes, AreAsManyAsFitWhereNothingWasMeasured) {
  Begin(Eighths(8));
  for (int64_t trial = 0; trial < 8; ++trial) EXPECT_EQ(LanesMaxOf(trial), 0);
}

TEST_F(ControllerLanes, AreLimitedByWhatEarlierSweepsMeasuredAndKeepIt) {
  Begin(Eighths(8));
  for (int64_t trial = 0; trial < 3; ++trial) Report(trial, 8, 290);
  const LaneKind kind = Kind();
  Begin(Eighths(8), {{kind, {4, 2480, 9}}, {kind, {8, 2320, 9}}, {{"{}", "card"}, {2, 1, 9}}});
  EXPECT_THAT(rows_, SizeIs(3)) << "what this sweep goes by is stored with it";
  for (int64_t trial = 0; trial < 8; ++trial) EXPECT_EQ(LanesMaxOf(trial), 4);
  EXPECT_THAT(world_->said, ElementsAre("at most 4 trials of " + kind.shape +
                                        " train as one on card: 8 were slower (2320 against 2480 "
                                        "images/s)"));
}

TEST_F(ControllerLanes, OfAnotherDeviceDoNotLimitThem) {
  Begin(Eighths(8));
  for (int64_t trial = 0; trial < 3; ++trial) Report(trial, 8, 290);
  const LaneKind other = {Kind().shape, "another card"};
  Begin(Eighths(8), {{other, {4, 2480, 9}}, {other, {8, 2320, 9}}});
  EXPECT_EQ(LanesMaxOf(0), 0);
}

TEST_F(ControllerLanes, AreNotLimitedWhereTheSpaceSaysHowMany) {
  Begin(Eighths(8, {{"lanes", 8}}));
  for (int64_t trial = 0; trial < 3; ++trial) Report(trial, 8, 290);
  const LaneKind kind = Kind();
  Begin(Eighths(8, {{"lanes", 8}}), {{kind, {4, 2480, 9}}, {kind, {8, 2320, 9}}});
  EXPECT_EQ(LanesMaxOf(0), 0);
  EXPECT_THAT(world_->said, IsEmpty());
}

// Eight first, then, when four have ended, four: faster. Those that come next are told so, and a
// tuner that takes over tells the same.
TEST_F(ControllerLanes, AreLimitedByTheSweepsOwnReportsAsTheyCome) {
  ExperimentSpec spec = Eighths(16);
  spec.limits.max_concurrent = 8;
  Begin(spec);
  for (int64_t trial = 0; trial < 8; ++trial) Report(trial, 8, 290);
  world_->Apply({MaxConcurrentChanged{4}});
  for (int64_t trial = 0; trial < 4; ++trial) End(trial);
  for (int64_t trial = 4; trial < 8; ++trial) Report(trial, 4, 620);
  EXPECT_EQ(rows_.back().speed, (LaneSpeed{4, 2480, 4}));
  world_->Apply({MaxConcurrentChanged{8}});
  ASSERT_THAT(world_->Running(worker_), SizeIs(8));
  for (int64_t trial = 8; trial < 12; ++trial) EXPECT_EQ(LanesMaxOf(trial), 4);
  world_->Recover();
  End(4);
  EXPECT_EQ(LanesMaxOf(12), 4);
}

TEST_F(ControllerLanes, AnotherNumberOfThemIsSaidOnce) {
  Begin(Eighths(40));
  for (int64_t trial = 0; trial < 3; ++trial) Report(trial, 8, 290);
  const LaneKind kind = Kind();
  Begin(Eighths(40), {{kind, {4, 2480, 9}}, {kind, {8, 2000, 9}}});
  EXPECT_THAT(world_->said, SizeIs(1));
  for (int64_t trial = 0; trial < 4; ++trial) End(trial);
  EXPECT_THAT(world_->said, SizeIs(1));
  // Eight as one were slow by chance then: they are not tried again, but what runs tells.
  for (int64_t trial = 4; trial < 7; ++trial) Report(trial, 8, 400);
  End(4);
  EXPECT_EQ(LanesMaxOf(12), 0);
}

// What a controller told of lanes, in order.
struct Told {
  std::vector<std::pair<int64_t, int64_t>> lanes_max;  // By trial, as they began.
  std::vector<LaneSpeedRow> rows;
  friend bool operator==(const Told&, const Told&) = default;

  void Take(const Transition& transition) {
    rows.insert(rows.end(), transition.lane_speeds.begin(), transition.lane_speeds.end());
    for (const Action& action : transition.actions) {
      const auto* const send = std::get_if<SendToWorker>(&action);
      const auto* const start = send ? std::get_if<StartAttempt>(&send->message) : nullptr;
      if (start != nullptr) lanes_max.emplace_back(start->ref.trial.value, start->lanes_max);
    }
  }
};

// Random sweeps: reports of all numbers of lanes, slow and fast, while trials come and go. Whoever
// replays the journal tells the same.
TEST(ControllerLanesReplay, TellsWhatWasTold) {
  int64_t limited = 0;
  for (uint64_t seed = 1; seed <= 50; ++seed) {
    KeyedRandom random(seed, "controller_lanes_test");
    const ExperimentSpec spec = Eighths(60);
    ControllerWorld world(spec);
    Told told;
    const WorkerId worker = JoinWithDevices(world, 16, {80 * kGiB, 24 * kGiB});
    for (int step = 0; step < 400 && !world.has_ended; ++step) {
      if (random.NextBelow(8) == 0) {
        told.Take(
            world.Apply({MaxConcurrentChanged{1 + static_cast<int64_t>(random.NextBelow(16))}}));
      }
      std::vector<TrialNumber> running;
      for (const auto& [trial, attempt] : world.Running(worker)) running.push_back(trial);
      const TrialNumber trial = running.at(random.NextBelow(running.size()));
      const bool is_last = random.NextBelow(4) == 0;
      Event event = world.NextReport(worker, trial, 0.5, is_last);
      auto& metrics = std::get<ReportArrived>(event).message.report.metrics;
      metrics.emplace_back("lanes", static_cast<double>(1 + random.NextBelow(8)));
      metrics.emplace_back("images_per_second", random.NextUniform(100, 900));
      told.Take(world.Apply({event}));
      if (is_last) told.Take(world.Apply({world.End(worker, trial, Outcome::kCompleted)}));
    }
    const auto fresh = ControllerWorld::MakeController(spec);
    fresh->RestoreSuggestions({world.configurations.begin(), world.configurations.end()});
    Told again;
    bool has_begun = false;
    for (const LoggedStep& step : world.log()) {
      const Transition transition = fresh->Apply(step.events, step.now);
      if (has_begun) again.Take(transition);
      has_begun = true;  // The worker's joining is the first.
    }
    EXPECT_EQ(again, told) << "seed " << seed;
    for (const auto& [number, lanes_max] : told.lanes_max) limited += lanes_max > 0 ? 1 : 0;
  }
  EXPECT_GT(limited, 100);
}

}  // namespace
}  // namespace tune::testing
