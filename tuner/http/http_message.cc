#include "tuner/http/http_message.h"

#include <algorithm>
#include <optional>

#include "core/json.h"

namespace tune {
namespace {

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

std::optional<std::string> Decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    char c = text[i];
    if (c == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = HexDigit(text[i + 1]);
      const int low = HexDigit(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      c = static_cast<char>(high * 16 + low);
      i += 2;
    } else if (c == '+' && plus_is_space) {
      c = ' ';
    }
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return std::nullopt;
    out.push_back(c);
  }
  return out;
}

}  // namespace

Status ReadTarget(std::string_view target, HttpRequest& request) {
  const Status broken = InvalidArgument("the address cannot be read");
  if (!target.starts_with('/')) return broken;
  const size_t mark = target.find('?');
  const std::optional<std::string> path = Decoded(target.substr(0, mark), false);
  if (!path) return broken;
  // What stands behind it would be another address.
  const std::string_view written = target.substr(0, mark);
  if (std::count(path->begin(), path->end(), '/') !=
      std::count(written.begin(), written.end(), '/')) {
    return InvalidArgument("the address cannot be read: no name has a '/'");
  }
  request.path = *path;
  std::string_view rest = mark == std::string_view::npos ? "" : target.substr(mark + 1);
  while (!rest.empty()) {
    const std::string_view pair = rest.substr(0, rest.find('&'));
    rest.remove_prefix(std::min(rest.size(), pair.size() + 1));
    const size_t equals = pair.find('=');
    const std::optional<std::string> name = Decoded(pair.substr(0, equals), true);
    const std::optional<std::string> value =
        equals == std::string_view::npos ? "" : Decoded(pair.substr(equals + 1), true);
    if (!name || !value) return broken;
    request.query[*name] = *value;
  }
  return OkStatus();
}

int HttpStatusOf(StatusCode code) {
  switch (code) {
    case StatusCode::kOk:
      return 200;
    case StatusCode::kInvalidArgument:
      return 400;
    case StatusCode::kPermissionDenied:
      return 403;
    case StatusCode::kNotFound:
      return 404;
    case StatusCode::kFailedPrecondition:
      return 409;
    case StatusCode::kDataLoss:
      return 422;
    case StatusCode::kUnavailable:
      return 503;
    case StatusCode::kResourceExhausted:  // Mostly a disk that is full.
      return 507;
    default:
      return 500;
  }
}

HttpAnswer ErrorAnswer(int status, const std::string& text) {
  HttpAnswer answer;
  answer.status = status;
  answer.content_type = "application/json";
  answer.body = "{\"error\":";
  std::string line = text;  // It may repeat what was asked.
  std::replace_if(
      line.begin(), line.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  AppendJsonString(line, answer.body);
  answer.body += "}";
  return answer;
}

HttpAnswer WrongMethod(const std::string& text, const std::string& known) {
  HttpAnswer answer = ErrorAnswer(405, text);
  answer.headers.emplace_back("Allow", known);
  return answer;
}

}  // namespace tune
