#include "trial_runner/line_form.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "core/utf8.h"

namespace tune {
namespace {

bool IsDigit(char c) { return c >= '0' && c <= '9'; }
bool IsAsciiWord(char c) {
  // A '?' is a number that is not known yet: "?it/s".
  return IsDigit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || c == '?';
}

template <size_t kCount>
bool IsOneOf(const std::string_view (&words)[kCount], std::string_view word) {
  return std::find(std::begin(words), std::end(words), word) != std::end(words);
}

// Punctuation, arrows, boxes, blocks, braille and emoji are no letters.
bool IsForeignLetter(std::string_view character) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(character[i]); };
  if (character.size() < 2) return false;
  if (character.size() == 2) return byte(0) >= 0xc3 && character != "\xc3\x97";
  if (character.size() == 4) return byte(0) == 0xf0 && byte(1) < 0x9f;
  const bool is_symbol = byte(0) == 0xe2 && byte(1) < 0xb0;  // U+2000 to U+2BFF.
  const bool is_wide_mark = (byte(0) == 0xe3 && byte(1) == 0x80) || byte(0) == 0xef;
  return !is_symbol && !is_wide_mark;
}

// The length of the word at the front; 0: none stands there.
size_t WordBytes(std::string_view text) {
  size_t end = 0;
  while (end < text.size()) {
    if (IsAsciiWord(text[end])) {
      ++end;
      continue;
    }
    const size_t bytes = Utf8CharacterBytes(text.substr(end));
    if (bytes < 2 || !IsForeignLetter(text.substr(end, bytes))) break;
    end += bytes;
  }
  return end;
}

std::string Lower(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

bool IsNumberWord(const std::string& word) {
  static constexpr std::string_view kValues[] = {"nan",  "inf",  "infinity", "none",
                                                 "null", "true", "false"};
  return word.find_first_of("0123456789?") != std::string::npos || IsOneOf(kValues, word);
}

bool IsUnit(const std::string& word) {
  static constexpr std::string_view kUnits[] = {
      "s",      "sec",     "secs", "second", "seconds", "ms",    "us",  "ns",  "min",  "mins",
      "minute", "minutes", "h",    "hr",     "hour",    "hours", "d",   "day", "days", "it",
      "b",      "kb",      "mb",   "gb",     "kib",     "mib",   "gib", "am",  "pm",   "mon",
      "tue",    "wed",     "thu",  "fri",    "sat",     "sun",   "jan", "feb", "mar",  "apr",
      "may",    "jun",     "jul",  "aug",    "sep",     "oct",   "nov", "dec"};
  return IsOneOf(kUnits, word);
}

// What is counted within an epoch.
bool IsInnerCounter(const std::string& word) {
  static constexpr std::string_view kCounters[] = {"step",      "batch",       "iter",
                                                   "minibatch", "global_step", "iteration"};
  return IsOneOf(kCounters, word);
}

// Whose value it is: of one of several that run side by side, or one after the other.
bool IsPart(const std::string& word) {
  static constexpr std::string_view kParts[] = {
      "rank",  "fold",    "gpu",     "cuda",    "process",   "proc",        "worker", "seed",
      "run",   "split",   "class",   "client",  "task",      "model",       "member", "subject",
      "group", "trial",   "restart", "horizon", "replicate", "threshold",   "snr",    "level",
      "site",  "patient", "user",    "domain",  "k",         "n_estimators"};
  return IsOneOf(kParts, word);
}

// "0" of " 0]", "=0,"; empty: no whole number follows.
std::string_view NumberAfter(std::string_view after) {
  const size_t begin = after.find_first_not_of(" \t=:#([");
  if (begin == std::string_view::npos) return "";
  const std::string_view rest = after.substr(begin);
  const size_t bytes = WordBytes(rest);
  const bool is_whole =
      std::all_of(rest.begin(), rest.begin() + static_cast<ptrdiff_t>(bytes), IsDigit);
  return is_whole ? rest.substr(0, bytes) : "";
}

// "rank0" is its word and number in one.
bool IsPartWithNumber(const std::string& word) {
  const size_t digits = word.find_first_of("0123456789");
  return digits != std::string::npos && IsPart(word.substr(0, digits)) &&
         word.find_first_not_of("0123456789", digits) == std::string::npos;
}

// Remarks that the lines of some epochs have.
constexpr std::string_view kPraises[] = {"best", "sav", "improve", "new", "checkpoint", "record"};

// Whether a number follows, as behind "epoch" and "loss=".
bool IsKey(std::string_view after) {
  const size_t next = after.find_first_not_of(" \t=:'\"([-+#.");
  if (next == std::string_view::npos) return false;
  const size_t bytes = WordBytes(after.substr(next));
  return bytes > 0 && (IsDigit(after[next]) || IsNumberWord(Lower(after.substr(next, bytes))));
}

}  // namespace

std::string LineForm(std::string_view before) {
  std::string first;
  std::string words;
  bool is_after_unit = false;  // "15us" of "15us/step".
  for (size_t i = 0; i < before.size();) {
    const size_t bytes = WordBytes(before.substr(i));
    if (bytes == 0) {
      is_after_unit = is_after_unit && before[i] == '/';
      ++i;
      continue;
    }
    const std::string word = Lower(before.substr(i, bytes));
    i += bytes;
    if (IsPartWithNumber(word)) {
      words += "|" + word;
      continue;
    }
    const bool is_left_out = IsNumberWord(word) || IsUnit(word) || is_after_unit;
    is_after_unit = is_left_out;
    if (is_left_out) continue;
    if (first.empty()) first = word;
    const std::string_view number = IsPart(word) ? NumberAfter(before.substr(i)) : "";
    if (!number.empty()) {
      words += "|" + word + std::string(number);
    } else if (!IsKey(before.substr(i)) || IsInnerCounter(word)) {
      words += "|" + word;
    }
  }
  const size_t indent = before.find_first_not_of(" \t");
  const bool is_indented = indent != 0 && indent < before.size() && IsAsciiWord(before[indent]) &&
                           !IsDigit(before[indent]);
  return (is_indented ? "  " : "") + first + words;
}

// Parts of times, dates and numbers, and numbers with units, count nothing.
EpochPlace FindEpoch(std::string_view before) {
  constexpr size_t kEpochDigitsMax = 15;
  static constexpr std::string_view kEpochWords[] = {"epoch", "epochs", "ep"};
  const auto is_digit_at = [&](size_t i) { return i < before.size() && IsDigit(before[i]); };
  const auto parts = [&](size_t i) {
    return i < before.size() && std::string_view(":.,-").find(before[i]) != std::string_view::npos;
  };
  EpochPlace place;
  bool follows_epoch = false;
  for (size_t i = 0; i < before.size();) {
    const size_t begin = i;
    const size_t bytes = WordBytes(before.substr(i));
    i += std::max<size_t>(bytes, 1);
    if (bytes == 0) continue;
    const std::string_view word = before.substr(begin, bytes);
    const bool is_part = (begin > 1 && parts(begin - 1) && is_digit_at(begin - 2)) ||
                         (parts(i) && is_digit_at(i + 1));
    const size_t next = std::min(before.find_first_not_of(' ', i), before.size());
    const bool has_unit = IsUnit(Lower(before.substr(next, WordBytes(before.substr(next)))));
    const bool counts = std::all_of(word.begin(), word.end(), IsDigit) && !is_part && !has_unit;
    if (counts) place.counters += std::string(word) + "/";
    if (counts && follows_epoch && bytes <= kEpochDigitsMax) {
      place.epoch = std::stoll(std::string(word));
    }
    follows_epoch = IsOneOf(kEpochWords, Lower(word));
  }
  return place;
}

DataSplit FindDataSplit(std::string_view behind) {
  struct Name {
    std::string_view word, split;
  };
  static constexpr Name kNames[] = {
      {"train", "train"}, {"training", "train"}, {"trn", "train"},    {"val", "val"},
      {"valid", "val"},   {"validation", "val"}, {"dev", "val"},      {"eval", "val"},
      {"test", "test"},   {"testing", "test"},   {"holdout", "test"}, {"evaluation", "val"}};
  for (size_t i = 0; i < behind.size();) {
    const size_t bytes = WordBytes(behind.substr(i));
    if (bytes == 0) {
      ++i;
      continue;
    }
    const std::string_view word = behind.substr(i, bytes);
    i += bytes;
    const auto* const name =
        std::find_if(std::begin(kNames), std::end(kNames),
                     [lower = Lower(word)](const Name& one) { return one.word == lower; });
    if (name != std::end(kNames) && !IsKey(behind.substr(i))) return {name->split, word};
  }
  return {};
}

namespace {

// "test" of " (test)", "before training" of "% [before training]": what is remarked of the value
// right behind it, in words alone. A remark that the value is the best so far is none.
std::string FindRemark(std::string_view behind) {
  const size_t unit = UnitBehind(behind).size();
  if (unit > 0) behind.remove_prefix(behind.find_first_not_of(' ') + unit);
  const size_t begin = behind.find_first_not_of(' ');
  if (begin == std::string_view::npos || (behind[begin] != '(' && behind[begin] != '[')) return "";
  const size_t end = behind.find(behind[begin] == '(' ? ')' : ']', begin);
  if (end == std::string_view::npos) return "";
  const std::string remark = Lower(behind.substr(begin + 1, end - begin - 1));
  constexpr std::string_view kLetters = "abcdefghijklmnopqrstuvwxyz -_";
  const bool is_words = !remark.empty() && remark.find_first_not_of(kLetters) == remark.npos;
  const bool is_praise =
      remark != "best so far" &&
      std::any_of(std::begin(kPraises), std::end(kPraises), [&](std::string_view praise) {
        return remark.find(praise) != std::string::npos;
      });
  return is_words && !is_praise ? remark : "";
}

}  // namespace

std::string FindSummaryWord(std::string_view behind) {
  static constexpr std::string_view kWords[] = {
      "mean",     "average", "avg",    "median",  "overall", "baseline",
      "ensemble", "summary", "target", "goal",    "sota",    "initial",
      "required", "chance",  "ema",    "teacher", "expected"};
  if (std::string remark = FindRemark(behind); !remark.empty()) return remark;
  for (size_t i = 0; i < behind.size();) {
    const size_t bytes = WordBytes(behind.substr(i));
    const std::string word = Lower(behind.substr(i, bytes));
    i += std::max<size_t>(bytes, 1);
    if (bytes > 0 && IsOneOf(kWords, word) && !IsKey(behind.substr(i))) return word;
  }
  return "";
}

DataSplit FindHeading(std::string_view line) {
  constexpr size_t kWordsMax = 3;
  size_t words = 0;
  for (size_t i = 0; i < line.size();) {
    const size_t bytes = WordBytes(line.substr(i));
    if (bytes > 0 && (++words > kWordsMax || IsNumberWord(Lower(line.substr(i, bytes))))) return {};
    i += std::max<size_t>(bytes, 1);
  }
  return FindDataSplit(line);
}

std::string FindSection(std::string_view line) {
  constexpr size_t kWordsMax = 4;
  constexpr std::string_view kFrames = "-=#*[<";
  const size_t begin = line.find_first_not_of(" \t");
  const size_t last = line.find_last_not_of(" \t\r");
  if (begin == std::string_view::npos || line.find_first_of("0123456789") != line.npos) return "";
  const std::string_view text = line.substr(begin, last + 1 - begin);
  const bool is_framed = kFrames.find(text.front()) != std::string_view::npos &&
                         std::string_view("-=#*]>").find(text.back()) != std::string_view::npos;
  if (text.back() != ':' && !text.ends_with("...") && !is_framed) return "";
  std::string words;
  size_t count = 0;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = WordBytes(text.substr(i));
    if (bytes > 0 && ++count > kWordsMax) return "";
    if (bytes > 0) words += (words.empty() ? "" : " ") + Lower(text.substr(i, bytes));
    i += std::max<size_t>(bytes, 1);
  }
  return words;
}

std::string FindTraining(std::string_view line) {
  constexpr size_t kWordsMax = 5;
  std::vector<std::string> words;
  for (size_t i = 0; i < line.size();) {
    const size_t bytes = WordBytes(line.substr(i));
    if (bytes > 0) words.push_back(Lower(line.substr(i, bytes)));
    i += std::max<size_t>(bytes, 1);
  }
  if (words.size() < 2 || words.size() > kWordsMax) return "";
  const bool is_part = IsPart(words[0]) || words[0] == "stage" || words[0] == "phase";
  const bool has_number = std::all_of(words[1].begin(), words[1].end(), IsDigit);
  // "fold 1/5", but no line of values.
  const auto numbers = std::count_if(words.begin() + 2, words.end(), IsNumberWord);
  const bool is_of = numbers == 1 && IsNumberWord(words[2]) && line.find('/') != line.npos;
  return is_part && has_number && (numbers == 0 || is_of) ? words[0] + " " + words[1] : "";
}

std::optional<double> FindPercent(std::string_view before) {
  constexpr size_t kDigitsMax = 15;
  const size_t sign = before.rfind('%');
  if (sign == std::string_view::npos) return std::nullopt;
  const size_t end = before.substr(0, sign).find_last_not_of(' ') + 1;  // npos + 1 is 0.
  size_t begin = end;
  while (begin > 0 && (IsDigit(before[begin - 1]) || before[begin - 1] == '.')) --begin;
  const std::string number(before.substr(begin, end - begin));
  if (number.empty() || !IsDigit(number.front()) || number.size() > kDigitsMax) return std::nullopt;
  return std::strtod(number.c_str(), nullptr);
}

std::string_view UnitBehind(std::string_view tail) {
  static constexpr std::string_view kApart[] = {
      "ns",      "us",    "ms", "s",  "sec", "secs", "seconds", "second",
      "minutes", "hours", "kb", "mb", "gb",  "kib",  "mib",     "gib"};
  if (tail.starts_with(' ')) {
    const std::string_view rest = tail.substr(1);
    if (rest.starts_with('%')) return rest.substr(0, 1);
    const std::string_view word = rest.substr(0, WordBytes(rest));
    return IsOneOf(kApart, Lower(word)) && !IsKey(rest.substr(word.size())) ? word
                                                                            : std::string_view();
  }
  if (tail.starts_with('%')) return tail.substr(0, 1);
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  const auto end = std::find_if_not(tail.begin(), tail.end(), is_letter);
  return tail.substr(0, static_cast<size_t>(end - tail.begin()));
}

namespace {

// 5 of "0.615, lr"; 0 where no number begins.
size_t NumberBytes(std::string_view text) {
  const size_t sign = text.starts_with('-') || text.starts_with('+') ? 1 : 0;
  if (sign == text.size() || !IsDigit(text[sign])) return 0;
  size_t end = sign;
  const auto is_digit = [&](size_t at) { return at < text.size() && IsDigit(text[at]); };
  while (is_digit(end) || (end < text.size() && text[end] == '.' && is_digit(end + 1))) ++end;
  return end;
}

}  // namespace

std::string_view RestBehind(std::string_view number, std::string_view tail) {
  const auto digits_at = [&](size_t begin) {
    const auto* const end = std::find_if_not(tail.begin() + begin, tail.end(), IsDigit);
    return static_cast<size_t>(end - tail.begin()) - begin;
  };
  if (tail.starts_with('(')) {
    const size_t close = 1 + digits_at(1);
    const bool is_uncertainty = close > 1 && tail.substr(close).starts_with(')');
    return is_uncertainty ? tail.substr(0, tail.find(' ', close)) : std::string_view();
  }
  for (const std::string_view joint :
       {" / ", " of ", " -> ", " --> ", "->", " => ", " \xe2\x86\x92 "}) {
    const size_t bytes = tail.starts_with(joint) ? NumberBytes(tail.substr(joint.size())) : 0;
    if (bytes > 0) return tail.substr(0, joint.size() + bytes);
  }
  if (tail.empty() || std::string_view("/: ").find(tail[0]) == std::string_view::npos) return {};
  const size_t digits = digits_at(1);
  if (tail[0] != ' ') return digits == 0 ? std::string_view() : tail.substr(0, 1 + digits);
  // "1 234.5", but neither "12 100 ms" of two columns nor "0.5 100".
  const size_t group_end = 1 + digits;
  const bool is_group = digits == 3 && number.size() <= 4 &&
                        number.find_first_not_of("+-0123456789") == std::string_view::npos;
  const bool is_end = group_end == tail.size() || tail[group_end] == '.' ||
                      std::string_view(",;)]}%").find(tail[group_end]) != std::string_view::npos;
  if (!is_group || !is_end) return {};
  const bool has_point = group_end < tail.size() && tail[group_end] == '.';
  return tail.substr(0, has_point ? group_end + 1 + digits_at(group_end + 1) : group_end);
}

std::string EscapedForRegex(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (std::string_view("\\.^$*+?()[]{}|").find(c) != std::string_view::npos) escaped += '\\';
    escaped += c;
  }
  return escaped;
}

std::string LineBeginning(std::string_view line, size_t begin) {
  std::string regex = "^";
  for (size_t i = 0; i < begin;) {
    if (IsDigit(line[i])) {
      while (i < begin &&
             (IsDigit(line[i]) || (line[i] == '.' && i + 1 < begin && IsDigit(line[i + 1]))))
        ++i;
      regex += "[\\d.]+";
    } else if (line[i] == ' ') {
      while (i < begin && line[i] == ' ') ++i;
      regex += regex == "^" ? " *" : " +";
    } else {
      regex += EscapedForRegex(line.substr(i++, 1));
    }
  }
  return regex;
}

std::string_view WordBefore(std::string_view line, size_t begin) {
  const auto is_word = [](char c) {
    return IsAsciiWord(c) || static_cast<unsigned char>(c) >= 0x80;
  };
  size_t at = begin;
  while (at > 0 && !is_word(line[at - 1])) --at;
  while (at > 0 && is_word(line[at - 1])) --at;
  return line.substr(at, begin - at);
}

}  // namespace tune
