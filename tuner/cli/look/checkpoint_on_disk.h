// Whether a checkpoint that the database knows is on disk as it was reported: its size, the
// checksum of its manifest, and those that the manifest has of its other files. Reads all of them.
//
// Thread rule: any thread.
#pragma once

#include <cstdint>
#include <string>

namespace tune {

enum class CheckpointOnDisk { kWhole, kMissing, kDiffers };

struct CheckpointLook {
  CheckpointOnDisk state = CheckpointOnDisk::kWhole;
  std::string what;  // For kDiffers: "has 3 bytes, 100 were reported".
};

// `bytes` and `checksum` as in the database; a trainable that writes no manifest.json is judged by
// its bytes alone.
CheckpointLook LookAtCheckpoint(const std::string& path, int64_t bytes,
                                const std::string& checksum);

// What of it is not as its own manifest says; empty: nothing is known to be wrong.
std::string DamageOfCheckpoint(const std::string& path);

}  // namespace tune
