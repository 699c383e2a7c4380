// One tuner a database: a lock apart from SQLite's own, held for a tuner's whole life on the file
// "<database>.lock", which says who holds it and is removed at the end. After kill -9 the file
// stays and does no harm: the kernel's lock is gone.
//
// An open file description lock (fcntl F_OFD_SETLK): others can ask who holds it without taking it,
// and it goes with the last copy of the descriptor. The descriptor is close-on-exec; a fork that
// does not exec keeps the lock alive.
//
// Thread rule: values; one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "core/status.h"
#include "core/time.h"

namespace tune {

struct LockHolder {
  int64_t pid = 0;
  std::string host;
  Instant since;
  std::string experiment;  // Empty until announced.
};

// Who holds the lock is written into its file. Without room for that a tuner has none to work in
// either; who makes room does.
enum class LockText { kNeeded, kIfThereIsRoom };

class WriterLock {
 public:
  WriterLock(WriterLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::move(other.path_)),
        holder_(std::move(other.holder_)) {}
  WriterLock& operator=(WriterLock&&) = delete;
  ~WriterLock();  // Removes the file, gives the lock back.

  // Which sweep this tuner works on, for FindLockHolder.
  Status Announce(std::string_view experiment);

 private:
  friend Result<WriterLock> AcquireWriterLock(const std::string& database_path, Instant now,
                                              LockText text);
  WriterLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status Write();

  int fd_;
  std::string path_;
  LockHolder holder_;
};

// Does not wait. kUnavailable names a living holder's pid, host and since when.
Result<WriterLock> AcquireWriterLock(const std::string& database_path, Instant now,
                                     LockText text = LockText::kNeeded);

// The living tuner of a database, if there is one. Takes no lock and changes nothing.
std::optional<LockHolder> FindLockHolder(const std::string& database_path);

}  // namespace tune
