// Sweeps whose trials train as lanes of one array: the database says what it says of the same sweep
// without lanes, whatever ends a lane or the process that they share. On the CPU.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <memory>

#include "tests/e2e/program.h"
#include "tests/sanitized.h"

namespace tune::testing {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Rows = std::vector<std::string>;

// Small trials of the classifier. `lanes`: "" or a line of the space.
std::string Space(const std::string& lanes, const std::string& epochs,
                  const std::string& more = "") {
  return "trainable: food11\nmetric: val_loss\nmode: min\nsamples: 4\nseed: 3\n" + more +
         "space:\n  data: synthetic\n  width_mult: 0.35\n  image_size: 32\n  batch_size: 32\n"
         "  lr: {loguniform: [0.0003, 0.01]}\n  dropout_probability: {uniform: [0.1, 0.6]}\n"
         "  initial_epochs: {choice: [0, 1, 2]}\n  patience: 100\n" +
         epochs + lanes;
}
constexpr char kLanes[] = "  lanes: 4\n";
constexpr char kShort[] = "  total_epochs: 4\n";
constexpr char kLong[] = "  total_epochs: 12\n";  // Time to do something to it.

// What was learned: all metrics but the times, each with all its digits, of the latest attempt that
// reported the iteration.
std::string Learned(const std::string& where = "1") {
  return "select t.number, r.iteration, json_remove(r.metrics, '$.epoch_seconds', "
         "'$.images_per_second', '$.lanes') from reports r join trials t on t.id = r.trial where " +
         where + " order by t.number, r.iteration, r.attempt";
}

int64_t MostLanes(const TestFolder& folder) {
  const Rows rows = Query(folder, "select max(json_extract(metrics, '$.lanes')) from reports");
  return static_cast<int64_t>(std::atof(rows.at(0).c_str()));
}

// What the sweep learns without lanes.
Rows LearnedAlone(const TestFolder& folder, const std::string& epochs) {
  const ProgramResult alone = RunTune(folder, {"run", folder.Write("alone.yaml", Space("", epochs)),
                                               "--cpus", "2", "--db", "alone.db"});
  EXPECT_EQ(alone.exit_status, 0) << alone.err;
  return Query(folder, Learned(), "alone.db");
}

// `tune plan` says how many would train as one, and how fast that was here.
void ExpectPlanned(const TestFolder& folder, const std::string& space) {
  const ProgramResult here = RunTune(folder, {"plan", space, "--cpus", "4"});
  EXPECT_EQ(here.exit_status, 0) << here.err;
  EXPECT_THAT(here.out, HasSubstr("lanes          up to 4 train as one of {\"batch_size\":32,"));
  EXPECT_THAT(here.out, HasSubstr(" as one: "));
  const ProgramResult elsewhere =
      RunTune(folder, {"plan", space, "--cpus", "2", "--db", "absent.db"});
  EXPECT_THAT(elsewhere.out, HasSubstr("lanes          up to 2 train as one"));
  EXPECT_THAT(elsewhere.out, HasSubstr("not measured yet"));
  EXPECT_FALSE(std::filesystem::exists(folder / "absent.db"));
  const ProgramResult json = RunTune(folder, {"plan", space, "--cpus", "4", "--format", "json"});
  EXPECT_THAT(json.out,
              HasSubstr("\"lanes_max\":4,\"lanes\":4,\"limit\":null,\"measured\":[{\"lanes\":"));
  const ProgramResult alone = RunTune(folder, {"plan", "alone.yaml", "--cpus", "4"});
  EXPECT_THAT(alone.out, Not(HasSubstr("lanes")));
}

TEST(Lanes, LearnWhatTheTrialsLearnAlone) {
  TestFolder folder;
  const Rows alone = LearnedAlone(folder, kShort);
  const std::string space = folder.Write("space.yaml", Space(kLanes, kShort));
  const ProgramResult fused = RunTune(folder, {"run", space, "--cpus", "4"});
  ASSERT_EQ(fused.exit_status, 0) << fused.err;
  EXPECT_EQ(alone.size(), 16u);
  EXPECT_EQ(Query(folder, Learned()), alone);
  EXPECT_GE(MostLanes(folder), 2);
  EXPECT_EQ(Query(folder, "select distinct outcome from attempts"), Rows{"completed"});
  ExpectPlanned(folder, space);
}

// Lanes are stopped at rungs, others join in their place: what was reported is what it is alone.
TEST(Lanes, AreStoppedAndReplacedByASchedulerWithoutATrace) {
  TestFolder folder;
  const std::string asha = "scheduler: {asha: {max_t: 4, reduction_factor: 2}}\n";
  const std::string space = folder.Write("space.yaml", Space(kLanes, kShort, asha));
  const ProgramResult fused = RunTune(folder, {"run", space, "--cpus", "3", "--samples", "8"});
  ASSERT_EQ(fused.exit_status, 0) << fused.err;
  EXPECT_GE(MostLanes(folder), 2);
  EXPECT_NE(Query(folder, "select count(*) from trials where stop_reason = 'scheduler'"),
            Rows{"0"});
  const ProgramResult alone =
      RunTune(folder, {"run", folder.Write("alone.yaml", Space("", kShort)), "--cpus", "1", "--db",
                       "alone.db", "--samples", "8"});
  ASSERT_EQ(alone.exit_status, 0) << alone.err;
  const Rows all = Query(folder, Learned("1"), "alone.db");
  for (const std::string& row : Query(folder, Learned())) {
    EXPECT_NE(std::find(all.begin(), all.end(), row), all.end()) << row;
  }
}

// A running sweep of four lanes, each of which has reported and has a checkpoint.
std::unique_ptr<Program> RunFused(const TestFolder& folder, const std::string& space) {
  auto tune = std::make_unique<Program>(
      folder, "tune",
      std::vector<std::string>{"run", folder.Write("space.yaml", space), "--cpus", "4"});
  EXPECT_TRUE(tune->WaitForText("sweep space"));
  WaitForRows(folder, "select count(distinct trial) from checkpoints", {"4"});
  return tune;
}

TEST(Lanes, ThatShareAProcessWhichIsKilledGoOnFromTheirCheckpoints) {
  TestFolder folder;
  const Rows alone = LearnedAlone(folder, kLong);
  const auto tune = RunFused(folder, Space(kLanes, kLong));
  const pid_t shared = ChildOf(ChildOf(tune->pid(), "tune_worker"), "tune_trial_food11");
  ASSERT_GT(shared, 0);
  ASSERT_EQ(kill(shared, SIGKILL), 0);
  const ProgramResult ended = tune->Wait();
  EXPECT_EQ(ended.exit_status, 0) << ended.err;
  EXPECT_EQ(Query(folder, Learned("not exists (select 1 from reports l where l.trial = r.trial and "
                                  "l.iteration = r.iteration and l.attempt > r.attempt)")),
            alone);
  EXPECT_EQ(Query(folder, "select distinct outcome from attempts where number = 1"), Rows{"lost"});
  EXPECT_EQ(Query(folder,
                  "select count(*) from attempts where number = 2 and from_iteration > 0 "
                  "and outcome = 'completed'"),
            Rows{"4"});
}

TEST(Lanes, OneThatIsStoppedByAPersonLeavesTheOthersAlone) {
  TestFolder folder;
  const Rows alone = LearnedAlone(folder, kLong);
  const auto tune = RunFused(folder, Space(kLanes, kLong));
  const pid_t shared = ChildOf(ChildOf(tune->pid(), "tune_worker"), "tune_trial_food11");
  EXPECT_TRUE(Succeeded(RunTune(folder, {"stop", "--trial", "1", "--now"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"stop", "--trial", "2"})));
  const ProgramResult ended = tune->Wait();
  EXPECT_EQ(ended.exit_status, 0) << ended.err;
  EXPECT_EQ(Query(folder, "select number from trials where stop_reason = 'user' order by number"),
            (Rows{"1", "2"}));
  EXPECT_EQ(Query(folder, "select count(*) from attempts"), Rows{"4"})
      << "in one process " << shared;
  Rows others;
  for (const std::string& row : alone) {
    if (row[0] == '0' || row[0] == '3') others.push_back(row);
  }
  EXPECT_EQ(Query(folder, Learned("t.number in (0, 3)")), others);
}

// Told to end in the midst of an epoch, each saves what no checkpoint holds and reports it; no
// epoch is trained twice.
TEST(Lanes, GoOnAfterAnInterruptWhereTheyWere) {
  TestFolder folder;
  const Rows alone = LearnedAlone(folder, kLong);
  const std::string seldom = "checkpoint: {every: 5}\n";
  folder.Write("space.yaml", Space(kLanes, kLong, seldom));
  {
    Program tune(folder, "tune", {"run", "space.yaml", "--cpus", "4"});
    ASSERT_TRUE(tune.WaitForText("sweep space"));
    WaitForRows(folder, "select count(distinct trial) from reports where iteration > 1", {"4"});
    tune.Signal(SIGTERM);
    EXPECT_EQ(tune.Wait().exit_status, 143);
  }
  const ProgramResult resumed = RunTune(folder, {"resume", "--cpus", "4"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(Query(folder, Learned()), alone);
  EXPECT_EQ(Query(folder, "select distinct outcome from attempts where number = 1"),
            Rows{"preempted"});
}

// Each is charged for its own want of memory alone, whoever it shared a process with.
TEST(Lanes, ThatHaveTooLittleMemoryAreChargedAlone) {
  if (kIsSanitized) GTEST_SKIP() << "a sanitizer speaks of memory in its own words";
  TestFolder folder;
  const std::string little = "resources: {cpu: 1, memory: 256MiB}\n";
  folder.Write("space.yaml", Space(kLanes, kShort, little));
  const ProgramResult result =
      RunTune(folder, {"run", "space.yaml", "--cpus", "2", "--samples", "2", "--set",
                       "space.image_size=128", "--set", "space.batch_size=512"});
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_EQ(Query(folder,
                  "select t.number, count(*) from attempts a join trials t on t.id = "
                  "a.trial where outcome = 'out_of_memory' group by 1 order by 1"),
            (Rows{"0|1", "1|1"}));
  EXPECT_EQ(Query(folder,
                  "select count(*) from attempts where outcome not in ('out_of_memory', "
                  "'lost')"),
            Rows{"0"});
}

// A file of weights that are no numbers: the trial that starts from it ends with its first epoch.
TEST(Lanes, OneWhoseLossIsNoNumberHurtsItselfAlone) {
  TestFolder folder;
  const std::string small =
      "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 1\nseed: 3\n"
      "space:\n  data: synthetic\n  width_mult: 0.35\n  image_size: 32\n  total_epochs: 1\n";
  ASSERT_TRUE(Succeeded(RunTune(
      folder, {"run", folder.Write("first.yaml", small), "--cpus", "1", "--db", "first.db"})));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"best", "--export", "good", "--db", "first.db"})));
  std::filesystem::copy(folder / "good", folder / "bad");
  {
    std::fstream file(folder / "bad/model.safetensors",
                      std::ios::in | std::ios::out | std::ios::binary);
    file.seekp(-4, std::ios::end);  // The last number of the last tensor, which is the bias.
    const float nothing = std::nanf("");
    file.write(reinterpret_cast<const char*>(&nothing), sizeof nothing);
  }
  const std::string grid =
      "trainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 4\nseed: 3\n"
      "search: {algorithm: grid}\nspace:\n  data: synthetic\n  width_mult: 0.35\n"
      "  image_size: 32\n  total_epochs: 3\n  initial_epochs: 1\n"
      "  weights: {choice: [good/model.safetensors, bad/model.safetensors]}\n"
      "  lr: {choice: [0.001, 0.002]}\n";
  for (const auto& [name, lanes] : {std::pair("alone", ""), std::pair("fused", kLanes)}) {
    const ProgramResult result =
        RunTune(folder, {"run", folder.Write(name + std::string(".yaml"), grid + lanes), "--cpus",
                         "4", "--db", name + std::string(".db")});
    EXPECT_EQ(result.exit_status, 0) << result.err;
  }
  const Rows alone = Query(folder, Learned(), "alone.db");
  EXPECT_EQ(alone.size(), 8u) << "two trials of three epochs and two of one";
  EXPECT_EQ(Query(folder, Learned(), "fused.db"), alone);
}

// The lab's sweep in small: shares of devices that are only counted, two shapes.
TEST(Lanes, ShareDevicesOnWhichOnlyOneShapeFuses) {
  TestFolder folder;
  const std::string space =
      "name: food11\ntrainable: food11\nmetric: val_accuracy\nmode: max\nsamples: 6\nseed: 7\n"
      "space:\n  data: synthetic\n  width_mult: 0.35\n  image_size: 32\n  lanes: 2\n"
      "  batch_size: {choice: [32, 64]}\n  dropout_probability: {uniform: [0.1, 0.8]}\n"
      "  lr: 1.0e-3\n  fine_tune_lr: 1.0e-4\n  initial_epochs: 1\n  total_epochs: 4\n"
      "search: {algorithm: random}\n"
      "scheduler: {asha: {max_t: 4, grace_period: 1, reduction_factor: 2}}\n"
      "resources: {cpu: 1, gpu: 0.5}\nfailure: {max_failures: 2}\n";
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", space), "--cpus", "4", "--gpus", "2"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select count(*) from trials where status = 'TERMINATED'"), Rows{"6"});
  EXPECT_EQ(MostLanes(folder), 2);
  EXPECT_EQ(Query(folder, "select count(*) from attempts"), Rows{"6"});
}

}  // namespace
}  // namespace tune::testing
