#include "tuner/ask_tell.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/json.h"
#include "core/limits.h"

namespace tune {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

AskTellSession Make(std::string_view search, std::string_view space) {
  const auto parsed = SearchSpace::Parse(*ParseJson(space));
  EXPECT_TRUE(parsed.ok()) << parsed.status().message();
  auto made = MakeSearcher(*ParseJson(search), {.space = *parsed, .samples = 1, .seed = 7});
  EXPECT_TRUE(made.ok()) << made.status().message();
  return AskTellSession(*std::move(made), {{"loss", Mode::kMin}});
}

AskTellSession MakeGrid() {
  return Make(R"({"algorithm": "grid"})",
              R"({"net": {"depth": {"choice": [2, 4, 8]}}, "lr": 0.1})");
}

std::vector<std::string> Say(AskTellSession& session, std::string_view line) {
  const auto answers = session.OnLine(line);
  EXPECT_TRUE(answers.ok()) << answers.status().message();
  return answers.ok() ? *answers : std::vector<std::string>();
}

TEST(AskTell, ASearchThatWeighsWhatTrialsCostIsRefusedSinceNobodyTellsOfIt) {
  EXPECT_THAT(RefuseDurations(*ParseJson(R"({"algorithm": "gp", "per": "seconds"})")).message(),
              HasSubstr("search.per: read seconds, expected trial"));
  for (const char* const search : {"null", R"({"algorithm": "gp", "per": "trial"})"}) {
    EXPECT_TRUE(RefuseDurations(*ParseJson(search)).ok()) << search;
  }
}

TEST(AskTell, AnswersWithConfigurationsAndDoneWhenThereAreNoMore) {
  AskTellSession session = MakeGrid();
  EXPECT_THAT(Say(session, R"({"ask": 2})"),
              ElementsAre(R"({"trial":0,"config":{"net":{"depth":2},"lr":0.1}})",
                          R"({"trial":1,"config":{"net":{"depth":4},"lr":0.1}})"));
  EXPECT_THAT(
      Say(session, R"({"ask": 5})"),
      ElementsAre(R"({"trial":2,"config":{"net":{"depth":8},"lr":0.1}})", R"({"done":true})"));
  EXPECT_THAT(Say(session, R"({"ask": 1})"), ElementsAre(R"({"done":true})"));
}

TEST(AskTell, SamplesDoNotBoundWhoAsks) {
  AskTellSession session = Make("null", R"({"x": {"uniform": [0, 1]}})");
  EXPECT_EQ(Say(session, R"({"ask": 100})").size(), 100u);
}

TEST(AskTell, EveryFormOfTellingIsTaken) {
  AskTellSession session = MakeGrid();
  Say(session, R"({"ask": 3})");
  const auto ok = ElementsAre(R"({"ok":true})");
  EXPECT_THAT(Say(session, R"({"tell": {"trial": 0, "iteration": 3, "value": 0.31}})"), ok);
  EXPECT_THAT(Say(session, R"({"tell": {"trial": 0, "iteration": 4, "value": null}})"), ok);
  EXPECT_THAT(Say(session, R"({"tell": {"trial": 0, "value": 0.31}})"), ok);
  EXPECT_THAT(Say(session, R"({"tell": {"trial": 1, "failed": true}})"), ok);
  EXPECT_THAT(Say(session, R"({"tell": {"trial": 2, "iteration": 1, "value": 1e-400}})"), ok);
  EXPECT_THAT(
      Say(session, R"({"tell": {"trial": 2, "iteration": 2, "value": 100000000000000000000}})"),
      ok);
  EXPECT_THAT(Say(session, R"({"tell": {"trial": 2, "value": NaN}})"), ok);
  EXPECT_THAT(Say(session, ""), IsEmpty());
}

TEST(AskTell, TheBestOfWhatWasToldIsAnsweredWithItsConfiguration) {
  AskTellSession session = MakeGrid();
  EXPECT_THAT(Say(session, R"({"best": true})"), ElementsAre(R"({"trial":null})"));
  Say(session, R"({"ask": 3})");
  Say(session, R"({"tell": {"trial": 0, "iteration": 2, "value": 0.1}})");
  Say(session, R"({"tell": {"trial": 0, "failed": true}})");
  Say(session, R"({"tell": {"trial": 2, "value": NaN}})");
  EXPECT_THAT(Say(session, R"({"best": true})"), ElementsAre(R"({"trial":null})"));
  Say(session, R"({"tell": {"trial": 1, "iteration": 4, "value": 0.25}})");
  Say(session, R"({"tell": {"trial": 1, "value": 0.5}})");
  EXPECT_THAT(
      Say(session, R"({"best": true})"),
      ElementsAre(
          R"({"trial":1,"config":{"net":{"depth":4},"lr":0.1},"value":0.25,"iteration":4})"));
  EXPECT_EQ(session.OnLine(R"({"best": 1})").status().message(),
            "line 10: best: read 1, expected true");
}

TEST(AskTell, WithoutLimitsAMetricNamedViolationDecidesNothing) {
  AskTellSession session = MakeGrid();
  session.KeepSteps();
  Say(session, R"({"ask": 1})");
  const std::string metrics = R"("metrics": {"infeasible": 1, "violation": )";
  Say(session, R"({"tell": {"trial": 0, "iteration": 1, "value": 0.5, )" + metrics + "0}}}");
  Say(session, R"({"tell": {"trial": 0, "iteration": 2, "value": 0.25, )" + metrics + "0.1}}}");
  EXPECT_THAT(Say(session, R"({"best": true})"),
              ElementsAre(HasSubstr(R"("value":0.25,"iteration":2)")));
  const std::vector<ReportRow> reports = session.TakeStep().rows.reports;
  ASSERT_EQ(reports.size(), 2u);
  EXPECT_EQ(FindMetric(reports[1].metrics, "violation"), 0.1);
  EXPECT_EQ(FindMetric(reports[1].metrics, "reported_infeasible"), 1);
}

TEST(AskTell, ALineThatCannotBeUsedIsToldByItsNumber) {
  const std::pair<const char*, const char*> cases[] = {
      {R"({"ask": 0})", "line 3: ask: read 0, expected an integer of 1 or more"},
      {R"({"ask": 100001})", "expected at most 100000 at once"},
      {R"({"ask": 1, "tell": {}})", "line 3: expected one key"},
      {R"({"aks": 1})", "unknown key 'aks'; did you mean 'ask'?"},
      {R"({"tell": 3})", "tell: read 3, expected an object"},
      {R"({"tell": {"trial": 5, "value": 1}})", "the trial 5 was never asked for"},
      {R"({"tell": {"trial": 0, "value": 1}})", "the trial 0 is over"},
      {R"({"tell": {"trial": 1}})", "expected either 'value'"},
      {R"({"tell": {"trial": 1, "value": 1, "failed": true}})", "expected either 'value'"},
      {R"({"tell": {"trial": 1, "failed": false}})", "failed: read false, expected true"},
      {R"({"tell": {"trial": 1, "failed": true, "iteration": 1}})", "cannot stand beside 'failed'"},
      {R"({"tell": {"trial": 1, "valeu": 1}})", "unknown key 'valeu'; did you mean 'value'?"},
      {R"({"tell": {"trial": 1, "value": "x"}})", "value: read 'x', expected a number or null"},
      {R"({"tell": {"trial": 1, "iteration": 0, "value": 1}})", "iteration: read 0"},
      {"ask", "line 3: column 1: "},
  };
  for (const auto& [line, message] : cases) {
    AskTellSession session = MakeGrid();
    Say(session, R"({"ask": 3})");
    Say(session, R"({"tell": {"trial": 0, "value": 1}})");
    const auto answers = session.OnLine(line);
    EXPECT_FALSE(answers.ok()) << line;
    EXPECT_THAT(answers.status().message(), HasSubstr(message));
  }
}

TEST(AskTell, AnErrorIsOneLineWhateverTheKeysHold) {
  AskTellSession session = MakeGrid();
  const std::string message =
      session.OnLine(R"({"tell": {"trial": 0, "iterati\n\u001b[2J": 1, "value": 0.5}})")
          .status()
          .message();
  EXPECT_NE(message.find("iterati  [2J"), std::string::npos) << message;
}

TEST(AskTell, IterationsOfATrialRise) {
  AskTellSession session = MakeGrid();
  Say(session, R"({"ask": 1})");
  Say(session, R"({"tell": {"trial": 0, "iteration": 3, "value": 0.3}})");
  EXPECT_FALSE(session.OnLine(R"({"tell": {"trial": 0, "iteration": 3, "value": 0.3}})").ok());
}

}  // namespace
}  // namespace tune
