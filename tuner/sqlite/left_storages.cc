#include "tuner/sqlite/left_storages.h"

#include "tuner/sqlite/schema.h"

namespace tune {

Result<std::vector<LeftStorage>> ReadLeftStorages(Database& database) {
  static constexpr char kReadSql[] =
      "SELECT sweep, storage, created_us, seed FROM left_storage_rows ORDER BY created_us";
  std::vector<LeftStorage> all;
  TUNE_ASSIGN_OR_RETURN(const int64_t version, database.QueryInt("PRAGMA user_version"));
  if (version < kLeftStoragesSince) return all;
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database.Kept(kReadSql));
  while (true) {
    TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
    if (!has_row) return all;
    all.push_back({std::string(row->Text(0)), std::string(row->Text(1)), Instant{row->Int(2)},
                   static_cast<uint64_t>(row->Int(3))});
  }
}

Status ForgetLeftStorage(Database& database, const LeftStorage& left) {
  static constexpr char kForgetSql[] =
      "DELETE FROM left_storage_rows WHERE sweep = ?1 AND created_us = ?2 AND seed = ?3";
  TUNE_ASSIGN_OR_RETURN(Transaction transaction, Transaction::Begin(database));
  TUNE_RETURN_IF_ERROR(
      database.Run(kForgetSql, left.sweep, left.created_at.us, static_cast<int64_t>(left.seed)));
  return transaction.Commit();
}

}  // namespace tune
