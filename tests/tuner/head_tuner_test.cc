// The loop with several sweeps, on a real database: each commit has the steps of all sweeps that it
// touched, and a head that dies goes on with all of them.
#include <gtest/gtest.h>

#include <map>
#include <set>

#include "core/check.h"
#include "core/json.h"
#include "tests/forwarding_store.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/tuner_parts.h"
#include "tuner/recovery.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/tuner.h"

namespace tune {
namespace {

constexpr int64_t kIterations = 3;

// A worker that outlives its connection, and does what it is told.
class Worker final : public WorkerLink {
 public:
  explicit Worker(EventQueue*& queue) : queue_(queue) {}

  void Send(WorkerId /*worker*/, std::vector<ToWorker> messages) override {
    for (const ToWorker& message : messages) {
      (std::holds_alternative<Heartbeat>(message) ? heartbeat_count : other_count) += 1;
      if (const auto* const welcome = std::get_if<Welcome>(&message)) {
        for (const SweepInfo& info : welcome->sweeps) knows_.insert(info.sweep);
      } else if (const auto* const info = std::get_if<SweepInfo>(&message)) {
        knows_.insert(info->sweep);
      } else if (const auto* const over = std::get_if<SweepOver>(&message)) {
        knows_.erase(over->sweep);
      } else if (const auto* const start = std::get_if<StartAttempt>(&message)) {
        TUNE_CHECK(knows_.contains(start->ref.sweep));
        running_[start->ref.epoch] = {*start, start->from_iteration, 0};
      }
    }
  }
  void Close(WorkerId /*worker*/) override {}

  // What came from the tuner.
  int64_t heartbeat_count = 0;
  int64_t other_count = 0;

  void Beat() { Push(Heartbeat{}); }
  void SayHello() {
    ++id_.value;
    Hello hello;
    hello.name = "w";
    hello.capacity.cpu_milli = 4 * kWholeMilli;
    hello.session = "session";
    for (const auto& [epoch, running] : running_) {
      hello.held.push_back({running.start.ref, running.start.cpu_milli, {}});
    }
    knows_.clear();
    Push(hello);
  }
  // Each attempt says the next that it has to say.
  void GoOn() {
    const auto before = running_;
    for (const auto& [epoch, was] : before) {
      Running& running = running_.at(epoch);
      const AttemptRef ref = running.start.ref;
      if (running.iteration == kIterations) {
        running_.erase(epoch);
        Push(AttemptEnded{ref, Outcome::kCompleted, ""});
        continue;
      }
      ++running.iteration;
      AttemptReport report{ref, ++running.sequence, {}};
      report.report.iteration = running.iteration;
      report.report.metrics = {{"v", static_cast<double>(ref.sweep.value * 100 + ref.trial.value)}};
      report.report.final = running.iteration == kIterations;
      Push(std::move(report));
    }
  }
  const std::set<ExperimentId>& knows() const { return knows_; }
  size_t running_count() const { return running_.size(); }

 private:
  struct Running {
    StartAttempt start;
    int64_t iteration = 0;
    int64_t sequence = 0;
  };
  void Push(FromWorker message) {
    std::vector<Incoming> incoming;
    incoming.push_back({id_, "10.0.0.1:7", std::move(message)});
    queue_->Push(std::move(incoming));
  }

  EventQueue*& queue_;
  WorkerId id_;
  std::set<ExperimentId> knows_;
  std::map<LeaseEpoch, Running> running_;
};

class FillableStore final : public ForwardingStore {
 public:
  using ForwardingStore::ForwardingStore;
  Status CommitSteps(std::span<const SweepStep> steps) override {
    return is_full ? ResourceExhausted("tune.db: it is full") : inner_.CommitSteps(steps);
  }
  bool is_full = false;
};

class HeadTuner : public ::testing::Test {
 protected:
  struct Life {
    std::unique_ptr<SqliteStore> store;
    std::unique_ptr<FillableStore> disk;
    EventQueue queue;
    std::unique_ptr<Controller> controller;
    std::unique_ptr<Tuner> tuner;
  };

  void Begin() {
    life_ = std::make_unique<Life>();
    queue_ = &life_->queue;
    auto opened = SqliteStore::Open(folder_ / "tune.db", Access::kCreate, clock_.now);
    ASSERT_TRUE(opened.ok()) << opened.status().message();
    life_->store = *std::move(opened);
    life_->controller = std::make_unique<Controller>(HeadOptions{Seconds(60), false});
    life_->disk = std::make_unique<FillableStore>(*life_->store);
    life_->tuner = std::make_unique<Tuner>(Tuner::Parts{*life_->controller, *life_->disk, worker_,
                                                        artifacts_, clock_, life_->queue, nullptr,
                                                        /*outwaits_full_disk=*/true});
    const auto experiments = life_->store->ListExperiments();
    ASSERT_TRUE(experiments.ok());
    for (const StoredExperiment& experiment : *experiments) Enlist(experiment);
    if (experiments->empty()) return;
    const Status restored = RestoreWorkers(*life_->store, *life_->controller);
    ASSERT_TRUE(restored.ok()) << restored.message();
    ASSERT_TRUE(life_->tuner->Take({HeadEvent{TunerRestarted{true}}}).ok());
  }

  void Enlist(const StoredExperiment& experiment) {
    if (experiment.status != ExperimentStatus::kRunning) return;
    const Result<int64_t> last =
        EnlistStored(experiment, "/artifacts", *life_->store, *life_->controller);
    ASSERT_TRUE(last.ok()) << last.status().message();
    life_->tuner->Begin(experiment.id, *last);
  }

  ExperimentId Submit(const std::string& name, int64_t samples, const std::string& more = "") {
    const Value document = *ParseYaml(
        "trainable: {curve: {value: x}}\nmetric: v\nmode: max\nname: " + name +
        "\nspace: {x: {uniform: [0, 1]}}\nsamples: " + std::to_string(samples) + "\n" + more);
    NewExperiment wanted;
    wanted.name = name;
    wanted.metric = "v";
    wanted.mode = "max";
    wanted.samples = samples;
    wanted.spec = ToJson(document);
    wanted.base_dir = "/";
    wanted.provenance = "{}";
    const auto stored = life_->store->CreateExperiment(wanted);
    EXPECT_TRUE(stored.ok()) << stored.status().message();
    Enlist(*stored);
    EXPECT_TRUE(life_->tuner->Take({HeadEvent{DeadlinePassed{}}}).ok());
    return stored->id;
  }

  void Step() {
    clock_.now = clock_.now + Milliseconds(10);
    const Status step = life_->tuner->Step(clock_.now);
    ASSERT_TRUE(step.ok()) << step.message();
    for (const EndOfExperiment& end : life_->tuner->TakeEnded()) {
      ended_[end.sweep] = end.status;
      life_->controller->Release(end.sweep);
    }
  }
  void RunToEnd() {
    for (int i = 0; i < 1000 && worker_.running_count() > 0; ++i) {
      worker_.GoOn();
      Step();
    }
  }

  // What is stored of a sweep is what its own stream leads to, and all of it is there.
  void ExpectWhole(ExperimentId id, int64_t samples) {
    const auto experiments = life_->store->ListExperiments();
    ASSERT_TRUE(experiments.ok());
    for (const StoredExperiment& experiment : *experiments) {
      if (experiment.id != id) continue;
      EXPECT_EQ(experiment.status, ExperimentStatus::kFinished);
      const auto alone = Recover(experiment, "/artifacts", *life_->store);
      EXPECT_TRUE(alone.ok()) << alone.status().message();
    }
    const auto trials = life_->store->ReadTrials(id);
    ASSERT_TRUE(trials.ok());
    ASSERT_EQ(static_cast<int64_t>(trials->size()), samples);
    for (const TrialRow& trial : *trials) {
      EXPECT_EQ(trial.status, TrialStatus::kTerminated);
      EXPECT_EQ(trial.iterations, kIterations);
      EXPECT_EQ(trial.best_value, static_cast<double>(id.value * 100 + trial.number.value));
    }
  }

  const TempFolder folder_;
  testing::SetClock clock_;
  testing::FullShelves artifacts_;
  EventQueue* queue_ = nullptr;
  Worker worker_{queue_};
  std::unique_ptr<Life> life_;
  std::map<ExperimentId, ExperimentStatus> ended_;
};

TEST_F(HeadTuner, SweepsComeAndGoWhileItsWorkerStays) {
  Begin();
  worker_.SayHello();
  Step();
  const ExperimentId first = Submit("first", 5);
  const ExperimentId second = Submit("second", 3);
  RunToEnd();
  EXPECT_EQ(ended_.size(), 2u);
  EXPECT_TRUE(worker_.knows().empty());
  const ExperimentId third = Submit("third", 2);
  RunToEnd();
  EXPECT_EQ(ended_.at(third), ExperimentStatus::kFinished);
  ExpectWhole(first, 5);
  ExpectWhole(second, 3);
  ExpectWhole(third, 2);
}

TEST_F(HeadTuner, OneThatDiedGoesOnWithAllOfThemAndWithWhatTheWorkerRuns) {
  Begin();
  worker_.SayHello();
  Step();
  const ExperimentId first = Submit("first", 6);
  const ExperimentId second = Submit("second", 6);
  for (int i = 0; i < 5; ++i) {
    worker_.GoOn();
    Step();
  }
  const size_t running = worker_.running_count();
  ASSERT_GT(running, 0u);
  life_.reset();
  Begin();
  worker_.SayHello();
  Step();
  EXPECT_EQ(worker_.running_count(), running) << "it keeps what it ran";
  RunToEnd();
  ExpectWhole(first, 6);
  ExpectWhole(second, 6);
  for (const ExperimentId id : {first, second}) {
    const auto trials = life_->store->ReadTrials(id);
    for (const TrialRow& trial : *trials) EXPECT_EQ(trial.attempts, 1);
  }
}

// Longer than a lease, and than its trials may be silent.
TEST_F(HeadTuner, AFullDiskIsWaitedOutAndCostsNoTrialItsAttempt) {
  Begin();
  worker_.SayHello();
  Step();
  const ExperimentId id = Submit("first", 6, "limits: {no_progress: 5s}\n");
  worker_.GoOn();
  life_->disk->is_full = true;
  const int64_t told = worker_.other_count;
  Step();
  ASSERT_TRUE(life_->tuner->is_held());
  for (int i = 0; i < 90; ++i) {
    clock_.now = clock_.now + Seconds(1);
    worker_.Beat();
    Step();
  }
  ASSERT_TRUE(life_->tuner->is_held());
  EXPECT_EQ(life_->tuner->WhyHeld().code(), StatusCode::kResourceExhausted);
  EXPECT_EQ(worker_.other_count, told) << "nothing leaves before it is durable";
  EXPECT_GE(worker_.heartbeat_count, 80) << "it hears that somebody is there";
  EXPECT_EQ(life_->tuner->TakeLines().size(), 1u) << "said once";
  EXPECT_TRUE(life_->store->ReadReports(id)->empty());

  life_->disk->is_full = false;
  clock_.now = clock_.now + Seconds(1);
  Step();
  EXPECT_FALSE(life_->tuner->is_held());
  EXPECT_GT(worker_.other_count, told) << "its reports are answered";
  RunToEnd();
  ExpectWhole(id, 6);
  const auto trials = life_->store->ReadTrials(id);
  for (const TrialRow& trial : *trials) EXPECT_EQ(trial.attempts, 1);
}

TEST_F(HeadTuner, OneThatDiesWhileItsDiskIsFullHasTakenNothingOfWhatItHeld) {
  Begin();
  worker_.SayHello();
  Step();
  const ExperimentId id = Submit("first", 4);
  worker_.GoOn();
  life_->disk->is_full = true;
  Step();
  ASSERT_TRUE(life_->tuner->is_held());
  life_.reset();
  Begin();
  EXPECT_TRUE(life_->store->ReadReports(id)->empty());
}

// Its attempts run on a worker that is none of its first life's.
TEST_F(HeadTuner, ASweepThatWasGivenUpGoesOnWithAWorkerThatCameBeforeIt) {
  Begin();
  const ExperimentId large = Submit("large", 2, "resources: {cpu: 4}\nlimits: {unplaceable: 2s}\n");
  clock_.now = clock_.now + Seconds(3);
  Step();
  ASSERT_EQ(ended_.at(large), ExperimentStatus::kInterrupted);
  life_.reset();
  Begin();
  worker_.SayHello();
  Step();
  auto experiments = life_->store->ListExperiments();
  ASSERT_TRUE(experiments.ok());
  StoredExperiment& stored = experiments->front();
  EXPECT_EQ(stored.given_up, "no worker could take cpu: 4 for 2.0 s (limits.unplaceable)");
  stored.status = ExperimentStatus::kRunning;  // As tune resume takes it.
  Enlist(stored);
  ASSERT_TRUE(life_->tuner->Take({HeadEvent{TunerRestarted{}, large}}).ok());
  EXPECT_EQ(life_->store->ListExperiments()->front().given_up, "");
  EXPECT_EQ(life_->store->ReadWorkers(large)->size(), 1u);
  RunToEnd();
  ExpectWhole(large, 2);
}

// The space file does not say how long: its head tries it again.
TEST_F(HeadTuner, ASweepThatDoesNotSayHowLongItWaitsIsNotGivenUp) {
  Begin();
  const ExperimentId large = Submit("large", 1, "resources: {cpu: 4}\n");
  clock_.now = clock_.now + Seconds(601);
  Step();
  ASSERT_EQ(ended_.at(large), ExperimentStatus::kInterrupted);
  EXPECT_EQ(life_->store->ListExperiments()->front().given_up, "");
}

}  // namespace
}  // namespace tune
