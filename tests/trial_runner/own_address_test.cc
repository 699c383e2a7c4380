// Which address and which interface of this machine others reach it by.
#include "trial_runner/worker/own_address.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <memory>
#include <vector>

#include "core/posix/file_descriptor.h"
#include "tests/e2e/free_ports.h"

namespace tune {
namespace {

using testing::FreePorts;

TEST(OwnAddress, IsTheLoopbackForWhoIsThereOrNowhere) {
  EXPECT_EQ(OwnAddress("127.0.0.1"), "127.0.0.1");
  EXPECT_EQ(OwnAddress("nowhere.invalid"), "127.0.0.1");
}

TEST(OwnAddress, BelongsToAnInterface) {
  EXPECT_EQ(InterfaceOf("127.0.0.1"), "lo");
  EXPECT_NE(InterfaceOf(OwnAddress()), "");
  EXPECT_EQ(InterfaceOf("192.0.2.1"), "") << "for documentation: nobody's";
}

// A server of the test's own, at a port of the system's choice.
TEST(ClaimPort, IsRefusedWhereAProgramListensOrAnotherWorkerClaimsIt) {
  const FileDescriptor server(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  ASSERT_EQ(listen(server.get(), 1), 0);
  sockaddr_in address = {};
  socklen_t size = sizeof address;
  ASSERT_EQ(getsockname(server.get(), reinterpret_cast<sockaddr*>(&address), &size), 0);
  const Status taken = ClaimPort(ntohs(address.sin_port)).status();
  EXPECT_EQ(taken.message(), "is in use, by a program or by another trial's ranks");

  const std::vector<int> ports = FreePorts(2);
  std::shared_ptr<const void> first = *ClaimPort(ports[0]);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(ClaimPort(ports[0]).status().code(), StatusCode::kFailedPrecondition);
  EXPECT_TRUE(ClaimPort(ports[1]).ok());
  first.reset();
  EXPECT_TRUE(ClaimPort(ports[0]).ok());
}

TEST(ClaimPort, ThatGetsNoSocketSaysWhyAndDoesNotCallThePortTaken) {
  const std::vector<int> ports = FreePorts(1);
  rlimit before = {};
  ASSERT_EQ(getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit none = before;
  none.rlim_cur = 0;
  ASSERT_EQ(setrlimit(RLIMIT_NOFILE, &none), 0);
  const Status refused = ClaimPort(ports[0]).status();
  setrlimit(RLIMIT_NOFILE, &before);
  EXPECT_EQ(refused.code(), StatusCode::kUnavailable);
  EXPECT_EQ(refused.message(), "cannot be taken: Too many open files");
  EXPECT_TRUE(ClaimPort(ports[0]).ok());
}

}  // namespace
}  // namespace tune
