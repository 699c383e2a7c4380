// The loop itself: what it takes for a sleep of its own.
#include "tuner/tuner.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/tuner/controller_world.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {
namespace {

using testing::ControllerWorld;

class SetClock final : public Clock {
 public:
  Instant Now() const override { return now; }
  Instant now{1'000'000'000};
};

class NoLink final : public WorkerLink {
 public:
  void Send(WorkerId /*worker*/, std::vector<ToWorker> /*messages*/) override {}
  void Close(WorkerId /*worker*/) override {}
};

class NoArtifacts final : public ArtifactStore {
 public:
  Status Remove(const std::string& /*path*/) override { return OkStatus(); }
  bool Has(const std::string& /*path*/) const override { return true; }
};

// What was broken while the tuner's machine slept began to be broken when it woke up: a worker may
// be away for its whole lease, and for no part of the sleep on top.
TEST(Tuner, ItsSleepComesBeforeWhatCameMeanwhile) {
  const TempFolder folder;
  SetClock clock;
  ExperimentSpec spec = ControllerWorld::MakeSpec();
  auto store = SqliteStore::Open(folder / "tune.db", Access::kCreate, clock.now);
  ASSERT_TRUE(store.ok()) << store.status().message();
  NewExperiment wanted;
  wanted.name = spec.name;
  wanted.metric = spec.metric;
  wanted.mode = "max";
  wanted.spec = "{}";
  wanted.provenance = "{}";
  const auto experiment = (*store)->CreateExperiment(wanted);
  ASSERT_TRUE(experiment.ok()) << experiment.status().message();
  const auto controller = ControllerWorld::MakeController(spec);
  NoLink link;
  NoArtifacts artifacts;
  EventQueue queue;
  Tuner tuner({*controller, **store, link, artifacts, clock, queue}, experiment->id, 0);

  WorkerJoined joined{WorkerId{1}, "w1", "10.0.0.1", 1, {}};
  joined.capacity.cpu_milli = kWholeMilli;
  joined.is_local = false;
  joined.session = "session";
  queue.PushEvent(joined);
  ASSERT_TRUE(tuner.Step(clock.now).ok());

  const Duration sleep = Seconds(36'000);
  clock.now = clock.now + sleep;
  queue.PushEvent(WorkerGone{WorkerId{1}, Departure::kBroken});
  ASSERT_TRUE(tuner.Step(clock.now + Duration{-sleep.us}).ok());

  const auto steps = (*store)->ReadJournal(experiment->id);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  const auto events = DecodeEvents(steps->back().events);
  ASSERT_TRUE(events.ok()) << events.status().message();
  ASSERT_EQ(events->size(), 2u);
  ASSERT_TRUE(std::holds_alternative<TunerSlept>(events->front()));
  EXPECT_EQ(std::get<TunerSlept>(events->front()).duration.us, sleep.us);
  const std::optional<Instant> until = controller->workers().at(WorkerId{1}).away_until;
  ASSERT_TRUE(until.has_value());
  EXPECT_EQ(until->us, (clock.now + controller->lease()).us);
}

}  // namespace
}  // namespace tune
