#include "trial_runner/worker/tuner_inbox.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include "core/check.h"

namespace tune {

TunerInbox::TunerInbox(const Clock& clock)
    : clock_(clock), event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
  TUNE_CHECK(event_.is_open());
}

void TunerInbox::OnMessages(std::vector<ToWorker> messages) {
  const std::lock_guard lock(mutex_);
  const bool was_empty = content_.messages.empty() && !content_.closed;
  const Instant now = clock_.Now();
  for (ToWorker& message : messages) content_.messages.push_back({std::move(message), now});
  if (was_empty) Announce();
}

void TunerInbox::OnClosed(Status reason) {
  const std::lock_guard lock(mutex_);
  content_.closed = std::move(reason);
  Announce();
}

void TunerInbox::OnPlace(ExperimentId sweep, const WantedPlace& wanted, Result<FoundPlace> found) {
  const std::lock_guard lock(mutex_);
  content_.places.push_back({sweep, wanted, std::move(found)});
  Announce();
}

void TunerInbox::OnPlaceWaits(ExperimentId sweep, std::string why) {
  const std::lock_guard lock(mutex_);
  content_.place_waits.emplace_back(sweep, std::move(why));
  Announce();
}

void TunerInbox::OnCheckpointKept(const AttemptRef& ref, Result<KeptCheckpoint> kept) {
  const std::lock_guard lock(mutex_);
  content_.kept.emplace_back(ref, std::move(kept));
  Announce();
}

void TunerInbox::OnCheckpointObtained(const AttemptRef& ref, Result<CheckpointCopy> copy) {
  const std::lock_guard lock(mutex_);
  content_.obtained.emplace_back(ref, std::move(copy));
  Announce();
}

void TunerInbox::OnCheckpointWaits(const AttemptRef& ref, std::string why) {
  const std::lock_guard lock(mutex_);
  content_.waits.emplace_back(ref, std::move(why));
  Announce();
}

void TunerInbox::OnFilesSent(const SendLog& last) {
  const std::lock_guard lock(mutex_);
  content_.files_sent.push_back(last);
  Announce();
}

void TunerInbox::OnLogSent(const AttemptRef& ref, const Status& sent) {
  const std::lock_guard lock(mutex_);
  content_.logs_sent.emplace_back(ref, sent);
  Announce();
}

void TunerInbox::OnDevices(std::vector<DeviceReading> readings) {
  const std::lock_guard lock(mutex_);
  content_.devices = std::move(readings);
  Announce();
}

void TunerInbox::OnNotice(std::string why) {
  const std::lock_guard lock(mutex_);
  content_.notice = std::move(why);
  Announce();
}

void TunerInbox::Announce() {
  const uint64_t one = 1;
  TUNE_CHECK(write(event_.get(), &one, sizeof one) == sizeof one);
}

TunerInbox::Content TunerInbox::Take() {
  uint64_t count = 0;
  const std::lock_guard lock(mutex_);
  if (read(event_.get(), &count, sizeof count) < 0) return {};  // Nothing since the last time.
  return std::exchange(content_, {});
}

}  // namespace tune
