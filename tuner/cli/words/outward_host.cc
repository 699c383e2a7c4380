#include "tuner/cli/words/outward_host.h"

#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include "core/posix/host_name.h"

namespace tune {

// The address that this machine would use towards others: a datagram socket is connected, which
// sends nothing, and asked where it stands. 192.0.2.1 is for documentation (RFC 5737).
std::string OutwardHost() {
  const int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return HostName();
  sockaddr_in other = {};
  other.sin_family = AF_INET;
  other.sin_port = htons(9);
  other.sin_addr.s_addr = htonl(0xC0000201);
  sockaddr_in own = {};
  socklen_t size = sizeof own;
  char text[NI_MAXHOST] = "";
  const bool is_known = connect(fd, reinterpret_cast<const sockaddr*>(&other), sizeof other) == 0 &&
                        getsockname(fd, reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
                        getnameinfo(reinterpret_cast<const sockaddr*>(&own), size, text,
                                    sizeof text, nullptr, 0, NI_NUMERICHOST) == 0;
  close(fd);
  return is_known ? text : HostName();
}

}  // namespace tune
