#include "tuner/engines/cluster_change.h"

#include <algorithm>
#include <iterator>
#include <string_view>
#include <utility>

#include "core/check.h"
#include "core/json.h"

namespace tune {
namespace {

class Comparison {
 public:
  template <typename T>
  void Other(const std::string& path, const T& is, const T& wanted) {
    if (!(is == wanted)) change_.others.push_back(path);
  }
  void Setting(const std::string& path, int64_t is, int64_t wanted) {
    if (is != wanted) Changed(path, std::to_string(is), std::to_string(wanted));
  }
  void Setting(const std::string& path, Duration is, Duration wanted) {
    if (is != wanted) Changed(path, FormatDuration(is), FormatDuration(wanted));
  }
  void ComparePool(const PoolSpec& is, const PoolSpec& wanted);
  void CompareEngines(const PoolSpec& is, const PoolSpec& wanted);
  ClusterChange Take() { return std::move(change_); }

 private:
  void Changed(const std::string& path, const std::string& is, const std::string& wanted) {
    change_.settings.push_back(path + ": " + wanted + " instead of " + is);
  }
  void CompareEngine(const std::string& path, const PoolSpec& is, const PoolSpec& wanted);

  ClusterChange change_;
};

void Comparison::CompareEngine(const std::string& path, const PoolSpec& is,
                               const PoolSpec& wanted) {
  if (is.slurm) {
    const SlurmPoolSpec &a = *is.slurm, &b = *wanted.slurm;
    Other(path + ".slurm.partition", a.partition, b.partition);
    Other(path + ".slurm.account", a.account, b.account);
    Other(path + ".slurm.qos", a.qos, b.qos);
    Other(path + ".slurm.time", a.time, b.time);
    Other(path + ".slurm.options", a.options, b.options);
    Other(path + ".slurm.programs", a.programs, b.programs);
  } else if (is.ssh) {
    const SshPoolSpec &a = *is.ssh, &b = *wanted.ssh;
    Other(path + ".ssh.hosts", a.hosts, b.hosts);
    Other(path + ".ssh.user", a.user, b.user);
    Other(path + ".ssh.options", a.options, b.options);
    Other(path + ".ssh.folder", a.folder, b.folder);
  } else if (is.kubernetes) {
    const KubernetesPoolSpec &a = *is.kubernetes, &b = *wanted.kubernetes;
    Other(path + ".kubernetes.namespace", a.name_space, b.name_space);
    Other(path + ".kubernetes.image", a.image, b.image);
    Other(path + ".kubernetes.gpu_resource", a.gpu_resource, b.gpu_resource);
    Other(path + ".kubernetes.kubeconfig", a.kubeconfig, b.kubeconfig);
    Other(path + ".kubernetes.context", a.context, b.context);
    Other(path + ".kubernetes.queue", a.queue, b.queue);
    Other(path + ".kubernetes.grace", a.grace, b.grace);
    Other(path + ".kubernetes.template", ToJson(a.pod_template), ToJson(b.pod_template));
  } else {
    const CommandPoolSpec &a = *is.command, &b = *wanted.command;
    Other(path + ".command.up", a.up, b.up);
    Other(path + ".command.down", a.down, b.down);
    Other(path + ".command.list", a.list, b.list);
    Other(path + ".command.log", a.log, b.log);
  }
}

void Comparison::CompareEngines(const PoolSpec& is, const PoolSpec& wanted) {
  const std::string path = "pools." + is.name;
  if (std::string(is.engine()) != wanted.engine()) {
    change_.others.push_back(path + "." + wanted.engine());
  } else {
    CompareEngine(path, is, wanted);
  }
}

void Comparison::ComparePool(const PoolSpec& is, const PoolSpec& wanted) {
  const std::string path = "pools." + is.name;
  CompareEngines(is, wanted);
  Other(path + ".worker.cpus", is.worker.cpus, wanted.worker.cpus);
  Other(path + ".worker.gpus", is.worker.gpus, wanted.worker.gpus);
  Other(path + ".worker.gpu_memory", is.worker.gpu_memory_bytes, wanted.worker.gpu_memory_bytes);
  Other(path + ".worker.memory", is.worker.memory_bytes, wanted.worker.memory_bytes);
  Other(path + ".spot", is.spot, wanted.spot);
  Setting(path + ".min", is.min, wanted.min);
  Setting(path + ".max", is.max, wanted.max);
  Setting(path + ".idle", is.idle, wanted.idle);
  Setting(path + ".join_timeout", is.join_timeout, wanted.join_timeout);
}

std::vector<std::string> PoolNames(const ClusterSpec& cluster) {
  std::vector<std::string> names;
  for (const PoolSpec& pool : cluster.pools) names.push_back(pool.name);
  return names;
}

}  // namespace

ClusterChange CompareClusters(const ClusterSpec& cluster, const ClusterSpec& wanted) {
  Comparison comparison;
  comparison.Other("name", cluster.name, wanted.name);
  comparison.Other("head.listen", cluster.head.listen, wanted.head.listen);
  comparison.Other("head.address", cluster.head.address, wanted.head.address);
  comparison.Other("head.http", cluster.head.http, wanted.head.http);
  comparison.Other("head.cpus", cluster.head.cpus, wanted.head.cpus);
  comparison.Other("head.gpus", cluster.head.gpus, wanted.head.gpus);
  const bool has_commands = std::any_of(wanted.pools.begin(), wanted.pools.end(),
                                        [](const PoolSpec& pool) { return !!pool.command; });
  if (has_commands) {
    comparison.Other("the folder of the file", cluster.base_dir, wanted.base_dir);
  }
  comparison.Other("pools (which there are, and their order)", PoolNames(cluster),
                   PoolNames(wanted));
  for (const PoolSpec& pool : cluster.pools) {
    const auto same = std::find_if(wanted.pools.begin(), wanted.pools.end(),
                                   [&pool](const PoolSpec& p) { return p.name == pool.name; });
    if (same != wanted.pools.end()) comparison.ComparePool(pool, *same);
  }
  return comparison.Take();
}

std::vector<std::string> LosesMachines(const PoolSpec& pool, const PoolSpec& wanted) {
  constexpr std::string_view kOnlyOfNewOnes[] = {
      ".slurm.partition",  ".slurm.account",       ".slurm.qos",        ".slurm.time",
      ".slurm.programs",   ".kubernetes.image",    ".kubernetes.queue", ".kubernetes.gpu_resource",
      ".kubernetes.grace", ".kubernetes.template", ".command.log"};
  Comparison comparison;
  comparison.CompareEngines(pool, wanted);
  std::vector<std::string> differences = comparison.Take().others;
  std::erase_if(differences, [&](const std::string& path) {
    const bool has_more_hosts =
        path.ends_with(".ssh.hosts") &&
        std::all_of(pool.ssh->hosts.begin(), pool.ssh->hosts.end(), [&](const auto& host) {
          const std::vector<std::string>& hosts = wanted.ssh->hosts;
          return std::find(hosts.begin(), hosts.end(), host) != hosts.end();
        });
    return has_more_hosts ||
           std::any_of(std::begin(kOnlyOfNewOnes), std::end(kOnlyOfNewOnes),
                       [&path](std::string_view end) { return path.ends_with(end); });
  });
  return differences;
}

void ApplySettings(const ClusterSpec& wanted, ClusterSpec& cluster) {
  TUNE_CHECK(PoolNames(cluster) == PoolNames(wanted));
  for (size_t i = 0; i < cluster.pools.size(); ++i) {
    cluster.pools[i].min = wanted.pools[i].min;
    cluster.pools[i].max = wanted.pools[i].max;
    cluster.pools[i].idle = wanted.pools[i].idle;
    cluster.pools[i].join_timeout = wanted.pools[i].join_timeout;
  }
  cluster.path = wanted.path;
  cluster.document = wanted.document;
}

}  // namespace tune
