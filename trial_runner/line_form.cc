#include "trial_runner/line_form.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <iterator>
#include <vector>

#include "trial_runner/line_words.h"

namespace tune {
namespace {

// What is counted within an epoch.
bool IsInnerCounter(const std::string& word) {
  static constexpr std::string_view kCounters[] = {"step",      "batch",       "iter",
                                                   "minibatch", "global_step", "iteration"};
  return IsOneOf(kCounters, word);
}

bool IsEpochWord(const std::string& word) {
  return word == "epoch" || word == "epochs" || word == "ep";
}

// "[3/10]", "[10]" and "[3, 2000]": how many there are.
size_t BracketsOfNumbers(std::string_view text) {
  size_t count = 0;
  for (size_t begin = text.find('['); begin != text.npos; begin = text.find('[', begin + 1)) {
    const size_t end = text.find_first_not_of(" 0123456789/,", begin + 1);
    if (end == text.npos || text[end] != ']') continue;
    if (text.substr(begin, end - begin).find_first_of("0123456789") != text.npos) ++count;
  }
  return count;
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
    const bool is_left_out = IsNumberWord(word) || IsUnit(word) || is_after_unit;
    is_after_unit = is_left_out;
    if (is_left_out) continue;
    if (first.empty()) first = word;
    if (!IsKey(before.substr(i)) || IsInnerCounter(word)) words += "|" + word;
  }
  for (size_t i = BracketsOfNumbers(before); i > 0; --i) words += "|[]";
  const size_t indent = before.find_first_not_of(" \t");
  const bool is_indented = indent != 0 && indent < before.size() && IsAsciiWord(before[indent]) &&
                           !IsDigit(before[indent]);
  return (is_indented ? "  " : "") + first + words;
}

size_t CountLevels(std::string_view before) {
  size_t levels = BracketsOfNumbers(before);
  for (size_t i = 0; i < before.size();) {
    const size_t bytes = WordBytes(before.substr(i));
    const bool counts = IsInnerCounter(Lower(before.substr(i, bytes)));
    i += std::max<size_t>(bytes, 1);
    if (counts && IsKey(before.substr(i))) ++levels;
  }
  return levels;
}

// Parts of times, dates and numbers, and numbers with units, count nothing.
EpochPlace FindEpoch(std::string_view before) {
  constexpr size_t kEpochDigitsMax = 15;
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
    follows_epoch = IsEpochWord(Lower(word));
  }
  return place;
}

DataSplit FindDataSplit(std::string_view behind) {
  struct Name {
    std::string_view word, split;
  };
  static constexpr Name kNames[] = {
      {"train", "train"},  {"training", "train"}, {"trn", "train"},      {"val", "val"},
      {"vali", "val"},     {"valid", "val"},      {"validation", "val"}, {"validating", "val"},
      {"dev", "val"},      {"eval", "val"},       {"test", "test"},      {"testing", "test"},
      {"holdout", "test"}, {"evaluation", "val"}};
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

DataSplit FindLastDataSplit(std::string_view before) {
  DataSplit last;
  while (true) {
    const DataSplit next = FindDataSplit(before);
    if (next.name.empty()) return last;
    last = next;
    before.remove_prefix(static_cast<size_t>(next.word.data() - before.data()) + next.word.size());
  }
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
      "mean",    "average", "avg",      "median",    "overall", "baseline", "ensemble",
      "summary", "target",  "goal",     "sota",      "initial", "required", "chance",
      "ema",     "teacher", "expected", "untrained", "before"};
  if (std::string remark = FindRemark(behind); !remark.empty()) return remark;
  for (size_t i = 0; i < behind.size();) {
    const size_t bytes = WordBytes(behind.substr(i));
    const std::string word = Lower(behind.substr(i, bytes));
    i += std::max<size_t>(bytes, 1);
    if (bytes > 0 && IsOneOf(kWords, word) && !IsKey(behind.substr(i))) return word;
  }
  return "";
}

// A short line, or a longer one that says of which data: "Evaluating on the validation set". Of
// time it may say which epoch it is: "Epoch 3/10 training...".
DataSplit FindHeading(std::string_view line) {
  constexpr size_t kWordsMax = 3;
  constexpr size_t kPhraseWordsMax = 8;
  static constexpr std::string_view kData[] = {"set", "data", "dataset", "split", "images", "part"};
  size_t words = 0;
  std::string last;
  bool is_counted = false;  // The last word counts time.
  bool has_preposition = false;
  for (size_t i = 0; i < line.size();) {
    const size_t begin = i;
    const size_t bytes = WordBytes(line.substr(i));
    i += std::max<size_t>(bytes, 1);
    if (bytes == 0) continue;
    const std::string word = Lower(line.substr(begin, bytes));
    const bool is_whole = std::all_of(word.begin(), word.end(), IsDigit);
    if (is_whole && is_counted) {
      const bool is_fraction = i + 1 < line.size() && line[i] == '/' && IsDigit(line[i + 1]);
      is_counted = is_fraction;
      continue;
    }
    if (IsNumberWord(word)) return {};
    is_counted = IsInnerCounter(word) || IsEpochWord(word);
    if (is_counted) continue;
    ++words;
    has_preposition = has_preposition || word == "on" || word == "over" || word == "for";
    last = word;
  }
  const bool is_phrase = has_preposition && words <= kPhraseWordsMax && IsOneOf(kData, last);
  return words <= kWordsMax || is_phrase ? FindLastDataSplit(line) : DataSplit();
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

BlockLine FindBlock(std::string_view line) {
  constexpr size_t kTitledWordsMax = 4;
  constexpr size_t kPlainWordsMax = 3;
  static constexpr std::string_view kResults[] = {"final", "result", "results", "evaluation"};
  BlockLine block;
  if (line.find_first_of("0123456789") != line.npos) return block;
  size_t count = 0;
  for (size_t i = 0; i < line.size();) {
    const size_t bytes = WordBytes(line.substr(i));
    const std::string word = Lower(line.substr(i, bytes));
    i += std::max<size_t>(bytes, 1);
    if (bytes == 0) continue;
    if (IsNumberWord(word)) return block;  // "loss nan".
    block.name += (block.name.empty() ? "" : " ") + word;
    block.is_named = block.is_named || IsOneOf(kResults, word);
    ++count;
  }
  if (count == 0) return block;
  const size_t last = line.find_last_not_of(" \t\r");
  const bool is_remark =
      line.substr(0, last + 1).ends_with("...") || line[last] == '.' || line[last] == '!' ||
      std::any_of(std::begin(kPraises), std::end(kPraises), [&](std::string_view praise) {
        return block.name.find(praise) != std::string::npos;
      });
  block.is_titled = !FindSection(line).empty();
  const bool is_heading =
      !is_remark && count <= (block.is_titled ? kTitledWordsMax : kPlainWordsMax);
  block.kind = is_heading ? BlockLine::Kind::kHeading : BlockLine::Kind::kProse;
  const std::string_view split = FindDataSplit(line).name;
  block.is_named =
      block.is_named || (!split.empty() && split != "train") || !FindSummaryWord(line).empty();
  block.is_named = block.is_named && (block.is_titled || count < kPlainWordsMax);
  return block;
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
  // "5-fold" and "2024-01-05", but not the dash of "0.5-acc 0.9".
  const bool is_whole = number.find_first_not_of("+-0123456789") == std::string_view::npos;
  if (is_whole && tail.size() > 1 && tail[0] == '-' && IsAsciiWord(tail[1])) {
    return tail.substr(0, tail.find_first_of(" \t,;)]}"));
  }
  if (tail.empty() || std::string_view("/: ").find(tail[0]) == std::string_view::npos) return {};
  const size_t digits = digits_at(1);
  if (tail[0] != ' ') return digits == 0 ? std::string_view() : tail.substr(0, 1 + digits);
  // "1 234.5", but neither "12 100 ms" of two columns nor "0.5 100".
  const size_t group_end = 1 + digits;
  const bool is_group = digits == 3 && number.size() <= 4 && is_whole;
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
