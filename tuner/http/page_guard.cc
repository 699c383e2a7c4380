#include "tuner/http/page_guard.h"

namespace tune {
namespace {

constexpr std::string_view kCookie = "tune_key=";

bool IsLoopbackName(std::string_view host) {
  if (host.starts_with('[')) return host.substr(0, host.find(']') + 1) == "[::1]";
  const std::string_view name = host.substr(0, host.find(':'));
  return name == "127.0.0.1" || name == "localhost";
}

std::string_view CookieValue(std::string_view cookies) {
  while (!cookies.empty()) {
    const std::string_view one = cookies.substr(0, cookies.find(';'));
    cookies.remove_prefix(std::min(cookies.size(), one.size() + 1));
    const size_t begin = one.find_first_not_of(' ');
    if (begin == std::string_view::npos) continue;
    if (one.substr(begin).starts_with(kCookie)) return one.substr(begin + kCookie.size());
  }
  return {};
}

}  // namespace

// In a time that does not tell where they differ.
bool PageGuard::IsKey(std::string_view text) const {
  if (text.size() != key_.size()) return false;
  unsigned difference = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    difference |= static_cast<unsigned char>(text[i]) ^ static_cast<unsigned char>(key_[i]);
  }
  return difference == 0;
}

std::optional<HttpAnswer> PageGuard::Stop(const HttpRequest& request) const {
  if (!IsLoopbackName(request.host)) {
    return ErrorAnswer(403, "the page is reached as 127.0.0.1 or localhost alone");
  }
  if (request.method != "GET" && request.method != "HEAD") {
    return ErrorAnswer(405, "only GET is known here: the page shows, and changes nothing");
  }
  const auto key = request.query.find("key");
  if (request.path == "/" && key != request.query.end() && IsKey(key->second)) {
    HttpAnswer answer;
    answer.status = 303;
    answer.headers = {
        {"Location", "/"},
        {"Set-Cookie", std::string(kCookie) + key_ + "; Path=/; HttpOnly; SameSite=Strict"}};
    return answer;
  }
  constexpr std::string_view kBearer = "Bearer ";
  const bool is_bearer = std::string_view(request.authorization).starts_with(kBearer) &&
                         IsKey(std::string_view(request.authorization).substr(kBearer.size()));
  if (is_bearer || IsKey(CookieValue(request.cookie))) return std::nullopt;
  return ErrorAnswer(401, "open the address with the key that tune ui printed");
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
