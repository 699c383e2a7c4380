// Which workers of this machine live: each keeps a file locked while it does, named by its session.
// The kernel gives the lock back however a process ends, so a worker that starts can tell the tuner
// whose trials nobody runs any more. Two workers that live never take each other for dead, whatever
// they are called.
//
// Thread rule: one thread.
#pragma once

#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "core/time.h"

namespace tune {

// Of this user on this machine, below XDG_RUNTIME_DIR or /tmp; made with mode 0700.
// kFailedPrecondition: it belongs to another user, or others may write it.
Result<std::string> SessionMarksFolder();

// The session lives as long as this does; the file goes with it.
class SessionMark {
 public:
  static Result<SessionMark> Make(const std::string& folder, const std::string& session);
  SessionMark(SessionMark&& other) noexcept;
  SessionMark& operator=(SessionMark&&) = delete;
  ~SessionMark();

 private:
  SessionMark(std::string path, FileDescriptor lock)
      : path_(std::move(path)), lock_(std::move(lock)) {}

  std::string path_;
  FileDescriptor lock_;
};

// Sessions whose processes ended without taking their marks away: those that this function first
// found within the last day, the latest first, at most kEndedSessionsMax (messages.h). Older marks
// are removed.
std::vector<std::string> EndedSessions(const std::string& folder, Instant now);

}  // namespace tune
