// The trainable `command` from the outside: scripts of a user, good and bad, under the real
// programs.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/process_end.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::AllOf;
using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;
using Rows = std::vector<std::string>;

// All of them, of which there is one at least.
template <typename Matcher>
auto EachOfSome(const Matcher& matcher) {
  return AllOf(Not(IsEmpty()), Each(matcher));
}

// `trainable`: lines of two blanks more.
std::string Sweep(const std::string& trainable, const std::string& rest = "samples: 1\n",
                  const std::string& space = "{x: {uniform: [0, 1]}}") {
  return "trainable:\n" + trainable + "metric: acc\nmode: max\nseed: 3\nspace: " + space + "\n" +
         rest;
}
// A sweep of one script, ./trial.sh, with the value of x.
std::string ScriptSweep(const std::string& rest = "samples: 1\n", const std::string& more = "") {
  return Sweep("  command: [./trial.sh, \"{x}\"]\n" + more, rest);
}

class Command : public ::testing::Test {
 protected:
  Command() { setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1); }

  void WriteScript(const std::string& text, const std::string& name = "trial.sh") {
    folder_.Write(name, "#!/bin/sh\n" + text);
    chmod((folder_ / name).c_str(), 0755);
  }
  ProgramResult Run(const std::string& space, const std::vector<std::string>& options = {}) {
    std::vector<std::string> arguments = {"run", folder_.Write("space.yaml", space)};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunTune(folder_, arguments);
  }
  Rows Ask(const std::string& sql) const { return Query(folder_, sql); }
  std::string Text(const std::string& name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name).rdbuf();
    return text.str();
  }
  // All attempts' outcomes and errors.
  Rows Outcomes() const {
    return Ask("select outcome, error from attempts order by trial, number");
  }

  TestFolder folder_;
  TestFolder cache_;
};

// Lines that processes of a trial write into a pipe of the file system, as they come.
class NamedPipe {
 public:
  explicit NamedPipe(const std::string& path) {
    TUNE_CHECK(mkfifo(path.c_str(), 0644) == 0);
    // Also to write, so that it does not end between two writers.
    file_ = fdopen(open(path.c_str(), O_RDWR | O_CLOEXEC), "r");
    TUNE_CHECK(file_ != nullptr);
    setvbuf(file_, nullptr, _IONBF, 0);  // What poll does not see is not read ahead.
  }
  ~NamedPipe() { fclose(file_); }
  // Of the next line, which comes within a minute.
  int Number() {
    char line[100] = {};
    pollfd readable{fileno(file_), POLLIN, 0};
    TUNE_CHECK(poll(&readable, 1, 60'000) == 1 && "a program that the test waits for said nothing");
    TUNE_CHECK(fgets(line, sizeof line, file_) != nullptr);
    return std::atoi(line);
  }

 private:
  FILE* file_ = nullptr;
};

// ---- reporting

TEST_F(Command, AShellScriptReportsAndIsToldToGoOn) {
  WriteScript("for i in 1 2 3; do tune report acc=$1 step=$i || exit 7; done\n");
  const ProgramResult result = Run(ScriptSweep("samples: 4\n"));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select count(*), sum(value = json_extract(metrics, '$.acc')) from reports"),
            Rows{"12|12"});
  EXPECT_EQ(Ask("select count(*) from trials where status = 'TERMINATED' and iterations = 3 and "
                "best_value = json_extract(config, '$.x')"),
            Rows{"4"});
  EXPECT_EQ(Outcomes(), Rows(4, "completed|"));
}

TEST_F(Command, NumbersAreFoundInWhatItPrintsAndInAFileAtTheEnd) {
  WriteScript(
      "echo \"epoch 1: loss: 0.5, acc: 0.25.\"; echo noise; printf 'loss: 0.25, acc: 0.5'\n"
      "mkdir -p out; echo \"{\\\"area\\\": [1, {\\\"um\\\": 7}]}\" > out/$TUNE_TRIAL.json\n");
  const ProgramResult result = Run(ScriptSweep("samples: 2\n",
                                               "  metrics:\n"
                                               "    acc: {regex: \"acc: ([0-9.]+)\"}\n"
                                               "    loss: {regex: \"loss: ([0-9.]+)\"}\n"
                                               "    area: {json: \"out/{tune.trial}.json\", key: "
                                               "area.1.um}\n"));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select iteration, value from reports where trial = 1"),
            (Rows{"1|0.25", "2|0.5", "3|"}));
  EXPECT_THAT(Ask("select metrics from reports where iteration = 3"),
              ElementsAre(HasSubstr("area"), HasSubstr("area")));
  EXPECT_EQ(Outcomes(), Rows(2, "completed|"));
}

TEST_F(Command, ItFindsItsConfigurationAndItsPlacesInItsEnvironment) {
  WriteScript(
      "[ \"$(pwd)\" = \"$2\" ] || exit 3\n"
      "[ \"$TUNE_PARAM_X\" = \"$1\" ] || exit 4\n"
      "[ \"$(cat $TUNE_CONFIG)\" = \"{\\\"x\\\":$1}\" ] || exit 5\n"
      "[ \"$MINE\" = \"of $TUNE_TRIAL\" ] || exit 6\n"
      "[ \"$3\" = \"$TUNE_DIR\" ] && [ -d \"$3\" ] || exit 7\n"
      "[ \"$OMP_NUM_THREADS\" = 2 ] || exit 8\n"
      "tune report acc=1\n",
      "code.sh");
  fs::create_directory(folder_ / "code");
  fs::rename(folder_ / "code.sh", folder_ / "code/trial.sh");
  const ProgramResult result =
      Run(Sweep("  command: [./trial.sh, \"{x}\", " + (folder_ / "code") +
                    ", \"{tune.dir}\"]\n  working_dir: code\n  env: {MINE: \"of {tune.trial}\"}\n",
                "samples: 2\nresources: {cpu: 2}\n"),
          {"--cpus", "4"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Outcomes(), Rows(2, "completed|"));
}

TEST_F(Command, AGroupOfAnInactiveParameterIsLeftOut) {
  WriteScript("echo \"$*\" >> seen; tune report acc=1\n");
  const ProgramResult result = Run(
      Sweep("  command: [./trial.sh, \"{kind}\", [--momentum, \"{momentum}\"], end]\n", "",
            "{kind: {grid_search: [adam, sgd]}, momentum: {constant: 0.5, when: {kind: sgd}}}"));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  std::vector<std::string> lines;
  std::ifstream seen(folder_ / "seen");
  for (std::string line; std::getline(seen, line);) lines.push_back(line);
  EXPECT_THAT(lines, ::testing::UnorderedElementsAre("adam end", "sgd --momentum 0.5 end"));
}

TEST_F(Command, AShellLineQuotesItsValues) {
  const ProgramResult result =
      Run(Sweep("  command: \"printf '%s' {name} > seen; tune report acc=1 | cat\"\n"
                "  shell: true\n",
                "", "{name: {grid_search: [\"it's $HOME; exit 3\"]}}"));
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Text("seen"), "it's $HOME; exit 3");
}

// ---- stopping

constexpr char kAsha[] =
    "samples: 9\nscheduler: {asha: {max_t: 9, grace_period: 1, reduction_factor: 3}}\n";
constexpr char kByRegex[] = "  metrics: {acc: {regex: \"acc: ([0-9.]+)\"}}\n";

TEST_F(Command, AStopEndsOneThatListensOneThatDoesNotAndOneThatResists) {
  // Resisting takes its five seconds; the others run meanwhile.
  TestFolder other;
  other.Write("trial.sh",
              "#!/bin/sh\ntrap '' TERM\necho acc: 1\nsetsid sleep 1000 &\n"
              "echo $! > child\nsleep 1000\n");
  chmod((other / "trial.sh").c_str(), 0755);
  Program resisting(
      other, "tune",
      {"run", other.Write("space.yaml",
                          ScriptSweep("samples: 1\nscheduler: {asha: {max_t: 1}}\n", kByRegex))});

  WriteScript("for i in 1 2 3 4 5 6 7 8 9; do tune report acc=$1 || exit 0; done; exit 3\n");
  const ProgramResult listening = Run(ScriptSweep(kAsha));
  EXPECT_EQ(listening.exit_status, 0) << listening.err;
  EXPECT_THAT(Outcomes(), EachOfSome("stopped|"));
  EXPECT_NE(Ask("select count(*) from trials where iterations = 1"), Rows{"0"});
  EXPECT_NE(Ask("select count(*) from trials where iterations = 9"), Rows{"0"});

  fs::remove(folder_ / "tune.db");
  fs::remove_all(folder_ / "tune.artifacts");
  WriteScript("for i in 1 2 3 4 5 6 7 8 9; do echo acc: $1; done; exec sleep 1000\n");
  const ProgramResult deaf = Run(ScriptSweep(kAsha, kByRegex));
  EXPECT_EQ(deaf.exit_status, 0) << deaf.err;
  EXPECT_THAT(Outcomes(), EachOfSome("stopped|"));
  EXPECT_NE(Ask("select count(*) from trials where iterations = 1"), Rows{"0"});

  const ProgramResult result = resisting.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(other, "select outcome from attempts"), Rows{"stopped"});
  std::ifstream child(other / "child");
  int pid = 0;
  child >> pid;
  EXPECT_TRUE(AwaitedEnd(pid).Comes());
}

// ---- checkpoints

// The sum of 1 to 6, kept in a file or in a folder; dies once in the fourth iteration.
constexpr char kSumScript[] = R"(
i=$TUNE_FROM_ITERATION; n=0
[ -n "$TUNE_RESTORED" ] && n=$(cat $TUNE_RESTORED$IN)
state=$TUNE_DIR/state; [ -n "$IN" ] && mkdir -p $state
while [ $i -lt 6 ]; do
  i=$((i + 1)); n=$((n + i))
  [ $i = 4 ] && [ ! -e died ] && { echo > died; kill -9 $$; }
  echo $n > $state$IN
  tune report acc=$n --checkpoint $state || exit 0
done
)";

TEST_F(Command, ATrialThatDiesGoesOnFromItsCheckpointAFileOrAFolder) {
  WriteScript(kSumScript);
  for (const char* const in : {"\"\"", "/sum"}) {
    fs::remove(folder_ / "died");
    const ProgramResult result =
        Run(ScriptSweep("samples: 1\nfailure: {max_failures: 1, backoff: 0s}\n",
                        "  env: {IN: " + std::string(in) + "}\n"),
            {"--db", std::string(in[0] == '/' ? "folder" : "file") + ".db"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    const std::string db = in[0] == '/' ? "folder.db" : "file.db";
    EXPECT_EQ(Query(folder_, "select outcome, from_iteration from attempts order by number", db),
              (Rows{"killed|0", "completed|3"}));
    EXPECT_EQ(Query(folder_, "select last_value, iterations from trials", db), Rows{"21.0|6"});
    EXPECT_EQ(Query(folder_, "select error from attempts where number = 1", db),
              Rows{"the program died of SIGKILL"});
  }
}

TEST_F(Command, ACheckpointThatIsNotThereIsRefusedAndTheTrialGoesOn) {
  WriteScript(
      "tune report acc=1 --checkpoint gone 2> said; echo $? >> said\n"
      "tune report acc=2 --checkpoint . 2>> said; echo $? >> said\n"
      "tune report acc=3\n");
  const ProgramResult result = Run(ScriptSweep());
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select iteration, value from reports"), Rows{"1|3.0"});
  EXPECT_THAT(Text("said"), AllOf(HasSubstr("tune report: checkpoint: " + (folder_ / "gone") +
                                            ": no such file or folder\n2\n"),
                                  HasSubstr("holds the folder that checkpoints are kept in")));
}

// ---- nothing is left behind

// A program that prints all the time, a child that left its session, and an orphan that ignores
// what it can; each tells its pid.
constexpr char kFamily[] =
    "setsid sh -c 'echo $$ > pids; exec sleep 1000' &\n"
    "(setsid sh -c \"trap '' TERM HUP; echo \\$\\$ > pids; exec sleep 1000\" &)\n"
    "echo $$ > pids\n"
    "while :; do echo noise; done\n";

std::vector<AwaitedEnd> FamilyOf(NamedPipe& pids) {
  std::vector<AwaitedEnd> family;
  for (int i = 0; i < 3; ++i) family.emplace_back(pids.Number());
  for (const AwaitedEnd& end : family) EXPECT_FALSE(end.IsThere());
  return family;
}

TEST_F(Command, NothingOfATrialOutlivesATunerThatIsKilled) {
  WriteScript(kFamily);
  NamedPipe pids(folder_ / "pids");
  Program tune(folder_, "tune", {"run", folder_.Write("space.yaml", ScriptSweep())});
  const std::vector<AwaitedEnd> family = FamilyOf(pids);
  tune.Signal(SIGKILL);
  for (const AwaitedEnd& end : family) EXPECT_TRUE(end.Comes());
  EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
}

TEST_F(Command, NothingOfATrialOutlivesAWorkerThatIsKilledNorOneThatIsInterrupted) {
  WriteScript(kFamily);
  NamedPipe pids(folder_ / "pids");
  Program tune(folder_, "tune", {"run", folder_.Write("space.yaml", ScriptSweep())});
  const std::vector<AwaitedEnd> first = FamilyOf(pids);
  const pid_t worker = ChildOf(tune.pid(), "tune_worker");
  ASSERT_NE(worker, 0);
  kill(worker, SIGKILL);
  for (const AwaitedEnd& end : first) EXPECT_TRUE(end.Comes());
  // The trial is tried again, by another worker; then the sweep is interrupted.
  const std::vector<AwaitedEnd> second = FamilyOf(pids);
  tune.Signal(SIGINT);
  for (const AwaitedEnd& end : second) EXPECT_TRUE(end.Comes());
  EXPECT_EQ(tune.Wait().exit_status, 130);
}

// Who opens a file under a lease (fcntl(2)) waits for it, and its holder hears of that: so long is
// this checkpoint copied.
TEST_F(Command, NothingOfATrialOutlivesATunerThatIsKilledWhileItsCheckpointIsCopied) {
  folder_.Write("trial.py",
                "import fcntl, os, signal, subprocess\n"
                "signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGIO])\n"
                "model = os.open('model', os.O_RDWR | os.O_CREAT)\n"
                "fcntl.fcntl(model, fcntl.F_SETLEASE, fcntl.F_WRLCK)\n"
                "report = subprocess.Popen(['tune', 'report', 'acc=1', '--checkpoint',\n"
                "                           os.path.abspath('model')])\n"
                "signal.sigwait([signal.SIGIO])\n"
                "with open('pids', 'w') as pids: pids.write(f'{os.getpid()}\\n')\n"
                "report.wait()\n");
  {
    const FileDescriptor probe(open((folder_ / "probe").c_str(), O_RDWR | O_CREAT, 0644));
    if (fcntl(probe.get(), F_SETLEASE, F_WRLCK) != 0) GTEST_SKIP() << "no leases on files here";
  }
  NamedPipe pids(folder_ / "pids");
  Program tune(folder_, "tune",
               {"run", folder_.Write("space.yaml", Sweep("  command: [python3, trial.py]\n"))});
  const AwaitedEnd program(pids.Number());
  EXPECT_FALSE(program.IsThere());
  tune.Signal(SIGKILL);
  EXPECT_TRUE(program.Comes());
  EXPECT_EQ(tune.Wait().exit_status, 128 + SIGKILL);
}

TEST_F(Command, NothingOfATrialOutlivesTheProcessThatRunsItsProgram) {
  WriteScript(kFamily);
  NamedPipe pids(folder_ / "pids");
  Program tune(folder_, "tune", {"run", folder_.Write("space.yaml", ScriptSweep())});
  const std::vector<AwaitedEnd> first = FamilyOf(pids);
  const pid_t runner = ChildOf(ChildOf(tune.pid(), "tune_worker"), "tune_trial_command");
  ASSERT_NE(runner, 0);
  kill(runner, SIGKILL);
  for (const AwaitedEnd& end : first) EXPECT_TRUE(end.Comes());
  EXPECT_EQ(tune.Wait().exit_status, 3);
  EXPECT_THAT(Outcomes(), ElementsAre(HasSubstr("killed|")));
}

TEST_F(Command, AChildThatForksAndLeavesEndsWithItsTrial) {
  WriteScript(
      // It leaves before the trial ends, however slow the machine is.
      "mkfifo left\n"
      "setsid sh -c 'echo $$ > pids; echo > left; exec sleep 1000' > /dev/null 2>&1 &\n"
      "read line < left\n"
      "tune report acc=1\n");
  NamedPipe pids(folder_ / "pids");
  Program tune(folder_, "tune", {"run", folder_.Write("space.yaml", ScriptSweep())});
  const AwaitedEnd child(pids.Number());
  EXPECT_TRUE(Succeeded(tune.Wait()));
  EXPECT_TRUE(child.IsThere());
  EXPECT_THAT(Outcomes(), ElementsAre("completed|"));
}

TEST_F(Command, AProgramThatEndsBeforeWhatItStartedIsInDoubt) {
  WriteScript(
      "mkfifo begun\n"
      "(echo 'acc: 1'; echo > begun; sleep 1000; echo 'acc: 2') &\n"
      "read line < begun\n");
  const std::string printed = "  metrics: {acc: {regex: 'acc: {number}'}}\n";
  const ProgramResult result = Run(ScriptSweep("samples: 1\n", printed));
  EXPECT_EQ(result.exit_status, 0) << result.err;
  const char* const told = "left running: the program ended with status 0 while '";
  EXPECT_THAT(result.out, HasSubstr(told));
  EXPECT_THAT(Outcomes(), ElementsAre(StartsWith(std::string("completed|") + told)));

  WriteScript("(sleep 1000; echo 'acc: 2') &\n");
  const ProgramResult nothing = Run(ScriptSweep("samples: 1\nname: nothing\n", printed));
  EXPECT_EQ(nothing.exit_status, 3);
  EXPECT_THAT(nothing.out + nothing.err, HasSubstr(std::string("no_metric: ") + told));
}

// ---- what lies on disk

TEST_F(Command, ACheckpointWhoseFilesWereChangedIsToldByAllThatReadIt) {
  WriteScript("echo 12345678 > w; tune report acc=1 --checkpoint w\n");
  ASSERT_TRUE(Succeeded(Run(ScriptSweep("samples: 1\n"))));
  std::string saved;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "tune.artifacts")) {
    if (entry.path().filename() == "w" && entry.path().parent_path().filename() == "data") {
      saved = entry.path();
    }
  }
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"doctor"})));
  ASSERT_TRUE(Succeeded(RunTune(folder_, {"best", "--export", folder_ / "whole"})));
  std::ofstream(saved) << "12345679\n";  // Of the same size.
  const std::string damage = "data/w in it is not what was written";
  const ProgramResult doctor = RunTune(folder_, {"doctor"});
  EXPECT_NE(doctor.exit_status, 0);
  EXPECT_THAT(doctor.out + doctor.err, HasSubstr(damage));
  const ProgramResult best = RunTune(folder_, {"best", "--export", folder_ / "damaged"});
  EXPECT_NE(best.exit_status, 0);
  EXPECT_THAT(best.err, HasSubstr(damage));
  EXPECT_FALSE(fs::exists(folder_ / "damaged"));
  const ProgramResult backup = RunTune(folder_, {"backup", folder_ / "copy.db"});
  EXPECT_THAT(backup.err, HasSubstr("is not as it was reported; the copy calls it corrupt"));
}

// ---- bad input

TEST_F(Command, AProgramThatCannotBeStartedIsToldBeforeAnythingStarts) {
  folder_.Write("data.sh", "#!/bin/sh\n");
  const std::pair<const char*, const char*> cases[] = {
      {"  command: [no-program-of-this-name]\n", "space.yaml:2:12: trainable: command: cannot"},
      {"  command: [./gone.sh]\n", "there is no file"},
      {"  command: [./data.sh]\n", "is not executable; chmod +x it"},
      {"  command: [sh]\n  working_dir: nowhere\n", "there is no folder"},
      {"  command: [sh, \"{y}\"]\n", "space.yaml:2:17: trainable: command: {y} is no parameter"},
  };
  for (const auto& [trainable, error] : cases) {
    const ProgramResult result = Run(Sweep(trainable));
    EXPECT_EQ(result.exit_status, 2) << error;
    EXPECT_THAT(result.err, HasSubstr(error));
    EXPECT_FALSE(fs::exists(folder_ / "tune.db")) << error;
  }
}

// Each of its trials would fail.
TEST_F(Command, AResumeWhoseFolderWasMovedIsRefusedAndGoesOnWhereItIsNow) {
  fs::create_directory(folder_ / "code");
  WriteScript("tune report acc=1\n", "code/trial.sh");
  ASSERT_TRUE(Succeeded(Run(ScriptSweep("samples: 1\n", "  working_dir: code\n"))));
  fs::rename(folder_ / "code", folder_ / "moved");
  const ProgramResult refused = RunTune(folder_, {"resume", "--samples", "2"});
  EXPECT_NE(refused.exit_status, 0);
  EXPECT_THAT(refused.err, HasSubstr("working_dir: there is no folder " + (folder_ / "code")));
  EXPECT_THAT(refused.err, HasSubstr("--set trainable.working_dir=FOLDER"));
  EXPECT_EQ(Ask("select count(*) from trials"), Rows{"1"});
  const ProgramResult resumed = RunTune(folder_, {"resume", "--samples", "2", "--set",
                                                  "trainable.working_dir=" + (folder_ / "moved")});
  EXPECT_EQ(resumed.exit_status, 0) << resumed.err;
  EXPECT_THAT(resumed.err, Not(HasSubstr("changed since"))) << "it is the same script";
  EXPECT_EQ(Ask("select number, status from trials order by number"),
            (Rows{"0|TERMINATED", "1|TERMINATED"}));
}

TEST_F(Command, WhereEachFailsAlikeTheSweepEndsEarlyWithTheReason) {
  WriteScript("echo 'ValueError: no data' >&2; exit 3\n");
  const ProgramResult result =
      Run(ScriptSweep("samples: 200\nfailure: {max_failures: 0}\n"), {"--cpus", "4"});
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_THAT(result.err + result.out,
              HasSubstr("the program exited with status 3: ValueError: no data"));
  EXPECT_EQ(Ask("select count(*) < 100 from attempts"), Rows{"1"});
}

TEST_F(Command, AReportThatCannotBeTakenIsToldAndTheTrialGoesOn) {
  WriteScript(
      "tune report acc=high 2> said; echo $? >> said\n"
      "tune report acc=1 --iteration 5; tune report acc=1 --iteration 4 2>> said; echo $? >> said\n"
      "tune report acc=nan; tune report acc=2 extra=1; tune report acc=3\n"
      "tune report other=1\n");
  const ProgramResult result = Run(ScriptSweep());
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Text("said"),
            "tune report: acc: read 'high', expected a number\n2\n"
            "tune report: training_iteration: read 4, expected more than the last one, 5\n2\n");
  EXPECT_EQ(Ask("select iteration, value from reports order by iteration"),
            (Rows{"5|1.0", "6|", "7|2.0", "8|3.0", "9|"}));
  EXPECT_THAT(Outcomes(),
              ElementsAre(StartsWith("completed|2 reports were refused, the last one: "
                                     "training_iteration: read 4, expected more than")));
  EXPECT_THAT(result.out, HasSubstr("2 reports were refused"));
}

TEST_F(Command, ATrialWhoseReportsAreAllRefusedHasNoValue) {
  WriteScript("tune report acc=2,7\ntrue\n");
  const ProgramResult result = Run(ScriptSweep());
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_THAT(Outcomes(), ElementsAre("bad_config|no_metric: the program ended with status 0 and a "
                                      "report was refused: acc: read '2,7', expected a number"));
}

TEST_F(Command, TwoShellsThatReportSideBySideAreInDoubt) {
  WriteScript(
      "mkfifo there back\n"
      "(for i in 1 2 3; do tune report acc=0.$i; echo > there; read line < back; done) &\n"
      "(for i in 1 2 3; do read line < there; tune report acc=0.9; echo > back; done) &\n"
      "wait\n");
  const ProgramResult result = Run(ScriptSweep());
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select count(*) from reports"), Rows{"6"});
  EXPECT_THAT(result.out, HasSubstr("two processes of the program report by turns"));

  WriteScript("(tune report acc=1; true); tune report acc=2; (tune report acc=3; true)\n");
  const ProgramResult one_by_one = Run(ScriptSweep("samples: 1\nname: one_by_one\n"));
  EXPECT_THAT(one_by_one.out, Not(HasSubstr("in doubt")));
}

TEST_F(Command, OneThatNeverReportsTheMetricIsToldWhy) {
  WriteScript("echo accuracy 0.5\n");
  const ProgramResult by_regex = Run(ScriptSweep("samples: 1\n", kByRegex), {"--db", "a.db"});
  EXPECT_EQ(by_regex.exit_status, 3);
  EXPECT_THAT(Query(folder_, "select outcome, error from attempts", "a.db"),
              EachOfSome(HasSubstr("no_metric: the program ended with status 0 and the regular "
                                   "expression of 'acc' found no number")));
  const ProgramResult by_itself = Run(ScriptSweep(), {"--db", "b.db"});
  EXPECT_EQ(by_itself.exit_status, 3);
  EXPECT_THAT(
      Query(folder_, "select outcome, error from attempts", "b.db"),
      EachOfSome(HasSubstr("never reported 'acc'; the last that it printed: accuracy 0.5")));
  const ProgramResult by_file =
      Run(ScriptSweep("samples: 1\n", "  metrics: {acc: {json: r.json}}\n"), {"--db", "c.db"});
  EXPECT_EQ(by_file.exit_status, 3);
  EXPECT_THAT(Query(folder_, "select outcome, error from attempts", "c.db"),
              EachOfSome(HasSubstr("metrics: acc: r.json: ")));
}

TEST_F(Command, OutputIsBoundedAndHurtsNobodyHoweverMuch) {
  WriteScript("yes | head -c 300M; tune report acc=0.5\n");
  const ProgramResult result = Run(ScriptSweep());
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_THAT(Outcomes(), ElementsAre("completed|"));
  uintmax_t largest = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder_ / "tune.artifacts")) {
    if (entry.is_regular_file()) largest = std::max(largest, entry.file_size());
  }
  EXPECT_GT(largest, 1u << 20);
  EXPECT_LT(largest, 20u << 20);
}

// More reports than anybody asked for: those that are decided are kept, and the program waits.
TEST_F(Command, OneThatReportsWithoutEndInItsOutputIsStoppedLikeAnyOther) {
  WriteScript("exec yes 'acc: 0.5'\n");
  const ProgramResult result =
      Run(ScriptSweep("samples: 1\nscheduler: {asha: {max_t: 20, grace_period: 20}}\n", kByRegex));
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select count(*) from reports"), Rows{"20"});
  EXPECT_THAT(Outcomes(), ElementsAre("stopped|"));
}

// Each takes three or four descriptors of the worker.
TEST_F(Command, MoreThanAWorkerHasDescriptorsForWaitAndNoneFails) {
  WriteScript("sleep 0.2\ntune report acc=$1\n");
  const std::string space =
      folder_.Write("space.yaml", ScriptSweep("samples: 60\nlimits: {max_concurrent: 60}\n"
                                              "resources: {cpu: 0.01}\n"));
  Program tune(folder_, fs::relative("/bin/sh", BinDir()),
               {"-c", "ulimit -n 80; exec \"$0\" \"$@\"", BinDir() + "/tune", "run", space});
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select status, count(*) from trials"), Rows{"TERMINATED|60"});
  EXPECT_EQ(Ask("select outcome, count(*) from attempts group by 1"), Rows{"completed|60"});
}

TEST_F(Command, OneThatTakesTooMuchMemoryIsOutOfMemory) {
  folder_.Write("take.py",
                "held = []\n"
                "for _ in range(20): held.append(b'x' * 50_000_000)\n"
                "import signal; signal.pause()\n");
  const ProgramResult result =
      Run(Sweep("  command: [python3, take.py]\n",
                "samples: 1\nresources: {memory: 200MB}\nfailure: {max_failures: 0}\n"));
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_THAT(Outcomes(),
              ElementsAre(AllOf(HasSubstr("out_of_memory|"), HasSubstr("resources.memory"))));
}

TEST_F(Command, OneThatLivesOnWhenItsChildTookTooMuchMemoryIsOutOfMemoryToo) {
  folder_.Write("take.py",
                "import subprocess, sys\n"
                "if len(sys.argv) > 1: held = b'x' * 300_000_000\n"
                "else: print('acc=0.5', subprocess.run([sys.executable, 'take.py', 'child']))\n");
  const ProgramResult result =
      Run(Sweep("  command: [python3, take.py]\n  metrics: {acc: {regex: 'acc={number}'}}\n",
                "samples: 1\nresources: {memory: 200MB}\nfailure: {max_failures: 0}\n"));
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_THAT(Outcomes(),
              ElementsAre(AllOf(HasSubstr("out_of_memory|"), HasSubstr("resources.memory"))));
}

// A machine without cgroups to write.
TEST_F(Command, OneThatTakesTooMuchMemoryIsOutOfMemoryAlsoWhereItIsWatched) {
  if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
  folder_.Write("take.py",
                "import subprocess, sys, time\n"
                "if len(sys.argv) == 1: subprocess.run([sys.executable, 'take.py', 'child'])\n"
                "held = b'x' * 300_000_000\n"
                "import signal; signal.pause()\n");
  const std::string space =
      Sweep("  command: [python3, take.py]\n",
            "samples: 1\nresources: {memory: 200MB}\nfailure: {max_failures: 0}\n");
  Program tune(folder_, "tune", {"run", folder_.Write("space.yaml", space)}, "", "/sys/fs/cgroup");
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_THAT(Outcomes(),
              ElementsAre(AllOf(HasSubstr("out_of_memory|"), HasSubstr("resources.memory"))));
  EXPECT_THAT(Text("tune.artifacts/space/0/attempt_1.log"),
              HasSubstr("the limit of 200000000 bytes is watched"));
}

// ---- setup

TEST_F(Command, SetupRunsOnceForAllTrials) {
  WriteScript("cat $TUNE_SETUP_DIR/made >> seen; tune report acc=1\n");
  const ProgramResult result = Run(ScriptSweep("samples: 6\n",
                                               "  setup: [\"echo one >> count\", \"echo made > "
                                               "$TUNE_SETUP_DIR/made\"]\n"),
                                   {"--cpus", "4"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Text("count"), "one\n");
  EXPECT_EQ(Text("seen"), "made\nmade\nmade\nmade\nmade\nmade\n");
}

TEST_F(Command, WhatSetupMadeIsThereInEachTrialOfAProgramThatServes) {
  folder_.Write("serve.py",
                "import os, tune\n"
                "print('begins', flush=True)\n"
                "while True:\n"
                "    with open(os.environ['TUNE_SETUP_DIR'] + '/made') as made:\n"
                "        tune.report(acc=len(made.read()))\n"
                "    variables = tune._reporter.next_trial()\n"
                "    if variables is None:\n"
                "        break\n"
                "    for name in [name for name in os.environ if name.startswith('TUNE_')]:\n"
                "        del os.environ[name]\n"
                "    os.environ.update(variables)\n");
  const ProgramResult result = Run(Sweep("  command: [/usr/bin/python3, serve.py]\n  serve: true\n"
                                         "  setup: [\"echo made > $TUNE_SETUP_DIR/made\"]\n",
                                         "samples: 3\n"),
                                   {"--cpus", "1"});
  ASSERT_TRUE(Succeeded(result));
  EXPECT_THAT(Outcomes(), ElementsAre("completed|", "completed|", "completed|"));
  EXPECT_THAT(Text("tune.artifacts/space/0/attempt_1.log"), HasSubstr("begins"));
  EXPECT_THAT(Text("tune.artifacts/space/2/attempt_1.log"), Not(HasSubstr("begins")))
      << "one process runs them all";
}

TEST_F(Command, SetupIsDoneOnceForAllSweepsThatNeedTheSame) {
  TestFolder outside;
  fs::create_directory(folder_ / "code");  // Without what we keep beside it for ourselves.
  WriteScript("cat $TUNE_SETUP_DIR/made; tune report acc=1\n", "code/trial.sh");
  const auto sweep = [&](const std::string& db, const std::string& more = "") {
    const std::string space = ScriptSweep(
        "samples: 2\n", "  working_dir: code\n  setup: [\"echo . >> " + (outside / "count") +
                            "; echo made > $TUNE_SETUP_DIR/made\"]\n" + more);
    const ProgramResult result = Run(space, {"--db", db});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    std::ifstream in(outside / "count");
    return std::count(std::istreambuf_iterator<char>(in), {}, '\n');
  };
  EXPECT_EQ(sweep("a.db"), 1);
  EXPECT_EQ(sweep("b.db"), 1);
  // Other content, another environment.
  folder_.Write("code/new.txt", "");
  EXPECT_EQ(sweep("c.db"), 2);
  EXPECT_EQ(sweep("d.db", "  env: {MODE: other}\n"), 3);
}

// What it left there may be gone by the next time.
TEST_F(Command, ASetupThatChangesTheFolderItselfIsDoneForEachSweep) {
  WriteScript("cat built; tune report acc=1\n");
  const std::string space = ScriptSweep("samples: 2\n", "  setup: [\"echo . > built\"]\n");
  ASSERT_TRUE(Succeeded(Run(space, {"--db", "a.db"})));
  fs::remove(folder_ / "built");
  EXPECT_TRUE(Succeeded(Run(space, {"--db", "b.db"})));
}

TEST_F(Command, ASetupThatFailsIsTold) {
  WriteScript("tune report acc=1\n");
  const ProgramResult result =
      Run(ScriptSweep("samples: 1\n", "  setup: [\"echo no network >&2; exit 1\"]\n"));
  EXPECT_EQ(result.exit_status, 3);
  EXPECT_THAT(Outcomes(),
              EachOfSome(HasSubstr("setup: 'echo no network >&2; exit 1' failed: no network")));
  EXPECT_EQ(Ask("select count(*) from reports"), Rows{"0"});
}

}  // namespace
}  // namespace tune::testing
