#include "trial_runner/worker/curve_checkpoint.h"

#include <charconv>
#include <filesystem>
#include <string_view>

#include "core/hash.h"
#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/readable_folder.h"
#include "core/random.h"
#include "core/value.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kState = "state.bin";
constexpr std::string_view kManifest = "manifest.json";
constexpr uint64_t kManifestBytesMax = 4096;
constexpr uint64_t kStateBytesMax = uint64_t{1} << 30;

std::string StateBytes(const CurveState& state, int64_t bytes) {
  KeyedRandom random(state.seed, "curve/checkpoint", static_cast<uint64_t>(state.trial),
                     static_cast<uint64_t>(state.iteration));
  std::string text(static_cast<size_t>(bytes), '\0');
  for (size_t i = 0; i < text.size(); i += sizeof(uint64_t)) {
    const uint64_t drawn = random.NextU64();
    text.replace(i, sizeof drawn, reinterpret_cast<const char*>(&drawn),
                 std::min(sizeof drawn, text.size() - i));
  }
  return text;
}

std::string ManifestText(const CurveState& state, std::string_view contents) {
  Value manifest = Value::MakeMap();
  manifest.Set("seed", std::to_string(state.seed));
  manifest.Set("trial", state.trial);
  manifest.Set("iteration", state.iteration);
  manifest.Set("bytes", static_cast<int64_t>(contents.size()));
  manifest.Set("state_xxh64", HashToHex(Xxh64(contents)));
  // Covers every field before it.
  manifest.Set("xxh64", HashToHex(Xxh64(ToJson(manifest))));
  return ToJson(manifest) + "\n";
}

// The size of the state, if the manifest is whole.
Result<int64_t> ReadManifest(const std::string& path, const std::string& text) {
  const Status damaged = DataLoss(path + " is not what was written");
  Result<Value> manifest = ParseJson(text);
  if (!manifest.ok() || !manifest->is_map() || manifest->AsMap().empty()) return damaged;
  const MapEntry last = manifest->AsMap().back();
  const Value* const bytes = manifest->Find("bytes");
  if (last.key != "xxh64" || bytes == nullptr || !bytes->is_int()) return damaged;
  const int64_t size = bytes->AsInt();
  if (text != ToJson(*manifest) + "\n") return damaged;
  manifest->AsMap().pop_back();
  if (last.value != Value(HashToHex(Xxh64(ToJson(*manifest)))) || size < 0) return damaged;
  return size;
}

// That it is missing in a folder that is there is damage; so is what is no file, or is too large.
Result<std::string> ReadPart(const std::string& folder, std::string_view name, uint64_t bytes_max) {
  const std::string path = (fs::path(folder) / name).string();
  Result<std::string> contents = ReadFile(path, bytes_max);
  const bool is_damage =
      !contents.ok() && (contents.status().code() == StatusCode::kNotFound ||
                         contents.status().code() == StatusCode::kInvalidArgument);
  if (is_damage) return DataLoss(contents.status().message());
  return contents;
}

// Whose checkpoint it is: <trial>/<name>. A trial may go on from another's (population based
// training).
CurveState OfFolder(const std::string& folder, CurveState state) {
  const std::string owner = fs::path(folder).parent_path().filename().string();
  int64_t trial = 0;
  const auto [end, error] = std::from_chars(owner.data(), owner.data() + owner.size(), trial);
  if (error == std::errc() && end == owner.data() + owner.size()) state.trial = trial;
  return state;
}

}  // namespace

Result<CheckpointRef> SaveCurveCheckpoint(CheckpointPlace& place, const CurveState& state,
                                          int64_t bytes) {
  TUNE_RETURN_IF_ERROR(place.Prepare());
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder,
                        DurableFolder::Begin(place.folder(), place.NameOf(state.iteration)));
  const std::string contents = StateBytes(state, bytes);
  const std::string manifest = ManifestText(state, contents);
  TUNE_RETURN_IF_ERROR(folder.Write(kState, contents));
  TUNE_RETURN_IF_ERROR(folder.Write(kManifest, manifest));
  TUNE_ASSIGN_OR_RETURN(const std::string path, folder.Commit());
  place.RemoveEarlierOf(state.iteration);
  return CheckpointRef{path, static_cast<int64_t>(contents.size() + manifest.size()),
                       HashToHex(Xxh64(manifest))};
}

Status VerifyCurveCheckpoint(const std::string& folder, const CurveState& reader) {
  const CurveState state = OfFolder(folder, reader);
  TUNE_RETURN_IF_ERROR(CheckMayBeRead(folder));
  std::error_code error;
  if (!fs::is_directory(folder, error)) return NotFound("no checkpoint folder " + folder);
  TUNE_ASSIGN_OR_RETURN(const std::string manifest, ReadPart(folder, kManifest, kManifestBytesMax));
  TUNE_ASSIGN_OR_RETURN(const int64_t bytes,
                        ReadManifest(folder + "/" + std::string(kManifest), manifest));
  // All of it follows from the state and the size, so it is simply made again.
  const std::string expected = StateBytes(state, bytes);
  if (manifest != ManifestText(state, expected)) {
    return FailedPrecondition(folder + " is of another trial, iteration or seed");
  }
  TUNE_ASSIGN_OR_RETURN(const std::string contents, ReadPart(folder, kState, kStateBytesMax));
  if (contents != expected) {
    return DataLoss(folder + "/" + std::string(kState) + " is not what was written");
  }
  return OkStatus();
}

}  // namespace tune
