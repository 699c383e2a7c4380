// What a model searcher knows: where each trial lies in the unit space, and what it has reached.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "core/metric.h"
#include "core/standing.h"
#include "search/searcher.h"
#include "search/unit_space.h"

namespace tune {

// Objectives turned so that lower is better; NaN stands for one without a value.
using Losses = std::vector<double>;

struct ObservedTrial {
  enum class State { kRunning, kEnded, kFailed };
  struct Intermediate {
    int64_t iteration = 0;
    Losses losses;
    double violation = 0;  // Of limits on results (core/standing.h); 0: feasible, or no limits.
  };

  TrialNumber number;
  UnitCells cells;
  State state = State::kRunning;
  bool was_stopped = false;           // From outside.
  bool is_whole = false;              // It ended by itself; never one of an earlier sweep.
  std::vector<Intermediate> reports;  // Rising iterations.
  // What the trial counts for: of one objective the best that it reported or was told of at its
  // end, of several the last. Empty while there is nothing with a value, and for a failed one.
  Losses losses;
  // Of the same report: by how much it breaks each limit, nothing where nobody can tell, and the
  // violation that they sum to.
  std::vector<Metric> margins;
  double violation = 0;

  bool is_feasible() const { return violation == 0; }
  // Of one objective, with the limits: what ranks alone go by. Requires losses.
  double ranked_loss() const { return RankedLoss(losses[0], violation); }

  int64_t iterations() const { return reports.empty() ? 0 : reports.back().iteration; }
};

class TrialObservations {
 public:
  explicit TrialObservations(const SearchProblem& problem);

  // A trial that was suggested, by this life or an earlier one, or with a number below 0 one of an
  // earlier sweep. Its values are in their domains.
  void Add(TrialNumber number, const Configuration& configuration);
  void Restore(TrialNumber number, const Configuration& configuration) {
    Add(number, configuration);
  }
  // As Searcher's. What is said of a trial that was never added is ignored.
  void OnReport(TrialNumber number, int64_t iteration, Objectives values);
  void OnStopped(TrialNumber number);
  void OnTrialEnded(TrialNumber number, Objectives last, bool failed);
  void OnReopened(TrialNumber number);

  const UnitSpace& space() const { return space_; }
  size_t objective_count() const { return modes_.size(); }
  // In the order of adding.
  const std::vector<ObservedTrial>& trials() const { return trials_; }
  // Null for a trial that was never added.
  const ObservedTrial* Find(TrialNumber number) const;
  // Whether a trial had this configuration; those of an earlier sweep count as asked for.
  bool Has(const Configuration& configuration) const;

 private:
  ObservedTrial* FindMutable(TrialNumber number);
  // The place of a number in its index, and that index.
  static size_t SlotOf(TrialNumber number);
  const std::vector<int64_t>& IndexFor(TrialNumber number) const;
  Losses ToLosses(Objectives values) const;
  void Count(ObservedTrial& trial, const Losses& losses, Objectives margins) const;
  // What stands behind the objectives.
  Objectives MarginsOf(Objectives values) const;

  UnitSpace space_;
  std::vector<Mode> modes_;
  std::vector<ObservedTrial> trials_;
  bool counts_history_;  // Configurations are to be unique, over an earlier sweep too.
  bool knows_whole_;
  bool has_limits_;
  // Of a number in trials_; -1: never added. Those below 0 from -1 downwards.
  std::vector<int64_t> index_;
  std::vector<int64_t> earlier_index_;
  std::set<std::string> seen_;  // Flat JSON.
};

}  // namespace tune
