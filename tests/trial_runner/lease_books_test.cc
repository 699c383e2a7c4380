// The tuner's lease table and the worker's queue see the same ends in the same order, but at
// different times: starts, kills and ends cross on the way. Whatever crosses, both must keep the
// same books, and no device may ever be promised twice.
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "core/random.h"
#include "tests/trial_runner/message_samples.h"
#include "trial_runner/lease_table.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/worker_core.h"

namespace tune {
namespace {

constexpr WorkerId kWorker{1};
constexpr char kCompleted[] = R"({"end":{"outcome":"completed"}})";

// A tuner's books and a worker with pretended processes, and what is under way between them.
class World {
 public:
  explicit World(uint64_t seed)
      : random_(seed, "lease books"), core_(WorkerCore::Options{Greeting(), true, ""}) {
    request_.cpu_milli = kWholeMilli;
    request_.gpu_milli = 500;
    table_.AddWorker(kWorker, WorkerCapacity{4000, {{0, "a", 0}, {1, "b", 0}}});
    core_.Begin();
    SweepInfo sweep;
    sweep.trainable = R"({"curve":{"value":"x"}})";
    to_worker_.push_back(Welcome{WorkerId{}, 1000, 0, {sweep}});
  }

  void Step() {
    switch (random_.NextBelow(6)) {
      case 0:
        return GrantWhereThereIsRoom();
      case 1:
        return GrantAhead();
      case 2:
        return EndOne();
      case 3:
        return random_.NextBelow(8) == 0 ? KillOne() : void();
      case 4:
        return DeliverToWorker();
      default:
        return DeliverToTuner();
    }
  }

  // Lets everything arrive, then compares.
  void Settle() {
    while (!to_worker_.empty() || !to_tuner_.empty()) {
      DeliverToWorker();
      DeliverToTuner();
    }
    std::map<LeaseEpoch, std::vector<DeviceSlice>> in_table;
    for (const auto& [worker, ref] : table_.All()) {
      if (table_.IsRunning(worker, ref)) in_table[ref.epoch] = placements_.at(ref.epoch).slices;
    }
    std::map<LeaseEpoch, std::vector<DeviceSlice>> in_worker;
    for (const auto& [process, start] : running_) {
      in_worker[epochs_.at(start.trial)] = start.slices;
    }
    EXPECT_EQ(in_worker, in_table);
    EXPECT_EQ(static_cast<int64_t>(running_.size()), core_.running_count());
  }

  int64_t crossings() const { return crossings_; }

 private:
  StartAttempt StartOf(const AttemptRef& ref) {
    epochs_[ref.trial] = ref.epoch;
    StartAttempt start;
    start.ref = ref;
    start.ends_seen = table_.EndsSeen(kWorker);
    start.config = "{}";
    return start;
  }

  void GrantWhereThereIsRoom() {
    const auto leases = table_.Grant(request_, {TrialNumber{next_trial_}, AttemptNumber{1}, {}});
    if (leases.empty()) return;
    const LeaseTable::Lease& lease = leases.front();
    ++next_trial_;
    placements_[lease.ref.epoch] = lease.placement;
    StartAttempt start = StartOf(lease.ref);
    start.cpu_milli = lease.placement.cpu_milli;
    start.slices = lease.placement.slices;
    to_worker_.push_back(start);
  }

  void GrantAhead() {
    if (!table_.RoomAhead(2)) return;
    StartAttempt start =
        StartOf(table_.GrantAhead(kWorker, {TrialNumber{next_trial_++}, AttemptNumber{1}, {}}));
    start.ahead = true;
    to_worker_.push_back(start);
  }

  void EndOne() {
    if (running_.empty()) return;
    auto it = running_.begin();
    std::advance(it, static_cast<int64_t>(random_.NextBelow(running_.size())));
    const ProcessId process = it->first;
    running_.erase(it);
    if (random_.NextBelow(3) == 0) {
      core_.OnProcessEnded(process, ProcessEnd{1, "", ""}, Instant{});
    } else {
      core_.OnProcessLine(process, kCompleted, Instant{});
    }
    Collect();
  }

  void KillOne() {
    const auto all = table_.All();
    if (all.empty()) return;
    to_worker_.push_back(KillAttempt{all[random_.NextBelow(all.size())].second});
  }

  void DeliverToWorker() {
    if (to_worker_.empty()) return;
    core_.OnMessage(to_worker_.front(), Instant{});
    const auto* const start = std::get_if<StartAttempt>(&to_worker_.front());
    const size_t before = running_.size();
    const bool is_ahead = start != nullptr && start->ahead;
    to_worker_.pop_front();
    Collect();
    if (is_ahead && running_.size() > before) ++crossings_;
  }

  void DeliverToTuner() {
    if (to_tuner_.empty()) return;
    const LeaseTable::Ended ended = table_.End(kWorker, to_tuner_.front().ref);
    EXPECT_TRUE(ended.known);
    to_tuner_.pop_front();
    if (ended.begun) placements_[ended.begun->ref.epoch] = ended.begun->placement;
  }

  // The worker's effects, until there are none: processes that are told to go do so.
  void Collect() {
    for (auto effects = core_.TakeEffects(); !effects.empty(); effects = core_.TakeEffects()) {
      for (const Effect& effect : effects) {
        if (const auto* const send = std::get_if<SendToTuner>(&effect)) {
          if (const auto* const m = std::get_if<AttemptEnded>(&send->message)) {
            to_tuner_.push_back(*m);
          }
        } else if (const auto* const write = std::get_if<WriteToProcess>(&effect)) {
          const auto message = ParseToTrial(write->line);
          ASSERT_TRUE(message.ok()) << message.status().message();
          EXPECT_TRUE(running_.emplace(write->process, std::get<TrialStart>(*message)).second);
        } else if (const auto* const signal = std::get_if<SignalProcess>(&effect)) {
          running_.erase(signal->process);
          core_.OnProcessEnded(signal->process, ProcessEnd{0, "SIGTERM", ""}, Instant{});
        }
      }
    }
    std::map<int64_t, int64_t> device_milli;
    for (const auto& [process, start] : running_) {
      for (const DeviceSlice& slice : start.slices) device_milli[slice.device] += slice.milli;
    }
    for (const auto& [device, milli] : device_milli) {
      EXPECT_LE(milli, kWholeMilli) << "device " << device << " is promised twice";
    }
    EXPECT_LE(running_.size(), 4u);
    EXPECT_LE(core_.process_count(), 8);
  }

  KeyedRandom random_;
  ResourceRequest request_;
  LeaseTable table_;
  WorkerCore core_;
  int64_t next_trial_ = 0;
  int64_t crossings_ = 0;
  std::map<TrialNumber, LeaseEpoch> epochs_;
  std::map<LeaseEpoch, Placement> placements_;
  std::map<ProcessId, TrialStart> running_;
  std::deque<ToWorker> to_worker_;
  std::deque<AttemptEnded> to_tuner_;
};

TEST(LeaseBooks, TunerAndWorkerAgreeWhateverCrossesOnTheWay) {
  int64_t crossings = 0;
  for (uint64_t seed = 0; seed < 300; ++seed) {
    World world(seed);
    for (int round = 0; round < 20; ++round) {
      for (int i = 0; i < 40; ++i) world.Step();
      world.Settle();
      ASSERT_FALSE(HasFailure()) << "seed " << seed << ", round " << round;
    }
    crossings += world.crossings();
  }
  EXPECT_GT(crossings, 1'000) << "leases ahead and ends must have crossed for this to say much";
}

}  // namespace
}  // namespace tune
