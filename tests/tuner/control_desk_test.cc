// What a head answers over its control socket, by real requests to its desk.
#include "tuner/cli/run/control_desk.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>

#include "core/json.h"
#include "core/posix/real_clock.h"
#include "tests/tuner/head_sweeps_world.h"
#include "tuner/cli/look/living_state.h"
#include "tuner/control/control_client.h"

namespace tune {
namespace {

using ::testing::ElementsAre;

class ControlDeskTest : public HeadSweepsTest {
 protected:
  // While a thread of its own does `ask`.
  void ServeWhile(const std::function<void(const Clock&)>& ask) {
    ControlDesk desk(artifacts_dir_, {life_->controller, life_->tuner, life_->queue, clock_,
                                      *life_->doors, *life_->store, &sweeps()});
    EXPECT_TRUE(desk.status().ok()) << desk.status().message();
    std::atomic<bool> is_answered = false;
    std::jthread asks([&] {
      const RealClock clock;
      ask(clock);
      is_answered = true;
    });
    while (!is_answered) EXPECT_TRUE(desk.Serve().ok());
  }
  ControlAnswer AskDesk(ControlVerb verb) {
    ControlRequest request;
    request.verb = verb;
    request.tuner = getpid();
    request.sweep = "all";
    ControlAnswer told{Internal("nothing was answered"), {}};
    ServeWhile([&](const Clock& clock) {
      auto answer = AskTuner(artifacts_dir_, request, clock, Seconds(60));
      if (answer.ok()) told = *std::move(answer);
    });
    return told;
  }
};

TEST_F(ControlDeskTest, AQueueThatIsTooLongForOneAnswerSaysHowManySweepsAreLeftOut) {
  constexpr int kFirst = 20;
  constexpr int kFollowing = 250;
  std::string after;  // Long words about why each of the others waits.
  for (int i = 0; i < kFirst; ++i) {
    const std::string name = std::string(150, 'a') + std::to_string(i);
    Submit(name);
    after += (after.empty() ? "\"" : ", \"") + name + "\"";
  }
  std::string spec = kHeadSweepSpec;
  spec.insert(spec.rfind('}'), ", \"after\": [" + after + "]");
  for (int i = 0; i < kFollowing; ++i) Submit("b" + std::to_string(i), spec);
  LookAfter({});
  const ControlAnswer answer = AskDesk(ControlVerb::kQueue);
  ASSERT_TRUE(answer.status.ok()) << answer.status.message();
  EXPECT_GT(answer.left_out, 0);
  EXPECT_EQ(static_cast<int64_t>(answer.lines.size()) + answer.left_out, kFirst + kFollowing);
  EXPECT_TRUE(ParseJson(answer.lines.back()).ok());
}

TEST_F(ControlDeskTest, OneAnswerTellsWhichSweepsArePausedAndWhyTheOthersWait) {
  for (const char* const name : {"a", "b", "c"}) Submit(name);
  Take("b", PauseRequested{std::nullopt, true});
  const ControlAnswer answer = AskDesk(ControlVerb::kStates);
  ASSERT_TRUE(answer.status.ok()) << answer.status.message();
  EXPECT_THAT(answer.lines,
              ElementsAre(R"({"is_paused":true,"why":"","sweeps":[2]})",
                          R"({"is_paused":false,"why":"it needs cpu: 1, and no worker is there",)"
                          R"("sweeps":[1,3]})"));
  LivingStates states;
  FoundSweep sweep;
  sweep.id = Find("b").value;
  sweep.status = kStateRunning;
  ServeWhile([&](const Clock& clock) { states = LivingStates::Ask(db_path_, {sweep}, clock); });
  EXPECT_TRUE(states.status().ok()) << states.status().message();
  states.TellPaused(sweep);
  EXPECT_EQ(sweep.status, kStatePaused);
  sweep.id = Find("c").value;
  sweep.status = kStateRunning;
  states.TellPaused(sweep);
  EXPECT_EQ(sweep.status, kStateRunning);
  EXPECT_EQ(states.WhyItWaits(sweep), "it needs cpu: 1, and no worker is there");
}

TEST_F(ControlDeskTest, StatesThatATunerDoesNotTellAreNotTakenForKnown) {
  Submit("a");
  FoundSweep sweep;
  sweep.status = kStateRunning;
  const auto status = [&] {
    return LivingStates::Ask(db_path_, {sweep}, RealClock(), Milliseconds(1)).status().code();
  };
  EXPECT_EQ(status(), StatusCode::kUnavailable) << "nobody serves the socket";
  sweep.status = "FINISHED";
  EXPECT_EQ(status(), StatusCode::kOk) << "there is nothing to ask for";
}

}  // namespace
}  // namespace tune
