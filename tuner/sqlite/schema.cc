#include "tuner/sqlite/schema.h"

#include <string>

#include "core/check.h"
#include "tuner/sqlite/migrations.h"

namespace tune {
namespace {

Status WrittenByNewer(const Database& database, int64_t version) {
  return FailedPrecondition(database.path() + ": was written by a newer tune (schema " +
                            std::to_string(version) + "; this one knows " +
                            std::to_string(SchemaVersion()) + "); use that one");
}

// A damaged header: our tables are there, and their version is none.
Status CheckVersion(Database& database, int64_t version) {
  if (version > SchemaVersion()) return WrittenByNewer(database, version);
  if (version > 0) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(
      const int64_t table_count,
      database.QueryInt("SELECT count() FROM sqlite_master WHERE name = 'experiment_rows'"));
  if (version == 0 && table_count == 0) return OkStatus();
  return DataLoss(database.path() + ": its header was changed (user_version is " +
                  std::to_string(version) + ", expected 1 to " + std::to_string(SchemaVersion()) +
                  "); go on from a backup");
}

}  // namespace

int64_t SchemaVersion() { return static_cast<int64_t>(Migrations().size()); }

Status Migrate(Database& database) {
  TUNE_ASSIGN_OR_RETURN(int64_t version, database.QueryInt("PRAGMA user_version"));
  TUNE_RETURN_IF_ERROR(CheckVersion(database, version));
  while (version < SchemaVersion()) {
    TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database));
    // Another program may have been here since.
    TUNE_ASSIGN_OR_RETURN(version, database.QueryInt("PRAGMA user_version"));
    TUNE_CHECK(version >= 0);
    if (version < SchemaVersion())
      TUNE_RETURN_IF_ERROR(database.Execute(Migrations()[static_cast<size_t>(version)]));
    TUNE_RETURN_IF_ERROR(transaction.Commit());
    TUNE_ASSIGN_OR_RETURN(version, database.QueryInt("PRAGMA user_version"));
  }
  // After the tables, so that a file that is not empty always names itself as ours in its header.
  TUNE_ASSIGN_OR_RETURN(Statement to_wal, database.Prepare("PRAGMA journal_mode = WAL"));
  TUNE_ASSIGN_OR_RETURN(const bool has_answer, to_wal.Step());
  if (!has_answer || to_wal.Text(0) != "wal") {
    return FailedPrecondition(database.path() +
                              ": SQLite's WAL cannot work here; choose a local disk with --db");
  }
  return OkStatus();
}

Status CheckSchema(Database& database) {
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  TUNE_RETURN_IF_ERROR(CheckVersion(database, version));
  return version == 0 ? NotFound(database.path() + ": nothing is in it yet") : OkStatus();
}

Status AddTablesOfLater(Database& database) {
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  if (version >= kOrdersSince) return OkStatus();
  return database.Execute(
      "PRAGMA query_only = OFF;"  // For the temporary tables alone.
      "CREATE TEMP TABLE order_rows (trial, iteration, kind, rung, cutoff, rank, count, "
      "ordered_us);"
      "CREATE TEMP TABLE exploit_rows (id INTEGER PRIMARY KEY, trial, iteration, source,"
      " source_iteration, flat, nested);"
      "PRAGMA query_only = ON;");
}

}  // namespace tune
