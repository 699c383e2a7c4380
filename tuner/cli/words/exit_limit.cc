#include "tuner/cli/words/exit_limit.h"

#include <unistd.h>

#include <chrono>

#include "core/check.h"
#include "core/posix/threads.h"

namespace tune {

void ExitLimit::Begin(int exit_status, Duration limit, const std::string& last_word) {
  TUNE_CHECK(!thread_.joinable());
  const auto wait = [this, exit_status, limit, text = last_word + "\n"] {
    std::unique_lock lock(mutex_);
    if (went_.wait_for(lock, std::chrono::microseconds(limit.us), [this] { return has_gone_; })) {
      return;
    }
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
    _exit(exit_status);  // Nothing is left to be kept.
  };
  // Without one it takes as long as it takes.
  if (auto thread = TryThread(wait, [] { return false; })) thread_ = *std::move(thread);
}

ExitLimit::~ExitLimit() {
  if (!thread_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    has_gone_ = true;
  }
  went_.notify_all();
  thread_.join();
}

}  // namespace tune
