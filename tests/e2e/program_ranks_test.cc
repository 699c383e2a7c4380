// Trials whose ranks are a user's programs: what each of them finds, how they meet, and what the
// end of one leads to.
#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/program.h"
#include "tests/e2e/running_head.h"
#include "tests/e2e/watched_program.h"
#include "trial_runner/rank_group.h"

namespace tune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using Rows = std::vector<std::string>;

constexpr int64_t kSeed = 5;

// The two ranks send each other numbers in each epoch, over a connection that they make as
// MASTER_ADDR and MASTER_PORT say: where one is gone, the other one cannot go on. What they come to
// depends on all epochs before.
constexpr char kTrain[] = R"(
import json, os, select, signal, socket, sys
import tune
rank, size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
place = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
def meet():
    if rank == 0:
        with socket.create_server(place) as server:
            return server.accept()[0]
    while True:
        try:
            return socket.create_connection(place)
        except ConnectionRefusedError:
            select.select([], [], [], 0.02)
# Two files: in one that is read and written, what was read ahead is lost with the next write.
with meet() as other, other.makefile("r") as heard, other.makefile("w") as said:
    print("rank", rank, "of", size, "has met the other one", flush=True)
    state, first = 1.0, 0
    if tune.restored():
        state, first = json.loads(tune.restored().read_text())
    for epoch in range(first, int(sys.argv[1])):
        if epoch == int(os.environ.get("HOLD_AT", -1)) and os.environ["TUNE_ATTEMPT"] == "1":
            signal.pause()
        mine = (state * (rank + 1)) % 1.7
        print(repr(mine), file=said, flush=True)
        line = heard.readline()
        if not line:
            raise ConnectionResetError("Connection closed by peer")
        state = (state + mine + float(line)) % 3.1
        if rank == 0:
            path = tune.folder() / "state.json"
            path.write_text(json.dumps([state, epoch + 1]))
            tune.report(loss=state, checkpoint=path)
)";
constexpr int kEpochs = 40;

std::string Space(const std::string& command, const std::string& more = "",
                  bool is_spread = false) {
  return "trainable: {command: " + command +
         "}\nmetric: loss\nmode: min\nsamples: 1\nseed: " + std::to_string(kSeed) +
         "\nspace: {x: 1}\nresources: {cpu: 1, workers: 2, spread: " +
         (is_spread ? "true" : "false") + "}\nfailure: {max_failures: 1, backoff: 0}\n" + more;
}
// The first attempt waits before that epoch for what becomes of it.
std::string TrainSpace(bool is_spread = false, int hold_at = -1) {
  const std::string hold =
      hold_at < 0 ? "" : ", env: {HOLD_AT: \"" + std::to_string(hold_at) + "\"}";
  return Space("[python3, train.py, \"" + std::to_string(kEpochs) + "\"]" + hold, "", is_spread);
}

Rows Losses(const TestFolder& folder) {
  return Query(folder, "select iteration, printf('%.17g', value) from reports order by iteration");
}

// Of a sweep that nobody disturbs; run once.
const Rows& UndisturbedLosses() {
  static const Rows losses = [] {
    TestFolder folder;
    folder.Write("train.py", kTrain);
    const ProgramResult result =
        RunTune(folder, {"run", folder.Write("space.yaml", TrainSpace()), "--cpus", "2"});
    EXPECT_EQ(result.exit_status, 0) << result.err;
    EXPECT_EQ(Query(folder, "select outcome, error from attempts"), Rows{"completed|"});
    return Losses(folder);
  }();
  return losses;
}

// The ranks' programs below `root`, the first rank's first.
std::vector<pid_t> Programs(pid_t root) {
  std::vector<pid_t> pids(2, 0);
  for (const ProcessEntry& entry : Descendants(root)) {
    if (!entry.name.starts_with("python3")) continue;
    std::ifstream in("/proc/" + std::to_string(entry.pid) + "/environ", std::ios::binary);
    const std::string variables{std::istreambuf_iterator<char>(in), {}};
    for (const size_t rank : {0u, 1u}) {
      const std::string wanted = std::string("\0RANK=", 6) + std::to_string(rank) + '\0';
      if (variables.find(wanted) != std::string::npos) pids[rank] = entry.pid;
    }
  }
  return pids;
}

TEST(ProgramRanks, EachFindsItsPlaceAndHasALogOfItsOwn) {
  TestFolder folder;
  const std::string command =
      "'echo \"rank $RANK of $WORLD_SIZE, $LOCAL_RANK of $LOCAL_WORLD_SIZE here, node $NODE_RANK, "
      "at $MASTER_ADDR\"; test $RANK != 0 || tune report loss=1', shell: true";
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", Space(command)), "--cpus", "2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(RunTune(folder, {"logs", "0"}).out, "rank 0 of 2, 0 of 2 here, node 0, at 127.0.0.1\n");
  EXPECT_EQ(RunTune(folder, {"logs", "0", "--rank", "1"}).out,
            "rank 1 of 2, 1 of 2 here, node 0, at 127.0.0.1\n");
  const ProgramResult beyond = RunTune(folder, {"logs", "0", "--rank", "2"});
  EXPECT_EQ(beyond.exit_status, 2);
  EXPECT_THAT(beyond.err, HasSubstr("--rank: read 2, expected 0 to 1 (resources.workers: 2)"));
}

TEST(ProgramRanks, TrainTogetherAndTheFirstOnesReportsAreTheTrials) {
  EXPECT_EQ(UndisturbedLosses().size(), static_cast<size_t>(kEpochs));
}

// Whichever of the two dies, the trial goes on from its checkpoint as if nothing had been.
class DeadProgram : public ::testing::TestWithParam<size_t> {};

TEST_P(DeadProgram, RestartsTheTrialFromItsCheckpoint) {
  const Rows& undisturbed = UndisturbedLosses();
  TestFolder folder;
  folder.Write("train.py", kTrain);
  Program tune(
      folder, "tune",
      {"run", folder.Write("space.yaml", TrainSpace(false, /*hold_at=*/5)), "--cpus", "2"});
  ASSERT_TRUE(tune.WaitForText("database tune.db"));
  WaitForReports(folder, 5);
  const pid_t victim = Programs(tune.pid())[GetParam()];
  ASSERT_NE(victim, 0);
  ASSERT_EQ(kill(victim, SIGKILL), 0);
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Losses(folder), undisturbed);
  const std::string prefix = GetParam() == 0 ? "" : "rank 1: ";
  EXPECT_EQ(Query(folder, "select number, outcome, from_iteration, error from attempts"),
            (Rows{"1|killed|0|" + prefix + "the program died of SIGKILL: rank " +
                      std::to_string(GetParam()) + " of 2 has met the other one",
                  "2|completed|5|"}));
}

INSTANTIATE_TEST_SUITE_P(First, DeadProgram, ::testing::Values(0));
INSTANTIATE_TEST_SUITE_P(Second, DeadProgram, ::testing::Values(1));

// A rank that dies by itself is the cause, and not that the other one missed it.
TEST(ProgramRanks, TheOneThatFailedIsTheCause) {
  TestFolder folder;
  folder.Write("train.py", std::string(kTrain) +
                               "        elif epoch == 2:\n"
                               "            sys.exit('the disk is on fire')\n");
  const ProgramResult result = RunTune(folder, {"run", folder.Write("space.yaml", TrainSpace()),
                                                "--cpus", "2", "--set", "failure.max_failures=0"});
  EXPECT_EQ(result.exit_status, 3) << result.err;
  EXPECT_EQ(Query(folder, "select outcome, error from attempts"),
            Rows{"crashed|rank 1: the program exited with status 1: the disk is on fire"});
}

// Workers of their own, as on two machines: each rank alone on its node.
TEST(ProgramRanks, OfTwoWorkersMeetAndComeToTheSame) {
  const Rows& undisturbed = UndisturbedLosses();
  TestFolder folder;
  folder.Write("train.py", kTrain);
  Program tune(folder, "tune",
               {"run", folder.Write("space.yaml", TrainSpace(/*is_spread=*/true)), "--cpus", "0",
                "--listen", "127.0.0.1:0"});
  const JoinLine join = WaitForJoinLine(tune);
  ASSERT_NE(join.token, "");
  Program first(folder, "tune", join.Worker({"--cpus", "1", "--name", "a"}));
  Program second(folder, "tune", join.Worker({"--cpus", "1", "--name", "b"}));
  const ProgramResult result = tune.Wait();
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(first.Wait().exit_status, 0);
  EXPECT_EQ(second.Wait().exit_status, 0);
  EXPECT_EQ(Query(folder,
                  "select outcome, '[' || (3 - worker) || ']' = other_workers"
                  " from attempts"),
            Rows{"completed|1"});
  EXPECT_EQ(Losses(folder), undisturbed);
  EXPECT_THAT(RunTune(folder, {"logs", "0", "--rank", "1"}).out,
              HasSubstr("rank 1 of 2 has met the other one"));
}

// Another program listens where the first attempt's ranks were to meet.
TEST(ProgramRanks, ThatCannotMeetBeginAgainElsewhereForNothing) {
  const Rows& undisturbed = UndisturbedLosses();
  const int64_t port = MasterPort(kSeed, TrialNumber{0}, LeaseEpoch{1});
  const FileDescriptor taken(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(port));
  const int is_taken_over = 1;  // From connections of the test before, that have ended.
  setsockopt(taken.get(), SOL_SOCKET, SO_REUSEADDR, &is_taken_over, sizeof is_taken_over);
  // Where somebody else has it, it is taken all the same.
  bind(taken.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  listen(taken.get(), 1);
  TestFolder folder;
  folder.Write("train.py", kTrain);
  const ProgramResult result =
      RunTune(folder, {"run", folder.Write("space.yaml", TrainSpace()), "--cpus", "2"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  const Rows attempts = Query(folder, "select outcome, error from attempts order by number");
  ASSERT_GE(attempts.size(), 2u);
  EXPECT_EQ(attempts[0], "lost|its ranks cannot meet: port " + std::to_string(port) +
                             " of this machine (MASTER_PORT) is in use, by a program or by "
                             "another trial's ranks; the next attempt gets another port");
  EXPECT_EQ(Losses(folder), undisturbed);
}

TEST(ProgramRanks, AProgramThatDoesNotLookAtItsRankIsToldOnce) {
  TestFolder folder;
  const ProgramResult result = RunTune(
      folder,
      {"run",
       folder.Write("space.yaml", Space("'tune report loss=1; tune report loss=0.5', shell: true",
                                        "name: twice\n")),
       "--cpus", "2", "--samples", "3"});
  EXPECT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Query(folder, "select count(*) from reports"), Rows{"6"});
  const std::string note =
      "values of other ranks: rank 1 reports too, and only what rank 0 does "
      "counts";
  const size_t at = result.err.find(note);
  EXPECT_NE(at, std::string::npos) << result.err;
  EXPECT_EQ(at, result.err.rfind(note)) << result.err;
}

// ---- jobs

TEST(ProgramRanks, OfAJobEndWithTheStatusOfTheFirstThatFailed) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const auto submit = [&folder](const std::string& name, const std::string& script) {
    return RunTune(folder, {"submit", "--name", name, "--workers", "2", "--", "sh", "-c", script});
  };
  const ProgramResult well = submit("well", "echo $RANK of $WORLD_SIZE");
  EXPECT_EQ(well.exit_status, 0) << well.err;
  EXPECT_EQ(well.out, "0 of 2\n");
  EXPECT_EQ(RunTune(folder, {"logs", "well/0", "--rank", "1"}).out, "1 of 2\n");
  // The first rank ends well before the other one fails.
  const ProgramResult ill = submit("ill",
                                   "test $RANK = 0 || { touch ready; exit 7; }; "
                                   "until test -e ready; do :; done");
  EXPECT_EQ(ill.exit_status, 7) << ill.err;
  EXPECT_THAT(ill.err, HasSubstr("rank 1: the program exited with status 7"));
  const ProgramResult late = submit("late",
                                    "test $RANK = 1 || { touch gone; exit 0; }; "
                                    "until test -e gone; do :; done; sleep 0.3; exit 9");
  EXPECT_EQ(late.exit_status, 9) << late.err;
}

TEST(ProgramRanks, OfAJobMissAnotherThatFailed) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const ProgramResult missed =
      RunTune(folder, {"submit", "--name", "missed", "--workers", "2", "--", "sh", "-c",
                       "test $RANK = 0 && { until test -e gone; do :; done; exit 0; }; touch gone; "
                       "echo Connection closed by peer >&2; exit 6"});
  EXPECT_EQ(missed.exit_status, 6) << missed.err;
}

TEST(ProgramRanks, OfAJobAreAskedForAsASpaceFileWould) {
  TestFolder folder;
  const auto head = StartHead(folder);
  const auto refusal = [&folder](const Rows& options) {
    Rows arguments = {"submit"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    arguments.insert(arguments.end(), {"--", "true"});
    const ProgramResult result = RunTune(folder, arguments);
    EXPECT_EQ(result.exit_status, 2) << result.err;
    return result.err;
  };
  EXPECT_THAT(refusal({"--workers", "0"}), HasSubstr("workers: read 0, expected"));
  EXPECT_THAT(refusal({"--spread"}), HasSubstr("--spread: is of several ranks; say how many with "
                                               "--workers"));
  EXPECT_THAT(refusal({"--workers", "2", "--env", "RANK=3"}),
              HasSubstr("env.RANK: is set for each of the 2 ranks"));
  EXPECT_THAT(refusal({"--workers", "3"}),
              HasSubstr("a trial needs cpu: 1, workers: 3 in one place (spread: false), but this "
                        "head takes no workers of other machines, and its own has 2 CPUs"));
}

}  // namespace
}  // namespace tune::testing
