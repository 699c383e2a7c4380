#include "core/json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <set>
#include <string>

#include "core/json_places.h"
#include "core/limits.h"

namespace tune {
namespace {

// The keys of a map that is being read. Few are looked for one by one, many in a set: a text of a
// hundred thousand keys takes no longer than its length asks for.
class KeySet {
 public:
  // Whether the map has no such key yet.
  bool Add(const std::string& key, const Value& map) {
    constexpr size_t kFew = 16;
    const Value::Map& entries = map.AsMap();
    if (entries.size() < kFew) return map.Find(key) == nullptr;
    if (keys_.empty()) {
      for (const MapEntry& entry : entries) keys_.insert(entry.key);
    }
    return keys_.insert(key).second;
  }

 private:
  std::set<std::string> keys_;
};

// A recursive-descent reader over one text; each Read* leaves pos_ after what it read.
class JsonReader {
 public:
  JsonReader(std::string_view text, JsonDialect dialect, bool has_places = false)
      : text_(text), dialect_(dialect), has_places_(has_places) {}

  Result<Value> ReadDocument() {
    TUNE_ASSIGN_OR_RETURN(Value value, ReadValue(0));
    SkipSpace();
    if (pos_ != text_.size()) return Error("expected the end of the text");
    return value;
  }

 private:
  Status Error(std::string_view what) const {
    const Place place = Here();
    return InvalidArgument(std::to_string(place.line) + ":" + std::to_string(place.column) + ": " +
                           std::string(what));
  }

  Place Here() const {
    int line = 1;
    size_t line_start = 0;
    for (size_t i = 0; i < pos_ && i < text_.size(); ++i) {
      if (text_[i] == '\n') {
        ++line;
        line_start = i + 1;
      }
    }
    return Place{line, static_cast<int>(pos_ - line_start) + 1};
  }

  void SkipSpace() {
    while (pos_ < text_.size() && (text_[pos_] == ' ' || text_[pos_] == '\t' ||
                                   text_[pos_] == '\n' || text_[pos_] == '\r')) {
      ++pos_;
    }
  }

  bool Take(char c) {
    if (pos_ >= text_.size() || text_[pos_] != c) return false;
    ++pos_;
    return true;
  }

  bool TakeWord(std::string_view word) {
    if (text_.substr(pos_, word.size()) != word) return false;
    pos_ += word.size();
    return true;
  }

  // Of a value or key that begins here; texts are read forwards.
  Place TakePlace() {
    if (!has_places_) return Place{};
    for (; counted_ < pos_; ++counted_) {
      if (text_[counted_] != '\n') continue;
      ++line_;
      line_start_ = counted_ + 1;
    }
    return Place{line_, static_cast<int>(pos_ - line_start_) + 1};
  }

  Result<Value> ReadValue(int depth) {
    if (depth > limits::kJsonDepthMax) return Error("nested too deeply");
    SkipSpace();
    const Place place = TakePlace();
    Result<Value> value = ReadValueHere(depth);
    if (value.ok()) value->place = place;
    return value;
  }

  Result<Value> ReadValueHere(int depth) {
    if (pos_ >= text_.size()) return Error("expected a value, read the end of the text");
    switch (text_[pos_]) {
      case '{':
        return ReadMap(depth);
      case '[':
        return ReadList(depth);
      case '"': {
        TUNE_ASSIGN_OR_RETURN(std::string text, ReadString());
        return Value(std::move(text));
      }
      default:
        break;
    }
    if (TakeWord("true")) return Value(true);
    if (TakeWord("false")) return Value(false);
    if (TakeWord("null")) return Value();
    if (dialect_ == JsonDialect::kWithNaN) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      if (TakeWord("NaN")) return Value(std::numeric_limits<double>::quiet_NaN());
      if (TakeWord("Infinity")) return Value(kInfinity);
      if (TakeWord("-Infinity")) return Value(-kInfinity);
    }
    return ReadNumberToken();
  }

  Result<Value> ReadMap(int depth) {
    Value map = Value::MakeMap();
    ++pos_;
    SkipSpace();
    if (Take('}')) return map;
    KeySet keys;
    for (;;) {
      SkipSpace();
      if (pos_ >= text_.size() || text_[pos_] != '"') return Error("expected a key in quotes");
      const Place key_place = TakePlace();
      TUNE_ASSIGN_OR_RETURN(const std::string key, ReadString());
      if (!keys.Add(key, map)) return Error("duplicate key '" + key + "'");
      SkipSpace();
      if (!Take(':')) return Error("expected ':' after the key '" + key + "'");
      TUNE_ASSIGN_OR_RETURN(Value value, ReadValue(depth + 1));
      map.AsMap().push_back(MapEntry{key, std::move(value), key_place});
      SkipSpace();
      if (Take('}')) return map;
      if (!Take(',')) return Error("expected ',' or '}'");
    }
  }

  Result<Value> ReadList(int depth) {
    Value::List list;
    ++pos_;
    SkipSpace();
    if (Take(']')) return Value(std::move(list));
    for (;;) {
      TUNE_ASSIGN_OR_RETURN(Value value, ReadValue(depth + 1));
      list.push_back(std::move(value));
      SkipSpace();
      if (Take(']')) return Value(std::move(list));
      if (!Take(',')) return Error("expected ',' or ']'");
    }
  }

  // Of a number that no double is near: whether it is too small for them, not too large.
  static bool IsBelowDoubles(const char* begin, const char* end) {
    return std::abs(std::strtod(std::string(begin, end).c_str(), nullptr)) < 1;
  }

  Result<Value> ReadNumberToken() {
    const size_t start = pos_;
    bool is_integer = true;
    Take('-');
    const size_t digits = pos_;
    while (pos_ < text_.size() && IsDigit(text_[pos_])) ++pos_;
    if (pos_ == digits) {
      pos_ = start;
      return Error("expected a value");
    }
    if (text_[digits] == '0' && pos_ - digits > 1) return Error("a number may not start with 0");
    if (pos_ < text_.size() && text_[pos_] == '.') {
      is_integer = false;
      ++pos_;
      const size_t fraction = pos_;
      while (pos_ < text_.size() && IsDigit(text_[pos_])) ++pos_;
      if (pos_ == fraction) return Error("expected digits after the point");
    }
    if (pos_ < text_.size() && (text_[pos_] == 'e' || text_[pos_] == 'E')) {
      is_integer = false;
      ++pos_;
      if (!Take('+')) Take('-');
      const size_t exponent = pos_;
      while (pos_ < text_.size() && IsDigit(text_[pos_])) ++pos_;
      if (pos_ == exponent) return Error("expected digits in the exponent");
    }
    const char* const begin = text_.data() + start;
    const char* const end = text_.data() + pos_;
    if (is_integer) {
      int64_t integer = 0;
      if (std::from_chars(begin, end, integer).ec == std::errc()) return Value(integer);
      if (dialect_ == JsonDialect::kStrict) {
        pos_ = start;
        return Error("an integer beyond 64 bits");
      }
    }
    double number = 0;
    if (std::from_chars(begin, end, number).ec != std::errc()) {
      if (dialect_ != JsonDialect::kStrict && IsBelowDoubles(begin, end)) return Value(0.0);
      pos_ = start;
      return Error("a number beyond the range of a double");
    }
    return Value(number);
  }

  Result<std::string> ReadString() {
    std::string out;
    ++pos_;
    for (;;) {
      if (pos_ >= text_.size()) return Error("the text ends inside a string");
      const char c = text_[pos_];
      if (static_cast<unsigned char>(c) < 0x20) return Error("a control character in a string");
      ++pos_;
      if (c == '"') return out;
      if (c != '\\') {
        out.push_back(c);
        continue;
      }
      TUNE_RETURN_IF_ERROR(ReadEscape(out));
    }
  }

  Status ReadEscape(std::string& out) {
    if (pos_ >= text_.size()) return Error("the text ends inside a string");
    const char c = text_[pos_++];
    switch (c) {
      case '"':
      case '\\':
      case '/':
        out.push_back(c);
        return OkStatus();
      case 'b':
        out.push_back('\b');
        return OkStatus();
      case 'f':
        out.push_back('\f');
        return OkStatus();
      case 'n':
        out.push_back('\n');
        return OkStatus();
      case 'r':
        out.push_back('\r');
        return OkStatus();
      case 't':
        out.push_back('\t');
        return OkStatus();
      case 'u':
        return ReadUnicodeEscape(out);
      default:
        return Error("an unknown escape in a string");
    }
  }

  Status ReadUnicodeEscape(std::string& out) {
    TUNE_ASSIGN_OR_RETURN(uint32_t code, ReadHex4());
    if (code >= 0xd800 && code < 0xdc00) {
      if (!TakeWord("\\u")) return Error("half of a surrogate pair");
      TUNE_ASSIGN_OR_RETURN(const uint32_t low, ReadHex4());
      if (low < 0xdc00 || low > 0xdfff) return Error("half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      return Error("half of a surrogate pair");
    }
    AppendUtf8(code, out);
    return OkStatus();
  }

  Result<uint32_t> ReadHex4() {
    uint32_t code = 0;
    if (pos_ + 4 > text_.size()) return Error("the text ends inside a string");
    const auto [end, error] =
        std::from_chars(text_.data() + pos_, text_.data() + pos_ + 4, code, 16);
    if (error != std::errc() || end != text_.data() + pos_ + 4) {
      return Error("expected four hexadecimal digits");
    }
    pos_ += 4;
    return code;
  }

  static void AppendUtf8(uint32_t code, std::string& out) {
    if (code < 0x80) {
      out.push_back(static_cast<char>(code));
      return;
    }
    if (code < 0x800) {
      out.push_back(static_cast<char>(0xc0 | (code >> 6)));
    } else if (code < 0x10000) {
      out.push_back(static_cast<char>(0xe0 | (code >> 12)));
      out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    } else {
      out.push_back(static_cast<char>(0xf0 | (code >> 18)));
      out.push_back(static_cast<char>(0x80 | ((code >> 12) & 0x3f)));
      out.push_back(static_cast<char>(0x80 | ((code >> 6) & 0x3f)));
    }
    out.push_back(static_cast<char>(0x80 | (code & 0x3f)));
  }

  static bool IsDigit(char c) { return c >= '0' && c <= '9'; }

  std::string_view text_;
  JsonDialect dialect_;
  bool has_places_;
  size_t pos_ = 0;
  size_t counted_ = 0;  // Lines are counted up to here.
  int line_ = 1;
  size_t line_start_ = 0;
};

}  // namespace

void AppendJsonString(std::string_view text, std::string& out) {
  static constexpr char kHex[] = "0123456789abcdef";
  out.push_back('"');
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out.push_back('\\');
      out.push_back(c);
    } else if (c == '\n') {
      out += "\\n";
    } else if (c == '\t') {
      out += "\\t";
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += "\\u00";
      out.push_back(kHex[(c >> 4) & 0xf]);
      out.push_back(kHex[c & 0xf]);
    } else {
      out.push_back(c);
    }
  }
  out.push_back('"');
}

void AppendJsonNumber(double number, std::string& out) {
  if (std::isnan(number)) {
    out += "\"NaN\"";
    return;
  }
  if (std::isinf(number)) {
    out += number > 0 ? "\"Infinity\"" : "\"-Infinity\"";
    return;
  }
  char buffer[32];
  const auto [end, error] = std::to_chars(buffer, buffer + sizeof buffer, number);
  const std::string_view digits(buffer, static_cast<size_t>(end - buffer));
  out += digits;
  if (digits.find_first_of(".e") == std::string_view::npos) out += ".0";
}

void AppendJson(const Value& value, std::string& out) {
  if (value.is_null()) {
    out += "null";
  } else if (value.is_bool()) {
    out += value.AsBool() ? "true" : "false";
  } else if (value.is_int()) {
    out += std::to_string(value.AsInt());
  } else if (value.is_double()) {
    AppendJsonNumber(value.AsDouble(), out);
  } else if (value.is_string()) {
    AppendJsonString(value.AsString(), out);
  } else if (value.is_list()) {
    out.push_back('[');
    bool first = true;
    for (const Value& item : value.AsList()) {
      if (!first) out.push_back(',');
      first = false;
      AppendJson(item, out);
    }
    out.push_back(']');
  } else {
    out.push_back('{');
    bool first = true;
    for (const MapEntry& entry : value.AsMap()) {
      if (!first) out.push_back(',');
      first = false;
      AppendJsonString(entry.key, out);
      out.push_back(':');
      AppendJson(entry.value, out);
    }
    out.push_back('}');
  }
}

std::string ToJson(const Value& value) {
  std::string out;
  AppendJson(value, out);
  return out;
}

std::string ToJsonForYaml(const Value& value) {
  const std::string json = ToJson(value);
  std::string text;
  bool is_in_string = false;
  bool has_point = false;  // The number so far.
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    const bool follows_digit = i > 0 && json[i - 1] >= '0' && json[i - 1] <= '9';
    if (is_in_string) {
      if (c == '\\') text += json[i++];
      is_in_string = c != '"';
    } else if (c == '"') {
      is_in_string = true;
    } else if (c == 'e' && follows_digit && !has_point) {
      text += ".0";
    } else if (c == ',' || c == ':' || c == '[') {
      has_point = false;
    } else if (c == '.') {
      has_point = true;
    }
    text += json[i];
  }
  return text;
}

Result<Value> ParseJson(std::string_view text, JsonDialect dialect) {
  return JsonReader(text, dialect).ReadDocument();
}

Result<Value> ParseJsonWithPlaces(std::string_view text) {
  return JsonReader(text, JsonDialect::kStrict, /*has_places=*/true).ReadDocument();
}

std::optional<double> ReadNumber(const Value& value) {
  if (value.is_number()) return value.AsDouble();
  if (!value.is_string()) return std::nullopt;
  if (value.AsString() == "NaN") return std::numeric_limits<double>::quiet_NaN();
  if (value.AsString() == "Infinity") return std::numeric_limits<double>::infinity();
  if (value.AsString() == "-Infinity") return -std::numeric_limits<double>::infinity();
  return std::nullopt;
}

}  // namespace tune
