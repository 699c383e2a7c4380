#include "tuner/checkpoint_on_disk.h"

#include <filesystem>
#include <fstream>
#include <iterator>

#include "core/hash.h"
#include "tuner/artifact_garbage.h"

namespace tune {

CheckpointLook LookAtCheckpoint(const std::string& path, int64_t bytes,
                                const std::string& checksum) {
  namespace fs = std::filesystem;
  std::error_code error;
  if (!fs::exists(path, error)) return {CheckpointOnDisk::kMissing, ""};
  const int64_t have = MeasureBytes(path);
  if (have != bytes) {
    return {CheckpointOnDisk::kDiffers,
            "has " + std::to_string(have) + " bytes, " + std::to_string(bytes) + " were reported"};
  }
  std::ifstream in(fs::path(path) / "manifest.json", std::ios::binary);
  if (!in.is_open()) return {};
  const std::string manifest(std::istreambuf_iterator<char>(in), {});
  const std::string hash = HashToHex(Xxh64(manifest));
  if (hash == checksum) return {};
  return {CheckpointOnDisk::kDiffers,
          "has a manifest of checksum " + hash + ", " + checksum + " was reported"};
}

}  // namespace tune
