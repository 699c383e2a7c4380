#include "tuner/page/aside.h"

#include <chrono>
#include <utility>

namespace tune {

Aside::~Aside() {
  if (under_way_) under_way_->body.wait();
}

void Aside::TakeMade() {
  if (!under_way_) return;
  if (under_way_->body.wait_for(std::chrono::seconds(0)) != std::future_status::ready) return;
  const Instant now = clock_.Now();
  not_before_ = now + Duration{4 * (now - under_way_->begun_at).us};
  subject_ = std::move(under_way_->subject);
  state_ = std::move(under_way_->state);
  latest_ = under_way_->body.get();
  under_way_.reset();
}

Aside::Answer Aside::Ask(const std::string& subject, const std::string& state, Work work) {
  TakeMade();
  const bool is_known = latest_ && subject_ == subject;
  if (is_known && state_ == state) return {latest_, false};
  if (!under_way_ && (!is_known || clock_.Now() >= not_before_)) {
    under_way_ = {subject, state, std::async(std::launch::async, std::move(work)), clock_.Now()};
  }
  return {is_known ? latest_ : std::nullopt, true};
}

}  // namespace tune
