// Where a user's program reports: a Unix stream socket with a name of its own for each attempt, so
// that what an earlier attempt left behind reaches nobody. The name is in Linux's abstract
// namespace: no file is left anywhere. Only processes of the same user are heard.
//
// Thread rule: one thread.
#pragma once

#include <poll.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "core/status.h"
#include "trial_runner/command/command_trial.h"

namespace tune {

class ProgramServer {
 public:
  static Result<ProgramServer> Open();
  // For the next attempt of the same program: under another name, and of those that `before` heard
  // only `kept`, which asked for it. What else the attempt before has left reaches nobody.
  static Result<ProgramServer> OpenAfter(ProgramServer before, ClientId kept);

  // For TUNE_SOCKET: "@tune-...".
  const std::string& name() const { return name_; }

  // What to poll for, and what was found: the whole lines that came, in order, without their '\n'.
  void AddTo(std::vector<pollfd>& fds) const;
  struct Line {
    ClientId client;
    std::string text;
    ProgramSource source = {};
  };
  std::vector<Line> Take();

  // To one that is gone: nothing happens.
  void Reply(ClientId client, std::string_view text);

 private:
  struct Client {
    FileDescriptor socket;
    int64_t source = 0;
    std::string inbox;
    std::string outbox;  // What the socket did not take yet.
  };

  ProgramServer(std::string name, FileDescriptor listener)
      : name_(std::move(name)), listener_(std::move(listener)) {}

  // What starts the processes that report: a shell, seen as their parent.
  struct Source {
    int64_t id = 0;
    FileDescriptor process;  // Readable once it has ended.
  };

  void Accept();
  // That of the process at the other end; 0: it was started by us, or its parent is not seen.
  int64_t SourceOf(int socket);
  std::vector<int64_t> LivingSources();
  // False: it is gone.
  bool Read(Client& client);
  bool Flush(Client& client);

  std::string name_;
  FileDescriptor listener_;
  std::map<ClientId, Client> clients_;
  ClientId last_client_;
  std::vector<Source> sources_;
  std::map<int64_t, int64_t> parents_;  // The process of each source, by its id.
  int64_t last_source_ = 0;
};

}  // namespace tune
