#include "trial_runner/package/unpacked_folder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string_view>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

constexpr uint64_t kListBytesMax = limits::kPackageBytesMax;
constexpr size_t kUnpackedAtOnce = 256u << 10;

// Whether the file has exactly so many bytes; adds them.
bool AddContent(const std::string& path, uint64_t bytes, Sha256& hash) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  struct stat info = {};
  if (!file.is_open() || fstat(file.get(), &info) != 0 || !S_ISREG(info.st_mode) ||
      static_cast<uint64_t>(info.st_size) != bytes) {
    return false;
  }
  std::string buffer(static_cast<size_t>(std::min<uint64_t>(bytes, kUnpackedAtOnce)), '\0');
  while (bytes > 0) {
    const ssize_t count =
        read(file.get(), buffer.data(), std::min<uint64_t>(bytes, kUnpackedAtOnce));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    hash.Add({buffer.data(), static_cast<size_t>(count)});
    bytes -= static_cast<uint64_t>(count);
  }
  return true;
}

bool AddEntry(const std::string& path, const PackageEntryHead& head, Sha256& hash) {
  hash.Add(EncodeEntryHead(head.kind, head.path, head.content_bytes));
  std::error_code error;
  if (IsFolder(head.kind)) return std::filesystem::is_directory(path, error);
  if (head.kind != PackageKind::kLink) return AddContent(path, head.content_bytes, hash);
  const std::string target = std::filesystem::read_symlink(path, error).string();
  hash.Add(target);
  return !error && target.size() == head.content_bytes;
}

}  // namespace

std::string EntryListOf(const std::string& folder) { return folder + ".list"; }

Status WriteEntryList(const std::string& folder, const std::vector<PackageEntry>& entries) {
  std::string list;
  for (const PackageEntry& entry : entries) {
    list += EncodeEntryHead(entry.kind, entry.path, entry.content.size());
  }
  return WriteFileSynced(EntryListOf(folder), list);
}

bool IsAsItCame(const std::string& folder, const PackageName& package) {
  return HasAllOf(folder, folder, package);
}

bool HasAllOf(const std::string& unpacked, const std::string& folder, const PackageName& package) {
  const Result<std::string> list = ReadFile(EntryListOf(unpacked), kListBytesMax);
  if (!list.ok()) return false;
  Sha256 hash;
  hash.Add(kPackageHead);
  for (std::string_view rest = *list; !rest.empty();) {
    const Result<PackageEntryHead> head = TakeEntryHead(rest);
    if (!head.ok()) return false;
    if (!AddEntry(folder + "/" + std::string(head->path), *head, hash)) return false;
  }
  hash.Add(kPackageEnd);
  return hash.Finish() == package.sha256;
}

}  // namespace tune
