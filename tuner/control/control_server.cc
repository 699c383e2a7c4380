#include "tuner/control/control_server.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <map>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>
#include <utility>

#include "core/posix/threads.h"
#include "tuner/control/control_socket.h"

namespace tune {
namespace {

constexpr Duration kWritePatience = Milliseconds(5'000);
// For who has said nothing yet while others wait to be let in.
constexpr Duration kSilentPatience = Milliseconds(1'000);
constexpr Duration kAcceptPause =
    Milliseconds(200);  // After an accept for which there was no room.

// A socket that listens, and the file that it is known by.
struct Listener {
  ControlAddress address;
  FileDescriptor fd;
  struct stat file = {};
};

Status Failed(const std::string& what, int error) {
  const std::string message = what + ": " + std::strerror(error);
  return error == ENOSPC || error == EDQUOT ? ResourceExhausted(message)
                                            : FailedPrecondition(message);
}

Result<Listener> Listen(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return Failed(folder, error.value());
  TUNE_ASSIGN_OR_RETURN(ControlAddress address, ControlAddress::In(folder));
  if (ConnectToControl(address).ok()) {
    return FailedPrecondition(address.path() + ": another tuner listens there");
  }
  Listener listener{std::move(address),
                    FileDescriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0))};
  if (!listener.fd.is_open()) return Failed("no socket", errno);
  const std::string& path = listener.address.path();
  // What a killed tuner left; nobody listens there.
  if (unlinkat(listener.address.folder_fd(), kControlSocketName, 0) != 0 && errno != ENOENT) {
    return Failed(path, errno);
  }
  // The file takes the socket's mode when it is bound; at no moment is it open to others.
  if (fchmod(listener.fd.get(), 0600) != 0) return Failed(path, errno);
  const sockaddr_un name = listener.address.name();
  if (bind(listener.fd.get(), reinterpret_cast<const sockaddr*>(&name), sizeof name) != 0 ||
      listen(listener.fd.get(), SOMAXCONN) != 0 ||
      fstatat(listener.address.folder_fd(), kControlSocketName, &listener.file,
              AT_SYMLINK_NOFOLLOW) != 0) {
    return Failed(path, errno);
  }
  return listener;
}

struct Client {
  FileDescriptor fd;
  Instant accepted;
  Instant deadline;         // While it is read from or written to.
  std::string read;         // Its line so far.
  bool is_waiting = false;  // For the tuner's answer.
  std::string answer;       // Not empty: to be written.
};

}  // namespace

class ControlServer::Connections {
 public:
  Connections(Listener listener, FileDescriptor wake_fd, const Clock& clock,
              std::function<void()> wake)
      : listener_(std::move(listener)),
        wake_fd_(std::move(wake_fd)),
        clock_(clock),
        wake_(std::move(wake)),
        thread_(BeginThread([this] { Run(); })) {}

  ~Connections() {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      is_ending_ = true;
    }
    WakeThread();
    thread_.join();
    RemoveSocket();
  }

  std::vector<Arrival> Take() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return std::exchange(arrivals_, {});
  }

  void Answer(int64_t client, const ControlAnswer& answer) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      answers_.emplace_back(client, EncodeAnswer(answer) + "\n");
    }
    WakeThread();
  }

 private:
  void WakeThread() {
    const uint64_t one = 1;
    (void)!write(wake_fd_.get(), &one, sizeof one);
  }

  void Run() {
    while (!TakeAnswers()) {
      std::vector<int64_t> polled;
      std::vector<pollfd> fds = WhatToPoll(polled);
      if (poll(fds.data(), fds.size(), PollTimeout()) < 0) continue;
      if (fds[0].revents != 0) {
        uint64_t count = 0;
        (void)!read(wake_fd_.get(), &count, sizeof count);
      }
      for (size_t i = 0; i < polled.size(); ++i) {
        if (fds[i + 2].revents != 0) Serve(polled[i]);
      }
      if (fds[1].revents != 0) Accept();
      DropLate();
    }
    for (auto& [id, client] : clients_) {
      if (client.answer.empty() && client.is_waiting) {
        const Status ended = FailedPrecondition("the sweep has just ended; nothing was changed");
        client.answer = EncodeAnswer({ended, {}}) + "\n";
      }
      (void)Write(client);
    }
  }

  // Hands the tuner's answers to their clients. True: this is the end.
  bool TakeAnswers() {
    std::vector<std::pair<int64_t, std::string>> answers;
    bool is_ending = false;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      answers = std::exchange(answers_, {});
      is_ending = is_ending_;
    }
    for (auto& [id, text] : answers) {
      const auto found = clients_.find(id);
      if (found == clients_.end()) continue;  // It went away.
      StartAnswer(found->second, std::move(text));
      if (!is_ending && !Write(found->second)) clients_.erase(found);
    }
    return is_ending;
  }

  void StartAnswer(Client& client, std::string text) {
    client.is_waiting = false;
    client.answer = std::move(text);
    client.deadline = clock_.Now() + kWritePatience;
  }

  std::vector<pollfd> WhatToPoll(std::vector<int64_t>& polled) {
    const bool accepts =
        clients_.size() < kControlClientsMax && (!accept_from_ || clock_.Now() >= *accept_from_);
    std::vector<pollfd> fds = {{wake_fd_.get(), POLLIN, 0},
                               {accepts ? listener_.fd.get() : -1, POLLIN, 0}};
    for (const auto& [id, client] : clients_) {
      // Who waits is asked for nothing; that it went away is told without asking.
      const short wanted = client.is_waiting ? 0 : client.answer.empty() ? POLLIN : POLLOUT;
      fds.push_back({client.fd.get(), wanted, 0});
      polled.push_back(id);
    }
    return fds;
  }

  Instant DeadlineOf(const Client& client) const {
    const bool is_silent = client.answer.empty() && client.read.empty();
    const bool is_full = clients_.size() >= kControlClientsMax;
    return is_full && is_silent ? std::min(client.deadline, client.accepted + kSilentPatience)
                                : client.deadline;
  }

  int PollTimeout() const {
    std::optional<Instant> next = accept_from_;
    for (const auto& [id, client] : clients_) {
      if (client.is_waiting) continue;
      const Instant deadline = DeadlineOf(client);
      if (!next || deadline < *next) next = deadline;
    }
    if (!next) return -1;
    return static_cast<int>(std::clamp<int64_t>((*next - clock_.Now()).us / 1000 + 1, 0, 60'000));
  }

  void Accept() {
    accept_from_.reset();
    FileDescriptor fd(accept4(listener_.fd.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (fd.is_open()) {
      Client client;
      client.fd = std::move(fd);
      client.accepted = clock_.Now();
      client.deadline = client.accepted + kControlReadPatience;
      clients_.emplace(++last_client_, std::move(client));
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      accept_from_ = clock_.Now() + kAcceptPause;  // It still waits; poll would not.
    }
  }

  void Serve(int64_t id) {
    Client& client = clients_.at(id);
    const bool stays = client.is_waiting       ? false  // It went away.
                       : client.answer.empty() ? Read(id, client)
                                               : Write(client);
    if (!stays) clients_.erase(id);
  }

  // False: nothing more can come of it.
  bool Read(int64_t id, Client& client) {
    char bytes[65'536];
    const ssize_t size = recv(client.fd.get(), bytes, sizeof bytes, 0);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    if (size == 0) return false;
    const size_t known = client.read.size();
    client.read.append(bytes, static_cast<size_t>(size));
    const size_t end = client.read.find('\n', known);
    if (end == std::string::npos && client.read.size() <= kControlLineBytesMax) return true;
    Result<ControlRequest> request = DecodeRequest(std::string_view(client.read).substr(0, end));
    client.read.clear();
    if (!request.ok()) {
      StartAnswer(client, EncodeAnswer({request.status(), {}}) + "\n");
      return Write(client);
    }
    client.is_waiting = true;
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      arrivals_.push_back({id, *std::move(request)});
    }
    wake_();
    return true;
  }

  // False: it is done with, or gone.
  bool Write(Client& client) {
    const ssize_t size =
        send(client.fd.get(), client.answer.data(), client.answer.size(), MSG_NOSIGNAL);
    if (size < 0) return errno == EAGAIN || errno == EINTR;
    client.answer.erase(0, static_cast<size_t>(size));
    return !client.answer.empty();
  }

  void DropLate() {
    const Instant now = clock_.Now();
    for (auto it = clients_.begin(); it != clients_.end();) {  // The first to come go first.
      const bool is_late = !it->second.is_waiting && now >= DeadlineOf(it->second);
      it = is_late ? clients_.erase(it) : std::next(it);
    }
  }

  // Unless somebody has put another one there.
  void RemoveSocket() {
    struct stat file = {};
    const int folder = listener_.address.folder_fd();
    if (fstatat(folder, kControlSocketName, &file, AT_SYMLINK_NOFOLLOW) == 0 &&
        file.st_dev == listener_.file.st_dev && file.st_ino == listener_.file.st_ino) {
      (void)unlinkat(folder, kControlSocketName, 0);
    }
    const std::string& path = listener_.address.path();
    (void)rmdir(path.substr(0, path.rfind('/')).c_str());  // Fails where something else is in it.
  }

  Listener listener_;
  FileDescriptor wake_fd_;
  const Clock& clock_;
  std::function<void()> wake_;

  // The thread's own.
  std::map<int64_t, Client> clients_;
  int64_t last_client_ = 0;
  std::optional<Instant> accept_from_;

  std::mutex mutex_;  // For the three below.
  std::vector<Arrival> arrivals_;
  std::vector<std::pair<int64_t, std::string>> answers_;
  bool is_ending_ = false;

  std::thread thread_;  // Last: it uses all of the above.
};

ControlServer::ControlServer(std::unique_ptr<Connections> connections)
    : connections_(std::move(connections)) {}

ControlServer::~ControlServer() = default;

Result<std::unique_ptr<ControlServer>> ControlServer::Start(const std::string& folder,
                                                            const Clock& clock,
                                                            std::function<void()> wake) {
  TUNE_ASSIGN_OR_RETURN(Listener listener, Listen(folder));
  FileDescriptor wake_fd(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!wake_fd.is_open()) return Failed("no eventfd", errno);
  return std::unique_ptr<ControlServer>(new ControlServer(std::make_unique<Connections>(
      std::move(listener), std::move(wake_fd), clock, std::move(wake))));
}

std::vector<ControlServer::Arrival> ControlServer::Take() { return connections_->Take(); }

void ControlServer::Answer(int64_t client, const ControlAnswer& answer) {
  connections_->Answer(client, answer);
}

}  // namespace tune
