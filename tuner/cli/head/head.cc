#include "tuner/cli/head/head.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <utility>
#include <vector>

#include "core/posix/real_clock.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/offered_devices.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/head_pools.h"
#include "tuner/cli/head/head_sweeps.h"
#include "tuner/cli/head/restart_pause.h"
#include "tuner/cli/keep/artifact_cleanup.h"
#include "tuner/cli/keep/kept_artifacts.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/look/sweep_page.h"
#include "tuner/cli/run/background.h"
#include "tuner/cli/run/control_desk.h"
#include "tuner/cli/run/doors.h"
#include "tuner/cli/run/listening.h"
#include "tuner/cli/run/local_worker.h"
#include "tuner/cli/run/sweep.h"
#include "tuner/cli/words/complain.h"
#include "tuner/cli/words/exit_limit.h"
#include "tuner/cli/words/signal_watch.h"
#include "tuner/control/asker.h"
#include "tuner/recovery.h"
#include "tuner/sqlite/sqlite_store.h"
#include "tuner/sqlite/writer_lock.h"
#include "tuner/tuner.h"

namespace tune {
namespace {

constexpr Duration kLookEvery = Milliseconds(200);  // At the local worker and the programs.
constexpr Duration kExitLimit = Seconds(20);
constexpr Duration kPagePause = Seconds(5);          // Between two starts of it.
constexpr Duration kLocalWorkerPause = Seconds(60);  // After one that ended again and again.

Result<WorkerCapacity> LocalCapacity(const HeadCommandOptions& options) {
  WorkerCapacity local;
  local.cpu_milli = options.cpus.value_or(AvailableCpus()) * kWholeMilli;
  const MachineDevices here = LookUpDevices();
  if (!here.warning.empty()) LogOfHead("warning: " + here.warning);
  const bool takes_all = !options.gpus && local.cpu_milli > 0;
  if (takes_all) {
    local.devices = here.visible;
    return local;
  }
  TUNE_ASSIGN_OR_RETURN(local.devices,
                        OfferedDevices(options.gpus.value_or(0), here.visible, here.has_any));
  return local;
}

// A cluster file, and the lock on it.
struct HeldCluster {
  ClusterSpec spec;
  std::string path;
  FileDescriptor lock;
};

class Head {
 public:
  Head(const HeadCommandOptions& options, WorkerCapacity local, std::string listen,
       std::optional<HeldCluster> cluster, SqliteStore& store, const Clock& clock)
      : options_(options),
        cluster_(std::move(cluster)),
        artifacts_dir_(ArtifactsDirOf(options.db_path)),
        local_(std::move(local)),
        listen_(std::move(listen)),
        store_(store),
        clock_(clock),
        artifacts_(artifacts_dir_),
        controller_(HeadOptions{options.lease, /*ends_with_sweeps=*/false}) {}

  int Run(Background* background) {
    signals_.emplace(queue_, std::nullopt);
    if (const Status s = Open(); !s.ok()) return Complain(s);
    const std::string text = "the head runs (pid " + std::to_string(getpid()) + "), database " +
                             options_.db_path + ", its own worker offers " +
                             (has_local_worker() ? DescribeCapacity(local_) : "nothing");
    LogOfHead(text);
    if (!doors_->join_line().empty()) LogOfHead("workers join with: " + doors_->join_line());
    const std::string join =
        doors_->join_line().empty() ? "" : "\nworkers join with: " + doors_->join_line();
    while (signals_->count() == 0) {
      if (const Status s = Step(); !s.ok()) return Fail(s);
      // Its page is a part of it: who makes keys for that next need not wait.
      if (background != nullptr && page_.is_settled(clock_.Now())) {
        std::exchange(background, nullptr)->TellRunning(text + join);
      }
    }
    return Close();
  }

 private:
  bool has_local_worker() const { return local_.cpu_milli > 0 || !local_.devices.empty(); }

  // ---- its life

  Status Open();
  Status Step();
  int Close();
  int Fail(const Status& status);
  void LookAtLocalWorker();
  void LookAtPage();
  void SayNews();
  void LeaveEnded();

  const HeadCommandOptions& options_;
  std::optional<HeldCluster> cluster_;  // Until the pools have it.
  const std::string artifacts_dir_;
  const WorkerCapacity local_;
  const std::string listen_;
  SqliteStore& store_;
  const Clock& clock_;
  // Each may use those above it, and ends before them.
  ExitLimit exit_limit_;
  EventQueue queue_;
  KeptArtifacts artifacts_;
  Controller controller_;
  std::optional<SignalWatch> signals_;
  std::unique_ptr<Doors> doors_;
  std::optional<LocalWorkerKeeper> local_worker_;
  RestartPause local_worker_pause_{kLocalWorkerPause, "a minute"};
  std::optional<Tuner> tuner_;
  std::optional<HeadSweeps> sweeps_;
  std::unique_ptr<HeadPools> pools_;  // Null: it has no cluster.
  std::optional<ControlDesk> control_;
  SweepPage page_;
  Instant page_again_at_;
};

// ---- its life

Status Head::Open() {
  TUNE_RETURN_IF_ERROR(store_.AnnounceHead());
  if (const std::string ended = EndWhatTrialsLeftBehind(options_.db_path); !ended.empty()) {
    LogOfHead(ended);
  }
  TUNE_ASSIGN_OR_RETURN(const WorkerId last_worker, store_.LastWorker());
  TUNE_ASSIGN_OR_RETURN(const TakenUp taken, EnlistRunning(artifacts_dir_, store_, controller_));
  for (const auto& [id, open] : controller_.sweeps()) {
    const std::string& name = open.sweep.options().name;
    if (const Status s =
            CleanUpSweep(options_.db_path, name, clock_.Now(), nullptr, options_.lease);
        !s.ok()) {
      LogOfHead("warning: " + name + ": " + s.message() + " (tune gc tries again)");
    }
  }
  TUNE_ASSIGN_OR_RETURN(doors_, Doors::Open({artifacts_dir_, kHeadListening, listen_,
                                             options_.token_validity, options_.checkpoint_bytes_max,
                                             has_local_worker(), WorkerId{last_worker.value + 1}},
                                            clock_, queue_));
  tuner_.emplace(Tuner::Parts{controller_, store_, doors_->gateway(), artifacts_, clock_, queue_,
                              /*witness=*/nullptr, /*outwaits_full_disk=*/true});
  sweeps_.emplace(HeadSweeps::Parts{options_.db_path, options_.program_dir, local_, store_, clock_,
                                    controller_, *doors_, *tuner_, queue_, artifacts_,
                                    options_.keep});
  TUNE_RETURN_IF_ERROR(sweeps_->TakeUp(taken));
  local_worker_.emplace(LocalWorkerOptions{options_.program_dir, local_, "",
                                           doors_->gateway().address(), doors_->local_secret()});
  TUNE_RETURN_IF_ERROR(local_worker_->Start());
  if (cluster_) {
    TUNE_ASSIGN_OR_RETURN(
        pools_,
        HeadPools::Open({std::move(cluster_->spec), cluster_->path, std::move(cluster_->lock),
                         artifacts_dir_, options_.program_dir, controller_, *tuner_, *doors_,
                         queue_, clock_, options_.token_validity}));
  }
  control_.emplace(artifacts_dir_, ControlDesk::Parts{controller_, *tuner_, queue_, clock_, *doors_,
                                                      store_, &*sweeps_, pools_.get()});
  LookAtPage();
  return control_->status();
}

Status Head::Step() {
  TUNE_RETURN_IF_ERROR(tuner_->Step(clock_.Now() + kLookEvery));
  LeaveEnded();  // Before anybody is served who has read that one is over.
  TUNE_RETURN_IF_ERROR(control_->Serve());
  LeaveEnded();
  LookAtPage();
  if (!tuner_->is_held()) TUNE_RETURN_IF_ERROR(sweeps_->Look());
  if (pools_ != nullptr && !tuner_->is_held()) TUNE_RETURN_IF_ERROR(pools_->Look());
  LookAtLocalWorker();
  return OkStatus();
}

void Head::LeaveEnded() {
  SayNews();
  for (const EndOfExperiment& end : tuner_->TakeEnded()) sweeps_->Leave(end);
}

void Head::SayNews() {
  for (const Say& line : tuner_->TakeLines()) {
    const std::string name = sweeps_->NameOf(line.sweep);
    LogOfHead(name.empty() ? line.text : name + ": " + line.text);
  }
  for (const std::string& line : control_->TakeLines()) LogOfHead(line);
  for (const std::string& line : artifacts_.TakeLines()) LogOfHead(line);
  for (const std::string& line : sweeps_->TakeLines()) LogOfHead(line);
  for (const std::string& line : page_.TakeLines()) LogOfHead(line);
  if (pools_ != nullptr) {
    for (const std::string& line : pools_->TakeLines()) LogOfHead(line);
  }
  if (const auto notice = doors_->gateway().TakeNotice()) LogOfHead(*notice);
}

// One that was killed is started again: it is the only way in for those who are elsewhere.
void Head::LookAtPage() {
  if (!options_.page || page_.is_running() || clock_.Now() < page_again_at_) return;
  page_.Start(options_.program_dir, options_.db_path, *options_.page, clock_.Now(),
              artifacts_dir_ + "/page.key");
  page_again_at_ = clock_.Now() + kPagePause;
}

// One that cannot be kept ends no head: a sweep's trials may be what ends it.
void Head::LookAtLocalWorker() {
  const Instant now = clock_.Now();
  const auto look = [this, now] {
    return local_worker_->Look(now, tuner_->report_count(), controller_.cluster().LocalWorker());
  };
  const std::string news = local_worker_pause_.Look(
      now, [this] { return local_worker_->Start(); }, look);
  if (!news.empty()) LogOfHead(news);
}

int Head::Close() {
  SayNews();
  LogOfHead(
      "the head ends; what ran goes on with tune head, workers of other machines keep their "
      "trials for " +
      FormatDuration(options_.lease));
  control_.reset();
  pools_.reset();
  page_.End();
  doors_->Close();
  local_worker_->End();
  artifacts_.Finish(kStoreExitPatience);
  for (const std::string& line : artifacts_.TakeLines()) LogOfHead(line);
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
  pools_.reset();
  doors_->Close();
  local_worker_->End();
  exit_limit_.Begin(1, kExitLimit, "tune: a connection did not close and is left");
  return 1;
}

// What the file says stands in the place of options.
Result<HeldCluster> TakeCluster(HeadCommandOptions& options) {
  HeldCluster held;
  TUNE_ASSIGN_OR_RETURN(held.spec, ReadClusterFile(options.cluster_path));
  TUNE_RETURN_IF_ERROR(ClusterState::CheckNames(ArtifactsDirOf(options.db_path), held.spec));
  TUNE_ASSIGN_OR_RETURN(held.lock, LockClusterFile(options.cluster_path));
  held.path = std::filesystem::absolute(options.cluster_path).lexically_normal().string();
  const ClusterHeadSpec& head = held.spec.head;
  options.listen = head.listen;
  options.cpus = head.cpus;
  options.gpus = head.gpus;
  if (head.http) options.page.emplace().http = *head.http;
  return held;
}

int RunHead(HeadCommandOptions options, Background* background) {
  const RealClock clock;
  std::optional<HeldCluster> cluster;
  if (!options.cluster_path.empty()) {
    Result<HeldCluster> held = TakeCluster(options);
    if (!held.ok()) return Complain(held.status());
    cluster = *std::move(held);
  }
  if (const auto holder = FindLockHolder(options.db_path); holder && !holder->is_brief()) {
    return Complain(Unavailable(options.db_path + ": is held by " + DescribeHolder(*holder) +
                                ", since " + FormatInstant(holder->since)));
  }
  if (const Status s = CheckListen(options.listen == kListenOff ? "" : options.listen); !s.ok()) {
    return Complain(s);
  }
  if (options.page) {
    if (const Status s = CheckPagePlace(*options.page, clock.Now()); !s.ok()) return Complain(s);
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
  return Head(options, *std::move(local), *std::move(listen), std::move(cluster), **store, clock)
      .Run(background);
}

}  // namespace

int HeadCommand(const HeadCommandOptions& options) {
  unsetenv(kAsksFor);  // It asks for nobody, and nor does what it starts.
  if (!options.detach) return RunHead(options, nullptr);
  return RunInBackground([&](Background& background) { return RunHead(options, &background); },
                         std::cout, std::cerr);
}

}  // namespace tune
