// Work that takes seconds, done beside the thread that asks: the answer that is ready, while the
// next one is made.
//
// Thread rule: one thread asks; the work runs in another one, one at a time.
#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "core/time.h"

namespace tune {

class Aside {
 public:
  using Work = std::function<Result<std::string>()>;
  struct Answer {
    std::optional<Result<std::string>> body;  // The latest one about `subject`; nothing: none yet.
    bool is_behind = false;                   // Ask again: it is of an earlier state.
  };

  explicit Aside(const Clock& clock) : clock_(clock) {}
  Aside(const Aside&) = delete;
  ~Aside();  // Waits for what is under way.

  // About `subject` as it is in `state`. `work`, which makes it, is begun where nothing else is
  // under way, and takes at most a fifth of the time where the state changes all the while. The
  // answers about the kKeptMax subjects that were asked about last are kept.
  Answer Ask(const std::string& subject, const std::string& state, Work work);

 private:
  struct Made {
    std::string subject;
    std::string state;
    std::future<Result<std::string>> body;
    Instant begun_at;
  };
  struct Kept {
    std::string subject;
    std::string state;
    Result<std::string> body;
    Instant not_before;  // Of the next work on it.
  };
  static constexpr size_t kKeptMax = 8;
  void TakeMade();

  const Clock& clock_;
  std::optional<Made> under_way_;
  std::deque<Kept> kept_;  // What was asked about last first.
};

}  // namespace tune
