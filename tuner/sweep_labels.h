// What a person writes to a sweep, to find it by and to know it again: a note, and tags. Nothing
// that tune decides depends on them.
//
// Thread rule: pure functions.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/status.h"
#include "core/value.h"

namespace tune {

using Tags = std::map<std::string, std::string>;  // By key; a value may be empty.

inline constexpr size_t kNoteBytesMax = 10'000;
inline constexpr size_t kTagsMax = 50;
inline constexpr size_t kTagKeyBytesMax = 64;
inline constexpr size_t kTagValueBytesMax = 256;

struct SweepLabels {
  std::string note;  // Of any number of lines.
  Tags tags;

  bool empty() const { return note.empty() && tags.empty(); }
  friend bool operator==(const SweepLabels&, const SweepLabels&) = default;
};

struct LabelChange {
  std::optional<std::string> note;  // The new one; empty: none.
  Tags tags;                        // Added, or given another value.
  std::set<std::string> untag;      // Keys.

  bool empty() const { return !note && tags.empty() && untag.empty(); }
  friend bool operator==(const LabelChange&, const LabelChange&) = default;
};

// "team=vision", or "baseline" alone. kInvalidArgument says what is wrong with it.
Result<std::pair<std::string, std::string>> ReadTag(std::string_view text);

// kInvalidArgument: a text that is too long or no UTF-8, a key that is none, a key that comes and
// goes at once, too many tags in the end. kNotFound: no tag has a key of `untag`.
Result<SweepLabels> Changed(SweepLabels labels, const LabelChange& change);

// {"note": "...", "tags": {"team": "vision"}, "untag": ["old"]}, what does not change left out.
Value EncodeLabelChange(const LabelChange& change);
// Reads one key of that. kInvalidArgument: its value is of another type; kNotFound: no such key.
Status ReadLabelChange(const std::string& key, const Value& value, LabelChange& change);

Value TagsValue(const Tags& tags);         // {"team": "vision"}.
std::string EncodeTags(const Tags& tags);  // As one line of JSON.
Result<Tags> DecodeTags(std::string_view text);

// "team=vision baseline", for a person.
std::string DescribeTags(const Tags& tags);
// The note's lines, each Printable.
std::vector<std::string> NoteLines(std::string_view note);
// What a sweep has now: "food11: team=vision baseline", then the note's lines.
std::vector<std::string> LabelLines(const std::string& sweep, const SweepLabels& labels);

}  // namespace tune
