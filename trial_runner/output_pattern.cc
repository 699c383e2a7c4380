#include "trial_runner/output_pattern.h"

#include <re2/re2.h>

#include <array>
#include <utility>
#include <vector>

#include "core/utf8.h"

namespace tune {
namespace {

constexpr std::string_view kNumber = "{number}";

// One too large for RE2's memory is refused as any other that cannot be used.
re2::RE2::Options PatternOptions() {
  re2::RE2::Options options(re2::RE2::Latin1);  // Output need not be UTF-8.
  options.set_log_errors(false);
  return options;
}

bool IsEscaped(std::string_view pattern, size_t at) {
  size_t slashes = 0;
  while (slashes < at && pattern[at - 1 - slashes] == '\\') ++slashes;
  return slashes % 2 == 1;
}

// Where {number} stands; `\{number}` is a brace.
std::vector<size_t> NumberPlaces(std::string_view pattern) {
  std::vector<size_t> places;
  for (size_t at = pattern.find(kNumber); at != std::string_view::npos;
       at = pattern.find(kNumber, at + 1)) {
    if (!IsEscaped(pattern, at)) places.push_back(at);
  }
  return places;
}

// The first group that is kept, from its '(' to behind its ')'.
std::pair<size_t, size_t> FirstGroup(std::string_view pattern) {
  size_t begin = std::string_view::npos;
  int depth = 0;
  bool in_class = false;
  for (size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] == '\\') {
      ++i;
    } else if (in_class) {
      in_class = pattern[i] != ']' || pattern[i - 1] == '[';
    } else if (pattern[i] == '[') {
      in_class = true;
    } else if (pattern[i] == '(') {
      const bool is_kept = !pattern.substr(i).starts_with("(?") ||
                           pattern.substr(i).starts_with("(?P<") ||
                           pattern.substr(i).starts_with("(?<");
      if (begin == std::string_view::npos && is_kept) {
        begin = i;
        depth = 0;
      }
      ++depth;
    } else if (pattern[i] == ')' && --depth == 0 && begin != std::string_view::npos) {
      return {begin, i + 1};
    }
  }
  return {0, pattern.size()};
}

// The characters right beside [begin, end) of a pattern, where they stand for themselves.
SpelledBeside SpelledIn(std::string_view pattern, size_t begin, size_t end) {
  constexpr std::string_view kOperators = ".?*+|()[]{}^$\\";
  SpelledBeside spelled;
  if (begin > 0) {
    const char c = pattern[begin - 1];
    const bool is_operator = kOperators.find(c) != std::string_view::npos;
    const bool is_escaped = IsEscaped(pattern, begin - 1);
    if (is_escaped ? !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z')) : !is_operator) {
      spelled.before = c;
    }
  }
  if (end < pattern.size()) {
    const bool is_escape = pattern[end] == '\\' && end + 1 < pattern.size();
    const size_t at = is_escape ? end + 1 : end;
    const bool is_optional =
        at + 1 < pattern.size() &&
        std::string_view("?*{").find(pattern[at + 1]) != std::string_view::npos;
    const bool is_operator = !is_escape && kOperators.find(pattern[at]) != std::string_view::npos;
    if (!is_optional && !is_operator) spelled.after = pattern[at];
  }
  // A comma on one side parts columns: it does so on the other side too.
  if (spelled.before == ',' && spelled.after == 0) spelled.after = ',';
  if (spelled.after == ',' && spelled.before == 0) spelled.before = ',';
  return spelled;
}

// A group of one's own takes what stands around a number too: "(\S+)" takes "0.5,".
std::string_view WithoutPunctuation(std::string_view text) {
  const size_t last = text.find_last_not_of(".,;:)]}'\"%");
  return text.substr(0, last == std::string_view::npos ? 0 : last + 1);
}

bool BeginsAsNumber(std::string_view text) {
  if (text.starts_with('+') || text.starts_with('-')) text.remove_prefix(1);
  if (text.starts_with('.')) text.remove_prefix(1);
  return !text.empty() && text.front() >= '0' && text.front() <= '9';
}

// Whether the text at `begin` goes on from a longer name: "loss" in "val_loss", "eval/loss".
bool IsWithinName(std::string_view line, size_t begin, size_t end) {
  const auto is_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  };
  if (begin == 0 || begin == end || !is_name(line[begin])) return false;
  const char before = line[begin - 1];
  const bool is_joint = before == '/' || before == '-' || before == '.';
  return is_name(before) || (is_joint && begin > 1 && is_name(line[begin - 2]));
}

}  // namespace

Result<OutputPattern> OutputPattern::Make(std::string metric, const std::string& pattern,
                                          StreamChoice from) {
  OutputPattern made;
  made.metric_ = std::move(metric);
  made.text_ = pattern;
  made.from_ = from;
  const std::vector<size_t> places = NumberPlaces(pattern);
  if (places.size() > 1) {
    return InvalidArgument("the regular expression '" + pattern + "' holds " +
                           std::string(kNumber) + " twice, expected it once");
  }
  std::string written = pattern;
  made.has_number_ = !places.empty();
  if (made.has_number_) {
    made.spelled_ = SpelledIn(pattern, places[0], places[0] + kNumber.size());
    const bool is_column = made.spelled_.before == ',' || made.spelled_.after == ',';
    written.replace(
        places[0], kNumber.size(),
        NumberExpression(is_column ? Thousands::kWithoutCommas : Thousands::kWithCommas));
  }
  auto expression = std::make_shared<const re2::RE2>(written, PatternOptions());
  const auto hides_number = [&]() {
    return InvalidArgument("the regular expression '" + pattern + "' has " + std::string(kNumber) +
                           " within brackets or quotes, where it stands for single characters; "
                           "write \\[ and \\] for brackets that are printed");
  };
  if (!expression->ok() && made.has_number_) {
    std::string with_digit = pattern;
    with_digit.replace(places[0], kNumber.size(), "0");
    if (re2::RE2(with_digit, PatternOptions()).ok()) return hides_number();
  }
  if (!expression->ok()) {
    return InvalidArgument("the regular expression '" + pattern +
                           "' cannot be used: " + expression->error());
  }
  const auto& names = expression->NamedCapturingGroups();
  const auto named = names.find(kNumberGroup);
  if (made.has_number_ && named == names.end()) return hides_number();
  if (expression->NumberOfCapturingGroups() == 0) {
    return InvalidArgument("the regular expression '" + pattern +
                           "' has no group; write {number} where the number stands: \"acc: "
                           "{number}\"");
  }
  if (made.has_number_) {
    made.group_ = named->second;
  } else {
    const auto [begin, end] = FirstGroup(pattern);
    made.spelled_ = SpelledIn(pattern, begin, end);
  }
  made.expression_ = std::move(expression);
  return made;
}

Result<std::optional<OutputMatch>> OutputPattern::FindIn(std::string_view line) const {
  // The last match's that is a number, or begins as one. A match within a longer name counts where
  // there is no other: "loss: {number}" is not meant to read "loss: 0.5 val_loss: 0.7" as 0.7.
  std::optional<std::string_view> found;
  bool is_found_within = false;
  OutputMatch result;
  const re2::StringPiece whole(line.data(), line.size());
  std::vector<re2::StringPiece> match(static_cast<size_t>(group_) + 1);
  for (size_t begin = 0; begin <= line.size();) {
    const bool is_found = expression_->Match(whole, begin, line.size(), re2::RE2::UNANCHORED,
                                             match.data(), group_ + 1);
    if (!is_found) break;
    const re2::StringPiece& group = match.back();
    if (group.data() != nullptr) {
      std::string_view text(group.data(), group.size());
      if (!has_number_ && !ReadWholeNumber(text)) text = WithoutPunctuation(text);
      const auto from = static_cast<size_t>(match[0].data() - line.data());
      const bool is_within = IsWithinName(line, from, from + match[0].size());
      const bool goes_before = !found || is_found_within || !is_within;
      if (goes_before && (ReadWholeNumber(text) || BeginsAsNumber(text))) {
        result.passed_over.reset();
        if (found && is_found_within == is_within) result.passed_over = ReadWholeNumber(*found);
        result.passed_begin = result.match_begin;
        result.match_begin = from;
        result.match_end = from + match[0].size();
        found = text;
        is_found_within = is_within;
      }
    }
    begin = static_cast<size_t>(match[0].data() - line.data()) + match[0].size();
    if (match[0].empty()) ++begin;
  }
  if (!found) return std::optional<OutputMatch>();

  const auto begin = static_cast<size_t>(found->data() - line.data());
  const size_t end = begin + found->size();
  const std::optional<double> number = ReadWholeNumber(*found);
  if (number && !IsPartOfNumber(line, begin, end, spelled_)) {
    result.number = *number;
    result.number_begin = begin;
    result.number_end = end;
    if (result.passed_over == number) result.passed_over.reset();
    return std::optional(result);
  }
  return Refusal(line, begin, end);
}

Status OutputPattern::Refusal(std::string_view line, size_t begin, size_t end) const {
  const std::string_view taken = line.substr(begin, end - begin);
  const std::string read =
      "the regular expression of '" + metric_ + "' took '" + ToUtf8(taken) + "'";
  const std::string_view tail = line.substr(end);
  const bool is_other_notation = IsOtherNotation(tail, taken);
  std::string_view around = WordAround(line, begin, end);
  if (is_other_notation && tail.starts_with(' ')) {  // "1.5 x 10^3".
    around = line.substr(begin, line.find(' ', line.find("10", end)) - begin);
  }
  const std::string word = ToUtf8(around);
  if (word == taken && taken.find(',') != std::string_view::npos) {
    return InvalidArgument(read +
                           ", which is no number: a comma is no decimal point; print the number "
                           "with a point");
  }
  if (word == taken) {
    return InvalidArgument(read +
                           ", which is no number; write {number} for its group, and the "
                           "text beside the number as it is printed");
  }
  const std::string remedy =
      tail.starts_with(',') ? "; a comma is no decimal point: print the number with a point"
      : is_other_notation   ? "; print the number as 12345.6 or 1.5e-03, which are read"
      : has_number_ ? "; write .*? for .* and the text right beside the number as it is printed"
                    : "; write {number} for its group, which takes a number whole";
  return InvalidArgument(read + " out of '" + word + "'" + remedy);
}

}  // namespace tune
