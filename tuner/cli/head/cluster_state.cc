#include "tuner/cli/head/cluster_state.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <utility>

#include "core/counted.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/private_folder.h"
#include "core/posix/real_clock.h"
#include "tuner/engines/cluster_change.h"
#include "tuner/engines/command_engine.h"
#include "tuner/engines/kubernetes_engine.h"
#include "tuner/engines/pool_book.h"
#include "tuner/engines/slurm_engine.h"
#include "tuner/engines/ssh_engine.h"

namespace tune {
namespace {

constexpr uint64_t kStateBytesMax = 64u << 20;
constexpr size_t kIdDigits = 6;

std::string FolderOf(const std::string& artifacts_dir) { return artifacts_dir + "/cluster"; }

size_t CountWorkers(const Value& pool) {
  const Value* const left = pool.is_map() ? pool.Find("requests") : nullptr;
  return left != nullptr && left->is_list() ? left->AsList().size() : 0;
}

bool HasWorkers(const Value& pools) {
  if (!pools.is_map()) return false;
  return std::any_of(pools.AsMap().begin(), pools.AsMap().end(),
                     [](const MapEntry& entry) { return CountWorkers(entry.value) > 0; });
}

// Of what stands in state.json under "file".
Result<ClusterSpec> InterpretRemembered(const Value* file) {
  const Value* const at = file != nullptr && file->is_map() ? file->Find("path") : nullptr;
  const Value* const document = at != nullptr ? file->Find("document") : nullptr;
  if (document == nullptr || !at->is_string()) {
    return NotFound("it is not known which file the cluster was up with");
  }
  const std::string& name = at->AsString();
  return InterpretCluster(*document, name, std::filesystem::path(name).parent_path().string());
}

}  // namespace

Status ClusterState::Read() {
  const std::string path = folder_ + "/state.json";
  const Result<std::string> text = ReadFile(path, kStateBytesMax);
  if (!text.ok()) return text.status();
  const Result<Value> state = ParseJson(*text);
  const Value* const name = state.ok() && state->is_map() ? state->Find("name") : nullptr;
  const Value* const id = name != nullptr ? state->Find("id") : nullptr;
  const Value* const pools = id != nullptr ? state->Find("pools") : nullptr;
  if (pools == nullptr || !name->is_string() || !id->is_string()) {
    return DataLoss(path +
                    ": cannot be read as what a head wrote; look for machines of this "
                    "cluster by hand, and remove the file");
  }
  pools_ = *pools;
  id_ = id->AsString();
  if (const Value* const file = state->Find("file"); file != nullptr) file_ = *file;
  if (name->AsString() == name_) return OkStatus();
  if (!HasWorkers(pools_)) {  // A cluster that is down makes place for another.
    pools_ = Value();
    id_.clear();
    return OkStatus();
  }
  return FailedPrecondition("the cluster " + name->AsString() +
                            " has workers of this database; tune cluster down with its file "
                            "gives them back");
}

Result<ClusterState> ClusterState::Open(const std::string& artifacts_dir,
                                        const ClusterSpec& cluster) {
  ClusterState state;
  state.folder_ = FolderOf(artifacts_dir);
  state.name_ = cluster.name;
  TUNE_RETURN_IF_ERROR(state.Read());
  if (state.id_.empty()) return NotFound("the cluster " + cluster.name + " was never up here");
  return state;
}

Result<ClusterState> ClusterState::OpenOrMake(const std::string& artifacts_dir,
                                              const ClusterSpec& cluster) {
  ClusterState state;
  state.folder_ = FolderOf(artifacts_dir);
  state.name_ = cluster.name;
  TUNE_RETURN_IF_ERROR(MakePrivateFolder(state.folder_));
  if (const Status read = state.Read(); !read.ok() && read.code() != StatusCode::kNotFound) {
    return read;
  }
  TUNE_RETURN_IF_ERROR(state.CheckFinds(cluster));
  state.Remember(cluster);
  if (!state.id_.empty()) return state;
  state.id_ = HashToHex(DrawEntropy()).substr(0, kIdDigits);
  TUNE_RETURN_IF_ERROR(state.Keep(Value()));
  return state;
}

Result<ClusterSpec> ClusterState::RememberedFile(const std::string& artifacts_dir) {
  const std::string path = FolderOf(artifacts_dir) + "/state.json";
  TUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kStateBytesMax));
  TUNE_ASSIGN_OR_RETURN(const Value state, ParseJson(text));
  return InterpretRemembered(state.is_map() ? state.Find("file") : nullptr);
}

Status ClusterState::CheckNames(const std::string& artifacts_dir, const ClusterSpec& cluster) {
  const Status fits = CheckJobNames(cluster);
  if (fits.ok()) return fits;
  const Result<ClusterState> up = Open(artifacts_dir, cluster);
  return up.ok() && HasWorkers(up->pools_) ? OkStatus() : fits;
}

Status ClusterState::CheckFinds(const ClusterSpec& cluster) const {
  const Result<ClusterSpec> was = InterpretRemembered(&file_);
  if (!was.ok() || !pools_.is_map()) return OkStatus();
  for (const PoolSpec& pool : was->pools) {
    const Value* const kept = pools_.Find(pool.name);
    const size_t count = kept == nullptr ? 0 : CountWorkers(*kept);
    const auto wanted = std::find_if(cluster.pools.begin(), cluster.pools.end(),
                                     [&pool](const PoolSpec& p) { return p.name == pool.name; });
    if (count == 0 || wanted == cluster.pools.end()) continue;
    const std::vector<std::string> differences = LosesMachines(pool, *wanted);
    if (differences.empty()) continue;
    return FailedPrecondition(cluster.path + ": " + differences.front() +
                              " differs from what the cluster was up with, and the pool " +
                              pool.name + " has " + Counted(static_cast<int64_t>(count), "worker") +
                              ", which would be lost; put it back, or give them back with tune "
                              "cluster down");
  }
  return OkStatus();
}

void ClusterState::Remember(const ClusterSpec& cluster) {
  file_ = Value::MakeMap();
  file_.Set("path", cluster.path);
  file_.Set("document", cluster.document);
}

Status ClusterState::Keep(Value pools) {
  pools_ = std::move(pools);
  Value state = Value::MakeMap();
  state.Set("name", name_);
  state.Set("id", id_);
  state.Set("pools", pools_);
  if (!file_.is_null()) state.Set("file", file_);
  const std::string path = folder_ + "/state.json";
  TUNE_RETURN_IF_ERROR(WriteFileSynced(path + ".new", ToJson(state)));
  return RenameSynced(path + ".new", path);
}

Result<std::string> ClusterState::KeepToken(const std::string& token) const {
  const std::string path = folder_ + "/token";
  unlink((path + ".new").c_str());
  {
    FileDescriptor file(
        open((path + ".new").c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open()) return ErrnoStatus("write", path);
    TUNE_RETURN_IF_ERROR(WriteAll(file.get(), std::as_bytes(std::span(token)), path));
    if (fsync(file.get()) != 0) return ErrnoStatus("sync", path);
  }
  TUNE_RETURN_IF_ERROR(RenameSynced(path + ".new", path));
  return path;
}

std::vector<std::unique_ptr<Engine>> MakeEngines(const ClusterSpec& cluster,
                                                 const ClusterState& state,
                                                 const std::string& program_dir) {
  const PoolBook names(cluster, state.Prefix());
  std::vector<std::unique_ptr<Engine>> engines;
  for (size_t i = 0; i < cluster.pools.size(); ++i) {
    const PoolSpec& pool = cluster.pools[i];
    const std::string prefix = names.PrefixOf(i);
    if (pool.slurm) {
      engines.push_back(MakeSlurmEngine(
          pool, {program_dir, state.folder(), "tune cluster " + cluster.name}, prefix));
    } else if (pool.ssh) {
      engines.push_back(MakeSshEngine(pool, {program_dir, state.folder()}, prefix));
    } else if (pool.kubernetes) {
      engines.push_back(MakeKubernetesEngine(pool, cluster.base_dir, state.folder(), prefix));
    } else {
      engines.push_back(MakeCommandEngine(pool, cluster.base_dir, prefix));
    }
  }
  return engines;
}

Result<FileDescriptor> LockClusterFile(const std::string& path) {
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.is_open()) return ErrnoStatus("read", path);
  if (flock(file.get(), LOCK_EX | LOCK_NB) == 0) return file;
  if (errno != EWOULDBLOCK) return ErrnoStatus("lock", path);
  return FailedPrecondition(path + ": " + kAnotherHeadHasIt + "; tune cluster status shows it");
}

}  // namespace tune
