// Whether others than this process change the files of its database: SQLite notices neither a WAL
// that is gone nor a file that is written over, and would go on to call things durable that nobody
// will read again.
//
// Thread rule: one thread.
#pragma once

#include <sys/stat.h>

#include <optional>
#include <string>

namespace tune {

class FileWatch {
 public:
  explicit FileWatch(std::string path) : path_(std::move(path)) {}

  // After what this process itself has written: the WAL alone, or the file too.
  enum class Wrote { kWal, kBoth };
  void Note(Wrote wrote);

  enum class Change {
    kNone,     // Also where nothing was noted yet.
    kWalGone,  // The WAL has another name, or there is none, or another one.
    kWritten,  // By others: a connection of SQLite's, or any program.
  };
  Change Look() const;

 private:
  struct Marks {
    std::optional<struct stat> file;
    std::optional<struct stat> wal;
  };
  Marks Read() const;

  const std::string path_;
  std::optional<Marks> noted_;
};

}  // namespace tune
