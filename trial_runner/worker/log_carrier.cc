#include "trial_runner/worker/log_carrier.h"

#include <fcntl.h>
#include <unistd.h>

#include <chrono>
#include <utility>
#include <vector>

#include "core/limits.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/threads.h"

namespace tune {
namespace {

constexpr std::chrono::milliseconds kLookEvery(500);

// What stands in the file from there on; "" where there is nothing.
std::string ReadFrom(const std::string& path, int64_t offset) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  std::string text(limits::kPackagePieceBytes, '\0');
  const ssize_t size =
      file.is_open() ? pread(file.get(), text.data(), text.size(), static_cast<off_t>(offset)) : 0;
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return text;
}

}  // namespace

LogCarrier::LogCarrier(CheckpointLink& link,
                       std::function<void(const AttemptRef&, const Status&)> sent,
                       Duration patience)
    : link_(link), sent_(std::move(sent)), patience_(patience.us) {}

LogCarrier::~LogCarrier() = default;

void LogCarrier::Send(const SendLog& send) {
  {
    const std::lock_guard lock(mutex_);
    Log& log = logs_[send.ref];
    log.path = send.path;
    log.rank = send.rank;
    log.is_last = log.is_last || send.is_last;
    is_urgent_ = is_urgent_ || send.is_last;
  }
  if (!thread_.joinable()) {
    thread_ = BeginThread<std::jthread>([this](std::stop_token stop) { Work(std::move(stop)); });
  }
  if (send.is_last) has_last_.notify_one();
}

void LogCarrier::GiveUp(const AttemptRef& ref) {
  const std::lock_guard lock(mutex_);
  logs_.erase(ref);
}

void LogCarrier::Leave(ExperimentId sweep) {
  const std::lock_guard lock(mutex_);
  std::erase_if(logs_, [sweep](const auto& log) { return log.first.sweep == sweep; });
}

void LogCarrier::Work(std::stop_token stop) {
  LetOthersGoFirst();  // Reports and training.
  while (!stop.stop_requested()) {
    SendNews(stop);
    std::unique_lock lock(mutex_);
    has_last_.wait_for(lock, stop, kLookEvery, [this] { return is_urgent_; });
    is_urgent_ = false;
  }
}

void LogCarrier::SendNews(std::stop_token stop) {
  std::map<AttemptRef, Log> logs;
  {
    const std::lock_guard lock(mutex_);
    logs = logs_;
  }
  for (auto& [ref, log] : logs) {
    const Status sent = SendRest(ref, log, stop);
    if (stop.stop_requested()) return;
    const bool is_over = log.is_last && !MayPass(sent, log);
    std::unique_lock lock(mutex_);
    const auto known = logs_.find(ref);
    if (known == logs_.end()) continue;  // It was given up.
    known->second.sent = log.sent;
    known->second.is_full_since = log.is_full_since;
    if (!is_over) continue;
    logs_.erase(known);
    lock.unlock();
    sent_(ref, sent);
  }
}

bool LogCarrier::MayPass(const Status& sent, Log& log) const {
  if (sent.code() != StatusCode::kResourceExhausted) {
    log.is_full_since.reset();
    return sent.code() == StatusCode::kUnavailable;
  }
  if (!log.is_last) return true;
  const auto now = std::chrono::steady_clock::now();
  if (!log.is_full_since) log.is_full_since = now;
  return !is_hurried_ && now - *log.is_full_since < patience_;
}

Status LogCarrier::SendRest(const AttemptRef& ref, Log& log, std::stop_token stop) {
  for (;;) {
    std::string text = ReadFrom(log.path, log.sent);
    if (text.empty()) return OkStatus();
    TUNE_ASSIGN_OR_RETURN(const int64_t have,
                          link_.SendLog({ref, log.rank, log.sent, std::move(text)}, stop));
    const bool has_moved = have > log.sent;
    log.sent = have;
    // Less is there than before: from there on.
    if (!has_moved && ReadFrom(log.path, have).empty()) return OkStatus();
    if (stop.stop_requested()) return Unavailable("given up");
  }
}

}  // namespace tune
