// Serves answers over HTTP/1.1. Boost.Beast is known to its .cc file alone.
//
// A connection has 10 s to send a request and 60 s between two; headers are at most 8 KiB, bodies
// are refused; beyond 64 connections new ones wait. Answers above 1 KiB are packed with gzip where
// the client takes it.
//
// Thread rule: all in the thread of Run; Stop from any.
#pragma once

#include <functional>
#include <memory>

#include "core/status.h"
#include "trial_runner/network_address.h"
#include "tuner/http/http_message.h"

namespace tune {

using HttpHandler = std::function<HttpAnswer(const HttpRequest&)>;

class HttpServer {
 public:
  // Listens from here on. kUnavailable: the address is taken; kInvalidArgument: it is none of this
  // machine's.
  static Result<std::unique_ptr<HttpServer>> Listen(const NetworkAddress& address,
                                                    HttpHandler handler);
  virtual ~HttpServer() = default;

  virtual int port() const = 0;
  // Until Stop, or SIGINT or SIGTERM.
  virtual void Run() = 0;
  virtual void Stop() = 0;
};

}  // namespace tune
