// The journal's text: what is written comes back the same, and damaged text is refused.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "core/random.h"
#include "tuner/event.h"

namespace tune {
namespace {

AttemptRef Ref() { return {TrialNumber{12}, AttemptNumber{2}, LeaseEpoch{77}}; }

WorkerJoined WithRealDevices() {
  return {WorkerId{5},
          "far",
          "10.0.0.2:5",
          7,
          {2'000, {{0, "H200", 1 << 30, "GPU-1b2c"}, {1, "L", 0}}},
          false,
          "9f3c",
          {{Ref(), 1'000, {{0, 500, 1 << 29}, {1, 1000}}}}};
}

std::vector<Event> OneOfEach() {
  ReportArrived report;
  report.worker = WorkerId{3};
  report.message.ref = Ref();
  report.message.sequence = 5;
  report.message.report.iteration = 9;
  report.message.report.metrics = {{"val_accuracy", 0.1}, {"a \"quoted\"\nname", -0.0}};
  ReportArrived last = report;
  last.message.report.final = true;
  last.message.report.has_checkpoint = true;
  last.message.report.checkpoint = {"/tmp/it's, a [path]", 1 << 20, "00ff00ff00ff00ff"};
  ReportArrived followed = report;
  followed.message.report.checkpoint_follows = true;
  followed.message.report.note = "n";
  AttemptFinished ended;
  ended.worker = WorkerId{3};
  ended.message = {report.message.ref, Outcome::kDeviceOutOfMemory, "no room: \t\\ \x01 end"};
  AttemptFinished full = ended;
  full.message.detail = EndDetail::kDiskFull;
  return {WorkerJoined{
              WorkerId{1}, "local", "[::1]:5", 99, {16'000, {{0, "H200", 1 << 30}, {1, "", 0}}}},
          WorkerJoined{WorkerId{2}, "", "", 0, {}},
          WorkerJoined{WorkerId{4},
                       "far",
                       "10.0.0.2:5",
                       7,
                       {2'000, {}},
                       false,
                       "9f3c",
                       {{report.message.ref, 1'000, {{0, 500}}}, {last.message.ref, 0, {}}}},
          WorkerGone{WorkerId{2}, Departure::kGoodbye},
          WorkerGone{WorkerId{2}, Departure::kBroken},
          WorkerGone{WorkerId{4}, Departure::kSilent},
          report,
          last,
          ended,
          full,
          InterruptRequested{},
          InterruptRequested{"its \"folder\" is gone"},
          TunerRestarted{},
          TunerSlept{Seconds(90)},
          SamplesExtended{-1},
          DeadlinePassed{},
          PauseRequested{TrialNumber{3}, true},
          PauseRequested{},
          UnpauseRequested{TrialNumber{3}},
          UnpauseRequested{},
          StopRequested{TrialNumber{0}, false},
          StopRequested{std::nullopt, true},
          MaxConcurrentChanged{4},
          SettingsChanged{R"({"name":"a \"b\""})"},
          WorkerDrainRequested{WorkerId{4}},
          ProgramChanged{},
          ProgramChanged{{"train.py: was \"a\", is b", "data in d: is not there"}},
          ErroredRetried{},
          WithRealDevices(),
          DeviceFellAway{WorkerId{5}, {1, "it \"fell\""}},
          DeviceMemorySeen{WorkerId{5}, {Ref(), int64_t{30} << 30}},
          LaneSpeedsKnown{},
          LaneSpeedsKnown{{{{R"({"batch_size":32})", "H200"}, {8, 0.1, 9}}, {{"", ""}, {}}}},
          WorkerGone{WorkerId{2}, Departure::kGoodbye, "its \"disk\" is full"},
          followed,
          CheckpointArrived{WorkerId{3}, {Ref(), 9, {"s3://b/p/s/0/c", 1 << 20, "00ff"}}}};
}

TEST(EventCodec, WritesEachEventAsAShortList) {
  EXPECT_EQ(
      EncodeEvents(OneOfEach()),
      R"([["j",1,"local","[::1]:5",99,16000,[[0,"H200",1073741824],[1,"",0]]],)"
      R"(["j",2,"","",0,0,[]],)"
      R"(["j",4,"far","10.0.0.2:5",7,2000,[],"9f3c",[[12,2,77,1000,[0,500]],[12,2,77,0,[]]]],)"
      R"(["g",2,1],["g",2,0],["g",4,2],)"
      R"(["r",3,12,2,77,5,9,0,["val_accuracy",0.1,"a \"quoted\"\nname",-0.0]],)"
      R"(["r",3,12,2,77,5,9,1,["val_accuracy",0.1,"a \"quoted\"\nname",-0.0],)"
      R"("/tmp/it's, a [path]",1048576,"00ff00ff00ff00ff"],)"
      R"(["e",3,12,2,77,"device_out_of_memory","no room: \t\\ \u0001 end"],)"
      R"(["e",3,12,2,77,"device_out_of_memory","no room: \t\\ \u0001 end",2],)"
      R"(["i"],["i","its \"folder\" is gone"],["t"],["z",90000000],["s",-1],["d"],["p",3,1],["p",-1,0],["u",3],["u",-1],)"
      R"(["x",0,0],["x",-1,1],["c",4],["n","{\"name\":\"a \\\"b\\\"\"}"],["w",4],["h"],["h","train.py: was \"a\", is b","data in d: is not there"],["a"],)"
      R"(["j",5,"far","10.0.0.2:5",7,2000,[[0,"H200",1073741824,"GPU-1b2c"],[1,"L",0]],"9f3c",)"
      R"([[12,2,77,1000,[0,500,1,1000],[536870912,0]]]],)"
      R"(["l",5,1,"it \"fell\""],["m",5,12,2,77,32212254720],["v",[]],)"
      R"(["v",[["{\"batch_size\":32}","H200",8,0.1,9],["","",1,0.0,0]]],["g",2,1,"its \"disk\" is full"],)"
      R"(["r",3,12,2,77,5,9,0,["val_accuracy",0.1,"a \"quoted\"\nname",-0.0],"",-1,"","n"],)"
      R"(["k",3,12,2,77,9,"s3://b/p/s/0/c",1048576,"00ff"]])");
}

TEST(EventCodec, ReadsBackWhatItWrote) {
  const std::string text = EncodeEvents(OneOfEach());
  const Result<std::vector<Event>> events = DecodeEvents(text);
  ASSERT_TRUE(events.ok()) << events.status().message();
  ASSERT_EQ(events->size(), OneOfEach().size());
  EXPECT_EQ(EncodeEvents(*events), text);

  const auto& joined = std::get<WorkerJoined>(events->at(0));
  EXPECT_EQ(joined.capacity.devices[0], (Device{0, "H200", 1 << 30}));
  const auto& report = std::get<ReportArrived>(events->at(7)).message.report;
  EXPECT_TRUE(report.final);
  EXPECT_EQ(report.checkpoint.path, "/tmp/it's, a [path]");
  EXPECT_EQ(report.note, "");
  EXPECT_EQ(std::get<AttemptFinished>(events->at(8)).message.error, "no room: \t\\ \x01 end");
  const Report& followed = std::get<ReportArrived>(events->at(events->size() - 2)).message.report;
  EXPECT_TRUE(followed.checkpoint_follows);
  EXPECT_FALSE(followed.has_checkpoint);
  EXPECT_EQ(followed.note, "n");
  const auto& real = std::get<WorkerJoined>(events->at(events->size() - 8));
  EXPECT_EQ(real.capacity, WithRealDevices().capacity);
  EXPECT_EQ(real.held, WithRealDevices().held);
}

// Whatever a controller may have decided by is there for the replay.
TEST(EventCodec, KeepsWhatALocalWorkerSaidOfItselfAndReadsOlderJournals) {
  WorkerJoined local{WorkerId{1}, "local", "a", 9, {1'000, {}}, true, "9f3c", {}, {}};
  for (int part = 0; part < 3; ++part) {
    local.session = part == 0 ? "9f3c" : "";
    local.held =
        part == 1 ? std::vector<HeldAttempt>{{Ref(), 1'000, {}}} : std::vector<HeldAttempt>{};
    local.ended_sessions = part == 2 ? std::vector<std::string>{"77"} : std::vector<std::string>{};
    const auto events = DecodeEvents(EncodeEvents({local}));
    ASSERT_TRUE(events.ok()) << events.status().message();
    const auto& read = std::get<WorkerJoined>(events->front());
    EXPECT_TRUE(read.is_local);
    EXPECT_EQ(read.session, local.session);
    EXPECT_EQ(read.held, local.held);
    EXPECT_EQ(read.ended_sessions, local.ended_sessions);
  }
  const auto older = DecodeEvents(
      R"([["j",1,"local","a",9,1000,[]],["j",2,"far","b",9,1000,[],"9f3c",[],["77"]]])");
  ASSERT_TRUE(older.ok()) << older.status().message();
  EXPECT_TRUE(std::get<WorkerJoined>(older->at(0)).is_local);
  EXPECT_FALSE(std::get<WorkerJoined>(older->at(1)).is_local);
}

TEST(EventCodec, KeepsAReadingWithAndWithoutACheckpointAndANote) {
  for (int part = 0; part < 4; ++part) {
    ReportArrived event;
    event.message.report.note = part % 2 == 0 ? "" : "two values";
    event.message.report.reading = "4 %";
    event.message.report.has_checkpoint = part >= 2;
    event.message.report.checkpoint.path = part >= 2 ? "/a" : "";
    const Result<std::vector<Event>> events = DecodeEvents(EncodeEvents({event}));
    ASSERT_TRUE(events.ok()) << events.status().message();
    const Report& report = std::get<ReportArrived>(events->at(0)).message.report;
    EXPECT_EQ(report.note, event.message.report.note);
    EXPECT_EQ(report.reading, "4 %");
    EXPECT_EQ(report.has_checkpoint, part >= 2);
  }
}

TEST(EventCodec, KeepsANoteWithAndWithoutACheckpoint) {
  for (const bool has_checkpoint : {false, true}) {
    ReportArrived event;
    event.message.report.note = "two values";
    event.message.report.has_checkpoint = has_checkpoint;
    event.message.report.checkpoint.path = has_checkpoint ? "/a" : "";
    const Result<std::vector<Event>> events = DecodeEvents(EncodeEvents({event}));
    ASSERT_TRUE(events.ok()) << events.status().message();
    const Report& report = std::get<ReportArrived>(events->at(0)).message.report;
    EXPECT_EQ(report.note, "two values");
    EXPECT_EQ(report.has_checkpoint, has_checkpoint);
    EXPECT_EQ(report.checkpoint.path, event.message.report.checkpoint.path);
  }
}

TEST(EventCodec, AnEmptyBatchIsAnEmptyList) {
  EXPECT_EQ(EncodeEvents({}), "[]");
  const Result<std::vector<Event>> events = DecodeEvents("[]");
  ASSERT_TRUE(events.ok());
  EXPECT_TRUE(events->empty());
}

TEST(EventCodec, KeepsTheBitsOfEveryNumber) {
  using Limits = std::numeric_limits<double>;
  std::vector<double> numbers = {0.0,           -0.0,          0.1,
                                 1.0,           1e300,         Limits::denorm_min(),
                                 Limits::max(), Limits::min(), -Limits::infinity(),
                                 3e-310,        123456789.0,   Limits::infinity()};
  KeyedRandom random(1, "codec");
  while (numbers.size() < 2000) {
    const double number = std::bit_cast<double>(random.NextU64());
    if (!std::isnan(number)) numbers.push_back(number);
  }
  std::vector<Event> events(1, ReportArrived());
  Metrics& written = std::get<ReportArrived>(events[0]).message.report.metrics;
  for (const double number : numbers) written.emplace_back("m", number);
  const Result<std::vector<Event>> back = DecodeEvents(EncodeEvents(events));
  ASSERT_TRUE(back.ok()) << back.status().message();
  const Metrics& read = std::get<ReportArrived>(back->at(0)).message.report.metrics;
  ASSERT_EQ(read.size(), numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(std::bit_cast<uint64_t>(read[i].second), std::bit_cast<uint64_t>(numbers[i]))
        << numbers[i];
  }
}

TEST(EventCodec, KeepsNaN) {
  std::vector<Event> events(1, ReportArrived());
  std::get<ReportArrived>(events[0]).message.report.metrics = {{"m", std::nan("")}};
  const Result<std::vector<Event>> back = DecodeEvents(EncodeEvents(events));
  ASSERT_TRUE(back.ok());
  EXPECT_TRUE(std::isnan(std::get<ReportArrived>(back->at(0)).message.report.metrics[0].second));
}

TEST(EventCodec, RefusesWhatIsNotAJournalStep) {
  for (const char* text : {"",
                           "{}",
                           "[",
                           "[1]",
                           "[[]]",
                           "[[1]]",
                           R"([["x"]])",
                           R"([["d",1]])",
                           R"([["s"]])",
                           R"([["s","1"]])",
                           R"([["s",1.0]])",
                           R"([["g",1,3]])",
                           R"([["g",1,true]])",
                           R"([["e",1,2,3,4,"exploded",""]])",
                           R"([["e",1,2,3,4,"lost"]])",
                           R"([["r",1,2,3,4,5,6,0,["a"]]])",
                           R"([["r",1,2,3,4,5,6,0,[1,2.0]]])",
                           R"([["r",1,2,3,4,5,6,0,["a","b"]]])",
                           R"([["r",1,2,3,4,5,6,0,[],"/p",1]])",
                           R"([["r",1,2,3,4,5,6,0,[],"/p",1,"c",1]])",
                           R"([["j",1,"n","a",1,1,[1]]])",
                           R"([["j",1,"n","a",1,1,[[1,"x"]]]])",
                           R"([["d"]] )"
                           "x"}) {
    const Result<std::vector<Event>> events = DecodeEvents(text);
    ASSERT_FALSE(events.ok()) << text;
    EXPECT_EQ(events.status().code(), StatusCode::kDataLoss) << text;
  }
}

TEST(EventCodec, DamagedTextIsRefusedOrReadAsOtherEventsButNeverHarms) {
  const std::string good = EncodeEvents(OneOfEach());
  KeyedRandom random(2, "mutation");
  int refused_count = 0;
  for (int round = 0; round < 20'000; ++round) {
    std::string text = good;
    const uint64_t change_count = 1 + random.NextBelow(3);
    for (uint64_t i = 0; i < change_count; ++i) {
      const size_t at = random.NextBelow(text.size());
      switch (random.NextBelow(3)) {
        case 0:
          text[at] = static_cast<char>(random.NextBelow(256));
          break;
        case 1:
          text.erase(at, 1 + random.NextBelow(8));
          break;
        default:
          text.insert(at, 1, "[]\",0-9.e\\u"[random.NextBelow(11)]);
      }
    }
    const Result<std::vector<Event>> events = DecodeEvents(text);
    if (!events.ok()) {
      ++refused_count;
    } else {  // What was understood can be written and read again.
      ASSERT_TRUE(DecodeEvents(EncodeEvents(*events)).ok()) << text;
    }
  }
  EXPECT_GT(refused_count, 10'000);
}

}  // namespace
}  // namespace tune
