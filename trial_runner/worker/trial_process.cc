#include "trial_runner/worker/trial_process.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <utility>

#include "trial_runner/worker/launch.h"

namespace tune {
namespace {

// Our own environment with some variables replaced.
std::vector<std::string> Environment(const TrialProcessOptions& options) {
  std::vector<std::string> replaced;
  if (options.threads > 0) {
    replaced.push_back("OMP_NUM_THREADS=" + std::to_string(options.threads));
  }
  // Trials share the machine's cores: a thread that spins while it waits takes its neighbour's
  // time.
  if (std::getenv("OMP_WAIT_POLICY") == nullptr) replaced.push_back("OMP_WAIT_POLICY=passive");
  for (const auto& [name, value] : options.devices) replaced.push_back(name + "=" + value);
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

Result<TrialProcess> Start(const TrialProcessOptions& options) {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    return StartFailure(errno).At("no socket");
  }
  TrialProcess process;
  process.socket = FileDescriptor(sockets[0]);
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor child_socket, MovedUp(FileDescriptor(sockets[1])));
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) return StartFailure(errno).At("no pipe");
  process.output = FileDescriptor(pipe_ends[0]);
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor child_output, MovedUp(FileDescriptor(pipe_ends[1])));
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor child_input,
                        MovedUp(FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))));
  fcntl(process.socket.get(), F_SETFL, O_NONBLOCK);
  fcntl(process.output.get(), F_SETFL, O_NONBLOCK);

  LaunchOptions launch;
  launch.path = options.program;
  launch.arguments = {options.program};
  launch.environment = Environment(options);
  launch.input = child_input.get();
  launch.output = child_output.get();
  launch.socket = child_socket.get();
  launch.has_own_group = true;
  TUNE_ASSIGN_OR_RETURN(process.pid, Launch(launch));
  process.pid_fd = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, process.pid, 0)));
  if (!process.pid_fd.is_open()) {
    const int error = errno;
    kill(process.pid, SIGKILL);
    waitpid(process.pid, nullptr, 0);
    return StartFailure(error).At("no pidfd");
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
