// Explaining and keeping in order, with the real programs.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

const std::string kSpace = CurveSweep("    iterations: 9\n", std::string("samples: 8\n") + kAsha);

// A path of the database, below the artifacts folder of `db`.
std::string Below(const TestFolder& folder, const std::string& db, const std::string& path) {
  const std::string stem = db.substr(0, db.rfind('.'));
  return folder / (stem + path.substr(path.find(".artifacts")));
}

// With real checkpoints.
const std::string kWithCheckpoints =
    CurveSweep("    iterations: 9\n    seconds: 0.02\n    checkpoint_bytes: 50000\n",
               std::string("samples: 12\nlimits: {max_concurrent: 1}\n") + kAsha);

TEST(Why, ExplainsATrialOfARealSweep) {
  TestFolder folder;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", folder.Write("space.yaml", kSpace)})));
  const std::vector<std::string> stopped =
      Query(folder, "select number from trials where stop_reason = 'scheduler' order by number");
  ASSERT_FALSE(stopped.empty());
  const ProgramResult why = RunTune(folder, {"why", "space/" + stopped[0]});
  EXPECT_EQ(why.exit_status, 0) << why.err;
  EXPECT_NE(why.out.find("stopped by asha at rung"), std::string::npos) << why.out;
}

TEST(Provenance, AResumeSaysWhatIsNotAsItWas) {
  TestFolder folder;
  const std::string git = "git -C '" + folder.path() + "' -c user.name=a -c user.email=a@b ";
  if (std::system((git + "init -q 2>/dev/null").c_str()) != 0) GTEST_SKIP() << "no git here";
  const std::string space = folder.Write("space.yaml", kSpace);
  ASSERT_EQ(std::system((git + "add space.yaml && " + git + "commit -q -m first").c_str()), 0);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  EXPECT_EQ(Query(folder,
                  "select length(json_extract(provenance, '$.git.commit')), json_extract("
                  "provenance, '$.git.dirty') from experiments"),
            std::vector<std::string>{"40|0"});

  const ProgramResult same = RunTune(folder, {"resume", "--samples", "9"});
  EXPECT_EQ(same.exit_status, 0) << same.err;
  EXPECT_EQ(same.err.find("warning"), std::string::npos) << same.err;

  folder.Write("space.yaml", kSpace + "# changed\n");
  const ProgramResult changed = RunTune(folder, {"resume", "--samples", "10"});
  EXPECT_EQ(changed.exit_status, 0) << changed.err;
  EXPECT_NE(changed.err.find("warning: changed since space began: git: was "), std::string::npos)
      << changed.err;
  EXPECT_NE(changed.err.find("with uncommitted changes"), std::string::npos) << changed.err;
}

TEST(Provenance, TrialsThatBeginAfterAnEditOfARunningSweepAreInDoubt) {
  TestFolder folder;
  folder.Write("model.py", "def loss(x):\n    return x * x\n");
  // The first trial edits; of the many others most begin after the tuner has looked.
  folder.Write("train.py",
               "import model, os, sys\n"
               "print('loss:', model.loss(float(sys.argv[1])), flush=True)\n"
               "if os.environ['TUNE_TRIAL'] == '0':\n"
               "    open('model.py', 'a').write('# edited\\n')\n");
  const std::string space =
      folder.Write("space.yaml",
                   "trainable:\n  command: [python3, train.py, '{x}']\n"
                   "  metrics: {loss: {regex: 'loss: {number}'}}\n"
                   "metric: loss\nmode: min\nseed: 7\nspace: {x: {uniform: [0, 1]}}\n");
  const ProgramResult result =
      RunTune(folder, {"run", space, "--samples", "60", "--max-concurrent", "1"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_NE(result.out.find("runs what was changed since the sweep began"), std::string::npos)
      << result.out;
  EXPECT_NE(result.out.find("model.py: was of hash"), std::string::npos) << result.out;
}

TEST(Provenance, TrialsThatRunAChangedProgramAreInDoubtUntilItIsAsItWas) {
  TestFolder folder;
  const std::string script = "import model, sys\nprint('loss:', model.loss(float(sys.argv[1])))\n";
  const std::string model = "def loss(x):\n    return x * x\n";
  folder.Write("train.py", script);
  folder.Write("model.py", model);
  const std::string space =
      folder.Write("space.yaml",
                   "trainable:\n  command: [python3, train.py, '{x}']\n"
                   "  metrics: {loss: {regex: 'loss: {number}'}}\n"
                   "metric: loss\nmode: min\nseed: 7\nspace: {x: {uniform: [0, 1]}}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space, "--samples", "2"})));
  folder.Write("model.py", "def loss(x):\n    return x * x - 1\n");
  const ProgramResult changed = RunTune(folder, {"resume", "--samples", "4"});
  EXPECT_EQ(changed.exit_status, 0) << changed.err;
  EXPECT_NE(changed.out.find("trial 2 runs what was changed since the sweep began, so that its "
                             "values may not compare with those of before: model.py: was of hash "),
            std::string::npos)
      << changed.out << changed.err;
  EXPECT_NE(changed.out.find("1 more trial alike"), std::string::npos) << changed.out;
  folder.Write("model.py", model);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume", "--samples", "5"})));
  EXPECT_EQ(
      Query(folder,
            "select number from notes join trials on trials.id = notes.trial order by number"),
      (std::vector<std::string>{"2", "3"}));
}

TEST(Backup, TakenWhileASweepRunsGoesOnToTheSameAnswer) {
  TestFolder folder;
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", kWithCheckpoints)});
  ASSERT_TRUE(tune.WaitForText("ended"));
  const ProgramResult backup = RunTune(folder, {"backup", "copy.db"});
  ASSERT_EQ(backup.exit_status, 0) << backup.err;
  EXPECT_EQ(backup.err, "");
  ASSERT_TRUE(Succeeded(tune.Wait()));
  ASSERT_EQ(Query(folder, "select count(*) from trials where status = 'TERMINATED'"),
            std::vector<std::string>{"12"});

  const std::string durable = "select path from checkpoints where state = 'durable'";
  const std::vector<std::string> copied = Query(folder, durable, "copy.db");
  EXPECT_FALSE(copied.empty());
  for (const std::string& path : copied) {
    EXPECT_TRUE(std::filesystem::exists(Below(folder, "copy.db", path))) << path;
  }
  const ProgramResult resumed = RunTune(folder, {"resume", "--db", "copy.db"});
  ASSERT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(resumed.err.find("warning"), std::string::npos) << resumed.err;
  EXPECT_EQ(FinalTable(folder, "copy.db"), FinalTable(folder));
  // What the copy's tuner gave up, it removed of the copy.
  for (const std::string& path :
       Query(folder, "select path from checkpoints where state = 'removed'", "copy.db")) {
    EXPECT_FALSE(std::filesystem::exists(Below(folder, "copy.db", path))) << path;
  }
  for (const std::string& path : Query(folder, durable)) {
    EXPECT_TRUE(std::filesystem::exists(path)) << path;
  }
}

TEST(Gc, AfterAKillTakesNothingThatAResumeNeeds) {
  TestFolder folder;
  Program tune(folder, "tune", {"run", folder.Write("space.yaml", kWithCheckpoints)});
  ASSERT_TRUE(tune.WaitForText("ended"));
  tune.Signal(SIGKILL);
  EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
  EXPECT_TRUE(std::filesystem::exists(folder / "tune.db.lock"));

  const ProgramResult gc = RunTune(folder, {"gc"});
  EXPECT_EQ(gc.exit_status, 0) << gc.err;
  EXPECT_NE(gc.err.find("freed "), std::string::npos) << gc.err;
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"space.yaml", "tune.artifacts", "tune.db"}));
  const ProgramResult resumed = RunTune(folder, {"resume"});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_EQ(FinalTable(folder), UndisturbedTable(kWithCheckpoints));
}

TEST(Gc, LeavesAPersonsLinkToArtifactsElsewhere) {
  TestFolder folder;
  std::filesystem::create_directory(folder / "big");
  std::filesystem::create_directory_symlink("big", folder / "tune.artifacts");
  const std::string space = folder.Write("space.yaml", kWithCheckpoints);
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space, "--samples", "2"})));
  EXPECT_TRUE(Succeeded(RunTune(folder, {"gc"})));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "tune.artifacts"));
  ASSERT_TRUE(Succeeded(RunTune(folder, {"resume", "--samples", "3"})));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "tune.artifacts"));
  const ProgramResult best = RunTune(folder, {"best", "--export", "best"});
  EXPECT_EQ(best.exit_status, 0) << best.err;
  ASSERT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
  EXPECT_TRUE(std::filesystem::is_symlink(folder / "tune.artifacts"));
}

TEST(Results, TakeParametersWhoseNamesDifferInCaseAlone) {
  TestFolder folder;
  const std::string space =
      folder.Write("space.yaml",
                   "trainable: {curve: {value: n, iterations: 2}}\nmetric: acc\nmode: max\n"
                   "space: {n: {choice: [1]}, N: {choice: [2]}, Status: {choice: [3]}}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  const ProgramResult found =
      RunTune(folder, {"results", "--where", "n = 1 and \"param.N\" = 2 and \"param.Status\" = 3",
                       "--sort", "N", "--format", "csv", "--columns", "number"});
  EXPECT_EQ(found.exit_status, 0) << found.err;
  EXPECT_NE(found.out.find("\n0\n"), std::string::npos) << found.out;
  const ProgramResult mistyped = RunTune(folder, {"results", "--where", "\"param.M\" > 1"});
  EXPECT_EQ(mistyped.exit_status, 2) << "a name in double quotes is no text: " << mistyped.out;
  EXPECT_EQ(RunTune(folder, {"results", "--sql", "select \"bestvalue\" from trials"}).exit_status,
            2);
  const ProgramResult none = RunTune(folder, {"results", "--where", "nothing = 1"});
  EXPECT_EQ(none.exit_status, 2);
  EXPECT_NE(none.err.find("param.N"), std::string::npos) << none.err;
}

TEST(Doctor, FindsARealSweepWholeAndNamesWhatIsNot) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kSpace + "failure: {max_failures: 50}\n");
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space, "--set", "trainable.curve.crash=0.1"})));
  const ProgramResult well = RunTune(folder, {"doctor"});
  EXPECT_EQ(well.exit_status, 0) << well.out << well.err;
  EXPECT_NE(well.out.find("comes to the same trials"), std::string::npos) << well.out;
  EXPECT_EQ(folder.Names(), (std::vector<std::string>{"space.yaml", "tune.db"}));

  const auto change = [&](const std::string& sql) {
    const std::string command = "sqlite3 '" + (folder / "tune.db") + "' \"" + sql + "\"";
    ASSERT_EQ(std::system(command.c_str()), 0);
  };
  change("update report_rows set metrics = replace(metrics, ':', ':7') where rowid = 3");
  const ProgramResult metrics = RunTune(folder, {"doctor"});
  EXPECT_EQ(metrics.exit_status, 1);
  EXPECT_NE(metrics.out.find("the table says metrics={"), std::string::npos) << metrics.out;
  change("update report_rows set metrics = replace(metrics, ':7', ':') where rowid = 3");
  change("update report_rows set cutoff = cutoff + 1 where cutoff is not null");
  const ProgramResult decision = RunTune(folder, {"doctor"});
  EXPECT_EQ(decision.exit_status, 1);
  EXPECT_NE(decision.out.find("the table says cutoff="), std::string::npos) << decision.out;
  change("update report_rows set cutoff = cutoff - 1 where cutoff is not null");
  change("delete from journal_rows where id = (select min(id) + 3 from journal_rows)");
  const ProgramResult gap = RunTune(folder, {"doctor"});
  EXPECT_EQ(gap.exit_status, 1);
  EXPECT_NE(gap.out.find("  the journal's step 4 is missing"), std::string::npos) << gap.out;
}

TEST(Doctor, LooksAtADatabaseThatATunerWritesTo) {
  TestFolder folder;
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", kSpace), "--samples", "1000", "--set",
                "trainable.curve.seconds=0.01"});
  ASSERT_TRUE(tune.WaitForText("ended"));
  const ProgramResult doctor = RunTune(folder, {"doctor"});
  EXPECT_EQ(doctor.exit_status, 0) << doctor.out << doctor.err;
  EXPECT_NE(doctor.out.find("pid " + std::to_string(tune.pid())), std::string::npos) << doctor.out;
  EXPECT_NE(doctor.out.find("comes to the same trials"), std::string::npos) << doctor.out;
  tune.Signal(SIGTERM);
  EXPECT_EQ(tune.Wait().exit_status, 143);
}

TEST(Delete, OfALivingSweepNamesItsTunerAndOfAnEndedOneLeavesNothing) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kSpace + "limits: {max_concurrent: 1}\n");
  Program tune(folder, "tune",
               {"run", space, "--samples", "1000", "--set", "trainable.curve.seconds=0.02"});
  ASSERT_TRUE(tune.WaitForText("ended"));
  const ProgramResult refused = RunTune(folder, {"delete", "space", "--yes"});
  EXPECT_EQ(refused.exit_status, 1);
  EXPECT_NE(refused.err.find("pid " + std::to_string(tune.pid())), std::string::npos)
      << refused.err;
  tune.Signal(SIGTERM);
  EXPECT_EQ(tune.Wait().exit_status, 143);
  const ProgramResult unsure = RunTune(folder, {"delete", "space"});
  EXPECT_EQ(unsure.exit_status, 2);
  EXPECT_NE(unsure.err.find("--yes"), std::string::npos) << unsure.err;
  const ProgramResult deleted = RunTune(folder, {"delete", "space", "--yes"});
  EXPECT_EQ(deleted.exit_status, 0) << deleted.err;
  EXPECT_EQ(Query(folder, "select count(*) from experiments"), std::vector<std::string>{"0"});
  // The name is free again.
  ASSERT_TRUE(Succeeded(RunTune(folder, {"run", space})));
  EXPECT_EQ(Query(folder, "select name from experiments"), std::vector<std::string>{"space"});
}

}  // namespace
}  // namespace tune::testing
