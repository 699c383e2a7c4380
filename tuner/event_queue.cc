#include "tuner/event_queue.h"

#include <algorithm>
#include <chrono>
#include <set>
#include <utility>

#include "core/limits.h"

namespace tune {
namespace {

constexpr size_t kQueueBytesMax = 256u << 20;

// About what it takes in memory; the same whenever it is asked.
size_t BytesOf(const Event& event) {
  size_t bytes = sizeof(Event);
  if (const auto* const report = std::get_if<ReportArrived>(&event)) {
    bytes += report->message.report.metrics.size() * sizeof(Metrics::value_type);
    for (const auto& [name, value] : report->message.report.metrics) bytes += name.size();
    bytes += report->message.report.checkpoint.path.size();
  } else if (const auto* const arrived = std::get_if<CheckpointArrived>(&event)) {
    bytes += arrived->message.checkpoint.path.size();
  } else if (const auto* const ended = std::get_if<AttemptFinished>(&event)) {
    bytes += ended->message.error.size();
  } else if (const auto* const joined = std::get_if<WorkerJoined>(&event)) {
    bytes += joined->held.size() * sizeof(HeldAttempt);
  }
  return bytes;
}

std::optional<Event> ToEvent(Incoming incoming) {
  const WorkerId worker = incoming.worker;
  if (const auto* const end = std::get_if<WorkerDisconnected>(&incoming.message)) {
    // Nobody waits for one that may not come back.
    if (!end->is_expelled) return WorkerGone{worker, Departure::kBroken};
    return WorkerGone{worker, Departure::kGoodbye, "its token was revoked"};
  }
  FromWorker& message = std::get<FromWorker>(incoming.message);
  if (auto* hello = std::get_if<Hello>(&message)) {
    return WorkerJoined{worker,
                        std::move(hello->name),
                        std::move(incoming.address),
                        hello->pid,
                        std::move(hello->capacity),
                        hello->is_local,
                        std::move(hello->session),
                        std::move(hello->held),
                        std::move(hello->ended_sessions),
                        std::move(hello->address)};
  }
  if (auto* report = std::get_if<AttemptReport>(&message)) {
    return ReportArrived{worker, std::move(*report)};
  }
  if (auto* durable = std::get_if<CheckpointDurable>(&message)) {
    return CheckpointArrived{worker, std::move(*durable)};
  }
  if (auto* ended = std::get_if<AttemptEnded>(&message)) {
    return AttemptFinished{worker, std::move(*ended)};
  }
  if (auto* lost = std::get_if<DeviceLost>(&message)) {
    return DeviceFellAway{worker, std::move(*lost)};
  }
  if (auto* peak = std::get_if<DeviceMemoryPeak>(&message)) return DeviceMemorySeen{worker, *peak};
  if (auto* unfit = std::get_if<SweepUnfit>(&message)) {
    return WorkerUnfit{worker, std::move(*unfit)};
  }
  if (auto* goodbye = std::get_if<Goodbye>(&message)) {
    return WorkerGone{worker, Departure::kGoodbye, std::move(goodbye->why)};
  }
  return std::nullopt;
}

}  // namespace

void EventQueue::Push(std::vector<Incoming> messages) {
  std::vector<HeadEvent> events;
  events.reserve(messages.size());
  {
    const std::lock_guard lock(mutex_);
    for (Incoming& message : messages) {
      heard_.insert(message.worker);
      auto* const said = std::get_if<FromWorker>(&message.message);
      auto* const beat = said == nullptr ? nullptr : std::get_if<Heartbeat>(said);
      if (beat != nullptr && !beat->devices.empty()) {
        device_use_[message.worker] = std::move(beat->devices);
      }
      if (beat != nullptr && !beat->cached.empty()) {
        cached_[message.worker] = std::move(beat->cached);
      }
      if (beat != nullptr) NoteWait(message.worker, std::move(beat->waits_for));
    }
  }
  for (Incoming& message : messages) {
    if (auto event = ToEvent(std::move(message))) events.push_back({*std::move(event)});
  }
  if (!events.empty()) Append(std::move(events), Room::kAwait);
}

std::set<WorkerId> EventQueue::TakeHeard() {
  const std::lock_guard lock(mutex_);
  return std::exchange(heard_, {});
}

std::map<WorkerId, std::vector<DeviceUse>> EventQueue::TakeDeviceUse() {
  const std::lock_guard lock(mutex_);
  return std::exchange(device_use_, {});
}

std::map<WorkerId, std::vector<std::string>> EventQueue::TakeCached() {
  const std::lock_guard lock(mutex_);
  return std::exchange(cached_, {});
}

std::map<WorkerId, std::string> EventQueue::TakeWaits() {
  const std::lock_guard lock(mutex_);
  return std::exchange(new_waits_, {});
}

// With the lock.
void EventQueue::NoteWait(WorkerId worker, std::string why) {
  const auto before = waits_.find(worker);
  if (why == (before == waits_.end() ? "" : before->second)) return;
  new_waits_[worker] = why;
  if (why.empty()) {
    waits_.erase(worker);
  } else {
    waits_[worker] = std::move(why);
  }
}

void EventQueue::PushEvent(Event event, ExperimentId sweep) {
  std::vector<HeadEvent> events;
  events.push_back({std::move(event), sweep});
  Append(std::move(events), Room::kTake);
}

void EventQueue::Wake() {
  {
    const std::unique_lock<std::mutex> lock(mutex_);
    is_woken_ = true;
  }
  has_events_.notify_one();
}

void EventQueue::Append(std::vector<HeadEvent> events, Room room) {
  {
    std::unique_lock<std::mutex> lock(mutex_);
    has_room_.wait(lock, [this, room] {
      const bool is_full = events_.size() >= limits::kEventQueueMax || bytes_ >= kQueueBytesMax;
      return room == Room::kTake || !is_full;
    });
    for (HeadEvent& event : events) {
      bytes_ += BytesOf(event.event);
      events_.push_back(std::move(event));
    }
  }
  has_events_.notify_one();
}

void EventQueue::Wait(const Clock& clock, std::optional<Instant> deadline) {
  WaitUntil(clock, deadline, /*heeds_events=*/true);
}

void EventQueue::WaitForWake(const Clock& clock, std::optional<Instant> deadline) {
  WaitUntil(clock, deadline, /*heeds_events=*/false);
}

void EventQueue::WaitUntil(const Clock& clock, std::optional<Instant> deadline, bool heeds_events) {
  std::unique_lock<std::mutex> lock(mutex_);
  const auto ready = [this, heeds_events] {
    return is_woken_ || (heeds_events && !events_.empty());
  };
  if (!deadline) {
    has_events_.wait(lock, ready);
  } else if (const int64_t wait_us = (*deadline - clock.Now()).us; wait_us > 0) {
    has_events_.wait_for(lock, std::chrono::microseconds(wait_us), ready);
  }
  is_woken_ = false;
}

std::vector<HeadEvent> EventQueue::Drain(size_t count_max) {
  std::vector<HeadEvent> drained;
  {
    const std::unique_lock<std::mutex> lock(mutex_);
    const size_t count = std::min(count_max, events_.size());
    drained.reserve(count);
    for (size_t i = 0; i < count; ++i) {
      bytes_ -= BytesOf(events_.front().event);
      drained.push_back(std::move(events_.front()));
      events_.pop_front();
    }
  }
  has_room_.notify_all();
  return drained;
}

}  // namespace tune
