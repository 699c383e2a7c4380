#include "tuner/http/http_client.h"

#include <openssl/evp.h>
#include <openssl/x509.h>

#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <optional>
#include <utility>

#include "tuner/http/client_protocol.h"
#include "tuner/http/http_message.h"
#include "tuner/http/own_socket.h"

namespace tune {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr size_t kAnswerBytesMax = 256u << 20;
constexpr size_t kPieceBytes = 64 << 10;
constexpr int kUpgradeRequired = 426;

// Lower-case digits; "" where there is none.
std::string FingerprintOf(SSL* ssl) {
  X509* const certificate = SSL_get_peer_certificate(ssl);
  if (certificate == nullptr) return "";
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
  unsigned size = 0;
  const int done = X509_digest(certificate, EVP_sha256(), digest.data(), &size);
  X509_free(certificate);
  std::string text;
  for (unsigned i = 0; done == 1 && i < size; ++i) {
    constexpr char kDigits[] = "0123456789abcdef";
    text += {kDigits[digest[i] >> 4], kDigits[digest[i] & 15]};
  }
  return text;
}

}  // namespace

Result<HttpPlace> ReadHttpPlace(std::string_view url) {
  constexpr char kExpected[] =
      "expected the address of a head as it prints it: https://HOST:PORT/?key=...&cert=...";
  HttpPlace place;
  std::string_view rest = url;
  if (rest.starts_with("https://")) {
    place.is_tls = true;
    rest.remove_prefix(8);
  } else if (rest.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    return InvalidArgument(kExpected);
  }
  const size_t end = rest.find('/');
  const auto address = ParseNetworkAddress(rest.substr(0, end));
  if (!address.ok()) return InvalidArgument(address.status().message() + "; " + kExpected);
  place.address = *address;
  HttpRequest request;
  if (end != std::string_view::npos && !ReadTarget(rest.substr(end), request).ok()) {
    return InvalidArgument(kExpected);
  }
  place.key = request.query["key"];
  if (place.key.empty()) return InvalidArgument(std::string("it has no key; ") + kExpected);
  for (const char c : request.query["cert"]) {
    if (c != ':') place.certificate += static_cast<char>(std::tolower(c));
  }
  const bool is_hash = place.certificate.size() == 64 &&
                       place.certificate.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (!place.certificate.empty() && !is_hash) {
    return InvalidArgument("cert: expected the 64 digits of a certificate's SHA-256");
  }
  if (!place.is_tls && !place.address.is_loopback()) {
    return InvalidArgument("beyond this machine a head is asked over TLS alone: https://" +
                           place.address.ToText());
  }
  return place;
}

// One connection; what is asked on it comes one after the other.
class HttpClient::Connection {
 public:
  explicit Connection(Duration patience) : patience_(std::chrono::microseconds(patience.us)) {}

  Status Open(const HttpPlace& place) {
    const Status s = Connect(place.address);
    return s.ok() && place.is_tls ? Shake(place) : s;
  }

  bool was_there() const { return was_there_; }  // Somebody answered at the address.

  // kAborted: nothing of an answer came; the server may have closed the connection while it was
  // idle.
  Result<HttpReply> Ask(const http::request<http::string_body>& request, const Take* take) {
    error_code error = Run([&](auto& stream, auto done) {
      http::async_write(stream, request, [done](error_code e, size_t) { done(e); });
    });
    if (error) return NoAnswer("cannot ask", error);
    http::response_parser<http::string_body> parser;
    parser.body_limit(kAnswerBytesMax);
    error = Run([&](auto& stream, auto done) {
      http::async_read_header(stream, buffer_, parser, [done](error_code e, size_t) { done(e); });
    });
    if (error) return NoAnswer("no answer", error);
    HttpReply reply;
    reply.status = parser.get().result_int();
    reply.content_type = std::string(parser.get()[http::field::content_type]);
    const std::string said(parser.get()[kProtocolHeader]);
    // What stands between may say that the head is not there.
    const bool is_others = said.empty() && reply.status >= 500;
    // A head that refuses us has said which of the two is older.
    if (!is_others && reply.status != kUpgradeRequired) TUNE_RETURN_IF_ERROR(CheckHead(said));
    const bool is_taken = take != nullptr && reply.status == 200;
    const Status read = is_taken ? TakePieces(parser, *take) : ReadWhole(parser, reply.body);
    if (!read.ok()) return read;
    keeps_ = parser.get().keep_alive();
    return reply;
  }
  bool keeps() const { return keeps_; }

 private:
  // An operation to its end, or to the end of patience.
  template <typename Begin>
  error_code Run(Begin begin) {
    error_code result = asio::error::would_block;
    const auto done = [&result](error_code e) { result = e; };
    stream_.expires_after(patience_);
    if (tls_) {
      begin(*tls_, done);
    } else {
      begin(stream_, done);
    }
    context_.restart();
    context_.run();
    return result;
  }

  Status Connect(const NetworkAddress& address) {
    error_code error;
    tcp::resolver resolver(context_);
    const auto found = resolver.resolve(address.host, std::to_string(address.port), error);
    if (error) return Unavailable(address.ToText() + ": " + error.message());
    stream_.expires_after(patience_);
    stream_.async_connect(found, [&error](error_code e, const tcp::endpoint&) { error = e; });
    context_.restart();
    context_.run();
    if (error) return Unavailable("nobody answers at " + address.ToText() + ": " + error.message());
    was_there_ = true;
    KeepFromPrograms(stream_.socket().native_handle());
    stream_.socket().set_option(asio::socket_base::keep_alive(true), error);
    stream_.socket().set_option(tcp::no_delay(true), error);
    return OkStatus();
  }

  Status Shake(const HttpPlace& place) {
    error_code error;
    context_tls_.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1, error);
    const bool is_pinned = !place.certificate.empty();
    if (!is_pinned) context_tls_.set_default_verify_paths(error);
    tls_.emplace(stream_, context_tls_);
    tls_->set_verify_mode(is_pinned ? asio::ssl::verify_none : asio::ssl::verify_peer, error);
    if (!is_pinned) {
      tls_->set_verify_callback(asio::ssl::host_name_verification(place.address.host), error);
    }
    SSL_set_tlsext_host_name(tls_->native_handle(), place.address.host.c_str());
    error = Run([](auto& stream, auto done) {
      if constexpr (requires { stream.next_layer(); }) {
        stream.async_handshake(asio::ssl::stream_base::client, done);
      }
    });
    const std::string where = place.address.ToText();
    // Whatever it is, it is no wrong certificate.
    if (error && error.category() != asio::error::get_ssl_category()) {
      return Unavailable(where + ": " + error.message());
    }
    if (error) {
      return FailedPrecondition(where + " cannot be trusted: " + error.message() +
                                "; the address that the head prints has its certificate in it "
                                "(cert=...)");
    }
    if (is_pinned && FingerprintOf(tls_->native_handle()) != place.certificate) {
      return FailedPrecondition(where +
                                " shows another certificate than the one in its address: it is "
                                "another server, or the head has a new one");
    }
    return OkStatus();
  }

  Status ReadWhole(http::response_parser<http::string_body>& parser, std::string& body) {
    const error_code error = Run([&](auto& stream, auto done) {
      http::async_read(stream, buffer_, parser, [done](error_code e, size_t) { done(e); });
    });
    if (error) return Unavailable("the connection broke: " + error.message());
    body = std::move(parser.get().body());
    return OkStatus();
  }

  Status TakePieces(http::response_parser<http::string_body>& parser, const Take& take) {
    parser.body_limit(boost::none);
    while (!parser.is_done()) {
      const error_code error = Run([&](auto& stream, auto done) {
        http::async_read_some(stream, buffer_, parser, [done](error_code e, size_t) { done(e); });
      });
      std::string& body = parser.get().body();
      if (!body.empty() && !take(body)) return OkStatus();
      body.clear();
      if (error) return Unavailable("the connection broke: " + error.message());
    }
    return OkStatus();
  }

  static Status NoAnswer(const std::string& what, error_code error) {
    return Unavailable(what + ": " + error.message());
  }

  const std::chrono::microseconds patience_;
  asio::io_context context_{1};
  beast::tcp_stream stream_{context_};
  asio::ssl::context context_tls_{asio::ssl::context::tls_client};
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls_;
  beast::flat_buffer buffer_{kPieceBytes};
  bool was_there_ = false;
  bool keeps_ = false;
};

HttpClient::HttpClient(HttpPlace place, Duration patience)
    : place_(std::move(place)), patience_(patience) {}

HttpClient::~HttpClient() = default;

Result<HttpReply> HttpClient::Get(const std::string& target) {
  return Ask("GET", target, "", "", nullptr);
}

Result<HttpReply> HttpClient::Post(const std::string& target, const std::string& content_type,
                                   std::string body) {
  return Ask("POST", target, content_type, std::move(body), nullptr);
}

Result<HttpReply> HttpClient::PostAndTake(const std::string& target,
                                          const std::string& content_type, std::string body,
                                          const Take& take) {
  return Ask("POST", target, content_type, std::move(body), &take);
}

Result<HttpReply> HttpClient::Ask(const std::string& method, const std::string& target,
                                  const std::string& content_type, std::string body,
                                  const Take* take) {
  http::request<http::string_body> request;
  request.version(11);
  request.method_string(method);
  request.target(target);
  request.set(http::field::host, place_.address.ToText());
  request.set(http::field::authorization, "Bearer " + place_.key);
  request.set(kProtocolHeader, std::to_string(kClientProtocol));
  if (!content_type.empty()) request.set(http::field::content_type, content_type);
  request.body() = std::move(body);
  request.prepare_payload();
  // A server closes what is idle: then it is asked anew. Otherwise nobody knows whether it was
  // done.
  for (;;) {
    const bool is_kept = connection_ != nullptr;
    if (!is_kept) {
      connection_ = std::make_unique<Connection>(patience_);
      if (const Status s = connection_->Open(place_); !s.ok()) {
        has_connected_ |= connection_->was_there();
        connection_.reset();
        return s;
      }
      has_connected_ = true;
    }
    Result<HttpReply> reply = connection_->Ask(request, take);
    if (!reply.ok() || !connection_->keeps()) connection_.reset();
    const bool may_be_idle = !reply.ok() && is_kept && method == "GET";
    if (!may_be_idle) return reply;
  }
}

}  // namespace tune
