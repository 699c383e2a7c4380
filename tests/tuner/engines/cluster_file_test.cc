#include "tuner/engines/cluster_file.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "tests/tuner/temp_folder.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

using ::testing::ElementsAre;

constexpr char kLab[] = R"yaml(name: lab
head: {listen: 0.0.0.0:7443, http: 127.0.0.1:8080}
pools:
  gpu:
    slurm: {partition: gpu, account: vision, time: 4h, options: ["--exclusive"]}
    worker: {cpus: 8, gpus: 1, gpu_memory: 80GiB, memory: 64GiB}
    min: 1
    max: 16
    idle: 5m
    spot: true
  lab:
    ssh: {hosts: [node1, node2], user: cc, options: [-p, 2222]}
    worker: {cpus: all, gpus: all}
  cloud:
    command: {up: [./vm, create, "{name}"], down: [./vm, delete, "{name}"], list: [./vm, list]}
)yaml";

Result<ClusterSpec> Read(const std::string& text) {
  const Result<Value> document = ParseYaml(text);
  if (!document.ok()) return document.status();
  return InterpretCluster(*document, "lab.yaml", "/srv");
}

std::string Error(const std::string& text) {
  const Result<ClusterSpec> read = Read(text);
  return read.ok() ? "it is taken" : read.status().message();
}

std::string Ssh(const std::string& more) {
  return "pools:\n  lab:\n    ssh: {hosts: [a, b]}\n" + more;
}

TEST(ClusterFile, PoolsAreReadInTheirOrderWithTheirEngines) {
  const Result<ClusterSpec> read = Read(kLab);
  ASSERT_TRUE(read.ok()) << read.status().message();
  EXPECT_EQ(read->name, "lab");
  EXPECT_EQ(read->head.listen, "0.0.0.0:7443");
  EXPECT_EQ(read->head.http, "127.0.0.1:8080");
  EXPECT_EQ(read->head.cpus, 0);
  ASSERT_EQ(read->pools.size(), 3u);
  const PoolSpec& gpu = read->pools[0];
  ASSERT_TRUE(gpu.slurm);
  EXPECT_EQ(gpu.slurm->partition, "gpu");
  EXPECT_EQ(gpu.slurm->account, "vision");
  EXPECT_EQ(gpu.slurm->time, Seconds(4 * 3600));
  EXPECT_THAT(gpu.slurm->options, ElementsAre("--exclusive"));
  EXPECT_EQ(gpu.worker.Capacity().cpu_milli, 8000);
  ASSERT_EQ(gpu.worker.Capacity().devices.size(), 1u);
  EXPECT_EQ(gpu.worker.Capacity().devices[0].memory_bytes, int64_t{80} << 30);
  EXPECT_EQ(gpu.worker.memory_bytes, int64_t{64} << 30);
  EXPECT_EQ(gpu.min, 1);
  EXPECT_EQ(gpu.max, 16);
  EXPECT_EQ(gpu.idle, Seconds(300));
  EXPECT_TRUE(gpu.spot);
  const PoolSpec& lab = read->pools[1];
  ASSERT_TRUE(lab.ssh);
  EXPECT_THAT(lab.ssh->hosts, ElementsAre("node1", "node2"));
  EXPECT_THAT(lab.ssh->options, ElementsAre("-p", "2222"));
  EXPECT_FALSE(lab.worker.is_known());
  EXPECT_EQ(lab.max, 2);
  ASSERT_TRUE(read->pools[2].command);
  EXPECT_THAT(read->pools[2].command->up, ElementsAre("./vm", "create", "{name}"));
  EXPECT_EQ(read->pools[2].max, 8);
  EXPECT_EQ(read->pools[2].worker.cpus, 1);
}

TEST(ClusterFile, NameDefaultsToTheFilesStem) {
  EXPECT_EQ(Read(Ssh(""))->name, "lab");
  const Result<Value> document = ParseYaml(Ssh(""));
  EXPECT_THAT(InterpretCluster(*document, "My Lab.yaml", "/").status().message(),
              ::testing::HasSubstr("name: read 'My Lab' from the file's name, expected a name of"));
}

TEST(ClusterFile, MistakeIsToldWithItsPlaceAndWhatIsExpected) {
  EXPECT_EQ(Error("pool: {}\n"), "lab.yaml:1:1: unknown key 'pool'; did you mean 'pools'?");
  EXPECT_EQ(Error("name: lab\n"),
            "lab.yaml:1:1: 'pools' is missing; write for example pools: {lab: {ssh: {hosts: "
            "[node1, node2]}, worker: {cpus: all, gpus: all}}}");
  EXPECT_EQ(Error("head: {listen: \"0.0.0.0:0\"}\n" + Ssh("")),
            "lab.yaml:1:16: head.listen: read '0.0.0.0:0', expected HOST:PORT with a port above 0, "
            "where workers find a head again that was started anew");
  EXPECT_EQ(Error(Ssh("    maximum: 3\n")),
            "lab.yaml:4:5: unknown key 'pools.lab.maximum'; did you mean 'max'?");
  EXPECT_EQ(Error(Ssh("    max: 3\n")),
            "lab.yaml:4:10: pools.lab.max: read 3, expected a number of workers from 1 to 2, one "
            "for each host");
  EXPECT_EQ(Error(Ssh("    max: 1\n    min: 2\n")),
            "lab.yaml:5:10: pools.lab.min: read 2, expected a number of workers from 0 to max (1)");
  EXPECT_EQ(Error(Ssh("    idle: soon\n")),
            "lab.yaml:4:11: pools.lab.idle: read 'soon', expected a duration above 0 such as 90s, "
            "10m, 2h or 1d");
  EXPECT_EQ(Error(Ssh("    worker: {cpus: many}\n")),
            "lab.yaml:4:20: pools.lab.worker.cpus: read 'many', expected a number of 1 or more, or "
            "all");
  const auto kubernetes = [](const std::string& what) {
    return "pools: {lab: {kubernetes: " + what + "}}\n";
  };
  EXPECT_THAT(Error(kubernetes("{namespace: a}")),
              ::testing::HasSubstr("pools.lab.kubernetes.image: is missing; expected a container"));
  EXPECT_THAT(Error(kubernetes("{image: i, template: {kind: Pod}}")),
              ::testing::HasSubstr("expected a pod template such as {spec: {nodeSelector:"));
  EXPECT_THAT(Error(kubernetes("{image: i, template: {spec: {volumes: 3}}}")),
              ::testing::HasSubstr("template.spec.volumes: read 3, expected a list"));
  EXPECT_THAT(Error(kubernetes("{image: i, template: {metadata: {labels: [a]}}}")),
              ::testing::HasSubstr("template.metadata.labels: read"));
  EXPECT_THAT(Error(kubernetes("{image: i, imag: j}")), ::testing::HasSubstr("'image'"));
  EXPECT_THAT(Error(kubernetes("{image: i, namespace: ../../x}")),
              ::testing::HasSubstr("namespace: read '../../x', expected a namespace's name"));
  EXPECT_THAT(Error(kubernetes("{image: '-i x'}")),
              ::testing::HasSubstr("image: read '-i x', expected a container image"));
  EXPECT_THAT(Error(kubernetes("{image: i, queue: A_b}")),
              ::testing::HasSubstr("queue: read 'A_b', expected a local queue of Kueue"));
  EXPECT_EQ(
      Error("pools: {lab: {max: 3}}\n"),
      "lab.yaml:1:9: pools.lab: has no engine; expected one of slurm, ssh, command and kubernetes");
  EXPECT_EQ(Error("pools: {lab: {ssh: {hosts: [a]}, slurm: {}}}\n"),
            "lab.yaml:1:9: pools.lab: has two engines; expected one of slurm, ssh, command and "
            "kubernetes");
  EXPECT_EQ(Error("pools: {lab: {ssh: {hosts: [a, b, a]}}}\n"),
            "lab.yaml:1:28: pools.lab.ssh.hosts: read a list, expected each host once, and not a "
            "twice");
  EXPECT_EQ(Error("pools: {lab: {ssh: {user: cc}}}\n"),
            "lab.yaml:1:9: pools.lab.ssh.hosts: is missing; expected a list of hosts such as "
            "[node1, node2], as ssh knows them");
  EXPECT_EQ(Error("pools: {gpu: {slurm: {}, worker: {cpus: all}}}\n"),
            "lab.yaml:1:9: pools.gpu.worker: Slurm is asked for a number of CPUs and GPUs; "
            "expected numbers, not all");
  EXPECT_EQ(Error("pools: {vm: {command: {up: [./vm], down: [./vm, \"{name}\"], list: [l]}}}\n"),
            "lab.yaml:1:9: pools.vm.command.up: {name} is missing: a machine is made and removed "
            "by its name");
  EXPECT_EQ(Error("pools: {GPU: {ssh: {hosts: [a]}}}\n"),
            "lab.yaml:1:9: pools: read 'GPU', expected a name of at most 24 lower-case letters, "
            "digits and '-', which begins with a letter: engines name machines by it");
}

// A Job's name has 63 bytes at most, and the number of a worker stands in it.
TEST(ClusterFile, NamesThatAreTooLongTogetherForAJobOfKubernetesAreRefusedOfANewCluster) {
  const auto error = [](const std::string& pool, const std::string& engine) {
    const Result<ClusterSpec> read =
        Read("name: " + std::string(24, 'c') + "\npools: {" + pool + ": {" + engine + "}}\n");
    return read.ok() ? CheckJobNames(*read).message() : "not read: " + read.status().message();
  };
  EXPECT_EQ(error(std::string(19, 'p'), "kubernetes: {image: i}"), "");
  EXPECT_EQ(error(std::string(20, 'p'), "kubernetes: {image: i}"),
            "lab.yaml:2:9: pools: read 'pppppppppppppppppppp', expected a name that has at most 43 "
            "letters together with the cluster's ('cccccccccccccccccccccccc'): Kubernetes names "
            "Jobs by both, with at most 63");
  EXPECT_EQ(error(std::string(24, 'p'), "ssh: {hosts: [a]}"), "");
}

TEST(ClusterFile, HostThatSshWouldTakeForAnOptionIsRefused) {
  EXPECT_THAT(Error("pools: {lab: {ssh: {hosts: [\"-oProxyCommand=x\"]}}}\n"),
              ::testing::HasSubstr("pools.lab.ssh.hosts"));
}

TEST(ClusterFile, EachExampleIsRead) {
  const char* const root = std::getenv("TUNE_SOURCE_DIR");
  ASSERT_NE(root, nullptr) << "run by ctest, or set it to the project's folder";
  int count = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(root) + "/examples/clusters")) {
    if (entry.path().extension() != ".yaml") continue;
    ++count;
    const Result<ClusterSpec> cluster = ReadClusterFile(entry.path().string());
    EXPECT_TRUE(cluster.ok()) << cluster.status().message();
  }
  EXPECT_GE(count, 4);
}

TEST(ClusterFile, FileThatIsNotThereIsToldByItsPath) {
  EXPECT_EQ(ReadClusterFile("/nowhere/lab.yaml").status().message(),
            "/nowhere/lab.yaml: there is no such file");
}

}  // namespace
}  // namespace tune
