#include "trial_runner/command/setup_place.h"

#include <unistd.h>

#include <filesystem>

#include "core/hash.h"
#include "core/json.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/kept_folders.h"
#include "trial_runner/package/packed_folder.h"

namespace tune {
namespace {

constexpr uint64_t kMarkBytesMax = 100;
constexpr char kMarkFile[] = "/done";

std::string HostName() {
  char host[256] = {};
  gethostname(host, sizeof host - 1);
  return host;
}

bool Says(const std::string& file, const std::string& mark) {
  const Result<std::string> text = ReadFile(file, kMarkBytesMax);
  return text.ok() && *text == mark;
}

}  // namespace

SetupPlace::SetupPlace(const TrialStart& start, const std::vector<std::string>& commands,
                       const std::string& folder, const std::string& search_path)
    : working_folder_(folder), content_(start.place.content) {
  const std::string host = HostName();
  const Value* const environment = start.trainable.Find("env");
  // What could stand in one of them for the next is kept apart by JSON.
  Value all = Value::MakeList();
  for (const std::string& text : {host, folder, content_, search_path})
    all.AsList().emplace_back(text);
  if (environment != nullptr) all.AsList().push_back(*environment);
  for (const std::string& command : commands) all.AsList().emplace_back(command);
  mark_ = HashToHex(Xxh64(ToJson(all)));

  const std::string sweep_folder = std::filesystem::path(start.artifact_dir).parent_path();
  is_shared_ = !start.place.cache.empty() && !content_.empty();
  folder_ = is_shared_ ? start.place.cache + "/setup/" + mark_ : sweep_folder + "/setup-" + host;
  sweep_mark_file_ = sweep_folder + "/setup-" + host + ".done";
}

bool SetupPlace::IsMarked() const {
  return (is_shared_ && Says(folder_ + kMarkFile, mark_)) || Says(sweep_mark_file_, mark_);
}

Status SetupPlace::Mark() const {
  if (is_shared_) {
    const Result<PackageName> now = NameFolder(working_folder_, limits::kPackageBytesMax);
    if (now.ok() && now->sha256 == content_) return WriteFileSynced(folder_ + kMarkFile, mark_);
  }
  return WriteFileSynced(sweep_mark_file_, mark_);
}

void SetupPlace::RemoveLeastUsed() const {
  if (!is_shared_) return;
  RemoveLeastUsedFolders(std::filesystem::path(folder_).parent_path(), limits::kPackagesKeptMax);
}

}  // namespace tune
