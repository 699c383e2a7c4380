#include "trial_runner/command/program.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "trial_runner/find_program.h"
#include "trial_runner/worker/launch.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

void Forward(std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = write(STDOUT_FILENO, text.data(), text.size());
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return;  // Nobody keeps it.
    text.remove_prefix(static_cast<size_t>(count));
  }
}

// A pipe whose end to read is returned in `to_read`; the end to write is far above the numbers that
// a child fills.
Result<FileDescriptor> OpenPipe(FileDescriptor& to_read) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) {
    return StartFailure(errno).At("no pipe");
  }
  to_read = FileDescriptor(ends[0]);
  fcntl(to_read.get(), F_SETFL, O_NONBLOCK);
  return MovedUp(FileDescriptor(ends[1]));
}

std::string TakeFrom(FileDescriptor& output) {
  constexpr size_t kTakenMax = 256u << 10;  // At a time: one who prints without end is not all.
  std::string taken;
  char buffer[64 << 10];
  while (output.is_open() && taken.size() < kTakenMax) {
    const ssize_t count = read(output.get(), buffer, sizeof buffer);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0) output.Close();
    if (count <= 0) break;
    taken.append(buffer, static_cast<size_t>(count));
  }
  return taken;
}

}  // namespace

class Program::Log {
 public:
  // Together with some lines of ours less than a log may have.
  static constexpr size_t kEndBytes = 64u << 10;
  static constexpr int64_t kBeginBytes = limits::kAttemptLogBytesMax - 3 * int64_t{kEndBytes};

  void AddLine(std::string_view line) { Add((is_in_line_ ? "\n" : "") + std::string(line) + "\n"); }
  void Add(std::string_view text) {
    if (!text.empty()) is_in_line_ = text.back() != '\n';
    const auto room = static_cast<size_t>(std::max<int64_t>(0, kBeginBytes - bytes_));
    bytes_ += static_cast<int64_t>(text.size());
    Forward(text.substr(0, room));
    text.remove_prefix(std::min(room, text.size()));
    end_ += text.substr(text.size() - std::min(text.size(), kEndBytes));
    // Seldom, so that each byte is moved once.
    if (end_.size() > 2 * kEndBytes) CutEnd();
    const bool is_full = bytes_ > kBeginBytes + static_cast<int64_t>(kEndBytes);
    if (is_full && !std::exchange(was_full_, true)) {
      Forward("\n[the log is full: of what follows, the end will be kept]\n");
    }
  }
  ~Log() {
    CutEnd();
    const int64_t left_out = bytes_ - kBeginBytes - static_cast<int64_t>(end_.size());
    if (left_out > 0) {
      Forward("\n[" + std::to_string(left_out) + " bytes of the output are left out here]\n");
    }
    Forward(end_);
  }

 private:
  void CutEnd() { end_.erase(0, end_.size() - std::min(end_.size(), kEndBytes)); }

  int64_t bytes_ = 0;
  std::string end_;  // Of what comes after the beginning.
  bool was_full_ = false;
  bool is_in_line_ = false;  // What was added last ends within a line.
};

Program::Program() : log_(std::make_unique<Log>()) {}
Program::Program(Program&&) noexcept = default;
Program& Program::operator=(Program&&) noexcept = default;
Program::~Program() = default;

Result<Program> Program::Start(const ProgramOptions& options) {
  const std::string& name = options.arguments.front();
  LaunchOptions launch;
  const auto path = options.environment.find("PATH");
  TUNE_ASSIGN_OR_RETURN(
      launch.path,
      FindProgram(name, path == options.environment.end() ? "" : path->second, options.folder));
  launch.arguments = options.arguments;
  for (const auto& [variable, value] : options.environment) {
    launch.environment.push_back(variable + "=" + value);
  }
  launch.folder = options.folder;
  launch.cpus = options.cpus;
  launch.cgroup_procs = options.cgroup_procs;

  Program program;
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor output, OpenPipe(program.outputs_[0]));
  FileDescriptor error;
  if (!options.is_one_stream) {
    TUNE_ASSIGN_OR_RETURN(error, OpenPipe(program.outputs_[1]));
  }
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor input,
                        MovedUp(FileDescriptor(open("/dev/null", O_RDONLY | O_CLOEXEC))));
  launch.input = input.get();
  launch.output = output.get();
  launch.error = options.is_one_stream ? output.get() : error.get();
  const Result<int> pid = Launch(launch);
  if (!pid.ok()) return pid.status().At("cannot start '" + name + "' in " + options.folder);
  program.pid_ = *pid;
  program.pid_fd_ = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, *pid, 0)));
  if (!program.pid_fd_.is_open()) {
    const int open_error = errno;
    kill(*pid, SIGKILL);
    waitpid(*pid, nullptr, 0);
    return StartFailure(open_error).At("no pidfd");
  }
  return program;
}

void Program::AddTo(std::vector<pollfd>& fds, bool with_output) const {
  for (const FileDescriptor& output : outputs_) {
    if (with_output && output.is_open()) fds.push_back({output.get(), POLLIN, 0});
  }
  if (pid_fd_.is_open()) fds.push_back({pid_fd_.get(), POLLIN, 0});
}

std::vector<OutputPiece> Program::TakeOutput() {
  std::vector<OutputPiece> taken;
  for (const OutputStream stream : {OutputStream::kStdout, OutputStream::kStderr}) {
    std::string text = TakeFrom(outputs_[stream == OutputStream::kStderr ? 1 : 0]);
    if (text.empty()) continue;
    log_->Add(text);
    taken.push_back({stream, std::move(text)});
  }
  return taken;
}

void Program::BeginLog() {
  log_.reset();  // Its end is written before.
  log_ = std::make_unique<Log>();
}

void Program::AddToLog(std::string_view line) { log_->AddLine(line); }

bool Program::IsPrintedOnBy(int pid) const {
  struct stat ours;
  struct stat its;
  const std::string output = "/proc/" + std::to_string(pid) + "/fd/1";
  return outputs_[0].is_open() && fstat(outputs_[0].get(), &ours) == 0 &&
         stat(output.c_str(), &its) == 0 && ours.st_dev == its.st_dev && ours.st_ino == its.st_ino;
}

std::optional<int> Program::TakeEnd() {
  if (!pid_fd_.is_open()) return std::nullopt;
  const std::optional<int> status = ReapEnded(pid_);
  if (status) pid_fd_.Close();
  return status;
}

}  // namespace tune
