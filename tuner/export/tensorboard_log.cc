#include "tuner/export/tensorboard_log.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <span>
#include <system_error>
#include <utility>

#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_descriptor.h"
#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

constexpr Duration kRetryAfter = Seconds(10);
constexpr Duration kPartsEvery = Seconds(1);
constexpr int64_t kReportsPerFlush = 10'000;
constexpr uint64_t kEventFileBytesMax = uint64_t{1} << 32;

// Behind the records that are whole; what follows them goes. On an error nothing was added.
Status AppendTo(const std::string& path, size_t whole_bytes, const std::string& records) {
  std::error_code error;
  std::filesystem::create_directories(std::filesystem::path(path).parent_path(), error);
  const FileDescriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0666));
  if (!file.is_open()) return ErrnoStatus("open", path);
  const auto end = static_cast<off_t>(whole_bytes);
  if (ftruncate(file.get(), end) != 0 || lseek(file.get(), end, SEEK_SET) != end) {
    return ErrnoStatus("write", path);
  }
  const Status status = WriteAll(file.get(), std::as_bytes(std::span(records)), path);
  // Should that fail, too, the next attempt cuts it.
  if (!status.ok()) (void)!ftruncate(file.get(), end);
  return status;
}

// A file that was cut within its first two records, the version and what it is about, is begun
// anew.
Result<WholeRecords> LookAt(const std::string& path) {
  const Result<std::string> contents = ReadFile(path, kEventFileBytesMax);
  if (contents.status().code() == StatusCode::kNotFound) return WholeRecords();
  if (!contents.ok()) return contents.status();
  const WholeRecords whole = FindWholeRecords(*contents);
  return whole.count < 2 ? WholeRecords() : whole;
}

// The row before the sweep's first report, or the last one of all where it has none yet: reports of
// older sweeps, of which there may be millions, are never read.
Result<int64_t> RowBefore(Database& database, int64_t sweep) {
  static constexpr char kSql[] =
      "SELECT coalesce((SELECT min(r.rowid) FROM trial_rows AS t CROSS JOIN report_rows AS r"
      " ON r.trial = t.id WHERE t.experiment = ?1) - 1, (SELECT max(rowid) FROM report_rows), 0)";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(sweep);
  TUNE_RETURN_IF_ERROR(row->Step().status());
  return row->Int(0);
}

// 0: there is none.
Result<int64_t> NewestRow(Database& database) {
  static constexpr char kSql[] = "SELECT coalesce(max(rowid), 0) FROM report_rows";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  TUNE_RETURN_IF_ERROR(row->Step().status());
  return row->Int(0);
}

}  // namespace

Result<std::unique_ptr<TensorboardLog>> TensorboardLog::Open(const std::string& db_path,
                                                             ExportedSweep sweep,
                                                             std::string folder) {
  TUNE_ASSIGN_OR_RETURN(std::unique_ptr<Database> database, Database::Open(db_path, Access::kRead));
  TUNE_RETURN_IF_ERROR(CheckSchema(*database));
  std::vector<HParam> hparams;
  {
    TUNE_ASSIGN_OR_RETURN(const SweepRows rows, SweepRows::Open(*database, sweep));
    TUNE_ASSIGN_OR_RETURN(const SearchSpace space, rows.Space());
    hparams = HParamsOf(space);
  }
  TUNE_ASSIGN_OR_RETURN(const int64_t last_row, RowBefore(*database, sweep.id));
  return std::unique_ptr<TensorboardLog>(new TensorboardLog(
      std::move(database), std::move(sweep), std::move(folder), std::move(hparams), last_row));
}

std::optional<std::string> TensorboardLog::Follow(Instant now) {
  if (is_failing_ && now < retry_at_) return std::nullopt;
  const bool looks_at_parts = now >= parts_due_;
  if (looks_at_parts) parts_due_ = now + kPartsEvery;
  const Status status = AppendReports(looks_at_parts);
  if (!status.ok()) retry_at_ = now + kRetryAfter;
  if (std::exchange(is_failing_, !status.ok()) == is_failing_) return std::nullopt;
  if (status.ok()) return "the event files in " + folder_ + " are whole again";
  return "warning: the event files wait, the sweep goes on: " + status.message();
}

std::optional<std::string> TensorboardLog::Finish() {
  Status status = AppendReports(/*looks_at_parts=*/true);
  if (status.ok()) status = AppendEnds();
  if (status.ok()) return std::nullopt;
  return "warning: the event files in " + folder_ +
         " are not whole (tune export --to tensorboard makes them anew): " + status.message();
}

Status TensorboardLog::AppendReports(bool looks_at_parts) {
  for (int64_t last_row = -1; last_row != last_row_;) {
    last_row = last_row_;
    TUNE_ASSIGN_OR_RETURN(const int64_t read, TakeReports());
    TUNE_RETURN_IF_ERROR(Flush());
    last_row_ = read;
  }
  if (!looks_at_parts || parts_.empty()) return OkStatus();
  TUNE_RETURN_IF_ERROR(TakeParts());
  return Flush();
}

Result<int64_t> TensorboardLog::TakeReports() {
  // CROSS JOIN: from the last rows on, never from the trials, so that a call costs what is new.
  static constexpr char kReportsSql[] =
      "SELECT r.rowid, r.trial, t.number, r.iteration, r.metrics, r.reported_us,"
      " r.value IS NULL AND r.decision IS NULL, t.status IN ('TERMINATED', 'ERROR')"
      " FROM report_rows AS r CROSS JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE r.rowid > ?1 AND t.experiment = ?2 ORDER BY r.rowid LIMIT ?3";
  // Asked first: what is committed meanwhile is read now or the next time.
  TUNE_ASSIGN_OR_RETURN(const int64_t newest, NewestRow(*database_));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kReportsSql));
  row->BindAll(last_row_, sweep_.id, kReportsPerFlush);
  int64_t last_row = last_row_;
  for (int64_t count = 0;; ++count) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    // Those of other sweeps behind the last one of ours are not looked at again.
    if (!has_row) return count < kReportsPerFlush ? std::max(last_row, newest) : last_row;
    TUNE_ASSIGN_OR_RETURN(const Report report, ReportOf(*row));
    last_row = report.row;
    TUNE_RETURN_IF_ERROR(ClosePart(report.trial, report.iteration));
    if (report.is_part) {
      parts_[report.trial] = report.row;
    } else {
      TUNE_RETURN_IF_ERROR(AppendReport(report));
    }
  }
}

Status TensorboardLog::TakeParts() {
  for (auto part = parts_.begin(); part != parts_.end();) {
    TUNE_ASSIGN_OR_RETURN(const std::optional<Report> report, ReadReport(part->second));
    if (report && report->is_part && !report->is_trial_over) {
      ++part;
      continue;
    }
    if (report) TUNE_RETURN_IF_ERROR(AppendReport(*report));
    part = parts_.erase(part);
  }
  return OkStatus();
}

// A part that a later attempt reports anew is left to that.
Status TensorboardLog::ClosePart(int64_t trial, int64_t next) {
  const auto part = parts_.find(trial);
  if (part == parts_.end()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::optional<Report> report, ReadReport(part->second));
  parts_.erase(part);
  const bool counts = report && (!report->is_part || report->iteration < next);
  return counts ? AppendReport(*report) : OkStatus();
}

Result<std::optional<TensorboardLog::Report>> TensorboardLog::ReadReport(int64_t row) {
  static constexpr char kReportSql[] =
      "SELECT r.rowid, r.trial, t.number, r.iteration, r.metrics, r.reported_us,"
      " r.value IS NULL AND r.decision IS NULL, t.status IN ('TERMINATED', 'ERROR')"
      " FROM report_rows AS r JOIN trial_rows AS t ON t.id = r.trial"
      " WHERE r.rowid = ?1 AND t.experiment = ?2";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement found, database_->Kept(kReportSql));
  found->BindAll(row, sweep_.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, found->Step());
  if (!has_row) return std::optional<Report>();
  TUNE_ASSIGN_OR_RETURN(Report report, ReportOf(*found));
  return std::optional(std::move(report));
}

Result<TensorboardLog::Report> TensorboardLog::ReportOf(const Statement& row) const {
  Report report;
  report.row = row.Int(0);
  report.trial = row.Int(1);
  report.number = row.Int(2);
  report.iteration = row.Int(3);
  report.metrics_json = row.Text(4);
  report.reported_at = Instant{row.Int(5)};
  report.is_trial_over = row.Int(7) != 0;
  const bool may_be_part = row.Int(6) != 0;  // Or its value is not finite.
  if (!may_be_part) return report;
  TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
  const std::string& wanted = sweep_.objectives.front().metric;
  report.is_part = std::none_of(metrics.begin(), metrics.end(),
                                [&](const auto& metric) { return metric.first == wanted; });
  return report;
}

Status TensorboardLog::AppendReport(const Report& report) {
  TUNE_ASSIGN_OR_RETURN(Run * run, RunOf(report.trial, report.number));
  if (report.iteration <= std::max(run->written.last_step, run->pending_step)) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const Metrics metrics, ParseMetrics(report.metrics_json));
  TUNE_RETURN_IF_ERROR(AppendExperiment(metrics));
  Append(*run, ScalarsRecord(report.reported_at, report.iteration, metrics));
  run->pending_step = report.iteration;
  run->has_pending_end = false;
  return OkStatus();
}

void TensorboardLog::Append(Run& run, const std::string& record) {
  if (run.pending.empty()) pending_.push_back(&run);
  run.pending += record;
}

Status TensorboardLog::AppendEnds() {
  static constexpr char kEndedSql[] =
      "SELECT id, number, status, coalesce(finished_us, created_us) FROM trial_rows"
      " WHERE experiment = ?1 AND status IN ('TERMINATED', 'ERROR') ORDER BY number";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kEndedSql));
  row->BindAll(sweep_.id);
  for (;;) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    TUNE_ASSIGN_OR_RETURN(Run * run, RunOf(row->Int(0), row->Int(1)));
    if (run->written.has_end || run->has_pending_end) continue;
    const SessionEnd end = row->Text(2) == "ERROR" ? SessionEnd::kFailure : SessionEnd::kSuccess;
    Append(*run, SessionEndRecord(Instant{row->Int(3)}, end));
    run->has_pending_end = true;
  }
  return Flush();
}

Result<TensorboardLog::Run*> TensorboardLog::RunOf(int64_t trial, int64_t number) {
  const auto [entry, is_new] = runs_.try_emplace(number);
  Run& run = entry->second;
  if (!is_new) return &run;
  run.path = folder_ + "/" + std::to_string(number) + "/" + EventFileName(sweep_.created_at);
  Result<WholeRecords> written = LookAt(run.path);
  Result<std::string> header = std::string();
  if (written.ok() && written->byte_count == 0) header = Header(trial);
  if (!written.ok() || !header.ok()) {
    runs_.erase(entry);
    return written.ok() ? header.status() : written.status();
  }
  run.written = *written;
  if (!header->empty()) Append(run, *header);
  return &run;
}

Result<std::string> TensorboardLog::Header(int64_t trial) {
  static constexpr char kTrialSql[] =
      "SELECT c.flat, coalesce(t.started_us, t.created_us) FROM trial_rows AS t"
      " JOIN configuration_rows AS c ON c.trial = t.id WHERE t.id = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database_->Kept(kTrialSql));
  row->BindAll(trial);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  if (!has_row) return NotFound(database_->path() + ": a report has no trial");
  TUNE_ASSIGN_OR_RETURN(const Value flat, ParseJson(row->Text(0)));
  TUNE_ASSIGN_OR_RETURN(const Configuration config, Configuration::FromFlat(flat));
  const Instant start{row->Int(1)};
  return FileVersionRecord(start) + SessionStartRecord(start, config, hparams_);
}

// Once, when it is known what is reported; a trial's last report may have more, which the HParams
// tab does not show then.
Status TensorboardLog::AppendExperiment(const Metrics& metrics) {
  if (has_experiment_) return OkStatus();
  const std::string path = folder_ + "/" + EventFileName(sweep_.created_at);
  TUNE_ASSIGN_OR_RETURN(const WholeRecords written, LookAt(path));
  if (written.byte_count == 0) {
    std::vector<std::string> names;
    for (const Objective& objective : sweep_.objectives) names.push_back(objective.metric);
    for (const auto& [name, value] : metrics) {
      if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
    }
    TUNE_RETURN_IF_ERROR(AppendTo(path, 0,
                                  FileVersionRecord(sweep_.created_at) +
                                      ExperimentRecord(sweep_.created_at, hparams_, names)));
  }
  has_experiment_ = true;
  return OkStatus();
}

Status TensorboardLog::Flush() {
  while (!pending_.empty()) {
    Run& run = *pending_.back();
    TUNE_RETURN_IF_ERROR(AppendTo(run.path, run.written.byte_count, run.pending));
    run.written.byte_count += run.pending.size();
    run.written.last_step = std::max(run.written.last_step, run.pending_step);
    run.written.has_end = run.has_pending_end;
    run.pending.clear();
    pending_.pop_back();
  }
  return OkStatus();
}

}  // namespace tune
