// The doors of a server under real connections: strangers who say nothing, crowds, and a process
// without descriptors.
#include "trial_runner/grpc/listener.h"

#include <arpa/inet.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "core/posix/file_descriptor.h"

namespace tune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Optional;

constexpr std::chrono::seconds kPatience(20);
constexpr Duration kLong = Seconds(3600);

// Gathers what was handed on.
class Taken {
 public:
  void Add(int fd) {
    const std::lock_guard lock(mutex_);
    fds_.emplace_back(fd);
    ++count_;
    changed_.notify_all();
  }
  bool WaitFor(size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, kPatience, [&] { return count_ >= count; });
  }
  bool HasAny() {
    const std::lock_guard lock(mutex_);
    return !fds_.empty();
  }
  void CloseAll() {
    const std::lock_guard lock(mutex_);
    fds_.clear();
    count_ = 0;
  }
  // Those that were shut down, as a server does.
  void CloseEnded() {
    const std::lock_guard lock(mutex_);
    std::erase_if(fds_, [](const FileDescriptor& fd) {
      char bytes[16];
      while (recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT) > 0) {
      }
      return recv(fd.get(), bytes, sizeof bytes, MSG_DONTWAIT) == 0;
    });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<FileDescriptor> fds_;
  size_t count_ = 0;
};

class ListenerTest : public testing::Test {
 protected:
  void Listen(const ListenerRoom& room, Duration patience = kLong) {
    std::vector<Listener::Port> ports;
    ports.push_back({{"127.0.0.1", 0}, [this](int fd) { taken_.Add(fd); }});
    connections_.emplace(room);
    auto listener = Listener::Open(ports, *connections_, patience);
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
  // Speaks, and is known when it was handed on.
  void Join(const FileDescriptor& fd) {
    Speak(fd);
    ASSERT_TRUE(taken_.WaitFor(++join_count_));
    SetKnown(fd);
  }
  void SetKnown(const FileDescriptor& fd) {
    sockaddr_in own = {};
    socklen_t bytes = sizeof own;
    ASSERT_EQ(getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &bytes), 0);
    char host[INET_ADDRSTRLEN] = "";
    inet_ntop(AF_INET, &own.sin_addr, host, sizeof host);
    connections_->SetKnown(std::string(host) + ":" + std::to_string(ntohs(own.sin_port)));
  }
  // By the other side, within some time.
  static bool IsClosed(const FileDescriptor& fd, int patience_ms = 20'000) {
    pollfd ready = {fd.get(), POLLIN, 0};
    char byte = 0;
    return poll(&ready, 1, patience_ms) == 1 && recv(fd.get(), &byte, 1, 0) <= 0;
  }

  Taken taken_;
  std::optional<OpenConnections> connections_;
  std::unique_ptr<Listener> listener_;
  int port_ = 0;
  size_t join_count_ = 0;
};

TEST_F(ListenerTest, HandsAConnectionOnWhenItsPeerSpeaks) {
  Listen({10, 10, 10, 10});
  const FileDescriptor silent = Connect();
  const FileDescriptor worker = Connect();
  Speak(worker);
  EXPECT_TRUE(taken_.WaitFor(1));
  Speak(silent);
  EXPECT_TRUE(taken_.WaitFor(2));
}

TEST_F(ListenerTest, ClosesWhoIsSilentForTooLong) {
  Listen({10, 10, 10, 10}, Milliseconds(1));
  EXPECT_TRUE(IsClosed(Connect()));
}

TEST_F(ListenerTest, ACrowdOfSilentOnesLosesItsOldestAndNobodyElse) {
  Listen({20, 10, 10, 10});
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

TEST_F(ListenerTest, OfWorkersOnlySoManyAreHandedOnFromOneAddressAndFromAll) {
  Listen({10, 5, 3, 5});
  std::vector<FileDescriptor> ours;
  const auto joins = [&](const char* from) {
    ours.push_back(Connect(from));
    Join(ours.back());
  };
  for (int i = 0; i < 3; ++i) joins("127.0.0.1");
  const FileDescriptor fourth = Connect();
  Speak(fourth);
  EXPECT_TRUE(IsClosed(fourth));
  joins("127.0.0.2");
  joins("127.0.0.3");
  const FileDescriptor sixth = Connect("127.0.0.4");
  Speak(sixth);
  EXPECT_TRUE(IsClosed(sixth));
  EXPECT_THAT(connections_->TakeNotice(), Optional(HasSubstr("workers hold all 5 connections")));
  // Those that were closed count no more; that is looked at now and then.
  taken_.CloseAll();
  while (!taken_.HasAny()) {
    ours.push_back(Connect());
    Speak(ours.back());
    if (!IsClosed(ours.back(), 1'000)) break;
  }
  EXPECT_TRUE(taken_.WaitFor(1));
}

TEST_F(ListenerTest, AnAddressThatHoldsNothingGetsInThroughACrowdOfHalfDoneHandshakes) {
  Listen({100, 100, 50, 20});
  const FileDescriptor worker = Connect("127.0.0.4");
  Join(worker);
  std::vector<FileDescriptor> crowd;
  for (size_t i = 0; i < 10; ++i) {
    for (const char* const from : {"127.0.0.2", "127.0.0.3"}) {
      crowd.push_back(Connect(from));
      Speak(crowd.back());
      ASSERT_TRUE(taken_.WaitFor(1 + crowd.size()));
    }
  }
  EXPECT_EQ(connections_->TakeNotice(), std::nullopt);
  const FileDescriptor next = Connect("127.0.0.5");
  Speak(next);
  EXPECT_TRUE(taken_.WaitFor(crowd.size() + 2));
  EXPECT_TRUE(IsClosed(crowd.front())) << "the oldest of whoever has most";
  EXPECT_THAT(connections_->TakeNotice(),
              Optional(AllOf(HasSubstr("a crowd of connections that do not join"),
                             HasSubstr(": 20, 10 of them from 127.0.0.2;"))));
  // More and more of them: whoever holds little stays, and so does whoever has joined.
  for (int i = 0; i < 100; ++i) {
    crowd.push_back(Connect(i % 2 == 0 ? "127.0.0.2" : "127.0.0.3"));
    Speak(crowd.back());
    ASSERT_TRUE(taken_.WaitFor(crowd.size() + 2)) << i;
    taken_.CloseEnded();
  }
  EXPECT_TRUE(IsClosed(crowd[80]));
  EXPECT_FALSE(IsClosed(next, 0));
  EXPECT_FALSE(IsClosed(worker, 0));
  EXPECT_EQ(connections_->TakeNotice(), std::nullopt) << "it is said once";
}

// As a server does that is busy: whom a crowd has pushed out is shut down and keeps its descriptor.
TEST_F(ListenerTest, WhoSpeaksWhileThoseWhoWereShutDownAreNotClosedWaitsForThem) {
  Listen({100, 100, 50, 4});
  std::vector<FileDescriptor> crowd;
  for (size_t i = 0; i < 8; ++i) {
    crowd.push_back(Connect("127.0.0.2"));
    Speak(crowd.back());
    ASSERT_TRUE(taken_.WaitFor(crowd.size()));
  }
  for (int i = 0; i < 20; ++i) {
    crowd.push_back(Connect("127.0.0.2"));
    Speak(crowd.back());
  }
  const FileDescriptor worker = Connect("127.0.0.5");
  Speak(worker);
  EXPECT_FALSE(IsClosed(worker, 100));
  // Four of twenty-one come in; who has fewest does at once.
  taken_.CloseEnded();
  ASSERT_TRUE(taken_.WaitFor(crowd.size() - 20 + 4));
  SetKnown(worker);
  taken_.CloseEnded();
  ASSERT_TRUE(taken_.WaitFor(crowd.size() - 20 + 8));
  EXPECT_FALSE(IsClosed(worker, 0));
}

TEST_F(ListenerTest, GoesOnAfterTheProcessHadNoDescriptorsLeft) {
  Listen({10, 10, 10, 10});
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
  Listen({10, 10, 10, 10});
  for (const NetworkAddress& address :
       {NetworkAddress{"127.0.0.1", port_}, NetworkAddress{"192.0.2.1", 0}}) {
    std::vector<Listener::Port> ports = {{address, [](int fd) { close(fd); }}};
    const auto refused = Listener::Open(ports, *connections_, kLong);
    ASSERT_FALSE(refused.ok());
    EXPECT_EQ(refused.status().code(), StatusCode::kUnavailable);
    EXPECT_NE(refused.status().message().find("cannot listen on " + address.ToText()),
              std::string::npos);
  }
}

TEST_F(ListenerTest, DoesNotBlameAnAddressForAWantOfDescriptors) {
  Listen({10, 10, 10, 10});
  std::vector<Listener::Port> ports = {{{"127.0.0.1", 0}, [](int fd) { close(fd); }}};
  std::vector<FileDescriptor> all;
  do {
    all.emplace_back(dup(STDERR_FILENO));
  } while (all.back().is_open());
  all.resize(all.size() - 3);  // A listener has two of its own before its sockets.
  const auto refused = Listener::Open(ports, *connections_, kLong);
  all.clear();
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.status().message().find("Too many open files, which says nothing of the"),
            std::string::npos)
      << refused.status().message();
}

TEST(OwnerOfAddress, IsAnIpv4AddressAsItIsAndTheNetworkOfAnIpv6One) {
  const std::string four = "\x0a\x01\x02\x03";
  const std::string mapped = std::string(10, '\0') + "\xff\xff" + four;
  EXPECT_EQ(OwnerOfAddress(four), four);
  EXPECT_EQ(OwnerOfAddress(mapped), four);
  const std::string network = "\x20\x01\x0d\xb8\x01\x02\x03\x04";
  EXPECT_EQ(OwnerOfAddress(network + "machine1"), network);
  EXPECT_EQ(OwnerOfAddress(network + "machine2"), network);
}

TEST(ListenerRoom, LeavesDescriptorsForTheProcessItself) {
  for (const int64_t limit : {128, 1024, 20'000, 1'000'000}) {
    const ListenerRoom room = RoomWithin(limit);
    EXPECT_LE(room.silent_max + room.open_max + room.stranger_max, limit - 48) << limit;
    EXPECT_GT(room.stranger_max, 0) << limit;
    EXPECT_GE(room.silent_max, 10) << limit;
    EXPECT_GT(room.open_of_one_max, 0) << limit;
  }
  EXPECT_GE(RoomWithin(20'000).silent_max, 10'000);
}

}  // namespace
}  // namespace tune
