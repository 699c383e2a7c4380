// Where a number stands in a line of a program's output, as a regular expression (RE2's syntax, so
// that no line, however long or unlucky, takes more than linear time):
//
//   {regex: "val acc: {number}"}      # {number} stands for a whole number (whole_number.h)
//   {regex: "val acc: ([0-9.]+)"}     # or a group of one's own: the first one
//
// A number of which a group took only a part is never taken: "1.98" of "1.98e-05" is an error.
//
// Thread rule: immutable once made.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "core/status.h"
#include "trial_runner/whole_number.h"

namespace re2 {
class RE2;
}

namespace tune {

// Of a program's output, and what a metric is looked for in.
enum class OutputStream { kStdout, kStderr };
enum class StreamChoice { kStdout, kStderr, kBoth };

constexpr bool IsChosen(StreamChoice choice, OutputStream stream) {
  return choice == StreamChoice::kBoth ||
         (choice == StreamChoice::kStdout) == (stream == OutputStream::kStdout);
}

struct OutputMatch {
  double number = 0;
  size_t match_begin = 0;   // Where the expression's match begins in the line.
  size_t number_begin = 0;  // And its number,
  size_t number_end = 0;    // which ends here.
  size_t match_end = 0;
  std::optional<double> passed_over;  // Another number of an earlier match that was as good,
  size_t passed_begin = 0;            // which begins here.
};

class OutputPattern {
 public:
  // Errors say what is wrong with the expression, without a place.
  static Result<OutputPattern> Make(std::string metric, const std::string& pattern,
                                    StreamChoice from = StreamChoice::kStdout);

  const std::string& metric() const { return metric_; }
  const std::string& text() const { return text_; }  // As it was written.
  StreamChoice from() const { return from_; }
  // The last match in the line, of those that do not begin within a longer name if there are such;
  // nothing where there is none, or no number in it.
  // kInvalidArgument: what it took is a part of a number, or begins as one and is none.
  Result<std::optional<OutputMatch>> FindIn(std::string_view line) const;

 private:
  OutputPattern() = default;
  // What is wrong with the text at [begin, end), which was taken.
  Status Refusal(std::string_view line, size_t begin, size_t end) const;

  std::string metric_;
  std::string text_;
  StreamChoice from_ = StreamChoice::kStdout;
  std::shared_ptr<const re2::RE2> expression_;  // Shared, not copied.
  int group_ = 1;
  bool has_number_ = false;  // {number} is its group.
  SpelledBeside spelled_;
};

}  // namespace tune
