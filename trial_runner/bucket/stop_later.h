// A stop token that is requested after so long, whatever the store does meanwhile.
//
// Thread rule: one thread an object; its token is any thread's.
#pragma once

#include <stop_token>
#include <thread>

#include "core/posix/threads.h"
#include "core/time.h"

namespace tune {

class StopLater {
 public:
  explicit StopLater(Duration patience)
      : thread_(BeginThread<std::jthread>([this, patience](const std::stop_token& over) {
          WaitUnlessStopped(patience, over);
          source_.request_stop();
        })) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
};

}  // namespace tune
