// YAML text to Value, on yaml-cpp's events. yaml-cpp knows YAML 1.1 and guesses no kinds; the kinds
// of plain scalars are those of the YAML 1.2 core schema (yaml.org/spec/1.2.2, section 10.3.2).
#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <limits>
#include <map>
#include <sstream>
#include <vector>

#include "core/check.h"
#include "core/input_error.h"
#include "core/json_places.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "tuner/spec_reader.h"

namespace tune {
namespace {

// Carries an error of ours through yaml-cpp's parser, out of its callbacks; never leaves this file.
struct Refusal {
  Status status;
};

Place PlaceOf(const YAML::Mark& mark) {
  return mark.is_null() ? Place{1, 1} : Place{mark.line + 1, mark.column + 1};
}

bool IsAnyOf(std::string_view text, std::initializer_list<std::string_view> words) {
  for (const std::string_view word : words) {
    if (text == word) return true;
  }
  return false;
}

size_t CountDigits(std::string_view text, size_t begin) {
  size_t end = begin;
  while (end < text.size() && text[end] >= '0' && text[end] <= '9') ++end;
  return end - begin;
}

// [0-9]+ with a sign; 0o and 0x without one. Nothing when the text has another form.
Result<Value> ReadInteger(std::string_view text, const Place& place, bool& matched) {
  int base = 10;
  std::string_view digits = text;
  if (text.starts_with("0o")) base = 8;
  if (text.starts_with("0x")) base = 16;
  if (base != 10) digits.remove_prefix(2);
  if (base == 10 && digits.starts_with('+')) digits.remove_prefix(1);
  const std::string_view unsigned_digits =
      base == 10 && text.starts_with('-') ? digits.substr(1) : digits;
  static constexpr std::string_view kDigits = "0123456789abcdefABCDEF";
  const std::string_view allowed = base == 8    ? kDigits.substr(0, 8)
                                   : base == 16 ? kDigits
                                                : kDigits.substr(0, 10);
  matched = !unsigned_digits.empty() &&
            unsigned_digits.find_first_not_of(allowed) == std::string_view::npos;
  if (!matched) return Value();
  int64_t number = 0;
  if (std::from_chars(digits.data(), digits.data() + digits.size(), number, base).ec !=
      std::errc()) {
    return InvalidAt(place, Shown(Value(text)) + " is an integer beyond 64 bits");
  }
  return Value(number);
}

// ( "." [0-9]+ | [0-9]+ ( "." [0-9]* )? ) ( [eE] [-+]? [0-9]+ )? with a sign.
bool HasFormOfFloat(std::string_view text) {
  size_t pos = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  const size_t whole = CountDigits(text, pos);
  pos += whole;
  if (pos < text.size() && text[pos] == '.') {
    const size_t fraction = CountDigits(text, pos + 1);
    if (whole + fraction == 0) return false;
    pos += 1 + fraction;
  } else if (whole == 0) {
    return false;
  }
  if (pos < text.size() && (text[pos] == 'e' || text[pos] == 'E')) {
    ++pos;
    if (pos < text.size() && (text[pos] == '-' || text[pos] == '+')) ++pos;
    const size_t exponent = CountDigits(text, pos);
    if (exponent == 0) return false;
    pos += exponent;
  }
  return pos == text.size();
}

Result<Value> ReadFloat(std::string_view text, const Place& place, bool& matched) {
  matched = true;
  if (IsAnyOf(text, {".nan", ".NaN", ".NAN"})) {
    return Value(std::numeric_limits<double>::quiet_NaN());
  }
  const bool is_negative = text.starts_with('-');
  const bool is_signed = is_negative || text.starts_with('+');
  if (IsAnyOf(text.substr(is_signed ? 1 : 0), {".inf", ".Inf", ".INF"})) {
    const double infinity = std::numeric_limits<double>::infinity();
    return Value(is_negative ? -infinity : infinity);
  }
  matched = HasFormOfFloat(text);
  if (!matched) return Value();
  const std::string_view number_text = text.starts_with('+') ? text.substr(1) : text;
  double number = 0;
  if (std::from_chars(number_text.data(), number_text.data() + number_text.size(), number).ec !=
      std::errc()) {
    return InvalidAt(place, Shown(Value(text)) + " is beyond the range of a double");
  }
  return Value(number);
}

Result<Value> ResolvePlain(std::string_view text, const Place& place) {
  if (IsAnyOf(text, {"", "~", "null", "Null", "NULL"})) return Value();
  if (IsAnyOf(text, {"true", "True", "TRUE"})) return Value(true);
  if (IsAnyOf(text, {"false", "False", "FALSE"})) return Value(false);
  bool matched = false;
  Result<Value> number = ReadInteger(text, place, matched);
  if (matched) return number;
  number = ReadFloat(text, place, matched);
  if (matched) return number;
  return Value(text);
}

Status UnknownTag(std::string_view tag, const Place& place) {
  return InvalidAt(place, "the tag '" + std::string(tag) + "' is not known here; leave it out");
}

// A scalar with an explicit tag of the core schema: its kind must be what the tag says.
Result<Value> ResolveTagged(std::string_view tag, std::string_view text, const Place& place) {
  constexpr std::string_view kPrefix = "tag:yaml.org,2002:";
  const std::string_view kind = tag.starts_with(kPrefix) ? tag.substr(kPrefix.size()) : "";
  if (kind == "str") return Value(text);
  TUNE_ASSIGN_OR_RETURN(Value value, ResolvePlain(text, place));
  if ((kind == "int" && value.is_int()) || (kind == "bool" && value.is_bool()) ||
      (kind == "null" && value.is_null())) {
    return value;
  }
  if (kind == "float" && value.is_number()) return Value(value.AsDouble());
  if (IsAnyOf(kind, {"int", "bool", "null", "float"})) {
    return InvalidAt(place, "read " + Shown(Value(text)) + ", expected the !!" + std::string(kind) +
                                " that its tag names");
  }
  return UnknownTag(tag, place);
}

// `kind`: "seq", "map". A tag that makes something else of it, as Python's !!python/tuple, cannot
// be heeded.
Status CheckTag(std::string_view tag, std::string_view kind, const Place& place) {
  const bool is_its_own =
      tag.empty() || tag == "?" || tag == "!" || tag == "tag:yaml.org,2002:" + std::string(kind);
  return is_its_own ? OkStatus() : UnknownTag(tag, place);
}

// Builds the tree. Throws Refusal; yaml-cpp lets it through.
class TreeBuilder final : public YAML::EventHandler {
 public:
  explicit TreeBuilder(std::string_view text) : text_(text) {
    line_begins_.push_back(text.starts_with("\xEF\xBB\xBF") ? 3 : 0);
    for (size_t i = 0; i < text.size(); ++i) {
      if (text[i] == '\n') line_begins_.push_back(i + 1);
    }
  }

  Value TakeRoot() { return std::move(root_); }

  void OnDocumentStart(const YAML::Mark&) override {}
  void OnDocumentEnd() override {}

  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    Value value;
    value.place = PlaceOf(mark);
    RefuseEmptyEntry(mark, anchor);
    // What is empty is found only at the next token; its key is the better place.
    if (!open_.empty() && open_.back().has_key && open_.back().key_place.line != value.place.line) {
      value.place = open_.back().key_place;
    }
    AddScalar(std::move(value), "", anchor);
  }

  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    const Place place = PlaceOf(mark);
    if (tag == "!") CheckQuoteIsClosed(mark);
    if (ExpectsKey()) {
      if (text == "<<" && tag == "?") {
        throw Refusal{InvalidAt(place, "'<<' is not part of YAML 1.2; write the keys out")};
      }
      TakeKey(text, place);
      return;
    }
    Result<Value> value = tag == "!"                ? Result<Value>(Value(text))
                          : tag == "?" || tag == "" ? ResolvePlain(text, place)
                                                    : ResolveTagged(tag, text, place);
    if (!value.ok()) throw Refusal{value.status()};
    value->place = place;
    AddScalar(*std::move(value), text, anchor);
  }

  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const Place place = PlaceOf(mark);
    RefuseAsKey(place, "an alias");
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) {
      throw Refusal{InvalidAt(place, "an alias inside of what it stands for")};
    }
    CountNodes(found->second.nodes, place);
    CheckDepth(found->second.depth, place);
    Add(found->second.value);
  }

  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    if (const Status s = CheckTag(tag, "seq", PlaceOf(mark)); !s.ok()) throw Refusal{s};
    Open(Value::MakeList(), "a list", mark, anchor);
  }
  void OnSequenceEnd() override { Close(); }

  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    if (const Status s = CheckTag(tag, "map", PlaceOf(mark)); !s.ok()) throw Refusal{s};
    Open(Value::MakeMap(), "a map", mark, anchor);
  }
  void OnMapEnd() override { Close(); }

 private:
  struct Container {
    Value value;
    YAML::anchor_t anchor = 0;
    bool has_key = false;
    std::string key;
    Place key_place;
    int64_t nodes_before = 0;
    int depth = 0;  // Of the deepest child, this one counted.
  };
  struct Anchored {
    Value value;
    int64_t nodes = 0;
    int depth = 0;
  };

  bool ExpectsKey() const {
    return !open_.empty() && open_.back().value.is_map() && !open_.back().has_key;
  }

  // yaml-cpp takes the end of the text for a closing quote.
  void CheckQuoteIsClosed(const YAML::Mark& mark) const {
    const size_t line = static_cast<size_t>(mark.line);
    if (line >= line_begins_.size()) return;
    size_t pos = line_begins_[line] + static_cast<size_t>(mark.column);
    while (pos < text_.size() && (text_[pos] == '&' || text_[pos] == '!')) {  // Anchor and tag.
      pos = text_.find_first_not_of(" \t\r\n", text_.find_first_of(" \t\r\n", pos));
    }
    if (pos >= text_.size() || (text_[pos] != '"' && text_[pos] != '\'')) return;
    const char quote = text_[pos];
    while (++pos < text_.size()) {
      if (text_[pos] == '\\' && quote == '"') {
        ++pos;
      } else if (text_[pos] == quote) {
        if (quote == '"' || pos + 1 == text_.size() || text_[pos + 1] != quote) return;
        ++pos;
      }
    }
    throw Refusal{InvalidAt(PlaceOf(mark), "this quote is never closed")};
  }

  // yaml-cpp takes nothing between two commas for null. Of an entry that has an anchor the commas
  // would be allowed, and in a list of lines an empty one is null.
  void RefuseEmptyEntry(const YAML::Mark& mark, YAML::anchor_t anchor) const {
    if (open_.empty() || !open_.back().value.is_list() || anchor != 0) return;
    const size_t line = static_cast<size_t>(mark.line);
    if (line >= line_begins_.size()) return;
    const size_t pos = line_begins_[line] + static_cast<size_t>(mark.column);
    if (pos >= text_.size() || text_[pos] != ',') return;
    throw Refusal{InvalidAt(PlaceOf(mark), "read ',', expected a value; write null for none")};
  }

  void RefuseAsKey(const Place& place, std::string_view what) const {
    if (ExpectsKey()) {
      throw Refusal{InvalidAt(place, "read " + std::string(what) + " as a key, expected a name")};
    }
  }

  void TakeKey(const std::string& key, const Place& place) {
    Container& map = open_.back();
    if (!keys_.back().emplace(key, place).second) {
      throw Refusal{InvalidAt(place, "the key '" + key + "' is there twice; first in line " +
                                         std::to_string(keys_.back().at(key).line))};
    }
    map.has_key = true;
    map.key = key;
    map.key_place = place;
  }

  void CountNodes(int64_t count, const Place& place) {
    nodes_ += count;
    if (nodes_ > limits::kSpecNodesMax) {
      throw Refusal{InvalidAt(place, "more than " + std::to_string(limits::kSpecNodesMax) +
                                         " values, with aliases written out")};
    }
  }

  void CheckDepth(int below, const Place& place) const {
    if (static_cast<int>(open_.size()) + below > limits::kJsonDepthMax) {
      throw Refusal{InvalidAt(
          place, "nested deeper than " + std::to_string(limits::kJsonDepthMax) + " levels")};
    }
  }

  void AddScalar(Value value, const std::string& text, YAML::anchor_t anchor) {
    if (ExpectsKey()) {
      TakeKey(text, value.place);
      return;
    }
    CountNodes(1, value.place);
    if (anchor != 0) anchors_[anchor] = Anchored{value, 1, 0};
    Add(std::move(value));
  }

  void Open(Value value, std::string_view what, const YAML::Mark& mark, YAML::anchor_t anchor) {
    value.place = PlaceOf(mark);
    RefuseAsKey(value.place, what);
    CheckDepth(1, value.place);
    Container container;
    container.nodes_before = nodes_;
    CountNodes(1, value.place);
    container.value = std::move(value);
    container.anchor = anchor;
    open_.push_back(std::move(container));
    keys_.emplace_back();
  }

  void Close() {
    Container closed = std::move(open_.back());
    open_.pop_back();
    keys_.pop_back();
    const int depth = closed.depth + 1;
    if (!open_.empty()) open_.back().depth = std::max(open_.back().depth, depth);
    if (closed.anchor != 0) {
      anchors_[closed.anchor] = Anchored{closed.value, nodes_ - closed.nodes_before, depth};
    }
    Add(std::move(closed.value));
  }

  void Add(Value value) {
    if (open_.empty()) {
      root_ = std::move(value);
      return;
    }
    Container& parent = open_.back();
    if (parent.value.is_list()) {
      parent.value.AsList().push_back(std::move(value));
      return;
    }
    parent.value.AsMap().push_back(
        MapEntry{std::move(parent.key), std::move(value), parent.key_place});
    parent.has_key = false;
  }

  std::string_view text_;
  std::vector<size_t> line_begins_;
  Value root_;
  std::vector<Container> open_;
  std::vector<std::map<std::string, Place>> keys_;  // Of the open containers.
  std::map<YAML::anchor_t, Anchored> anchors_;
  int64_t nodes_ = 0;
};

Place PlaceOfOffset(std::string_view text, size_t offset) {
  Place place{1, 1};
  for (size_t i = 0; i < offset; ++i) {
    ++place.column;
    if (text[i] == '\n') place = Place{place.line + 1, 1};
  }
  return place;
}

// yaml-cpp ends the text at the control character 4 and mends broken UTF-8; neither may pass in
// silence.
Status CheckCharacters(std::string_view text) {
  for (size_t pos = 0; pos < text.size();) {
    const unsigned char c = static_cast<unsigned char>(text[pos]);
    if (c < 0x20 && c != '\t' && c != '\n' && c != '\r') {
      return InvalidAt(PlaceOfOffset(text, pos),
                       "the control character " + std::to_string(c) + "; is this a text file?");
    }
    const size_t length = Utf8CharacterBytes(text.substr(pos));
    if (length == 0) {
      return InvalidAt(PlaceOfOffset(text, pos), "not UTF-8; save the file in that encoding");
    }
    pos += length;
  }
  return OkStatus();
}

// What a person can do about an error of yaml-cpp.
Status Explain(std::string_view text, const YAML::Mark& mark, const std::string& message) {
  const Place place = PlaceOf(mark);
  int line = 1;
  for (size_t begin = 0; begin < text.size() && line <= place.line; ++line) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const size_t first = text.find_first_not_of(" ", begin);
    if (first < end && text[first] == '\t') {
      return InvalidAt(Place{line, static_cast<int>(first - begin) + 1},
                       "a tab in the indentation; YAML allows spaces only");
    }
    begin = end + 1;
  }
  std::string_view hint;
  if (message == "illegal map value") {
    hint = " (check the indentation; a text with ': ' needs quotes)";
  } else if (message == "end of map flow not found") {
    hint = " (check the braces; a key in them has at most 1024 bytes)";
  }
  return InvalidAt(place, "not valid YAML: " + message + std::string(hint));
}

Result<Value> ParseDocument(std::string_view text) {
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    TreeBuilder builder(text);
    if (!parser.HandleNextDocument(builder)) return Value();
    struct Second final : YAML::EventHandler {
      void OnDocumentStart(const YAML::Mark& mark) override {
        throw Refusal{InvalidAt(PlaceOf(mark),
                                "a second document begins here, or the text goes on in another "
                                "form than it began; expected one map")};
      }
      void OnDocumentEnd() override {}
      void OnNull(const YAML::Mark&, YAML::anchor_t) override {}
      void OnAlias(const YAML::Mark&, YAML::anchor_t) override {}
      void OnScalar(const YAML::Mark&, const std::string&, YAML::anchor_t,
                    const std::string&) override {}
      void OnSequenceStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                           YAML::EmitterStyle::value) override {}
      void OnSequenceEnd() override {}
      void OnMapStart(const YAML::Mark&, const std::string&, YAML::anchor_t,
                      YAML::EmitterStyle::value) override {}
      void OnMapEnd() override {}
    } second;
    parser.HandleNextDocument(second);
    return builder.TakeRoot();
  } catch (const Refusal& refusal) {
    return refusal.status;
  } catch (const YAML::Exception& error) {
    return Explain(text, error.mark, error.msg);
  } catch (const std::exception& error) {
    return Internal(std::string("the YAML parser failed: ") + error.what());
  }
}

}  // namespace

Result<Value> ParseYaml(std::string_view text) {
  if (text.size() > limits::kSpecBytesMax) {
    return InvalidArgument("the text has " + std::to_string(text.size()) + " bytes; at most " +
                           std::to_string(limits::kSpecBytesMax) + " are allowed");
  }
  TUNE_RETURN_IF_ERROR(CheckCharacters(text));
  Result<Value> value = ParseDocument(text);
  if (value.ok()) return value;
  // A few JSON texts are beyond yaml-cpp, such as surrogate pairs.
  const size_t first = text.find_first_not_of(" \t\r\n");
  if (first != std::string_view::npos && text[first] == '{') {
    Result<Value> json = ParseJsonWithPlaces(text);
    if (json.ok()) return json;
  }
  return value;
}

}  // namespace tune
