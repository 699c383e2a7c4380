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

class OutputPattern {
 public:
  // Errors say what is wrong with the expression, without a place.
  static Result<OutputPattern> Make(std::string metric, const std::string& pattern,
                                    StreamChoice from = StreamChoice::kStdout);

  const std::string& metric() const { return metric_; }
  StreamChoice from() const { return from_; }
  // The number of the last match in the line, of those that do not begin within a longer name if
  // there are such; nothing where there is none, or no number in it.
  // kInvalidArgument: what it took is a part of a number, or begins as one and is none.
  Result<std::optional<double>> FindIn(std::string_view line) const;

 private:
  OutputPattern() = default;

  std::string metric_;
  StreamChoice from_ = StreamChoice::kStdout;
  std::shared_ptr<const re2::RE2> expression_;  // Shared, not copied.
  int group_ = 1;
  bool has_number_ = false;  // {number} is its group.
  SpelledBeside spelled_;
};

}  // namespace tune
