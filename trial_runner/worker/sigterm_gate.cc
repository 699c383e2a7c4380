#include "trial_runner/worker/sigterm_gate.h"

#include <signal.h>

#include <atomic>
#include <cstdio>
#include <utility>

namespace tune {
namespace {

std::atomic<bool> has_come = false;
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler writes it");

void Handle(void (*handler)(int)) {
  struct sigaction action = {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART;
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

bool SigtermGate::HasCome() { return has_come; }

void SigtermGate::PutOff() {
  if (std::exchange(is_put_off_, true)) return;
  Handle([](int) { has_come = true; });
}

// First the handler, then the look: so none is lost between the two.
void SigtermGate::Let() {
  if (!std::exchange(is_put_off_, false)) return;
  Handle(SIG_DFL);
  if (!has_come) return;
  std::fflush(nullptr);
  raise(SIGTERM);
}

}  // namespace tune
