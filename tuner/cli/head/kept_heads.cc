#include "tuner/cli/head/kept_heads.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <span>
#include <vector>

#include "core/posix/durable_file.h"
#include "core/posix/environment.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/private_folder.h"
#include "tuner/cli/words/text_table.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kAddressBytesMax = 4096;
constexpr size_t kHeadNameBytesMax = 64;

bool IsHeadName(const std::string& name) {
  return !name.empty() && name.size() <= kHeadNameBytesMax && name.front() != '.' &&
         name.front() != '-' && std::all_of(name.begin(), name.end(), [](unsigned char c) {
           return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.';
         });
}

Result<std::optional<HttpPlace>> ReadHeadFile(const std::string& path) {
  TUNE_ASSIGN_OR_RETURN(const std::string text, ReadFile(path, kAddressBytesMax));
  TUNE_ASSIGN_OR_RETURN(HttpPlace place, ReadHttpPlace(text.substr(0, text.find('\n'))));
  return std::optional(std::move(place));
}

std::string NamesOfKept(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (IsHeadName(it->path().filename())) names.push_back(it->path().filename());
  }
  std::sort(names.begin(), names.end());
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + name;
  return text;
}

}  // namespace

Result<std::string> KeptHeadsFolder() {
  std::string config = EnvironmentText("XDG_CONFIG_HOME");
  if (!config.starts_with('/')) config.clear();  // To be ignored, says its specification.
  const std::string home = EnvironmentText("HOME");
  if (config.empty() && home.empty()) {
    return FailedPrecondition(
        "neither XDG_CONFIG_HOME nor HOME is set, so there is no folder for "
        "what tune login keeps");
  }
  if (config.empty()) config = home + "/.config";
  return config + "/tune/heads";
}

Status CheckHeadName(const std::string& name) {
  if (IsHeadName(name)) return OkStatus();
  return InvalidArgument("NAME: read '" + Printable(name) +
                         "', expected a word of letters, digits, '-', '_' and '.', such as lab");
}

Result<std::string> KeepHead(const std::string& name, const std::string& address) {
  TUNE_RETURN_IF_ERROR(CheckHeadName(name));
  TUNE_ASSIGN_OR_RETURN(const std::string folder, KeptHeadsFolder());
  TUNE_RETURN_IF_ERROR(MakePrivateFolder(folder));
  const std::string path = folder + "/" + name;
  const std::string beside = folder + "/." + name + "." + std::to_string(getpid());
  unlink(beside.c_str());
  {
    const FileDescriptor file(open(beside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    if (!file.is_open()) return ErrnoStatus("create", beside);
    const std::string line = address + "\n";
    TUNE_RETURN_IF_ERROR(WriteAll(file.get(), std::as_bytes(std::span(line)), beside));
    if (fsync(file.get()) != 0) return ErrnoStatus("sync", beside);
  }
  TUNE_RETURN_IF_ERROR(RenameSynced(beside, path));
  return path;
}

Status ForgetHead(const std::string& name) {
  TUNE_RETURN_IF_ERROR(CheckHeadName(name));
  TUNE_ASSIGN_OR_RETURN(const std::string folder, KeptHeadsFolder());
  const std::string path = folder + "/" + name;
  if (unlink(path.c_str()) == 0) return OkStatus();
  if (errno != ENOENT) return ErrnoStatus("remove", path);
  const std::string others = NamesOfKept(folder);
  return NotFound("there is no head '" + name + "'" +
                  (others.empty() ? "; none is kept" : "; there are " + others));
}

Result<std::optional<HttpPlace>> ReadHead(const std::string& text) {
  if (text.empty()) return std::optional<HttpPlace>();
  if (text.find("://") != std::string::npos) {
    TUNE_ASSIGN_OR_RETURN(HttpPlace place, ReadHttpPlace(text));
    return std::optional(std::move(place));
  }
  // First what a person has named: what lies in some folder by chance leads nowhere else.
  const Result<std::string> folder = KeptHeadsFolder();
  if (folder.ok() && IsHeadName(text)) {
    Result<std::optional<HttpPlace>> kept = ReadHeadFile(*folder + "/" + text);
    if (kept.status().code() != StatusCode::kNotFound) return kept;
  }
  Result<std::optional<HttpPlace>> in_file = ReadHeadFile(text);
  if (in_file.status().code() != StatusCode::kNotFound) return in_file;
  const std::string names = folder.ok() ? NamesOfKept(*folder) : "";
  return InvalidArgument("read '" + text +
                         "', expected the address of a head as it prints it "
                         "(https://HOST:PORT/?key=...), a file that holds it, or a name that tune "
                         "login has given one" +
                         (names.empty() ? "" : " (" + names + ")"));
}

}  // namespace tune
