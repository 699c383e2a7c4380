// What a cluster is beside its database: <db stem>.artifacts/cluster/, with the names of its
// machines, what was asked for, the token of its workers and their logs.
//
// Thread rule: one thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "core/value.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"

namespace tune {

class ClusterState {
 public:
  // Makes the folder, and draws the cluster's id, where there is none. kFailedPrecondition: another
  // cluster has workers of this database, or a pool has workers that its engine would not find by
  // this file.
  static Result<ClusterState> OpenOrMake(const std::string& artifacts_dir,
                                         const ClusterSpec& cluster);
  // kNotFound: no cluster was ever up with this database.
  static Result<ClusterState> Open(const std::string& artifacts_dir, const ClusterSpec& cluster);
  // The file that the cluster was last up with. kNotFound: no cluster was ever up with this
  // database, or a head that did not keep the file began it.
  static Result<ClusterSpec> RememberedFile(const std::string& artifacts_dir);

  // CheckJobNames, unless a worker of this database has such a name.
  static Status CheckNames(const std::string& artifacts_dir, const ClusterSpec& cluster);

  // What names of machines begin with, of this cluster of this database alone.
  std::string Prefix() const { return "tune-" + name_ + "-" + id_; }
  // As PoolBook::Encode; null before anything was asked for.
  const Value& pools() const { return pools_; }
  Status Keep(Value pools);
  // What Keep() writes besides, from now on.
  void Remember(const ClusterSpec& cluster);

  const std::string& folder() const { return folder_; }
  // Writes the token into a file of mode 0600; its path.
  Result<std::string> KeepToken(const std::string& token) const;

 private:
  Status Read();
  // That workers which a pool has are found by this file, too.
  Status CheckFinds(const ClusterSpec& cluster) const;

  std::string folder_;
  std::string name_;
  std::string id_;
  Value pools_;
  Value file_;  // {"path": ..., "document": ...}; null: it is not known.
};

// One for each pool.
std::vector<std::unique_ptr<Engine>> MakeEngines(const ClusterSpec& cluster,
                                                 const ClusterState& state,
                                                 const std::string& program_dir);

// In the message of one that another head has.
inline constexpr char kAnotherHeadHasIt[] = "another head has this cluster";
// A lock on a cluster file, as long as this is open: one head has it. kFailedPrecondition: another
// one does.
Result<FileDescriptor> LockClusterFile(const std::string& path);

}  // namespace tune
