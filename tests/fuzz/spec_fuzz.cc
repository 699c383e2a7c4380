// libFuzzer target: any text as a space file is read or refused, and what is read survives the
// database.
//   cmake -B build/fuzz -DTUNE_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ && build/fuzz/bin/spec_fuzz
//   -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "core/json.h"
#include "tuner/spec_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const tune::Result<tune::Value> document = tune::ParseYaml(text);
  if (!document.ok()) return 0;
  const auto spec = tune::InterpretSpec(*document, "fuzz.yaml", "/", false);
  if (!spec.ok()) return 0;
  const tune::Result<tune::Value> stored = tune::ParseJson(tune::ToJson(spec->document));
  TUNE_CHECK(stored.ok() && *stored == spec->document);
  TUNE_CHECK(tune::InterpretSpec(*stored, "fuzz.yaml", "/", false).ok());
  return 0;
}
