#include "tests/e2e/delaying_forwarder.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <thread>
#include <vector>

#include "core/check.h"

namespace tune::testing {
namespace {

using Clock = std::chrono::steady_clock;

sockaddr_in AddressOf(const std::string& text) {
  const size_t colon = text.rfind(':');
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_port = htons(static_cast<uint16_t>(std::stoi(text.substr(colon + 1))));
  TUNE_CHECK(inet_pton(AF_INET, text.substr(0, colon).c_str(), &address.sin_addr) == 1);
  return address;
}

// Bytes on their way; an empty text is the end.
struct Parcel {
  Clock::time_point due;
  std::string bytes;
};

struct Way {
  int from = -1;
  int to = -1;
  std::deque<Parcel> parcels;
  bool is_ended = false;  // Nothing more comes in.
};

struct Pair {
  int near = -1;
  int far = -1;
  Way ways[2];
  bool IsOver() const {
    return ways[0].is_ended && ways[1].is_ended && ways[0].parcels.empty() &&
           ways[1].parcels.empty();
  }
};

}  // namespace

class DelayingForwarder::Loop {
 public:
  Loop(const std::string& to, int delay_ms)
      : to_(AddressOf(to)), delay_(delay_ms), stop_(eventfd(0, EFD_CLOEXEC)) {
    listener_ = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in own = AddressOf("127.0.0.1:0");
    socklen_t size = sizeof own;
    TUNE_CHECK(bind(listener_, reinterpret_cast<const sockaddr*>(&own), size) == 0);
    TUNE_CHECK(listen(listener_, 16) == 0);
    TUNE_CHECK(getsockname(listener_, reinterpret_cast<sockaddr*>(&own), &size) == 0);
    address_ = "127.0.0.1:" + std::to_string(ntohs(own.sin_port));
    thread_ = std::thread([this] { Run(); });
  }

  ~Loop() {
    const uint64_t one = 1;
    TUNE_CHECK(write(stop_, &one, sizeof one) == sizeof one);
    thread_.join();
    for (Pair& pair : pairs_) ClosePair(pair);
    close(listener_);
    close(stop_);
  }

  const std::string& address() const { return address_; }

 private:
  void Run() {
    while (true) {
      std::vector<pollfd> fds = {{stop_, POLLIN, 0}, {listener_, POLLIN, 0}};
      std::vector<Way*> readers;
      for (Pair& pair : pairs_) {
        for (Way& way : pair.ways) {
          if (way.is_ended) continue;
          fds.push_back({way.from, POLLIN, 0});
          readers.push_back(&way);
        }
      }
      TUNE_CHECK(poll(fds.data(), fds.size(), TimeoutMs()) >= 0 || errno == EINTR);
      if (fds[0].revents != 0) return;
      if (fds[1].revents != 0) Accept();
      for (size_t i = 0; i < readers.size(); ++i) {
        if (fds[i + 2].revents != 0) Read(*readers[i]);
      }
      Deliver();
    }
  }

  int TimeoutMs() const {
    auto next = Clock::time_point::max();
    for (const Pair& pair : pairs_) {
      for (const Way& way : pair.ways) {
        if (!way.parcels.empty()) next = std::min(next, way.parcels.front().due);
      }
    }
    if (next == Clock::time_point::max()) return -1;
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
    return std::max(0, static_cast<int>(wait.count()));
  }

  void Accept() {
    const int near = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    const int far = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (near < 0 || connect(far, reinterpret_cast<const sockaddr*>(&to_), sizeof to_) != 0) {
      close(near);
      close(far);
      return;
    }
    const int on = 1;
    for (const int fd : {near, far}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    Pair& pair = pairs_.emplace_back();
    pair.near = near;
    pair.far = far;
    pair.ways[0] = {near, far, {}, false};
    pair.ways[1] = {far, near, {}, false};
  }

  void Read(Way& way) {
    char buffer[64 << 10];
    const ssize_t count = recv(way.from, buffer, sizeof buffer, 0);
    way.is_ended = count <= 0;
    way.parcels.push_back({Clock::now() + delay_,
                           std::string(buffer, static_cast<size_t>(std::max<ssize_t>(0, count)))});
  }

  void Deliver() {
    const auto now = Clock::now();
    for (auto pair = pairs_.begin(); pair != pairs_.end();) {
      for (Way& way : pair->ways) {
        for (; !way.parcels.empty() && way.parcels.front().due <= now; way.parcels.pop_front()) {
          const std::string& bytes = way.parcels.front().bytes;
          if (bytes.empty()) {
            shutdown(way.to, SHUT_WR);
          } else if (send(way.to, bytes.data(), bytes.size(), MSG_NOSIGNAL) < 0) {
            way.is_ended = true;
          }
        }
      }
      const bool is_over = pair->IsOver();
      if (is_over) ClosePair(*pair);
      pair = is_over ? pairs_.erase(pair) : std::next(pair);
    }
  }

  static void ClosePair(const Pair& pair) {
    close(pair.near);
    close(pair.far);
  }

  const sockaddr_in to_;
  const std::chrono::milliseconds delay_;
  const int stop_;
  int listener_ = -1;
  std::string address_;
  std::list<Pair> pairs_;
  std::thread thread_;
};

DelayingForwarder::DelayingForwarder(const std::string& to, int delay_ms)
    : loop_(std::make_unique<Loop>(to, delay_ms)) {}

DelayingForwarder::~DelayingForwarder() = default;

const std::string& DelayingForwarder::address() const { return loop_->address(); }

}  // namespace tune::testing
