// Ctrl-C, SIGTERM and SIGHUP as events. The first asks the sweep to end cleanly; one that comes
// after that was told ends the program at once, which loses nothing either: whatever was told to
// anyone is durable already. (Not just a second one: timeout(1) and others signal a program and
// then its group, and mean one.)
//
// Thread rule: make it before any other thread is started (it blocks the signals for all of them).
#pragma once

#include <atomic>
#include <optional>
#include <thread>

#include "tuner/event_queue.h"

namespace tune {

class SignalWatch {
 public:
  // `what`: comes into the queue with each of them; nothing: the queue is only woken.
  explicit SignalWatch(EventQueue& queue, std::optional<Event> what = InterruptRequested{});
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int count() const { return count_.load(); }
  // Those that came until now are told.
  void Tell() { told_count_ = count(); }
  bool came_again() const { return told_count_ > 0 && count() > told_count_; }
  // Of the first one: 130, 143 or 129; 0 if there was none.
  int exit_status() const;

 private:
  void Run();

  EventQueue& queue_;
  const std::optional<Event> what_;
  std::atomic<int> count_{0};
  int told_count_ = 0;
  std::atomic<int> first_signal_{0};
  std::atomic<bool> is_ending_{false};
  std::thread thread_;
};

}  // namespace tune
