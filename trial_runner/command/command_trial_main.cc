// tune_trial_command: runs trials of the trainable `command`, a user's program each.
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>

#include <cstdio>

#include "core/posix/process_limits.h"
#include "core/posix/real_clock.h"
#include "trial_runner/command/command_runner.h"
#include "trial_runner/command/worker_line.h"
#include "trial_runner/version.h"
#include "trial_runner/worker/trial_process.h"

namespace tune {
namespace {

int Main() {
  if (fcntl(kTrialSocketFd, F_SETFD, FD_CLOEXEC) != 0) {
    std::fprintf(stderr, "this program runs trials for tune_worker and is started by it alone\n");
    return 2;
  }
  // It notices the end of its worker by itself, to end what it started.
  prctl(PR_SET_PDEATHSIG, 0);
  // What the program prints then goes nowhere, which must not end us before it.
  signal(SIGPIPE, SIG_IGN);
  const Result<std::string> folder = ProgramFolder();
  if (!folder.ok()) {
    std::fprintf(stderr, "tune_trial_command: %s\n", folder.status().message().c_str());
    return 1;
  }
  WorkerLine worker{FileDescriptor(kTrialSocketFd)};
  const AwakeClock clock;
  return CommandRunner(worker, clock, *folder).Run();
}

}  // namespace
}  // namespace tune

int main(int argc, char** argv) {
  tune::MeetLimits();
  return tune::AnswerVersion(argc, argv) ? 0 : tune::Main();
}
