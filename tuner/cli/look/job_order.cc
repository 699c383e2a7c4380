#include "tuner/cli/look/job_order.h"

#include <optional>
#include <utility>

#include "core/utf8.h"
#include "tuner/cli/look/found_job.h"
#include "tuner/cli/look/trial_counts.h"
#include "tuner/control/control_request.h"

namespace tune {
namespace {

Result<AfterView> LookAt(Database& database, const FoundSweep& sweep) {
  const std::string name = Printable(sweep.name);
  if (IsJob(sweep)) {
    TUNE_ASSIGN_OR_RETURN(const JobState state, ReadJobState(database, sweep));
    if (!IsFinal(state)) return AfterView{AfterState::kWaits, "begins when " + name + " is over"};
    if (state == JobState::kSucceeded) return AfterView{};
    return AfterView{AfterState::kFailed, name + " is " + JobStateName(state)};
  }
  if (sweep.status == "FINISHED") return AfterView{};
  if (!sweep.given_up.empty()) return AfterView{AfterState::kFailed, name + " is given up"};
  if (sweep.status == "STOPPED") return AfterView{AfterState::kFailed, name + " is STOPPED"};
  return AfterView{AfterState::kWaits, "begins when " + name + " is over"};
}

}  // namespace

Result<AfterView> LookAfter(Database& database, const std::vector<std::string>& names) {
  AfterView worst;
  for (const std::string& name : names) {
    TUNE_ASSIGN_OR_RETURN(const std::optional<FoundSweep> sweep, FindNamed(database, name));
    AfterView view{AfterState::kFailed, Printable(name) + " is gone"};
    if (sweep) {
      TUNE_ASSIGN_OR_RETURN(view, LookAt(database, *sweep));
    }
    if (view.state > worst.state) worst = std::move(view);
  }
  return worst;
}

Status CheckOrder(const std::string& db_path, const std::vector<std::string>& after) {
  if (after.empty()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(db_path));
  for (const std::string& name : after) {
    TUNE_RETURN_IF_ERROR(FindSweep(*database, name).status().At("after"));
  }
  TUNE_ASSIGN_OR_RETURN(const AfterView view, LookAfter(*database, after));
  if (view.state != AfterState::kFailed) return OkStatus();
  return FailedPrecondition("after: " + view.sentence);
}

Result<std::string> WhatHoldsIt(Database& database, const FoundSweep& sweep) {
  if (sweep.status != kStatePaused) return std::string();
  const Result<ExperimentSpec> spec = ReadStoredSpec(database, sweep);
  TUNE_ASSIGN_OR_RETURN(const TrialCounts counts, CountTrials(database, sweep.id));
  const bool has_begun = !counts.by_status.empty();
  if (!spec.ok() || spec->after.empty() || has_begun) return std::string();
  TUNE_ASSIGN_OR_RETURN(AfterView view, LookAfter(database, spec->after));
  return view.state == AfterState::kWaits ? std::move(view.sentence) : std::string();
}

}  // namespace tune
