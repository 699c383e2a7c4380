// How fast does a checkpoint get to the tuner, over TLS on the loopback, and what do the reports of
// other trials feel of it?
//
//   checkpoint_bench [--megabytes N] [--seconds N]    measures
//   checkpoint_bench --toy                            a second at most: that it runs
//
// The tuner's end is the gateway and the depot, on a real disk. One worker sends a checkpoint again
// and again (hashing, sending, the tuner's synced folder, its answer: that is the time of one);
// another sends 1,000 reports a second, each answered after a synced write of 16 KB, as a commit
// is, or at once. Each is a process of its own.
#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/posix/real_clock.h"
#include "core/posix/threads.h"
#include "trial_runner/grpc/checkpoint_channel.h"
#include "trial_runner/grpc/tuner_channel.h"
#include "trial_runner/grpc/worker_gateway.h"
#include "trial_runner/package/artifact_depot.h"
#include "trial_runner/tls/token_gate.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/checkpoint_store.h"
#include "trial_runner/worker/find_tuner.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using SteadyClock = std::chrono::steady_clock;

constexpr int64_t kReportsPerSecond = 1000;
constexpr size_t kCommitBytes = 16u << 10;
constexpr int kCommitsPerFile = 512;

[[noreturn]] void Fail(const std::string& what) {
  std::fprintf(stderr, "checkpoint_bench: %s\n", what.c_str());
  std::exit(1);
}

double MillisecondsBetween(SteadyClock::time_point a, SteadyClock::time_point b) {
  return std::chrono::duration<double, std::milli>(b - a).count();
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

// ---- the tuner

// Welcomes each worker, gives it one lease, and answers its reports: together, after a synced
// write.
class CommittingTuner final : public IncomingSink {
 public:
  // `file`: empty: nothing is written.
  explicit CommittingTuner(const std::string& file)
      : file_(file.empty() ? -1 : open(file.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600)),
        page_(kCommitBytes, 'w') {}
  ~CommittingTuner() override {
    thread_.request_stop();
    if (thread_.joinable()) thread_.join();
    if (file_ >= 0) close(file_);
  }

  void Serve(WorkerGateway& gateway) {
    gateway_ = &gateway;
    thread_ = std::jthread([this](std::stop_token stop) { Loop(stop); });
  }

  void Push(std::vector<Incoming> messages) override {
    const std::lock_guard lock(mutex_);
    for (Incoming& message : messages) queue_.push_back(std::move(message));
    arrived_.notify_one();
  }

 private:
  void Loop(const std::stop_token& stop) {
    std::unique_lock lock(mutex_);
    while (arrived_.wait(lock, stop, [this] { return !queue_.empty(); })) {
      std::vector<Incoming> batch;
      batch.swap(queue_);
      lock.unlock();
      Commit();
      for (const Incoming& incoming : batch) Answer(incoming);
      lock.lock();
    }
  }

  void Commit() {
    if (file_ < 0) return;
    const off_t at = static_cast<off_t>(kCommitBytes) * (commit_count_++ % kCommitsPerFile);
    const ssize_t written = pwrite(file_, page_.data(), page_.size(), at);
    if (written != static_cast<ssize_t>(page_.size()) || fdatasync(file_) != 0)
      Fail("cannot write");
  }

  void Answer(const Incoming& incoming) {
    const auto* const message = std::get_if<FromWorker>(&incoming.message);
    if (message == nullptr) return;
    if (std::holds_alternative<Hello>(*message)) {
      const Welcome welcome{incoming.worker, 1000, 60'000};
      StartAttempt start;
      start.ref = RefOf(incoming.worker);
      start.config = "{}";
      gateway_->Send(incoming.worker, {welcome, start});
    }
    if (const auto* const report = std::get_if<AttemptReport>(message)) {
      gateway_->Send(incoming.worker,
                     {AnswerReport{report->ref, report->sequence, ReportAnswer::kContinue}});
    }
  }

  static AttemptRef RefOf(WorkerId worker) {
    return {TrialNumber{worker.value}, AttemptNumber{1}, LeaseEpoch{worker.value}};
  }

  const int file_;
  const std::string page_;
  WorkerGateway* gateway_ = nullptr;
  std::mutex mutex_;
  std::condition_variable_any arrived_;
  std::vector<Incoming> queue_;
  int64_t commit_count_ = 0;
  std::jthread thread_;
};

// ---- the workers

// Waits for the lease, and for answers.
class Answers final : public TunerSink {
 public:
  void OnMessages(std::vector<ToWorker> messages) override {
    const auto now = SteadyClock::now();
    const std::lock_guard lock(mutex_);
    for (const ToWorker& message : messages) {
      if (const auto* const start = std::get_if<StartAttempt>(&message)) ref_ = start->ref;
      if (const auto* const answer = std::get_if<AnswerReport>(&message)) {
        answered_[answer->sequence] = now;
      }
    }
    came_.notify_all();
  }
  void OnClosed(Status reason) override {
    const std::lock_guard lock(mutex_);
    if (!reason.ok() && !is_over_) Fail(reason.message());
  }
  // Its own channel breaks the connection off now.
  void End() {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }

  AttemptRef WaitForLease() {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [this] { return ref_.epoch.value > 0; });
    return ref_;
  }
  std::map<int64_t, SteadyClock::time_point> WaitForAnswers(size_t count) {
    std::unique_lock lock(mutex_);
    came_.wait(lock, [&] { return answered_.size() >= count; });
    return answered_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable came_;
  bool is_over_ = false;
  AttemptRef ref_;
  std::map<int64_t, SteadyClock::time_point> answered_;
};

TunerEndpoint Find(const std::string& address, const std::string& token) {
  WorkerOptions options;
  options.connect = address;
  options.join = token;
  Result<TunerEndpoint> tuner = FindTuner(options);
  if (!tuner.ok()) Fail(tuner.status().message());
  return *std::move(tuner);
}

Hello HelloOf(const std::string& name) {
  Hello hello;
  hello.version = kProgramVersion;
  hello.name = hello.host = hello.session = name;
  hello.capacity.cpu_milli = 1000;
  return hello;
}

int RunReporter(const TunerEndpoint& tuner, int64_t seconds) {
  Answers answers;
  TunerChannel channel(tuner, answers);
  channel.Send({HelloOf("reporter")});
  const AttemptRef ref = answers.WaitForLease();
  const int64_t count = seconds * kReportsPerSecond;
  std::map<int64_t, SteadyClock::time_point> sent;
  const auto begin = SteadyClock::now();
  for (int64_t i = 1; i <= count; ++i) {
    std::this_thread::sleep_until(begin +
                                  std::chrono::microseconds(i * 1'000'000 / kReportsPerSecond));
    AttemptReport report{ref, i, {}};
    report.report.iteration = i;
    report.report.metrics = {{"loss", 0.5}};
    sent[i] = SteadyClock::now();
    channel.Send({std::move(report)});
  }
  std::vector<double> times;
  for (const auto& [sequence, at] : answers.WaitForAnswers(static_cast<size_t>(count))) {
    times.push_back(MillisecondsBetween(sent.at(sequence), at));
  }
  std::printf("reports: median %.2f ms, 90 %% %.2f ms, 99 %% %.2f ms", Quantile(times, 0.5),
              Quantile(times, 0.9), Quantile(times, 0.99));
  answers.End();
  return 0;
}

int RunSender(const TunerEndpoint& tuner, const std::string& saved, int64_t seconds) {
  Answers answers;
  TunerChannel channel(tuner, answers);
  channel.Send({HelloOf("sender")});
  const AttemptRef ref = answers.WaitForLease();
  CheckpointChannel checkpoints(tuner, "sender");
  LetOthersGoFirst();  // As a worker's carrier does.
  TunerStore store(checkpoints, "");
  std::stop_source stop;
  std::vector<double> times;
  const auto begin = SteadyClock::now();
  while (SteadyClock::now() - begin < std::chrono::seconds(seconds)) {
    const auto from = SteadyClock::now();
    const Result<KeptCheckpoint> kept = store.Keep(ref, saved, stop.get_token());
    times.push_back(MillisecondsBetween(from, SteadyClock::now()));
    if (!kept.ok()) Fail(kept.status().message());
    fs::remove_all(kept->path);
  }
  const double megabytes = static_cast<double>(fs::file_size(saved + "/weights")) / 1e6;
  std::printf("; checkpoints: %zu, median %.0f MB/s, slowest tenth %.0f MB/s", times.size(),
              megabytes * 1e3 / Quantile(times, 0.5), megabytes * 1e3 / Quantile(times, 0.9));
  answers.End();
  return 0;
}

// ---- both

pid_t Spawn(const std::vector<std::string>& arguments) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  pid_t pid = 0;
  if (posix_spawn(&pid, "/proc/self/exe", nullptr, nullptr, argv.data(), environ) != 0) {
    Fail("cannot start itself");
  }
  return pid;
}

void WaitFor(pid_t pid) {
  int status = 0;
  if (waitpid(pid, &status, 0) != pid || status != 0) Fail("a worker failed");
}

struct Case {
  const char* name;
  bool commits;
  bool sends;
};

void Measure(const Case& c, const std::string& folder, const std::string& saved, int64_t seconds) {
  const RealClock clock;
  const Result<TlsFolder> tls = TlsFolder::OpenOrMake(folder + "/tls");
  if (!tls.ok()) Fail(tls.status().message());
  TokenGate gate(*tls, clock);
  const auto depot = ArtifactDepot::Make({folder + "/artifacts", int64_t{1} << 40});
  if (!depot.ok()) Fail(depot.status().message());
  CommittingTuner tuner(c.commits ? folder + "/wal" : "");
  WorkerGateway::Options options;
  options.listen.clear();
  options.checkpoints = depot->get();
  const TunerIdentity& identity = tls->identity();
  options.tls = {"127.0.0.1:0", identity.certificate + identity.authority, identity.key, &gate};
  auto gateway = WorkerGateway::Start(options, tuner);
  if (!gateway.ok()) Fail(gateway.status().message());
  tuner.Serve(**gateway);
  const Result<NewToken> token = MakeToken(*tls, clock.Now(), Seconds(3600));
  if (!token.ok()) Fail(token.status().message());
  const std::string time = std::to_string(seconds);
  std::printf("%-34s", c.name);
  std::fflush(stdout);
  const std::string address = (*gateway)->tls_address();
  const pid_t reporter = Spawn({"checkpoint_bench", "--reporter", address, token->text, time});
  const pid_t sender =
      c.sends ? Spawn({"checkpoint_bench", "--sender", address, token->text, time, saved}) : 0;
  WaitFor(reporter);
  if (sender != 0) WaitFor(sender);
  std::printf("\n");
}

int64_t NumberAfter(int argc, char** argv, const char* option, int64_t otherwise) {
  for (int i = 1; i + 1 < argc; ++i) {
    if (std::strcmp(argv[i], option) == 0) return std::atoll(argv[i + 1]);
  }
  return otherwise;
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  using namespace tune;
  if (argc == 5 && std::strcmp(argv[1], "--reporter") == 0) {
    return RunReporter(Find(argv[2], argv[3]), std::atoll(argv[4]));
  }
  if (argc == 6 && std::strcmp(argv[1], "--sender") == 0) {
    return RunSender(Find(argv[2], argv[3]), argv[5], std::atoll(argv[4]));
  }
  const bool is_toy = argc > 1 && std::strcmp(argv[1], "--toy") == 0;
  const int64_t seconds = NumberAfter(argc, argv, "--seconds", is_toy ? 1 : 10);
  const int64_t megabytes = NumberAfter(argc, argv, "--megabytes", is_toy ? 1 : 14);
  std::string folder = "checkpoint_bench_XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) Fail("cannot make a folder here");
  folder = fs::absolute(folder).string();
  const std::string saved = folder + "/checkpoint_000001";
  fs::create_directories(saved);
  std::ofstream(saved + "/weights") << std::string(static_cast<size_t>(megabytes) * 1'000'000, 'w');
  const Case cases[] = {{"answered at once, alone", false, false},
                        {"answered at once, beside them", false, true},
                        {"after a synced write, alone", true, false},
                        {"after a synced write, beside them", true, true}};
  for (const Case& c : cases) Measure(c, folder, saved, seconds);
  fs::remove_all(folder);
  return 0;
}
