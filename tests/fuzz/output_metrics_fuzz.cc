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
#include "tests/fuzz/fuzz_target.h"
#include "trial_runner/output_metrics.h"

namespace {

std::string_view TakeLine(std::string_view& rest) {
  const size_t end = rest.find('\n');
  const std::string_view line = rest.substr(0, end);
  rest = end == std::string_view::npos ? std::string_view() : rest.substr(end + 1);
  return line;
}

std::vector<tune::Metrics> Read(const std::vector<tune::OutputPattern>& patterns,
                                std::string_view output, size_t piece) {
  tune::OutputMetrics metrics(patterns);
  std::vector<tune::Metrics> all;
  for (size_t i = 0; i < output.size(); i += piece) {
    for (tune::Metrics& report : metrics.Read(output.substr(i, piece))) {
      all.push_back(std::move(report));
    }
  }
  for (tune::Metrics& report : metrics.Finish()) all.push_back(std::move(report));
  TUNE_CHECK(metrics.Finish().empty());
  return all;
}

std::string Shown(const std::vector<tune::Metrics>& reports) {
  std::string text;
  for (const tune::Metrics& report : reports) {
    TUNE_CHECK(!report.empty());
    for (const auto& [name, value] : report) text += name + "=" + std::to_string(value) + " ";
    text += "\n";
  }
  return text;
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  return {{"loss: ([0-9.]+)\nacc=(\\S+)\n..\nepoch 1 loss: 0.5 acc=0.25\nloss: 1e9\nacc=nan\n",
           "a ([-+]?[0-9]+)\nb ([a-z]+|[0-9]*)\n\na 1\nb 2\na 3\r\nb inf\n",
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
