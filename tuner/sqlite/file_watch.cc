#include "tuner/sqlite/file_watch.h"

namespace tune {
namespace {

std::optional<struct stat> StatOf(const std::string& path) {
  struct stat info = {};
  return stat(path.c_str(), &info) == 0 ? std::optional(info) : std::nullopt;
}

bool IsSameFile(const struct stat& a, const struct stat& b) {
  return a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

bool IsWritten(const std::optional<struct stat>& before, const std::optional<struct stat>& now) {
  if (!before || !now) return false;
  return before->st_size != now->st_size || before->st_mtim.tv_sec != now->st_mtim.tv_sec ||
         before->st_mtim.tv_nsec != now->st_mtim.tv_nsec;
}

}  // namespace

FileWatch::Marks FileWatch::Read() const { return {StatOf(path_), StatOf(path_ + "-wal")}; }

void FileWatch::Note(Wrote wrote) {
  const Marks now = Read();
  const bool knew_file = noted_ && noted_->file;
  if (wrote == Wrote::kBoth || !knew_file) {
    noted_ = now;
  } else {
    noted_->wal = now.wal;
  }
}

FileWatch::Change FileWatch::Look() const {
  if (!noted_) return Change::kNone;
  const Marks now = Read();
  if (noted_->wal && (!now.wal || !IsSameFile(*noted_->wal, *now.wal))) return Change::kWalGone;
  const bool is_written = IsWritten(noted_->file, now.file) || IsWritten(noted_->wal, now.wal);
  return is_written ? Change::kWritten : Change::kNone;
}

}  // namespace tune
