// A job as a person sees it: its state, why, and what its program ended with.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"

namespace tune {

enum class JobState { kPending, kRunning, kSucceeded, kFailed, kStopped };
const char* JobStateName(JobState state);  // "PENDING".
inline bool IsFinal(JobState state) {
  return state != JobState::kPending && state != JobState::kRunning;
}

struct FoundJob {
  std::string name;
  JobState state = JobState::kPending;
  // From a closed list: waits_for_resources, waits_for_job, dependency_failed, paused, backing_off,
  // no_head, exit_status, out_of_memory, time_limit, no_progress, worker_lost, can_never_run,
  // stopped_by_user; empty where there is nothing to say.
  std::string reason;
  std::string sentence;  // Of the reason, for a person.
  int exit_status = 0;   // Of the command that waited for it: the program's own.
  // Its program's; nothing: it is not over, or was stopped.
  std::optional<int64_t> program_status() const {
    const bool has_one = IsFinal(state) && state != JobState::kStopped;
    return has_one ? std::optional<int64_t>(exit_status) : std::nullopt;
  }
  std::string resources;  // "1 CPU".
  std::string owner;
  std::string command;  // What runs, as a shell would be told.
  SweepLabels labels;
  int64_t created_us = 0;
  std::optional<int64_t> started_us, finished_us;
};

// Whether it is one: a sweep of one trial without parameters, whose metric is its exit status.
bool IsJob(const FoundSweep& sweep);

// All of the database that have these tags (KeepTagged), by id. A living head is asked once, for
// all of them, which are paused and why the others wait; `told` becomes why it has not told that of
// each.
Result<std::vector<FoundJob>> ListJobs(Database& database, const std::vector<std::string>& tags,
                                       const Clock& clock, Status& told);
// Requires that it is one. Without what it waits for.
Result<JobState> ReadJobState(Database& database, const FoundSweep& sweep);
// Requires that it is one.
Result<FoundJob> ReadJob(Database& database, FoundSweep sweep, const Clock& clock, bool asks);
// kNotFound: no sweep is called so; kInvalidArgument: it is a sweep, and no job.
Result<FoundJob> FindJob(Database& database, const std::string& name, const Clock& clock);

}  // namespace tune
