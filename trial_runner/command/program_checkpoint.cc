#include "trial_runner/command/program_checkpoint.h"

#include <algorithm>
#include <filesystem>
#include <vector>

#include "core/hash.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/file_hash.h"
#include "core/posix/readable_folder.h"
#include "core/value.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr char kData[] = "data";
constexpr char kManifest[] = "manifest.json";
constexpr uint64_t kManifestBytesMax = 64u << 20;

// Of a file that nobody shortens meanwhile: it is mapped, not read.
Result<Value> DescribeFile(const std::string& path, const std::string& name) {
  TUNE_ASSIGN_OR_RETURN(const FileHash file, HashFile(path));
  Value entry = Value::MakeMap();
  entry.Set("path", Value(name));
  entry.Set("bytes", Value(file.bytes));
  entry.Set("xxh64", Value(HashToHex(file.xxh64)));
  return entry;
}

// All files below data/, by name.
Result<Value> DescribeFiles(const std::string& data) {
  std::vector<std::string> names;
  std::error_code error;
  fs::recursive_directory_iterator it(data, error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    if (it->is_regular_file(error)) names.push_back(it->path().string().substr(data.size() + 1));
  }
  if (error) return DataLoss("cannot read " + data + ": " + error.message());
  std::sort(names.begin(), names.end());
  Value files = Value::MakeList();
  for (const std::string& name : names) {
    TUNE_ASSIGN_OR_RETURN(Value entry, DescribeFile(data + "/" + name, name));
    files.AsList().push_back(std::move(entry));
  }
  return files;
}

Result<std::string> ManifestText(const std::string& name, const std::string& data) {
  Value manifest = Value::MakeMap();
  manifest.Set("name", Value(name));
  TUNE_ASSIGN_OR_RETURN(Value files, DescribeFiles(data));
  manifest.Set("files", std::move(files));
  // Covers every field before it.
  manifest.Set("xxh64", Value(HashToHex(Xxh64(ToJson(manifest)))));
  return ToJson(manifest) + "\n";
}

// Also where one of them is named by a link.
bool IsWithin(const std::string& path, const std::string& folder) {
  std::error_code error;
  const fs::path inner = fs::canonical(path, error);
  const fs::path outer = fs::canonical(folder, error);
  const auto [at, end] = std::mismatch(outer.begin(), outer.end(), inner.begin(), inner.end());
  return !error && at == outer.end();
}

int64_t BytesOf(const std::string& manifest_text) {
  const Result<Value> manifest = ParseJson(manifest_text);
  int64_t bytes = static_cast<int64_t>(manifest_text.size());
  for (const Value& file : manifest->Find("files")->AsList()) bytes += file.Find("bytes")->AsInt();
  return bytes;
}

}  // namespace

Result<CheckpointRef> CopyProgramCheckpoint(CheckpointPlace& place, int64_t iteration,
                                            const std::string& source) {
  const fs::path normal = fs::path(source).lexically_normal();
  const std::string name = (normal / "").parent_path().filename().string();
  if (name.empty() || name == "." || name == "..") {
    return InvalidArgument(source + " has no name of its own");
  }
  std::error_code ignored;
  if (!fs::exists(source, ignored)) return NotFound(source + ": no such file or folder");
  TUNE_RETURN_IF_ERROR(place.Prepare());
  if (IsWithin(place.folder(), source)) {
    return InvalidArgument(source + " holds the folder that checkpoints are kept in, " +
                           place.folder());
  }
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder,
                        DurableFolder::Begin(place.folder(), place.NameOf(iteration)));
  TUNE_RETURN_IF_ERROR(folder.MakeFolder(kData));
  TUNE_RETURN_IF_ERROR(folder.Copy(std::string(kData) + "/" + name, source));
  TUNE_ASSIGN_OR_RETURN(const std::string manifest, ManifestText(name, folder.PathOf(kData)));
  TUNE_RETURN_IF_ERROR(folder.Write(kManifest, manifest));
  TUNE_ASSIGN_OR_RETURN(const std::string path, folder.Commit());
  place.RemoveEarlierOf(iteration);
  return CheckpointRef{path, BytesOf(manifest), HashToHex(Xxh64(manifest))};
}

Result<std::string> VerifyProgramCheckpoint(const std::string& folder) {
  TUNE_RETURN_IF_ERROR(CheckMayBeRead(folder));
  std::error_code error;
  if (!fs::is_directory(folder, error)) return NotFound("no checkpoint folder " + folder);
  const std::string manifest_path = folder + "/" + kManifest;
  const Result<std::string> text = ReadFile(manifest_path, kManifestBytesMax);
  if (!text.ok()) return DataLoss(text.status().message());
  const Result<Value> manifest = ParseJson(*text);
  const Value* const name = manifest.ok() && manifest->is_map() ? manifest->Find("name") : nullptr;
  if (name == nullptr || !name->is_string()) {
    return DataLoss(manifest_path + " is not what was written");
  }
  // All of it follows from the files, so it is simply made again.
  const std::string data = folder + "/" + kData;
  const Result<std::string> expected = ManifestText(name->AsString(), data);
  if (!expected.ok()) return DataLoss(expected.status().message());
  if (*expected != *text) return DataLoss("the files in " + folder + " are not what was written");
  return data + "/" + name->AsString();
}

}  // namespace tune
