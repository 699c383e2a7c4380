#include "tuner/cli/run/background.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "core/json.h"
#include "core/posix/read_bytes.h"
#include "core/value.h"

namespace tune {
namespace {

constexpr char kLogKey[] = "log";
constexpr char kOffsetKey[] = "offset";
constexpr char kRunningKey[] = "running";

struct Told {
  std::string log_path;
  int64_t log_offset = 0;
  std::string running;  // Not empty: it runs.
};

// Reads until the sweep runs, or the other end is closed.
Told Listen(int fd) {
  Told told;
  std::string text;
  while (told.running.empty()) {
    char bytes[4096];
    const ssize_t size = read(fd, bytes, sizeof bytes);
    if (size < 0 && errno == EINTR) continue;
    if (size <= 0) break;
    text.append(bytes, static_cast<size_t>(size));
    for (size_t end = 0; (end = text.find('\n')) != std::string::npos; text.erase(0, end + 1)) {
      const Result<Value> line = ParseJson(std::string_view(text).substr(0, end));
      if (!line.ok() || !line->is_map()) continue;
      if (const Value* const text = line->Find(kRunningKey)) told.running = text->AsString();
      const Value* const path = line->Find(kLogKey);
      const Value* const offset = line->Find(kOffsetKey);
      if (path == nullptr || offset == nullptr) continue;
      told.log_path = path->AsString();
      told.log_offset = offset->AsInt();
    }
  }
  return told;
}

// The new process, before anything else: nothing of the terminal reaches it any more.
bool LeaveTerminal(pid_t parent) {
  // Until the sweep runs, who waits for it can still change their mind.
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != parent) return false;
  setsid();
  const int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null >= 0) {
    dup2(null, STDIN_FILENO);
    (void)close(null);
  }
  return true;
}

}  // namespace

Background::~Background() {
  if (fd_ >= 0) (void)close(fd_);
}

Status Background::LogTo(const std::string& path) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  // For its owner alone: it holds the line with which workers join.
  const int log = open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  struct stat file = {};
  if (log < 0 || fstat(log, &file) != 0) {
    const int number = errno;
    const std::string message = path + ": " + std::strerror(number);
    return number == ENOSPC ? ResourceExhausted(message) : FailedPrecondition(message);
  }
  Value line = Value::MakeMap();
  line.Set(kLogKey, path);
  line.Set(kOffsetKey, static_cast<int64_t>(file.st_size));
  Tell(ToJson(line));
  dup2(log, STDOUT_FILENO);
  dup2(log, STDERR_FILENO);
  (void)close(log);
  return OkStatus();
}

void Background::TellRunning(const std::string& text) {
  if (fd_ < 0) return;
  prctl(PR_SET_PDEATHSIG, 0);
  Value line = Value::MakeMap();
  line.Set(kRunningKey, text);
  Tell(ToJson(line));
  (void)close(std::exchange(fd_, -1));
}

void Background::Tell(const std::string& line) {
  const std::string text = line + "\n";
  (void)!write(fd_, text.data(), text.size());
}

int RunInBackground(const std::function<int(Background&)>& body, std::ostream& out,
                    std::ostream& err) {
  out.flush();
  err.flush();
  int fds[2];
  if (pipe2(fds, O_CLOEXEC) != 0) {
    err << "tune: --detach: no pipe: " << std::strerror(errno) << "\n";
    return 1;
  }
  const pid_t parent = getpid();
  const pid_t pid = fork();
  if (pid == 0) {
    (void)close(fds[0]);
    if (!LeaveTerminal(parent)) return 1;
    Background background(fds[1]);
    return body(background);
  }
  const int fork_error = errno;
  (void)close(fds[1]);
  if (pid < 0) {
    (void)close(fds[0]);
    err << "tune: --detach: fork: " << std::strerror(fork_error) << "\n";
    return 1;
  }
  const Told told = Listen(fds[0]);
  (void)close(fds[0]);
  int wait_status = 0;
  if (told.running.empty()) {
    while (waitpid(pid, &wait_status, 0) < 0 && errno == EINTR) {
    }
  }
  // The part of this life.
  if (!told.log_path.empty()) err << ReadBytes(told.log_path, told.log_offset) << std::flush;
  if (!told.running.empty()) {
    out << told.running << "\n";
    return 0;
  }
  if (WIFEXITED(wait_status)) return WEXITSTATUS(wait_status);
  err << "tune: the sweep's process ended with signal " << WTERMSIG(wait_status) << "\n";
  return 1;
}

}  // namespace tune
