#include "tuner/page/sweep_course.h"

#include <algorithm>
#include <utility>

#include "core/json.h"
#include "core/time.h"
#include "tuner/page/page_json.h"

namespace tune {

Status SweepCourse::ReadTrials(Database& database) {
  static constexpr char kSql[] = "SELECT id, number, status FROM trial_rows WHERE experiment = ?1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(experiment_);
  numbers_.clear();
  std::set<int64_t> failed;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) break;
    numbers_[row->Int(0)] = row->Int(1);
    if (row->Text(2) == "ERROR") failed.insert(row->Int(0));
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
  const bool is_same = has_row && row->Int(0) == last_trial_ && row->Int(1) == last_at_us_;
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

Result<bool> SweepCourse::Refresh(Database& database) {
  // Of a decision, 1 is a stop (schema.cc).
  static constexpr char kSql[] =
      "SELECT rowid, trial, iteration, value, reported_us, decision, rung, cutoff,"
      " CASE WHEN ?3 THEN coalesce(json_extract(metrics, '$.violation') <> 0, 1) ELSE 0 END"
      " FROM report_rows WHERE rowid > ?1 ORDER BY rowid LIMIT ?2";
  TUNE_RETURN_IF_ERROR(ReadTrials(database));
  TUNE_RETURN_IF_ERROR(CheckLastReport(database));
  TUNE_RETURN_IF_ERROR(ReadOrders(database));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kSql));
  row->BindAll(last_report_, kReportsALook, static_cast<int64_t>(has_limits_ ? 1 : 0));
  int64_t read_count = 0;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return read_count == kReportsALook;
    ++read_count;
    const int64_t id = row->Int(1);
    last_report_ = row->Int(0);
    last_trial_ = id;
    last_at_us_ = row->Int(4);
    const auto number = numbers_.find(id);
    if (number == numbers_.end()) continue;
    ++report_count_;
    if (row->IsNull(5)) continue;  // Reported again after a retry, or in part.
    if (!row->IsNull(6)) {
      Rung& rung = rungs_[row->Int(6)];
      rung.reached.insert(id);
      rung.stopped += row->Int(5) == 1 ? 1 : 0;
      if (!row->IsNull(7)) rung.cutoff = row->Real(7);
    }
    if (row->IsNull(3) || row->Int(8) != 0 || failed_.contains(id)) continue;
    const double value = row->Real(3);
    if (!best_.empty() && !IsBetter(value, best_.back().value, mode_)) continue;
    best_.push_back({id, number->second, row->Int(2), row->Int(4), value});
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
