#include "tuner/decide.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

DecideSession Make(std::string_view scheduler = R"({"asha": {"max_t": 20, "reduction_factor": 2}})",
                   Mode mode = Mode::kMax) {
  auto made = MakeScheduler(*ParseJson(scheduler), mode, 7);
  EXPECT_TRUE(made.ok()) << made.status().message();
  return DecideSession(*std::move(made), {"acc"});
}

// Of a sweep whose metric is this text, and whose reports must keep these constraints.
DecideSession MakeScored(const std::string& metric, const Value& constraints) {
  auto scheduler =
      MakeScheduler(*ParseJson(R"({"asha": {"max_t": 9, "reduction_factor": 2}})"), Mode::kMax, 7);
  EXPECT_TRUE(scheduler.ok()) << scheduler.status().message();
  auto scores = MetricScores::Make({Value(metric)}, constraints);
  EXPECT_TRUE(scores.ok()) << scores.status().message();
  return DecideSession(*std::move(scheduler), {metric, *std::move(scores)});
}

std::vector<std::string> Say(DecideSession& session, std::string_view line) {
  const auto answers = session.OnLine(line);
  EXPECT_TRUE(answers.ok()) << answers.status().message();
  return answers.ok() ? *answers : std::vector<std::string>();
}

std::string ErrorOf(DecideSession& session, std::string_view line) {
  const auto answers = session.OnLine(line);
  EXPECT_FALSE(answers.ok()) << line;
  EXPECT_EQ(answers.status().code(), StatusCode::kInvalidArgument);
  return answers.status().message();
}

TEST(Decide, AnswersEachReportWithItsDecisionAndWhatExplainsIt) {
  DecideSession session = Make();
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 1, "acc": 0.41, "loss": 3})"),
              ElementsAre(R"({"trial":"a","training_iteration":1,"decision":"continue","rung":1,)"
                          R"("cutoff":null,"rank":1,"count":1})"));
  EXPECT_THAT(Say(session, R"({"trial": "b", "training_iteration": 1, "acc": 0.35})"),
              ElementsAre(R"({"trial":"b","training_iteration":1,"decision":"stop","rung":1,)"
                          R"("cutoff":0.41,"rank":2,"count":2})"));
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 3, "acc": 0.41})"),
              ElementsAre(HasSubstr(R"("rung":2)")));
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 20, "acc": 1})"),
              ElementsAre(HasSubstr(R"("decision":"stop","rung":16)")));
}

TEST(Decide, GivesRaysVerdictsForTheVectorsOfOneRung) {
  DecideSession session = Make();
  std::string verdicts;
  int number = 0;
  for (const char* value : {".10", ".20", ".30", ".40", ".35", ".25", ".40", ".05"}) {
    const auto answers = Say(session, R"({"trial": )" + std::to_string(number++) +
                                          R"(, "training_iteration": 1, "acc": 0)" + value + "}");
    verdicts += answers.at(0).find("stop") == std::string::npos ? 'C' : 'S';
  }
  EXPECT_EQ(verdicts, "CCCCCSCS");
}

TEST(Decide, BetweenRungsTheFourLastAreNull) {
  DecideSession session = Make();
  Say(session, R"({"trial": "a", "training_iteration": 2, "acc": 0.4})");
  EXPECT_THAT(
      Say(session, R"({"trial": "a", "training_iteration": 3, "acc": 0.4})"),
      ElementsAre(R"({"trial":"a","training_iteration":3,"decision":"continue","rung":null,)"
                  R"("cutoff":null,"rank":null,"count":null})"));
}

TEST(Decide, ALineWithoutAFiniteValueIsTheWorstAndOneWithoutTheMetricIsNoIteration) {
  DecideSession session = Make();
  int number = 0;
  for (const char* line :
       {R"(, "acc": null})", R"(, "acc": NaN})", R"(, "acc": "NaN"})", R"(, "acc": Infinity})"}) {
    EXPECT_THAT(Say(session, R"({"trial": )" + std::to_string(number++) +
                                 R"(, "training_iteration": 1)" + line),
                ElementsAre(HasSubstr(R"("decision":"stop","rung":1,"cutoff":null)")));
  }
  EXPECT_THAT(Say(session, R"({"trial": "x", "training_iteration": 1, "loss": 3})"),
              ElementsAre(HasSubstr(R"("decision":"continue","rung":null)")));
  EXPECT_THAT(Say(session, R"({"trial": "x", "training_iteration": 2, "acc": 0.1})"),
              ElementsAre(HasSubstr(R"("rank":1,"count":1)")));
}

TEST(Decide, AMetricExpressionIsComputedFromItsParts) {
  DecideSession session = MakeScored("power * 0.5 + delay", Value());
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 1, "power": 4, "delay": 0.5})"),
              ElementsAre(HasSubstr(R"("decision":"continue","rung":1,"cutoff":null,"rank":1)")));
  EXPECT_THAT(Say(session, R"({"trial": "b", "training_iteration": 1, "power": 2, "delay": 1})"),
              ElementsAre(HasSubstr(R"("decision":"stop","rung":1,"cutoff":2.5,"rank":2)")));
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 2, "power": 4})"),
              ElementsAre(HasSubstr(R"("decision":"continue","rung":null)")));
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 9, "power": 4, "delay": 0.5})"),
              ElementsAre(HasSubstr(R"("decision":"stop")")));
  EXPECT_THAT(ErrorOf(session, R"({"trial": "c", "training_iteration": 1, "power": "high"})"),
              HasSubstr("power: read 'high', expected a number"));
}

TEST(Decide, AReportThatBreaksMetricConstraintsHasNoValue) {
  DecideSession session = MakeScored("acc", Value("ms <= 20"));
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 1, "acc": 0.9, "ms": 30})"),
              ElementsAre(HasSubstr(R"("decision":"stop","rung":1,"cutoff":null)")));
  EXPECT_THAT(Say(session, R"({"trial": "b", "training_iteration": 1, "acc": 0.1, "ms": 20})"),
              ElementsAre(HasSubstr(R"("decision":"continue","rung":1,"cutoff":null,"rank":1)")));
}

TEST(Decide, EventsGetNoAnswer) {
  DecideSession session = Make();
  EXPECT_THAT(Say(session, R"({"trial": "a", "event": "added"})"), IsEmpty());
  EXPECT_THAT(Say(session, R"({"trial": "a", "event": "completed"})"), IsEmpty());
  EXPECT_THAT(Say(session, R"({"trial": "b", "event": "failed"})"), IsEmpty());
  EXPECT_THAT(Say(session, "  "), IsEmpty());
}

TEST(Decide, AStoppedTrialMaySayItselfThatItEnded) {
  DecideSession session = Make();
  Say(session, R"({"trial": "a", "training_iteration": 20, "acc": 1})");
  EXPECT_THAT(Say(session, R"({"trial": "a", "event": "completed"})"), IsEmpty());
  EXPECT_EQ(ErrorOf(session, R"({"trial": "a", "event": "completed"})"),
            "line 3: the trial \"a\" is over");
}

TEST(Decide, ALineThatCannotBeUsedIsToldByItsNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"trial": "a")", "line 3: column 14: "},
      {"[1]", "line 3: read a list, expected an object"},
      {R"({"training_iteration": 3})", "line 3: 'trial' is missing"},
      {R"({"trial": 1.5, "training_iteration": 3})", "trial: read 1.5, expected a string"},
      {R"({"trial": "a"})", "line 3: 'training_iteration' is missing"},
      {R"({"trial": "a", "training_iteration": 0, "acc": 1})", "expected an integer of 1 or more"},
      {R"({"trial": "a", "training_iteration": 2.0, "acc": 1})", "read 2.0, expected an integer"},
      {R"({"trial": "a", "training_iteration": 2, "acc": 1})",
       "line 3: training_iteration: read 2, expected more than the last of the trial \"a\", 2"},
      {R"({"trial": "a", "training_iteration": 3, "acc": "high"})",
       "acc: read 'high', expected a number"},
      {R"({"trial": "a", "training_iteration": 3, "acc": true})",
       "acc: read true, expected a number"},
      {R"({"trial": "b", "training_iteration": 2, "acc": 1})",
       "a report of the trial \"b\" after its stop"},
      {R"({"trial": "a", "event": "complete"})", "did you mean 'completed'?"},
      {R"({"trial": "a", "event": "added"})", "the trial \"a\" was added before"},
      {R"({"trial": "a", "event": "failed", "acc": 1})",
       "a line with 'event' has only 'trial' beside it"},
  };
  for (const auto& [line, message] : cases) {
    DecideSession session = Make();
    Say(session, R"({"trial": "a", "training_iteration": 2, "acc": 0.5})");
    Say(session, R"({"trial": "b", "training_iteration": 20, "acc": 0.5})");
    EXPECT_THAT(ErrorOf(session, line), HasSubstr(message));
  }
}

// Pauses every trial at its first report, and resumes them all when one ends.
class PausingScheduler final : public TrialScheduler {
 public:
  void OnTrialAdded(TrialNumber) override {}
  Decision OnReport(TrialNumber trial, int64_t iteration, Metric) override {
    if (iteration > 1) return Decision{};
    paused_.push_back(trial);
    return Decision{Verdict::kPause, StopCause::kNone, 1, {}, 1, 1};
  }
  void OnTrialEnded(TrialNumber, bool) override {
    for (const TrialNumber trial : std::exchange(paused_, {})) {
      orders_.push_back({Order::Kind::kResume, trial});
    }
  }
  void OnNoMoreTrials() override {}
  std::vector<Order> TakeOrders() override { return std::exchange(orders_, {}); }
  std::vector<RungView> Rungs() const override { return {}; }
  std::string name() const override { return "pausing"; }
  std::string DebugString() const override { return "pausing"; }

 private:
  std::vector<TrialNumber> paused_;
  std::vector<Order> orders_;
};

TEST(Decide, ResumedTrialsAreToldDirectlyAfterTheLineThatEarnedIt) {
  DecideSession session(std::make_unique<PausingScheduler>(), {"acc"});
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 1, "acc": 1})"),
              ElementsAre(HasSubstr(R"("decision":"pause")")));
  Say(session, R"({"trial": 2, "training_iteration": 1, "acc": 1})");
  EXPECT_THAT(
      Say(session, R"({"trial": "c", "event": "completed"})"),
      ElementsAre(R"({"trial":"a","decision":"resume"})", R"({"trial":2,"decision":"resume"})"));
  EXPECT_THAT(Say(session, R"({"trial": "a", "training_iteration": 2, "acc": 1})"),
              ElementsAre(HasSubstr("continue")));
}

TEST(Decide, PlaysAPromotingSweep) {
  DecideSession session =
      Make(R"({"asha": {"variant": "promote", "max_t": 4, "reduction_factor": 2}})");
  const auto report = [&](const char* trial, int t, const char* acc) {
    return Say(session, std::string(R"({"trial": ")") + trial + R"(", "training_iteration": )" +
                            std::to_string(t) + R"(, "acc": )" + acc + "}");
  };
  EXPECT_THAT(report("a", 1, "0.5"),
              ElementsAre(R"({"trial":"a","training_iteration":1,"decision":"pause","rung":1,)"
                          R"("cutoff":null,"rank":1,"count":1})"));
  EXPECT_THAT(report("b", 1, "0.3"),
              ElementsAre(R"({"trial":"b","training_iteration":1,"decision":"pause","rung":1,)"
                          R"("cutoff":0.5,"rank":2,"count":2})",
                          R"({"trial":"a","decision":"resume"})"));
  EXPECT_THAT(report("c", 1, "0.6"), ElementsAre(HasSubstr(R"("decision":"pause")"),
                                                 R"({"trial":"c","decision":"resume"})"));
  EXPECT_THAT(report("c", 4, "0.6"), ElementsAre(HasSubstr(R"("decision":"stop","rung":4)")));
  // A failed trial counts as the worst of the rung that it was on its way to.
  Say(session, R"({"trial": "d", "event": "added"})");
  EXPECT_THAT(Say(session, R"({"trial": "d", "event": "failed"})"), IsEmpty());
  EXPECT_THAT(ErrorOf(session, R"({"trial": "b", "training_iteration": 2, "acc": 1})"),
              HasSubstr("which is paused"));
}

TEST(Decide, AStopOrderSaysWhy) {
  DecideSession session =
      Make(R"({"asha": {"variant": "promote", "reduction_factor": 2, "paused_max": 1}})");
  Say(session, R"({"trial": "a", "training_iteration": 1, "acc": 0.5})");
  Say(session, R"({"trial": "b", "training_iteration": 1, "acc": 0.4})");
  EXPECT_THAT(Say(session, R"({"trial": "c", "training_iteration": 1, "acc": 0.3})"),
              ElementsAre(HasSubstr("pause"), R"({"trial":"c","decision":"stop","rung":1,)"
                                              R"("cutoff":0.5,"rank":3,"count":3})"));
  EXPECT_THAT(ErrorOf(session, R"({"trial": "c", "training_iteration": 2, "acc": 1})"),
              HasSubstr("after its stop"));
}

TEST(Decide, AReportOfAPausedTrialCannotBeUsed) {
  DecideSession session(std::make_unique<PausingScheduler>(), {"acc"});
  Say(session, R"({"trial": "a", "training_iteration": 1, "acc": 1})");
  EXPECT_THAT(ErrorOf(session, R"({"trial": "a", "training_iteration": 2, "acc": 1})"),
              HasSubstr("which is paused"));
}

}  // namespace
}  // namespace tune
