#include "tuner/cli/control_desk.h"

#include <unistd.h>

#include <map>
#include <utility>

#include "tuner/control/control_plan.h"
#include "tuner/device_status.h"

namespace tune {

ControlDesk::ControlDesk(const std::string& folder, const ExperimentController& controller,
                         Tuner& tuner, EventQueue& queue, const Clock& clock, ArtifactDepot* depot)
    : controller_(controller), tuner_(tuner), depot_(depot) {
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
  if (arrival.request.verb == ControlVerb::kDevices) {
    server_->Answer(arrival.client, TellOfDevices());
    return OkStatus();
  }
  if (arrival.request.verb == ControlVerb::kState) {
    server_->Answer(arrival.client,
                    {OkStatus(), {controller_.is_paused() ? kStatePaused : kStateRunning}});
    return OkStatus();
  }
  if (arrival.request.verb == ControlVerb::kTraffic) {
    ControlAnswer answer;
    if (depot_ != nullptr) answer.lines.push_back(std::to_string(depot_->BytesOfLastHour()));
    server_->Answer(arrival.client, answer);
    return OkStatus();
  }
  Result<ControlPlan> plan = PlanControl(arrival.request, controller_, true);
  if (!plan.ok()) {
    server_->Answer(arrival.client, {plan.status(), {}});
    return OkStatus();
  }
  const Status taken = tuner_.Take({plan->event});
  if (!taken.ok()) {
    server_->Answer(arrival.client, {taken, {}});
    return taken;
  }
  const std::string verb = std::string("tune ") + ControlVerbName(arrival.request.verb) + ": ";
  for (const std::string& line : plan->lines) lines_.push_back(verb + line);
  server_->Answer(arrival.client, {OkStatus(), std::move(plan->lines)});
  return OkStatus();
}

// As many as go into one answer.
ControlAnswer ControlDesk::TellOfDevices() const {
  std::map<WorkerId, std::string> names;
  for (const auto& [id, record] : controller_.workers()) names.emplace(id, record.row.name);
  ControlAnswer answer;
  size_t bytes = 0;
  for (const DeviceStatus& device : DevicesOf(controller_.leases(), names, tuner_.device_use())) {
    std::string line = EncodeDeviceStatus(device);
    // Its quotes become two characters each.
    bytes += 2 * line.size();
    if (bytes > kControlAnswerBytesMax) break;
    answer.lines.push_back(std::move(line));
  }
  return answer;
}

std::vector<std::string> ControlDesk::TakeLines() { return std::exchange(lines_, {}); }

}  // namespace tune
