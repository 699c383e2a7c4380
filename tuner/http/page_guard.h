// Who may see the page: a browser of this machine that was given the key.
//
// Each request's Host must be a name of this machine's loopback, so that no page of the web can
// reach this one through a name of its own (DNS rebinding). The address with the key is answered
// with a cookie, and leads to the address without it.
//
// Thread rule: immutable.
#pragma once

#include <optional>
#include <string>

#include "tuner/http/http_message.h"

namespace tune {

class PageGuard {
 public:
  explicit PageGuard(std::string key) : key_(std::move(key)) {}

  // The answer to a request that goes no further; nothing: it may pass.
  std::optional<HttpAnswer> Stop(const HttpRequest& request) const;

 private:
  bool IsKey(std::string_view text) const;

  std::string key_;
};

// Of every answer: nothing is loaded from elsewhere, nothing inline runs, no other page frames it.
void AddSafeHeaders(HttpAnswer& answer);

}  // namespace tune
