#include "tuner/cli/gather_provenance.h"

#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <set>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "tuner/cli/git_state.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kDataDepthMax = 2;                     // Folders below the data folder.
constexpr uintmax_t kHashedFileBytesMax = 1u << 28;  // Larger ones are told by their size.
constexpr size_t kNeighboursMax = 200;
const std::set<std::string> kScriptExtensions = {".py", ".sh", ".jl", ".R",
                                                 ".r",  ".pl", ".rb", ".js"};

std::string HostName() {
  char name[256] = "";
  return gethostname(name, sizeof name - 1) == 0 ? name : "";
}

// A parameter that is a constant text; empty when there is none, or it differs between trials.
std::string ConstantText(const ExperimentSpec& spec, const char* name) {
  const Value* const value = spec.space.is_map() ? spec.space.Find(name) : nullptr;
  return value != nullptr && value->is_string() ? value->AsString() : std::string();
}

bool IsVaried(const ExperimentSpec& spec, const char* name) {
  const Value* const value = spec.space.is_map() ? spec.space.Find(name) : nullptr;
  return value != nullptr && !value->is_scalar();
}

std::string HashOfFile(const fs::path& path, uintmax_t bytes) {
  if (bytes > kHashedFileBytesMax) return "of " + std::to_string(bytes) + " bytes";
  std::ifstream in(path, std::ios::binary);
  const std::string contents(std::istreambuf_iterator<char>(in), {});
  return HashToHex(Xxh64(contents));
}

void AddFile(const std::string& path, const std::string& base_dir, Provenance& provenance) {
  if (path.empty()) return;
  std::error_code error;
  const fs::path full = fs::path(base_dir) / path;
  if (!fs::is_regular_file(full, error)) return;
  const uintmax_t bytes = fs::file_size(full, error);
  if (!error) provenance.files[path] = HashOfFile(full, bytes);
}

// A script's neighbours in its language: the modules that it may load.
void AddNeighbours(const fs::path& script, const std::string& base_dir, Provenance& provenance) {
  if (script.extension().empty()) return;
  const fs::path folder = script.parent_path();
  std::vector<std::string> neighbours;
  std::error_code error;
  for (fs::directory_iterator it(fs::path(base_dir) / folder, error);
       !error && it != fs::directory_iterator(); it.increment(error)) {
    const fs::path name = it->path().filename();
    if (name.extension() == script.extension()) neighbours.push_back((folder / name).string());
  }
  if (neighbours.size() > kNeighboursMax) return;
  for (const std::string& neighbour : neighbours) AddFile(neighbour, base_dir, provenance);
}

// The words of a command that are files: the script that it runs, among them.
void AddCommandFiles(const ExperimentSpec& spec, Provenance& provenance) {
  const Value* const command = spec.trainable.is_map() ? spec.trainable.Find("command") : nullptr;
  if (command == nullptr || !command->is_list()) return;
  for (const Value& word : command->AsList()) {
    if (!word.is_string()) continue;
    AddFile(word.AsString(), spec.base_dir, provenance);
    if (kScriptExtensions.contains(fs::path(word.AsString()).extension().string())) {
      AddNeighbours(word.AsString(), spec.base_dir, provenance);
    }
  }
}

}  // namespace

std::optional<DataState> LookAtData(const std::string& folder) {
  struct Entry {
    std::string path;
    int64_t bytes = 0;
  };
  std::vector<Entry> entries;
  std::error_code error;
  fs::recursive_directory_iterator it(folder, fs::directory_options::follow_directory_symlink,
                                      error);
  for (; !error && it != fs::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    const bool is_hidden = it->path().filename().string().starts_with('.');
    if (is_hidden || it.depth() >= kDataDepthMax) it.disable_recursion_pending();
    if (is_hidden || !it->is_regular_file(ignored)) continue;
    entries.push_back({it->path().lexically_relative(folder).generic_string(),
                       static_cast<int64_t>(it->file_size(ignored))});
  }
  if (error) return std::nullopt;
  std::sort(entries.begin(), entries.end(),
            [](const Entry& a, const Entry& b) { return a.path < b.path; });
  DataState state;
  state.folder = folder;
  std::string list;
  for (const Entry& entry : entries) {
    ++state.file_count;
    state.bytes += entry.bytes;
    list += entry.path + '\0' + std::to_string(entry.bytes) + '\n';
  }
  state.hash = HashToHex(Xxh64(list));
  return state;
}

std::map<std::string, std::string> GatherProgramFiles(const ExperimentSpec& spec) {
  Provenance provenance;
  AddCommandFiles(spec, provenance);
  return std::move(provenance.files);
}

Provenance GatherProvenance(const ExperimentSpec& spec, const CommandOrigin& origin) {
  Provenance provenance;
  provenance.version = origin.version;
  provenance.command = origin.command_line;
  provenance.cpus = origin.cpus;
  provenance.gpus = origin.gpus;
  provenance.host = HostName();
  provenance.folder = spec.base_dir;
  provenance.git = FindGitState(spec.base_dir);
  provenance.files = GatherProgramFiles(spec);
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (!kind.ok() || *kind != "food11") return provenance;
  AddFile(ConstantText(spec, "weights"), spec.base_dir, provenance);
  std::string data = ConstantText(spec, "data");
  if (data.empty() && !IsVaried(spec, "data")) data = origin.data_dir;
  if (data.empty() || data == "synthetic") return provenance;
  provenance.data = LookAtData((fs::path(spec.base_dir) / data).lexically_normal().string());
  return provenance;
}

}  // namespace tune
