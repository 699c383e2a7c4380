// What the page draws, as JSON: learning curves, the Pareto front, importance, attempts on their
// workers, and a trial's log.
//
// Thread rule: the database's thread.
#pragma once

#include <cstdint>
#include <set>
#include <string>

#include "core/clock.h"
#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

// Points of curves in one answer, about.
inline constexpr int64_t kCurvePointsMax = 5000;
// Bytes of a log in one answer.
inline constexpr int64_t kLogBytesMax = 256 << 10;

struct CurveQuery {
  std::set<int64_t> trials;  // Their numbers; empty: all.
  std::string metric;        // "": the sweep's.
};

// {"metric":"loss","curves":[{"trial":1,"iterations":[1,2],"seconds":[0.5,1.1],"values":[0.4,null]}],
//  "left_out":0,"stride":1}. `seconds` are since the trial's first attempt began. Of more trials
// than have room, half are the best ones and half spread over all; of more points than have room,
// each `stride`-th and the last. kInvalidArgument: a metric's name that cannot be asked for.
Result<std::string> CurvesJson(Database& database, const FoundSweep& sweep,
                               const CurveQuery& query);

// Names of what was reported, from the latest reports of some trials: ["loss","val_accuracy"].
Result<std::string> MetricNamesJson(Database& database, const FoundSweep& sweep);

// {"objectives":[{"metric":"loss","mode":"min"}],"trials":[[3,0.1,20.0]],"front":[3]}: values in
// the order of the objectives, of each trial that has all of them.
Result<std::string> FrontJson(Database& database, const FoundSweep& sweep);

// {"metrics":[{"metric":"loss","trials":40,"iteration":9,"parameters":[{"name":"lr","share":0.8,
//  "low":0.6,"high":0.9,"is_clear":true}]}]}, or {"why_not":"..."} where nothing can be told.
// The members of an object, without its braces. Takes seconds.
Result<std::string> ImportanceMembers(Database& database, const FoundSweep& sweep);

// {"iteration":9,"rows":[[3,0.1]]}: what trials are compared by at one iteration, where some were
// stopped early, by number; "iteration" is null, and nothing in "rows", where none was. The members
// of an object, without its braces. May take seconds.
Result<std::string> ComparedMembers(Database& database, const FoundSweep& sweep);

// {"is_told":true,"known":[...],"workers":[...],"devices":[...],"waiting":[...]}: the workers that
// the database knows, and what the sweep's tuner tells of those that are there, of their devices
// and of what waits (tuner/waiting_trials.h, tuner/device_status.h). `is_told` is false, and its
// lists are empty, where no tuner answers.
Result<std::string> WorkersJson(Database& database, const FoundSweep& sweep, const Clock& clock);

// {"workers":[...],"attempts":{"columns":[...],"rows":[[...]]}}; times of attempts in milliseconds
// since 1970 UTC.
Result<std::string> TimelineJson(Database& database, const FoundSweep& sweep);

struct LogOf {
  int64_t attempt = 0;  // 0: the latest.
  int64_t rank = 0;     // Of several.
};
// {"attempts":[1,2],"attempt":2,"from":0,"to":512,"size":512,"text":"..."} of the files on this
// machine; `from` below 0: that many bytes before the end.
Result<std::string> LogJson(const std::string& db_path, const std::string& sweep, int64_t trial,
                            const LogOf& of, int64_t from);

}  // namespace tune
