// libFuzzer target: any bytes on the control socket are a request or are refused, and what is read
// is written back the same.
//   cmake -B build/fuzz -DTUNE_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ && build/fuzz/bin/control_fuzz
//   -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "tuner/control/control_request.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(data), size);
  const tune::Result<tune::ControlRequest> request = tune::DecodeRequest(line);
  if (request.ok()) {
    const auto again = tune::DecodeRequest(tune::EncodeRequest(*request));
    TUNE_CHECK(again.ok() && *again == *request);
  }
  (void)tune::DecodeAnswer(line).ok();
  return 0;
}
