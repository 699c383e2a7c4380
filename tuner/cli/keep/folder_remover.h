// The folders of a head's sweeps that are over, seen to beside its loop, which waits for no disk: a
// folder of a terabyte takes minutes to remove, and one of a million files to walk. What deletes
// leave is set aside first (deleted_folders.h), and removed; of ended sweeps goes what nobody
// needs, and their size is measured.
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/status.h"
#include "core/time.h"

namespace tune {

class FolderRemover {
 public:
  explicit FolderRemover(const std::string& db_path);

  // At the head's start: what its last life has left.
  void GoOn();
  // The folder of a sweep whose rows are gone: its name is free when this returns ok. An error
  // where the folder is not its own (CheckFolderIsOfSweep).
  Status RemoveDeleted(const std::string& sweep);
  // Sets aside what another sweep has left in the folder of a new one, before that begins.
  Status MakeWayFor(const std::string& sweep);
  // CleanUpSweep of a sweep that has ended, soon; `lease` is its head's.
  void CleanUp(const std::string& sweep, Instant now, Duration lease);
  // Before the sweep goes on: nothing is removed of it from here on. Waits for what is just at it.
  void LeaveAlone(const std::string& sweep);
  // The bytes of the folder of a sweep that ended then: nothing until they have been measured,
  // soon. That is done once, since nothing grows there.
  std::optional<int64_t> SizeOf(const std::string& sweep, Instant ended_at);
  // Lines for the head's log, since the last call.
  std::vector<std::string> TakeLines();

 private:
  struct Job {
    std::function<Status(const std::stop_token&)> work;
    std::string cleaned = {};  // The sweep of CleanUp; else empty.
  };
  struct Measured {
    Instant ended_at;
    std::optional<int64_t> bytes;
  };

  void Remove(std::string path);
  void Begin(Job job);
  void Work(const std::stop_token& stop);

  const std::string db_path_;
  const std::string artifacts_dir_;
  std::mutex mutex_;
  std::condition_variable_any has_work_;
  std::condition_variable_any is_done_;
  std::deque<Job> jobs_;
  std::string being_cleaned_;              // The sweep; else empty.
  std::map<std::string, Measured> sizes_;  // Or about to be; by sweep.
  std::vector<std::string> lines_;
  std::jthread thread_;  // Since the first job.
};

}  // namespace tune
