// Asks a source of notices once a second, on a thread of its own, until it tells that the machine
// goes.
//
// Thread rule: made and ended by one thread; `tell` and `complain` are called from its own.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "trial_runner/worker/notice_source.h"

namespace tune {

class NoticeWatch {
 public:
  struct Listener {
    std::function<void(std::string why)> tell;  // Once.
    // The source cannot be asked, or can be again: a line for a person.
    std::function<void(const std::string& text)> complain;
  };
  NoticeWatch(std::unique_ptr<NoticeSource> source, Listener listener);
  // Nobody is told any more. A look that does not return is left behind.
  ~NoticeWatch();
  NoticeWatch(const NoticeWatch&) = delete;
  NoticeWatch& operator=(const NoticeWatch&) = delete;

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace tune
