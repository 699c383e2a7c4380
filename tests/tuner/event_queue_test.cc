// Who waits for room in the tuner's queue, and who does not.
#include "tuner/event_queue.h"

#include <gtest/gtest.h>

#include <utility>
#include <variant>
#include <vector>

#include "core/limits.h"

namespace tune {
namespace {

// What the tuner's thread says itself, of a changed program, and a Ctrl-C: nobody would make room.
TEST(EventQueue, EventsOfTheTunersOwnProcessWaitForNoRoom) {
  EventQueue queue;
  std::vector<Incoming> flood;
  for (size_t i = 0; i < limits::kEventQueueMax; ++i) {
    flood.push_back({WorkerId{1}, "", FromWorker(AttemptEnded{})});
  }
  queue.Push(std::move(flood));
  queue.PushEvent(ProgramChanged{{"train.py: was a, is b"}}, ExperimentId{7});
  const std::vector<HeadEvent> events = queue.Drain(limits::kEventQueueMax + 1);
  ASSERT_EQ(events.size(), limits::kEventQueueMax + 1);
  EXPECT_TRUE(std::holds_alternative<AttemptFinished>(events.front().event));
  EXPECT_TRUE(std::holds_alternative<ProgramChanged>(events.back().event)) << "in its turn";
  EXPECT_EQ(events.back().sweep, ExperimentId{7});
}

}  // namespace
}  // namespace tune
