#include "trial_runner/package/packed_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string_view>
#include <utility>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "core/posix/open_files.h"
#include "trial_runner/checkpoint_transfer.h"
#include "trial_runner/package/ignore_list.h"
#include "trial_runner/package/largest_entries.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/package_piece.h"
#include "trial_runner/package/secret_search.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr char kIgnoreFile[] = ".tuneignore";
constexpr size_t kLargestTold = 10;
constexpr size_t kPackedAtOnce = 256u << 10;

// Takes the text's pieces: hashes them, and writes them where they are kept.
class PackageText {
 public:
  // `fd`: -1: only the hash is wanted.
  PackageText(int fd, int64_t bytes_max) : fd_(fd), bytes_max_(bytes_max) {}

  // Before anything so large is read.
  Status CheckRoom(uint64_t bytes) const {
    if (bytes <= static_cast<uint64_t>(bytes_max_ - bytes_)) return OkStatus();
    return FailedPrecondition("it holds more than " + std::to_string(bytes_max_) + " bytes");
  }
  Status Add(std::string_view piece) {
    TUNE_RETURN_IF_ERROR(CheckRoom(piece.size()));
    bytes_ += static_cast<int64_t>(piece.size());
    hash_.Add(piece);
    if (fd_ < 0) return OkStatus();
    return WriteAll(fd_, std::as_bytes(std::span(piece.data(), piece.size())), "the package");
  }
  PackageName Finish() { return {hash_.Finish(), bytes_}; }

 private:
  const int fd_;
  const int64_t bytes_max_;
  int64_t bytes_ = 0;
  Sha256 hash_;
};

// A database of SQLite with our application id, by the first bytes of the file.
bool IsOurDatabase(const std::string& path) {
  constexpr std::string_view kMagic("SQLite format 3\0", 16);
  constexpr size_t kIdAt = 68;
  constexpr std::string_view kOurId = "tune";
  char head[100] = {};
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!file.is_open() || read(file.get(), head, sizeof head) != sizeof head) return false;
  const std::string_view text(head, sizeof head);
  return text.starts_with(kMagic) && text.substr(kIdAt, kOurId.size()) == kOurId;
}

// Where tools keep passwords and tokens. A program may need them, so they are told of and sent.
bool IsNamedAsCredentials(const std::string& path) {
  const std::string within = "/" + path;
  for (const char* const name :
       {"/.env", "/.netrc", "/_netrc", "/.npmrc", "/.pypirc", "/.pgpass", "/.my.cnf", "/.dockercfg",
        "/.docker/config.json", "/.git-credentials", "/.aws/credentials", "/.kube/config",
        "/.huggingface/token", "/.kaggle/kaggle.json"}) {
    if (within.ends_with(name)) return true;
  }
  return false;
}

// Names in one folder and what they are; sorted.
using Names = std::map<std::string, fs::file_type>;

// A space file that the Python module writes for one `tune run`, under a new name each time.
bool IsSpaceFileOfPython(const std::string& name) {
  return name.starts_with(".tune-") && name.ends_with(".json");
}

// Databases with their journals and locks, and all artifacts: they change while a sweep runs, and
// the tuner's keys lie among the artifacts, also of a database that is gone or elsewhere.
void LeaveOutOurs(const std::string& folder, Names& names) {
  std::vector<std::string> databases;
  for (const auto& [name, type] : names) {
    if (type != fs::file_type::regular) continue;
    if (names.contains(name + "-wal") || IsOurDatabase(folder + "/" + name)) {
      databases.push_back(name);
    }
  }
  for (const std::string& database : databases) {
    for (const char* const suffix : {"", "-wal", "-shm", "-journal", ".lock"}) {
      names.erase(database + suffix);
    }
  }
  std::erase_if(names, [](const auto& entry) {
    return entry.first.ends_with(".artifacts") || IsSpaceFileOfPython(entry.first);
  });
}

class Packer {
 public:
  // `secrets`: null: nothing is sent, so private keys and secrets may be in the folder. Files with
  // a join token are left out then too: both sides must agree on the folder's name.
  Packer(const std::string& root, PackageText& text, const std::vector<Secret>* secrets)
      : root_(root), text_(text), secrets_(secrets) {}

  Status Run() {
    std::error_code error;
    if (!fs::is_directory(root_, error)) return NotFound("there is no such folder");
    Result<std::string> ignored = ReadFile(root_ + "/" + kIgnoreFile, limits::kIgnoreFileBytesMax);
    if (!ignored.ok() && ignored.status().code() != StatusCode::kNotFound) return ignored.status();
    if (ignored.ok()) {
      Result<IgnoreList> list = IgnoreList::Parse(*ignored);
      if (!list.ok()) return list.status().At(kIgnoreFile);
      ignored_ = *std::move(list);
    }
    TUNE_RETURN_IF_ERROR(text_.Add(kPackageHead));
    TUNE_RETURN_IF_ERROR(AddFolder("", 1));
    return text_.Add(kPackageEnd);
  }

  // Files that were left out because they hold a join token.
  std::vector<std::string> TakeFilesWithToken() { return std::move(with_token_); }
  std::vector<std::string> TakeFilesWithCredentials() { return std::move(with_credentials_); }

 private:
  Result<Names> ReadNames(const std::string& folder) const {
    Names names;
    std::error_code error;
    fs::directory_iterator it(folder, error);
    for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
      names.emplace(it->path().filename().string(), it->symlink_status(error).type());
    }
    if (error) return InvalidArgument("cannot read " + folder + ": " + error.message());
    names.erase(".git");
    names.erase("__pycache__");
    // A worker asks about it just now (checkpoint_transfer.h).
    std::erase_if(names, [](const auto& entry) { return entry.first.starts_with(kNoncePrefix); });
    LeaveOutOpenOnes(folder, names);
    LeaveOutOurs(folder, names);
    return names;
  }

  // Before anything is opened. What this process has open is no part of a program: a database,
  // whose locks would be gone, and its standard output ("> sweep.log"), which grows while it is
  // read and has the join token of a tuner that listens.
  void LeaveOutOpenOnes(const std::string& folder, Names& names) const {
    std::erase_if(names, [&](const auto& entry) {
      struct stat info = {};
      return entry.second == fs::file_type::regular &&
             lstat((folder + "/" + entry.first).c_str(), &info) == 0 && open_.Has(info);
    });
  }

  // `within`: relative to the root; empty: the root itself.
  Status AddFolder(const std::string& within, int depth) {
    if (depth > limits::kPackageDepthMax) return FailedPrecondition(within + " lies too deep");
    TUNE_ASSIGN_OR_RETURN(const Names names, ReadNames(within.empty() ? root_ : PathOf(within)));
    for (const auto& [name, type] : names) {
      const std::string path = within.empty() ? name : within + "/" + name;
      if (ignored_.Holds(path, type == fs::file_type::directory)) continue;
      if (path.size() > limits::kPathBytesMax) return FailedPrecondition(path + " lies too deep");
      if (type == fs::file_type::directory) {
        struct stat info = {};
        if (stat(PathOf(path).c_str(), &info) != 0) return ErrnoStatus("read", PathOf(path));
        TUNE_RETURN_IF_ERROR(AddHead(KindOf(true, info.st_mode), path, 0));
        TUNE_RETURN_IF_ERROR(AddFolder(path, depth + 1));
      } else if (type == fs::file_type::symlink) {
        TUNE_RETURN_IF_ERROR(AddLink(path));
      } else if (type == fs::file_type::regular) {
        TUNE_RETURN_IF_ERROR(AddFile(path));
      }
    }
    return OkStatus();
  }

  Status AddHead(PackageKind kind, const std::string& path, uint64_t content_bytes) {
    if (++entry_count_ > limits::kPackageEntriesMax) {
      return FailedPrecondition("it holds more than " + std::to_string(limits::kPackageEntriesMax) +
                                " files");
    }
    TUNE_RETURN_IF_ERROR(CheckName(path));
    TUNE_RETURN_IF_ERROR(text_.CheckRoom(content_bytes));
    return text_.Add(EncodeEntryHead(kind, path, content_bytes));
  }

  // The name of an entry, or what a link names, is sent too. It is not shown.
  Status CheckName(const std::string& name) const {
    if (secrets_ == nullptr) return OkStatus();
    const auto found = SecretSearch(*secrets_).Add(name);
    if (!found) return OkStatus();
    return InvalidArgument(
        "the name of a file or folder in it, or what a link there names, holds " + *found +
        ", which would be sent to every worker that joins; rename it, "
        "or list it in the folder's " +
        kIgnoreFile);
  }

  Status AddLink(const std::string& path) {
    std::error_code error;
    const std::string target = fs::read_symlink(PathOf(path), error).string();
    if (error) return InvalidArgument("cannot read " + PathOf(path) + ": " + error.message());
    TUNE_RETURN_IF_ERROR(CheckName(target));
    TUNE_RETURN_IF_ERROR(AddHead(PackageKind::kLink, path, target.size()));
    return text_.Add(target);
  }

  Status AddFile(const std::string& path) {
    const FileDescriptor file(
        open(PathOf(path).c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
    struct stat info = {};
    if (!file.is_open() || fstat(file.get(), &info) != 0) {
      return ErrnoStatus("read", PathOf(path));
    }
    TUNE_RETURN_IF_ERROR(text_.CheckRoom(static_cast<uint64_t>(info.st_size)));
    // Read twice: an entry's head comes before its content.
    SecretSearch first(SecretsToFind());
    std::optional<std::string> found;
    TUNE_RETURN_IF_ERROR(ReadPieces(path, file, info.st_size, [&](std::string_view piece) {
      if (!found) found = first.Add(piece);
      return OkStatus();
    }));
    if (found == SecretSearch::kJoinToken) {
      with_token_.push_back(path);
      return OkStatus();
    }
    if (found && secrets_ != nullptr) return Refused(path, *found);
    if (IsNamedAsCredentials(path)) with_credentials_.push_back(path);
    TUNE_RETURN_IF_ERROR(
        AddHead(KindOf(false, info.st_mode), path, static_cast<uint64_t>(info.st_size)));
    SecretSearch second(SecretsToFind());  // The file may have changed in between.
    return ReadPieces(path, file, info.st_size, [&](std::string_view piece) {
      const auto written_since = secrets_ != nullptr ? second.Add(piece) : std::nullopt;
      return written_since ? Refused(path, *written_since) : text_.Add(piece);
    });
  }

  // From the file's beginning, as many bytes as it had when it was opened.
  Status ReadPieces(const std::string& path, const FileDescriptor& file, int64_t bytes,
                    const std::function<Status(std::string_view)>& take) {
    buffer_.resize(kPackedAtOnce);
    for (int64_t at = 0; at < bytes;) {
      const auto wanted = static_cast<size_t>(std::min<int64_t>(bytes - at, kPackedAtOnce));
      const ssize_t count = pread(file.get(), buffer_.data(), wanted, at);
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) return ErrnoStatus("read", PathOf(path));
      if (count == 0) return Unavailable(PathOf(path) + " became shorter while it was read");
      TUNE_RETURN_IF_ERROR(take({buffer_.data(), static_cast<size_t>(count)}));
      at += count;
    }
    return OkStatus();
  }

  std::vector<Secret> SecretsToFind() const {
    return secrets_ != nullptr ? *secrets_ : std::vector<Secret>();
  }

  static Status Refused(const std::string& path, const std::string& found) {
    return InvalidArgument(path + " holds " + found +
                           ", which would be sent to every worker that joins; move it out of the "
                           "folder, or list it in the folder's " +
                           kIgnoreFile);
  }

  std::string PathOf(const std::string& within) const { return root_ + "/" + within; }

  const std::string root_;
  const OpenFiles open_ = OpenFiles::OfThisProcess();
  PackageText& text_;
  const std::vector<Secret>* const secrets_;
  IgnoreList ignored_;
  std::vector<std::string> with_token_;
  std::vector<std::string> with_credentials_;
  size_t entry_count_ = 0;
  std::string buffer_;
};

}  // namespace

Result<PackageName> NameFolder(const std::string& folder, int64_t bytes_max) {
  PackageText text(-1, bytes_max);
  TUNE_RETURN_IF_ERROR(Packer(folder, text, nullptr).Run().At(folder));
  return text.Finish();
}

Result<PackedFolder> PackedFolder::Pack(const std::string& folder, FileDescriptor file,
                                        const std::vector<Secret>& secrets) {
  PackageText text(file.get(), limits::kPackageBytesMax);
  Packer packer(folder, text, &secrets);
  const Status status = packer.Run().At(folder);
  if (status.code() == StatusCode::kFailedPrecondition) {
    return FailedPrecondition(status.message() +
                              ", too much to be sent to workers of other machines; list what they "
                              "need not have, or have by themselves, in its " +
                              kIgnoreFile + ", or name a smaller working_dir; its largest are " +
                              DescribeLargest(folder, kLargestTold));
  }
  if (!status.ok()) return status;
  return PackedFolder(text.Finish(), std::move(file), packer.TakeFilesWithToken(),
                      packer.TakeFilesWithCredentials());
}

Result<std::string> PackedFolder::Read(int64_t offset, size_t bytes_max) const {
  return ReadPackagePiece(file_.get(), name_.bytes, offset, bytes_max);
}

}  // namespace tune
