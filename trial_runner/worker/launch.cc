#include "trial_runner/worker/launch.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "core/posix/process_limits.h"

namespace tune {
namespace {

constexpr int kSocketInChild = 3;

// All that the child needs, made before: it may allocate nothing.
struct Child {
  const LaunchOptions& options;
  char* const* arguments;
  char* const* environment;
  const cpu_set_t* cpus;  // Null: as they are.
  pid_t parent;
  int failure;  // A pipe that closes when the program begins; an errno in it says why it did not.
};

// When the system runs out of memory it shall end a trial, not the worker or the tuner. In the
// child; where it may not be said, all stays as it is.
void OfferToBeEndedFirst() {
  constexpr char kScore[] = "500";
  const int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t written = write(fd, kScore, sizeof kScore - 1);
  close(fd);
}

void UseDefaultSignals() {
  struct sigaction default_action = {};
  default_action.sa_handler = SIG_DFL;
  for (const int signal : {SIGPIPE, SIGINT, SIGHUP, SIGTERM, SIGUSR1, SIGCHLD}) {
    sigaction(signal, &default_action, nullptr);
  }
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
}

// In the child, which still shares the parent's memory: system calls alone. Returns the errno that
// kept it from starting.
int BecomeProgram(const Child& child) {
  const LaunchOptions& options = child.options;
  if (options.has_own_group) setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != child.parent) return ESRCH;  // It ended before the line above.
  OfferToBeEndedFirst();
  if (options.cgroup_procs >= 0 && write(options.cgroup_procs, "0", 1) != 1) return errno;
  if (child.cpus != nullptr) sched_setaffinity(0, sizeof *child.cpus, child.cpus);
  if (!options.folder.empty() && chdir(options.folder.c_str()) != 0) return errno;
  if (dup2(options.input, STDIN_FILENO) < 0 || dup2(options.output, STDOUT_FILENO) < 0 ||
      dup2(options.error >= 0 ? options.error : options.output, STDERR_FILENO) < 0) {
    return errno;
  }
  const bool has_socket = options.socket >= 0;
  if (has_socket && dup2(options.socket, kSocketInChild) < 0) return errno;
  close_range(kSocketInChild + (has_socket ? 1 : 0), ~0u, CLOSE_RANGE_CLOEXEC);
  UseDefaultSignals();
  RestoreLimits();
  execve(options.path.c_str(), child.arguments, child.environment);
  return errno;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  // execve writes into none of them.
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// vfork: the child borrows our memory until it becomes the program, so that nothing is copied
// however large we are. All signals wait meanwhile, so that none is handled in the child.
[[gnu::noinline]] pid_t Fork(const Child& child) {
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = vfork();
  if (pid == 0) {
    const int error = BecomeProgram(child);
    [[maybe_unused]] const ssize_t written = write(child.failure, &error, sizeof error);
    _exit(127);
  }
  const int fork_errno = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = fork_errno;
  return pid;
}

}  // namespace

Status StartFailure(int error) {
  const std::string text = std::strerror(error);
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return NotFound(text);
    case EACCES:
    case EISDIR:
    case ELOOP:
    case E2BIG:
      return InvalidArgument(text);
    case ENOEXEC:
      return InvalidArgument("it is no program, and has no #! line that names one");
    case EMFILE:
    case ENFILE:
    case EAGAIN:
    case ENOMEM:
    case ENOBUFS:
      return ResourceExhausted(text);
    default:
      return Unavailable(text);
  }
}

Result<FileDescriptor> MovedUp(FileDescriptor fd) {
  constexpr int kAboveStandard = 10;
  FileDescriptor moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, kAboveStandard));
  if (!moved.is_open()) {
    return StartFailure(errno).At("cannot copy a file descriptor");
  }
  return moved;
}

Result<int> Launch(const LaunchOptions& options) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return StartFailure(errno).At("no pipe");
  }
  const FileDescriptor failure(ends[0]);
  TUNE_ASSIGN_OR_RETURN(FileDescriptor child_failure, MovedUp(FileDescriptor(ends[1])));
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  for (const int64_t cpu : options.cpus) {
    if (cpu >= 0 && cpu < CPU_SETSIZE) CPU_SET(static_cast<size_t>(cpu), &cpus);
  }
  const std::vector<char*> arguments = Pointers(options.arguments);
  const std::vector<char*> environment = Pointers(options.environment);
  const pid_t pid = Fork({options, arguments.data(), environment.data(),
                          options.cpus.empty() ? nullptr : &cpus, getpid(), child_failure.get()});
  if (pid < 0) return StartFailure(errno);
  child_failure.Close();
  int error = 0;
  if (read(failure.get(), &error, sizeof error) != sizeof error) return static_cast<int>(pid);
  waitpid(pid, nullptr, 0);
  return StartFailure(error);
}

}  // namespace tune
