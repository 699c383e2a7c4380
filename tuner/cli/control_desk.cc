#include "tuner/cli/control_desk.h"

#include <unistd.h>

#include <map>
#include <utility>

#include "tuner/control/control_plan.h"
#include "tuner/device_status.h"
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
  lines.resize(count);
  return {OkStatus(), std::move(lines)};
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
  if (request.verb == ControlVerb::kSubmit) return Submit(arrival);
  const std::optional<ExperimentId> id = Find(request.sweep);
  if (!id) {
    server_->Answer(arrival.client, DoAtRest(request));
    return OkStatus();
  }
  const SweepView view(parts_.controller, *id);
  if (!ChangesSweep(request.verb)) {
    server_->Answer(arrival.client, Tell(request.verb, view));
    return OkStatus();
  }
  Result<ControlPlan> plan = PlanControl(request, view, true);
  if (!plan.ok()) {
    server_->Answer(arrival.client, {plan.status(), {}});
    return OkStatus();
  }
  const Status taken = parts_.tuner.Take({HeadEvent{plan->event, *id}});
  if (!taken.ok()) {
    server_->Answer(arrival.client, {taken, {}});
    return taken;
  }
  const std::string verb = std::string("tune ") + ControlVerbName(request.verb) + ": ";
  for (const std::string& line : plan->lines) lines_.push_back(verb + line);
  server_->Answer(arrival.client, {OkStatus(), std::move(plan->lines)});
  return OkStatus();
}

Status ControlDesk::Submit(const ControlServer::Arrival& arrival) {
  if (parts_.head == nullptr) {
    server_->Answer(
        arrival.client,
        {FailedPrecondition("a tuner of one sweep takes no other one; tune head does"), {}});
    return OkStatus();
  }
  const Result<std::string> name =
      parts_.head->Submit(arrival.request.sweep, arrival.request.submission);
  if (!name.ok()) {
    server_->Answer(arrival.client, {name.status(), {}});
    return name.status().code() == StatusCode::kInternal ? name.status() : OkStatus();
  }
  lines_.push_back("tune submit: " + *name);
  server_->Answer(arrival.client, {OkStatus(), {*name}});
  return OkStatus();
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
  return {OkStatus(), *std::move(lines)};
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
      return WithinBounds(DeviceLines());
    case ControlVerb::kWorkers:
      return WithinBounds(EncodeWorkers(view));
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

std::vector<std::string> ControlDesk::DeviceLines() const {
  const Cluster& cluster = parts_.controller.cluster();
  std::map<WorkerId, std::string> names;
  for (const auto& [id, record] : cluster.workers().all()) names.emplace(id, record.row.name);
  std::vector<std::string> lines;
  for (const DeviceStatus& device : DevicesOf(cluster.leases(), names, parts_.tuner.device_use())) {
    lines.push_back(EncodeDeviceStatus(device));
  }
  return lines;
}

std::vector<std::string> ControlDesk::TakeLines() { return std::exchange(lines_, {}); }

}  // namespace tune
