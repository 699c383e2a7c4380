// tune doctor: what it makes of what it measures, and what it finds in databases.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>

#include "tests/tuner/sample_sweep.h"
#include "tests/tuner/temp_folder.h"
#include "tuner/cli/keep/cgroup_limits.h"
#include "tuner/cli/keep/database_check.h"
#include "tuner/cli/keep/doctor_command.h"
#include "tuner/cli/keep/machine_check.h"
#include "tuner/cli/keep/stored_ask_tell.h"
#include "tuner/row_lines.h"
#include "tuner/sqlite/stored_lines.h"

namespace tune {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::Contains;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::StartsWith;

testing::Matcher<Finding> Found(FindingState state, const std::string& item,
                                const std::string& what) {
  return AllOf(Field(&Finding::state, state), Field(&Finding::item, item),
               Field(&Finding::what, HasSubstr(what)));
}

// ---- control groups

void WriteGroup(const std::string& path, const std::string& name, const std::string& text) {
  fs::create_directories(path);
  WriteText(path + "/" + name, text);
}

TEST(CgroupLimits, OfVersionTwoTheLowestOfTheGroupAndThoseAboveItCounts) {
  TempFolder root;
  WriteGroup(root / "a/b", "cpu.max", "400000 100000\n");
  WriteGroup(root / "a", "cpu.max", "150000 100000\n");
  WriteGroup(root / "a/b", "memory.max", "max\n");
  WriteGroup(root / "a", "memory.max", "4000000000\n");
  const CgroupLimits limits = ReadCgroupLimits("0::/a/b\n", root.path());
  EXPECT_EQ(limits.cpus, 1.5);
  EXPECT_EQ(limits.memory_bytes, 4'000'000'000);
}

TEST(CgroupLimits, OfVersionOneEachControllerHasAPathOfItsOwn) {
  TempFolder root;
  WriteGroup(root / "cpu,cpuacct/batch", "cpu.cfs_quota_us", "200000\n");
  WriteGroup(root / "cpu,cpuacct/batch", "cpu.cfs_period_us", "100000\n");
  WriteGroup(root / "memory/job", "memory.limit_in_bytes", "1000000\n");
  WriteGroup(root / "memory", "memory.limit_in_bytes", "9223372036854771712\n");
  const CgroupLimits limits =
      ReadCgroupLimits("9:cpu,cpuacct:/batch\n4:memory:/job\n0::/\n", root.path());
  EXPECT_EQ(limits.cpus, 2.0);
  EXPECT_EQ(limits.memory_bytes, 1'000'000);
}

TEST(CgroupLimits, InAContainerThePathMayNotBeThereButTheTopIs) {
  TempFolder root;
  WriteText(root / "cpu.max", "50000 100000\n");
  EXPECT_EQ(ReadCgroupLimits("0::/docker/abc\n", root.path()).cpus, 0.5);
}

TEST(CgroupLimits, WhereThereIsNoneNothingIsSaid) {
  TempFolder root;
  WriteText(root / "cpu.max", "max 100000\n");
  WriteGroup(root / "cpu", "cpu.cfs_quota_us", "-1\n");
  WriteGroup(root / "cpu", "cpu.cfs_period_us", "100000\n");
  const CgroupLimits limits = ReadCgroupLimits("1:cpu:/\n0::/\nodd line\n", root.path());
  EXPECT_EQ(limits.cpus, std::nullopt);
  EXPECT_EQ(limits.memory_bytes, std::nullopt);
}

// ---- judgements

TEST(Doctor, AQuotaBelowTheCoresIsAWarningWithWhatToSay) {
  const Finding finding = JudgeCores(16, 32, 2.5);
  EXPECT_EQ(finding.state, FindingState::kWarning);
  EXPECT_EQ(finding.what, "16 of 32 usable, a control group allows 2.5");
  EXPECT_THAT(finding.remedy, HasSubstr("--cpus 2"));
  EXPECT_EQ(JudgeCores(2, 2, 2.0).state, FindingState::kOk);
  EXPECT_EQ(JudgeCores(2, 2, std::nullopt).state, FindingState::kOk);
  EXPECT_THAT(JudgeCores(4, 4, 0.5).remedy, HasSubstr("--cpus 1"));
}

TEST(Doctor, MemoryIsTheLessOfWhatIsFreeAndWhatIsAllowed) {
  EXPECT_EQ(JudgeMemory(8'000'000'000, 4'000'000'000, std::nullopt).state, FindingState::kOk);
  EXPECT_EQ(JudgeMemory(8'000'000'000, 4'000'000'000, 500'000'000).state, FindingState::kWarning);
  EXPECT_EQ(JudgeMemory(8'000'000'000, 500'000'000, std::nullopt).state, FindingState::kWarning);
}

TEST(Doctor, DevicesAreListedAndALostOneIsAProblem) {
  const std::vector<Device> devices = {{0, "NVIDIA H100", int64_t{80} << 30, "GPU-1b2c"},
                                       {3, "NVIDIA L4", int64_t{24} << 30, "GPU-77aa"}};
  const Findings findings = JudgeGpus(devices, {{0, int64_t{80} << 30, int64_t{17} << 30, {}, ""},
                                                {3, 0, 0, {}, "NVML: GPU is lost (15)"}});
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].item, "gpu 0");
  EXPECT_EQ(findings[0].what, "NVIDIA H100 GPU-1b2c, 17 GiB of 80 GiB used");
  EXPECT_EQ(findings[1].state, FindingState::kProblem);
  EXPECT_EQ(findings[1].what, "NVIDIA L4 GPU-77aa: NVML: GPU is lost (15)");
  ASSERT_EQ(JudgeGpus({}, {}).size(), 1u);
  EXPECT_EQ(JudgeGpus({}, {})[0].state, FindingState::kOk);
}

TEST(Doctor, SaysWhatHoldsProgramsToTheirShare) {
  EXPECT_EQ(JudgeShares(true, false).state, FindingState::kOk);
  EXPECT_THAT(JudgeShares(true, true).what, HasSubstr("MPS"));
  EXPECT_EQ(JudgeShares(false, true).state, FindingState::kWarning);
  EXPECT_THAT(JudgeShares(false, true).what, HasSubstr("watching"));
  EXPECT_THAT(JudgeShares(false, false).what, HasSubstr("neither MPS nor watching"));
  EXPECT_THAT(JudgeShares(false, false).remedy, HasSubstr("--pid=host"));
}

TEST(Doctor, SyncsAreJudgedByTheirMedian) {
  std::vector<int64_t> times(49, 1'000);
  times.push_back(90'000);
  EXPECT_EQ(JudgeSyncs(times).state, FindingState::kOk);
  EXPECT_EQ(JudgeSyncs(times).what,
            "median 1 ms, worst 90 ms of 50: about 1000 commits/s; reports that come together "
            "share one");
  EXPECT_EQ(JudgeSyncs({30'000}).state, FindingState::kWarning);
  EXPECT_THAT(JudgeSyncs({3}).remedy, HasSubstr("power loss"));
  EXPECT_EQ(JudgeSyncs({0}).state, FindingState::kWarning);
}

TEST(Doctor, SpaceAndFileSystemsAreJudged) {
  EXPECT_EQ(JudgeFreeSpace(10'000'000).state, FindingState::kProblem);
  EXPECT_EQ(JudgeFreeSpace(1'000'000'000).state, FindingState::kWarning);
  EXPECT_EQ(JudgeFreeSpace(10'000'000'000).state, FindingState::kOk);
  EXPECT_EQ(JudgeFileSystem(0xef53).what, "ext4");
  EXPECT_EQ(JudgeFileSystem(0x6969).state, FindingState::kProblem);
  EXPECT_EQ(JudgeFileSystem(0x01021994).state, FindingState::kWarning);
  EXPECT_EQ(JudgeFileSystem(0x1234).what, "of type 0x1234");
}

TEST(Doctor, TheDiskIsLookedAtAndNothingStays) {
  TempFolder folder;
  const Findings findings = CheckDisk(folder.path());
  EXPECT_EQ(findings.size(), 4u);
  EXPECT_THAT(findings, Contains(Found(FindingState::kOk, "wal", "works there")));
  EXPECT_THAT(folder.List(), IsEmpty());
  EXPECT_THAT(CheckDisk(folder / "none"),
              Contains(Found(FindingState::kProblem, "folder", "No such file")));
}

TEST(Doctor, ProgramsOfAnotherVersionAndMissingOnesAreProblems) {
  TempFolder folder;
  const auto write = [&](const std::string& name, const std::string& text) {
    WriteText(folder / name, "#!/bin/sh\n" + text + "\n");
    chmod((folder / name).c_str(), 0755);
  };
  write("tune_worker", "echo 1.2.3");
  write("tune_trial", "echo tune_trial 1.2.4");
  write("tune_cli", "echo 1.2.3");
  write("tune_trial_command", "echo 1.2.2");
  write("food11", "echo no >&2; exit 2");
  const Findings findings = CheckPrograms(folder.path(), "1.2.3");
  EXPECT_THAT(findings, Contains(Found(FindingState::kOk, "tune_worker", "1.2.3")));
  EXPECT_THAT(findings, Contains(Found(FindingState::kOk, "tune_cli", "1.2.3")));
  EXPECT_THAT(findings,
              Contains(Found(FindingState::kProblem, "tune_trial_command", "is of version 1.2.2")));
  EXPECT_THAT(findings,
              Contains(Found(FindingState::kProblem, "tune_trial", "is of version 1.2.4")));
  EXPECT_THAT(findings,
              Contains(Found(FindingState::kProblem, "tune_trial_food11", "No such file")));
  EXPECT_THAT(findings, Contains(Found(FindingState::kProblem, "food11", "version unknown")));
}

TEST(Doctor, AnotherProgramOfTheNameIsAWarningThatNamesTheSecondOne) {
  TempFolder folder;
  for (const char* name : {"own", "ray", "empty"}) fs::create_directory(folder / name);
  for (const char* name : {"own/tune", "ray/tune"}) {
    WriteText(folder / name, "#!/bin/sh\n");
    chmod((folder / name).c_str(), 0755);
  }
  fs::create_symlink("tune", folder / "own/tunectl");
  const std::string own = folder / "own";
  const std::string ray = folder / "ray";
  EXPECT_THAT(CheckName((folder / "empty") + ":" + own + ":" + ray, own),
              Found(FindingState::kOk, "name", "tune on PATH is this program"));
  const Finding other = CheckName(ray + ":" + own, own);
  EXPECT_THAT(other, Found(FindingState::kWarning, "name", "another program, " + ray + "/tune"));
  EXPECT_THAT(other.remedy, HasSubstr("call tunectl"));
  EXPECT_THAT(CheckName(folder / "empty", own),
              Found(FindingState::kOk, "name", "no tune is on PATH"));
}

TEST(Doctor, ThePythonModuleBesideTheProgramsIsNamed) {
  TempFolder folder;
  EXPECT_THAT(CheckPythonModule(folder.path()),
              Found(FindingState::kWarning, "python", "is not in " + (folder / "python")));
  fs::create_directories(folder / "python/tune");
  WriteText(folder / "python/tune/__init__.py", "");
  EXPECT_THAT(CheckPythonModule(folder.path()),
              Found(FindingState::kOk, "python", "export PYTHONPATH=" + (folder / "python")));
}

// ---- databases

TEST(DatabaseCheck, NoDatabaseIsNoProblem) {
  TempFolder folder;
  const Findings findings = CheckDatabase(folder / "tune.db", kSampleStart);
  ASSERT_EQ(findings.size(), 1u);
  EXPECT_EQ(findings[0].state, FindingState::kOk);
  EXPECT_THAT(folder.List(), IsEmpty());
}

TEST(DatabaseCheck, AFileThatIsNoneIsAProblem) {
  TempFolder folder;
  WriteText(folder / "tune.db", "not a database");
  EXPECT_THAT(CheckDatabase(folder / "tune.db", kSampleStart),
              Contains(Found(FindingState::kProblem, "database", "is not a tune database")));
}

TEST(DatabaseCheck, WhatIsMissingOrDamagedIsNamed) {
  TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    const auto experiment = store->CreateExperiment(SampleExperiment("s"));
    Transition rows = SampleRows();
    rows.checkpoints = {
        {TrialNumber{0}, 1, {"/x/s/0/checkpoint_1", 4, "00"}, CheckpointState::kDurable},
        {TrialNumber{0}, 2, {"/x/s/0/checkpoint_2", 4, "00"}, CheckpointState::kDurable},
        {TrialNumber{0}, 3, {"/x/s/0/checkpoint_3", 4, "00"}, CheckpointState::kDurable},
        {TrialNumber{0}, 4, {"/x/s/0/checkpoint_4", 4, "00"}, CheckpointState::kRemoved}};
    ASSERT_TRUE(store->Commit(experiment->id, {1, kSampleStart, "[]"}, rows).ok());
  }
  for (const std::string name : {"checkpoint_1", "checkpoint_2"}) {
    fs::create_directories(folder / "tune.artifacts/s/0/" + name);
    WriteText(folder / "tune.artifacts/s/0/" + name + "/weights", "1234");
  }
  WriteText(folder / "tune.artifacts/s/0/checkpoint_2/weights", "123");
  const std::vector<std::string> before = folder.List();
  const Findings findings = CheckDatabase(path, kSampleStart);
  EXPECT_EQ(folder.List(), before);
  EXPECT_THAT(findings, Contains(Found(FindingState::kOk, "pages", "whole")));
  EXPECT_THAT(findings, Contains(Found(FindingState::kOk, "keys", "whole")));
  EXPECT_THAT(findings, Contains(Found(FindingState::kProblem, "checkpoints",
                                       "3 durable, 2 missing or damaged")));
  EXPECT_THAT(findings, Contains(Found(FindingState::kProblem, "checkpoint",
                                       "checkpoint_2: has 3 bytes, 4 were reported")));
  EXPECT_THAT(findings,
              Contains(Found(FindingState::kProblem, "checkpoint", "checkpoint_3: is missing")));
  EXPECT_THAT(findings, Contains(Found(FindingState::kWarning, "times", "the newest trial is of")));
}

TEST(DatabaseCheck, AJournalThatDoesNotComeToItsTablesIsAProblem) {
  TempFolder folder;
  {
    const auto store = OpenStore(folder / "tune.db");
    NewExperiment experiment = SampleExperiment("s");
    experiment.spec = R"({"name":"s","metric":"val_accuracy","mode":"max","samples":4,)"
                      R"("trainable":{"curve":{"value":"lr"}},"space":{"lr":0.1}})";
    const auto stored = store->CreateExperiment(experiment);
    ASSERT_TRUE(store->Commit(stored->id, {1, kSampleStart, "[]"}, SampleRows()).ok());
  }
  EXPECT_THAT(
      CheckDatabase(folder / "tune.db", SampleTime(100)),
      Contains(Found(FindingState::kProblem, "journal of s", "trial 0: is in the table alone")));
}

TEST(DatabaseCheck, AJournalOfAnAskTellSweepThatHoldsNoTextIsDamaged) {
  TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  NewExperiment experiment = SampleExperiment("s");
  experiment.spec = R"({"name":"s","metric":"val_accuracy","mode":"max",)"
                    R"("trainable":"ask-tell","space":{"lr":{"uniform":[0,1]}}})";
  const auto stored = store->CreateExperiment(experiment);
  ASSERT_TRUE(stored.ok()) << stored.status().message();
  ASSERT_TRUE(store->Commit(stored->id, {1, kSampleStart, "[3]"}, Transition()).ok());
  const Status checked = StoredAskTell::CheckJournal(*store, *stored);
  EXPECT_EQ(checked.code(), StatusCode::kDataLoss) << checked.message();
  EXPECT_THAT(checked.message(), HasSubstr("journal step 1: read 3, expected a line"));
}

TEST(DatabaseCheck, ASweepOfOtherDecisionCodeIsLeftToItsProgram) {
  TempFolder folder;
  {
    const auto store = OpenStore(folder / "tune.db");
    ASSERT_TRUE(store->CreateExperiment(SampleExperiment("s")).ok());
  }
  {
    const auto database = Database::Open(folder / "tune.db", Access::kWrite);
    ASSERT_TRUE((*database)->Execute("UPDATE experiment_rows SET decision_version = 99").ok());
  }
  EXPECT_THAT(CheckDatabase(folder / "tune.db", kSampleStart),
              Contains(Found(FindingState::kWarning, "journal of s", "version 99")));
}

TEST(DatabaseCheck, ASecondNameOfTheFileIsAWarning) {
  TempFolder folder;
  {
    const auto store = OpenStore(folder / "tune.db");
    ASSERT_TRUE(store->CreateExperiment(SampleExperiment("s")).ok());
  }
  fs::create_hard_link(folder / "tune.db", folder / "other.db");
  EXPECT_THAT(CheckDatabase(folder / "other.db", kSampleStart),
              Contains(Found(FindingState::kWarning, "database", "the file has 2 names")));
}

TEST(DatabaseCheck, AnOlderCopyInThePlaceOfWhatWasCommittedIsAProblem) {
  TempFolder folder;
  const std::string path = folder / "tune.db";
  {
    const auto store = OpenStore(path);
    ASSERT_TRUE(store->CreateExperiment(SampleExperiment("s")).ok());
  }
  EXPECT_THAT(CheckDatabase(path, kSampleStart),
              Contains(Found(FindingState::kOk, "steps", "none that was committed is missing")));
  // As a tuner leaves it that was killed behind its third step.
  WriteText(path + ".lock", "{}\ncommitted 1 3\n");
  EXPECT_THAT(CheckDatabase(path, kSampleStart),
              Contains(Found(FindingState::kProblem, "steps",
                             "step 3 of sweep 1 was committed, but its journal ends with step 0")));
}

TEST(DatabaseCheck, ALivingTunerIsNamed) {
  TempFolder folder;
  const auto store = OpenStore(folder / "tune.db");
  ASSERT_TRUE(store->CreateExperiment(SampleExperiment("s")).ok());
  EXPECT_THAT(CheckDatabase(folder / "tune.db", kSampleStart),
              Contains(Found(FindingState::kOk, "tuner", "pid " + std::to_string(getpid()))));
}

// ---- lines

TEST(RowLines, TellTheFirstFieldThatDiffers) {
  SweepLines table, journal;
  table.trials[3] = RowLine().Add("status", "RUNNING").Add("iterations", int64_t{4}).text();
  journal.trials[3] = RowLine().Add("status", "RUNNING").Add("iterations", int64_t{5}).text();
  EXPECT_EQ(FirstDifference(table, journal),
            "trial 3: the table says iterations=4, the journal comes to iterations=5");
  journal.trials[3] = table.trials[3];
  EXPECT_EQ(FirstDifference(table, journal), std::nullopt);
  journal.attempts[{3, 1}] = "outcome=lost";
  EXPECT_EQ(FirstDifference(table, journal), "attempt 1 of trial 3: is in the journal alone");
  table.attempts = journal.attempts;
  table.reports = {"a", "b"};
  journal.reports = {"a"};
  EXPECT_EQ(FirstDifference(table, journal), "report 2: is in the table alone");
}

TEST(RowLines, NumbersKeepTheirBitsAndNaNIsNothing) {
  const auto line = [](std::optional<double> v) { return RowLine().Add("v", v).text(); };
  EXPECT_NE(line(0.1), line(0.1 + 1e-17 + 3e-17));
  EXPECT_EQ(line(std::numeric_limits<double>::quiet_NaN()), line(std::nullopt));
  EXPECT_EQ(line(1.0), "v=1.0");
}

// ---- the command

class FixedClock final : public Clock {
 public:
  Instant Now() const override { return SampleTime(100); }
};

TEST(DoctorCommand, IsALineAnItemAndOneWhenThereIsAProblem) {
  TempFolder folder;
  DoctorOptions options;
  options.db_path = folder / "tune.db";
  options.program_dir = folder / "nowhere";
  options.version = "1.2.3";
  std::ostringstream out, err;
  EXPECT_EQ(DoctorCommand(options, FixedClock(), out, err), 1);
  EXPECT_THAT(err.str(), StartsWith("4 problems, "));
  EXPECT_THAT(out.str(), HasSubstr("\nok       food11              not in this installation"));
  EXPECT_THAT(out.str(), HasSubstr("\nproblem  tune_trial          " + folder.path()));
  EXPECT_THAT(out.str(), HasSubstr("; build and install all programs together"));
  options.format = OutputFormat::kCsv;
  std::ostringstream csv;
  EXPECT_EQ(DoctorCommand(options, FixedClock(), csv, err), 1);
  EXPECT_THAT(csv.str(), StartsWith("state,item,what,remedy\nok,cores,"));
}

}  // namespace
}  // namespace tune
