// What a program that runs several trials at once links: takes attempts from its worker, each in a
// lane of its own, and reports back (trial_socket.h, trial_protocol.h). One attempt alone is lane
// 0, or whatever lane the worker says.
//
//   while (!session.is_closed()) {
//     while (auto event = session.Next(wait_ms)) { ... begin, go on or end a lane ... }
//     ... work; session.Report(lane, report); session.End(lane, end); ...
//   }
//
// SIGTERM is put off (sigterm_gate.h) while reported iterations of any lane are in no checkpoint. A
// lane that shall leave is given the same time.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <variant>

#include "trial_runner/messages.h"
#include "trial_runner/worker/memory_guard.h"
#include "trial_runner/worker/sigterm_gate.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/trial_socket.h"

namespace tune {

// The last report was answered: the next iteration may begin.
struct LaneGoesOn {};
// The attempt shall end: to be answered with its End.
struct LaneShallEnd {};
using LaneEvent = std::variant<TrialStart, LaneGoesOn, LaneShallEnd>;

class LaneSession {
 public:
  // What there is to do for a lane. Nothing: nothing came for so long (TrialSocket::kForever: until
  // something does), or nothing will any more (is_closed). The first start's devices become
  // CUDA_VISIBLE_DEVICES. What the lanes that run may allocate together is the sum of their limits,
  // if each has one, and never less than before while any of them runs on.
  std::optional<OfLane<LaneEvent>> Next(int wait_ms);
  bool is_closed() const { return socket_.is_closed(); }

  // The lane's next report shall have a checkpoint.
  bool ShallSave(int64_t lane) const;
  // It is answered by an event, unless it is final: then the End follows.
  void Report(int64_t lane, const tune::Report& report);
  void End(int64_t lane, const TrialEnd& end);

  // See memory_guard.h. When several run, the process says nothing and ends: nobody knows which one
  // took too much.
  void EndWhenOutOfMemory(std::string advice) { memory_.EndWhenOutOfMemory(std::move(advice)); }
  TrialEnd OutOfMemory() const { return memory_.OutOfMemory(); }

 private:
  struct Lane {
    int64_t memory_bytes = 0;
    bool is_save_wanted = false;       // By the tuner, of the next report.
    bool has_unsaved = false;          // It has reported what no checkpoint holds.
    bool last_had_checkpoint = false;  // The report that awaits its answer.
    bool is_leaving = false;           // It shall, once that is saved.
  };

  std::optional<LaneEvent> On(int64_t lane, TrialStart& start);
  std::optional<LaneEvent> On(int64_t lane, ReportAnswer answer);
  std::optional<LaneEvent> On(int64_t lane, const LeaveLane& leave);
  // Its worker says that to processes of users' programs alone.
  static std::optional<LaneEvent> On(int64_t, const LeaveWithin&) { return std::nullopt; }
  // What the lanes that run may allocate together; 0: no limit.
  int64_t MemoryOfAll() const;
  void ChooseSpeaker();
  void LetSigtermIfSaved();

  TrialSocket socket_;
  MemoryGuard memory_;
  SigtermGate sigterm_;
  std::map<int64_t, Lane> lanes_;  // That run.
};

}  // namespace tune
