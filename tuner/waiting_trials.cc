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

// Why what is placed next is not placed; all that is looked at is the same for each of them.
class Reasons {
 public:
  explicit Reasons(const SweepView& view) : view_(view) {
    for (const auto& [worker, ref] : view.leases().All()) holders_.emplace(ref.epoch, worker);
  }

  std::string Of(const TrialRecord& trial) {
    if (trial.lease) {
      const auto holder = holders_.find(trial.lease->epoch);
      const WorkerId worker = holder == holders_.end() ? WorkerId{} : holder->second;
      return "is queued on " + view_.WorkerName(worker) + ", and begins when a trial there ends";
    }
    if (trial.retry_at) {
      return "backs off until " + FormatInstant(*trial.retry_at) + ": attempt " +
             std::to_string(trial.row.attempts) + " failed";
    }
    if (trial.is_paused()) return WhyPaused(trial);
    return WhyPending(view_.RequestOf(trial), trial.row.number);
  }

  std::string OfThoseToCome() { return WhyPending(view_.Request(), std::nullopt); }

 private:
  std::string WhyPaused(const TrialRecord& trial) const {
    std::string why;
    if (trial.held_by_command == PauseCommand::kTrial) why = "was paused by a person";
    if (trial.held_by_command == PauseCommand::kSweep) why = "was paused with the sweep";
    if (trial.held_by_scheduler) {
      why += std::string(why.empty() ? "was paused" : ", and") + " by the scheduler";
    }
    return why;
  }

  // One that has not begun is held by the head until those before it are over.
  std::string WhySweepPaused() const {
    const std::vector<std::string>& after = view_.options().spec.after;
    if (after.empty() || !view_.trials().empty()) return "the sweep is paused";
    std::string names;
    for (const std::string& name : after) names += (names.empty() ? "" : ", ") + ToUtf8(name);
    return "it begins when " + names + (after.size() == 1 ? " is over" : " are over");
  }

  std::string WhyPending(const ResourceRequest& request, std::optional<TrialNumber> number) {
    const LeaseTable& leases = view_.leases();
    if (view_.is_ending()) return "is not begun: the sweep is about to end";
    if (view_.is_paused()) return WhySweepPaused();
    const int64_t places = view_.running_count() + view_.backing_off_count();
    if (places >= view_.max_concurrent()) {
      return "limits.max_concurrent: " + Counted(places, "place") + " of " +
             std::to_string(view_.max_concurrent()) + " taken" +
             (view_.backing_off_count() > 0
                  ? ", " + std::to_string(view_.backing_off_count()) + " by trials that back off"
                  : "");
    }
    const std::string need = "it needs " + DescribeRequest(request);
    std::set<WorkerId> unfit;
    for (const auto& [worker, why] : view_.unfit()) unfit.insert(worker);
    if (!leases.CouldTake(request, unfit)) {
      std::string have = Workers(&Reasons::CapacityOf);
      for (const auto& [worker, why] : view_.unfit()) {
        if (leases.HasWorker(worker)) {
          have += "; " + view_.WorkerName(worker) + " cannot run it: " + why;
        }
      }
      return have.empty() ? need + ", and no worker is there"
                          : "can run on no worker that is there: " + need + "; " + have;
    }
    if (!leases.HasRoom(request, unfit)) {
      const std::string free = Workers(&Reasons::FreeOf);
      return "there is no room now: " + need +
             (free.empty() ? ", and no worker is connected" : "; " + free);
    }
    if (const std::string other = view_.HeldBackFor(); !other.empty()) {
      return "what is free is held for " + other + " (its reserve)";
    }
    // What stands before it in the turns of the searcher or scheduler is theirs alone to know.
    return number ? "waits for its turn" : "wait for their turn";
  }

  std::string CapacityOf(const WorkerView& view) const {
    return view_.WorkerName(view.worker) + " has " + DescribeCapacity(view.capacity);
  }
  std::string FreeOf(const WorkerView& view) const {
    return DescribeFree(view, view_.WorkerName(view.worker));
  }

  std::string Workers(std::string (Reasons::*describe)(const WorkerView&) const) const {
    constexpr size_t kNamedMax = 8;
    std::string text;
    size_t count = 0;
    for (const WorkerView& view : view_.leases().Views()) {
      if (view.is_draining || ++count > kNamedMax) continue;
      text += (text.empty() ? "" : "; ") + (this->*describe)(view);
    }
    if (count > kNamedMax) text += "; and " + Counted(count - kNamedMax, "other worker");
    return text;
  }

  const SweepView& view_;
  std::map<LeaseEpoch, WorkerId> holders_;
};

std::string Line(std::optional<TrialNumber> trial, int64_t count, const std::string& why) {
  Value line = Value::MakeMap();
  line.Set("trial", trial ? Value(trial->value) : Value());
  line.Set("count", count);
  line.Set("why", ToUtf8(why));
  return ToJson(line);
}

}  // namespace

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
  Reasons reasons(view);
  for (const TrialRecord& trial : view.trials()) {
    if (lines.size() + 1 >= lines_max) break;
    if (trial.is_over() || trial.is_running()) continue;
    lines.push_back(Line(trial.row.number, 1, reasons.Of(trial)));
  }
  if (view.HasMoreToCreate() && !view.is_ending()) {
    const int64_t made = static_cast<int64_t>(view.trials().size());
    const int64_t max = view.trial_count_max();
    lines.push_back(Line(std::nullopt, max < 0 ? -1 : max - made, reasons.OfThoseToCome()));
  }
  return lines;
}

}  // namespace tune
