// The keys of a cluster file and of its sections: what the reader knows, and the schema tells
// editors.
//
// Thread rule: constants.
#pragma once

#include <array>
#include <string_view>

namespace tune {

inline constexpr std::array<std::string_view, 3> kClusterKeys = {"name", "head", "pools"};
inline constexpr std::array<std::string_view, 5> kClusterHeadKeys = {"listen", "address", "http",
                                                                     "cpus", "gpus"};
// The engines' keys first; a pool has one of them.
inline constexpr std::array<std::string_view, 4> kEngineKeys = {"slurm", "ssh", "command",
                                                                "kubernetes"};
inline constexpr std::array<std::string_view, 10> kPoolKeys = {
    "slurm", "ssh", "command", "kubernetes", "worker",
    "min",   "max", "idle",    "spot",       "join_timeout"};
inline constexpr std::array<std::string_view, 4> kPoolWorkerKeys = {"cpus", "gpus", "gpu_memory",
                                                                    "memory"};
inline constexpr std::array<std::string_view, 6> kSlurmKeys = {"partition", "account", "qos",
                                                               "time",      "options", "programs"};
inline constexpr std::array<std::string_view, 4> kSshKeys = {"hosts", "user", "options", "folder"};
inline constexpr std::array<std::string_view, 4> kCommandEngineKeys = {"up", "down", "list", "log"};

inline constexpr std::array<std::string_view, 8> kKubernetesKeys = {
    "namespace", "image", "gpu_resource", "kubeconfig", "context", "queue", "grace", "template"};

}  // namespace tune
