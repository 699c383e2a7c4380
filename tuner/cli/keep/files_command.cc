#include "tuner/cli/keep/files_command.h"

#include <sys/stat.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include "core/counted.h"
#include "core/limits.h"
#include "core/posix/nameless_file.h"
#include "core/time.h"
#include "trial_runner/checkpoint_name.h"
#include "trial_runner/package/folder_text.h"
#include "trial_runner/package/incoming_text.h"
#include "trial_runner/package/trial_files.h"
#include "tuner/artifact_path.h"
#include "tuner/cli/look/sweep_lookup.h"
#include "tuner/cli/look/trial_lookup.h"
#include "tuner/cli/words/complain.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

struct TrialOfFiles {
  FoundTrial trial;
  std::string folder;
  bool is_running = false;
};

Result<TrialOfFiles> FindFolder(const FilesOptions& options) {
  static constexpr char kRunsSql[] =
      "SELECT 1 FROM attempts WHERE trial = ?1 AND outcome = 'running'";
  TUNE_ASSIGN_OR_RETURN(const std::unique_ptr<Database> database, OpenForQueries(options.db_path));
  TrialOfFiles found;
  TUNE_ASSIGN_OR_RETURN(found.trial, FindTrial(*database, options.trial));
  TUNE_ASSIGN_OR_RETURN(const KeptStatement row, database->Kept(kRunsSql));
  row->BindAll(found.trial.id);
  TUNE_ASSIGN_OR_RETURN(const bool has_row, row->Step());
  found.is_running = has_row && found.trial.sweep.status == "RUNNING";
  found.folder =
      TrialFolder(ArtifactsDirOf(options.db_path), found.trial.sweep.name, found.trial.number);
  return found;
}

struct ListedFile {
  std::string path;  // Within the folder.
  int64_t bytes = 0;
  Instant written_at;
};

// Of something directly in a trial's folder: a program may give one of its own the name of a
// checkpoint of ours.
bool IsNoFileOfProgram(const fs::path& path) {
  const std::string name = path.filename().string();
  return IsOwnCheckpoint(name) ? IsOwnCheckpointAt(path) : IsNoTrialFile(name);
}

// Those in a folder of the trial's, and below it. `top`: the trial's own. What goes meanwhile is
// left out.
Status AddFiles(const fs::path& folder, const fs::path& top, std::vector<ListedFile>& files) {
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (folder == top && IsNoFileOfProgram(it->path())) continue;
    struct stat info = {};
    if (lstat(it->path().c_str(), &info) != 0) continue;
    if (S_ISDIR(info.st_mode)) TUNE_RETURN_IF_ERROR(AddFiles(it->path(), top, files));
    if (!S_ISREG(info.st_mode)) continue;
    files.push_back({it->path().lexically_relative(top).string(), info.st_size,
                     Instant() + Seconds(static_cast<double>(info.st_mtime))});
  }
  if (!error || error == std::errc::no_such_file_or_directory) return OkStatus();
  return Internal(folder.string() + ": cannot be read: " + error.message());
}

Result<std::vector<ListedFile>> ListFiles(const fs::path& folder) {
  std::vector<ListedFile> files;
  TUNE_RETURN_IF_ERROR(AddFiles(folder, folder, files));
  std::sort(files.begin(), files.end(),
            [](const ListedFile& a, const ListedFile& b) { return a.path < b.path; });
  return files;
}

void List(const FilesOptions& options, const std::vector<ListedFile>& files, std::ostream& out) {
  RowPrinter printer(options.format, options.width, out);
  printer.Begin({"file", "bytes", "written_at"});
  for (const ListedFile& file : files) {
    printer.Row({file.path, file.bytes, FormatInstant(file.written_at)});
  }
  printer.End();
}

// As they would go to another machine: files and folders alone, and whole. Of a trial without a
// file an empty folder.
Status Export(const std::string& folder, bool has_files, const std::string& to) {
  fs::path path = fs::absolute(to).lexically_normal();
  if (!path.has_filename()) path = path.parent_path();  // "files/"
  std::error_code error;
  const bool is_empty = fs::is_directory(path, error) && fs::is_empty(path, error);
  if (fs::exists(path, error) && !is_empty) {
    return InvalidArgument("--export: " + to + " is there already; name another one");
  }
  if (!fs::is_directory(path.parent_path(), error)) {
    return InvalidArgument("--export: there is no folder " + path.parent_path().string());
  }
  if (!has_files) {
    fs::create_directory(path, error);
    if (!error) return OkStatus();
    return InvalidArgument("--export: " + to + " cannot be made: " + error.message());
  }
  TUNE_ASSIGN_OR_RETURN(const FolderText text,
                        FolderText::Of(folder, [&folder](std::string_view name) {
                          return IsNoFileOfProgram(fs::path(folder) / name);
                        }));
  const std::string parent = path.parent_path();
  TUNE_ASSIGN_OR_RETURN(FileDescriptor file, OpenNamelessFile(parent));
  TUNE_ASSIGN_OR_RETURN(IncomingText copy,
                        IncomingText::Begin(text.name(), std::move(file), parent));
  while (copy.offset() < text.name().bytes) {
    TUNE_ASSIGN_OR_RETURN(const std::string piece,
                          text.Read(copy.offset(), limits::kPackagePieceBytes));
    TUNE_RETURN_IF_ERROR(copy.Append(piece));
  }
  return copy.Unpack(parent, path.filename()).status();
}

}  // namespace

int FilesCommand(const FilesOptions& options, std::ostream& out, std::ostream& err) {
  const Result<TrialOfFiles> found = FindFolder(options);
  if (!found.ok()) return Complain(found.status(), err);
  const Result<std::vector<ListedFile>> files = ListFiles(found->folder);
  if (!files.ok()) return Complain(files.status(), err);
  if (files->empty()) {
    err << "trial " << Printable(found->trial.Name()) << " has left no file in its folder"
        << (found->is_running ? " so far" : "") << "\n";
  }
  if (found->is_running) {
    err << "it is running: what it writes on a machine that does not share this disk comes when "
           "its attempt ends\n";
  }
  if (options.export_dir.empty()) {
    List(options, *files, out);
    return 0;
  }
  const Status copied = Export(found->folder, !files->empty(), options.export_dir);
  if (!copied.ok()) return Complain(copied, err);
  err << Counted(static_cast<int64_t>(files->size()), "file") << " in " << options.export_dir
      << "\n";
  return 0;
}

}  // namespace tune
