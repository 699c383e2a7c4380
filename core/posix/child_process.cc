#include "core/posix/child_process.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <set>
#include <string_view>

namespace tune {
namespace {

constexpr int kGraceMs = 2'000;

// What is ignored stays so.
void HandleNothing() {
  for (int signal = 1; signal < NSIG; ++signal) {
    struct sigaction action = {};
    if (sigaction(signal, nullptr, &action) != 0 || action.sa_handler == SIG_IGN) continue;
    action = {};
    action.sa_handler = SIG_DFL;
    sigaction(signal, &action, nullptr);
  }
}

// Ours, but for what `given` names: of two values of one name some programs take the first, shells
// the last. Points into `given` and into ours.
std::vector<char*> EnvironmentWith(const std::vector<std::string>& given) {
  std::set<std::string_view> names;
  std::vector<char*> all;
  for (const std::string& variable : given) {
    names.insert(std::string_view(variable).substr(0, variable.find('=')));
    all.push_back(const_cast<char*>(variable.c_str()));
  }
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (!names.contains(text.substr(0, text.find('=')))) all.push_back(*variable);
  }
  all.push_back(nullptr);
  return all;
}

std::string DescribeEnding(int wait_status) {
  if (WIFSIGNALED(wait_status)) {
    const int signal = WTERMSIG(wait_status);
    return "signal " + std::to_string(signal) + " (" + strsignal(signal) + ")";
  }
  return "exit status " + std::to_string(WEXITSTATUS(wait_status));
}

}  // namespace

Result<std::unique_ptr<ChildProcess>> ChildProcess::Start(
    const std::string& program, const std::vector<std::string>& arguments,
    const std::vector<std::string>& environment, int output, int error, const std::string& folder,
    int input) {
  std::vector<char*> argv;
  argv.push_back(const_cast<char*>(program.c_str()));
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  std::vector<char*> envp = EnvironmentWith(environment);

  const pid_t parent = getpid();
  // Until the program runs in it, no signal to the child comes to our handlers.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = fork();
  const int fork_errno = errno;
  if (pid != 0) pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (pid < 0) return Unavailable("cannot start " + program + ": fork: " + strerror(fork_errno));
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(127);  // The tuner died before prctl.
    if (!folder.empty() && chdir(folder.c_str()) != 0) _exit(127);
    if (input >= 0) {
      if (dup2(input, STDIN_FILENO) < 0) _exit(127);
    } else if (output >= 0) {  // Nobody types for it.
      const int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
      if (nothing < 0 || dup2(nothing, STDIN_FILENO) < 0) _exit(127);
    }
    const int errors = error >= 0 ? error : output;
    if ((output >= 0 && dup2(output, STDOUT_FILENO) < 0) ||
        (errors >= 0 && dup2(errors, STDERR_FILENO) < 0)) {
      _exit(127);
    }
    HandleNothing();
    sigset_t none;
    sigemptyset(&none);
    pthread_sigmask(SIG_SETMASK, &none, nullptr);
    execve(program.c_str(), argv.data(), envp.data());
    dprintf(STDERR_FILENO, "tune: cannot start %s: %s; is it beside tune?\n", program.c_str(),
            strerror(errno));
    _exit(127);
  }
  setpgid(pid, pid);  // In the parent too: whichever runs first.
  return std::unique_ptr<ChildProcess>(new ChildProcess(pid));
}

bool ChildProcess::HasEnded() {
  if (has_ended_) return true;
  int wait_status = 0;
  const pid_t ended = waitpid(pid_, &wait_status, WNOHANG);
  const bool is_gone = ended < 0 && errno == ECHILD;
  if (ended != pid_ && !is_gone) return false;
  has_ended_ = true;
  if (is_gone) {  // Somebody else has waited for it.
    ending_ = "an end that nobody can tell";
    exit_status_ = 1;
    return true;
  }
  ending_ = DescribeEnding(wait_status);
  exit_status_ = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return true;
}

ChildProcess::~ChildProcess() {
  if (HasEnded()) return;
  const int pidfd = static_cast<int>(syscall(SYS_pidfd_open, pid_, 0));
  if (kill(-pid_, SIGTERM) != 0) kill(pid_, SIGTERM);
  if (pidfd >= 0) {
    pollfd ended{pidfd, POLLIN, 0};
    while (poll(&ended, 1, kGraceMs) < 0 && errno == EINTR) {
    }
    close(pidfd);
  }
  // Before it is waited for: its number, which is the group's, may then be another's.
  kill(-pid_, SIGKILL);
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

}  // namespace tune
