// What `tune doctor` looks at outside of the database: the machine, the disk below the database,
// and the programs beside this one. Leaves nothing behind.
//
// Thread rule: one thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/resources.h"
#include "core/time.h"
#include "trial_runner/devices/device_inventory.h"
#include "tuner/cli/words/finding.h"

namespace tune {

// Cores, memory, GPUs, open files, loopback, the clock.
Findings CheckMachine(Instant now);

// The folder of a database: file system, free space, the time of a sync, SQLite's WAL.
Findings CheckDisk(const std::string& folder);

// tune_cli, tune_worker and the others in `program_dir`: there, and of `version`.
Findings CheckPrograms(const std::string& program_dir, const std::string& version);

// Whether `tune` is this program in a shell whose PATH this is: Ray has a program of that name.
Finding CheckName(const std::string& path_variable, const std::string& program_dir);

// Where programs that are run by hand find the Python module.
Finding CheckPythonModule(const std::string& program_dir);

// ---- the judgements, from what was measured

Finding JudgeCores(int64_t affinity, int64_t online, std::optional<double> cgroup_cpus);
Finding JudgeMemory(int64_t total, int64_t available, std::optional<int64_t> cgroup_bytes);
Finding JudgeFreeSpace(int64_t free_bytes);
// `readings`: of each of the devices.
Findings JudgeGpus(const std::vector<Device>& devices, const std::vector<DeviceReading>& readings);
// How what users' programs take of a device is held to their share.
Finding JudgeShares(bool has_mps, bool sees_processes);
// `sync_us`: of some syncs of 4 KiB each; not empty.
Finding JudgeSyncs(std::vector<int64_t> sync_us);
Finding JudgeFileSystem(int64_t statfs_type);

}  // namespace tune
