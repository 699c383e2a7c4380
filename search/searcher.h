// Which configuration a trial gets. A searcher is pure: what it answers follows from its options,
// the seed, the trial's number and, for those that learn, what was told to it; never from time or
// call order.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/configuration.h"
#include "core/ids.h"
#include "core/metric.h"
#include "core/status.h"
#include "core/value.h"
#include "search/earlier_trial.h"
#include "search/space.h"

namespace tune {

class Searcher {
 public:
  virtual ~Searcher() = default;

  // The configuration of trial `number`; nothing when the space is exhausted. Numbers come once
  // each, rising.
  virtual std::optional<Configuration> Suggest(TrialNumber number) = 0;
  // Recovery: the answer that Suggest gave in an earlier life, in place of asking again. A number
  // below 0: a trial of an earlier sweep.
  virtual void Restore(TrialNumber number, const Configuration& configuration) = 0;

  // What became of it. A searcher that learns from nothing ignores both. Iterations of a trial
  // rise. `last`: what it reported last, or was told of at its end; empty metrics where there is
  // nothing. A trial that was stopped ends like others.
  // `values`, `last`: one for each objective, then one for each limit on results: by how much the
  // result breaks it (core/standing.h), nothing where nobody can tell.
  virtual void OnReport(TrialNumber number, int64_t iteration, Objectives values) = 0;
  virtual void OnTrialEnded(TrialNumber number, Objectives last, bool failed) = 0;

  // A scheduler, a person or a limit of the sweep stops a trial, said before its end: it could have
  // gone on. One that ends without it is whole, however long it was.
  virtual void OnStopped(TrialNumber /*number*/) {}
  // How long a trial ran in all, said before its end where it is known; for a searcher that heeds
  // what trials cost, or what its own thinking may cost beside them.
  virtual void OnDuration(TrialNumber, double /*seconds*/) {}

  // A trial that failed is given another chance: what was told of its end holds no more, and it
  // will end again. What it reported stands.
  virtual void OnReopened(TrialNumber /*number*/) {}

  // How well it predicts results from those that it has seen: 1 is perfect, 0 no better than their
  // mean. Nothing where it predicts none, or too few are there.
  virtual std::optional<double> PredictiveSkill() { return std::nullopt; }
  // By how much the best configuration of the space is expected to be better than the best that was
  // tried, in the metric's units. Nothing where it is not estimated, or too little is known.
  virtual std::optional<double> RemainingRegret() { return std::nullopt; }
  // Whether it is estimated at all.
  virtual bool EstimatesRegret() const { return false; }
  // What a person should hear of how the search goes on, since this was last asked; mostly empty.
  virtual std::string TakeNews() { return {}; }

  // Whether results change later suggestions; if so none is drawn ahead of need.
  virtual bool LearnsFromResults() const = 0;
  virtual std::string DebugString() const = 0;
};

// By which rules a sweep is searched: those of the build that began it.
enum class SearchRules {
  kFirst,
  // `auto` takes gp for conditions, choices, several objectives and up to 50 parameters.
  kFrom13,
  // `auto` takes it for the first of many trials, too, and results may change its mind. Trials that
  // ended by themselves count as whole ones. A bend of margins keeps them apart from their bound.
  // Of runs that are repeated (`repeat`) a limit is broken by the mean of what each breaks it by,
  // where it was the mean of their margins: what one kept made up for another's.
  kFrom14,
  // gp tells what may be gained only once as many trials as it spreads first have succeeded, and
  // not all alike. `auto` looks at each trial's best report, where it looked at its last.
  kFrom15,
  // Constants that conditions and constraints look at make no grid: guesses are tried, and points
  // count among the samples. Where configurations are to be unique, a point is not tried again
  // either. That no draw of one trial fits the constraints says nothing of other trials.
  // cmaes begins its first run after all trials of an earlier sweep. gp looks at as many points
  // where constraints forbid most, and else tells no regret. A reference that lies beyond the
  // results counts where it lies.
  kFrom16,
};

// What is searched.
struct SearchProblem {
  SearchSpace space;
  std::vector<Mode> modes = {Mode::kMax};  // One for each objective.
  size_t limit_count = 0;                  // Limits on results.
  int64_t samples = -1;                    // How many trials at most; -1: no limit.
  uint64_t seed = 0;
  std::optional<int64_t> max_t =
      {};  // The iterations of a whole trial, where the scheduler says so.
  std::vector<Configuration> points = {};  // To try first, whole or partial (points.h).
  // An earlier sweep's trials, which fit the space. Those that learn hear of them as of trials with
  // numbers below 0.
  std::vector<EarlierTrial> history = {};
  // An earlier sweep was named, so that there is something to learn from at the first trial.
  bool has_earlier = false;
  // Trials of an earlier sweep over other data, or another space: what of each this space has
  // (ShareOfSpace). They are no results of this one (search/gp/prior.h).
  std::vector<EarlierTrial> prior = {};
  bool has_prior = false;     // Such a one was named.
  bool needs_regret = false;  // RemainingRegret will be asked for.
  size_t point_count = 0;     // Of the points, to a searcher within another one.
  SearchRules rules = SearchRules::kFrom16;
  // Whether the guesses beside the domains are tried first; not by a searcher within another.
  bool begins_with_guesses = true;
  // `unique` was asked for: what an earlier sweep tried is not tried again either.
  bool is_unique = false;
};

// `search`: the spec's `search` value ({algorithm: NAME, ...}), null for random. Checks names and
// options; errors carry "line:column: ". Every algorithm takes `unique: true`, no configuration
// twice (those that learn never repeat one), and `repeat: k`, each configuration in k trials
// (repeat_searcher.h).
Result<std::unique_ptr<Searcher>> MakeSearcher(const Value& search, SearchProblem problem);

// In how many trials each configuration is tried. Requires what MakeSearcher takes.
int64_t RepeatCount(const Value& search);

// How many trials the sweep has if nothing ends it sooner; -1: no end. `samples` counts
// configurations, each of which has `repeat` trials; `points` of them are given. With grid_search
// domains it counts repetitions of the whole product. Under algorithm grid, and where
// configurations are unique and can be counted, their number bounds it. Points come in addition to
// a grid, otherwise they count among the samples.
int64_t TrialCount(const Value& search, const SearchSpace& space, int64_t samples,
                   int64_t points = 0, SearchRules rules = SearchRules::kFrom16);

}  // namespace tune
