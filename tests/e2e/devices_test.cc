// Devices from the outside: the real programs, with a library in the place of NVIDIA's that tells
// of devices, their memory and who uses it (tests/standin_nvml).
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/e2e/program.h"
#include "tests/standin_nvml/standin_machine.h"

namespace tune::testing {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;
using Rows = std::vector<std::string>;

constexpr int64_t kGiB = int64_t{1} << 30;

class Devices : public ::testing::Test {
 protected:
  Devices() {
    setenv("XDG_CACHE_HOME", cache_.path().c_str(), 1);
    machine_.Device("GPU-1b2c", 80 * kGiB, kGiB, "NVIDIA H100");
    machine_.Device("GPU-77aa", 24 * kGiB, kGiB, "NVIDIA L4");
  }
  ~Devices() override { unsetenv("CUDA_VISIBLE_DEVICES"); }

  void WriteScript(const std::string& text) {
    folder_.Write("trial.sh", "#!/bin/sh\n" + text);
    chmod((folder_ / "trial.sh").c_str(), 0755);
  }
  // Its first attempt makes that befall the machine, and waits for its end.
  void WriteScriptThatMakes(const Rows& befalls) {
    std::string script = "if [ $TUNE_ATTEMPT = 1 ]; then\n";
    for (const std::string& line : befalls) {
      script += "  echo " + line + " >> " + machine_.path() + "\n";
    }
    WriteScript(script + "  exec tail -f /dev/null\nfi\ntune report acc=1\n");
  }
  ProgramResult Run(const std::string& resources, int samples,
                    const std::vector<std::string>& options = {}) {
    const std::string space =
        folder_.Write("space.yaml",
                      "trainable: {command: [./trial.sh]}\nmetric: acc\nmode: max\nseed: 3\n"
                      "space: {x: {uniform: [0, 1]}}\nsamples: " +
                          std::to_string(samples) + "\nresources: {cpu: 1, " + resources + "}\n");
    std::vector<std::string> arguments = {"run", space, "--cpus", "4"};
    arguments.insert(arguments.end(), options.begin(), options.end());
    return RunTune(folder_, arguments);
  }
  Rows Ask(const std::string& sql) const { return Query(folder_, sql); }
  // What the trials wrote of what they were given.
  Rows Given() const {
    Rows lines;
    std::ifstream file(folder_ / "given");
    for (std::string line; std::getline(file, line);) lines.push_back(line);
    return lines;
  }

  TestFolder folder_;
  TestFolder cache_;
  StandInMachine machine_{folder_ / "nvml"};
};

TEST_F(Devices, AreOfferedAsTheyAreAndGivenByUuid) {
  WriteScript(
      "echo \"$CUDA_VISIBLE_DEVICES $TUNE_GPU_SHARE $TUNE_GPU_MEMORY_BYTES\" >> given\n"
      "tune report acc=1\n");
  const ProgramResult result = Run("gpu: 0.5", 1);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select gpus from workers"), Rows{"2"});
  // Of two empty devices the one with less memory.
  EXPECT_EQ(Given(), Rows{"GPU-77aa 0.5 12884901888"});
}

TEST_F(Devices, AreThoseThatCudaVisibleDevicesLeaves) {
  setenv("CUDA_VISIBLE_DEVICES", "GPU-1b", 1);
  WriteScript("echo \"$CUDA_VISIBLE_DEVICES\" >> given\ntune report acc=1\n");
  const ProgramResult result = Run("gpu: 1", 2);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select gpus from workers"), Rows{"1"});
  EXPECT_EQ(Given(), (Rows{"GPU-1b2c", "GPU-1b2c"}));
}

TEST_F(Devices, WhatFitsOnNoneIsRefusedAtTheStart) {
  WriteScript("tune report acc=1\n");
  const ProgramResult much = Run("gpu: 0.5, gpu_memory: 100GiB", 1);
  EXPECT_EQ(much.exit_status, 2);
  EXPECT_THAT(much.err, AllOf(HasSubstr("a trial needs cpu: 1, gpu: 0.5, gpu_memory: 100 GiB"),
                              HasSubstr("has 4 CPUs, 2 GPUs (80 GiB, 24 GiB)")));
  const ProgramResult many = Run("gpu: 1", 1, {"--gpus", "3"});
  EXPECT_EQ(many.exit_status, 2);
  EXPECT_THAT(many.err, HasSubstr("--gpus: read 3, expected 0 to 2, the devices that are here"));
}

TEST_F(Devices, ADriverThatDoesNotFitIsSaidAndNothingIsOffered) {
  machine_.Driver(StandInMachine::kVersionMismatch);
  WriteScript("tune report acc=1\n");
  const ProgramResult result = Run("gpu: 0.5", 1);
  EXPECT_EQ(result.exit_status, 2);
  EXPECT_THAT(result.err, HasSubstr("NVML: Driver/library version mismatch (18)"));
}

TEST_F(Devices, ThePlanSaysWhatFitsOnWhich) {
  WriteScript("tune report acc=1\n");
  const std::string space =
      folder_.Write("space.yaml",
                    "trainable: {command: [./trial.sh]}\nmetric: acc\nmode: max\nspace: {x: 1}\n"
                    "resources: {cpu: 1, gpu: 0.25, gpu_memory: 30GiB}\n");
  const ProgramResult plan = RunTune(folder_, {"plan", space, "--cpus", "4"});
  ASSERT_EQ(plan.exit_status, 0) << plan.err;
  EXPECT_THAT(plan.out,
              HasSubstr("device         0 (NVIDIA H100, 80 GiB): 2 trials of 30 GiB each\n"
                        "               1 (NVIDIA L4, 24 GiB): none, it has too little "
                        "memory\n"));
}

// The trial asks, while it has its slice.
TEST_F(Devices, StatusSaysWhoHasWhatOfEach) {
  WriteScript(
      "tune report acc=1\n"
      "for i in $(seq 200); do\n"
      "  tune status --format json > status.json\n"
      "  grep -q '\"used_bytes\":18253611008' status.json && break\n"
      "done\n"
      "tune status > status.txt\n");
  machine_.Clear();
  machine_.Device("GPU-1b2c", 80 * kGiB, 17 * kGiB, "NVIDIA H100");
  machine_.Device("GPU-77aa", 24 * kGiB, 0, "NVIDIA L4");
  const ProgramResult result = Run("gpu: 0.25, gpu_memory: 30GiB", 1);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  std::stringstream text;
  text << std::ifstream(folder_ / "status.txt").rdbuf();
  EXPECT_THAT(text.str(),
              HasSubstr("devices    local 0  NVIDIA H100, 17 GiB of 80 GiB used: trial "
                        "0 has 0.25 (30 GiB)\n"
                        "           local 1  NVIDIA L4, 0 bytes of 24 GiB used: free\n"));
}

TEST_F(Devices, TheDoctorListsThemAndSaysHowSharesAreHeldTo) {
  machine_.Fail(1, StandInMachine::kGpuIsLost);
  const ProgramResult doctor = RunTune(folder_, {"doctor"});
  EXPECT_THAT(doctor.out, HasSubstr("NVIDIA H100 GPU-1b2c, 1 GiB of 80 GiB used"));
  EXPECT_THAT(doctor.out, HasSubstr("gpu shares"));
}

// It takes more than its half of the small device, is tried again on a whole one, and what it takes
// there is what the next one is given.
TEST_F(Devices, AProgramThatTakesMoreThanItsShareIsEndedAndTriedOnAWholeDevice) {
  char target[64] = {};
  if (readlink("/proc/self/ns/pid", target, sizeof target - 1) < 0 ||
      std::string(target) != "pid:[4026531836]") {
    GTEST_SKIP() << "the driver's process numbers are not those of this container";
  }
  WriteScript(
      "echo \"$CUDA_VISIBLE_DEVICES $TUNE_GPU_MEMORY_BYTES\" >> given$TUNE_TRIAL\n"
      "if [ $TUNE_TRIAL = 0 ]; then\n"
      "  sh -c \"echo process 1 \\$\\$ 17179869184 >> " +
      machine_.path() +
      "; "
      "[ $TUNE_ATTEMPT = 2 ] || exec tail -f /dev/null\"\n"
      "fi\n"
      "tune report acc=1\n");
  const ProgramResult result = Run("gpu: 0.5", 1, {"--set", "limits.max_concurrent=1"});
  ASSERT_EQ(result.exit_status, 0) << result.err;
  const Rows outcomes = Ask("select outcome, error from attempts order by number");
  ASSERT_EQ(outcomes.size(), 2u);
  EXPECT_EQ(outcomes[0],
            "device_out_of_memory|it used 16 GiB of device 1 (NVIDIA L4), more than its share's 12 "
            "GiB; without MPS that is watched for");
  EXPECT_EQ(outcomes[1], "completed|");
  EXPECT_THAT(result.err, HasSubstr("a trial used 16 GiB of a device, more than its share"));
}

TEST_F(Devices, WhatRanOnADeviceWithAnErrorThatOnlyAResetEndsGoesOnOnAnother) {
  WriteScriptThatMakes({"xid 1 31 -",  // A program's fault.
                        "xid 1 95 -"});
  const ProgramResult result = Run("gpu: 1", 1);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select outcome, error from attempts order by number"),
            (Rows{"lost|device 1 (NVIDIA L4) fell away: Xid 95: an uncontained error of its memory",
                  "completed|"}));
}

TEST_F(Devices, OfADeviceInMigModeItsInstancesAreOfferedEachToAProcess) {
  machine_.MigMode(0);
  machine_.Instance(0, "MIG-aaaa", 40 * kGiB, 0, 1, "NVIDIA H100 MIG 3g.40gb");
  machine_.Instance(0, "MIG-bbbb", 20 * kGiB, 0, 2, "NVIDIA H100 MIG 2g.20gb");
  setenv("CUDA_VISIBLE_DEVICES", "MIG-aaaa,MIG-bbbb", 1);
  WriteScript(
      "echo \"$CUDA_VISIBLE_DEVICES\" >> given\n"
      "until [ $(wc -l < given) = 2 ]; do :; done\n"
      "tune report acc=1\n");
  const ProgramResult both = Run("gpu: 1", 2);
  ASSERT_EQ(both.exit_status, 0) << both.err;
  EXPECT_THAT(Given(), UnorderedElementsAre("MIG-aaaa", "MIG-bbbb"));

  const ProgramResult refused = Run("gpu: 2", 1);
  EXPECT_EQ(refused.exit_status, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("a trial needs cpu: 1, gpu: 2, but the only worker (local) has "
                        "4 CPUs, 2 MIG instances (40 GiB, 20 GiB), one for a process"));
}

TEST_F(Devices, WhatRanOnALostDeviceGoesOnOnAnother) {
  WriteScriptThatMakes({"fail 1 15"});
  const ProgramResult result = Run("gpu: 1", 1);
  ASSERT_EQ(result.exit_status, 0) << result.err;
  EXPECT_EQ(Ask("select outcome, error from attempts order by number"),
            (Rows{"lost|device 1 (NVIDIA L4) fell away: NVML: GPU is lost (15)", "completed|"}));
  EXPECT_EQ(Ask("select gpus from workers"), Rows{"1"});
  EXPECT_THAT(result.err, HasSubstr("lost device 1: device 1 (NVIDIA L4): NVML: GPU is lost (15); "
                                    "what ran there goes on elsewhere"));
  // A later life finds it in the journal.
  EXPECT_TRUE(Succeeded(RunTune(folder_, {"doctor", "--db", folder_ / "tune.db"})));
}

}  // namespace
}  // namespace tune::testing
