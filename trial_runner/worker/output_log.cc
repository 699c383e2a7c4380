#include "trial_runner/worker/output_log.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "core/limits.h"

namespace tune {

void OutputLog::Append(std::string_view text) {
  constexpr std::string_view kCut = "\n[what follows is not kept: the log has reached its limit]\n";
  if (text.empty() || bytes_ > limits::kAttemptLogBytesMax) return;
  if (!file_.is_open()) {
    std::error_code ignored;
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path(), ignored);
    file_ = FileDescriptor(open(path_.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644));
    struct stat status = {};
    if (!file_.is_open() || fstat(file_.get(), &status) != 0) return;
    bytes_ = status.st_size;
  }
  const auto room = static_cast<size_t>(std::max<int64_t>(0, limits::kAttemptLogBytesMax - bytes_));
  const bool is_cut = text.size() > room;
  const std::string_view kept = text.substr(0, room);
  bytes_ += static_cast<int64_t>(text.size());
  // A log is no result: a full disk shows where results are written.
  if (write(file_.get(), kept.data(), kept.size()) < 0) return;
  if (is_cut && write(file_.get(), kCut.data(), kCut.size()) < 0) return;
}

}  // namespace tune
