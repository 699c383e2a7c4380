// What engines say and are told, as text; the engines themselves are tried with real programs
// (tests/e2e).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/posix/read_bytes.h"
#include "tests/tuner/temp_folder.h"
#include "tests/tuner/watched_syncs.h"
#include "tuner/engines/command_engine.h"
#include "tuner/engines/program_call.h"
#include "tuner/engines/slurm_engine.h"
#include "tuner/engines/ssh_engine.h"
#include "tuner/engines/worker_programs.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::Property;
using ::testing::SizeIs;

const std::atomic<bool> kGoesOn = false;

void Write(const std::string& path, const std::string& text) { std::ofstream(path) << text; }

PoolSpec Pool(const std::string& text) {
  const Result<Value> document = ParseYaml("pools: {p: {" + text + "}}\n");
  TUNE_CHECK(document.ok());
  const Result<ClusterSpec> cluster = InterpretCluster(*document, "lab.yaml", "/");
  TUNE_CHECK(cluster.ok());
  return cluster->pools.front();
}

TEST(ProgramCall, AnswerHasWhatAProgramSaidAndHowItEnded) {
  const Result<CallAnswer> answer = CallProgram({.words = {"sh", "-c", "cat; echo $A >&2; exit 3"},
                                                 .environment = {"A=no room"},
                                                 .input = "hello"},
                                                kGoesOn);
  ASSERT_TRUE(answer.ok()) << answer.status().message();
  EXPECT_EQ(answer->out, "hello");
  EXPECT_EQ(answer->exit_status, 3);
  EXPECT_EQ(answer->Reason(), "no room");
}

TEST(ProgramCall, ProgramThatHangsIsKilledAfterItsPatience) {
  const Result<CallAnswer> answer = CallProgram(
      {.words = {"sh", "-c", "exec tail -f /dev/null"}, .patience = Milliseconds(50)}, kGoesOn);
  EXPECT_EQ(answer.status().code(), StatusCode::kUnavailable);
  EXPECT_EQ(answer.status().message(), "sh did not end within 50 ms");
}

TEST(ProgramCall, CancelledCallsAreNotWaitedFor) {
  const std::atomic<bool> is_cancelled = true;
  EXPECT_EQ(CallProgram({.words = {"tail", "-f", "/dev/null"}}, is_cancelled).status().code(),
            StatusCode::kUnavailable);
}

// A script that runs a cloud's program: that would make the machine that nobody waits for.
TEST(ProgramCall, CallThatIsCancelledEndsWithAllThatItStarted) {
  const TempFolder folder;
  ASSERT_EQ(mkfifo((folder / "started").c_str(), 0600), 0);
  std::atomic<bool> is_cancelled = false;
  FileDescriptor child;
  std::thread other([&] {
    pid_t pid = 0;
    std::ifstream(folder / "started") >> pid;
    child = FileDescriptor(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
    is_cancelled = true;
  });
  ProgramCall call{.words = {"sh", "-c", "sh -c 'echo $$ >started; exec tail -f /dev/null'; true"}};
  call.folder = folder.path();
  EXPECT_EQ(CallProgram(call, is_cancelled).status().code(), StatusCode::kUnavailable);
  other.join();
  ASSERT_TRUE(child.is_open());
  pollfd ended{child.get(), POLLIN, 0};
  EXPECT_EQ(poll(&ended, 1, 30'000), 1);
}

TEST(ProgramCall, ProgramThatIsNotThereIsSaid) {
  EXPECT_EQ(CallProgram({.words = {"no-such-program"}}, kGoesOn).status().message(),
            "no-such-program: there is no such program in PATH");
}

TEST(ProgramCall, AnswersComeInTheOrderOfTheCalls) {
  std::vector<ProgramCall> calls;
  for (int i = 0; i < 20; ++i) calls.push_back({.words = {"echo", std::to_string(i)}});
  const auto answers = CallPrograms(calls, 4, kGoesOn);
  for (int i = 0; i < 20; ++i) EXPECT_EQ(answers[i]->out, std::to_string(i) + "\n");
}

TEST(MachineList, LinesAndJsonAreReadAndMachinesOfOthersAreLeftOut) {
  const auto lines = ParseMachineList("t-p-1 pending no room\n\nother-1 running\nt-p-2\n", "t-p-");
  ASSERT_TRUE(lines.ok());
  ASSERT_THAT(*lines, SizeIs(2));
  EXPECT_EQ((*lines)[0].name, "t-p-1");
  EXPECT_EQ((*lines)[0].state, MachineState::kPending);
  EXPECT_EQ((*lines)[0].reason, "no room");
  EXPECT_EQ((*lines)[1].state, MachineState::kRunning);
  const auto json = ParseMachineList(
      R"([{"name": "t-p-1", "state": "ended", "reason": "preempted"}, "t-p-2", {"name": "x"}])",
      "t-p-");
  ASSERT_TRUE(json.ok());
  ASSERT_THAT(*json, SizeIs(2));
  EXPECT_EQ((*json)[0].state, MachineState::kEnded);
  EXPECT_EQ((*json)[0].reason, "preempted");
  EXPECT_THAT(*ParseMachineList("  \n", "t-p-"), IsEmpty());
  EXPECT_EQ(ParseMachineList("[{\"id\": 3}]", "t-p-").status().code(),
            StatusCode::kInvalidArgument);
}

TEST(CommandEngine, CommandsGetTheNameAndTheInvitationAndNoTokenAsAnArgument) {
  TempFolder folder;
  Write(folder / "token", "tune1_secret");
  Write(folder / "up",
        "#!/bin/sh\necho \"$*|$TUNE_WORKER_NAME|$TUNE_CONNECT|$TUNE_JOIN|$TUNE_CPUS\" >>seen\n");
  std::filesystem::permissions(folder / "up", std::filesystem::perms::owner_all);
  const PoolSpec pool = Pool(
      "command: {up: [./up, \"{name}\"], down: [\"true\", \"{name}\"], list: [echo, t-p-1]}, "
      "worker: {cpus: 3}");
  const auto engine = MakeCommandEngine(pool, folder.path(), "t-p-");
  setenv("TUNE_JOIN", "of the shell in which the head was started", 1);
  EXPECT_THAT(engine->Ask({"t-p-1"}, {"h:1", folder / "token"}), ElementsAre(OkStatus()));
  unsetenv("TUNE_JOIN");
  EXPECT_EQ(ReadBytes(folder / "seen"), "t-p-1|t-p-1|h:1|tune1_secret|3\n");
  const auto machines = engine->List();
  ASSERT_TRUE(machines.ok());
  EXPECT_THAT(*machines, SizeIs(1));
  EXPECT_TRUE(engine->GiveBack({"t-p-1"}).ok());
}

// A cloud whose login has expired is none without machines.
TEST(CommandEngine, ListThatPrintsAnErrorAndEndsWithZeroIsNoListing) {
  const auto list = [](const std::string& script) {
    const PoolSpec pool = Pool(
        "command: {up: [u, \"{name}\"], down: [d, \"{name}\"], list: [sh, -c, '" + script + "']}");
    return MakeCommandEngine(pool, "/", "t-p-")->List();
  };
  for (const char* const script :
       {"echo \"ERROR: the token has expired\"", "echo Error contacting the server",
        "echo t-p-1 running; echo \"<html>\"", "echo \"{}\"", "echo the token has expired >&2"}) {
    EXPECT_EQ(list(script).status().code(), StatusCode::kUnavailable) << script;
  }
  EXPECT_THAT(list("echo \"ERROR: expired\"").status().message(),
              HasSubstr("list: read 'ERROR: expired', expected a machine a line"));
  EXPECT_THAT(list("echo expired >&2").status().message(), HasSubstr("and said: expired"));
  for (const char* const script :
       {"true", "echo", "echo []", "echo \"[]\"; echo a warning >&2", "echo Listed 0 items. >&2",
        "echo somebody-elses.machine_1 RUNNING in zone 3", "echo NAME STATUS"}) {
    const auto machines = list(script);
    ASSERT_TRUE(machines.ok()) << script << ": " << machines.status().message();
    EXPECT_THAT(*machines, IsEmpty()) << script;
  }
}

TEST(CommandEngine, WhatIsBeingAskedForIsCalledOffAndTheRestGoesOn) {
  TempFolder folder;
  Write(folder / "token", "t");
  const PoolSpec pool = Pool(
      "command: {up: [tail, -f, /dev/null, \"{name}\"], down: [\"true\", \"{name}\"], list: "
      "[echo]}");
  const auto engine = MakeCommandEngine(pool, folder.path(), "t-p-");
  std::thread other([&] { engine->CallOff(); });
  const std::vector<Status> answers = engine->Ask({"t-p-1"}, {"h:1", folder / "token"});
  other.join();
  EXPECT_THAT(answers, ElementsAre(Property(&Status::code, StatusCode::kUnavailable)));
  EXPECT_TRUE(engine->GiveBack({"t-p-1"}).ok());
  EXPECT_TRUE(engine->List().ok());
}

TEST(CommandEngine, FailureIsToldWithTheCommandsOwnWordsAndStatus75IsAQuota) {
  TempFolder folder;
  Write(folder / "token", "t");
  const PoolSpec pool = Pool(
      "command: {up: [sh, -c, \"echo full {name} >&2; exit 75\"], down: [sh, -c, \"echo no >&2; "
      "exit 1\", \"{name}\"], list: [sh, -c, \"exit 4\"]}");
  const auto engine = MakeCommandEngine(pool, folder.path(), "t-p-");
  EXPECT_THAT(engine->Ask({"t-p-1"}, {"h:1", folder / "token"}),
              ElementsAre(ResourceExhausted("up: full t-p-1")));
  EXPECT_EQ(engine->GiveBack({"t-p-1"}), FailedPrecondition("down: no"));
  EXPECT_EQ(engine->List().status(), Unavailable("list: exit status 4"));
}

// Programs in the place of gcloud and az, which keep the names of machines in a file.
constexpr char kGcloud[] = R"sh(#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>calls
case "$*" in
*'value(name)'*)
  for word; do case $word in --filter=name=*) grep -x "${word#--filter=name=}" names ;; esac; done
  exit 0 ;;
*'value(name,status)'*) while read -r name; do echo "$name STAGING"; done <names ;;
*' create '*)
  echo "$4" >>names
  for word; do case $word in --metadata-from-file=*) cp "${word#*=startup-script=}" script ;; esac; done ;;
*' delete '*) grep -vx "$4" names >rest; mv rest names ;;
esac
)sh";
constexpr char kAz[] = R"sh(#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>calls
before= name=
for word; do
  case $before in --name) name=$word ;; --custom-data) cp "$word" script ;; esac
  case $word in "[?name=='"*) name=${word#"[?name=='"}; name=${name%%"'"*} ;; esac
  before=$word
done
case "$*" in
*'[?name=='*) grep -x "$name" names; exit 0 ;;
*starts_with*) while read -r name; do printf '%s\tCreating\t\n' "$name"; done <names ;;
*'vm create'*) echo "$name" >>names ;;
*'vm delete'*) grep -vx "$name" names >rest; mv rest names ;;
esac
)sh";

class CloudScript : public ::testing::TestWithParam<std::pair<const char*, const char*>> {};

TEST_P(CloudScript, ExampleMakesAMachineOnceAndListsAndRemovesIt) {
  const auto& [name, program] = GetParam();
  const TempFolder folder;
  const std::string fake = folder.path() + "/" + name;
  Write(fake, program);
  Write(folder.path() + "/names", "");
  std::filesystem::permissions(fake, std::filesystem::perms::owner_all);
  const std::string path = std::getenv("PATH");
  setenv("PATH", (folder.path() + ":" + path).c_str(), 1);
  const std::string root = std::getenv("TUNE_SOURCE_DIR");
  const auto cluster = ReadClusterFile(root + "/examples/clusters/" + name + ".yaml");
  ASSERT_TRUE(cluster.ok()) << cluster.status().message();
  const auto engine = MakeCommandEngine(cluster->pools.front(), cluster->base_dir, "tune-x-");
  Write(folder.path() + "/token", "tune1_secret");
  const WorkerInvitation invitation{"head:7443", folder.path() + "/token"};
  for (int i = 0; i < 2; ++i) {
    EXPECT_THAT(engine->Ask({"tune-x-1"}, invitation), ElementsAre(OkStatus()));
  }
  EXPECT_EQ(ReadBytes(folder.path() + "/names"), "tune-x-1\n");
  EXPECT_EQ(ReadBytes(folder.path() + "/script"),
            "#!/bin/sh\nexport TUNE_JOIN='tune1_secret'\ntune worker --connect 'head:7443' --name "
            "'tune-x-1' --cpus '8' --gpus '1'" +
                std::string(name == std::string("gcloud")
                                ? " --notice gce"
                                : " --notice \"command:curl -sf -H Metadata:true "
                                  "'http://169.254.169.254/metadata/"
                                  "scheduledevents?api-version=2020-07-01' | grep -q Preempt\"") +
                "\npoweroff\n")
      << "a spot machine hears that it is taken away";
  const Result<std::vector<Machine>> machines = engine->List();
  ASSERT_TRUE(machines.ok()) << machines.status().message();
  ASSERT_THAT(*machines, SizeIs(1));
  EXPECT_EQ(machines->front().name, "tune-x-1");
  EXPECT_EQ(machines->front().state, MachineState::kPending);
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(engine->GiveBack({"tune-x-1"}).ok());
  EXPECT_THAT(*engine->List(), IsEmpty());
  setenv("PATH", path.c_str(), 1);
  EXPECT_THAT(ReadBytes(folder.path() + "/calls"), Not(HasSubstr("secret")));
}

INSTANTIATE_TEST_SUITE_P(Clouds, CloudScript,
                         ::testing::Values(std::pair("gcloud", kGcloud), std::pair("az", kAz)));

TEST(Slurm, SbatchIsToldTheWorkersShapeAndWhatMustHold) {
  const PoolSpec pool = Pool(
      "slurm: {partition: gpu, account: vision, time: 4h, options: [\"--exclusive\"]}, worker: "
      "{cpus: 8, gpus: 1, memory: 64GiB}");
  const SlurmPlaces places{"/opt/tune", "/shared/it's", "tune cluster lab"};
  EXPECT_THAT(SbatchWords(pool, places, "t-p-", 7, 3),
              ElementsAre("sbatch", "--parsable", "--job-name=t-p-7", "--array=0-2", "--no-requeue",
                          "--signal=B:USR1@60", "--nodes=1", "--ntasks=1", "--cpus-per-task=8",
                          "--output=/shared/it's/t-p-7_%a.log", "--comment=tune cluster lab",
                          "--gres=gpu:1", "--mem=65536M", "--partition=gpu", "--account=vision",
                          "--time=240", "--exclusive"));
  const std::string script =
      SbatchScript(pool, places, "t-p-", 7, {"head:7443", "/shared/it's/token"});
  EXPECT_THAT(script, HasSubstr("name=t-p-$((7 + SLURM_ARRAY_TASK_ID))"));
  EXPECT_THAT(script, HasSubstr("TUNE_JOIN=$(cat '/shared/it'\\''s/token')"));
  EXPECT_THAT(script, HasSubstr("'/opt/tune/tune_worker' --connect 'head:7443' --name \"$name\" "
                                "--cpus 8 --gpus 1 &"));
}

TEST(Slurm, PercentSignOfAFolderIsNoPatternOfSlurms) {
  const PoolSpec pool = Pool("slurm: {}, worker: {cpus: 1, gpus: 0}");
  EXPECT_THAT(SbatchWords(pool, {"/opt/tune", "/shared/top 5%/%j", "c"}, "t-p-", 7, 1),
              Contains("--output=/shared/top 5%%/%%j/t-p-7_%a.log"));
}

TEST(Slurm, SqueueTellsOfOurJobsTheirStatesAndReasons) {
  const auto jobs = ParseSqueue(
      "t-p-7|0|PD|Priority|11_0\nt-p-7|1|R|None|11_1\nt-p-9|0|CA|None|12_0\nwrap|N/A|R|None|4\n"
      "t-p-x|0|R|None|5\nt-p-8|N/A|R|None|6\n",
      "t-p-");
  ASSERT_THAT(jobs, SizeIs(3));
  EXPECT_EQ(jobs[0].machine.name, "t-p-7");
  EXPECT_EQ(jobs[0].machine.state, MachineState::kPending);
  EXPECT_EQ(jobs[0].machine.reason, "Priority");
  EXPECT_EQ(jobs[0].id, "11_0");
  EXPECT_EQ(jobs[1].machine.name, "t-p-8");
  EXPECT_EQ(jobs[1].machine.state, MachineState::kRunning);
  EXPECT_EQ(jobs[1].machine.reason, "");
  EXPECT_EQ(jobs[2].machine.state, MachineState::kEnded);
  EXPECT_EQ(jobs[2].machine.reason, "Slurm says CA");
}

TEST(Slurm, RefusalsAreClassed) {
  EXPECT_EQ(SbatchRefusal("sbatch: error: Batch job submission failed: Unable to contact slurm "
                          "controller (connect failure)")
                .code(),
            StatusCode::kUnavailable);
  EXPECT_EQ(SbatchRefusal("error: QOSMaxSubmitJobPerUserLimit").code(),
            StatusCode::kResourceExhausted);
  EXPECT_EQ(SbatchRefusal("error: invalid partition specified: gpu").code(),
            StatusCode::kFailedPrecondition);
}

TEST(Ssh, ProbeIsReadBehindAGreeting) {
  const auto probe = ParseSshProbe("Welcome!\nx86_64\nglibc 2.36\nhere\n");
  ASSERT_TRUE(probe);
  EXPECT_EQ(probe->machine, "x86_64");
  EXPECT_EQ(probe->libc, "glibc 2.36");
  EXPECT_TRUE(probe->has_programs);
  EXPECT_FALSE(ParseSshProbe("x86_64\n"));
  EXPECT_EQ(ParseSshProbe("x86_64\nnone\nmissing\n")->libc, "");
}

TEST(WorkerPrograms, MachineThatCannotRunThemIsToldWhy) {
  const WorkerPrograms programs{"", "", "x86_64", {2, 34}};
  EXPECT_TRUE(CheckMachine(programs, "x86_64", "glibc 2.36").ok());
  EXPECT_TRUE(CheckMachine(programs, "x86_64", "glibc 3.0").ok());
  EXPECT_EQ(CheckMachine(programs, "x86_64", "glibc 2.28").message(),
            "its glibc is 2.28, and the worker needs 2.34 or newer");
  EXPECT_THAT(CheckMachine(programs, "aarch64", "glibc 2.36").message(),
              HasSubstr("its processor is aarch64, and the worker here is built for x86_64"));
  EXPECT_EQ(CheckMachine(programs, "x86_64", "").message(),
            "its C library is not glibc; the worker needs glibc 2.34 or newer");
}

TEST(WorkerPrograms, HighestVersionThatAProgramNamesIsNeeded) {
  EXPECT_EQ(GlibcNeeded("\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_2.9"),
            (std::pair(0, 0)));  // Of a text that ends at its first byte.
  const std::string bytes("x\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_PRIVATE\0GLIBC_2.9", 48);
  EXPECT_EQ(GlibcNeeded(bytes), (std::pair(2, 34)));
}

TEST(WorkerPrograms, ArchiveIsMadeOnceForEachContentWithTheLibrariesButForTheCLibrary) {
  const char* const bin = std::getenv("TUNE_BIN_DIR");
  ASSERT_NE(bin, nullptr);
  TempFolder folder;
  const WatchedSyncs syncs;
  const auto packed = PackWorkerPrograms(bin, folder.path(), kGoesOn);
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  EXPECT_THAT(syncs.paths(), Contains(::testing::EndsWith(".tar.new"))) << "before it has its name";
  EXPECT_GE(packed->glibc, std::pair(2, 14));
  const auto listed = CallProgram({.words = {"tar", "-tf", packed->archive}}, kGoesOn);
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->out, HasSubstr("./tune_worker\n"));
  EXPECT_THAT(listed->out, HasSubstr("./lib/libgrpc++.so"));
  EXPECT_THAT(listed->out, Not(HasSubstr("libc.so.6")));
  const auto again = PackWorkerPrograms(bin, folder.path(), kGoesOn);
  EXPECT_EQ(again->archive, packed->archive);
}

TEST(WorkerPrograms, PoolsThatPackAtOnceHaveOneWholeArchive) {
  const char* const bin = std::getenv("TUNE_BIN_DIR");
  ASSERT_NE(bin, nullptr);
  TempFolder folder;
  Result<WorkerPrograms> other = Unavailable("not packed");
  std::thread thread([&] { other = PackWorkerPrograms(bin, folder.path(), kGoesOn); });
  const auto packed = PackWorkerPrograms(bin, folder.path(), kGoesOn);
  thread.join();
  ASSERT_TRUE(packed.ok()) << packed.status().message();
  ASSERT_TRUE(other.ok()) << other.status().message();
  EXPECT_EQ(other->archive, packed->archive);
  const auto listed = CallProgram({.words = {"tar", "-tf", packed->archive}}, kGoesOn);
  ASSERT_TRUE(listed.ok());
  EXPECT_THAT(listed->out, HasSubstr("./tune_worker\n"));
  EXPECT_THAT(listed->out, HasSubstr("./lib/libgrpc++.so"));
}

}  // namespace
}  // namespace tune
