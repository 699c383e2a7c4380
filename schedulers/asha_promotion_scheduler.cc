#include "schedulers/asha_promotion_scheduler.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/check.h"

namespace tune {

AshaPromotionScheduler::AshaPromotionScheduler(std::string name, Brackets brackets,
                                               std::optional<int64_t> paused_max, Mode mode,
                                               uint64_t seed)
    : name_(std::move(name)),
      brackets_(std::move(brackets)),
      paused_max_(paused_max),
      mode_(mode),
      seed_(seed) {
  TUNE_CHECK(!paused_max || *paused_max >= 1);
  for (const auto& milestones : brackets_.milestones) {
    std::vector<Rung>& rungs = rungs_.emplace_back();
    for (const int64_t milestone : milestones) rungs.emplace_back(milestone, mode);
  }
}

void AshaPromotionScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(trial.state == State::kNew || trial.state == State::kOver);
  if (trial.state == State::kNew) {
    trial.bracket = static_cast<uint16_t>(DrawBracket(brackets_, seed_, number));
  }
  if (std::exchange(trial.counts_as_failed, false)) {
    --rungs_[trial.bracket][trial.first_open].valueless_count;
  }
  trial.state = State::kRunning;
}

AshaPromotionScheduler::Passing AshaPromotionScheduler::PassingOf(const Rung& rung) const {
  Passing passing;
  if (!rung.is_open) return passing;
  passing.count = std::min(static_cast<size_t>(rung.count() / brackets_.reduction_factor),
                           rung.finished.size());
  if (passing.count > 0) passing.last = rung.finished.At(passing.count - 1);
  return passing;
}

Decision AshaPromotionScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state == State::kRunning);
  value = Finite(value);

  Decision decision;
  const std::vector<int64_t>& milestones = brackets_.milestones[trial.bracket];
  const bool is_over = iteration >= brackets_.max_t;
  if (is_over) decision = Decision{Verdict::kStop, StopCause::kMaxT};
  if (!FillsRung(milestones, iteration, trial.first_open)) return decision;

  Rung& rung = rungs_[trial.bracket][trial.first_open - 1];
  decision.rung = rung.milestone;
  trial.value = value;
  if (!is_over) {
    decision.verdict = Verdict::kPause;
    Pause(number);
  }
  if (!value) {
    ++rung.valueless_count;
    PromoteLast(rung, PassingOf(rung));
  } else {
    const auto [place, better] = rung.finished.Insert(number, *value);
    const Passing passing = PassingOf(rung);
    decision.cutoff = passing.cutoff();
    decision.rank = static_cast<int64_t>(better) + 1;
    decision.count = rung.count();
    if (place < passing.count) {
      Promote(rung, passing, place, {number, *value});
    } else {
      PromoteLast(rung, passing);
    }
  }
  StopWorst();
  return decision;
}

Decision AshaPromotionScheduler::OnLastReport(TrialNumber number, int64_t iteration, Metric value) {
  return iteration >= brackets_.max_t ? OnReport(number, iteration, value) : Decision{};
}

bool AshaPromotionScheduler::PausesAt(TrialNumber number, int64_t iteration) const {
  const Trial& trial = trials_[number];
  const std::vector<int64_t>& milestones = brackets_.milestones[trial.bracket];
  return iteration < brackets_.max_t && trial.first_open < milestones.size() &&
         iteration >= milestones[trial.first_open];
}

void AshaPromotionScheduler::OnTrialEnded(TrialNumber number, bool failed) {
  Trial& trial = trials_[number];
  // It may end before the orders of its own report are taken.
  std::erase_if(orders_, [&](const Order& order) { return order.trial == number; });
  TUNE_CHECK(trial.state != State::kNew);
  if (trial.state == State::kOver) return;  // It was to be stopped.
  if (trial.state == State::kPaused) {
    Unpause(number, State::kOver);
    return;
  }
  trial.state = State::kOver;
  if (!failed || trial.first_open == rungs_[trial.bracket].size()) return;
  trial.counts_as_failed = true;
  Rung& rung = rungs_[trial.bracket][trial.first_open];
  ++rung.valueless_count;
  PromoteLast(rung, PassingOf(rung));
}

// One more has finished a rung and does not pass: the number of those that do may have grown by one
// and reaches the next in line.
void AshaPromotionScheduler::PromoteLast(const Rung& rung, const Passing& passing) {
  if (passing.last) Promote(rung, passing, passing.count - 1, *passing.last);
}

void AshaPromotionScheduler::CloseRung(uint32_t k) {
  for (std::vector<Rung>& rungs : rungs_) rungs.at(k).is_open = false;
}

void AshaPromotionScheduler::OpenRung(uint32_t k) {
  for (std::vector<Rung>& rungs : rungs_) {
    Rung& rung = rungs.at(k);
    rung.is_open = true;
    const Passing passing = PassingOf(rung);
    for (size_t place = 0; place < passing.count; ++place) {
      Promote(rung, passing, place, rung.finished.At(place));
    }
  }
}

void AshaPromotionScheduler::Promote(const Rung& rung, const Passing& passing, size_t place,
                                     const RankedTrials::Entry& entry) {
  const Trial& trial = trials_[entry.trial];
  const bool waits_here =
      trial.state == State::kPaused && &rungs_[trial.bracket][trial.first_open - 1] == &rung;
  if (!waits_here) return;
  Order order{Order::Kind::kResume, entry.trial};
  order.rung = rung.milestone;
  order.cutoff = passing.cutoff();
  order.rank = static_cast<int64_t>(rung.finished.CountBetterThan(entry.value, place)) + 1;
  order.count = rung.count();
  orders_.push_back(order);
  Unpause(entry.trial, State::kRunning);
}

AshaPromotionScheduler::PausedKey AshaPromotionScheduler::KeyOf(TrialNumber number) const {
  const Trial& trial = trials_[number];
  const double value = trial.value.value_or(0);
  return {brackets_.milestones[trial.bracket][trial.first_open - 1], trial.value.has_value(),
          -AsLoss(value, mode_), -number.value};
}

void AshaPromotionScheduler::Pause(TrialNumber number) {
  trials_[number].state = State::kPaused;
  if (paused_max_) paused_.insert(KeyOf(number));
}

void AshaPromotionScheduler::Unpause(TrialNumber number, State state) {
  trials_[number].state = state;
  if (paused_max_) paused_.erase(KeyOf(number));
}

void AshaPromotionScheduler::StopWorst() {
  if (!paused_max_ || static_cast<int64_t>(paused_.size()) <= *paused_max_) return;
  const TrialNumber worst{-std::get<3>(*paused_.begin())};
  const Trial& trial = trials_[worst];
  const Rung& rung = rungs_[trial.bracket][trial.first_open - 1];
  Order order{Order::Kind::kStop, worst};
  order.rung = rung.milestone;
  if (trial.value) {
    order.cutoff = PassingOf(rung).cutoff();
    order.rank = static_cast<int64_t>(rung.finished.CountBetterThan(*trial.value)) + 1;
    order.count = rung.count();
  }
  orders_.push_back(order);
  Unpause(worst, State::kOver);
}

std::vector<Order> AshaPromotionScheduler::TakeOrders() { return std::exchange(orders_, {}); }

std::vector<RungView> AshaPromotionScheduler::Rungs() const {
  std::vector<RungView> views;
  for (size_t s = 0; s < rungs_.size(); ++s) {
    for (size_t k = 0; k < rungs_[s].size(); ++k) {
      views.push_back(RungView{static_cast<int64_t>(s), rungs_[s][k].milestone,
                               rungs_[s][k].count(), PassingOf(rungs_[s][k]).cutoff()});
    }
  }
  return views;
}

std::string AshaPromotionScheduler::DebugString() const {
  int64_t paused_count = 0;
  for (const Trial& trial : trials_) paused_count += trial.state == State::kPaused ? 1 : 0;
  return name_ + " promoting" + DescribeRungs(Rungs()) + " paused:" + std::to_string(paused_count);
}

}  // namespace tune
