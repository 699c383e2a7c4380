// The worker's decisions about its connection: to wait for a tuner that is gone, to come back and
// say again what it may not have.
#include <algorithm>

#include "core/limits.h"
#include "core/random.h"
#include "trial_runner/worker/worker_core.h"
#include "trial_runner/worker_status.h"

namespace tune {

// A worker that was never welcomed, and one whose messages are refused, would try in vain.
void WorkerCore::OnTunerGone(const Status& reason, Instant now) {
  if (has_exited_ || IsAway()) return;
  const bool is_expected = is_winding_down_;
  const bool is_plain_loss = reason.ok() || reason.code() == StatusCode::kUnavailable;
  const bool is_quiet = options_.is_local && welcome_ && is_plain_loss;
  const bool tries_again = !options_.is_local && welcome_ && is_plain_loss && !is_expected;
  const std::string text =
      reason.ok() ? std::string("the tuner closed the connection") : reason.message();
  if (!tries_again) {
    if (!is_expected && !is_quiet) {
      Complain(text + (running_count_ > 0 ? "; the running trials are ended" : ""));
    }
    AbandonAll();
    has_exited_ = true;
    effects_.push_back(ExitWorker{is_expected                                     ? 0
                                  : reason.code() == StatusCode::kInvalidArgument ? 2
                                  : is_quiet                                      ? kTunerLostStatus
                                                                                  : 1});
    return;
  }
  if (reconnect_count_ == 0) {
    Complain(text + "; trying again for " + FormatDuration(LeaseEnd() - now) +
             ", its trials go on meanwhile");
  }
  is_up_ = false;
  next_heartbeat_.reset();
  int64_t pause_ms = limits::kReconnectMs;
  for (int64_t i = 0; i < reconnect_count_ && pause_ms < limits::kReconnectMsMax; ++i) {
    pause_ms *= 2;
  }
  // Workers that lost the same tuner do not come back in step.
  KeyedRandom random(StableHash(options_.hello.session), "reconnect",
                     static_cast<uint64_t>(reconnect_count_));
  pause_ms = std::min(pause_ms, limits::kReconnectMsMax);
  reconnect_at_ = now + Milliseconds(pause_ms / 2) +
                  Duration{static_cast<int64_t>(
                      random.NextBelow(static_cast<uint64_t>(Milliseconds(pause_ms / 2).us) + 1))};
  ++reconnect_count_;
}

Instant WorkerCore::LeaseEnd() const { return last_heard_ + Milliseconds(welcome_->lease_ms); }

// Says what it holds. What has ended holds nothing.
void WorkerCore::Reconnect(Instant now) {
  reconnect_at_.reset();
  connected_at_ = now;
  effects_.push_back(ConnectToTuner{});
  Hello hello = options_.hello;
  std::erase_if(hello.capacity.devices,
                [this](const Device& device) { return lost_devices_.contains(device.index); });
  for (const auto& [ref, seat] : running_) {
    const StartAttempt& start = At(seat).start;
    hello.held.push_back({start.ref, start.cpu_milli, start.slices});
  }
  for (const auto& [ref, lingering] : lingering_) {
    const StartAttempt& start = lingering.running.start;
    hello.held.push_back({ref, start.cpu_milli, start.slices});
  }
  for (const Unacknowledged& entry : unacknowledged_) {
    if (entry.end_number) hello.held.push_back({entry.ref, 0, {}});
  }
  effects_.push_back(SendToTuner{std::move(hello)});
}

// What the tuner may not have heard, in the order in which it was first said.
void WorkerCore::SendAgain() {
  ends_sent_ = 0;
  idle_rooms_.clear();
  // Hello may have been on its way when they fell away.
  if (!options_.is_local) {
    for (const auto& [device, why] : lost_devices_) {
      effects_.push_back(SendToTuner{DeviceLost{device, DeviceName(device) + ": " + why}});
    }
  }
  for (Unacknowledged& entry : unacknowledged_) {
    if (entry.end_number) entry.end_number = ++ends_sent_;
    effects_.push_back(SendToTuner{entry.message});
  }
  for (const auto& [ref, seat] : running_) {
    const Running& running = At(seat);
    bool has_report = running.unanswered.has_value();
    for (const auto& told : running.told_durable) {
      if (has_report && told.after == running.unanswered->sequence) {
        effects_.push_back(SendToTuner{*running.unanswered});
        has_report = false;
      }
      effects_.push_back(SendToTuner{told.message});
    }
    if (has_report) effects_.push_back(SendToTuner{*running.unanswered});
  }
}

// A worker that is not local says again after the next Welcome what it cannot say now.
void WorkerCore::Tell(FromWorker message) {
  if (is_up_ || options_.is_local) effects_.push_back(SendToTuner{std::move(message)});
}

void WorkerCore::Complain(std::string text) {
  effects_.push_back(PrintLine{std::move(text), !options_.is_local});
}

void WorkerCore::Say(std::string text) {
  if (!options_.is_local) effects_.push_back(PrintNote{std::move(text)});
}

void WorkerCore::Acknowledge(int64_t ends_seen) {
  for (size_t i = 0; i < unacknowledged_.size();) {
    const Unacknowledged& entry = unacknowledged_[i];
    if (!entry.end_number) {
      ++i;
      continue;
    }
    if (*entry.end_number > ends_seen) return;
    const AttemptRef ref = entry.ref;
    std::erase_if(unacknowledged_, [&ref](const Unacknowledged& e) { return e.ref == ref; });
    i = 0;
  }
}

}  // namespace tune
