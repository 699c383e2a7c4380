#include "trial_runner/package/own_copy.h"

#include <sys/stat.h>

#include <cerrno>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "core/hash.h"
#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/durable_folder.h"
#include "core/posix/kept_folders.h"
#include "core/posix/private_folder.h"
#include "core/remove_tree.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/unpacked_folder.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

Status CopyEntry(const PackageEntryHead& head, const std::string& from, const std::string& to) {
  const mode_t mode = ModeOf(head.kind);
  std::error_code error;
  if (IsFolder(head.kind)) {
    fs::create_directory(to, error);
  } else if (head.kind == PackageKind::kLink) {
    fs::copy_symlink(from, to, error);
  } else {
    fs::copy_file(from, to, error);
  }
  if (!error && head.kind != PackageKind::kLink && chmod(to.c_str(), mode) != 0) {
    return ErrnoStatus("create", to);
  }
  if (!error) return OkStatus();
  errno = error.value();
  return ErrnoStatus("copy " + from + " to", to);
}

// What came, and nothing that programs have left there since. It has that name then, or a number
// behind that where another worker of the sweep was quicker.
Result<std::string> CopyWhatCame(const std::string& pristine, const std::string& parent,
                                 const std::string& name) {
  RemoveAbandonedFolders(parent);
  TUNE_ASSIGN_OR_RETURN(DurableFolder folder, DurableFolder::Begin(parent, name));
  TUNE_ASSIGN_OR_RETURN(const std::string list,
                        ReadFile(EntryListOf(pristine), limits::kPackageBytesMax));
  for (std::string_view rest = list; !rest.empty();) {
    TUNE_ASSIGN_OR_RETURN(const PackageEntryHead head, TakeEntryHead(rest));
    const std::string path(head.path);
    TUNE_RETURN_IF_ERROR(CopyEntry(head, pristine + "/" + path, folder.PathOf(path)));
  }
  return folder.Commit();
}

}  // namespace

Result<HeldPackage> ObtainOwnCopy(const std::string& cache, const PackageName& package,
                                  const HeldPackage& pristine, const std::string& whose) {
  const std::string parent = cache + "/copies";
  TUNE_RETURN_IF_ERROR(MakePrivateFolder(parent));
  // Where others run in one that they have changed, ours gets another name.
  for (int tries = 0; tries < limits::kPackageTriesMax; ++tries) {
    const std::string name = HashToHex(
        Xxh64(package.sha256 + '\0' + whose + (tries == 0 ? "" : '\0' + std::to_string(tries))));
    const std::string path = parent + "/" + name;
    TUNE_ASSIGN_OR_RETURN(std::optional<FileDescriptor> hold, HoldFolder(path));
    if (hold && HasAllOf(pristine.folder, path, package)) {
      return HeldPackage{path, *std::move(hold)};
    }
    if (hold) {
      hold->Close();
      RemoveUnlessHeld(path);
    }
    TUNE_ASSIGN_OR_RETURN(const std::string made, CopyWhatCame(pristine.folder, parent, name));
    std::error_code ignored;
    if (made != path) RemoveTree(made, ignored);
    TUNE_ASSIGN_OR_RETURN(hold, HoldFolder(path));
    if (hold && HasAllOf(pristine.folder, path, package)) {
      RemoveLeastUsedFolders(parent, limits::kPackagesKeptMax);
      return HeldPackage{path, *std::move(hold)};
    }
  }
  return Unavailable("the folder of its programs is changed all the time in " + parent);
}

}  // namespace tune
