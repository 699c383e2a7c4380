// The loop itself: what it takes for a sleep of its own.
#include "tuner/tuner.h"

#include <gtest/gtest.h>

#include "core/json.h"
#include "tests/tuner/controller_world.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/tuner_parts.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune {
namespace {

using testing::ControllerWorld;

class KeptLink final : public WorkerLink {
 public:
  void Send(WorkerId /*worker*/, std::vector<ToWorker> messages) override {
    for (ToWorker& message : messages) sent.push_back(std::move(message));
  }
  void Close(WorkerId /*worker*/) override {}

  template <typename Message>
  std::vector<Message> Take() {
    std::vector<Message> taken;
    for (ToWorker& message : sent) {
      if (auto* const one = std::get_if<Message>(&message)) taken.push_back(*one);
    }
    sent.clear();
    return taken;
  }

  std::vector<ToWorker> sent;
};

// A disk that has everything, and knows what was sent before something was removed.
class WatchfulShelves final : public ArtifactStore {
 public:
  explicit WatchfulShelves(const KeptLink& link) : link_(link) {}
  Status Remove(const std::string& path) override {
    removed.push_back(path);
    sent_before = link_.sent.size();
    return OkStatus();
  }
  bool Has(const std::string& /*path*/) const override { return true; }

  std::vector<std::string> removed;
  size_t sent_before = 0;

 private:
  const KeptLink& link_;
};

// A tuner with a worker of another machine, on a real database.
class TunerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto opened = SqliteStore::Open(folder_ / "tune.db", Access::kCreate, clock_.now);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    store_ = *std::move(opened);
    const ExperimentSpec spec = ControllerWorld::MakeSpec();
    NewExperiment wanted;
    wanted.name = spec.name;
    wanted.metric = spec.metric;
    wanted.mode = "max";
    wanted.spec = "{}";
    wanted.provenance = "{}";
    const auto experiment = store_->CreateExperiment(wanted);
    ASSERT_TRUE(experiment.ok()) << experiment.status().message();
    experiment_ = experiment->id;
    controller_ = ControllerWorld::MakeController(spec);
    tuner_ = std::make_unique<Tuner>(
        Tuner::Parts{controller_->head(), *store_, link_, artifacts_, clock_, queue_}, experiment_,
        0);
    WorkerJoined joined{WorkerId{1}, "w1", "10.0.0.1", 1, {}};
    joined.capacity.cpu_milli = kWholeMilli;
    joined.is_local = false;
    joined.session = "session";
    queue_.PushEvent(joined);
    ASSERT_TRUE(tuner_->Step(clock_.now).ok());
  }
  void Hear(FromWorker message) {
    std::vector<Incoming> incoming;
    incoming.push_back({WorkerId{1}, "", std::move(message)});
    queue_.Push(std::move(incoming));
    ASSERT_TRUE(tuner_->Step(clock_.now).ok());
  }

  const TempFolder folder_;
  testing::SetClock clock_;
  KeptLink link_;
  WatchfulShelves artifacts_{link_};
  EventQueue queue_;
  std::unique_ptr<SqliteStore> store_;
  ExperimentId experiment_;
  std::unique_ptr<ExperimentController> controller_;
  std::unique_ptr<Tuner> tuner_;
};

// What was broken while the tuner's machine slept began to be broken when it woke up: a worker may
// be away for its whole lease, and for no part of the sleep on top.
TEST_F(TunerTest, ItsSleepComesBeforeWhatCameMeanwhile) {
  const Duration sleep = Seconds(36'000);
  clock_.now = clock_.now + sleep;
  queue_.PushEvent(WorkerGone{WorkerId{1}, Departure::kBroken});
  ASSERT_TRUE(tuner_->Step(clock_.now + Duration{-sleep.us}).ok());

  const auto steps = store_->ReadJournal(experiment_);
  ASSERT_TRUE(steps.ok()) << steps.status().message();
  const auto stream = DecodeStream(steps->back().events);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  ASSERT_GE(stream->size(), 3u);
  ASSERT_TRUE(std::holds_alternative<TunerSlept>(stream->at(1)));
  EXPECT_EQ(std::get<TunerSlept>(stream->at(1)).duration.us, sleep.us);
  EXPECT_TRUE(std::holds_alternative<NoticeBooked>(stream->at(2)));
  const std::optional<Instant> until = controller_->workers().at(WorkerId{1}).away_until;
  ASSERT_TRUE(until.has_value());
  EXPECT_EQ(until->us, (clock_.now + controller_->lease()).us);
}

// Else a worker's disk fills with one checkpoint of each trial that has been there.
TEST_F(TunerTest, ATrialThatIsOverNeedsNoCopyOfItsCheckpoint) {
  const std::vector<StartAttempt> starts = link_.Take<StartAttempt>();
  ASSERT_EQ(starts.size(), 1u);
  const std::string saved = starts[0].artifact_dir + "/checkpoint_000001";
  AttemptReport report{starts[0].ref, 1, {}};
  report.report.iteration = 1;
  report.report.metrics = {{"value", 0.5}};
  report.report.has_checkpoint = true;
  report.report.checkpoint.path = saved;
  Hear(report);
  Heartbeat beat;
  beat.cached = {saved};
  Hear(beat);
  EXPECT_TRUE(link_.Take<RemoveCached>().empty()) << "it may go on from there";
  report.sequence = 2;
  report.report.iteration = 2;
  report.report.has_checkpoint = false;
  report.report.final = true;
  Hear(report);
  Hear(AttemptEnded{starts[0].ref, Outcome::kCompleted, ""});
  Hear(beat);
  const std::vector<RemoveCached> removed = link_.Take<RemoveCached>();
  ASSERT_EQ(removed.size(), 1u);
  EXPECT_EQ(removed[0].path, saved);
}

// A folder of many files goes slowly, and the trial waits for its answer.
TEST_F(TunerTest, AReportIsAnsweredBeforeTheCheckpointsThatItReplacesAreRemoved) {
  const std::vector<StartAttempt> starts = link_.Take<StartAttempt>();
  ASSERT_EQ(starts.size(), 1u);
  AttemptReport report{starts[0].ref, 0, {}};
  report.report.has_checkpoint = true;
  for (int64_t iteration = 1; iteration <= 4; ++iteration) {
    link_.sent.clear();
    report.sequence = report.report.iteration = iteration;
    // The best was the first, and each later one takes the place of the one before.
    report.report.metrics = {{"value", -static_cast<double>(iteration)}};
    report.report.checkpoint.path =
        starts[0].artifact_dir + "/checkpoint_00000" + std::to_string(iteration);
    Hear(report);
  }
  ASSERT_FALSE(artifacts_.removed.empty());
  EXPECT_GE(artifacts_.sent_before, 1u);
  EXPECT_EQ(artifacts_.sent_before, link_.sent.size());
  EXPECT_EQ(link_.Take<AnswerReport>().size(), 1u);
}

}  // namespace
}  // namespace tune
