#include "tests/e2e/slurm_rig.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "core/check.h"
#include "tests/e2e/free_ports.h"

namespace tune::testing {
namespace {

constexpr int kNodes = 4;

bool Succeeds(const std::string& command) {
  return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str()) == 0;
}

std::string Configuration(const std::string& folder, const std::vector<int>& ports) {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  const std::string name = host;
  std::string text =
      "ClusterName=tune\nSlurmctldHost=" + name +
      "(127.0.0.1)\nSlurmctldPort=" + std::to_string(ports[0]) +
      "\nSlurmUser=root\nSlurmdUser=root\nAuthType=auth/munge\n" + "AuthInfo=socket=" + folder +
      "/munge.sock\nCredType=cred/munge\nStateSaveLocation=" + folder +
      "/state\nSlurmdSpoolDir=" + folder + "/spool/%n\nSlurmctldPidFile=" + folder +
      "/slurmctld.pid\nSlurmdPidFile=" + folder + "/slurmd.%n.pid\nSlurmctldLogFile=" + folder +
      "/slurmctld.log\nSlurmdLogFile=" + folder +
      "/slurmd.%n.log\nProctrackType=proctrack/linuxproc\nTaskPlugin=task/none\n"
      "JobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n"
      "SchedulerType=sched/backfill\nSelectType=select/cons_tres\n"
      "SelectTypeParameters=CR_Core\nSlurmctldTimeout=30\nSlurmdTimeout=30\nKillWait=3\n"
      "ReturnToService=2\nMpiDefault=none\nSwitchType=switch/none\nGresTypes=gpu\n"
      "SlurmdParameters=config_overrides\n"
      "CommunicationParameters=NoInAddrAny,NoCtldInAddrAny\n";
  for (int i = 0; i < kNodes; ++i) {
    text += "NodeName=n" + std::to_string(i) + " NodeHostname=" + name +
            " NodeAddr=127.0.0.1 Port=" + std::to_string(ports[1 + static_cast<size_t>(i)]) +
            " CPUs=8 RealMemory=64000 Gres=gpu:2 State=UNKNOWN\n";
  }
  return text + "PartitionName=gpu Nodes=n[0-3] Default=YES MaxTime=INFINITE State=UP\n";
}

}  // namespace

std::string WhyNoSlurm() {
  if (geteuid() != 0) return "Slurm's daemons need root here";
  for (const char* const program : {"munged", "slurmctld", "slurmd", "sbatch", "squeue"}) {
    if (!Succeeds(std::string("command -v ") + program)) {
      return std::string(program) + " is not installed (scripts/install_packages slurm)";
    }
  }
  return "";
}

SlurmRig::SlurmRig() {
  const std::string& at = folder_.path();
  chmod(at.c_str(), 0755);
  TUNE_CHECK(Succeeds("mkdir -p " + at + "/state " + at + "/spool && head -c 128 /dev/urandom >" +
                      at + "/munge.key && chmod 600 " + at + "/munge.key && chown -R root " + at));
  for (int i = 0; i < 2; ++i) {
    TUNE_CHECK(mknod((at + "/gpu" + std::to_string(i)).c_str(), S_IFCHR | 0666, makedev(1, 3)) ==
               0);
  }
  folder_.Write("gres.conf", "AutoDetect=off\nNodeName=n[0-3] Name=gpu File=" + at + "/gpu[0-1]\n");
  folder_.Write("slurm.conf", Configuration(at, FreePorts(1 + kNodes)));
  setenv("SLURM_CONF", (at + "/slurm.conf").c_str(), 1);
  Start({"munged", "--foreground", "--force", "--key-file=" + at + "/munge.key",
         "--socket=" + at + "/munge.sock", "--pid-file=" + at + "/munge.pid",
         "--log-file=" + at + "/munge.log", "--seed-file=" + at + "/munge.seed"});
  while (access((at + "/munge.sock").c_str(), F_OK) != 0) {
  }
  Start({"slurmctld", "-D", "-f", at + "/slurm.conf"});
  for (int i = 0; i < kNodes; ++i) {
    Start({"slurmd", "-D", "-N", "n" + std::to_string(i), "-f", at + "/slurm.conf"});
  }
  while (Ask("sinfo --noheader --format='%D %t' 2>/dev/null") != "4 idle\n") {
  }
}

SlurmRig::~SlurmRig() {
  Succeeds("scancel --me --signal=KILL --full; scancel --me");
  while (!Ask("squeue --noheader 2>/dev/null").empty()) {
  }
  for (auto daemon = daemons_.rbegin(); daemon != daemons_.rend(); ++daemon) {
    kill(*daemon, SIGTERM);
    waitpid(*daemon, nullptr, 0);
  }
  unsetenv("SLURM_CONF");
}

void SlurmRig::Start(const std::vector<std::string>& words) {
  const std::string log = folder_ / (words.front() + std::to_string(daemons_.size()) + ".out");
  const pid_t pid = fork();
  TUNE_CHECK(pid >= 0);
  if (pid == 0) {
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    const int out = open(log.c_str(), O_WRONLY | O_CREAT | O_APPEND, 0644);
    dup2(out, STDOUT_FILENO);
    dup2(out, STDERR_FILENO);
    std::vector<char*> argv;
    for (const std::string& word : words) argv.push_back(const_cast<char*>(word.c_str()));
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(126);
  }
  daemons_.push_back(pid);
}

std::string SlurmRig::Ask(const std::string& command) const {
  FILE* const pipe = popen(command.c_str(), "r");
  TUNE_CHECK(pipe != nullptr);
  std::string text;
  char line[4096];
  while (fgets(line, sizeof line, pipe) != nullptr) text += line;
  pclose(pipe);
  return text;
}

}  // namespace tune::testing
