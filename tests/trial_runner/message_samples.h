// One message of every kind with every field set, for tests of what carries messages.
#pragma once

#include <cmath>
#include <limits>
#include <vector>

#include "trial_runner/messages.h"
#include "trial_runner/version.h"

namespace tune {

inline AttemptRef Ref(int64_t trial, int64_t attempt, int64_t epoch) {
  return AttemptRef{TrialNumber{trial}, AttemptNumber{attempt}, LeaseEpoch{epoch}};
}

// What the gateway takes for a worker.
inline Hello Greeting() {
  Hello hello;
  hello.version = kProgramVersion;
  return hello;
}

inline AttemptReport SampleReport() {
  AttemptReport message{Ref(3, 2, 17), 5, {}};
  message.report.iteration = 9;
  message.report.metrics = {
      {"loss", 0.25}, {"nothing", std::nan("")}, {"far", -std::numeric_limits<double>::infinity()}};
  message.report.final = true;
  message.report.has_checkpoint = true;
  message.report.checkpoint = {"/a/3/checkpoint_000009", 4096, "00ff00ff00ff00ff"};
  message.report.note = "two \"values\"";
  message.report.reading = "4 %";
  return message;
}

inline AttemptReport SampleFollowed() {
  AttemptReport message = SampleReport();
  message.report.has_checkpoint = false;
  message.report.checkpoint = {};
  message.report.checkpoint_follows = true;
  return message;
}

inline std::vector<FromWorker> SampleFromWorker() {
  Hello hello{kProgramVersion, "local", "host", 4711,
              WorkerCapacity{4000, {{0, "first", 0}, {1, "second", 1 << 30, "GPU-1b2c"}}}};
  hello.is_local = true;
  hello.session = "9f3c";
  hello.address = "10.0.0.8";
  hello.ended_sessions = {"0a1b", "77"};
  hello.held = {{Ref(3, 2, 17), 1500, {{0, 500}, {1, 1000, 1 << 30}}}, {Ref(4, 1, 18), 0, {}}};
  return {hello,
          SampleReport(),
          AttemptEnded{Ref(0, 1, 1), Outcome::kCrashed, "no room", EndDetail::kDiskFull},
          Heartbeat{{{0, 5}, {1, 1 << 20}}, {"/a/sweep/3/checkpoint_000002"}},
          Goodbye{"its disk is full"},
          DeviceLost{1, "it fell off the bus"},
          DeviceMemoryPeak{Ref(3, 2, 17), 1 << 29},
          SweepUnfit{ExperimentId{3}, "HF_TOKEN is not set"},
          CheckpointDurable{
              Ref(3, 2, 17), 9, {"s3://bucket/p/sweep/3/checkpoint_000009", 4096, "00ff"}}};
}

inline StartAttempt SampleStart() {
  StartAttempt start;
  start.ref = Ref(0, 1, 1);
  start.ahead = true;
  start.ends_seen = 4;
  start.cpu_milli = 1500;
  start.slices = {{0, 500, 1 << 28}, {1, 1000}};
  start.ref.sweep = ExperimentId{3};
  start.seed = 1804289383;
  start.config = R"({"lr":0.1})";
  start.from_iteration = 8;
  start.checkpoint_path = "/a/0/checkpoint_000008";
  start.has_other_config = true;
  start.config_since = AttemptNumber{2};
  start.artifact_dir = "/a/0";
  start.checkpoint_every = 2;
  start.saves_first = true;
  start.memory_bytes = 1 << 30;
  start.rank = 1;
  start.world_size = 3;
  start.is_spread = true;
  start.group = {1, 2, 0, 2, {1, 3}, "10.0.0.7", 20'123};
  start.lanes_max = 4;
  return start;
}

inline SweepInfo SampleSweep() {
  return {ExperimentId{3},
          "sweep",
          "loss",
          R"({"curve":{"value":"x"}})",
          "/spaces",
          ~0ull,
          {std::string(64, 'a'), 12'345},
          {"size"},
          Mode::kMin,
          {"area"},
          true,
          "s3://bucket/prefix/sweep",
          false,
          false,
          {},
          {"weights"}};
}

inline std::vector<ToWorker> SampleToWorker() {
  return {
      Welcome{WorkerId{2}, 1000, 60'000, {SampleSweep(), {ExperimentId{4}, "other", "", "", ""}}},
      SampleSweep(),
      Refused{"another version"},
      SampleStart(),
      AnswerReport{Ref(3, 2, 17), 5, ReportAnswer::kStop},
      KillAttempt{Ref(3, 2, 17), true, 5'000},
      EndsAcknowledged{7},
      Heartbeat{},
      RemoveCached{"/a/sweep/3/checkpoint_000002"},
      SweepOver{ExperimentId{4}},
      Shutdown{"tune drain", true}};
}

}  // namespace tune
