#include "tuner/cli/sweep.h"

#include <sched.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "core/nearest_name.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/offered_devices.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/package/artifact_depot.h"
#include "trial_runner/placement.h"
#include "tuner/artifact_path.h"
#include "tuner/artifact_store.h"
#include "tuner/cli/artifact_cleanup.h"
#include "tuner/cli/child_process.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/control_desk.h"
#include "tuner/cli/exit_limit.h"
#include "tuner/cli/listening.h"
#include "tuner/cli/program_watch.h"
#include "tuner/cli/restart_limit.h"
#include "tuner/cli/signal_watch.h"
#include "tuner/cli/stored_snapshot.h"
#include "tuner/cli/sweep_display.h"
#include "tuner/cli/sweep_lookup.h"
#include "tuner/cli/sweep_page.h"
#include "tuner/event_queue.h"
#include "tuner/experiment_spec.h"
#include "tuner/export/tensorboard_log.h"
#include "tuner/tuner.h"

namespace tune {
namespace {

constexpr int64_t kLocalWorkerRestartsMax = 3;
constexpr Duration kLocalWorkerRestartWindow = Seconds(60);
constexpr Duration kLookEvery = Milliseconds(200);  // At the local worker and the display.
constexpr Duration kShutdownPatience = Milliseconds(2000);
constexpr Duration kExitLimit = Seconds(20);  // Connections are cut after a fraction of it.

struct PlainPort {
  std::string address;
  std::string secret;
};

Result<std::unique_ptr<ChildProcess>> StartLocalWorker(const SweepSurroundings& surroundings,
                                                       const PlainPort& port) {
  return ChildProcess::Start(
      surroundings.program_dir + "/tune_worker",
      {"--connect", port.address, "--local", "--cpus",
       std::to_string(surroundings.local.cpu_milli / kWholeMilli), "--gpus",
       std::to_string(surroundings.local.devices.size()), "--prewarm", surroundings.trainable_kind},
      {"TUNE_LOCAL_SECRET=" + port.secret});
}

// Keeps a local worker alive: one that dies (out of memory, killed by somebody) or was given up (a
// stopped process) is replaced, unless that happens again and again without a report; its trials go
// on from their checkpoints.
class LocalWorkerKeeper {
 public:
  LocalWorkerKeeper(const SweepSurroundings& surroundings, PlainPort port)
      : surroundings_(surroundings), port_(std::move(port)) {}

  Status Start() {
    if (!surroundings_.has_local_worker()) return OkStatus();
    TUNE_ASSIGN_OR_RETURN(worker_, StartLocalWorker(surroundings_, port_));
    return OkStatus();
  }

  // A line to say when something happened; an error when the worker cannot be kept. `is_leased`:
  // the controller counts with it.
  Result<std::string> Look(Instant now, int64_t report_count, bool is_leased) {
    if (worker_ == nullptr) return std::string();
    const bool is_given_up = std::exchange(was_leased_, is_leased) && !is_leased;
    if (!worker_->HasEnded() && !is_given_up) return std::string();
    const std::string ending =
        worker_->HasEnded() ? "ended with " + worker_->ending() : "was given up and is killed";
    worker_.reset();
    if (!restarts_.MayRestart(now, report_count)) {
      return Internal("the local worker " + ending + ", the " +
                      std::to_string(restarts_.end_count()) + "th time without a report between");
    }
    TUNE_RETURN_IF_ERROR(Start());
    return "the local worker " + ending + "; started another one";
  }

  void End() { worker_.reset(); }

 private:
  const SweepSurroundings& surroundings_;
  PlainPort port_;
  std::unique_ptr<ChildProcess> worker_;
  bool was_leased_ = false;
  RestartLimit restarts_{kLocalWorkerRestartsMax, kLocalWorkerRestartWindow};
};

// Where workers come in: the plain port for our own one, the encrypted one for others.
struct Doors {
  std::unique_ptr<Listening> listening;  // Before the gateway, which asks it, and this one.
  std::unique_ptr<ArtifactDepot> depot;
  std::unique_ptr<WorkerGateway> gateway;
  std::string local_secret;
  std::string join_line;  // Empty: nobody else can come.
};

Status OpenDoors(const SweepSurroundings& surroundings, const std::string& sweep,
                 WorkerId last_worker, const Clock& clock, IncomingSink& sink, Doors& doors) {
  const std::string artifacts_dir = ArtifactsDirOf(surroundings.db_path);
  WorkerGateway::Options options;
  options.first_worker = WorkerId{last_worker.value + 1};
  options.package = surroundings.package.packed.get();
  if (surroundings.has_local_worker()) {
    doors.local_secret = options.local_secret = DrawLocalSecret();
  } else {
    options.listen.clear();
  }
  if (!surroundings.listen.empty()) {
    TUNE_ASSIGN_OR_RETURN(doors.listening,
                          Listening::Prepare(surroundings.listen, artifacts_dir, clock));
    options.tls = doors.listening->gateway_options();
    TUNE_ASSIGN_OR_RETURN(doors.depot, ArtifactDepot::Make({artifacts_dir + "/" + sweep,
                                                            surroundings.checkpoint_bytes_max}));
    options.checkpoints = doors.depot.get();
  }
  TUNE_ASSIGN_OR_RETURN(doors.gateway, WorkerGateway::Start(options, sink));
  if (doors.listening == nullptr) return ForgetListening(artifacts_dir, sweep);
  TUNE_ASSIGN_OR_RETURN(
      doors.join_line,
      doors.listening->Invite(sweep, doors.gateway->tls_address(), surroundings.token_validity));
  return OkStatus();
}

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
    return signals.count() > 0 ? signals.exit_status() : 1;
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
                 const std::vector<Event>& first_events, Store& store, const Clock& clock) {
  SweepDisplay display(controller, experiment, surroundings.db_path, clock.Now());
  ExitLimit exit_limit;
  const auto leave = [&exit_limit](int exit_status) {
    std::cout.flush();
    exit_limit.Begin(exit_status, kExitLimit,
                     "tune: a connection did not close and is left; nothing is lost");
    return exit_status;
  };
  const auto fail = [&](const Status& status) {
    display.Close(clock.Now());
    Tell("tune: " + status.message());
    if (status.code() == StatusCode::kDataLoss) {
      std::cerr << "the sweep is interrupted; put a backup of the database in its place (without "
                   "the .lock, -wal and -shm beside it), and go on with: ";
    } else {
      std::cerr << "the sweep is interrupted, nothing that was reported is lost; go on with: ";
    }
    std::cerr << display.ResumeLine() << "\n";
    return leave(1);
  };
  EventQueue queue;
  // Before a worker or a signal can come: a restart would take them for the earlier life's. The
  // last one starts the sweep's time, so that limits.unplaceable also ends one to which no worker
  // comes.
  for (const Event& event : first_events) queue.PushEvent(event);
  queue.PushEvent(DeadlinePassed{});
  SignalWatch signals(queue);
  controller.Offer(surroundings.package.name);
  Doors doors;
  if (const Status s =
          OpenDoors(surroundings, experiment.name, controller.last_worker(), clock, queue, doors);
      !s.ok()) {
    return fail(s);
  }
  const std::unique_ptr<WorkerGateway>& gateway = doors.gateway;
  LocalWorkerKeeper local_worker(surroundings, {gateway->address(), doors.local_secret});
  if (const Status s = local_worker.Start(); !s.ok()) return fail(s);
  if (!doors.join_line.empty()) display.Say("workers join with: " + doors.join_line);

  LocalArtifactStore artifacts(controller.options().artifact_root);
  Tuner tuner({controller, store, *gateway, artifacts, clock, queue}, experiment.id, last_step);
  ControlDesk control(ArtifactsDirOf(surroundings.db_path), controller, tuner, queue, clock,
                      doors.depot.get());
  if (const Status& s = control.status(); !s.ok()) {
    display.Say("warning: commands such as tune stop will not reach this sweep: " + s.message());
  }
  EventFiles event_files(surroundings, experiment, controller.options().spec, display);
  ProgramWatch program(controller.options().spec, experiment.provenance,
                       controller.program_changes());
  SweepPage page;
  if (surroundings.page) {
    page.Start(surroundings.program_dir, surroundings.db_path, *surroundings.page, clock.Now());
  }
  bool is_interrupt_told = false;
  while (!tuner.is_done() && !signals.came_again()) {
    Status step = tuner.Step(clock.Now() + kLookEvery);
    if (step.ok()) step = control.Serve();
    if (!step.ok()) {
      local_worker.End();
      return fail(step);
    }
    event_files.Follow(clock.Now());
    if (auto changes = program.Look(clock.Now()))
      queue.PushEvent(ProgramChanged{*std::move(changes)});
    if (surroundings.on_running && page.is_settled(clock.Now())) surroundings.on_running();
    for (const std::string& line : tuner.TakeLines()) display.Say(line);
    for (const std::string& line : control.TakeLines()) display.Say(line);
    for (const std::string& line : page.TakeLines()) display.Say(line);
    if (const auto notice = gateway->TakeNotice()) display.Say(*notice);
    if (signals.count() > 0 && !std::exchange(is_interrupt_told, true)) {
      signals.Tell();
      display.Say(controller.is_being_stopped()
                      ? "running trials end now; again to stop at once"
                      : "stopping: running trials go on later, from a checkpoint where they have "
                        "one; again to stop at once");
    }
    display.Update(clock.Now());
    const Result<std::string> news =
        tuner.is_done()
            ? Result<std::string>(std::string())
            : local_worker.Look(clock.Now(), tuner.report_count(), controller.HasLocalWorker());
    if (!news.ok()) return fail(news.status());
    if (!news->empty()) display.Say(*news);
  }
  if (tuner.is_done()) {
    gateway->WaitUntilAllGone(kShutdownPatience);
  } else {
    doors.gateway.reset();  // A local worker whose tuner is gone ends at once.
  }
  local_worker.End();
  if (tuner.is_done() && doors.depot != nullptr) {
    // Checkpoints that workers sent and were lost before they told of them.
    doors.gateway.reset();
    const Status s = CleanUpAfterTuner(surroundings.db_path, experiment.name, clock.Now());
    if (!s.ok()) display.Say("warning: " + s.message() + " (tune gc tries again)");
  }
  event_files.Finish();
  display.Close(clock.Now());
  display.PrintSummary(clock.Now(), IterationsAgain(surroundings.db_path, experiment.id));
  page.End();
  return leave(tuner.is_done() ? ExitStatusOf(controller, signals) : signals.exit_status());
}

}  // namespace tune
