// What a head keeps running and goes on without: where it cannot be kept, it is started again after
// a pause, as often as needed.
//
// Thread rule: one thread; pure but for what it calls.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/status.h"
#include "core/time.h"

namespace tune {

class RestartPause {
 public:
  // `pause`, and how it is told: "a minute".
  RestartPause(Duration pause, std::string name) : pause_(pause), name_(std::move(name)) {}

  // Calls `look`, which returns a line to say, or an error where it cannot be kept; after the pause
  // `start` first. Returns what is to be said; the same error again and again is said once.
  std::string Look(Instant now, const std::function<Status()>& start,
                   const std::function<Result<std::string>()>& look) {
    if (again_at_ && now < *again_at_) return "";
    const Status started = std::exchange(again_at_, std::nullopt) ? start() : OkStatus();
    const Result<std::string> news = started.ok() ? look() : Result<std::string>(started);
    if (news.ok()) {
      why_.clear();
      return *news;
    }
    again_at_ = now + pause_;
    const std::string before = std::exchange(why_, news.status().message());
    return why_ == before ? "" : why_ + "; it is started again in " + name_;
  }

 private:
  const Duration pause_;
  const std::string name_;
  std::optional<Instant> again_at_;
  std::string why_;  // It could not be kept the last time; empty: it could.
};

}  // namespace tune
