#include "tuner/engines/cluster_change.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/check.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

ClusterSpec Read(const std::string& text, const std::string& folder = "/") {
  const Result<Value> document = ParseYaml(text);
  TUNE_CHECK(document.ok());
  Result<ClusterSpec> cluster = InterpretCluster(*document, "lab.yaml", folder);
  TUNE_CHECK(cluster.ok());
  return *std::move(cluster);
}

constexpr char kVm[] = "command: {up: [u, \"{name}\"], down: [d, \"{name}\"], list: [l]}";

ClusterSpec Vm(const std::string& more) {
  return Read("pools: {vm: {" + std::string(kVm) + more + "}}\n");
}

TEST(ClusterChange, WhatIsSaidInOtherWordsIsNoChange) {
  const ClusterChange change =
      CompareClusters(Vm(""), Vm(", min: 0, max: 8, idle: 600, worker: {cpus: 1}"));
  EXPECT_THAT(change.settings, IsEmpty());
  EXPECT_THAT(change.others, IsEmpty());
}

TEST(ClusterChange, NumbersOfAPoolCanChangeAndAreTheNewOnes) {
  ClusterSpec cluster = Vm(", max: 2");
  const ClusterSpec wanted = Vm(", min: 1, max: 4, idle: 10s, join_timeout: 2m");
  const ClusterChange change = CompareClusters(cluster, wanted);
  EXPECT_THAT(change.settings,
              ElementsAre("pools.vm.min: 1 instead of 0", "pools.vm.max: 4 instead of 2",
                          "pools.vm.idle: 10.0 s instead of 10 min 00 s",
                          "pools.vm.join_timeout: 2 min 00 s instead of 10 min 00 s"));
  EXPECT_THAT(change.others, IsEmpty());
  ApplySettings(wanted, cluster);
  EXPECT_EQ(cluster.pools[0].min, 1);
  EXPECT_EQ(cluster.pools[0].max, 4);
  EXPECT_EQ(cluster.pools[0].idle, Seconds(10));
  EXPECT_THAT(CompareClusters(cluster, wanted).settings, IsEmpty());
}

TEST(ClusterChange, WhateverElseDiffersIsNamed) {
  EXPECT_THAT(CompareClusters(Vm(""), Vm(", worker: {cpus: 4}, spot: true")).others,
              ElementsAre("pools.vm.worker.cpus", "pools.vm.spot"));
  EXPECT_THAT(CompareClusters(Vm(""), Read("pools: {vm: {command: {up: [v, \"{name}\"], down: [d, "
                                           "\"{name}\"], list: [l, -a], log: [x]}}}\n"))
                  .others,
              ElementsAre("pools.vm.command.up", "pools.vm.command.list", "pools.vm.command.log"));
  const std::string pool = "{vm: {" + std::string(kVm) + "}}";
  EXPECT_THAT(
      CompareClusters(Vm(""), Read("name: other\nhead: {listen: \"1.2.3.4:5\", http: "
                                   "\"127.0.0.1:0\", cpus: 1}\npools: " +
                                       pool + "\n",
                                   "/elsewhere"))
          .others,
      ElementsAre("name", "head.listen", "head.http", "head.cpus", "the folder of the file"));
  EXPECT_THAT(
      CompareClusters(Vm(""), Read("pools: {vm: {ssh: {hosts: [a]}, max: 1}, b: {slurm: {}}}\n"))
          .others,
      ElementsAre("pools (which there are, and their order)", "pools.vm.ssh",
                  "pools.vm.worker.cpus", "pools.vm.worker.gpus"));
  EXPECT_THAT(CompareClusters(Read("pools: {a: {ssh: {hosts: [a]}}, b: {slurm: {}}}\n"),
                              Read("pools: {a: {ssh: {hosts: [a, b], user: c}, max: 1}, b: {slurm: "
                                   "{partition: p, time: 1h}}}\n"))
                  .others,
              ElementsAre("pools.a.ssh.hosts", "pools.a.ssh.user", "pools.b.slurm.partition",
                          "pools.b.slurm.time"));
}

TEST(ClusterChange, MachinesAreLostByOtherEngineSettingsThanThoseOfNewOnes) {
  const auto lost = [](const std::string& was, const std::string& wanted) {
    return LosesMachines(Read("pools: {vm: " + was + "}\n").pools[0],
                         Read("pools: {vm: " + wanted + "}\n").pools[0]);
  };
  const std::string vm = "{" + std::string(kVm);
  EXPECT_THAT(lost(vm + "}", vm + ", worker: {cpus: 4}, spot: true, max: 9}"), IsEmpty());
  EXPECT_THAT(lost(vm + "}",
                   "{command: {up: [u, \"{name}\"], down: [e, \"{name}\"], list: [l], "
                   "log: [x]}}"),
              ElementsAre("pools.vm.command.down"));
  EXPECT_THAT(lost(vm + "}", "{slurm: {}}"), ElementsAre("pools.vm.slurm"));
  EXPECT_THAT(lost("{slurm: {partition: a}}", "{slurm: {partition: b, time: 1h}}"), IsEmpty());
  EXPECT_THAT(lost("{ssh: {hosts: [a, b]}}", "{ssh: {hosts: [c, b, a]}}"), IsEmpty());
  EXPECT_THAT(lost("{ssh: {hosts: [a, b]}}", "{ssh: {hosts: [a], user: ada}}"),
              ElementsAre("pools.vm.ssh.hosts", "pools.vm.ssh.user"));
}

}  // namespace
}  // namespace tune
