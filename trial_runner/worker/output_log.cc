#include "trial_runner/worker/output_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "core/limits.h"

namespace tune {

void OutputLog::Append(std::string_view text) {
  constexpr std::string_view kCut = "\n[what follows is not kept: the log has reached its limit]\n";
  if (text.empty() || is_cut_) return;
  if (has_untold_loss()) TellLoss();
  if (has_untold_loss() || !Open()) {
    lost_bytes_ += static_cast<int64_t>(text.size());
    return;
  }
  const auto room = static_cast<size_t>(std::max<int64_t>(0, limits::kAttemptLogBytesMax - bytes_));
  const std::string_view kept = text.substr(0, room);
  const size_t written = Write(kept);
  lost_bytes_ += static_cast<int64_t>(kept.size() - written);
  if (text.size() <= room) return;
  is_cut_ = true;
  Write(kCut);
}

// The whole line or nothing of it.
void OutputLog::TellLoss() {
  if (!has_untold_loss() || !Open()) return;
  const int64_t before = bytes_;
  const std::string line = std::string("\n[") + std::to_string(lost_bytes_) +
                           " bytes are missing here: the disk took no writes]\n";
  if (Write(line) == line.size()) {
    lost_bytes_ = 0;
  } else if (ftruncate(file_.get(), before) == 0) {
    bytes_ = before;
  }
}

bool OutputLog::is_elsewhere() const {
  struct stat opened = {};
  struct stat named = {};
  if (!file_.is_open() || fstat(file_.get(), &opened) != 0) return false;
  return stat(path_.c_str(), &named) != 0 || named.st_ino != opened.st_ino ||
         named.st_dev != opened.st_dev;
}

bool OutputLog::Open() {
  if (file_.is_open()) return true;
  std::error_code ignored;
  std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
  file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
  struct stat status = {};
  if (!file_.is_open() || fstat(file_.get(), &status) != 0) return false;
  bytes_ = status.st_size;
  is_cut_ = bytes_ > limits::kAttemptLogBytesMax;
  return true;
}

// How much of it the disk took.
size_t OutputLog::Write(std::string_view text) {
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file_.get(), text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    written += static_cast<size_t>(count);
  }
  bytes_ += static_cast<int64_t>(written);
  return written;
}

}  // namespace tune
