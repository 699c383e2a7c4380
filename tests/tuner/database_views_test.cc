// What is promised of the views of a database, on which scripts rely.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"

namespace tune {
namespace {

using testing::ElementsAre;

std::string JoinedColumns(const std::string& path, const std::string& view) {
  std::string joined;
  for (const std::string& name :
       Query(path, "SELECT name FROM pragma_table_info('" + view + "') ORDER BY cid")) {
    joined += (joined.empty() ? "" : ", ") + name;
  }
  return joined;
}

TEST(Views, HaveTheColumnsThatScriptsRelyOn) {
  const TempFolder folder;
  WriteSampleSweep(*OpenStore(folder / "tune.db"), "s");
  const auto begins = [&](const char* view, const std::string& columns) {
    EXPECT_EQ(JoinedColumns(folder / "tune.db", view).substr(0, columns.size()), columns) << view;
  };
  begins("experiments",
         "id, name, metric, mode, status, seed, samples, spec, created_at, finished_at");
  begins("trials",
         "id, experiment, number, status, stop_reason, config, iterations, last_value, best_value,"
         " best_iteration, attempts, created_at, started_at, finished_at, run_seconds");
  begins("params", "trial, name, value");
  begins("reports", "trial, attempt, iteration, value, metrics, reported_at");
  begins("decisions", "trial, iteration, decision, scheduler, rung, cutoff, rank, count");
  begins("attempts",
         "trial, number, worker, outcome, error, from_iteration, started_at, finished_at");
  begins("checkpoints", "trial, iteration, path, bytes, checksum, state");
  begins("workers", "id, address, cpus, gpus, state, joined_at, last_seen_at");
}

TEST(Views, ShowASweepAsItWasWritten) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  WriteSampleSweep(*OpenStore(path), "s");
  EXPECT_THAT(
      Query(path,
            "SELECT id, name, metric, mode, status, seed, samples, json_extract(spec, '$.name'),"
            " created_at, finished_at FROM experiments"),
      ElementsAre("1|s|val_accuracy|max|RUNNING|7|4|s|2026-11-21T09:30:00.125Z|-"));
  EXPECT_THAT(
      Query(path,
            "SELECT id, experiment, number, status, stop_reason, iterations, last_value,"
            " best_value, best_iteration, attempts, run_seconds FROM trials ORDER BY number"),
      ElementsAre("1|1|0|TERMINATED|max_t|2|0.75|0.75|2|2|15.0",
                  "2|1|1|TERMINATED|scheduler|1|0.25|0.25|1|1|15.0", "3|1|2|ERROR|-|1|-|-|-|1|15.0",
                  "4|1|3|RUNNING|-|1|0.5|0.5|1|1|15.0"));
  EXPECT_THAT(
      Query(path,
            "SELECT config, created_at, started_at, finished_at FROM trials WHERE number = 0"),
      ElementsAre(R"({"lr":0.1,"batch_size":32,"optimizer":{"kind":"adam"},"augment":true}|)"
                  "2026-11-21T09:30:00.125Z|2026-11-21T09:30:05.125Z|2026-11-21T09:30:20.125Z"));
  EXPECT_THAT(Query(path, "SELECT trial, name, value, typeof(value) FROM params WHERE trial = 2"),
              ElementsAre("2|lr|0.2|real", "2|batch_size|64|integer",
                          "2|optimizer/kind|sgd, \"plain\"|text", "2|augment|1|integer"));
  EXPECT_THAT(
      Query(path,
            "SELECT trial, attempt, iteration, value, metrics, reported_at FROM reports WHERE "
            "trial = 1"
            " ORDER BY attempt, iteration"),
      ElementsAre(R"(1|1|1|0.5|{"val_accuracy":0.5,"val_loss":0.5}|2026-11-21T09:30:11.125Z)",
                  R"(1|2|1|0.5|{"val_accuracy":0.5,"val_loss":0.5}|2026-11-21T09:30:11.125Z)",
                  R"(1|2|2|0.75|{"val_accuracy":0.75,"val_loss":0.25,"test_accuracy":0.7}|)"
                  "2026-11-21T09:30:12.125Z"));
  EXPECT_THAT(
      Query(path,
            "SELECT trial, iteration, decision, scheduler, rung, cutoff, rank, count FROM decisions"
            " ORDER BY trial, iteration"),
      ElementsAre("1|1|continue|asha|1|0.4|1|1", "1|2|stop|asha|2|0.7|1|1",
                  "2|1|stop|asha|1|0.375|2|2", "3|1|continue|asha|-|-|-|-",
                  "4|1|continue|asha|1|0.5|1|3"));
  EXPECT_THAT(
      Query(path,
            "SELECT trial, number, worker, outcome, error, from_iteration, started_at, finished_at"
            " FROM attempts WHERE trial IN (1, 4) ORDER BY trial, number"),
      ElementsAre("1|1|1|crashed|it fell over|0|2026-11-21T09:30:05.125Z|2026-11-21T09:30:20.125Z",
                  "1|2|1|stopped|-|0|2026-11-21T09:30:05.125Z|2026-11-21T09:30:20.125Z",
                  "4|1|1|running|-|0|2026-11-21T09:30:05.125Z|-"));
  EXPECT_THAT(Query(path,
                    "SELECT trial, iteration, path, bytes, checksum, state FROM checkpoints ORDER "
                    "BY iteration"),
              ElementsAre("1|1|/a/s/0/checkpoint_1|100|00ff|removed",
                          "1|2|/a/s/0/checkpoint_2|100|00fe|durable"));
  EXPECT_THAT(
      Query(path, "SELECT id, address, cpus, gpus, state, joined_at, last_seen_at FROM workers"),
      ElementsAre(
          "1|127.0.0.1:4000|2.5|1|alive|2026-11-21T09:30:01.125Z|2026-11-21T09:30:30.125Z"));
}

TEST(Views, AnswerTheQueryOfTheReadme) {
  const TempFolder folder;
  WriteSampleSweep(*OpenStore(folder / "tune.db"), "s");
  EXPECT_THAT(Query(folder / "tune.db",
                    "select number, status, stop_reason, iterations, best_value from trials order "
                    "by best_value desc"),
              ElementsAre("0|TERMINATED|max_t|2|0.75", "3|RUNNING|-|1|0.5",
                          "1|TERMINATED|scheduler|1|0.25", "2|ERROR|-|1|-"));
}

TEST(Views, AValueThatIsNotFiniteIsNullAndItsMetricsAreKept) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const StoredExperiment experiment = WriteSampleSweep(*store, "s");
    Transition rows;
    rows.reports = {SampleReport(1, 1, 2, std::numeric_limits<double>::infinity())};
    ASSERT_TRUE(store->Commit(experiment.id, {3, kSampleStart, "[]"}, rows).ok());
  }
  EXPECT_THAT(
      Query(path,
            "SELECT value, metrics FROM reports WHERE trial IN (2, 3) ORDER BY trial, iteration"),
      ElementsAre(R"(0.25|{"val_accuracy":0.25,"val_loss":0.75})",
                  R"(-|{"val_accuracy":"Infinity","val_loss":"-Infinity"})",
                  R"(-|{"val_accuracy":"NaN","val_loss":"NaN"})"));
}

TEST(Views, ASeedOfAllBitsIsShownAsItWasGiven) {
  const TempFolder folder;
  const std::string path = folder / "tune.db";
  NewExperiment experiment = SampleExperiment("s");
  experiment.seed = std::numeric_limits<uint64_t>::max();
  {
    const auto store = OpenStore(path);
    ASSERT_TRUE(store->CreateExperiment(experiment).ok());
    EXPECT_EQ(store->ListExperiments()->at(0).seed, experiment.seed);
  }
  EXPECT_THAT(Query(path, "SELECT seed FROM experiments"), ElementsAre("18446744073709551615"));
}

TEST(Views, OddNamesAreOnlyText) {
  const TempFolder folder;
  const std::string path = folder / "t'; DROP TABLE x; -- ?#%41.db";
  const std::string odd = "Robert'); DROP TABLE trial_rows;-- \"\\ \xc3\xa9";
  {
    const auto store = OpenStore(path);
    NewExperiment experiment = SampleExperiment(odd);
    experiment.spec = R"({"scheduler":"fifo"})";
    const auto stored = store->CreateExperiment(experiment);
    ASSERT_TRUE(stored.ok()) << stored.status().message();
    Transition rows;
    NewTrialRow trial = SampleTrial(0);
    trial.configuration.Set("it's \"a\" [name]", odd);
    rows.new_trials = {trial};
    rows.reports = {SampleReport(0, 1, 1, 0.5)};
    rows.reports[0].metrics.emplace_back(odd, 1.0);
    ASSERT_TRUE(store->Commit(stored->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  EXPECT_THAT(folder.List(), ElementsAre("t'; DROP TABLE x; -- ?#%41.db"));
  EXPECT_THAT(Query(path, "SELECT name FROM experiments"), ElementsAre(odd));
  EXPECT_THAT(Query(path, "SELECT value FROM params WHERE name = 'it''s \"a\" [name]'"),
              ElementsAre(odd));
  EXPECT_THAT(Query(path, "SELECT k.key FROM reports, json_each(metrics) AS k WHERE k.value = 1.0"),
              ElementsAre(odd));
}

}  // namespace
}  // namespace tune
