// Removes the folders of a head's deleted sweeps beside its loop, which waits for no disk: a folder
// of a terabyte takes minutes. Each is set aside first (deleted_folders.h).
//
// Thread rule: one thread, the tuner's.
#pragma once

#include <condition_variable>
#include <deque>
#include <mutex>
#include <stop_token>
#include <string>
#include <thread>
#include <vector>

#include "core/status.h"

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
  // Lines for the head's log, since the last call.
  std::vector<std::string> TakeLines();

 private:
  void Remove(std::string path);
  void Work(const std::stop_token& stop);

  const std::string db_path_;
  const std::string artifacts_dir_;
  std::mutex mutex_;
  std::condition_variable_any has_work_;
  std::deque<std::string> paths_;
  std::vector<std::string> lines_;
  std::jthread thread_;  // Since the first folder.
};

}  // namespace tune
