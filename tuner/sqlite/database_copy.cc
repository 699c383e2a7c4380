// Database::CopyTo: SQLite's backup of a database that is in use.
#include <sqlite3.h>

#include "tuner/sqlite/database.h"
#include "tuner/sqlite/private_file.h"

namespace tune {

Status Database::CopyTo(const std::string& path) {
  MakePrivateFile(path);
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
  int code = sqlite3_open_v2(path.c_str(), &raw, flags, nullptr);
  const std::unique_ptr<sqlite3, Closer> target(raw);
  // In one piece, so of one state; a WAL database's writer goes on meanwhile.
  if (code == SQLITE_OK) {
    sqlite3_backup* const backup =
        sqlite3_backup_init(target.get(), "main", connection_.get(), "main");
    if (backup != nullptr) (void)sqlite3_backup_step(backup, -1);
    code = backup != nullptr ? sqlite3_backup_finish(backup) : sqlite3_errcode(target.get());
  }
  if (code == SQLITE_OK) return OkStatus();
  const std::string words = path + ": cannot be written: " +
                            (target ? sqlite3_errmsg(target.get()) : sqlite3_errstr(code));
  return (code & 0xff) == SQLITE_FULL ? ResourceExhausted(words) : Internal(words);
}

}  // namespace tune
