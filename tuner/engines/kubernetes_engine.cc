#include "tuner/engines/kubernetes_engine.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <stop_token>
#include <utility>

#include "core/posix/environment.h"
#include "core/posix/read_bytes.h"
#include "tuner/engines/kube_api.h"
#include "tuner/engines/kube_config.h"
#include "tuner/engines/kube_objects.h"
#include "tuner/engines/kube_watch.h"

namespace tune {
namespace {

// The Deployment in which the head runs (share/kubernetes/head.yaml).
constexpr char kOwnerVariable[] = "TUNE_KUBERNETES_DEPLOYMENT";
constexpr char kTailLines[] = "20";

class KubernetesEngine final : public Engine {
 public:
  KubernetesEngine(const PoolSpec& pool, const std::string& base_dir, std::string folder,
                   std::string prefix)
      : pool_(pool), base_dir_(base_dir), folder_(std::move(folder)), prefix_(std::move(prefix)) {}

  std::vector<Status> Ask(const std::vector<std::string>& names,
                          const WorkerInvitation& invitation) override {
    std::vector<Status> answers;
    Status refused;
    for (const std::string& name : names) {
      // What the server refuses for one it refuses for all.
      const bool is_over = !refused.ok();
      answers.push_back(is_over ? refused : AskOne(name, invitation));
      if (!is_over && !answers.back().ok()) {
        refused = answers.back().At("not asked for, as " + name + " was refused");
      }
    }
    return answers;
  }

  // After a failure its configuration is read anew: somebody may mend it, or exchange what is in
  // it.
  Result<std::vector<Machine>> List() override {
    Result<std::vector<Machine>> listed = ListAsConfigured();
    if (!listed.ok()) Forget();
    return listed;
  }

  // A Job goes when its pods have gone, so that it is listed until then.
  Status GiveBack(const std::vector<std::string>& names) override {
    TUNE_RETURN_IF_ERROR(Reach());
    for (const std::string& name : names) {
      TUNE_ASSIGN_OR_RETURN(
          const KubeReply reply,
          api_->Do("DELETE", Jobs() + "/" + name + "?propagationPolicy=Foreground", Value(),
                   cancelled_.get_token()));
      if (!reply.is_good() && reply.http_status != 404) return KubeRefusal(reply);
      if (reply.http_status == 404) TUNE_RETURN_IF_ERROR(RemovePods(name));
      // It goes with the Job; but not with one that somebody has removed without what is its own.
      TUNE_ASSIGN_OR_RETURN(const KubeReply secret, api_->Do("DELETE", Secrets() + "/" + name,
                                                             Value(), cancelled_.get_token()));
      if (!secret.is_good() && secret.http_status != 404) return KubeRefusal(secret);
    }
    return OkStatus();
  }

  std::string LogTail(const std::string& name) override {
    if (!Reach().ok()) return "";
    const std::stop_token stop = cancelled_.get_token();
    const auto pods = api_->List(PodsOf(name), stop);
    if (!pods.ok() || pods->items.empty()) return "";
    const auto& all = pods->items;
    const Value& latest =
        *std::max_element(all.begin(), all.end(), [](const Value& a, const Value& b) {
          return KubeText(a, "metadata.creationTimestamp") <
                 KubeText(b, "metadata.creationTimestamp");
        });
    const auto log = api_->Get(Pods() + "/" + KubeText(latest, "metadata.name") +
                                   "/log?container=worker&tailLines=" + kTailLines,
                               stop);
    return log.ok() && log->is_good() ? log->text : "";
  }

  void CallOff() override { called_off_.request_stop(); }
  void Cancel() override {
    called_off_.request_stop();
    cancelled_.request_stop();
  }

 private:
  std::string Mine() const {
    return "?labelSelector=" + QueryEscaped(std::string(kKubePoolLabel) + "=" + KubePool(prefix_));
  }
  std::string Space() const { return "/api/v1/namespaces/" + space_; }
  std::string Secrets() const { return Space() + "/secrets"; }
  std::string Pods() const { return Space() + "/pods"; }
  std::string PodsOf(const std::string& job) const {
    return Pods() + "?labelSelector=" + QueryEscaped(std::string(kKubeJobLabel) + "=" + job);
  }
  std::string Jobs() const { return "/apis/batch/v1/namespaces/" + space_ + "/jobs"; }

  Result<std::vector<Machine>> ListAsConfigured() {
    TUNE_RETURN_IF_ERROR(Reach());
    const std::stop_token stop = cancelled_.get_token();
    TUNE_ASSIGN_OR_RETURN(std::vector<Value> jobs, jobs_->Items(*api_, stop));
    TUNE_ASSIGN_OR_RETURN(std::vector<Value> pods, pods_->Items(*api_, stop));
    if (jobs.empty() && pods.empty()) {  // That nothing is there counts: it is asked for itself.
      TUNE_ASSIGN_OR_RETURN(const KubeList all_jobs, api_->List(Jobs() + Mine(), stop));
      TUNE_ASSIGN_OR_RETURN(const KubeList all_pods, api_->List(Pods() + Mine(), stop));
      jobs = all_jobs.items;
      pods = all_pods.items;
    }
    std::vector<Machine> machines = KubeMachines(jobs, pods, {}, prefix_);
    const bool is_any_unexplained =
        std::any_of(machines.begin(), machines.end(), [](const Machine& machine) {
          return machine.state == MachineState::kPending && machine.reason.empty();
        });
    if (!is_any_unexplained) return machines;
    // A quota, an admission: only events tell, which a role may leave out.
    const auto events = api_->List(
        Space() + "/events?fieldSelector=" + QueryEscaped("involvedObject.kind=Job"), stop);
    if (!events.ok()) return machines;
    return KubeMachines(jobs, pods, events->items, prefix_);
  }

  // Its configuration is looked for anew until it is found: a pod's may come late.
  Status Reach() {
    if (api_ != nullptr) return OkStatus();
    const KubernetesPoolSpec& kube = *pool_.kubernetes;
    const std::string file =
        kube.kubeconfig.empty()
            ? ""
            : (std::filesystem::path(base_dir_) / kube.kubeconfig).lexically_normal().string();
    TUNE_ASSIGN_OR_RETURN(const KubeAccess access, FindKubeAccess(file, kube.context, folder_));
    space_ = !kube.name_space.empty()     ? kube.name_space
             : !access.name_space.empty() ? access.name_space
                                          : "default";
    const auto make = [access] { return KubeApi::Make(access); };
    TUNE_ASSIGN_OR_RETURN(api_, make());
    jobs_.emplace(Jobs() + Mine(), make);
    pods_.emplace(Pods() + Mine(), make);
    return OkStatus();
  }
  void Forget() {
    jobs_.reset();
    pods_.reset();
    api_.reset();
  }

  // Of a Job that somebody has removed without them.
  Status RemovePods(const std::string& job) {
    const std::stop_token stop = cancelled_.get_token();
    TUNE_ASSIGN_OR_RETURN(const KubeList pods, api_->List(PodsOf(job), stop));
    for (const Value& pod : pods.items) {
      TUNE_ASSIGN_OR_RETURN(
          const KubeReply reply,
          api_->Do("DELETE", Pods() + "/" + KubeText(pod, "metadata.name"), Value(), stop));
      if (!reply.is_good() && reply.http_status != 404) return KubeRefusal(reply);
    }
    return OkStatus();
  }

  Status AskOne(const std::string& name, const WorkerInvitation& invitation) {
    TUNE_RETURN_IF_ERROR(Reach());
    const std::stop_token stop = called_off_.get_token();
    TUNE_RETURN_IF_ERROR(FindOwner(stop));
    std::string token = ReadBytes(invitation.token_path);
    while (token.ends_with('\n')) token.pop_back();
    if (token.empty()) return Unavailable("cannot read " + invitation.token_path);
    // The Secret first, since a pod that does not find it fails, or waits; then it becomes the
    // Job's.
    TUNE_RETURN_IF_ERROR(Keep(KubeSecret(prefix_, name, token, ""), name, stop));
    TUNE_ASSIGN_OR_RETURN(
        KubeReply job,
        api_->Do("POST", Jobs(), KubeJob(pool_, prefix_, name, invitation.connect, owner_), stop));
    if (job.http_status == 409) {  // It is there: it was asked for before.
      TUNE_ASSIGN_OR_RETURN(job, api_->Get(Jobs() + "/" + name, stop));
    }
    if (!job.is_good()) {
      (void)api_->Do("DELETE", Secrets() + "/" + name, Value(), stop);
      return KubeRefusal(job);
    }
    const std::string uid = KubeText(job.body, "metadata.uid");
    if (uid.empty()) return Unavailable(api_->access().server + ": answered with no Job");
    return Keep(KubeSecret(prefix_, name, token, uid), name, stop);
  }

  Status Keep(const Value& secret, const std::string& name, const std::stop_token& stop) {
    TUNE_ASSIGN_OR_RETURN(KubeReply kept, api_->Do("POST", Secrets(), secret, stop));
    if (kept.http_status == 409) {
      TUNE_ASSIGN_OR_RETURN(kept, api_->Do("PUT", Secrets() + "/" + name, secret, stop));
    }
    return kept.is_good() ? OkStatus() : KubeRefusal(kept);
  }

  Status FindOwner(const std::stop_token& stop) {
    const std::string name = EnvironmentText(kOwnerVariable);
    if (name.empty() || !owner_.uid.empty()) return OkStatus();
    TUNE_ASSIGN_OR_RETURN(
        const KubeReply reply,
        api_->Get("/apis/apps/v1/namespaces/" + space_ + "/deployments/" + name, stop));
    if (!reply.is_good()) return KubeRefusal(reply).At(kOwnerVariable);
    owner_ = {name, KubeText(reply.body, "metadata.uid")};
    return OkStatus();
  }

  const PoolSpec pool_;
  const std::string base_dir_;
  const std::string folder_;
  const std::string prefix_;
  std::string space_;
  std::unique_ptr<KubeApi> api_;
  std::optional<KubeWatch> jobs_, pods_;  // As long as api_ is.
  KubeOwner owner_;
  std::stop_source called_off_, cancelled_;
};

}  // namespace

std::unique_ptr<Engine> MakeKubernetesEngine(const PoolSpec& pool, const std::string& base_dir,
                                             const std::string& folder, const std::string& prefix) {
  return std::make_unique<KubernetesEngine>(pool, base_dir, folder, prefix);
}

}  // namespace tune
