#include "trial_runner/line_counters.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "trial_runner/line_form.h"
#include "trial_runner/line_words.h"

namespace tune {
namespace {

using Kind = LineCounter::Kind;

constexpr std::string_view kDigits = "0123456789";
constexpr size_t kNowhere = std::string_view::npos;

// Also as a part of a longer word, "num_timesteps" and "globalstep".
bool IsTimeWord(const std::string& word) {
  static constexpr std::string_view kWords[] = {
      "ep",    "eps",    "it",     "itr",   "itrs",    "i",         "e",        "t",        "s",
      "ts",    "gen",    "gens",   "rnd",   "pass",    "passes",    "eval",     "evals",    "ckpt",
      "cycle", "cycles", "chunk",  "frame", "frames",  "game",      "games",    "tick",     "ticks",
      "kimg",  "hour",   "hours",  "eta",   "sec",     "secs",      "seconds",  "min",      "mins",
      "tree",  "trees",  "images", "moves", "samples", "tokens",    "examples", "sweep",    "loop",
      "move",  "epoche", "epoque", "epoca", "schritt", "durchlauf", "paso",     "iteracion"};
  static constexpr std::string_view kEnds[] = {
      "epoch",    "epochs",     "step",        "steps",      "iter",       "iters",
      "batch",    "batches",    "iteration",   "iterations", "generation", "generations",
      "round",    "rounds",     "episode",     "episodes",   "update",     "updates",
      "rollout",  "minute",     "minutes",     "second",     "time",       "elapsed",
      "rollouts", "checkpoint", "checkpoints", "evaluation", "evaluations"};
  const auto is_known = [](std::string_view one) {
    return IsOneOf(kWords, one) || std::any_of(std::begin(kEnds), std::end(kEnds),
                                               [&](auto end) { return one.ends_with(end); });
  };
  for (size_t i = 0; i <= word.size();) {
    const size_t end = std::min(word.find('_', i), word.size());
    if (end > i && is_known(std::string_view(word).substr(i, end - i))) return true;
    i = end + 1;
  }
  // A word of another language cannot be known.
  return std::any_of(word.begin(), word.end(),
                     [](char c) { return static_cast<unsigned char>(c) >= 0x80; });
}

// Whose value it is, wherever it stands: of one of several that run side by side, or one after the
// other.
bool IsPart(std::string_view word) {
  static constexpr std::string_view kParts[] = {
      "rank",  "fold",    "gpu",     "cuda",    "process",   "proc",         "worker", "seed",
      "run",   "split",   "class",   "client",  "task",      "model",        "member", "subject",
      "group", "trial",   "restart", "horizon", "replicate", "threshold",    "snr",    "level",
      "site",  "patient", "user",    "domain",  "k",         "n_estimators", "cv",     "dataset"};
  return IsOneOf(kParts, word);
}

// Of these one training follows the other, so that a sentence may name them: "Running with seed 3".
bool IsTraining(std::string_view word) {
  static constexpr std::string_view kTrainings[] = {"fold",  "seed",    "subject",  "patient",
                                                    "model", "dataset", "replicate"};
  return IsOneOf(kTrainings, word);
}

// What is measured or kept rather than counted, where its values are whole numbers: "loss 3".
bool IsMeasure(std::string_view word) {
  static constexpr std::string_view kEnds[] = {
      "loss",    "acc",   "accuracy", "err",     "error", "score",  "reward", "return",
      "lr",      "rate",  "cost",     "size",    "norm",  "length", "len",    "patience",
      "counter", "count", "mem",      "correct", "total", "auc",    "memory", "fitness"};
  static constexpr std::string_view kWords[] = {"tp", "fp", "tn", "fn", "p", "r", "f"};
  if (IsOneOf(kWords, word)) return true;
  return std::any_of(std::begin(kEnds), std::end(kEnds),
                     [&](std::string_view end) { return word.ends_with(end); });
}

// What `logging` writes before a message.
bool IsLogWord(std::string_view word) {
  static constexpr std::string_view kWords[] = {"info",  "debug", "warning", "warn",
                                                "error", "root",  "main",    "__main__"};
  return IsOneOf(kWords, word);
}

bool IsWhole(std::string_view text) {
  return !text.empty() && text.find_first_not_of(kDigits) == text.npos;
}

struct Word {
  std::string text;  // In lower case.
  size_t begin = 0;
  size_t end = 0;
};

std::vector<Word> WordsOf(std::string_view line) {
  std::vector<Word> words;
  for (size_t i = 0; i < line.size();) {
    const size_t bytes = WordBytes(line.substr(i));
    if (bytes > 0) words.push_back({Lower(line.substr(i, bytes)), i, i + bytes});
    i += std::max<size_t>(bytes, 1);
  }
  return words;
}

// One line, word by word.
class CounterReader {
 public:
  explicit CounterReader(std::string_view line) : line_(line), words_(WordsOf(line)) {}

  const std::vector<Word>& words() const { return words_; }

  std::vector<LineCounter> Read() const {
    std::vector<LineCounter> counters;
    bool is_first = true;  // No word of the message itself stands before this one.
    for (size_t i = 0; i < words_.size(); ++i) {
      const std::string& word = words_[i].text;
      if (auto counter = ReadWord(i, is_first)) counters.push_back(*std::move(counter));
      const bool is_name = !IsNumberWord(word) && !IsUnit(word) && !IsLogWord(word);
      const bool has_number = i + 1 < words_.size() && IsWhole(words_[i + 1].text);
      if (is_name && !(has_number && is_first)) is_first = false;
      if (IsWhole(word) && i > 0 && !IsNumberWord(words_[i - 1].text)) is_first = false;
    }
    return counters;
  }

 private:
  char At(size_t i) const { return i < line_.size() ? line_[i] : '\0'; }
  std::string_view Between(size_t word) const {  // And the word before.
    const size_t begin = word == 0 ? 0 : words_[word - 1].end;
    return line_.substr(begin, words_[word].begin - begin);
  }

  // A date, a time, a fraction, or a number with a unit.
  bool IsOfLongerNumber(const Word& word) const {
    const auto parts = [&](char c) { return c == ':' || c == '.' || c == ',' || c == '-'; };
    const bool before =
        word.begin > 1 && parts(line_[word.begin - 1]) && IsDigit(line_[word.begin - 2]);
    const bool after = parts(At(word.end)) && IsDigit(At(word.end + 1));
    const char next = At(word.end + 1);
    const bool is_file = At(word.end) == '.' && IsAsciiWord(next) && next != '_';
    return before || after || is_file || At(word.end) == '%';
  }
  bool HasUnit(size_t i) const {
    return i + 1 < words_.size() && Between(i + 1) == " " && IsUnit(words_[i + 1].text) &&
           words_[i + 1].text != "it";
  }
  // "100 steps" of "After 100 steps", and any noun, "31 nodes" of "Visited 31 nodes, bound 0.5";
  // the name of the value itself is none, "Organ 3 dice 0.5".
  bool CountsNoun(size_t i, bool of_time) const {
    if (i + 1 >= words_.size() || Between(i + 1) != " ") return false;
    const std::string& next = words_[i + 1].text;
    if (of_time || IsNumberWord(next)) return !IsNumberWord(next) && IsTimeWord(next);
    const bool is_last = i + 2 == words_.size();
    return !is_last && !IsNumberWord(words_[i + 2].text);
  }
  // The 10 of "3/10" and of "3 of 10".
  bool IsWholeOfFraction(size_t i) const {
    if (i == 0) return false;
    const std::string_view between = Between(i);
    const bool has_slash = IsWhole(words_[i - 1].text) && (between == "/" || between == " / ");
    return has_slash || (i > 1 && (words_[i - 1].text == "of") && IsWhole(words_[i - 2].text));
  }
  bool IsFraction(size_t i) const {
    return i + 1 < words_.size() && IsWhole(words_[i + 1].text) && IsWholeOfFraction(i + 1);
  }

  std::optional<LineCounter> ReadWord(size_t i, bool is_first) const {
    const Word& word = words_[i];
    const bool is_named = i > 0 && !IsNumberWord(words_[i - 1].text) &&
                          Between(i).find_first_not_of(" \t=:#([-_'\".@") == std::string_view::npos;
    // "INFO [25]" counts by itself; "error[1]" is one of several.
    const bool is_of_log = is_named && IsLogWord(words_[i - 1].text) &&
                           !IsMeasure(words_[i - 1].text) && Between(i).find('[', 1) < kNowhere;
    const std::string name = is_named && !is_of_log ? words_[i - 1].text : "";
    if (!IsWhole(word.text)) return ReadJoined(word, name);
    if (IsWholeOfFraction(i)) return std::nullopt;
    const bool is_part = IsPart(name);
    const bool is_epoch = name == "epoch" || name == "epochs";
    if ((is_part || is_epoch) && At(word.end) == '.' && IsDigit(At(word.end + 1))) {
      // "threshold 0.5", "'epoch': 1.0".
      const size_t end = std::min(line_.find_first_not_of(kDigits, word.end + 1), line_.size());
      return LineCounter{is_part ? Kind::kPart : Kind::kTime, name,
                         std::string(line_.substr(word.begin, end - word.begin))};
    }
    if (IsOfLongerNumber(word) || HasUnit(i)) return std::nullopt;
    if (is_part) return LineCounter{Kind::kPart, name, word.text};
    if (name.empty()) return ReadBare(word, is_first, i);
    // "After 100 steps", "Val 3", "Test[3]".
    const bool is_of_time = IsTimeWord(name) || IsFraction(i) || CountsNoun(i, true) ||
                            !FindDataSplit(name).name.empty();
    if (is_of_time) return LineCounter{Kind::kTime, name, word.text};
    const std::string_view between = Between(i);
    if (between == "@") return LineCounter{Kind::kPart, name + "@", word.text};
    if (between == "[" && At(word.end) == ']') {
      return LineCounter{Kind::kPart, name + "[]", word.text};
    }
    const bool is_joined = between.find_first_of("=:'\".") == std::string_view::npos;
    if (!is_first || !is_joined || IsMeasure(name) || CountsNoun(i, false)) return std::nullopt;
    return LineCounter{Kind::kThing, name, word.text};
  }

  // A number that no word names counts time where the line begins, in brackets and as "3/10".
  std::optional<LineCounter> ReadBare(const Word& word, bool is_first, size_t i) const {
    const bool is_bracketed =
        word.begin > 0 && (line_[word.begin - 1] == '[' || line_[word.begin - 1] == '(');
    if (!is_first && !is_bracketed && !IsFraction(i)) return std::nullopt;
    return LineCounter{Kind::kTime, "", word.text};
  }

  // "PM10", "top1_acc", "rank0", "S01" of "Subject S01"; no hash, no "1e", no letter with a number.
  std::optional<LineCounter> ReadJoined(const Word& word, const std::string& name) const {
    const std::string& text = word.text;
    const size_t begin = text.find_first_of(kDigits);
    if (begin == 0 || begin == std::string::npos || text.find('?') != std::string::npos) {
      return std::nullopt;
    }
    const size_t end = std::min(text.find_first_not_of(kDigits, begin), text.size());
    if (text.find_first_of(kDigits, end) != std::string::npos || IsOfLongerNumber(word)) {
      return std::nullopt;
    }
    const std::string stem = text.substr(0, begin);
    const std::string number = text.substr(begin, end - begin);
    const bool is_letter = stem.size() < 2;  // "S01" of "Subject S01".
    if (!is_letter && IsTimeWord(stem)) return LineCounter{Kind::kTime, stem, number};
    if (IsPart(name)) return LineCounter{Kind::kPart, name, text};
    if (IsPart(stem) && end == text.size()) return LineCounter{Kind::kPart, stem, number};
    if (is_letter) return std::nullopt;
    return LineCounter{Kind::kThing, stem + "#" + text.substr(end), number};
  }

  std::string_view line_;
  std::vector<Word> words_;
};

// The first of `kinds` that both lines have under one name, with other numbers.
std::string Differing(const std::vector<LineCounter>& before, const std::vector<LineCounter>& after,
                      Kind kind) {
  std::map<std::string, size_t> seen;  // So that the second of a name is compared with the second.
  for (const LineCounter& counter : after) {
    const size_t nth = seen[counter.name]++;
    if (counter.kind != kind) continue;
    size_t passed = 0;
    for (const LineCounter& other : before) {
      if (other.name != counter.name || passed++ != nth) continue;
      if (other.number != counter.number) return counter.name.empty() ? "number" : counter.name;
    }
  }
  return "";
}

// "acc@" of "acc@5", "pm#" of "PM10": as a person would write it.
std::string Shown(std::string name) {
  if (const size_t mark = name.find('#'); mark != std::string::npos) name.replace(mark, 1, "...");
  if (name.ends_with("@") || name.ends_with("[]"))
    name.insert(name.size() - (name.back() == ']'), "...");
  return name;
}

}  // namespace

std::vector<LineCounter> FindCounters(std::string_view before) {
  return CounterReader(before).Read();
}

bool HasTimePassed(std::string_view before, std::string_view after) {
  return !Differing(FindCounters(before), FindCounters(after), Kind::kTime).empty();
}

std::string DifferingThing(std::string_view before, std::string_view after, bool has_time_passed) {
  const std::vector<LineCounter> one = FindCounters(before);
  const std::vector<LineCounter> other = FindCounters(after);
  std::string name = Differing(one, other, Kind::kPart);
  has_time_passed = has_time_passed || !Differing(one, other, Kind::kTime).empty();
  if (name.empty() && !has_time_passed) name = Differing(one, other, Kind::kThing);
  return Shown(name);
}

std::string FindTraining(std::string_view line) {
  constexpr size_t kWordsMax = 8;
  constexpr size_t kHeadingWordsMax = 5;
  if (const size_t spaces = static_cast<size_t>(std::count(line.begin(), line.end(), ' '));
      spaces > 2 * kWordsMax) {
    return "";
  }
  const CounterReader reader(line);
  const std::vector<Word>& words = reader.words();
  if (words.size() < 2 || words.size() > kWordsMax) return "";
  const std::string& first = words[0].text;
  const std::string& second = words[1].text;
  // "Model: SVM", but not "Model saved".
  const std::string_view between = line.substr(words[0].end, words[1].begin - words[0].end);
  const bool is_assigned = between == ": " || between == ":" || between == "=" || between == " = ";
  if (IsTraining(first) && is_assigned && words.size() <= 3 && !IsNumberWord(second)) {
    return first + " " + second;
  }
  // A line of values, of time or of several counters is no heading.
  const std::vector<LineCounter> counters = reader.Read();
  const bool is_stage = (first == "stage" || first == "phase") && IsWhole(second);
  const LineCounter* named = nullptr;
  for (const LineCounter& counter : counters) {
    if (counter.kind == Kind::kTime && !is_stage) return "";
    if (named == nullptr && counter.kind != Kind::kTime) named = &counter;
  }
  const auto numbers = std::count_if(words.begin(), words.end(),
                                     [](const Word& word) { return IsNumberWord(word.text); });
  const bool is_of =
      numbers == 2 && (line.find('/') != line.npos || line.find(" of ") != line.npos);
  if (is_stage) {
    return numbers == 1 || is_of ? first + " " + second : "";
  }
  if (named == nullptr) return "";
  const std::string found = named->name + " " + named->number;
  const bool begins = first == named->name || first + " " + second == found;
  const char behind = words[1].end < line.size() ? line[words[1].end] : '\0';
  // "Fold 1: train on 100", where what follows the colon is the heading's.
  if (IsTraining(named->name) && (!begins || behind == ':')) {
    const bool has_fraction = line.find('.') != line.npos && line.find('=') != line.npos;
    return has_fraction ? "" : found;
  }
  if (!begins || words.size() > kHeadingWordsMax || (numbers > 1 && !is_of)) return "";
  // "Organ 3" alone, and of a known word with more words behind it.
  const bool is_alone = words.size() == 2 || (is_of && words.size() <= 4);
  return named->kind == Kind::kPart || (is_alone && first == named->name) ? found : "";
}

namespace {

// Words between what leads to a count and the count: "over the last 100", "after epoch 3".
bool IsBeforeCount(const std::string& word) {
  static constexpr std::string_view kWords[] = {"the", "all", "best", "its", "a", "k", "n"};
  static constexpr std::string_view kTimes[] = {
      "epoch",  "epochs",  "step",     "steps",  "iter",    "iters",     "round",
      "rounds", "episode", "episodes", "update", "updates", "iteration", "iterations"};
  return IsOneOf(kWords, word) || IsOneOf(kTimes, word);
}

std::string_view WithoutBlanks(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);  // npos + 1 is 0.
}

enum class CountLead { kNone, kOpen, kSure };

// "of 0.5" may lead to a value as well: what stands behind it decides.
CountLead FindCountLead(std::string_view before) {
  static constexpr std::string_view kSure[] = {"over", "on", "after", "at", "in", "across", "per"};
  static constexpr std::string_view kOpen[] = {"of",   "and",   "for",  "from",
                                               "last", "first", "past", "previous"};
  const std::string text = Lower(before);
  if (WithoutBlanks(text).ends_with('@') || text.ends_with("top-")) return CountLead::kSure;
  if (text.empty() || std::string_view(" =#").find(text.back()) == std::string_view::npos) {
    return CountLead::kNone;
  }
  const std::vector<Word> words = WordsOf(text);
  CountLead found = CountLead::kNone;
  size_t end = text.size();
  for (auto word = words.rbegin(); word != words.rend(); ++word) {
    const bool is_parted =
        text.substr(word->end, end - word->end).find_first_not_of(" =#") != std::string::npos;
    if (is_parted) break;
    end = word->begin;
    if (IsOneOf(kSure, word->text)) return CountLead::kSure;
    if (IsOneOf(kOpen, word->text)) {
      found = CountLead::kOpen;
    } else if (!IsBeforeCount(word->text)) {
      break;
    }
  }
  return found;
}

}  // namespace

std::string_view FindCountedWords(std::string_view before, std::string_view tail) {
  constexpr size_t kWordsMax = 6;
  const CountLead lead = FindCountLead(before);
  if (lead == CountLead::kNone) return {};
  const size_t number = tail.find_first_of(kDigits);
  if (number == std::string_view::npos) return {};
  size_t end = number;
  while (end > 0 && std::string_view("+-.").find(tail[end - 1]) != std::string_view::npos) --end;
  const std::string_view words = tail.substr(0, end);
  const size_t last = words.find_last_not_of(" \t");
  if (last == std::string_view::npos || (words[last] != ':' && words[last] != '=')) return {};
  // No number, and nothing that parts two values, stands between.
  constexpr std::string_view kLetters =
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ -_'()[]\t";
  if (words.substr(0, last).find_first_not_of(kLetters) != std::string_view::npos) return {};
  const std::vector<Word> counted = WordsOf(words);
  if (counted.size() > kWordsMax) return {};
  const bool is_named = std::any_of(counted.begin(), counted.end(),
                                    [](const Word& word) { return IsMeasure(word.text); });
  const bool has_plural = std::any_of(counted.begin(), counted.end(),
                                      [](const Word& word) { return word.text.ends_with('s'); });
  const bool is_of_point = WithoutBlanks(before).ends_with('@') || Lower(before).ends_with(" at ");
  if (is_named && !is_of_point) return {};  // "precision at 90 recall: 0.5" is of the precision.
  if (lead == CountLead::kOpen && !has_plural && !counted.empty()) return {};
  return words;
}

std::string FindTimeWord(std::string_view line) {
  for (const LineCounter& counter : FindCounters(line)) {
    if (counter.kind == Kind::kTime && !counter.name.empty()) {
      return counter.name + " " + counter.number;
    }
  }
  return "";
}

}  // namespace tune
