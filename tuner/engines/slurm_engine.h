// Workers as jobs of Slurm: one sbatch an array of them, one squeue for all.
//
// Thread rule: engine.h.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "tuner/engines/cluster_file.h"
#include "tuner/engines/engine.h"

namespace tune {

struct SlurmPlaces {
  std::string
      program_dir;      // Of tune's programs, here; on the nodes unless the pool says otherwise.
  std::string folder;   // On the shared disk, for scripts and logs; it is there.
  std::string comment;  // What the accounting is told.
};

std::unique_ptr<Engine> MakeSlurmEngine(const PoolSpec& pool, const SlurmPlaces& places,
                                        const std::string& prefix);

// ---- for tests

// The words of sbatch for workers first ... first + count - 1, and the script that it reads.
std::vector<std::string> SbatchWords(const PoolSpec& pool, const SlurmPlaces& places,
                                     const std::string& prefix, int64_t first, int64_t count);
std::string SbatchScript(const PoolSpec& pool, const SlurmPlaces& places, const std::string& prefix,
                         int64_t first, const WorkerInvitation& invitation);

struct SlurmJob {
  Machine machine;
  std::string id;  // For scancel: "123_4".
};
// Of squeue's lines "NAME|TASK|STATE|REASON|ID" those of that prefix.
std::vector<SlurmJob> ParseSqueue(std::string_view text, std::string_view prefix);

// Why sbatch refused.
Status SbatchRefusal(const std::string& reason);

}  // namespace tune
