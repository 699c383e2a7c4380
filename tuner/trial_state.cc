#include "tuner/trial_state.h"

#include <array>

namespace tune {
namespace {

using S = TrialState;
using C = TrialCause;

constexpr std::array kEdges{
    TrialEdge{S::kWaiting, C::kGrant, S::kRunning},
    TrialEdge{S::kWaiting, C::kGrantAhead, S::kQueued},
    TrialEdge{S::kWaiting, C::kBackOff, S::kBackingOff},
    TrialEdge{S::kWaiting, C::kHold, S::kPaused},
    TrialEdge{S::kWaiting, C::kOver, S::kOver},

    TrialEdge{S::kBackingOff, C::kDue, S::kWaiting},
    TrialEdge{S::kBackingOff, C::kHold, S::kPaused},
    TrialEdge{S::kBackingOff, C::kOver, S::kOver},

    TrialEdge{S::kQueued, C::kBegan, S::kRunning},
    TrialEdge{S::kQueued, C::kDropped, S::kWaiting},
    TrialEdge{S::kQueued, C::kTellToEnd, S::kDropping},
    TrialEdge{S::kQueued, C::kHold, S::kPausedQueued},
    TrialEdge{S::kQueued, C::kOver, S::kOverQueued},

    TrialEdge{S::kDropping, C::kBegan, S::kSaving},
    TrialEdge{S::kDropping, C::kDropped, S::kWaiting},
    TrialEdge{S::kDropping, C::kHold, S::kPausedQueued},
    TrialEdge{S::kDropping, C::kOver, S::kOverQueued},

    TrialEdge{S::kReturning, C::kHold, S::kPausing},
    TrialEdge{S::kReturning, C::kEnd, S::kWaiting},
    TrialEdge{S::kReturning, C::kOver, S::kEnding},

    TrialEdge{S::kRunning, C::kTellToEnd, S::kSaving},
    TrialEdge{S::kRunning, C::kCondemn, S::kCondemned},
    TrialEdge{S::kRunning, C::kHold, S::kPausing},
    TrialEdge{S::kRunning, C::kEnd, S::kWaiting},
    TrialEdge{S::kRunning, C::kOver, S::kEnding},

    TrialEdge{S::kSaving, C::kCondemn, S::kCondemned},
    TrialEdge{S::kSaving, C::kHold, S::kPausing},
    TrialEdge{S::kSaving, C::kEnd, S::kWaiting},
    TrialEdge{S::kSaving, C::kOver, S::kEnding},

    TrialEdge{S::kCondemned, C::kHold, S::kPausing},
    TrialEdge{S::kCondemned, C::kEnd, S::kWaiting},
    TrialEdge{S::kCondemned, C::kOver, S::kEnding},

    TrialEdge{S::kPaused, C::kTakeUp, S::kWaiting},
    TrialEdge{S::kPaused, C::kOver, S::kOver},

    TrialEdge{S::kPausedQueued, C::kBegan, S::kPausing},
    TrialEdge{S::kPausedQueued, C::kDropped, S::kPaused},
    TrialEdge{S::kPausedQueued, C::kTakeUp, S::kDropping},
    TrialEdge{S::kPausedQueued, C::kOver, S::kOverQueued},

    TrialEdge{S::kPausing, C::kTakeUp, S::kReturning},
    TrialEdge{S::kPausing, C::kEnd, S::kPaused},
    TrialEdge{S::kPausing, C::kOver, S::kEnding},

    TrialEdge{S::kOver, C::kReopen, S::kWaiting},

    TrialEdge{S::kOverQueued, C::kBegan, S::kEnding},
    TrialEdge{S::kOverQueued, C::kDropped, S::kOver},

    TrialEdge{S::kEnding, C::kEnd, S::kOver},
};

}  // namespace

std::span<const TrialEdge> TrialEdges() { return kEdges; }

std::optional<TrialState> NextTrialState(TrialState state, TrialCause cause) {
  for (const TrialEdge& edge : kEdges) {
    if (edge.from == state && edge.cause == cause) return edge.to;
  }
  return std::nullopt;
}

bool IsOver(TrialState state) {
  return state == S::kOver || state == S::kOverQueued || state == S::kEnding;
}

bool IsPaused(TrialState state) {
  return state == S::kPaused || state == S::kPausedQueued || state == S::kPausing;
}

bool IsRunningAttempt(TrialState state) {
  switch (state) {
    case S::kReturning:
    case S::kRunning:
    case S::kSaving:
    case S::kCondemned:
    case S::kPausing:
    case S::kEnding:
      return true;
    default:
      return false;
  }
}

bool HoldsLease(TrialState state) {
  return IsRunningAttempt(state) || state == S::kQueued || state == S::kDropping ||
         state == S::kPausedQueued || state == S::kOverQueued;
}

bool Hears(TrialState state) { return state == S::kRunning || state == S::kSaving; }

std::optional<TrialStatus> StatusOf(TrialState state) {
  if (IsOver(state)) return std::nullopt;
  if (IsPaused(state)) return TrialStatus::kPaused;
  const bool is_running = IsRunningAttempt(state) && state != S::kReturning;
  return is_running ? TrialStatus::kRunning : TrialStatus::kPending;
}

const char* TrialStateName(TrialState state) {
  switch (state) {
    case S::kWaiting:
      return "Waiting";
    case S::kBackingOff:
      return "BackingOff";
    case S::kQueued:
      return "Queued";
    case S::kDropping:
      return "Dropping";
    case S::kReturning:
      return "Returning";
    case S::kRunning:
      return "Running";
    case S::kSaving:
      return "Saving";
    case S::kCondemned:
      return "Condemned";
    case S::kPaused:
      return "Paused";
    case S::kPausedQueued:
      return "PausedQueued";
    case S::kPausing:
      return "Pausing";
    case S::kOver:
      return "Over";
    case S::kOverQueued:
      return "OverQueued";
    case S::kEnding:
      return "Ending";
  }
  return "";
}

const char* TrialCauseName(TrialCause cause) {
  switch (cause) {
    case C::kGrant:
      return "Grant";
    case C::kGrantAhead:
      return "GrantAhead";
    case C::kBegan:
      return "Began";
    case C::kDropped:
      return "Dropped";
    case C::kTellToEnd:
      return "TellToEnd";
    case C::kCondemn:
      return "Condemn";
    case C::kHold:
      return "Hold";
    case C::kTakeUp:
      return "TakeUp";
    case C::kBackOff:
      return "BackOff";
    case C::kDue:
      return "Due";
    case C::kEnd:
      return "End";
    case C::kOver:
      return "Over";
    case C::kReopen:
      return "Reopen";
  }
  return "";
}

std::string DescribeTrialEdges() {
  std::string text;
  const TrialEdge* before = nullptr;
  for (const TrialEdge& edge : kEdges) {
    if (before == nullptr || before->from != edge.from) {
      const auto status = StatusOf(edge.from);
      text += std::string(before == nullptr ? "" : " |\n") + "| `" + TrialStateName(edge.from) +
              "` | " + (status ? TrialStatusName(*status) : "TERMINATED, ERROR") + " | ";
    } else {
      text += ", ";
    }
    text += std::string(TrialCauseName(edge.cause)) + " → `" + TrialStateName(edge.to) + "`";
    before = &edge;
  }
  return text + " |\n";
}

}  // namespace tune
