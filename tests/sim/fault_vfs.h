// A sqlite3_vfs over a SimulatedDisk: what SQLite does to its files, seen call by call, with the
// faults that a process, an operating system and a disk have. While it lives it is SQLite's default
// VFS, so that SQLite's own random numbers follow from the seed too.
//
// One process at a time uses it: the tuner's. Its death closes nothing in order: files that were
// open are dead, locks and shared memory are gone, what was written stays in the system's cache.
//
// Not simulated: a failed sync after which the system forgets which pages were not written.
//
// Thread rule: one thread; one FaultVfs at a time.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>

#include "core/random.h"
#include "tests/sim/simulated_disk.h"

struct sqlite3_vfs;

namespace tune::sim {

class FaultVfs {
 public:
  FaultVfs(SimulatedDisk& disk, uint64_t seed);
  ~FaultVfs();
  FaultVfs(const FaultVfs&) = delete;
  FaultVfs& operator=(const FaultVfs&) = delete;

  const std::string& name() const { return name_; }

  // The process dies, now or at its `calls`th changing call (write, truncate, sync, removal): that
  // one still happens or not, by dice; nothing after it does.
  void Kill();
  void KillAtCall(int64_t calls);
  bool is_dead() const { return is_dead_; }
  // A new process.
  void Revive();

  // A file that would grow fails with SQLITE_FULL.
  void set_full(bool is_full) { is_full_ = is_full; }
  // The `calls`th changing call fails with SQLITE_IOERR, once.
  void FailAtCall(int64_t calls) { fail_in_ = calls; }
  void ClearFailure() { die_in_ = fail_in_ = 0; }
  // A fault of the disk: syncs say that they have happened. For planted faults.
  void set_lying(bool is_lying) { is_lying_ = is_lying; }
  // Whether syncing a new file also makes its name durable (as ext4 does).
  void set_name_follows_sync(bool follows) { name_follows_sync_ = follows; }

  int64_t change_count() const { return change_count_; }
  int64_t sync_count() const { return sync_count_; }

 private:
  struct OpenFile;
  struct Locks;
  struct SharedMemory;
  struct Methods;

  enum class Permission { kYes, kFull, kFails, kDead };
  // Whether a changing call may happen. `grows`: it needs room.
  Permission Ask(bool grows);

  SimulatedDisk& disk_;
  const std::string name_;
  std::unique_ptr<sqlite3_vfs> vfs_;
  KeyedRandom random_;
  int64_t generation_ = 1;  // Of the process; files of earlier ones are dead.
  bool is_dead_ = false;
  bool is_full_ = false;
  bool is_lying_ = false;
  bool name_follows_sync_ = false;
  int64_t die_in_ = 0;
  int64_t fail_in_ = 0;
  int64_t change_count_ = 0;
  int64_t sync_count_ = 0;
  std::map<std::string, std::shared_ptr<Locks>> locks_;
  std::map<std::string, std::shared_ptr<SharedMemory>> memories_;
};

}  // namespace tune::sim
