#include "trial_runner/tls/tuner_probe.h"

#include <fcntl.h>
#include <netdb.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <memory>
#include <utility>

#include "core/posix/file_descriptor.h"
#include "trial_runner/tls/openssl_types.h"

namespace tune {
namespace {

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};
using Addresses = std::unique_ptr<addrinfo, FreeAddresses>;

Result<Addresses> Resolve(const NetworkAddress& address) {
  addrinfo hints = {};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &found);
  if (error != 0) {
    return InvalidArgument("--connect: the host '" + address.host +
                           "' is not known: " + gai_strerror(error));
  }
  return Addresses(found);
}

// OpenSSL writes with write(2): for as long as this lives, a peer that has closed gives this thread
// EPIPE, and not the signal that would end the process.
class NoBrokenPipeSignal {
 public:
  NoBrokenPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    was_pending_ = IsPending();
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  ~NoBrokenPipeSignal() {
    const timespec at_once = {};
    if (!was_pending_ && IsPending()) sigtimedwait(&pipe_, nullptr, &at_once);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }
  NoBrokenPipeSignal(const NoBrokenPipeSignal&) = delete;
  NoBrokenPipeSignal& operator=(const NoBrokenPipeSignal&) = delete;

 private:
  static bool IsPending() {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, SIGPIPE) == 1;
  }

  sigset_t pipe_;
  sigset_t before_;
  bool was_pending_ = false;
};

// 0, or the errno of what went wrong.
int ConnectWithin(int fd, const addrinfo& address, Duration patience) {
  if (connect(fd, address.ai_addr, address.ai_addrlen) == 0) return 0;
  if (errno != EINPROGRESS) return errno;
  pollfd ready = {fd, POLLOUT, 0};
  const int count = poll(&ready, 1, static_cast<int>(patience.us / 1000));
  if (count == 0) return ETIMEDOUT;
  if (count < 0) return errno;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

// A listener closes what is too much before it says anything (grpc/listener.h).
Status ClosedAtOnce(const NetworkAddress& address) {
  return Unavailable("the tuner at " + address.ToText() +
                     " closed the connection before it said anything: it may have too many "
                     "connections from this address");
}

// A connected socket that blocks for at most `patience` each time.
Result<FileDescriptor> Connect(const NetworkAddress& address, Duration patience) {
  TUNE_ASSIGN_OR_RETURN(const Addresses addresses, Resolve(address));
  int error = EHOSTUNREACH;
  for (const addrinfo* one = addresses.get(); one != nullptr; one = one->ai_next) {
    FileDescriptor socket(::socket(one->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (!socket.is_open()) continue;
    error = ConnectWithin(socket.get(), *one, patience);
    if (error != 0) continue;
    const timeval wait = {static_cast<time_t>(patience.us / 1'000'000),
                          static_cast<suseconds_t>(patience.us % 1'000'000)};
    setsockopt(socket.get(), SOL_SOCKET, SO_RCVTIMEO, &wait, sizeof wait);
    setsockopt(socket.get(), SOL_SOCKET, SO_SNDTIMEO, &wait, sizeof wait);
    fcntl(socket.get(), F_SETFL, 0);  // Blocking from here on.
    return socket;
  }
  if (error == ECONNRESET) return ClosedAtOnce(address);
  return Unavailable(
      "cannot connect to the tuner at " + address.ToText() + ": " +
      (error == ECONNREFUSED ? "nobody listens there" : std::string(strerror(error))));
}

Result<OwnedSslContext> MakeContext(const WorkerIdentity& worker) {
  OwnedSslContext context(SSL_CTX_new(TLS_client_method()));
  const OwnedBio certificate_bio(
      BIO_new_mem_buf(worker.certificate.data(), static_cast<int>(worker.certificate.size())));
  const OwnedBio key_bio(BIO_new_mem_buf(worker.key.data(), static_cast<int>(worker.key.size())));
  const OwnedCertificate certificate(
      PEM_read_bio_X509(certificate_bio.get(), nullptr, nullptr, nullptr));
  const OwnedKey key(PEM_read_bio_PrivateKey(key_bio.get(), nullptr, nullptr, nullptr));
  constexpr unsigned char kHttp2[] = {2, 'h', '2'};
  if (context == nullptr || certificate == nullptr || key == nullptr ||
      SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION) != 1 ||
      SSL_CTX_use_certificate(context.get(), certificate.get()) != 1 ||
      SSL_CTX_use_PrivateKey(context.get(), key.get()) != 1 ||
      SSL_CTX_set_alpn_protos(context.get(), kHttp2, sizeof kHttp2) != 0) {
    return Internal("cannot prepare TLS: " + TakeOpensslError());
  }
  return context;
}

// The certificate with the token's fingerprint among those that the server showed, if its own one
// is signed by it.
X509* FindAuthority(SSL* ssl, const JoinToken& token) {
  X509* const own = SSL_get0_peer_certificate(ssl);
  STACK_OF(X509)* const chain = SSL_get_peer_cert_chain(ssl);
  for (int i = 0; chain != nullptr && own != nullptr && i < sk_X509_num(chain); ++i) {
    X509* const one = sk_X509_value(chain, i);
    Fingerprint fingerprint{};
    if (X509_digest(one, EVP_sha256(), fingerprint.data(), nullptr) != 1) continue;
    if (fingerprint != token.authority) continue;
    const bool is_signed = X509_verify(own, X509_get0_pubkey(one)) == 1 &&
                           X509_check_host(own, kTunerCertificateName, 0, 0, nullptr) == 1;
    ERR_clear_error();
    return is_signed ? one : nullptr;
  }
  return nullptr;
}

bool HasTimedOut(int ssl_error) {
  return ssl_error == SSL_ERROR_WANT_READ || ssl_error == SSL_ERROR_WANT_WRITE ||
         (ssl_error == SSL_ERROR_SYSCALL && (errno == EAGAIN || errno == EWOULDBLOCK));
}

// An HTTP/2 server speaks first, as soon as it has accepted who called; one that does not accept
// closes.
Status AwaitFirstByte(SSL* ssl, const std::string& tuner, const JoinToken& token) {
  char byte = 0;
  const int count = SSL_read(ssl, &byte, 1);
  if (count == 1) return OkStatus();
  const bool is_late = HasTimedOut(SSL_get_error(ssl, count));
  ERR_clear_error();
  if (is_late) return Unavailable(tuner + " does not answer");
  return FailedPrecondition(tuner + " does not know the token " + token.id_text() +
                            "; ask for another one (tune tokens --new, on the tuner's machine)");
}

}  // namespace

Result<std::string> ProbeTuner(const NetworkAddress& address, const JoinToken& token,
                               const WorkerIdentity& worker, Duration patience) {
  const std::string tuner = "the tuner at " + address.ToText();
  const NoBrokenPipeSignal no_signal;
  TUNE_ASSIGN_OR_RETURN(const FileDescriptor socket, Connect(address, patience));
  TUNE_ASSIGN_OR_RETURN(const OwnedSslContext context, MakeContext(worker));
  const OwnedSsl ssl(SSL_new(context.get()));
  if (ssl == nullptr || SSL_set_fd(ssl.get(), socket.get()) != 1) {
    return Internal("cannot prepare TLS: " + TakeOpensslError());
  }
  if (const int done = SSL_connect(ssl.get()); done != 1) {
    const bool is_late = HasTimedOut(SSL_get_error(ssl.get(), done));
    ERR_clear_error();
    if (is_late) return Unavailable(tuner + " does not answer");
    if (BIO_number_read(SSL_get_rbio(ssl.get())) == 0) return ClosedAtOnce(address);
    return FailedPrecondition(tuner +
                              " does not speak TLS; a token is for the address of a tuner " +
                              "that was started with --listen");
  }
  X509* const authority = FindAuthority(ssl.get(), token);
  if (authority == nullptr) {
    return FailedPrecondition(tuner + " is not the one that made the token " + token.id_text() +
                              ": its certificate authority is another; use the line that this " +
                              "tuner prints");
  }
  TUNE_RETURN_IF_ERROR(AwaitFirstByte(ssl.get(), tuner, token));
  return CertificateToPem(authority);
}

}  // namespace tune
