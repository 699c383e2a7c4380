#include "bench/cluster/adaptive.h"

#include <algorithm>
#include <cmath>

namespace tune {
namespace {

constexpr double kTargetSeconds = 5;         // distributed.adaptive.target-duration
constexpr int kWaitCount = 3;                // distributed.adaptive.wait-count
constexpr double kUnknownTaskSeconds = 0.5;  // distributed.scheduler.unknown-task-duration

}  // namespace

void Adaptive::OnTaskDone(double seconds) {
  task_seconds_ = task_seconds_ ? 0.5 * seconds + 0.5 * *task_seconds_ : seconds;
}

int64_t Adaptive::Target(const AdaptiveLook& look) const {
  int64_t processing = 0, idle = 0;
  for (const auto& [worker, tasks] : look.running) {
    processing += tasks;
    idle += tasks == 0 ? 1 : 0;
  }
  const auto workers = static_cast<int64_t>(look.running.size());
  const double occupancy =
      static_cast<double>(processing + look.queued) * task_seconds_.value_or(kUnknownTaskSeconds);
  auto cpu = static_cast<int64_t>(std::ceil(occupancy / kTargetSeconds));
  cpu = std::min(cpu, look.queued + processing);  // A few long tasks ask for no more than they are.
  if (workers > 0) cpu = (cpu + look.threads - 1) / look.threads;
  if (look.queued > 0 && workers == 0) cpu = std::max<int64_t>(1, cpu);
  return cpu >= workers ? cpu : workers - idle;
}

AdaptiveOrder Adaptive::Look(const AdaptiveLook& look) {
  const auto plan = static_cast<int64_t>(look.running.size() + look.pending.size());
  const int64_t target = std::min(look.max, Target(look));
  if (target >= plan) {
    close_counts_.clear();
    return {target - plan, {}};
  }
  std::set<int64_t> to_close;
  for (const int64_t worker : look.pending) {
    if (static_cast<int64_t>(to_close.size()) < plan - target) to_close.insert(worker);
  }
  for (const auto& [worker, tasks] : look.running) {
    const bool is_wanted = static_cast<int64_t>(to_close.size()) < plan - target;
    if (is_wanted && tasks == 0) to_close.insert(worker);
  }
  AdaptiveOrder order;
  std::map<int64_t, int> counts;
  for (const int64_t worker : to_close) {
    const int count = close_counts_[worker] + 1;
    if (count >= kWaitCount) {
      order.close.push_back(worker);
    } else {
      counts[worker] = count;
    }
  }
  close_counts_ = std::move(counts);
  return order;
}

}  // namespace tune
