#include "tuner/cli/keep/program_output.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/posix/file_descriptor.h"
#include "core/posix/real_clock.h"

namespace tune {
namespace {

constexpr size_t kOutputBytesMax = 1 << 20;
constexpr Duration kKillPatience = Seconds(1);

// Starts it with its output in the pipe; 0 or an errno.
int Spawn(const std::vector<std::string>& arguments, int out_fd, pid_t& pid) {
  std::vector<char*> argv;
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_adddup2(&actions, out_fd, STDOUT_FILENO);
  posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
  const int error = posix_spawnp(&pid, argv[0], &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  return error;
}

// Until the end of the output; false when time is up first.
bool ReadAll(int fd, Instant deadline, const Clock& clock, std::string& out) {
  for (;;) {
    const int64_t left_ms = (deadline - clock.Now()).us / 1000;
    if (left_ms <= 0) return false;
    pollfd waiting{fd, POLLIN, 0};
    const int ready = poll(&waiting, 1, static_cast<int>(std::min<int64_t>(left_ms, 1'000'000)));
    if (ready == 0 || (ready < 0 && errno == EINTR)) continue;
    char buffer[4096];
    const ssize_t count = read(fd, buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return true;
    const size_t room = kOutputBytesMax - std::min(kOutputBytesMax, out.size());
    out.append(buffer, std::min(room, static_cast<size_t>(count)));
  }
}

// False when it has not ended by then; else `status` is what it ended with.
bool WaitForEnd(pid_t pid, Instant deadline, const Clock& clock, int& status) {
  constexpr int64_t kLookEveryMs = 10;  // Where the system tells of no end.
  const FileDescriptor ended(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  for (;;) {
    const pid_t waited = waitpid(pid, &status, WNOHANG);
    if (waited > 0 || (waited < 0 && errno != EINTR)) return true;
    const int64_t left_ms = (deadline - clock.Now()).us / 1000;
    if (left_ms <= 0) return false;
    pollfd waiting{ended.get(), POLLIN, 0};
    const int64_t pause_ms = std::min<int64_t>(left_ms, ended.is_open() ? 1'000'000 : kLookEveryMs);
    (void)poll(&waiting, 1, static_cast<int>(pause_ms));
  }
}

}  // namespace

Result<ProgramOutput> RunForOutput(const std::vector<std::string>& arguments, Duration time_max) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return Internal(std::string("no pipe: ") + strerror(errno));
  pid_t pid = 0;
  const int error = Spawn(arguments, ends[1], pid);
  (void)close(ends[1]);
  if (error != 0) {
    (void)close(ends[0]);
    return NotFound(arguments[0] + ": cannot be started: " + strerror(error));
  }
  const AwakeClock clock;
  ProgramOutput output;
  const Instant deadline = clock.Now() + time_max;
  const bool is_read = ReadAll(ends[0], deadline, clock, output.out);
  (void)close(ends[0]);
  int status = 0;
  if (!is_read || !WaitForEnd(pid, deadline, clock, status)) {
    (void)kill(pid, SIGKILL);
    // One that waits for a disk that is away ends when the disk is back, and is left until then.
    (void)WaitForEnd(pid, clock.Now() + kKillPatience, clock, status);
    return Unavailable(arguments[0] + ": did not end within " + FormatDuration(time_max));
  }
  output.exit_status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return output;
}

}  // namespace tune
