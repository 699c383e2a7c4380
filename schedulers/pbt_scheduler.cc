#include "schedulers/pbt_scheduler.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

#include "core/check.h"
#include "core/input_error.h"
#include "core/option_map.h"
#include "core/random.h"

namespace tune {

PbtScheduler::PbtScheduler(const PbtOptions& options, Mode mode, uint64_t seed)
    : options_(options), seed_(seed), ranked_(mode) {}

void PbtScheduler::OnTrialAdded(TrialNumber number) {
  Trial& trial = trials_.Add(number);
  TUNE_CHECK(trial.state == State::kNew || trial.state == State::kOver);
  trial.state = State::kRunning;
  ++running_count_;
  no_more_trials_ = false;
}

Decision PbtScheduler::OnReport(TrialNumber number, int64_t iteration, Metric value) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state == State::kRunning);
  Decision decision;
  if (!IsDue(trial, iteration)) return decision;
  value = Finite(value);
  trial.looked_at = iteration;
  decision.rung = iteration;
  const size_t place = SetScore(number, value);
  if (options_.synch) {
    decision.verdict = Verdict::kPause;
    trial.state = State::kPaused;
    --running_count_;
    RankAllIfSynchronous();
    return decision;
  }
  Explain(number, decision);
  if (Exploit(number, place)) decision.verdict = Verdict::kPause;
  return decision;
}

Decision PbtScheduler::OnLastReport(TrialNumber /*number*/, int64_t /*iteration*/,
                                    Metric /*value*/) {
  return Decision{};
}

bool PbtScheduler::IsDue(const Trial& trial, int64_t iteration) const {
  return iteration >= options_.burn_in_period &&
         iteration - trial.looked_at >= options_.perturbation_interval;
}

// Also of one that will not be of the bottom: others go on from what it saves.
bool PbtScheduler::PausesAt(TrialNumber number, int64_t iteration) const {
  return IsDue(trials_[number], iteration);
}

size_t PbtScheduler::QuantileCount() const {
  const double share = static_cast<double>(scored_count()) * options_.quantile_fraction;
  return std::min(static_cast<size_t>(std::ceil(share)), scored_count() / 2);
}

size_t PbtScheduler::SetScore(TrialNumber number, Metric score) {
  ForgetScore(number);
  Trial& trial = trials_[number];
  trial.has_score = true;
  trial.score = score;
  if (score) return ranked_.Insert(number, *score).place;
  const auto place = valueless_.insert(number).first;
  return ranked_.size() + static_cast<size_t>(std::distance(valueless_.begin(), place));
}

void PbtScheduler::ForgetScore(TrialNumber number) {
  Trial& trial = trials_[number];
  if (!std::exchange(trial.has_score, false)) return;
  if (trial.score) {
    ranked_.Erase(number, *trial.score);
  } else {
    valueless_.erase(number);
  }
}

bool PbtScheduler::Exploit(TrialNumber number, size_t place) {
  const size_t quantile_count = QuantileCount();
  if (place < scored_count() - quantile_count) return false;
  const size_t source_count = std::min(quantile_count, ranked_.size());
  if (source_count == 0) return false;
  Trial& trial = trials_[number];
  KeyedRandom random(seed_, "exploit", static_cast<uint64_t>(number.value), trial.exploit_count++);
  ++exploit_count_;
  Order order{Order::Kind::kExploit, number};
  order.source = ranked_.At(random.NextBelow(source_count)).trial;
  order.rung = trial.looked_at;
  Explain(number, order);
  orders_.push_back(order);
  return true;
}

template <typename Explained>
void PbtScheduler::Explain(TrialNumber number, Explained& explained) const {
  const Metric& score = trials_[number].score;
  if (!score) return;
  explained.rank = static_cast<int64_t>(ranked_.CountBetterThan(*score)) + 1;
  explained.count = static_cast<int64_t>(scored_count());
  const size_t kept_count = scored_count() - QuantileCount();  // Not of the bottom.
  if (kept_count < scored_count() && kept_count <= ranked_.size()) {
    explained.cutoff = ranked_.At(kept_count - 1).value;
  }
}

void PbtScheduler::RankAllIfSynchronous() {
  if (!options_.synch || !no_more_trials_ || running_count_ > 0) return;
  std::vector<TrialNumber> all;
  for (size_t place = 0; place < ranked_.size(); ++place) all.push_back(ranked_.At(place).trial);
  all.insert(all.end(), valueless_.begin(), valueless_.end());
  for (size_t place = 0; place < all.size(); ++place) {
    Trial& trial = trials_[all[place]];
    TUNE_CHECK(trial.state == State::kPaused);
    trial.state = State::kRunning;
    if (Exploit(all[place], place)) continue;
    Order order{Order::Kind::kResume, all[place]};
    order.rung = trial.looked_at;
    Explain(all[place], order);
    orders_.push_back(order);
  }
  running_count_ = static_cast<int64_t>(all.size());
}

void PbtScheduler::OnTrialEnded(TrialNumber number, bool /*failed*/) {
  Trial& trial = trials_[number];
  TUNE_CHECK(trial.state == State::kRunning || trial.state == State::kPaused);
  // It may end before the orders of its own report are taken.
  std::erase_if(orders_, [&](const Order& order) { return order.trial == number; });
  for (Order& order : orders_) {
    if (order.source != number) continue;
    order.kind = Order::Kind::kResume;
    order.source.reset();
  }
  ForgetScore(number);
  if (std::exchange(trial.state, State::kOver) == State::kRunning) --running_count_;
  RankAllIfSynchronous();
}

void PbtScheduler::OnNoMoreTrials() {
  no_more_trials_ = true;
  RankAllIfSynchronous();
}

std::vector<Order> PbtScheduler::TakeOrders() { return std::exchange(orders_, {}); }

std::string PbtScheduler::DebugString() const {
  return "pbt running:" + std::to_string(running_count_) +
         " exploits:" + std::to_string(exploit_count_);
}

namespace {

Status ReadExplore(const OptionMap& options, ExploreOptions& explore) {
  TUNE_RETURN_IF_ERROR(
      options.Read("resample_probability", 0.0, 1.0, explore.resample_probability));
  if (const Value* const factors = options.Find("perturbation_factors")) {
    explore.perturbation_factors.clear();
    if (!factors->is_list() || factors->AsList().empty()) {
      return options.Expected("perturbation_factors", "a list of numbers, as in [1.2, 0.8]");
    }
    for (const Value& factor : factors->AsList()) {
      if (!factor.is_number() || !(factor.AsDouble() > 0) || !std::isfinite(factor.AsDouble())) {
        return InvalidAt(factor.place, "scheduler: perturbation_factors: read " + Shown(factor) +
                                           ", expected a number above 0");
      }
      explore.perturbation_factors.push_back(factor.AsDouble());
    }
  }
  if (const Value* const names = options.Find("hyperparam_mutations")) {
    if (!names->is_list() || names->AsList().empty()) {
      return options.Expected("hyperparam_mutations",
                              "a list of parameters' names; how each is drawn stands in the space");
    }
    for (const Value& name : names->AsList()) {
      if (name.is_string()) {
        explore.parameters.push_back(name);
        continue;
      }
      return InvalidAt(name.place, "scheduler: hyperparam_mutations: read " + Shown(name) +
                                       ", expected a parameter's name");
    }
  }
  return OkStatus();
}

Result<PbtOptions> ReadPbtOptions(const Value& map) {
  static constexpr std::array<std::string_view, 7> kOptions = {
      "perturbation_interval", "burn_in_period",       "quantile_fraction",   "synch",
      "resample_probability",  "perturbation_factors", "hyperparam_mutations"};
  constexpr int64_t kNoMax = std::numeric_limits<int64_t>::max();
  const OptionMap options("scheduler", "pbt", map);
  PbtOptions pbt;
  TUNE_RETURN_IF_ERROR(options.CheckNames(kOptions));
  TUNE_RETURN_IF_ERROR(options.Read("perturbation_interval", 1, kNoMax, pbt.perturbation_interval));
  TUNE_RETURN_IF_ERROR(options.Read("burn_in_period", 0, kNoMax, pbt.burn_in_period));
  TUNE_RETURN_IF_ERROR(options.Read("quantile_fraction", 0.0, 0.5, pbt.quantile_fraction));
  TUNE_RETURN_IF_ERROR(options.Read("synch", pbt.synch));
  TUNE_RETURN_IF_ERROR(ReadExplore(options, pbt.explore));
  return pbt;
}

}  // namespace

Result<std::unique_ptr<TrialScheduler>> MakePbtScheduler(const Value& map, Mode mode,
                                                         uint64_t seed) {
  TUNE_ASSIGN_OR_RETURN(const PbtOptions options, ReadPbtOptions(map));
  return std::unique_ptr<TrialScheduler>(std::make_unique<PbtScheduler>(options, mode, seed));
}

ExploreOptions PbtExplore(const Value& map) {
  Result<PbtOptions> options = ReadPbtOptions(map);
  TUNE_CHECK(options.ok());
  return std::move(options->explore);
}

}  // namespace tune
