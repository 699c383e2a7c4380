// A thin owner of one SQLite connection: the only open path, statements that are kept, errors as
// Status. sqlite3.h is included by the .cc files of this folder alone.
//
// Rule of the house: bound parameters only; columns are named; a statement stands beside its use.
//
// Trap: never open() and close() a database's file by other means while this process has it open
// with SQLite. POSIX drops all of a process's locks on a file when any descriptor of it is closed.
//
// Thread rule: one thread per Database.
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"

struct sqlite3;
struct sqlite3_stmt;

namespace tune {

// "tune" in ASCII; stands in the file's header and tells our files from others.
inline constexpr int64_t kApplicationId = 0x74756e65;

enum class Access {
  kRead,   // Never changes a row and never keeps the writer waiting; leaves no file behind where it
           // can.
  kWrite,  // An existing database.
  kCreate,  // The same; a missing or empty file becomes one.
};

enum class ColumnKind { kNull, kInteger, kReal, kText, kBlob };

// A prepared statement. Text is not copied: it must live until the statement has run. The views
// that Text() gives end with the next Step or Reset.
class Statement {
 public:
  // Parameters count from 1, columns from 0.
  void Bind(int index, std::nullptr_t);
  void Bind(int index, int64_t value);
  void Bind(int index, std::integral auto value) { Bind(index, static_cast<int64_t>(value)); }
  void Bind(int index, double value);
  void Bind(int index, std::string_view value);
  void Bind(int index, const std::string& value) { Bind(index, std::string_view(value)); }
  void Bind(int index, const char* value) { Bind(index, std::string_view(value)); }
  template <typename T>
  void Bind(int index, const std::optional<T>& value) {
    value.has_value() ? Bind(index, *value) : Bind(index, nullptr);
  }
  // All of them, in order.
  template <typename... Args>
  void BindAll(const Args&... args) {
    [[maybe_unused]] int index = 0;
    (Bind(++index, args), ...);
  }

  Result<bool> Step();  // True: a row stands ready. Errors reset the statement.
  Status Run();         // Steps to the end and resets.
  void Reset();

  int column_count() const;
  std::string_view Name(int column) const;
  // Of the parameters, from the first; "" for those without a name.
  std::vector<std::string> ParameterNames() const;
  ColumnKind Kind(int column) const;
  bool IsNull(int column) const { return Kind(column) == ColumnKind::kNull; }
  int64_t Int(int column) const;
  double Real(int column) const;
  std::string_view Text(int column) const;  // Of a BLOB its bytes.
  std::optional<int64_t> OptionalInt(int column) const;
  std::optional<double> OptionalReal(int column) const;

 private:
  friend class Database;
  struct Finalizer {
    void operator()(sqlite3_stmt* statement) const;
  };
  Statement(const class Database* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}

  const class Database* database_;
  std::unique_ptr<sqlite3_stmt, Finalizer> statement_;
  int bind_error_ = 0;  // The first SQLITE_TOOBIG or NOMEM; told by Step.
};

// A statement that a database keeps, while somebody uses it: reset at the end of its scope, also on
// the way out by an error, so that it holds no snapshot that would keep the WAL from being folded
// back. The database outlives it.
class KeptStatement {
 public:
  explicit KeptStatement(Statement& statement) : statement_(&statement) {}

  Statement& operator*() const { return *statement_; }
  Statement* operator->() const { return statement_.get(); }

 private:
  struct Resetter {
    void operator()(Statement* statement) const { statement->Reset(); }
  };
  std::unique_ptr<Statement, Resetter> statement_;
};

class Database {
 public:
  // Refused by name and untouched: another program's SQLite database, a file that is none, a
  // folder, a network file system. Sets WAL, synchronous = FULL, foreign keys, busy timeout and
  // cache; does not migrate (schema.h). Errors: kNotFound (missing or empty, unless kCreate),
  // kFailedPrecondition, kUnavailable, kResourceExhausted, kDataLoss. `vfs`: a registered
  // sqlite3_vfs in place of the operating system's; the checks of the path are then left out.
  static Result<std::unique_ptr<Database>> Open(const std::string& path, Access access,
                                                const std::string& vfs = "");
  // A new file in another program's form: no tables, no WAL, not marked as ours, and not synced
  // before it is closed. The path must not be there yet.
  static Result<std::unique_ptr<Database>> CreateForeign(const std::string& path);
  ~Database();
  Database(const Database&) = delete;
  Database& operator=(const Database&) = delete;

  // `sql` has static storage and its address is the key: prepared at the first use. One user at a
  // time.
  Result<KeptStatement> Kept(const char* sql);
  Result<Statement> Prepare(std::string_view sql);
  // A person's query: exactly one statement, and one that reads. kInvalidArgument says what is
  // wrong with it.
  Result<Statement> PrepareQuery(std::string_view sql);
  // From here on statements that do anything but read are refused when prepared (ATTACH and most
  // PRAGMAs too).
  void ForbidAllButReading();

  // A kept statement, its parameters in order, run to its end.
  template <typename... Args>
  Status Run(const char* sql, const Args&... args) {
    const Result<KeptStatement> statement = Kept(sql);
    if (!statement.ok()) return statement.status();
    (*statement)->BindAll(args...);
    return (*statement)->Run();
  }
  // Statements separated by ';', no parameters: schemas and pragmas.
  Status Execute(const char* sql);
  // Syncs what an earlier process has written and did not live to sync: it is there for who reads
  // it now, and a power cut would take it back.
  Status MakeDurable();
  // The first column of the first row; 0 when there is none.
  Result<int64_t> QueryInt(const char* sql);

  // A copy of one state, also while another program writes (database_copy.cc). `path` is a file
  // that is not there yet; what an error leaves of it is the caller's to remove.
  Status CopyTo(const std::string& path);

  // Whether the path is not the open file's any more: it was moved, removed or replaced.
  bool HasMoved() const;
  // Whether this connection has written the file itself since this was last asked: until its WAL is
  // folded back, only that grows.
  bool TakeHasFolded() { return std::exchange(has_folded_, false); }

  int64_t last_insert_id() const;
  int64_t change_count() const;  // Rows changed by the last statement.
  bool in_transaction() const;
  const std::string& path() const { return path_; }

  // A result code of SQLite with its words as a Status.
  Status Error(int code) const;

 private:
  struct Closer {
    void operator()(sqlite3* connection) const;
  };
  explicit Database(std::string path) : path_(std::move(path)) {}
  Status OpenConnection(const std::string& uri, int flags, const std::string& vfs);
  Status OpenForReading(const std::string& vfs);
  Status OpenForWriting(Access access, const std::string& vfs);

  std::string path_;
  std::unique_ptr<sqlite3, Closer> connection_;
  bool has_folded_ = false;
  std::map<const char*, Statement> kept_;  // Finalized before the connection closes.
};

// BEGIN IMMEDIATE ... COMMIT; rolled back when it ends without a Commit that was ok.
class Transaction {
 public:
  static Result<Transaction> Begin(Database& database);
  Transaction(Transaction&& other) noexcept : database_(other.database_) {
    other.database_ = nullptr;
  }
  Transaction& operator=(Transaction&&) = delete;
  ~Transaction();
  Status Commit();

 private:
  explicit Transaction(Database* database) : database_(database) {}
  Database* database_;
};

// "SQLite 3.40.1", of the library that is loaded.
std::string SqliteLibraryVersion();

}  // namespace tune
