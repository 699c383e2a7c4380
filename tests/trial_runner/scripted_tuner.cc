#include "tests/trial_runner/scripted_tuner.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>

namespace tune {
namespace {

constexpr int kPatienceMs = 20'000;

}  // namespace

ScriptedProgram::ScriptedProgram(const std::string& name,
                                 const std::vector<std::string>& arguments) {
  const char* const folder = std::getenv("TUNE_BIN_DIR");
  const std::string path = std::string(folder == nullptr ? "." : folder) + "/" + name;
  std::vector<char*> argv = {const_cast<char*>(path.c_str())};
  for (const std::string& argument : arguments) argv.push_back(const_cast<char*>(argument.c_str()));
  argv.push_back(nullptr);
  // A worker of the test's own, not of another machine: no token. The gateway asks for no secret.
  setenv("TUNE_LOCAL_SECRET", "of this test", 1);
  int ends[2] = {-1, -1};
  if (pipe2(ends, O_CLOEXEC) != 0) return;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  if (posix_spawn(&pid_, path.c_str(), &actions, nullptr, argv.data(), environ) != 0) pid_ = -1;
  posix_spawn_file_actions_destroy(&actions);
  close(ends[1]);
  errors_ = ends[0];
}

ScriptedProgram::~ScriptedProgram() {
  if (pid_ > 0) {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
  }
  if (errors_ >= 0) close(errors_);
}

void ScriptedProgram::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

std::optional<int> ScriptedProgram::Wait() {
  if (pid_ <= 0 || !WaitUntilGone(pid_)) return std::nullopt;
  int status = 0;
  waitpid(pid_, &status, 0);
  pid_ = -1;
  return status;
}

std::string ScriptedProgram::ReadErrors() {
  std::string text;
  char buffer[4096];
  for (ssize_t count; (count = read(errors_, buffer, sizeof buffer)) > 0;) {
    text.append(buffer, static_cast<size_t>(count));
  }
  return text;
}

std::vector<int> ChildrenOf(int pid) {
  std::vector<int> children;
  std::ifstream in("/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children");
  for (int child; in >> child;) children.push_back(child);
  return children;
}

bool WaitUntilGone(int pid) {
  const int fd = static_cast<int>(syscall(SYS_pidfd_open, pid, 0));
  if (fd < 0) return errno == ESRCH;
  pollfd ended = {fd, POLLIN, 0};
  const bool is_gone = poll(&ended, 1, kPatienceMs) == 1;
  close(fd);
  return is_gone;
}

}  // namespace tune
