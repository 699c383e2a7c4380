#include "tests/e2e/watched_program.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <map>
#include <sstream>

#include "core/check.h"

namespace tune::testing {
namespace {

// What changes a file or makes it durable, and what starts a process.
bool TouchesAFile(uint64_t call) {
  switch (call) {
    case SYS_openat:
    case SYS_pwrite64:
    case SYS_write:
    case SYS_fsync:
    case SYS_fdatasync:
    case SYS_ftruncate:
    case SYS_unlink:
    case SYS_rename:
    case SYS_mkdir:
    case SYS_fcntl:
    case SYS_close:
    case SYS_clone:
    case SYS_vfork:
      return true;
    default:
      return false;
  }
}

int OpenPidFd(pid_t pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

// Until `fd` is readable or the time is over; whether it is readable.
bool WaitReadable(int fd, int64_t until_us) {
  while (true) {
    const int64_t left_us = std::max<int64_t>(0, until_us - MonotonicUs());
    const timespec left = {left_us / 1'000'000, left_us % 1'000'000 * 1000};
    pollfd ready = {fd, POLLIN, 0};
    const int count = ppoll(&ready, 1, &left, nullptr);
    if (count > 0) return true;
    if (count == 0) return false;
    TUNE_CHECK(errno == EINTR);
  }
}

// "pid (name) state parent ..."; the name may hold anything, so its last ')' is looked for.
std::optional<ProcessEntry> ReadEntry(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text;
  if (!std::getline(file, text)) return std::nullopt;
  const size_t open = text.find('(');
  const size_t close = text.rfind(')');
  if (open == std::string::npos || close == std::string::npos) return std::nullopt;
  ProcessEntry entry;
  entry.pid = std::atoi(text.c_str());
  entry.name = text.substr(open + 1, close - open - 1);
  char state = 0;
  std::istringstream rest(text.substr(close + 1));
  rest >> state >> entry.parent;
  if (state == 'Z' || state == 'X') return std::nullopt;
  constexpr int kFieldsBetween = 17;  // From the parent to the start (proc(5)).
  std::string other;
  for (int i = 0; i < kFieldsBetween; ++i) rest >> other;
  rest >> entry.started_at;
  return entry;
}

[[noreturn]] void BecomeProgram(const WatchedProgram::Options& options) {
  setpgid(0, 0);
  if (chdir(options.folder.c_str()) != 0) _exit(126);
  const int out = open(options.out_path.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
  const int in = open("/dev/null", O_RDONLY);
  if (out < 0 || in < 0 || dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(out, 2) < 0) _exit(126);
  close(out);
  close(in);
  for (const std::string& variable : options.variables) {
    putenv(const_cast<char*>(variable.c_str()));
  }
  std::vector<char*> argv = {const_cast<char*>(options.program.c_str())};
  for (const std::string& a : options.arguments) argv.push_back(const_cast<char*>(a.c_str()));
  argv.push_back(nullptr);
  // The sanitizer of leaks would trace it too, and fails where it cannot.
  if (options.is_traced) setenv("LSAN_OPTIONS", "detect_leaks=0", 1);
  if (options.is_traced && ptrace(PTRACE_TRACEME, 0, nullptr, nullptr) != 0) _exit(126);
  execv(options.program.c_str(), argv.data());
  _exit(126);
}

}  // namespace

void AdoptOrphans() { TUNE_CHECK(prctl(PR_SET_CHILD_SUBREAPER, 1) == 0); }

int64_t MonotonicUs() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return now.tv_sec * 1'000'000 + now.tv_nsec / 1000;
}

std::vector<ProcessEntry> Descendants(pid_t root) {
  std::multimap<pid_t, ProcessEntry> by_parent;
  DIR* const proc = opendir("/proc");
  TUNE_CHECK(proc != nullptr);
  while (const dirent* const entry = readdir(proc)) {
    if (entry->d_name[0] < '0' || entry->d_name[0] > '9') continue;
    if (const auto process = ReadEntry(entry->d_name)) by_parent.emplace(process->parent, *process);
  }
  closedir(proc);
  std::vector<ProcessEntry> found;
  std::vector<pid_t> parents = {root};
  while (!parents.empty()) {
    const auto [begin, end] = by_parent.equal_range(parents.back());
    parents.pop_back();
    for (auto it = begin; it != end; ++it) {
      found.push_back(it->second);
      parents.push_back(it->second.pid);
    }
  }
  return found;
}

WatchedProgram::WatchedProgram(const Options& options) : is_traced_(options.is_traced) {
  start_us_ = MonotonicUs();
  pid_ = fork();
  TUNE_CHECK(pid_ >= 0);
  if (pid_ == 0) BecomeProgram(options);
  setpgid(pid_, pid_);
  pid_fd_ = OpenPidFd(pid_);
  TUNE_CHECK(pid_fd_ >= 0);
  if (!is_traced_) return;
  int status = 0;
  TUNE_CHECK(waitpid(pid_, &status, __WALL) == pid_);
  if (Reap(status)) return;
  TUNE_CHECK(ptrace(PTRACE_SETOPTIONS, pid_, nullptr, PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD) ==
             0);
}

WatchedProgram::~WatchedProgram() {
  if (!exit_status_) {
    kill(-pid_, SIGKILL);
    kill(pid_, SIGKILL);
    WaitForEnd(60'000'000);
  }
  for (const ProcessEntry& process : Descendants(getpid())) kill(process.pid, SIGKILL);
  WaitForDescendants(60'000'000);
  close(pid_fd_);
}

bool WatchedProgram::Reap(int wait_status) {
  if (WIFSTOPPED(wait_status)) return false;
  exit_status_ = WIFSIGNALED(wait_status) ? 128 + WTERMSIG(wait_status) : WEXITSTATUS(wait_status);
  return true;
}

bool WatchedProgram::RunFor(int64_t us) { return !WaitReadable(pid_fd_, start_us_ + us); }

bool WatchedProgram::RunToFileCall(int64_t n) {
  int64_t count = 0;
  uint64_t signal = 0;
  while (!exit_status_) {
    if (ptrace(PTRACE_SYSCALL, pid_, nullptr, signal) != 0) return false;
    signal = 0;
    int status = 0;
    TUNE_CHECK(waitpid(pid_, &status, __WALL) == pid_);
    if (Reap(status)) return false;
    if (WSTOPSIG(status) != (SIGTRAP | 0x80)) {
      signal = static_cast<uint64_t>(WSTOPSIG(status));
      continue;
    }
    __ptrace_syscall_info info = {};
    if (ptrace(PTRACE_GET_SYSCALL_INFO, pid_, sizeof info, &info) < 0) continue;
    if (info.op != PTRACE_SYSCALL_INFO_ENTRY || !TouchesAFile(info.entry.nr)) continue;
    if (++count >= n) return true;
  }
  return false;
}

void WatchedProgram::Release() {
  if (!exit_status_) ptrace(PTRACE_DETACH, pid_, nullptr, nullptr);
}

void WatchedProgram::Signal(int signal) const { kill(pid_, signal); }

std::optional<int> WatchedProgram::WaitForEnd(int64_t bound_us) {
  if (exit_status_) return exit_status_;
  if (!WaitReadable(pid_fd_, MonotonicUs() + bound_us)) return std::nullopt;
  int status = 0;
  do {
    TUNE_CHECK(waitpid(pid_, &status, __WALL) == pid_);
  } while (!Reap(status));
  return exit_status_;
}

std::vector<std::string> WatchedProgram::WaitForDescendants(int64_t bound_us) {
  const int64_t until_us = MonotonicUs() + bound_us;
  while (true) {
    while (waitpid(-1, nullptr, WNOHANG | __WALL) > 0) {
    }
    const std::vector<ProcessEntry> left = Descendants(getpid());
    if (left.empty()) return {};
    const int fd = OpenPidFd(left.front().pid);
    if (fd < 0) continue;
    const bool has_ended = WaitReadable(fd, until_us);
    close(fd);
    if (has_ended) continue;
    std::vector<std::string> names;
    for (const ProcessEntry& process : left) names.push_back(process.name);
    return names;
  }
}

}  // namespace tune::testing
