// Trials of two ranks on two machines that see no disk of the tuner: rank 0's checkpoints go to an
// object store, and each rank finds the one to go on from.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/e2e/join_line.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

using Rows = std::vector<std::string>;

// What the ranks come to depends on each epoch before; the other rank says from where it went on.
constexpr char kTrain[] = R"(
import json, os, select, socket, sys
import tune
rank = int(os.environ["RANK"])
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
with meet() as other, other.makefile("r") as heard, other.makefile("w") as said:
    state, first = 1.0, 0
    if tune.restored():
        state, first = json.loads(tune.restored().read_text())
    for epoch in range(first, 30):
        mine = (state * (rank + 1)) % 1.7
        print(repr(mine), first, file=said, flush=True)
        line = heard.readline()
        if not line:
            raise ConnectionResetError("Connection closed by peer")
        theirs, begun = line.split()
        assert int(begun) == first, (rank, first, begun)
        state = (state + mine + float(theirs)) % 3.1
        if rank == 0:
            path = tune.folder() / "state.json"
            path.write_text(json.dumps([state, epoch + 1]))
            tune.report(loss=state, checkpoint=path)
)";

class RanksInBucket : public BucketSweep {
 protected:
  std::string RankSpace(const std::string& checkpoint) const {
    return "name: space\ntrainable: {command: [python3, train.py]}\nmetric: loss\nmode: min\n"
           "samples: 1\nseed: 5\nspace: {x: 1}\nresources: {cpu: 1, workers: 2, spread: true}\n"
           "failure: {max_failures: 3, backoff: 0}\nlimits: {lease: 2s}\ncheckpoint: {" +
           checkpoint + "}\n";
  }
  static Rows Losses(const TestFolder& folder) {
    return Query(folder,
                 "select iteration, printf('%.17g', value) from reports group by iteration");
  }
  // The machine of rank 0 goes with its disk when some epochs were reported.
  void LoseAMachine(const std::string& checkpoint) {
    if (geteuid() != 0) GTEST_SKIP() << "a mount namespace needs root";
    TestFolder alone;
    alone.Write("train.py", kTrain);
    ASSERT_TRUE(Succeeded(
        RunTune(alone, {"run", alone.Write("space.yaml", RankSpace("every: 1")), "--cpus", "2"})));
    TestFolder folder;
    folder.Write("train.py", kTrain);
    const std::string space = RankSpace("storage: \"" + Storage() + "\"" + checkpoint);
    Program tune(folder, "tune",
                 {"run", folder.Write("space.yaml", space), "--cpus", "0", "--db",
                  folder / "tune.db", "--listen", "127.0.0.1:0"});
    const JoinLine join = WaitForJoinLine(tune);
    ASSERT_NE(join.token, "");
    TestFolder disks[3];
    std::unique_ptr<Program> workers[3];
    const auto start = [&](int i) {
      workers[i] =
          std::make_unique<Program>(disks[i], "tune",
                                    join.Worker({"--cpus", "1", "--cache", disks[i] / "cache",
                                                 "--name", "m" + std::to_string(i)}),
                                    "", folder.path());
    };
    start(0);
    start(1);
    WaitForReports(folder, 8);
    WaitForRows(folder, "select count(*) > 0 from checkpoints where state = 'durable'", {"1"});
    const Rows first = Query(folder,
                             "select w.name from attempts as a join workers as w"
                             " on w.id = a.worker and w.experiment = 1");
    ASSERT_EQ(first.size(), 1u);
    const int lost = first[0] == "m0" ? 0 : 1;
    workers[lost].reset();  // With all its processes.
    start(2);
    EXPECT_TRUE(Succeeded(tune.Wait()));
    EXPECT_EQ(Losses(folder), Losses(alone));
    EXPECT_EQ(Query(folder, "select count(*), sum(outcome = 'lost') from attempts"), Rows{"2|1"});
    EXPECT_NE(Query(folder, "select from_iteration from attempts order by number").back(), "0");
    ExpectStoreIsWhatRowsSay(folder);
    EXPECT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
    EXPECT_TRUE(Keys().empty());
  }
};

TEST_F(RanksInBucket, GoOnTogetherFromTheirCheckpointWhereAMachineIsLost) { LoseAMachine(""); }

TEST_F(RanksInBucket, GoOnTogetherWithCheckpointsThatTheTunerSigns) {
  LoseAMachine(", async: true, storage_credentials: tuner");
}

}  // namespace
}  // namespace tune::testing
