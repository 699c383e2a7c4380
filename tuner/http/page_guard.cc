#include "tuner/http/page_guard.h"

#include "core/utf8.h"
#include "tuner/http/client_protocol.h"

namespace tune {
namespace {

constexpr std::string_view kCookie = "tune_key";

// With or without a port, and with nothing else.
bool IsLoopbackName(std::string_view host) {
  for (const std::string_view name : {"[::1]", "127.0.0.1", "localhost"}) {
    if (!host.starts_with(name)) continue;
    const std::string_view rest = host.substr(name.size());
    if (rest.empty()) return true;
    return rest.size() > 1 && rest[0] == ':' &&
           rest.find_first_not_of("0123456789", 1) == rest.npos;
  }
  return false;
}

std::string CookieName(std::string_view host) {
  const size_t colon = host.find(':', host.starts_with('[') ? host.find(']') : 0);
  const std::string_view port = colon == std::string_view::npos ? "" : host.substr(colon + 1);
  const bool is_number = !port.empty() && port.find_first_not_of("0123456789") == port.npos;
  return std::string(kCookie) + (is_number ? "_" + std::string(port) : "");
}

std::string_view CookieValue(std::string_view cookies, const std::string& name) {
  while (!cookies.empty()) {
    const std::string_view one = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookies.size(), one.size() + 1));
    const size_t begin = one.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    if (one.substr(begin).starts_with(name + "=")) return one.substr(begin + name.size() + 1);
  }
  return {};
}

// In a time that does not tell where they differ.
bool IsKey(std::string_view text, std::string_view key) {
  if (key.empty() || text.size() != key.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    difference |= static_cast<unsigned char>(text[i]) ^ static_cast<unsigned char>(key[i]);
  }
  return difference == 0;
}

struct Cookie {
  std::string_view key;
  std::string_view word;  // Of this browser; "" where there is none.
};

Cookie CookieOf(const HttpRequest& request) {
  const std::string_view value = CookieValue(request.cookie, CookieName(request.host));
  const size_t point = value.find('.');  // No key has one.
  if (point == std::string_view::npos) return {value, {}};
  return {value.substr(0, point), value.substr(point + 1)};
}

// The key that a program sends with each request, "" without one.
std::string_view BearerOf(const HttpRequest& request) {
  constexpr std::string_view kBearer = "Bearer ";
  const std::string_view sent = request.authorization;
  return sent.starts_with(kBearer) ? sent.substr(kBearer.size()) : std::string_view();
}

}  // namespace

PageCaller PageGuard::CallerOf(std::string_view key) const {
  if (IsKey(key, keys_.admin)) return {PageRole::kAdmin};
  if (IsKey(key, keys_.viewer)) return {PageRole::kViewer};
  return others_ == nullptr ? PageCaller() : others_(key);
}

PageCaller PageGuard::CallerOf(const HttpRequest& request) const {
  PageCaller sent = CallerOf(BearerOf(request));
  return sent.role != PageRole::kStranger ? sent : CallerOf(CookieOf(request).key);
}

PageRights PageGuard::RightsOf(PageRole role) const {
  const bool may_act = role == PageRole::kUser || role == PageRole::kAdmin;
  return may_act ? rights_ : PageRights::kLook;
}

PageRights PageGuard::RightsOf(const HttpRequest& request) const {
  return RightsOf(CallerOf(request).role);
}

PageRights PageGuard::ProgramRightsOf(const HttpRequest& request) const {
  return RightsOf(CallerOf(BearerOf(request)).role);
}

std::string PageGuard::ClientOf(const HttpRequest& request) const {
  const PageCaller caller = CallerOf(request);
  if (caller.role == PageRole::kStranger) return "";
  const bool is_browser = CallerOf(BearerOf(request)).role == PageRole::kStranger;
  const std::string whose = !caller.id.empty()                ? caller.id
                            : caller.role == PageRole::kAdmin ? "admin"
                                                              : "viewer";
  return whose + " " + std::string(is_browser ? CookieOf(request).word : "");
}

std::optional<HttpAnswer> PageGuard::Stop(const HttpRequest& request) const {
  if (channel_ == Channel::kPlain && !IsLoopbackName(request.host)) {
    return ErrorAnswer(403, "the page is reached as 127.0.0.1 or localhost alone");
  }
  if (request.host.empty()) {
    return ErrorAnswer(403, "Host: expected one, the name in the page's address");
  }
  // Before the key: what an older client sends may be read as something else.
  if (const Status s = CheckClient(request.protocol); !s.ok()) return ErrorAnswer(426, s.message());
  if (IsForPrograms(request.path)) return StopProgram(request);
  const bool is_action = request.method == "POST" && request.path.ends_with("/actions");
  if (request.method != "GET" && request.method != "HEAD" && !is_action) {
    return WrongMethod("only GET is known here; actions are sent to /actions of a sweep",
                       request.path.ends_with("/actions") ? "POST" : "GET, HEAD");
  }
  const auto key = request.query.find("key");
  if (request.path == "/" && key != request.query.end() &&
      CallerOf(key->second).role != PageRole::kStranger) {
    // Lax: after a link of another site, or a file, the browser sends no Strict cookie to "/".
    HttpAnswer answer;
    answer.status = 303;
    answer.headers = {{"Location", "/"},
                      {"Set-Cookie", CookieName(request.host) + "=" + key->second + "." +
                                         draw_word_() + "; Path=/; HttpOnly; SameSite=Lax" +
                                         (channel_ == Channel::kTls ? "; Secure" : "")}};
    return answer;
  }
  if (CallerOf(request).role == PageRole::kStranger) {
    return ErrorAnswer(401,
                       "open the address with the key that was printed when this page was started, "
                       "or that tune tokens made for you");
  }
  return is_action ? StopAction(request) : std::nullopt;
}

std::optional<HttpAnswer> PageGuard::StopProgram(const HttpRequest& request) const {
  if (BearerOf(request).empty()) {
    return ErrorAnswer(401,
                       "Authorization: read '" + ToUtf8(request.authorization) +
                           "', expected 'Bearer KEY', with the key of the page's address: what a "
                           "browser keeps is for the page alone");
  }
  if (CallerOf(BearerOf(request)).role == PageRole::kStranger) {
    return ErrorAnswer(401,
                       "the key that was sent is not one of this head's, or not any more; ask for "
                       "another one (tune tokens create, on the head's machine)");
  }
  const bool may_act = ProgramRightsOf(request) == PageRights::kAct;
  if (may_act || request.path == kCommandsPath) return std::nullopt;
  return ErrorAnswer(403, "this key shows, and changes nothing");
}

std::optional<HttpAnswer> PageGuard::StopAction(const HttpRequest& request) const {
  if (rights_ == PageRights::kLook) {
    return ErrorAnswer(403,
                       "this page shows, and changes nothing; one that acts is served by tune ui "
                       "--act, and by tune run --ui");
  }
  if (RightsOf(request) == PageRights::kLook) {
    return ErrorAnswer(403,
                       "a viewer's key shows, and changes nothing; who may act opens the page with "
                       "another one: a user's or an admin's of tune tokens, or the other address "
                       "that was printed when this page was started");
  }
  const std::string own = (channel_ == Channel::kTls ? "https://" : "http://") + request.host;
  const bool is_bearer = CallerOf(BearerOf(request)).role != PageRole::kStranger;
  if (request.origin != own && !(request.origin.empty() && is_bearer)) {
    return ErrorAnswer(403, "Origin: read '" + ToUtf8(request.origin) + "', expected " +
                                ToUtf8(own) + ": actions come from the page itself");
  }
  const std::string type = request.content_type.substr(0, request.content_type.find(';'));
  if (type != "application/json") {
    return ErrorAnswer(415, "Content-Type: read '" + ToUtf8(request.content_type) +
                                "', expected application/json");
  }
  return std::nullopt;
}

bool IsForPrograms(std::string_view path) {
  return path == kCommandsPath || path == kSubmissionsPath || path.starts_with(kPackagesPath);
}

void AddSafeHeaders(HttpAnswer& answer) {
  answer.headers.emplace_back(
      "Content-Security-Policy",
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
      "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'");
  answer.headers.emplace_back("X-Content-Type-Options", "nosniff");
  answer.headers.emplace_back("Referrer-Policy", "no-referrer");
  answer.headers.emplace_back("Cross-Origin-Resource-Policy", "same-origin");
}

}  // namespace tune
