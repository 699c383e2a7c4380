// One tuner a database: a lock apart from SQLite's own, held for a tuner's whole life on the file
// "<database>.lock", which says who holds it and is removed at the end. After kill -9 the file
// stays and does no harm: the kernel's lock is gone.
//
// Its second line says which step was committed last. The file that a killed tuner leaves is
// thereby a witness: a database that ends before that step has lost its WAL, or a part of it.
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
  std::string experiment;  // Empty until announced; of a head always.
  bool is_head = false;    // It runs any number of them.
  std::string numbers;     // Where its pid counts (ProcessNumbers); empty: not known.

  // It has announced no other one.
  bool MayRun(std::string_view sweep) const { return experiment.empty() || experiment == sweep; }
  // It has just come, and will say what it works on, or is here for a moment, as tune note.
  bool is_brief() const { return experiment.empty() && !is_head; }
};

// Who holds the lock is written into its file. Without room for that a tuner has none to work in
// either; who makes room does.
enum class LockText { kNeeded, kIfThereIsRoom };

// The last step of an experiment's journal.
struct JournalEnd {
  int64_t experiment = 0;
  int64_t step = 0;
};

class WriterLock {
 public:
  WriterLock(WriterLock&& other) noexcept
      : fd_(std::exchange(other.fd_, -1)),
        path_(std::move(other.path_)),
        holder_(std::move(other.holder_)),
        first_line_bytes_(other.first_line_bytes_),
        committed_(other.committed_),
        is_settled_(other.is_settled_) {}
  WriterLock& operator=(WriterLock&&) = delete;
  // Gives the lock back and removes the file; a witness that nobody has settled with stays.
  ~WriterLock();

  // Which sweep this tuner works on, for FindLockHolder.
  Status Announce(std::string_view experiment);
  // Or that it is a head.
  Status AnnounceHead();
  bool is_of_head() const { return holder_.is_head; }

  // What was committed last: at first by a holder that was killed, nothing if there was none.
  const std::optional<JournalEnd>& committed() const { return committed_; }
  // The database has been compared with it.
  void Settle() { is_settled_ = true; }
  // It has lost steps since: the witness stays for whoever opens it next.
  void Unsettle() { is_settled_ = false; }
  // Takes the witness back, durably: also a power loss does not bring an older one back. Before an
  // experiment is deleted, whichever one the witness names: a file that says more than the database
  // has would call the database cut. Errors: those of the disk.
  Status Forget();
  // After a commit. Not synced: only what has been synced is told, and a file that says less than
  // there is does no harm.
  void NoteCommitted(JournalEnd end);

 private:
  friend Result<WriterLock> AcquireWriterLock(const std::string& database_path, Instant now,
                                              LockText text);
  WriterLock(int fd, std::string path) : fd_(fd), path_(std::move(path)) {}
  Status Write();

  int fd_;
  std::string path_;
  LockHolder holder_;
  size_t first_line_bytes_ = 0;
  std::optional<JournalEnd> committed_;
  bool is_settled_ = false;
};

// Whether its pid means the same process to us: not on another machine, nor in another container.
bool IsSeenHere(const LockHolder& holder);

// "the tuner with pid 4711 on somehost", or "the head ..."
std::string DescribeHolder(const LockHolder& holder);

// Waits only for a holder that was killed and is being taken down. kUnavailable names a living
// holder's pid, host and since when.
Result<WriterLock> AcquireWriterLock(const std::string& database_path, Instant now,
                                     LockText text = LockText::kNeeded);

// What the tuner of a database, which lives or was killed, had committed last; nothing where none
// is known. As FindLockHolder.
std::optional<JournalEnd> FindCommitted(const std::string& database_path);

// The living tuner of a database, if there is one. Takes no lock and changes nothing.
std::optional<LockHolder> FindLockHolder(const std::string& database_path);

}  // namespace tune
