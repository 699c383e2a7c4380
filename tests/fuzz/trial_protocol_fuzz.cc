// libFuzzer target: any line between a worker and a trial process is a message of some lane or is
// refused, and what is read is written back the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "trial_runner/worker/trial_protocol.h"

namespace {

std::string WithoutEnd(const std::string& line) {
  TUNE_CHECK(line.find('\n') == line.size() - 1);
  return line.substr(0, line.size() - 1);
}

std::string Written(const tune::OfLane<tune::FromTrial>& read) {
  if (const auto* const report = std::get_if<tune::Report>(&read.message)) {
    return tune::EncodeReport(*report, read.lane);
  }
  return tune::EncodeEnd(std::get<tune::TrialEnd>(read.message), read.lane);
}

// A start is written from other parts than it is read into.
std::string Written(const tune::OfLane<tune::ToLane>& read) {
  if (const auto* const answer = std::get_if<tune::ReportAnswer>(&read.message)) {
    return tune::EncodeAnswer(*answer, read.lane);
  }
  const auto* const leave = std::get_if<tune::LeaveLane>(&read.message);
  return leave == nullptr ? "" : tune::EncodeLeave(leave->at_once, read.lane);
}

template <typename Parse>
void CheckThatItComesBack(std::string_view line, Parse parse) {
  const auto read = parse(line);
  if (!read.ok()) return;
  TUNE_CHECK(read->lane >= 0);
  const std::string written = Written(*read);
  if (written.empty()) return;
  const auto again = parse(WithoutEnd(written));
  TUNE_CHECK(again.ok() && again->lane == read->lane && Written(*again) == written);
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  Report report;
  report.iteration = 3;
  report.metrics = {{"val_loss", 0.25}, {"lanes", 4}};
  report.final = report.has_checkpoint = true;
  report.checkpoint = {"/a/0/checkpoint_000003", 4096, "00ff"};
  SweepInfo sweep;
  sweep.experiment = "sweep";
  sweep.trainable = R"("food11")";
  StartAttempt start;
  start.ref = {TrialNumber{1}, AttemptNumber{2}, LeaseEpoch{3}};
  start.slices = {{0, 125}};
  start.config = R"({"lr":0.1,"lanes":8})";
  return {{WithoutEnd(EncodeReport(report, 5)), WithoutEnd(EncodeReport(report)),
           WithoutEnd(EncodeEnd({Outcome::kCrashed, "why", EndDetail::kDiskFull}, 6)),
           WithoutEnd(EncodeAnswer(ReportAnswer::kSave, 7)), WithoutEnd(EncodeLeave(true, 8)),
           WithoutEnd(EncodeStart(sweep, start, {}, {}, 9))},
          50'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  CheckThatItComesBack(line, tune::ParseFromLane);
  CheckThatItComesBack(line, tune::ParseToLane);
  if (tune::ParseFromTrial(line).ok()) TUNE_CHECK(tune::ParseFromLane(line)->lane == 0);
  if (tune::ParseToTrial(line).ok()) TUNE_CHECK(tune::ParseToLane(line)->lane == 0);
  return 0;
}
