#include "tuner/cli/head/command_output.h"

#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <utility>

#include "core/posix/durable_file.h"
#include "core/posix/threads.h"
#include "tuner/cli/head/remote_command.h"
#include "tuner/cli/look/live_view.h"
#include "tuner/cli/words/scratch_folder.h"
#include "tuner/control/asker.h"

namespace tune {
namespace {

constexpr size_t kPieceBytes = 32 << 10;
constexpr size_t kFilePieceBytes = 256 << 10;
constexpr size_t kHeadBytesMax = 32;
constexpr rlim_t kCpuSecondsMax = 60;  // Of a command that follows nothing.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr rlim_t kMemoryMax = RLIM_INFINITY;  // A sanitizer takes more than any limit.
#else
constexpr rlim_t kMemoryMax = rlim_t{1} << 30;
#endif

Result<std::pair<FileDescriptor, FileDescriptor>> MakePipe() {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return ErrnoStatus("make", "a pipe");
  std::pair<FileDescriptor, FileDescriptor> pipe{FileDescriptor(ends[0]), FileDescriptor(ends[1])};
  fcntl(ends[0], F_SETFL, O_NONBLOCK);
  return pipe;
}

// A query without end would take the head's processor as long as its client stays, one of large
// values its memory. Where the machine has none left, the command ends before the head.
void Limit(pid_t command, bool may_take_long) {
  const rlimit processor = {kCpuSecondsMax, kCpuSecondsMax + 5};
  const rlimit memory = {kMemoryMax, kMemoryMax};
  if (!may_take_long) (void)prlimit(command, RLIMIT_CPU, &processor, nullptr);
  (void)prlimit(command, RLIMIT_DATA, &memory, nullptr);
  const std::string score = "/proc/" + std::to_string(command) + "/oom_score_adj";
  const FileDescriptor file(open(score.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.is_open()) (void)!write(file.get(), "500", 3);
}

}  // namespace

Result<std::shared_ptr<CommandOutput>> CommandOutput::Start(
    const std::string& program_dir, const std::string& db_path,
    const std::vector<std::string>& arguments, int width, const Asker& asks_for) {
  TUNE_ASSIGN_OR_RETURN(auto output, MakePipe());
  TUNE_ASSIGN_OR_RETURN(auto error, MakePipe());
  std::error_code error_code;
  std::string folder = TemporaryFolderPath() / "tune-asked-XXXXXX";
  if (mkdtemp(folder.data()) == nullptr) return ErrnoStatus("make", folder);
  const std::string database = std::filesystem::absolute(db_path, error_code);
  std::vector<std::string> all = {"--db", database};
  all.insert(all.end(), arguments.begin(), arguments.end());
  std::shared_ptr<CommandOutput> command(new CommandOutput);
  command->folder_ = folder;
  command->events_ = FileDescriptor(epoll_create1(EPOLL_CLOEXEC));
  TUNE_ASSIGN_OR_RETURN(
      command->command_,
      ChildProcess::Start(std::filesystem::absolute(program_dir, error_code) / "tune_cli", all,
                          {std::string(kRemoteWidth) + "=" + std::to_string(width),
                           std::string(kAsksFor) + "=" + ToVariable(asks_for)},
                          output.second.get(), error.second.get(), folder));
  Limit(command->command_->pid(), MayTakeLong(arguments));
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
  if (!has_ended || has_more) return out;
  int status = command_->exit_status();
  if (status == 128 + SIGXCPU) {
    const std::string why = "tune: it took more than " + std::to_string(kCpuSecondsMax) +
                            " s of the head's processor, and was ended\n";
    out += "e " + std::to_string(why.size()) + "\n" + why;
    status = 1;
  }
  if (status == 0 && !HasReadFiles()) return out;
  Result<std::string> files = status == 0 ? NextOfFiles() : Result<std::string>(std::string());
  if (!files.ok()) {
    const std::string why = "tune: the files cannot be sent: " + files.status().message() + "\n";
    files = "e " + std::to_string(why.size()) + "\n" + why;
    status = 1;
    files_said_ = files_ ? files_->name().bytes : 0;
  }
  out += *files;
  if (files_ && files_said_ < files_->name().bytes) return out;
  has_said_status_ = true;
  return out + "x " + std::to_string(status) + "\n";
}

// All that it wrote is read once before it is sent, to name it. That may take minutes, in which
// this thread has others to answer: another one does it.
bool CommandOutput::HasReadFiles() {
  if (reader_.joinable()) return is_read_;
  std::error_code error;
  if (std::filesystem::is_empty(folder_, error)) return true;
  ended_ = FileDescriptor();  // It would wake who waits for ever.
  read_ = FileDescriptor(eventfd(0, EFD_CLOEXEC));
  if (read_.is_open()) {
    Watch(read_.get());
    const auto read = [this](const std::stop_token& stop) {
      text_ = FolderText::Of(folder_, stop);
      is_read_ = true;
      (void)eventfd_write(read_.get(), 1);
    };
    if (auto reader = TryThread<std::jthread>(read, [] { return false; })) {
      reader_ = *std::move(reader);
      return false;
    }
  }
  text_ = ResourceExhausted("the system has no room for a further thread or descriptor");
  return true;
}

Result<std::string> CommandOutput::NextOfFiles() {
  std::string out;
  if (!files_) {
    if (!text_) return out;
    TUNE_RETURN_IF_ERROR(text_->status());
    files_.emplace(**std::move(text_));
    const std::string name = files_->name().sha256 + " " + std::to_string(files_->name().bytes);
    out = "h " + std::to_string(name.size()) + "\n" + name;
  }
  TUNE_ASSIGN_OR_RETURN(const std::string piece, files_->Read(files_said_, kFilePieceBytes));
  files_said_ += static_cast<int64_t>(piece.size());
  return out + "f " + std::to_string(piece.size()) + "\n" + piece;
}

CommandOutput::~CommandOutput() {
  reader_ = std::jthread();
  command_.reset();
  std::error_code ignored;
  if (!folder_.empty()) std::filesystem::remove_all(folder_, ignored);
}

bool CommandOutputReader::ReadName() {
  constexpr size_t kHashDigits = 64;
  const size_t space = name_text_.find(' ');
  if (space != kHashDigits) return false;
  name_.sha256 = name_text_.substr(0, space);
  const char* const end = name_text_.data() + name_text_.size();
  const auto read = std::from_chars(name_text_.data() + space + 1, end, name_.bytes);
  return read.ec == std::errc() && read.ptr == end && name_.bytes > 0;
}

Status CommandOutputReader::Take(std::string_view piece) {
  const auto is_wrong = [] {
    return DataLoss("the head's answer cannot be read; is it an older one?");
  };
  while (!piece.empty()) {
    if (left_ > 0) {
      const std::string_view now = piece.substr(0, left_);
      left_ -= now.size();
      if (stream_ == 'h') {
        name_text_ += now;
        if (left_ == 0 && !ReadName()) return is_wrong();
      } else if (stream_ == 'f' && name_.sha256.empty()) {
        return is_wrong();
      } else {
        (stream_ == 'o' ? out_ : stream_ == 'e' ? error_ : files_)(now);
      }
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
    const bool is_known = head.size() > 2 && head[1] == ' ' &&
                          std::string_view("oehfx").find(head[0]) != std::string_view::npos;
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
