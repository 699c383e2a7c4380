// What is tried, and what comes of it: one sweep as a state machine, with its searcher, scheduler
// and trials. It speaks of leases and never of connections: what it would begin are wants, what it
// was granted and what became of its leases it is told (lease_event.h). Rows and messages go to
// `out`, which the controller hands on (experiment_controller.h).
//
// Thread rule: one thread. Pure: time is an argument.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "schedulers/trial_scheduler.h"
#include "search/searcher.h"
#include "trial_runner/fusion.h"
#include "tuner/alike_failures.h"
#include "tuner/checkpoint_retention.h"
#include "tuner/doubt_watch.h"
#include "tuner/event.h"
#include "tuner/experiment_spec.h"
#include "tuner/gain_watch.h"
#include "tuner/lane_speeds.h"
#include "tuner/report_pace.h"
#include "tuner/sweep_event.h"
#include "tuner/sweep_leases.h"
#include "tuner/sweep_options.h"
#include "tuner/transition.h"
#include "tuner/trial_record.h"

namespace tune {

class Sweep {
 public:
  Sweep(ControllerOptions options, std::unique_ptr<Searcher> searcher,
        std::unique_ptr<TrialScheduler> scheduler, Transition& out);
  Sweep(const Sweep&) = delete;
  Sweep& operator=(const Sweep&) = delete;

  // Recovery: suggestions of earlier lives, by number, in place of asking the searcher again.
  void RestoreSuggestions(std::vector<std::pair<TrialNumber, Configuration>> suggestions);
  // What workers that join from now on are told of programs and data: it decides nothing.
  void Offer(OfferedToWorkers offered) { offered_ = std::move(offered); }

  // ---- a step: its time, what happened, the time's limits, grants, the end

  SweepAnswer Apply(const SweepEvent& event);  // The one way in.
  bool has_wishes() const { return !wishes_.empty(); }
  std::vector<Wish> TakeWishes() { return std::exchange(wishes_, {}); }
  void Conclude();  // Rows of trials that were made or changed.

  // ---- what the controller asks before it tells

  bool Knows(WorkerId worker, const AttemptRef& ref) const;  // A lease that runs there.
  bool IsUnasked(const AttemptEnded& end) const;  // An end that nobody on our side asked for.
  // What trials would need from now on, after one used so much of a device; nothing: as before.
  std::optional<ResourceRequest> LearnedRequest(const DeviceMemorySeen& event,
                                                int64_t largest_device) const;
  // Whether one more trial may run, and which would, in order.
  bool HasPlace() const;
  bool HasPlaceAhead() const;
  std::vector<Want> Wants() const;
  std::vector<RoomWanted> WantsRoomFor(Instant now) const;  // All that may run besides.
  int64_t MayRunBesides() const;    // The same, with those that cannot begin yet; a count.
  int64_t AheadPerRunning() const;  // How many leases may wait behind each that runs.
  bool IsAnyWaiting() const { return !waiting_.empty(); }
  std::optional<ResourceRequest> Unplaced() const;  // What is placed next, if anything waits.
  std::optional<Instant> NextDeadline() const;      // When TimeLimitsChecked is due.

  // ---- what a watcher is shown

  const std::vector<TrialRecord>& trials() const { return trials_; }
  const TrialScheduler& scheduler() const { return *scheduler_; }
  const CheckpointRetention& checkpoints() const { return retention_; }
  const SweepLeases& leases() const { return held_; }
  int64_t backing_off_count() const { return static_cast<int64_t>(backing_off_.size()); }
  bool is_paused() const { return is_paused_; }
  const DoubtWatch& doubts() const { return doubts_; }
  // Nothing is given out any more: it was stopped, interrupted, or gave up.
  bool is_ending() const { return end_status_.has_value(); }
  bool is_being_stopped() const { return end_status_ == ExperimentStatus::kStopped; }
  bool has_ended() const { return has_ended_; }
  const std::string& given_up() const { return given_up_; }        // Why, if it was.
  const std::string& ended_early() const { return ended_early_; }  // Why, if it did or will.
  bool GivesOut() const { return !end_status_.has_value() && !sweep_over_; }
  int64_t max_concurrent() const { return max_concurrent_; }
  const ControllerOptions& options() const { return options_; }
  Duration lease() const { return options_.spec.limits.lease; }
  SweepInfo Info() const;                               // What a worker has to know of it.
  bool MayQueue(const WorkerCapacity& capacity) const;  // Leases ahead, on such a worker.
  bool MeasuresLanes() const;
  ExperimentStatus status() const { return status_; }
  Instant last_active() const { return last_active_; }
  int64_t trial_count_max() const { return trial_count_max_; }  // -1: no end.
  bool HasMoreToCreate() const;                                 // Trials that are still to come.
  ResourceRequest Request() const;                              // What each of those needs,
  ResourceRequest RequestOf(const TrialRecord& trial) const;    // and what this one does.
  // The same with a device of its own for each of several ranks that share one, where they do.
  std::optional<ResourceRequest> WholeDevices() const;
  std::optional<Instant> sweep_deadline() const;

  // What does not hold of all that must after a step, as a sentence: CheckInvariants() looks at
  // what the step moved, and ends the process; the other looks at everything.
  void CheckInvariants() const;
  std::optional<std::string> BrokenInvariant() const;

 private:
  // What people and the tuner say, and the time.
  void On(const InterruptRequested& event);
  void On(const SamplesExtended& event);
  void On(const TunerSlept& event);
  void On(const PauseRequested& event);
  void On(const UnpauseRequested& event);
  void On(const StopRequested& event);
  void On(const MaxConcurrentChanged& event);
  void On(const SettingsChanged& event);
  void On(const ProgramChanged& event);
  void On(const ErroredRetried& event);
  void On(const LaneSpeedsKnown& event);
  void On(const TimeSet& event);
  void On(const TimeLimitsChecked& event);
  void On(const LifeEnded& event);
  void On(const LifeBegan& event);
  void On(const WentOn& event);
  void On(const StepEnded& event);
  // What its workers say, and what became of leases.
  void On(const Reported& event);
  void On(const CheckpointArrived& event);
  void On(const LeaseEnded& event);
  void On(const NoticeBooked& event);
  void On(const NoticeHeeded& event);
  void On(const LeaseLost& notice);
  void On(const LeaseDropped& notice);
  void On(const WorkerAway&) {}
  void On(const WorkerBack& notice);
  void On(const LeaseKept& notice);
  void On(const LeaseUnsent& notice);
  void On(const LeaseUnknown& notice);
  void On(const WorkerLeft&) {}
  // What it is granted.
  void On(const TrialTaken& event);
  void On(const Granted& event);
  void On(const GrantedAhead& event);
  void On(const NoMoreTold& event);
  void On(const PlaceableSeen& event);
  void On(const MemoryLearned& event);

  // A report's way: stored, decided, answered.
  Report Joined(TrialRecord& trial, const Report& part);
  std::optional<std::string> Objection(const TrialRecord& trial, const Report& report) const;
  // The part of a path that lies below the trial's artifact folder; nothing when none does.
  std::optional<std::string> WithinArtifacts(const TrialRecord& trial,
                                             const std::string& path) const;
  std::optional<Decision> Decide(TrialRecord& trial, const Report& report, Metric value);
  void TellSearcher(TrialRecord& trial, const Report& report, Metric value);
  StopReason ReasonToStop(const TrialRecord& trial, const Report& report,
                          const std::optional<Decision>& decision) const;
  void TakeCheckpoint(TrialRecord& trial, const Report& report, Metric value);
  void KeepCheckpoint(const CheckpointRetention::Entry& entry, const std::string& within);
  void MeetDiskBudget();
  bool MayPauseAfter(const TrialRecord& trial, int64_t iteration) const;
  void RemoveCheckpoints(const std::vector<CheckpointRetention::Entry>& removed);
  std::optional<PauseCommand> CommandToPause(const TrialRecord& trial, const Report& report) const;
  void Answer(WorkerId worker, TrialRecord& trial, const AttemptReport& message,
              ReportAnswer answer);

  std::optional<Duration> AttemptTakes(Instant now) const;
  // The ends of attempts and trials.
  void EndRank(TrialRecord& trial, const AttemptEnded& end);
  void EndRanksLeft(TrialRecord& trial, RanksEnd how);
  void EndAttempt(TrialRecord& trial, const AttemptEnded& end);
  void AfterAttempt(TrialRecord& trial, const AttemptEnded& end);
  void AfterFailure(TrialRecord& trial, const AttemptEnded& end);
  bool MayHaveMore(const TrialRecord& trial) const;
  void LeaveBadCheckpoint(TrialRecord& trial);
  void GoOnFromLatest(TrialRecord& trial);
  void WaitForLease(TrialRecord& trial);  // Or ends it: the sweep gives out nothing more.
  StopReason ReasonNotToGoOn(const TrialRecord& trial) const;
  void EndTrial(TrialRecord& trial, TrialStatus status, StopReason reason);
  void CloseTrial(TrialRecord& trial, TrialStatus status, StopReason reason);
  void NoteGain(const TrialRecord& trial);
  void Fail(TrialRecord& trial, const std::string& error);
  void Kill(TrialRecord& trial, Outcome outcome, const std::string& error);
  void TellToEnd(WorkerId worker, TrialRecord& trial);
  void Pause(TrialRecord& trial);
  void PauseByCommand(TrialRecord& trial, PauseCommand command);
  void GoOn(TrialRecord& trial);
  void FollowOrders();
  void Follow(const Order& order);
  void Exploit(TrialRecord& trial, const TrialRecord& source);
  void StopTrial(TrialRecord& trial, bool now);
  void StopAtOnce(TrialRecord& trial, StopReason reason);
  void PauseTrial(TrialRecord& trial, PauseCommand command, bool now);
  void EndSweep(StopReason reason, bool now);
  void ForgetStop();
  void EndSweepPause();
  void EndIdle(StopReason reason);
  std::set<TrialNumber> Idle() const;
  void NoteToldToEnd(TrialRecord& trial);
  std::optional<WorkerId> Holder(const TrialRecord& trial) const;
  TrialRecord* Find(const std::optional<TrialNumber>& number);

  // Giving out work.
  void CheckTrialLimits();
  bool HasUsedItsTime(const TrialRecord& trial, Duration of_attempt) const;
  void EndByTrialTime(TrialRecord& trial);
  void NotePace(const TrialRecord& trial);
  void CheckSilence();
  void LookForSilenceAfter(std::optional<Duration> patience);
  std::optional<Instant> SilentAt(const TrialRecord& trial) const;
  std::optional<Instant> LimitOf(WorkerId worker, const TrialRecord& trial) const;
  void TakeOverClock(Duration gap);
  void EndBackOffs();
  Fusion FusionFor(const TrialRecord& trial) const;
  void MeasureLanes(const TrialRecord& trial, const Report& report, const Neighbours& beside);
  int64_t LanesMaxOf(const TrialRecord& trial, const std::string& device);
  void NoteFailure(TrialRecord& trial, Outcome outcome);
  TrialRecord* CreateTrial();
  bool HasFoundEnough();
  void EndByRegret();
  void FollowNoneMade(NoneMade why);
  void PinCheckpoint(const TrialRecord& trial);
  void DropFromQueue(TrialRecord& trial);
  void DropLease(TrialRecord& trial);
  void BeginAttempt(TrialRecord& trial, WorkerId worker, std::vector<WorkerId> other_workers = {});
  void SendStart(const TrialRecord& trial, const GrantedRank& rank);
  StartAttempt StartMessage(const TrialRecord& trial, int64_t ends_seen) const;
  void SayIfExhausted();
  void EndEarly(std::string why, const std::string& remedy);
  bool WaitsForPerson();
  void StopGiving(ExperimentStatus end_status);

  const char* BrokenInvariantOf(const TrialRecord& trial) const;
  const char* BrokenInvariantOfAll() const;

  void Move(TrialRecord& trial, TrialCause cause);
  void List(const TrialRecord& trial);
  void Unlist(const TrialRecord& trial);
  void Send(WorkerId worker, ToWorker message);
  void MarkChanged(const TrialRecord& trial);
  TrialRecord& At(TrialNumber number) { return trials_[static_cast<size_t>(number.value)]; }
  const TrialRecord& At(TrialNumber n) const { return trials_[static_cast<size_t>(n.value)]; }

  ControllerOptions options_;
  OfferedToWorkers offered_;
  std::unique_ptr<Searcher> searcher_;
  std::unique_ptr<TrialScheduler> scheduler_;
  SweepLeases held_;
  CheckpointRetention retention_;
  bool said_over_budget_ = false, said_missing_objective_ = false, said_spread_ = false;
  DoubtWatch doubts_;
  GainWatch gain_;
  std::map<TrialNumber, Configuration> suggestions_;

  std::vector<TrialRecord> trials_;  // By number.
  // By state: those that wait, those that are PAUSED, and those that back off (when).
  std::set<TrialNumber> waiting_, paused_;
  std::set<std::pair<Instant, TrialNumber>> backing_off_;
  int64_t samples_ = 0, trial_count_max_ = 0, stride_ = 0;  // Stride: of the latest report.
  bool space_exhausted_ = false,
       no_more_trials_said_ = false;  // To the scheduler.
  int64_t error_count_ = 0, max_concurrent_ = 0;
  AlikeFailures alike_failures_;  // Of this life of the sweep.
  bool is_waiting_said_ = false, is_learning_said_ = false, is_paused_ = false;  // By command.
  int64_t learned_gpu_memory_ = 0;  // The most that an attempt was seen to use of a device.
  ReportPaces paces_;
  LaneSpeeds lane_speeds_;  // What workers are told from them changes nothing here.
  std::map<LaneKind, int64_t> said_lanes_max_;
  std::optional<Duration> mean_attempt_;  // Exponential mean of the attempts' durations.

  ExperimentStatus status_ = ExperimentStatus::kRunning;
  bool has_ended_ = false;                      // EndOfExperiment was said in this life.
  bool sweep_over_ = false;                     // sweep_time is used up.
  std::optional<ExperimentStatus> end_status_;  // Nothing is given out any more; what to end as.
  StopReason end_reason_ = StopReason::kNone;   // Of trials that a STOPPED sweep leaves.
  Duration active_before_;                      // Of earlier lives.
  std::optional<Instant> life_start_;
  Instant last_active_;  // Of the latest step.
  static constexpr Instant kAtOnce{std::numeric_limits<int64_t>::min()};
  static constexpr Instant kNever{std::numeric_limits<int64_t>::max()};
  Instant limits_due_ = kNever, silence_due_ = kNever;  // No attempt's limit, or silence, before.
  std::optional<Instant> unplaceable_since_;
  std::string unplaceable_with_, given_up_, ended_early_;  // With: what the workers had then.

  // During a step.
  SweepAnswer answer_;  // To what is applied.
  Instant now_;
  Transition& out_;
  std::vector<Wish> wishes_;
  bool could_have_whole_ = false;  // As LeaseLost and LeaseEnded say.
  std::set<TrialNumber> created_, changed_, moved_;
};

}  // namespace tune
