// A tuner for tests: a gateway whose messages gather here, waited for with a deadline instead of
// slept for, and a real worker program.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial_runner/incoming_sink.h"

namespace tune {

class GatheringSink final : public IncomingSink {
 public:
  void Push(std::vector<Incoming> messages) override {
    const std::lock_guard lock(mutex_);
    for (Incoming& message : messages) messages_.push_back(std::move(message));
    arrived_.notify_all();
  }

  // The next message for which `wanted` holds, in order of arrival; those before it are dropped.
  // Nothing after 20 s.
  std::optional<Incoming> WaitFor(const std::function<bool(const Incoming&)>& wanted) {
    std::unique_lock lock(mutex_);
    const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (true) {
      for (; next_ < messages_.size(); ++next_) {
        if (wanted(messages_[next_])) return messages_[next_++];
      }
      if (arrived_.wait_until(lock, deadline) == std::cv_status::timeout) return std::nullopt;
    }
  }

  // The next message of a worker, heartbeats and disconnections aside, which must be a T; nothing
  // if it is not.
  template <typename T>
  std::optional<std::pair<WorkerId, T>> WaitForMessage() {
    const auto found = WaitFor([](const Incoming& incoming) {
      const auto* const message = std::get_if<FromWorker>(&incoming.message);
      return message != nullptr &&
             (std::holds_alternative<T>(*message) || !std::holds_alternative<Heartbeat>(*message));
    });
    if (!found) return std::nullopt;
    const auto& message = std::get<FromWorker>(found->message);
    if (!std::holds_alternative<T>(message)) return std::nullopt;
    return std::pair(found->worker, std::get<T>(message));
  }

  std::optional<WorkerId> WaitForDisconnect() {
    const auto found = WaitFor([](const Incoming& incoming) {
      return std::holds_alternative<WorkerDisconnected>(incoming.message);
    });
    if (!found) return std::nullopt;
    return found->worker;
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::vector<Incoming> messages_;
  size_t next_ = 0;
};

// A program of ours that runs until it is waited for; killed, with its output collected, when its
// owner goes.
class ScriptedProgram {
 public:
  ScriptedProgram(const std::string& name, const std::vector<std::string>& arguments);
  ~ScriptedProgram();
  ScriptedProgram(const ScriptedProgram&) = delete;
  ScriptedProgram& operator=(const ScriptedProgram&) = delete;

  int pid() const { return pid_; }
  void Signal(int signal) const;
  // The wait status, after at most 20 s; nothing: it still runs.
  std::optional<int> Wait();
  // What it wrote to standard error. Requires that Wait returned.
  std::string ReadErrors();

 private:
  int pid_ = -1;
  int errors_ = -1;
};

// The pids of a process's children.
std::vector<int> ChildrenOf(int pid);
// Whether the process has ended within 20 s. It need not be a child.
bool WaitUntilGone(int pid);

}  // namespace tune
