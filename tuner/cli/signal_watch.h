// Ctrl-C, SIGTERM and SIGHUP as events. The first asks the sweep to end cleanly; the second ends
// the program at once, which loses nothing either: whatever was told to anyone is durable already.
//
// Thread rule: make it before any other thread is started (it blocks the signals for all of them).
#pragma once

#include <atomic>
#include <thread>

#include "tuner/event_queue.h"

namespace tune {

class SignalWatch {
 public:
  explicit SignalWatch(EventQueue& queue);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int count() const { return count_.load(); }
  // Of the first one: 130, 143 or 129; 0 if there was none.
  int exit_status() const;

 private:
  void Run();

  EventQueue& queue_;
  std::atomic<int> count_{0};
  std::atomic<int> first_signal_{0};
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

}  // namespace tune
