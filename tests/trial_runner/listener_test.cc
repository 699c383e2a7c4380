// The doors of a server under real connections: strangers who say nothing, crowds, and a process
// without descriptors.
#include "trial_runner/grpc/listener.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

#include "core/posix/file_descriptor.h"

namespace tune {
namespace {

constexpr std::chrono::seconds kPatience(20);
constexpr Duration kLong = Seconds(3600);

// Gathers what was handed on.
class Taken {
 public:
  void Add(int fd) {
    const std::lock_guard lock(mutex_);
    fds_.emplace_back(fd);
    changed_.notify_all();
  }
  bool WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return fds_.size() >= count; });
  }
  bool HasAny() {
    const std::lock_guard lock(mutex_);
    return !fds_.empty();
  }
  void CloseAll() {
    const std::lock_guard lock(mutex_);
    fds_.clear();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FileDescriptor> fds_;
};

class ListenerTest : public testing::Test {
 protected:
  void Listen(const ListenerRoom& room, Duration patience = kLong) {
    std::vector<Listener::Port> ports;
    ports.push_back({{"127.0.0.1", 0}, [this](int fd) { taken_.Add(fd); }});
    auto listener = Listener::Open(ports, room, patience);
    ASSERT_TRUE(listener.ok()) << listener.status().message();
    listener_ = *std::move(listener);
    port_ = ports[0].address.port;
  }
  FileDescriptor Connect(const char* from = "127.0.0.1") const {
    FileDescriptor fd(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_in own = {};
    own.sin_family = AF_INET;
    inet_pton(AF_INET, from, &own.sin_addr);
    EXPECT_EQ(bind(fd.get(), reinterpret_cast<sockaddr*>(&own), sizeof own), 0);
    sockaddr_in to = {};
    to.sin_family = AF_INET;
    to.sin_port = htons(static_cast<uint16_t>(port_));
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    EXPECT_EQ(connect(fd.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
    return fd;
  }
  static void Speak(const FileDescriptor& fd) {
    EXPECT_EQ(send(fd.get(), "x", 1, MSG_NOSIGNAL), 1);
  }
  // By the other side, within some time.
  static bool IsClosed(const FileDescriptor& fd, int patience_ms = 20'000) {
    pollfd ready = {fd.get(), POLLIN, 0};
    char byte = 0;
    return poll(&ready, 1, patience_ms) == 1 && recv(fd.get(), &byte, 1, 0) <= 0;
  }

  Taken taken_;
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
};

TEST_F(ListenerTest, HandsAConnectionOnWhenItsPeerSpeaks) {
  Listen({10, 10, 10});
  const FileDescriptor silent = Connect();
  const FileDescriptor worker = Connect();
  Speak(worker);
  EXPECT_TRUE(taken_.WaitFor(1));
  Speak(silent);
  EXPECT_TRUE(taken_.WaitFor(2));
}

TEST_F(ListenerTest, ClosesWhoIsSilentForTooLong) {
  Listen({10, 10, 10}, Milliseconds(1));
  EXPECT_TRUE(IsClosed(Connect()));
}

TEST_F(ListenerTest, ACrowdOfSilentOnesLosesItsOldestAndNobodyElse) {
  Listen({20, 10, 10});
  const FileDescriptor other = Connect("127.0.0.2");
  std::vector<FileDescriptor> crowd;
  for (int i = 0; i < 200; ++i) crowd.push_back(Connect());
  EXPECT_TRUE(IsClosed(crowd.front()));
  EXPECT_TRUE(IsClosed(crowd[150]));
  // The latest one, of that address and of another.
  Speak(crowd.back());
  EXPECT_TRUE(taken_.WaitFor(1));
  Speak(other);
  EXPECT_TRUE(taken_.WaitFor(2));
}

TEST_F(ListenerTest, OfOneAddressAndOfAllOnlySoManyAreHandedOn) {
  Listen({10, 5, 3});
  std::vector<FileDescriptor> ours;
  const auto speaks_and_is_taken = [&](const char* from, size_t count) {
    ours.push_back(Connect(from));
    Speak(ours.back());
    return taken_.WaitFor(count);
  };
  for (size_t i = 1; i <= 3; ++i) ASSERT_TRUE(speaks_and_is_taken("127.0.0.1", i));
  const FileDescriptor fourth = Connect();
  Speak(fourth);
  EXPECT_TRUE(IsClosed(fourth));
  ASSERT_TRUE(speaks_and_is_taken("127.0.0.2", 4));
  ASSERT_TRUE(speaks_and_is_taken("127.0.0.3", 5));
  const FileDescriptor sixth = Connect("127.0.0.4");
  Speak(sixth);
  EXPECT_TRUE(IsClosed(sixth));
  // Those that were closed count no more; that is looked at now and then.
  taken_.CloseAll();
  while (!taken_.HasAny()) {
    ours.push_back(Connect());
    Speak(ours.back());
    if (!IsClosed(ours.back(), 1'000)) break;
  }
  EXPECT_TRUE(taken_.WaitFor(1));
}

TEST_F(ListenerTest, GoesOnAfterTheProcessHadNoDescriptorsLeft) {
  Listen({10, 10, 10});
  FileDescriptor first(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  std::vector<FileDescriptor> all;
  do {
    all.emplace_back(dup(STDERR_FILENO));
  } while (all.back().is_open());
  ASSERT_EQ(errno, EMFILE);
  sockaddr_in to = {};
  to.sin_family = AF_INET;
  to.sin_port = htons(static_cast<uint16_t>(port_));
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  ASSERT_EQ(connect(first.get(), reinterpret_cast<sockaddr*>(&to), sizeof to), 0);
  Speak(first);
  all.clear();
  EXPECT_TRUE(taken_.WaitFor(1));
}

TEST_F(ListenerTest, SaysWhatItCannotListenOn) {
  Listen({10, 10, 10});
  for (const NetworkAddress& address :
       {NetworkAddress{"127.0.0.1", port_}, NetworkAddress{"192.0.2.1", 0}}) {
    std::vector<Listener::Port> ports = {{address, [](int fd) { close(fd); }}};
    const auto refused = Listener::Open(ports, {10, 10, 10}, kLong);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
    EXPECT_NE(refused.status().message().find("cannot listen on " + address.ToText()),
              std::string::npos);
  }
}

TEST(ListenerRoom, LeavesDescriptorsForTheProcessItself) {
  for (const int64_t limit : {128, 1024, 20'000, 1'000'000}) {
    const ListenerRoom room = RoomWithin(limit);
    EXPECT_LE(room.silent_max + room.open_max, limit - 48) << limit;
    EXPECT_GE(room.silent_max, 10) << limit;
    EXPECT_GT(room.open_of_one_max, 0) << limit;
  }
  EXPECT_GE(RoomWithin(20'000).silent_max, 10'000);
}

}  // namespace
}  // namespace tune
