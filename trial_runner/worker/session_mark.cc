#include "trial_runner/worker/session_mark.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include "core/limits.h"
#include "core/posix/environment.h"
#include "trial_runner/messages.h"

namespace tune {
namespace {

namespace fs = std::filesystem;

constexpr char kUnfinished[] = ".new";
constexpr Duration kKeptFor = Seconds(24 * 3600);

bool IsSession(const std::string& name) {
  return !name.empty() && name.size() <= limits::kNameBytesMax &&
         name.find_first_not_of("0123456789abcdef") == std::string::npos;
}

// Whether no living process has it locked.
bool IsEnded(const std::string& path) {
  const FileDescriptor file(open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  return file.get() >= 0 && flock(file.get(), LOCK_SH | LOCK_NB) == 0;
}

// The mark of an ended session that was found before cannot be written; its time is when it was
// found. That of a worker that lived for long is as old as the worker.
bool WasFound(const struct stat& status) { return (status.st_mode & S_IWUSR) == 0; }

void SetFound(const std::string& path, Instant now) {
  const timespec time = {static_cast<time_t>(now.us / 1'000'000), 0};
  const timespec times[] = {time, time};
  if (utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0) return;
  (void)chmod(path.c_str(), 0400);
}

Status MakePrivate(const std::string& folder) {
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return Unavailable(folder + ": cannot be made: " + std::strerror(errno));
  struct stat status = {};
  const bool is_ours = lstat(folder.c_str(), &status) == 0 && S_ISDIR(status.st_mode) &&
                       status.st_uid == geteuid() && (status.st_mode & 0022) == 0;
  if (is_ours) return OkStatus();
  return FailedPrecondition(folder + ": belongs to another user, or others may write it");
}

}  // namespace

Result<std::string> SessionMarksFolder() {
  std::string folder = EnvironmentText("XDG_RUNTIME_DIR");
  folder = folder.empty() ? "/tmp/tune-" + std::to_string(geteuid()) : folder + "/tune";
  TUNE_RETURN_IF_ERROR(MakePrivate(folder));
  folder += "/workers";
  TUNE_RETURN_IF_ERROR(MakePrivate(folder));
  return folder;
}

Result<SessionMark> SessionMark::Make(const std::string& folder, const std::string& session) {
  const std::string path = folder + "/" + session;
  const std::string unfinished = path + kUnfinished;
  // It gets its name when it is locked: nobody sees it unlocked while we live.
  FileDescriptor lock(open(unfinished.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (lock.get() < 0 || flock(lock.get(), LOCK_EX | LOCK_NB) != 0 ||
      rename(unfinished.c_str(), path.c_str()) != 0) {
    return Unavailable(path + ": cannot be made: " + std::strerror(errno));
  }
  return SessionMark(path, std::move(lock));
}

SessionMark::SessionMark(SessionMark&& other) noexcept
    : path_(std::exchange(other.path_, "")), lock_(std::move(other.lock_)) {}

SessionMark::~SessionMark() {
  if (!path_.empty()) unlink(path_.c_str());
}

std::vector<std::string> EndedSessions(const std::string& folder, Instant now) {
  std::vector<std::pair<int64_t, std::string>> ended;  // By the time when they were found.
  std::error_code error;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    struct stat status = {};
    if (lstat(it->path().c_str(), &status) != 0 || !S_ISREG(status.st_mode)) continue;
    const Instant time{static_cast<int64_t>(status.st_mtim.tv_sec) * 1'000'000};
    const bool is_session = IsSession(name);
    const bool is_new = is_session && !WasFound(status);
    const bool is_old = !is_new && now - time > kKeptFor;
    if (!is_session && !is_old) continue;
    if (!IsEnded(it->path().string())) continue;
    if (is_new) SetFound(it->path().string(), now);
    if (is_old) {
      unlink(it->path().c_str());
    } else {
      ended.emplace_back(is_new ? now.us : time.us, name);
    }
  }
  std::sort(ended.rbegin(), ended.rend());
  if (ended.size() > kEndedSessionsMax) ended.resize(kEndedSessionsMax);
  std::vector<std::string> sessions;
  for (auto& [time, session] : ended) sessions.push_back(std::move(session));
  return sessions;
}

}  // namespace tune
