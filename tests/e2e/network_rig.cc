#include "tests/e2e/network_rig.h"

#include <unistd.h>

#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <utility>

#include "core/check.h"

namespace tune::testing {
namespace {

bool Succeeds(const std::string& command) {
  return std::system(("{ " + command + "; } >/dev/null 2>&1").c_str()) == 0;
}

void Run(const std::string& command) { TUNE_CHECK(Succeeds(command)); }

constexpr char kTunerLink[] = "tuner0";
constexpr char kWorkerLink[] = "worker0";

}  // namespace

std::string WhyNoNetwork() {
  if (geteuid() != 0) return "network namespaces need root";
  for (const char* program : {"ip", "nft", "tc"}) {
    if (!Succeeds(std::string("command -v ") + program)) {
      return std::string(program) + " is not installed";
    }
  }
  const std::string trial = "tunetry" + std::to_string(getpid());
  const bool can_filter = Succeeds("ip netns add " + trial) &&
                          Succeeds("ip netns exec " + trial + " nft add table inet tune");
  Succeeds("ip netns del " + trial);
  return can_filter ? "" : "network namespaces with nftables are not permitted here";
}

NetworkRig::NetworkRig() {
  const std::string id = std::to_string(getpid());
  tuner_ = "tune" + id + "t";
  worker_ = "tune" + id + "w";
  Run("ip netns add " + tuner_ + " && ip netns add " + worker_);
  Run("ip -n " + tuner_ + " link add " + kTunerLink + " type veth peer name " + kWorkerLink +
      " netns " + worker_);
  Run("ip -n " + tuner_ + " addr add " + tuner_host() + "/24 dev " + kTunerLink);
  Run("ip -n " + worker_ + " addr add 10.77.0.2/24 dev " + kWorkerLink);
  for (const auto& [network, link] : {std::pair(tuner_, kTunerLink), {worker_, kWorkerLink}}) {
    Run("ip -n " + network + " link set lo up && ip -n " + network + " link set " + link + " up");
  }
}

NetworkRig::~NetworkRig() {
  Succeeds("ip netns del " + tuner_);
  Succeeds("ip netns del " + worker_);
}

void NetworkRig::Heal() { Run("ip netns exec " + worker_ + " nft flush ruleset"); }

void NetworkRig::Partition() { Filter("counter drop"); }

// But for the resets themselves, which the filter sees on their way out.
void NetworkRig::Reset() { Filter("tcp flags & rst == 0 reject with tcp reset"); }

void NetworkRig::Lose(int percent) {
  Filter("numgen random mod 100 < " + std::to_string(percent) + " counter drop");
}

int64_t NetworkRig::DroppedCount() const {
  const std::string command =
      "ip netns exec " + worker_ +
      " nft list ruleset | sed -n 's/.*counter packets \\([0-9]*\\).*/\\1/p'";
  FILE* const pipe = popen(command.c_str(), "r");
  TUNE_CHECK(pipe != nullptr);
  int64_t sum = 0;
  for (int64_t count = 0; fscanf(pipe, "%" SCNd64, &count) == 1;) sum += count;
  TUNE_CHECK(pclose(pipe) == 0);
  return sum;
}

// Packets between the two alone: what goes over the worker's own loopback is let be.
void NetworkRig::Filter(const std::string& verdict) {
  Run("printf 'flush ruleset\\ntable inet tune {\\n"
      "chain in { type filter hook input priority 0; iifname " +
      std::string(kWorkerLink) + " " + verdict +
      "; }\\n"
      "chain out { type filter hook output priority 0; oifname " +
      kWorkerLink + " " + verdict + "; }\\n}\\n' | ip netns exec " + worker_ + " nft -f -");
}

void NetworkRig::SlowDown(const std::string& rate) {
  for (const auto& [network, link] : {std::pair(tuner_, kTunerLink), {worker_, kWorkerLink}}) {
    Run("tc -n " + network + " qdisc replace dev " + link + " root tbf rate " + rate +
        " burst 8kb latency 400ms");
  }
}

}  // namespace tune::testing
