// Who may see the page, and act by it: who was given a key.
//
// The page has two keys of its own: an admin's, which sees and acts, and a viewer's, which only
// sees. Others are known elsewhere (KeyLookup): a person's, whose role may also be a user's, who
// acts on what is his own. Nobody acts where the page only looks.
//
// Without TLS each request's Host must be a name of this machine's loopback, so that no page of the
// web can reach this one through a name of its own (DNS rebinding). Over TLS the certificate says
// which names are ours. The address with the key is answered with a cookie, and leads to the
// address without it. Its name has the port in it: browsers share the cookies of all ports of a
// host. Behind the key stands a word that tells one browser from another.
//
// An action is a POST of JSON to an address that ends in /actions. A browser tells which page it
// comes from (Origin), which must be this one; a program that sends the key itself may leave that
// out. What clients of a head ask (client_api.h) is for programs that send the key alone; a viewer
// may ask for commands that only tell.
//
// Thread rule: immutable, but for what KeyLookup does.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "tuner/http/http_message.h"

namespace tune {

enum class PageRights { kLook, kAct };
enum class PageRole { kStranger, kViewer, kUser, kAdmin };

// Whose key a request has.
struct PageCaller {
  PageRole role = PageRole::kStranger;
  std::string name = {};  // Of one of the page's own keys neither.
  std::string id = {};
};
// Whose key that is, of keys that are not the page's own.
using KeyLookup = std::function<PageCaller(std::string_view key)>;

// For programs alone.
inline constexpr std::string_view kCommandsPath = "/api/v1/commands";
inline constexpr std::string_view kSubmissionsPath = "/api/v1/submissions";
inline constexpr std::string_view kPackagesPath = "/api/v1/packages/";  // And a SHA-256.

struct PageKeys {
  std::string admin;
  std::string viewer;
};

class PageGuard {
 public:
  enum class Channel { kPlain, kTls };
  // `rights`: what users and admins may do by it. `draw_word`: another word each time, of letters
  // and digits.
  PageGuard(PageKeys keys, KeyLookup others, PageRights rights, Channel channel,
            std::function<std::string()> draw_word)
      : keys_(std::move(keys)),
        others_(std::move(others)),
        rights_(rights),
        channel_(channel),
        draw_word_(std::move(draw_word)) {}

  // The answer to a request that goes no further; nothing: it may pass.
  std::optional<HttpAnswer> Stop(const HttpRequest& request) const;
  // Of a request that may pass.
  PageRights RightsOf(const HttpRequest& request) const;
  // The same by the key alone that a program sends.
  PageRights ProgramRightsOf(const HttpRequest& request) const;
  // By the key that a program sends, else by a browser's cookie.
  PageCaller CallerOf(const HttpRequest& request) const;
  // Who sends it: a browser, or the programs of a key; "" for who has none.
  std::string ClientOf(const HttpRequest& request) const;

 private:
  PageCaller CallerOf(std::string_view key) const;
  PageRights RightsOf(PageRole role) const;
  std::optional<HttpAnswer> StopAction(const HttpRequest& request) const;
  std::optional<HttpAnswer> StopProgram(const HttpRequest& request) const;

  PageKeys keys_;
  KeyLookup others_;
  PageRights rights_;
  Channel channel_;
  std::function<std::string()> draw_word_;
};

// Whether it is for programs alone.
bool IsForPrograms(std::string_view path);

// Of every answer: nothing is loaded from elsewhere, nothing inline runs, no other page frames it.
void AddSafeHeaders(HttpAnswer& answer);

}  // namespace tune
