#include "tuner/gain_watch.h"

#include <algorithm>
#include <utility>

namespace tune {

bool GainWatch::Covers(const Standing& a, const Standing& b) {
  if (b.losses.empty()) return false;
  if (a.violation != b.violation) return a.violation < b.violation;
  return a.losses == b.losses || Dominates(a.losses, b.losses);
}

void GainWatch::OnTrialEnded(TrialNumber trial, const LossPoint& losses, double violation,
                             std::optional<int64_t> most) {
  Standing standing{losses, violation};
  const bool is_covered = std::any_of(
      best_.begin(), best_.end(), [&](const Standing& other) { return Covers(other, standing); });
  if (losses.empty() || is_covered) {
    ++without_gain_;
    is_over_ = is_over_ || (most && without_gain_ >= *most);
    return;
  }
  std::erase_if(best_, [&](const Standing& other) { return Covers(standing, other); });
  best_.push_back(std::move(standing));
  without_gain_ = 0;
  last_gain_ = trial;
}

std::string GainWatch::HowToGoOn(const std::string& sweep, int64_t samples) {
  return "no more begin. To go on: tune resume " + sweep + " --samples " +
         (samples < 0 ? "-1" : "N, with N above " + std::to_string(samples));
}

}  // namespace tune
