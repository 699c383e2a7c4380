// Requests to a Kubernetes API server, in JSON.
//
// Thread rule: one thread at a time; a stop token is requested from any.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

#include "core/status.h"
#include "core/value.h"
#include "trial_runner/bucket/http_transport.h"
#include "tuner/engines/kube_config.h"

namespace tune {

struct KubeReply {
  int http_status = 0;
  Value body = {};  // Null: it was no JSON.
  std::string text = {};

  bool is_good() const { return http_status >= 200 && http_status < 300; }
};

struct KubeList {
  std::vector<Value> items = {};
  std::string version = {};  // Changes since then can be watched from it.
};

// What an answer that is not good means: kNotFound: 404; kResourceExhausted: a quota;
// kUnavailable: 429, 5xx; kFailedPrecondition: anything else, with the server's own words.
Status KubeRefusal(const KubeReply& reply);

class KubeApi {
 public:
  KubeApi(KubeAccess access, std::unique_ptr<HttpTransport> transport);
  // By libcurl.
  static Result<std::unique_ptr<KubeApi>> Make(KubeAccess access);

  // Answers of any status but those that were tried again in vain: 429 (Retry-After is heeded) and
  // 5xx, and connections that broke, some times over some seconds, which are kUnavailable.
  Result<KubeReply> Do(const std::string& method, const std::string& path, const Value& body,
                       const std::stop_token& stop);
  Result<KubeReply> Get(const std::string& path, const std::stop_token& stop) {
    return Do("GET", path, Value(), stop);
  }
  // All items of a list, page by page; begins anew where a page has expired (410).
  Result<KubeList> List(const std::string& path, const std::stop_token& stop);
  // What changes in that list after `version`, each as an event, until `take` wants no more or the
  // server ends it, which it does within a minute. The answer's HTTP status: 200; 410: the version
  // is too old. kUnavailable: the connection broke.
  Result<int> Watch(const std::string& path, const std::string& version,
                    const std::function<bool(const Value&)>& take, const std::stop_token& stop);

  const KubeAccess& access() const { return access_; }

 private:
  Result<KubeReply> Once(const std::string& method, const std::string& path,
                         const std::string& body, const std::stop_token& stop, Duration& pause);
  Result<HttpExchange> Prepared(const std::string& method, const std::string& path,
                                const std::stop_token& stop);

  const KubeAccess access_;
  const std::unique_ptr<HttpTransport> transport_;
  KubeToken token_;
};

// Of a query: all but letters, digits and "-._~" are escaped.
std::string QueryEscaped(std::string_view text);

}  // namespace tune
