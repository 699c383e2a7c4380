#include "tuner/doubts.h"

#include "core/counted.h"

namespace tune {
namespace {

constexpr size_t kKindsMax = 20;  // A person reads no more.

}  // namespace

std::string Describe(const Doubt& doubt) {
  const int64_t more = doubt.trial_count - 1;
  if (more < 1) return doubt.text;
  return doubt.text + "; " + Counted(more, "more trial") + " alike";
}

std::optional<Doubts::Added> Doubts::Add(TrialNumber trial, const std::string& kind,
                                         const std::string& text) {
  if (kinds_.size() >= kKindsMax && !numbers_.contains(kind)) return std::nullopt;
  const auto [number, is_first] = numbers_.try_emplace(kind, kinds_.size());
  if (is_first) kinds_.push_back({text, {}});
  if (!kinds_[number->second].trials.insert(trial).second) return std::nullopt;
  return Added{NoteRow{trial, kind, text}, is_first};
}

std::vector<Doubt> Doubts::list() const {
  std::vector<Doubt> doubts;
  for (const Kind& kind : kinds_) {
    doubts.push_back({kind.text, static_cast<int64_t>(kind.trials.size())});
  }
  return doubts;
}

}  // namespace tune
