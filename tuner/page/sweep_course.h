// The course of a sweep, from its reports in order of arrival: how its best value rose, and what
// each rung let through. Reads on where it was, so that a look at a living sweep costs what is new.
//
// Thread rule: the database's thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/metric.h"
#include "core/status.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/sqlite/database.h"

namespace tune {

class SweepCourse {
 public:
  // Reports read at a look at most, so that others need not wait: about a tenth of a second.
  static constexpr int64_t kReportsALook = 200'000;

  struct Step {
    int64_t id = 0, number = 0;  // Of the trial.
    int64_t iteration = 0, at_us = 0;
    double value = 0;
  };

  explicit SweepCourse(const FoundSweep& sweep)
      : experiment_(sweep.id),
        mode_(sweep.direction()),
        has_limits_(sweep.has_limits()),
        is_told_(sweep.is_told()) {}

  // True: there is more to read. Within a transaction of the database: trials and reports must be
  // of one state.
  Result<bool> Refresh(Database& database);

  // "best":[{"at":..., "trial":3, "iteration":4, "value":0.9}], each better than those before;
  // "rungs":[{"rung":4, "reached":9, "stopped":6, "cutoff":0.5}], the cutoff that of the latest;
  // "reports": how many were read. A trial that failed is left out of the best.
  std::string Json() const;
  // Those that trials have reached, rising.
  std::vector<int64_t> rungs() const;
  // The same steps.
  const std::vector<Step>& best() const { return best_; }

 private:
  struct Rung {
    std::set<int64_t> reached;  // Trials, by id.
    int64_t stopped = 0;
    std::optional<double> cutoff;
  };

  struct Trial {
    int64_t number = 0;
    std::optional<int64_t> best_iteration = {};
    Metric best_value = {};
  };

  struct Report {
    int64_t row = 0, trial = 0, iteration = 0, at_us = 0;
    std::optional<double> value;
    std::optional<int64_t> decision, rung;
    std::optional<double> cutoff;
    bool keeps_limits = true;
  };

  static Report ReportOf(const Statement& row);
  void Take(const Report& report);
  // Parts that are whole by now, in order of arrival.
  Result<std::vector<Report>> TakeParts(Database& database);
  Status ReadTrials(Database& database);
  Status CheckLastReport(Database& database);
  Status ReadOrders(Database& database);
  void Forget();

  int64_t experiment_;
  Mode mode_;
  bool has_limits_;  // Of results, those that keep them alone are in the course of the best.
  bool is_told_;     // By ask and tell: no report has a decision.
  int64_t last_report_ = 0;                  // Rows of report_rows are in order of arrival.
  int64_t last_trial_ = 0, last_at_us_ = 0;  // Of it.
  int64_t report_count_ = 0;
  std::map<int64_t, Trial> trials_;  // By id.
  std::set<int64_t> failed_, over_;
  // Reports of a part of an iteration: rows that are written anew when the sweep's metric comes. By
  // trial, whose last report it is.
  std::map<int64_t, int64_t> parts_;
  std::vector<Step> best_;
  std::map<int64_t, Rung> rungs_;
  std::map<int64_t, int64_t> stopped_later_;  // By rung.
};

}  // namespace tune
