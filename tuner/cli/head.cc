#include "tuner/cli/head.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/json.h"
#include "core/posix/real_clock.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/offered_devices.h"
#include "trial_runner/package/kept_package.h"
#include "trial_runner/placement.h"
#include "tuner/artifact_path.h"
#include "tuner/artifact_store.h"
#include "tuner/cli/artifact_cleanup.h"
#include "tuner/cli/background.h"
#include "tuner/cli/complain.h"
#include "tuner/cli/control_desk.h"
#include "tuner/cli/doors.h"
#include "tuner/cli/exit_limit.h"
#include "tuner/cli/listening.h"
#include "tuner/cli/live_view.h"
#include "tuner/cli/local_worker.h"
#include "tuner/cli/program_watch.h"
#include "tuner/cli/signal_watch.h"
#include "tuner/cli/sweep.h"
#include "tuner/cli/sweep_start.h"
#include "tuner/cli/working_package.h"
#include "tuner/control/control_plan.h"
#include "tuner/earlier_sweep.h"
#include "tuner/recovery.h"
#include "tuner/search_problem.h"
#include "tuner/spec_reader.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sqlite/writer_lock.h"
#include "tuner/tuner.h"

namespace tune {
namespace {

constexpr Duration kLookEvery = Milliseconds(200);  // At the local worker and the programs.
constexpr Duration kExitLimit = Seconds(20);
constexpr Duration kLease = Seconds(60);
constexpr Duration kTryAgainEvery = Seconds(60);  // With a sweep that found no room on a disk.
constexpr size_t kPackagesOfEndedMax = 16;
constexpr Duration kLocalWorkerPause = Seconds(60);  // After one that ended again and again.

void Log(const std::string& line) { Tell(FormatInstant(RealClock().Now()) + "  " + line); }

Result<WorkerCapacity> LocalCapacity(const HeadCommandOptions& options) {
  WorkerCapacity local;
  local.cpu_milli = options.cpus.value_or(AvailableCpus()) * kWholeMilli;
  const MachineDevices here = LookUpDevices();
  if (!here.warning.empty()) Log("warning: " + here.warning);
  const bool takes_all = !options.gpus && local.cpu_milli > 0;
  if (takes_all) {
    local.devices = here.visible;
    return local;
  }
  TUNE_ASSIGN_OR_RETURN(local.devices,
                        OfferedDevices(options.gpus.value_or(0), here.visible, here.has_any));
  return local;
}

class Head final : public HeadDuties {
 public:
  Head(const HeadCommandOptions& options, WorkerCapacity local, std::string listen,
       SqliteStore& store, const Clock& clock)
      : options_(options),
        artifacts_dir_(ArtifactsDirOf(options.db_path)),
        local_(std::move(local)),
        listen_(std::move(listen)),
        store_(store),
        clock_(clock),
        artifacts_(artifacts_dir_),
        controller_(HeadOptions{kLease, /*ends_with_sweeps=*/false}) {}

  int Run(Background* background) {
    signals_.emplace(queue_, std::nullopt);
    if (const Status s = Open(); !s.ok()) return Complain(s);
    const std::string text = "the head runs (pid " + std::to_string(getpid()) + "), database " +
                             options_.db_path + ", its own worker offers " +
                             (has_local_worker() ? DescribeCapacity(local_) : "nothing");
    Log(text);
    if (!doors_->join_line().empty()) Log("workers join with: " + doors_->join_line());
    if (background != nullptr) {
      background->TellRunning(text + (doors_->join_line().empty()
                                          ? ""
                                          : "\nworkers join with: " + doors_->join_line()));
    }
    while (signals_->count() == 0) {
      if (const Status s = Step(); !s.ok()) return Fail(s);
    }
    return Close();
  }

  Result<Submitted> Submit(const std::string& name, const Submission& submission) override;
  Result<std::vector<std::string>> DoAtRest(const ControlRequest& request) override;

 private:
  bool has_local_worker() const { return local_.cpu_milli > 0 || !local_.devices.empty(); }

  // ---- its life

  Status Open();
  Status TakeUp(const TakenUp& taken);
  Status Step();
  int Close();
  int Fail(const Status& status);
  Status LookAtLocalWorker();
  void LookAtPrograms();
  void SayNews();

  // ---- sweeps

  Result<std::vector<std::string>> Resume(const StoredExperiment& experiment,
                                          const ControlRequest& request);
  // What a new one needs, before anything is stored.
  Status CheckNew(const std::string& name, const ExperimentSpec& spec) const;
  Status Admit(const StoredExperiment& experiment);
  void Leave(const EndOfExperiment& end);
  void NoteSubmitted(const StoredExperiment& experiment);
  void LookAtInterrupted();
  void TrimPackages();
  std::string NameOf(ExperimentId id) const {
    const auto found = names_.find(id);
    return found == names_.end() ? "" : found->second;
  }

  const HeadCommandOptions& options_;
  const std::string artifacts_dir_;
  const WorkerCapacity local_;
  const std::string listen_;
  SqliteStore& store_;
  const Clock& clock_;
  // Each may use those above it, and ends before them.
  ExitLimit exit_limit_;
  EventQueue queue_;
  LocalArtifactStore artifacts_;
  Controller controller_;
  std::map<std::string, std::string> submitted_;   // Names of all sweeps, by their submissions.
  std::map<std::string, Instant> interrupted_;     // When they are tried again, by name.
  std::map<ExperimentId, std::string> names_;      // Of those that are open.
  std::map<ExperimentId, ProgramWatch> programs_;  // Likewise.
  std::map<ExperimentId, std::string> packages_;   // Likewise, hashes.
  std::optional<SignalWatch> signals_;
  std::unique_ptr<Doors> doors_;
  std::optional<LocalWorkerKeeper> local_worker_;
  std::optional<Instant> local_worker_again_at_;
  std::optional<Tuner> tuner_;
  std::optional<ControlDesk> control_;
};

// ---- its life

Status Head::Open() {
  TUNE_RETURN_IF_ERROR(store_.AnnounceHead());
  if (const std::string ended = EndWhatTrialsLeftBehind(options_.db_path); !ended.empty()) {
    Log(ended);
  }
  TUNE_ASSIGN_OR_RETURN(const WorkerId last_worker, store_.LastWorker());
  TUNE_ASSIGN_OR_RETURN(const TakenUp taken, EnlistRunning(artifacts_dir_, store_, controller_));
  for (const auto& [id, open] : controller_.sweeps()) {
    TUNE_RETURN_IF_ERROR(CleanUpSweep(options_.db_path, open.sweep.options().name, clock_.Now()));
  }
  TUNE_ASSIGN_OR_RETURN(doors_, Doors::Open({artifacts_dir_, kHeadListening, listen_,
                                             options_.token_validity, options_.checkpoint_bytes_max,
                                             has_local_worker(), WorkerId{last_worker.value + 1}},
                                            clock_, queue_));
  tuner_.emplace(Tuner::Parts{controller_, store_, doors_->gateway(), artifacts_, clock_, queue_});
  TUNE_RETURN_IF_ERROR(TakeUp(taken));
  local_worker_.emplace(LocalWorkerOptions{options_.program_dir, local_, "",
                                           doors_->gateway().address(), doors_->local_secret()});
  TUNE_RETURN_IF_ERROR(local_worker_->Start());
  control_.emplace(artifacts_dir_,
                   ControlDesk::Parts{controller_, *tuner_, queue_, clock_, *doors_, this});
  return control_->status();
}

// What its last life, and tuners that were killed, left running.
Status Head::TakeUp(const TakenUp& taken) {
  for (const Status& status : taken.refused) {
    Log("warning: a sweep stays closed: " + status.message());
  }
  TUNE_ASSIGN_OR_RETURN(const auto experiments, store_.ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    NoteSubmitted(experiment);
    const auto last_step = taken.last_steps.find(experiment.id);
    if (last_step == taken.last_steps.end()) continue;
    tuner_->Begin(experiment.id, last_step->second);
    TUNE_RETURN_IF_ERROR(Admit(experiment));
  }
  if (!taken.last_steps.empty()) {
    TUNE_RETURN_IF_ERROR(tuner_->Take({HeadEvent{TunerRestarted{doors_->listens()}}}));
  }
  for (const StoredExperiment& experiment : taken.apart) {
    const Result<int64_t> last_step = EnlistStored(experiment, artifacts_dir_, store_, controller_);
    if (!last_step.ok()) {
      Log("warning: a sweep stays closed: " + last_step.status().message());
      continue;
    }
    tuner_->Begin(experiment.id, *last_step);
    TUNE_RETURN_IF_ERROR(Admit(experiment));
    TUNE_RETURN_IF_ERROR(tuner_->Take({HeadEvent{TunerRestarted{}, experiment.id}}));
  }
  if (!names_.empty()) {
    Log("going on with " + Counted(static_cast<int64_t>(names_.size()), "sweep"));
  }
  return OkStatus();
}

Status Head::Step() {
  Status step = tuner_->Step(clock_.Now() + kLookEvery);
  if (step.ok()) step = control_->Serve();
  if (!step.ok()) return step;
  SayNews();
  for (const EndOfExperiment& end : tuner_->TakeEnded()) Leave(end);
  LookAtInterrupted();
  LookAtPrograms();
  return LookAtLocalWorker();
}

void Head::SayNews() {
  for (const Say& line : tuner_->TakeLines()) {
    const std::string name = NameOf(line.sweep);
    Log(name.empty() ? line.text : name + ": " + line.text);
  }
  for (const std::string& line : control_->TakeLines()) Log(line);
  if (const auto notice = doors_->gateway().TakeNotice()) Log(*notice);
}

void Head::LookAtPrograms() {
  for (auto& [id, program] : programs_) {
    if (auto changes = program.Look(clock_.Now())) {
      queue_.PushEvent(ProgramChanged{*std::move(changes)}, id);
    }
  }
}

// One that cannot be kept ends no head: a sweep's trials may be what ends it.
Status Head::LookAtLocalWorker() {
  const Instant now = clock_.Now();
  if (local_worker_again_at_) {
    if (now < *local_worker_again_at_) return OkStatus();
    local_worker_again_at_.reset();
    TUNE_RETURN_IF_ERROR(local_worker_->Start());
  }
  const std::vector<WorkerView> views = controller_.cluster().leases().Views();
  const bool is_leased = std::any_of(views.begin(), views.end(), [this](const WorkerView& view) {
    return controller_.cluster().workers().At(view.worker).row.is_local;
  });
  const Result<std::string> news = local_worker_->Look(now, tuner_->report_count(), is_leased);
  if (!news.ok()) {
    Log(news.status().message() + "; it is started again in a minute");
    local_worker_again_at_ = now + kLocalWorkerPause;
  } else if (!news->empty()) {
    Log(*news);
  }
  return OkStatus();
}

int Head::Close() {
  SayNews();
  Log("the head ends; what ran goes on with tune head, workers of other machines keep their "
      "trials for " +
      FormatDuration(kLease));
  control_.reset();
  doors_->Close();
  local_worker_->End();
  const int exit_status = signals_->exit_status();
  exit_limit_.Begin(exit_status, kExitLimit,
                    "tune: a connection did not close and is left; nothing is lost");
  return exit_status;
}

int Head::Fail(const Status& status) {
  Tell("tune: " + status.message());
  std::cerr << "the head ends, nothing that was reported is lost; it goes on with: tune head --db "
            << options_.db_path << "\n";
  control_.reset();
  doors_->Close();
  local_worker_->End();
  exit_limit_.Begin(1, kExitLimit, "tune: a connection did not close and is left");
  return 1;
}

// ---- sweeps

Status Head::CheckNew(const std::string& name, const ExperimentSpec& spec) const {
  TUNE_RETURN_IF_ERROR(CheckNewSweepName(name));
  if (!doors_->listens() && !CouldEverFit(spec.resources, local_)) {
    return InvalidArgument("resources: a trial needs " + DescribeRequest(spec.resources) +
                           ", but this head takes no workers of other machines, and its own has " +
                           DescribeCapacity(local_));
  }
  SweepSurroundings surroundings;
  surroundings.local = local_;
  return CheckEnvironment(spec, surroundings, options_.program_dir);
}

// A client has taken them out; none comes into the database.
Status RefuseSecrets(const std::string& spec) {
  TUNE_ASSIGN_OR_RETURN(Value document, ParseJson(spec));
  const std::vector<Secret> secrets = TakeSecrets(document);
  if (secrets.empty()) return OkStatus();
  return InvalidArgument("trainable.env." + secrets.front().name + ": is a secret");
}

void Head::NoteSubmitted(const StoredExperiment& experiment) {
  const Result<Provenance> provenance = DecodeProvenance(experiment.provenance);
  if (!provenance.ok() || provenance->submission.empty()) return;
  submitted_.emplace(provenance->submission, experiment.name);
  // By an earlier life, which was about to try again.
  if (experiment.status == ExperimentStatus::kInterrupted) {
    interrupted_[experiment.name] = clock_.Now();
  }
}

void Head::LookAtInterrupted() {
  for (auto entry = interrupted_.begin(); entry != interrupted_.end();) {
    const auto& [name, due] = *entry++;
    if (clock_.Now() < due) continue;
    ControlRequest request;
    request.verb = ControlVerb::kResume;
    request.sweep = name;
    const auto resumed = DoAtRest(request);
    if (resumed.ok() || resumed.status().code() == StatusCode::kFailedPrecondition ||
        resumed.status().code() == StatusCode::kNotFound) {
      interrupted_.erase(request.sweep);  // It goes on, or somebody has ended it meanwhile.
    } else {
      interrupted_[request.sweep] = clock_.Now() + kTryAgainEvery;
    }
  }
}

Result<HeadDuties::Submitted> Head::Submit(const std::string& name, const Submission& submission) {
  const Result<Provenance> provenance = DecodeProvenance(submission.provenance);
  if (!provenance.ok()) return provenance.status().At("provenance");
  if (const auto before = submitted_.find(provenance->submission);
      before != submitted_.end() && !provenance->submission.empty()) {
    return Submitted{before->second, false};
  }
  TUNE_RETURN_IF_ERROR(RefuseSecrets(submission.spec));
  TUNE_ASSIGN_OR_RETURN(const ExperimentSpec spec,
                        InterpretStoredSpec(submission.spec, name, submission.base_dir,
                                            /*require_trainable=*/true));
  TUNE_RETURN_IF_ERROR(CheckNew(name, spec));
  TUNE_ASSIGN_OR_RETURN(const SearchSpace space, SpaceOf(spec));
  TUNE_ASSIGN_OR_RETURN(EarlierSweep earlier,
                        ReadEarlierAtStart(spec, space, clock_.Now(), store_));
  TUNE_ASSIGN_OR_RETURN(
      SweepParts parts,
      MakeSweepParts(spec, submission.seed, name, artifacts_dir_, std::move(earlier.trials)));
  TUNE_ASSIGN_OR_RETURN(const std::vector<Event> first_events,
                        KnownAtStart(spec, 0, options_.db_path));
  NewExperiment wanted;
  wanted.name = name;
  wanted.metric = spec.metric;
  wanted.mode = spec.mode == Mode::kMax ? "max" : "min";
  wanted.seed = submission.seed;
  wanted.samples = spec.samples;
  wanted.spec = submission.spec;
  wanted.base_dir = submission.base_dir;
  wanted.provenance = submission.provenance;
  wanted.created_at = clock_.Now();
  TUNE_ASSIGN_OR_RETURN(const StoredExperiment experiment, store_.CreateExperiment(wanted));
  parts.options.name = experiment.name;
  parts.options.artifact_root = artifacts_dir_ + "/" + experiment.name;
  controller_.Enlist(experiment.id, std::move(parts.options), std::move(parts.searcher),
                     std::move(parts.scheduler));
  tuner_->Begin(experiment.id, 0);
  NoteSubmitted(experiment);
  // It is stored: what fails from here on is for its next life.
  Status begun = Admit(experiment);
  std::vector<HeadEvent> events;
  for (const Event& event : first_events) events.push_back({event, experiment.id});
  events.push_back({DeadlinePassed{}, experiment.id});
  if (begun.ok()) begun = tuner_->Take(events);
  if (!begun.ok()) return Internal(begun.message());
  if (!earlier.note.empty()) Log(experiment.name + ": " + earlier.note);
  return Submitted{experiment.name, true};
}

// It is enlisted: workers get what they need of it.
Status Head::Admit(const StoredExperiment& experiment) {
  const ExperimentId id = experiment.id;
  OpenSweep& open = controller_.At(id);
  names_[id] = experiment.name;
  programs_.erase(id);
  programs_.try_emplace(id, open.sweep.options().spec, experiment.provenance,
                        open.sweep.doubts().program_changes());
  const Result<Provenance> provenance = DecodeProvenance(experiment.provenance);
  std::shared_ptr<const PackageSource> package;
  if (provenance.ok() && !provenance->package.sha256.empty()) {
    auto kept = OpenKeptPackage(PackagesDirOf(options_.db_path), provenance->package);
    if (kept.ok()) {
      package = *std::move(kept);
      packages_[id] = package->name().sha256;
      open.sweep.Offer(package->name());
    } else {
      Log("warning: " + experiment.name +
          ": workers of other machines cannot have its folder: " + kept.status().message());
    }
  }
  return doors_->AddSweep(id, experiment.name, std::move(package));
}

void Head::Leave(const EndOfExperiment& end) {
  const std::string name = NameOf(end.sweep);
  Log(name + " is " + ExperimentStatusName(end.status));
  // Nobody asked for it: a disk takes no writes.
  if (end.status == ExperimentStatus::kInterrupted) {
    interrupted_[name] = clock_.Now() + kTryAgainEvery;
    Log(name + " is tried again in a minute");
  }
  doors_->DropSweep(end.sweep);
  programs_.erase(end.sweep);
  names_.erase(end.sweep);
  packages_.erase(end.sweep);
  controller_.Release(end.sweep);
  TrimPackages();
  if (const Status s = CleanUpSweep(options_.db_path, name, clock_.Now()); !s.ok()) {
    Log("warning: " + s.message() + " (tune gc tries again)");
  }
}

// Those of sweeps that are over may be wanted again, by a resume; not all of them for ever.
void Head::TrimPackages() {
  std::set<std::string> needed;
  for (const auto& [id, hash] : packages_) needed.insert(hash);
  TrimKeptPackages(PackagesDirOf(options_.db_path), needed, kPackagesOfEndedMax);
}

Result<std::vector<std::string>> Head::DoAtRest(const ControlRequest& request) {
  TUNE_ASSIGN_OR_RETURN(const auto experiments, store_.ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.name != request.sweep) continue;
    if (request.verb == ControlVerb::kResume) return Resume(experiment, request);
    if (request.verb == ControlVerb::kDelete) {
      TUNE_RETURN_IF_ERROR(store_.DeleteExperiment(experiment));
      std::erase_if(submitted_, [&](const auto& entry) { return entry.second == experiment.name; });
      Log("tune delete: " + experiment.name);
      return std::vector<std::string>();
    }
    return ControlAtRest(request, experiment, artifacts_dir_, store_, artifacts_, clock_.Now());
  }
  return NotFound("there is no sweep '" + request.sweep + "'");
}

Result<std::vector<std::string>> Head::Resume(const StoredExperiment& experiment,
                                              const ControlRequest& request) {
  const bool is_over = experiment.status == ExperimentStatus::kFinished ||
                       experiment.status == ExperimentStatus::kStopped;
  const bool extends =
      request.samples && *request.samples != experiment.samples &&
      (*request.samples < 0 || (experiment.samples >= 0 && *request.samples > experiment.samples));
  if (request.samples && !extends && *request.samples != experiment.samples) {
    return InvalidArgument("--samples: read " + std::to_string(*request.samples) + ", but " +
                           experiment.name + " has " + std::to_string(experiment.samples) +
                           " already; the new total cannot be less");
  }
  if (is_over && !extends && !request.errored) {
    return FailedPrecondition("sweep " + experiment.name +
                              " is over; nothing to resume (--samples N extends it, --errored "
                              "tries failed trials again)");
  }
  TUNE_ASSIGN_OR_RETURN(const int64_t last_step,
                        EnlistStored(experiment, artifacts_dir_, store_, controller_));
  const Sweep& sweep = controller_.At(experiment.id).sweep;
  const Status fits = CheckNew(experiment.name, sweep.options().spec);
  const bool has_failed =
      std::any_of(sweep.trials().begin(), sweep.trials().end(),
                  [](const TrialRecord& trial) { return trial.row.status == TrialStatus::kError; });
  const bool has_work = !is_over || extends || has_failed;
  if (!fits.ok() || !has_work) {
    controller_.Discard(experiment.id);
    if (!fits.ok()) return fits;
    return FailedPrecondition("sweep " + experiment.name + " is over and no trial of it failed");
  }
  if (const Status s = CleanUpSweep(options_.db_path, experiment.name, clock_.Now()); !s.ok()) {
    Log("warning: " + s.message() + " (tune gc tries again)");
  }
  const size_t trial_count = sweep.trials().size();
  tuner_->Begin(experiment.id, last_step);
  Status begun = Admit(experiment);
  std::vector<HeadEvent> events = {{TunerRestarted{}, experiment.id}};
  if (extends) events.push_back({SamplesExtended{*request.samples}, experiment.id});
  if (request.errored && has_failed) events.push_back({ErroredRetried{}, experiment.id});
  if (begun.ok()) begun = tuner_->Take(events);
  if (!begun.ok()) return Internal(begun.message());
  const std::string line =
      experiment.name + " goes on from " + Counted(static_cast<int64_t>(trial_count), "trial");
  Log("tune resume: " + line);
  return std::vector<std::string>{line};
}

int RunHead(const HeadCommandOptions& options, Background* background) {
  const RealClock clock;
  if (const auto holder = FindLockHolder(options.db_path)) {
    return Complain(Unavailable(options.db_path + ": is held by " + DescribeHolder(*holder) +
                                ", since " + FormatInstant(holder->since)));
  }
  if (const Status s = CheckListen(options.listen == kListenOff ? "" : options.listen); !s.ok()) {
    return Complain(s);
  }
  const std::string artifacts_dir = ArtifactsDirOf(options.db_path);
  auto listen = ListenOfResume(options.listen, artifacts_dir, kHeadListening);
  if (!listen.ok()) return Complain(listen.status());
  Result<WorkerCapacity> local = LocalCapacity(options);
  if (!local.ok()) return Complain(local.status());
  if (listen->empty() && local->cpu_milli == 0 && local->devices.empty()) {
    return Complain(InvalidArgument(
        "--cpus 0: there would be no worker; let others join with --listen 0.0.0.0:7433, or offer "
        "CPUs"));
  }
  const bool is_new = access(options.db_path.c_str(), F_OK) != 0;
  if (const Status s = is_new ? CheckArtifactsAreOwn(options.db_path) : OkStatus(); !s.ok()) {
    return Complain(s);
  }
  auto store = SqliteStore::Open(options.db_path, Access::kCreate, clock.Now());
  if (!store.ok()) return Complain(store.status());
  if (background != nullptr) {
    const Status logs = background->LogTo(artifacts_dir + "/head.log");
    if (!logs.ok()) return Complain(logs.At("--detach"));
  }
  return Head(options, *std::move(local), *std::move(listen), **store, clock).Run(background);
}

}  // namespace

int HeadCommand(const HeadCommandOptions& options) {
  if (!options.detach) return RunHead(options, nullptr);
  return RunInBackground([&](Background& background) { return RunHead(options, &background); },
                         std::cout, std::cerr);
}

}  // namespace tune
