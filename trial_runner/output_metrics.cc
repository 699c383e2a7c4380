#include "trial_runner/output_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/utf8.h"
#include "trial_runner/first_reading.h"
#include "trial_runner/line_counters.h"
#include "trial_runner/line_form.h"
#include "trial_runner/whole_number.h"

namespace tune {
namespace {

constexpr OutputStream kStreams[] = {OutputStream::kStdout, OutputStream::kStderr};
constexpr double kIterationMax = 1e15;  // Whole numbers below are exact.
constexpr int64_t kReportsForLag = 3;
constexpr size_t kUnitMax = 20;
constexpr int64_t kTwinChangesForNote = 2;
constexpr int64_t kCommasForNote = 3;
constexpr size_t kBlocksForNote = 3;
constexpr size_t kBlocksMax = 16;

std::string NumberText(double number) {
  std::string text = std::to_string(number);
  text.erase(text.find_last_not_of('0') + 1);
  if (text.ends_with('.')) text.pop_back();
  return text;
}

constexpr size_t kShownMax = 120;

std::string Quoted(const std::string& line) {
  const bool is_cut = line.size() > kShownMax;
  return "'" + ToUtf8(std::string_view(line).substr(0, kShownMax)) + (is_cut ? "..." : "") + "'";
}

// An expression may write "val/loss" as "val.loss".
std::string Dotted(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

bool IsSameValue(double a, double b) { return a == b || (std::isnan(a) && std::isnan(b)); }

const char* NameOf(StreamChoice choice) {
  switch (choice) {
    case StreamChoice::kStdout:
      return "on standard output";
    case StreamChoice::kStderr:
      return "on standard error";
    case StreamChoice::kBoth:
      return "on standard output and standard error";
  }
  return "";
}

// Nothing where the expression itself says what stands behind the number.
std::string_view RestOf(const OutputFinding& finding) {
  if (finding.match.match_end != finding.match.number_end) return {};
  const std::string_view line = finding.line;
  const size_t begin = finding.match.number_begin;
  const size_t end = finding.match.number_end;
  return RestBehind(line.substr(begin, end - begin), line.substr(end));
}

bool EndsWord(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == ')' || c == ']';
}

std::string_view BeforeValue(const OutputFinding& finding) {
  return std::string_view(finding.line).substr(0, finding.match.number_begin);
}

std::string ReadingOf(const OutputFinding& finding) {
  if (!std::isfinite(finding.value)) return "";
  const std::string_view rest = RestOf(finding);
  const std::string_view tail = std::string_view(finding.line).substr(finding.match.number_end);
  FirstReading reading;
  reading.epoch = FindEpoch(BeforeValue(finding)).epoch;
  reading.unit = std::string(rest.starts_with('/') ? rest : UnitBehind(tail)).substr(0, kUnitMax);
  return EncodeFirstReading(reading);
}

}  // namespace

OutputMetrics::OutputMetrics(OutputRules rules, std::vector<std::string> wanted)
    : rules_(std::move(rules)),
      wanted_(std::move(wanted)),
      found_(rules_.patterns.size()),
      was_reported_(rules_.patterns.size()),
      elsewhere_(rules_.patterns.size()),
      lags_(rules_.patterns.size()) {
  size_t wanted_count = 0;
  for (size_t i = 0; i < rules_.patterns.size(); ++i) {
    const std::string& metric = rules_.patterns[i].metric();
    if (IsWanted(metric)) ++wanted_count;
    if (rules_.report_on.empty() ? IsWanted(metric) : metric == rules_.report_on) {
      leaders_.push_back(i);
    }
  }
  // A value that comes from elsewhere, at the end, is a part of it: there is one report, then.
  if (rules_.report_on.empty() && wanted_count < wanted_.size()) leaders_.clear();
  if (leaders_.size() == 1) leader_ = leaders_.front();
}

bool OutputMetrics::IsWanted(const std::string& metric) const {
  return std::any_of(wanted_.begin(), wanted_.end(), [&](const std::string& name) {
    return name == metric || Dotted(name) == metric;
  });
}

std::vector<OutputReport> OutputMetrics::Read(OutputStream stream, std::string_view piece) {
  std::vector<OutputReport> reports;
  if (rules_.patterns.empty() || refusal_) return reports;
  for (const OutputLine& line : lines_[stream == OutputStream::kStderr ? 1 : 0].Add(piece)) {
    Take(stream, line, reports);
  }
  return reports;
}

std::vector<OutputReport> OutputMetrics::Finish() {
  std::vector<OutputReport> reports;
  if (rules_.patterns.empty()) return reports;
  for (const OutputStream stream : kStreams) {
    for (const OutputLine& line : lines_[stream == OutputStream::kStderr ? 1 : 0].Finish()) {
      Take(stream, line, reports);
    }
  }
  ReadHeld(reports);
  return reports;
}

void OutputMetrics::Take(OutputStream stream, const OutputLine& line,
                         std::vector<OutputReport>& reports) {
  if (refusal_) return;
  LookElsewhere(stream, line);
  if (!line.stands) return TakeState(stream, line.text, reports);
  if (held_ && held_->stream == stream) {
    const std::optional<double> number = NumberIn(rules_.iteration->pattern, line.text);
    if (number && *number > held_->number) ReadHeld(reports);
    if (number && held_ && *number == held_->number) held_.reset();
  }
  FollowState(stream, line.text);
  states_[stream == OutputStream::kStderr ? 1 : 0].clear();
  ReadLine(stream, line, reports);
}

void OutputMetrics::TakeState(OutputStream stream, const std::string& text,
                              std::vector<OutputReport>& reports) {
  if (!rules_.iteration) return FollowState(stream, text);
  if (!IsChosen(rules_.iteration->pattern.from(), stream)) return;
  const std::optional<double> number = NumberIn(rules_.iteration->pattern, text);
  if (!number) return;
  if (held_ && *number > held_->number) ReadHeld(reports);
  held_ = {stream, text, *number};
}

void OutputMetrics::ReadHeld(std::vector<OutputReport>& reports) {
  if (!held_) return;
  const HeldState state = *std::exchange(held_, std::nullopt);
  ReadLine(state.stream, {state.text}, reports);
}

void OutputMetrics::FollowState(OutputStream stream, const std::string& text) {
  if (rules_.iteration || has_noted_states_ || !leader_) return;
  const OutputPattern& pattern = rules_.patterns[*leader_];
  if (!IsChosen(pattern.from(), stream)) return;
  const auto epoch = [&](const std::string& line) -> std::optional<int64_t> {
    const auto match = pattern.FindIn(line);
    if (!match.ok() || !*match) return std::nullopt;
    return FindEpoch(std::string_view(line).substr(0, (*match)->number_begin)).epoch;
  };
  std::string& state = states_[stream == OutputStream::kStderr ? 1 : 0];
  const std::optional<int64_t> now = epoch(text);
  if (!now) return;
  const std::optional<int64_t> before = epoch(state);
  if (before && *before != *now) {
    has_noted_states_ = true;
    pending_note_ = "a bar with '" + pattern.metric() + "' is drawn over from one epoch to the " +
                    "next, and counts by what it says at last: " + Quoted(state) +
                    " was not read, and " + Quoted(text) +
                    " follows; let `iteration` read the epoch, iteration: {regex: ...}";
  }
  state = text;
}

std::optional<OutputMatch> OutputMetrics::MatchIn(const OutputPattern& pattern,
                                                  const std::string& line) {
  Result<std::optional<OutputMatch>> match = pattern.FindIn(line);
  if (match.ok() && *match) {
    const size_t begin = (*match)->number_begin;
    const std::string_view number =
        std::string_view(line).substr(begin, (*match)->number_end - begin);
    const std::string_view decimal =
        MayHaveDecimalComma(number) ? FindDecimalMarks(line).with_comma : std::string_view();
    if (!decimal.empty() && !refusal_) {
      refusal_ = "the regular expression of '" + pattern.metric() + "' took '" + ToUtf8(number) +
                 "' beside '" + ToUtf8(decimal) +
                 "', which has a decimal comma; a comma is no decimal point: print the number "
                 "with a point, in the line " +
                 Quoted(line);
    }
  }
  if (match.ok()) return refusal_ ? std::nullopt : *match;
  if (!refusal_) refusal_ = match.status().message() + ", in the line " + Quoted(line);
  return std::nullopt;
}

std::optional<double> OutputMetrics::NumberIn(const OutputPattern& pattern,
                                              const std::string& line) {
  const std::optional<OutputMatch> match = MatchIn(pattern, line);
  return match ? std::optional(match->number) : std::nullopt;
}

void OutputMetrics::LookElsewhere(OutputStream stream, const OutputLine& line) {
  for (size_t i = 0; i < rules_.patterns.size(); ++i) {
    const OutputPattern& pattern = rules_.patterns[i];
    const bool is_chosen = IsChosen(pattern.from(), stream);
    if (found_[i] || (is_chosen && line.stands)) continue;
    std::string& seen = is_chosen ? elsewhere_[i].drawn_over : elsewhere_[i].on_other_stream;
    if (!seen.empty()) continue;
    const Result<std::optional<OutputMatch>> match = pattern.FindIn(line.text);
    if (!match.ok() || match->has_value()) seen = line.text;
  }
}

// ---- reports

void OutputMetrics::ReadLine(OutputStream stream, const OutputLine& read,
                             std::vector<OutputReport>& reports) {
  const std::string& line = read.text;
  ReadIteration(stream, line);
  OutputHeadings& headings = headings_[stream == OutputStream::kStderr ? 1 : 0];
  std::vector<size_t> in_line;
  for (size_t i = 0; i < rules_.patterns.size() && !refusal_; ++i) {
    if (!IsChosen(rules_.patterns[i].from(), stream)) continue;
    const std::optional<OutputMatch> match = MatchIn(rules_.patterns[i], line);
    if (!match) continue;
    if (!found_[i]) lags_[i].reports_before = report_count_;
    lags_[i].is_more_often = lags_[i].is_more_often || lags_[i].is_new;
    lags_[i].is_new = true;
    found_[i] = {rules_.patterns[i].metric(), match->number, stream, line, *match, read.is_redrawn,
                 headings.context()};
    in_line.push_back(i);
  }
  const bool leads = Leads(in_line);
  if (!leads) headings.Follow(line, in_line.empty());
  if (refusal_ || !leads) return;
  headings.PassValue();
  if (std::optional<OutputReport> report = MakeReport()) reports.push_back(*std::move(report));
}

void OutputMetrics::ReadIteration(OutputStream stream, const std::string& line) {
  if (!rules_.iteration || !IsChosen(rules_.iteration->pattern.from(), stream)) return;
  const std::optional<double> number = NumberIn(rules_.iteration->pattern, line);
  if (number) printed_iteration_ = number;
}

bool OutputMetrics::Leads(const std::vector<size_t>& in_line) {
  const auto is_in_line = [&](size_t i) {
    return std::find(in_line.begin(), in_line.end(), i) != in_line.end();
  };
  if (leader_) return is_in_line(*leader_);
  const bool are_all_there = std::all_of(leaders_.begin(), leaders_.end(),
                                         [&](size_t i) { return found_[i].has_value(); });
  if (!are_all_there) return false;
  // That this line completed them.
  for (const size_t i : leaders_) {
    if (is_in_line(i)) leader_ = i;
  }
  return leader_.has_value();
}

std::optional<OutputReport> OutputMetrics::MakeReport() {
  OutputReport report;
  if (rules_.iteration) {
    report.iteration = NextIteration();
    if (!report.iteration) return std::nullopt;
  }
  const bool is_first = !std::exchange(has_reported_, true);
  for (size_t i = 0; i < found_.size(); ++i) {
    if (!found_[i]) continue;
    report.metrics.emplace_back(found_[i]->metric, found_[i]->value);
    was_reported_[i] = true;
    if (is_first) report.findings.push_back(*found_[i]);
  }
  if (is_first) report.reading = ReadingOf(*found_[*leader_]);
  report.note = Note();
  return report;
}

// ---- notes

namespace {

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

// As far as a line says it, else what it stands under.
DataSplit SplitBehind(const OutputFinding& finding) {
  const DataSplit split =
      FindDataSplit(std::string_view(finding.line).substr(finding.match.number_end));
  return split.name.empty() ? finding.context.heading : split;
}

bool IsUnderHeading(const OutputFinding& finding) {
  return FindDataSplit(std::string_view(finding.line).substr(finding.match.number_end))
      .name.empty();
}

bool HaveTwoUnits(const OutputFinding& a, const OutputFinding& b) {
  const auto unit = [](const OutputFinding& finding) {
    return UnitBehind(std::string_view(finding.line).substr(finding.match.number_end));
  };
  return std::isfinite(a.value) && std::isfinite(b.value) && unit(a) != unit(b);
}

bool NameTwoSplits(const OutputFinding& a, const OutputFinding& b) {
  const DataSplit one = SplitBehind(a);
  const DataSplit other = SplitBehind(b);
  return !one.name.empty() && !other.name.empty() && one.name != other.name;
}

// By what stands before the value, or by what part of the data is named behind it.
bool AreOfTwoKinds(const OutputFinding& a, const OutputFinding& b) {
  const auto form = [](const OutputFinding& finding) {
    return LineForm(std::string_view(finding.line).substr(0, finding.match.number_begin));
  };
  const auto summary = [](const OutputFinding& finding) {
    return FindSummaryWord(std::string_view(finding.line).substr(finding.match.number_end));
  };
  return form(a) != form(b) || NameTwoSplits(a, b) || summary(a) != summary(b);
}

bool AreOfOneEpoch(const OutputFinding& a, const OutputFinding& b) {
  const EpochPlace one = FindEpoch(BeforeValue(a));
  return one.epoch && one.counters == FindEpoch(BeforeValue(b)).counters;
}

// By headings such as "Epoch 2", "Validation after epoch 2" and "Test after epoch 2", which changed
// since the first value: a line at the beginning may say how many epochs there will be.
bool AreAfterOneEpoch(const OutputFinding& first, const OutputFinding& a, const OutputFinding& b) {
  const std::string& time = a.context.time;
  const bool has_changed = !first.context.time.empty() && first.context.time != time;
  return time.starts_with("epoch") && time == b.context.time && has_changed &&
         !FindEpoch(BeforeValue(a)).epoch && !FindEpoch(BeforeValue(b)).epoch &&
         !HasTimePassed(a.line, b.line);
}

// The round was at its end, and the next one has begun.
bool BeginsNextRound(const OutputFinding& first, const OutputFinding& before,
                     const OutputFinding& leading) {
  const auto percent = [](const OutputFinding& finding) {
    return FindPercent(BeforeValue(finding)).value_or(-1);
  };
  const double now = percent(leading);
  return percent(first) >= 0 && percent(first) < 100 && percent(before) == 100 && now >= 0 &&
         now < 100;
}

// In its line, else above it.
std::optional<int64_t> EpochOf(const OutputFinding& finding) {
  const std::optional<int64_t> epoch = FindEpoch(BeforeValue(finding)).epoch;
  return epoch ? epoch : finding.context.epoch;
}

std::string ThingOf(const OutputFinding& a, const OutputFinding& b) {
  return DifferingThing(BeforeValue(a), BeforeValue(b), a.context.time != b.context.time);
}

bool GoesBack(const OutputFinding& a, const OutputFinding& b) {
  const auto one = EpochOf(a);
  const auto other = EpochOf(b);
  return one && other && *other < *one;
}

}  // namespace

std::string OutputMetrics::Note() {
  std::string note = NoteOnLeading();
  return note.empty() ? std::exchange(pending_note_, {}) : note;
}

// With `iteration` a line of another form has a number of its own, or is refused.
std::string OutputMetrics::NoteOnLeading() {
  const OutputFinding& leading = *found_[*leader_];
  ++report_count_;
  std::string lag = NoteOnLag();
  if (!lag.empty()) return lag;
  if (leading.match.passed_over && !std::exchange(has_noted_values_, true)) {
    return NoteOnValues(leading);
  }
  if (!has_noted_rest_) {
    std::string rest = NoteOnRest(leading);
    if (rest.empty()) rest = NoteOnCount(leading);
    has_noted_rest_ = !rest.empty();
    if (has_noted_rest_) return rest;
  }
  if (std::string comma = NoteOnComma(leading); !comma.empty()) return comma;
  if (!first_leading_) {
    first_leading_ = last_leading_ = leading;
    leader_sections_.insert(leading.context.section);
    blocks_.push_back({leading.context.block, leading.line, 1});
    return "";
  }
  if (!has_noted_units_ && HaveTwoUnits(*first_leading_, leading)) {
    has_noted_units_ = true;
    return "the values of '" + leading.metric + "' are printed in two units: in " +
           Quoted(first_leading_->line) + " and " + Quoted(leading.line) +
           "; units are not read: let the program print one of them alone";
  }
  if (rules_.iteration) return "";
  const OutputFinding before = *std::exchange(last_leading_, leading);
  if (has_noted_forms_) return "";
  has_noted_forms_ = AreOfTwoKinds(*first_leading_, leading);
  if (has_noted_forms_) return NoteOnForms(leading);
  if (const std::string counter = ThingOf(before, leading); !counter.empty()) {
    has_noted_forms_ = true;
    return NoteOnSeveral(counter, before, leading);
  }
  has_noted_forms_ = IsUnderTwoSections(before, leading);
  if (has_noted_forms_) return NoteOnSections(before, leading);
  has_noted_forms_ = !before.context.training.empty() && !leading.context.training.empty() &&
                     before.context.training != leading.context.training;
  if (has_noted_forms_) return NoteOnTrainings(before, leading);
  if (std::string twins = NoteOnTwins(before, leading); !twins.empty()) return twins;
  CountInBlock(before, leading);
  if (HasEachABlock(kBlocksForNote)) {
    has_noted_forms_ = true;
    return NoteOnBlocks(blocks_[0], blocks_[1]);
  }
  if (leading.is_redrawn && !has_noted_redraws_ && !HasTimePassed(before.line, leading.line)) {
    has_noted_redraws_ = true;
    return "a line with '" + leading.metric +
           "' is drawn over one that was read: " + Quoted(leading.line) + " over " +
           Quoted(before.line) +
           "; each of them counts as an iteration. If they are states of one bar, print the value "
           "that is meant in a line of its own, or say with `iteration` where its iteration stands";
  }
  if (!has_noted_percent_ && BeginsNextRound(*first_leading_, before, leading)) {
    has_noted_percent_ = true;
    return NoteOnPercent(before, leading);
  }
  const bool is_on_both = before.stream != leading.stream;
  const bool is_doubtful = is_on_both || AreOfOneEpoch(before, leading) ||
                           GoesBack(before, leading) ||
                           AreAfterOneEpoch(*first_leading_, before, leading);
  if (has_noted_epoch_ || !is_doubtful) return "";
  has_noted_epoch_ = true;
  return NoteOnEpoch(before, leading);
}

// Once the first of them comes again: till then it may be one heading after the other.
bool OutputMetrics::IsUnderTwoSections(const OutputFinding& before, const OutputFinding& leading) {
  constexpr size_t kSectionsMax = 16;
  const bool is_known = leader_sections_.contains(leading.context.section);
  if (leader_sections_.size() < kSectionsMax) leader_sections_.insert(leading.context.section);
  return is_known && leading.context.section != before.context.section &&
         !FindEpoch(BeforeValue(leading)).epoch;
}

void OutputMetrics::CountInBlock(const OutputFinding& before, const OutputFinding& leading) {
  const OutputBlock& block = leading.context.block;
  counts_time_ = counts_time_ || HasTimePassed(before.line, leading.line);
  const auto known = std::find_if(blocks_.begin(), blocks_.end(),
                                  [&](const Block& one) { return one.block.name == block.name; });
  if (known != blocks_.end()) {
    ++known->count;
  } else if (blocks_.size() < kBlocksMax) {
    blocks_.push_back({block, leading.line, 1});
  }
}

// The first values of the trial, so many, each stand under a heading of their own.
bool OutputMetrics::HasEachABlock(size_t count) const {
  return !counts_time_ && blocks_.size() == count &&
         std::all_of(blocks_.begin(), blocks_.end(),
                     [](const Block& one) { return one.count == 1 && !one.block.name.empty(); });
}

bool OutputMetrics::HasValueIn(std::string_view text) const {
  return std::any_of(leaders_.begin(), leaders_.end(), [&](size_t i) {
    for (size_t begin = 0; begin < text.size();) {
      const size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
      const auto match = rules_.patterns[i].FindIn(text.substr(begin, end - begin));
      if (match.ok() && *match) return true;
      begin = end + 1;
    }
    return false;
  });
}

std::string OutputMetrics::NoteAtEnd() const {
  if (!pending_note_.empty()) return pending_note_;
  if (std::string comma = NoteOnComma(); !comma.empty()) return comma;
  if (has_noted_forms_ || has_noted_epoch_ || counts_time_ || blocks_.size() < 2) return "";
  if (HasEachABlock(2)) return NoteOnBlocks(blocks_[0], blocks_[1]);
  for (const Block& one : blocks_) {
    const bool is_alone = one.count == 1 && one.block.kind != OutputBlock::Kind::kPlain;
    if (is_alone && !one.block.name.empty()) {
      return NoteOnBlocks(one, &one == &blocks_[0] ? blocks_[1] : blocks_[0]);
    }
  }
  return "";
}

std::string OutputMetrics::NoteOnBlocks(const Block& one, const Block& other) const {
  const auto under = [](const Block& block) {
    return Quoted(block.line) + (block.block.name.empty()
                                     ? std::string(" under none")
                                     : " under '" + ToUtf8(block.block.name) + "'");
  };
  return "a value of '" + found_[*leader_]->metric +
         "' stands under a heading of its own: " + under(one) + ", " + under(other) +
         "; each of them counts as an iteration. Let the program print which it is in the line "
         "itself, and write that into the expression";
}

std::string OutputMetrics::NoteOnSeveral(const std::string& counter, const OutputFinding& before,
                                         const OutputFinding& leading) const {
  return "the lines of '" + leading.metric + "' seem to be of several '" + ToUtf8(counter) +
         "', not of iterations: " + Quoted(before.line) + " and " + Quoted(leading.line) +
         "; each of them counts as an iteration, and the best of all is the trial's. Write into "
         "the expression which one is meant, or let the program print the value that is, such as "
         "their mean, in a line of its own";
}

// A metric that is printed behind the leading one each time is in the next report. One that is
// printed more often, such as the loss of each batch, would make reports of its own.
std::string OutputMetrics::NoteOnLag() {
  std::string metric;
  for (size_t i = 0; i < lags_.size(); ++i) {
    Lag& lag = lags_[i];
    const bool is_behind =
        found_[i] && lag.reports_before == 1 && !lag.is_more_often &&
        found_[i]->line != found_[*leader_]->line &&
        found_[i]->stream == found_[*leader_]->stream;  // Two pipes have no order.
    if (is_behind && lag.is_new) ++lag.reports_with;
    lag.is_new = false;
    const bool is_always = is_behind && lag.reports_with == report_count_ - 1;
    if (is_always && report_count_ >= kReportsForLag && metric.empty()) metric = found_[i]->metric;
  }
  if (metric.empty() || std::exchange(has_noted_lag_, true)) return "";
  const std::string& leading = found_[*leader_]->metric;
  return "each report has the '" + metric + "' of the iteration before: it is printed behind '" +
         leading + "', which makes the report; write report_on: " + metric;
}

std::string OutputMetrics::NoteOnValues(const OutputFinding& leading) const {
  const OutputPattern& pattern = rules_.patterns[*leader_];
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

// "9843/10000" tells as much as its numerator where each line has the same denominator.
std::string OutputMetrics::NoteOnRest(const OutputFinding& leading) const {
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
  const bool is_alike = !first_leading_ || RestOf(*first_leading_) == rest;
  if (rest.empty() || (is_fraction && is_alike)) return "";
  const std::string taken = leading.line.substr(
      leading.match.number_begin, leading.match.number_end - leading.match.number_begin);
  std::string text = "the regular expression of '" + leading.metric + "' reads " + taken +
                     " out of '" + taken + std::string(rest) + "' in " + Quoted(leading.line);
  if (is_fraction) text += ", and other lines have another number behind it";
  return text + "; print the value as one number, such as " + (is_fraction ? "0.98" : "12345.6") +
         ", or, if " + taken + " is what is meant, write what stands behind it into the expression";
}

// "mean return over 100 episodes: 31.2", of which the expression reads 100.
std::string OutputMetrics::NoteOnCount(const OutputFinding& leading) const {
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
  const OutputPattern& pattern = rules_.patterns[*leader_];
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

// Two handlers of one logger print each line twice. A value that stays the same for a while does
// not change each second time.
std::string OutputMetrics::NoteOnTwins(const OutputFinding& before, const OutputFinding& leading) {
  if (!are_all_twins_ || report_count_ % 2 != 0) return "";
  are_all_twins_ = IsSameValue(before.value, leading.value) &&
                   (before.line.ends_with(leading.line) || leading.line.ends_with(before.line));
  if (twin_value_ && !IsSameValue(*twin_value_, leading.value)) ++twin_changes_;
  twin_value_ = leading.value;
  if (!are_all_twins_ || twin_changes_ < kTwinChangesForNote) return "";
  are_all_twins_ = false;
  return "each value of '" + leading.metric + "' is printed twice: " + Quoted(before.line) +
         " and " + Quoted(leading.line) +
         "; each of them counts as an iteration. Let the program print it once (a logger may have "
         "two handlers), or say with `iteration` where its iteration stands";
}

// A number without the comma shows that it sets thousands apart; so does a point beside it.
std::string OutputMetrics::NoteOnComma(const OutputFinding& leading) {
  if (!may_have_comma_ || !std::isfinite(leading.value)) return "";
  const std::string_view number =
      std::string_view(leading.line)
          .substr(leading.match.number_begin,
                  leading.match.number_end - leading.match.number_begin);
  may_have_comma_ = MayHaveDecimalComma(number) && !FindDecimalMarks(leading.line).has_point;
  comma_count_ = may_have_comma_ ? comma_count_ + 1 : 0;
  comma_line_ = leading.line;
  if (comma_count_ < kCommasForNote) return "";
  std::string note = NoteOnComma();
  may_have_comma_ = false;
  return note;
}

std::string OutputMetrics::NoteOnComma() const {
  if (!may_have_comma_ || comma_count_ == 0) return "";
  return "the values of '" + rules_.patterns[*leader_].metric() + "' have one comma and three " +
         "digits behind it each, as in " + Quoted(comma_line_) + ", and are read as " +
         "thousands; if the comma is the decimal point, print the number with a point (in Python: "
         "no locale)";
}

std::string OutputMetrics::NoteOnForms(const OutputFinding& leading) const {
  const OutputPattern& pattern = rules_.patterns[*leader_];
  const std::string& first = first_leading_->line;
  std::string text = "the regular expression of '" + leading.metric +
                     "' matches lines of two kinds: " + Quoted(first) + " and " +
                     Quoted(leading.line) + "; each of them counts as an iteration. ";
  if (NameTwoSplits(*first_leading_, leading) && IsUnderHeading(leading)) {
    return text + "One stands under the heading of '" +
           std::string(first_leading_->context.heading.name) + "', the other under that of '" +
           std::string(leading.context.heading.name) +
           "': let the program print which it is in the line itself, and write that into the "
           "expression";
  }
  if (NameTwoSplits(*first_leading_, leading)) {
    const auto ending = [&](const OutputFinding& finding) {
      return Quoted(pattern.text() + ".*\\b" + std::string(SplitBehind(finding).word));
    };
    return text + "Write into the expression which of them is meant: " + ending(*first_leading_) +
           " or " + ending(leading);
  }
  const auto parting = [&](const OutputFinding& meant, const OutputFinding& other,
                           const std::string& word) -> std::string {
    std::vector<std::string> candidates;
    const size_t begin = meant.match.match_begin;
    if (!word.empty()) candidates.push_back("^" + word + "\\b.*" + pattern.text());
    candidates.push_back(LineBeginning(meant.line, begin) + pattern.text());
    for (const std::string& candidate : candidates) {
      const Result<OutputPattern> made =
          OutputPattern::Make(leading.metric, candidate, pattern.from());
      if (!made.ok() || candidate.size() > kShownMax) continue;
      const auto here = made->FindIn(meant.line);
      const auto there = made->FindIn(other.line);
      const bool is_right = here.ok() && *here && (*here)->number == meant.value;
      if (is_right && there.ok() && !*there) return candidate;
    }
    return "";
  };
  const DataSplit one = FindLastDataSplit(BeforeValue(*first_leading_));
  const DataSplit other = FindLastDataSplit(BeforeValue(leading));
  const auto reads_meant = [&](bool is_first) -> std::string {
    const std::string regex =
        parting(is_first ? *first_leading_ : leading, is_first ? leading : *first_leading_, "");
    return regex.empty() ? ""
                         : "; " + Quoted(regex) + " reads '" +
                               std::string(is_first ? one.word : other.word) + "'";
  };
  if (!one.name.empty() && !other.name.empty() && one.name != other.name) {
    const bool is_first = one.name == "val" || (one.name == "test" && other.name == "train");
    return text + "One is of '" + std::string(one.word) + "', the other of '" +
           std::string(other.word) + "': write into the expression which of them is meant" +
           reads_meant(is_first);
  }
  if (one.name.empty() != other.name.empty() && one.name != "train" && other.name != "train") {
    return text + "One is of '" + std::string(one.name.empty() ? other.word : one.word) +
           "', the other does not say of what: write into the expression which of them is meant" +
           reads_meant(!one.name.empty());
  }
  text += "If one kind is a summary, begin the expression with what the other lines begin with";
  // The epochs' lines are meant, and where neither names one, the first.
  const bool has_epoch = FindEpoch(BeforeValue(leading)).epoch.has_value();
  const bool is_within = CountLevels(BeforeValue(leading)) > 0 || has_epoch;
  const bool counts_less =
      is_within && CountLevels(BeforeValue(leading)) < CountLevels(BeforeValue(*first_leading_));
  const bool is_second =
      counts_less || (has_epoch && !FindEpoch(BeforeValue(*first_leading_)).epoch);
  const OutputFinding& meant = is_second ? leading : *first_leading_;
  const size_t end =
      meant.line.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
  const bool has_word = end > 0 && end < meant.match.match_begin;
  const std::string regex = parting(meant, is_second ? *first_leading_ : leading,
                                    has_word ? meant.line.substr(0, end) : "");
  return regex.empty() ? text : text + ", such as " + Quoted(regex);
}

std::string OutputMetrics::NoteOnEpoch(const OutputFinding& before,
                                       const OutputFinding& leading) const {
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

std::string OutputMetrics::NoteOnSections(const OutputFinding& before,
                                          const OutputFinding& leading) const {
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

std::string OutputMetrics::NoteOnTrainings(const OutputFinding& before,
                                           const OutputFinding& leading) const {
  return "the values of '" + leading.metric + "' are of several trainings, '" +
         ToUtf8(before.context.training) + "' and '" + ToUtf8(leading.context.training) +
         "' by their headings: they count as one curve, and the best of all is the trial's. Let "
         "the program print the value that is meant, such as their mean, in a line of its own";
}

std::string OutputMetrics::NoteOnPercent(const OutputFinding& before,
                                         const OutputFinding& leading) const {
  const OutputPattern& pattern = rules_.patterns[*leader_];
  const std::string at_end = "100 ?%.*" + pattern.text();
  const auto made = OutputPattern::Make(leading.metric, at_end, pattern.from());
  const auto match = made.ok() ? made->FindIn(before.line) : std::optional<OutputMatch>();
  const bool is_right = match.ok() && *match && (*match)->number == before.value;
  return "the values of '" + leading.metric + "' are printed at parts of a round: in " +
         Quoted(before.line) + " and " + Quoted(leading.line) +
         "; each of them counts as an iteration. If the last one of a round is meant, write " +
         (is_right ? "the expression " + Quoted(at_end) : "that into the expression");
}

// ---- iterations

std::optional<int64_t> OutputMetrics::NextIteration() {
  const OutputFinding& leading = *found_[*leader_];
  const std::string where = ", in the line " + Quoted(leading.line);
  if (!printed_iteration_) {
    refusal_ = "a value of '" + leading.metric + "' stands before the first number of `iteration`" +
               where + "; the number must stand in the same line or before it; without " +
               "`iteration`, values are counted";
    return std::nullopt;
  }
  const double printed = *printed_iteration_;
  const double counted = printed + static_cast<double>(1 - rules_.iteration->first);
  if (printed != std::floor(printed) || !(counted >= 1) || counted > kIterationMax) {
    refusal_ = "iteration: read " + NumberText(printed) + where +
               ", expected a whole number from " + std::to_string(rules_.iteration->first) +
               (printed == 0 ? "; for a program that counts from 0 write iteration: {regex: ..., "
                               "first: 0}"
                             : "");
    return std::nullopt;
  }
  const auto iteration = static_cast<int64_t>(counted);
  const auto before = values_.find(iteration);
  const bool rises = values_.empty() || iteration > values_.rbegin()->first;
  if (!rises && before != values_.end() && IsSameValue(before->second, leading.value)) {
    return std::nullopt;
  }
  if (!rises) {
    refusal_ =
        "iteration: read " + NumberText(printed) + " with another value of '" + leading.metric +
        "'" + where + " after " +
        NumberText(static_cast<double>(values_.rbegin()->first + rules_.iteration->first - 1)) +
        "; the number must rise with each value of '" + leading.metric +
        "': let `iteration` read what counts those, or leave it out";
    return std::nullopt;
  }
  values_[iteration] = leading.value;
  return iteration;
}

Metrics OutputMetrics::Unreported(const std::vector<std::string>& names) const {
  Metrics metrics;
  for (size_t i = 0; i < found_.size(); ++i) {
    if (!found_[i]) continue;
    const bool is_named = std::find(names.begin(), names.end(), found_[i]->metric) != names.end();
    if (is_named || !was_reported_[i]) metrics.emplace_back(found_[i]->metric, found_[i]->value);
  }
  return metrics;
}

std::optional<std::string> OutputMetrics::WhyMissing(const std::string& metric) const {
  for (size_t i = 0; i < rules_.patterns.size(); ++i) {
    const OutputPattern& pattern = rules_.patterns[i];
    if (pattern.metric() != metric || found_[i]) continue;
    const std::string text = "the regular expression of '" + metric + "' found no number in " +
                             "anything it printed " + NameOf(pattern.from());
    const Elsewhere& seen = elsewhere_[i];
    if (!seen.on_other_stream.empty()) {
      const bool is_out = pattern.from() == StreamChoice::kStderr;
      return text + "; it stands on standard " + (is_out ? "output" : "error") + ", in " +
             Quoted(seen.on_other_stream) + ": write from: " + (is_out ? "stdout" : "stderr") +
             " beside the regex";
    }
    if (!seen.drawn_over.empty()) {
      return text + " but in a bar that was drawn over, " + Quoted(seen.drawn_over) +
             ": print the value in a line of its own, or say with `iteration` where the bar's "
             "iteration stands";
    }
    if (lines_[0].has_cut() || lines_[1].has_cut()) {
      return text + " within the first MiB of a line; one was longer: print the value in a line " +
             "of its own";
    }
    return text;
  }
  return std::nullopt;
}

}  // namespace tune
