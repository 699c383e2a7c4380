// libFuzzer target: any line on a trial's socket is a report or an answer or is refused, and what
// is read is written back the same.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "trial_runner/command/program_messages.h"

namespace {

std::string_view WithoutEnd(const std::string& line) {
  TUNE_CHECK(line.find('\n') == line.size() - 1);
  return std::string_view(line).substr(0, line.size() - 1);
}

bool IsSame(const tune::Metrics& a, const tune::Metrics& b) {
  if (a.size() != b.size()) return false;
  for (size_t i = 0; i < a.size(); ++i) {
    const bool is_nan = std::isnan(a[i].second) && std::isnan(b[i].second);
    if (a[i].first != b[i].first || !(is_nan || a[i].second == b[i].second)) return false;
  }
  return true;
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  const auto line = [](const ProgramReport& report) {
    return std::string(WithoutEnd(EncodeProgramReport(report)));
  };
  return {
      {line({{{"loss", 0.5}, {"far", -1e300}}, 12, "/home/me/model.pt"}),
       line({{{"loss", std::nan("")}}, {}, ""}),
       std::string(WithoutEnd(EncodeProgramAnswer({true, 3}))), R"({"protocol": 1, "next": true})",
       std::string(WithoutEnd(EncodeProgramError("no metric is there")))},
      50'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const tune::Result<tune::ProgramReport> report = tune::ParseProgramReport(line);
  if (report.ok()) {
    const std::string written = tune::EncodeProgramReport(*report);
    const auto again = tune::ParseProgramReport(WithoutEnd(written));
    TUNE_CHECK(again.ok() && IsSame(again->metrics, report->metrics) &&
               again->iteration == report->iteration && again->checkpoint == report->checkpoint);
  }
  const tune::Result<tune::ProgramAnswer> answer = tune::ParseProgramAnswer(line);
  if (answer.ok()) {
    const std::string written = tune::EncodeProgramAnswer(*answer);
    const auto again = tune::ParseProgramAnswer(WithoutEnd(written));
    TUNE_CHECK(again.ok() && again->stops == answer->stops &&
               again->iteration == answer->iteration);
  }
  TUNE_CHECK(!report.ok() || !tune::ParseNextRequest(line));
  const std::string error = tune::EncodeProgramError(line);
  TUNE_CHECK(!tune::ParseProgramAnswer(WithoutEnd(error)).ok());
  return 0;
}
