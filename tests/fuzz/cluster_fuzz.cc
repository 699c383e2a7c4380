// libFuzzer target: any text as a cluster file is read or refused.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/engines/cluster_file.h"
#include "tuner/spec_reader.h"

namespace {

constexpr char kLab[] = R"y(name: lab
head: {listen: 0.0.0.0:7443, address: "lab:7443", http: 127.0.0.1:8080, cpus: 2, gpus: 0}
pools:
  gpu:
    slurm: {partition: gpu, account: a, qos: q, time: 4h, options: ["--exclusive"], programs: /opt}
    worker: {cpus: 8, gpus: 1, gpu_memory: 80GiB, memory: 64GiB}
    min: 1
    max: 16
    idle: 5m
    spot: true
    join_timeout: 3m
  lab:
    ssh: {hosts: [node1, node2], user: cc, options: [-p, 2222], folder: .tune}
    worker: {cpus: all, gpus: all}
)y";

constexpr char kCloud[] =
    "pools: {vm: {command: {up: [./vm, create, \"{name}\"], down: [./vm, rm, \"{name}\"], list: "
    "[./vm, list], log: [cat, \"{name}\"]}, worker: {cpus: 4}}}\n";

}  // namespace

tune::FuzzStart tune::StartOfFuzz() { return {{kLab, kCloud}, 5'000}; }

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const tune::Result<tune::Value> document = tune::ParseYaml(text);
  if (!document.ok()) return 0;
  const auto cluster = tune::InterpretCluster(*document, "fuzz.yaml", "/");
  if (!cluster.ok()) {
    TUNE_CHECK(cluster.status().message().starts_with("fuzz.yaml:"));
    return 0;
  }
  for (const tune::PoolSpec& pool : cluster->pools) {
    TUNE_CHECK(pool.min <= pool.max && pool.max >= 1 && pool.max <= tune::kPoolWorkersMax);
    TUNE_CHECK(pool.slurm.has_value() + pool.ssh.has_value() + pool.command.has_value() == 1);
  }
  return 0;
}
