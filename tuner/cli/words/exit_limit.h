// The end of a process whose work is done and kept: what is left, connections and their threads,
// closes in time, or is left as it is.
//
// Thread rule: one thread an object.
#pragma once

#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>

#include "core/time.h"

namespace tune {

// Made before what it watches over, so that it goes after that.
class ExitLimit {
 public:
  ExitLimit() = default;
  ~ExitLimit();
  ExitLimit(const ExitLimit&) = delete;
  ExitLimit& operator=(const ExitLimit&) = delete;

  // The process ends by itself within `limit`, or with `exit_status` and `last_word` on standard
  // error. Called once.
  void Begin(int exit_status, Duration limit, const std::string& last_word);

 private:
  std::mutex mutex_;
  std::condition_variable went_;
  bool has_gone_ = false;
  std::thread thread_;
};

}  // namespace tune
