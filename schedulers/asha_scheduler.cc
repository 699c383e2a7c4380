#include "schedulers/asha_scheduler.h"

#include <cmath>

#include "core/check.h"
#include "core/json.h"
#include "core/random.h"
#include "schedulers/rung_levels.h"

namespace tune {

AshaScheduler::AshaScheduler(const AshaOptions& options, Mode mode, uint64_t seed)
    : options_(options), mode_(mode), seed_(seed) {
  const std::vector<int64_t> levels =
      RungLevels(options.grace_period, options.max_t, options.reduction_factor);
  TUNE_CHECK(options.brackets >= 1 && options.brackets <= static_cast<int64_t>(levels.size()));
  for (size_t s = 0; s < static_cast<size_t>(options.brackets); ++s) {
    Bracket bracket;
    for (size_t k = s; k < levels.size(); ++k)
      bracket.push_back(Rung{levels[k], RankedValues(mode)});
    brackets_.push_back(std::move(bracket));
  }
}

uint32_t AshaScheduler::DrawBracket(TrialNumber trial) const {
  double sum = 0;
  for (size_t s = 0; s < brackets_.size(); ++s) sum += std::exp(-static_cast<double>(s));
  KeyedRandom random(seed_, "bracket", static_cast<uint64_t>(trial.value));
  double u = random.NextUniform(0, sum);
  for (uint32_t s = 0; s + 1 < brackets_.size(); ++s) {
    u -= std::exp(-static_cast<double>(s));
    if (u < 0) return s;
  }
  return static_cast<uint32_t>(brackets_.size() - 1);
}

void AshaScheduler::OnTrialAdded(TrialNumber trial) {
  TUNE_CHECK(trial.value >= 0);
  const size_t index = static_cast<size_t>(trial.value);
  if (index >= trials_.size()) trials_.resize(index + 1);
  TUNE_CHECK(!trials_[index].is_live);
  if (!trials_[index].was_added) trials_[index] = Trial{true, true, DrawBracket(trial), 0};
  trials_[index].is_live = true;  // Again: the rungs that it filled stay filled.
}

std::optional<double> AshaScheduler::Cutoff(const RankedValues& values) const {
  if (values.size() == 0) return std::nullopt;
  // Position (n - 1) * (rf - 1) / rf from the worst, as a whole and a remainder.
  const uint64_t rf = static_cast<uint64_t>(options_.reduction_factor);
  const uint64_t steps = values.size() - 1;
  // (n - 1) * (rf - 1) / rf without overflow: n - 1 - (n - 1) / rf, the remainder carried.
  const uint64_t remainder = steps % rf == 0 ? 0 : rf - steps % rf;
  const uint64_t whole = steps - steps / rf - (remainder == 0 ? 0 : 1);
  const double a = values.FromWorst(whole);
  if (remainder == 0) return a;
  const double b = values.FromWorst(whole + 1);
  if (!std::isfinite(a) || !std::isfinite(b)) return a;
  // As numpy interpolates, so that the last bit agrees with Ray's.
  const double t = static_cast<double>(remainder) / static_cast<double>(rf);
  return t < 0.5 ? a + (b - a) * t : b - (b - a) * (1 - t);
}

Decision AshaScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  const size_t index = static_cast<size_t>(number.value);
  TUNE_CHECK(number.value >= 0 && index < trials_.size() && trials_[index].is_live);
  Trial& trial = trials_[index];
  if (value && std::isnan(*value)) value.reset();

  Decision decision;
  Bracket& bracket = brackets_[trial.bracket];
  uint32_t reached = trial.first_open;
  while (reached < bracket.size() && bracket[reached].milestone <= iteration) ++reached;
  if (reached > trial.first_open) {
    trial.first_open = reached;
    Rung& rung = bracket[reached - 1];
    decision.rung = rung.milestone;
    if (value) {
      decision.cutoff = Cutoff(rung.values);
      decision.rank = static_cast<int64_t>(rung.values.CountBetterThan(*value)) + 1;
      rung.values.Insert(*value);
      decision.count = static_cast<int64_t>(rung.values.size());
      if (decision.cutoff && IsBetter(*decision.cutoff, *value, mode_)) {
        decision.verdict = Verdict::kStop;
        decision.cause = StopCause::kScheduler;
      }
    }
  }
  if (iteration >= options_.max_t) {
    decision.verdict = Verdict::kStop;
    decision.cause = StopCause::kMaxT;
  }
  return decision;
}

void AshaScheduler::OnTrialEnded(TrialNumber trial, bool /*failed*/) {
  const size_t index = static_cast<size_t>(trial.value);
  TUNE_CHECK(trial.value >= 0 && index < trials_.size() && trials_[index].is_live);
  // What it reported stays where it is: others were measured against it. Its open rungs are given
  // up with it.
  trials_[index].is_live = false;
}

std::vector<RungView> AshaScheduler::Rungs() const {
  std::vector<RungView> views;
  for (size_t s = 0; s < brackets_.size(); ++s) {
    for (const Rung& rung : brackets_[s]) {
      views.push_back(RungView{static_cast<int64_t>(s), rung.milestone,
                               static_cast<int64_t>(rung.values.size()), Cutoff(rung.values)});
    }
  }
  return views;
}

std::string AshaScheduler::DebugString() const {
  std::string text = "asha";
  for (const RungView& rung : Rungs()) {
    text += " " + std::to_string(rung.bracket) + "/" + std::to_string(rung.milestone) + ":" +
            std::to_string(rung.count);
    if (rung.cutoff) text += "@" + ToJson(Value(*rung.cutoff));
  }
  return text;
}

}  // namespace tune
