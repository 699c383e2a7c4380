#include "trial_runner/bucket/checkpoint_manifest.h"

#include <algorithm>

#include "core/json.h"
#include "core/limits.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr std::string_view kFormat = "tune-checkpoint 1";
constexpr size_t kSha256Digits = 64;

bool IsWithinFolder(std::string_view path) {
  if (path.empty() || path.size() > limits::kPathBytesMax || !IsUtf8(path)) return false;
  if (path.find('\0') != std::string_view::npos) return false;
  while (!path.empty()) {
    const size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    if (part.empty() || part == "." || part == "..") return false;
    if (slash + 1 == path.size()) return false;
    path.remove_prefix(std::min(slash + 1, path.size()));
  }
  return true;
}

bool IsSha256(const Value& value) {
  if (!value.is_string() || value.AsString().size() != kSha256Digits) return false;
  return value.AsString().find_first_not_of("0123456789abcdef") == std::string::npos;
}

const Value* FindOf(const Value& map, std::string_view key, bool (Value::*is)() const) {
  const Value* const found = map.is_map() ? map.Find(key) : nullptr;
  return found != nullptr && (found->*is)() ? found : nullptr;
}

Result<ManifestFile> ParseManifestFile(const Value& value) {
  const Status bad = DataLoss("the manifest is none of tune's");
  const Value* const path = FindOf(value, "path", &Value::is_string);
  const Value* const bytes = FindOf(value, "bytes", &Value::is_int);
  const Value* const mode = FindOf(value, "mode", &Value::is_int);
  const Value* const part_bytes = FindOf(value, "part_bytes", &Value::is_int);
  const Value* const parts = FindOf(value, "sha256", &Value::is_list);
  if (path == nullptr || bytes == nullptr || mode == nullptr || part_bytes == nullptr ||
      parts == nullptr) {
    return bad;
  }
  ManifestFile file{path->AsString(),
                    bytes->AsInt(),
                    static_cast<unsigned>(mode->AsInt() & 0777),
                    part_bytes->AsInt(),
                    {}};
  if (!IsWithinFolder(file.path)) {
    return DataLoss("the manifest names a file outside of its folder: '" + ToUtf8(file.path) + "'");
  }
  for (const Value& sha256 : parts->AsList()) {
    if (!IsSha256(sha256)) return bad;
    file.sha256.push_back(sha256.AsString());
  }
  if (file.bytes < 0 || file.part_bytes <= 0 || file.sha256.empty()) return bad;
  const int64_t count = std::max<int64_t>(1, (file.bytes - 1) / file.part_bytes + 1);
  if (count != file.part_count()) return bad;
  return file;
}

}  // namespace

int64_t PartBytesOf(int64_t file_bytes) {
  constexpr int64_t kRound = 1 << 20;
  const int64_t least = (file_bytes + limits::kS3PartsMax - 1) / limits::kS3PartsMax;
  return std::max(limits::kS3PartBytes, (least + kRound - 1) / kRound * kRound);
}

int64_t PartCountOf(int64_t file_bytes) {
  if (file_bytes == 0) return 1;
  return (file_bytes - 1) / PartBytesOf(file_bytes) + 1;
}

int64_t ManifestFile::BytesOfPart(int64_t part) const {
  return std::min(part_bytes, bytes - part * part_bytes);
}

int64_t CheckpointManifest::bytes() const {
  int64_t all = 0;
  for (const ManifestFile& file : files) all += file.bytes;
  return all;
}

std::string EncodeManifest(const CheckpointManifest& manifest) {
  Value folders = Value::MakeList();
  for (const std::string& folder : manifest.folders) folders.AsList().emplace_back(folder);
  Value files = Value::MakeList();
  for (const ManifestFile& file : manifest.files) {
    Value parts = Value::MakeList();
    for (const std::string& sha256 : file.sha256) parts.AsList().emplace_back(sha256);
    Value entry = Value::MakeMap();
    entry.Set("path", Value(file.path));
    entry.Set("bytes", Value(file.bytes));
    entry.Set("mode", Value(static_cast<int64_t>(file.mode)));
    entry.Set("part_bytes", Value(file.part_bytes));
    entry.Set("sha256", std::move(parts));
    files.AsList().push_back(std::move(entry));
  }
  Value whole = Value::MakeMap();
  whole.Set("format", Value(kFormat));
  whole.Set("bytes", Value(manifest.bytes()));
  whole.Set("folders", std::move(folders));
  whole.Set("files", std::move(files));
  return ToJson(whole) + "\n";
}

Result<CheckpointManifest> ParseManifest(std::string_view text) {
  const Result<Value> value = ParseJson(text);
  if (!value.ok()) return DataLoss("the manifest is no JSON: " + value.status().message());
  const Value* const format = FindOf(*value, "format", &Value::is_string);
  if (format == nullptr || format->AsString() != kFormat) {
    return DataLoss("the manifest is none of this version of tune");
  }
  const Value* const folders = FindOf(*value, "folders", &Value::is_list);
  const Value* const files = FindOf(*value, "files", &Value::is_list);
  if (folders == nullptr || files == nullptr) return DataLoss("the manifest is not whole");
  CheckpointManifest manifest;
  for (const Value& folder : folders->AsList()) {
    if (!folder.is_string() || !IsWithinFolder(folder.AsString())) {
      return DataLoss("the manifest names a folder outside of its own");
    }
    manifest.folders.push_back(folder.AsString());
  }
  for (const Value& entry : files->AsList()) {
    TUNE_ASSIGN_OR_RETURN(ManifestFile file, ParseManifestFile(entry));
    manifest.files.push_back(std::move(file));
  }
  return manifest;
}

}  // namespace tune
