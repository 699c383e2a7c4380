#include "tuner/page/aside.h"

#include <algorithm>
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
  std::erase_if(kept_, [&](const Kept& one) { return one.subject == under_way_->subject; });
  if (kept_.size() >= kKeptMax) kept_.pop_back();
  kept_.push_front({std::move(under_way_->subject), std::move(under_way_->state),
                    under_way_->body.get(), now + Duration{4 * (now - under_way_->begun_at).us}});
  under_way_.reset();
}

Aside::Answer Aside::Ask(const std::string& subject, const std::string& state, Work work) {
  TakeMade();
  const auto known = std::find_if(kept_.begin(), kept_.end(),
                                  [&](const Kept& one) { return one.subject == subject; });
  const bool is_known = known != kept_.end();
  if (is_known) std::rotate(kept_.begin(), known, known + 1);
  if (is_known && kept_.front().state == state) return {kept_.front().body, false};
  if (!under_way_ && (!is_known || clock_.Now() >= kept_.front().not_before)) {
    under_way_ = {subject, state, std::async(std::launch::async, std::move(work)), clock_.Now()};
  }
  return {is_known ? std::optional(kept_.front().body) : std::nullopt, true};
}

}  // namespace tune
