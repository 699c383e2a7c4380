#include "trial_runner/output_notes.h"

#include <vector>

#include "core/utf8.h"

namespace tune {
namespace {

constexpr size_t kShownMax = 120;

bool EndsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ')' || c == ']';
}

// The expression with the word before its match, where it then reads that value alone.
std::optional<std::string> ExactFor(const OutputPattern& pattern, const std::string& line,
                                    size_t match_begin, double value) {
  const std::string word(WordBefore(line, match_begin));
  if (word.find_first_of("0123456789") != std::string::npos)
    return std::nullopt;  // Another line's differs.
  const std::string exact = EscapedForRegex(word) + pattern.text();
  const Result<OutputPattern> made = OutputPattern::Make(pattern.metric(), exact, pattern.from());
  if (!made.ok() || exact.size() > kShownMax) return std::nullopt;
  const auto match = made->FindIn(line);
  const bool is_exact = match.ok() && *match && (*match)->number == value && !(*match)->passed_over;
  return is_exact ? std::optional(exact) : std::nullopt;
}

// An expression that reads the value that is meant, and nothing in the other line; `word`, where it
// is one, begins the line. Empty: none was found.
std::string PartingRegex(const OutputPattern& pattern, const OutputFinding& meant,
                         const OutputFinding& other, const std::string& word = "") {
  std::vector<std::string> candidates;
  if (!word.empty()) candidates.push_back("^" + word + "\\b.*" + pattern.text());
  candidates.push_back(LineBeginning(meant.line, meant.match.match_begin) + pattern.text());
  for (const std::string& candidate : candidates) {
    const Result<OutputPattern> made =
        OutputPattern::Make(pattern.metric(), candidate, pattern.from());
    if (!made.ok() || candidate.size() > kShownMax) continue;
    const auto here = made->FindIn(meant.line);
    const auto there = made->FindIn(other.line);
    const bool is_right = here.ok() && *here && (*here)->number == meant.value;
    if (is_right && there.ok() && !*there) return candidate;
  }
  return "";
}

// Where the lines say of which part of the data they are, behind their values or above; else empty.
std::string RemedyBySplitBehind(const OutputPattern& pattern, const OutputFinding& first,
                                const OutputFinding& leading) {
  if (!NameTwoSplits(first, leading)) return "";
  if (IsUnderHeading(leading)) {
    return "One stands under the heading of '" + std::string(first.context.heading.name) +
           "', the other under that of '" + std::string(leading.context.heading.name) +
           "': let the program print which it is in the line itself, and write that into the "
           "expression";
  }
  const auto ending = [&](const OutputFinding& finding) {
    return Quoted(pattern.text() + ".*\\b" + std::string(SplitBehind(finding).word));
  };
  return "Write into the expression which of them is meant: " + ending(first) + " or " +
         ending(leading);
}

// The same before their values.
std::string RemedyBySplitBefore(const OutputPattern& pattern, const OutputFinding& first,
                                const OutputFinding& leading) {
  const DataSplit one = FindLastDataSplit(BeforeValue(first));
  const DataSplit other = FindLastDataSplit(BeforeValue(leading));
  const auto reads_meant = [&](bool is_first) -> std::string {
    const std::string regex =
        PartingRegex(pattern, is_first ? first : leading, is_first ? leading : first);
    return regex.empty() ? ""
                         : "; " + Quoted(regex) + " reads '" +
                               std::string(is_first ? one.word : other.word) + "'";
  };
  if (!one.name.empty() && !other.name.empty() && one.name != other.name) {
    const bool is_first = one.name == "val" || (one.name == "test" && other.name == "train");
    return "One is of '" + std::string(one.word) + "', the other of '" + std::string(other.word) +
           "': write into the expression which of them is meant" + reads_meant(is_first);
  }
  if (one.name.empty() != other.name.empty() && one.name != "train" && other.name != "train") {
    return "One is of '" + std::string(one.name.empty() ? other.word : one.word) +
           "', the other does not say of what: write into the expression which of them is meant" +
           reads_meant(!one.name.empty());
  }
  return "";
}

// The epochs' lines are meant, and where neither names one, the first.
std::string RemedyByBeginning(const OutputPattern& pattern, const OutputFinding& first,
                              const OutputFinding& leading) {
  const bool has_epoch = FindEpoch(BeforeValue(leading)).epoch.has_value();
  const bool is_within = CountLevels(BeforeValue(leading)) > 0 || has_epoch;
  const bool counts_less =
      is_within && CountLevels(BeforeValue(leading)) < CountLevels(BeforeValue(first));
  const bool is_second = counts_less || (has_epoch && !FindEpoch(BeforeValue(first)).epoch);
  const OutputFinding& meant = is_second ? leading : first;
  const size_t end =
      meant.line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const bool has_word = end > 0 && end < meant.match.match_begin;
  const std::string regex = PartingRegex(pattern, meant, is_second ? first : leading,
                                         has_word ? meant.line.substr(0, end) : "");
  return "If one kind is a summary, begin the expression with what the other lines begin with" +
         (regex.empty() ? "" : ", such as " + Quoted(regex));
}

}  // namespace

std::string NumberText(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

std::string Quoted(const std::string& line) {
  const bool is_cut = line.size() > kShownMax;
  return "'" + ToUtf8(std::string_view(line).substr(0, kShownMax)) + (is_cut ? "..." : "") + "'";
}

// ---- of one line

std::string NoteOnValues(const OutputPattern& pattern, const OutputFinding& leading) {
  std::string text = "the regular expression of '" + leading.metric +
                     "' found two values in one line: in " + Quoted(leading.line) +
                     " the last one, " + NumberText(leading.value) + ", is read and " +
                     NumberText(*leading.match.passed_over) +
                     " is not; write into it what stands before the one that is meant";
  const std::optional<std::string> read =
      ExactFor(pattern, leading.line, leading.match.match_begin, leading.value);
  const std::optional<std::string> other =
      ExactFor(pattern, leading.line, leading.match.passed_begin, *leading.match.passed_over);
  if (other) {
    text += ": " + Quoted(*other) + " reads " + NumberText(*leading.match.passed_over);
  }
  if (read) {
    text +=
        std::string(other ? ", " : ": ") + Quoted(*read) + " reads " + NumberText(leading.value);
  }
  return text;
}

std::string NoteOnRest(const std::optional<OutputFinding>& first, const OutputFinding& leading) {
  const size_t begin = leading.match.number_begin;
  if (leading.line[begin] == '-' && begin > 0 && EndsWord(leading.line[begin - 1])) {
    return "the regular expression of '" + leading.metric + "' reads " + NumberText(leading.value) +
           " in " + Quoted(leading.line) +
           ", where the - may part a name from its value; print a space or = before the number, "
           "or, if a minus is not meant, write the - before {number} into the expression";
  }
  const std::string_view rest = RestOf(leading);
  const bool is_fraction =
      rest.starts_with('/') || rest.starts_with(" / ") || rest.starts_with(" of ");
  const bool is_alike = !first || RestOf(*first) == rest;
  if (rest.empty() || (is_fraction && is_alike)) return "";
  const std::string taken = leading.line.substr(
      leading.match.number_begin, leading.match.number_end - leading.match.number_begin);
  std::string text = "the regular expression of '" + leading.metric + "' reads " + taken +
                     " out of " + Quoted(taken + std::string(rest)) + " in " + Quoted(leading.line);
  if (is_fraction) text += ", and other lines have another number behind it";
  return text + "; print the value as one number, such as " + (is_fraction ? "0.98" : "12345.6") +
         ", or, if " + taken + " is what is meant, write what stands behind it into the expression";
}

std::string NoteOnCount(const OutputPattern& pattern, const OutputFinding& leading) {
  const OutputMatch& match = leading.match;
  const std::string_view line = leading.line;
  const std::string_view taken =
      line.substr(match.number_begin, match.number_end - match.number_begin);
  if (match.match_end != match.number_end ||
      taken.find_first_not_of("0123456789,") != std::string_view::npos) {
    return "";
  }
  const std::string_view words =
      FindCountedWords(BeforeValue(leading), line.substr(match.number_end));
  if (words.empty()) return "";
  const std::string regex =
      LineBeginning(line, match.number_end + words.size()) + std::string("{number}");
  const auto made = OutputPattern::Make(leading.metric, regex, pattern.from());
  const auto other = made.ok() ? made->FindIn(line) : std::optional<OutputMatch>();
  std::string text = "the regular expression of '" + leading.metric + "' reads " +
                     std::string(taken) + " in " + Quoted(leading.line) +
                     ", which seems to count something: a value stands behind '" +
                     std::string(taken) + std::string(words) + "'";
  if (other.ok() && *other && regex.size() <= kShownMax) {
    text += "; " + Quoted(regex) + " reads " + NumberText((*other)->number);
  }
  return text + ". If " + std::string(taken) +
         " is what is meant, write what stands behind it into the expression";
}

// ---- of two lines

std::string NoteOnForms(const OutputPattern& pattern, const OutputFinding& first,
                        const OutputFinding& leading) {
  std::string remedy = RemedyBySplitBehind(pattern, first, leading);
  if (remedy.empty()) remedy = RemedyBySplitBefore(pattern, first, leading);
  if (remedy.empty()) remedy = RemedyByBeginning(pattern, first, leading);
  return "the regular expression of '" + leading.metric +
         "' matches lines of two kinds: " + Quoted(first.line) + " and " + Quoted(leading.line) +
         "; each of them counts as an iteration. " + remedy;
}

std::string NoteOnEpoch(const OutputFinding& before, const OutputFinding& leading) {
  const std::string lines = Quoted(before.line) + " and " + Quoted(leading.line);
  if (before.stream != leading.stream) {
    return "values of '" + leading.metric +
           "' stand on standard output and on standard error: " + lines +
           "; each of them counts as an iteration. Write from: stdout, or from: stderr, in place "
           "of "
           "from: both";
  }
  if (GoesBack(before, leading)) {
    return "the epochs of '" + leading.metric + "' begin again: in " + lines +
           "; the values of several trainings count as one curve. Let the program say in the line "
           "which it is, and write into the expression which one is meant";
  }
  return "two values of '" + leading.metric + "' are printed for one epoch: in " + lines +
         "; each of them counts as an iteration. " +
         (IsSameValue(before.value, leading.value)
              ? "If they are one value, write iteration: {regex: ...}, which reads the epoch"
              : "Let the program say in the line which it is, and write that into the expression");
}

std::string NoteOnSections(const OutputFinding& before, const OutputFinding& leading) {
  const auto under = [](const OutputFinding& finding) {
    const std::string name =
        finding.context.section.empty() ? "none" : "'" + ToUtf8(finding.context.section) + "'";
    return Quoted(finding.line) + " under " + name;
  };
  return "the values of '" + leading.metric +
         "' stand under two headings by turns: " + under(before) + " and " + under(leading) +
         "; each of them counts as an iteration. Let the program print which it is in the line "
         "itself, and write that into the expression";
}

std::string NoteOnTrainings(const OutputFinding& before, const OutputFinding& leading) {
  return "the values of '" + leading.metric + "' are of several trainings, '" +
         ToUtf8(before.context.training) + "' and '" + ToUtf8(leading.context.training) +
         "' by their headings: they count as one curve, and the best of all is the trial's. Let "
         "the program print the value that is meant, such as their mean, in a line of its own";
}

std::string NoteOnPercent(const OutputPattern& pattern, const OutputFinding& before,
                          const OutputFinding& leading) {
  const std::string at_end = "100 ?%.*" + pattern.text();
  const auto made = OutputPattern::Make(leading.metric, at_end, pattern.from());
  const auto match = made.ok() ? made->FindIn(before.line) : std::optional<OutputMatch>();
  const bool is_right = match.ok() && *match && (*match)->number == before.value;
  return "the values of '" + leading.metric + "' are printed at parts of a round: in " +
         Quoted(before.line) + " and " + Quoted(leading.line) +
         "; each of them counts as an iteration. If the last one of a round is meant, write " +
         (is_right ? "the expression " + Quoted(at_end) : "that into the expression");
}

std::string NoteOnSeveral(const std::string& counter, const OutputFinding& before,
                          const OutputFinding& leading) {
  return "the lines of '" + leading.metric + "' seem to be of several '" + ToUtf8(counter) +
         "', not of iterations: " + Quoted(before.line) + " and " + Quoted(leading.line) +
         "; each of them counts as an iteration, and the best of all is the trial's. Write into "
         "the expression which one is meant, or let the program print the value that is, such as "
         "their mean, in a line of its own";
}

std::string NoteOnUnits(const OutputFinding& first, const OutputFinding& leading) {
  return "the values of '" + leading.metric + "' are printed in two units: in " +
         Quoted(first.line) + " and " + Quoted(leading.line) +
         "; units are not read: let the program print one of them alone";
}

std::string NoteOnRedraw(const OutputFinding& before, const OutputFinding& leading) {
  return "a line with '" + leading.metric +
         "' is drawn over one that was read: " + Quoted(leading.line) + " over " +
         Quoted(before.line) +
         "; each of them counts as an iteration. If they are states of one bar, print the value "
         "that is meant in a line of its own, or say with `iteration` where its iteration stands";
}

std::string NoteOnState(const std::string& metric, const std::string& before,
                        const std::string& now) {
  return "a bar with '" + metric + "' is drawn over from one epoch to the next, and counts by " +
         "what it says at last: " + Quoted(before) + " was not read, and " + Quoted(now) +
         " follows; let `iteration` read the epoch, iteration: {regex: ...}";
}

std::string NoteOnLag(const std::string& metric, const std::string& leading) {
  return "each report has the '" + metric + "' of the iteration before: it is printed behind '" +
         leading + "', which makes the report; write report_on: " + metric;
}

std::string NoteOnOrder(const std::string& metric, const std::string& leading) {
  return "'" + metric + "' is printed before '" + leading +
         "' and then behind it, or not once for "
         "each: reports have a '" +
         metric + "' that is older than their '" + leading +
         "'; print them in one order, or in one line";
}

std::string NoteOnLeftOver(const std::string& metric, const std::string& leading) {
  return "the last '" + metric + "' is printed behind the last '" + leading +
         "' and counts for no iteration: if each '" + metric + "' belongs to the '" + leading +
         "' before it, each report has that of the iteration before; write report_on: " + metric;
}

std::string NoteOnTwins(const OutputFinding& before, const OutputFinding& leading) {
  return "each value of '" + leading.metric + "' is printed twice: " + Quoted(before.line) +
         " and " + Quoted(leading.line) +
         "; each of them counts as an iteration. Let the program print it once (a logger may have "
         "two handlers), or say with `iteration` where its iteration stands";
}

std::string NoteOnComma(const std::string& metric, const std::string& line) {
  return "the values of '" + metric + "' have one comma and three digits behind it each, as in " +
         Quoted(line) + ", and are read as " +
         "thousands; if the comma is the decimal point, print the number with a point (in Python: "
         "no locale)";
}

std::string NoteOnBlocks(const std::string& metric, const OutputValueBlock& one,
                         const OutputValueBlock& other) {
  const auto under = [](const OutputValueBlock& block) {
    return Quoted(block.line) + (block.block.name.empty()
                                     ? std::string(" under none")
                                     : " under '" + ToUtf8(block.block.name) + "'");
  };
  return "a value of '" + metric + "' stands under a heading of its own: " + under(one) + ", " +
         under(other) +
         "; each of them counts as an iteration. Let the program print which it is in the line "
         "itself, and write that into the expression";
}

}  // namespace tune
