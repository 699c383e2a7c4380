// A worker's side of a connection for tests: what the tuner says gathers here, and is waited for
// with a deadline instead of slept for.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "trial_runner/tuner_link.h"

namespace tune {

class GatheringTunerSink final : public TunerSink {
 public:
  void OnMessages(std::vector<ToWorker> messages) override {
    const std::lock_guard lock(mutex_);
    for (ToWorker& message : messages) messages_.push_back(std::move(message));
    changed_.notify_all();
  }
  void OnClosed(Status reason) override {
    const std::lock_guard lock(mutex_);
    closed_ = std::move(reason);
    changed_.notify_all();
  }

  std::vector<ToWorker> WaitForMessages(size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20),
                      [&] { return messages_.size() >= count || closed_; });
    return messages_;
  }
  std::optional<Status> WaitForClose() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return closed_.has_value(); });
    return closed_;
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<ToWorker> messages_;
  std::optional<Status> closed_;
};

}  // namespace tune
