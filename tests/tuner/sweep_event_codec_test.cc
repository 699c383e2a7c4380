// A stream's text: what is written comes back the same, and damaged text is refused.
#include <gtest/gtest.h>

#include <string>
#include <variant>
#include <vector>

#include "tuner/sweep_event.h"

namespace tune {
namespace {

AttemptRef Ref() { return {TrialNumber{12}, AttemptNumber{2}, LeaseEpoch{77}}; }

GrantedRank Rank() {
  return {{Ref(), {WorkerId{5}, 2'000, {{0, 500, 1 << 29}, {1, 1000, 0}}, "k\"1"}, 1},
          "H200 \"a\"",
          41};
}

std::vector<SweepEvent> OneOfEach() {
  ReportArrived report{WorkerId{3}, {Ref(), 5, {}}};
  report.message.report.iteration = 9;
  report.message.report.metrics = {{"val_accuracy", 0.1}};
  const AttemptEnded end{Ref(), Outcome::kLost, "why: \t\x01", EndDetail::kNone};
  const AttemptRef next{TrialNumber{13}, AttemptNumber{1}, LeaseEpoch{78}};
  return {TimeSet{Instant{-5}},
          TimeLimitsChecked{},
          LifeEnded{},
          LifeBegan{},
          WentOn{true},
          Reported{report, {}},
          Reported{report, {3, "H200"}},
          LeaseEnded{WorkerId{3}, end, true, std::nullopt, false},
          LeaseEnded{WorkerId{3}, end, false, next, true},
          NoticeBooked{LeaseLost{Ref(), "its \"connection\" broke", true}},
          NoticeBooked{LeaseDropped{Ref()}},
          NoticeBooked{WorkerAway{WorkerId{3}}},
          NoticeBooked{WorkerBack{WorkerId{3}, WorkerId{4}}},
          NoticeHeeded{LeaseKept{Rank().lease, WorkerId{3}}},
          NoticeHeeded{LeaseUnsent{Rank(), WorkerId{3}}},
          NoticeHeeded{LeaseUnknown{Ref(), WorkerId{4}}},
          NoticeHeeded{WorkerLeft{"far", " is lost"}},
          TrialTaken{},
          TrialTaken{TrialNumber{12}},
          TrialTaken{{}, NoneMade::kRegret},
          TrialTaken{{}, NoneMade::kExhausted},
          Granted{TrialNumber{12}, {Rank(), GrantedRank{{next, {WorkerId{6}, 0, {}}, 0}, "", 0}}},
          GrantedAhead{Rank()},
          NoMoreTold{},
          PlaceableSeen{},
          PlaceableSeen{false, "4 CPUs"},
          MemoryLearned{{1'000, 500, 1, 2, 3, true, 4}, 5, true},
          StepEnded{},
          InterruptRequested{},
          InterruptRequested{"its \"folder\" is gone"},
          SamplesExtended{7},
          TunerSlept{Seconds(90)},
          PauseRequested{TrialNumber{3}, true},
          UnpauseRequested{},
          StopRequested{std::nullopt, true},
          MaxConcurrentChanged{4},
          SettingsChanged{"{}"},
          ProgramChanged{{"train.py: was a, is b"}},
          ErroredRetried{},
          LaneSpeedsKnown{{{{"shape", "H200"}, {8, 0.1, 9}}}},
          CheckpointArrived{WorkerId{3}, {Ref(), 9, {"/a/0/c", 4096, "00ff"}}}};
}

TEST(SweepEventCodec, WritesEachEventAsAShortList) {
  EXPECT_EQ(
      EncodeStream(OneOfEach()),
      R"([["T",-5],["L"],["D"],["B"],["W",1],["R",["r",3,12,2,77,5,9,0,["val_accuracy",0.1]]],)"
      R"(["R",["r",3,12,2,77,5,9,0,["val_accuracy",0.1]],3,"H200"],)"
      R"(["E",["e",3,12,2,77,"lost","why: \t\u0001"],1,0],)"
      R"(["E",["e",3,12,2,77,"lost","why: \t\u0001"],0,1,13,1,78],)"
      R"(["N","lost",12,2,77,"its \"connection\" broke",1],["N","dropped",12,2,77],)"
      R"(["N","away",3],["N","back",3,4],["H","kept",[12,2,77,1,5,2000,"k\"1",[0,500,1,1000],[536870912,0]],3],)"
      R"(["H","unsent",[[12,2,77,1,5,2000,"k\"1",[0,500,1,1000],[536870912,0]],"H200 \"a\"",41],3],)"
      R"(["H","unknown",12,2,77,4],["H","left","far"," is lost"],["K",-1],["K",12],["K",-1,1],["K",-1,2],)"
      R"(["G",12,[[12,2,77,1,5,2000,"k\"1",[0,500,1,1000],[536870912,0]],"H200 \"a\"",41],)"
      R"([[13,1,78,0,6,0,"",[]],"",0]],)"
      R"(["Q",[[12,2,77,1,5,2000,"k\"1",[0,500,1,1000],[536870912,0]],"H200 \"a\"",41]],)"
      R"(["M"],["P"],["P","4 CPUs"],["U",1000,500,1,2,3,1,4,5,1],["."],)"
      R"(["i"],["i","its \"folder\" is gone"],["s",7],["z",90000000],["p",3,1],["u",-1],["x",-1,1],["c",4],["n","{}"],)"
      R"(["h","train.py: was a, is b"],["a"],["v",[["shape","H200",8,0.1,9]]],)"
      R"(["k",3,12,2,77,9,"/a/0/c",4096,"00ff"]])");
}

TEST(SweepEventCodec, HasTheWholeAlphabet) {
  std::vector<bool> has(std::variant_size_v<SweepEvent>);
  for (const SweepEvent& event : OneOfEach()) has[event.index()] = true;
  for (size_t kind = 0; kind < has.size(); ++kind) EXPECT_TRUE(has[kind]) << kind;
}

TEST(SweepEventCodec, ReadsBackWhatItWrote) {
  const std::string text = EncodeStream(OneOfEach());
  const Result<std::vector<SweepEvent>> stream = DecodeStream(text);
  ASSERT_TRUE(stream.ok()) << stream.status().message();
  ASSERT_EQ(stream->size(), OneOfEach().size());
  for (size_t i = 0; i < stream->size(); ++i) {
    EXPECT_EQ(stream->at(i).index(), OneOfEach()[i].index()) << i;
  }
  EXPECT_EQ(EncodeStream(*stream), text);

  const auto& ended = std::get<LeaseEnded>(stream->at(8));
  EXPECT_EQ(ended.begun->epoch, LeaseEpoch{78});
  EXPECT_TRUE(ended.could_have_whole);
  const auto& granted = std::get<Granted>(stream->at(21));
  ASSERT_EQ(granted.ranks.size(), 2U);
  EXPECT_EQ(granted.ranks[0].lease.placement, Rank().lease.placement);
  EXPECT_EQ(granted.ranks[0].ends_seen, 41);
  EXPECT_EQ(std::get<MemoryLearned>(stream->at(26)).request,
            (ResourceRequest{1'000, 500, 1, 2, 3, true, 4}));
}

TEST(SweepEventCodec, RefusesWhatIsNoStream) {
  for (const char* text :
       {"", "{}", "[1]", "[[]]", R"([["X"]])", R"([["T"]])", R"([["T",1,2]])", R"([["W",2]])",
        R"([["R"]])", R"([["R",["e",3,12,2,77,"lost",""]]])",
        R"([["R",["r",3,12,2,77,5,9,0,[]],1]])", R"([["E",["e",3,12,2,77,"lost",""],1]])",
        R"([["E",["e",3,12,2,77,"lost",""],1,0,1]])", R"([["N","found",1]])", R"([["N","away"]])",
        R"([["H","unsent",[1,2,3],3]])", R"([["G",12]])", R"([["G",12,[[13,1,78,0,6,0,""],"",0]]])",
        R"([["U",1000]])",
        // The journal's, and the controller's alone.
        R"([["d"]])", R"([["t"]])", R"([["g",2,1]])", R"([["r",3,12,2,77,5,9,0,[]]])"}) {
    const Result<std::vector<SweepEvent>> stream = DecodeStream(text);
    ASSERT_FALSE(stream.ok()) << text;
    EXPECT_EQ(stream.status().code(), StatusCode::kDataLoss) << text;
  }
}

}  // namespace
}  // namespace tune
