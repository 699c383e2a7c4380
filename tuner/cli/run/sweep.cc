#include "tuner/cli/run/sweep.h"

#include <sched.h>

#include <algorithm>
#include <iostream>
#include <optional>
#include <utility>

#include "core/nearest_name.h"
#include "trial_runner/bucket/stop_later.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/offered_devices.h"
#include "trial_runner/placement.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/bucket_cleanup.h"
#include "tuner/cli/keep/kept_artifacts.h"
#include "tuner/cli/look/stored_snapshot.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/sweep_page.h"
#include "tuner/cli/run/control_desk.h"
#include "tuner/cli/run/doors.h"
#include "tuner/cli/run/local_worker.h"
#include "tuner/cli/run/program_watch.h"
#include "tuner/cli/run/sweep_display.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/exit_limit.h"
#include "tuner/cli/words/signal_watch.h"
#include "tuner/event_queue.h"
#include "tuner/experiment_spec.h"
#include "tuner/export/tensorboard_log.h"
#include "tuner/tuner.h"

namespace tune {
namespace {

constexpr Duration kLookEvery = Milliseconds(200);  // At the local worker and the display.
constexpr Duration kShutdownPatience = Milliseconds(2000);
constexpr Duration kExitLimit = Seconds(20);  // Connections are cut after a fraction of it.

// Nothing of it ends a sweep: what goes wrong is said.
class EventFiles {
 public:
  EventFiles(const SweepSurroundings& surroundings, const StoredExperiment& experiment,
             const ExperimentSpec& spec, SweepDisplay& display)
      : display_(display) {
    if (surroundings.log.empty()) return;
    ExportedSweep sweep;
    sweep.id = experiment.id.value;
    sweep.name = experiment.name;
    sweep.objectives = spec.objectives();
    sweep.has_limits = !spec.feasible.empty();
    sweep.created_at = experiment.created_at;
    const std::string folder =
        ArtifactsDirOf(surroundings.db_path) + "/" + experiment.name + "/tensorboard";
    Result<std::unique_ptr<TensorboardLog>> log =
        TensorboardLog::Open(surroundings.db_path, std::move(sweep), folder);
    if (log.ok()) {
      log_ = *std::move(log);
      display_.Say("event files: tensorboard --logdir " + folder);
    } else {
      display_.Say("warning: there will be no event files: " + log.status().message());
    }
  }

  void Follow(Instant now) {
    if (log_ != nullptr) Say(log_->Follow(now));
  }
  void Finish() {
    if (log_ != nullptr) Say(log_->Finish());
    log_.reset();
  }

 private:
  void Say(const std::optional<std::string>& line) {
    if (line.has_value()) display_.Say(*line);
  }

  SweepDisplay& display_;
  std::unique_ptr<TensorboardLog> log_;
};

int ExitStatusOf(const ExperimentController& controller, const SignalWatch& signals) {
  if (controller.status() == ExperimentStatus::kInterrupted) {
    if (signals.count() > 0) return signals.exit_status();
    return controller.sweep().given_up().empty() ? 1 : 3;
  }
  const bool any_failed =
      std::any_of(controller.trials().begin(), controller.trials().end(),
                  [](const TrialRecord& t) { return t.row.status == TrialStatus::kError; });
  return any_failed ? 3 : 0;
}

// A summary is no reason to fail: 0 where the database cannot be read.
int64_t IterationsAgain(const std::string& db_path, ExperimentId experiment) {
  const Result<std::unique_ptr<Database>> database = OpenForQueries(db_path);
  if (!database.ok()) return 0;
  const Result<int64_t> count = CountIterationsAgain(**database, experiment.value);
  return count.ok() ? *count : 0;
}

// All that runs while a sweep does.
class Conductor {
 public:
  Conductor(const SweepSurroundings& surroundings, const StoredExperiment& experiment,
            ExperimentController& controller, SqliteStore& store, const Clock& clock)
      : surroundings_(surroundings),
        experiment_(experiment),
        controller_(controller),
        store_(store),
        clock_(clock),
        display_(controller, experiment, surroundings.db_path, clock.Now()) {}

  int Run(int64_t last_step, const std::vector<Event>& first_events) {
    // Before a worker or a signal can come: a restart would take them for the earlier life's. The
    // last one starts the sweep's time, so that limits.unplaceable also ends one to which no worker
    // comes.
    for (const Event& event : first_events) queue_.PushEvent(event);
    queue_.PushEvent(DeadlinePassed{});
    signals_.emplace(queue_);
    if (const Status s = Open(last_step); !s.ok()) return Fail(s);
    while (!tuner_->is_done() && !signals_->came_again()) {
      if (const Status s = Step(); !s.ok()) return Fail(s);
    }
    Close();
    return Leave(tuner_->is_done() ? ExitStatusOf(controller_, *signals_)
                                   : signals_->exit_status());
  }

 private:
  Status Open(int64_t last_step) {
    const Result<Provenance> began = DecodeProvenance(experiment_.provenance);
    controller_.Offer({surroundings_.package.name, false,
                       began.ok() ? DataSeenOf(*began) : std::vector<DataSeen>()});
    // No two workers of a database have one number: a head may take their sweeps up together.
    TUNE_ASSIGN_OR_RETURN(const WorkerId last_worker, store_.LastWorker());
    TUNE_ASSIGN_OR_RETURN(
        doors_,
        Doors::Open({ArtifactsDirOf(surroundings_.db_path), experiment_.name, surroundings_.listen,
                     surroundings_.token_validity, surroundings_.checkpoint_bytes_max,
                     surroundings_.has_local_worker(), WorkerId{last_worker.value + 1}},
                    clock_, queue_));
    TUNE_RETURN_IF_ERROR(doors_->AddSweep(experiment_.id, experiment_.name,
                                          controller_.options().spec,
                                          surroundings_.package.packed));
    local_worker_.emplace(LocalWorkerOptions{surroundings_.program_dir, surroundings_.local,
                                             surroundings_.trainable_kind,
                                             doors_->gateway().address(), doors_->local_secret()});
    TUNE_RETURN_IF_ERROR(local_worker_->Start());
    if (!doors_->join_line().empty()) display_.Say("workers join with: " + doors_->join_line());

    const ControllerOptions& options = controller_.options();
    artifacts_.emplace(options.artifact_root);
    storage_ = StorageOf(experiment_, options.spec.checkpoint.storage, surroundings_.db_path);
    if (storage_) {
      artifacts_->LookNowAndThen(experiment_.name, [storage = *storage_](const auto& stop) {
        return KeepClaim(storage, stop);
      });
    }
    tuner_.emplace(
        Tuner::Parts{controller_.head(), store_, doors_->gateway(), *artifacts_, clock_, queue_},
        experiment_.id, last_step);
    control_.emplace(
        ArtifactsDirOf(surroundings_.db_path),
        ControlDesk::Parts{controller_.head(), *tuner_, queue_, clock_, *doors_, store_});
    if (const Status& s = control_->status(); !s.ok()) {
      display_.Say("warning: commands such as tune stop will not reach this sweep: " + s.message());
    }
    event_files_.emplace(surroundings_, experiment_, options.spec, display_);
    program_.emplace(options.spec, experiment_.provenance, controller_.program_changes());
    if (surroundings_.page) {
      page_.Start(surroundings_.program_dir, surroundings_.db_path, *surroundings_.page,
                  clock_.Now());
    }
    return OkStatus();
  }

  Status Step() {
    Status step = tuner_->Step(clock_.Now() + kLookEvery);
    if (step.ok()) step = control_->Serve();
    if (!step.ok()) {
      local_worker_->End();
      return step;
    }
    event_files_->Follow(clock_.Now());
    const size_t worker_count = controller_.head().cluster().workers().all().size();
    if (auto changes = program_->Look(clock_.Now(), worker_count)) {
      queue_.PushEvent(ProgramChanged{*std::move(changes)});
      for (const std::string& line : program_->TakeNews()) display_.Say(line);
    }
    if (surroundings_.on_running && page_.is_settled(clock_.Now())) surroundings_.on_running();
    SayNews();
    display_.Update(clock_.Now());
    if (tuner_->is_done()) return OkStatus();
    return LookAtLocalWorker();
  }

  // Workers of other machines may run what it cannot.
  Status LookAtLocalWorker() {
    const Result<std::string> news =
        local_worker_->Look(clock_.Now(), tuner_->report_count(), controller_.LocalWorker());
    if (news.ok() && !news->empty()) display_.Say(*news);
    if (news.status().code() != StatusCode::kFailedPrecondition || !doors_->listens()) {
      return news.status();
    }
    display_.Say(news.status().message() + "; they wait for workers of other machines");
    return OkStatus();
  }

  void SayNews() {
    for (const Say& line : tuner_->TakeLines()) display_.Say(line.text);
    for (const std::string& line : control_->TakeLines()) display_.Say(line);
    for (const std::string& line : artifacts_->TakeLines()) display_.Say(line);
    for (const std::string& line : page_.TakeLines()) display_.Say(line);
    if (const auto notice = doors_->gateway().TakeNotice()) display_.Say(*notice);
    if (signals_->count() == 0 || std::exchange(is_interrupt_told_, true)) return;
    signals_->Tell();
    display_.Say(controller_.is_being_stopped()
                     ? "running trials end now; again to stop at once"
                     : "stopping: running trials go on later, from a checkpoint where they have "
                       "one; again to stop at once");
  }

  void Close() {
    if (tuner_->is_done()) {
      doors_->gateway().WaitUntilAllGone(kShutdownPatience);
    } else {
      doors_->Close();  // A local worker whose tuner is gone ends at once.
    }
    local_worker_->End();
    if (tuner_->is_done()) CleanUp();
    event_files_->Finish();
    display_.Close(clock_.Now());
    display_.PrintSummary(clock_.Now(), IterationsAgain(surroundings_.db_path, experiment_.id));
    page_.End();
  }

  // Checkpoints that workers sent and were lost before they told of them, and copies of what an
  // object store has. A sweep that goes on later leaves the store to its next life.
  void CleanUp() {
    if (!storage_ && !doors_->listens()) return;
    doors_->Close();
    artifacts_->Finish(kStoreExitPatience);
    for (const std::string& line : artifacts_->TakeLines()) display_.Say(line);
    const bool is_over = controller_.status() != ExperimentStatus::kInterrupted;
    if (storage_ && !is_over) return;
    const StopLater patience(kStoreExitPatience);
    const Status s =
        storage_ ? CleanUpStored(surroundings_.db_path, *storage_, clock_.Now(), patience.token())
                 : CleanUpAfterTuner(surroundings_.db_path, experiment_.name, clock_.Now());
    if (!s.ok()) display_.Say("warning: " + s.message() + " (tune gc tries again)");
  }

  int Fail(const Status& status) {
    display_.Close(clock_.Now());
    Tell("tune: " + status.message());
    std::cerr << (status.code() == StatusCode::kDataLoss
                      ? "the sweep is interrupted; put a backup of the database in its place "
                        "(without the .lock, -wal and -shm beside it), and go on with: "
                      : "the sweep is interrupted, nothing that was reported is lost; go on with: ")
              << display_.ResumeLine() << "\n";
    return Leave(1);
  }

  int Leave(int exit_status) {
    std::cout.flush();
    exit_limit_.Begin(exit_status, kExitLimit,
                      "tune: a connection did not close and is left; nothing is lost");
    return exit_status;
  }

  const SweepSurroundings& surroundings_;
  const StoredExperiment& experiment_;
  ExperimentController& controller_;
  SqliteStore& store_;
  const Clock& clock_;
  bool is_interrupt_told_ = false;
  // Each may use those above it, and ends before them.
  SweepDisplay display_;
  ExitLimit exit_limit_;
  EventQueue queue_;
  std::optional<SignalWatch> signals_;
  std::unique_ptr<Doors> doors_;
  std::optional<LocalWorkerKeeper> local_worker_;
  std::optional<KeptArtifacts> artifacts_;
  std::optional<SweepStorage> storage_;  // Nothing: it is this disk.
  std::optional<Tuner> tuner_;
  std::optional<ControlDesk> control_;
  std::optional<EventFiles> event_files_;
  std::optional<ProgramWatch> program_;
  SweepPage page_;
};

}  // namespace

int64_t AvailableCpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
  return std::max(1, CPU_COUNT(&set));
}

Status CheckLog(const std::string& log) {
  constexpr std::string_view kKnown[] = {"tensorboard"};
  if (log.empty() || log == kKnown[0]) return OkStatus();
  return InvalidArgument("--log: '" + log + "' is no format to log to" + DidYouMean(log, kKnown));
}

Result<WorkerCapacity> FindLocalCapacity(const ResourceRequest& request,
                                         std::optional<int64_t> cpus, std::optional<int64_t> gpus) {
  WorkerCapacity local;
  local.cpu_milli = cpus.value_or(AvailableCpus()) * kWholeMilli;
  const bool wants_devices = gpus ? *gpus > 0 : request.gpu_milli > 0 && local.cpu_milli > 0;
  if (!wants_devices) return local;
  const MachineDevices here = LookUpDevices();
  if (!here.warning.empty()) Tell("warning: " + here.warning);
  TUNE_ASSIGN_OR_RETURN(local.devices, OfferedDevices(gpus, here.visible, here.has_any));
  return local;
}

Status CheckFeasible(const ResourceRequest& request, const SweepSurroundings& surroundings) {
  if (!surroundings.listen.empty()) return OkStatus();  // What others have is not known yet.
  if (!surroundings.has_local_worker()) {
    return InvalidArgument(
        "--cpus 0: there would be no worker; let others join with --listen 127.0.0.1:0, or offer "
        "CPUs");
  }
  if (CouldEverFit(request, surroundings.local)) return OkStatus();
  return InvalidArgument("resources: a trial needs " + DescribeRequest(request) +
                         ", but the only worker (local) has " +
                         DescribeCapacity(surroundings.local) +
                         "; ask for less in the space file, or say what this machine has with "
                         "--cpus N --gpus N");
}

int ConductSweep(const SweepSurroundings& surroundings, const StoredExperiment& experiment,
                 ExperimentController& controller, int64_t last_step,
                 const std::vector<Event>& first_events, SqliteStore& store, const Clock& clock) {
  return Conductor(surroundings, experiment, controller, store, clock).Run(last_step, first_events);
}

}  // namespace tune
