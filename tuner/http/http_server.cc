#include "tuner/http/http_server.h"

#include <zlib.h>

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <csignal>
#include <optional>
#include <string>
#include <utility>

#include "tuner/http/page_guard.h"

namespace tune {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr size_t kHeaderBytesMax = 8 << 10;
constexpr size_t kConnectionsMax = 64;
constexpr size_t kPackedFrom = 1 << 10;
constexpr std::chrono::seconds kToSend{10};
constexpr std::chrono::seconds kBetween{60};

std::string Gzip(const std::string& text) {
  z_stream stream{};
  constexpr int kGzip = 15 + 16;
  if (deflateInit2(&stream, 6, Z_DEFLATED, kGzip, 8, Z_DEFAULT_STRATEGY) != Z_OK) return {};
  std::string out(deflateBound(&stream, text.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int ended = deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return ended == Z_STREAM_END ? out : std::string();
}

std::string HeaderOf(const http::request<http::empty_body>& request, http::field field) {
  return std::string(request[field]);
}

class Server;

// One connection, from its first request to its end; it holds itself while something is under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, Server& server) : stream_(std::move(socket)), server_(server) {}
  ~Session();

  void Read(std::chrono::seconds patience);

 private:
  void Answer();
  void Write(HttpAnswer answer, bool keeps);

  beast::tcp_stream stream_;
  Server& server_;
  beast::flat_buffer buffer_{kHeaderBytesMax + 4096};
  std::optional<http::request_parser<http::empty_body>> parser_;
  http::response<http::string_body> response_;
};

class Server : public HttpServer {
 public:
  explicit Server(HttpHandler handler) : handler_(std::move(handler)) {}
  ~Server() override { is_ending_ = true; }

  Status Open(const NetworkAddress& address) {
    error_code error;
    const asio::ip::address ip = asio::ip::make_address(address.host, error);
    if (error) return InvalidArgument(address.host + " is no address of this machine");
    const tcp::endpoint endpoint(ip, static_cast<uint16_t>(address.port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error == boost::system::errc::address_not_available) {
      return InvalidArgument(address.host + " is no address of this machine");
    }
    if (error) return Unavailable("cannot listen on " + address.ToText() + ": " + error.message());
    return OkStatus();
  }

  int port() const override { return acceptor_.local_endpoint().port(); }

  void Run() override {
    signals_.async_wait([this](error_code error, int) {
      if (!error) context_.stop();
    });
    Accept();
    context_.run();
  }

  void Stop() override { context_.stop(); }

  HttpAnswer Handle(const HttpRequest& request) const { return handler_(request); }

  void Accept() {
    if (is_accepting_ || session_count_ >= kConnectionsMax) return;
    is_accepting_ = true;
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      is_accepting_ = false;
      if (!error) {
        ++session_count_;
        std::make_shared<Session>(std::move(socket), *this)->Read(kToSend);
        return Accept();
      }
      // Out of descriptors, or a client that has left: go on a little later.
      pause_.expires_after(std::chrono::milliseconds(100));
      pause_.async_wait([this](error_code stopped) {
        if (!stopped) Accept();
      });
    });
  }

  void SessionEnded() {
    if (is_ending_) return;
    --session_count_;
    Accept();
  }

 private:
  HttpHandler handler_;
  size_t session_count_ = 0;
  bool is_accepting_ = false;
  bool is_ending_ = false;
  asio::io_context context_{1};
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_};
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
};

Session::~Session() { server_.SessionEnded(); }

void Session::Read(std::chrono::seconds patience) {
  parser_.emplace();
  parser_->header_limit(kHeaderBytesMax);
  stream_.expires_after(patience);
  http::async_read(
      stream_, buffer_, *parser_, [self = shared_from_this()](error_code error, size_t) {
        if (!error) return self->Answer();
        if (error == http::error::header_limit || error == http::error::buffer_overflow) {
          return self->Write(ErrorAnswer(431, "the headers are too long"), false);
        }
        if (error == http::error::unexpected_body) {
          return self->Write(ErrorAnswer(413, "a body is not taken here"), false);
        }
      });
}

void Session::Answer() {
  const http::request<http::empty_body>& read = parser_->get();
  HttpRequest request;
  request.method = std::string(read.method_string());
  request.host = HeaderOf(read, http::field::host);
  request.authorization = HeaderOf(read, http::field::authorization);
  request.cookie = HeaderOf(read, http::field::cookie);
  request.if_none_match = HeaderOf(read, http::field::if_none_match);
  const std::string target(read.target());
  const Status understood = ReadTarget(target, request);
  Write(understood.ok() ? server_.Handle(request) : ErrorAnswer(400, understood.message()),
        read.keep_alive());
}

void Session::Write(HttpAnswer answer, bool keeps) {
  const http::request<http::empty_body>& read = parser_->get();
  response_ = {};
  response_.version(11);
  response_.result(static_cast<unsigned>(answer.status));
  response_.keep_alive(keeps);
  AddSafeHeaders(answer);
  for (const auto& [name, value] : answer.headers) response_.insert(name, value);
  if (!answer.content_type.empty()) response_.set(http::field::content_type, answer.content_type);
  const bool takes_gzip =
      HeaderOf(read, http::field::accept_encoding).find("gzip") != std::string::npos;
  if (takes_gzip && answer.body.size() >= kPackedFrom) {
    std::string packed = Gzip(answer.body);
    if (!packed.empty()) {
      answer.body = std::move(packed);
      response_.set(http::field::content_encoding, "gzip");
    }
  }
  response_.set(http::field::vary, "Accept-Encoding");
  const size_t size = answer.body.size();
  if (read.method() != http::verb::head) response_.body() = std::move(answer.body);
  response_.content_length(size);
  stream_.expires_after(kBetween);
  http::async_write(stream_, response_,
                    [self = shared_from_this(), keeps](error_code error, size_t) {
                      if (!error && keeps) return self->Read(kBetween);
                      error_code ignored;
                      self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
                    });
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const NetworkAddress& address,
                                                       HttpHandler handler) {
  auto server = std::make_unique<Server>(std::move(handler));
  if (const Status s = server->Open(address); !s.ok()) return s;
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tune
