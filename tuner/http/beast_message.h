// Requests and answers between Boost.Beast and what the page works with (http_message.h).
//
// Thread rule: pure functions.
#pragma once

#include <boost/asio/ip/address.hpp>
#include <boost/beast/http.hpp>
#include <boost/system/error_code.hpp>
#include <optional>
#include <string>

#include "tuner/http/http_message.h"

namespace tune {

using BeastRequest = boost::beast::http::request<boost::beast::http::string_body>;
using BeastParser = boost::beast::http::request_parser<boost::beast::http::string_body>;
using BeastResponse = boost::beast::http::response<boost::beast::http::string_body>;

// Whose connections count as one's (network_address.h).
std::string OwnerOf(const boost::asio::ip::address& address);

// Once the headers are read: the body may have as many bytes as its target takes. body_limit: they
// say that it has more.
boost::system::error_code BoundBody(BeastParser& parser);

// To a request whose headers or body are too long; nothing: `error` is another one.
std::optional<HttpAnswer> AnswerTooLong(const BeastRequest& read, boost::system::error_code error);

// All but what its target says (ReadTarget).
HttpRequest RequestOf(const BeastRequest& read);

// Packed for whoever takes it, and without the body for HEAD; `keeps`: the connection stays.
BeastResponse ResponseTo(const BeastRequest& read, HttpAnswer answer, bool keeps);

// The head of an answer that comes about; it ends with the connection.
BeastResponse ResponseOfSource(HttpAnswer answer);

// The head of an event stream, and a comment to begin it.
BeastResponse ResponseOfStream(HttpAnswer answer);

}  // namespace tune
