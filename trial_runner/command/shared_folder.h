// A trial's part in the record of the folder where it runs (folder_record.h): brings it up to date
// when the attempt begins and when it ends, and tells what may be wrong with the trial's values.
//
// The record lies in /tmp/tune-USER/folders, and need not survive anything. A look takes at most
// some thousand files and some milliseconds: of a folder with more nothing is told, and nothing of
// what changes often by nature: sources, logs, pictures, databases, caches, hidden files. Whatever
// goes wrong here is no error: nothing is told then.
//
// Thread rule: one thread; processes keep apart by a lock.
#pragma once

#include <sys/types.h>

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "trial_runner/command/folder_record.h"

namespace tune {

using FileIdentities = std::set<std::pair<dev_t, ino_t>>;

class SharedFolder {
 public:
  // `folder`: the program's working folder. `metric_files`: as the space file names them, filled.
  SharedFolder(std::string folder, const std::string& artifact_dir,
               const std::vector<std::string>& metric_files, std::string config);

  // Before the program starts.
  void Begin();
  // After it has ended. `has_values`: it ended in order, so that there is something to be told of.
  // Lines for a person; the words before a line's colon are its kind.
  std::vector<std::string> End(bool has_values);

 private:
  void TellContent(FolderRecord& record, std::vector<std::string>& notes) const;

  const std::string folder_;
  FolderMember member_;
  const std::string config_;                  // A hash.
  std::vector<std::string> contents_before_;  // Of the metric files, hashes; empty: not there.
  std::string record_file_;                   // Empty: there can be none.
  FileIdentities outputs_;                    // Where the tuner writes what it says.
};

}  // namespace tune
