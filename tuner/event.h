// What happens to an experiment from outside, as values. The controller's state is a function of
// its spec and its events in order. What of it its sweep is told is the journal (sweep_event.h);
// before schema 9 the journal was the list of these events.
#pragma once

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/messages.h"
#include "tuner/lane_speeds.h"

namespace tune {

// A worker has said Hello on connection `worker`. One that is not local may have been here before,
// under another id and the same session: what it still holds goes on.
struct WorkerJoined {
  WorkerId worker;
  std::string name;
  std::string address;
  int64_t pid = 0;
  WorkerCapacity capacity;
  bool is_local = true;
  std::string session = {};
  std::vector<HeldAttempt> held = {};
  // Of its machine: the worker has seen that their processes ended. Their leases are over.
  std::vector<std::string> ended_sessions = {};
  std::string rank_address = {};  // Of its machine, as other workers reach it.
};

enum class Departure {
  kBroken,   // Its connection ended; one that is not local may come back within its lease.
  kGoodbye,  // By its own wish.
  kSilent,   // Nothing was heard of it for a whole lease.
};
struct WorkerGone {
  WorkerId worker;
  Departure how = Departure::kBroken;
  std::string why = "";  // Of a goodbye, one line for a person; empty: it was not said.
};

struct ReportArrived {
  WorkerId worker;
  AttemptReport message;
};

// The checkpoint of an earlier report is durable.
struct CheckpointArrived {
  WorkerId worker;
  CheckpointDurable message;
};

struct AttemptFinished {
  WorkerId worker;
  AttemptEnded message;
};

// A worker told that one of its devices fell away.
struct DeviceFellAway {
  WorkerId worker;
  DeviceLost message;
};

// A worker told how much of a device an attempt was seen to use: what trials of this sweep need.
struct DeviceMemorySeen {
  WorkerId worker;
  DeviceMemoryPeak message;
};

// A worker told that it cannot run a sweep's trials.
struct WorkerUnfit {
  WorkerId worker;
  SweepUnfit message;
};

// What the database's earlier sweeps measured of lanes, as this one began.
struct LaneSpeedsKnown {
  std::vector<LaneSpeedRow> speeds;
};

// Ctrl-C, SIGTERM, SIGHUP: stop starting, end what runs, be resumable.
struct InterruptRequested {
  std::string given_up = {};  // Why its head does not try it again; empty: it does.
};

// A new tuner process took over. Leases of local workers are fenced, their attempts end as lost,
// free of charge; connected workers, if they can find it, have a lease's time to come back.
struct TunerRestarted {
  bool listens = false;  // Connected workers can find it.
};

// The tuner itself did not run for this long (a suspended machine): nobody else was silent.
struct TunerSlept {
  Duration duration;
};

// Commands from another terminal. Without a trial they are about the whole sweep. `now`: without
// waiting for the next report.
struct PauseRequested {
  std::optional<TrialNumber> trial;
  bool now = false;
};
struct UnpauseRequested {
  std::optional<TrialNumber> trial;
};
struct StopRequested {
  std::optional<TrialNumber> trial;
  bool now = false;
};
// `tune drain`: the worker gets no more trials, gives back those that it runs, and leaves.
struct WorkerDrainRequested {
  WorkerId worker;
};
struct MaxConcurrentChanged {
  int64_t max_concurrent = 0;
};
// The sweep's document with other settings (spec_difference.h), checked.
struct SettingsChanged {
  std::string document;  // JSON.
};

// What of the sweep's program and data is not as it was when the sweep began, as a resume found it;
// empty: all is again as it was.
struct ProgramChanged {
  std::vector<std::string> differences;  // A line each (DescribeProgramDifferences).
};

// `tune resume --errored`: trials that failed get another chance, their failures forgotten.
struct ErroredRetried {};

// `tune resume --samples`: the new total.
struct SamplesExtended {
  int64_t samples = 0;
};

// Time passed a deadline.
struct DeadlinePassed {};

using Event =
    std::variant<WorkerJoined, WorkerGone, ReportArrived, AttemptFinished, InterruptRequested,
                 TunerRestarted, TunerSlept, SamplesExtended, DeadlinePassed, PauseRequested,
                 UnpauseRequested, StopRequested, MaxConcurrentChanged, ErroredRetried,
                 DeviceFellAway, DeviceMemorySeen, LaneSpeedsKnown, SettingsChanged,
                 WorkerDrainRequested, ProgramChanged, WorkerUnfit, CheckpointArrived>;

// What happens to a tuner of several sweeps, and to which of them, where it is what people say to
// one. Without a number it is said to all.
struct HeadEvent {
  Event event;
  ExperimentId sweep = {};
};

// One line of JSON a batch, and back. Numbers keep their bits, NaN and the infinities too.
std::string EncodeEvents(const std::vector<Event>& events);
Result<std::vector<Event>> DecodeEvents(std::string_view text);

}  // namespace tune
