// How long a sweep will still take, from how its trials went so far.
//
// How far trials come: at each iteration, the share of the trials that reached it and went on; at a
// rung, what the scheduler lets through in the long run counts beside it, since the first trials at
// a rung meet no rivals. How fast they are: the seconds an iteration took each of them. The rest of
// the sweep is then played out some dozens of times with lengths and paces drawn from that, as many
// trials at a time as run now.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/time.h"
#include "tuner/experiment_spec.h"
#include "tuner/transition.h"

namespace tune {

struct TrialPace {
  enum class State {
    kOpen,     // It waits for its next attempt.
    kRunning,  //
    kPaused,   // A scheduler or a person paused it; most such trials are not taken up again.
    kOver,
  };
  State state = State::kOpen;
  int64_t iterations = 0;  // Trained so far.
  Duration run_time;       // Of all its attempts, the running one included.
  // Of it, the part up to the last report. Iterations may be counted by the hundred: what a running
  // trial has done since is not known. Nothing: neither is this.
  std::optional<Duration> report_time = {};
};

TrialPace::State PaceState(TrialStatus status);

struct SweepPace {
  std::vector<TrialPace> trials;
  int64_t samples = 0;             // Trials in all; -1: no limit.
  std::vector<int64_t> rungs;      // Their milestones, rising.
  std::optional<int64_t> longest;  // Iterations of a trial that nothing stops, where known.
  // What share of the trials passes a rung in the long run; nothing: as they did so far.
  std::optional<double> rung_share;
};

// Iterations of a trial that nothing stops, as far as the space file says.
std::optional<int64_t> LongestTrial(const ExperimentSpec& spec);
std::optional<double> RungShare(const ExperimentSpec& spec);

// Four of five times the end comes between the two.
struct TimeLeft {
  Duration low;
  Duration high;
  friend bool operator==(const TimeLeft&, const TimeLeft&) = default;
};

// Nothing: it cannot be told. No trial runs, no iteration is done, there is no limit of samples, or
// nobody knows yet how long a trial is.
std::optional<TimeLeft> EstimateTimeLeft(const SweepPace& pace);

// "2 to 4 min left", "50 s to 2 min left", "about 3 h left": rounded to what a person remembers.
std::string Describe(const TimeLeft& left);

}  // namespace tune
