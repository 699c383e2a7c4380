// Workers of other machines join by the printed line, and by nothing else.
#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>

#include <cerrno>

#include "core/posix/file_descriptor.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/free_ports.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

const std::string kSpace = CurveSweep("    iterations: 5\n", "samples: 8\n");
// Never ends by itself.
const std::string kEndlessSpace =
    CurveSweep("    iterations: 1000000000\n    seconds: 0.02\n", "samples: 8\n");

std::vector<std::string> RunListening(const std::string& space,
                                      const std::string& listen = FreePlace()) {
  return {"run", space, "--cpus", "0", "--listen", listen};
}

// Connections that begin a handshake and say no more.
class Crowd {
 public:
  explicit Crowd(int port) : port_(port) {}

  void GrowUntilOneIsClosed(const char* from) {
    const size_t first = fds_.size();
    while (!IsAnyClosed(first)) Connect(from);
  }

 private:
  void Connect(const char* from) {
    fds_.emplace_back(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    ASSERT_EQ(bind(fds_.back().get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port_));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(connect(fds_.back().get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    ASSERT_EQ(send(fds_.back().get(), "\x16", 1, MSG_NOSIGNAL), 1);
  }
  bool IsAnyClosed(size_t first) const {
    return std::any_of(fds_.begin() + static_cast<std::ptrdiff_t>(first), fds_.end(),
                       [](const FileDescriptor& fd) {
                         char byte = 0;
                         const ssize_t count = recv(fd.get(), &byte, 1, MSG_DONTWAIT);
                         return count == 0 || (count < 0 && errno != EAGAIN);
                       });
  }

  const int port_;
  std::vector<FileDescriptor> fds_;
};

// One line, from the worker, and the exit status.
void ExpectRefusal(const ProgramResult& worker, int exit_status, const std::string& reason) {
  EXPECT_EQ(worker.exit_status, exit_status) << worker.err;
  EXPECT_TRUE(worker.err.starts_with("tune worker: ")) << worker.err;
  EXPECT_NE(worker.err.find(reason), std::string::npos) << worker.err;
  EXPECT_EQ(std::count(worker.err.begin(), worker.err.end(), '\n'), 1) << worker.err;
  EXPECT_EQ(worker.out, "");
}

TEST(Join, AWorkerWithThePrintedLineRunsTheSweep) {
  TestFolder folder;
  Program tune(folder, "tune", RunListening(folder.Write("space.yaml", kSpace)));
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  Program worker(folder, "tune", join.Worker({"--cpus", "2", "--name", "other"}));
  ASSERT_TRUE(Succeeded(worker.Wait()));
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(
      Query(folder, "select count(distinct worker) from attempts where outcome = 'completed'"),
      std::vector<std::string>{"1"});
  struct stat status = {};
  ASSERT_EQ(stat((folder / "tune.artifacts/tls").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  const ProgramResult tokens = RunTune(folder, {"tokens", "--format", "csv"});
  EXPECT_TRUE(Succeeded(tokens));
  EXPECT_NE(tokens.out.find(",valid,"), std::string::npos) << tokens.out;
}

TEST(Join, ALocalWorkerAndAnotherOneWorkTogether) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kEndlessSpace);
  Program tune(folder, "tune", {"run", space, "--cpus", "1", "--listen", FreePlace()});
  const JoinLine join = WaitForJoinLine(tune);
  Program worker(folder, "tune", join.Worker({"--cpus", "1"}));
  // Until both report.
  WaitForRows(folder,
              "select count(distinct a.worker) from reports r join attempts a on "
              "a.trial = r.trial and a.number = r.attempt",
              {"2"});
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait().exit_status, 130);
}

// The lease of 60 s would be the end of this test's patience.
TEST(Join, AWorkerThatIsKilledAndStartedAgainTakesItsTrialUpAtOnce) {
  TestFolder folder;
  const std::string space = folder.Write(
      "space.yaml", CurveSweep("    iterations: 1000000\n    seconds: 0.02\n", "samples: 1\n"));
  Program tune(folder, "tune", RunListening(space));
  const JoinLine join = WaitForJoinLine(tune);
  const std::vector<std::string> worker = join.Worker({"--cpus", "1", "--name", "gpu-1"});
  Program first(folder, "tune", worker);
  WaitForRows(folder, "select count(*) > 0 from reports", {"1"});
  // One of the same name that lives is nobody's former self.
  Program other(folder, "tune", worker);
  WaitForRows(folder, "select count(*) from workers where state = 'alive'", {"2"});
  first.Signal(SIGKILL);
  first.Wait();
  Program second(folder, "tune", worker);
  WaitForRows(folder,
              "select group_concat(outcome) from (select outcome from attempts order by number)",
              {"lost,running"});
  EXPECT_TRUE(tune.WaitForText("worker gpu-1 is lost: its process ended"));
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait().exit_status, 130);
}

TEST(Join, AWorkerThatIsDrainedLeavesAndItsTrialGoesOnElsewhere) {
  TestFolder folder;
  const std::string space = folder.Write(
      "space.yaml", CurveSweep("    iterations: 1000000\n    seconds: 0.02\n", "samples: 1\n"));
  Program tune(folder, "tune", RunListening(space));
  const JoinLine join = WaitForJoinLine(tune);
  Program first(folder, "tune", join.Worker({"--cpus", "1", "--name", "gpu-1"}));
  WaitForRows(folder, "select count(*) > 0 from reports", {"1"});
  Program second(folder, "tune", join.Worker({"--cpus", "1", "--name", "gpu-2"}));
  WaitForRows(folder, "select count(*) from workers where state = 'alive'", {"2"});
  const ProgramResult drained = RunTune(folder, {"drain", "gpu-1"});
  EXPECT_EQ(drained.exit_status, 0) << drained.err;
  EXPECT_EQ(drained.out,
            "worker gpu-1 leaves: it gets no more trials, the running trial goes on elsewhere\n");
  const ProgramResult left = first.Wait();
  EXPECT_TRUE(Succeeded(left));
  for (const char* const said : {"Z joined space as gpu-1, with 1 CPU", "Z trial 0 begins",
                                 "Z draining (tune drain): 1 running trial goes back to the tuner",
                                 "Z trial 0 ended: preempted"}) {
    EXPECT_NE(left.err.find(said), std::string::npos) << said << " is not in " << left.err;
  }
  WaitForRows(folder,
              "select w.name from attempts a join workers w on w.id = a.worker where a.outcome = "
              "'running'",
              {"gpu-2"});
  EXPECT_EQ(RunTune(folder, {"drain", "gpu-1"}).exit_status, 2);
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait().exit_status, 130);
}

// As from a machine without a GPU.
TEST(Join, WhatTheLocalWorkerCannotTakeWaitsForOneThatCan) {
  TestFolder folder;
  const std::string space = folder.Write("space.yaml", kSpace + "resources: {cpu: 3}\n");
  Program tune(folder, "tune", {"run", space, "--cpus", "1", "--listen", FreePlace()});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_TRUE(
      tune.WaitForText("no worker can take a trial: it needs cpu: 3; the workers have 1 CPU"));
  Program worker(folder, "tune", join.Worker({"--cpus", "3", "--name", "other"}));
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select distinct name from workers join attempts on worker = workers.id"),
            std::vector<std::string>{"other"});
}

// Its trials run as the same user, who may read that block.
TEST(Join, ATokenOfTheEnvironmentIsNotReadableThereWhileTheWorkerLives) {
  TestFolder folder;
  Program tune(folder, "tune", RunListening(folder.Write("space.yaml", kEndlessSpace)));
  const JoinLine join = WaitForJoinLine(tune);
  setenv("TUNE_JOIN", join.token.c_str(), 1);
  Program worker(folder, "tune", {"worker", "--connect", join.address, "--cpus", "1"});
  unsetenv("TUNE_JOIN");
  ASSERT_TRUE(worker.WaitForText(" joined "));
  std::ifstream in("/proc/" + std::to_string(worker.pid()) + "/environ", std::ios::binary);
  const std::string block(std::istreambuf_iterator<char>(in), {});
  EXPECT_NE(block.find("PATH="), std::string::npos);
  EXPECT_EQ(block.find(join.token), std::string::npos);
  worker.Signal(SIGTERM);
  worker.Wait();
  tune.Signal(SIGINT);
  EXPECT_EQ(tune.Wait().exit_status, 130);
}

// Of a tuner with few descriptors, so that a small crowd is one.
void ExpectNoWorkerIsKeptOut(const std::string& listen) {
  TestFolder folder;
  std::vector<std::string> arguments = {"-c", "ulimit -n 256; exec \"$0\" \"$@\"",
                                        BinDir() + "/tune"};
  for (std::string& argument : RunListening(folder.Write("space.yaml", kEndlessSpace), listen)) {
    arguments.push_back(std::move(argument));
  }
  Program tune(folder, std::filesystem::relative("/bin/sh", BinDir()), arguments);
  JoinLine join = WaitForJoinLine(tune);
  const int port = std::stoi(join.address.substr(join.address.rfind(':') + 1));
  join.address = "127.0.0.1:" + std::to_string(port);
  Crowd crowd(port);
  crowd.GrowUntilOneIsClosed("127.0.0.2");
  crowd.GrowUntilOneIsClosed("127.0.0.3");
  Program worker(folder, "tune", join.Worker({"--cpus", "2"}));
  const bool has_joined = worker.WaitForText(" joined ");
  EXPECT_TRUE(has_joined);
  if (has_joined) {
    // Nor does a crowd beside it, of its own address, put it out.
    crowd.GrowUntilOneIsClosed("127.0.0.1");
    WaitForReports(folder, 10);
    worker.Signal(SIGTERM);
  }
  const ProgramResult left = worker.Wait();
  EXPECT_EQ(left.err.find("trying again"), std::string::npos) << left.err;
  tune.Signal(SIGINT);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 130) << result.err;
  EXPECT_NE(result.err.find("a crowd of connections that "), std::string::npos) << result.err;
  EXPECT_EQ(result.err.find("broke"), std::string::npos) << result.err;
}

TEST(Join, ACrowdOfHalfDoneHandshakesKeepsNoWorkerOut) { ExpectNoWorkerIsKeptOut(FreePlace()); }

// There an IPv4 address is part of an IPv6 one.
TEST(Join, ACrowdOfHalfDoneHandshakesKeepsNoWorkerOutOnAllAddresses) {
  ExpectNoWorkerIsKeptOut("[::]:0");
}

TEST(Join, AMachineOnWhichEveryProgramCrashesCostsNoTrialBesideAHealthyOne) {
  TestFolder folder;
  folder.Write("trial.sh", "test -z \"$BROKEN\" || exit 3\nsleep 0.05\ntune report acc=1\n");
  const std::string space =
      folder.Write("space.yaml",
                   "trainable: {command: [sh, trial.sh]}\nmetric: acc\nmode: max\nsamples: 30\n"
                   "failure: {max_failures: 2, backoff: 0}\nspace: {x: {uniform: [0, 1]}}\n");
  Program tune(folder, "tune", RunListening(space));
  const JoinLine join = WaitForJoinLine(tune);
  Program good(folder, "tune", join.Worker({"--cpus", "1", "--name", "good"}));
  WaitForReports(folder, 1);
  setenv("BROKEN", "1", 1);
  Program bad(folder, "tune", join.Worker({"--cpus", "2", "--name", "bad"}));
  unsetenv("BROKEN");
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_NE(result.err.find("worker bad gets no more trials"), std::string::npos) << result.err;
  EXPECT_EQ(Query(folder, "select status, count(*) from trials"),
            std::vector<std::string>{"TERMINATED|30"});
}

TEST(Join, AWorkerUnderNohupOutlivesItsTerminal) {
  TestFolder folder;
  Program tune(folder, "tune",
               RunListening(folder.Write("space.yaml",
                                         "trainable: {curve: {value: x, iterations: 50, "
                                         "seconds: 0.02}}\nmetric: loss\nmode: min\nsamples: 1\n"
                                         "seed: 11\nspace: {x: {uniform: [0, 1]}}\n")));
  const JoinLine join = WaitForJoinLine(tune);
  const auto before = signal(SIGHUP, SIG_IGN);
  Program worker(folder, "tune", join.Worker({"--cpus", "1"}));
  signal(SIGHUP, before);
  WaitForReports(folder, 1);
  worker.Signal(SIGHUP);
  EXPECT_TRUE(Succeeded(worker.Wait()));
  tune.Signal(SIGINT);  // Nobody else would come.
  EXPECT_NE(tune.Wait().exit_status, 1);
  EXPECT_EQ(Query(folder, "select outcome from attempts"), std::vector<std::string>{"completed"});
}

TEST(Join, EachWayToBeRefusedIsOneClearLine) {
  TestFolder folder;
  TestFolder other_folder;
  Program tune(folder, "tune", RunListening(folder.Write("space.yaml", kEndlessSpace)));
  Program other(other_folder, "tune",
                RunListening(other_folder.Write("space.yaml", kEndlessSpace)));
  const JoinLine join = WaitForJoinLine(tune);
  const JoinLine other_join = WaitForJoinLine(other);
  const auto run_worker = [&](const std::string& address, const std::string& token) {
    return RunTune(folder, JoinLine{address, token}.Worker());
  };

  ExpectRefusal(RunTune(folder, {"worker", "--connect", join.address}), 2,
                "--join TOKEN is missing");
  std::string mistyped = join.token;
  mistyped[60] = mistyped[60] == 'a' ? 'b' : 'a';
  ExpectRefusal(run_worker(join.address, mistyped), 2, "mistyped");
  ExpectRefusal(run_worker(join.address, "swordfish"), 2, "begins with tune1_");
  ExpectRefusal(run_worker(join.address, other_join.token), 2,
                "is not the one that made the token");
  ExpectRefusal(run_worker("no.such.host.invalid:7443", join.token), 2, "is not known");
  ExpectRefusal(run_worker("0.0.0.0:7443", join.token), 2, "0.0.0.0:7443");
  ExpectRefusal(run_worker("127.0.0.1:1", join.token), 1, "nobody listens there");
  ExpectRefusal(RunTune(folder, join.Worker({"--cpus", "0", "--gpus", "0"})), 2,
                "offer CPUs or GPUs");

  const std::string made = RunTune(folder, {"tokens", "--new", "--token-expires", "1ms"}).out;
  ExpectRefusal(RunTune(folder, ParseJoinLine(made).Worker()), 2, "expired at");
  const std::string listed = RunTune(folder, {"tokens", "--format", "csv"}).out;
  const std::string first_id = listed.substr(listed.find("\n") + 1, 8);
  const ProgramResult revoked = RunTune(folder, {"tokens", "--revoke", first_id});
  EXPECT_EQ(revoked.exit_status, 0) << revoked.err;
  ExpectRefusal(run_worker(join.address, join.token), 2, "was revoked at");
}

TEST(Join, RevokingATokenEndsTheWorkersThatCameWithIt) {
  TestFolder folder;
  Program tune(folder, "tune", RunListening(folder.Write("space.yaml", kEndlessSpace)));
  const JoinLine join = WaitForJoinLine(tune);
  Program worker(folder, "tune", join.Worker({"--cpus", "1"}));
  WaitForReports(folder, 1);
  const std::string listed = RunTune(folder, {"tokens", "--format", "csv"}).out;
  ASSERT_TRUE(
      Succeeded(RunTune(folder, {"tokens", "--revoke", listed.substr(listed.find("\n") + 1, 8)})));
  ProgramResult revoked = worker.Wait();
  // Before the refusal stands what the worker did until then.
  const size_t last = revoked.err.rfind("\ntune worker: ");
  ASSERT_NE(last, std::string::npos) << revoked.err;
  EXPECT_NE(revoked.err.find(" joined "), std::string::npos) << revoked.err;
  revoked.err.erase(0, last + 1);
  ExpectRefusal(revoked, 2, "was revoked at");
  // Nobody waits for it: the next worker takes over what it had.
  const JoinLine fresh = ParseJoinLine(RunTune(folder, {"tokens", "--new"}).out);
  EXPECT_EQ(fresh.address, join.address);
  Program next(folder, "tune", fresh.Worker({"--cpus", "1"}));
  WaitForRows(folder, "select count(*) from attempts where trial = 1 and number = 2", {"1"});
  EXPECT_EQ(Query(folder, "select outcome from attempts where trial = 1 and number = 1"),
            std::vector<std::string>{"lost"});
}

TEST(Join, AResumedSweepListensWhereItDidUnlessToldOtherwise) {
  TestFolder folder;
  JoinLine join;
  {
    Program tune(folder, "tune", RunListening(folder.Write("space.yaml", kSpace)));
    join = WaitForJoinLine(tune);
    tune.Signal(SIGINT);
    EXPECT_EQ(tune.Wait().exit_status, 130);
  }
  const ProgramResult alone = RunTune(folder, {"resume", "--listen", "off"});
  EXPECT_EQ(alone.exit_status, 2);
  EXPECT_NE(alone.err.find("no worker"), std::string::npos) << alone.err;
  EXPECT_NE(alone.err.find("offers what it did when space began: --cpus 0"), std::string::npos)
      << "nor does it offer what it did not: " << alone.err;
  Program tune(folder, "tune", {"resume"});
  const JoinLine again = WaitForJoinLine(tune);
  EXPECT_EQ(again.address, join.address);
  EXPECT_NE(again.token, join.token);
  // The first line is as good as the second.
  Program worker(folder, "tune", join.Worker({"--cpus", "2"}));
  ASSERT_TRUE(Succeeded(worker.Wait()));
  EXPECT_TRUE(Succeeded(tune.Wait()));
}

TEST(Join, TokensOfADatabaseThatNeverListenedAreNone) {
  TestFolder folder;
  const ProgramResult result = RunTune(folder, {"tokens"});
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_NE(result.err.find("tune run --listen HOST:PORT"), std::string::npos) << result.err;
  EXPECT_TRUE(folder.Names().empty());
}

TEST(Join, AWorkerIsCalledAsItsUserCallsIt) {
  TestFolder folder;
  const ProgramResult help = RunTune(folder, {"worker", "--help"});
  EXPECT_TRUE(Succeeded(help));
  EXPECT_NE(help.out.find("Usage: tune worker [OPTIONS]"), std::string::npos) << help.out;
  EXPECT_EQ(help.out.find("tune_worker"), std::string::npos) << help.out;
}

}  // namespace
}  // namespace tune::testing
