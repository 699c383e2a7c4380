// What has crossed the seams of the tuner, as an independent witness keeps it: each committed step
// with its rows, what left the process, and whether that may be. It knows the rules, not the
// controller's fields.
//
// Beside it stand two that never die, and must decide the same (shadows.h).
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "tests/sim/environment.h"
#include "tests/sim/shadows.h"
#include "tuner/experiment_controller.h"
#include "tuner/store.h"

namespace tune::sim {

class CommitLog {
 public:
  explicit CommitLog(Environment& environment) : environment_(environment) {}

  // The sweep as it was stored; the shadows are made of the same spec.
  void Begin(const StoredExperiment& experiment, const ExperimentSpec& spec, Shadows shadows);

  // A step, what came in, and what it led to.
  struct Commit {
    JournalStep step;
    std::vector<Event> events;
    Transition transition;
  };
  // The store said that it is durable.
  void Committed(const Commit& commit);
  // The store failed, or the process died before it could say: nobody knows yet.
  void InDoubt(Commit commit) { in_doubt_ = std::move(commit); }
  // A recovery read the database: the step in doubt is there or not.
  void Resolve(int64_t last_step);

  // What a recovery read: every step that was acknowledged, as it was.
  void CheckJournal(const std::vector<JournalStep>& steps);

  // A message left the tuner's process.
  void Sent(WorkerId worker, const ToWorker& message);
  void RemovedCheckpoint(const std::string& path);
  // The process is gone: what was committed and not sent will never be.
  void TunerDied();

  int64_t last_step() const { return static_cast<int64_t>(steps_.size()); }
  int64_t event_count() const { return event_count_; }
  // How often what happened, for people: whether the seeds are about something.
  const std::map<std::string, int64_t>& coverage() const { return coverage_; }
  bool is_in_doubt() const { return in_doubt_.has_value(); }

  struct Step {
    Instant at;
    std::string events;
  };
  const std::vector<Step>& steps() const { return steps_; }
  // What the scheduler heard and said in a step.
  struct Turn {
    std::vector<TrialNumber> added;
    std::vector<const ReportRow*> reports;  // Those that it was told of, as they arrived.
    std::vector<std::pair<TrialNumber, TrialStatus>> statuses;  // Of trials that changed.
    std::vector<TrialNumber> ended;                             // Those of attempts that ended.
    std::vector<OrderRow> orders;
  };
  const std::vector<Turn>& turns() const { return turns_; }
  const std::deque<ReportRow>& reports() const { return reports_; }
  const std::map<TrialNumber, TrialRow>& trials() const { return trials_; }
  // Whether the scheduler has paused it and not taken it up again.
  bool IsHeld(TrialNumber trial) const { return held_.contains(trial); }
  const std::map<std::pair<TrialNumber, AttemptNumber>, AttemptRow>& attempts() const {
    return attempts_;
  }
  using CheckpointKey = std::tuple<TrialNumber, int64_t, std::string>;
  const std::map<CheckpointKey, CheckpointRow>& checkpoints() const { return checkpoints_; }
  const std::map<WorkerId, WorkerRow>& workers() const { return workers_; }
  // By trial, of each exploit, the trial's last iteration before and the source's.
  const std::map<TrialNumber, std::map<int64_t, int64_t>>& exploits() const { return exploits_; }
  const std::map<TrialNumber, Configuration>& configurations() const { return configurations_; }
  const ExperimentRow& experiment_row() const { return experiment_row_; }
  const std::optional<StoredExperiment>& experiment() const { return experiment_; }
  bool IsLeased(TrialNumber trial, AttemptNumber attempt) const;
  const ExperimentSpec& spec() const { return spec_; }
  const ExperimentController& shadow() const { return shadows_->controller(); }

 private:
  struct Lease {
    AttemptRef ref;
    WorkerId worker;
  };

  void Absorb(const Commit& commit, bool will_act);
  void TakeEvents(const std::vector<Event>& events, const Transition& transition);
  void TakeRetry(const Transition& transition);
  void TakeReport(const ReportArrived& event, const Transition& transition, size_t& next);
  void TakeCheckpoint(const CheckpointArrived& event, const Transition& transition);
  void TakeJoin(const WorkerJoined& event);
  void Count(const std::vector<Event>& events, const Transition& transition);
  bool MayComeBack(const WorkerGone& event, const Transition& transition) const;
  void CloseLeases(WorkerId worker);
  void CloseLease(WorkerId worker, const AttemptRef& ref);
  void TakeOrders(const Transition& transition);
  void TakeExploits(const Transition& transition);
  void TakeTrials(const Transition& transition);
  void TakeAttempts(const Transition& transition);
  void TakeGrants(const Transition& transition);
  void CheckGrant(const StartAttempt& start);
  void CheckRank(const StartAttempt& start);
  std::string HolderOf(TrialNumber trial) const;
  void TakeCheckpoints(const Transition& transition);
  void CheckEmitted(const ReportArrived& event);
  void CheckReport(const ReportRow& row, const ReportArrived& event);
  bool NeedsNoCommit(WorkerId worker, const ToWorker& message) const;
  void Fail(const std::string& finding);

  // What a message is about; enough to tell it from others.
  using Fingerprint = std::tuple<size_t, AttemptRef, int64_t, int>;
  static Fingerprint FingerprintOf(const ToWorker& message);

  Environment& environment_;
  std::optional<StoredExperiment> experiment_;
  ExperimentSpec spec_;
  std::optional<Shadows> shadows_;

  std::vector<Step> steps_;
  std::optional<Commit> in_doubt_;
  int64_t event_count_ = 0;
  std::map<std::string, int64_t> coverage_;
  std::deque<ReportRow> reports_;  // Turns point to them.
  // Those whose iteration has no value of the metric yet.
  std::map<std::tuple<TrialNumber, AttemptNumber, int64_t>, ReportRow*> open_reports_;
  std::vector<Turn> turns_;
  std::set<TrialNumber> held_;  // By the scheduler.
  std::map<TrialNumber, TrialRow> trials_;
  // In this step: they failed, maybe in it, and failed trials are retried.
  std::set<TrialNumber> may_reopen_;
  std::map<TrialNumber, Configuration> configurations_;  // That it was made with.
  std::map<TrialNumber, std::map<int64_t, int64_t>> exploits_;
  std::map<TrialNumber, std::string> present_configs_;  // That it goes on with.
  std::map<std::pair<TrialNumber, AttemptNumber>, AttemptRow> attempts_;
  std::map<CheckpointKey, CheckpointRow> checkpoints_;
  std::map<WorkerId, WorkerRow> workers_;
  ExperimentRow experiment_row_;

  struct Connection {
    bool is_local = true;
    std::string session;
  };
  std::map<WorkerId, Connection> connections_;
  // Of a trial's ranks: the first one's is its lease, which speaks for it.
  std::map<std::pair<TrialNumber, int64_t>, Lease> leases_;
  // Of this step: leases that came back with a worker, which may never have heard of them.
  std::set<std::pair<LeaseEpoch, WorkerId>> moved_;
  LeaseEpoch last_epoch_;
  std::map<TrialNumber, std::map<int64_t, std::string>> saved_;  // By iteration, the latest path.
  std::map<TrialNumber, std::string> resume_paths_;  // The latest checkpoint's, where it has one.
  std::map<std::string, std::string> configs_of_checkpoints_;  // By path: what it was made with.
  // By attempt, of reports whose checkpoints follow: the configuration, by iteration.
  std::map<std::pair<TrialNumber, AttemptNumber>, std::map<int64_t, std::string>> coming_;
  std::map<TrialNumber, int64_t> decided_;  // The latest iteration that reached the scheduler.
  std::map<std::pair<TrialNumber, AttemptNumber>, int64_t> last_iterations_;

  std::map<WorkerId, std::deque<Fingerprint>> to_send_;
  std::map<std::pair<AttemptRef, int64_t>, ReportAnswer> answers_;  // Committed, by sequence.
  std::set<std::string> to_remove_;
};

}  // namespace tune::sim
