// How fast is the way between a tuner and a training loop, without the tuner's decisions and
// database? A real worker and real trial processes; the tuner's side answers each report at once.
//
//   transport_bench                    measures
//   transport_bench --toy              a second at most: that it runs
//
// round trip: report of one trial to its answer, from the reports' distances. rate: reports a
// second of 16 trials at a time. no-op trials: attempts a second of one report each, 2 slots,
// leases ahead. start: from exec of the worker to its first report.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <vector>

#include "trial_runner/grpc/worker_gateway.h"

namespace tune {
namespace {

using SteadyClock = std::chrono::steady_clock;

double MicrosecondsBetween(SteadyClock::time_point a, SteadyClock::time_point b) {
  return std::chrono::duration<double, std::micro>(b - a).count();
}

struct Load {
  std::string trainable;
  int64_t slots = 1;     // Attempts at a time.
  int64_t attempts = 1;  // In all.
  int64_t ahead = 0;     // Leases ahead for each slot.
};

struct Measured {
  double start_ms = 0;  // exec to the first report.
  double seconds = 0;   // First report to last end.
  int64_t reports = 0;
  std::vector<double> distances_us;  // Between reports, in order of arrival.
};

// The tuner's side: starts attempts as slots become free, answers, counts.
class InstantTuner final : public IncomingSink {
 public:
  explicit InstantTuner(const Load& load) : load_(load) {}

  void Serve(WorkerGateway& gateway) { gateway_ = &gateway; }

  void Push(std::vector<Incoming> messages) override {
    const std::lock_guard lock(mutex_);
    std::vector<ToWorker> answers;
    for (Incoming& incoming : messages) {
      const auto* const message = std::get_if<FromWorker>(&incoming.message);
      if (message == nullptr) continue;
      worker_ = incoming.worker;
      if (std::holds_alternative<Hello>(*message)) OnHello(answers);
      if (const auto* const m = std::get_if<AttemptReport>(message)) OnReport(*m, answers);
      if (std::holds_alternative<AttemptEnded>(*message)) OnEnded(answers);
    }
    if (!answers.empty()) gateway_->Send(worker_, std::move(answers));
  }

  void WaitUntilDone() {
    std::unique_lock lock(mutex_);
    done_.wait(lock, [this] { return ended_ == load_.attempts; });
  }
  void Shutdown() { gateway_->Send(worker_, {tune::Shutdown{}}); }

  SteadyClock::time_point first_report() const { return first_report_; }
  SteadyClock::time_point last_end() const { return last_end_; }
  int64_t reports() const { return reports_; }
  std::vector<double> TakeDistances() { return std::move(distances_us_); }

 private:
  void OnHello(std::vector<ToWorker>& answers) {
    SweepInfo sweep;
    sweep.experiment = "bench";
    sweep.metric = "loss";
    sweep.trainable = load_.trainable;
    answers.push_back(Welcome{worker_, 1000, 60'000, {sweep}});
    for (int64_t i = 0; i < load_.slots; ++i) StartNext(false, answers);
    for (int64_t i = 0; i < load_.slots * load_.ahead; ++i) StartNext(true, answers);
  }

  void OnReport(const AttemptReport& message, std::vector<ToWorker>& answers) {
    const auto now = SteadyClock::now();
    if (reports_ == 0) first_report_ = now;
    if (reports_ > 0) distances_us_.push_back(MicrosecondsBetween(last_report_, now));
    last_report_ = now;
    ++reports_;
    answers.push_back(AnswerReport{message.ref, message.sequence, ReportAnswer::kContinue});
  }

  void OnEnded(std::vector<ToWorker>& answers) {
    ++ended_;
    StartNext(load_.ahead > 0, answers);
    if (ended_ < load_.attempts) return;
    last_end_ = SteadyClock::now();
    done_.notify_all();
  }

  void StartNext(bool ahead, std::vector<ToWorker>& answers) {
    if (started_ == load_.attempts) return;
    StartAttempt start;
    start.ref = {TrialNumber{started_}, AttemptNumber{1}, LeaseEpoch{started_ + 1}};
    start.ahead = ahead;
    start.ends_seen = ended_;
    start.cpu_milli = ahead ? 0 : 1000;
    start.config = R"({"lr":0.0123456789,"depth":3,"x":0.25})";
    start.artifact_dir = "/tmp/transport_bench/" + std::to_string(started_);
    answers.push_back(std::move(start));
    ++started_;
  }

  const Load load_;
  WorkerGateway* gateway_ = nullptr;
  std::mutex mutex_;
  std::condition_variable done_;
  WorkerId worker_;
  int64_t started_ = 0;
  int64_t ended_ = 0;
  int64_t reports_ = 0;
  SteadyClock::time_point first_report_, last_report_, last_end_;
  std::vector<double> distances_us_;
};

Measured Run(const Load& load, const std::string& worker_path) {
  InstantTuner tuner(load);
  auto gateway = WorkerGateway::Start({}, tuner);
  if (!gateway.ok()) {
    std::fprintf(stderr, "transport_bench: %s\n", gateway.status().message().c_str());
    std::exit(1);
  }
  tuner.Serve(**gateway);
  const std::string address = (*gateway)->address();
  const char* const argv[] = {worker_path.c_str(), "--connect", address.c_str(), "--local",
                              "--prewarm",         "curve",     nullptr};
  const auto exec_at = SteadyClock::now();
  pid_t pid = 0;
  if (posix_spawn(&pid, worker_path.c_str(), nullptr, nullptr, const_cast<char**>(argv), environ) !=
      0) {
    std::fprintf(stderr, "transport_bench: cannot start %s\n", worker_path.c_str());
    std::exit(1);
  }
  tuner.WaitUntilDone();
  tuner.Shutdown();
  waitpid(pid, nullptr, 0);
  Measured measured;
  measured.start_ms = MicrosecondsBetween(exec_at, tuner.first_report()) / 1e3;
  measured.seconds = MicrosecondsBetween(tuner.first_report(), tuner.last_end()) / 1e6;
  measured.reports = tuner.reports();
  measured.distances_us = tuner.TakeDistances();
  return measured;
}

double Quantile(std::vector<double> values, double q) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<size_t>(q * static_cast<double>(values.size() - 1))];
}

std::string CurveOf(int64_t iterations) {
  return R"({"curve":{"value":"x * t","iterations":)" + std::to_string(iterations) + "}}";
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  using namespace tune;
  const bool is_toy = argc > 1 && std::strcmp(argv[1], "--toy") == 0;
  const char* const folder = std::getenv("TUNE_BIN_DIR");
  std::string own(argv[0]);
  own = own.substr(0, own.rfind('/'));
  const std::string worker = (folder == nullptr ? own : folder) + "/tune_worker";
  const int64_t scale = is_toy ? 1 : 100;

  const Measured one = Run({CurveOf(200 * scale), 1, 1, 0}, worker);
  std::printf("round trip      median %6.1f us, 99 %% %6.1f us\n", Quantile(one.distances_us, 0.5),
              Quantile(one.distances_us, 0.99));
  const Measured many = Run({CurveOf(100 * scale), 16, 16, 0}, worker);
  std::printf("rate, 16 trials %8.0f reports/s\n",
              static_cast<double>(many.reports) / many.seconds);
  const Measured noop = Run({CurveOf(1), 2, 200 * scale, 8}, worker);
  std::printf("no-op trials    %8.0f trials/s\n", static_cast<double>(noop.reports) / noop.seconds);
  std::vector<double> starts;
  for (int64_t i = 0; i < (is_toy ? 1 : 20); ++i) {
    starts.push_back(Run({CurveOf(1), 1, 1, 0}, worker).start_ms);
  }
  std::printf("start           median %6.1f ms, worst %6.1f ms\n", Quantile(starts, 0.5),
              Quantile(starts, 1));
  return 0;
}
