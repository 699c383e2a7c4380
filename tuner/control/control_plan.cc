#include "tuner/control/control_plan.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "core/json.h"
#include "trial_runner/command_spec.h"
#include "trial_runner/secrets.h"
#include "tuner/recovery.h"
#include "tuner/spec_difference.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

// "3 trials that are not over end now", "1 trial that is not over ends now".
std::string OpenTrials(int64_t count, const std::string& one, const std::string& many) {
  if (count == 0) return "no trial is left open";
  return std::to_string(count) + (count == 1 ? " trial that " + one : " trials that " + many);
}

// "2 running trials end at the next report".
std::string RunningTrials(int64_t count, const std::string& one, const std::string& many) {
  if (count == 0) return "none runs";
  return count == 1 ? "the running trial " + one
                    : std::to_string(count) + " running trials " + many;
}

std::string Named(const TrialRecord& trial) {
  return "trial " + std::to_string(trial.row.number.value);
}

int64_t RunningCount(const SweepView& view) {
  return std::count_if(view.trials().begin(), view.trials().end(), [](const TrialRecord& t) {
    return t.is_running() && !t.is_over() && !t.is_paused();
  });
}

int64_t OpenCount(const SweepView& view) {
  return std::count_if(view.trials().begin(), view.trials().end(),
                       [](const TrialRecord& t) { return !t.is_over(); });
}

// A setting that came by the socket or from the page is known by its name alone, and to no command
// line: "--set 1: limits.max_concurrent: ..." loses what stands before the name.
Status NameSetting(const Status& status) {
  std::string_view message = status.message();
  for (const std::string_view mark : {"--set 1: ", "--set "}) {
    if (!message.starts_with(mark)) continue;
    message.remove_prefix(mark.size());
    break;
  }
  return Status(status.code(), std::string(message));
}

// A program that knows nothing of checkpoints would run to its end.
constexpr char kNoneSoFar[] = " (none was written so far; with --now nothing is waited for)";

// What a command does to one trial.
class TrialCommand {
 public:
  TrialCommand(const ControlRequest& request, const SweepView& view, const TrialRecord& trial,
               bool is_alive)
      : request_(request),
        sweep_(view.options().name),
        trial_(trial),
        runs_(is_alive && trial.is_running() && !trial.is_paused()),
        is_alive_(is_alive),
        has_checkpoint_(view.checkpoints().Latest(trial.row.number) != nullptr),
        is_sweep_paused_(is_alive && view.is_paused()) {}

  Result<ControlPlan> Plan() const {
    if (trial_.is_over()) {
      const std::string reason = trial_.row.stop_reason == StopReason::kNone
                                     ? ""
                                     : std::string(", ") + StopReasonName(trial_.row.stop_reason);
      return Refuse("is over (" + std::string(TrialStatusName(trial_.row.status)) + reason + ")");
    }
    switch (request_.verb) {
      case ControlVerb::kPause:
        return Pause();
      case ControlVerb::kUnpause:
        return Unpause();
      default:
        return Stop();
    }
  }

 private:
  Result<ControlPlan> Pause() const {
    if (trial_.held_by_command == PauseCommand::kTrial) return Refuse("is paused already");
    if (trial_.is_stop_wanted) return Refuse("stops at its next report");
    return Planned(PauseRequested{request_.trial, request_.now},
                   !runs_         ? "is paused"
                   : request_.now ? "is ended now and paused; it goes on from iteration " +
                                        std::to_string(trial_.resume_iteration) + " later"
                                  : std::string("pauses at its next checkpoint") +
                                        (has_checkpoint_ ? "" : kNoneSoFar),
                   "; tune unpause " + sweep_ + " --trial " +
                       std::to_string(trial_.row.number.value) + " lets it go on");
  }

  Result<ControlPlan> Unpause() const {
    if (trial_.held_by_scheduler && !trial_.held_by_command) {
      return Refuse("is paused by the scheduler, which alone can let it go on");
    }
    if (!trial_.is_paused() && !trial_.pause_wanted) {
      return Refuse(std::string("is not paused but ") + TrialStatusName(trial_.row.status));
    }
    const bool is_own = trial_.held_by_command == PauseCommand::kTrial ||
                        trial_.pause_wanted == PauseCommand::kTrial;
    if (is_sweep_paused_ && !is_own) {
      return Refuse("is paused with all others; tune unpause " + sweep_ + " goes on");
    }
    return Planned(UnpauseRequested{request_.trial},
                   trial_.held_by_scheduler ? "is left to the scheduler, which paused it too"
                   : is_sweep_paused_    ? "goes on when " + sweep_ + " does, which is paused too"
                   : !trial_.is_paused() ? "goes on without a pause"
                   : is_alive_           ? "goes on when there is room for it"
                                         : "goes on when " + sweep_ + " is resumed",
                   "");
  }

  Result<ControlPlan> Stop() const {
    return Planned(StopRequested{request_.trial, request_.now},
                   runs_ && !request_.now ? "stops at its next report" : "is stopped", "");
  }

  Result<ControlPlan> Planned(Event event, const std::string& what, const std::string& more) const {
    return ControlPlan{std::move(event), {Named(trial_) + " " + what + more}};
  }
  Status Refuse(const std::string& why) const {
    return FailedPrecondition(Named(trial_) + " of " + sweep_ + " " + why);
  }

  const ControlRequest& request_;
  const std::string sweep_;
  const TrialRecord& trial_;
  const bool runs_;
  const bool is_alive_;
  const bool has_checkpoint_;
  const bool is_sweep_paused_;
};

Result<const TrialRecord*> FindTrial(const SweepView& view, TrialNumber number) {
  const std::vector<TrialRecord>& trials = view.trials();
  const int64_t count = static_cast<int64_t>(trials.size());
  if (number.value < count) return &trials[static_cast<size_t>(number.value)];
  const std::string have = count == 0   ? "no trial yet"
                           : count == 1 ? "trial 0 alone"
                                        : "trials 0 to " + std::to_string(count - 1);
  const int64_t to_come = view.trial_count_max();
  const bool is_to_come = view.HasMoreToCreate() && (to_come < 0 || number.value < to_come);
  return NotFound(view.options().name + (is_to_come ? " has not begun trial " : " has no trial ") +
                  std::to_string(number.value) + (is_to_come ? " yet" : "") + "; it has " + have);
}

// What a command does to the whole sweep.
class SweepCommand {
 public:
  SweepCommand(const ControlRequest& request, const SweepView& view, bool is_alive)
      : request_(request),
        view_(view),
        sweep_(view.options().name),
        running_count_(RunningCount(view)),
        is_alive_(is_alive) {}

  Result<ControlPlan> Plan() const {
    switch (request_.verb) {
      case ControlVerb::kPause:
        return Pause();
      case ControlVerb::kUnpause:
        return Unpause();
      case ControlVerb::kStop:
        return Stop();
      case ControlVerb::kSet:
        return Set();
      case ControlVerb::kDrain:
        return Drain();
      default:
        break;
    }
    return InvalidArgument(std::string(ControlVerbName(request_.verb)) + ": changes nothing");
  }

 private:
  Result<ControlPlan> Pause() const {
    if (!is_alive_) {
      return FailedPrecondition(sweep_ + " does not run, and goes on only with tune resume " +
                                sweep_ + "; one trial of it can be paused with --trial N");
    }
    if (view_.is_paused() && !request_.now) {
      return FailedPrecondition(sweep_ + " is paused already; tune unpause " + sweep_ + " goes on");
    }
    const std::string running =
        request_.now && !HasCheckpoints()
            ? RunningTrials(running_count_, "is ended now and begins again from its start",
                            "are ended now and begin again from their start")
        : request_.now
            ? RunningTrials(running_count_, "is ended now and goes on from its checkpoint",
                            "are ended now and go on from their checkpoints")
            : RunningTrials(running_count_, "pauses at its next checkpoint",
                            "pause at their next checkpoints") +
                  (HasCheckpoints() ? "" : kNoneSoFar);
    return Planned(PauseRequested{std::nullopt, request_.now},
                   sweep_ + " is paused: nothing new is started, " + running + "; tune unpause " +
                       sweep_ + " goes on");
  }

  bool HasCheckpoints() const {
    return running_count_ == 0 ||
           std::any_of(view_.trials().begin(), view_.trials().end(), [&](const TrialRecord& trial) {
             return view_.checkpoints().Latest(trial.row.number) != nullptr;
           });
  }

  Result<ControlPlan> Unpause() const {
    if (is_alive_ && view_.is_paused()) return Planned(UnpauseRequested{}, sweep_ + " goes on");
    return FailedPrecondition(
        sweep_ + (is_alive_ ? " is not paused; a trial that was paused alone "
                              "goes on with --trial N"
                            : " does not run; tune resume " + sweep_ + " goes on with it"));
  }

  Result<ControlPlan> Stop() const {
    const int64_t open_count = OpenCount(view_);
    // A program that is only waited for reports nothing before its end.
    const bool now = request_.now || view_.options().spec.metric == kExitStatusMetric;
    const Event event = StopRequested{std::nullopt, now};
    if (!is_alive_) {
      return Planned(event, sweep_ + " is STOPPED: " +
                                OpenTrials(open_count, "was not over ended with it",
                                           "were not over ended with it"));
    }
    if (now) {
      return Planned(event,
                     sweep_ + " stops: " +
                         OpenTrials(open_count, "is not over ends now", "are not over end now"));
    }
    return Planned(event, sweep_ + " stops: nothing new is started, " +
                              RunningTrials(running_count_, "ends at its next report",
                                            "end at their next reports"));
  }

  // Trials that run go on as they are; a limit counts for them, too.
  Result<ControlPlan> Set() const {
    const ExperimentSpec& spec = view_.options().spec;
    Value document = spec.document;
    for (const std::string& setting : request_.settings) {
      TUNE_RETURN_IF_ERROR(NameSetting(ApplyOverride(setting, document)));
    }
    // One that an older build has stored is not what is set now.
    Value stored = spec.document;
    Value wanted = document;
    if (const Status mixed = RefuseSecretsWithParameters(wanted);
        !mixed.ok() && RefuseSecretsWithParameters(stored).ok()) {
      return NameSetting(mixed);
    }
    const size_t stored_count = TakeSecrets(stored).size();
    const std::vector<Secret> secrets = TakeSecrets(wanted);
    if (secrets.size() > stored_count) {
      return InvalidArgument("tune set: trainable.env." + secrets.back().name +
                             " is a secret, which is not stored; set it in the environment of tune "
                             "resume, and of the workers");
    }
    const std::string json = ToJson(document);
    const Result<ExperimentSpec> changed =
        InterpretSpec(document, "--set", spec.base_dir, /*require_trainable=*/true);
    if (!changed.ok()) return NameSetting(changed.status());
    const std::vector<std::string> fixed = DescribeSpecDifferences(spec, *changed);
    if (!fixed.empty()) {
      constexpr std::string_view kOfAFile = "the file has ";
      std::string difference = fixed[0];  // In words of a resume.
      const size_t at = difference.find(kOfAFile);
      if (at != std::string::npos) difference.replace(at, kOfAFile.size(), "asked for is ");
      return InvalidArgument("tune set: this cannot change while a sweep goes on: " + difference);
    }
    std::vector<std::string> lines = DescribeSettingsChanges(spec.document, document);
    if (lines.empty()) return FailedPrecondition(sweep_ + ": that is how it is set already");
    lines.back() += is_alive_ ? "; " + RunningTrials(running_count_, "goes on", "go on")
                              : "; it counts when the sweep is resumed";
    return ControlPlan{SettingsChanged{json}, std::move(lines)};
  }

  Result<ControlPlan> Drain() const {
    if (!is_alive_) return NotFound(sweep_ + " does not run: no worker is connected");
    return PlanDrain(request_.worker, view_.cluster());
  }

  Result<ControlPlan> Planned(Event event, std::string line) const {
    return ControlPlan{std::move(event), {std::move(line)}};
  }

  const ControlRequest& request_;
  const SweepView& view_;
  const std::string& sweep_;
  const int64_t running_count_;
  const bool is_alive_;
};

}  // namespace

namespace {

Status WhichOf(const std::vector<const WorkerRow*>& workers, const std::string& name) {
  std::string addresses;
  for (const WorkerRow* const worker : workers) {
    addresses += (addresses.empty() ? "" : ", ") + worker->address;
  }
  return FailedPrecondition(std::to_string(workers.size()) + " workers are called " + name +
                            "; name one by its address: " + addresses);
}

}  // namespace

Result<ControlPlan> PlanDrain(const std::string& worker, const Cluster& cluster) {
  std::vector<const WorkerRow*> found;
  std::string names;
  for (const auto& [id, record] : cluster.workers().all()) {
    if (record.row.is_local || !cluster.leases().HasWorker(id)) continue;
    names += (names.empty() ? "" : ", ") + record.row.name;
    if (record.row.name == worker || record.row.address == worker) found.push_back(&record.row);
  }
  if (found.empty()) {
    return NotFound("there is no worker '" + worker + "' from another machine; there " +
                    (names.empty() ? "is none" : "are " + names));
  }
  if (found.size() > 1) return WhichOf(found, worker);
  const WorkerRow& row = *found.front();
  if (cluster.leases().IsAway(row.worker)) {
    return FailedPrecondition("worker " + worker + " is not connected; its trials are waited for");
  }
  const auto runs = static_cast<int64_t>(cluster.leases().RunningOn(row.worker).size());
  return ControlPlan{WorkerDrainRequested{row.worker},
                     {"worker " + row.name + " leaves: it gets no more trials, " +
                      RunningTrials(runs, "goes on elsewhere", "go on elsewhere")}};
}

Result<ControlPlan> PlanControl(const ControlRequest& request, const SweepView& view,
                                bool is_alive) {
  const std::string& sweep = view.options().name;
  if (request.sweep != sweep) {
    return FailedPrecondition("this tuner runs " + sweep + ", not " + request.sweep);
  }
  const ExperimentStatus status = view.status();
  if (status == ExperimentStatus::kFinished || status == ExperimentStatus::kStopped) {
    return FailedPrecondition(sweep + " is over (" + ExperimentStatusName(status) + ")");
  }
  if (is_alive && view.is_ending() && !(request.verb == ControlVerb::kStop && request.now)) {
    return FailedPrecondition(sweep + " is about to end");
  }
  if (!request.trial) return SweepCommand(request, view, is_alive).Plan();
  TUNE_ASSIGN_OR_RETURN(const TrialRecord* const trial, FindTrial(view, *request.trial));
  return TrialCommand(request, view, *trial, is_alive).Plan();
}

Result<std::vector<std::string>> ControlAtRest(const ControlRequest& request,
                                               const StoredExperiment& experiment,
                                               const std::string& artifacts_dir, Store& store,
                                               ArtifactStore& artifacts, Instant now) {
  TUNE_ASSIGN_OR_RETURN(RecoveredExperiment recovered, Recover(experiment, artifacts_dir, store));
  ExperimentController& controller = *recovered.controller;
  TUNE_ASSIGN_OR_RETURN(ControlPlan plan, PlanControl(request, controller, false));
  const bool ends_sweep = request.verb == ControlVerb::kStop && !request.trial;
  std::vector<Event> events = {TunerRestarted{}, std::move(plan.event)};
  if (!ends_sweep) events.push_back(InterruptRequested{});
  const Transition transition = controller.Apply(events, now);
  const JournalStep step{recovered.last_step + 1, now, EncodeStream(transition.stream)};
  TUNE_RETURN_IF_ERROR(store.Commit(experiment.id, step, transition));
  for (const Action& action : transition.actions) {
    if (const auto* remove = std::get_if<RemoveCheckpoint>(&action)) {
      if (const Status s = artifacts.Remove(remove->path); !s.ok()) {
        plan.lines.push_back("warning: " + s.message());
      }
    } else if (const auto* say = std::get_if<Say>(&action)) {
      plan.lines.push_back(say->text);
    }
  }
  return plan.lines;
}

}  // namespace tune
