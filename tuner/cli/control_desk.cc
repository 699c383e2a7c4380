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

ControlDesk::ControlDesk(const std::string& folder, const SweepView& view, Tuner& tuner,
                         EventQueue& queue, const Clock& clock, ArtifactDepot* depot)
    : view_(view), tuner_(tuner), depot_(depot) {
  auto server = ControlServer::Start(folder, clock, [&queue] { queue.Wake(); });
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
  if (arrival.request.tuner != getpid()) {
    server_->Answer(arrival.client,
                    {FailedPrecondition("meant for another tuner (pid " +
                                        std::to_string(arrival.request.tuner) + ")"),
                     {}});
    return OkStatus();
  }
  if (!ChangesSweep(arrival.request.verb)) {
    server_->Answer(arrival.client, Tell(arrival.request.verb));
    return OkStatus();
  }
  Result<ControlPlan> plan = PlanControl(arrival.request, view_, true);
  if (!plan.ok()) {
    server_->Answer(arrival.client, {plan.status(), {}});
    return OkStatus();
  }
  const Status taken = tuner_.Take({HeadEvent{plan->event}});
  if (!taken.ok()) {
    server_->Answer(arrival.client, {taken, {}});
    return taken;
  }
  const std::string verb = std::string("tune ") + ControlVerbName(arrival.request.verb) + ": ";
  for (const std::string& line : plan->lines) lines_.push_back(verb + line);
  server_->Answer(arrival.client, {OkStatus(), std::move(plan->lines)});
  return OkStatus();
}

ControlAnswer ControlDesk::Tell(ControlVerb verb) const {
  switch (verb) {
    case ControlVerb::kDevices:
      return WithinBounds(DeviceLines());
    case ControlVerb::kWorkers:
      return WithinBounds(EncodeWorkers(view_));
    case ControlVerb::kWaiting:
      return WithinBounds(EncodeWaiting(view_, kWaitingLinesMax));
    case ControlVerb::kState:
      return {OkStatus(), {view_.is_paused() ? kStatePaused : kStateRunning}};
    case ControlVerb::kTraffic:
      if (depot_ == nullptr) return {};
      return {OkStatus(), {std::to_string(depot_->BytesOfLastHour())}};
    default:
      return {Internal(std::string(ControlVerbName(verb)) + " changes the sweep"), {}};
  }
}

std::vector<std::string> ControlDesk::DeviceLines() const {
  std::map<WorkerId, std::string> names;
  for (const auto& [id, record] : view_.workers()) names.emplace(id, record.row.name);
  std::vector<std::string> lines;
  for (const DeviceStatus& device : DevicesOf(view_.leases(), names, tuner_.device_use())) {
    lines.push_back(EncodeDeviceStatus(device));
  }
  return lines;
}

std::vector<std::string> ControlDesk::TakeLines() { return std::exchange(lines_, {}); }

}  // namespace tune
