// What Kubernetes is told of a pool's workers, and what its objects tell of them: a Job for each
// worker, and a Secret that goes with it.
//
// Thread rule: pure functions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/value.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"

namespace tune {

// The label that all objects of a pool have; its value is the pool's prefix without the last '-'.
inline constexpr char kKubePoolLabel[] = "tune.pool";
inline constexpr char kKubeJobLabel[] =
    "batch.kubernetes.io/job-name";  // Kubernetes's own, of pods.
std::string KubePool(const std::string& prefix);

// Who owns the Jobs, where this runs in a Deployment: they go with it. An empty uid: nobody.
struct KubeOwner {
  std::string name, uid;
};

// Source of the fields: the Kubernetes API, batch/v1 Job. The token is in no field of it.
Value KubeJob(const PoolSpec& pool, const std::string& prefix, const std::string& name,
              const std::string& connect, const KubeOwner& owner);
// Goes with the Job of the same name; an empty uid: of none yet.
Value KubeSecret(const std::string& prefix, const std::string& name, const std::string& token,
                 const std::string& job_uid);

// Of lists of Jobs, their pods and events; those whose names begin with the prefix. A pod that goes
// on without its Job is a machine by the Job's name.
std::vector<Machine> KubeMachines(const std::vector<Value>& jobs, const std::vector<Value>& pods,
                                  const std::vector<Value>& events, std::string_view prefix);

// `map.a.b` for "a.b", or null: keys are parted by '.'.
const Value* KubeField(const Value& map, std::string_view path);
std::string KubeText(const Value& map, std::string_view path);  // Empty: no text is there.

}  // namespace tune
