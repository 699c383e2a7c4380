#include "tests/e2e/database_rows.h"

#include <algorithm>
#include <charconv>
#include <filesystem>
#include <memory>

#include "tuner/event.h"
#include "tuner/recovery.h"
#include "tuner/sqlite/sqlite_store.h"

namespace tune::testing {
namespace {

std::string Cell(const Statement& row, int column) {
  switch (row.Kind(column)) {
    case ColumnKind::kNull:
      return "-";
    case ColumnKind::kInteger:
      return std::to_string(row.Int(column));
    case ColumnKind::kReal: {
      char text[40];
      const auto [end, error] = std::to_chars(text, text + sizeof text, row.Real(column));
      return std::string(text, end);
    }
    default:
      return std::string(row.Text(column));
  }
}

void CopyDatabase(const std::string& from, const std::string& to) {
  const auto overwrite = std::filesystem::copy_options::overwrite_existing;
  for (const char* suffix : {"", "-wal", "-shm", ".lock"}) std::filesystem::remove(to + suffix);
  for (const char* suffix : {"", "-wal"}) {
    if (std::filesystem::exists(from + suffix)) {
      std::filesystem::copy_file(from + suffix, to + suffix, overwrite);
    }
  }
}

// Columns that say who and when, not what was decided, are the same too: they come from the
// journal.
constexpr const char* kViewQueries[] = {
    "SELECT name, metric, mode, status, seed, samples, finished_at FROM experiments ORDER BY id",
    "SELECT number, status, stop_reason, config, iterations, last_value, best_value,"
    " best_iteration, attempts, created_at, started_at, finished_at, run_seconds FROM trials"
    " ORDER BY number",
    "SELECT trial, name, value FROM params ORDER BY trial, name",
    "SELECT trial, attempt, iteration, value, metrics, reported_at FROM reports"
    " ORDER BY trial, attempt, iteration",
    "SELECT trial, iteration, decision, scheduler, rung, cutoff, rank, count FROM decisions"
    " ORDER BY trial, iteration",
    "SELECT trial, number, worker, outcome, error, from_iteration, started_at, finished_at"
    " FROM attempts ORDER BY trial, number",
    "SELECT trial, iteration, path, bytes, checksum, state FROM checkpoints"
    " ORDER BY trial, iteration, path",
};

// The journal of the one experiment in `original`, applied anew into `again`.
Status ReplayInto(SqliteStore& original, SqliteStore& again) {
  TUNE_ASSIGN_OR_RETURN(const auto experiments, original.ListExperiments());
  if (experiments.size() != 1) return Internal("expected one sweep");
  const StoredExperiment& stored = experiments.front();
  // Recover knows how a stored spec becomes parts; a fresh controller of the same parts follows.
  TUNE_ASSIGN_OR_RETURN(const RecoveredExperiment recovered,
                        Recover(stored, "/artifacts", original));
  TUNE_ASSIGN_OR_RETURN(
      const auto controller,
      MakeController(recovered.controller->options().spec, stored.seed, stored.name, "/artifacts"));
  TUNE_ASSIGN_OR_RETURN(
      const StoredExperiment copy,
      again.CreateExperiment({stored.name, stored.metric, stored.mode, stored.seed, stored.samples,
                              stored.spec, stored.base_dir, stored.provenance, stored.created_at}));
  TUNE_ASSIGN_OR_RETURN(const auto journal, original.ReadJournal(stored.id));
  // Attempts name their workers, which are no part of a sweep's stream.
  TUNE_ASSIGN_OR_RETURN(std::vector<WorkerRow> workers, original.ReadWorkers(stored.id));
  for (const JournalStep& step : journal) {
    TUNE_ASSIGN_OR_RETURN(const std::vector<SweepEvent> stream, DecodeStream(step.events));
    if (EncodeStream(stream) != step.events) {
      return DataLoss("journal step " + std::to_string(step.step) + " is not what its stream says");
    }
    TUNE_ASSIGN_OR_RETURN(Transition rows, FollowStep(step, *controller));
    rows.workers = std::exchange(workers, {});
    TUNE_RETURN_IF_ERROR(again.Commit(copy.id, step, rows));
  }
  return OkStatus();
}

}  // namespace

Result<std::vector<std::string>> Rows(const std::string& db, const std::string& sql) {
  TUNE_ASSIGN_OR_RETURN(const auto database, Database::Open(db, Access::kRead));
  TUNE_ASSIGN_OR_RETURN(Statement row, database->PrepareQuery(sql));
  std::vector<std::string> rows;
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row.Step());
    if (!has_row) return rows;
    std::string& text = rows.emplace_back();
    for (int i = 0; i < row.column_count(); ++i) text += (i == 0 ? "" : "|") + Cell(row, i);
  }
}

Result<std::vector<std::string>> RowsOfCopy(const std::string& db, const std::string& scratch,
                                            const std::string& sql) {
  if (!std::filesystem::exists(db)) return NotFound(db + ": there is no such database");
  CopyDatabase(db, scratch + "/copy.db");
  return Rows(scratch + "/copy.db", sql);
}

std::vector<std::string> CompareWithReplay(const std::string& db, const std::string& scratch) {
  const std::string original_path = scratch + "/original.db";
  const std::string again_path = scratch + "/again.db";
  CopyDatabase(db, original_path);
  CopyDatabase("", again_path);
  {
    auto original = SqliteStore::Open(original_path, Access::kWrite, Instant{0});
    if (!original.ok()) return {original.status().message()};
    auto again = SqliteStore::Open(again_path, Access::kCreate, Instant{0});
    if (!again.ok()) return {again.status().message()};
    const Status status = ReplayInto(**original, **again);
    if (!status.ok()) return {"replay: " + status.message()};
  }
  std::vector<std::string> differences;
  for (const char* query : kViewQueries) {
    const auto stored = Rows(original_path, query);
    const auto replayed = Rows(again_path, query);
    if (!stored.ok() || !replayed.ok()) {
      differences.push_back((stored.ok() ? replayed : stored).status().message());
      continue;
    }
    if (*stored == *replayed) continue;
    const auto [a, b] =
        std::mismatch(stored->begin(), stored->end(), replayed->begin(), replayed->end());
    differences.push_back("replay differs from the rows (" + std::string(query) + "): stored " +
                          (a == stored->end() ? "nothing" : *a) + ", replayed " +
                          (b == replayed->end() ? "nothing" : *b));
  }
  return differences;
}

}  // namespace tune::testing
