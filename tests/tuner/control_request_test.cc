// The words of the control socket: what is understood, what is refused, and that no bytes whatever
// do harm.
#include "tuner/control/control_request.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "core/limits.h"
#include "core/random.h"
#include "core/utf8.h"

namespace tune {
namespace {

std::vector<ControlRequest> Samples() {
  ControlRequest pause;
  pause.tuner = 4711;
  pause.sweep = "food11";
  pause.trial = TrialNumber{3};
  ControlRequest pause_all = pause;
  pause_all.trial.reset();
  pause_all.now = true;
  ControlRequest unpause = pause;
  unpause.verb = ControlVerb::kUnpause;
  ControlRequest stop = pause;
  stop.verb = ControlVerb::kStop;
  stop.now = true;
  stop.sweep = "größe \"x\"\t🙂";
  ControlRequest set = pause_all;
  set.verb = ControlVerb::kSet;
  set.now = false;
  set.settings = {"limits.max_concurrent=4", "failure.max_failures=\"a b\""};
  ControlRequest drain;
  drain.tuner = 1;
  drain.sweep = "a";
  drain.verb = ControlVerb::kDrain;
  drain.worker = "gpu-1";
  ControlRequest state = drain;
  state.verb = ControlVerb::kState;
  state.worker.clear();
  ControlRequest note = state;
  note.verb = ControlVerb::kNote;
  note.labels = {"two\nlines", {{"team", "vision"}, {"größe", ""}}, {"old"}};
  ControlRequest submit = state;
  submit.verb = ControlVerb::kSubmit;
  submit.submission = {7, "{\"a\":1}", "/sweeps", "{}", {}, {"first", {{"b", ""}}, {}}};
  ControlRequest cluster = state;
  cluster.verb = ControlVerb::kClusterSet;
  cluster.file = "/home/ada/lab.yaml";
  cluster.document = "{\"pools\":{}}";
  ControlRequest down = state;
  down.verb = ControlVerb::kClusterDown;
  down.alone_with = "größe";
  ControlRequest by_user = stop;
  by_user.by = Asker{"ada \"x\"", false};
  ControlRequest by_page = stop;
  by_page.by = Asker{"", true};
  return {pause, pause_all, unpause, stop, set,     drain,  state,
          note,  submit,    cluster, down, by_user, by_page};
}

TEST(ControlRequest, ComesBackAsItWasWritten) {
  for (const ControlRequest& request : Samples()) {
    const std::string line = EncodeRequest(request);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Result<ControlRequest> read = DecodeRequest(line);
    ASSERT_TRUE(read.ok()) << line << ": " << read.status().message();
    EXPECT_EQ(*read, request) << line;
  }
}

TEST(ControlRequest, IsWhatTheHeaderShows) {
  const auto read =
      DecodeRequest(R"({"tuner": 4711, "sweep": "food11", "pause": {"trial": 3, "now": false}})");
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(*read, Samples()[0]);
}

struct Refused {
  std::string line;
  std::string says;
};

TEST(ControlRequest, WhatIsWrongIsNamed) {
  const std::vector<Refused> table = {
      {"", "1:1"},
      {"pause", "1:1"},
      {"[]", "expected an object"},
      {R"({"tuner": 1, "sweep": "a"})", "the verb is missing"},
      {R"({"sweep": "a", "stop": {}})", "'tuner' is missing"},
      {R"({"tuner": 1, "stop": {}})", "'sweep' is missing"},
      {R"({"tuner": 0, "sweep": "a", "stop": {}})", "tuner: read 0"},
      {R"({"tuner": 1, "sweep": "", "stop": {}})", "sweep"},
      {R"({"tuner": 1, "sweep": 7, "stop": {}})", "sweep: read 7"},
      {R"({"tuner": 1, "sweep": "a", "stop": {}, "pause": {}})", "more than one verb"},
      {R"({"tuner": 1, "sweep": "a", "stop": {}, "stop": {}})", "stop"},
      {R"({"tuner": 1, "sweep": "a", "halt": {}})", "unknown key 'halt'"},
      {R"({"tuner": 1, "sweep": "a", "drain": {}})", "drain: worker is missing"},
      {R"({"tuner": 1, "sweep": "a", "drain": {"worker": 3}})", "worker: read 3"},
      {R"({"tuner": 1, "sweep": "a", "stop": 3})", "stop: read 3"},
      {R"({"tuner": 1, "sweep": "a", "stop": {"trial": -1}})", "trial: read -1"},
      {R"({"tuner": 1, "sweep": "a", "stop": {"trial": 1.0}})", "trial: read 1"},
      {R"({"tuner": 1, "sweep": "a", "stop": {"trial": 1e30}})", "trial"},
      {R"({"tuner": 1, "sweep": "a", "stop": {"now": 1}})", "now: read 1"},
      {R"({"tuner": 1, "sweep": "a", "unpause": {"now": true}})", "unknown key 'now'"},
      {R"({"tuner": 1, "sweep": "a", "cluster_down": {"alone_with": 3}})", "alone_with: read 3"},
      {R"({"tuner": 1, "sweep": "a", "stop": {"alone_with": "b"}})", "unknown key 'alone_with'"},
      {R"({"tuner": 1, "sweep": "a", "set": {}})", "settings are missing"},
      {R"({"tuner": 1, "sweep": "a", "set": {"settings": "a=1"}})", "settings: read 'a=1'"},
      {R"({"tuner": 1, "sweep": "a", "set": {"settings": [1]}})", "settings: read 1"},
      {R"({"tuner": 1, "sweep": "a", "set": {"trial": 1}})", "unknown key 'trial'"},
      {R"({"tuner": 1, "sweep": ")" + std::string(limits::kNameBytesMax + 1, 'a') + "\"}", "sweep"},
      {std::string(kControlLineBytesMax + 1, ' '), "more than"},
  };
  for (const Refused& refused : table) {
    const Result<ControlRequest> read = DecodeRequest(refused.line);
    ASSERT_FALSE(read.ok()) << refused.line;
    EXPECT_EQ(read.status().code(), StatusCode::kInvalidArgument);
    EXPECT_NE(read.status().message().find(refused.says), std::string::npos)
        << refused.line << ": " << read.status().message();
  }
}

TEST(ControlAnswer, ComesBackAsItWasWritten) {
  const std::vector<ControlAnswer> answers = {
      {OkStatus(), {}},
      {OkStatus(), {"trial 3 pauses at its next report", "größe\n\"x\""}},
      {OkStatus(), {"a"}, 8500},
      {InvalidArgument("wrong"), {}},
      {NotFound("no trial"), {}},
      {FailedPrecondition("over"), {}},
      {Unavailable("elsewhere"), {}},
      {ResourceExhausted("full"), {}},
      {DataLoss("torn"), {}},
      {Internal("?"), {}}};
  for (const ControlAnswer& answer : answers) {
    const std::string line = EncodeAnswer(answer);
    EXPECT_EQ(line.find('\n'), std::string::npos);
    const Result<ControlAnswer> read = DecodeAnswer(line);
    ASSERT_TRUE(read.ok()) << line << ": " << read.status().message();
    EXPECT_EQ(*read, answer) << line;
  }
  for (const char* line :
       {"", "{}", "[]", R"({"ok": 3})", R"({"ok": [3]})", R"({"error": "x"})",
        R"({"error": "x", "code": "no_such"})", R"({"ok": [], "left_out": -1})"}) {
    EXPECT_FALSE(DecodeAnswer(line).ok()) << line;
  }
}

TEST(ControlRequest, AnyBytesAreReadOrRefusedAndTheRefusalIsOneLine) {
  std::vector<std::string> seeds = {
      R"({"ok": ["a", "b"]})", R"({"error": "x", "code": "internal"})",
      R"({"tuner":1,"sweep":"a","stop":{"trial":99999999999999999999}})"};
  for (const ControlRequest& request : Samples()) seeds.push_back(EncodeRequest(request));
  int64_t read_count = 0;
  int64_t refused_count = 0;
  for (uint64_t round = 0; round < 20'000; ++round) {
    KeyedRandom random(5, "control lines", round);
    std::string line = seeds[random.NextBelow(seeds.size())];
    for (uint64_t edits = random.NextBelow(4) + 1; edits > 0; --edits) {
      const size_t at = random.NextBelow(line.size() + 1);
      const char byte = static_cast<char>(random.NextBelow(256));
      switch (random.NextBelow(4)) {
        case 0:
          line.insert(at, 1, byte);
          break;
        case 1:
          line.erase(at, 1);
          break;
        case 2:
          if (at < line.size()) line[at] = byte;
          break;
        default: {
          const std::string& other = seeds[random.NextBelow(seeds.size())];
          line = line.substr(0, at) + other.substr(std::min(at, other.size()));
        }
      }
    }
    const Result<ControlRequest> read = DecodeRequest(line);
    if (read.ok()) {
      ++read_count;
      const Result<ControlRequest> again = DecodeRequest(EncodeRequest(*read));
      ASSERT_TRUE(again.ok() && *again == *read) << line;
    } else {
      ++refused_count;
      const std::string answer = EncodeAnswer({read.status(), {}});
      ASSERT_TRUE(IsUtf8(answer) && answer.find('\n') == std::string::npos) << answer;
      ASSERT_LE(answer.size(), kControlLineBytesMax);
      ASSERT_TRUE(DecodeAnswer(answer).ok()) << answer;
    }
    (void)DecodeAnswer(line).ok();
  }
  EXPECT_GT(read_count, 500);  // The edits do reach what lies behind the syntax.
  EXPECT_GT(refused_count, 500);
}

}  // namespace
}  // namespace tune
