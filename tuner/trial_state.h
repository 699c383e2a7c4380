// What a trial can be, and what moves it from one state to the next: one table, which
// docs/STATE_MACHINES.md shows and Sweep::Move() alone applies.
//
// Thread rule: pure functions.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "tuner/transition.h"

namespace tune {

enum class TrialState : uint8_t {
  // PENDING
  kWaiting,     // It may begin.
  kBackingOff,  // It may begin later (retry_at).
  kQueued,      // It has a lease ahead, in a worker's queue,
  kDropping,    // and that worker was told to drop it.
  kReturning,   // It may go on once its attempt, which was told to end, has ended.
  // RUNNING
  kRunning,
  kSaving,     // Its attempt was told to end, and is heard until it has.
  kCondemned,  // Our verdict of its attempt stands, whatever the worker still says.
  // PAUSED
  kPaused,
  kPausedQueued,  // Its lease ahead is told to be dropped.
  kPausing,       // Its attempt has not ended yet.
  // TERMINATED or ERROR
  kOver,
  kOverQueued,  // Its lease ahead is told to be dropped.
  kEnding,      // Its attempt has not ended yet.
};

enum class TrialCause : uint8_t {
  kGrant,       // A lease that begins at once,
  kGrantAhead,  // or behind another, in a worker's queue;
  kBegan,       // which began,
  kDropped,     // or never will.
  kTellToEnd,   // The worker is told to end it, or to drop it.
  kCondemn,     // We decide of its attempt's end.
  kHold,        // The scheduler or a command pauses it,
  kTakeUp,      // and nothing holds it any longer.
  kBackOff,     // After a failure,
  kDue,         // for long enough.
  kEnd,         // Its attempt has ended, or is lost.
  kOver,        // It has come to its end.
  kReopen,      // `tune resume --errored`.
};

struct TrialEdge {
  TrialState from;
  TrialCause cause;
  TrialState to;
};

std::span<const TrialEdge> TrialEdges();

// Nothing: that cannot happen to it now.
std::optional<TrialState> NextTrialState(TrialState state, TrialCause cause);

bool IsOver(TrialState state);
bool IsPaused(TrialState state);
// A lease that has begun, or one ahead.
bool HoldsLease(TrialState state);
bool IsRunningAttempt(TrialState state);  // The lease has begun.
// What its attempt reports counts.
bool Hears(TrialState state);
// What the views show; nothing for one that is over, which is TERMINATED or ERROR.
std::optional<TrialStatus> StatusOf(TrialState state);

const char* TrialStateName(TrialState state);  // "Waiting".
const char* TrialCauseName(TrialCause cause);  // "Grant".

// The table as docs/STATE_MACHINES.md has it: a line for each state.
std::string DescribeTrialEdges();

}  // namespace tune
