#include "tuner/cli/head/remote_files.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <utility>

#include "core/posix/durable_file.h"
#include "core/posix/nameless_file.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kWritten[] = {"--svg", "--export", "--html", "--md"};

bool IsEmptyFolder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error) && fs::is_empty(path, error);
}

// Its last word: export [NAME] DIR --to FORM.
Result<std::vector<RemoteFile>> FolderOfExport(const std::vector<std::string>& arguments) {
  std::vector<RemoteFile> folder;
  for (size_t i = 1; i < arguments.size(); ++i) {
    const bool is_form = arguments[i] == "--to" && i + 1 < arguments.size();
    const std::string form = is_form ? arguments[i + 1] : arguments[i];
    if ((is_form && form == "mlflow") || form == "--to=mlflow") {
      return InvalidArgument(
          "export: --to mlflow: its file names folders of the machine where it is written; export "
          "it on the head's");
    }
    if (is_form) {
      ++i;
    } else if (!arguments[i].starts_with('-')) {
      folder = {{i, arguments[i], /*is_word=*/true}};
    } else if (!arguments[i].starts_with("--to=")) {
      // The command might take it for a folder.
      return InvalidArgument("export: read '" + arguments[i] + "', expected [NAME] DIR --to FORM");
    }
  }
  if (folder.empty()) return InvalidArgument("export: expected a folder");
  return folder;
}

}  // namespace

Result<std::vector<RemoteFile>> FilesOf(const std::vector<std::string>& arguments) {
  std::vector<RemoteFile> files;
  if (!arguments.empty() && arguments.front() == "export") return FolderOfExport(arguments);
  for (size_t i = 0; i < arguments.size(); ++i) {
    const size_t equals = arguments[i].find('=');
    const std::string option = arguments[i].substr(0, equals);
    if (std::find(std::begin(kWritten), std::end(kWritten), option) == std::end(kWritten)) continue;
    const bool is_next = equals == std::string::npos;
    if (is_next && i + 1 == arguments.size()) {
      return InvalidArgument(option + ": expected a path behind it");
    }
    files.push_back({i, is_next ? arguments[i + 1] : arguments[i].substr(equals + 1)});
  }
  return files;
}

Result<RemoteFiles> RemoteFiles::Prepare(const std::vector<std::string>& arguments) {
  RemoteFiles files;
  files.arguments_ = arguments;
  TUNE_ASSIGN_OR_RETURN(const std::vector<RemoteFile> named, FilesOf(arguments));
  for (const RemoteFile& file : named) {
    const std::string option =
        file.is_word ? "export" : arguments[file.at].substr(0, arguments[file.at].find('='));
    std::error_code error;
    fs::path path = fs::absolute(file.path, error).lexically_normal();
    if (!path.has_filename()) path = path.parent_path();  // "model/"
    const std::string folder = path.parent_path();
    if (!files.folder_.empty() && folder != files.folder_) {
      return InvalidArgument(option + ": read '" + file.path + "', expected all in one folder, " +
                             files.folder_);
    }
    if (fs::exists(path, error) && !IsEmptyFolder(path)) {
      return InvalidArgument(option + ": " + file.path + " is there already; name another one");
    }
    if (!fs::is_directory(folder, error)) {
      return InvalidArgument(option + ": there is no folder " + folder);
    }
    files.folder_ = folder;
    files.wanted_.push_back(path.filename());
    files.arguments_[file.at] = (file.is_word ? "" : option + "=") + files.wanted_.back();
  }
  // What stood behind an option is in it now.
  for (size_t i = named.size(); i-- > 0;) {
    if (named[i].is_word || arguments[named[i].at].find('=') != std::string::npos) continue;
    files.arguments_.erase(files.arguments_.begin() + static_cast<std::ptrdiff_t>(named[i].at) + 1);
  }
  return files;
}

Status RemoteFiles::Take(const PackageName& name, std::string_view piece) {
  if (folder_.empty()) return DataLoss("files came that were not asked for");
  if (!text_) {
    TUNE_ASSIGN_OR_RETURN(FileDescriptor file, OpenNamelessFile(folder_));
    TUNE_ASSIGN_OR_RETURN(IncomingText text, IncomingText::Begin(name, std::move(file), folder_));
    text_.emplace(std::move(text));
  }
  return text_->Append(piece);
}

Status RemoteFiles::Keep() {
  if (!text_) return OkStatus();
  std::string apart = folder_ + "/.tune-came-XXXXXX";
  if (mkdtemp(apart.data()) == nullptr) return ErrnoStatus("make", apart);
  const auto keep = [&]() -> Status {
    TUNE_ASSIGN_OR_RETURN(const std::string came, text_->Unpack(apart, "files"));
    std::error_code error;
    std::vector<std::pair<fs::path, fs::path>> moves;
    for (const fs::directory_entry& entry : fs::directory_iterator(came, error)) {
      const std::string name = entry.path().filename();
      if (std::find(wanted_.begin(), wanted_.end(), name) == wanted_.end()) {
        return DataLoss("the head sent " + name + ", which was not asked for; nothing is kept");
      }
      const fs::path to = fs::path(folder_) / name;
      if (fs::exists(to, error) && !IsEmptyFolder(to)) {
        return InvalidArgument(to.string() + ": is there already; name another one");
      }
      moves.emplace_back(entry.path(), to);
    }
    for (const auto& [from, to] : moves) {
      if (IsEmptyFolder(to)) fs::remove(to, error);
      fs::rename(from, to, error);
      if (error) return InvalidArgument(to.string() + ": cannot be written: " + error.message());
    }
    return OkStatus();
  };
  const Status kept = keep();
  std::error_code ignored;
  fs::remove_all(apart, ignored);
  return kept;
}

}  // namespace tune
