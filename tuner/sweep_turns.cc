// Which trial next: interrupted and retried ones in order of number, then a new one.
#include <algorithm>
#include <utility>

#include "tuner/sweep.h"

namespace tune {
namespace {

// Trials that wait for another worker than the one that has room. It bounds what is looked at, and
// what a sweep begins before it finds that its trials fail everywhere.
constexpr size_t kPutOffMax = 16;

// More than workers could ever take at a time.
constexpr int64_t kRoomWantedMax = 100'000;

// Failures that a machine can be the reason of, unlike a configuration that is refused or too
// large for a device.
bool MayBeTheMachines(Outcome outcome) {
  return outcome == Outcome::kCrashed || outcome == Outcome::kKilled ||
         outcome == Outcome::kOutOfMemory || outcome == Outcome::kHung;
}

}  // namespace

void Sweep::NoteFailure(TrialRecord& trial, Outcome outcome) {
  if (!MayBeTheMachines(outcome) || !trial.attempt.worker) return;
  trial.failed_on = *trial.attempt.worker;
  const bool has_started = trial.last_sequence > 0;
  if (!has_started) wishes_.push_back(NoteFailedStart{*trial.attempt.worker});
}

// Up to the first that failed nowhere: it goes wherever there is room, and is waited for. With one
// place at a time the order stays.
std::vector<Want> Sweep::Wants() const {
  std::vector<Want> wants;
  for (const TrialNumber number : waiting_) {
    if (wants.size() >= kPutOffMax) return wants;
    const TrialRecord& trial = At(number);
    const bool may_be_put_off = max_concurrent_ > 1 && !trial.on_whole_device;
    wants.push_back({number, RequestOf(trial), trial.failed_on, may_be_put_off});
    if (!trial.failed_on) return wants;
  }
  if (wants.size() < kPutOffMax && HasMoreToCreate()) wants.push_back({{}, Request(), {}, false});
  return wants;
}

// Those that run have run for half of their time on average.
std::optional<Duration> Sweep::AttemptTakes(Instant now) const {
  if (!mean_attempt_) return std::nullopt;
  Duration age;
  int64_t count = 0;
  for (const SweepLease& lease : held_.FirstRanks()) {
    const TrialRecord& trial = At(lease.ref.trial);
    if (!trial.is_running()) continue;
    age = age + std::max(Duration{}, now - trial.running_since());
    ++count;
  }
  return count == 0 ? *mean_attempt_ : std::max(*mean_attempt_, Duration{2 * age.us / count});
}

std::vector<RoomWanted> Sweep::WantsRoomFor(Instant now) const {
  std::vector<RoomWanted> wanted;
  if (!HasPlace()) return wanted;
  const std::optional<Duration> takes = AttemptTakes(now);
  const int64_t running = held_.running_count();
  int64_t places =
      std::min(max_concurrent_ - held_.running_count() - backing_off_count(), kRoomWantedMax);
  for (const TrialNumber number : waiting_) {
    if (places == 0) return wanted;
    --places;
    const ResourceRequest request = RequestOf(At(number));
    const bool is_like_last = !wanted.empty() && wanted.back().request == request;
    if (!is_like_last) wanted.push_back({request, 0, takes, wanted.empty() ? running : 0});
    ++wanted.back().count;
  }
  if (!HasMoreToCreate()) return wanted;
  const int64_t left =
      trial_count_max_ < 0 ? places : trial_count_max_ - static_cast<int64_t>(trials_.size());
  const int64_t count = std::min(places, left);
  if (count <= 0) return wanted;
  if (wanted.empty() || !(wanted.back().request == Request())) {
    wanted.push_back({Request(), 0, takes, wanted.empty() ? running : 0});
  }
  wanted.back().count += count;
  return wanted;
}

// Those that back off, or that its scheduler has paused, may come any time; where nothing runs and
// nothing waits, only a person could let trials go on.
int64_t Sweep::MayRunBesides() const {
  if (!GivesOut() || is_paused_) return 0;
  const bool is_alive =
      held_.running_count() > 0 || !waiting_.empty() || !backing_off_.empty() || HasMoreToCreate();
  if (!is_alive) return 0;
  int64_t count = static_cast<int64_t>(waiting_.size()) + backing_off_count();
  for (const TrialNumber number : paused_) {
    if (!At(number).held_by_command) ++count;
  }
  if (HasMoreToCreate()) {
    count += trial_count_max_ < 0 ? kRoomWantedMax
                                  : trial_count_max_ - static_cast<int64_t>(trials_.size());
  }
  return std::min({count, kRoomWantedMax, max_concurrent_ - held_.running_count()});
}

void Sweep::On(const TrialTaken& event) {
  if (event.none_made != NoneMade::kNo) return FollowNoneMade(event.none_made);
  TrialRecord* const trial = event.waiting ? &At(*event.waiting) : CreateTrial();
  if (trial == nullptr) return;
  trial->is_told_to_end = false;
  PinCheckpoint(*trial);
  const Fusion fusion = FusionFor(*trial);
  answer_.candidate = Candidate{trial->row.number, AttemptNumber{trial->row.attempts + 1},
                                fusion.lanes_max > 1 ? fusion.shape : ""};
}

}  // namespace tune
