// Whether the values that a program printed are what is meant: two in one line, lines of two kinds,
// an epoch's twice, folds, a bar that is drawn over. Each doubt is told once; what is said of it is
// in output_notes.h.
//
// Thread rule: one thread an object.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "trial_runner/output_finding.h"
#include "trial_runner/output_notes.h"

namespace tune {

class OutputDoubts {
 public:
  // `has_iteration`: the program prints its iterations' numbers. Then a line of another form has a
  // number of its own, or is refused.
  OutputDoubts(size_t pattern_count, bool has_iteration)
      : has_iteration_(has_iteration), lags_(pattern_count) {}

  // A value of this pattern was read.
  void OnValue(size_t pattern, bool is_first);
  // A line that `pattern`, which leads, may read; whether the value of an epoch is drawn over by
  // the next one's. And: the line stands, a bar is at its end.
  void FollowState(OutputStream stream, const std::string& text, const OutputPattern& pattern);
  void EndState(OutputStream stream);
  // A report is made of what was found last by each pattern, of which one leads. Empty: no doubt.
  std::string OnReport(const std::vector<std::optional<OutputFinding>>& found, size_t leader,
                       const OutputPattern& pattern);
  // Which trial is the best depends on this pattern's metric, too.
  void SetDeciding(size_t pattern) { lags_[pattern].is_deciding = true; }
  // What can be told only when the program has ended; `metric`: the leading one.
  std::string AtEnd(const std::string& metric) const;
  // The same, of what was printed behind the last report.
  std::string OnLeftOver(const std::vector<std::optional<OutputFinding>>& found,
                         size_t leader) const;

 private:
  // Of each pattern: how many reports came before its first value, how many of those since had a
  // new one, and whether there is one that no report has had.
  struct Lag {
    int64_t reports_before = 0;
    int64_t reports_with = 0;
    int64_t reports_with_new = 0;    // Of all reports.
    std::optional<double> reported;  // In the latest one.
    bool is_deciding = false;        // Which trial is the best depends on it.
    bool was_stale = false;          // A report had the value of the one before.
    bool is_new = false;
    bool is_more_often = false;  // It has had several values between two reports.
  };

  std::string OnLeading(const std::vector<std::optional<OutputFinding>>& found, size_t leader,
                        const OutputPattern& pattern);
  // Of one line, then of two.
  std::string OnLine(const OutputFinding& leading, const OutputPattern& pattern);
  std::string OnKind(const OutputFinding& before, const OutputFinding& leading,
                     const OutputPattern& pattern);
  std::string OnTime(const OutputFinding& before, const OutputFinding& leading,
                     const OutputPattern& pattern);
  std::string OnLag(const std::vector<std::optional<OutputFinding>>& found, size_t leader);
  std::string OnOrder(const std::vector<std::optional<OutputFinding>>& found, size_t leader);
  std::string OnComma(const OutputFinding& leading);
  std::string CommaSoFar(const std::string& metric) const;
  std::string OnTwins(const OutputFinding& before, const OutputFinding& leading);
  // Whether values stand under two headings by turns, and in no line of an epoch.
  bool IsUnderTwoSections(const OutputFinding& before, const OutputFinding& leading);
  void CountInBlock(const OutputFinding& before, const OutputFinding& leading);
  bool HasEachABlock(size_t count) const;

  const bool has_iteration_;
  int64_t report_count_ = 0;
  std::optional<OutputFinding> first_;  // Its line's form is the trial's.
  std::optional<OutputFinding> last_;
  std::set<std::string> sections_;  // That a leading value stood under.
  std::vector<OutputValueBlock>
      blocks_;  // In the order in which they came, while no line counts time.
  bool counts_time_ = false;
  std::array<std::string, 2> states_;  // By stream: the bar's last one, while no line followed.
  std::string pending_note_;           // For the next report.
  std::vector<Lag> lags_;
  // Whether each line so far came twice; the second of the last pair, and how often a pair had
  // another value than the one before.
  bool are_all_twins_ = true;
  std::optional<double> twin_value_;
  int64_t twin_changes_ = 0;
  // Values so far that may have a decimal comma, while all may.
  std::string comma_line_;
  int64_t comma_count_ = 0;
  bool may_have_comma_ = true;
  // Told already.
  bool has_noted_values_ = false;
  bool has_noted_forms_ = false;
  bool has_noted_epoch_ = false;
  bool has_noted_units_ = false;
  bool has_noted_rest_ = false;
  bool has_noted_lag_ = false;
  bool has_noted_order_ = false;
  bool has_noted_percent_ = false;
  bool has_noted_states_ = false;
  bool has_noted_redraws_ = false;
};

}  // namespace tune
