// libFuzzer: any address of a request is refused or has a clean path and query; any headers but the
// key's are kept out.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/http/page_guard.h"

namespace {

const char kKey[] = "910bfe2a20f726e3b83b0052555b0772";
const char kViewerKey[] = "0b1d2c3f4a5968778695a4b3c2d1e0ff";

bool IsClean(std::string_view text) {
  for (const char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) return false;
  }
  return true;
}

}  // namespace

tune::FuzzStart tune::StartOfFuzz() {
  return {{"/", "/api/v1/sweeps/a%20b/curves?trials=1,2&x=%41+b", "/?key=abc", "/%zz",
           "tune_key=abc; a=b", "Bearer abc", "127.0.0.1:80", "[::1]:80", "localhost"},
          200'000};
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  tune::HttpRequest request;
  request.method = "GET";
  request.host = "localhost";
  if (tune::ReadTarget(text, request).ok()) {
    TUNE_CHECK(request.path.starts_with('/') && IsClean(request.path));
    for (const auto& [name, value] : request.query) TUNE_CHECK(IsClean(name) && IsClean(value));
  }
  if (text.find(kKey) != std::string::npos || text.find(kViewerKey) != std::string::npos) return 0;
  const tune::PageGuard guard({kKey, kViewerKey}, nullptr, tune::PageRights::kAct,
                              tune::PageGuard::Channel::kPlain, [] { return "word"; });
  TUNE_CHECK(guard.Stop(request).has_value());
  request.cookie = text;
  request.authorization = text;
  TUNE_CHECK(guard.Stop(request).has_value());
  request.cookie = std::string("tune_key=") + kKey;
  TUNE_CHECK(!guard.Stop(request).has_value());
  request.method = "POST";
  request.path = "/api/v1/sweeps/a/actions";
  request.content_type = "application/json";
  request.origin = text;
  TUNE_CHECK(guard.Stop(request).has_value() == (text != "http://localhost"));
  request.method = "GET";
  request.host = text;
  if (!guard.Stop(request)) {
    TUNE_CHECK(text.starts_with("localhost") || text.starts_with("127.0.0.1") ||
               text.starts_with("[::1]"));
  }
  return 0;
}
