// A folder of files that is there whole or not at all, also after a loss of power.
//
//   TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin("/a/3", "checkpoint_000005"));
//   TUNE_RETURN_IF_ERROR(folder.Write("state.bin", bytes));
//   TUNE_ASSIGN_OR_RETURN(const std::string path, folder.Commit());
//
// Order: each file is written and synced (many that are copied: all together), then the folder that
// holds them is synced; it has another name so far ("checkpoint_000005.tmp"). Then it is renamed,
// and its parent is synced. Only then does Commit return.
//
// It never replaces and never touches what another made: where the name is taken, it becomes
// "checkpoint_000005-2", and so on. A process that was killed leaves a ".tmp" folder behind; the
// next one can tell it from one that is being written, since the writer holds a lock on it
// (flock(2)), which ends with the process.
//
// kResourceExhausted from each call: the disk or a quota is full. What was not committed is removed
// with the object.
//
// Thread rule: one thread an object; any number of processes may write into one parent.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>

#include "core/posix/durable_file.h"
#include "core/status.h"

namespace tune {

// What a folder is called until it is whole.
inline constexpr std::string_view kTemporarySuffix = ".tmp";

class DurableFolder {
 public:
  // Makes the parent too (MakeFolderSynced).
  static Result<DurableFolder> Begin(const std::string& parent, const std::string& name);

  DurableFolder(DurableFolder&& other) noexcept
      : parent_(std::move(other.parent_)),
        name_(std::move(other.name_)),
        temporary_(std::exchange(other.temporary_, {})),
        lock_(std::move(other.lock_)) {}
  DurableFolder& operator=(DurableFolder&&) = delete;
  ~DurableFolder();

  Status Write(std::string_view file, std::string_view contents);
  Status MakeFolder(std::string_view name);
  // A file or a folder with all that is in it becomes `name`. Links are followed. kNotFound: there
  // is no such path; kInvalidArgument: it holds what is neither file nor folder.
  Status Copy(std::string_view name, const std::string& source);
  // Where one of its files is until Commit.
  std::string PathOf(std::string_view file) const { return temporary_ + "/" + std::string(file); }
  // Once, last. Returns the folder's path.
  Result<std::string> Commit();

 private:
  DurableFolder(std::string parent, std::string name, std::string temporary, FileDescriptor lock)
      : parent_(std::move(parent)),
        name_(std::move(name)),
        temporary_(std::move(temporary)),
        lock_(std::move(lock)) {}

  std::string parent_;
  std::string name_;
  std::string temporary_;  // Path; empty when there is nothing to remove.
  FileDescriptor lock_;    // On the temporary folder.
};

// Removes the ".tmp" folders in `parent` that nobody writes any more. What cannot be looked at or
// removed stays: it harms nobody.
void RemoveAbandonedFolders(const std::string& parent,
                            const std::function<bool(std::string_view name)>& is_ours = {});

}  // namespace tune
