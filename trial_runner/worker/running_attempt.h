// An attempt that runs on a worker, or has ended and waits for what it saved or printed to be kept.
//
// Thread rule: values.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "trial_runner/devices/device_environment.h"
#include "trial_runner/messages.h"
#include "trial_runner/worker/trial_protocol.h"

namespace tune {

// By age. A tuner that was restored from a backup gives out epochs again, to other attempts.
struct ByEpoch {
  bool operator()(const AttemptRef& a, const AttemptRef& b) const {
    return a.epoch == b.epoch ? a < b : a.epoch < b.epoch;
  }
};

struct RunningAttempt {
  StartAttempt start;
  std::shared_ptr<const void> port;  // Where its ranks meet, as long as this is held.
  DeviceEnvironment devices;
  std::string log_path;
  int64_t sequence = 0;
  bool awaits_answer = false;
  bool is_told_to_stop = false;
  bool has_reported_final = false;
  std::optional<Instant> stop_by;  // Told to stop or complete, it shall have ended by then.
  // Asked to leave a process that goes on for others, it shall have ended by then.
  std::optional<Instant> leave_by;
  // The report that awaits an answer, to be sent again; of workers that are not local.
  std::optional<AttemptReport> unanswered;
  // What the attempt's end will be said to be once the process is gone; nothing: see how it ends.
  std::optional<TrialEnd> verdict;
  bool may_report = false;  // Told to end, it is heard all the same.
  // Not begun: the place where it runs is not known yet, or what it goes on from is not here.
  bool is_held_back = false;
  bool awaits_checkpoint = false;        // What it goes on from was asked for.
  std::optional<std::string> restored;   // What it goes on from, on this machine.
  std::optional<AttemptReport> keeping;  // Not told yet: its checkpoint is not kept yet.
  std::optional<TrialEnd> said_end;      // While that was so.
  // Of reports that do not wait for their checkpoints: one is on its way to where it is kept, and
  // the latest waits behind it. Their paths are of this machine.
  std::optional<CheckpointDurable> on_its_way, behind;
  // Of those what the tuner may not have heard, of workers that are not local; `after`: the
  // sequence of the latest report before.
  struct ToldDurable {
    CheckpointDurable message;
    int64_t after = 0;
  };
  std::vector<ToldDurable> told_durable;
  // Told to end, it waits no longer than this for its checkpoint to be kept.
  std::optional<Instant> kept_by;
  int64_t device_bytes_max = 0;   // The most that was seen of one device's memory,
  int64_t device_bytes_told = 0;  // and that the tuner knows of.

  bool is_keeping() const { return keeping || on_its_way; }
  void ForgetSaved() {
    keeping.reset();
    on_its_way.reset();
    behind.reset();
  }
};

}  // namespace tune
