#include "tuner/http/beast_message.h"

#include <string>
#include <utility>

#include "trial_runner/network_address.h"
#include "tuner/http/client_protocol.h"
#include "tuner/http/gzip.h"
#include "tuner/http/page_guard.h"

namespace tune {
namespace {

namespace http = boost::beast::http;

constexpr size_t kPackedFrom = 1 << 10;

std::string HeaderOf(const BeastRequest& request, http::field field) {
  return std::string(request[field]);
}

size_t BodyBytesMaxOf(const BeastRequest& read) {
  const std::string target(read.target());
  const bool is_submission = target.substr(0, target.find('?')) == kSubmissionsPath;
  return is_submission ? kSubmissionBytesMax : kHttpBodyBytesMax;
}

BeastResponse Begin(int status, bool keeps, HttpAnswer& answer) {
  BeastResponse response;
  response.version(11);
  response.result(static_cast<unsigned>(status));
  response.keep_alive(keeps);
  AddSafeHeaders(answer);
  for (const auto& [name, value] : answer.headers) response.insert(name, value);
  response.set(kProtocolHeader, std::to_string(kClientProtocol));
  return response;
}

}  // namespace

std::string OwnerOf(const boost::asio::ip::address& address) {
  const auto owner_of = [](const auto& bytes) {
    return OwnerOfAddress({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  };
  return address.is_v4() ? owner_of(address.to_v4().to_bytes())
                         : owner_of(address.to_v6().to_bytes());
}

boost::system::error_code BoundBody(BeastParser& parser) {
  const size_t max = BodyBytesMaxOf(parser.get());
  parser.body_limit(max);  // Of one that does not say how long it is.
  const auto length = parser.content_length();
  if (length && *length > max) return http::error::body_limit;
  return {};
}

std::optional<HttpAnswer> AnswerTooLong(const BeastRequest& read, boost::system::error_code error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return ErrorAnswer(431, "the headers are too long");
  }
  if (error != http::error::body_limit) return std::nullopt;
  return ErrorAnswer(413,
                     "the body has more than " + std::to_string(BodyBytesMaxOf(read)) + " bytes");
}

HttpRequest RequestOf(const BeastRequest& read) {
  HttpRequest request;
  request.method = std::string(read.method_string());
  // Of two nobody knows which one counts to whom.
  if (read.count(http::field::host) == 1) request.host = HeaderOf(read, http::field::host);
  request.authorization = HeaderOf(read, http::field::authorization);
  request.cookie = HeaderOf(read, http::field::cookie);
  request.if_none_match = HeaderOf(read, http::field::if_none_match);
  request.origin = HeaderOf(read, http::field::origin);
  request.content_type = HeaderOf(read, http::field::content_type);
  request.protocol = std::string(read[kProtocolHeader]);
  request.body = read.body();
  return request;
}

BeastResponse ResponseTo(const BeastRequest& read, HttpAnswer answer, bool keeps) {
  BeastResponse response = Begin(answer.status, keeps, answer);
  if (!answer.content_type.empty()) response.set(http::field::content_type, answer.content_type);
  const bool takes_gzip =
      HeaderOf(read, http::field::accept_encoding).find("gzip") != std::string::npos;
  if (takes_gzip && answer.body.size() >= kPackedFrom) {
    std::string packed = Gzip(answer.body);
    if (!packed.empty()) {
      answer.body = std::move(packed);
      response.set(http::field::content_encoding, "gzip");
    }
  }
  response.set(http::field::vary, "Accept-Encoding");
  const size_t size = answer.body.size();
  if (read.method() != http::verb::head) response.body() = std::move(answer.body);
  response.content_length(size);
  return response;
}

BeastResponse ResponseOfSource(HttpAnswer answer) {
  BeastResponse response = Begin(200, false, answer);
  response.set(http::field::content_type, answer.content_type);
  response.set(http::field::cache_control, "no-store");
  response.body() = std::move(answer.body);
  return response;
}

BeastResponse ResponseOfStream(HttpAnswer answer) {
  BeastResponse response = Begin(200, false, answer);
  response.set(http::field::content_type, "text/event-stream");
  response.set(http::field::cache_control, "no-store");
  response.body() = ":\n\n";
  return response;
}

}  // namespace tune
