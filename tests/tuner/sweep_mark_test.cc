#include "tuner/sweep_mark.h"

#include <gtest/gtest.h>

namespace tune {
namespace {

constexpr ExperimentId kSweep{7}, kOther{8};

AttemptRef RefOf(ExperimentId sweep) {
  return {TrialNumber{3}, AttemptNumber{1}, LeaseEpoch{5}, sweep};
}

TEST(SweepMark, IsPutOnAllThatGoesOutAndNamesAnAttemptOrASweep) {
  StartAttempt start;
  start.ref = RefOf({});
  SweepInfo info;
  ToWorker messages[] = {Welcome{WorkerId{1}, 1, 1, {info}}, info, start,
                         AnswerReport{RefOf({}), 1, ReportAnswer::kStop},
                         KillAttempt{RefOf({}), true}};
  for (ToWorker& message : messages) MarkSweep(kSweep, message);
  EXPECT_EQ(std::get<Welcome>(messages[0]).sweeps[0].sweep, kSweep);
  EXPECT_EQ(std::get<SweepInfo>(messages[1]).sweep, kSweep);
  EXPECT_EQ(std::get<StartAttempt>(messages[2]).ref, RefOf(kSweep));
  EXPECT_EQ(std::get<AnswerReport>(messages[3]).ref, RefOf(kSweep));
  EXPECT_EQ(std::get<KillAttempt>(messages[4]).ref, RefOf(kSweep));
}

TEST(SweepMark, IsTakenOffWhatIsOfTheSweepAndStaysOnWhatIsOfAnother) {
  for (const ExperimentId sweep : {kSweep, kOther}) {
    WorkerJoined joined;
    joined.held = {{RefOf(sweep), 1000, {}}};
    Event events[] = {joined, ReportArrived{WorkerId{1}, {RefOf(sweep), 1, {}}},
                      AttemptFinished{WorkerId{1}, {RefOf(sweep), Outcome::kCompleted, ""}},
                      DeviceMemorySeen{WorkerId{1}, {RefOf(sweep), 100}}};
    for (Event& event : events) UnmarkSweep(kSweep, event);
    const AttemptRef expected = RefOf(sweep == kSweep ? ExperimentId{} : kOther);
    EXPECT_EQ(std::get<WorkerJoined>(events[0]).held[0].ref, expected);
    EXPECT_EQ(std::get<ReportArrived>(events[1]).message.ref, expected);
    EXPECT_EQ(std::get<AttemptFinished>(events[2]).message.ref, expected);
    EXPECT_EQ(std::get<DeviceMemorySeen>(events[3]).message.ref, expected);
    // Nobody has it: the worker is told to end what it named.
    ToWorker kill = KillAttempt{std::get<WorkerJoined>(events[0]).held[0].ref, true};
    MarkSweep(kSweep, kill);
    EXPECT_EQ(std::get<KillAttempt>(kill).ref, RefOf(sweep));
  }
}

}  // namespace
}  // namespace tune
