#include "trial_runner/worker/memory_guard.h"

#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <new>
#include <string_view>
#include <utility>

#include "trial_runner/worker/trial_socket.h"

namespace tune {
namespace {

constexpr char kSharedLine[] = "trial process: no memory is left for the trials that share it\n";

// Made ahead, and never freed: when it is needed there is no memory for it. Empty: not to be told.
std::string* out_of_memory_line = nullptr;

void SayOutOfMemory() {
  std::string_view text = *out_of_memory_line;
  if (text.empty()) {
    [[maybe_unused]] const ssize_t written =
        write(STDERR_FILENO, kSharedLine, sizeof kSharedLine - 1);
  }
  while (!text.empty()) {
    const ssize_t count = send(TrialSocket::kFd, text.data(), text.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) break;
    text.remove_prefix(static_cast<size_t>(count));
  }
  _exit(1);
}

}  // namespace

void MemoryGuard::Limit(int64_t bytes) {
  if (bytes == 0 && limit_bytes_ == 0) return;
  bool is_set = true;
  if (bytes != limit_bytes_) {
    rlimit limit = {};
    getrlimit(RLIMIT_DATA, &limit);
    limit.rlim_cur = bytes == 0 ? limit.rlim_max : static_cast<rlim_t>(bytes);
    is_set = setrlimit(RLIMIT_DATA, &limit) == 0;
  }
  limit_bytes_ = is_set ? bytes : 0;
  std::printf("memory limit: %lld bytes%s\n", static_cast<long long>(bytes),
              is_set ? "" : ", which could not be set: it is not enforced");
  if (is_told_) MakeLine();
}

void MemoryGuard::EndWhenOutOfMemory(std::string advice) {
  advice_ = std::move(advice);
  is_told_ = true;
  MakeLine();
  std::set_new_handler(SayOutOfMemory);
}

void MemoryGuard::SpeakFor(std::optional<int64_t> lane) {
  if (lane == lane_) return;
  lane_ = lane;
  if (is_told_) MakeLine();
}

void MemoryGuard::MakeLine() {
  const std::string* const before = out_of_memory_line;
  out_of_memory_line = new std::string(lane_ ? EncodeEnd(OutOfMemory(), *lane_) : "");
  delete before;
}

TrialEnd MemoryGuard::OutOfMemory() const {
  const std::string limit = std::to_string(limit_bytes_);
  return {Outcome::kOutOfMemory,
          "no memory is left" +
              (limit_bytes_ == 0
                   ? std::string(" on this machine")
                   : " of the " + limit + " bytes that a trial may have (resources.memory)") +
              (advice_.empty() ? "" : "; " + advice_)};
}

}  // namespace tune
