// The sweeps of a head on a real database, without workers, with a clock that is set: for tests of
// how they come and go.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/check.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/tuner_parts.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/head/head_sweeps.h"
#include "tuner/provenance.h"

namespace tune {

// Of a sweep that the head's own worker could run.
inline constexpr char kHeadSweepSpec[] =
    R"({"name": "s", "metric": "value", "mode": "max", "samples": 2,
        "trainable": {"curve": {"value": "x"}}, "space": {"x": {"uniform": [0, 1]}}})";

class HeadSweepsTest : public ::testing::Test {
 protected:
  // `where`: a folder in the test's; empty: that itself.
  explicit HeadSweepsTest(const std::string& where = "")
      : db_path_(folder_ / (where.empty() ? "tune.db" : where + "/tune.db")) {
    local_.cpu_milli = 2 * kWholeMilli;
    WriteText(folder_ / "tune_trial", "");  // It is there, and is never run.
    std::filesystem::permissions(folder_ / "tune_trial", std::filesystem::perms::owner_all);
    if (where.empty()) Begin();
  }

  void Begin() {
    auto store = SqliteStore::Open(db_path_, Access::kCreate, clock_.now);
    TUNE_CHECK(store.ok());
    life_ = std::make_unique<Life>(*this, *std::move(store));
    const auto taken = EnlistRunning(artifacts_dir_, *life_->store, life_->controller);
    TUNE_CHECK(taken.ok());
    TUNE_CHECK(sweeps().TakeUp(*taken).ok());
  }
  // The head ends as by a kill, and begins another life.
  void BeginAgain() {
    life_.reset();
    Begin();
  }

  HeadSweeps& sweeps() { return life_->sweeps; }
  Instant& now() { return clock_.now; }

  Result<HeadDuties::Submitted> TrySubmit(const std::string& name,
                                          const std::string& spec = kHeadSweepSpec,
                                          Provenance provenance = {}) {
    Submission submission;
    submission.spec = spec;
    submission.base_dir = folder_.path();
    provenance.submission = std::to_string(++submission_count_);
    submission.provenance = EncodeProvenance(provenance);
    return sweeps().Submit(name, submission);
  }
  void Submit(const std::string& name, const std::string& spec = kHeadSweepSpec) {
    const auto submitted = TrySubmit(name, spec);
    ASSERT_TRUE(submitted.ok()) << submitted.status().message();
    EXPECT_EQ(submitted->name, name);
  }
  // From another machine, in a folder that came as the package `hash`.
  void SubmitWithPackage(const std::string& name, const std::string& hash) {
    std::filesystem::create_directories(artifacts_dir_ + "/packages");
    WriteText(artifacts_dir_ + "/packages/" + hash, "files");
    Provenance provenance;
    provenance.is_elsewhere = true;
    provenance.package = {hash, 5};
    const auto submitted = TrySubmit(name, kHeadSweepSpec, provenance);
    ASSERT_TRUE(submitted.ok()) << submitted.status().message();
  }
  // "other0", "other1", ..., each with a package of its name.
  void EndOthersWithPackages(int count) {
    for (int i = 0; i < count; ++i) {
      const std::string name = "other" + std::to_string(i);
      SubmitWithPackage(name, name);
      Take(name, StopRequested{std::nullopt, true});
    }
  }

  ExperimentId Find(const std::string& name) {
    for (const auto& [id, open] : life_->controller.sweeps()) {
      if (open.sweep.options().name == name) return id;
    }
    return {};
  }
  bool IsOpen(const std::string& name) { return Find(name) != ExperimentId(); }

  void Take(const std::string& name, const Event& event) {
    ASSERT_TRUE(life_->tuner.Take({HeadEvent{event, Find(name)}}).ok());
    LeaveEnded();
  }
  void LeaveEnded() {
    for (const EndOfExperiment& end : life_->tuner.TakeEnded()) sweeps().Leave(end);
  }
  // As a disk that takes no writes does it.
  void Interrupt(const std::string& name) {
    Take(name, InterruptRequested{});
    ASSERT_FALSE(IsOpen(name));
  }
  Result<std::vector<std::string>> Ask(ControlVerb verb, const std::string& name,
                                       std::vector<std::string> settings = {}) {
    ControlRequest request;
    request.verb = verb;
    request.sweep = name;
    request.settings = std::move(settings);
    return sweeps().DoAtRest(request);
  }
  void LookAfter(Duration time) {
    now() = now() + time;
    const Status looked = sweeps().Look();
    ASSERT_TRUE(looked.ok()) << looked.message();
  }

  TempFolder folder_;
  const std::string db_path_;
  const std::string artifacts_dir_ = ArtifactsDirOf(db_path_);
  const std::string program_dir_ = folder_.path();
  WorkerCapacity local_;
  RetentionRule keep_;
  testing::SetClock clock_;
  int submission_count_ = 0;

  struct Life {
    Life(HeadSweepsTest& test, std::unique_ptr<SqliteStore> opened)
        : store(std::move(opened)),
          artifacts(test.artifacts_dir_),
          controller(HeadOptions{Seconds(60), /*ends_with_sweeps=*/false}),
          doors(OpenDoors(test, queue)),
          tuner(Tuner::Parts{controller, *store, doors->gateway(), artifacts, test.clock_, queue,
                             /*witness=*/nullptr, /*outwaits_full_disk=*/true}),
          sweeps(HeadSweeps::Parts{test.db_path_, test.program_dir_, test.local_, *store,
                                   test.clock_, controller, *doors, tuner, queue, artifacts,
                                   test.keep_}) {}
    static std::unique_ptr<Doors> OpenDoors(HeadSweepsTest& test, EventQueue& queue) {
      auto doors = Doors::Open({.artifacts_dir = test.artifacts_dir_,
                                .kept_as = "/head",
                                .listen = "",
                                .token_validity = Seconds(60),
                                .has_local_worker = true},
                               test.clock_, queue);
      TUNE_CHECK(doors.ok());
      return *std::move(doors);
    }

    std::unique_ptr<SqliteStore> store;
    EventQueue queue;
    KeptArtifacts artifacts;
    Controller controller;
    std::unique_ptr<Doors> doors;
    Tuner tuner;
    HeadSweeps sweeps;
  };
  std::unique_ptr<Life> life_;
};

}  // namespace tune
