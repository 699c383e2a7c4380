// tune cluster over SSH: Debian's openssh-server on another machine, which is a network namespace.
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>
#include <vector>

#include "tests/e2e/cluster_files.h"
#include "tests/e2e/curve_sweep.h"
#include "tests/e2e/network_rig.h"
#include "tests/e2e/program.h"

namespace tune::testing {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string WhyNoSsh() {
  for (const char* const program : {"/usr/sbin/sshd", "/usr/bin/ssh", "/usr/bin/ssh-keygen"}) {
    if (access(program, X_OK) != 0) return std::string(program) + " is not installed";
  }
  return WhyNoNetwork();
}

class SshTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (const std::string why = WhyNoSsh(); !why.empty()) GTEST_SKIP() << why;
    rig_.emplace();
    Run("ssh-keygen -q -t ed25519 -N '' -f host_key && ssh-keygen -q -t ed25519 -N '' -f user_key "
        "&& "
        "cp user_key.pub authorized && chmod 600 authorized && mkdir -p /run/sshd && "
        "echo \"[10.77.0.2]:2222 $(cat host_key.pub)\" >known_hosts");
    const std::string& at = folder_.path();
    folder_.Write("sshd_config", "Port 2222\nListenAddress 10.77.0.2\nHostKey " + at +
                                     "/host_key\nAuthorizedKeysFile " + at +
                                     "/authorized\nStrictModes no\nUsePAM no\nPidFile none\n"
                                     "PermitRootLogin yes\nPasswordAuthentication no\n");
    folder_.Write("ssh_config",
                  "Host node1 node2\n  HostName 10.77.0.2\n  Port 2222\n  IdentityFile " + at +
                      "/user_key\n  UserKnownHostsFile " + at +
                      "/known_hosts\n  StrictHostKeyChecking yes\n");
    StartServer();
  }
  void TearDown() override {
    if (rig_) Tune({"cluster", "down", "cluster.yaml", "--now", "--wait", "60s"});
    EndHead(folder_);
    EndWorkers();
    if (server_ > 0) {
      kill(server_, SIGKILL);
      waitpid(server_, nullptr, 0);
    }
    rig_.reset();
  }

  void Run(const std::string& command) const {
    ASSERT_EQ(
        std::system(("cd '" + folder_.path() + "' && { " + command + "; } >/dev/null").c_str()), 0);
  }
  void StartServer() {
    server_ = fork();
    if (server_ == 0) {
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      const int network = open(rig_->worker_network().c_str(), O_RDONLY | O_CLOEXEC);
      if (setns(network, CLONE_NEWNET) != 0) _exit(126);
      const std::string config = folder_ / "sshd_config";
      execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-q", "-f", config.c_str(), nullptr);
      _exit(126);
    }
    // It is there when somebody can log in.
    const std::string command = "ip netns exec " +
                                fs::path(rig_->tuner_network()).filename().string() + " ssh -F " +
                                (folder_ / "ssh_config") + " node1 true 2>/dev/null";
    while (std::system(command.c_str()) != 0) {
    }
  }
  void WriteFile(const std::string& hosts, const std::string& more) const {
    folder_.Write("cluster.yaml",
                  "name: test\nhead: {listen: \"10.77.0.1:7443\"}\npools:\n  lab:\n"
                  "    ssh: {hosts: " +
                      hosts + ", options: [-F, " + (folder_ / "ssh_config") +
                      "], folder: " + There() + "}\n" + more);
  }
  ProgramResult Tune(const std::vector<std::string>& arguments) const {
    return Program(folder_, "tune", arguments, rig_->tuner_network()).Wait();
  }
  std::string There() const { return folder_ / "there"; }
  // Names of workers on the other machine.
  std::vector<std::string> Workers() const {
    std::vector<std::string> names;
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(There(), error)) {
      const std::string name = entry.path().filename().string();
      if (name.starts_with("tune-")) names.push_back(name);
    }
    return names;
  }

  // Those of a test that failed; each leads a session of its own.
  void EndWorkers() const {
    for (const std::string& name : Workers()) {
      const pid_t pid = std::atoi(folder_.Read("there/" + name + "/pid").c_str());
      if (pid > 1 && OfProcess(std::to_string(pid), "/cmdline").find(name) != std::string::npos) {
        kill(-pid, SIGKILL);
      }
    }
  }

  // Empty: there is no such process any more.
  static std::string OfProcess(const std::string& pid, const std::string& file) {
    std::ifstream in("/proc/" + std::to_string(std::atoi(pid.c_str())) + file);
    return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  }

  TestFolder folder_;
  std::optional<NetworkRig> rig_;
  pid_t server_ = 0;
};

TEST_F(SshTest, WorkerIsCopiedAndStartedAndOutlivesItsConnectionAndIsGoneAfterwards) {
  WriteFile("[node1]", "    worker: {cpus: all, gpus: 0}\n    min: 1\n");
  const ProgramResult up = Tune({"cluster", "up"});
  ASSERT_EQ(up.exit_status, 0) << up.err;
  EXPECT_THAT(up.err, HasSubstr("-lab-1  joined"));
  ASSERT_EQ(Workers().size(), 1u);
  // The token is nowhere on that machine: neither in a file nor in a command line or environment.
  const std::string token = folder_.Read("tune.artifacts/cluster/token");
  EXPECT_FALSE(fs::exists(There() + "/" + Workers().front() + "/token"));
  const std::string pid = folder_.Read("there/" + Workers().front() + "/pid");
  for (const char* const file : {"/cmdline", "/environ"}) {
    const std::string text = OfProcess(pid, file);
    EXPECT_FALSE(text.empty());
    EXPECT_THAT(text, Not(HasSubstr(token)));
  }
  folder_.Write("space.yaml", CurveSweep("    iterations: 2\n", "samples: 6\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_THAT(Workers(), IsEmpty());
  EXPECT_EQ(OfProcess(pid, "/cmdline"), "");
}

TEST_F(SshTest, HeadThatIsKilledFindsItsWorkerAgainAlsoWhereAnotherHostIsNotReached) {
  WriteFile("[node1, 10.77.0.9]", "    worker: {cpus: 2, gpus: 0}\n    min: 1\n");
  const ProgramResult up = Tune({"cluster", "up"});
  ASSERT_EQ(up.exit_status, 0) << up.err;
  const std::vector<std::string> before = Workers();
  KillHead(folder_);
  const ProgramResult again = Tune({"cluster", "up"});
  EXPECT_EQ(again.exit_status, 0) << again.err;
  EXPECT_EQ(Workers(), before);
}

// Its two hosts are one machine here, so they have one home folder, as in many a lab.
TEST_F(SshTest, ExampleRunsAsItStands) {
  WriteExample(
      folder_, "lab.yaml",
      {{"listen: 0.0.0.0:7443", "listen: 0.0.0.0:7443, address: \"10.77.0.1:7443\""},
       {"user: cc", "options: [-F, " + (folder_ / "ssh_config") + "], folder: " + There()}});
  const ProgramResult up = Tune({"cluster", "up"});
  ASSERT_EQ(up.exit_status, 0) << up.err;
  EXPECT_EQ(Workers().size(), 2u);
  folder_.Write("space.yaml", CurveSweep("    iterations: 2\n", "samples: 6\n"));
  ASSERT_TRUE(Succeeded(Tune({"submit", "space.yaml"})));
  WaitForRows(folder_, "select status from experiments", {"FINISHED"});
  const ProgramResult down = Tune({"cluster", "down"});
  EXPECT_EQ(down.exit_status, 0) << down.err;
  EXPECT_THAT(Workers(), IsEmpty());
}

TEST_F(SshTest, HostThatIsNotReachedIsSaidInSshsWords) {
  WriteFile("[node1, 10.77.0.9]", "    worker: {cpus: 2, gpus: 0}\n    min: 2\n");
  EXPECT_TRUE(Says(folder_, {"cluster", "up"},
                   {"-lab-1  joined", "-lab-2  failed: 10.77.0.9: ssh: connect to host 10.77.0.9"},
                   rig_->tuner_network()));
}

TEST_F(SshTest, DownNamesAHostThatIsNotReachedAnyMoreAndEndsTheHead) {
  WriteFile("[node1]", "    worker: {cpus: 2, gpus: 0}\n    min: 1\n");
  ASSERT_TRUE(Succeeded(Tune({"cluster", "up"})));
  rig_->Partition();
  const ProgramResult down = Tune({"cluster", "down", "cluster.yaml", "--now"});
  EXPECT_EQ(down.exit_status, 1);
  EXPECT_THAT(down.err, HasSubstr("not reached: " + Workers().front() + ": node1: "));
  EXPECT_THAT(down.err, HasSubstr("a worker on a host that is not reached ends by itself"));
  EXPECT_FALSE(fs::exists(folder_ / "tune.db.lock"));
  rig_->Heal();
  EXPECT_TRUE(Succeeded(Tune({"cluster", "down"})));
  EXPECT_THAT(Workers(), IsEmpty());
}

TEST_F(SshTest, HostWithAnotherKeyIsRefusedInSshsWords) {
  Run("ssh-keygen -q -t ed25519 -N '' -f other_key && "
      "echo \"[10.77.0.2]:2222 $(cat other_key.pub)\" >known_hosts");
  WriteFile("[node1]", "    worker: {cpus: 2, gpus: 0}\n    min: 1\n");
  EXPECT_TRUE(
      Says(folder_, {"cluster", "up"}, {"Host key verification failed"}, rig_->tuner_network()));
  Run("echo \"[10.77.0.2]:2222 $(cat host_key.pub)\" >known_hosts");
}

}  // namespace
}  // namespace tune::testing
