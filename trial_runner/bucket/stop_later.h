// A stop token that is requested after so long, whatever the store does meanwhile, or with another
// one.
//
// Thread rule: one thread an object; its token is any thread's.
#pragma once

#include <functional>
#include <stop_token>
#include <thread>
#include <utility>

#include "core/posix/threads.h"
#include "core/time.h"

namespace tune {

class StopLater {
 public:
  explicit StopLater(Duration patience, std::stop_token other = {})
      : thread_(BeginThread<std::jthread>([this, patience](const std::stop_token& over) {
          WaitUnlessStopped(patience, over);
          source_.request_stop();
        })),
        with_other_(std::move(other), [this] { source_.request_stop(); }) {}
  std::stop_token token() const { return source_.get_token(); }

 private:
  std::stop_source source_;
  std::jthread thread_;
  std::stop_callback<std::function<void()>> with_other_;
};

}  // namespace tune
