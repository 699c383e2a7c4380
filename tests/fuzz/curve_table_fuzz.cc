// libFuzzer target: any text as a table of recorded curves is read or refused with a place, and
// what is read is in order.
#include <cstddef>
#include <cstdint>
#include <sstream>
#include <string>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
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

tune::FuzzStart tune::StartOfFuzz() {
  return {{"x,n,c,iteration,y,seconds\n0.5,1,a,1,0.25,3\n0.5,1,a,2,0.125,4\n0.1,8,1,1,9,1e-3\n",
           "trial,iteration,y,x,n,c\n0,1,0.5,0.25,3,true\n0,3,,0.25,3,true\n1,1,-1e9,0.75,0,a\n",
           "0.5,1,a,1,0.25,3\n0.5,1,\"a\",2,\"0.5\",4\r\n0.7,2,true,4,1,2\n", "0,0,1,1,,3\n"},
          40'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const tune::SearchSpace kSpace = Space();
  // Most inputs would not get beyond the names.
  const std::string text(reinterpret_cast<const char*>(data), size);
  const bool has_names = text.find("iteration") != std::string::npos;
  std::istringstream in((has_names ? "" : "x,n,c,iteration,y,seconds\n") + text);
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
