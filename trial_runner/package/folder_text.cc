#include "trial_runner/package/folder_text.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <set>
#include <utility>

#include "core/limits.h"
#include "core/posix/durable_file.h"
#include "trial_runner/package/package_format.h"
#include "trial_runner/package/sha256.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr size_t kReadBytes = 1u << 20;

}  // namespace

Result<FolderText> FolderText::Of(const std::string& folder) { return Make(folder, nullptr, {}); }

Result<FolderText> FolderText::Of(const std::string& folder, const std::stop_token& stop) {
  return Make(folder, nullptr, stop);
}

Result<FolderText> FolderText::Of(const std::string& folder, const NameTest& is_left_out) {
  return Make(folder, &is_left_out, {});
}

Result<FolderText> FolderText::Make(const std::string& folder, const NameTest* is_left_out,
                                    const std::stop_token& stop) {
  FolderText text;
  text.root_ = folder;
  std::error_code error;
  if (!fs::is_directory(fs::symlink_status(folder, error))) {
    return NotFound("there is no folder " + folder);
  }
  TUNE_RETURN_IF_ERROR(text.AddPart(std::string(kPackageHead), "", 0));
  TUNE_RETURN_IF_ERROR(text.AddFolder("", 1, is_left_out));
  TUNE_RETURN_IF_ERROR(text.AddPart(std::string(kPackageEnd), "", 0));
  TUNE_ASSIGN_OR_RETURN(text.name_.sha256, text.Hash(stop));
  return text;
}

Result<std::string> FolderText::Hash(const std::stop_token& stop) const {
  Sha256 hash;
  std::string buffer(kReadBytes, '\0');
  for (const Part& part : parts_) {
    hash.Add(part.head);
    if (part.bytes == 0) continue;
    TUNE_ASSIGN_OR_RETURN(const FileDescriptor file, Open(part));
    for (int64_t at = 0; at < part.bytes;) {
      if (stop.stop_requested()) return Unavailable(root_ + " is not needed any more");
      const size_t wanted = std::min(buffer.size(), static_cast<size_t>(part.bytes - at));
      TUNE_ASSIGN_OR_RETURN(const size_t count, ReadAt(part, file, at, {buffer.data(), wanted}));
      hash.Add({buffer.data(), count});
      at += static_cast<int64_t>(count);
    }
  }
  return hash.Finish();
}

Status FolderText::AddPart(std::string head, std::string file, int64_t bytes) {
  if (parts_.size() > limits::kPackageEntriesMax) {
    return InvalidArgument(root_ + " holds more than " +
                           std::to_string(limits::kPackageEntriesMax) +
                           " files and folders, too many to be sent");
  }
  const int64_t begin = name_.bytes;
  name_.bytes += static_cast<int64_t>(head.size()) + bytes;
  parts_.push_back({begin, std::move(head), std::move(file), bytes});
  return OkStatus();
}

// `within`: relative to the root; empty: the root itself. `is_left_out`: null: nothing is, and all
// has to be file or folder.
Status FolderText::AddFolder(const std::string& within, int depth, const NameTest* is_left_out) {
  const std::string here = within.empty() ? root_ : root_ + "/" + within;
  if (depth > limits::kPackageDepthMax) return InvalidArgument(here + " lies too deep to be sent");
  std::set<std::string> names;  // Sorted.
  std::error_code error;
  fs::directory_iterator it(here, error);
  for (const fs::directory_iterator end; !error && it != end; it.increment(error)) {
    names.insert(it->path().filename().string());
  }
  if (error) return InvalidArgument("cannot read " + here + ": " + error.message());
  for (const std::string& name : names) {
    if (within.empty() && is_left_out != nullptr && (*is_left_out)(name)) continue;
    const std::string path = within.empty() ? name : within + "/" + name;
    TUNE_RETURN_IF_ERROR(AddEntry(path, depth, is_left_out));
  }
  return OkStatus();
}

Status FolderText::AddEntry(const std::string& path, int depth, const NameTest* is_left_out) {
  const std::string there = root_ + "/" + path;
  struct stat info = {};
  if (lstat(there.c_str(), &info) != 0) return ErrnoStatus("read", there);
  if (S_ISDIR(info.st_mode)) {
    TUNE_RETURN_IF_ERROR(AddPart(EncodeEntryHead(KindOf(true, info.st_mode), path, 0), "", 0));
    return AddFolder(path, depth + 1, is_left_out);
  }
  if (S_ISREG(info.st_mode)) {
    const auto bytes = static_cast<uint64_t>(info.st_size);
    return AddPart(EncodeEntryHead(KindOf(false, info.st_mode), path, bytes), path, info.st_size);
  }
  if (is_left_out == nullptr) return InvalidArgument(there + " is neither file nor folder");
  ++passed_over_;
  return OkStatus();
}

// Pieces as large as may be, whatever the files are like.
Result<std::string> FolderText::Read(int64_t offset, size_t bytes_max) const {
  std::string text;
  auto part = std::upper_bound(parts_.begin(), parts_.end(), offset,
                               [](int64_t at, const Part& p) { return at < p.begin; });
  if (part != parts_.begin()) --part;
  while (part != parts_.end() && text.size() < bytes_max) {
    const int64_t at = offset + static_cast<int64_t>(text.size()) - part->begin;
    TUNE_ASSIGN_OR_RETURN(std::string piece, ReadPart(*part, at, bytes_max - text.size()));
    if (piece.empty()) {
      ++part;
    } else if (text.empty()) {
      text = std::move(piece);
    } else {
      text += piece;
    }
  }
  return text;
}

// Nothing: that is the part's end.
Result<std::string> FolderText::ReadPart(const Part& part, int64_t offset, size_t bytes_max) const {
  const auto head = static_cast<int64_t>(part.head.size());
  if (offset < head) return part.head.substr(static_cast<size_t>(offset), bytes_max);
  const int64_t left = head + part.bytes - offset;
  if (left <= 0) return std::string();
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor file, Open(part));
  std::string text(static_cast<size_t>(std::min(left, static_cast<int64_t>(bytes_max))), '\0');
  TUNE_ASSIGN_OR_RETURN(const size_t count, ReadAt(part, file, offset - head, text));
  text.resize(count);
  return text;
}

Result<FileDescriptor> FolderText::Open(const Part& part) const {
  const std::string path = root_ + "/" + part.file;
  FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK));
  if (!file.is_open()) return ErrnoStatus("read", path);
  return file;
}

// At least one byte.
Result<size_t> FolderText::ReadAt(const Part& part, const FileDescriptor& file, int64_t offset,
                                  std::span<char> bytes) const {
  const std::string path = root_ + "/" + part.file;
  ssize_t count = -1;
  do {
    count = pread(file.get(), bytes.data(), bytes.size(), offset);
  } while (count < 0 && errno == EINTR);
  if (count < 0) return ErrnoStatus("read", path);
  if (count == 0) return Unavailable(path + " became shorter while it was read");
  return static_cast<size_t>(count);
}

}  // namespace tune
