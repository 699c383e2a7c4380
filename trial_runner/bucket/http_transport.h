// One HTTP exchange with an object store or a giver of credentials: the seam between what is said
// (s3_client.h, credentials.h) and the network.
//
// Thread rule: any thread, several at once.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "core/limits.h"
#include "core/status.h"
#include "core/time.h"
#include "trial_runner/bucket/s3_answers.h"
#include "trial_runner/bucket/s3_signature.h"

namespace tune {

struct HttpExchange {
  std::string method;
  std::string url;
  S3Pairs headers = {};
  std::string_view body = {};  // Sent; of PUT and POST.
  // Gets what comes with status 200 or 206, in order; false: no more is wanted. Null: it comes back
  // in S3Reply::body, limits::kS3AnswerBytesMax at most.
  std::function<bool(std::string_view)> take = {};
  Duration silence = Milliseconds(limits::kS3SilenceMs);  // In which nothing moves, at most.
  // Called once when nothing has moved for so long; null: never.
  std::function<void()> on_quiet = {};
  Duration quiet = {};
  bool is_local = false;  // An address of this machine's or its hypervisor's: by no proxy.
};

class HttpTransport {
 public:
  virtual ~HttpTransport() = default;
  // Without an http_status: it broke, could not be made, or `stop` was requested.
  virtual S3Reply Do(const HttpExchange& exchange, const std::stop_token& stop) = 0;
};

// Whom a server is known by, and we by it. PEM files.
struct HttpIdentity {
  std::string ca_file = {};  // Authorities that are trusted in place of this machine's; or empty.
  std::string certificate_file = {}, key_file = {};  // Of ours; both or none.
};

// By libcurl; connections are kept for the next exchange.
class CurlTransport final : public HttpTransport {
 public:
  static Result<std::unique_ptr<CurlTransport>> Make(HttpIdentity identity);
  ~CurlTransport() override;
  S3Reply Do(const HttpExchange& exchange, const std::stop_token& stop) override;

 private:
  class Handle;
  explicit CurlTransport(HttpIdentity identity);

  const HttpIdentity identity_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Handle>> idle_;
};

}  // namespace tune
