// Between the cluster and the sweeps of a controller, which know nothing of each other: what the
// cluster notices goes to the sweeps whose leases it is about, what a sweep wishes goes to the
// cluster, what any of them says goes out, all in one order. Nobody is called while it is at work:
// what a call leads to waits until it has returned.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/ids.h"
#include "core/time.h"
#include "tuner/cluster.h"
#include "tuner/lease_event.h"
#include "tuner/open_sweep.h"
#include "tuner/transition.h"

namespace tune {

// What a step led to.
struct HeadTransition {
  // What each sweep that was told anything was told, and its rows; without actions.
  std::map<ExperimentId, Transition> sweeps;
  std::vector<Action> actions;
};

struct HeadOptions {
  // How long a worker that is not heard of keeps its trials; nothing: as the only sweep says.
  std::optional<Duration> lease = {};
  // The workers are sent home when all sweeps have ended.
  bool ends_with_sweeps = true;
};

class Switchboard {
 public:
  explicit Switchboard(const HeadOptions& options) : options_(options), cluster_(cluster_out_) {}
  Switchboard(const Switchboard&) = delete;
  Switchboard& operator=(const Switchboard&) = delete;

  Cluster& cluster() { return cluster_; }
  const Cluster& cluster() const { return cluster_; }
  std::map<ExperimentId, OpenSweep>& sweeps() { return sweeps_; }
  const std::map<ExperimentId, OpenSweep>& sweeps() const { return sweeps_; }
  OpenSweep* Find(ExperimentId id);  // Null: it is not open.

  // ---- a step

  void Begin(Instant now);
  Instant now() const { return now_; }
  // What follows is of another moment.
  void TurnClock(Instant at) { now_ = at; }
  // What a sweep is told first in a step is its time; a second one is that of another moment.
  void Touch(OpenSweep& sweep);
  void SetTime(OpenSweep& sweep, Instant at);
  // Its refs are marked with its number (AttemptRef::sweep) or with none.
  SweepAnswer Tell(OpenSweep& sweep, SweepEvent event);
  // The notices, and what they lead to; those of the queue before.
  void Heed(Notices notices);
  void Settle();
  void Add(Action action);
  // A sweep that was told nothing but its time is left out. At a head a sweep has the rows of the
  // workers on which its attempts run or ran, and one that is open, the bookkeeper, those of all
  // that are there: what a worker does costs what hangs on it, however many sweeps wait. With them
  // the head's next life begins.
  HeadTransition End();

  // Whether workers that are there could give each of its ranks a device of its own. A worker that
  // is away may be one of those that are here, started anew.
  bool CouldHaveWhole(const OpenSweep& sweep) const;

 private:
  // A notice, and whom it is for; where no sweep is open, nobody.
  struct Routed {
    ExperimentId sweep;
    Notice notice;
    bool is_first = true;  // Of those to whom the same is said.
  };

  bool Concerns(const Notice& notice, const OpenSweep& sweep) const;
  void Collect(std::vector<Action>& actions, ExperimentId sweep);
  std::vector<Routed> Route(Notices notices) const;
  void Queue(Notices notices);
  void Obey(OpenSweep& sweep);
  void Deliver(const Routed& routed);
  void SayWhoLeft(const WorkerLeft& notice);
  void ChooseBookkeeper();
  void AddWorkerRows(OpenSweep& sweep);
  void AddRowOf(WorkerId worker, OpenSweep& sweep);
  void LetWorkersLeave(OpenSweep& sweep) const;

  const HeadOptions options_;
  Instant now_;
  Transition cluster_out_;
  Cluster cluster_;
  std::map<ExperimentId, OpenSweep> sweeps_;
  std::set<ExperimentId> wishing_;  // Sweeps that wish for something.
  ExperimentId bookkeeper_;         // Of a head; 0: none is open.
  std::deque<Routed> notices_;      // Not heeded yet.
  std::vector<Action> actions_;
};

}  // namespace tune
