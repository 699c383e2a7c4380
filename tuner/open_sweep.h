// A sweep at the controller that it is open at (controller.h): the machine, what it led to in this
// step, and what it is due beside others. A sweep knows of no other one, and its refs have no
// number of a sweep; here the number is put on what goes out and taken off what comes in.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tuner/sweep.h"
#include "tuner/transition.h"

namespace tune {

struct OpenSweep {
  OpenSweep(ExperimentId number, ControllerOptions options, std::unique_ptr<Searcher> searcher,
            std::unique_ptr<TrialScheduler> scheduler)
      : id(number), sweep(std::move(options), std::move(searcher), std::move(scheduler), out) {}

  const ExperimentId id;
  Transition out;  // Of this step; its actions are taken as they come.
  Sweep sweep;

  // During a step: it was told something, its time first.
  bool is_touched = false;
  // It wants more than it has, and got none since then.
  std::optional<Instant> waiting_since = {};
  // What it was last told of whether a worker could take its trials; placeable at first.
  bool is_placeable = true;
  std::string workers_have = {};

  // Workers that cannot run its trials, and why.
  std::map<WorkerId, std::string> unfit = {};
  // What was said of them, also of those that try again.
  std::map<WorkerId, std::string> told_unfit = {};

  // Workers that were told of it.
  std::set<WorkerId> known_by = {};

  // At a head: workers that were there when it came; its first step is one of its own.
  bool is_new = false;
  // Workers of which its database has rows, which are kept up to date (Switchboard::End).
  std::set<WorkerId> has_rows_of = {};

  std::set<WorkerId> UnfitWorkers() const {
    std::set<WorkerId> workers;
    for (const auto& [worker, why] : unfit) workers.insert(worker);
    return workers;
  }

  // What a worker is told before its first attempt of this sweep.
  SweepInfo Introduce(WorkerId worker) {
    known_by.insert(worker);
    SweepInfo info = sweep.Info();
    info.sweep = id;
    return info;
  }

  AttemptRef Unmarked(AttemptRef ref) const {
    ref.sweep = {};
    return ref;
  }
  AttemptRef Marked(AttemptRef ref) const {
    ref.sweep = id;
    return ref;
  }
};

}  // namespace tune
