// Whether more trials still gain anything: `until: {no_gain: 40 trials}` ends a sweep of which so
// many trials in a row have ended without a result that is better than all before, and `until:
// {regret: 0.002}` one whose search expects that the best configuration of the space is better than
// the best trial by less than that.
//
// Better is what core/standing.h calls better; of several objectives what no earlier result
// dominates or equals, limits on results included (search/pareto.h). Trials that failed count for
// nothing; those that a scheduler or a person stopped count as all others do.
//
// Thread rule: one thread. Pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/ids.h"
#include "search/pareto.h"

namespace tune {

class GainWatch {
 public:
  // `losses`: of each objective, lower is better; empty: the trial came to nothing. `most`: so many
  // without a gain are enough; nothing: however many.
  void OnTrialEnded(TrialNumber trial, const LossPoint& losses, double violation,
                    std::optional<int64_t> most);
  // The search expects that too little could still be gained, said before a trial is made.
  void OnRegretMet() { is_over_ = true; }
  // Not any more once a person asked for more trials.
  bool heeds_regret() const { return heeds_regret_; }
  // The sweep was extended: it counts anew.
  void Restart() { without_gain_ = 0, is_over_ = false, heeds_regret_ = false; }

  // There were enough; what trials that still run come to changes nothing any more.
  bool is_over() const { return is_over_; }
  // What a person does after it.
  static std::string HowToGoOn(const std::string& sweep, int64_t samples);
  int64_t without_gain() const { return without_gain_; }
  TrialNumber last_gain() const { return last_gain_; }  // Below 0: none.

 private:
  struct Standing {
    LossPoint losses;
    double violation = 0;
  };
  // As good in everything.
  static bool Covers(const Standing& a, const Standing& b);

  std::vector<Standing> best_;  // Those that no other covers.
  int64_t without_gain_ = 0;
  bool is_over_ = false;
  bool heeds_regret_ = true;
  TrialNumber last_gain_{-1};
};

}  // namespace tune
