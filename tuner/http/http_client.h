// Asks a head over HTTP/1.1, with TLS (1.2 and later) where its address says so. Boost.Beast is
// known to its .cc file alone.
//
// Who is asked is known before the key is sent: by the fingerprint of its certificate, where one is
// given, else by the authorities that this machine trusts and the name in the address.
//
// Thread rule: one thread. Each call waits for its end, `patience` at most between two pieces of an
// answer.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "core/status.h"
#include "core/time.h"
#include "trial_runner/network_address.h"

namespace tune {

// Where a server is, and by which key.
struct HttpPlace {
  NetworkAddress address;
  bool is_tls = false;
  std::string certificate;  // SHA-256 of its certificate, 64 lower-case digits; "": not known.
  std::string key;          // Sent as a bearer's.
};

// "https://192.0.2.2:8080/?key=K&cert=14ab...", as a head prints it. kInvalidArgument says what is
// wrong with it: no key, another scheme; without TLS beyond this machine.
Result<HttpPlace> ReadHttpPlace(std::string_view url);

struct HttpReply {
  int status = 0;
  std::string content_type;
  std::string body;  // Empty where it was taken piece by piece.
};

class HttpClient {
 public:
  HttpClient(HttpPlace place, Duration patience);
  ~HttpClient();

  // `target`: "/api/v1/jobs?open=1". kUnavailable: nobody is there, or the connection broke: what
  // was asked may have been done. kFailedPrecondition: it is not the server that was meant, or of
  // another protocol than ours (client_protocol.h).
  Result<HttpReply> Get(const std::string& target);
  // Whether somebody ever answered there: who did may come back.
  bool has_connected() const { return has_connected_; }
  Result<HttpReply> Post(const std::string& target, const std::string& content_type,
                         std::string body);
  // An answer with status 200 is given to `take` as it comes; false: no more is wanted.
  using Take = std::function<bool(std::string_view)>;
  Result<HttpReply> PostAndTake(const std::string& target, const std::string& content_type,
                                std::string body, const Take& take);

 private:
  class Connection;

  Result<HttpReply> Ask(const std::string& method, const std::string& target,
                        const std::string& content_type, std::string body, const Take* take);

  const HttpPlace place_;
  const Duration patience_;
  std::unique_ptr<Connection> connection_;  // Kept between calls.
  bool has_connected_ = false;
};

}  // namespace tune
