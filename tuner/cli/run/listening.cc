#include "tuner/cli/run/listening.h"

#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <optional>

#include "core/hash.h"
#include "core/posix/real_clock.h"
#include "trial_runner/network_address.h"
#include "trial_runner/tls/tls_folder.h"
#include "tuner/cli/words/outward_host.h"

namespace tune {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

// 0, or the errno that forbids it.
int BindOnce(const addrinfo& address) {
  const int fd = socket(address.ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return errno;
  const int on = 1;
  setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  const int error = bind(fd, address.ai_addr, address.ai_addrlen) == 0 ? 0 : errno;
  close(fd);
  return error;
}

Status CheckAddressIsFree(const NetworkAddress& address) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE;
  addrinfo* list = nullptr;
  const int unknown =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &list);
  if (unknown != 0) {
    return InvalidArgument("the host '" + address.host +
                           "' is not known: " + gai_strerror(unknown));
  }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(list);
  int error = EADDRNOTAVAIL;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    error = BindOnce(*one);
    if (error == 0) return OkStatus();
  }
  if (error == EADDRNOTAVAIL) {
    return InvalidArgument("'" + address.host +
                           "' is no address of this machine; 0.0.0.0 stands for all of them");
  }
  return InvalidArgument(std::string("cannot be listened on: ") + strerror(error) +
                         "; choose another port, or 0 for any");
}

}  // namespace

Status CheckListen(const std::string& listen) {
  if (listen.empty()) return OkStatus();
  const Result<NetworkAddress> address = ParseNetworkAddress(listen);
  if (!address.ok()) return address.status().At("--listen");
  return CheckAddressIsFree(*address).At("--listen " + listen);
}

Result<std::string> ListenOfResume(const std::string& listen, const std::string& artifacts_dir,
                                   const std::string& sweep) {
  if (listen == kListenOff) return std::string();
  if (!listen.empty()) return listen;
  const Result<TlsFolder> folder = TlsFolder::Open(TlsFolderOf(artifacts_dir));
  if (!folder.ok()) {
    if (folder.status().code() == StatusCode::kNotFound) return std::string();
    return folder.status();
  }
  TUNE_ASSIGN_OR_RETURN(const std::optional<std::string> address, folder->ListenAddressOf(sweep));
  if (!address) return std::string();
  const Status status = CheckListen(*address);
  if (status.ok()) return *address;
  return InvalidArgument(status.message() + " (this sweep listened there before; --listen " +
                         kListenOff + " goes on without other machines)");
}

std::string JoinLine(const std::string& address, const std::string& token) {
  std::string shown = address;
  if (const Result<NetworkAddress> read = ParseNetworkAddress(address);
      read.ok() && read->is_any()) {
    shown = NetworkAddress{OutwardHost(), read->port}.ToText();
  }
  return "tune worker --connect " + shown + " --join " + token;
}

std::string DrawLocalSecret() { return HashToHex(DrawEntropy()) + HashToHex(DrawEntropy()); }

Result<std::unique_ptr<Listening>> Listening::Prepare(const std::string& listen,
                                                      const std::string& artifacts_dir,
                                                      const Clock& clock) {
  TUNE_ASSIGN_OR_RETURN(TlsFolder folder, TlsFolder::OpenOrMake(TlsFolderOf(artifacts_dir)));
  std::unique_ptr<Listening> listening(new Listening(std::move(folder), clock));
  const TunerIdentity& identity = listening->folder_.identity();
  listening->options_ = {listen, identity.certificate + identity.authority, identity.key,
                         &listening->gate_};
  return listening;
}

Result<std::string> Listening::Invite(const std::string& sweep, const std::string& address,
                                      Duration validity) {
  TUNE_RETURN_IF_ERROR(folder_.KeepListenAddress(sweep, address));
  TUNE_ASSIGN_OR_RETURN(const NewToken token, MakeToken(folder_, clock_.Now(), validity));
  return JoinLine(address, token.text);
}

Status ForgetListening(const std::string& artifacts_dir, const std::string& sweep) {
  Result<TlsFolder> folder = TlsFolder::Open(TlsFolderOf(artifacts_dir));
  if (!folder.ok()) return OkStatus();
  TUNE_ASSIGN_OR_RETURN(const std::optional<std::string> address, folder->ListenAddressOf(sweep));
  return address ? folder->KeepListenAddress(sweep, std::nullopt) : OkStatus();
}

}  // namespace tune
