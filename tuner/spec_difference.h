// What a sweep was decided by, stored and as a file has it now: a resume goes on only with the same
// one, or earlier decisions would not be comparable with later ones.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <vector>

#include "tuner/experiment_spec.h"

namespace tune {

// A line for each place of space, constraints, points, from, metric, mode, search and scheduler
// that is not the same: "space.lr.uniform[1]: 0.1 is stored, the file has 0.2". The order of
// parameters counts (a grid goes by it); a default written out is the same as one left out only for
// the names random and fifo.
std::vector<std::string> DescribeSpecDifferences(const ExperimentSpec& stored,
                                                 const ExperimentSpec& file);

}  // namespace tune
