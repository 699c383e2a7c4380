#include "tuner/engines/program_call.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>
#include <optional>
#include <utility>

#include "core/posix/child_process.h"
#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/real_clock.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr int kPollMs = 20;

std::string FindProgram(const std::string& name) {
  if (name.find('/') != std::string::npos) return name;
  std::string path = EnvironmentText("PATH");
  if (path.empty()) path = "/usr/local/bin:/usr/bin:/bin";
  for (size_t begin = 0; begin <= path.size();) {
    const size_t end = std::min(path.find(':', begin), path.size());
    const std::string candidate = path.substr(begin, end - begin) + "/" + name;
    if (end > begin && access(candidate.c_str(), X_OK) == 0) return candidate;
    begin = end + 1;
  }
  return "";
}

// One of the calls, while it runs.
class Running {
 public:
  static Result<std::unique_ptr<Running>> Start(const ProgramCall& call, Instant now);

  void AddTo(std::vector<pollfd>& polled) const {
    for (const FileDescriptor& pipe : pipes_) {
      if (pipe.is_open()) polled.push_back({pipe.get(), POLLIN, 0});
    }
  }
  // Whether it has ended, and all that it said is read.
  bool Look();
  bool IsLate(Instant now) const { return now >= deadline_; }
  CallAnswer Take() {
    answer_.exit_status = process_->exit_status();
    return std::move(answer_);
  }

 private:
  void Read();

  std::unique_ptr<ChildProcess> process_;
  std::array<FileDescriptor, 2> pipes_;
  CallAnswer answer_;
  Instant deadline_;
};

Result<FileDescriptor> InputOf(const ProgramCall& call) {
  if (!call.input_path.empty()) {
    FileDescriptor file(open(call.input_path.c_str(), O_RDONLY | O_CLOEXEC));
    if (!file.is_open()) return ErrnoStatus("read", call.input_path);
    return file;
  }
  if (call.input.empty()) return FileDescriptor();
  FileDescriptor memory(memfd_create("tune", MFD_CLOEXEC));
  if (!memory.is_open()) return ErrnoStatus("write", "what a program reads");
  TUNE_RETURN_IF_ERROR(WriteAll(memory.get(), std::as_bytes(std::span(call.input)), "memory"));
  lseek(memory.get(), 0, SEEK_SET);
  return memory;
}

Result<std::unique_ptr<Running>> Running::Start(const ProgramCall& call, Instant now) {
  const std::string program = FindProgram(call.words.front());
  if (program.empty()) {
    return NotFound(call.words.front() + ": there is no such program in PATH");
  }
  auto running = std::make_unique<Running>();
  std::array<FileDescriptor, 2> ends;
  for (size_t i = 0; i < 2; ++i) {
    int fds[2];
    if (pipe2(fds, O_CLOEXEC) != 0) return ErrnoStatus("no pipe for", program);
    running->pipes_[i] = FileDescriptor(fds[0]);
    ends[i] = FileDescriptor(fds[1]);
    fcntl(fds[0], F_SETFL, O_NONBLOCK);
  }
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor input, InputOf(call));
  TUNE_ASSIGN_OR_RETURN(
      running->process_,
      ChildProcess::Start(program, {call.words.begin() + 1, call.words.end()}, call.environment,
                          ends[0].get(), ends[1].get(), call.folder, input.get()));
  running->deadline_ = now + call.patience;
  return running;
}

void Running::Read() {
  for (size_t i = 0; i < 2; ++i) {
    std::string& text = i == 0 ? answer_.out : answer_.err;
    while (pipes_[i].is_open()) {
      char buffer[65536];
      const ssize_t count = read(pipes_[i].get(), buffer, sizeof buffer);
      if (count == 0) pipes_[i].Close();
      if (count <= 0) break;
      const size_t room = kProgramOutputMax - std::min(text.size(), kProgramOutputMax);
      text.append(buffer, std::min(static_cast<size_t>(count), room));
    }
  }
}

// What it left behind (a master connection of ssh) may hold its pipes: they are not waited for.
bool Running::Look() {
  const bool has_ended = process_->HasEnded();
  Read();
  return has_ended;
}

std::string ToldAs(const ProgramCall& call) {
  std::string text = call.words.front();
  return text.substr(text.rfind('/') + 1);
}

}  // namespace

std::string LastLine(const std::string& text) {
  size_t end = text.size();
  while (end > 0) {
    const size_t newline = end == 0 ? std::string::npos : text.rfind('\n', end - 1);
    const size_t begin = newline == std::string::npos ? 0 : newline + 1;
    std::string line = text.substr(begin, end - begin);
    const size_t last = line.find_last_not_of(" \t\r");
    if (last != std::string::npos) return Printable(line.substr(0, last + 1));
    end = newline == std::string::npos ? 0 : newline;
  }
  return "";
}

std::string CallAnswer::Reason() const {
  for (const std::string* const text : {&err, &out}) {
    if (std::string line = LastLine(*text); !line.empty()) return line;
  }
  return "exit status " + std::to_string(exit_status);
}

std::vector<Result<CallAnswer>> CallPrograms(const std::vector<ProgramCall>& calls, size_t at_once,
                                             const std::atomic<bool>& is_cancelled) {
  const AwakeClock clock;
  std::vector<Result<CallAnswer>> answers(calls.size(), Unavailable("it was not called any more"));
  std::vector<std::pair<size_t, std::unique_ptr<Running>>> running;
  for (size_t next = 0; next < calls.size() || !running.empty();) {
    if (is_cancelled) {
      for (const auto& [at, call] : running) {
        answers[at] = Unavailable(ToldAs(calls[at]) + " was called off");
      }
      break;
    }
    while (next < calls.size() && running.size() < at_once) {
      auto started = Running::Start(calls[next], clock.Now());
      if (started.ok()) {
        running.emplace_back(next, *std::move(started));
      } else {
        answers[next] = started.status();
      }
      ++next;
    }
    std::vector<pollfd> polled;
    for (const auto& [at, call] : running) call->AddTo(polled);
    poll(polled.data(), polled.size(), kPollMs);
    std::erase_if(running, [&](auto& entry) {
      auto& [at, call] = entry;
      if (call->Look()) {
        answers[at] = call->Take();
        return true;
      }
      if (!call->IsLate(clock.Now())) return false;
      answers[at] = Unavailable(ToldAs(calls[at]) + " did not end within " +
                                FormatDuration(calls[at].patience));
      return true;
    });
  }
  return answers;
}

Result<CallAnswer> CallProgram(const ProgramCall& call, const std::atomic<bool>& is_cancelled) {
  return CallPrograms({call}, 1, is_cancelled).front();
}

}  // namespace tune
