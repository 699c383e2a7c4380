#include "tuner/engines/cluster_file.h"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <utility>

#include "core/input_error.h"
#include "core/nearest_name.h"
#include "trial_runner/network_address.h"
#include "tuner/engines/cluster_keys.h"
#include "tuner/spec_reader.h"
#include "tuner/spec_section.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kPoolMax = 8;  // Of a pool that does not say.
constexpr size_t kNameBytesMax = 24;
// Of a cluster and its pool together, in "tune-CLUSTER-123456-POOL-NUMBER": the name of a Job is a
// label of its pods, which has 63 bytes at most. A million workers have room.
constexpr size_t kJobBytesMax = 63;
constexpr size_t kBothNamesBytesMax =
    kJobBytesMax - std::string_view("tune--123456--999999").size();
constexpr char kExample[] =
    "pools: {lab: {ssh: {hosts: [node1, node2]}, worker: {cpus: all, gpus: all}}}";

// Engines make names of machines of it.
bool IsEngineName(std::string_view name) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  };
  return !name.empty() && name.size() <= kNameBytesMax && name.front() >= 'a' &&
         name.front() <= 'z' && name.back() != '-' &&
         std::all_of(name.begin(), name.end(), is_good);
}
constexpr char kEngineNameWhat[] =
    "a name of at most 24 lower-case letters, digits and '-', which begins with a letter: engines "
    "name machines by it";

Status ReadText(const SpecSection& section, std::string_view key, std::string_view what,
                std::string& out) {
  const Value* const value = section.Find(key);
  if (value == nullptr) return OkStatus();
  const bool is_line =
      value->is_string() && !value->AsString().empty() &&
      value->AsString().find_first_of(std::string_view("\n\0", 2)) == std::string::npos;
  if (!is_line) return section.Expected(*value, key, what);
  out = value->AsString();
  return OkStatus();
}

Status ReadTexts(const SpecSection& section, std::string_view key, std::string_view what,
                 std::vector<std::string>& out) {
  const Value* const value = section.Find(key);
  if (value == nullptr) return OkStatus();
  if (!value->is_list()) return section.Expected(*value, key, what);
  for (const Value& item : value->AsList()) {
    // A port or a number is as good as a word.
    if (!item.is_string() && !item.is_int()) return section.Expected(item, key, what);
    std::string text = item.is_string() ? item.AsString() : std::to_string(item.AsInt());
    const bool is_text = !text.empty() && text.find('\0') == std::string::npos;
    if (!is_text) return section.Expected(item, key, what);
    out.push_back(std::move(text));
  }
  return OkStatus();
}

enum class Port { kFixed, kAny };

// kFixed: workers look for a head that starts again where it was.
Status ReadAddress(const SpecSection& section, std::string_view key, Port port, std::string& out) {
  const Value* const value = section.Find(key);
  if (value == nullptr) return OkStatus();
  const Result<NetworkAddress> read = value->is_string()
                                          ? ParseNetworkAddress(value->AsString())
                                          : Result<NetworkAddress>(InvalidArgument("no text"));
  if (!read.ok()) return section.Expected(*value, key, "HOST:PORT such as 0.0.0.0:7443");
  if (port == Port::kFixed && read->port == 0) {
    return section.Expected(*value, key,
                            "HOST:PORT with a port above 0, where workers find a head again that "
                            "was started anew");
  }
  out = value->AsString();
  return OkStatus();
}

Status ReadHead(const SpecSection& root, ClusterHeadSpec& out) {
  TUNE_ASSIGN_OR_RETURN(const SpecSection head, SpecSection::Open(root.Find("head"), "head"));
  TUNE_RETURN_IF_ERROR(head.CheckKeys(kClusterHeadKeys));
  TUNE_RETURN_IF_ERROR(ReadAddress(head, "listen", Port::kFixed, out.listen));
  TUNE_RETURN_IF_ERROR(ReadAddress(head, "address", Port::kFixed, out.address));
  std::string http;
  TUNE_RETURN_IF_ERROR(ReadAddress(head, "http", Port::kAny, http));
  if (!http.empty()) out.http = http;
  TUNE_RETURN_IF_ERROR(
      head.ReadInt("cpus", 0, 1'000'000, "a number of CPUs, 0 for none", out.cpus));
  return head.ReadInt("gpus", 0, 1'024, "a number of GPUs, 0 for none", out.gpus);
}

// A count, or "all".
Status ReadCount(const SpecSection& section, std::string_view key, int64_t min, int64_t max,
                 std::optional<int64_t>& out) {
  const Value* const value = section.Find(key);
  if (value == nullptr) return OkStatus();
  out.reset();
  if (*value == Value("all")) return OkStatus();
  int64_t count = 0;
  TUNE_RETURN_IF_ERROR(section.ReadInt(
      key, min, max, "a number of " + std::to_string(min) + " or more, or all", count));
  out = count;
  return OkStatus();
}

Status ReadWorker(const SpecSection& pool, const std::string& name, bool is_fixed,
                  WorkerShape& out) {
  const std::string path = name + ".worker";
  TUNE_ASSIGN_OR_RETURN(const SpecSection worker, SpecSection::Open(pool.Find("worker"), path));
  TUNE_RETURN_IF_ERROR(worker.CheckKeys(kPoolWorkerKeys));
  if (!is_fixed) {  // An engine that makes workers is told how large they are.
    out.cpus = 1;
    out.gpus = 0;
  }
  TUNE_RETURN_IF_ERROR(ReadCount(worker, "cpus", 1, 1'000'000, out.cpus));
  TUNE_RETURN_IF_ERROR(ReadCount(worker, "gpus", 0, 1'024, out.gpus));
  TUNE_RETURN_IF_ERROR(worker.ReadBytes("gpu_memory", out.gpu_memory_bytes));
  return worker.ReadBytes("memory", out.memory_bytes);
}

Status ReadSlurm(const SpecSection& section, const PoolSpec& pool, SlurmPoolSpec& out) {
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kSlurmKeys));
  TUNE_RETURN_IF_ERROR(ReadText(section, "partition", "a partition's name", out.partition));
  TUNE_RETURN_IF_ERROR(ReadText(section, "account", "an account's name", out.account));
  TUNE_RETURN_IF_ERROR(ReadText(section, "qos", "a QOS's name", out.qos));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("time", out.time));
  if (out.time && *out.time < Seconds(120)) {
    return section.Expected(*section.Find("time"), "time",
                            "2m or more: a worker leaves a minute before its job's end");
  }
  TUNE_RETURN_IF_ERROR(ReadTexts(
      section, "options", "a list of sbatch's options such as [\"--exclusive\"]", out.options));
  TUNE_RETURN_IF_ERROR(ReadText(section, "programs", "a folder on the nodes", out.programs));
  if (pool.worker.is_known()) return OkStatus();
  return InvalidAt(pool.place, "pools." + pool.name +
                                   ".worker: Slurm is asked for a number of CPUs and GPUs; "
                                   "expected numbers, not all");
}

Status ReadSsh(const SpecSection& section, const PoolSpec& pool, SshPoolSpec& out) {
  constexpr char kHosts[] = "a list of hosts such as [node1, node2], as ssh knows them";
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kSshKeys));
  TUNE_RETURN_IF_ERROR(ReadTexts(section, "hosts", kHosts, out.hosts));
  if (out.hosts.empty()) {
    return InvalidAt(pool.place,
                     "pools." + pool.name + ".ssh.hosts: is missing; expected " + kHosts);
  }
  std::vector<std::string> sorted = out.hosts;
  std::sort(sorted.begin(), sorted.end());
  for (const std::string& host : out.hosts) {
    // ssh would take it for an option.
    if (host.starts_with('-')) {
      return section.Expected(*section.Find("hosts"), "hosts", kHosts);
    }
    if (std::count(sorted.begin(), sorted.end(), host) > 1) {
      return section.Expected(*section.Find("hosts"), "hosts",
                              "each host once, and not " + host + " twice");
    }
  }
  TUNE_RETURN_IF_ERROR(ReadText(section, "user", "a user's name", out.user));
  TUNE_RETURN_IF_ERROR(
      ReadTexts(section, "options", "a list of ssh's options such as [-p, 2222]", out.options));
  return ReadText(section, "folder", "a folder on the hosts", out.folder);
}

Status ReadCommands(const SpecSection& section, const PoolSpec& pool, CommandPoolSpec& out) {
  constexpr char kWhat[] = "a program and its arguments such as [./vm, create, \"{name}\"]";
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kCommandEngineKeys));
  TUNE_RETURN_IF_ERROR(ReadTexts(section, "up", kWhat, out.up));
  TUNE_RETURN_IF_ERROR(ReadTexts(section, "down", kWhat, out.down));
  TUNE_RETURN_IF_ERROR(ReadTexts(section, "list", kWhat, out.list));
  TUNE_RETURN_IF_ERROR(ReadTexts(section, "log", kWhat, out.log));
  const std::pair<const char*, const std::vector<std::string>*> needed[] = {
      {"up", &out.up}, {"down", &out.down}, {"list", &out.list}};
  for (const auto& [key, command] : needed) {
    if (!command->empty()) continue;
    return InvalidAt(pool.place,
                     "pools." + pool.name + ".command." + key + ": is missing; expected " + kWhat);
  }
  for (const auto* const command : {&out.up, &out.down}) {
    const bool has_name = std::any_of(command->begin(), command->end(), [](const auto& word) {
      return word.find("{name}") != std::string::npos;
    });
    if (has_name) continue;
    return InvalidAt(pool.place, "pools." + pool.name + ".command." +
                                     (command == &out.up ? "up" : "down") +
                                     ": {name} is missing: a machine is made and removed by its "
                                     "name");
  }
  return OkStatus();
}

// What the worker's pod is laid over has the form that Kubernetes has: it would be replaced unseen.
Status CheckTemplate(const Value& pod) {
  const auto expect = [&pod](const char* part, const char* key, bool wants_list) -> Status {
    const Value* const section = pod.Find(part);
    const Value* const value = section != nullptr ? section->Find(key) : nullptr;
    if (value == nullptr || (wants_list ? value->is_list() : value->is_map())) return OkStatus();
    return InvalidAt(value->place, std::string("template.") + part + "." + key + ": read " +
                                       Shown(*value) + ", expected " +
                                       (wants_list ? "a list" : "a map"));
  };
  TUNE_RETURN_IF_ERROR(expect("metadata", "labels", false));
  TUNE_RETURN_IF_ERROR(expect("metadata", "annotations", false));
  TUNE_RETURN_IF_ERROR(expect("spec", "containers", true));
  return expect("spec", "volumes", true);
}

// RFC 1123: a label of DNS, as a namespace's name is; or several with dots between them, as a
// queue's may be.
bool IsDnsName(std::string_view text, bool may_have_dots) {
  constexpr size_t kBytesMax = 63;
  const auto is_inner = [may_have_dots](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' ||
           (c == '.' && may_have_dots);
  };
  return !text.empty() && text.size() <= kBytesMax && text.front() != '-' && text.back() != '-' &&
         std::all_of(text.begin(), text.end(), is_inner);
}

// REGISTRY/PATH:TAG@DIGEST, of the characters that may stand in one.
bool IsImageName(std::string_view text) {
  const auto is_inner = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("-._/:@+").find(c) != std::string_view::npos;
  };
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) != 0 &&
         std::all_of(text.begin(), text.end(), is_inner);
}

Status ReadKubernetes(const SpecSection& section, const PoolSpec& pool, KubernetesPoolSpec& out) {
  constexpr char kImage[] = "a container image with tune in it, such as registry.example/tune:1";
  const std::string path = "pools." + pool.name;
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kKubernetesKeys));
  constexpr char kNamespace[] = "a namespace's name: lower-case letters, digits and '-'";
  TUNE_RETURN_IF_ERROR(ReadText(section, "namespace", kNamespace, out.name_space));
  if (!out.name_space.empty() && !IsDnsName(out.name_space, false)) {
    return section.Expected(*section.Find("namespace"), "namespace", kNamespace);
  }
  TUNE_RETURN_IF_ERROR(ReadText(section, "image", kImage, out.image));
  if (out.image.empty()) {
    return InvalidAt(pool.place, path + ".kubernetes.image: is missing; expected " + kImage);
  }
  if (!IsImageName(out.image)) return section.Expected(*section.Find("image"), "image", kImage);
  TUNE_RETURN_IF_ERROR(
      ReadText(section, "gpu_resource", "a resource such as nvidia.com/gpu", out.gpu_resource));
  TUNE_RETURN_IF_ERROR(ReadText(section, "kubeconfig", "a kubeconfig file", out.kubeconfig));
  TUNE_RETURN_IF_ERROR(ReadText(section, "context", "a context of the kubeconfig", out.context));
  constexpr char kQueue[] = "a local queue of Kueue: lower-case letters, digits, '-' and '.'";
  TUNE_RETURN_IF_ERROR(ReadText(section, "queue", kQueue, out.queue));
  if (!out.queue.empty() && !IsDnsName(out.queue, true)) {
    return section.Expected(*section.Find("queue"), "queue", kQueue);
  }
  TUNE_RETURN_IF_ERROR(section.ReadDuration("grace", out.grace));
  out.pod_template = Value::MakeMap();
  if (const Value* const pod = section.Find("template")) {
    constexpr char kPod[] = "a pod template such as {spec: {nodeSelector: {disk: fast}}}";
    if (!pod->is_map()) return section.Expected(*pod, "template", kPod);
    for (const MapEntry& entry : pod->AsMap()) {
      const bool is_known = entry.key == "metadata" || entry.key == "spec";
      if (!is_known || !entry.value.is_map()) {
        return section.Expected(entry.value, "template", kPod);
      }
    }
    TUNE_RETURN_IF_ERROR(CheckTemplate(*pod));
    out.pod_template = *pod;
  }
  if (pool.worker.is_known()) return OkStatus();
  return InvalidAt(pool.place, path +
                                   ".worker: Kubernetes is asked for a number of CPUs and GPUs; "
                                   "expected numbers, not all");
}

Status ReadEngine(const SpecSection& section, const std::string& path, PoolSpec& pool) {
  std::vector<std::string_view> found;
  for (const std::string_view key : kEngineKeys) {
    if (section.Find(key) != nullptr) found.push_back(key);
  }
  if (found.size() != 1) {
    return InvalidAt(pool.place, path + (found.empty() ? ": has no engine" : ": has two engines") +
                                     "; expected one of slurm, ssh, command and kubernetes");
  }
  TUNE_ASSIGN_OR_RETURN(
      const SpecSection engine,
      SpecSection::Open(section.Find(found[0]), path + "." + std::string(found[0])));
  TUNE_RETURN_IF_ERROR(ReadWorker(section, path, found[0] == "ssh", pool.worker));
  if (found[0] == "slurm") return ReadSlurm(engine, pool, pool.slurm.emplace());
  if (found[0] == "ssh") return ReadSsh(engine, pool, pool.ssh.emplace());
  if (found[0] == "kubernetes") return ReadKubernetes(engine, pool, pool.kubernetes.emplace());
  return ReadCommands(engine, pool, pool.command.emplace());
}

Result<PoolSpec> ReadPool(const MapEntry& entry) {
  PoolSpec pool;
  pool.name = entry.key;
  pool.place = entry.key_place;
  const std::string path = "pools." + entry.key;
  if (!IsEngineName(entry.key)) {
    return InvalidAt(entry.key_place,
                     "pools: read '" + entry.key + "', expected " + kEngineNameWhat);
  }
  TUNE_ASSIGN_OR_RETURN(const SpecSection section, SpecSection::Open(&entry.value, path));
  TUNE_RETURN_IF_ERROR(section.CheckKeys(kPoolKeys));
  TUNE_RETURN_IF_ERROR(ReadEngine(section, path, pool));
  const int64_t most = pool.ssh ? static_cast<int64_t>(pool.ssh->hosts.size()) : kPoolWorkersMax;
  pool.max = pool.ssh ? most : kPoolMax;
  const std::string up_to =
      pool.ssh ? std::to_string(most) + ", one for each host" : std::to_string(most);
  TUNE_RETURN_IF_ERROR(
      section.ReadInt("max", 1, most, "a number of workers from 1 to " + up_to, pool.max));
  TUNE_RETURN_IF_ERROR(section.ReadInt(
      "min", 0, pool.max, "a number of workers from 0 to max (" + std::to_string(pool.max) + ")",
      pool.min));
  TUNE_RETURN_IF_ERROR(section.ReadWait("idle", pool.idle));
  TUNE_RETURN_IF_ERROR(section.ReadDuration("join_timeout", pool.join_timeout));
  if (const Value* const spot = section.Find("spot")) {
    if (!spot->is_bool()) return section.Expected(*spot, "spot", "true or false");
    pool.spot = spot->AsBool();
  }
  return pool;
}

Result<ClusterSpec> ReadCluster(const Value& document, std::string_view stem) {
  ClusterSpec cluster;
  if (!document.is_map()) {
    return InvalidAt(document.place,
                     "read " + Shown(document) + ", expected a map such as\n  " + kExample);
  }
  TUNE_ASSIGN_OR_RETURN(const SpecSection root, SpecSection::Open(&document, ""));
  TUNE_RETURN_IF_ERROR(root.CheckKeys(kClusterKeys));
  cluster.name = stem;
  const Value* const name = root.Find("name");
  if (name != nullptr && !name->is_string()) return root.Expected(*name, "name", kEngineNameWhat);
  if (name != nullptr) cluster.name = name->AsString();
  if (!IsEngineName(cluster.name)) {
    return InvalidAt(name == nullptr ? Place{} : name->place,
                     "name: read '" + cluster.name + "'" +
                         (name == nullptr ? " from the file's name" : "") + ", expected " +
                         kEngineNameWhat);
  }
  TUNE_RETURN_IF_ERROR(ReadHead(root, cluster.head));
  const Value* const pools = root.Find("pools");
  if (pools == nullptr) return MissingKey(document, "pools", kExample);
  if (!pools->is_map() || pools->AsMap().empty()) {
    return root.Expected(*pools, "pools", std::string("a map such as ") + kExample);
  }
  for (const MapEntry& entry : pools->AsMap()) {
    TUNE_ASSIGN_OR_RETURN(PoolSpec pool, ReadPool(entry));
    cluster.pools.push_back(std::move(pool));
  }
  return cluster;
}

}  // namespace

WorkerCapacity WorkerShape::Capacity() const {
  WorkerCapacity capacity;
  capacity.cpu_milli = *cpus * kWholeMilli;
  for (int64_t i = 0; i < *gpus; ++i) {
    capacity.devices.push_back({i, "", gpu_memory_bytes});
  }
  return capacity;
}

Result<ClusterSpec> InterpretCluster(const Value& document, std::string_view file,
                                     std::string_view base_dir) {
  Result<ClusterSpec> cluster = ReadCluster(document, fs::path(file).stem().string());
  if (!cluster.ok()) return InFile(file, cluster.status());
  cluster->base_dir = base_dir;
  cluster->path = file;
  cluster->document = document;
  return cluster;
}

Status CheckJobNames(const ClusterSpec& cluster) {
  for (const PoolSpec& pool : cluster.pools) {
    const size_t bytes = cluster.name.size() + pool.name.size();
    if (!pool.kubernetes || bytes <= kBothNamesBytesMax) continue;
    const Status status =
        InvalidAt(pool.place, "pools: read '" + pool.name + "', expected a name that has at most " +
                                  std::to_string(kBothNamesBytesMax) +
                                  " letters together with the cluster's ('" + cluster.name +
                                  "'): Kubernetes names Jobs by both, with at most 63");
    return InFile(cluster.path, status);
  }
  return OkStatus();
}

Result<ClusterSpec> ReadClusterFile(const std::string& path) {
  TUNE_ASSIGN_OR_RETURN(const std::string text, ReadDocumentText(path, "a cluster file"));
  const Result<Value> document = ParseYaml(text);
  if (!document.ok()) return InFile(path, document.status());
  std::error_code error;
  const fs::path absolute = fs::absolute(path, error);
  if (error) return InvalidArgument(path + ": " + error.message());
  TUNE_ASSIGN_OR_RETURN(
      ClusterSpec cluster,
      InterpretCluster(*document, path, absolute.parent_path().lexically_normal().string()));
  cluster.path = absolute.lexically_normal().string();
  return cluster;
}

}  // namespace tune
