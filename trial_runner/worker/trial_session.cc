#include "trial_runner/worker/trial_session.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace tune {

void ChooseDevices(const DeviceEnvironment& devices) {
  for (const auto& [name, value] : devices) setenv(name.c_str(), value.c_str(), 1);
}

std::optional<TrialStart> TrialSession::Next() {
  const std::optional<std::string> line = socket_.ReadLine();
  if (!line) return std::nullopt;
  Result<ToTrial> message = ParseToTrial(*line);
  if (!message.ok()) TrialSocket::EndProcess(message.status().message());
  auto* const start = std::get_if<TrialStart>(&*message);
  if (start == nullptr) TrialSocket::EndProcess("expected a start, read an answer");
  ChooseDevices(start->device_environment);
  memory_.Limit(start->memory_bytes);
  is_save_wanted_ = start->saves_first;
  return std::move(*start);
}

bool TrialSession::ShallSave() const { return is_save_wanted_ || SigtermGate::HasCome(); }

ReportAnswer TrialSession::Report(const tune::Report& report) {
  if (!report.has_checkpoint) sigterm_.PutOff();
  socket_.Send(EncodeReport(report));
  if (report.final) return ReportAnswer::kStop;
  const std::optional<std::string> line = socket_.ReadLine();
  if (!line) TrialSocket::EndProcess("the worker is gone");
  const Result<ToTrial> message = ParseToTrial(*line);
  if (!message.ok()) TrialSocket::EndProcess(message.status().message());
  const auto* const answer = std::get_if<ReportAnswer>(&*message);
  if (answer == nullptr) TrialSocket::EndProcess("expected an answer, read a start");
  // One that shall stop tells of its end first.
  if (report.has_checkpoint && GoesOn(*answer)) sigterm_.Let();
  is_save_wanted_ = *answer == ReportAnswer::kSave;
  return *answer;
}

void TrialSession::End(const TrialEnd& end) {
  // What the trial printed belongs to its log, not to the next one's.
  std::fflush(nullptr);
  socket_.Send(EncodeEnd(end));
  sigterm_.Let();
}

}  // namespace tune
