// cluster.yaml to ClusterSpec: a head, and pools of workers that an engine gives (Slurm,
// Kubernetes, SSH, or commands of one's own).
//
// Thread rule: pure functions, but for ReadClusterFile.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "core/value.h"

namespace tune {

// As `tune head` has them.
struct ClusterHeadSpec {
  std::string listen = "0.0.0.0:7443";
  std::string address;  // HOST:PORT where workers reach it; empty: as the head finds it.
  std::optional<std::string> http;  // HOST:PORT of the page; nothing: it is not served.
  int64_t cpus = 0;  // Of the head's own worker: none, unless the file says otherwise.
  int64_t gpus = 0;
};

// What each worker of a pool offers. Nothing: all that its machine has.
struct WorkerShape {
  std::optional<int64_t> cpus;
  std::optional<int64_t> gpus;
  int64_t gpu_memory_bytes = 0;  // Of each GPU; 0: not known before it joins.
  int64_t memory_bytes = 0;      // What the engine is asked for; 0: as it sees fit.

  bool is_known() const { return cpus.has_value() && gpus.has_value(); }
  // Requires is_known().
  WorkerCapacity Capacity() const;
};

struct SlurmPoolSpec {
  std::string partition, account, qos;  // Empty: Slurm's default.
  std::optional<Duration> time;         // Of a job; nothing: the partition's own limit.
  std::vector<std::string> options;     // Further ones of sbatch, as they are.
  std::string programs;                 // The folder of tune on the nodes; empty: as here.
};
struct SshPoolSpec {
  std::vector<std::string> hosts;
  std::string user;                  // Empty: as ssh's configuration says.
  std::vector<std::string> options;  // Further ones of ssh, as they are.
  std::string folder;                // There, for programs and logs; relative to the home folder.
};
struct CommandPoolSpec {
  std::vector<std::string> up, down, list;
  std::vector<std::string> log;  // Empty: no log can be had.
};

struct KubernetesPoolSpec {
  std::string name_space;  // Empty: the one of the context, or of the pod.
  std::string image;
  std::string gpu_resource = "nvidia.com/gpu";
  std::string kubeconfig, context;  // Empty: as kubectl finds them.
  std::string queue;                // Kueue's local queue; empty: none.
  Duration grace = Seconds(60);     // From SIGTERM until a pod is killed.
  Value pod_template;               // A pod template that ours is laid over; a map.
};

struct PoolSpec {
  std::string name;
  // One of these.
  std::optional<SlurmPoolSpec> slurm;
  std::optional<SshPoolSpec> ssh;
  std::optional<CommandPoolSpec> command;
  std::optional<KubernetesPoolSpec> kubernetes;

  WorkerShape worker;
  int64_t min = 0;
  int64_t max = 0;
  Duration idle = Seconds(600);          // A worker without work goes after this.
  Duration join_timeout = Seconds(600);  // From its start until it has joined.
  bool spot = false;                     // Its machines may be taken away at any time.
  Place place;                           // In the file.

  const char* engine() const {
    return slurm ? "slurm" : ssh ? "ssh" : kubernetes ? "kubernetes" : "command";
  }
};

struct ClusterSpec {
  std::string name;
  ClusterHeadSpec head;
  std::vector<PoolSpec> pools;  // The first one that can hold a trial is asked first.
  std::string base_dir;         // Commands run there.
  std::string path;             // Of the file; absolute where it was read from one.
  Value document;               // What it says.
};

inline constexpr int64_t kPoolWorkersMax = 10'000;

// Checks all that the document alone can tell, as InterpretSpec does of a space file. `file`
// prefixes each error: "file:line:column: ...". The name defaults to the file's stem.
Result<ClusterSpec> InterpretCluster(const Value& document, std::string_view file,
                                     std::string_view base_dir);
Result<ClusterSpec> ReadClusterFile(const std::string& path);
// kInvalidArgument: with these names of the cluster and a pool Kubernetes would refuse the names of
// Jobs. It is asked of a new cluster: one that is up under such names must be shown and taken down.
Status CheckJobNames(const ClusterSpec& cluster);

// The same as JSON Schema (draft 7), for editors.
std::string ClusterSchema();

}  // namespace tune
