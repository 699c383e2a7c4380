// Machines that are lost with all that lies on them: each is a network namespace with a worker that
// sees no disk of the tuner. One at a time is cut off, killed and its cache removed, while a sweep
// whose checkpoints go to an object store runs. Its table is that of a sweep left alone, and
// `tune delete` leaves no object behind.
//
// As many losses as TUNE_KILL_RUNS says, drawn from TUNE_KILL_SEED.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include "core/check.h"
#include "core/random.h"
#include "tests/e2e/join_line.h"
#include "tests/e2e/network_rig.h"
#include "tests/object_store/bucket_sweep.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::IsEmpty;

// A namespace with a link to ours, over which it reaches the tuner and the store, and a worker.
class Machine {
 public:
  explicit Machine(int number)
      : number_(number), id_("tl" + std::to_string(getpid()) + "n" + std::to_string(number)) {
    Succeeds("ip link del " +
             id_);  // Of the test before: a namespace takes its links with it later.
    Run("ip netns add " + id_);
    Run("ip link add " + id_ + " type veth peer name eth0 netns " + id_);
    Run("ip addr add " + Host() + "/30 dev " + id_ + " && ip link set " + id_ + " up");
    Run("ip -n " + id_ + " addr add 10.79." + std::to_string(number) + ".2/30 dev eth0");
    Run("ip -n " + id_ + " link set lo up && ip -n " + id_ + " link set eth0 up");
    Run("ip -n " + id_ + " route add default via " + Host());
  }
  ~Machine() {
    worker_.reset();
    Succeeds("ip netns del " + id_);
  }

  // Ours, as it sees us.
  std::string Host() const { return "10.79." + std::to_string(number_) + ".1"; }

  void Start(const JoinLine& join, const std::string& hidden) {
    Run("ip netns exec " + id_ + " nft flush ruleset");
    const JoinLine here{Host() + join.address.substr(join.address.rfind(':')), join.token};
    worker_.emplace(
        disk_, "tune",
        here.Worker({"--cpus", "1", "--name", "m" + std::to_string(number_), "--cache", Cache()}),
        "/run/netns/" + id_, hidden);
  }
  // Its packets are swallowed from now on; so nobody hears that its programs are gone.
  void Lose() {
    Run("printf 'table inet tune {\\n"
        "chain in { type filter hook input priority 0; iifname eth0 drop; }\\n"
        "chain out { type filter hook output priority 0; oifname eth0 drop; }\\n}\\n' | "
        "ip netns exec " +
        id_ + " nft -f -");
    worker_.reset();  // With all its processes.
    std::error_code error;
    do {
      fs::remove_all(Cache(), error);
    } while (error);
  }
  bool is_there() const { return worker_.has_value(); }
  ProgramResult Wait() { return worker_->Wait(); }

 private:
  static bool Succeeds(const std::string& command) {
    return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str()) == 0;
  }
  static void Run(const std::string& command) { TUNE_CHECK(Succeeds(command)); }
  std::string Cache() const { return disk_ / "cache"; }

  const int number_;
  const std::string id_;
  TestFolder disk_;
  std::optional<Program> worker_;
};

class LostMachines : public BucketSweep {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoNetwork(); !why.empty()) GTEST_SKIP() << why;
    BucketSweep::SetUp();
  }

  const uint64_t seed_ = NumberFrom("TUNE_KILL_SEED", 1);
  const int64_t losses_ = static_cast<int64_t>(NumberFrom("TUNE_KILL_RUNS", 4));

  int64_t Reports(const TestFolder& folder) const {
    return std::stoll(Query(folder, "select count(*) from reports").at(0));
  }
  // Enough of it that it outlives all losses.
  std::string SpaceOf(const std::string& checkpoint) const {
    return Space("0.02", checkpoint,
                 "samples: " + std::to_string(losses_ + 2) +
                     "\nlimits: {max_concurrent: 1, lease: 1s}\n"
                     "failure: {max_failures: 0, backoff: 0s}\n");
  }
  void LoseAndLook(const std::string& checkpoint) {
    KeyedRandom random(seed_, "lost machines");
    TestFolder folder;
    std::vector<std::unique_ptr<Machine>> machines;
    for (int number = 0; number < 3; ++number) {
      machines.push_back(std::make_unique<Machine>(number));
    }
    // By an address at which each machine finds it: it may be the tuner who tells them.
    const std::string store = std::getenv("AWS_ENDPOINT_URL_S3");
    const std::string there = "http://" + machines[0]->Host() + store.substr(store.rfind(':'));
    setenv("AWS_ENDPOINT_URL_S3", there.c_str(), 1);
    const std::string space = SpaceOf(checkpoint);
    Program tune(folder, "tune",
                 {"run", folder.Write("space.yaml", space), "--cpus", "0", "--db",
                  folder / "tune.db", "--listen", "0.0.0.0:0"});
    const JoinLine join = WaitForJoinLine(tune);
    ASSERT_NE(join.token, "");
    for (const auto& machine : machines) machine->Start(join, folder.path());
    for (int64_t loss = 0; loss < losses_; ++loss) {
      WaitForReports(folder, static_cast<int>(Reports(folder) + 1 +
                                              static_cast<int64_t>(random.NextBelow(4))));
      for (const auto& machine : machines) {
        if (!machine->is_there()) machine->Start(join, folder.path());  // An empty one.
      }
      machines[random.NextBelow(machines.size())]->Lose();
    }
    EXPECT_TRUE(Succeeded(tune.Wait()));
    for (const auto& machine : machines) {
      if (!machine->is_there()) continue;
      EXPECT_EQ(machine->Wait().exit_status, 0);
    }
    EXPECT_EQ(FinalTable(folder), UndisturbedTable(OnDisk(SpaceOf(""))));
    // A machine may have been lost between a checkpoint and its report.
    EXPECT_TRUE(Succeeded(RunTune(folder, {"gc"})));
    ExpectStoreIsWhatRowsSay(folder);
    std::cout << losses_ << " machines lost, "
              << Query(folder, "select count(*) from attempts where outcome = 'lost'").at(0)
              << " of them with the trial\n";
    setenv("AWS_ENDPOINT_URL_S3", store.c_str(), 1);
    EXPECT_TRUE(Succeeded(RunTune(folder, {"delete", "space", "--yes"})));
    EXPECT_THAT(Keys(), IsEmpty());
    EXPECT_THAT(*client_->ListUploads("", {}), IsEmpty());
  }
};

TEST_F(LostMachines, TheSweepIsThatOfOneLeftAlone) { LoseAndLook(""); }

TEST_F(LostMachines, TheSweepWhoseCheckpointsFollowItsReportsIsThatOfOneLeftAlone) {
  LoseAndLook(", async: true");
}

TEST_F(LostMachines, TheSweepWhoseWorkersHaveNoCredentialsIsThatOfOneLeftAlone) {
  LoseAndLook(", storage_credentials: tuner");
}

}  // namespace
}  // namespace tune::testing
