#include "tuner/cli/look/checkpoint_on_disk.h"

#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/file_hash.h"
#include "core/value.h"
#include "tuner/artifact_garbage.h"

namespace tune {
namespace {

// By path within the checkpoint. A program's has a list of files below data/
// (trial_runner/command/program_checkpoint.h), the classifier's a map; a curve's state is judged by
// its size.
std::vector<std::pair<std::string, std::string>> HashesOf(const Value& manifest) {
  std::vector<std::pair<std::string, std::string>> hashes;
  const auto add = [&hashes](const std::string& name, const Value* hash) {
    if (hash != nullptr && hash->is_string()) hashes.emplace_back(name, hash->AsString());
  };
  const Value* const files = manifest.Find("files");
  if (files != nullptr && files->is_map()) {
    for (const auto& entry : files->AsMap()) {
      if (entry.value.is_map()) add(entry.key, entry.value.Find("xxh64"));
    }
  }
  if (files != nullptr && files->is_list()) {
    for (const Value& entry : files->AsList()) {
      const Value* const name = entry.is_map() ? entry.Find("path") : nullptr;
      if (name != nullptr && name->is_string()) {
        add("data/" + name->AsString(), entry.Find("xxh64"));
      }
    }
  }
  return hashes;
}

// Nothing: a trainable may write none.
std::optional<std::string> ReadManifest(const std::string& checkpoint) {
  constexpr uint64_t kManifestBytesMax = 64u << 20;
  Result<std::string> text = ReadFile(checkpoint + "/manifest.json", kManifestBytesMax);
  return text.ok() ? std::optional(*std::move(text)) : std::nullopt;
}

std::string DamageOf(const std::string& checkpoint, const std::string& manifest) {
  const Result<Value> entries = ParseJson(manifest);
  if (!entries.ok() || !entries->is_map()) return "its manifest.json cannot be read";
  for (const auto& [name, expected] : HashesOf(*entries)) {
    const Result<FileHash> file = HashFile(checkpoint + "/" + name);
    if (!file.ok()) return file.status().message();
    if (HashToHex(file->xxh64) != expected) return name + " in it is not what was written";
  }
  return "";
}

}  // namespace

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
  const std::optional<std::string> manifest = ReadManifest(path);
  if (!manifest) return {};
  const std::string hash = HashToHex(Xxh64(*manifest));
  if (hash != checksum) {
    return {CheckpointOnDisk::kDiffers,
            "has a manifest of checksum " + hash + ", " + checksum + " was reported"};
  }
  const std::string damage = DamageOf(path, *manifest);
  if (damage.empty()) return {};
  return {CheckpointOnDisk::kDiffers, damage};
}

std::string DamageOfCheckpoint(const std::string& path) {
  const std::optional<std::string> manifest = ReadManifest(path);
  return manifest ? DamageOf(path, *manifest) : "";
}

}  // namespace tune
