// Metrics of programs that know nothing of tune: numbers found in what they print, line by line.
//
//   metrics:
//     val_accuracy: {regex: "val acc: {number}"}
//     val_loss: {regex: "val loss: {number}", from: stderr}
//   report_on: val_loss                                   # default: the sweep's metric
//   iteration: {regex: "Epoch {number}/", first: 1}       # default: counted from 1
//
// An iteration is a value of one metric, the leading one: that of `report_on`, else the sweep's. Of
// several names (an expression, several objectives) it is the one that came last the first time.
// At the end of its line the report is made; other metrics hold their last value since the
// program's start, and one that was never seen is absent.
//
// With `iteration`, the report's iteration is the number that was printed last, on the metric's
// line or before it. It must rise; a value that stands again under a number that had the same value
// is passed over. A bar that is drawn over and over counts by its last state; with `iteration`, by
// its last state under each number.
//
// Thread rule: one thread an object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "trial_runner/output_headings.h"
#include "trial_runner/output_lines.h"
#include "trial_runner/output_pattern.h"

namespace tune {

// Where a program's iterations stand.
struct IterationPattern {
  OutputPattern pattern;
  int64_t first = 1;  // What the program calls its first iteration: 0 or 1.
};

struct OutputRules {
  std::vector<OutputPattern> patterns;
  std::string report_on;  // Empty: the sweep's metrics lead.
  std::optional<IterationPattern> iteration;
};

// Where a value was read.
struct OutputFinding {
  std::string metric;
  double value = 0;
  OutputStream stream = OutputStream::kStdout;
  std::string line;
  OutputMatch match = {};
  bool is_redrawn = false;     // The line was drawn over one that stood.
  OutputContext context = {};  // What the line stands under.
};

struct OutputReport {
  Metrics metrics;
  std::optional<int64_t> iteration;     // As printed; absent: the next one.
  std::vector<OutputFinding> findings;  // Of the first report: what a person checks.
  // For a person: the value may not be what is meant. "WHAT: the lines and the remedy"; each WHAT
  // once.
  std::string note = {};
  std::string reading = {};  // Of the first report (first_reading.h).
};

class OutputMetrics {
 public:
  // `wanted`: the names that the sweep's metrics are made of.
  OutputMetrics(OutputRules rules, std::vector<std::string> wanted);

  // The reports that became whole.
  std::vector<OutputReport> Read(OutputStream stream, std::string_view piece);
  // The end of the output: the reports of the lines that are left.
  std::vector<OutputReport> Finish();

  // Why what was printed cannot be read; then nothing more is. Without a place.
  const std::optional<std::string>& refusal() const { return refusal_; }
  // The last values of those metrics that no report has had, and of `names`.
  Metrics Unreported(const std::vector<std::string>& names) const;
  // Why a metric has no value, "the regular expression of 'acc' found no number in ..."; nothing
  // where it has one or is none of ours.
  std::optional<std::string> WhyMissing(const std::string& metric) const;
  // Whether a line of the text has a value of the leading metric.
  bool HasValueIn(std::string_view text) const;
  // As a report's note, of what can be told only when the program has ended; empty: nothing.
  std::string NoteAtEnd() const;

 private:
  // The values that stand under one heading.
  struct Block {
    OutputBlock block;
    std::string line;  // Of the first one.
    int64_t count = 0;
  };
  // A bar's last state under an iteration's number.
  struct HeldState {
    OutputStream stream;
    std::string text;
    double number;
  };
  // What was seen of a metric elsewhere than where it is looked for.
  struct Elsewhere {
    std::string on_other_stream;  // The line; empty: none.
    std::string drawn_over;
  };

  void Take(OutputStream stream, const OutputLine& line, std::vector<OutputReport>& reports);
  void TakeState(OutputStream stream, const std::string& text, std::vector<OutputReport>& reports);
  void ReadHeld(std::vector<OutputReport>& reports);
  void ReadLine(OutputStream stream, const OutputLine& line, std::vector<OutputReport>& reports);
  // Of a bar without `iteration`: whether the value of an epoch is drawn over by the next one's.
  void FollowState(OutputStream stream, const std::string& text);
  // Whether values stand under two headings by turns, and in no line of an epoch.
  bool IsUnderTwoSections(const OutputFinding& before, const OutputFinding& leading);
  void ReadIteration(OutputStream stream, const std::string& line);
  void LookElsewhere(OutputStream stream, const OutputLine& line);
  // Whether a value of the leading metric is among those that a line had.
  bool Leads(const std::vector<size_t>& in_line);
  // Nothing: it is passed over, or refused.
  std::optional<OutputReport> MakeReport();
  // The number by which the leading value is reported; nothing as above.
  std::optional<int64_t> NextIteration();
  std::optional<OutputMatch> MatchIn(const OutputPattern& pattern, const std::string& line);
  std::optional<double> NumberIn(const OutputPattern& pattern, const std::string& line);
  // What is doubtful in the leading value's line: two values, or a line of another form.
  std::string Note();
  std::string NoteOnLeading();
  std::string NoteOnLag();
  std::string NoteOnValues(const OutputFinding& leading) const;
  std::string NoteOnTwins(const OutputFinding& before, const OutputFinding& leading);
  std::string NoteOnComma(const OutputFinding& leading);
  std::string NoteOnComma() const;
  std::string NoteOnRest(const OutputFinding& leading) const;
  std::string NoteOnCount(const OutputFinding& leading) const;
  std::string NoteOnForms(const OutputFinding& leading) const;
  std::string NoteOnEpoch(const OutputFinding& before, const OutputFinding& leading) const;
  std::string NoteOnSections(const OutputFinding& before, const OutputFinding& leading) const;
  std::string NoteOnTrainings(const OutputFinding& before, const OutputFinding& leading) const;
  std::string NoteOnSeveral(const std::string& counter, const OutputFinding& before,
                            const OutputFinding& leading) const;
  void CountInBlock(const OutputFinding& before, const OutputFinding& leading);
  bool HasEachABlock(size_t count) const;
  std::string NoteOnBlocks(const Block& one, const Block& other) const;
  std::string NoteOnPercent(const OutputFinding& before, const OutputFinding& leading) const;
  bool IsWanted(const std::string& metric) const;

  const OutputRules rules_;
  const std::vector<std::string> wanted_;
  std::array<OutputLines, 2> lines_;                 // By stream.
  std::vector<std::optional<OutputFinding>> found_;  // By pattern.
  std::vector<bool> was_reported_;
  std::vector<Elsewhere> elsewhere_;
  std::vector<size_t> leaders_;   // Patterns, one of which leads.
  std::optional<size_t> leader_;  // Once it is known.
  std::optional<double> printed_iteration_;
  std::map<int64_t, double> values_;  // Of the leader, by printed iteration.
  std::optional<HeldState> held_;
  bool has_reported_ = false;
  std::optional<OutputFinding> first_leading_;  // Its line's form is the trial's.
  bool has_noted_values_ = false;
  std::optional<OutputFinding> last_leading_;
  bool has_noted_forms_ = false;
  bool has_noted_epoch_ = false;
  bool has_noted_units_ = false;
  bool has_noted_rest_ = false;
  bool has_noted_lag_ = false;
  bool has_noted_percent_ = false;
  std::array<OutputHeadings, 2> headings_;  // By stream.
  std::set<std::string> leader_sections_;   // That a leading value stood under.
  std::vector<Block> blocks_;  // In the order in which they came, while no line counts time.
  bool counts_time_ = false;
  std::array<std::string, 2> states_;  // By stream: the bar's last one, while no line followed.
  std::string pending_note_;           // For the next report.
  bool has_noted_states_ = false;
  bool has_noted_redraws_ = false;
  // Whether each line so far came twice; the second of the last pair, and how often a pair had
  // another value than the one before.
  bool are_all_twins_ = true;
  std::optional<double> twin_value_;
  int64_t twin_changes_ = 0;
  // Values so far that may have a decimal comma, while all may.
  std::string comma_line_;
  int64_t comma_count_ = 0;
  bool may_have_comma_ = true;
  // Of each pattern: how many reports came before its first value, how many of those since had a
  // new one, and whether there is one that no report has had.
  struct Lag {
    int64_t reports_before = 0;
    int64_t reports_with = 0;
    bool is_new = false;
    bool is_more_often = false;  // It has had several values between two reports.
  };
  std::vector<Lag> lags_;
  int64_t report_count_ = 0;
  std::optional<std::string> refusal_;
};

}  // namespace tune
