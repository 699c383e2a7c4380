#include "tuner/engines/kube_api.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "core/json.h"
#include "core/posix/real_clock.h"
#include "core/posix/threads.h"
#include "core/utf8.h"

namespace tune {
namespace {

constexpr int kTriesMax = 5;
constexpr Duration kFirstPause = Milliseconds(200);
constexpr Duration kPauseMax = Seconds(10);
constexpr size_t kAnswerBytesMax = 64u << 20;
constexpr int kPageItems = 500;
constexpr int kListingsMax = 3;
constexpr Duration kSilence = Seconds(20);
constexpr int kWatchSeconds = 50;

std::string TextOf(const Value& map, std::string_view key) {
  const Value* const value = map.is_map() ? map.Find(key) : nullptr;
  return value != nullptr && value->is_string() ? value->AsString() : "";
}

}  // namespace

std::string QueryEscaped(std::string_view text) {
  constexpr char kHex[] = "0123456789ABCDEF";
  std::string escaped;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0 || std::string_view("-._~").find(c) != std::string_view::npos) {
      escaped += c;
    } else {
      escaped += {'%', kHex[byte >> 4], kHex[byte & 15]};
    }
  }
  return escaped;
}

Status KubeRefusal(const KubeReply& reply) {
  std::string message = Printable(TextOf(reply.body, "message"));
  if (message.empty()) message = Printable(reply.text.substr(0, 200));
  if (message.empty()) message = "it answered with status " + std::to_string(reply.http_status);
  const bool is_quota = message.find("exceeded quota") != std::string::npos;
  switch (reply.http_status) {
    case 401:
      return FailedPrecondition("it does not know us: " + message);
    case 404:
      return NotFound(message);
    case 403:
      return is_quota ? ResourceExhausted(message) : FailedPrecondition(message);
    default:
      break;
  }
  const bool is_later = reply.http_status == 429 || reply.http_status >= 500;
  return is_later ? Unavailable(message) : FailedPrecondition(message);
}

KubeApi::KubeApi(KubeAccess access, std::unique_ptr<HttpTransport> transport)
    : access_(std::move(access)), transport_(std::move(transport)), token_(access_) {}

Result<std::unique_ptr<KubeApi>> KubeApi::Make(KubeAccess access) {
  TUNE_ASSIGN_OR_RETURN(
      std::unique_ptr<CurlTransport> transport,
      CurlTransport::Make(HttpIdentity{access.ca_file, access.certificate_file, access.key_file}));
  return std::make_unique<KubeApi>(std::move(access), std::move(transport));
}

Result<HttpExchange> KubeApi::Prepared(const std::string& method, const std::string& path,
                                       const std::stop_token& stop) {
  std::atomic<bool> is_cancelled = false;
  const std::stop_callback cancel(stop, [&is_cancelled] { is_cancelled = true; });
  TUNE_ASSIGN_OR_RETURN(const std::string token, token_.Get(RealClock().Now(), is_cancelled));
  HttpExchange exchange{method, access_.server + path};
  exchange.headers = {{"Accept", "application/json"}};
  if (!token.empty()) exchange.headers.emplace_back("Authorization", "Bearer " + token);
  return exchange;
}

Result<KubeReply> KubeApi::Once(const std::string& method, const std::string& path,
                                const std::string& body, const std::stop_token& stop,
                                Duration& pause) {
  KubeReply reply;
  TUNE_ASSIGN_OR_RETURN(HttpExchange exchange, Prepared(method, path, stop));
  if (!body.empty()) exchange.headers.emplace_back("Content-Type", "application/json");
  exchange.body = body;
  exchange.silence = kSilence;
  exchange.take = [&reply](std::string_view piece) {
    reply.text += piece;
    return reply.text.size() <= kAnswerBytesMax;
  };
  const S3Reply came = transport_->Do(exchange, stop);
  if (stop.stop_requested()) return Unavailable("given up");
  if (came.http_status == 0) return Unavailable(came.broken);
  reply.http_status = came.http_status;
  if (reply.text.empty()) reply.text = came.body;
  Result<Value> read = ParseJson(reply.text);
  if (read.ok()) reply.body = *std::move(read);
  if (came.retry_after_s > 0) pause = std::min(kPauseMax, Seconds(came.retry_after_s));
  return reply;
}

Result<KubeReply> KubeApi::Do(const std::string& method, const std::string& path, const Value& body,
                              const std::stop_token& stop) {
  const std::string text = body.is_null() ? "" : ToJson(body);
  Duration pause = kFirstPause;
  bool has_asked_anew = false;
  for (int tries = 1;; ++tries) {
    Duration wait = pause;
    Result<KubeReply> reply = Once(method, path, text, stop, wait);
    // Its token may have been exchanged, or have expired.
    if (reply.ok() && reply->http_status == 401 && !std::exchange(has_asked_anew, true)) {
      token_.Refused();
      continue;
    }
    const Status failed = !reply.ok() ? reply.status()
                          : reply->http_status == 429 || reply->http_status >= 500
                              ? KubeRefusal(*reply)
                              : OkStatus();
    if (failed.code() != StatusCode::kUnavailable) return reply;
    const Status told = failed.At(access_.server);
    if (tries >= kTriesMax || !WaitUnlessStopped(wait, stop)) return told;
    pause = std::min(kPauseMax, Duration{pause.us * 2});
  }
}

Result<KubeList> KubeApi::List(const std::string& path, const std::stop_token& stop) {
  const std::string limit = (path.find('?') == std::string::npos ? "?" : "&") +
                            std::string("limit=") + std::to_string(kPageItems);
  for (int listings = 1;; ++listings) {
    KubeList list;
    std::string next;
    bool has_expired = false;
    do {
      TUNE_ASSIGN_OR_RETURN(
          KubeReply reply,
          Get(path + limit + (next.empty() ? "" : "&continue=" + QueryEscaped(next)), stop));
      has_expired = reply.http_status == 410;
      if (has_expired) break;
      if (!reply.is_good()) return KubeRefusal(reply);
      Value* const page = reply.body.is_map() ? reply.body.Find("items") : nullptr;
      if (page == nullptr || !page->is_list()) {
        return Unavailable(access_.server + ": answered with no list");
      }
      for (Value& item : page->AsList()) list.items.push_back(std::move(item));
      const Value* const about = reply.body.Find("metadata");
      next = about == nullptr ? "" : TextOf(*about, "continue");
      list.version = about == nullptr ? "" : TextOf(*about, "resourceVersion");
    } while (!next.empty());
    if (!has_expired) return list;
    if (listings >= kListingsMax) return Unavailable("a listing expired again and again");
  }
}

Result<int> KubeApi::Watch(const std::string& path, const std::string& version,
                           const std::function<bool(const Value&)>& take,
                           const std::stop_token& stop) {
  TUNE_ASSIGN_OR_RETURN(
      HttpExchange exchange,
      Prepared("GET",
               path + (path.find('?') == std::string::npos ? "?" : "&") +
                   "watch=1&allowWatchBookmarks=true&timeoutSeconds=" +
                   std::to_string(kWatchSeconds) + "&resourceVersion=" + QueryEscaped(version),
               stop));
  exchange.silence = Seconds(kWatchSeconds) + kSilence;
  std::string rest;  // Of a line that has not come whole.
  bool is_wanted = true;
  exchange.take = [&](std::string_view piece) {
    rest += piece;
    size_t begin = 0;
    for (size_t end; is_wanted && (end = rest.find('\n', begin)) != rest.npos; begin = end + 1) {
      const Result<Value> event = ParseJson(std::string_view(rest).substr(begin, end - begin));
      is_wanted = take(event.ok() ? *event : Value());
    }
    rest.erase(0, begin);
    return is_wanted && rest.size() <= kAnswerBytesMax;
  };
  const S3Reply came = transport_->Do(exchange, stop);
  if (came.http_status == 0 && is_wanted) return Unavailable(came.broken);
  if (came.http_status == 401) token_.Refused();
  return came.http_status == 0 ? 200 : came.http_status;
}

}  // namespace tune
