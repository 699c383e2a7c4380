// A small world around a controller of many sweeps: workers that keep the books of messages.h,
// trials whose values are a function of configuration and iteration, and of each sweep the stream
// and the rows that were committed. What the worker may not be told (of a sweep that it does not
// know, more than it has room for) ends the test. One thread, no time but the test's.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "tuner/controller.h"

namespace tune::testing {

class HeadWorld {
 public:
  // One sweep, as its database has it.
  struct Stored {
    ExperimentSpec spec;
    std::vector<std::string> streams;
    std::map<TrialNumber, TrialRow> trials;
    std::map<TrialNumber, Configuration> configurations;
    std::map<WorkerId, WorkerRow> workers;
    std::vector<std::string> said;
    std::optional<ExperimentStatus> ended;
  };
  struct Running {
    StartAttempt start;
    int64_t iteration = 0;
    int64_t sequence = 0;
    bool is_told_to_stop = false;
    bool is_told_to_die = false;
  };
  struct Worker {
    int64_t cpu_milli = 0;
    int64_t free_cpu_milli = 0;
    std::string session;  // Empty: it is local.
    bool is_connected = true;
    std::set<ExperimentId> knows;
    std::map<LeaseEpoch, Running> running;
    std::deque<StartAttempt> ahead;
    std::deque<std::pair<int64_t, int64_t>> idle;  // Number of the end, CPUs.
    int64_t ends = 0;
  };

  static ExperimentSpec MakeSpec(int64_t samples);

  explicit HeadWorld(const HeadOptions& options = {Seconds(60), false});

  Instant now{1'000'000'000};
  int64_t length = 3;                // Iterations of a trial,
  Duration pace = Milliseconds(10);  // and the time between what is said.
  std::map<ExperimentId, Stored> stored;
  std::map<WorkerId, Worker> workers;
  std::set<WorkerId> sent_home;
  std::vector<std::string> said;  // Of the workers.

  Controller& controller() { return *controller_; }

  ExperimentId Open(const ExperimentSpec& spec, const Share& share = {});
  // One that another tuner had, which has died, as of its database.
  ExperimentId TakeUp(const Stored& sweep);
  // Applies, remembers the rows, delivers the messages, and looks at what must hold.
  void Apply(const std::vector<HeadEvent>& events);

  WorkerId Join(int64_t cpus, const std::string& session = "");
  // Its connection breaks. What a local one runs is gone.
  void Break(WorkerId id);
  WorkerId ComeBack(WorkerId before);

  // The next that a running attempt says: a report, or its end.
  void Advance(WorkerId id, LeaseEpoch epoch);
  void End(WorkerId id, LeaseEpoch epoch, Outcome outcome);
  // Until nothing runs, or `steps_max` have been made.
  void RunToEnd(int64_t steps_max = 100'000, bool may_be_left = false);

  // Attempts that run, on workers that are heard.
  std::vector<std::pair<WorkerId, LeaseEpoch>> Runs() const;
  int64_t RunningOf(ExperimentId sweep) const;
  int64_t OpenCount() const;

  // The head dies, and begins another life with what was stored. Its local workers die with it;
  // others are not connected until they come back.
  void Restart();
  // A controller that is told the text of one sweep's stream alone comes to the same rows.
  void ExpectStreamLeadsToRows(ExperimentId id);

 private:
  void EnlistAt(Controller& controller, ExperimentId id);
  void Follow(Controller& controller, ExperimentId id);
  void NoteRows(ExperimentId id);
  void Store(ExperimentId id, const Transition& rows);
  void SayHello(WorkerId id, std::vector<HeldAttempt> held);
  void Deliver(WorkerId id, const ToWorker& message);
  void Kill(WorkerId id, Worker& worker, const KillAttempt& kill);

  HeadOptions options_;
  std::unique_ptr<Controller> controller_;
  // Of queued leases that were told to end.
  std::vector<HeadEvent> pending_ends_;
  int64_t last_sweep_ = 0;
  int64_t last_worker_ = 0;
};

}  // namespace tune::testing
