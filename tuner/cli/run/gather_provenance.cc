#include "tuner/cli/run/gather_provenance.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

#include "core/hash.h"
#include "core/posix/host_name.h"
#include "core/posix/open_files.h"
#include "core/posix/read_bytes.h"
#include "trial_runner/s3_address.h"
#include "trial_runner/script_text.h"
#include "trial_runner/secrets.h"
#include "trial_runner/trainable_catalog.h"
#include "trial_runner/trial_programs.h"
#include "trial_runner/working_folder.h"
#include "tuner/cli/run/git_state.h"
#include "tuner/cli/run/input_check.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr int kDataDepthMax = 2;                     // Folders below the data folder.
constexpr uintmax_t kHashedFileBytesMax = 1u << 28;  // Larger ones are told by their size.
constexpr size_t kNeighboursMax = 200;
const std::set<std::string> kScriptExtensions = {".py", ".sh", ".jl", ".R",
                                                 ".r",  ".pl", ".rb", ".js"};

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
  return HashToHex(Xxh64(ReadBytes(path.string())));
}

void AddFile(const std::string& path, const std::string& base_dir, Provenance& provenance) {
  if (path.empty()) return;
  std::error_code error;
  const fs::path full = fs::path(base_dir) / path;
  struct stat info = {};
  if (stat(full.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return;
  if (OpenFiles::OfThisProcess().Has(info)) return;  // A database that the command names.
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

std::optional<std::string> ReadSource(const fs::path& path) {
  constexpr uintmax_t kSourceBytesMax = 1u << 20;
  std::error_code error;
  if (!fs::is_regular_file(path, error) || fs::file_size(path, error) > kSourceBytesMax || error) {
    return std::nullopt;
  }
  return ReadBytes(path.string());
}

// The files that Python's `import a.b` and `from a.b import c` may load, from one folder on.
std::vector<fs::path> FilesOfImport(const fs::path& root, std::string module,
                                    const std::string& names) {
  std::vector<fs::path> files;
  fs::path path = root;
  const auto add = [&](const fs::path& stem) {
    files.push_back(fs::path(stem) += ".py");
    files.push_back(stem / "__init__.py");
  };
  while (!module.empty()) {
    const size_t dot = module.find('.');
    path /= module.substr(0, dot);
    add(path);
    module = dot == std::string::npos ? "" : module.substr(dot + 1);
  }
  static const std::regex word("[A-Za-z_]\\w*");
  for (std::sregex_iterator it(names.begin(), names.end(), word), end; it != end; ++it) {
    add(path / it->str());
  }
  return files;
}

// What the imports of a Python file name, as it may be found beside it and in the folder above all.
std::vector<fs::path> ImportedFiles(const std::string& text, const fs::path& folder) {
  static const std::regex from("\\s*from\\s+(\\.*)([\\w.]*)\\s+import\\s+\\(?([\\w, ]*).*");
  static const std::regex import("\\s*import\\s+([\\w., ]+).*");
  static const std::regex module("[A-Za-z_][\\w.]*");
  std::vector<fs::path> files;
  const auto add = [&](const fs::path& root, const std::string& name, const std::string& names) {
    for (fs::path& file : FilesOfImport(root, name, names)) files.push_back(std::move(file));
  };
  for (const std::string& line : RegexLinesOf(text)) {
    if (line.find("import") == std::string::npos) continue;
    std::smatch match;
    if (std::regex_match(line, match, from)) {
      fs::path root = folder;  // One dot is the file's own package.
      for (auto dots = match[1].length(); dots > 1; --dots) root = root.parent_path();
      add(root, match[2].str(), match[3].str());
      if (match[1].length() == 0) add("", match[2].str(), match[3].str());
    } else if (std::regex_match(line, match, import)) {
      const std::string list = match[1].str();
      for (std::sregex_iterator one(list.begin(), list.end(), module), end; one != end; ++one) {
        add("", one->str(), "");
        add(folder, one->str(), "");
      }
    }
  }
  return files;
}

// Whether a text names a file.
bool NamesFile(const std::string& text, const std::string& name) {
  const auto is_part = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-';
  };
  for (size_t at = text.find(name); at != std::string::npos; at = text.find(name, at + 1)) {
    const size_t end = at + name.size();
    const bool is_whole =
        (at == 0 || !is_part(text[at - 1])) && (end == text.size() || !is_part(text[end]));
    if (is_whole) return true;
  }
  return false;
}

// Whether a script may write its settings' file itself: what trials write is no change of them.
bool MayWrite(const std::string& text, const std::string& name) {
  static const std::map<std::string, std::vector<std::string_view>> writers = {
      {".json", {"json.dump", "to_json", "write_text"}},
      {".yaml", {"yaml.dump", "yaml.safe_dump", "OmegaConf.save", "write_text"}},
      {".yml", {"yaml.dump", "yaml.safe_dump", "OmegaConf.save", "write_text"}},
      {".toml", {"toml.dump", "tomli_w.dump", "write_text"}},
      {".ini", {".write("}},
      {".cfg", {".write("}}};
  const auto its = writers.find(fs::path(name).extension().string());
  for (const std::string_view writer : its == writers.end() ? writers.at(".json") : its->second) {
    if (text.find(writer) != std::string::npos) return true;
  }
  static const std::regex writes("[\"'][wax][bt+]*[\"']|>|\\.write\\(");
  for (const std::string& line : RegexLinesOf(text)) {
    if (NamesFile(line, name) && std::regex_search(line, writes)) return true;
  }
  return false;
}

// Settings and scripts in the folder itself, one of which a script may name.
std::vector<std::string> NamedFiles(const std::string& base_dir) {
  const std::set<std::string> settings = {".yaml", ".yml", ".toml", ".json", ".ini", ".cfg"};
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(base_dir, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    const fs::path name = it->path().filename();
    const std::string extension = name.extension().string();
    const bool may_be = settings.contains(extension) || kScriptExtensions.contains(extension);
    if (may_be && !name.string().starts_with('.')) names.push_back(name.string());
  }
  if (names.size() > kNeighboursMax) names.clear();
  return names;
}

// What the files so far take in: modules that they import, settings and scripts that they name.
void AddWhatTheyTakeIn(const std::string& base_dir, Provenance& provenance) {
  const std::vector<std::string> named = NamedFiles(base_dir);
  std::vector<std::string> left;
  for (const auto& [path, hash] : provenance.files) left.push_back(path);
  std::error_code error;
  while (!left.empty() && provenance.files.size() < kNeighboursMax) {
    const fs::path path = left.back();
    left.pop_back();
    if (!kScriptExtensions.contains(path.extension().string())) continue;
    const std::optional<std::string> text = ReadSource(fs::path(base_dir) / path);
    if (!text) continue;
    const auto add = [&](const std::string& file) {
      const bool is_below = !file.empty() && file.front() != '/' && !file.starts_with("..");
      if (!is_below || provenance.files.contains(file)) return;
      AddFile(file, base_dir, provenance);
      if (provenance.files.contains(file)) left.push_back(file);
    };
    if (path.extension() == ".py") {
      for (const fs::path& file : ImportedFiles(*text, path.parent_path())) {
        add(file.lexically_normal().string());
      }
    }
    for (const std::string& name : named) {
      if (provenance.files.contains(name) || !NamesFile(*text, name)) continue;
      const bool is_script = kScriptExtensions.contains(fs::path(name).extension().string());
      if (is_script || !MayWrite(*text, name)) add(name);
    }
  }
}

// Variables that the trials have from the tuner's environment. Of a hash of their value so little
// is kept that it says whether the value changed, and not what it is.
void AddVariables(const ExperimentSpec& spec, Provenance& provenance) {
  constexpr size_t kDigits = 1;  // With more, a PIN of four digits could be told.
  for (const std::string& name : VariablesFromEnvironment(spec.trainable)) {
    const char* const value = getenv(name.c_str());
    // A new token is no other program.
    if (value == nullptr || NamesSecret(name) || !SecretIn(value).empty()) continue;
    const std::string text = name + "=" + value;
    provenance.files[std::string(kVariableEntry) + name] =
        HashToHex(Xxh64(text)).substr(0, kDigits);
  }
}

// The words of a command that are files: the script that it runs, among them.
void AddCommandFiles(const ExperimentSpec& spec, const std::string& folder,
                     Provenance& provenance) {
  const Value* const command = spec.trainable.is_map() ? spec.trainable.Find("command") : nullptr;
  if (command == nullptr || !command->is_list()) return;
  bool is_module = false;
  for (const Value& word : command->AsList()) {
    if (!word.is_string()) continue;
    const std::string& text = word.AsString();
    AddFile(text, folder, provenance);
    if (kScriptExtensions.contains(fs::path(text).extension().string())) {
      AddNeighbours(text, folder, provenance);
    }
    if (std::exchange(is_module, text == "-m")) {
      for (const fs::path& file : FilesOfImport("", text, "__main__")) {
        AddFile(file.string(), folder, provenance);
      }
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

std::string ProgramFolder(const ExperimentSpec& spec) {
  const std::string folder = WorkingFolder(spec.trainable, spec.base_dir);
  return folder.empty() ? spec.base_dir : folder;
}

std::map<std::string, std::string> GatherProgramFiles(const ExperimentSpec& spec) {
  Provenance provenance;
  const std::string folder = ProgramFolder(spec);
  AddCommandFiles(spec, folder, provenance);
  AddWhatTheyTakeIn(folder, provenance);
  AddVariables(spec, provenance);
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
  provenance.inputs = LookAtInputs(spec);
  const Result<std::string> kind = TrainableKind(spec.trainable);
  if (!kind.ok() || *kind != "food11") return provenance;
  AddFile(ConstantText(spec, "weights"), spec.base_dir, provenance);
  std::string data = ConstantText(spec, "data");
  if (data.empty() && !IsVaried(spec, "data")) data = origin.data_dir;
  if (data.empty() || data == "synthetic" || IsS3Url(data)) return provenance;
  provenance.data = LookAtData((fs::path(spec.base_dir) / data).lexically_normal().string());
  return provenance;
}

}  // namespace tune
