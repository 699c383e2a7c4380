#include "tuner/cli/words/signal_watch.h"

#include <pthread.h>
#include <signal.h>

#include "core/posix/threads.h"

namespace tune {
namespace {

bool IsIgnored(int signal) {
  struct sigaction action = {};
  return sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

// SIGUSR1 is ours, to wake the thread at the end. Under nohup SIGHUP is not watched: a blocked
// signal would arrive although it is ignored.
sigset_t WatchedSignals() {
  sigset_t set;
  sigemptyset(&set);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1}) sigaddset(&set, signal);
  if (!IsIgnored(SIGHUP)) sigaddset(&set, SIGHUP);
  return set;
}

}  // namespace

SignalWatch::SignalWatch(EventQueue& queue, std::optional<Event> what)
    : queue_(queue), what_(std::move(what)) {
  const sigset_t set = WatchedSignals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
  thread_ = BeginThread([this] { Run(); });
}

SignalWatch::~SignalWatch() {
  is_ending_ = true;
  pthread_kill(thread_.native_handle(), SIGUSR1);
  thread_.join();
}

void SignalWatch::Run() {
  const sigset_t set = WatchedSignals();
  for (;;) {
    int signal = 0;
    if (sigwait(&set, &signal) != 0) continue;
    if (is_ending_) return;
    if (signal == SIGUSR1) continue;
    int none = 0;
    first_signal_.compare_exchange_strong(none, signal);
    ++count_;
    if (what_) {
      queue_.PushEvent(*what_);
    } else {
      queue_.Wake();
    }
  }
}

int SignalWatch::exit_status() const {
  const int signal = first_signal_.load();
  return signal == 0 ? 0 : 128 + signal;
}

}  // namespace tune
