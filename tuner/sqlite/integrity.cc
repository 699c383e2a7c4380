#include "tuner/sqlite/integrity.h"

#include <sys/stat.h>

#include <memory>

#include "tuner/sqlite/schema.h"

namespace tune {
namespace {

// The last step that the journal holds of an experiment, 0 for none.
Result<int64_t> LastStep(Database& database, int64_t experiment) {
  static constexpr char kLastStepSql[] =
      "SELECT coalesce(max(id) - (?1 << 40), 0) FROM journal_rows"
      " WHERE id BETWEEN ?1 << 40 AND (?1 + 1 << 40) - 1";
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kLastStepSql));
  row->BindAll(experiment);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  const int64_t step = has_row ? row->Int(0) : 0;
  return step;
}

// A killed tuner's lock says what it had committed; SQLite takes a WAL that was cut for the end of
// what there is.
Status CheckNothingIsMissing(Database& database, const JournalEnd& committed) {
  TUNE_ASSIGN_OR_RETURN(const int64_t step, LastStep(database, committed.experiment));
  if (step >= committed.step) return OkStatus();
  const std::string& path = database.path();
  return DataLoss(path + ": step " + std::to_string(committed.step) + " of sweep " +
                  std::to_string(committed.experiment) +
                  " was committed, but its journal ends with step " + std::to_string(step) + ": " +
                  path +
                  "-wal is missing, cut or damaged, or the database is an older copy; put "
                  "it back, or remove " +
                  path + ".lock to go on without those steps");
}

// SQLite takes a file that was cut for a smaller one until it needs what is missing. Of a database
// that nobody writes.
Status CheckLength(Database& database) {
  struct stat file, wal;
  const bool has_wal = stat((database.path() + "-wal").c_str(), &wal) == 0 && wal.st_size > 0;
  if (has_wal || stat(database.path().c_str(), &file) != 0) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const int64_t page_bytes, database.QueryInt("PRAGMA page_size"));
  TUNE_ASSIGN_OR_RETURN(const int64_t pages, database.QueryInt("PRAGMA page_count"));
  if (file.st_size == pages * page_bytes) return OkStatus();
  return DataLoss(database.path() + ": the file is cut: it has " + std::to_string(file.st_size) +
                  " of " + std::to_string(pages * page_bytes) +
                  " bytes; keep a copy, go on from a backup, or read what is left with tune "
                  "results or sqlite3's .recover");
}

}  // namespace

// Read first: the database only grows meanwhile.
Status CheckNothingIsMissing(Database& database) {
  const std::optional<JournalEnd> committed = FindCommitted(database.path());
  return committed ? CheckNothingIsMissing(database, *committed) : OkStatus();
}

bool IsCheckedQuickly(const std::string& path) {
  constexpr int64_t kBytesMax = int64_t{8} << 20;  // 10 ms for each MiB.
  struct stat file;
  return stat(path.c_str(), &file) == 0 && file.st_size <= kBytesMax;
}

Status CheckPages(Database& database) {
  // quick_check looks into no index: 0.8 s in place of 0.2 s for a million reports.
  TUNE_ASSIGN_OR_RETURN(Statement check, database.Prepare("PRAGMA integrity_check(1)"));
  TUNE_ASSIGN_OR_RETURN(const bool has_row, check.Step());
  if (has_row && check.Text(0) == "ok") return OkStatus();
  std::string words(check.Text(0));
  for (char& c : words) c = c == '\n' ? ' ' : c;
  return DataLoss(database.path() + ": the file is damaged (" + words +
                  "); keep a copy, go on from a backup, or read what is left with tune results or "
                  "sqlite3's .recover");
}

Status CheckWhatIsThere(const std::string& path, bool looks_at_pages,
                        const std::optional<JournalEnd>& committed) {
  if (!looks_at_pages && !committed) return OkStatus();
  // Through a connection that changes nothing, so that what is refused stays as it was.
  Result<std::unique_ptr<Database>> database = Database::Open(path, Access::kRead);
  // Nothing is there yet: begun again, or said by the one who wants to go on.
  if (database.status().code() == StatusCode::kNotFound) return OkStatus();
  if (!database.ok()) return database.status();
  const Status schema = CheckSchema(**database);
  if (schema.code() == StatusCode::kNotFound) return OkStatus();
  TUNE_RETURN_IF_ERROR(schema);
  if (looks_at_pages) {
    TUNE_RETURN_IF_ERROR(CheckLength(**database));
    TUNE_RETURN_IF_ERROR(CheckPages(**database));
  }
  return committed ? CheckNothingIsMissing(**database, *committed) : OkStatus();
}

Status SettleLock(const std::string& path, WriterLock& lock) {
  TUNE_RETURN_IF_ERROR(CheckWhatIsThere(path, /*looks_at_pages=*/false, lock.committed()));
  lock.Settle();
  return OkStatus();
}

}  // namespace tune
