// libFuzzer target: any bytes on the control socket are a request or are refused, and what is read
// is written back the same.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/control/control_request.h"

tune::FuzzStart tune::StartOfFuzz() {
  return {
      {R"({"tuner": 4711, "sweep": "food11", "pause": {"trial": 3, "now": false}})",
       R"({"tuner": 4711, "sweep": "food11", "devices": {}})",
       R"({"tuner": 4711, "sweep": "food11", "pause": {"now": true}})",
       R"({"tuner": 1, "sweep": "gr\u00f6\u00dfe", "unpause": {"trial": 3}})",
       R"({"tuner": 1, "sweep": "a", "stop": {"trial": 0, "now": true}})",
       R"({"tuner": 1, "sweep": "a", "set": {"settings": ["limits.max_concurrent=4"]}})",
       R"({"tuner": 1, "sweep": "a", "submit": {"seed": "7", "spec": {"metric": "v"},
               "provenance": {}, "base_dir": "/home", "package": {"sha256": "ab", "bytes": 9}}})",
       R"({"tuner": 1, "sweep": "a", "cluster_down": {"now": true, "alone_with": "b"}})",
       R"({"tuner": 1, "sweep": "a", "cluster_set": {"file": "/a", "document": {"pools": {}}}})",
       R"({"ok": ["trial 3 pauses at its next report", "b"]})",
       R"({"error": "food11 has no trial 99", "code": "not_found"})"},
      50'000};
}

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
