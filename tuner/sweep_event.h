// What a sweep is told, in order: its stream. A sweep's state and rows are a function of its spec,
// of suggestions made before, and of its stream alone (Sweep::Apply): where its trials run was
// decided by others and stands in the stream as what was granted. What people and the tuner say are
// events of their own (event.h); what became of leases stands in lease_event.h.
//
// Thread rule: values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/resources.h"
#include "core/status.h"
#include "core/time.h"
#include "tuner/event.h"
#include "tuner/lease_event.h"

namespace tune {

// What follows is of that time.
struct TimeSet {
  Instant at;
};
// Its deadlines are looked at.
struct TimeLimitsChecked {};

// The life of its tuner ended when it was last active; the next one begins now; then the sweep goes
// on, or stays stopped. Answered to the first: whether it was being stopped.
struct LifeEnded {};
struct LifeBegan {};
struct WentOn {
  bool was_stopped = false;
};

// A report of a lease that runs (Sweep::Knows), and what else ran on its device. Answered: whether
// it took effect. CheckpointArrived (event.h) is of such a lease, too.
struct Reported {
  ReportArrived report;
  Neighbours beside;
};
// What it says of who holds what, at once; what follows is done as it is heeded, in order.
struct NoticeBooked {
  Notice notice;
};
struct NoticeHeeded {
  Notice notice;
};

// A trial that waits, or a new one, is to begin. Answered: which; nothing: there is no new one
// after all. What it was granted, or a place in a worker's queue, follows.
enum class NoneMade {
  kNo,
  kRegret,  // `until.regret` is met. Streams of earlier builds say so of an exhausted space, too.
  kExhausted,
};
struct TrialTaken {
  std::optional<TrialNumber> waiting;
  // Why there was no new one: known once it was answered, and what a replay goes by.
  NoneMade none_made = NoneMade::kNo;
};
struct Granted {
  TrialNumber trial;
  std::vector<GrantedRank> ranks;
};
struct GrantedAhead {
  GrantedRank rank;
};

// Two looks, whose answer says whether they were news; what was none changed nothing, and is left
// out of the stream. The scheduler is told that no more trials come.
struct NoMoreTold {};
// Whether a worker could ever take what is placed next, and what the workers have.
struct PlaceableSeen {
  bool is_placeable = true;
  std::string have;
};
// What trials need from now on, after one used so much of a device.
struct MemoryLearned {
  ResourceRequest request;
  int64_t bytes_seen = 0;
  bool is_beyond_share = false;
};
// Answered: whether the sweep ended just now.
struct StepEnded {};

using SweepEvent =
    std::variant<InterruptRequested, SamplesExtended, TunerSlept, PauseRequested, UnpauseRequested,
                 StopRequested, MaxConcurrentChanged, SettingsChanged, ProgramChanged,
                 ErroredRetried, LaneSpeedsKnown, TimeSet, TimeLimitsChecked, LifeEnded, LifeBegan,
                 WentOn, Reported, LeaseEnded, NoticeBooked, NoticeHeeded, TrialTaken, Granted,
                 GrantedAhead, NoMoreTold, PlaceableSeen, MemoryLearned, StepEnded,
                 CheckpointArrived>;

// One line of JSON a step, and back, as EncodeEvents (event.h).
std::string EncodeStream(const std::vector<SweepEvent>& stream);
Result<std::vector<SweepEvent>> DecodeStream(std::string_view text);
// Of a step's text: it is a stream's, which begins with its time, and not one of event.h.
inline bool IsStream(std::string_view text) { return text.starts_with(R"([["T",)"); }

struct SweepAnswer {
  bool is_news = false;
  std::optional<Candidate> candidate;
  NoneMade none_made = NoneMade::kNo;
};

}  // namespace tune
