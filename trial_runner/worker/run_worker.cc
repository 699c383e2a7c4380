#include "trial_runner/worker/run_worker.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <future>
#include <memory>
#include <stop_token>
#include <utility>

#include "core/hash.h"
#include "core/limits.h"
#include "core/posix/environment.h"
#include "core/posix/host_name.h"
#include "core/posix/real_clock.h"
#include "core/posix/threads.h"
#include "core/utf8.h"
#include "trial_runner/devices/device_environment.h"
#include "trial_runner/devices/machine_devices.h"
#include "trial_runner/devices/offered_devices.h"
#include "trial_runner/grpc/checkpoint_channel.h"
#include "trial_runner/grpc/package_channel.h"
#include "trial_runner/grpc/tuner_channel.h"
#include "trial_runner/package/cache_trim.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/checkpoint_carrier.h"
#include "trial_runner/worker/device_watch.h"
#include "trial_runner/worker/find_tuner.h"
#include "trial_runner/worker/left_behind.h"
#include "trial_runner/worker/notice_watch.h"
#include "trial_runner/worker/own_address.h"
#include "trial_runner/worker/package_fetcher.h"
#include "trial_runner/worker/process_tree.h"
#include "trial_runner/worker/session_mark.h"
#include "trial_runner/worker/worker_loop.h"

namespace tune {
namespace {

constexpr std::chrono::seconds kTrimPatience(1);
constexpr Duration kDrainGrace = Seconds(25);  // Unless a person says.

std::string OwnName() {
  const std::string name = HostName();
  return name.empty() ? "unknown" : name.substr(0, limits::kNameBytesMax);
}

// The cores that this process may use.
int64_t CoreCount() {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
  return std::max<int64_t>(1, sysconf(_SC_NPROCESSORS_ONLN));
}

Hello MakeHello(const WorkerOptions& options) {
  Hello hello;
  hello.version = kProgramVersion;
  hello.host = OwnName();
  hello.name = !options.name.empty() ? options.name
               : options.is_local    ? kLocalWorkerName
                                     : hello.host;
  hello.pid = getpid();
  hello.is_local = options.is_local;
  if (!options.is_local) hello.session = HashToHex(DrawEntropy()) + HashToHex(DrawEntropy());
  hello.capacity.cpu_milli = options.cpu_milli >= 0 ? options.cpu_milli : CoreCount() * kWholeMilli;
  return hello;
}

// What a person chose stays.
DeviceEnvironment WithoutWhatIsSet(DeviceEnvironment environment) {
  std::erase_if(environment, [](const auto& variable) {
    return !EnvironmentText(variable.first.c_str()).empty();
  });
  return environment;
}

struct Prepared {
  std::optional<SessionMark> mark;
  TunerEndpoint tuner;
  WorkerCore::Options core;
  std::string program_folder;
  std::string cache;  // Absolute, or empty.
  int64_t cache_budget_bytes = kCacheBudgetBytes;
  std::unique_ptr<DeviceInventory> inventory;
  std::unique_ptr<NoticeSource> notice;
};

Status FindDevices(const WorkerOptions& options, Prepared& prepared) {
  if (options.gpu_count == 0) return OkStatus();
  MachineDevices found = LookUpDevices();
  // The tuner has said it of its own machine.
  const bool is_news = !found.warning.empty() && !options.is_local;
  if (is_news) std::fprintf(stderr, "tune worker: %s\n", found.warning.c_str());
  TUNE_ASSIGN_OR_RETURN(prepared.core.hello.capacity.devices,
                        OfferedDevices(options.gpu_count, found.visible, found.has_any));
  prepared.inventory = std::move(found.inventory);
  return OkStatus();
}

// When it leaves, and where it hears that it has to. A tuner's own worker is the tuner's matter.
Status FindLeaving(const WorkerOptions& options, Prepared& prepared) {
  if (options.is_local) return OkStatus();
  prepared.core.grace = kDrainGrace;
  if (!options.grace.empty()) {
    const Result<Duration> grace = ParseDuration(options.grace);
    if (!grace.ok()) return InvalidArgument("--grace: " + grace.status().message());
    prepared.core.grace = *grace;
  }
  if (!options.drain_after.empty()) {
    const Result<Duration> time = ParseDuration(options.drain_after);
    if (!time.ok()) return InvalidArgument("--drain-after: " + time.status().message());
    prepared.core.leave_at = AwakeClock().Now() + *time;
  }
  if (options.notice.empty()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const NoticeName name, ParseNotice(options.notice));
  std::shared_ptr<HttpTransport> transport;
  if (name.kind == NoticeKind::kEc2 || name.kind == NoticeKind::kGce) {
    Result<std::unique_ptr<CurlTransport>> made = CurlTransport::Make({});
    if (!made.ok()) return InvalidArgument("--notice: " + made.status().message());
    transport = *std::move(made);
  }
  prepared.notice = MakeNoticeSource(name, EnvironmentText, std::move(transport));
  return OkStatus();
}

// Without a folder for marks nothing is lost but time: a tuner waits for the lease of a worker that
// was killed.
void MarkSession(Prepared& prepared) {
  Hello& hello = prepared.core.hello;
  const Result<std::string> folder = SessionMarksFolder();
  if (!folder.ok()) return;
  hello.ended_sessions = EndedSessions(*folder, RealClock().Now());
  Result<SessionMark> mark = SessionMark::Make(*folder, hello.session);
  if (mark.ok()) prepared.mark.emplace(*std::move(mark));
}

Result<Prepared> Prepare(const WorkerOptions& options) {
  Prepared prepared;
  if (options.name.size() > limits::kNameBytesMax) {
    return InvalidArgument("--name: expected at most " + std::to_string(limits::kNameBytesMax) +
                           " bytes");
  }
  if (!options.prewarm.empty()) {
    TUNE_ASSIGN_OR_RETURN(prepared.core.prewarm_program, TrialProgram(options.prewarm));
  }
  prepared.program_folder = options.program_folder;
  if (prepared.program_folder.empty()) {
    TUNE_ASSIGN_OR_RETURN(prepared.program_folder, ProgramFolder());
  }
  prepared.core.is_local = options.is_local;
  if (!options.cache.empty()) {
    prepared.cache = std::filesystem::absolute(options.cache).lexically_normal().string();
  }
  prepared.core.cache = prepared.cache;
  prepared.core.has_variable = [](const std::string& name) {
    return std::getenv(name.c_str()) != nullptr;
  };
  if (!options.cache_budget.empty()) {
    const Result<int64_t> budget = ParseBytes(options.cache_budget);
    if (!budget.ok()) return InvalidArgument("--cache-budget: " + budget.status().message());
    prepared.cache_budget_bytes = *budget;
  }
  prepared.core.hello = MakeHello(options);
  if (!options.is_local) MarkSession(prepared);
  TUNE_RETURN_IF_ERROR(FindDevices(options, prepared));
  TUNE_RETURN_IF_ERROR(FindLeaving(options, prepared));
  const WorkerCapacity& capacity = prepared.core.hello.capacity;
  if (!options.is_local && capacity.cpu_milli == 0 && capacity.devices.empty()) {
    return InvalidArgument("--cpus 0 and no GPU: no trial could ever run here; offer CPUs or GPUs");
  }
  if (!options.is_local && prepared.core.hello.name == kLocalWorkerName) {
    return InvalidArgument(
        "only the tuner's own workers are called 'local'; give this one another name with --name");
  }
  TUNE_ASSIGN_OR_RETURN(prepared.tuner, FindTuner(options));
  // A local worker meets its tuner on the loopback, others not.
  prepared.core.address = options.is_local ? OwnAddress() : OwnAddress(prepared.tuner.address.host);
  prepared.core.hello.address = prepared.core.address;
  prepared.core.claim_port = ClaimPort;
  prepared.core.near_ranks = WithoutWhatIsSet(RankEnvironment(""));
  prepared.core.spread_ranks =
      WithoutWhatIsSet(RankEnvironment(InterfaceOf(prepared.core.address)));
  return prepared;
}

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// Signals that end a worker are read in its loop. A Ctrl-C at the tuner's terminal reaches a local
// worker too: what happens then is for the tuner to say. What is ignored (nohup) stays unblocked: a
// blocked signal would be read all the same.
void BlockSignals(bool is_local) {
  if (is_local) {
    ::signal(SIGINT, SIG_IGN);
    ::signal(SIGHUP, SIG_IGN);
    ::signal(SIGUSR1, SIG_IGN);  // Slurm may send it to all that runs in a job.
  }
  sigset_t watched;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGINT, SIGHUP, SIGUSR1}) {
    if (!IsIgnored(signal)) sigaddset(&watched, signal);
  }
  pthread_sigmask(SIG_BLOCK, &watched, nullptr);
}

// Trims the cache beside the worker's loop: a large one takes a while to look through, and a large
// folder to remove. A worker that ends waits a moment for it and leaves it behind then; what broke
// off goes with the next trim.
class CacheTrimming {
 public:
  CacheTrimming(const std::string& cache, int64_t budget_bytes) {
    const auto ended = std::make_shared<std::promise<void>>();
    ended_ = ended->get_future();
    BeginThread([cache, budget_bytes, ended, stop = stop_.get_token()] {
      TrimCache(cache, budget_bytes, RealClock().Now(), /*dry_run=*/false, stop);
      ended->set_value();
    }).detach();
  }
  ~CacheTrimming() {
    stop_.request_stop();
    ended_.wait_for(kTrimPatience);
  }
  CacheTrimming(const CacheTrimming&) = delete;
  CacheTrimming& operator=(const CacheTrimming&) = delete;

 private:
  std::stop_source stop_;
  std::future<void> ended_;
};

}  // namespace

int RunWorker(const WorkerOptions& options) {
  if (options.is_local) prctl(PR_SET_PDEATHSIG, SIGKILL);
  // Before signals are blocked: a Ctrl-C ends a worker that waits for the network.
  Result<Prepared> prepared = Prepare(options);
  if (!prepared.ok()) {
    std::fprintf(stderr, "tune worker: %s\n", PrintableLines(prepared.status().message()).c_str());
    return prepared.status().code() == StatusCode::kUnavailable ? 1 : 2;
  }
  BlockSignals(options.is_local);
  AdoptOrphans();
  if (!options.is_local && !prepared->cache.empty()) EndLeftBehind(prepared->cache + "/artifacts");
  const AwakeClock clock;
  const std::vector<Device> devices = prepared->core.hello.capacity.devices;
  const std::string session = prepared->core.hello.session;
  WorkerCore core(std::move(prepared->core));
  TunerInbox inbox(clock);
  const DeviceWatch watch(
      std::move(prepared->inventory), devices,
      [&inbox](std::vector<DeviceReading> readings) { inbox.OnDevices(std::move(readings)); });
  // Its own: a search that waits for a disk may outlive us.
  const auto dial = [tuner = prepared->tuner](const PackageName& package, int64_t offset) {
    return std::make_unique<PackageChannel>(tuner, package, offset);
  };
  std::optional<NoticeWatch> notices;
  if (prepared->notice != nullptr) {
    notices.emplace(std::move(prepared->notice),
                    NoticeWatch::Listener{
                        [&inbox](std::string why) { inbox.OnNotice(std::move(why)); },
                        [](const std::string& text) {
                          std::fprintf(stderr, "tune worker: %s\n", PrintableLines(text).c_str());
                        }});
  }
  std::optional<CacheTrimming> trimming;
  if (!options.is_local) trimming.emplace(prepared->cache, prepared->cache_budget_bytes);
  CheckpointChannel checkpoints(prepared->tuner, session);
  CheckpointCarrier carrier(checkpoints,
                            {[&inbox](const AttemptRef& ref, Result<KeptCheckpoint> kept) {
                               inbox.OnCheckpointKept(ref, std::move(kept));
                             },
                             [&inbox](const AttemptRef& ref, Result<CheckpointCopy> copy) {
                               inbox.OnCheckpointObtained(ref, std::move(copy));
                             },
                             [&inbox](const SendLog& last) { inbox.OnFilesSent(last); },
                             [&inbox](const AttemptRef& ref, std::string why) {
                               inbox.OnCheckpointWaits(ref, std::move(why));
                             }});
  LogCarrier logs(checkpoints, [&inbox](const AttemptRef& ref, const Status& sent) {
    inbox.OnLogSent(ref, sent);
  });
  PackageFetcher fetcher({dial, &checkpoints, prepared->cache,
                          prepared->tuner.tls ? prepared->tuner.tls->authority : "",
                          [&inbox](ExperimentId sweep, std::string why) {
                            inbox.OnPlaceWaits(sweep, std::move(why));
                          }});
  WorkerLoop loop(core, inbox, clock, prepared->program_folder, &fetcher, &carrier, &logs);
  // A trial process gets ready while the connection is made.
  loop.Begin();
  return loop.Run([&prepared](TunerSink& sink) -> std::unique_ptr<TunerLink> {
    return std::make_unique<TunerChannel>(prepared->tuner, sink);
  });
}

}  // namespace tune
