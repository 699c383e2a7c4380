// What happens to an experiment from outside, as values. The controller's state is a function of
// its spec and its events in order; the journal is that list.
#pragma once

#include <string>
#include <variant>
#include <vector>

#include "core/ids.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/messages.h"

namespace tune {

// A worker has said Hello on connection `worker`.
struct WorkerJoined {
  WorkerId worker;
  std::string name;
  std::string address;
  int64_t pid = 0;
  WorkerCapacity capacity;
};

struct WorkerGone {
  WorkerId worker;
  bool said_goodbye = false;
};

struct ReportArrived {
  WorkerId worker;
  AttemptReport message;
};

struct AttemptFinished {
  WorkerId worker;
  AttemptEnded message;
};

// Ctrl-C, SIGTERM, SIGHUP: stop starting, end what runs, be resumable.
struct InterruptRequested {};

// A new tuner process took over: every lease of the old one is fenced, its attempts end as lost,
// free of charge.
struct TunerRestarted {};

// `tune resume --samples`: the new total.
struct SamplesExtended {
  int64_t samples = 0;
};

// Time passed a deadline.
struct DeadlinePassed {};

using Event = std::variant<WorkerJoined, WorkerGone, ReportArrived, AttemptFinished,
                           InterruptRequested, TunerRestarted, SamplesExtended, DeadlinePassed>;

// One line of JSON a batch for the journal, and back. Numbers keep their bits, NaN and the
// infinities too.
std::string EncodeEvents(const std::vector<Event>& events);
Result<std::vector<Event>> DecodeEvents(std::string_view text);

}  // namespace tune
