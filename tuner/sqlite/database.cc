#include "tuner/sqlite/database.h"

#include <sqlite3.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string_view>

#include "tuner/sqlite/database_file.h"
#include "tuner/sqlite/private_file.h"

namespace tune {
namespace {

constexpr int kBusyTimeoutMs = 10'000;

int Authorize(void* /*context*/, int action, const char* first, const char* second,
              const char* /*database*/, const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE:
      return SQLITE_OK;
    case SQLITE_UPDATE:
      // How SQLite declares a table-valued function (json_each, pragma_table_info) at its first
      // use; it lets nobody update this table itself.
      return first != nullptr && std::strcmp(first, "sqlite_master") == 0 ? SQLITE_OK : SQLITE_DENY;
    case SQLITE_FUNCTION:
      return second != nullptr && std::strcmp(second, "load_extension") == 0 ? SQLITE_DENY
                                                                             : SQLITE_OK;
    case SQLITE_PRAGMA:
      for (const char* name :
           {"table_info", "table_xinfo", "table_list", "index_list", "index_info"}) {
        if (first != nullptr && std::strcmp(first, name) == 0) return SQLITE_OK;
      }
      return SQLITE_DENY;
    default:
      return SQLITE_DENY;
  }
}

}  // namespace

std::string SqliteLibraryVersion() { return std::string("SQLite ") + sqlite3_libversion(); }

// ---- Statement

void Statement::Finalizer::operator()(sqlite3_stmt* statement) const {
  sqlite3_finalize(statement);
}

// A wrong index or a statement that is running is a bug; a text too long is not.
#define TUNE_BIND(call)                                            \
  do {                                                             \
    const int code = (call);                                       \
    TUNE_CHECK(code != SQLITE_RANGE && code != SQLITE_MISUSE);     \
    if (code != SQLITE_OK && bind_error_ == 0) bind_error_ = code; \
  } while (false)

void Statement::Bind(int index, std::nullptr_t) {
  TUNE_BIND(sqlite3_bind_null(statement_.get(), index));
}
void Statement::Bind(int index, int64_t value) {
  TUNE_BIND(sqlite3_bind_int64(statement_.get(), index, value));
}
void Statement::Bind(int index, double value) {
  TUNE_BIND(sqlite3_bind_double(statement_.get(), index, value));
}
void Statement::Bind(int index, std::string_view value) {
  // A null pointer would bind NULL in place of the empty text.
  const char* const data = value.data() == nullptr ? "" : value.data();
  TUNE_BIND(
      sqlite3_bind_text64(statement_.get(), index, data, value.size(), SQLITE_STATIC, SQLITE_UTF8));
}
#undef TUNE_BIND

Result<bool> Statement::Step() {
  const int bind_error = bind_error_;
  bind_error_ = 0;
  const int code = bind_error != 0 ? bind_error : sqlite3_step(statement_.get());
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  const Status error = database_->Error(code);
  Reset();
  return error;
}

Status Statement::Run() {
  for (;;) {
    const Result<bool> row = Step();
    if (!row.ok()) return row.status();
    if (!*row) break;
  }
  Reset();
  return OkStatus();
}

void Statement::Reset() {
  // Its result is the error of the last step, which has been told already.
  (void)sqlite3_reset(statement_.get());
}

int Statement::column_count() const { return sqlite3_column_count(statement_.get()); }
std::string_view Statement::Name(int column) const {
  const char* const name = sqlite3_column_name(statement_.get(), column);
  return name == nullptr ? std::string_view() : std::string_view(name);
}

std::vector<std::string> Statement::ParameterNames() const {
  std::vector<std::string> names;
  for (int i = 1; i <= sqlite3_bind_parameter_count(statement_.get()); ++i) {
    const char* const name = sqlite3_bind_parameter_name(statement_.get(), i);
    names.emplace_back(name == nullptr ? "" : name);
  }
  return names;
}

ColumnKind Statement::Kind(int column) const {
  switch (sqlite3_column_type(statement_.get(), column)) {
    case SQLITE_INTEGER:
      return ColumnKind::kInteger;
    case SQLITE_FLOAT:
      return ColumnKind::kReal;
    case SQLITE_TEXT:
      return ColumnKind::kText;
    case SQLITE_BLOB:
      return ColumnKind::kBlob;
    default:
      return ColumnKind::kNull;
  }
}
int64_t Statement::Int(int column) const { return sqlite3_column_int64(statement_.get(), column); }
double Statement::Real(int column) const { return sqlite3_column_double(statement_.get(), column); }
std::string_view Statement::Text(int column) const {
  const void* const data = sqlite3_column_blob(statement_.get(), column);
  const int size = sqlite3_column_bytes(statement_.get(), column);
  return data == nullptr
             ? std::string_view()
             : std::string_view(static_cast<const char*>(data), static_cast<size_t>(size));
}
std::optional<int64_t> Statement::OptionalInt(int column) const {
  return IsNull(column) ? std::nullopt : std::optional<int64_t>(Int(column));
}
std::optional<double> Statement::OptionalReal(int column) const {
  return IsNull(column) ? std::nullopt : std::optional<double>(Real(column));
}

// ---- Database

void Database::Closer::operator()(sqlite3* connection) const {
  // Statements that a caller still holds keep the connection half alive until they end.
  (void)sqlite3_close_v2(connection);
}

Database::~Database() = default;

Status Database::Error(int code) const {
  const int system_error = connection_ ? sqlite3_system_errno(connection_.get()) : 0;
  const std::string words =
      path_ + ": " + (connection_ ? sqlite3_errmsg(connection_.get()) : sqlite3_errstr(code));
  switch (code & 0xff) {
    case SQLITE_FULL:
      return ResourceExhausted(words + "; free some space");
    case SQLITE_IOERR:
      // A quota or a file size limit comes as this, too; SQLite does not keep the errno.
      return Internal(
          words +
          " (a quota, a limit or a failing disk); see dmesg and df, and go on with tune resume");
    case SQLITE_NOMEM:
      return ResourceExhausted(words);
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Unavailable(words + ": another program writes to it; end that one and try again");
    case SQLITE_CORRUPT:
      return DataLoss(words + "; take a backup, or read what is left with sqlite3's .recover");
    case SQLITE_ERROR:
      // Our queries are right where our tables are.
      return DataLoss(words +
                      ": the database is damaged, or not all of tune's; tune doctor looks at "
                      "it; go on from a backup");
    case SQLITE_NOTADB:
      return FailedPrecondition(path_ + ": is not a tune database; name another with --db");
    case SQLITE_READONLY:
    case SQLITE_PERM:
      return FailedPrecondition(words +
                                "; make the file and its folder writable, or choose another --db");
    case SQLITE_CANTOPEN:
      return FailedPrecondition(
          words + (system_error != 0 ? std::string(" (") + std::strerror(system_error) + ")" : "") +
          "; look at the permissions of the file and its folder");
    default:
      return Internal(words);
  }
}

Status Database::OpenConnection(const std::string& uri, int flags, const std::string& vfs) {
  sqlite3* raw = nullptr;
  const int code = sqlite3_open_v2(uri.c_str(), &raw, flags | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX,
                                   vfs.empty() ? nullptr : vfs.c_str());
  kept_.clear();
  connection_.reset(raw);
  if (code != SQLITE_OK) return Error(code);
  (void)sqlite3_extended_result_codes(raw, 1);
  // A mistyped name in double quotes is no text.
  (void)sqlite3_db_config(raw, SQLITE_DBCONFIG_DQS_DML, 0, nullptr);
  (void)sqlite3_busy_timeout(raw, kBusyTimeoutMs);
  return OkStatus();
}

Status Database::OpenForReading(const std::string& vfs) {
  static constexpr char kPragmas[] =
      "PRAGMA query_only = ON; PRAGMA cache_size = -16000; PRAGMA temp_store = MEMORY;";
  // With a WAL beside it a writer lives, or died: its files are there, so mode=ro makes none.
  // Without one, a connection that may write removes its own -wal and -shm at the end, which a
  // read-only one would leave behind.
  const bool has_wal = vfs.empty() && HasContents(WalOf(path_));
  const char* const network = vfs.empty() ? NetworkFileSystemAt(path_) : nullptr;
  const bool is_remote = network != nullptr;
  if (is_remote && has_wal) return RefusedNetwork(path_, network);
  if (!is_remote) {
    TUNE_RETURN_IF_ERROR(OpenConnection(FileUri(path_, has_wal ? "?mode=ro" : "?mode=rw"),
                                        has_wal ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE,
                                        vfs));
    const Status first = Execute(kPragmas);
    const Status second = first.ok() ? Execute("SELECT name FROM sqlite_schema LIMIT 1;") : first;
    if (second.ok() || has_wal) return second;
    const bool may_be_for_want_of_files = second.code() == StatusCode::kFailedPrecondition ||
                                          second.code() == StatusCode::kResourceExhausted ||
                                          second.code() == StatusCode::kInternal;
    if (!may_be_for_want_of_files) return second;
  }
  // A folder that nothing may be made in, or a full disk, and no WAL: nobody writes, the file is
  // all there is.
  TUNE_RETURN_IF_ERROR(
      OpenConnection(FileUri(path_, "?mode=ro&immutable=1"), SQLITE_OPEN_READONLY, vfs));
  return Execute(kPragmas);
}

Status Database::OpenForWriting(Access access, const std::string& vfs) {
  const int create = access == Access::kCreate ? SQLITE_OPEN_CREATE : 0;
  if (create != 0 && vfs.empty()) MakePrivateFile(path_);
  TUNE_RETURN_IF_ERROR(OpenConnection(FileUri(path_, create ? "?mode=rwc" : "?mode=rw"),
                                      SQLITE_OPEN_READWRITE | create, vfs));
  TUNE_RETURN_IF_ERROR(
      Execute("PRAGMA foreign_keys = ON;"
              "PRAGMA synchronous = FULL;"
              "PRAGMA cache_size = -32000;"
              "PRAGMA temp_store = MEMORY;"
              "PRAGMA journal_size_limit = 67108864;"));
  // A WAL of 2,000 pages (8 MB) is folded back by the commit that fills it: some milliseconds once
  // in several hundred commits, and little to replay after a crash. A reader that stays long only
  // lets the WAL grow. As SQLite's own wal_autocheckpoint does it, but for the note.
  constexpr int kWalPagesMax = 2000;
  const auto fold = [](void* self, sqlite3* connection, const char* name, int pages) {
    if (pages < kWalPagesMax) return SQLITE_OK;
    static_cast<Database*>(self)->has_folded_ = true;
    (void)sqlite3_wal_checkpoint(connection, name);
    return SQLITE_OK;
  };
  sqlite3_wal_hook(connection_.get(), fold, this);
  return OkStatus();
}

Status Database::MakeDurable() {
  TUNE_ASSIGN_OR_RETURN(const int64_t version, QueryInt("PRAGMA user_version"));
  return Execute(("PRAGMA user_version = " + std::to_string(version)).c_str());
}

Result<std::unique_ptr<Database>> Database::Open(const std::string& path, Access access,
                                                 const std::string& vfs) {
  if (vfs.empty()) TUNE_RETURN_IF_ERROR(CheckDatabaseFile(path, access));
  std::unique_ptr<Database> database(new Database(path));
  TUNE_RETURN_IF_ERROR(access == Access::kRead ? database->OpenForReading(vfs)
                                               : database->OpenForWriting(access, vfs));
  return database;
}

Result<std::unique_ptr<Database>> Database::CreateForeign(const std::string& path) {
  TUNE_CHECK(!HasContents(path));
  std::unique_ptr<Database> database(new Database(path));
  TUNE_RETURN_IF_ERROR(database->OpenConnection(FileUri(path, "?mode=rwc"),
                                                SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, ""));
  TUNE_RETURN_IF_ERROR(database->Execute(
      "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -16000;"));
  return database;
}

Result<Statement> Database::Prepare(std::string_view sql) {
  sqlite3_stmt* raw = nullptr;
  const int code = sqlite3_prepare_v3(connection_.get(), sql.data(), static_cast<int>(sql.size()),
                                      SQLITE_PREPARE_PERSISTENT, &raw, nullptr);
  if (code != SQLITE_OK) return Error(code);
  return Statement(this, raw);
}

Result<KeptStatement> Database::Kept(const char* sql) {
  auto found = kept_.find(sql);
  if (found == kept_.end()) {
    TUNE_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
    found = kept_.emplace(sql, std::move(statement)).first;
  }
  return KeptStatement(found->second);
}

Result<Statement> Database::PrepareQuery(std::string_view sql) {
  const std::string text(sql);
  sqlite3_stmt* raw = nullptr;
  const char* tail = nullptr;
  const int code = sqlite3_prepare_v2(connection_.get(), text.c_str(), -1, &raw, &tail);
  Statement statement(this, raw);
  if (code == SQLITE_AUTH) return InvalidArgument("only queries that read are allowed");
  if (code != SQLITE_OK) {
    if ((code & 0xff) != SQLITE_ERROR) return Error(code);
    return InvalidArgument(sqlite3_errmsg(connection_.get()));
  }
  if (raw == nullptr) return InvalidArgument("the query is empty");
  if (sqlite3_stmt_readonly(raw) == 0) return InvalidArgument("only queries that read are allowed");
  // What follows may only be space and comments: SQLite makes no statement of them.
  while (*tail != '\0') {
    sqlite3_stmt* next = nullptr;
    const char* const rest = tail;
    const int next_code = sqlite3_prepare_v2(connection_.get(), rest, -1, &next, &tail);
    const bool is_statement = next != nullptr || next_code != SQLITE_OK;
    sqlite3_finalize(next);
    if (is_statement) return InvalidArgument("one statement at a time");
    if (tail == rest) break;
  }
  return statement;
}

void Database::ForbidAllButReading() {
  kept_.clear();
  (void)sqlite3_set_authorizer(connection_.get(), &Authorize, nullptr);
}

Status Database::Execute(const char* sql) {
  const int code = sqlite3_exec(connection_.get(), sql, nullptr, nullptr, nullptr);
  return code == SQLITE_OK ? OkStatus() : Error(code);
}

Result<int64_t> Database::QueryInt(const char* sql) {
  TUNE_ASSIGN_OR_RETURN(Statement statement, Prepare(sql));
  TUNE_ASSIGN_OR_RETURN(const bool has_row, statement.Step());
  return has_row ? statement.Int(0) : 0;
}

bool Database::HasMoved() const {
  int has_moved = 0;
  const int code =
      sqlite3_file_control(connection_.get(), "main", SQLITE_FCNTL_HAS_MOVED, &has_moved);
  return code == SQLITE_OK && has_moved != 0;
}

int64_t Database::last_insert_id() const { return sqlite3_last_insert_rowid(connection_.get()); }
int64_t Database::change_count() const { return sqlite3_changes64(connection_.get()); }
bool Database::in_transaction() const { return sqlite3_get_autocommit(connection_.get()) == 0; }

// ---- Transaction

Result<Transaction> Transaction::Begin(Database& database) {
  static constexpr char kBeginSql[] = "BEGIN IMMEDIATE";
  TUNE_RETURN_IF_ERROR(database.Run(kBeginSql));
  return Transaction(&database);
}

Transaction::~Transaction() {
  static constexpr char kRollbackSql[] = "ROLLBACK";
  // After a full disk SQLite may have rolled back by itself.
  if (database_ != nullptr && database_->in_transaction()) (void)database_->Run(kRollbackSql);
}

Status Transaction::Commit() {
  static constexpr char kCommitSql[] = "COMMIT";
  TUNE_RETURN_IF_ERROR(database_->Run(kCommitSql));
  database_ = nullptr;
  return OkStatus();
}

}  // namespace tune
