#include "tuner/cli/words/own_file.h"

#include <filesystem>
#include <fstream>

#include "core/posix/durable_file.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

bool BeginsWith(const std::string& path, std::string_view beginning) {
  std::ifstream file(path, std::ios::binary);
  std::string read(beginning.size(), '\0');
  file.read(read.data(), static_cast<std::streamsize>(read.size()));
  return file.gcount() == 0 ? file.eof() : read == beginning;
}

}  // namespace

Status MayReplace(const std::string& path, std::string_view beginning) {
  const fs::path folder = fs::path(path).parent_path();
  std::error_code error;
  if (!folder.empty() && !fs::is_directory(folder, error)) {
    return InvalidArgument(path + ": there is no folder " + folder.string() +
                           "; mkdir -p makes it");
  }
  const fs::file_status there = fs::status(path, error);
  if (!fs::exists(there) && !fs::is_symlink(fs::symlink_status(path, error))) return OkStatus();
  if (fs::is_directory(there))
    return InvalidArgument(path + " is a folder, expected a file's name");
  if (!fs::is_regular_file(there) || !BeginsWith(path, beginning)) {
    return InvalidArgument(path +
                           " is there and is none that tune wrote, so it is not replaced: "
                           "give another name, or remove it");
  }
  return OkStatus();
}

Status ReplaceOwnFile(const std::string& path, std::string_view text, std::string_view beginning) {
  TUNE_RETURN_IF_ERROR(MayReplace(path, beginning));
  return ReplaceFileSynced(path, text);
}

}  // namespace tune
