#include "trial_runner/output_metrics.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/limits.h"
#include "core/utf8.h"
#include "trial_runner/first_reading.h"
#include "trial_runner/whole_number.h"

namespace tune {
namespace {

constexpr OutputStream kStreams[] = {OutputStream::kStdout, OutputStream::kStderr};
constexpr double kIterationMax = 1e15;  // Whole numbers below are exact.
constexpr size_t kUnitMax = 20;

// An expression may write "val/loss" as "val.loss".
std::string Dotted(std::string name) {
  std::replace(name.begin(), name.end(), '/', '.');
  return name;
}

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

std::string ReadingOf(const OutputFinding& finding) {
  if (!std::isfinite(finding.value)) return "";
  const std::string_view rest = RestOf(finding);
  const std::string_view tail = BehindValue(finding);
  FirstReading reading;
  reading.epoch = FindEpoch(BeforeValue(finding)).epoch;
  reading.unit = std::string(rest.starts_with('/') ? rest : UnitBehind(tail)).substr(0, kUnitMax);
  return EncodeFirstReading(reading);
}

}  // namespace

namespace {

bool IsNamed(const std::string& metric, const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) {
    return name == metric || Dotted(name) == metric;
  });
}

}  // namespace

OutputMetrics::OutputMetrics(OutputRules rules, std::vector<std::string> wanted,
                             const std::vector<std::string>& constrained)
    : rules_(std::move(rules)),
      wanted_(std::move(wanted)),
      found_(rules_.patterns.size()),
      was_reported_(rules_.patterns.size()),
      elsewhere_(rules_.patterns.size()),
      doubts_(rules_.patterns.size(), rules_.iteration.has_value()) {
  size_t wanted_count = 0;
  for (size_t i = 0; i < rules_.patterns.size(); ++i) {
    const std::string& metric = rules_.patterns[i].metric();
    if (IsWanted(metric)) ++wanted_count;
    if (IsWanted(metric) || IsNamed(metric, constrained)) doubts_.SetDeciding(i);
    if (rules_.report_on.empty() ? IsWanted(metric) : metric == rules_.report_on) {
      leaders_.push_back(i);
    }
  }
  // A value that comes from elsewhere, at the end, is a part of it: there is one report, then.
  if (rules_.report_on.empty() && wanted_count < wanted_.size()) leaders_.clear();
  if (leaders_.size() == 1) leader_ = leaders_.front();
}

bool OutputMetrics::IsWanted(const std::string& metric) const { return IsNamed(metric, wanted_); }

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
  doubts_.EndState(stream);
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
  if (rules_.iteration || !leader_) return;
  const OutputPattern& pattern = rules_.patterns[*leader_];
  if (IsChosen(pattern.from(), stream)) doubts_.FollowState(stream, text, pattern);
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
    doubts_.OnValue(i, !found_[i]);
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
  const std::string note = doubts_.OnReport(found_, *leader_, rules_.patterns[*leader_]);
  // A word or a number that it repeats may be as long as a line.
  report.note = ToUtf8(std::string_view(note).substr(0, limits::kErrorBytesMax));
  return report;
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

// ---- what a person asks

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
  std::string note = doubts_.AtEnd(leader_ ? rules_.patterns[*leader_].metric() : "");
  if (note.empty() && leader_) note = doubts_.OnLeftOver(found_, *leader_);
  if (!note.empty() || !(lines_[0].has_cut() || lines_[1].has_cut())) return note;
  return "a line above 1 MiB: what stands behind its first MiB was not read, and may hold a later "
         "value; let the program end its lines";
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
