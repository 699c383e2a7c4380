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
    rungs_.emplace_back(milestones.size(), Rung(mode));
  }
}

void AshaPromotionScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(trial.state == State::kNew || trial.state == State::kOver);
  if (trial.state == State::kNew) trial.bracket = DrawBracket(brackets_, seed_, number);
  if (std::exchange(trial.counts_as_failed, false)) {
    --rungs_[trial.bracket][trial.first_open].valueless_count;
  }
  trial.state = State::kRunning;
}

size_t AshaPromotionScheduler::PassCount(const Rung& rung) const {
  if (!rung.is_open) return 0;
  const size_t passing = static_cast<size_t>(rung.count() / brackets_.reduction_factor);
  return std::min(passing, rung.finished.size());
}

std::optional<double> AshaPromotionScheduler::Cutoff(const Rung& rung) const {
  const size_t passing = PassCount(rung);
  if (passing == 0) return std::nullopt;
  return rung.finished.ValueAt(passing - 1);
}

Decision AshaPromotionScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state == State::kRunning);
  if (value && std::isnan(*value)) value.reset();

  Decision decision;
  const std::vector<int64_t>& milestones = brackets_.milestones[trial.bracket];
  const bool is_over = iteration >= brackets_.max_t;
  if (is_over) decision = Decision{Verdict::kStop, StopCause::kMaxT};
  if (!FillsRung(milestones, iteration, trial.first_open)) return decision;

  const uint32_t k = trial.first_open - 1;
  Rung& rung = rungs_[trial.bracket][k];
  decision.rung = milestones[k];
  trial.value = value;
  if (!is_over) {
    decision.verdict = Verdict::kPause;
    Pause(number);
  }
  if (value) {
    const size_t place = rung.finished.Insert(number, *value);
    decision.cutoff = Cutoff(rung);
    decision.rank = static_cast<int64_t>(rung.finished.CountBetterThan(*value)) + 1;
    decision.count = rung.count();
    if (place < PassCount(rung)) Promote(trial.bracket, k, place);
  } else {
    ++rung.valueless_count;
  }
  PromoteLast(trial.bracket, k);
  StopWorst();
  return decision;
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
  ++rungs_[trial.bracket][trial.first_open].valueless_count;
  PromoteLast(trial.bracket, trial.first_open);
}

// One more has finished a rung: it passes itself, or the number that pass has grown by one and
// reaches the next in line.
void AshaPromotionScheduler::PromoteLast(uint32_t bracket, uint32_t rung) {
  const size_t passing = PassCount(rungs_[bracket][rung]);
  if (passing > 0) Promote(bracket, rung, passing - 1);
}

void AshaPromotionScheduler::CloseRung(uint32_t k) {
  for (std::vector<Rung>& rungs : rungs_) rungs.at(k).is_open = false;
}

void AshaPromotionScheduler::OpenRung(uint32_t k) {
  for (uint32_t bracket = 0; bracket < rungs_.size(); ++bracket) {
    Rung& rung = rungs_[bracket].at(k);
    rung.is_open = true;
    for (size_t place = 0; place < PassCount(rung); ++place) Promote(bracket, k, place);
  }
}

void AshaPromotionScheduler::Promote(uint32_t bracket, uint32_t rung, size_t place) {
  const TrialNumber number = rungs_[bracket][rung].finished.TrialAt(place);
  const Trial& trial = trials_[number];
  if (trial.state != State::kPaused || trial.first_open != rung + 1) return;
  orders_.push_back(OrderFor(Order::Kind::kResume, number));
  Unpause(number, State::kRunning);
}

Order AshaPromotionScheduler::OrderFor(Order::Kind kind, TrialNumber number) const {
  const Trial& trial = trials_[number];
  const uint32_t k = trial.first_open - 1;
  const Rung& rung = rungs_[trial.bracket][k];
  Order order{kind, number};
  order.rung = brackets_.milestones[trial.bracket][k];
  if (!trial.value) return order;
  order.cutoff = Cutoff(rung);
  order.rank = static_cast<int64_t>(rung.finished.CountBetterThan(*trial.value)) + 1;
  order.count = rung.count();
  return order;
}

AshaPromotionScheduler::PausedKey AshaPromotionScheduler::KeyOf(TrialNumber number) const {
  const Trial& trial = trials_[number];
  const double value = trial.value.value_or(0);
  return {brackets_.milestones[trial.bracket][trial.first_open - 1], trial.value.has_value(),
          mode_ == Mode::kMax ? value : -value, -number.value};
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
  orders_.push_back(OrderFor(Order::Kind::kStop, worst));
  Unpause(worst, State::kOver);
}

std::vector<Order> AshaPromotionScheduler::TakeOrders() { return std::exchange(orders_, {}); }

std::vector<RungView> AshaPromotionScheduler::Rungs() const {
  std::vector<RungView> views;
  for (size_t s = 0; s < rungs_.size(); ++s) {
    for (size_t k = 0; k < rungs_[s].size(); ++k) {
      views.push_back(RungView{static_cast<int64_t>(s), brackets_.milestones[s][k],
                               rungs_[s][k].count(), Cutoff(rungs_[s][k])});
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
