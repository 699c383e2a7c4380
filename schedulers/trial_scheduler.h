// How far a trial may go. A scheduler is pure: it answers each report from what it was told before.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"

namespace tune {

enum class Verdict { kContinue, kStop, kPause };
enum class StopCause { kNone, kMaxT, kScheduler };

// The answer to a report, with what explains it. The last four are there when the report filled a
// rung.
struct Decision {
  Verdict verdict = Verdict::kContinue;
  StopCause cause = StopCause::kNone;  // kNone unless verdict is kStop.
  std::optional<int64_t> rung = {};    // The milestone, in iterations.
  // What passes is at least as good. Nothing while nobody passes or all do, and for a report
  // without a value.
  std::optional<double> cutoff = {};
  std::optional<int64_t> rank = {};   // 1 = best, among `count`; ties share the better rank.
  std::optional<int64_t> count = {};  // Of the rung, this one included.
  friend bool operator==(const Decision&, const Decision&) = default;
};

// What becomes of a paused trial, earned by others or by time of its own.
struct Order {
  enum class Kind {
    kResume,   // It goes on from its checkpoint.
    kStop,     // It is over: StopCause::kScheduler.
    kExploit,  // It goes on from the latest checkpoint of `source`, with a configuration near its.
  };
  Kind kind = Kind::kResume;
  TrialNumber trial;
  std::optional<TrialNumber> source = {};  // Of kExploit.
  // What explains it, as in Decision.
  std::optional<int64_t> rung = {};
  std::optional<double> cutoff = {};
  std::optional<int64_t> rank = {};
  std::optional<int64_t> count = {};
  friend bool operator==(const Order&, const Order&) = default;
};

// For the live table: how many reached a rung and what it takes to pass.
struct RungView {
  int64_t bracket = 0;
  int64_t milestone = 0;
  int64_t count = 0;
  std::optional<double> cutoff;
};

// " 0/1:5@0.4 0/2:3": bracket, milestone, count, cutoff of each.
std::string DescribeRungs(const std::vector<RungView>& rungs);

class TrialScheduler {
 public:
  virtual ~TrialScheduler() = default;

  // Once; and again for one that had ended as failed and gets another chance, which goes on where
  // it was.
  virtual void OnTrialAdded(TrialNumber trial) = 0;
  // Iterations of a trial rise strictly; the caller sees to it. A missing or NaN value is nullopt.
  virtual Decision OnReport(TrialNumber trial, int64_t iteration, Metric value) = 0;
  // A report with which the trial ends, whatever is answered; OnTrialEnded follows. One that pauses
  // trials at rungs takes it for no rung, below its max_t: the places there are for those that can
  // go on.
  virtual Decision OnLastReport(TrialNumber trial, int64_t iteration, Metric value) {
    return OnReport(trial, iteration, value);
  }
  // The trial is over: it ended by itself, was stopped, or failed for good. A failed one stays in
  // no open rung.
  virtual void OnTrialEnded(TrialNumber trial, bool failed) = 0;
  // No trial is added any more, unless the sweep is extended later: what waits for a full bracket
  // waits no longer. May be said again.
  virtual void OnNoMoreTrials() = 0;
  // Whether a report of this iteration, which it has not reported yet, may pause the trial: it had
  // better have a checkpoint. May be false where any report may (median_stopping).
  virtual bool PausesAt(TrialNumber /*trial*/, int64_t /*iteration*/) const { return false; }
  // What the calls since the last one led to, in order, each trial at most once (nothing from a
  // stopping scheduler). Asked for after each of the four above; a trial may end in between, and is
  // not named then. A trial that was stopped so need not be named in OnTrialEnded.
  virtual std::vector<Order> TakeOrders() = 0;

  virtual std::vector<RungView> Rungs() const = 0;
  virtual std::string name() const = 0;  // "asha"; stands in the decisions view.
  virtual std::string DebugString() const = 0;
};

// What a combination of schedulers decides by.
enum class CombineRules {
  kInOrder,     // Each part hears each report.
  kPausesLast,  // The part that pauses trials does not hear a report by which another stops one.
};

// `scheduler`: the spec's value: null or "fifo", "asha", {asha: {max_t: ...}}, or a list of such
// under `combine`. Checks names and options; errors carry "line:column: ". The seed keys its draws.
Result<std::unique_ptr<TrialScheduler>> MakeScheduler(
    const Value& scheduler, Mode mode, uint64_t seed,
    CombineRules combine_rules = CombineRules::kPausesLast);

// Both require what MakeScheduler takes. The scheduler's max_t, where it has one: a trial never
// trains beyond it.
std::optional<int64_t> SchedulerMaxT(const Value& scheduler);
// Whether it may pause trials, which then need checkpoints to go on from.
bool SchedulerPauses(const Value& scheduler);

// How the configuration of a trial that exploits another is made from the other's. Names as in Ray.
struct ExploreOptions {
  double resample_probability = 0.25;
  std::vector<double> perturbation_factors = {1.2, 0.8};
  std::vector<Value> parameters;  // Names, with their places; none: all that have a domain.
};
// Of a scheduler that orders to exploit. Requires what MakeScheduler takes.
std::optional<ExploreOptions> SchedulerExplore(const Value& scheduler);

}  // namespace tune
