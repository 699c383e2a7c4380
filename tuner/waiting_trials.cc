#include "tuner/waiting_trials.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "core/resource_text.h"
#include "core/utf8.h"
#include "core/value.h"
#include "trial_runner/lease_table.h"
#include "trial_runner/placement.h"
#include "tuner/sweep_view.h"

namespace tune {
namespace {

// "local has 1 of 8 CPUs and 0.5, 0 of its 2 GPUs free".
std::string DescribeFree(const WorkerView& view, const std::string& name) {
  std::string text = name + " has " + DescribeShare(view.free_cpu_milli) + " of " +
                     DescribeShare(view.capacity.cpu_milli) + " CPUs";
  if (!view.free_gpu_milli.empty()) {
    text += " and ";
    for (size_t i = 0; i < view.free_gpu_milli.size(); ++i) {
      text += (i == 0 ? "" : ", ") + DescribeShare(view.free_gpu_milli[i]);
    }
    text += " of its " + Counted(static_cast<int64_t>(view.free_gpu_milli.size()), "GPU");
  }
  return text + " free";
}

std::string WhyPaused(const TrialRecord& trial) {
  std::string why;
  if (trial.held_by_command == PauseCommand::kTrial) why = "was paused by a person";
  if (trial.held_by_command == PauseCommand::kSweep) why = "was paused with the sweep";
  if (trial.held_by_scheduler) {
    why += std::string(why.empty() ? "was paused" : ", and") + " by the scheduler";
  }
  return why;
}

// One that has not begun is held by the head until those before it are over.
std::string WhySweepPaused(const SweepView& sweep) {
  const std::vector<std::string>& after = sweep.options().spec.after;
  if (after.empty() || !sweep.trials().empty()) return "the sweep is paused";
  std::string names;
  for (const std::string& name : after) names += (names.empty() ? "" : ", ") + ToUtf8(name);
  return "it begins when " + names + (after.size() == 1 ? " is over" : " are over");
}

std::string WhyNoMorePlaces(const SweepView& sweep, int64_t places) {
  return "limits.max_concurrent: " + Counted(places, "place") + " of " +
         std::to_string(sweep.max_concurrent()) + " taken" +
         (sweep.backing_off_count() > 0
              ? ", " + std::to_string(sweep.backing_off_count()) + " by trials that back off"
              : "");
}

std::string DescribeWorkers(const SweepView& sweep,
                            const std::function<std::string(const WorkerView&)>& describe) {
  constexpr size_t kNamedMax = 8;
  std::string text;
  size_t count = 0;
  for (const WorkerView& view : sweep.leases().Views()) {
    if (view.is_draining || ++count > kNamedMax) continue;
    text += (text.empty() ? "" : "; ") + describe(view);
  }
  if (count > kNamedMax) text += "; and " + Counted(count - kNamedMax, "other worker");
  return text;
}

std::string DescribeCapacities(const SweepView& sweep) {
  return DescribeWorkers(sweep, [&sweep](const WorkerView& view) {
    return sweep.WorkerName(view.worker) + " has " + DescribeCapacity(view.capacity);
  });
}

std::string DescribeAllFree(const SweepView& sweep) {
  return DescribeWorkers(sweep, [&sweep](const WorkerView& view) {
    return DescribeFree(view, sweep.WorkerName(view.worker));
  });
}

std::string Line(std::optional<TrialNumber> trial, int64_t count, const std::string& why) {
  Value line = Value::MakeMap();
  line.Set("trial", trial ? Value(trial->value) : Value());
  line.Set("count", count);
  line.Set("why", ToUtf8(why));
  return ToJson(line);
}

}  // namespace

std::optional<std::string> WaitingReasons::First(const SweepView& view) {
  for (const TrialRecord& trial : view.trials()) {
    if (!trial.is_over() && !trial.is_running()) return Of(view, trial);
  }
  if (view.HasMoreToCreate() && !view.is_ending()) return OfThoseToCome(view);
  return std::nullopt;
}

std::string WaitingReasons::Of(const SweepView& view, const TrialRecord& trial) {
  if (trial.lease) {
    return "is queued on " + view.WorkerName(HolderOf(view, trial.lease->epoch)) +
           ", and begins when a trial there ends";
  }
  if (trial.retry_at) {
    return "backs off until " + FormatInstant(*trial.retry_at) + ": attempt " +
           std::to_string(trial.row.attempts) + " failed";
  }
  if (trial.is_paused()) return WhyPaused(trial);
  return WhyPending(view, view.RequestOf(trial), trial.row.number);
}

std::string WaitingReasons::OfThoseToCome(const SweepView& view) {
  return WhyPending(view, view.Request(), std::nullopt);
}

WorkerId WaitingReasons::HolderOf(const SweepView& view, LeaseEpoch epoch) {
  if (!holders_) {
    holders_.emplace();
    for (const auto& [worker, ref] : view.leases().All()) holders_->emplace(ref.epoch, worker);
  }
  const auto holder = holders_->find(epoch);
  return holder == holders_->end() ? WorkerId{} : holder->second;
}

WaitingReasons::Room WaitingReasons::RoomFor(const SweepView& view,
                                             const ResourceRequest& request) {
  std::set<WorkerId> unfit;
  for (const auto& [worker, why] : view.unfit()) unfit.insert(worker);
  if (unfit.empty() && last_room_ && last_room_->request == request) return *last_room_;
  Room room{request, view.leases().CouldTake(request, unfit), false};
  room.is_there = room.could_take && view.leases().HasRoom(request, unfit);
  if (unfit.empty()) last_room_ = room;
  return room;
}

std::string WaitingReasons::WhyPending(const SweepView& view, const ResourceRequest& request,
                                       std::optional<TrialNumber> number) {
  if (view.is_ending()) return "is not begun: the sweep is about to end";
  if (view.is_paused()) return WhySweepPaused(view);
  const int64_t places = view.running_count() + view.backing_off_count();
  if (places >= view.max_concurrent()) return WhyNoMorePlaces(view, places);
  const std::string need = "it needs " + DescribeRequest(request);
  const Room room = RoomFor(view, request);
  if (!room.could_take) {
    if (!capacities_) capacities_ = DescribeCapacities(view);
    std::string have = *capacities_;
    for (const auto& [worker, why] : view.unfit()) {
      if (view.leases().HasWorker(worker)) {
        have += "; " + view.WorkerName(worker) + " cannot run it: " + why;
      }
    }
    return have.empty() ? need + ", and no worker is there"
                        : "can run on no worker that is there: " + need + "; " + have;
  }
  if (!room.is_there) {
    if (!free_) free_ = DescribeAllFree(view);
    return "there is no room now: " + need +
           (free_->empty() ? ", and no worker is connected" : "; " + *free_);
  }
  if (!reserves_) reserves_ = view.LookAtReserves();
  if (const std::string other = view.HeldBackFor(*reserves_); !other.empty()) {
    return "what is free is held for " + other + " (its reserve)";
  }
  // What stands before it in the turns of the searcher or scheduler is theirs alone to know.
  return number ? "waits for its turn" : "wait for their turn";
}

std::vector<std::string> EncodeWorkers(const SweepView& sweep, Instant now,
                                       const std::function<HeardOfWorker(WorkerId)>& heard_of) {
  std::vector<std::string> lines;
  const LeaseTable& leases = sweep.leases();
  for (const WorkerView& view : leases.Views()) {
    const auto found = sweep.workers().find(view.worker);
    if (found == sweep.workers().end()) continue;
    const WorkerRecord& record = found->second;
    Value slices = Value::MakeList();
    for (const LeaseTable::Lease& lease : leases.RunningOn(view.worker)) {
      Value slice = Value::MakeMap();
      slice.Set("trial", lease.ref.trial.value);
      const std::string other = sweep.NameOfOther(lease.ref.sweep);
      if (!other.empty()) slice.Set("sweep", ToUtf8(other));
      slice.Set("cpus", InWholes(lease.placement.cpu_milli));
      slices.AsList().push_back(std::move(slice));
    }
    Value line = Value::MakeMap();
    line.Set("worker", ToUtf8(record.row.name));
    line.Set("address", ToUtf8(record.row.address));
    line.Set("is_local", record.row.is_local);
    line.Set("state", leases.IsAway(view.worker) ? "away"
                      : view.is_draining         ? "draining"
                                                 : "alive");
    line.Set("cpus", InWholes(view.capacity.cpu_milli));
    line.Set("slices", std::move(slices));
    const HeardOfWorker heard = heard_of(view.worker);
    // A tenth of a second is enough for a person.
    const auto tenths = [&] { return std::max<int64_t>(0, (now - *heard.at).us) / 100'000; };
    line.Set("silent_seconds", heard.at ? Value(static_cast<double>(tenths()) / 10) : Value());
    line.Set("waits_for", heard.waits_for.empty() ? Value() : Value(ToUtf8(heard.waits_for)));
    lines.push_back(ToJson(line));
  }
  return lines;
}

std::vector<std::string> EncodeWaiting(const SweepView& view, size_t lines_max) {
  std::vector<std::string> lines;
  WaitingReasons reasons;
  for (const TrialRecord& trial : view.trials()) {
    if (lines.size() + 1 >= lines_max) break;
    if (trial.is_over() || trial.is_running()) continue;
    lines.push_back(Line(trial.row.number, 1, reasons.Of(view, trial)));
  }
  if (view.HasMoreToCreate() && !view.is_ending()) {
    const int64_t made = static_cast<int64_t>(view.trials().size());
    const int64_t max = view.trial_count_max();
    lines.push_back(Line(std::nullopt, max < 0 ? -1 : max - made, reasons.OfThoseToCome(view)));
  }
  return lines;
}

}  // namespace tune
