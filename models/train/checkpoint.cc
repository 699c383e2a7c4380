#include "models/train/checkpoint.h"

#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <span>
#include <utility>

#include "core/check.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/readable_folder.h"
#include "models/train/safetensors.h"

namespace tune::models {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kFormat = 1;
constexpr uint64_t kManifestBytesMax = 64u << 20;
constexpr std::string_view kModel = "model.safetensors";
constexpr std::string_view kState = "state.safetensors";
constexpr std::string_view kManifest = "manifest.json";
constexpr std::string_view kBestPrefix = "best/";

std::string PathIn(const std::string& folder, std::string_view name) {
  return (fs::path(folder) / name).string();
}

Value FileEntry(std::string_view contents) {
  Value entry = Value::MakeMap();
  entry.Set("bytes", static_cast<int64_t>(contents.size()));
  entry.Set("xxh64", HashToHex(Xxh64(contents)));
  return entry;
}

std::string ManifestText(const CheckpointState& state, std::string_view model,
                         std::string_view extra) {
  Value manifest = Value::MakeMap();
  manifest.Set("format", kFormat);
  manifest.Set("epoch", state.epoch());
  manifest.Set("best_epoch", state.best_epoch);
  manifest.Set("threads", state.threads);
  manifest.Set("seed", HashToHex(state.options.seed));
  manifest.Set("data_hash", HashToHex(state.data_hash));
  manifest.Set("options", Food11OptionsToValue(state.options));
  manifest.Set("class_names", Value::List(state.class_names.begin(), state.class_names.end()));
  Value::List history;
  for (const EpochReport& report : state.history) history.push_back(ToValue(report));
  manifest.Set("history", std::move(history));
  Value files = Value::MakeMap();
  files.Set(kModel, FileEntry(model));
  files.Set(kState, FileEntry(extra));
  manifest.Set("files", std::move(files));
  // Covers every field before it.
  manifest.Set("xxh64", HashToHex(Xxh64(ToJson(manifest))));
  return ToJson(manifest) + "\n";
}

std::optional<uint64_t> ReadHex(const Value* value) {
  if (value == nullptr || !value->is_string() || value->AsString().size() != 16) {
    return std::nullopt;
  }
  uint64_t hash = 0;
  for (const char c : value->AsString()) {
    const bool digit = c >= '0' && c <= '9';
    if (!digit && (c < 'a' || c > 'f')) return std::nullopt;
    hash = hash << 4 | static_cast<uint64_t>(digit ? c - '0' : c - 'a' + 10);
  }
  return hash;
}

std::optional<int64_t> ReadInt(const Value& map, std::string_view key) {
  const Value* const value = map.Find(key);
  if (value == nullptr || !value->is_int()) return std::nullopt;
  return value->AsInt();
}

Status CheckManifestHash(Value manifest) {
  Value::Map& entries = manifest.AsMap();
  const Status damaged = DataLoss("its checksum does not fit its contents");
  if (entries.empty() || entries.back().key != "xxh64") return damaged;
  const std::optional<uint64_t> expected = ReadHex(&entries.back().value);
  entries.pop_back();
  if (!expected || Xxh64(ToJson(manifest)) != *expected) return damaged;
  return OkStatus();
}

Result<Food11Options> ReadOptions(const Value& manifest) {
  const Value* const options = manifest.Find("options");
  const std::optional<uint64_t> seed = ReadHex(manifest.Find("seed"));
  if (options == nullptr || !options->is_map() || !seed) return DataLoss("no usable options");
  Configuration configuration;
  for (const MapEntry& entry : options->AsMap()) configuration.Set(entry.key, entry.value);
  Result<Food11Options> read = ParseFood11Options(configuration, *seed, "");
  if (!read.ok()) return DataLoss(read.status().message());
  return read;
}

// The state without its tensors.
Result<CheckpointState> FromManifest(const Value& manifest) {
  if (!manifest.is_map()) return DataLoss("not a map");
  if (ReadInt(manifest, "format") != kFormat) {
    return DataLoss("not a checkpoint of format " + std::to_string(kFormat));
  }
  TUNE_RETURN_IF_ERROR(CheckManifestHash(manifest));
  CheckpointState state;
  TUNE_ASSIGN_OR_RETURN(state.options, ReadOptions(manifest));
  const Value* const names = manifest.Find("class_names");
  const Value* const history = manifest.Find("history");
  const std::optional<uint64_t> data_hash = ReadHex(manifest.Find("data_hash"));
  if (names == nullptr || !names->is_list() || history == nullptr || !history->is_list() ||
      !data_hash) {
    return DataLoss("fields are missing");
  }
  state.data_hash = *data_hash;
  for (const Value& name : names->AsList()) {
    if (!name.is_string()) return DataLoss("a class name is not a string");
    state.class_names.push_back(name.AsString());
  }
  for (const Value& entry : history->AsList()) {
    TUNE_ASSIGN_OR_RETURN(EpochReport report, EpochReportFromValue(entry));
    if (report.epoch != state.epoch() + 1) return DataLoss("the history has gaps");
    state.history.push_back(report);
  }
  const std::optional<int64_t> best = ReadInt(manifest, "best_epoch");
  if (state.history.empty() || ReadInt(manifest, "epoch") != state.epoch() || !best || *best < 0 ||
      *best > state.epoch()) {
    return DataLoss("its epochs do not fit together");
  }
  state.best_epoch = static_cast<int>(*best);
  const std::optional<int64_t> threads = ReadInt(manifest, "threads");
  if (threads && *threads > 0 && *threads <= kThreadsMax)
    state.threads = static_cast<int>(*threads);
  return state;
}

// kDataLoss for what is missing or is no file. That it may not be read (another user's) is no
// damage.
Status CheckIsFile(const std::string& path) {
  std::error_code error;
  const fs::file_status status = fs::status(path, error);
  if (status.type() == fs::file_type::not_found) return DataLoss(path + " is missing");
  if (!error && !fs::is_regular_file(status)) return DataLoss(path + " is not a file");
  return OkStatus();
}

Result<std::string> ReadPart(const std::string& path, uint64_t bytes) {
  TUNE_RETURN_IF_ERROR(CheckIsFile(path));
  const auto wrong_size = [&](uint64_t actual) {
    return DataLoss(path + " has " + std::to_string(actual) + " bytes, " + std::to_string(bytes) +
                    " were written");
  };
  // Before it is read: a size that makes no sense shall not fill the memory.
  std::error_code error;
  const uint64_t size = fs::file_size(path, error);
  if (!error && size != bytes) return wrong_size(size);
  TUNE_ASSIGN_OR_RETURN(std::string contents, ReadFile(path, bytes));
  if (contents.size() != bytes) return wrong_size(contents.size());
  return contents;
}

// The file's contents if they are those that the manifest speaks of.
Result<std::string> ReadChecked(const std::string& folder, std::string_view name,
                                const Value& manifest) {
  const std::string path = PathIn(folder, name);
  const Value* const files = manifest.Find("files");
  const Value* const entry = files != nullptr && files->is_map() ? files->Find(name) : nullptr;
  if (entry == nullptr || !entry->is_map()) {
    return DataLoss(PathIn(folder, kManifest) + ": no entry for " + std::string(name));
  }
  const std::optional<int64_t> bytes = ReadInt(*entry, "bytes");
  const std::optional<uint64_t> checksum = ReadHex(entry->Find("xxh64"));
  if (!bytes || *bytes < 0 || !checksum) {
    return DataLoss(PathIn(folder, kManifest) + ": no usable entry for " + std::string(name));
  }
  TUNE_ASSIGN_OR_RETURN(std::string contents, ReadPart(path, static_cast<uint64_t>(*bytes)));
  const uint64_t actual = Xxh64(contents);
  if (actual != *checksum) {
    return DataLoss(path + " has the checksum " + HashToHex(actual) + ", written was " +
                    HashToHex(*checksum));
  }
  return contents;
}

Result<std::vector<NamedTensor>> ParseFile(const std::string& folder, std::string_view name,
                                           const std::string& contents) {
  Result<std::vector<NamedTensor>> tensors =
      ParseSafetensors(std::as_bytes(std::span(contents.data(), contents.size())));
  if (!tensors.ok()) return tensors.status().At(PathIn(folder, name));
  return tensors;
}

Result<Value> ReadManifest(const std::string& folder) {
  const std::string path = PathIn(folder, kManifest);
  TUNE_RETURN_IF_ERROR(CheckMayBeRead(folder));
  std::error_code error;
  if (!fs::is_directory(folder, error)) return NotFound("no checkpoint folder " + folder);
  TUNE_RETURN_IF_ERROR(CheckIsFile(path));
  TUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kManifestBytesMax));
  Result<Value> manifest = ParseJson(text);
  if (!manifest.ok()) return DataLoss(path + ":" + manifest.status().message());
  return manifest;
}

}  // namespace

std::string CheckpointName(int epoch) {
  char name[32];
  std::snprintf(name, sizeof name, "checkpoint_%06d", epoch);
  return name;
}

Result<std::string> WriteCheckpoint(const std::string& parent, const std::string& name,
                                    const CheckpointState& state) {
  TUNE_CHECK(!state.history.empty());
  std::vector<NamedTensor> extra = state.optimizer;
  for (const NamedTensor& tensor : state.best_weights) {
    extra.push_back(tensor);
    extra.back().name = std::string(kBestPrefix) + tensor.name;
  }
  const std::string model_file = SerializeSafetensors(state.weights);
  const std::string state_file = SerializeSafetensors(extra);
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(parent, name));
  TUNE_RETURN_IF_ERROR(folder.Write(kModel, model_file));
  TUNE_RETURN_IF_ERROR(folder.Write(kState, state_file));
  TUNE_RETURN_IF_ERROR(folder.Write(kManifest, ManifestText(state, model_file, state_file)));
  return folder.Commit();
}

Result<CheckpointState> ReadCheckpointManifest(const std::string& folder) {
  TUNE_ASSIGN_OR_RETURN(const Value manifest, ReadManifest(folder));
  Result<CheckpointState> state = FromManifest(manifest);
  if (!state.ok()) return state.status().At(PathIn(folder, kManifest));
  return state;
}

Result<CheckpointState> ReadCheckpoint(const std::string& folder) {
  TUNE_ASSIGN_OR_RETURN(const Value manifest, ReadManifest(folder));
  Result<CheckpointState> read = FromManifest(manifest);
  if (!read.ok()) return read.status().At(PathIn(folder, kManifest));
  CheckpointState state = *std::move(read);
  TUNE_ASSIGN_OR_RETURN(const std::string model_file, ReadChecked(folder, kModel, manifest));
  TUNE_ASSIGN_OR_RETURN(const std::string state_file, ReadChecked(folder, kState, manifest));
  TUNE_ASSIGN_OR_RETURN(state.weights, ParseFile(folder, kModel, model_file));
  TUNE_ASSIGN_OR_RETURN(std::vector<NamedTensor> extra, ParseFile(folder, kState, state_file));
  for (NamedTensor& tensor : extra) {
    if (tensor.name.starts_with(kBestPrefix)) {
      tensor.name.erase(0, kBestPrefix.size());
      state.best_weights.push_back(std::move(tensor));
    } else {
      state.optimizer.push_back(std::move(tensor));
    }
  }
  const bool best_is_elsewhere = state.best_epoch != 0 && state.best_epoch != state.epoch();
  if (best_is_elsewhere == state.best_weights.empty()) {
    return DataLoss(PathIn(folder, kState) + ": the best epoch's weights do not fit the manifest");
  }
  return state;
}

Result<CheckpointIdentity> IdentifyCheckpoint(const std::string& folder) {
  TUNE_ASSIGN_OR_RETURN(const std::string manifest,
                        ReadFile(PathIn(folder, kManifest), kManifestBytesMax));
  CheckpointIdentity identity;
  identity.checksum = Xxh64(manifest);
  for (const std::string_view name : {kModel, kState, kManifest}) {
    std::error_code error;
    identity.bytes += fs::file_size(PathIn(folder, name), error);
    if (error) return DataLoss(PathIn(folder, name) + ": " + error.message());
  }
  return identity;
}

}  // namespace tune::models
