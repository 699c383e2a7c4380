#include "search/auto_searcher.h"

#include <algorithm>
#include <utility>

namespace tune {
namespace {

constexpr size_t kResultsToJudge = 30;
constexpr double kLeastSkill = 0.1;
constexpr size_t kStall = 40;
// A suggestion of gp costs some 5 ms then, and up to 20 ms with thousands of results.
constexpr size_t kResultsOfFast = 300;
constexpr double kFastSeconds = 0.4;
constexpr double kNothing = std::numeric_limits<double>::infinity();  // As a loss.

}  // namespace

AutoSearcher::Lead AutoSearcher::Leading() {
  if (is_fast_) return Lead::kTpe;
  if (!mode_ || ended_ < kResultsToJudge) return Lead::kGp;
  return IsStalled() || gp_->PredictiveSkill().value_or(1) < kLeastSkill ? Lead::kInTurns
                                                                         : Lead::kGp;
}

bool AutoSearcher::IsStalled() const { return ended_ - gained_at_ >= std::max(kStall, ended_ / 3); }

void AutoSearcher::Count(TrialNumber number, Objectives values) {
  if (!mode_ || number.value < 0 || values.empty() || !values[0]) return;
  const double loss = AsLoss(*values[0], *mode_);
  double& least = losses_.try_emplace(number, kNothing).first->second;
  if (loss < least) least = loss;
  if (!(loss < least_loss_)) return;
  least_loss_ = loss;
  leader_ = number;
  gained_at_ = ended_;
}

void AutoSearcher::Forget(TrialNumber number) {
  losses_.erase(number);
  if (leader_ != number) return;
  leader_.reset();
  least_loss_ = kNothing;
  for (const auto& [trial, loss] : losses_) least_loss_ = std::min(least_loss_, loss);
}

std::string AutoSearcher::WhyInTurns() const {
  if (!IsStalled()) return "gp does not predict results better than their mean";
  return "gp found nothing better in the last " + std::to_string(ended_ - gained_at_);
}

std::optional<Configuration> AutoSearcher::Suggest(TrialNumber number) {
  const Lead lead = Leading();
  // What was said in an earlier life is not said again.
  if (std::exchange(was_restored_, false)) said_ = lead;
  if (lead != said_) {
    news_ = std::string("search: auto now asks ") +
            (lead == Lead::kTpe  ? "tpe alone, since trials are short and gp's suggestions would "
                                   "take a part of their time"
             : lead == Lead::kGp ? "gp alone again"
                                 : "gp and tpe in turns, since " + WhyInTurns());
  }
  said_ = lead;
  const bool takes_tpe = lead == Lead::kTpe || (lead == Lead::kInTurns && number.value % 2 == 1);
  Searcher& asked = takes_tpe ? *tpe_ : *gp_;
  auto configuration = asked.Suggest(number);
  if (configuration) (takes_tpe ? *gp_ : *tpe_).Restore(number, *configuration);
  return configuration;
}

void AutoSearcher::Restore(TrialNumber number, const Configuration& configuration) {
  // Who led then is asked later: each answer takes a model, and no suggestion is wanted.
  if (number.value >= 0) was_restored_ = true;
  gp_->Restore(number, configuration);
  tpe_->Restore(number, configuration);
}

void AutoSearcher::OnReport(TrialNumber number, int64_t iteration, Objectives values) {
  if (rules_ >= SearchRules::kFrom15) Count(number, values);
  gp_->OnReport(number, iteration, values);
  tpe_->OnReport(number, iteration, values);
}

void AutoSearcher::OnTrialEnded(TrialNumber number, Objectives last, bool failed) {
  if (number.value >= 0) {
    ++ended_;
    if (failed) {
      Forget(number);
    } else {
      Count(number, last);
    }
    if (leader_ == number) gained_at_ = ended_;
    // Once and for all: what trials take is measured, and should decide as little as it can.
    const bool is_short = timed_ > 0 && seconds_ < kFastSeconds * static_cast<double>(timed_);
    if (ended_ == kResultsOfFast) is_fast_ = is_short;
  }
  gp_->OnTrialEnded(number, last, failed);
  tpe_->OnTrialEnded(number, last, failed);
}

void AutoSearcher::OnStopped(TrialNumber number) {
  gp_->OnStopped(number);
  tpe_->OnStopped(number);
}

void AutoSearcher::OnDuration(TrialNumber number, double seconds) {
  if (number.value >= 0) {
    ++timed_;
    seconds_ += seconds;
    took_[number] = seconds;
  }
  gp_->OnDuration(number, seconds);
  tpe_->OnDuration(number, seconds);
}

void AutoSearcher::OnReopened(TrialNumber number) {
  if (number.value >= 0) {
    --ended_;
    Forget(number);
    gained_at_ = std::min(gained_at_, ended_);
    if (const auto took = took_.extract(number)) {
      --timed_;
      seconds_ -= took.mapped();
    }
  }
  gp_->OnReopened(number);
  tpe_->OnReopened(number);
}

std::string AutoSearcher::TakeNews() {
  const std::string of_gp = gp_->TakeNews();
  const std::string own = std::exchange(news_, std::string());
  return own + (own.empty() || of_gp.empty() ? "" : "; ") + of_gp;
}

std::string AutoSearcher::DebugString() const {
  return "auto: " + gp_->DebugString() + "; beside it " + tpe_->DebugString();
}

}  // namespace tune
