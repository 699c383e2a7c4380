// A trial process: what tune_trial is, without a process. It speaks the lines of trial_protocol.h,
// follows the sweep's curve, writes checkpoints to the simulated disk, and has a temper.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/random.h"
#include "tests/sim/environment.h"
#include "trial_runner/curve.h"
#include "trial_runner/worker/trial_protocol.h"
#include "trial_runner/worker/worker_core.h"

namespace tune::sim {

// What a checkpoint's file says, so that who restores it can tell whether it is whole.
std::string CheckpointContent(int64_t trial, int64_t iteration);

class SimulatedTrial {
 public:
  // Where its lines go and how it ends; calls come back later, never from within.
  class Host {
   public:
    virtual ~Host() = default;
    virtual void OnTrialLine(ProcessId process, std::string line) = 0;
    // Told before the line that says so: a report of this iteration, or (nothing) the attempt's
    // end.
    virtual void OnTrialSays(ProcessId process, std::optional<int64_t> iteration) = 0;
    virtual void OnTrialExit(ProcessId process, ProcessEnd end) = 0;
    // Runs `act` after `wait` if the process still lives then.
    virtual void Later(ProcessId process, Duration wait, Happenings::Act act) = 0;
    // Of its machine.
    virtual SimulatedDisk& disk() = 0;
    virtual bool IsDiskFull() const = 0;
    virtual bool IsUnfit() const = 0;
  };

  SimulatedTrial(Environment& environment, Host& host, ProcessId id);

  void OnLine(std::string_view line);
  void OnSigterm();
  // Alive, silent, and deaf to all but signals: for phase two, where somebody ends it by hand.
  bool is_hung() const { return is_hung_; }
  // The attempt that it works on.
  const std::optional<TrialStart>& start() const { return start_; }

 private:
  void Begin(TrialStart start);
  Value CurveOf(const Value& trainable) const;
  bool Restore();
  void Follow();
  void NextIteration();
  void Work(int64_t iteration);
  void AddCost(int64_t iteration, Metrics& metrics) const;
  void ReportNow(int64_t iteration, double value);
  void Say(const Report& report);
  bool SaveCheckpoint(int64_t iteration, CheckpointRef& ref);
  void End(Outcome outcome, const std::string& error, EndDetail detail = EndDetail::kNone);
  void Exit(int status, const std::string& signal);
  bool Happens(double probability, const char* what, int64_t iteration) const;

  Environment& environment_;
  Host& host_;
  const ProcessId id_;
  std::optional<TrialStart> start_;
  std::optional<BoundCurve> curve_;
  int64_t iteration_ = 0;
  int64_t report_count_ = 0;
  bool awaits_answer_ = false;
  std::optional<double> value_to_come_;  // Of an iteration that was reported without it so far.
  bool is_hung_ = false;
  bool has_unsaved_ = false;  // Reported iterations that no checkpoint holds: SIGTERM is put off.
  bool is_told_to_end_ = false;
  bool shall_save_ = false;  // The next report.
};

}  // namespace tune::sim
