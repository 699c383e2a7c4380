#include "tuner/spec_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "core/json.h"
#include "core/random.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

constexpr char kCurve[] = R"yaml(name: demo
trainable: {curve: {value: "(x - 0.3)^2 + exp(-0.2 * t)", iterations: 20}}
metric: loss
mode: min
samples: 16
seed: 7
space:
  x: {uniform: [0, 1]}
search: {algorithm: random}
scheduler: {asha: {max_t: 20, grace_period: 1, reduction_factor: 2}}
resources: {cpu: 0.5, gpu: 0.57, gpu_memory: 2GiB, memory: 512MiB}
stop: {loss: 0.01, training_iteration: 15, time_total: 10m}
limits: {max_concurrent: 4, sweep_time: 2h, trial_time: 90s, no_progress: 60, failed_trials: 3, failed_alike: 0}
failure: {max_failures: 2}
checkpoint: {every: 2, keep: 3, keep_best: 4, disk_budget: 2GiB, async: true}
)yaml";

// The curve's file with one line in place of another; `line` may be empty.
std::string With(std::string_view key, std::string_view line) {
  std::string out;
  std::string_view rest = kCurve;
  bool found = false;
  while (!rest.empty()) {
    const size_t end = rest.find('\n') + 1;
    const std::string_view old = rest.substr(0, end);
    rest.remove_prefix(end);
    if (old.starts_with(std::string(key) + ":")) {
      found = true;
      if (key == "space") {
        rest.remove_prefix(rest.find('\n') + 1);
      }
      out += line.empty() ? "" : std::string(line) + "\n";
    } else {
      out += old;
    }
  }
  EXPECT_TRUE(found) << key;
  return out;
}

// The curve's file with one line more.
std::string WithMore(std::string_view line) { return kCurve + std::string(line) + "\n"; }

// The first `from` replaced.
std::string Changed(std::string_view text, std::string_view from, std::string_view to) {
  EXPECT_NE(text.find(from), std::string_view::npos) << from;
  return std::string(text).replace(text.find(from), from.size(), to);
}

Result<ExperimentSpec> Interpret(std::string_view text, bool require_trainable = true) {
  const Result<Value> document = ParseYaml(text);
  if (!document.ok()) return document.status();
  return InterpretSpec(*document, "f.yaml", "/base", require_trainable);
}

std::string ErrorOf(std::string_view text) {
  const Result<ExperimentSpec> spec = Interpret(text);
  EXPECT_FALSE(spec.ok()) << text;
  EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument);
  return spec.status().message();
}

// A change of one line and what is said of it.
std::string ErrorWith(std::string_view key, std::string_view line) {
  return ErrorOf(With(key, line));
}

ExperimentSpec Good(std::string_view text) {
  Result<ExperimentSpec> spec = Interpret(text);
  EXPECT_TRUE(spec.ok()) << spec.status().message();
  return spec.ok() ? *std::move(spec) : ExperimentSpec();
}

TEST(InterpretSpec, ReadsEveryKey) {
  const ExperimentSpec spec = Good(kCurve);
  EXPECT_EQ(spec.name, "demo");
  EXPECT_EQ(spec.metric, "loss");
  EXPECT_EQ(spec.mode, Mode::kMin);
  EXPECT_EQ(spec.samples, 16);
  EXPECT_EQ(spec.seed, 7u);
  EXPECT_EQ(spec.base_dir, "/base");
  EXPECT_EQ(spec.resources, (ResourceRequest{500, 570, int64_t{2} << 30, int64_t{512} << 20, 1}));
  const std::vector<StopCondition> stop = {
      {"loss", 0.01, false}, {"training_iteration", 15, true}, {"time_total", 600, true}};
  EXPECT_EQ(spec.stop, stop);
  EXPECT_EQ(spec.limits.max_concurrent, 4);
  EXPECT_EQ(spec.limits.sweep_time, Seconds(7200));
  EXPECT_EQ(spec.limits.trial_time, Seconds(90));
  EXPECT_EQ(spec.limits.no_progress, Seconds(60));
  EXPECT_EQ(spec.limits.failed_trials, 3);
  EXPECT_EQ(spec.limits.failed_alike, 0);
  EXPECT_EQ(spec.limits.unplaceable, Seconds(600));
  EXPECT_EQ(spec.failure.max_failures, 2);
  EXPECT_EQ(spec.checkpoint.every, 2);
  EXPECT_EQ(spec.checkpoint.keep, 3);
  EXPECT_EQ(spec.checkpoint.keep_best, 4);
  EXPECT_TRUE(spec.checkpoint.is_async);
  EXPECT_EQ(spec.checkpoint.disk_budget_bytes, int64_t{2} << 30);
}

TEST(InterpretSpec, HasTheDefaultsOfTheContract) {
  const ExperimentSpec spec = Good(
      "trainable: {curve: {value: x}}\nmetric: loss\nmode: min\nspace: {x: {uniform: [0, 1]}}\n");
  EXPECT_EQ(spec.name, "f");
  EXPECT_EQ(spec.samples, 1);
  EXPECT_EQ(spec.seed, std::nullopt);
  EXPECT_EQ(spec.resources, ResourceRequest{});
  EXPECT_TRUE(spec.search.is_null());
  EXPECT_TRUE(spec.scheduler.is_null());
  EXPECT_TRUE(spec.stop.empty());
  EXPECT_EQ(spec.failure.max_failures, 0);
  EXPECT_EQ(spec.limits.unplaceable, Seconds(600));
  EXPECT_EQ(spec.limits.sweep_time, std::nullopt);
}

TEST(InterpretSpec, TheStoredDocumentGivesTheSameSpec) {
  for (const std::string& text : {std::string(kCurve), With("name", ""), With("samples", "")}) {
    const ExperimentSpec first = Good(text);
    const Result<Value> stored = ParseJson(ToJson(first.document));
    ASSERT_TRUE(stored.ok());
    const Result<ExperimentSpec> second = InterpretSpec(*stored, "database", "/base", true);
    ASSERT_TRUE(second.ok()) << second.status().message();
    EXPECT_EQ(second->document, first.document);
    EXPECT_EQ(second->name, first.name);
    EXPECT_EQ(second->samples, first.samples);
    EXPECT_EQ(second->seed, first.seed);
    EXPECT_EQ(second->stop, first.stop);
    EXPECT_EQ(second->resources, first.resources);
    EXPECT_EQ(second->space, first.space);
    EXPECT_EQ(second->limits.sweep_time, first.limits.sweep_time);
  }
}

TEST(InterpretSpec, UnknownKeysNameTheNearestOne) {
  EXPECT_EQ(ErrorWith("samples", "sample: 3"),
            "f.yaml:5:1: unknown key 'sample'; did you mean 'samples'?");
  EXPECT_THAT(
      ErrorWith("limits", "limits: {max_concurent: 3}"),
      HasSubstr(
          "f.yaml:13:10: unknown key 'limits.max_concurent'; did you mean 'max_concurrent'?"));
  EXPECT_THAT(ErrorWith("failure", "failure: {retries: 3}"),
              HasSubstr("unknown key 'failure.retries'; known are max_failures"));
  EXPECT_THAT(ErrorWith("resources", "resources: {gpus: 1}"), HasSubstr("did you mean 'gpu'?"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {keep_bst: 1}"),
              HasSubstr("did you mean 'keep_best'?"));
}

TEST(InterpretSpec, WhatIsMissingIsToldAtThePlaceOfTheMap) {
  EXPECT_EQ(ErrorWith("metric", ""),
            "f.yaml:1:1: 'metric' is missing; write for example metric: val_accuracy");
  EXPECT_THAT(ErrorWith("mode", ""), HasSubstr("f.yaml:1:1: 'mode' is missing"));
  EXPECT_THAT(ErrorWith("trainable", ""), HasSubstr("f.yaml:1:1: 'trainable' is missing"));
  EXPECT_TRUE(Interpret(With("trainable", ""), false).ok());
  EXPECT_THAT(ErrorOf(""), HasSubstr("f.yaml: no keys are there"));
  EXPECT_THAT(ErrorOf("- a\n"), HasSubstr("f.yaml:1:1: read a list, expected a map"));
}

TEST(InterpretSpec, WrongTypesSayWhatWasReadAndExpected) {
  EXPECT_EQ(ErrorWith("mode", "mode: maximise"),
            "f.yaml:4:7: mode: read 'maximise', expected max or min");
  EXPECT_THAT(ErrorWith("metric", "metric: 3"), HasSubstr("metric: read 3, expected the name"));
  EXPECT_THAT(ErrorWith("name", "name: 3"), HasSubstr("name: read 3, expected a string"));
  EXPECT_THAT(ErrorWith("name", "name: a/b"), HasSubstr("without '/'"));
  EXPECT_THAT(ErrorWith("name", "name: ''"), HasSubstr("read ''"));
  EXPECT_THAT(ErrorWith("name", "name: '..'"), HasSubstr("read '..'"));
  EXPECT_THAT(ErrorWith("name", "name: " + std::string(191, 'n')), HasSubstr("1 to 190 bytes"));
  EXPECT_THAT(ErrorWith("samples", "samples: many"),
              HasSubstr("samples: read 'many', expected an integer"));
  EXPECT_THAT(ErrorWith("samples", "samples: 1.5"), HasSubstr("samples: read 1.5"));
  EXPECT_THAT(ErrorWith("seed", "seed: -1"),
              HasSubstr("seed: read -1, expected an integer of 0 or more"));
  EXPECT_THAT(ErrorWith("limits", "limits: 3"), HasSubstr("limits: read 3, expected a map"));
  EXPECT_THAT(ErrorWith("limits", "limits: {sweep_time: fast}"),
              HasSubstr("limits.sweep_time: read 'fast', expected a duration"));
  EXPECT_THAT(ErrorWith("limits", "limits: {sweep_time: 0}"),
              HasSubstr("expected a duration above 0"));
  EXPECT_THAT(ErrorWith("limits", "limits: {max_concurrent: 0}"),
              HasSubstr("read 0, expected an integer from 1"));
  EXPECT_THAT(ErrorWith("failure", "failure: {max_failures: -2}"), HasSubstr("read -2"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {storage_credentials: mine}"),
              HasSubstr("checkpoint.storage_credentials: read 'mine', expected own or tuner"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {storage_credentials: tuner}"),
              HasSubstr("tuner is for a storage in an object store"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {async: maybe}"),
              HasSubstr("checkpoint.async: read 'maybe', expected true or false"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {keep: 0}"),
              HasSubstr("checkpoint.keep: read 0"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {disk_budget: 10 apples}"),
              HasSubstr("checkpoint.disk_budget: read '10 apples', expected a size such as"));
  EXPECT_THAT(ErrorWith("resources", "resources: {gpu_memory: big}"),
              HasSubstr("expected a size such as"));
}

TEST(InterpretSpec, SamplesAreAtLeastOneOrUnlimited) {
  EXPECT_THAT(ErrorWith("samples", "samples: 0"), HasSubstr("f.yaml:5:10: samples: read 0"));
  EXPECT_THAT(ErrorWith("samples", "samples: -2"), HasSubstr("samples: read -2"));
  EXPECT_THAT(ErrorWith("samples", "samples: 10000001"), HasSubstr("from 1 to 10000000"));
  EXPECT_EQ(Good(With("samples", "samples: -1")).samples, -1);
  EXPECT_EQ(Good(With("samples", "samples: 10000000")).samples, 10000000);
}

TEST(InterpretSpec, AGridWithoutSamplesIsMeantWhole) {
  const std::string grid = With("space", "space: {x: {choice: [0.1, 0.2, 0.3]}}");
  const auto with_grid = [&](std::string_view samples) {
    return Changed(Changed(grid, "samples: 16", samples), "random", "grid");
  };
  EXPECT_EQ(Good(with_grid("")).samples, -1);
  EXPECT_EQ(Good(with_grid("samples: 2")).samples, 2);
}

TEST(InterpretSpec, AShareOfAGpuIsExact) {
  const auto gpu = [](std::string_view text) {
    return Good(With("resources", "resources: {gpu: " + std::string(text) + "}"))
        .resources.gpu_milli;
  };
  EXPECT_EQ(gpu("0.57"), 570);
  EXPECT_EQ(gpu("0.001"), 1);
  EXPECT_EQ(gpu("0.999"), 999);
  EXPECT_EQ(gpu("1"), 1000);
  EXPECT_EQ(gpu("3"), 3000);
  EXPECT_EQ(gpu("2.0"), 2000);
  EXPECT_EQ(gpu("0"), 0);
  for (const char* bad : {"0.5555", "1.5", "-0.5", "half", ".nan", ".inf", "true", "1e9"}) {
    EXPECT_FALSE(Interpret(With("resources", "resources: {gpu: " + std::string(bad) + "}")).ok())
        << bad;
  }
  EXPECT_THAT(ErrorWith("resources", "resources: {gpu: 1.5}"),
              HasSubstr("resources.gpu: read 1.5, expected a share of one GPU in thousandths"));
  EXPECT_THAT(ErrorWith("resources", "resources: {cpu: 0}"), HasSubstr("cpu and gpu are both 0"));
}

TEST(InterpretSpec, AReserveIsWorthATrialAtLeast) {
  const auto with = [](const std::string& reserve) {
    return With("resources", "resources: {cpu: 2, gpu: 0.5}\nreserve: " + reserve);
  };
  EXPECT_EQ(Good(with("{cpu: 8, gpu: 1.5}")).share.reserve, (Reserve{8000, 1500}));
  EXPECT_EQ(Good(with("{cpu: 0, gpu: 0.5}")).share.reserve, (Reserve{0, 500}));
  EXPECT_EQ(Good(std::string(kCurve)).share.reserve, Reserve{});
  const auto error = [&](const std::string& reserve) {
    return ErrorWith("resources", "resources: {cpu: 2}\nreserve: " + reserve);
  };
  EXPECT_THAT(error("{cpu: 1}"),
              HasSubstr("reserve.cpu: read 1, expected 2 or more, which one trial takes"));
  EXPECT_THAT(error("{gpu: 1}"),
              HasSubstr("reserve.gpu: read 1, expected 0: its trials take none"));
  EXPECT_THAT(error("{cpus: 1}"), HasSubstr("cpus"));
  EXPECT_THAT(error("{cpu: lots}"),
              HasSubstr("reserve.cpu: read 'lots', expected a number of CPUs"));
}

TEST(InterpretSpec, StopConditionsFollowTheModeOrTheirOwnBound) {
  const auto stop = [](std::string_view text) {
    return Good(With("stop", "stop: " + std::string(text))).stop;
  };
  EXPECT_EQ(stop("{loss: 1}"), (std::vector<StopCondition>{{"loss", 1, false}}));
  EXPECT_EQ(stop("{loss: {max: 9.5}}"), (std::vector<StopCondition>{{"loss", 9.5, true}}));
  EXPECT_EQ(stop("{time_total: 1.5}"), (std::vector<StopCondition>{{"time_total", 1.5, true}}));
  EXPECT_THAT(ErrorWith("stop", "stop: {training_iteration: 0}"),
              HasSubstr("read 0, expected an integer of 1"));
  EXPECT_THAT(ErrorWith("stop", "stop: {training_iteration: {max: 3}}"),
              HasSubstr("read a map, expected an integer"));
  EXPECT_THAT(ErrorWith("stop", "stop: {loss: low}"), HasSubstr("stop.loss: read 'low'"));
  EXPECT_THAT(ErrorWith("stop", "stop: {loss: {above: 3}}"), HasSubstr("expected max or min"));
  EXPECT_THAT(ErrorWith("stop", "stop: {loss: {max: x}}"), HasSubstr("stop.loss.max: read 'x'"));
}

TEST(InterpretSpec, AStopConditionOnAMetricThatIsNeverReportedIsRefused) {
  EXPECT_THAT(ErrorWith("stop", "stop: {losss: {max: 1}}"),
              HasSubstr("stop: 'losss' is never reported; did you mean 'loss'?"));
}

TEST(InterpretSpec, WhatOtherRoomsCheckIsCheckedToo) {
  EXPECT_THAT(ErrorWith("space", "space: {x: {uniform: [1, 0]}}"),
              HasSubstr("f.yaml:7:26: uniform: lo is 1 and hi is 0"));
  EXPECT_THAT(ErrorWith("search", "search: {algorithm: grid}"),
              HasSubstr("f.yaml:8:3: 'x' is uniform"));
  EXPECT_THAT(ErrorWith("scheduler", "scheduler: {asha: {max_t: 5, grace_period: 6}}"),
              HasSubstr("f.yaml:10:44: scheduler: grace_period is 6 and max_t is 5"));
  EXPECT_THAT(ErrorWith("scheduler", "scheduler: asah"), HasSubstr("did you mean 'asha'?"));
  EXPECT_THAT(ErrorWith("scheduler", "scheduler: {pbt: {hyperparam_mutations: [xx]}}"),
              HasSubstr("f.yaml:10:42: hyperparam_mutations: 'xx' is not a parameter with a"));
  EXPECT_THAT(ErrorWith("trainable", "trainable: food12"), HasSubstr("f.yaml:2:12: "));
}

TEST(InterpretSpec, AConditionIsBlamedWhereItStands) {
  EXPECT_EQ(ErrorWith("space", "space: {x: {uniform: [0, 1], when: {y: 3}}, y: {choice: [1, 2]}}"),
            "f.yaml:7:40: when: 'y' is never 3; it is choice: [1, 2]");
  EXPECT_THAT(ErrorWith("space", "space: {x: {uniform: [0, 1], when: {z: 3}}, y: 1}"),
              HasSubstr("f.yaml:7:37: when: there is no parameter 'z'"));
}

TEST(InterpretSpec, ConstraintsAreCheckedWithTheirPlace) {
  EXPECT_EQ(ToJson(Good(WithMore("constraints: [x < 1, x > 0.5]")).constraints),
            R"(["x < 1","x > 0.5"])");
  EXPECT_EQ(ErrorOf(WithMore("constraints: [x < 1, 'lr + x > 2']")),
            "f.yaml:16:22: constraints: column 1 of 'lr + x > 2': there is no parameter 'lr'; "
            "known are x");
  EXPECT_EQ(ErrorOf(WithMore("constraints: [x <= 1, x > 2]")),
            "f.yaml:16:23: constraints: 'x > 2' is never satisfied, by none of 100000 draws and "
            "the ends and middles of the domains of 'x'");
  EXPECT_THAT(ErrorOf(WithMore("constraints: x > 2")),
              HasSubstr("f.yaml:16:14: constraints: read 'x > 2', expected a list"));
}

TEST(InterpretSpec, PointsAreCheckedWithTheirPlace) {
  EXPECT_EQ(ToJson(Good(WithMore("points: [{x: 0.5}]")).points), R"([{"x":0.5}])");
  EXPECT_EQ(ErrorOf(WithMore("points: [{x: 0.5}, {x: 1}]")),
            "f.yaml:16:24: points: 'x': read 1, which is not in its domain, uniform: [0, 1]");
  EXPECT_THAT(ErrorOf(WithMore("points: [{y: 0.5}]")),
              HasSubstr("f.yaml:16:11: points: there is no parameter 'y'"));
  EXPECT_THAT(ErrorOf(WithMore("points: [{x: 0.2}]\nconstraints: [x > 0.5]")),
              HasSubstr("f.yaml:16:10: points: 'x > 0.5' is not satisfied"));
}

TEST(InterpretSpec, AnEarlierSweepIsForASearchThatLearnsFromIt) {
  const auto with = [](std::string_view search) {
    return With("search", "search: " + std::string(search)) + "from: other\n";
  };
  EXPECT_EQ(Good(with("{algorithm: tpe}")).from, "other");
  EXPECT_EQ(Good(with("{algorithm: random, unique: true}")).from, "other");
  const auto with_study = [&](std::string_view from) {
    return With("search", "search: {algorithm: tpe}") + "from: " + std::string(from) + "\n";
  };
  EXPECT_EQ(Good(with_study("{optuna: study.db, study: a}")).from, "optuna: study.db");
  EXPECT_THAT(ErrorOf(with_study("{optuna: study.db, stdy: a}")),
              HasSubstr("did you mean 'study'?"));
  EXPECT_THAT(ErrorOf(with_study("{study: a}")), HasSubstr("the path of a study's SQLite file"));
  EXPECT_THAT(ErrorOf(with_study("{prior: }")), HasSubstr("expected {prior: NAME}, or {optuna: "));
  EXPECT_THAT(ErrorOf(with_study("{prior: a}")), HasSubstr("it is gp that learns from a prior"));
  EXPECT_THAT(ErrorOf(with_study("{priors: a}")), HasSubstr("did you mean 'prior'?"));
  EXPECT_THAT(ErrorOf(with_study("3")), HasSubstr("or {optuna: study.db} of Optuna's"));
  EXPECT_THAT(ErrorOf(with("{algorithm: random}")),
              HasSubstr("f.yaml:16:7: from: this search does not learn"));
  EXPECT_THAT(ErrorOf(WithMore("from: 3")),
              HasSubstr("from: read 3, expected the name of an earlier sweep"));
}

TEST(InterpretSpec, WhatATrainableDoesNotKnowIsToldWhereItStands) {
  constexpr std::string_view kFood =
      "trainable: food11\nmetric: val_accuracy\nmode: max\nspace:\n  data: synthetic\n  lr: 1e-3\n";
  EXPECT_TRUE(Interpret(kFood).ok());
  const auto with = [&](std::string_view from, std::string_view to) {
    return ErrorOf(Changed(kFood, from, to));
  };
  EXPECT_THAT(with("lr:", "lrr:"),
              HasSubstr("f.yaml:6:3: trainable: food11 has no parameter 'lrr'"));
  EXPECT_THAT(with("val_accuracy", "val_acc"),
              HasSubstr("f.yaml:2:9: trainable: food11 never reports the metric 'val_acc'"));
  EXPECT_THAT(ErrorWith("space", "space: {y: 1}"),
              HasSubstr("f.yaml:2:12: trainable: the curve uses 'x'"));
}

TEST(InterpretSpec, FailuresHaveAPolicyOfTheirCause) {
  const ExperimentSpec spec =
      Good(With("failure",
                "failure: {max_failures: 2, backoff: 0, crashed: 5, hung: {backoff: 10s}, "
                "lost: {max_failures: -1}}"));
  EXPECT_EQ(spec.failure.backoff, Duration{});
  EXPECT_EQ(spec.failure.causes.at(Outcome::kCrashed).max_failures, 5);
  EXPECT_EQ(spec.failure.causes.at(Outcome::kHung).backoff, Seconds(10));
  EXPECT_EQ(spec.failure.causes.at(Outcome::kHung).max_failures, std::nullopt);
  EXPECT_EQ(spec.failure.causes.at(Outcome::kLost).max_failures, -1);
  EXPECT_THAT(ErrorWith("failure", "failure: {crashed: often}"),
              HasSubstr("failure.crashed: read 'often', expected an integer of 0 or more"));
  EXPECT_THAT(ErrorWith("failure", "failure: {preempted: 1}"),
              HasSubstr("unknown key 'failure.preempted'"));
  EXPECT_THAT(ErrorWith("failure", "failure: {hung: {tries: 1}}"),
              HasSubstr("unknown key 'failure.hung.tries'"));
}

TEST(InterpretSpec, SeveralObjectivesHaveAModeEach) {
  constexpr char kTwo[] =
      "trainable: {curve: {values: {a: x, b: 1 - x}}}\nmetric: [a, b]\nmode: [max, min]\n"
      "space: {x: {uniform: [0, 1]}}\n";
  const ExperimentSpec spec = Good(kTwo);
  EXPECT_EQ(spec.metric, "a");
  EXPECT_EQ(spec.more_objectives, (std::vector<Objective>{{"b", Mode::kMin}}));
  const auto with = [&](std::string_view from, std::string_view to) {
    return ErrorOf(Changed(kTwo, from, to));
  };
  EXPECT_EQ(
      with("[max, min]", "min"),
      "f.yaml:3:7: mode: read 1 for 2 metrics, expected one for each, as in mode: [max, min]");
  EXPECT_EQ(with("[a, b]", "[a, a]"), "f.yaml:2:13: metric: 'a' stands there twice");
  EXPECT_EQ(with("[a, b]", "[]"),
            "f.yaml:2:9: metric: read a list, expected one value, or a list of up to 8 (several "
            "objectives)");
  EXPECT_THAT(with("[a, b]", "[a, c]"), HasSubstr("curve never reports the metric 'c'"));
  EXPECT_THAT(with("space:", "scheduler: asha\nspace:"),
              HasSubstr("f.yaml:4:12: scheduler: a sweep of several objectives has no value"));
}

TEST(InterpretSpec, CheckpointsAreKeptOnThisDiskOrInABucket) {
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {storage: x}"),
              HasSubstr("checkpoint.storage: read 'x', expected auto, or s3://bucket/prefix"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {storage: 's3://b/../c'}"),
              HasSubstr("checkpoint.storage: read 's3://b/../c', expected auto, or s3://"));
  EXPECT_THAT(ErrorWith("checkpoint", "checkpoint: {storage: 's3://My_Bucket/p'}"),
              HasSubstr("a bucket of 3 to 63 lower-case letters, digits"));
}

TEST(InterpretSpec, NumbersThatAreNotFiniteAreRefusedEverywhere) {
  EXPECT_THAT(ErrorWith("space", "space: {x: {choice: [.inf, 1]}}"),
              HasSubstr("f.yaml:7:22: read Infinity, expected a finite number"));
  EXPECT_THAT(ErrorWith("stop", "stop: {loss: .nan}"),
              HasSubstr("read NaN, expected a finite number"));
}

TEST(ApplyOverride, SetsAValueOfItsOwnKind) {
  Value document = *ParseYaml(kCurve);
  ASSERT_TRUE(ApplyOverride("scheduler.asha.max_t=10", document).ok());
  ASSERT_TRUE(ApplyOverride("space.y={choice: [1, 2]}", document).ok());
  ASSERT_TRUE(ApplyOverride("name=a=b", document).ok());
  EXPECT_EQ(*document.Find("scheduler")->Find("asha")->Find("max_t"), Value(10));
  EXPECT_EQ(ToJson(*document.Find("space")->Find("y")), R"({"choice":[1,2]})");
  EXPECT_EQ(*document.Find("name"), Value("a=b"));
}

TEST(ApplyOverride, MakesTheMapsOnItsWay) {
  Value document;
  ASSERT_TRUE(ApplyOverride("a.b.c=1e-3", document).ok());
  EXPECT_EQ(ToJson(document), R"({"a":{"b":{"c":0.001}}})");
}

TEST(ApplyOverride, RefusesWhatIsNoAssignmentOrNoMap) {
  Value document = *ParseYaml(kCurve);
  const auto error = [&](std::string_view text) { return ApplyOverride(text, document).message(); };
  EXPECT_EQ(error("max_t"),
            "--set: read 'max_t', expected PATH=VALUE such as scheduler.asha.max_t=10");
  EXPECT_THAT(error("=3"), HasSubstr("expected PATH=VALUE"));
  EXPECT_THAT(error("samples="), HasSubstr("--set samples: there is no value behind '='"));
  EXPECT_EQ(error("a..b=3"), "--set a..b: a name in the path is empty");
  EXPECT_EQ(error("metric.x=3"), "--set metric.x: what stands before 'x' is 'loss', not a map");
  EXPECT_THAT(error("space.x=[1"), HasSubstr("--set space.x: "));
}

class ReadSpecFileTest : public testing::Test {
 protected:
  std::string Write(const std::string& name, const std::string& text) {
    WriteText(folder_ / name, text);
    return folder_ / name;
  }

  TempFolder folder_;
};

// Of a stored spec it is no error: such sweeps go on.
TEST_F(ReadSpecFileTest, AConstraintNamesWhatIsReported) {
  const std::string text =
      "trainable: {command: [ls], metrics: {power: {regex: 'p {number}'}, area: {regex: 'a "
      "{number}'}}}\nmetric: power\nmode: min\nspace: {x: 1}\nmetric_constraints: ['AREA <= 1']\n";
  EXPECT_THAT(ReadSpecFile(Write("s.yaml", text), {}).status().message(),
              HasSubstr("s.yaml:5:21: metric_constraints: 'AREA' is never reported; did you mean "
                        "'area'?"));
  EXPECT_TRUE(ReadSpecFile(Write("s.yaml", Changed(text, "AREA", "area")), {}).ok());
}

// Likewise: all its values gave the same curve.
TEST_F(ReadSpecFileTest, ACurveHasNoParameterThatIsCalledAsItsIteration) {
  const std::string text =
      "trainable: {curve: {value: x * t}}\nmetric: loss\nmode: min\n"
      "space: {x: 1, t: {uniform: [0, 1]}}\n";
  EXPECT_THAT(ReadSpecFile(Write("s.yaml", text), {}).status().message(),
              HasSubstr("trainable: t: is the iteration in a curve's expressions"));
  EXPECT_TRUE(Interpret(text).ok());
  EXPECT_TRUE(ReadSpecFile(Write("s.yaml", Changed(text, " t:", " u:")), {}).ok());
}

TEST_F(ReadSpecFileTest, ALimitOnResultsNamesWhatIsReportedOrAParameter) {
  const std::string text =
      "trainable: {command: [ls], metrics: {power: {regex: 'p {number}'}, area: {regex: 'a "
      "{number}'}}}\nmetric: power\nmode: min\nspace: {width: 1}\nfeasible: ['AREA * width <= "
      "1']\n";
  EXPECT_THAT(ReadSpecFile(Write("s.yaml", text), {}).status().message(),
              HasSubstr("s.yaml:5:11: feasible: 'AREA' is never reported and is no parameter; did "
                        "you mean 'area'?"));
  const auto spec = ReadSpecFile(Write("s.yaml", Changed(text, "AREA", "area")), {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->feasible.texts(), std::vector<std::string>{"area * width <= 1"});
  EXPECT_EQ(spec->constrained_names(), std::vector<std::string>{"area"});
}

TEST_F(ReadSpecFileTest, UntilCountsTrialsWithoutAGain) {
  const std::string text = "metric: m\nmode: min\nspace: {x: 1}\nuntil: {no_gain: ";
  for (const char* const forty : {"40", "40 trials", "'40 trials'"}) {
    const auto spec = ReadSpecFile(Write("s.yaml", text + forty + "}\n"), {}, false);
    ASSERT_TRUE(spec.ok()) << spec.status().message();
    EXPECT_EQ(spec->no_gain_max, 40);
  }
  for (const char* const wrong : {"0", "40 epochs", "many", "-3 trials", "4.5", "[4]"}) {
    EXPECT_THAT(ReadSpecFile(Write("s.yaml", text + wrong + "}\n"), {}, false).status().message(),
                HasSubstr("until.no_gain: read"))
        << wrong;
  }
  EXPECT_THAT(ReadSpecFile(Write("s.yaml", "metric: m\nmode: min\nuntil: {no_gan: 4}\n"), {}, false)
                  .status()
                  .message(),
              HasSubstr("did you mean 'no_gain'?"));
}

TEST_F(ReadSpecFileTest, UntilTakesARegretWhereTheSearchCanTell) {
  const auto read = [&](const std::string& rest) {
    return ReadSpecFile(Write("s.yaml", "space: {x: {uniform: [0, 1]}}\nsamples: 40\n" + rest), {},
                        false);
  };
  const std::string one = "metric: m\nmode: min\n";
  const auto spec = read(one + "search: {algorithm: gp}\nuntil: {regret: 0.002}\n");
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->regret_max, 0.002);
  EXPECT_TRUE(read(one + "search: {algorithm: auto}\nuntil: {regret: 1}\n").ok());
  const std::pair<std::string, std::string> wrong[] = {
      {one + "search: {algorithm: gp}\nuntil: {regret: 0}\n", "until.regret: read 0"},
      {one + "search: {algorithm: gp}\nuntil: {regret: much}\n", "until.regret: read 'much'"},
      {one + "search: {algorithm: tpe}\nuntil: {regret: 1}\n",
       "until.regret: it is gp that tells what more trials may gain, and here the search is tpe"},
      {one + "until: {regret: 1}\n", "here the search is random"},
      {one + "search: {algorithm: gp}\nfeasible: [m <= 1]\nuntil: {regret: 1}\n",
       "expected no_gain where there are limits on results"},
      {"metric: [m, n]\nmode: [min, min]\nsearch: {algorithm: gp}\nuntil: {regret: 1}\n",
       "expected no_gain where there are several metrics"}};
  for (const auto& [text, says] : wrong) {
    EXPECT_THAT(read(text).status().message(), HasSubstr(says)) << text;
  }
}

TEST_F(ReadSpecFileTest, LimitsOnResultsStandInOnePlace) {
  const std::string text =
      "metric: power\nmode: min\nspace: {x: 1}\nfeasible: [area <= 1]\nmetric_constraints: [area "
      "<= 1]\n";
  EXPECT_THAT(ReadSpecFile(Write("s.yaml", text), {}, false).status().message(),
              HasSubstr("s.yaml:4:11: feasible: stands beside metric_constraints, whose place it "
                        "takes"));
  EXPECT_THAT(
      ReadSpecFile(Write("s.yaml", "metric: violation\nmode: min\nfeasible: [area <= 1]\n"), {},
                   false)
          .status()
          .message(),
      HasSubstr("s.yaml:1:9: metric: the name 'violation' is what `feasible` is told under"));
}

TEST_F(ReadSpecFileTest, ReadsAFileAndKnowsItsFolder) {
  const auto spec = ReadSpecFile(Write("my-sweep.yaml", With("name", "")), {});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->name, "my-sweep");
  EXPECT_EQ(spec->base_dir, folder_.path());
  EXPECT_EQ(*spec->document.Find("name"), Value("my-sweep"));
}

TEST_F(ReadSpecFileTest, OverridesAreAppliedInOrderAndStored) {
  const auto spec = ReadSpecFile(Write("a.yaml", kCurve), {"samples=3", "samples=4", "mode=max"});
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  EXPECT_EQ(spec->samples, 4);
  EXPECT_EQ(spec->mode, Mode::kMax);
  EXPECT_EQ(*spec->document.Find("samples"), Value(4));
}

TEST_F(ReadSpecFileTest, AnOverrideIsBlamedByItsPath) {
  const std::string path = Write("a.yaml", kCurve);
  EXPECT_EQ(ReadSpecFile(path, {"seed=3", "limits.max_concurrent=0"}).status().message(),
            "--set limits.max_concurrent: read 0, expected an integer from 1 to "
            "10000");
  EXPECT_THAT(ReadSpecFile(path, {"space.x.uniform=[1, 0]"}).status().message(),
              testing::StartsWith("--set space.x.uniform: uniform: lo is 1"));
}

// A value of a list may be drawn first in the hundredth trial.
TEST_F(ReadSpecFileTest, ValuesThatTheTrainableCannotTakeAreToldWhereTheyStand) {
  const std::string space =
      "trainable: food11\nmetric: val_accuracy\nmode: max\nspace:\n  data: synthetic\n"
      "  batch_size: {choice: [16, 32, 0]}\n";
  const std::string path = Write("a.yaml", space);
  EXPECT_EQ(ReadSpecFile(path, {}).status().message(),
            path + ":6:3: trainable: batch_size: read 0, expected an integer from 2 to 4096");
  EXPECT_EQ(ReadSpecFile(path, {"space.batch_size=16", "space.device=tpu"}).status().message(),
            "--set space.device: trainable: device: read \"tpu\", expected one of cpu, cuda, auto");
  // A sweep that has begun goes on.
  EXPECT_TRUE(InterpretSpec(*ParseYaml(space), path, "/", true).ok());
}

TEST_F(ReadSpecFileTest, ErrorsBeginWithTheFileAndThePlace) {
  const std::string path = Write("a.yaml", With("mode", "mode: 3"));
  EXPECT_EQ(ReadSpecFile(path, {}).status().message(),
            path + ":4:7: mode: read 3, expected max or min");
  const std::string broken = Write("b.yaml", "a: [\n");
  EXPECT_THAT(ReadSpecFile(broken, {}).status().message(),
              testing::StartsWith(broken + ":2:1: not valid"));
}

TEST_F(ReadSpecFileTest, FilesThatCannotBeReadAreToldAsSuch) {
  const auto error = [](const std::string& path) {
    const auto spec = ReadSpecFile(path, {});
    EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument);
    return spec.status().message();
  };
  EXPECT_EQ(error(folder_ / "no.yaml"), folder_ / "no.yaml" + ": there is no such file");
  EXPECT_THAT(error(folder_.path()), HasSubstr("is a folder"));
  EXPECT_THAT(error(Write("empty.yaml", "")), HasSubstr("is empty"));
  EXPECT_THAT(error(Write("large.yaml", "a: 1\n#" + std::string(limits::kSpecBytesMax, 'x'))),
              HasSubstr("bytes; at most"));
  const std::string closed = Write("closed.yaml", kCurve);
  fs::permissions(closed, fs::perms::none);
  if (geteuid() == 0) return;  // root may read it all the same.
  EXPECT_THAT(error(closed), HasSubstr("cannot be read: Permission denied"));
}

constexpr std::string_view kPopulation =
    "metric: val_loss\nmode: min\ntrainable: food11\nscheduler: pbt\n"
    "space:\n  data: synthetic\n  lr: {loguniform: [0.0001, 0.1]}\n";

TEST(PopulationBasedTraining, IsRefusedBesideASearchThatLearns) {
  const std::string text(kPopulation);
  EXPECT_EQ(ErrorOf(text + "search: {algorithm: tpe}\n"),
            "f.yaml:8:21: search: tpe learns from trials that keep their configuration, but pbt "
            "changes it as they train; expected random, sobol or grid, or another scheduler");
  for (const char* name : {"gp", "bohb", "cmaes", "nsga2", "auto"}) {
    EXPECT_THAT(ErrorOf(text + "search: {algorithm: " + name + "}\n"),
                AllOf(HasSubstr("f.yaml:8:21: search: "), HasSubstr("pbt")));
  }
  Good(text);
  EXPECT_THAT(ErrorOf(text + "checkpoint: {async: true}\n"),
              HasSubstr("f.yaml:8:21: checkpoint: async is true, but pbt copies checkpoints at"));
  Good(text + "search: {algorithm: sobol}\n");
  Good(text + "search: {algorithm: random, unique: true}\n");
}

TEST(PopulationBasedTraining, ExploresOnlyWhatIsInTheSpaceAndCanChangeInTheMiddleOfTraining) {
  const auto exploring = [&](const std::string& names) {
    return Changed(kPopulation, "pbt", "{pbt: {hyperparam_mutations: [" + names + "]}}") +
           "  batch_size: {choice: [16, 32]}\n  width_mult: {uniform: [0.4, 1]}\n";
  };
  EXPECT_EQ(ErrorOf(exploring("lr, bach_size")),
            "f.yaml:4:46: hyperparam_mutations: 'bach_size' is not a parameter with a domain; did "
            "you mean 'batch_size'?");
  EXPECT_EQ(ErrorOf(exploring("lr, data")),
            "f.yaml:4:46: hyperparam_mutations: 'data' is not a parameter with a domain; known are "
            "lr, batch_size, width_mult");
  EXPECT_EQ(ErrorOf(exploring("lr, width_mult")),
            "f.yaml:4:46: hyperparam_mutations: food11 cannot change 'width_mult' in the middle of "
            "training");
  Good(exploring("lr, batch_size"));
  // Without names it is all of them.
  EXPECT_EQ(ErrorOf(std::string(kPopulation) + "  image_size: {choice: [32, 64]}\n"),
            "f.yaml:8:3: space: pbt changes each parameter with a domain, but food11 cannot change "
            "'image_size' in the middle of training; name in hyperparam_mutations those that may "
            "change");
  Good(std::string(kPopulation) + "  image_size: 64\n");
}

TEST(Examples, EachSpaceFileIsRead) {
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "run by ctest, or set it to the project's folder";
  int count = 0;
  for (const auto& entry : fs::recursive_directory_iterator(fs::path(root) / "examples")) {
    if (entry.path().extension() != ".yaml") continue;
    // Those are cluster files.
    if (entry.path().parent_path().filename() == "clusters") continue;
    ++count;
    const auto spec = ReadSpecFile(entry.path().string(), {});
    EXPECT_TRUE(spec.ok()) << spec.status().message();
  }
  EXPECT_GE(count, 2);
}

// Thousands of broken files: each is read or refused with one line, never more.
TEST(SpecMutations, AnyTextIsReadOrRefused) {
  static constexpr std::string_view kPieces[] = {"{",
                                                 "}",
                                                 "[",
                                                 "]",
                                                 ":",
                                                 ": ",
                                                 ",",
                                                 "\n",
                                                 "  ",
                                                 "- ",
                                                 "'",
                                                 "\"",
                                                 "&a ",
                                                 "*a",
                                                 "!!int ",
                                                 "#",
                                                 "|",
                                                 ">",
                                                 "null",
                                                 "-1",
                                                 "1e999",
                                                 ".nan",
                                                 "0x",
                                                 "{choice: []}",
                                                 "{uniform: [0, 1]}",
                                                 "\t",
                                                 "\xff",
                                                 "---\n",
                                                 "..."};
  KeyedRandom random(3, "spec mutations");
  int good = 0, bad = 0;
  for (int i = 0; i < 6000; ++i) {
    std::string text = kCurve;
    const uint64_t changes = 1 + random.NextBelow(4);
    for (uint64_t j = 0; j < changes && !text.empty(); ++j) {
      const size_t at = random.NextBelow(text.size());
      const size_t length = random.NextBelow(std::min<uint64_t>(12, text.size() - at) + 1);
      switch (random.NextBelow(4)) {
        case 0:
          text.erase(at, length);
          break;
        case 1:
          text.insert(at, kPieces[random.NextBelow(std::size(kPieces))]);
          break;
        case 2:
          text.insert(random.NextBelow(text.size() + 1), text.substr(at, length));
          break;
        default:
          text[at] = static_cast<char>(random.NextBelow(256));
      }
    }
    const Result<ExperimentSpec> spec = Interpret(text, false);
    if (spec.ok()) {
      ++good;
      const Result<Value> stored = ParseJson(ToJson(spec->document));
      ASSERT_TRUE(stored.ok()) << text;
      EXPECT_EQ(*stored, spec->document) << text;
      EXPECT_TRUE(InterpretSpec(*stored, "database", "", false).ok()) << text;
    } else {
      ++bad;
      EXPECT_EQ(spec.status().code(), StatusCode::kInvalidArgument) << text;
      EXPECT_EQ(spec.status().message().find('\n'), std::string::npos) << spec.status().message();
    }
  }
  EXPECT_GT(good, 100);
  EXPECT_GT(bad, 1000);
}

}  // namespace
}  // namespace tune
