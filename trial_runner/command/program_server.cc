#include "trial_runner/command/program_server.h"

#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>
#include <utility>

#include "core/hash.h"
#include "core/limits.h"
#include "trial_runner/command/runner_socket.h"
#include "trial_runner/worker/process_tree.h"

namespace tune {
namespace {

constexpr size_t kSourcesMax = 64;

Status Failed(const char* doing) {
  return Unavailable(std::string("no socket for the program's reports (") + doing +
                     "): " + std::strerror(errno));
}

bool IsOfOurUser(int socket) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) == 0 &&
         (peer.uid == geteuid() || peer.uid == 0);
}

}  // namespace

Result<ProgramServer> ProgramServer::Open() {
  uint64_t drawn[2] = {};
  if (getrandom(drawn, sizeof drawn, 0) != sizeof drawn) return Failed("getrandom");
  const std::string name = "@tune-" + HashToHex(drawn[0]) + HashToHex(drawn[1]);
  FileDescriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!listener.is_open()) return Failed("socket");
  TUNE_ASSIGN_OR_RETURN(const RunnerAddress address, RunnerAddress::Of(name));
  if (bind(listener.get(), address.get(), address.length()) != 0) return Failed("bind");
  if (listen(listener.get(), SOMAXCONN) != 0) return Failed("listen");
  return ProgramServer(name, std::move(listener));
}

Result<ProgramServer> ProgramServer::OpenAfter(ProgramServer before, ClientId kept) {
  TUNE_ASSIGN_OR_RETURN(ProgramServer server, Open());
  server.last_client_ = before.last_client_;
  server.last_source_ = before.last_source_;
  const auto found = before.clients_.find(kept);
  if (found != before.clients_.end()) server.clients_.insert(before.clients_.extract(found));
  return server;
}

void ProgramServer::AddTo(std::vector<pollfd>& fds) const {
  fds.push_back({listener_.get(), POLLIN, 0});
  for (const auto& [id, client] : clients_) {
    const short events = client.outbox.empty() ? POLLIN : POLLIN | POLLOUT;
    fds.push_back({client.socket.get(), events, 0});
  }
}

void ProgramServer::Accept() {
  while (true) {
    FileDescriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket.is_open()) return;
    if (!IsOfOurUser(socket.get())) continue;
    ++last_client_.value;
    const int64_t source = SourceOf(socket.get());
    clients_[last_client_] = {std::move(socket), source, "", ""};
  }
}

int64_t ProgramServer::SourceOf(int socket) {
  ucred peer = {};
  socklen_t length = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0) return 0;
  const std::optional<pid_t> parent = LivingParentOf(peer.pid);
  if (!parent || *parent <= 1 || *parent == getpid()) return 0;
  (void)LivingSources();  // So that a number that is used again is not taken for the one before.
  for (const auto& [id, process] : parents_) {
    if (process == *parent) return id;
  }
  FileDescriptor process(static_cast<int>(syscall(SYS_pidfd_open, *parent, 0)));
  if (!process.is_open() || sources_.size() >= kSourcesMax) return 0;
  sources_.push_back({++last_source_, std::move(process)});
  parents_[last_source_] = *parent;
  return last_source_;
}

std::vector<int64_t> ProgramServer::LivingSources() {
  std::erase_if(sources_, [&](const Source& source) {
    pollfd ended = {source.process.get(), POLLIN, 0};
    const bool has_ended = poll(&ended, 1, 0) > 0;
    if (has_ended) parents_.erase(source.id);
    return has_ended;
  });
  std::vector<int64_t> living;
  for (const Source& source : sources_) living.push_back(source.id);
  return living;
}

bool ProgramServer::Read(Client& client) {
  char buffer[16 << 10];
  while (true) {
    const ssize_t count = recv(client.socket.get(), buffer, sizeof buffer, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    if (count == 0) return false;
    client.inbox.append(buffer, static_cast<size_t>(count));
    if (client.inbox.size() > limits::kTrialLineBytesMax) return false;
  }
}

std::vector<ProgramServer::Line> ProgramServer::Take() {
  Accept();
  std::vector<Line> lines;
  std::optional<std::vector<int64_t>> living;
  for (auto it = clients_.begin(); it != clients_.end();) {
    Client& client = it->second;
    const bool is_there = Read(client) && Flush(client);
    size_t begin = 0;
    for (size_t end; (end = client.inbox.find('\n', begin)) != std::string::npos; begin = end + 1) {
      if (!living) living = LivingSources();
      lines.push_back(
          {it->first, client.inbox.substr(begin, end - begin), {client.source, *living}});
    }
    client.inbox.erase(0, begin);
    it = is_there ? std::next(it) : clients_.erase(it);
  }
  return lines;
}

bool ProgramServer::Flush(Client& client) {
  while (!client.outbox.empty()) {
    const ssize_t count =
        send(client.socket.get(), client.outbox.data(), client.outbox.size(), MSG_NOSIGNAL);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return errno == EAGAIN;
    client.outbox.erase(0, static_cast<size_t>(count));
  }
  return true;
}

void ProgramServer::Reply(ClientId id, std::string_view text) {
  const auto found = clients_.find(id);
  if (found == clients_.end()) return;
  found->second.outbox += text;
  Flush(found->second);
}

}  // namespace tune
