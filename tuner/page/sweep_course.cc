#include "tuner/page/sweep_course.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/time.h"
#include "tuner/page/page_json.h"

namespace tune {

Status SweepCourse::ReadTrials(Database& database) {
  static constexpr char kSql[] =
      "SELECT id, number, status, best_iteration, best_value FROM trial_rows WHERE experiment = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(experiment_);
  trials_.clear();
  over_.clear();
  std::set<int64_t> failed;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    trials_[row->Int(0)] = {row->Int(1), row->OptionalInt(3), row->OptionalReal(4)};
    const bool has_failed = row->Text(2) == "ERROR";
    if (has_failed) failed.insert(row->Int(0));
    if (has_failed || row->Text(2) == "TERMINATED") over_.insert(row->Int(0));
  }
  // The best one has failed since, and what it hid is read again; or one that had failed goes on.
  const bool is_best_lost = std::any_of(best_.begin(), best_.end(),
                                        [&](const Step& step) { return failed.contains(step.id); });
  const bool is_one_back =
      !std::includes(failed.begin(), failed.end(), failed_.begin(), failed_.end());
  failed_ = std::move(failed);
  if (is_best_lost || is_one_back) Forget();
  return OkStatus();
}

void SweepCourse::Forget() {
  last_report_ = report_count_ = 0;
  parts_.clear();
  best_.clear();
  rungs_.clear();
}

// Rows of a deleted sweep may be given to other reports.
Status SweepCourse::CheckLastReport(Database& database) {
  static constexpr char kSql[] = "SELECT trial, reported_us FROM report_rows WHERE rowid = ?1";
  if (last_report_ == 0) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(last_report_);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  const auto part = parts_.find(last_trial_);
  const bool may_be_anew = part != parts_.end() && part->second == last_report_;
  const bool is_same =
      has_row && row->Int(0) == last_trial_ && (may_be_anew || row->Int(1) == last_at_us_);
  if (!is_same) Forget();
  return OkStatus();
}

// What was decided about trials while they were paused.
Status SweepCourse::ReadOrders(Database& database) {
  static constexpr char kSql[] =
      "SELECT o.rung, count(DISTINCT o.trial) FROM order_rows AS o"
      " JOIN trial_rows AS t ON t.id = o.trial"
      " WHERE t.experiment = ?1 AND o.kind = 1 AND o.rung IS NOT NULL GROUP BY o.rung";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(experiment_);
  stopped_later_.clear();
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return OkStatus();
    stopped_later_[row->Int(0)] = row->Int(1);
  }
}

namespace {

// Of a decision, 1 is a stop (schema.cc).
#define TUNE_REPORT_COLUMNS                                                              \
  "SELECT rowid, trial, iteration, value, reported_us, decision, rung, cutoff,"          \
  " CASE WHEN ?1 THEN coalesce(json_extract(metrics, '$.violation') <> 0, 1) ELSE 0 END" \
  " FROM report_rows "

}  // namespace

SweepCourse::Report SweepCourse::ReportOf(const Statement& row) {
  return {row.Int(0),         row.Int(1),          row.Int(2),
          row.Int(4),         row.OptionalReal(3), row.OptionalInt(5),
          row.OptionalInt(6), row.OptionalReal(7), row.Int(8) == 0};
}

void SweepCourse::Take(const Report& report) {
  const auto trial = trials_.find(report.trial);
  if (trial == trials_.end()) return;
  if (report.rung) {
    Rung& rung = rungs_[*report.rung];
    rung.reached.insert(report.trial);
    rung.stopped += report.decision == 1 ? 1 : 0;
    if (report.cutoff) rung.cutoff = report.cutoff;
  }
  if (!report.value || !report.keeps_limits || failed_.contains(report.trial)) return;
  if (!best_.empty() && !IsBetter(*report.value, best_.back().value, mode_)) return;
  best_.push_back(
      {report.trial, trial->second.number, report.iteration, report.at_us, *report.value});
}

Result<std::vector<SweepCourse::Report>> SweepCourse::TakeParts(Database& database) {
  static constexpr char kSql[] = TUNE_REPORT_COLUMNS "WHERE rowid = ?2";
  std::vector<Report> whole;
  for (auto part = parts_.begin(); part != parts_.end();) {
    TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
    row->BindAll(static_cast<int64_t>(has_limits_ ? 1 : 0), part->second);
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    const std::optional<Report> report = has_row ? std::optional(ReportOf(*row)) : std::nullopt;
    const bool is_whole = report && report->trial == part->first && report->decision;
    if (is_whole && report->row == last_report_) last_at_us_ = report->at_us;
    if (is_whole) whole.push_back(*report);
    const bool is_done = is_whole || over_.contains(part->first);
    part = is_done ? parts_.erase(part) : std::next(part);
  }
  std::sort(whole.begin(), whole.end(),
            [](const Report& a, const Report& b) { return a.at_us < b.at_us; });
  return whole;
}

Result<bool> SweepCourse::Refresh(Database& database) {
  static constexpr char kSql[] = TUNE_REPORT_COLUMNS "WHERE rowid > ?2 ORDER BY rowid LIMIT ?3";
  TUNE_RETURN_IF_ERROR(ReadTrials(database));
  TUNE_RETURN_IF_ERROR(CheckLastReport(database));
  TUNE_RETURN_IF_ERROR(ReadOrders(database));
  TUNE_ASSIGN_OR_RETURN(const std::vector<Report> whole, TakeParts(database));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(static_cast<int64_t>(has_limits_ ? 1 : 0), last_report_, kReportsALook);
  int64_t read_count = 0;
  auto next_whole = whole.begin();
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    const Report report = has_row ? ReportOf(*row) : Report();
    while (next_whole != whole.end() && (!has_row || next_whole->at_us <= report.at_us)) {
      Take(*next_whole++);
    }
    if (!has_row) return read_count == kReportsALook;
    ++read_count;
    last_report_ = report.row;
    last_trial_ = report.trial;
    last_at_us_ = report.at_us;
    parts_.erase(report.trial);
    const auto found = trials_.find(report.trial);
    if (found == trials_.end()) continue;
    ++report_count_;
    // Without a decision are what was reported again after a retry, which counts for nothing, and
    // what a trial reported again with the configuration of another, which may be its best.
    const Trial& trial = found->second;
    const bool is_its_best = report.value && report.iteration == trial.best_iteration &&
                             report.value == trial.best_value;
    if (report.decision || is_told_ || is_its_best) {
      Take(report);
    } else if (!report.value) {
      parts_[report.trial] = report.row;
    }
  }
}

std::vector<int64_t> SweepCourse::rungs() const {
  std::vector<int64_t> milestones;
  for (const auto& [milestone, rung] : rungs_) milestones.push_back(milestone);
  return milestones;
}

std::string SweepCourse::Json() const {
  std::string out = R"("best":[)";
  for (const Step& step : best_) {
    out += out.back() == '[' ? "{" : ",{";
    AppendField("at", FormatInstant(Instant{step.at_us}), out);
    AppendField("trial", step.number, out);
    AppendField("iteration", step.iteration, out);
    AppendField("value", step.value, out);
    out += '}';
  }
  out += R"(],"rungs":[)";
  for (const auto& [milestone, rung] : rungs_) {
    out += out.back() == '[' ? "{" : ",{";
    AppendField("rung", milestone, out);
    AppendField("reached", static_cast<int64_t>(rung.reached.size()), out);
    const auto later = stopped_later_.find(milestone);
    AppendField("stopped", rung.stopped + (later == stopped_later_.end() ? 0 : later->second), out);
    AppendField("cutoff", rung.cutoff ? Value(*rung.cutoff) : Value(), out);
    out += '}';
  }
  return out + R"(],"reports":)" + std::to_string(report_count_);
}

}  // namespace tune
