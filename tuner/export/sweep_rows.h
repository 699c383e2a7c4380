// What an export reads: one sweep of a database, of one state, a row at a time, so that its size
// does not matter.
//
//   TUNE_ASSIGN_OR_RETURN(SweepRows rows, SweepRows::Open(database, sweep));
//   for (ExportedTrial trial;;) {
//     TUNE_ASSIGN_OR_RETURN(const bool has_trial, rows.NextTrial(trial));
//     if (!has_trial) break;
//     for (ExportedReport report;;) { ... rows.NextReport(report) ... }
//   }
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/configuration.h"
#include "core/metric.h"
#include "core/status.h"
#include "core/time.h"
#include "search/space.h"
#include "tuner/experiment_spec.h"
#include "tuner/sqlite/database.h"

namespace tune {

// What it is, as the caller found it.
struct ExportedSweep {
  int64_t id = 0;
  std::string name;
  std::string status;
  std::vector<Objective> objectives;
  bool has_limits = false;  // On results (`feasible`).
  Instant created_at;
  std::optional<Instant> finished_at;
};

struct ExportedTrial {
  int64_t id = 0;
  int64_t number = 0;
  std::string status;       // "TERMINATED"
  std::string stop_reason;  // Empty: none.
  int64_t iterations = 0;
  Metric best_value;
  std::optional<int64_t> best_iteration;
  Metric violation;  // Of that, in a sweep with limits on results.
  Metric last_value;
  int64_t attempts = 0;
  Instant created_at;
  std::optional<Instant> started_at;
  std::optional<Instant> finished_at;
  double run_seconds = 0;
  Configuration config;  // Of its last copy, where it went on as a copy of another.

  bool has_ended() const { return status == "TERMINATED" || status == "ERROR"; }
};

struct ExportedReport {
  int64_t attempt = 0;
  int64_t iteration = 0;
  Metric value;                   // The sweep's metric; nothing where it is not finite.
  std::string_view metrics_json;  // Good until the next report is read.
  Instant reported_at;
  // The first of its trial with so high an iteration: not one that came again after a retry, nor a
  // part of one that comes again. These alone are the trial's curve.
  bool is_new = false;
};

// {"loss": 0.5, "accuracy": "NaN"} as names and numbers.
Result<Metrics> ParseMetrics(std::string_view metrics_json);

class SweepRows {
 public:
  // Everything is read in one transaction. `on_progress`, if it is there, is told now and then how
  // many of how many reports were read.
  static Result<SweepRows> Open(Database& database, ExportedSweep sweep,
                                std::function<void(int64_t, int64_t)> on_progress = {});
  SweepRows(SweepRows&& other) noexcept;
  SweepRows& operator=(SweepRows&&) = delete;
  ~SweepRows();

  const ExportedSweep& sweep() const { return sweep_; }
  const Value& spec() const { return spec_; }
  // What was searched, by the stored spec.
  Result<SearchSpace> Space() const;

  // The names that occur: the objectives first, the others in order of the alphabet.
  Result<std::vector<std::string>> MetricNames();
  // In order of appearance.
  Result<std::vector<std::string>> ParameterNames();

  // The next by number. Begins with the first again after it has said that there is none.
  Result<bool> NextTrial(ExportedTrial& trial);
  // The next one of that trial, by attempt and iteration.
  Result<bool> NextReport(ExportedReport& report);

  Database& database() { return *database_; }

 private:
  SweepRows(Database& database, ExportedSweep sweep,
            std::function<void(int64_t, int64_t)> on_progress)
      : database_(&database), sweep_(std::move(sweep)), on_progress_(std::move(on_progress)) {}
  Status ReadSpec();

  Database* database_;  // Null: moved from.
  ExportedSweep sweep_;
  Value spec_;
  std::function<void(int64_t, int64_t)> on_progress_;
  int64_t report_total_ = 0;
  int64_t report_count_ = 0;
  bool has_copies_ = false;  // The database knows of trials that went on as copies.
  std::optional<KeptStatement> trials_;
  std::optional<KeptStatement> reports_;  // Of the present trial.
  int64_t trial_ = 0;
  int64_t iteration_ = 0;
};

}  // namespace tune
