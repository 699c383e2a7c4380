// A request for a page or its data, and the answer: what the server reads and writes, without any
// of its library.
//
// Thread rule: values.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"

namespace tune {

struct HttpRequest {
  std::string method;                        // "GET"
  std::string path;                          // "/api/v1/sweeps/a b", decoded.
  std::map<std::string, std::string> query;  // Decoded; of a name that comes twice the last.
  std::string host;                          // The headers of these names, "" where they are not.
  std::string authorization;
  std::string cookie;
  std::string if_none_match;
  std::string origin;
  std::string content_type;
  std::string protocol;  // client_protocol.h
  std::string body;      // Of a POST, bounded as below.
};

inline constexpr size_t kHttpBodyBytesMax = 1 << 20;
// Of a submission (kSubmissionsPath), as the head's socket takes it.
inline constexpr size_t kSubmissionBytesMax = 8 << 20;

// What an answer says as it comes about, until it is over.
//
// Thread rule: the server's.
class AnswerSource {
 public:
  virtual ~AnswerSource() = default;
  // Readable, as poll has it, when there is more.
  virtual int fd() const = 0;
  // What there is, "" for now nothing; no value: it is over.
  virtual std::optional<std::string> Read() = 0;
  // Said where there is nothing to say for long: who has gone is noticed by it.
  virtual std::string Silence() const = 0;
};

struct HttpAnswer {
  int status = 200;
  std::string content_type;
  std::string body;
  std::vector<std::pair<std::string, std::string>> headers;
  // Who asked, "" for a stranger: whose connections give way to whose (http_server.h).
  std::string client;
  // The client stays, and is told of events (http_server.h) as they happen.
  bool is_event_stream = false;
  std::function<bool()> is_let_in;  // Asked before each event; false: the connection is closed.
  std::shared_ptr<AnswerSource> source;  // In place of `body`.
};

// Splits "/a%20b?x=1&y=" into path and query. kInvalidArgument: not a path, broken escapes, or a
// control character.
Status ReadTarget(std::string_view target, HttpRequest& request);

// That fits what became of a request; 500 for what is nobody's fault but the program's.
int HttpStatusOf(StatusCode code);

// {"error": "..."}, for programs.
HttpAnswer ErrorAnswer(int status, const std::string& text);
// 405, with the methods that the address knows: "GET, POST".
HttpAnswer WrongMethod(const std::string& text, const std::string& known);

}  // namespace tune
