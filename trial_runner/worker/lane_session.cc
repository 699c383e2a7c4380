#include "trial_runner/worker/lane_session.h"

#include <algorithm>
#include <cstdio>

#include "trial_runner/worker/trial_session.h"

namespace tune {

std::optional<OfLane<LaneEvent>> LaneSession::Next(int wait_ms) {
  while (const std::optional<std::string> line = socket_.ReadLine(wait_ms)) {
    Result<OfLane<ToLane>> read = ParseToLane(*line);
    if (!read.ok()) TrialSocket::EndProcess(read.status().message());
    std::optional<LaneEvent> event = std::visit(
        [this, lane = read->lane](auto& message) { return On(lane, message); }, read->message);
    if (event) return OfLane<LaneEvent>{read->lane, *std::move(event)};
  }
  return std::nullopt;
}

std::optional<LaneEvent> LaneSession::On(int64_t lane, TrialStart& start) {
  if (lanes_.contains(lane)) TrialSocket::EndProcess("a start came for a lane that runs");
  if (lanes_.empty()) ChooseDevices(start.device_environment);
  lanes_[lane].memory_bytes = start.memory_bytes;
  lanes_[lane].is_save_wanted = start.saves_first;
  memory_.Limit(MemoryOfAll());
  ChooseSpeaker();
  return LaneEvent(std::move(start));
}

int64_t LaneSession::MemoryOfAll() const {
  int64_t sum = 0;
  for (const auto& [number, running] : lanes_) {
    if (running.memory_bytes == 0) return 0;
    sum += running.memory_bytes;
  }
  // It is never lowered while others run: what those that have ended held may not be free yet.
  const int64_t before = memory_.limit_bytes();
  if (lanes_.size() == 1) return sum;
  return before == 0 ? 0 : std::max(sum, before);
}

std::optional<LaneEvent> LaneSession::On(int64_t lane, ReportAnswer answer) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) return std::nullopt;  // It has left meanwhile.
  Lane& state = found->second;
  if (!GoesOn(answer)) return LaneShallEnd{};
  state.is_save_wanted = answer == ReportAnswer::kSave;
  if (state.last_had_checkpoint) {
    state.has_unsaved = false;
    LetSigtermIfSaved();
  }
  if (state.is_leaving && !state.has_unsaved) return LaneShallEnd{};
  return LaneGoesOn{};
}

std::optional<LaneEvent> LaneSession::On(int64_t lane, const LeaveLane& leave) {
  const auto found = lanes_.find(lane);
  if (found == lanes_.end()) return std::nullopt;  // Its end is on the way.
  if (leave.at_once || !found->second.has_unsaved) return LaneShallEnd{};
  found->second.is_leaving = true;
  return std::nullopt;
}

bool LaneSession::ShallSave(int64_t lane) const {
  const Lane& state = lanes_.at(lane);
  return state.is_save_wanted || state.is_leaving || SigtermGate::HasCome();
}

void LaneSession::Report(int64_t lane, const tune::Report& report) {
  Lane& state = lanes_.at(lane);
  state.last_had_checkpoint = report.has_checkpoint;
  if (!report.has_checkpoint) {
    state.has_unsaved = true;
    sigterm_.PutOff();
  }
  socket_.Send(EncodeReport(report, lane));
}

void LaneSession::End(int64_t lane, const TrialEnd& end) {
  // What the trial printed belongs to its log, not to the next one's.
  std::fflush(nullptr);
  socket_.Send(EncodeEnd(end, lane));
  lanes_.erase(lane);
  ChooseSpeaker();
  LetSigtermIfSaved();
}

void LaneSession::ChooseSpeaker() {
  if (lanes_.size() > 1) return memory_.SpeakFor(std::nullopt);
  memory_.SpeakFor(lanes_.empty() ? 0 : lanes_.begin()->first);
}

void LaneSession::LetSigtermIfSaved() {
  const bool has_unsaved = std::any_of(lanes_.begin(), lanes_.end(),
                                       [](const auto& entry) { return entry.second.has_unsaved; });
  if (!has_unsaved) sigterm_.Let();
}

}  // namespace tune
