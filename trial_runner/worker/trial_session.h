// What a program that runs trials links, one at a time: takes attempts from its worker and reports
// back (trial_socket.h, trial_protocol.h). One that runs several at once: lane_session.h.
//
//   int main() {
//     TrialSession session;
//     while (std::optional<TrialStart> start = session.Next()) session.End(Run(*start, session));
//   }
//
// SIGTERM is put off (sigterm_gate.h) while reported iterations are in no checkpoint: until one was
// reported, or the attempt ends.
//
// Thread rule: one thread.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "trial_runner/messages.h"
#include "trial_runner/worker/memory_guard.h"
#include "trial_runner/worker/sigterm_gate.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/trial_socket.h"

namespace tune {

class TrialSession {
 public:
  // Waits for the next attempt; nothing: there will be none, end with status 0. What the
  // attempt's devices call for becomes part of the environment. Its memory limit, if it has one, is
  // this process's from now on.
  std::optional<TrialStart> Next();
  // The next report shall have a checkpoint: the trial may be paused there, or SIGTERM was put off,
  // and the process ends after it.
  bool ShallSave() const;
  // Waits until the report is durable and decided. After kStop or kRefused the attempt shall end,
  // after kContinue or kSave it goes on. A final report leaves nothing to decide: it is sent, not
  // waited for, and answered kStop.
  ReportAnswer Report(const tune::Report& report);
  void End(const TrialEnd& end);

  // See memory_guard.h.
  void EndWhenOutOfMemory(std::string advice) { memory_.EndWhenOutOfMemory(std::move(advice)); }
  TrialEnd OutOfMemory() const { return memory_.OutOfMemory(); }

 private:
  TrialSocket socket_;
  MemoryGuard memory_;
  SigtermGate sigterm_;
  bool is_save_wanted_ = false;  // By the tuner, of the next report.
};

// A process that was started before its devices were known has none chosen for it.
void ChooseDevices(const DeviceEnvironment& devices);

}  // namespace tune
