// Brackets: ladders of rungs that trials are spread over, for the schedulers whose trials do not
// wait for each other.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <vector>

#include "core/ids.h"
#include "core/option_map.h"
#include "core/status.h"

namespace tune {

struct Brackets {
  std::vector<std::vector<int64_t>> milestones;  // Of each bracket, rising; in iterations.
  std::vector<double> weights;  // Of each: in what proportion trials are put there.
  int64_t max_t = 0;
  int64_t reduction_factor = 0;
};

// Names and defaults as in Ray.
struct LadderOptions {
  int64_t max_t = 100;
  int64_t grace_period = 1;
  int64_t reduction_factor = 4;
};
// Makes sure of what RungLevels requires.
Status ReadLadder(const OptionMap& options, LadderOptions& ladder);

// Bracket s leaves out the s lowest rungs; it has the weight exp(its number of rungs), as in Ray.
// Requires 1 <= count <= number of rungs, and what RungLevels requires.
Brackets AshaBrackets(const LadderOptions& ladder, int64_t count);

// Hyperband's (Li et al., JMLR 18-185): bracket b leaves out the b lowest of the rungs that lead up
// to max_t, and has the weight BracketSize. Requires what RungLevelsFromTop requires.
Brackets HyperbandBrackets(int64_t max_t, int64_t reduction_factor);

// How many trials begin in a bracket with `halvings` halvings of a Hyperband that has at most
// `halvings_max`: ceil((halvings_max + 1) * reduction_factor^halvings / (halvings + 1)).
int64_t BracketSize(int64_t halvings, int64_t halvings_max, int64_t reduction_factor);

// The bracket of a trial: a draw keyed with its number.
uint32_t DrawBracket(const Brackets& brackets, uint64_t seed, TrialNumber trial);

// The rung that a report fills, if any: the highest open one at or below its iteration.
// `first_open`, the lowest rung of the trial that is neither filled nor closed, goes beyond it: the
// ones that were skipped are closed unfilled.
bool FillsRung(const std::vector<int64_t>& milestones, int64_t iteration, uint32_t& first_open);

}  // namespace tune
