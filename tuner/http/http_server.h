// Serves answers over HTTP/1.1, with TLS (1.2 and later) where it is given a certificate.
// Boost.Beast is known to its .cc file alone.
//
// A connection has 10 s to send a request and 60 s between two; headers are at most 8 KiB, bodies
// kHttpBodyBytesMax (of a submission: kSubmissionBytesMax) and of POST alone. Answers above 1 KiB
// are packed with gzip where the client takes it.
//
// Who comes is always served. There are places for 16 connections of strangers, of whom the handler
// has not yet named a client, for 48 of clients, and for 32 that listen to events. Where those of a
// kind are taken, a connection of who holds most of them is closed for the newest (fair_places.h):
// the oldest of strangers, the idlest of clients.
//
// Events are server-sent ones (the HTML standard, section 9.2): what `poll` gives goes to each
// client whose answer is an event stream, less often where answers take much time (event_pace.h). A
// client that does not read fast enough is given the
// latest event alone; one that has gone is noticed within 15 s. A client may listen four times; one
// time more is refused, and so is who would take the place of somebody that holds no more places.
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

// Asked for each new connection: what it and those after it are shown, where that has changed.
using TlsRenewal = std::function<std::optional<HttpTls>()>;

class HttpServer {
 public:
  // Listens from here on; with `tls` a request without it is answered with 400, and goes no
  // further. kUnavailable: the address is taken; kInvalidArgument: it is none of this machine's, or
  // OpenSSL does not take the certificate. A renewed one that OpenSSL does not take is left out.
  static Result<std::unique_ptr<HttpServer>> Listen(const NetworkAddress& address,
                                                    const std::optional<HttpTls>& tls,
                                                    TlsRenewal renewal, HttpHandler handler,
                                                    EventPoll poll);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Until Stop, SIGINT or SIGTERM. After SIGTERM clients that listen are told by the event "end",
  // and have a second after each answer, 1.8 s at most, to ask for what has just changed.
  virtual void Run() = 0;
  virtual void Stop() = 0;
};

}  // namespace tune
