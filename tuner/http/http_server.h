// Serves answers over HTTP/1.1, with TLS (1.2 and later) where it is given a certificate.
// Boost.Beast is known to its .cc file alone.
//
// A connection has 10 s to send a request and 60 s between two; headers are at most 8 KiB, bodies
// kHttpBodyBytesMax and of POST alone; beyond 64 connections new ones wait. Of them 16 may be
// strangers, who have not yet sent a request that the handler knew them by; beyond these the oldest
// stranger is closed for the newest. Answers above 1 KiB are
// packed with gzip where the client takes it.
//
// Events are server-sent ones (the HTML standard, section 9.2): what `poll` gives goes to each
// client whose answer is an event stream, less often where answers take much time (event_pace.h). A
// client that does not read fast enough is given the
// latest event alone; one that has gone is noticed within 15 s. Beyond 32 clients that listen, the
// next is refused.
//
// Thread rule: all in the thread of Run; Stop from any.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "core/status.h"
#include "trial_runner/network_address.h"
#include "tuner/http/http_message.h"

namespace tune {

using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;
// Called about ten times a second while a client listens: the next event's data, one line; "" while
// there is nothing to tell.
using EventPoll = std::function<std::string()>;

// Both PEM.
struct HttpTls {
  std::string certificates;  // The server's, and behind it those that lead to its authority.
  std::string key;
};

class HttpServer {
 public:
  // Listens from here on; with `tls` a request without it is answered with 400, and goes no
  // further. kUnavailable: the address is taken; kInvalidArgument: it is none of this machine's, or
  // OpenSSL does not take the certificate.
  static Result<std::unique_ptr<HttpServer>> Listen(const NetworkAddress& address,
                                                    const std::optional<HttpTls>& tls,
                                                    HttpHandler handler, EventPoll poll);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Until Stop, SIGINT or SIGTERM. After SIGTERM clients that listen are told by the event "end",
  // and have a second after each answer, 1.8 s at most, to ask for what has just changed.
  virtual void Run() = 0;
  virtual void Stop() = 0;
};

}  // namespace tune
