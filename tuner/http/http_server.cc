#include "tuner/http/http_server.h"

#include <algorithm>
#include <array>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <chrono>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>

#include "tuner/http/answer_pump.h"
#include "tuner/http/beast_message.h"
#include "tuner/http/event_pace.h"
#include "tuner/http/fair_places.h"
#include "tuner/http/own_socket.h"

namespace tune {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using boost::system::error_code;
using tcp = asio::ip::tcp;

constexpr size_t kHeaderBytesMax = 8 << 10;
constexpr size_t kAskersMax = 48, kStreamsMax = 32, kStrangersMax = 16;  // Without a key.
constexpr size_t kStreamsOfOneMax = 4;  // A browser has six connections, for all its windows.
constexpr std::chrono::seconds kToSend{10}, kBetween{60};
constexpr std::chrono::seconds kGrace{2};  // For an answer to who is too late or says too much.
// The last event: what is asked for now is how it ended.
constexpr char kEnd[] = "event: end\ndata: end\n\n";
// Who ends this process kills it after two seconds.
constexpr std::chrono::milliseconds kTick{100}, kFarewell{1000}, kFarewellMax{1800};
constexpr int kTicksOfSilence = 150;  // Then a comment is sent, which shows who has gone.

class Server;

// One connection, from its first request to its end; it holds itself while something is under way.
class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(tcp::socket socket, uint64_t id, Server& server)
      : stream_(std::move(socket)), id_(id), server_(server) {}
  ~Session();

  // Once, first.
  void Begin();
  // Ends it as it is.
  void Close();
  void Tell(const std::string& event);  // Of an event stream.

 private:
  void Shake();
  void Read(std::chrono::seconds patience);
  void Refuse(error_code error);
  void Answer();
  void Write(HttpAnswer answer, bool keeps);
  void End();
  void HearOut();
  void BeginStream(HttpAnswer answer);
  void AwaitEnd();
  void SendEvent();
  void Listen();
  void BeginSource(HttpAnswer answer);
  void SendPieces();
  void WriteHead(void (Session::*next)());

  // Calls `use` with what is read from and written to: the stream, or TLS over it.
  template <typename Use>
  void WithStream(Use use) {
    if (tls_) return use(*tls_);
    use(stream_);
  }

  beast::tcp_stream stream_;                             // Its time limit counts for TLS, too.
  asio::steady_timer patience_{stream_.get_executor()};  // Of a request that is being read.
  bool is_reading_ = false, is_late_ = false;
  const uint64_t id_;
  std::optional<asio::ssl::stream<beast::tcp_stream&>> tls_;
  Server& server_;
  beast::flat_buffer buffer_{kHeaderBytesMax + 4096};
  std::optional<BeastParser> parser_;
  BeastResponse response_;
  std::array<char, 256> unread_;  // What a client that listens sends.
  std::string next_event_;        // Of a stream: to be sent once `sent_event_` is.
  std::string sent_event_;
  bool is_sending_ = false;
  std::function<bool()> is_let_in_;  // HttpAnswer's, of a stream.
  std::shared_ptr<AnswerPump> pump_;
};

class Server : public HttpServer {
 public:
  Server(TlsRenewal renewal, HttpHandler handler, EventPoll poll)
      : renewal_(std::move(renewal)), handler_(std::move(handler)), poll_(std::move(poll)) {}
  ~Server() override { is_ending_ = true; }

  Status Open(const NetworkAddress& address) {
    error_code error;
    const asio::ip::address ip = asio::ip::make_address(address.host, error);
    if (error) return InvalidArgument(address.host + " is no address of this machine");
    const tcp::endpoint endpoint(ip, static_cast<uint16_t>(address.port));
    acceptor_.open(endpoint.protocol(), error);
    if (!error) KeepFromPrograms(acceptor_.native_handle());
    if (!error) acceptor_.set_option(asio::socket_base::reuse_address(true), error);
    if (!error) acceptor_.bind(endpoint, error);
    if (!error) acceptor_.listen(asio::socket_base::max_listen_connections, error);
    if (error == boost::system::errc::address_not_available) {
      return InvalidArgument(address.host + " is no address of this machine");
    }
    if (error) return Unavailable("cannot listen on " + address.ToText() + ": " + error.message());
    return OkStatus();
  }

  Status UseTls(const HttpTls& tls) {
    error_code error;
    asio::ssl::context context(asio::ssl::context::tls_server);
    context.set_options(asio::ssl::context::no_tlsv1 | asio::ssl::context::no_tlsv1_1 |
                            asio::ssl::context::default_workarounds,
                        error);
    if (!error) context.use_certificate_chain(asio::buffer(tls.certificates), error);
    if (!error) context.use_private_key(asio::buffer(tls.key), asio::ssl::context::pem, error);
    if (error) return InvalidArgument("OpenSSL does not take the certificate: " + error.message());
    tls_ = std::move(context);  // Connections under way keep what they have.
    return OkStatus();
  }

  bool has_tls() const { return tls_.has_value(); }
  asio::ssl::context& TlsOfNow() {
    if (const std::optional<HttpTls> renewed = renewal_()) {
      if (const Status used = UseTls(*renewed); !used.ok()) {
        std::fprintf(stderr, "tune: %s; the page goes on with the one that it has\n",
                     used.message().c_str());
      }
    }
    return *tls_;
  }

  int port() const override { return acceptor_.local_endpoint().port(); }
  void Run() override {
    AwaitSignal();
    Accept();
    context_.run();
  }
  void Stop() override { context_.stop(); }
  HttpAnswer Handle(const HttpRequest& request) const { return handler_(request); }

  // Of an answer to somebody who may have been told of a change.
  void Spent(Duration time) {
    pace_.Spent(time);
    if (is_leaving_) Linger();
  }

  void Accept() {
    acceptor_.async_accept([this](error_code error, tcp::socket socket) {
      if (!error) {
        Admit(std::move(socket));
        return Accept();
      }
      // Out of descriptors, or a client that has left: go on a little later.
      pause_.expires_after(std::chrono::milliseconds(100));
      pause_.async_wait([this](error_code stopped) {
        if (!stopped) Accept();
      });
    });
  }

  // It asks, and is about to be answered.
  void IsAsking(uint64_t id, const std::string& client) {
    askers_.SetIdle(id, false);
    if (client.empty()) return;
    strangers_.Leave(id);
    const FairPlaces::Holder holder{sessions_.at(id).address, client};
    if (!askers_.Holds(id, holder)) CloseFor(askers_.Take(id, holder));
  }
  // It has its answer.
  void IsIdle(uint64_t id) { askers_.SetIdle(id, true); }

  bool MayListen(uint64_t id, const std::string& client) const {
    const FairPlaces::Holder holder{sessions_.at(id).address, client};
    return listeners_.CountOf(holder) < kStreamsOfOneMax && listeners_.HasRoomFor(holder);
  }
  void BeginsToListen(uint64_t id, const std::string& client) {
    askers_.Leave(id);
    CloseFor(listeners_.Take(id, {sessions_.at(id).address, client}));
  }

  void AddStream(const std::shared_ptr<Session>& session) {
    streams_.insert(session);
    if (streams_.size() == 1) Tick(0);
  }
  void RemoveStream(const std::shared_ptr<Session>& session) { streams_.erase(session); }

  void SessionEnded(uint64_t id) {
    if (is_ending_) return;
    sessions_.erase(id);
    for (FairPlaces* const places : {&strangers_, &askers_, &listeners_}) places->Leave(id);
  }

 private:
  void Admit(tcp::socket socket) {
    KeepFromPrograms(socket.native_handle());
    error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    if (error) return;  // It has left.
    const uint64_t id = ++last_id_;
    const auto session = std::make_shared<Session>(std::move(socket), id, *this);
    sessions_[id] = {session, OwnerOf(peer.address())};
    CloseFor(strangers_.Take(id, {sessions_[id].address, ""}));
    session->Begin();
  }

  // The connection that has lost its place for another, if one has.
  void CloseFor(std::optional<uint64_t> id) {
    if (!id) return;
    const std::shared_ptr<Session> session = sessions_.at(*id).session.lock();
    if (!session) return;
    session->Close();
    RemoveStream(session);
  }

  void AwaitSignal() {
    signals_.async_wait([this](error_code error, int signal) {
      if (error) return;
      if (signal != SIGTERM || streams_.empty() || is_leaving_) return context_.stop();
      is_leaving_ = true;
      leave_by_ = std::chrono::steady_clock::now() + kFarewellMax;
      for (const std::shared_ptr<Session>& stream : std::set(streams_)) stream->Tell(kEnd);
      Linger();
      AwaitSignal();
    });
  }

  // As long as clients ask.
  void Linger() {
    farewell_.expires_at(std::min(leave_by_, std::chrono::steady_clock::now() + kFarewell));
    farewell_.async_wait([this](error_code error) {
      if (!error) context_.stop();
    });
  }

  void Tick(int silent_count) {
    if (streams_.empty() || is_leaving_) return;
    const std::string data = pace_.IsDue(SteadyNow()) ? poll_() : "";
    if (!data.empty()) pace_.Told(SteadyNow());
    const bool is_silent = data.empty() && silent_count < kTicksOfSilence;
    if (!is_silent) {
      const std::string event = data.empty() ? ":\n\n" : "data: " + data + "\n\n";
      for (const std::shared_ptr<Session>& stream : std::set(streams_)) stream->Tell(event);
    }
    tick_.expires_after(kTick);
    tick_.async_wait([this, next = is_silent ? silent_count + 1 : 0](error_code error) {
      if (!error) Tick(next);
    });
  }

  TlsRenewal renewal_;
  HttpHandler handler_;
  EventPoll poll_;
  EventPace pace_;
  bool is_leaving_ = false, is_ending_ = false;
  std::chrono::steady_clock::time_point leave_by_;
  asio::io_context context_{1};
  std::optional<asio::ssl::context> tls_;
  tcp::acceptor acceptor_{context_};
  asio::steady_timer pause_{context_}, tick_{context_}, farewell_{context_};
  struct Connection {
    std::weak_ptr<Session> session;
    std::string address;
  };
  std::map<uint64_t, Connection> sessions_;
  uint64_t last_id_ = 0;
  FairPlaces strangers_{kStrangersMax}, askers_{kAskersMax}, listeners_{kStreamsMax};
  std::set<std::shared_ptr<Session>> streams_;
  asio::signal_set signals_{context_, SIGINT, SIGTERM};
};

Session::~Session() { server_.SessionEnded(id_); }

void Session::Close() {
  if (pump_) pump_->Stop();
  stream_.close();
}

void Session::Begin() {
  if (!server_.has_tls()) return Read(kToSend);
  stream_.expires_after(kToSend);
  beast::async_detect_ssl(stream_, buffer_,
                          [self = shared_from_this()](error_code error, bool is_tls) {
                            if (error) return;
                            if (is_tls) return self->Shake();
                            self->Read(kToSend);  // To answer that this is not TLS.
                          });
}

void Session::Shake() {
  tls_.emplace(stream_, server_.TlsOfNow());
  tls_->async_handshake(asio::ssl::stream_base::server, buffer_.data(),
                        [self = shared_from_this()](error_code error, size_t used) {
                          if (error) return;
                          self->buffer_.consume(used);
                          self->Read(kToSend);
                        });
}

void Session::Read(std::chrono::seconds patience) {
  parser_.emplace();
  parser_->header_limit(kHeaderBytesMax);
  parser_->body_limit(kSubmissionBytesMax);  // Until its headers are read.
  // The stream's own limit would close it before there was an answer.
  stream_.expires_after(patience + kGrace);
  is_reading_ = true;
  is_late_ = false;
  patience_.expires_after(patience);
  patience_.async_wait([weak = weak_from_this()](error_code stopped) {
    const std::shared_ptr<Session> self = stopped ? nullptr : weak.lock();
    if (!self || !self->is_reading_) return;  // The request came at that very moment.
    self->is_late_ = true;
    self->stream_.cancel();
  });
  const auto read = [self = shared_from_this()](error_code error, size_t) {
    self->is_reading_ = false;
    self->patience_.cancel();
    if (error) return self->Refuse(error);
    self->Answer();
  };
  const auto read_body = [self = shared_from_this(), read](error_code error, size_t) {
    if (!error) error = BoundBody(*self->parser_);
    if (error) return read(error, 0);
    self->WithStream([&](auto& s) { http::async_read(s, self->buffer_, *self->parser_, read); });
  };
  WithStream([&](auto& stream) { http::async_read_header(stream, buffer_, *parser_, read_body); });
}

// What was read is no request. Who has said nothing gets no answer.
void Session::Refuse(error_code error) {
  if (error == http::error::end_of_stream) return;
  if (auto too_long = AnswerTooLong(parser_->get(), error)) return Write(*too_long, false);
  if (is_late_ && parser_->got_some()) {
    return Write(ErrorAnswer(408, "the request did not come to its end in time"), false);
  }
  if (error.category() == make_error_code(http::error::bad_method).category()) {
    Write(ErrorAnswer(400, "this is no request of HTTP/1.1: " + error.message()), false);
  }
}

void Session::Answer() {
  const BeastRequest& read = parser_->get();
  if (server_.has_tls() && !tls_) {
    return Write(ErrorAnswer(400, "this page is served over TLS: its address begins with https://"),
                 false);
  }
  HttpRequest request = RequestOf(read);
  const std::string target(read.target());
  const Status understood = ReadTarget(target, request);
  if (!understood.ok()) return Write(ErrorAnswer(400, understood.message()), read.keep_alive());
  const Instant begin = SteadyNow();
  HttpAnswer answer = server_.Handle(request);
  server_.IsAsking(id_, answer.client);
  if (answer.is_event_stream && server_.MayListen(id_, answer.client)) {
    return BeginStream(std::move(answer));
  }
  if (answer.is_event_stream) answer = ErrorAnswer(503, "too many listen to events");
  if (answer.source != nullptr) return BeginSource(std::move(answer));
  Write(std::move(answer), read.keep_alive());
  server_.Spent(SteadyNow() - begin);
}

void Session::Write(HttpAnswer answer, bool keeps) {
  response_ = ResponseTo(parser_->get(), std::move(answer), keeps);
  stream_.expires_after(kBetween);
  const auto written = [self = shared_from_this(), keeps](error_code error, size_t) {
    if (error || !keeps) return self->End();
    self->server_.IsIdle(self->id_);
    self->Read(kBetween);
  };
  WithStream([&](auto& stream) { http::async_write(stream, response_, written); });
}

void Session::End() {
  const auto close = [self = shared_from_this()](error_code) {
    error_code ignored;
    self->stream_.socket().shutdown(tcp::socket::shutdown_send, ignored);
    self->server_.IsIdle(self->id_);
    if (self->pump_) {  // AwaitEnd reads, and holds it; nothing may read beside that.
      self->patience_.expires_after(kGrace);
      return self->patience_.async_wait([weak = self->weak_from_this()](error_code) {
        if (const std::shared_ptr<Session> late = weak.lock()) late->Close();
      });
    }
    self->stream_.expires_after(kGrace);
    self->HearOut();
  };
  if (!tls_) return close({});
  stream_.expires_after(kToSend);
  tls_->async_shutdown(close);
}

// A connection that is closed while there is more to read takes its answer with it.
void Session::HearOut() {
  stream_.async_read_some(asio::buffer(unread_),
                          [self = shared_from_this()](error_code error, size_t) {
                            if (!error) self->HearOut();
                          });
}

void Session::BeginStream(HttpAnswer answer) {
  server_.BeginsToListen(id_, answer.client);
  is_let_in_ = std::move(answer.is_let_in);
  response_ = ResponseOfStream(std::move(answer));
  is_sending_ = true;
  WriteHead(&Session::Listen);
}

void Session::Listen() {
  is_sending_ = false;
  server_.AddStream(shared_from_this());
}

void Session::BeginSource(HttpAnswer answer) {
  answer.body = answer.source->Silence();  // Who hears it knows that it is on its way.
  pump_ = std::make_shared<AnswerPump>(stream_.get_executor(), std::move(answer.source));
  response_ = ResponseOfSource(std::move(answer));
  WriteHead(&Session::SendPieces);
}

// Of an answer that goes on with `next`, until the client leaves.
void Session::WriteHead(void (Session::*next)()) {
  stream_.expires_after(kBetween);
  const auto written = [self = shared_from_this(), next](error_code error, size_t) {
    if (!error) (self.get()->*next)();
  };
  WithStream([&](auto& stream) { http::async_write(stream, response_, written); });
  AwaitEnd();
}

void Session::SendPieces() {
  pump_->Next([self = shared_from_this()](std::optional<std::string> piece) {
    if (!piece) return self->End();
    self->sent_event_ = *std::move(piece);
    self->stream_.expires_after(kBetween);
    const auto sent = [self](error_code error, size_t) {
      if (!error) self->SendPieces();
    };
    self->WithStream(
        [&](auto& stream) { asio::async_write(stream, asio::buffer(self->sent_event_), sent); });
  });
}

// Nothing is said to a client that listens for a while: that it has gone is known by reading.
void Session::AwaitEnd() {
  const auto read = [self = shared_from_this()](error_code error, size_t) {
    if (!error) return self->AwaitEnd();
    self->server_.RemoveStream(self);
    self->Close();
  };
  stream_.expires_never();
  WithStream([&](auto& stream) { stream.async_read_some(asio::buffer(unread_), read); });
}

void Session::Tell(const std::string& event) {
  if (is_let_in_ && !is_let_in_()) return Close();
  next_event_ = event;
  if (!is_sending_) SendEvent();
}

void Session::SendEvent() {
  sent_event_ = std::exchange(next_event_, {});
  is_sending_ = true;
  stream_.expires_after(kBetween);
  const auto sent = [self = shared_from_this()](error_code error, size_t) {
    self->is_sending_ = false;
    if (error) return self->server_.RemoveStream(self);
    if (!self->next_event_.empty()) self->SendEvent();
  };
  WithStream([&](auto& stream) { asio::async_write(stream, asio::buffer(sent_event_), sent); });
}

}  // namespace

Result<std::unique_ptr<HttpServer>> HttpServer::Listen(const NetworkAddress& address,
                                                       const std::optional<HttpTls>& tls,
                                                       TlsRenewal renewal, HttpHandler handler,
                                                       EventPoll poll) {
  auto server = std::make_unique<Server>(std::move(renewal), std::move(handler), std::move(poll));
  if (tls) TUNE_RETURN_IF_ERROR(server->UseTls(*tls));
  if (const Status s = server->Open(address); !s.ok()) return s;
  return std::unique_ptr<HttpServer>(std::move(server));
}

}  // namespace tune
