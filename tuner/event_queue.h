// Where everything from outside enters: adapter threads push, the tuner's thread drains. Bounded,
// by count and by bytes: the gateway waits while the queue is full, so that a flood of workers
// slows its source instead of eating memory. The few events of the tuner's own process wait for
// nobody: the tuner's thread pushes some of them, and it alone makes room.
//
// Thread rule: Push, PushEvent and Wake from any thread; the rest from the tuner's thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "core/clock.h"
#include "core/time.h"
#include "trial_runner/incoming_sink.h"
#include "tuner/event.h"

namespace tune {

class EventQueue final : public IncomingSink {
 public:
  // From the gateway; waits for room. Whoever sends anything, a heartbeat too, has been heard of.
  void Push(std::vector<Incoming> messages) override;
  // Of the tuner's own process; never waits.
  void PushEvent(Event event, ExperimentId sweep = {});

  // Ends the present Wait, or the next one, without an event.
  void Wake();

  // Waits until there is an event, a Wake, or `clock` reaches `deadline`.
  void Wait(const Clock& clock, std::optional<Instant> deadline);
  // Likewise until a Wake or `deadline`, whatever events there are.
  void WaitForWake(const Clock& clock, std::optional<Instant> deadline);
  // At most `count_max`, in order of arrival.
  std::vector<HeadEvent> Drain(size_t count_max);
  // The workers that were heard of since the last call.
  std::set<WorkerId> TakeHeard();
  // What workers' heartbeats have told of their devices since the last call.
  std::map<WorkerId, std::vector<DeviceUse>> TakeDeviceUse();
  // Likewise of the checkpoints in their caches.
  std::map<WorkerId, std::vector<std::string>> TakeCached();
  // Likewise what checkpoints wait for, where it is another thing than was told before.
  std::map<WorkerId, std::string> TakeWaits();

 private:
  enum class Room { kAwait, kTake };
  void Append(std::vector<HeadEvent> events, Room room);
  void NoteWait(WorkerId worker, std::string why);
  void WaitUntil(const Clock& clock, std::optional<Instant> deadline, bool heeds_events);

  std::mutex mutex_;
  std::condition_variable has_events_;
  std::condition_variable has_room_;
  std::deque<HeadEvent> events_;
  size_t bytes_ = 0;  // About, of the events.
  bool is_woken_ = false;
  std::set<WorkerId> heard_;
  std::map<WorkerId, std::vector<DeviceUse>> device_use_;
  std::map<WorkerId, std::vector<std::string>> cached_;
  std::map<WorkerId, std::string> waits_;      // As last told; none: nothing.
  std::map<WorkerId, std::string> new_waits_;  // Since the last call.
};

}  // namespace tune
