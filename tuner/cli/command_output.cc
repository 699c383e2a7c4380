#include "tuner/cli/command_output.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "core/posix/durable_file.h"
#include "tuner/cli/live_view.h"

namespace tune {
namespace {

constexpr size_t kPieceBytes = 32 << 10;
constexpr size_t kHeadBytesMax = 32;

Result<std::pair<FileDescriptor, FileDescriptor>> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("make", "a pipe");
  std::pair<FileDescriptor, FileDescriptor> pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

}  // namespace

Result<std::shared_ptr<CommandOutput>> CommandOutput::Start(
    const std::string& program_dir, const std::string& db_path,
    const std::vector<std::string>& arguments, int width) {
  TUNE_ASSIGN_OR_RETURN(auto output, MakePipe());
  TUNE_ASSIGN_OR_RETURN(auto error, MakePipe());
  std::vector<std::string> all = {"--db", db_path};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::shared_ptr<CommandOutput> command(new CommandOutput);
  command->events_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  TUNE_ASSIGN_OR_RETURN(
      command->command_,
      ChildProcess::Start(program_dir + "/tune_cli", all,
                          {std::string(kRemoteWidth) + "=" + std::to_string(width)},
                          output.second.get(), error.second.get()));
  command->output_ = std::move(output.first);
  command->error_ = std::move(error.first);
  command->ended_ =
      FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, command->command_->pid(), 0)));
  for (const FileDescriptor* const watched :
       {&command->output_, &command->error_, &command->ended_}) {
    command->Watch(watched->get());
  }
  return command;
}

void CommandOutput::Watch(int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  (void)epoll_ctl(events_.get(), EPOLL_CTL_ADD, fd, &event);
}

// Whether it may have more.
bool CommandOutput::TakeFrom(FileDescriptor& pipe, char stream, std::string& out) {
  if (!pipe.is_open()) return false;
  std::string piece(kPieceBytes, '\0');
  const ssize_t size = read(pipe.get(), piece.data(), piece.size());
  if (size > 0) {
    piece.resize(static_cast<size_t>(size));
    out += stream + (" " + std::to_string(size)) + "\n" + piece;
    return true;
  }
  if (size == 0) pipe = FileDescriptor();
  return false;
}

// What it left running may hold its pipes: the command's own end counts.
std::optional<std::string> CommandOutput::Read() {
  if (has_said_status_) return std::nullopt;
  const bool has_ended = command_->HasEnded();  // Before the last words are read.
  std::string out;
  bool has_more = TakeFrom(output_, 'o', out);
  has_more |= TakeFrom(error_, 'e', out);
  if (has_ended && !has_more) {
    out += "x " + std::to_string(command_->exit_status()) + "\n";
    has_said_status_ = true;
  }
  return out;
}

Status CommandOutputReader::Take(std::string_view piece) {
  const auto is_wrong = [] {
    return DataLoss("the head's answer cannot be read; is it an older one?");
  };
  while (!piece.empty()) {
    if (left_ > 0) {
      const std::string_view now = piece.substr(0, left_);
      (stream_ == 'o' ? out_ : error_)(now);
      left_ -= now.size();
      piece.remove_prefix(now.size());
      continue;
    }
    const size_t end = piece.find('\n');
    head_ += piece.substr(0, end);
    if (head_.size() > kHeadBytesMax) return is_wrong();
    if (end == std::string_view::npos) return OkStatus();
    piece.remove_prefix(end + 1);
    const std::string head = std::exchange(head_, {});
    size_t number = 0;
    const char* const stop = head.data() + head.size();
    const auto read = std::from_chars(head.data() + std::min<size_t>(2, head.size()), stop, number);
    const bool is_known =
        head.starts_with("o ") || head.starts_with("e ") || head.starts_with("x ");
    if (!is_known || read.ec != std::errc() || read.ptr != stop) return is_wrong();
    if (head.front() == 'x') {
      exit_status_ = static_cast<int>(number);
    } else {
      stream_ = head.front();
      left_ = number;
    }
  }
  return OkStatus();
}

}  // namespace tune
