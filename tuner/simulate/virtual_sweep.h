// A whole sweep without anybody training: the real controller, workers and trials that are entries
// in a queue of what happens next, and a time that jumps from one to the next. It is what a sweep
// would be whose tuner, network and workers take no time: a report is answered the moment it is
// made, and what happens at one instant is decided together, in order of cause.
//
// Pure: same controller and curves, same outcome, however long it takes.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "core/resources.h"
#include "core/status.h"
#include "tuner/best_configuration.h"
#include "tuner/experiment_controller.h"
#include "tuner/simulate/trial_curves.h"

namespace tune {

struct VirtualWorkers {
  int64_t count = 1;
  WorkerCapacity capacity;  // Of each.
};

// The best value from this moment on, feasible ones first (core/standing.h). With `repeat` it is
// the mean of a configuration's runs, from the moment when the last of them had its best value.
struct Improvement {
  Duration at;         // Since the sweep began.
  int64_t epochs = 0;  // Reported until then by all trials.
  double value = 0;
  TrialNumber trial;  // With `repeat` the best run.
  int64_t iteration = 0;
  Metric violation = {};  // Nothing in a sweep without limits on results.
};

struct VirtualOutcome {
  ExperimentStatus status = ExperimentStatus::kRunning;  // kRunning: it waits for ever.
  Duration duration;
  int64_t epochs = 0;       // All iterations that were reported, repeated ones too.
  int64_t attempts = 0;     // Starts and restarts.
  double busy_seconds = 0;  // Of all attempts together.
  // In order of time, of trials that have not failed: what a failed trial reported never counts as
  // the best, as in a sweep that trains.
  std::vector<Improvement> improvements;
  std::optional<ConfigurationRuns> best_runs = {};  // Of the best configuration, with `repeat`.
  std::vector<std::string> said;                    // To whoever watches; the first ones.
  int64_t said_count = 0;
};

class VirtualSweep {
 public:
  // Both outlive it; the controller is fresh.
  VirtualSweep(ExperimentController& controller, TrialCurves& curves, VirtualWorkers workers);

  // To its end, or until nothing can happen any more (every trial hangs, and no limit ends them).
  // An error: it goes on for more than three thousand years.
  Result<VirtualOutcome> Run();

 private:
  // One attempt on a worker, and what it does next.
  struct Running {
    AttemptRef ref;
    WorkerId worker;
    std::unique_ptr<AttemptCurve> curve;
    TrialStep next;
    int64_t sequence = 0;
    bool saves_next = false;
    int64_t due = 0;  // The happening that is next; any earlier one is void.
  };
  struct Happening {
    Instant at;
    int64_t order = 0;  // Rising as they are caused.
    TrialNumber trial;
    bool operator>(const Happening& other) const {
      return at != other.at ? at > other.at : order > other.order;
    }
  };

  void JoinWorkers();
  // What is due now, at most a commit's worth.
  std::vector<Event> TakeDue();
  Event Happen(Running& running);
  void Apply(const std::vector<Event>& events);
  void Note(const ReportRow& report);
  void TakeImprovements();
  std::vector<Improvement> ImprovementsOfMeans(int64_t repeat);
  void Deliver(WorkerId worker, const ToWorker& message);
  void Begin(WorkerId worker, const StartAttempt& start);
  void OnAnswer(const AnswerReport& answer);
  void GoOn(Running& running);
  void EndNow(Running& running, Outcome outcome);
  void Schedule(Running& running, Instant at);
  Running* Find(const AttemptRef& ref);
  // When something happens next: to a trial, or because of the time.
  std::optional<Instant> NextInstant();

  ExperimentController& controller_;
  TrialCurves& curves_;
  VirtualWorkers workers_;
  Instant now_;
  int64_t last_order_ = 0;
  std::priority_queue<Happening, std::vector<Happening>, std::greater<>> queue_;
  std::vector<std::unique_ptr<Running>> running_;  // By trial.
  // The controller's next one, or a moment before it: reports only put it off.
  std::optional<Instant> deadline_;
  bool has_ended_ = false;
  std::vector<Improvement> bests_;  // Each better than those of its trial before, in order of time.
  VirtualOutcome outcome_;
};

}  // namespace tune
