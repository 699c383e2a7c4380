// Workers as Jobs of Kubernetes, one each (kube_objects.h), by the API server's REST API.
//
// Thread rule: engine.h.
#pragma once

#include <memory>
#include <string>

#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"

namespace tune {

// `folder`: for certificates that a kubeconfig holds itself; it is there, and private. Where the
// server is, is found out with the first call; until that succeeds each call says why it cannot.
std::unique_ptr<Engine> MakeKubernetesEngine(const PoolSpec& pool, const std::string& base_dir,
                                             const std::string& folder, const std::string& prefix);

}  // namespace tune
