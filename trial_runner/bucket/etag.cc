#include "trial_runner/bucket/etag.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <functional>
#include <optional>

#include "core/posix/file_descriptor.h"
#include "trial_runner/bucket/s3_signature.h"

namespace tune {
namespace {

constexpr size_t kMd5Digits = 32;
constexpr int64_t kMebibyte = int64_t{1} << 20;
// Of awscli, rclone, s3cmd, MinIO's mc, s5cmd, hadoop's s3a and others, in MiB.
constexpr int64_t kUsualSizes[] = {8, 5, 16, 15, 10, 64, 50, 100, 128, 32, 25, 20, 6, 256, 512};

// Of "<md5>-N" in quotes; 0: it is none.
int64_t PartCountOf(std::string_view etag) {
  if (etag.size() < kMd5Digits + 4 || etag.front() != '"' || etag.back() != '"') return 0;
  if (etag[kMd5Digits + 1] != '-') return 0;
  const std::string_view digits = etag.substr(kMd5Digits + 2, etag.size() - kMd5Digits - 3);
  int64_t count = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), count);
  return error == std::errc() && end == digits.data() + digits.size() ? count : 0;
}

// Of `bytes` from there on; nothing: they cannot be read.
std::optional<std::string> Md5OfPart(const FileDescriptor& file, int64_t begin, int64_t bytes) {
  Md5 hash;
  std::string piece;
  for (int64_t at = begin; at < begin + bytes;) {
    piece.resize(static_cast<size_t>(std::min(kMebibyte, begin + bytes - at)));
    const ssize_t count = pread(file.get(), piece.data(), piece.size(), static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return std::nullopt;
    hash.Add(std::string_view(piece).substr(0, static_cast<size_t>(count)));
    at += count;
  }
  return hash.Finish();
}

bool Names(std::string_view etag, const std::string& md5) {
  return etag.substr(1, kMd5Digits) == HexOf(md5);
}

}  // namespace

bool MayBeMd5(std::string_view etag) {
  return etag.size() == kMd5Digits + 2 && etag.front() == '"' && etag.back() == '"' &&
         etag.find('-') == etag.npos;
}

std::vector<int64_t> PartSizesOf(std::string_view etag, int64_t bytes) {
  const int64_t count = PartCountOf(etag);
  if (count <= 0 || bytes <= 0) return {};
  std::vector<int64_t> sizes;
  const auto add = [&](int64_t size) {
    const bool fits = size > 0 && (bytes + size - 1) / size == count;
    if (fits && std::find(sizes.begin(), sizes.end(), size) == sizes.end()) sizes.push_back(size);
  };
  if (count == 1) return {bytes};
  for (const int64_t size : kUsualSizes) add(size * kMebibyte);
  // What programs take for objects that would have too many parts: as few whole ones as it needs.
  const int64_t least = (bytes + count - 1) / count;
  add((least + kMebibyte - 1) / kMebibyte * kMebibyte);
  add(least);
  return sizes;
}

namespace {

// `md5_of` gives that of so many bytes from there on; nothing: they cannot be read.
using PartMd5 = std::function<std::optional<std::string>(int64_t begin, int64_t bytes)>;

bool IsShown(std::string_view etag, int64_t bytes, const PartMd5& md5_of) {
  if (MayBeMd5(etag)) {
    const std::optional<std::string> md5 = md5_of(0, bytes);
    return md5 && Names(etag, *md5);
  }
  for (const int64_t size : PartSizesOf(etag, bytes)) {
    Md5 whole;
    for (int64_t begin = 0; begin < bytes; begin += size) {
      const std::optional<std::string> md5 = md5_of(begin, std::min(size, bytes - begin));
      if (!md5) return false;
      whole.Add(*md5);
    }
    if (Names(etag, whole.Finish())) return true;
  }
  return false;
}

}  // namespace

bool ShowsBytes(std::string_view etag, std::string_view bytes) {
  return IsShown(etag, static_cast<int64_t>(bytes.size()), [bytes](int64_t begin, int64_t count) {
    Md5 hash;
    hash.Add(bytes.substr(static_cast<size_t>(begin), static_cast<size_t>(count)));
    return std::optional(hash.Finish());
  });
}

bool ShowsFile(std::string_view etag, const std::string& path, int64_t bytes) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.is_open() && IsShown(etag, bytes, [&file](int64_t begin, int64_t count) {
           return Md5OfPart(file, begin, count);
         });
}

}  // namespace tune
