// libFuzzer target: any text as a table of recorded curves is read or refused with a place, and
// what is read is in order.
//   cmake -B build/fuzz -DTUNE_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ &&
//   build/fuzz/bin/curve_table_fuzz -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/check.h"
#include "tuner/simulate/curve_table.h"
#include "tuner/spec_reader.h"

namespace {

tune::SearchSpace Space() {
  const auto document =
      tune::ParseYaml("{x: {uniform: [0, 1]}, n: {randint: [0, 9]}, c: {choice: [a, 1, true]}}");
  TUNE_CHECK(document.ok());
  auto space = tune::SearchSpace::Parse(*document);
  TUNE_CHECK(space.ok());
  return *std::move(space);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tune::SearchSpace kSpace = Space();
  // Most inputs would not get beyond the names.
  const std::string head = size % 2 == 0 ? "x,n,c,iteration,y,seconds\n" : "";
  std::istringstream in(head + std::string(reinterpret_cast<const char*>(data), size));
  const auto curves = tune::ReadCurveTable(in, "fuzz.csv", kSpace, {"y"});
  if (!curves.ok()) {
    TUNE_CHECK(curves.status().message().starts_with("fuzz.csv:"));
    TUNE_CHECK(curves.status().message().find('\n') == std::string::npos);
    return 0;
  }
  for (const tune::RecordedCurve& curve : curves->curves) {
    TUNE_CHECK(!curve.iterations.empty() && curve.seconds.size() == curve.iterations.size());
    TUNE_CHECK(curve.values.size() == curve.iterations.size() * curves->metrics.size());
    for (size_t i = 1; i < curve.iterations.size(); ++i) {
      TUNE_CHECK(curve.iterations[i - 1] < curve.iterations[i]);
    }
  }
  return 0;
}
