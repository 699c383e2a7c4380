#include "trial_runner/worker/trial_protocol.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "core/json.h"
#include "core/random.h"
#include "core/utf8.h"
#include "tests/trial_runner/message_samples.h"

namespace tune {
namespace {

std::string WithoutNewline(std::string line) {
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  line.pop_back();
  return line;
}

TEST(TrialProtocol, BringsBackAStart) {
  SweepInfo sweep = SampleSweep();
  sweep.experiment = "a \"quoted\"\nname";
  const DeviceEnvironment devices = {{"CUDA_VISIBLE_DEVICES", "GPU-1b2c"}, {"A", "\"b\""}};
  const auto read = ParseToTrial(WithoutNewline(EncodeStart(sweep, SampleStart(), devices)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto& start = std::get<TrialStart>(*read);
  EXPECT_EQ(start.experiment, sweep.experiment);
  EXPECT_EQ(start.metric, "loss");
  EXPECT_EQ(start.more_metrics, std::vector<std::string>{"size"});
  EXPECT_EQ(start.mode, Mode::kMin);
  EXPECT_EQ(start.constrained, std::vector<std::string>{"area"});
  EXPECT_EQ(start.own_paths, std::vector<std::string>{"weights"});
  EXPECT_EQ(start.sweep_seed, ~0ull);
  EXPECT_EQ(start.seed, SampleStart().seed);
  EXPECT_EQ(start.base_dir, "/spaces");
  EXPECT_EQ(ToJson(start.trainable), sweep.trainable);
  EXPECT_EQ(start.trial, TrialNumber{0});
  EXPECT_EQ(start.attempt, AttemptNumber{1});
  EXPECT_EQ(ToJson(start.config), SampleStart().config);
  EXPECT_EQ(start.from_iteration, 8);
  EXPECT_EQ(start.checkpoint_path, SampleStart().checkpoint_path);
  EXPECT_EQ(start.artifact_dir, "/a/0");
  EXPECT_TRUE(start.has_other_config);
  EXPECT_EQ(start.config_since, AttemptNumber{2});
  EXPECT_EQ(start.checkpoint_every, 2);
  EXPECT_TRUE(start.saves_first);
  EXPECT_EQ(start.memory_bytes, 1 << 30);
  EXPECT_EQ(start.threads, 1);
  EXPECT_EQ(start.slices, SampleStart().slices);
  EXPECT_EQ(start.device_environment, devices);
}

TEST(TrialProtocol, BringsBackAReportBitForBit) {
  const Report sent = SampleReport().report;
  const auto read = ParseFromTrial(WithoutNewline(EncodeReport(sent)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const auto& report = std::get<Report>(*read);
  EXPECT_EQ(report.iteration, sent.iteration);
  EXPECT_TRUE(report.final);
  EXPECT_TRUE(report.has_checkpoint);
  EXPECT_EQ(report.checkpoint, sent.checkpoint);
  EXPECT_EQ(report.note, sent.note);
  ASSERT_EQ(report.metrics.size(), 3u);
  EXPECT_EQ(report.metrics[0], sent.metrics[0]);
  EXPECT_TRUE(std::isnan(report.metrics[1].second));
  EXPECT_EQ(report.metrics[2], sent.metrics[2]);
}

TEST(TrialProtocol, BringsBackAnswersAndEnds) {
  for (const ReportAnswer answer : {ReportAnswer::kContinue, ReportAnswer::kSave,
                                    ReportAnswer::kStop, ReportAnswer::kRefused}) {
    const auto read = ParseToTrial(WithoutNewline(EncodeAnswer(answer)));
    ASSERT_TRUE(read.ok());
    EXPECT_EQ(std::get<ReportAnswer>(*read), answer);
  }
  const auto end =
      ParseFromTrial(WithoutNewline(EncodeEnd({Outcome::kDeviceOutOfMemory, "full\n"})));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(std::get<TrialEnd>(*end).outcome, Outcome::kDeviceOutOfMemory);
  EXPECT_EQ(std::get<TrialEnd>(*end).error, "full\n");
}

TEST(TrialProtocol, SaysWhichLaneWhereThereAreSeveral) {
  const SweepInfo sweep = SampleSweep();
  const auto start = ParseToLane(WithoutNewline(EncodeStart(sweep, SampleStart(), {}, {}, 3)));
  ASSERT_TRUE(start.ok()) << start.status().message();
  EXPECT_EQ(start->lane, 3);
  EXPECT_EQ(std::get<TrialStart>(start->message).artifact_dir, "/a/0");
  const auto answer = ParseToLane(WithoutNewline(EncodeAnswer(ReportAnswer::kSave, 4)));
  ASSERT_TRUE(answer.ok());
  EXPECT_EQ(answer->lane, 4);
  EXPECT_EQ(std::get<ReportAnswer>(answer->message), ReportAnswer::kSave);
  for (const bool at_once : {false, true}) {
    const auto leave = ParseToLane(WithoutNewline(EncodeLeave(at_once, 5)));
    ASSERT_TRUE(leave.ok());
    EXPECT_EQ(leave->lane, 5);
    EXPECT_EQ(std::get<LeaveLane>(leave->message).at_once, at_once);
  }
  const auto report = ParseFromLane(WithoutNewline(EncodeReport(SampleReport().report, 6)));
  ASSERT_TRUE(report.ok());
  EXPECT_EQ(report->lane, 6);
  EXPECT_EQ(std::get<Report>(report->message).iteration, 9);
  const auto end = ParseFromLane(WithoutNewline(EncodeEnd({Outcome::kCompleted, ""}, 7)));
  ASSERT_TRUE(end.ok());
  EXPECT_EQ(end->lane, 7);
  EXPECT_EQ(ParseFromLane(WithoutNewline(EncodeEnd({Outcome::kCompleted, ""})))->lane, 0);
}

TEST(TrialProtocol, RefusesALaneWhereOneAttemptRunsAtATime) {
  EXPECT_FALSE(ParseFromTrial(WithoutNewline(EncodeEnd({Outcome::kCompleted, ""}, 7))).ok());
  EXPECT_FALSE(ParseToTrial(WithoutNewline(EncodeAnswer(ReportAnswer::kStop, 7))).ok());
  EXPECT_FALSE(ParseToTrial(WithoutNewline(EncodeLeave(false, 7))).ok());
  for (const char* line :
       {R"({"lane":0,"answer":"stop"})", R"({"lane":-1,"answer":"stop"})",
        R"({"lane":"1","answer":"stop"})", R"({"lane":1})", R"({"lane":1,"leave":"later"})",
        R"({"leave":"now"})", R"({"lane":1,"answer":"stop","more":1})"}) {
    EXPECT_FALSE(ParseToLane(line).ok()) << line;
  }
}

TEST(TrialProtocol, ThreadsAreWholeAndAtLeastOne) {
  EXPECT_EQ(ThreadsOf(0), 1);
  EXPECT_EQ(ThreadsOf(500), 1);
  EXPECT_EQ(ThreadsOf(1999), 1);
  EXPECT_EQ(ThreadsOf(4000), 4);
}

// Any bytes: refused or understood, never a crash.
TEST(TrialProtocol, SurvivesDamagedLines) {
  const std::string originals[] = {
      EncodeReport(SampleReport().report), EncodeEnd({Outcome::kBadConfig, "why"}, 12),
      EncodeStart(SampleSweep(), SampleStart(), {{"CUDA_VISIBLE_DEVICES", "0"}}, {}, 3)};
  int refused = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    KeyedRandom random(seed, "trial protocol test");
    std::string line = originals[random.NextBelow(3)];
    const uint64_t changes = 1 + random.NextBelow(6);
    for (uint64_t i = 0; i < changes; ++i) {
      const size_t place = random.NextBelow(line.size());
      if (random.NextBelow(3) == 0) {
        line.erase(place, 1 + random.NextBelow(4));
        if (line.empty()) line = "x";
      } else {
        line[place] = static_cast<char>(random.NextBelow(256));
      }
    }
    refused += ParseFromLane(line).ok() || ParseToLane(line).ok() ? 0 : 1;
  }
  EXPECT_GT(refused, 10'000);
}

TEST(Utf8, KnowsWhatIsValid) {
  for (const char* valid : {"", "plain", "\xc3\xa9", "\xe2\x82\xac", "\xf0\x9f\x98\x80"}) {
    EXPECT_TRUE(IsUtf8(valid)) << valid;
    EXPECT_EQ(ToUtf8(valid), valid);
  }
  // Lone, overlong, surrogate, beyond U+10FFFF, cut.
  for (const char* invalid :
       {"\x80", "\xc0\x80", "\xe0\x80\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82"}) {
    EXPECT_FALSE(IsUtf8(invalid));
    EXPECT_TRUE(IsUtf8(ToUtf8(invalid)));
  }
  EXPECT_EQ(ToUtf8("a\xff"
                   "b"),
            "a?b");
}

}  // namespace
}  // namespace tune
