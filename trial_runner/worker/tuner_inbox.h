// What waits for a worker's loop: of the tuner, and of the threads that work beside the loop.
//
// Thread rule: any thread puts in, one takes out.
#pragma once

#include <mutex>
#include <optional>
#include <utility>
#include <vector>

#include "core/clock.h"
#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/devices/device_inventory.h"
#include "trial_runner/tuner_link.h"
#include "trial_runner/worker/work_place.h"
#include "trial_runner/worker/worker_effects.h"

namespace tune {

class TunerInbox final : public TunerSink {
 public:
  // `clock`: the loop's, which must outlive it.
  explicit TunerInbox(const Clock& clock);

  void OnMessages(std::vector<ToWorker> messages) override;
  void OnClosed(Status reason) override;
  // Not from the tuner itself: from the thread that looked for it.
  void OnPlace(ExperimentId sweep, const WantedPlace& wanted, Result<FoundPlace> found);
  void OnPlaceWaits(ExperimentId sweep, std::string why);
  // Nor these: from those that carry checkpoints.
  void OnCheckpointKept(const AttemptRef& ref, Result<KeptCheckpoint> kept);
  void OnCheckpointObtained(const AttemptRef& ref, Result<CheckpointCopy> copy);
  void OnCheckpointWaits(const AttemptRef& ref, std::string why);
  void OnFilesSent(const SendLog& last);
  void OnLogSent(const AttemptRef& ref, const Status& sent);
  // From the thread that watches the devices.
  void OnDevices(std::vector<DeviceReading> readings);
  // From the one that listens for notices: the machine is about to be taken away, and why.
  void OnNotice(std::string why);

  // Readable when there is something to take.
  int event_fd() const { return event_.get(); }
  struct Message {
    ToWorker message;
    Instant came_at;  // However late the loop takes it.
  };
  struct Content {
    std::vector<Message> messages;
    std::optional<Status> closed;
    struct Place {
      ExperimentId sweep;
      WantedPlace wanted;
      Result<FoundPlace> found;
    };
    std::vector<Place> places;
    std::vector<std::pair<ExperimentId, std::string>> place_waits;  // Said before those.
    std::vector<std::pair<AttemptRef, Result<KeptCheckpoint>>> kept;
    std::vector<std::pair<AttemptRef, Result<CheckpointCopy>>> obtained;
    std::vector<std::pair<AttemptRef, std::string>> waits;
    std::vector<SendLog> files_sent;
    std::vector<std::pair<AttemptRef, Status>> logs_sent;
    std::optional<std::vector<DeviceReading>> devices;  // The latest.
    std::optional<std::string> notice;
  };
  Content Take();

 private:
  void Announce();

  const Clock& clock_;
  FileDescriptor event_;
  std::mutex mutex_;
  Content content_;
};

}  // namespace tune
