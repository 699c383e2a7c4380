// Metrics of programs that know nothing of tune: numbers found in what they print, line by line.
//
//   metrics:
//     val_accuracy: {regex: "val acc: ([0-9.]+)"}
//     val_loss: {regex: "val loss: ([0-9.eE+-]+)"}
//
// A report is whole when each of the expressions has found a number since the one before; when one
// finds its next number earlier, what is missing is missing. At the end of the output the numbers
// that wait make the last report. Regular expressions are RE2's, so that no line, however long or
// unlucky, takes more than linear time.
//
// Thread rule: one thread an object.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/metric.h"
#include "core/status.h"

namespace re2 {
class RE2;
}

namespace tune {

// A metric and where its number stands: the first group of `pattern`.
class OutputPattern {
 public:
  // Errors say what is wrong with the expression, without a place.
  static Result<OutputPattern> Make(std::string metric, const std::string& pattern);

  const std::string& metric() const { return metric_; }
  // The number of the last match in the line; nothing where there is none, or no number in it.
  std::optional<double> FindIn(std::string_view line) const;

 private:
  OutputPattern(std::string metric, std::shared_ptr<const re2::RE2> expression)
      : metric_(std::move(metric)), expression_(std::move(expression)) {}

  std::string metric_;
  std::shared_ptr<const re2::RE2> expression_;  // Immutable: shared, not copied.
};

// The lines of an output that comes in pieces. A line ends with '\n' or '\r' (progress bars).
class OutputMetrics {
 public:
  explicit OutputMetrics(std::vector<OutputPattern> patterns);

  // The reports that became whole.
  std::vector<Metrics> Read(std::string_view piece);
  // The end of the output: what its last line made whole, and what waits.
  std::vector<Metrics> Finish();

  // "val_accuracy (val acc: ...)" of each expression that never found a number.
  std::vector<std::string> NeverFound() const;

 private:
  static constexpr size_t kLineBytesMax = 64u << 10;  // Of a longer line the rest is not looked at.

  void ReadLine(std::string_view line, std::vector<Metrics>& whole);
  Metrics Take();

  const std::vector<OutputPattern> patterns_;
  std::vector<std::optional<double>> found_;  // Since the last report.
  std::vector<bool> was_found_;
  std::string line_;  // That is not ended yet.
};

}  // namespace tune
