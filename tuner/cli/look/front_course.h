// How the best of a sweep came to be, trial by trial: of several objectives the hypervolume that
// the trials so far cover, of one the best value so far. Trials count in the order in which they
// ended, those that failed or break limits on results not at all.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "tuner/cli/look/pareto_front.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

struct CourseStep {
  int64_t ended = 0;  // How many trials had ended with values.
  int64_t trial = 0;  // The last of them.
  double value = 0;   // The hypervolume, or the best value.
};

struct FrontCourse {
  // Below which the volume is measured, as metrics are reported; empty of one objective. What
  // `search: {reference: ...}` says, else the worst value of each objective and a tenth of its
  // range beyond.
  std::vector<double> reference;
  bool is_reference_given = false;
  std::vector<CourseStep> steps;  // Those that changed the value, or that were asked for.
  int64_t ended = 0;              // Of all.
};

enum class CourseDetail {
  kEachStep,
  kQuarters,  // After each quarter of the trials alone: volumes of large fronts take long.
};

// Pure. `trials` in the order in which they ended. `given`: the reference, or empty.
FrontCourse CourseOf(const std::vector<ObjectiveValues>& trials,
                     const std::vector<Objective>& objectives, const std::vector<double>& given,
                     CourseDetail detail = CourseDetail::kEachStep);

Result<FrontCourse> ReadFrontCourse(Database& database, const FoundSweep& sweep,
                                    CourseDetail detail);

// "hypervolume 5.41 after 60 trials: 3.98 after 15, 4.87 after 30, 5.36 after 45; below 1.1 and 6".
// Empty: there is none.
std::string DescribeCourse(const FrontCourse& course);

}  // namespace tune
