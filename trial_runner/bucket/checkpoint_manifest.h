// What a checkpoint in an object store consists of. Its files lie below <key>/data/, and the
// manifest, <key>/manifest.json, is written last: a checkpoint without one does not exist.
//
// Each file's content is named by the SHA-256 of each of its parts, so that they can be hashed,
// sent and verified side by side.
//
// Thread rule: values and pure functions.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/status.h"
#include "trial_runner/s3_address.h"

namespace tune {

inline std::string ManifestKey(const std::string& key) { return key + "/manifest.json"; }
inline std::string DataKey(const std::string& key, std::string_view path) {
  return key + "/data/" + std::string(path);
}

struct ManifestFile {
  std::string path;  // Relative to the checkpoint's folder.
  int64_t bytes = 0;
  unsigned mode = 0644;
  int64_t part_bytes = 0;
  std::vector<std::string> sha256;  // Of each part, lower-case hexadecimal.

  int64_t part_count() const { return static_cast<int64_t>(sha256.size()); }
  int64_t BytesOfPart(int64_t part) const;
  friend bool operator==(const ManifestFile&, const ManifestFile&) = default;
};

struct CheckpointManifest {
  std::vector<std::string> folders;  // An outer one before those in it.
  std::vector<ManifestFile> files;

  int64_t bytes() const;
  friend bool operator==(const CheckpointManifest&, const CheckpointManifest&) = default;
};

// How large the parts of a file are, and how many it has: at least one.
int64_t PartBytesOf(int64_t file_bytes);
int64_t PartCountOf(int64_t file_bytes);

std::string EncodeManifest(const CheckpointManifest& manifest);
// Any text is safe to read. kDataLoss: it is none, or leads out of the checkpoint's folder.
Result<CheckpointManifest> ParseManifest(std::string_view text);

}  // namespace tune
