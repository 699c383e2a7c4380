// From the database to where the sweep was; and what is refused because it cannot be believed.
#include "tuner/recovery.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <cmath>

#include "tests/tuner/instant_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::HasSubstr;
using testing::InstantSweep;
using testing::kInstantBegin;
using ::testing::Not;
using testing::WriteInstantSweep;

Result<RecoveredExperiment> RecoverFrom(const TempFolder& folder) {
  TUNE_ASSIGN_OR_RETURN(const auto store,
                        SqliteStore::Open(folder / "tune.db", Access::kWrite, kInstantBegin));
  TUNE_ASSIGN_OR_RETURN(const auto experiments, store->ListExperiments());
  return Recover(experiments.at(0), folder / "tune.artifacts", *store);
}

// As somebody with the sqlite3 program would.
void Change(const TempFolder& folder, const std::string& sql) {
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open((folder / "tune.db").c_str(), &database), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(database, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(database);
  EXPECT_EQ(sqlite3_close(database), SQLITE_OK);
}

// A sweep of which the tuner is gone in the middle, after the change; what recovery says.
Status AfterChange(const std::string& sql) {
  const TempFolder folder(/*in_memory=*/true);
  InstantSweep sweep;
  sweep.steps_max = 60;
  WriteInstantSweep(sweep, folder.path());
  EXPECT_TRUE(RecoverFrom(folder).ok()) << RecoverFrom(folder).status().message();
  Change(folder, sql);
  return RecoverFrom(folder).status();
}

TEST(Recovery, IsWhereTheSweepWasAfterEachStep) {
  const TempFolder whole(/*in_memory=*/true);
  InstantSweep sweep;
  sweep.samples = 40;
  sweep.events_per_step = 3;
  sweep.scheduler = "{asha: {max_t: 10, grace_period: 1, reduction_factor: 2}}";
  const int64_t steps = WriteInstantSweep(sweep, whole.path()).steps;
  ASSERT_GT(steps, 30);
  for (sweep.steps_max = 1; sweep.steps_max <= steps; sweep.steps_max += 5) {
    const TempFolder folder(/*in_memory=*/true);
    const auto written = WriteInstantSweep(sweep, folder.path());
    const auto recovered = RecoverFrom(folder);
    ASSERT_TRUE(recovered.ok()) << recovered.status().message();
    EXPECT_EQ(recovered->last_step, sweep.steps_max);
    EXPECT_EQ(static_cast<int64_t>(recovered->controller->trials().size()), written.trials);
  }
}

TEST(Recovery, BelievesEveryValueThatATrialCanReport) {
  // SQLite keeps no negative zero.
  for (const double value : {0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan(""), 1e-310, 0.1}) {
    const TempFolder folder(/*in_memory=*/true);
    InstantSweep sweep;
    sweep.value = value;
    WriteInstantSweep(sweep, folder.path());
    const auto recovered = RecoverFrom(folder);
    EXPECT_TRUE(recovered.ok()) << value << ": " << recovered.status().message();
  }
}

TEST(Recovery, ARowThatIsNotWhatTheJournalLedToIsNamed) {
  const Status value = AfterChange("UPDATE trial_rows SET best_value = 0.125 WHERE number = 3");
  EXPECT_EQ(value.code(), StatusCode::kDataLoss);
  EXPECT_THAT(value.message(), HasSubstr("trial 3 has the best_value 0.125, the journal led to "));
  EXPECT_THAT(value.message(), HasSubstr("backup"));
  EXPECT_THAT(AfterChange("UPDATE trial_rows SET status = 'ERROR' WHERE number = 2").message(),
              HasSubstr("trial 2 has the status ERROR, the journal led to RUNNING"));
  EXPECT_THAT(AfterChange("UPDATE trial_rows SET stop_reason = 'user' WHERE number = 1").message(),
              HasSubstr("trial 1 has the stop_reason user, the journal led to none"));
  EXPECT_THAT(AfterChange("DELETE FROM trial_rows WHERE number = 9").message(),
              HasSubstr("there are 9 trials, the journal led to 10"));
}

TEST(Recovery, AStepOfTheJournalThatIsMissingOrChangedIsNamed) {
  const std::string step_7 = " WHERE id = (1 << 40) + 7";
  const Status missing = AfterChange("DELETE FROM journal_rows" + step_7);
  EXPECT_EQ(missing.code(), StatusCode::kDataLoss);
  EXPECT_THAT(missing.message(), HasSubstr("the journal's step 7 is missing"));
  for (const std::string change :
       {"events = replace(events, '1', '2')", "events = '[[\"d\"]]'", "events = 'x'",
        "at_us = at_us + 1", "checksum = checksum + 1"}) {
    const Status changed = AfterChange("UPDATE journal_rows SET " + change + step_7);
    EXPECT_EQ(changed.code(), StatusCode::kDataLoss) << change;
    EXPECT_THAT(changed.message(), HasSubstr("step 7 is not what was written")) << change;
  }
  EXPECT_THAT(AfterChange("DELETE FROM journal_rows WHERE id >= (1 << 40) + 55").message(),
              HasSubstr("the journal led to"));
}

TEST(Recovery, GoesOnFromAJournalOfAnOlderBuild) {
  for (const int64_t steps : {0, 1, 60}) {
    const TempFolder folder(/*in_memory=*/true);
    InstantSweep sweep;
    sweep.steps_max = steps;
    sweep.is_of_older_build = true;
    WriteInstantSweep(sweep, folder.path());
    auto older = RecoverFrom(folder);
    ASSERT_TRUE(older.ok()) << older.status().message();
    ASSERT_EQ(older->last_step, steps);
    {  // The first step of this build's, behind those.
      const auto store = SqliteStore::Open(folder / "tune.db", Access::kWrite, kInstantBegin);
      ASSERT_TRUE(store.ok());
      const Transition t = older->controller->Apply({TunerRestarted{}}, kInstantBegin);
      ASSERT_TRUE(
          (*store)
              ->Commit(ExperimentId{1}, {steps + 1, kInstantBegin, EncodeStream(t.stream)}, t)
              .ok());
      const auto workers = (*store)->ReadWorkers(ExperimentId{1});
      ASSERT_TRUE(workers.ok());
      ASSERT_EQ(workers->size(), steps == 0 ? 0u : 1u);
      EXPECT_EQ(steps == 60, steps > 0 && workers->front().has_reported);
    }
    const auto again = RecoverFrom(folder);
    ASSERT_TRUE(again.ok()) << again.status().message();
    EXPECT_EQ(again->last_step, steps + 1);
    const auto& trials = again->controller->trials();
    ASSERT_EQ(trials.size(), older->controller->trials().size());
    for (const TrialRecord& trial : trials) EXPECT_FALSE(trial.is_running());
  }
}

TEST(Recovery, AWorkerThatIsNotThereCannotHoldTrials) {
  const Status gone = AfterChange("UPDATE worker_rows SET state = 'left'");
  EXPECT_EQ(gone.code(), StatusCode::kDataLoss);
  EXPECT_THAT(gone.message(), HasSubstr("runs on worker 1, which is not there; the database was "
                                        "changed by other means"));
  EXPECT_THAT(AfterChange("UPDATE worker_rows SET state = 'asleep'").message(),
              HasSubstr("worker_rows holds the unknown state 'asleep'"));
  EXPECT_THAT(AfterChange("UPDATE worker_rows SET devices = '[1]'").message(),
              HasSubstr("the devices of a worker are not a list of devices"));
}

TEST(Recovery, OfAnotherVersionOfTheDecisionsIsRefused) {
  const Status status = AfterChange("UPDATE experiment_rows SET decision_version = 1000");
  EXPECT_EQ(status.code(), StatusCode::kFailedPrecondition);
  EXPECT_THAT(status.message(), HasSubstr("version 1000"));
}

TEST(Recovery, SweepOfAnOlderBuildKeepsTheSearchThatAutoTookThen) {
  const auto document = ParseYaml(
      "trainable: {curve: {values: {loss: x, cost: y}}}\nmetric: [loss, cost]\nmode: [min, min]\n"
      "search: {algorithm: auto}\nspace: {x: {uniform: [0, 1]}, y: {uniform: [0, 1]}}\n");
  ASSERT_TRUE(document.ok()) << document.status().message();
  const auto spec = InterpretSpec(*document, "space.yaml", "/", true);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  const auto searcher_of = [&spec](int64_t decision_version) {
    const auto parts = MakeSweepParts(*spec, 1, "space", "/artifacts", {}, decision_version);
    EXPECT_TRUE(parts.ok()) << parts.status().message();
    EXPECT_EQ(parts->options.decision_version, decision_version);
    return parts->searcher->DebugString();
  };
  EXPECT_THAT(searcher_of(12), Not(HasSubstr("gp")));
  EXPECT_THAT(searcher_of(13), HasSubstr("gp"));
}

TEST(Recovery, SweepOfAnOlderBuildKeepsTheRulesOfCombinedSchedulers) {
  const auto document = ParseYaml(
      "trainable: {curve: {value: x}}\nmetric: loss\nmode: max\nspace: {x: {uniform: [0, 1]}}\n"
      "scheduler: {combine: [{hyperband: {max_t: 3, reduction_factor: 3}}, {threshold: {upper: "
      "10}}]}\n");
  ASSERT_TRUE(document.ok()) << document.status().message();
  const auto spec = InterpretSpec(*document, "space.yaml", "/", true);
  ASSERT_TRUE(spec.ok()) << spec.status().message();
  // Whether trial 0 goes on when the best of its rung is stopped there.
  const auto goes_on = [&spec](int64_t decision_version) {
    const auto parts = MakeSweepParts(*spec, 1, "space", "/artifacts", {}, decision_version);
    EXPECT_TRUE(parts.ok()) << parts.status().message();
    TrialScheduler& scheduler = *parts->scheduler;
    for (int64_t n = 0; n < 3; ++n) scheduler.OnTrialAdded(TrialNumber{n});
    scheduler.OnNoMoreTrials();
    scheduler.OnReport(TrialNumber{0}, 1, 5);
    scheduler.OnReport(TrialNumber{1}, 1, 4);
    scheduler.OnReport(TrialNumber{2}, 1, 11);
    scheduler.OnTrialEnded(TrialNumber{2}, false);
    const std::vector<Order> orders = scheduler.TakeOrders();
    EXPECT_EQ(orders.size(), 2u);
    return !orders.empty() && orders[0].kind == Order::Kind::kResume;
  };
  EXPECT_FALSE(goes_on(13));
  EXPECT_TRUE(goes_on(14));
}

}  // namespace
}  // namespace tune
