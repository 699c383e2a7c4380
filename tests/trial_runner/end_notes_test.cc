#include "trial_runner/end_notes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/limits.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(EndNotes, OfAnAttemptThatEndedInOrderComeBackInOrder) {
  for (const Outcome outcome : {Outcome::kCompleted, Outcome::kStopped}) {
    std::string error;
    EXPECT_THAT(EndNotesOf(outcome, error), IsEmpty());
    error = WithEndNote(outcome, error, "first: a");
    EXPECT_THAT(EndNotesOf(outcome, error), ElementsAre("first: a"));
    error = WithEndNote(outcome, error, "");
    error = WithEndNote(outcome, error, "second: b");
    EXPECT_THAT(EndNotesOf(outcome, error), ElementsAre("first: a", "second: b"));
  }
}

TEST(EndNotes, TheErrorOfAFailureStaysAsItIs) {
  EXPECT_EQ(WithEndNote(Outcome::kCrashed, "it fell over", "first: a"), "it fell over");
  EXPECT_THAT(EndNotesOf(Outcome::kCrashed, "note: a"), IsEmpty());
  EXPECT_THAT(EndNotesOf(Outcome::kStopped, "it was told to stop and did not end by itself"),
              IsEmpty());
}

TEST(EndNotes, ANoteThatHasNoRoomIsLeftOut) {
  const std::string note(limits::kErrorBytesMax, 'n');
  EXPECT_EQ(WithEndNote(Outcome::kCompleted, "first: a", note), "first: a");
}

}  // namespace
}  // namespace tune
