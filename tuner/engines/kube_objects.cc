#include "tuner/engines/kube_objects.h"

#include <algorithm>
#include <map>
#include <utility>

#include "core/base64.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr char kContainer[] = "worker";
constexpr char kTokenFolder[] = "/run/tune-join";
constexpr char kJoinVolume[] = "tune-join";
// For whoever looks at what ended.
constexpr int64_t kKeptSeconds = 300;
constexpr char kScript[] =
    "TUNE_JOIN=$(cat /run/tune-join/token) && export TUNE_JOIN && exec tune worker --connect "
    "\"$1\" --name \"$2\" --cpus \"$3\" --gpus \"$4\"";

Value Map(std::vector<std::pair<std::string_view, Value>> entries) {
  Value map = Value::MakeMap();
  for (auto& [key, value] : entries) map.Set(key, std::move(value));
  return map;
}

Value List(std::vector<Value> items) {
  Value list = Value::MakeList();
  for (Value& item : items) list.AsList().push_back(std::move(item));
  return list;
}

// `above` over `below`: maps by their keys, lists behind one another, of containers those of one
// name; anything else as `above` has it.
Value Merged(Value below, Value above, std::string_view key = {}) {
  if (below.is_map() && above.is_map()) {
    for (MapEntry& entry : above.AsMap()) {
      Value* const there = below.Find(entry.key);
      Value merged = there == nullptr ? std::move(entry.value)
                                      : Merged(*there, std::move(entry.value), entry.key);
      below.Set(entry.key, std::move(merged));
    }
    return below;
  }
  const bool are_lists = below.is_list() && above.is_list();
  if (!are_lists || key == "command") return above;
  for (Value& item : above.AsList()) {
    const std::string name = key == "containers" ? KubeText(item, "name") : "";
    const auto same = std::find_if(
        below.AsList().begin(), below.AsList().end(),
        [&](const Value& one) { return !name.empty() && KubeText(one, "name") == name; });
    if (same == below.AsList().end()) {
      below.AsList().push_back(std::move(item));
    } else {
      *same = Merged(*same, std::move(item));
    }
  }
  return below;
}

Value Labels(const std::string& prefix) {
  return Map({{"app.kubernetes.io/managed-by", "tune"}, {kKubePoolLabel, KubePool(prefix)}});
}

Value Resources(const PoolSpec& pool) {
  Value wanted = Map({{"cpu", std::to_string(*pool.worker.cpus)}});
  if (pool.worker.memory_bytes > 0) {
    wanted.Set("memory", std::to_string(pool.worker.memory_bytes));
  }
  if (*pool.worker.gpus > 0) {
    wanted.Set(pool.kubernetes->gpu_resource, std::to_string(*pool.worker.gpus));
  }
  return Map({{"requests", wanted}, {"limits", wanted}});
}

Value PodSpec(const PoolSpec& pool, const std::string& name, const std::string& connect) {
  Value container = Map(
      {{"name", kContainer},
       {"image", pool.kubernetes->image},
       {"command", List({"sh", "-c", kScript, "worker", connect, name,
                         std::to_string(*pool.worker.cpus), std::to_string(*pool.worker.gpus)})},
       {"resources", Resources(pool)},
       {"volumeMounts",
        List({Map({{"name", kJoinVolume}, {"mountPath", kTokenFolder}, {"readOnly", true}})})}});
  // Its files belong to root, and the image's user may be another one. Nobody else is in the pod.
  constexpr int64_t kAllRead = 0444;
  Value volume = Map(
      {{"name", kJoinVolume}, {"secret", Map({{"secretName", name}, {"defaultMode", kAllRead}})}});
  return Map({{"restartPolicy", "Never"},
              {"terminationGracePeriodSeconds", pool.kubernetes->grace.us / 1'000'000},
              {"automountServiceAccountToken", false},
              {"containers", List({std::move(container)})},
              {"volumes", List({std::move(volume)})}});
}

// The condition of that type, where it has the status.
const Value* Condition(const Value& object, std::string_view type, std::string_view status) {
  const Value* const conditions = KubeField(object, "status.conditions");
  if (conditions == nullptr || !conditions->is_list()) return nullptr;
  for (const Value& one : conditions->AsList()) {
    if (KubeText(one, "type") == type && KubeText(one, "status") == status) return &one;
  }
  return nullptr;
}

std::string ReasonAnd(const std::string& reason, const std::string& message) {
  if (reason.empty() || message.empty()) return Printable(reason + message);
  return Printable(reason + ": " + message);
}

// Of its first container: the state of that name; null: it is in another one.
const Value* ContainerState(const Value& pod, std::string_view state) {
  const Value* const all = KubeField(pod, "status.containerStatuses");
  if (all == nullptr || !all->is_list() || all->AsList().empty()) return nullptr;
  return KubeField(all->AsList().front(), "state." + std::string(state));
}

std::string WhyPending(const Value& pod) {
  if (const Value* const waiting = ContainerState(pod, "waiting")) {
    return ReasonAnd(KubeText(*waiting, "reason"), KubeText(*waiting, "message"));
  }
  const Value* const unplaced = Condition(pod, "PodScheduled", "False");
  if (unplaced == nullptr) return "";
  return ReasonAnd(KubeText(*unplaced, "reason"), KubeText(*unplaced, "message"));
}

std::string WhyEnded(const Value& pod) {
  if (const Value* const disrupted = Condition(pod, "DisruptionTarget", "True")) {
    return ReasonAnd(KubeText(*disrupted, "reason"), KubeText(*disrupted, "message"));
  }
  if (const std::string reason = KubeText(pod, "status.reason"); !reason.empty()) {
    return ReasonAnd(reason, KubeText(pod, "status.message"));  // "Evicted".
  }
  const Value* const ended = ContainerState(pod, "terminated");
  if (ended == nullptr) return "";
  const Value* const status = ended->Find("exitCode");
  const std::string with = status != nullptr && status->is_int()
                               ? "it ended with status " + std::to_string(status->AsInt())
                               : "";
  const std::string reason = KubeText(*ended, "reason");
  return ReasonAnd(reason == "Error" || reason == "Completed" ? "" : reason, with);
}

// The latest word of Kubernetes about a Job that has no pod.
std::string WhyNoPod(const Value& job, const std::vector<Value>& events) {
  const Value* const suspended = KubeField(job, "spec.suspend");
  if (suspended != nullptr && *suspended == Value(true)) {
    return "it is suspended, and waits in its queue";
  }
  std::string why, at;
  for (const Value& event : events) {
    if (KubeText(event, "involvedObject.name") != KubeText(job, "metadata.name")) continue;
    if (KubeText(event, "type") != "Warning") continue;
    const std::string last = KubeText(event, "lastTimestamp");
    if (last < at) continue;
    at = last;
    why = ReasonAnd(KubeText(event, "reason"), KubeText(event, "message"));
  }
  return why;
}

bool HasEnded(const Value& pod) {
  const std::string phase = KubeText(pod, "status.phase");
  return phase == "Succeeded" || phase == "Failed";
}

// `pod`: its latest one; null: it has none.
Machine MachineOf(const Value& job, const Value* pod, const std::vector<Value>& events) {
  Machine machine{KubeText(job, "metadata.name"), MachineState::kPending};
  // It stays until its pods have gone, and is not gone before.
  if (!KubeText(job, "metadata.deletionTimestamp").empty()) {
    machine.state = MachineState::kRunning;
    machine.reason = "it is being removed";
    return machine;
  }
  const Value* const failed = Condition(job, "Failed", "True");
  if (failed != nullptr || Condition(job, "Complete", "True") != nullptr) {
    machine.state = MachineState::kEnded;
    machine.reason = pod == nullptr ? "" : WhyEnded(*pod);
    if (machine.reason.empty() && failed != nullptr) {
      machine.reason = ReasonAnd(KubeText(*failed, "reason"), KubeText(*failed, "message"));
    }
    return machine;
  }
  if (pod == nullptr) {
    machine.reason = WhyNoPod(job, events);
  } else if (KubeText(*pod, "status.phase") == "Pending") {
    machine.reason = WhyPending(*pod);
  } else if (KubeText(*pod, "status.phase") == "Running") {
    machine.state = MachineState::kRunning;
  } else {  // The Job is about to be told, or makes another one.
    machine.reason = WhyEnded(*pod);
  }
  return machine;
}

}  // namespace

const Value* KubeField(const Value& map, std::string_view path) {
  const Value* at = &map;
  while (at != nullptr) {
    if (!at->is_map()) return nullptr;
    const size_t point = path.find('.');
    at = at->Find(path.substr(0, point));
    if (point == std::string_view::npos) return at;
    path.remove_prefix(point + 1);
  }
  return nullptr;
}

std::string KubeText(const Value& map, std::string_view path) {
  const Value* const value = KubeField(map, path);
  return value != nullptr && value->is_string() ? value->AsString() : "";
}

std::string KubePool(const std::string& prefix) { return prefix.substr(0, prefix.size() - 1); }

Value KubeJob(const PoolSpec& pool, const std::string& prefix, const std::string& name,
              const std::string& connect, const KubeOwner& owner) {
  Value labels = Labels(prefix);
  if (!pool.kubernetes->queue.empty()) {
    labels.Set("kueue.x-k8s.io/queue-name", pool.kubernetes->queue);
  }
  Value metadata = Map({{"name", name}, {"labels", std::move(labels)}});
  if (!owner.uid.empty()) {
    metadata.Set("ownerReferences", List({Map({{"apiVersion", "apps/v1"},
                                               {"kind", "Deployment"},
                                               {"name", owner.name},
                                               {"uid", owner.uid}})}));
  }
  Value pod = Map(
      {{"metadata", Map({{"labels", Labels(prefix)}})}, {"spec", PodSpec(pool, name, connect)}});
  Value disrupted = Map({{"type", "DisruptionTarget"}, {"status", "True"}});
  // A worker that is taken away is no failure; another pod of its name comes.
  Value rule = Map({{"action", "Ignore"}, {"onPodConditions", List({std::move(disrupted)})}});
  Value spec = Map({{"backoffLimit", int64_t{0}},
                    {"ttlSecondsAfterFinished", kKeptSeconds},
                    {"podFailurePolicy", Map({{"rules", List({std::move(rule)})}})},
                    {"template", Merged(pool.kubernetes->pod_template, std::move(pod))}});
  return Map({{"apiVersion", "batch/v1"},
              {"kind", "Job"},
              {"metadata", std::move(metadata)},
              {"spec", std::move(spec)}});
}

Value KubeSecret(const std::string& prefix, const std::string& name, const std::string& token,
                 const std::string& job_uid) {
  Value metadata = Map({{"name", name}, {"labels", Labels(prefix)}});
  if (!job_uid.empty()) {
    Value owner =
        Map({{"apiVersion", "batch/v1"}, {"kind", "Job"}, {"name", name}, {"uid", job_uid}});
    metadata.Set("ownerReferences", List({std::move(owner)}));
  }
  return Map({{"apiVersion", "v1"},
              {"kind", "Secret"},
              {"metadata", std::move(metadata)},
              {"data", Map({{"token", EncodeBase64(token, Base64::kPadded)}})}});
}

std::vector<Machine> KubeMachines(const std::vector<Value>& jobs, const std::vector<Value>& pods,
                                  const std::vector<Value>& events, std::string_view prefix) {
  std::map<std::string, const Value*> latest;
  for (const Value& pod : pods) {
    const Value* const labels = KubeField(pod, "metadata.labels");
    const Value* const job = labels != nullptr ? labels->Find(kKubeJobLabel) : nullptr;
    if (job == nullptr || !job->is_string()) continue;
    const Value*& kept = latest[job->AsString()];
    const bool is_later = kept == nullptr || KubeText(*kept, "metadata.creationTimestamp") <=
                                                 KubeText(pod, "metadata.creationTimestamp");
    if (is_later) kept = &pod;
  }
  std::vector<Machine> machines;
  for (const Value& job : jobs) {
    const std::string name = KubeText(job, "metadata.name");
    if (!name.starts_with(prefix)) continue;
    const auto pod = latest.find(name);
    machines.push_back(MachineOf(job, pod == latest.end() ? nullptr : pod->second, events));
    if (pod != latest.end()) latest.erase(pod);
  }
  for (const auto& [job, pod] : latest) {
    if (!job.starts_with(prefix) || HasEnded(*pod)) continue;
    machines.push_back({job, MachineState::kRunning, "its Job is gone, and its pod is not"});
  }
  return machines;
}

}  // namespace tune
