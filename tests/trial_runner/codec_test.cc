#include "trial_runner/wire/codec.h"

#include <gtest/gtest.h>

#include <bit>

#include "core/limits.h"
#include "core/random.h"
#include "tests/trial_runner/message_samples.h"

namespace tune {
namespace {

template <typename T>
Status RefusalOf(const T& message) {
  const FromWorker whole = message;
  return DecodeFromWorkerBatch(EncodeBatch(std::span(&whole, 1))).status();
}
Status RefusalOf(const ToWorker& whole) {
  return DecodeToWorkerBatch(EncodeBatch(std::span(&whole, 1))).status();
}
Status RefusalOf(const StartAttempt& message) { return RefusalOf(ToWorker(message)); }
Status RefusalOf(const Welcome& message) { return RefusalOf(ToWorker(message)); }
Status RefusalOf(const SweepInfo& message) { return RefusalOf(ToWorker(message)); }

TEST(Codec, BringsBackAReportBitForBit) {
  const AttemptReport sent = SampleReport();
  const FromWorker whole = sent;
  const auto read = DecodeFromWorkerBatch(EncodeBatch(std::span(&whole, 1)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), 1u);
  const auto& back = std::get<AttemptReport>(read->front());
  EXPECT_EQ(back.ref, sent.ref);
  EXPECT_EQ(back.sequence, 5);
  EXPECT_EQ(back.report.iteration, 9);
  EXPECT_TRUE(back.report.final);
  ASSERT_TRUE(back.report.has_checkpoint);
  EXPECT_EQ(back.report.checkpoint, sent.report.checkpoint);
  EXPECT_EQ(back.report.note, sent.report.note);
  EXPECT_EQ(back.report.reading, sent.report.reading);
  ASSERT_EQ(back.report.metrics.size(), 3u);
  for (size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(back.report.metrics[i].first, sent.report.metrics[i].first);
    EXPECT_EQ(std::bit_cast<uint64_t>(back.report.metrics[i].second),
              std::bit_cast<uint64_t>(sent.report.metrics[i].second));
  }
}

// Decoding and encoding again gives the same bytes for a batch with every kind and field in it.
TEST(Codec, LosesNothingOfAnyKind) {
  const std::string from = EncodeBatch(SampleFromWorker());
  const auto from_read = DecodeFromWorkerBatch(from);
  ASSERT_TRUE(from_read.ok()) << from_read.status().message();
  EXPECT_EQ(from_read->size(), std::variant_size_v<FromWorker>);
  EXPECT_EQ(EncodeBatch(*from_read), from);

  const std::string to = EncodeBatch(SampleToWorker());
  const auto to_read = DecodeToWorkerBatch(to);
  ASSERT_TRUE(to_read.ok()) << to_read.status().message();
  EXPECT_EQ(to_read->size(), std::variant_size_v<ToWorker>);
  EXPECT_EQ(EncodeBatch(*to_read), to);
  const auto& start = std::get<StartAttempt>((*to_read)[3]);
  EXPECT_EQ(start.ref, SampleStart().ref);
  EXPECT_EQ(start.slices, SampleStart().slices);
  EXPECT_EQ(start.config, SampleStart().config);
  EXPECT_EQ(std::get<Welcome>((*to_read)[0]).sweeps, std::get<Welcome>(SampleToWorker()[0]).sweeps);
  EXPECT_EQ(std::get<SweepInfo>((*to_read)[1]), SampleSweep());
}

TEST(Codec, RefusesAWelcomeThatNamesASweepTwice) {
  EXPECT_EQ(RefusalOf(Welcome{WorkerId{1}, 1, 1, {SampleSweep(), SampleSweep()}}).message(),
            "message 1: welcome.sweeps: 3 twice");
}

TEST(Codec, RefusesMoreObjectivesThanASweepMayHave) {
  SweepInfo sweep = SampleSweep();
  sweep.more_metrics.assign(limits::kObjectivesMax - 1, "m");
  EXPECT_TRUE(RefusalOf(sweep).ok());
  sweep.more_metrics.emplace_back("m");
  EXPECT_EQ(RefusalOf(sweep).message(), "message 1: sweep.more_metrics: 8, expected less than 8");
}

TEST(Codec, NamesAPackageOnlyByDigitsAndASizeThatMayBe) {
  SweepInfo sweep = SampleSweep();
  EXPECT_TRUE(RefusalOf(sweep).ok());
  for (const char* const hash : {"../../etc", "A", "", "0"}) {
    sweep.package = {hash, 1};
    // An empty one stands for none.
    EXPECT_EQ(RefusalOf(sweep).ok(), *hash == '\0') << hash;
  }
  sweep.package = {std::string(63, '0') + "/", 1};
  EXPECT_EQ(RefusalOf(sweep).message(),
            "message 1: sweep.package.sha256: expected 64 lower-case hexadecimal digits");
  sweep.package = {std::string(64, '0'), limits::kPackageBytesMax};
  EXPECT_TRUE(RefusalOf(sweep).ok());
  ++sweep.package.bytes;
  EXPECT_FALSE(RefusalOf(sweep).ok());
  sweep.package.bytes = 0;
  EXPECT_FALSE(RefusalOf(sweep).ok());
}

TEST(Codec, BringsBackWhatIsAskedOfAPackageAndRefusesWhatItDoesNotHave) {
  const FetchRequest request{{std::string(64, '0'), 100}, 40};
  const auto read = DecodeFetchRequest(EncodeFetchRequest(request));
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->package, request.package);
  EXPECT_EQ(read->offset, 40);
  EXPECT_TRUE(DecodeFetchRequest(EncodeFetchRequest({request.package, 100})).ok());
  EXPECT_FALSE(DecodeFetchRequest(EncodeFetchRequest({request.package, 101})).ok());
  EXPECT_FALSE(DecodeFetchRequest(EncodeFetchRequest({request.package, -1})).ok());
  EXPECT_FALSE(DecodeFetchRequest("").ok());
  const std::string largest(limits::kPackagePieceBytes, '\0');
  EXPECT_EQ(*DecodeFetchPiece(EncodeFetchPiece(largest)), largest);
  EXPECT_FALSE(DecodeFetchPiece(EncodeFetchPiece(largest + "x")).ok());
  EXPECT_FALSE(DecodeFetchPiece("").ok());
}

TEST(Codec, BringsBackEveryOutcome) {
  for (int i = 1; i <= static_cast<int>(Outcome::kBadConfig); ++i) {
    const auto outcome = static_cast<Outcome>(i);
    const FromWorker whole = AttemptEnded{Ref(0, 1, 1), outcome, ""};
    const auto read = DecodeFromWorkerBatch(EncodeBatch(std::span(&whole, 1)));
    ASSERT_TRUE(read.ok()) << OutcomeName(outcome);
    EXPECT_EQ(std::get<AttemptEnded>(read->front()).outcome, outcome);
    Outcome named = Outcome::kRunning;
    EXPECT_TRUE(ParseOutcome(OutcomeName(outcome), named));
    EXPECT_EQ(named, outcome);
  }
}

TEST(Codec, RefusesAnEndThatIsNone) {
  EXPECT_EQ(RefusalOf(AttemptEnded{Ref(0, 1, 1), Outcome::kRunning, ""}).message(),
            "message 1: ended.outcome: read 0, expected a known outcome");
}

TEST(Codec, RefusesIdsThatCannotBe) {
  AttemptReport report = SampleReport();
  report.ref = Ref(-1, 1, 1);
  EXPECT_EQ(RefusalOf(report).message(), "message 1: ref.trial: read -1, expected at least 0");
  report.ref = Ref(0, 0, 1);
  EXPECT_FALSE(RefusalOf(report).ok());
  report.ref = Ref(0, 1, 0);
  EXPECT_FALSE(RefusalOf(report).ok());
  report = SampleReport();
  report.sequence = 0;
  EXPECT_FALSE(RefusalOf(report).ok());
  report = SampleReport();
  report.report.iteration = 0;
  EXPECT_FALSE(RefusalOf(report).ok());
}

TEST(Codec, TakesMetricsUpToTheLimitAndNoFurther) {
  AttemptReport report = SampleReport();
  report.report.metrics.clear();
  for (int64_t i = 0; i < limits::kMetricsPerReportMax; ++i) {
    report.report.metrics.emplace_back("m" + std::to_string(i), 1.0);
  }
  EXPECT_TRUE(RefusalOf(report).ok());
  report.report.metrics.emplace_back("m", 1.0);
  EXPECT_EQ(RefusalOf(report).message(), "message 1: report.metrics: 1001, expected at most 1000");
}

TEST(Codec, AReportHasItsCheckpointOrIsFollowedByIt) {
  const FromWorker followed = SampleFollowed();
  const auto read = DecodeFromWorkerBatch(EncodeBatch(std::span(&followed, 1)));
  ASSERT_TRUE(read.ok()) << read.status().message();
  const Report& back = std::get<AttemptReport>(read->front()).report;
  EXPECT_TRUE(back.checkpoint_follows);
  EXPECT_FALSE(back.has_checkpoint);
  AttemptReport both = SampleReport();
  both.report.checkpoint_follows = true;
  EXPECT_EQ(RefusalOf(both).message(),
            "message 1: report.checkpoint_follows: read true, expected false of a report that has "
            "its checkpoint");
}

TEST(Codec, RefusesAReportWithOneMetricTwice) {
  AttemptReport report = SampleReport();
  report.report.metrics = {{"loss", 1.0}, {"accuracy", 0.5}, {"loss", 2.0}};
  EXPECT_EQ(RefusalOf(report).message(), "message 1: report.metrics: 'loss' is there twice");
}

TEST(Codec, WhatPeopleSeeHasNothingThatATerminalObeys) {
  Hello hello = Greeting();
  hello.name =
      "a\x1b[2Jb\x07\x7f\xc2\x9b"
      "31mc \xc3\xa4";
  const FromWorker named = hello;
  const auto read = DecodeFromWorkerBatch(EncodeBatch(std::span(&named, 1)));
  ASSERT_TRUE(read.ok());
  EXPECT_EQ(std::get<Hello>(read->front()).name, "a?[2Jb???31mc \xc3\xa4");
  AttemptEnded ended{Ref(0, 1, 1), Outcome::kCrashed, ""};
  ended.error = "line\nline\r";
  const FromWorker whole = ended;
  EXPECT_EQ(
      std::get<AttemptEnded>(DecodeFromWorkerBatch(EncodeBatch(std::span(&whole, 1)))->front())
          .error,
      "line?line?");
}

// A message of two bytes takes a hundred times as many once it is read.
TEST(Codec, RefusesMoreMessagesThanABatchHolds) {
  const std::vector<FromWorker> most(limits::kBatchMessagesMax, Heartbeat{});
  EXPECT_TRUE(DecodeFromWorkerBatch(EncodeBatch(most)).ok());
  const std::vector<FromWorker> more(limits::kBatchMessagesMax + 1, Heartbeat{});
  EXPECT_EQ(DecodeFromWorkerBatch(EncodeBatch(more)).status().message(),
            "a batch of 4097 messages, expected at most 4096");
}

TEST(Codec, TakesTextsUpToTheLimitAndNoFurther) {
  AttemptReport report = SampleReport();
  report.report.metrics = {{std::string(limits::kNameBytesMax, 'm'), 1.0}};
  EXPECT_TRUE(RefusalOf(report).ok());
  report.report.metrics = {{std::string(limits::kNameBytesMax + 1, 'm'), 1.0}};
  EXPECT_FALSE(RefusalOf(report).ok());

  StartAttempt start = SampleStart();
  start.artifact_dir = "/" + std::string(limits::kPathBytesMax - 1, 'd');
  EXPECT_TRUE(RefusalOf(start).ok());
  start.artifact_dir += 'd';
  EXPECT_FALSE(RefusalOf(start).ok());

  AttemptEnded ended{Ref(0, 1, 1), Outcome::kCrashed, std::string(limits::kErrorBytesMax, 'e')};
  EXPECT_TRUE(RefusalOf(ended).ok());
  ended.error += 'e';
  EXPECT_FALSE(RefusalOf(ended).ok());
}

TEST(Codec, RefusesSharesOutsideOfOneDevice) {
  StartAttempt start = SampleStart();
  start.slices = {{0, 1001}};
  EXPECT_EQ(RefusalOf(start).message(),
            "message 1: start.slices.milli: read 1001, expected at least 1 and at most 1000");
  start.slices = {{0, 0}};
  EXPECT_FALSE(RefusalOf(start).ok());
  start.slices = {{-1, 1}};
  EXPECT_FALSE(RefusalOf(start).ok());
}

TEST(Codec, RefusesAWorkerWithOneDeviceTwice) {
  Hello hello;
  hello.capacity.devices = {{2, "a", 0}, {2, "b", 0}};
  EXPECT_EQ(RefusalOf(hello).message(),
            "message 1: hello.devices.index: two devices have the same one");
}

TEST(Codec, RefusesAWorkerThatIsCalledLocalAndIsNot) {
  Hello hello = std::get<Hello>(SampleFromWorker()[0]);
  ASSERT_EQ(hello.name, kLocalWorkerName);
  hello.is_local = false;
  EXPECT_EQ(RefusalOf(hello).message(),
            "message 1: hello.name: read 'local', expected another name of one that is not");
}

TEST(Codec, RefusesRelativePaths) {
  StartAttempt start = SampleStart();
  start.checkpoint_path = "../elsewhere";
  EXPECT_EQ(RefusalOf(start).message(),
            "message 1: start.checkpoint_path: expected an absolute path");
}

TEST(Codec, RefusesAMessageWithoutAKind) {
  // Field 1 (messages), length 0: one empty message.
  EXPECT_EQ(DecodeFromWorkerBatch(std::string_view("\x0a\x00", 2)).status().message(),
            "message 1: kind: is absent");
}

// Any bytes: refused or understood, never a crash. Seeds are fixed, so that a failure repeats.
TEST(Codec, SurvivesDamagedBytes) {
  const std::string originals[] = {EncodeBatch(SampleFromWorker()), EncodeBatch(SampleToWorker())};
  int refused = 0;
  for (uint64_t seed = 0; seed < 20'000; ++seed) {
    KeyedRandom random(seed, "codec test");
    std::string bytes = originals[random.NextBelow(2)];
    const uint64_t changes = 1 + random.NextBelow(8);
    for (uint64_t i = 0; i < changes && !bytes.empty(); ++i) {
      const size_t place = random.NextBelow(bytes.size());
      switch (random.NextBelow(4)) {
        case 0:
          bytes[place] = static_cast<char>(random.NextBelow(256));
          break;
        case 1:
          bytes[place] = static_cast<char>(bytes[place] ^ (1 << random.NextBelow(8)));
          break;
        case 2:
          bytes.resize(place);
          break;
        default:
          bytes.insert(place, 1, static_cast<char>(random.NextBelow(256)));
      }
    }
    const auto from = DecodeFromWorkerBatch(bytes);
    const auto to = DecodeToWorkerBatch(bytes);
    refused += from.ok() ? 0 : 1;
    if (from.ok()) {
      EXPECT_TRUE(DecodeFromWorkerBatch(EncodeBatch(*from)).ok()) << "seed " << seed;
    }
    if (to.ok()) {
      EXPECT_TRUE(DecodeToWorkerBatch(EncodeBatch(*to)).ok()) << "seed " << seed;
    }
  }
  EXPECT_GT(refused, 1'000);
}

TEST(Codec, BatchesEndAtTheirLimits) {
  std::deque<FromWorker> many(limits::kBatchMessagesMax + 1, Heartbeat{});
  EXPECT_EQ(TakeBatch(many).size(), limits::kBatchMessagesMax);
  EXPECT_EQ(many.size(), 1u);

  StartAttempt large = SampleStart();
  large.config.assign(limits::kJsonTextBytesMax, ' ');
  std::deque<ToWorker> heavy = {SampleStart(), large, large};
  EXPECT_EQ(TakeBatch(heavy).size(), 1u);
  const auto alone = TakeBatch(heavy);
  EXPECT_EQ(alone.size(), 1u);
  EXPECT_LE(EncodeBatch(alone).size(), limits::kMessageBytesMax);
}

}  // namespace
}  // namespace tune
