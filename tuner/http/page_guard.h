// Who may see the page, and act by it: a browser of this machine that was given the key.
//
// Each request's Host must be a name of this machine's loopback, so that no page of the web can
// reach this one through a name of its own (DNS rebinding). The address with the key is answered
// with a cookie, and leads to the address without it. Its name has the port in it: browsers share
// the cookies of all ports of a host.
//
// An action is a POST of JSON to an address that ends in /actions. A browser tells which page it
// comes from (Origin), which must be this one; a program that sends the key itself may leave that
// out.
//
// Thread rule: immutable.
#pragma once

#include <optional>
#include <string>

#include "tuner/http/http_message.h"

namespace tune {

enum class PageRights { kLook, kAct };

class PageGuard {
 public:
  PageGuard(std::string key, PageRights rights) : key_(std::move(key)), rights_(rights) {}

  // The answer to a request that goes no further; nothing: it may pass.
  std::optional<HttpAnswer> Stop(const HttpRequest& request) const;

 private:
  bool IsKey(std::string_view text) const;
  std::optional<HttpAnswer> StopAction(const HttpRequest& request, bool is_bearer) const;

  std::string key_;
  PageRights rights_;
};

// Of every answer: nothing is loaded from elsewhere, nothing inline runs, no other page frames it.
void AddSafeHeaders(HttpAnswer& answer);

}  // namespace tune
