// The last, least and greatest value of a metric in each trial of a sweep. A trial is read again
// when its row has changed.
//
// Thread rule: the database's thread.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "core/status.h"
#include "tuner/page/page_json.h"
#include "tuner/page/trial_rows.h"
#include "tuner/sqlite/database.h"

namespace tune {

class MetricRanges {
 public:
  MetricRanges(std::string metric, MetricColumn column)
      : metric_(std::move(metric)), column_(std::move(column)) {}

  const std::string& metric() const { return metric_; }

  // {"metric":"loss","columns":["number","last","min","max"],"rows":[[0,0.3,0.2,0.9]]}, a row for
  // each trial that has reported a number; of an iteration that came again the later value counts.
  Result<std::string> Answer(Database& database, const TrialRows& trials);

 private:
  struct Range {
    int64_t revision = 0;  // Of the trial's row.
    std::string json;      // "[...]"; empty: it has none.
  };

  Status Read(Database& database, int64_t trial, int64_t number, std::string& json) const;

  std::string metric_;
  MetricColumn column_;
  std::map<int64_t, Range> ranges_;  // By the trial's id.
};

}  // namespace tune
