// Sends what attempts print to a tuner that does not see this machine's disk, beside the worker's
// loop: what is new in their logs, every half a second, and all of it at their ends.
//
// Thread rule: one thread, which is never kept waiting but for the destructor's moment. The answers
// come from the carrier's thread, and none once the destructor has returned.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/worker/worker_effects.h"

namespace tune {

class LogCarrier {
 public:
  // `link`: to the tuner; must outlive the carrier. `sent` answers what was the last of an attempt.
  // `patience`: how long that waits for room on the tuner's disk.
  LogCarrier(CheckpointLink& link, std::function<void(const AttemptRef&, const Status&)> sent,
             Duration patience = Seconds(5));
  ~LogCarrier();

  void Send(const SendLog& send);
  void GiveUp(const AttemptRef& ref);
  // The worker leaves: where the tuner's disk has no room, nobody waits for some any more.
  void Hurry() { is_hurried_ = true; }
  void Leave(ExperimentId sweep);

 private:
  struct Log {
    std::string path;
    int64_t rank = 0;
    int64_t sent = 0;  // Bytes that the tuner has.
    bool is_last = false;
    // Since when its last has found no room at the tuner.
    std::optional<std::chrono::steady_clock::time_point> is_full_since = {};
  };
  // Whether it shall be tried again: nobody is there just now, or there is no room.
  bool MayPass(const Status& sent, Log& log) const;
  void Work(std::stop_token stop);
  void SendNews(std::stop_token stop);
  Status SendRest(const AttemptRef& ref, Log& log, std::stop_token stop);

  CheckpointLink& link_;
  const std::function<void(const AttemptRef&, const Status&)> sent_;
  const std::chrono::microseconds patience_;
  std::mutex mutex_;
  std::condition_variable_any has_last_;
  std::map<AttemptRef, Log> logs_;
  std::atomic<bool> is_hurried_ = false;
  bool is_urgent_ = false;  // One that is the last of its attempt has come.
  std::jthread thread_;     // Since the first log.
};

}  // namespace tune
