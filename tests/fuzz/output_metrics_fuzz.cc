// libFuzzer target: any expressions (the first two lines) find the same numbers in any output,
// whatever the pieces it comes in (the third line's length is theirs).
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/check.h"
#include "core/limits.h"
#include "core/utf8.h"
#include "tests/fuzz/fuzz_target.h"
#include "trial_runner/output_metrics.h"

namespace {

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

std::vector<tune::OutputReport> Read(const std::vector<tune::OutputPattern>& patterns,
                                     std::string_view output, size_t piece) {
  tune::OutputRules rules;
  rules.patterns = patterns;
  if (patterns.size() == 2) {
    // The second expression counts the first one's values.
    rules.patterns.pop_back();
    rules.iteration = tune::IterationPattern{patterns[1], 0};
  }
  tune::OutputMetrics metrics(std::move(rules), {"a"});
  std::vector<tune::OutputReport> all;
  const auto take = [&](std::vector<tune::OutputReport> reports) {
    for (tune::OutputReport& report : reports) all.push_back(std::move(report));
  };
  for (size_t i = 0; i < output.size(); i += piece) {
    take(metrics.Read(tune::OutputStream::kStdout, output.substr(i, piece)));
  }
  take(metrics.Finish());
  TUNE_CHECK(metrics.Finish().empty());
  return all;
}

std::string Shown(const std::vector<tune::OutputReport>& reports) {
  std::string text;
  int64_t last = 0;
  for (const tune::OutputReport& report : reports) {
    TUNE_CHECK(!report.metrics.empty());
    TUNE_CHECK(report.note.size() <= tune::limits::kErrorBytesMax && tune::IsUtf8(report.note));
    TUNE_CHECK(tune::IsUtf8(report.reading));
    if (report.iteration) {
      TUNE_CHECK(*report.iteration > last);
      last = *report.iteration;
      text += std::to_string(last) + ": ";
    }
    for (const auto& [name, value] : report.metrics) {
      text += name + "=" + std::to_string(value) + " ";
    }
    text += "\n";
  }
  return text;
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  return {{"loss: ([0-9.]+)\nacc=(\\S+)\n..\nepoch 1 loss: 0.5 acc=0.25\nloss: 1e9\nacc=nan\n",
           "a ([-+]?[0-9]+)\nb ([a-z]+|[0-9]*)\n\nb 1\na 1\nb 2 a 3\r\nb inf\n",
           "a {number}\n\\bb {number}\n.\n\rb 0 a 1\rb 0 a 2\rb 1 a 3\x1b[A\n\x1b[Kb 2 a 1.5e-3\n",
           "(.*)\n(x|y)+ ([0-9])\n......\n7\nxyx 8\nno end"},
          5'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string_view rest(reinterpret_cast<const char*>(data), size);
  std::vector<tune::OutputPattern> patterns;
  for (const char* const name : {"a", "b"}) {
    auto pattern = tune::OutputPattern::Make(name, std::string(TakeLine(rest)));
    if (pattern.ok()) patterns.push_back(*std::move(pattern));
  }
  const size_t piece = TakeLine(rest).size() + 1;
  const std::string whole = Shown(Read(patterns, rest, rest.size() + 1));
  TUNE_CHECK(Shown(Read(patterns, rest, piece)) == whole);
  return 0;
}
