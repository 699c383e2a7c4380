// The event files of a sweep that runs: what `tune export --to tensorboard` writes, while it
// happens.
//
// It follows the database, so that nothing is in the files that was not committed, and what a
// killed tuner did not come to write is there after the next Follow. A file that is there already
// is read first: whole records stay, one that was cut short goes, and no step is written twice.
//
// An iteration that is reported in parts is one row, which each part writes anew. It is in the file
// once it is whole; what there is of it, when its trial reports another one, or is over.
//
// It is an effect that nothing depends on: a full disk is a line to say, and is tried again later.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/time.h"
#include "tuner/export/event_records.h"
#include "tuner/export/sweep_rows.h"
#include "tuner/sqlite/database.h"

namespace tune {

class TensorboardLog {
 public:
  // `folder`: where the runs lie; made when there is something to write.
  static Result<std::unique_ptr<TensorboardLog>> Open(const std::string& db_path,
                                                      ExportedSweep sweep, std::string folder);

  // Appends what was committed since the last call. A line for the person who watches, when it
  // begins to fail and when it is well again; nothing otherwise.
  std::optional<std::string> Follow(Instant now);
  // The same, at once, and how the trials that are over went: once, last.
  std::optional<std::string> Finish();
  // The row of report_rows that the next call goes on behind: what it costs is what came since.
  int64_t last_row() const { return last_row_; }

 private:
  struct Run {
    std::string path;
    WholeRecords written;
    std::string pending;       // To be appended; empty: up to date.
    int64_t pending_step = 0;  // The last one in it.
    bool has_pending_end = false;
  };

  TensorboardLog(std::unique_ptr<Database> database, ExportedSweep sweep, std::string folder,
                 std::vector<HParam> hparams, int64_t last_row)
      : database_(std::move(database)),
        sweep_(std::move(sweep)),
        folder_(std::move(folder)),
        hparams_(std::move(hparams)),
        last_row_(last_row) {}

  // A row of report_rows.
  struct Report {
    int64_t row = 0;
    int64_t trial = 0, number = 0;
    int64_t iteration = 0;
    std::string metrics_json;
    Instant reported_at;
    bool is_part = false;  // Without the sweep's metric: it may be written anew.
    bool is_trial_over = false;
  };

  Status AppendReports(bool looks_at_parts);
  // The last row that was looked at, of any sweep.
  Result<int64_t> TakeReports();
  // Parts that have become whole, or will not.
  Status TakeParts();
  // What there is of the trial's part, before a report of iteration `next`.
  Status ClosePart(int64_t trial, int64_t next);
  Result<std::optional<Report>> ReadReport(int64_t row);
  Result<Report> ReportOf(const Statement& row) const;
  Status AppendReport(const Report& report);
  Status AppendEnds();
  void Append(Run& run, const std::string& record);
  // What its file holds already is looked at when it is first asked for.
  Result<Run*> RunOf(int64_t trial, int64_t number);
  Result<std::string> Header(int64_t trial);
  Status AppendExperiment(const Metrics& metrics);
  Status Flush();

  std::unique_ptr<Database> database_;
  ExportedSweep sweep_;
  std::string folder_;
  std::vector<HParam> hparams_;
  std::map<int64_t, Run> runs_;  // By trial number.
  std::vector<Run*> pending_;
  bool has_experiment_ = false;
  int64_t last_row_;  // Of report_rows; all up to it are in the files, but for parts.
  std::map<int64_t, int64_t> parts_;  // Their rows, by trial: each trial's last one.
  Instant parts_due_;                 // When these are looked at again.
  bool is_failing_ = false;
  Instant retry_at_;
};

}  // namespace tune
