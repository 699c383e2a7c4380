#include "tuner/sqlite/writer_lock.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <filesystem>

#include "core/json.h"
#include "core/posix/durable_file.h"
#include "core/posix/host_name.h"
#include "core/posix/process_end.h"
#include "core/value.h"

namespace tune {
namespace {

std::string LockPath(const std::string& database_path) { return database_path + ".lock"; }

struct flock WholeFile() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

std::string ReadAll(int fd) {
  char text[4096];
  const ssize_t size = pread(fd, text, sizeof text, 0);
  return size <= 0 ? std::string() : std::string(text, static_cast<size_t>(size));
}

// The first line is written in one piece under the lock; what cannot be read is left at its
// defaults.
LockHolder ReadHolder(int fd) {
  LockHolder holder;
  const std::string text = ReadAll(fd);
  const Result<Value> value = ParseJson(std::string_view(text).substr(0, text.find('\n')));
  if (!value.ok() || !value->is_map()) return holder;
  const Value* const pid = value->Find("pid");
  const Value* const host = value->Find("host");
  const Value* const since = value->Find("since_us");
  const Value* const experiment = value->Find("experiment");
  const Value* const head = value->Find("head");
  const Value* const numbers = value->Find("numbers");
  holder.is_head = head != nullptr && *head == Value(true);
  if (pid != nullptr && pid->is_int()) holder.pid = pid->AsInt();
  if (host != nullptr && host->is_string()) holder.host = host->AsString();
  if (since != nullptr && since->is_int()) holder.since = Instant{since->AsInt()};
  if (experiment != nullptr && experiment->is_string()) holder.experiment = experiment->AsString();
  if (numbers != nullptr && numbers->is_string()) holder.numbers = numbers->AsString();
  return holder;
}

constexpr char kCommittedFormat[] = "committed %" PRId64 " %" PRId64 "\n";

// The second line; nothing when it is not there, or not whole.
std::optional<JournalEnd> ReadCommitted(int fd) {
  const std::string text = ReadAll(fd);
  const size_t first_end = text.find('\n');
  if (first_end == std::string::npos) return std::nullopt;
  const std::string line = text.substr(first_end + 1);
  JournalEnd end;
  if (line.find('\n') == std::string::npos ||
      std::sscanf(line.c_str(), kCommittedFormat, &end.experiment, &end.step) != 2) {
    return std::nullopt;
  }
  return end;
}

// One length whatever the numbers, so that it can be written over itself.
std::string CommittedLine(const JournalEnd& end) {
  constexpr int kBytes = 64;
  char text[kBytes + 1];
  const int size = std::snprintf(text, sizeof text, kCommittedFormat, end.experiment, end.step) - 1;
  std::memset(text + size, ' ', static_cast<size_t>(kBytes - size));
  text[kBytes - 1] = '\n';
  return std::string(text, kBytes);
}

bool IsStillTheFile(int fd, const std::string& path) {
  struct stat ours, theirs;
  return fstat(fd, &ours) == 0 && stat(path.c_str(), &theirs) == 0 &&
         ours.st_dev == theirs.st_dev && ours.st_ino == theirs.st_ino;
}

Status Held(const std::string& database_path, const LockHolder& holder) {
  std::string who = "another tuner";
  if (holder.pid != 0) {
    who = DescribeHolder(holder) + ", since " + FormatInstant(holder.since);
  }
  return Unavailable(database_path + ": is held by " + who +
                     (holder.is_head ? "; tune submit gives it a sweep, tune resume one that has "
                                       "ended; or choose another --db"
                                     : "; end that one first, or choose another --db"));
}

Status CannotLock(const std::string& path, int error) {
  return FailedPrecondition(path + ": cannot be locked: " + std::strerror(error) +
                            "; the database's folder must exist and be writable");
}

}  // namespace

WriterLock::~WriterLock() {
  if (fd_ < 0) return;
  // Removed under the lock: whoever opened it before finds another file at its path and tries
  // again.
  if (is_settled_ || !committed_) (void)unlink(path_.c_str());
  (void)close(fd_);
}

Status WriterLock::Write() {
  Value value = Value::MakeMap();
  value.Set("pid", holder_.pid);
  value.Set("host", holder_.host);
  value.Set("since_us", holder_.since.us);
  value.Set("experiment", holder_.experiment);
  if (holder_.is_head) value.Set("head", true);
  if (!holder_.numbers.empty()) value.Set("numbers", holder_.numbers);
  // Padded, so that a shorter text leaves nothing of a longer one and a reader never sees a cut
  // one.
  std::string text = ToJson(value);
  text.resize(std::max<size_t>(text.size() + 1, 512), ' ');
  text.back() = '\n';
  first_line_bytes_ = text.size();
  if (committed_) text += CommittedLine(*committed_);
  if (pwrite(fd_, text.data(), text.size(), 0) != static_cast<ssize_t>(text.size()) ||
      ftruncate(fd_, static_cast<off_t>(text.size())) != 0) {
    const int error = errno;
    const std::string message = path_ + ": cannot be written: " + std::strerror(error);
    return error == ENOSPC || error == EDQUOT ? ResourceExhausted(message) : Internal(message);
  }
  return OkStatus();
}

Status WriterLock::Announce(std::string_view experiment) {
  holder_.experiment = std::string(experiment);
  return Write();
}

Status WriterLock::AnnounceHead() {
  holder_.is_head = true;
  return Write();
}

void WriterLock::NoteCommitted(JournalEnd end) {
  committed_ = end;
  const std::string line = CommittedLine(end);
  // Only a witness: a commit that is not told of is there all the same.
  [[maybe_unused]] const ssize_t written =
      pwrite(fd_, line.data(), line.size(), static_cast<off_t>(first_line_bytes_));
}

Status WriterLock::Forget() {
  if (ftruncate(fd_, static_cast<off_t>(first_line_bytes_)) != 0) {
    return ErrnoStatus("shorten", path_);
  }
  committed_.reset();
  if (fsync(fd_) != 0) return ErrnoStatus("sync", path_);
  // An earlier tuner's file, which was removed but not durably, must not come back either.
  const std::string folder = std::filesystem::path(path_).parent_path().string();
  return SyncFolder(folder.empty() ? "." : folder);
}

bool IsSeenHere(const LockHolder& holder) {
  return holder.host == HostName() &&
         (holder.numbers.empty() || holder.numbers == ProcessNumbers());
}

std::string DescribeHolder(const LockHolder& holder) {
  return (holder.is_head ? "the head with pid " : "the tuner with pid ") +
         std::to_string(holder.pid) + " on " + holder.host;
}

Result<WriterLock> AcquireWriterLock(const std::string& database_path, Instant now, LockText text) {
  const std::string path = LockPath(database_path);
  int waited_ms = 0;
  for (;;) {
    const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0644);
    if (fd < 0) return CannotLock(path, errno);
    struct flock request = WholeFile();
    if (fcntl(fd, F_OFD_SETLK, &request) != 0) {
      const int error = errno;
      const LockHolder holder = ReadHolder(fd);
      (void)close(fd);
      if (error != EAGAIN && error != EACCES) return CannotLock(path, error);
      // The kernel gives the lock back some time after the kill.
      constexpr int kPauseMs = 10;
      constexpr int kEndingMaxMs = 3'000;
      constexpr int kBriefMaxMs = 1'000;
      const bool is_ending = IsSeenHere(holder) && IsEnding(holder.pid);
      const int wait_max_ms = is_ending ? kEndingMaxMs : holder.is_brief() ? kBriefMaxMs : 0;
      if (waited_ms >= wait_max_ms) return Held(database_path, holder);
      poll(nullptr, 0, kPauseMs);
      waited_ms += kPauseMs;
      continue;
    }
    if (!IsStillTheFile(fd, path)) {  // Its holder removed it between open and lock.
      (void)close(fd);
      continue;
    }
    WriterLock lock(fd, path);
    lock.committed_ = ReadCommitted(fd);
    lock.holder_ = LockHolder{getpid(), HostName(), now, "", false, ProcessNumbers()};
    const Status written = lock.Write();
    const bool is_no_matter =
        text == LockText::kIfThereIsRoom && written.code() == StatusCode::kResourceExhausted;
    if (!written.ok() && !is_no_matter) return written;
    return lock;
  }
}

std::optional<JournalEnd> FindCommitted(const std::string& database_path) {
  const int fd = open(LockPath(database_path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  const std::optional<JournalEnd> committed = ReadCommitted(fd);
  (void)close(fd);
  return committed;
}

std::optional<LockHolder> FindLockHolder(const std::string& database_path) {
  const int fd = open(LockPath(database_path).c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return std::nullopt;
  struct flock question = WholeFile();
  std::optional<LockHolder> holder;
  if (fcntl(fd, F_OFD_GETLK, &question) == 0 && question.l_type != F_UNLCK) holder = ReadHolder(fd);
  (void)close(fd);
  if (holder && IsSeenHere(*holder) && IsEnding(holder->pid)) holder.reset();
  return holder;
}

}  // namespace tune
