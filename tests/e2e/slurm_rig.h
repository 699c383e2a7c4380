// A real Slurm on this machine: munge, a controller and four nodes with two fake GPUs each, on
// loopback. Needs root and Debian's slurmctld, slurmd, slurm-client and munge; WhyNoSlurm says what
// is missing.
//
// Thread rule: one thread; it must live as long as the rig.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "tests/e2e/program.h"

namespace tune::testing {

// Empty where Slurm can be started, else the reason for a test to skip.
std::string WhyNoSlurm();

class SlurmRig {
 public:
  // Sets SLURM_CONF for this process and what it starts; ends when all nodes are idle.
  SlurmRig();
  ~SlurmRig();
  SlurmRig(const SlurmRig&) = delete;
  SlurmRig& operator=(const SlurmRig&) = delete;

  // What a command of Slurm prints.
  std::string Ask(const std::string& command) const;

 private:
  void Start(const std::vector<std::string>& words);

  TestFolder folder_;
  std::vector<pid_t> daemons_;
};

}  // namespace tune::testing
