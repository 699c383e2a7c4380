#include "schedulers/combined_scheduler.h"

#include <algorithm>
#include <utility>

#include "core/check.h"

namespace tune {
namespace {

// The decision of more weight prevails.
int WeightOf(const Decision& decision) {
  if (decision.cause == StopCause::kMaxT) return 4;
  if (decision.verdict == Verdict::kStop) return 3;
  if (decision.verdict == Verdict::kPause) return 2;
  return decision.rung ? 1 : 0;
}

}  // namespace

CombinedScheduler::CombinedScheduler(std::vector<std::unique_ptr<TrialScheduler>> parts,
                                     std::optional<Pausing> pausing)
    : parts_(std::move(parts)), pausing_(pausing) {
  TUNE_CHECK(!parts_.empty());
  TUNE_CHECK(!pausing_ || pausing_->part < parts_.size());
}

void CombinedScheduler::OnTrialAdded(TrialNumber trial) {
  for (const auto& part : parts_) part->OnTrialAdded(trial);
}

Decision CombinedScheduler::OnReport(TrialNumber trial, int64_t iteration, Metric value) {
  return Ask(&TrialScheduler::OnReport, trial, iteration, value);
}

Decision CombinedScheduler::OnLastReport(TrialNumber trial, int64_t iteration, Metric value) {
  return Ask(&TrialScheduler::OnLastReport, trial, iteration, value);
}

Decision CombinedScheduler::Ask(Decision (TrialScheduler::*hear)(TrialNumber, int64_t, Metric),
                                TrialNumber trial, int64_t iteration, Metric value) {
  std::vector<Decision> decisions(parts_.size());
  bool is_stopped = false;
  for (size_t i = 0; i < parts_.size(); ++i) {
    if (IsAskedLast(i)) continue;
    decisions[i] = (*parts_[i].*hear)(trial, iteration, value);
    is_stopped = is_stopped || decisions[i].verdict == Verdict::kStop;
  }
  if (pausing_) {
    // At its max_t it pauses nobody.
    const bool is_over = pausing_->max_t && iteration >= *pausing_->max_t;
    if (!is_stopped || is_over) {
      decisions[pausing_->part] = (*parts_[pausing_->part].*hear)(trial, iteration, value);
    }
  }
  Decision prevailing;
  for (const Decision& decision : decisions) {
    if (WeightOf(decision) > WeightOf(prevailing)) prevailing = decision;
  }
  if (prevailing.verdict == Verdict::kStop) stopped_ = trial;
  return prevailing;
}

void CombinedScheduler::OnTrialEnded(TrialNumber trial, bool failed) {
  for (const auto& part : parts_) part->OnTrialEnded(trial, failed);
}

void CombinedScheduler::OnNoMoreTrials() {
  for (const auto& part : parts_) part->OnNoMoreTrials();
}

bool CombinedScheduler::PausesAt(TrialNumber trial, int64_t iteration) const {
  return std::any_of(parts_.begin(), parts_.end(),
                     [&](const auto& part) { return part->PausesAt(trial, iteration); });
}

std::vector<Order> CombinedScheduler::TakeOrders() {
  std::vector<Order> orders;
  for (const auto& part : parts_) {
    for (const Order& order : part->TakeOrders()) {
      if (order.trial == stopped_) continue;
      orders.push_back(order);
      if (order.kind != Order::Kind::kStop) continue;
      for (const auto& other : parts_) {
        if (other != part) other->OnTrialEnded(order.trial, false);
      }
    }
  }
  return orders;
}

std::vector<RungView> CombinedScheduler::Rungs() const {
  std::vector<RungView> all;
  for (const auto& part : parts_) {
    const std::vector<RungView> rungs = part->Rungs();
    all.insert(all.end(), rungs.begin(), rungs.end());
  }
  return all;
}

std::string CombinedScheduler::name() const {
  std::string name;
  for (const auto& part : parts_) name += (name.empty() ? "" : "+") + part->name();
  return name;
}

std::string CombinedScheduler::DebugString() const {
  std::string text;
  for (const auto& part : parts_) text += (text.empty() ? "" : "; ") + part->DebugString();
  return text;
}

}  // namespace tune
