// What the scheduler decides about trials that it paused.
#include <algorithm>

#include "core/check.h"
#include "core/random.h"
#include "search/perturb.h"
#include "tuner/search_problem.h"
#include "tuner/sweep.h"

namespace tune {

// What the scheduler decided about paused trials.
void Sweep::FollowOrders() {
  for (const Order& order : scheduler_->TakeOrders()) {
    TrialRecord& trial = At(order.trial);
    if (trial.is_over()) continue;  // Ended by what an earlier order led to.
    TUNE_CHECK(trial.held_by_scheduler);
    out_.orders.push_back(OrderRow{order, trial.row.iterations, now_});
    Follow(order);
  }
}

void Sweep::Follow(const Order& order) {
  TrialRecord& trial = At(order.trial);
  if (order.kind == Order::Kind::kStop) {
    CloseTrial(trial, TrialStatus::kTerminated, StopReason::kScheduler);
    return;
  }
  if (order.kind == Order::Kind::kExploit) Exploit(trial, At(*order.source));
  trial.held_by_scheduler = false;
  GoOn(trial);
}

// From the source's latest checkpoint, with a configuration near the source's.
void Sweep::Exploit(TrialRecord& trial, const TrialRecord& source) {
  const TrialNumber owner = source.resume_owner.value_or(source.row.number);
  const bool is_there =
      source.resume_path.empty() || retention_.Find(owner, source.resume_path) != nullptr;
  if (source.resume_iteration == 0 || !is_there) {
    const std::string text =
        "trial " + std::to_string(trial.row.number.value) +
        " goes on as it was, not as a copy of trial " + std::to_string(source.row.number.value) +
        ", which has no checkpoint; without checkpoints pbt is a random search";
    doubts_.Add(trial, "pbt without checkpoints", text);
    return;
  }
  trial.resume_iteration = source.resume_iteration;
  trial.resume_path = source.resume_path;
  trial.resume_owner = owner;
  ++trial.exploit_count;
  trial.config_since = AttemptNumber{trial.row.attempts + 1};
  trial.config_iteration = std::min(source.resume_iteration, trial.row.iterations);
  trial.first_unsaved.reset();
  if (trial.row.best_value && !trial.best_configuration) {
    trial.best_configuration = trial.configuration;
  }
  trial.resume_has_other_config = true;
  if (!source.resume_path.empty()) {
    RemoveCheckpoints(retention_.Borrow(trial.row.number, owner, source.resume_path));
  }
  const auto explore = SchedulerExplore(options_.spec.scheduler);
  PerturbOptions options;
  if (explore) {
    options.resample_probability = explore->resample_probability;
    options.factors = explore->perturbation_factors;
    for (const Value& name : explore->parameters) options.parameters.push_back(name.AsString());
  }
  KeyedRandom random(options_.seed, "explore", static_cast<uint64_t>(trial.row.number.value),
                     static_cast<uint64_t>(trial.row.iterations));
  trial.configuration = Perturb(options_.space, source.configuration, options, random);
  out_.exploits.push_back(ExploitRow{trial.row.number, trial.row.iterations, source.row.number,
                                     source.resume_iteration, trial.configuration});
}

}  // namespace tune
