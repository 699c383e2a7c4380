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
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "trial_runner/output_doubts.h"
#include "trial_runner/output_finding.h"
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
  // `wanted`: the names that the sweep's metrics are made of; `constrained`: those of its
  // constraints.
  OutputMetrics(OutputRules rules, std::vector<std::string> wanted,
                const std::vector<std::string>& constrained = {});

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
  void FollowState(OutputStream stream, const std::string& text);
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
  std::array<OutputHeadings, 2> headings_;  // By stream.
  OutputDoubts doubts_;
  std::optional<std::string> refusal_;
};

}  // namespace tune
