#include "tuner/sweep_labels.h"

#include <algorithm>

#include "core/input_error.h"
#include "core/json.h"
#include "core/utf8.h"

namespace tune {
namespace {

bool IsControl(char byte) { return static_cast<unsigned char>(byte) < 0x20 || byte == 0x7f; }

Status CheckKey(std::string_view key) {
  const bool is_key = !key.empty() && key.size() <= kTagKeyBytesMax && IsUtf8(key) &&
                      key.front() != '-' && std::none_of(key.begin(), key.end(), [](char c) {
                        return IsControl(c) || c == '=' || c == ' ' || c == ',';
                      });
  if (is_key) return OkStatus();
  return InvalidArgument("tag: read '" + Printable(key.substr(0, 80)) +
                         "', expected a key without spaces, commas and '=', of at most " +
                         std::to_string(kTagKeyBytesMax) + " bytes");
}

Status CheckTag(const std::string& key, const std::string& value) {
  TUNE_RETURN_IF_ERROR(CheckKey(key));
  const bool is_value = value.size() <= kTagValueBytesMax && IsUtf8(value) &&
                        std::none_of(value.begin(), value.end(), IsControl);
  if (is_value) return OkStatus();
  return InvalidArgument("tag " + key + ": read '" + Printable(value.substr(0, 80)) +
                         "', expected one line in UTF-8 without control characters, of at most " +
                         std::to_string(kTagValueBytesMax) + " bytes");
}

Status CheckNote(const std::string& note) {
  if (note.size() > kNoteBytesMax) {
    return InvalidArgument("note: read " + std::to_string(note.size()) +
                           " bytes, expected at most " + std::to_string(kNoteBytesMax));
  }
  if (!IsUtf8(note)) return InvalidArgument("note: expected text in UTF-8");
  const auto wrong = std::find_if(note.begin(), note.end(), [](char c) {
    return IsControl(c) && c != '\n' && c != '\t' && c != '\r';
  });
  if (wrong == note.end()) return OkStatus();
  return InvalidArgument("note: read '" + Printable(std::string(1, *wrong)) + "' at byte " +
                         std::to_string(wrong - note.begin() + 1) +
                         ", expected text without control characters");
}

Status Unexpected(const std::string& key, const Value& read, const char* expected) {
  return InvalidArgument(key + ": read " + Shown(read) + ", expected " + expected);
}

}  // namespace

Result<std::pair<std::string, std::string>> ReadTag(std::string_view text) {
  const size_t sign = text.find('=');
  std::pair<std::string, std::string> tag(text.substr(0, sign), "");
  if (sign != std::string_view::npos) tag.second = text.substr(sign + 1);
  TUNE_RETURN_IF_ERROR(CheckTag(tag.first, tag.second));
  return tag;
}

Result<SweepLabels> Changed(SweepLabels labels, const LabelChange& change) {
  if (change.note) {
    TUNE_RETURN_IF_ERROR(CheckNote(*change.note));
    labels.note = *change.note;
  }
  for (const std::string& key : change.untag) {
    if (change.tags.contains(key)) {
      return InvalidArgument("tag " + Printable(key) +
                             ": is to be set and to be removed, expected one of both");
    }
    if (labels.tags.erase(key) > 0) continue;
    return NotFound("no tag is called '" + Printable(key) + "'" +
                    (labels.tags.empty() ? "" : "; there are " + DescribeTags(labels.tags)));
  }
  for (const auto& [key, value] : change.tags) {
    TUNE_RETURN_IF_ERROR(CheckTag(key, value));
    labels.tags[key] = value;
  }
  if (labels.tags.size() > kTagsMax) {
    return InvalidArgument("tags: it would have " + std::to_string(labels.tags.size()) +
                           ", expected at most " + std::to_string(kTagsMax));
  }
  return labels;
}

Value EncodeLabelChange(const LabelChange& change) {
  Value object = Value::MakeMap();
  if (change.note) object.Set("note", *change.note);
  if (!change.tags.empty()) object.Set("tags", TagsValue(change.tags));
  if (!change.untag.empty()) {
    Value keys = Value::MakeList();
    for (const std::string& key : change.untag) keys.AsList().emplace_back(key);
    object.Set("untag", std::move(keys));
  }
  return object;
}

Status ReadLabelChange(const std::string& key, const Value& value, LabelChange& change) {
  if (key == "note") {
    if (!value.is_string()) return Unexpected(key, value, "a text");
    change.note = value.AsString();
    return OkStatus();
  }
  if (key == "tags") {
    if (!value.is_map()) return Unexpected(key, value, "texts by key");
    for (const MapEntry& tag : value.AsMap()) {
      if (!tag.value.is_string()) return Unexpected(key, tag.value, "a text");
      change.tags[tag.key] = tag.value.AsString();
    }
    return OkStatus();
  }
  if (key != "untag") return NotFound("unknown key '" + key + "'");
  if (!value.is_list()) return Unexpected(key, value, "a list of keys");
  for (const Value& one : value.AsList()) {
    if (!one.is_string()) return Unexpected(key, one, "a key");
    change.untag.insert(one.AsString());
  }
  return OkStatus();
}

Value TagsValue(const Tags& tags) {
  Value object = Value::MakeMap();
  for (const auto& [key, value] : tags) object.Set(key, value);
  return object;
}

std::string EncodeTags(const Tags& tags) { return ToJson(TagsValue(tags)); }

Result<Tags> DecodeTags(std::string_view text) {
  TUNE_ASSIGN_OR_RETURN(const Value object, ParseJson(text));
  LabelChange all;
  TUNE_RETURN_IF_ERROR(ReadLabelChange("tags", object, all));
  return all.tags;
}

std::string DescribeTags(const Tags& tags) {
  std::string text;
  for (const auto& [key, value] : tags) {
    text +=
        (text.empty() ? "" : " ") + Printable(key) + (value.empty() ? "" : "=") + Printable(value);
  }
  return text;
}

std::vector<std::string> NoteLines(std::string_view note) {
  std::vector<std::string> lines;
  while (!note.empty()) {
    const std::string_view line = note.substr(0, note.find('\n'));
    note.remove_prefix(std::min(note.size(), line.size() + 1));
    lines.push_back(Printable(line));
  }
  return lines;
}

std::vector<std::string> LabelLines(const std::string& sweep, const SweepLabels& labels) {
  const std::string tags = labels.tags.empty() ? "no tags" : DescribeTags(labels.tags);
  std::vector<std::string> lines = {Printable(sweep) + ": " + tags};
  for (const std::string& line : NoteLines(labels.note)) lines.push_back("  " + line);
  return lines;
}

}  // namespace tune
