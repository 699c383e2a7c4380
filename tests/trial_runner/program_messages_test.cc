// What a program and its runner say to each other, line by line.
#include "trial_runner/command/program_messages.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "core/limits.h"
#include "core/random.h"
#include "trial_runner/command/runner_socket.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;
using ::testing::StartsWith;

std::string WithoutEnd(std::string line) {
  EXPECT_EQ(line.find('\n'), line.size() - 1) << line;
  line.pop_back();
  return line;
}
std::string ErrorOf(std::string_view line) { return ParseProgramReport(line).status().message(); }
std::string ErrorOfMap(const std::string& map) { return ErrorOf(R"({"report":)" + map + "}"); }

TEST(ProgramMessages, ARequestForTheNextTrialIsNoReport) {
  const auto next = ParseNextRequest(R"({"protocol": 1, "next": true})");
  ASSERT_TRUE(next);
  EXPECT_EQ(next->note, "");
  EXPECT_EQ(ParseNextRequest(R"({"next": true, "note": "a: b"})")->note, "a: b");
  for (const char* const other : {R"({"next": false})", R"({"next": true, "report": {}})",
                                  R"({"report": {"next": true}})", "next", ""}) {
    EXPECT_FALSE(ParseNextRequest(other)) << other;
  }
  EXPECT_EQ(EncodeNextTrial({{"TUNE_TRIAL", "4"}, {"TUNE_DIR", "/a \"b\""}}),
            R"({"trial":{"TUNE_DIR":"/a \"b\"","TUNE_TRIAL":"4"}})"
            "\n");
}

TEST(ProgramMessages, AReportComesBackAsItWasWritten) {
  ProgramReport report;
  report.metrics = {{"loss", 0.1}, {"up", std::numeric_limits<double>::infinity()}, {"n", 3}};
  report.iteration = 12;
  report.checkpoint = "/home/me/a \"b\".pt";
  const Result<ProgramReport> read = ParseProgramReport(WithoutEnd(EncodeProgramReport(report)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->metrics, report.metrics);
  EXPECT_EQ(read->iteration, 12);
  EXPECT_EQ(read->checkpoint, report.checkpoint);

  report = {{{"loss", std::nan("")}}, std::nullopt, ""};
  const Result<ProgramReport> bare = ParseProgramReport(WithoutEnd(EncodeProgramReport(report)));
  ASSERT_TRUE(bare.ok()) << bare.status().message();
  EXPECT_TRUE(std::isnan(bare->metrics[0].second));
  EXPECT_EQ(bare->iteration, std::nullopt);
  EXPECT_EQ(bare->checkpoint, "");
}

// Python's json module writes bare words for what is no number, and null for None.
TEST(ProgramMessages, ReadsWhatPythonWrites) {
  const Result<ProgramReport> read = ParseProgramReport(
      R"({"protocol": 1, "report": {"metrics": {"a": NaN, "b": -Infinity, "c": "NaN"},)"
      R"( "iteration": null, "checkpoint": null, "of_a_later_module": 1}})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_TRUE(std::isnan(read->metrics[0].second));
  EXPECT_EQ(read->metrics[1].second, -std::numeric_limits<double>::infinity());
  EXPECT_TRUE(std::isnan(read->metrics[2].second));
}

TEST(ProgramMessages, RefusesAReportThatIsNone) {
  EXPECT_THAT(ErrorOf("hello"), StartsWith("the message is not JSON: "));
  EXPECT_THAT(ErrorOf(""), StartsWith("the message is not JSON: "));
  EXPECT_EQ(ErrorOf("[1]"), "the message is no map");
  EXPECT_EQ(ErrorOf("{}"), "expected a report");
  EXPECT_EQ(ErrorOf(R"({"report":3})"), "expected a report");
  EXPECT_EQ(ErrorOf("{\"report\": {\"metrics\": {\"\xff\": 1}}}"), "the message is not UTF-8");
}

TEST(ProgramMessages, RefusesMetricsThatAreNone) {
  EXPECT_EQ(ErrorOfMap("{}"), "metrics: expected names and numbers");
  EXPECT_EQ(ErrorOfMap(R"({"metrics":[1]})"), "metrics: expected names and numbers");
  EXPECT_EQ(ErrorOfMap(R"({"metrics":{}})"), "metrics: none is there, expected at least one");
  EXPECT_EQ(ErrorOfMap(R"({"metrics":{"loss":"low"}})"), "loss: read 'low', expected a number");
  EXPECT_EQ(ErrorOfMap(R"({"metrics":{"loss":null}})"), "loss: read null, expected a number");
  EXPECT_EQ(ErrorOfMap(R"({"metrics":{"loss":true}})"), "loss: read true, expected a number");
  EXPECT_THAT(ErrorOfMap(R"({"metrics":{"":1}})"), HasSubstr("a name must have 1 to"));
  EXPECT_THAT(
      ErrorOfMap(R"({"metrics":{")" + std::string(limits::kNameBytesMax + 1, 'a') + R"(":1}})"),
      HasSubstr("a name must have 1 to"));
}

TEST(ProgramMessages, TakesAsManyMetricsAsTheLimitAndNoMore) {
  const auto map = [](int64_t count) {
    std::string text;
    for (int64_t i = 0; i < count; ++i) {
      text += (i == 0 ? "" : ",") + ("\"m" + std::to_string(i)) + "\":1";
    }
    return R"({"metrics":{)" + text + "}}";
  };
  EXPECT_EQ(ErrorOfMap(map(limits::kMetricsPerReportMax)), "");
  EXPECT_THAT(ErrorOfMap(map(limits::kMetricsPerReportMax + 1)), HasSubstr("expected at most"));
}

TEST(ProgramMessages, RefusesAnIterationThatIsNone) {
  for (const char* const text : {"0", "-1", "1.0", "\"2\"", "true", "9223372036854775807"}) {
    EXPECT_THAT(ErrorOfMap(R"({"metrics":{"a":1},"iteration":)" + std::string(text) + "}"),
                HasSubstr("training_iteration: read "))
        << text;
  }
  EXPECT_EQ(
      ErrorOfMap(R"({"metrics":{"a":1},"iteration":)" + std::to_string(kProgramIterationMax) + "}"),
      "");
}

TEST(ProgramMessages, RefusesACheckpointThatIsNoAbsolutePath) {
  for (const std::string text :
       {"\"model.pt\"", "\"\"", "3", "[]", "\"/a\\u0000b\"", "\"~/model.pt\""}) {
    EXPECT_THAT(ErrorOfMap(R"({"metrics":{"a":1},"checkpoint":)" + text + "}"),
                HasSubstr("expected an absolute path"))
        << text;
  }
  const std::string longest = "/" + std::string(limits::kPathBytesMax - 1, 'a');
  const auto with = [](const std::string& path) {
    return R"({"metrics":{"a":1},"checkpoint":")" + path + "\"}";
  };
  EXPECT_EQ(ErrorOfMap(with(longest)), "");
  EXPECT_THAT(ErrorOfMap(with(longest + "a")), HasSubstr("expected an absolute path"));
}

TEST(ProgramMessages, AModuleThatIsNewerThanThisTuneIsTold) {
  const std::string report = R"(,"report":{"metrics":{"a":1}}})";
  EXPECT_TRUE(ParseProgramReport(R"({"protocol":1)" + report).ok());
  EXPECT_THAT(ErrorOf(R"({"protocol":2)" + report),
              HasSubstr("version 2 of the protocol, this tune knows 1"));
  EXPECT_THAT(ErrorOf(R"({"protocol":"x")" + report), HasSubstr("of the protocol"));
}

TEST(ProgramMessages, AnAnswerComesBackAsItWasWritten) {
  for (const bool stops : {false, true}) {
    const Result<ProgramAnswer> read =
        ParseProgramAnswer(WithoutEnd(EncodeProgramAnswer({stops, 41})));
    ASSERT_TRUE(read.ok()) << read.status().message();
    EXPECT_EQ(read->stops, stops);
    EXPECT_EQ(read->iteration, 41);
  }
}

TEST(ProgramMessages, AnErrorComesBackAsOneLineWhateverItHolds) {
  const Result<ProgramAnswer> read =
      ParseProgramAnswer(WithoutEnd(EncodeProgramError("no \"x\"\n here \xff")));
  EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
  EXPECT_EQ(read.status().message(), "no \"x\"\n here ?");
}

TEST(ProgramMessages, RefusesAnAnswerThatIsNone) {
  for (const char* const line :
       {"", "x", "[]", "{}", R"({"answer":"continue"})", R"({"answer":"go","iteration":1})",
        R"({"answer":1,"iteration":1})", R"({"answer":"stop","iteration":"1"})",
        R"({"error":1})"}) {
    EXPECT_FALSE(ParseProgramAnswer(line).ok()) << line;
  }
}

TEST(ProgramMessages, DamagedLinesAreRefusedOrReadAsOthersButNeverHarm) {
  std::string good =
      EncodeProgramReport({{{"loss", 0.5}, {"far", -1e300}}, 12, "/home/me/model.pt"});
  good.pop_back();
  KeyedRandom random(2, "program messages");
  int refused_count = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string line = good;
    const uint64_t change_count = 1 + random.NextBelow(3);
    for (uint64_t i = 0; i < change_count; ++i) {
      const size_t at = random.NextBelow(line.size());
      switch (random.NextBelow(3)) {
        case 0:
          line[at] = static_cast<char>(random.NextBelow(256));
          break;
        case 1:
          line.erase(at, 1 + random.NextBelow(8));
          break;
        default:
          line.insert(at, 1, "{}[]\",:0-9.e\\u"[random.NextBelow(14)]);
      }
    }
    (void)ParseProgramAnswer(line).ok();
    const Result<ProgramReport> report = ParseProgramReport(line);
    if (!report.ok()) {
      ++refused_count;
      continue;
    }
    // What was understood can be written and read again.
    const auto again = ParseProgramReport(WithoutEnd(EncodeProgramReport(*report)));
    ASSERT_TRUE(again.ok()) << line;
    EXPECT_EQ(again->metrics.size(), report->metrics.size()) << line;
    EXPECT_EQ(again->iteration, report->iteration) << line;
    EXPECT_EQ(again->checkpoint, report->checkpoint) << line;
  }
  EXPECT_GT(refused_count, 10'000);
}

TEST(RunnerAddress, TakesPathsAndAbstractNames) {
  const std::string abstract = "@tune-1";
  const Result<RunnerAddress> one = RunnerAddress::Of(abstract);
  ASSERT_TRUE(one.ok());
  EXPECT_EQ(reinterpret_cast<const sockaddr_un*>(one->get())->sun_path[0], '\0');
  EXPECT_EQ(one->length(), offsetof(sockaddr_un, sun_path) + abstract.size());
  EXPECT_TRUE(RunnerAddress::Of("/run/x.sock").ok());
  EXPECT_FALSE(RunnerAddress::Of("").ok());
  EXPECT_TRUE(RunnerAddress::Of(std::string(107, 'a')).ok());
  EXPECT_FALSE(RunnerAddress::Of(std::string(108, 'a')).ok());
  EXPECT_EQ(ConnectToRunner("@tune-nobody-is-here").status().code(), StatusCode::kUnavailable);
}

}  // namespace
}  // namespace tune
