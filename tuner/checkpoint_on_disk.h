// Whether a checkpoint that the database knows is on disk as it was reported: its size, and the
// checksum of its manifest (which covers its other files). The files themselves are verified when
// they are restored.
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

}  // namespace tune
