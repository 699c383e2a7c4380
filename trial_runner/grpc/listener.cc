#include "trial_runner/grpc/listener.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <utility>

#include "core/check.h"
#include "core/posix/file_descriptor.h"
#include "core/posix/threads.h"

namespace tune {
namespace {

using SteadyClock = std::chrono::steady_clock;
using Moment = SteadyClock::time_point;

constexpr int kBacklog = 4096;
constexpr size_t kMappedAt = 12;  // Where the IPv4 address stands in an IPv6 one that is mapped.
constexpr std::chrono::milliseconds kAcceptPause(100);  // Without descriptors or memory.
constexpr std::chrono::milliseconds kReopenPause(1000);
constexpr std::chrono::milliseconds kOfferPause(10);
constexpr uint64_t kWakeTag = 0;  // Sockets have 1 to kSocketsMax, connections the rest.
constexpr uint64_t kSocketsMax = 1000;

// `error`: 0 where it is not known.
Status CannotListen(const NetworkAddress& address, int error) {
  const std::string what = "cannot listen on " + address.ToText() + ": ";
  switch (error) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM:
      return Unavailable(what + std::strerror(error) +
                         ", which says nothing of the address; raise the limit (ulimit -n) or end "
                         "what else runs here");
    default:
      return Unavailable(what +
                         "it is no address of this machine, or the port is in use or not "
                         "permitted; choose another, or 0 for any");
  }
}

struct SocketAddress {
  sockaddr_storage storage = {};
  socklen_t bytes = sizeof(sockaddr_storage);

  sockaddr* get() { return reinterpret_cast<sockaddr*>(&storage); }
  void SetPort(int port) {
    const auto number = htons(static_cast<uint16_t>(port));
    if (storage.ss_family == AF_INET6) {
      reinterpret_cast<sockaddr_in6*>(&storage)->sin6_port = number;
    } else {
      reinterpret_cast<sockaddr_in*>(&storage)->sin_port = number;
    }
  }
  int port() const {
    return ntohs(storage.ss_family == AF_INET6
                     ? reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_port
                     : reinterpret_cast<const sockaddr_in*>(&storage)->sin_port);
  }
  // "10.0.0.7:41230", "[::1]:41230".
  std::string ToText() const {
    char text[INET6_ADDRSTRLEN] = "";
    const auto with_port = [&](const char* before, const char* after) {
      return before + std::string(text) + after + ":" + std::to_string(port());
    };
    if (storage.ss_family != AF_INET6) {
      inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr, text,
                sizeof text);
      return with_port("", "");
    }
    const auto& address = reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr;
    if (IN6_IS_ADDR_V4MAPPED(&address)) {
      inet_ntop(AF_INET, address.s6_addr + kMappedAt, text, sizeof text);
      return with_port("", "");
    }
    inet_ntop(AF_INET6, &address, text, sizeof text);
    return with_port("[", "]");
  }
  std::string Owner() const {
    const auto owner_of = [](const auto& address) {
      return OwnerOfAddress({reinterpret_cast<const char*>(&address), sizeof address});
    };
    return storage.ss_family == AF_INET6
               ? owner_of(reinterpret_cast<const sockaddr_in6*>(&storage)->sin6_addr)
               : owner_of(reinterpret_cast<const sockaddr_in*>(&storage)->sin_addr);
  }
};

std::vector<SocketAddress> Resolve(const NetworkAddress& address) {
  addrinfo hints = {};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* found = nullptr;
  std::vector<SocketAddress> resolved;
  if (getaddrinfo(address.host.c_str(), nullptr, &hints, &found) != 0) return resolved;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    SocketAddress& socket_address = resolved.emplace_back();
    std::memcpy(&socket_address.storage, one->ai_addr, one->ai_addrlen);
    socket_address.bytes = one->ai_addrlen;
    socket_address.SetPort(address.port);
  }
  freeaddrinfo(found);
  return resolved;
}

// Not open: it cannot be, as errno says. Two tuners on one port would share its workers in silence:
// no REUSEPORT.
FileDescriptor ListenOn(SocketAddress& address) {
  FileDescriptor fd(
      socket(address.storage.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int yes = 1;
  const int no = 0;
  if (!fd.is_open()) return fd;
  setsockopt(fd.get(), SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (address.storage.ss_family == AF_INET6) {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &no, sizeof no);
  }
  const bool listens = bind(fd.get(), address.get(), address.bytes) == 0 &&
                       listen(fd.get(), kBacklog) == 0 &&
                       getsockname(fd.get(), address.get(), &address.bytes) == 0;
  if (listens) return fd;
  const int error = errno;
  fd.Close();
  errno = error;
  return fd;
}

}  // namespace

class Listener::Loop {
 public:
  Loop(OpenConnections& connections, Duration patience)
      : connections_(connections),
        patience_(std::chrono::microseconds(patience.us)),
        epoll_(epoll_create1(EPOLL_CLOEXEC)),
        wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

  ~Loop() {
    if (!thread_.joinable()) return;
    const uint64_t one = 1;
    TUNE_CHECK(write(wake_.get(), &one, sizeof one) == sizeof one);
    thread_.join();
  }

  Status Add(Port& port) {
    const NetworkAddress wanted = port.address;
    for (SocketAddress& address : Resolve(port.address)) {
      // The other addresses of a host get the number that the first one got.
      if (port.address.port != 0) address.SetPort(port.address.port);
      FileDescriptor fd = ListenOn(address);
      if (!fd.is_open()) return CannotListen(wanted, errno);
      port.address.port = address.port();
      sockets_.push_back({std::move(fd), address, port.take, std::nullopt});
    }
    const bool listens = port.address.port != 0 && sockets_.size() < kSocketsMax;
    return listens ? OkStatus() : CannotListen(wanted, 0);
  }

  Status Begin() {
    if (!epoll_.is_open() || !wake_.is_open() || !Watch(wake_.get(), kWakeTag)) {
      return Unavailable(std::string("cannot listen: ") + std::strerror(errno));
    }
    for (size_t i = 0; i < sockets_.size(); ++i) {
      if (!Watch(sockets_[i].fd.get(), i + 1)) {
        return Unavailable(std::string("cannot listen: ") + std::strerror(errno));
      }
    }
    thread_ = BeginThread([this] { Run(); });
    return OkStatus();
  }

 private:
  struct Socket {
    FileDescriptor fd;  // Closed: it is to be made anew.
    SocketAddress address;
    std::function<void(int fd)> take;
    std::optional<Moment> pause_until;
  };
  struct Silent {
    FileDescriptor fd;
    OpenConnections::Peer peer;
    size_t socket = 0;
    Moment until;
  };

  bool Watch(int fd, uint64_t tag) const {
    epoll_event event = {};
    event.events = EPOLLIN;
    event.data.u64 = tag;
    return epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) == 0;
  }
  void Unwatch(int fd) const { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

  void Run() {
    constexpr int kEventsMax = 256;
    epoll_event events[kEventsMax];
    while (true) {
      const int count = epoll_wait(epoll_.get(), events, kEventsMax, PatienceMs());
      TUNE_CHECK(count >= 0 || errno == EINTR);
      for (int i = 0; i < count; ++i) {
        const uint64_t tag = events[i].data.u64;
        if (tag == kWakeTag) return;
        if (tag <= kSocketsMax) {
          Accept(tag - 1);
        } else {
          Hear(tag);
        }
      }
      const Moment now = SteadyClock::now();
      while (!silent_.empty() && silent_.begin()->second.until <= now) Drop(silent_.begin()->first);
      if (!speakers_.empty() && offer_at_ <= now) OfferSpeakers(now);
      for (size_t i = 0; i < sockets_.size(); ++i) GoOn(i, now);
    }
  }

  // Until the next thing that is due; -1: nothing is.
  int PatienceMs() const {
    std::optional<Moment> due;
    if (!silent_.empty()) due = silent_.begin()->second.until;
    if (!speakers_.empty() && (!due || offer_at_ < *due)) due = offer_at_;
    for (const Socket& socket : sockets_) {
      if (socket.pause_until && (!due || *socket.pause_until < *due)) due = socket.pause_until;
    }
    if (!due) return -1;
    const auto left =
        std::chrono::duration_cast<std::chrono::milliseconds>(*due - SteadyClock::now());
    return static_cast<int>(std::clamp<int64_t>(left.count() + 1, 0, 60'000));
  }

  // A few at a time: those who speak have their turn too.
  void Accept(size_t index) {
    constexpr int kAcceptsMax = 64;
    Socket& socket = sockets_[index];
    for (int i = 0; i < kAcceptsMax && socket.fd.is_open() && !socket.pause_until; ++i) {
      SocketAddress peer;
      FileDescriptor fd(
          accept4(socket.fd.get(), peer.get(), &peer.bytes, SOCK_NONBLOCK | SOCK_CLOEXEC));
      if (fd.is_open()) {
        Admit(std::move(fd), {peer.Owner(), peer.ToText()}, index);
        continue;
      }
      switch (errno) {
        case EAGAIN:
          return;
        case EINTR:
        case ECONNABORTED:
        case EPROTO:
        case EPERM:  // A firewall's word about that one connection.
        case ENETDOWN:
        case ENETUNREACH:
        case EHOSTDOWN:
        case EHOSTUNREACH:
        case ENOPROTOOPT:
        case ENONET:
        case EOPNOTSUPP:
        case ETIMEDOUT:
          continue;
        case EMFILE:
        case ENFILE:
        case ENOBUFS:
        case ENOMEM:
          if (!silent_.empty()) {
            DropOne();
          } else {
            Pause(index, kAcceptPause);
          }
          continue;
        default:
          socket.fd.Close();
          Pause(index, kReopenPause);
      }
    }
  }

  void Pause(size_t index, std::chrono::milliseconds duration) {
    Socket& socket = sockets_[index];
    if (socket.fd.is_open()) Unwatch(socket.fd.get());
    socket.pause_until = SteadyClock::now() + duration;
  }

  void GoOn(size_t index, Moment now) {
    Socket& socket = sockets_[index];
    if (!socket.pause_until || *socket.pause_until > now) return;
    if (!socket.fd.is_open()) socket.fd = ListenOn(socket.address);
    if (socket.fd.is_open() && Watch(socket.fd.get(), index + 1)) {
      socket.pause_until.reset();
    } else {
      socket.pause_until = now + kReopenPause;
    }
  }

  void Admit(FileDescriptor fd, OpenConnections::Peer peer, size_t socket) {
    while (static_cast<int64_t>(silent_.size()) >= connections_.room().silent_max) DropOne();
    const uint64_t tag = ++last_tag_;
    if (!Watch(fd.get(), tag)) return;
    by_owner_[peer.owner].insert(tag);
    silent_.emplace(tag,
                    Silent{std::move(fd), std::move(peer), socket, SteadyClock::now() + patience_});
  }

  // The oldest of the one who has most.
  void DropOne() {
    const auto most = std::max_element(
        by_owner_.begin(), by_owner_.end(),
        [](const auto& a, const auto& b) { return a.second.size() < b.second.size(); });
    const uint64_t oldest = *most->second.begin();
    connections_.NoteSilentCrowd(static_cast<int64_t>(silent_.size()), silent_.at(oldest).peer,
                                 static_cast<int64_t>(most->second.size()));
    Drop(oldest);
  }

  FileDescriptor Drop(uint64_t tag) {
    const auto found = silent_.find(tag);
    const auto owned = by_owner_.find(found->second.peer.owner);
    owned->second.erase(tag);
    if (owned->second.empty()) by_owner_.erase(owned);
    if (const auto spoken = speakers_.find(found->second.peer.owner); spoken != speakers_.end()) {
      spoken->second.erase(tag);
      if (spoken->second.empty()) speakers_.erase(spoken);
    }
    FileDescriptor fd = std::move(found->second.fd);
    silent_.erase(found);
    return fd;
  }

  void Hear(uint64_t tag) {
    const auto found = silent_.find(tag);
    if (found == silent_.end()) return;  // Dropped since.
    const int peer = found->second.fd.get();
    char first = 0;
    const ssize_t count = recv(peer, &first, 1, MSG_PEEK | MSG_DONTWAIT);
    if (count < 0 && (errno == EAGAIN || errno == EINTR)) return;
    Unwatch(peer);
    if (count <= 0) {
      Drop(tag);
      return;
    }
    speakers_[found->second.peer.owner].insert(tag);
    OfferSpeakers(SteadyClock::now());
  }

  // Until one of them has to wait. Those who have fewest here go first: no crowd is before them.
  void OfferSpeakers(Moment now) {
    while (!speakers_.empty()) {
      const auto fewest = std::min_element(
          speakers_.begin(), speakers_.end(), [this](const auto& a, const auto& b) {
            return by_owner_.at(a.first).size() < by_owner_.at(b.first).size();
          });
      if (!Offer(*fewest->second.begin())) break;
    }
    offer_at_ = now + kOfferPause;
  }

  // False: it waits, as it is.
  bool Offer(uint64_t tag) {
    const Silent& silent = silent_.at(tag);
    // Counted first: whoever it is handed to may learn at once who speaks.
    const OpenConnections::Room room = connections_.Add(silent.fd.get(), silent.peer);
    if (room == OpenConnections::Room::kLater) return false;
    const size_t socket = silent.socket;
    FileDescriptor fd = Drop(tag);
    if (room == OpenConnections::Room::kNone) return true;
    const int yes = 1;
    setsockopt(fd.get(), IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    sockets_[socket].take(fd.Release());
    return true;
  }

  OpenConnections& connections_;
  const std::chrono::microseconds patience_;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  std::vector<Socket> sockets_;
  std::thread thread_;

  // Of the thread alone.
  uint64_t last_tag_ = kSocketsMax;
  std::map<uint64_t, Silent> silent_;  // In the order of their coming.
  std::map<std::string, std::set<uint64_t>> by_owner_;
  std::map<std::string, std::set<uint64_t>> speakers_;  // Of them, those who have spoken and wait.
  Moment offer_at_;
};

Listener::Listener(std::unique_ptr<Loop> loop) : loop_(std::move(loop)) {}

Listener::~Listener() = default;

Result<std::unique_ptr<Listener>> Listener::Open(std::vector<Port>& ports,
                                                 OpenConnections& connections, Duration patience) {
  auto loop = std::make_unique<Loop>(connections, patience);
  for (Port& port : ports) TUNE_RETURN_IF_ERROR(loop->Add(port));
  TUNE_RETURN_IF_ERROR(loop->Begin());
  return std::unique_ptr<Listener>(new Listener(std::move(loop)));
}

}  // namespace tune
