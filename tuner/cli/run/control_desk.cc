#include "tuner/cli/run/control_desk.h"

#include <unistd.h>

#include <map>
#include <utility>

#include "core/counted.h"
#include "core/json.h"
#include "tuner/cli/look/stored_changes.h"
#include "tuner/control/asker.h"
#include "tuner/control/control_plan.h"
#include "tuner/device_status.h"
#include "tuner/provenance.h"
#include "tuner/queue_lines.h"
#include "tuner/waiting_trials.h"

namespace tune {
namespace {

constexpr size_t kWaitingLinesMax = 500;

// As many lines of JSON as go into one answer.
ControlAnswer WithinBounds(std::vector<std::string> lines) {
  size_t bytes = 0;
  size_t count = 0;
  while (count < lines.size()) {
    bytes += 2 * lines[count].size();  // Its quotes become two characters each.
    if (bytes > kControlAnswerBytesMax) break;
    ++count;
  }
  const auto left_out = static_cast<int64_t>(lines.size() - count);
  lines.resize(count);
  return {OkStatus(), std::move(lines), left_out};
}

// Whose key submits stands with the sweep; a user's makes that user its owner.
Result<Submission> SignedBy(const ControlRequest& request) {
  Submission submission = request.submission;
  Result<Provenance> provenance = DecodeProvenance(submission.provenance);
  if (!provenance.ok()) return provenance.status().At("provenance");
  provenance->by = request.by ? request.by->name : "";
  // The same key of two people is two keys.
  const bool is_of_person = !provenance->by.empty() && !provenance->submission.empty();
  if (is_of_person) provenance->submission = provenance->by + " " + provenance->submission;
  submission.provenance = EncodeProvenance(*provenance);
  if (!request.by || request.by->is_admin) return submission;
  Result<Value> spec = ParseJson(submission.spec);
  if (!spec.ok() || !spec->is_map()) return InvalidArgument("spec: expected an object");
  spec->Set("owner", request.by->name);
  submission.spec = ToJson(*spec);
  return submission;
}

}  // namespace

ControlDesk::ControlDesk(const std::string& folder, const Parts& parts) : parts_(parts) {
  auto server = ControlServer::Start(folder, parts.clock, [&queue = parts.queue] { queue.Wake(); });
  status_ = server.status();
  if (server.ok()) server_ = *std::move(server);
}

Status ControlDesk::Serve() {
  if (server_ == nullptr) return OkStatus();
  for (const ControlServer::Arrival& arrival : server_->Take()) {
    TUNE_RETURN_IF_ERROR(ServeOne(arrival));
  }
  return OkStatus();
}

Status ControlDesk::ServeOne(const ControlServer::Arrival& arrival) {
  const ControlRequest& request = arrival.request;
  if (request.tuner != getpid()) {
    server_->Answer(arrival.client, {FailedPrecondition("meant for another tuner (pid " +
                                                        std::to_string(request.tuner) + ")"),
                                     {}});
    return OkStatus();
  }
  if (parts_.tuner.is_held() && IsChange(request.verb)) {
    server_->Answer(arrival.client, {parts_.tuner.WhyHeld(), {}});
    return OkStatus();
  }
  if (!IsChange(request.verb)) return ServeAllowed(arrival);
  const Result<std::string> owner = OwnerOf(request);
  const Status may = owner.ok() ? MayAsk(request, *owner) : owner.status();
  const Result<std::optional<int64_t>> record =
      may.ok() ? Record(request) : Result<std::optional<int64_t>>(may);
  if (!record.ok()) {
    server_->Answer(arrival.client, {record.status(), {}});
    // The store can make nothing durable any more.
    return record.status().code() == StatusCode::kInternal ? record.status() : OkStatus();
  }
  is_refused_ = false;
  const Status served = ServeAllowed(arrival);
  if (!served.ok() || !is_refused_ || !*record) return served;
  const Status forgotten = parts_.store.ForgetChange(**record);
  // On a disk without room it stays, and does no harm.
  return forgotten.code() == StatusCode::kResourceExhausted ? OkStatus() : forgotten;
}

Status ControlDesk::ServeAllowed(const ControlServer::Arrival& arrival) {
  const ControlRequest& request = arrival.request;
  if (request.verb == ControlVerb::kSubmit) return Submit(arrival);
  if (request.verb == ControlVerb::kQueue) {
    std::map<std::string, std::string> pools;
    if (parts_.cluster != nullptr) pools = parts_.cluster->DescribeWaits();
    Answer(arrival.client, WithinBounds(EncodeQueue(parts_.controller, parts_.clock.Now(), pools)));
    return OkStatus();
  }
  if (request.verb == ControlVerb::kStates) {
    Answer(arrival.client, WithinBounds(EncodeStates(parts_.controller)));
    return OkStatus();
  }
  if (request.verb == ControlVerb::kCluster || request.verb == ControlVerb::kClusterDown ||
      request.verb == ControlVerb::kClusterSet) {
    Answer(arrival.client, TellCluster(request));
    return OkStatus();
  }
  if (request.verb == ControlVerb::kNote) {
    Answer(arrival.client, Label(request));
    return OkStatus();
  }
  const bool is_of_pool = request.verb == ControlVerb::kDrain && parts_.head != nullptr;
  if (is_of_pool) {
    return Take(arrival, {}, PlanDrain(request.worker, parts_.controller.cluster()));
  }
  const std::optional<ExperimentId> id = Find(request.sweep);
  if (!id) {
    const ControlAnswer answer = DoAtRest(request);
    Answer(arrival.client, answer);
    return answer.status.code() == StatusCode::kInternal ? answer.status : OkStatus();
  }
  const bool needs_rest =
      request.verb == ControlVerb::kResume || request.verb == ControlVerb::kDelete;
  if (needs_rest) {
    Answer(
        arrival.client,
        {FailedPrecondition(request.sweep + " runs; end it first with tune stop " + request.sweep),
         {}});
    return OkStatus();
  }
  const SweepView view(parts_.controller, *id);
  if (!ChangesSweep(request.verb)) {
    Answer(arrival.client, Tell(request.verb, view));
    return OkStatus();
  }
  return Take(arrival, *id, PlanControl(request, view, true));
}

void ControlDesk::Answer(int64_t client, const ControlAnswer& answer) {
  // What is held may be done yet.
  is_refused_ = !answer.status.ok() && !parts_.tuner.is_held();
  server_->Answer(client, answer);
}

// Of what a user's key asks to change.
Result<std::string> ControlDesk::OwnerOf(const ControlRequest& request) const {
  const bool does_matter = request.by && !request.by->is_admin && ChangesSweep(request.verb) &&
                           request.verb != ControlVerb::kDrain;
  if (!does_matter) return std::string();
  if (const auto id = Find(request.sweep)) {
    return SweepView(parts_.controller, *id).options().spec.share.owner;
  }
  TUNE_ASSIGN_OR_RETURN(const auto experiments, parts_.store.ListExperiments());
  for (const StoredExperiment& experiment : experiments) {
    if (experiment.name != request.sweep) continue;
    const Result<Value> spec = ParseJson(experiment.spec);
    const Value* const owner = spec.ok() && spec->is_map() ? spec->Find("owner") : nullptr;
    return owner != nullptr && owner->is_string() ? owner->AsString() : std::string();
  }
  return NotFound("there is no sweep '" + request.sweep + "'");
}

// Nothing: a sweep's own row says it.
Result<std::optional<int64_t>> ControlDesk::Record(const ControlRequest& request) {
  if (request.verb == ControlVerb::kSubmit) return std::optional<int64_t>();
  const StoredChange change = ChangeOf(request, parts_.clock.Now());
  TUNE_ASSIGN_OR_RETURN(const int64_t id, parts_.store.RecordChange(change));
  return std::optional(id);
}

Status ControlDesk::Take(const ControlServer::Arrival& arrival, ExperimentId id,
                         Result<ControlPlan> plan) {
  if (!plan.ok()) {
    Answer(arrival.client, {plan.status(), {}});
    return OkStatus();
  }
  const Status taken = parts_.tuner.Take({HeadEvent{plan->event, id}});
  if (!taken.ok()) {
    Answer(arrival.client, {taken, {}});
    return taken;
  }
  const std::string verb = std::string("tune ") + ControlVerbName(arrival.request.verb) + ": ";
  for (const std::string& line : plan->lines) lines_.push_back(verb + line);
  Answer(arrival.client, OnceDurable({OkStatus(), std::move(plan->lines)}));
  return OkStatus();
}

// What was taken a moment ago may have found the disk full.
ControlAnswer ControlDesk::OnceDurable(ControlAnswer answer) const {
  if (!answer.status.ok() || !parts_.tuner.is_held()) return answer;
  return {ResourceExhausted("it takes effect once there is room, unless the head ends before: " +
                            parts_.tuner.WhyHeld().message()),
          {}};
}

Status ControlDesk::Submit(const ControlServer::Arrival& arrival) {
  if (parts_.head == nullptr) {
    Answer(arrival.client,
           {FailedPrecondition("a tuner of one sweep takes no other one; tune head does"), {}});
    return OkStatus();
  }
  if (parts_.cluster != nullptr && parts_.cluster->is_closing()) {
    Answer(
        arrival.client,
        {FailedPrecondition("the cluster goes down; submit it when the cluster is up again"), {}});
    return OkStatus();
  }
  const Result<Submission> signed_by = SignedBy(arrival.request);
  const Result<HeadDuties::Submitted> submitted =
      signed_by.ok() ? parts_.head->Submit(arrival.request.sweep, *signed_by)
                     : Result<HeadDuties::Submitted>(signed_by.status());
  if (!submitted.ok()) {
    const bool is_fatal = submitted.status().code() == StatusCode::kInternal;
    const Status in_doubt =
        Unavailable("the head ended while it stored it: " + submitted.status().message());
    Answer(arrival.client, {is_fatal ? in_doubt : submitted.status(), {}});
    return is_fatal ? submitted.status() : OkStatus();
  }
  if (submitted->is_new) lines_.push_back("tune submit: " + submitted->name);
  std::vector<std::string> answer = {submitted->name};
  if (!submitted->is_new) answer.push_back("it was submitted before");
  Answer(arrival.client, OnceDurable({OkStatus(), std::move(answer)}));
  return OkStatus();
}

ControlAnswer ControlDesk::TellCluster(const ControlRequest& request) {
  if (parts_.cluster == nullptr) {
    return {FailedPrecondition("it has no cluster; end it, and start it with tune cluster up FILE: "
                               "what it runs goes on"),
            {}};
  }
  if (request.verb == ControlVerb::kClusterDown) {
    if (request.alone_with) {
      if (const Status alone = CheckAlone(*request.alone_with); !alone.ok()) return {alone, {}};
    }
    parts_.cluster->Close(request.now);
    lines_.push_back(std::string("tune cluster down: all workers are let go") +
                     (request.now ? ", now" : ""));
  }
  std::vector<std::string> changes;
  if (request.verb == ControlVerb::kClusterSet) {
    Result<std::vector<std::string>> changed =
        parts_.cluster->Change(request.file, request.document);
    if (!changed.ok()) return {changed.status(), {}};
    changes = *std::move(changed);
    for (const std::string& change : changes) lines_.push_back("tune cluster up: " + change);
  }
  std::vector<std::string> answer = {parts_.cluster->Describe()};
  answer.insert(answer.end(), changes.begin(), changes.end());
  return {OkStatus(), std::move(answer)};
}

Status ControlDesk::CheckAlone(const std::string& sweep) const {
  std::string first;
  int64_t others = 0;
  for (const auto& [id, open] : parts_.controller.sweeps()) {
    const std::string& name = open.sweep.options().name;
    if (name == sweep) continue;
    if (first.empty()) first = name;
    ++others;
  }
  if (others == 0) return OkStatus();
  if (others == 1) return FailedPrecondition("the sweep " + first + " is not over");
  return FailedPrecondition("the sweep " + first + " and " + Counted(others - 1, "other sweep") +
                            " are not over");
}

// Of any sweep of the database, and no step of its own: no decision depends on it.
ControlAnswer ControlDesk::Label(const ControlRequest& request) {
  const Result<SweepLabels> labels = parts_.store.Label(request.sweep, request.labels);
  if (!labels.ok()) return {labels.status(), {}};
  lines_.push_back("tune note: " + request.sweep);
  return {OkStatus(), LabelLines(request.sweep, *labels)};
}

ControlAnswer ControlDesk::DoAtRest(const ControlRequest& request) {
  if (parts_.head == nullptr) {
    const SweepView only(parts_.controller, parts_.controller.sweeps().begin()->first);
    return {FailedPrecondition("this tuner runs " + only.options().name + ", not " + request.sweep),
            {}};
  }
  if (!ChangesSweep(request.verb)) {
    return {FailedPrecondition(request.sweep + " does not run"), {}};
  }
  Result<std::vector<std::string>> lines = parts_.head->DoAtRest(request);
  if (!lines.ok()) return {lines.status(), {}};
  return OnceDurable({OkStatus(), *std::move(lines)});
}

std::optional<ExperimentId> ControlDesk::Find(const std::string& sweep) const {
  for (const auto& [id, open] : parts_.controller.sweeps()) {
    if (open.sweep.options().name == sweep) return id;
  }
  return std::nullopt;
}

ControlAnswer ControlDesk::Tell(ControlVerb verb, const SweepView& view) const {
  switch (verb) {
    case ControlVerb::kDevices:
      return WithinBounds(DeviceLines(view));
    case ControlVerb::kWorkers:
      return WithinBounds(
          EncodeWorkers(view, parts_.clock.Now(), [this](WorkerId id) -> HeardOfWorker {
            return {parts_.tuner.HeardAt(id), parts_.tuner.WaitOf(id)};
          }));
    case ControlVerb::kWaiting:
      return WithinBounds(EncodeWaiting(view, kWaitingLinesMax));
    case ControlVerb::kState:
      return {OkStatus(), {view.is_paused() ? kStatePaused : kStateRunning}};
    case ControlVerb::kTraffic:
      if (!parts_.doors.listens()) return {};
      return {OkStatus(), {std::to_string(parts_.doors.CheckpointBytesOfLastHour())}};
    default:
      return {Internal(std::string(ControlVerbName(verb)) + " changes the sweep"), {}};
  }
}

std::vector<std::string> ControlDesk::DeviceLines(const SweepView& view) const {
  const Cluster& cluster = parts_.controller.cluster();
  std::map<WorkerId, std::string> names;
  for (const auto& [id, record] : cluster.workers().all()) names.emplace(id, record.row.name);
  std::map<ExperimentId, std::string> others;
  for (const auto& [id, open] : parts_.controller.sweeps()) {
    if (const std::string name = view.NameOfOther(id); !name.empty()) others.emplace(id, name);
  }
  std::vector<std::string> lines;
  for (const DeviceStatus& device :
       DevicesOf(cluster.leases(), names, parts_.tuner.device_use(), others)) {
    lines.push_back(EncodeDeviceStatus(device));
  }
  return lines;
}

std::vector<std::string> ControlDesk::TakeLines() { return std::exchange(lines_, {}); }

}  // namespace tune
