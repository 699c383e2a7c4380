#include "trial_runner/worker/trial_process.h"

#include <fcntl.h>
#include <linux/close_range.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <utility>

namespace tune {
namespace {

std::string ErrorText(int error) { return std::strerror(error); }

// A copy far above the numbers that the child fills, so that filling one closes none of the others.
Result<FileDescriptor> MovedUp(FileDescriptor fd) {
  constexpr int kAboveStandard = 10;
  FileDescriptor moved(fcntl(fd.get(), F_DUPFD_CLOEXEC, kAboveStandard));
  if (!moved.is_open()) return Unavailable("cannot copy a file descriptor: " + ErrorText(errno));
  return moved;
}

struct ChildFiles {
  int input = -1;
  int output = -1;
  int socket = -1;
  int failure =
      -1;  // A pipe that closes when the program begins; an errno in it says why it did not.
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

// In the child, which still shares the parent's memory: system calls alone. Returns the errno that
// kept it from starting.
int BecomeProgram(const ChildFiles& files, pid_t parent, const char* program, char* const* argv,
                  char* const* environment) {
  setpgid(0, 0);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) return ESRCH;  // It ended before the line above.
  OfferToBeEndedFirst();
  if (dup2(files.input, STDIN_FILENO) < 0 || dup2(files.output, STDOUT_FILENO) < 0 ||
      dup2(files.output, STDERR_FILENO) < 0 || dup2(files.socket, kTrialSocketFd) < 0) {
    return errno;
  }
  close_range(kTrialSocketFd + 1, ~0u, CLOSE_RANGE_CLOEXEC);
  struct sigaction default_action = {};
  default_action.sa_handler = SIG_DFL;
  sigaction(SIGPIPE, &default_action, nullptr);
  sigaction(SIGINT, &default_action, nullptr);
  sigaction(SIGHUP, &default_action, nullptr);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  execve(program, argv, environment);
  return errno;
}

// Our own environment with some variables replaced.
std::vector<std::string> Environment(const TrialProcessOptions& options) {
  std::vector<std::string> replaced;
  if (options.threads > 0) {
    replaced.push_back("OMP_NUM_THREADS=" + std::to_string(options.threads));
  }
  // Trials share the machine's cores: a thread that spins while it waits takes its neighbour's
  // time.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) replaced.push_back("OMP_WAIT_POLICY=passive");
  if (!options.devices.empty()) {
    std::string list;
    for (const int64_t device : options.devices) {
      list += (list.empty() ? "" : ",") + std::to_string(device);
    }
    replaced.push_back("CUDA_VISIBLE_DEVICES=" + list);
  }
  std::vector<std::string> all;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text(*variable);
    bool is_replaced = false;
    for (const std::string& other : replaced) {
      is_replaced = is_replaced || text.starts_with(other.substr(0, other.find('=') + 1));
    }
    if (!is_replaced) all.emplace_back(text);
  }
  for (std::string& variable : replaced) all.push_back(std::move(variable));
  return all;
}

std::vector<char*> Pointers(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  for (std::string& text : texts) pointers.push_back(text.data());
  pointers.push_back(nullptr);
  return pointers;
}

// vfork: the child borrows our memory until it becomes the program, so that nothing is copied
// however large we are. All signals wait meanwhile, so that none is handled in the child.
[[gnu::noinline]] pid_t Launch(const ChildFiles& files, const char* program, char* const* argv,
                               char* const* environment) {
  const pid_t parent = getpid();
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const pid_t pid = vfork();
  if (pid == 0) {
    const int error = BecomeProgram(files, parent, program, argv, environment);
    [[maybe_unused]] const ssize_t written = write(files.failure, &error, sizeof error);
    _exit(127);
  }
  const int fork_errno = errno;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = fork_errno;
  return pid;
}

Result<TrialProcess> Start(const TrialProcessOptions& options) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return Unavailable("no socket: " + ErrorText(errno));
  }
  TrialProcess process;
  process.socket = FileDescriptor(sockets[0]);
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor child_socket, MovedUp(FileDescriptor(sockets[1])));
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return Unavailable("no pipe: " + ErrorText(errno));
  process.output = FileDescriptor(pipe_ends[0]);
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor child_output, MovedUp(FileDescriptor(pipe_ends[1])));
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor child_input,
                        MovedUp(FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))));
  fcntl(process.socket.get(), F_SETFL, O_NONBLOCK);
  fcntl(process.output.get(), F_SETFL, O_NONBLOCK);

  int failure_ends[2];
  if (pipe2(failure_ends, O_CLOEXEC) != 0) return Unavailable("no pipe: " + ErrorText(errno));
  const FileDescriptor failure(failure_ends[0]);
  TUNE_ASSIGN_OR_RETURN(FileDescriptor child_failure, MovedUp(FileDescriptor(failure_ends[1])));

  std::vector<std::string> arguments = {options.program};
  std::vector<std::string> variables = Environment(options);
  process.pid =
      Launch({child_input.get(), child_output.get(), child_socket.get(), child_failure.get()},
             options.program.c_str(), Pointers(arguments).data(), Pointers(variables).data());
  if (process.pid < 0) return Unavailable(ErrorText(errno));
  child_failure.Close();
  int error = 0;
  if (read(failure.get(), &error, sizeof error) == sizeof error) {
    waitpid(process.pid, nullptr, 0);
    return NotFound(ErrorText(error));
  }
  process.pid_fd = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!process.pid_fd.is_open()) {
    const int error = errno;
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return Unavailable("no pidfd: " + ErrorText(error));
  }
  return process;
}

}  // namespace

Result<TrialProcess> StartTrialProcess(const TrialProcessOptions& options) {
  Result<TrialProcess> process = Start(options);
  if (!process.ok()) return process.status().At("cannot start " + options.program);
  return process;
}

Result<std::string> ProgramFolder() {
  char path[4096];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  if (length <= 0 || length == sizeof path) return Internal("cannot read /proc/self/exe");
  const std::string_view text(path, static_cast<size_t>(length));
  return std::string(text.substr(0, text.rfind('/')));
}

}  // namespace tune
