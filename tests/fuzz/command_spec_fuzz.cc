// libFuzzer target: any JSON as a trainable `command` is read or refused; what is read survives the
// database and can be filled.
//   cmake -B build/fuzz -DTUNE_FUZZ=ON -DCMAKE_CXX_COMPILER=clang++ &&
//   build/fuzz/bin/command_spec_fuzz -max_total_time=60
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/json.h"
#include "trial_runner/command_spec.h"

namespace {

tune::Value Config() {
  return *tune::ParseJson(R"({"x":0.5,"name":"it's","optimizer":{"lr":1,"kind":[1,"a"]}})");
}
tune::Value Own() {
  return *tune::ParseJson(R"({"dir":"/a","trial":0,"attempt":1,"seed":"1","experiment":"e"})");
}

std::string Shown(const tune::Result<tune::FilledCommand>& filled) {
  if (!filled.ok()) return filled.status().message();
  TUNE_CHECK(!filled->arguments.empty());
  std::string text;
  for (const std::string& argument : filled->arguments) text += argument + "\n";
  for (const auto& [name, value] : filled->environment) text += name + "=" + value + "\n";
  for (const std::string& file : filled->metric_files) text += file + "\n";
  return text;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const tune::Result<tune::Value> trainable = tune::ParseJson(text);
  if (!trainable.ok() || !trainable->is_map() || trainable->Find("command") == nullptr) return 0;
  const auto spec = tune::CommandSpec::Parse(*trainable);
  if (!spec.ok()) return 0;
  (void)spec->CheckParameters({"x", "name", "optimizer/lr", "optimizer/kind"}).ok();
  (void)spec->program();
  (void)spec->search_path();
  const tune::Result<tune::Value> stored = tune::ParseJson(tune::ToJson(*trainable));
  TUNE_CHECK(stored.ok());
  const auto again = tune::CommandSpec::Parse(*stored);
  TUNE_CHECK(again.ok());
  TUNE_CHECK(Shown(spec->Fill(Config(), Own())) == Shown(again->Fill(Config(), Own())));
  return 0;
}
