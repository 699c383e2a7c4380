// What workers say in vain: answered at once, and kept out of the journal.
#include "tuner/effectless.h"

#include <gtest/gtest.h>

#include <vector>

#include "tests/tuner/controller_world.h"

namespace tune {
namespace {

using testing::ControllerWorld;

constexpr TrialNumber kFirst{0};

class Effectless : public ::testing::Test {
 protected:
  Effectless() : world_(ControllerWorld::MakeSpec(4)), worker_(world_.JoinConnected(1, "9f3c")) {}

  ReportArrived Report(int64_t sequence, int64_t epoch_offset = 0) {
    tune::Report report;
    report.iteration = sequence;
    report.metrics = {{"value", 0.5}};
    AttemptRef ref = world_.Running(worker_).at(kFirst).start.ref;
    ref.epoch.value += epoch_offset;
    return {worker_, {ref, sequence, report}};
  }
  EffectlessEvents::Taken Take(std::vector<Event>& events) {
    std::vector<HeadEvent> all;
    for (const Event& event : events) all.push_back({event});
    auto taken = effectless_.TakeFrom(all, world_.controller().head());
    events.clear();
    for (const HeadEvent& event : all) events.push_back(event.event);
    return taken;
  }

  ControllerWorld world_;
  WorkerId worker_;
  EffectlessEvents effectless_;
};

TEST_F(Effectless, AReportUnderALeaseThatIsOverIsRefusedAndNotKept) {
  std::vector<Event> events = {Report(1), Report(1, 100), Report(1, -1)};
  const auto taken = Take(events);
  EXPECT_EQ(events.size(), 1u) << "the lease that is alive";
  ASSERT_EQ(taken.answers.size(), 2u);
  for (const auto& [worker, message] : taken.answers) {
    EXPECT_EQ(worker, worker_);
    EXPECT_EQ(std::get<AnswerReport>(message).answer, ReportAnswer::kRefused);
  }
}

TEST_F(Effectless, AReportThatComesAgainGetsItsAnswerAgain) {
  world_.Apply({Report(1)});
  std::vector<Event> events = {Report(1), Report(2)};
  const auto taken = Take(events);
  EXPECT_EQ(events.size(), 1u);
  ASSERT_EQ(taken.answers.size(), 1u);
  EXPECT_EQ(std::get<AnswerReport>(taken.answers[0].second).answer, ReportAnswer::kContinue);
}

TEST_F(Effectless, WhatALeaseThatBeginsInTheSameBatchSaysIsHeard) {
  const WorkerId back{99};
  std::vector<Event> events = {
      AttemptFinished{worker_, {Report(1).message.ref, Outcome::kCrashed, ""}}, Report(1, 1)};
  EXPECT_TRUE(Take(events).answers.empty());
  EXPECT_EQ(events.size(), 2u);
  // Of a connection that is not known yet nothing can be said.
  ReportArrived stranger = Report(1);
  stranger.worker = back;
  events = {stranger};
  EXPECT_TRUE(Take(events).answers.empty());
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(Effectless, DevicesThatAreNotThereAndMemoryOfTheDeadAreDropped) {
  AttemptRef dead = Report(1).message.ref;
  dead.epoch.value += 7;
  std::vector<Event> events = {DeviceFellAway{worker_, {3, "gone"}},
                               DeviceMemorySeen{worker_, {dead, 5}},
                               DeviceMemorySeen{worker_, {Report(1).message.ref, 5}}};
  Take(events);
  EXPECT_EQ(events.size(), 1u);
}

TEST_F(Effectless, AWorkerThatSendsEndsWithoutEndIsDisconnected) {
  AttemptRef dead = Report(1).message.ref;
  dead.epoch.value += 7;
  std::vector<WorkerId> expelled;
  int64_t kept = 0;
  for (int64_t sent = 0; sent < EffectlessEvents::kStrayEndsMax + 3'000; sent += 1'000) {
    std::vector<Event> events(1'000, AttemptFinished{worker_, {dead, Outcome::kCrashed, ""}});
    for (const WorkerId worker : Take(events).expelled) expelled.push_back(worker);
    kept += static_cast<int64_t>(events.size());
  }
  EXPECT_EQ(kept, EffectlessEvents::kStrayEndsMax);
  EXPECT_EQ(expelled, std::vector<WorkerId>{worker_});
}

}  // namespace
}  // namespace tune
