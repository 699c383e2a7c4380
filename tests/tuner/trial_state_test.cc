#include "tuner/trial_state.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <set>
#include <string>
#include <utility>

namespace tune {
namespace {

using testing::HasSubstr;

std::set<TrialState> States() {
  std::set<TrialState> states;
  for (const TrialEdge& edge : TrialEdges()) {
    states.insert(edge.from);
    states.insert(edge.to);
  }
  return states;
}

TEST(TrialStates, OneCauseLeadsToOneState) {
  std::set<std::pair<TrialState, TrialCause>> seen;
  for (const TrialEdge& edge : TrialEdges()) {
    EXPECT_TRUE(seen.insert({edge.from, edge.cause}).second)
        << TrialStateName(edge.from) << " " << TrialCauseName(edge.cause);
  }
}

TEST(TrialStates, AreAllReachedFromWaitingAndAllCanComeToTheEnd) {
  std::set<TrialState> reached = {TrialState::kWaiting};
  std::set<TrialState> ends = {TrialState::kOver};
  for (size_t i = 0; i < TrialEdges().size(); ++i) {
    for (const TrialEdge& edge : TrialEdges()) {
      if (reached.contains(edge.from)) reached.insert(edge.to);
      if (ends.contains(edge.to)) ends.insert(edge.from);
    }
  }
  EXPECT_EQ(reached, States());
  EXPECT_EQ(ends, States());
}

// Else a lease would be forgotten, or be held twice.
TEST(TrialStates, TakeAndGiveALeaseByGrantsAndEndsAlone) {
  for (const TrialEdge& edge : TrialEdges()) {
    const bool takes = edge.cause == TrialCause::kGrant || edge.cause == TrialCause::kGrantAhead;
    const bool gives = edge.cause == TrialCause::kEnd || edge.cause == TrialCause::kDropped;
    EXPECT_EQ(HoldsLease(edge.to), takes || (HoldsLease(edge.from) && !gives))
        << TrialStateName(edge.from) << " " << TrialCauseName(edge.cause);
    EXPECT_EQ(HoldsLease(edge.from), gives || (HoldsLease(edge.to) && !takes))
        << TrialStateName(edge.from) << " " << TrialCauseName(edge.cause);
  }
}

TEST(TrialStates, ThatAreOverAreLeftByReopenAlone) {
  for (const TrialEdge& edge : TrialEdges()) {
    if (edge.cause == TrialCause::kReopen) continue;
    EXPECT_EQ(IsOver(edge.to), IsOver(edge.from) || edge.cause == TrialCause::kOver)
        << TrialStateName(edge.from) << " " << TrialCauseName(edge.cause);
  }
  for (const TrialState state : States()) {
    EXPECT_EQ(NextTrialState(state, TrialCause::kOver).has_value(), !IsOver(state))
        << TrialStateName(state);
  }
}

TEST(TrialStates, ArePausedByHoldAndTakenUpByTakeUpAlone) {
  for (const TrialEdge& edge : TrialEdges()) {
    const bool leaves = edge.cause == TrialCause::kTakeUp || edge.cause == TrialCause::kOver;
    EXPECT_EQ(IsPaused(edge.to),
              edge.cause == TrialCause::kHold || (IsPaused(edge.from) && !leaves))
        << TrialStateName(edge.from) << " " << TrialCauseName(edge.cause);
  }
}

// What the page says of an attempt that is heard is RUNNING.
TEST(TrialStates, ThatAreHeardAreRunning) {
  for (const TrialState state : States()) {
    if (!Hears(state)) continue;
    EXPECT_TRUE(IsRunningAttempt(state));
    EXPECT_EQ(StatusOf(state), TrialStatus::kRunning);
  }
}

TEST(TrialStates, StandInTheDocument) {
  std::ifstream in(std::string(std::getenv("TUNE_SOURCE_DIR")) + "/docs/STATE_MACHINES.md");
  const std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  EXPECT_THAT(text, HasSubstr(DescribeTrialEdges())) << "it should have:\n" << DescribeTrialEdges();
}

}  // namespace
}  // namespace tune
