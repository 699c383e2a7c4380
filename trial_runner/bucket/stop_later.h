// A stop token that is requested after so long, whatever the store does meanwhile.
//
// Thread rule: one thread an object; its token is any thread's.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>
#include <stop_token>
#include <thread>

#include "core/posix/threads.h"
#include "core/time.h"

namespace tune {

class StopLater {
 public:
  explicit StopLater(Duration patience)
      : thread_(BeginThread<std::jthread>([this, patience](const std::stop_token& over) {
          std::mutex mutex;
          std::unique_lock lock(mutex);
          std::condition_variable_any never;
          never.wait_for(lock, over, std::chrono::microseconds(patience.us), [] { return false; });
          source_.request_stop();
        })) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace tune
