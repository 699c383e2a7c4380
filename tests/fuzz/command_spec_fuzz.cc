// libFuzzer target: any JSON as a trainable `command` is read or refused; what is read survives the
// database and can be filled.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"
#include "core/json.h"
#include "tests/fuzz/fuzz_target.h"
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

tune::FuzzStart tune::StartOfFuzz() {
  return {
      {R"y({"command":["python3","train.py","--lr={optimizer.lr}",["--kind","{optimizer.kind}"]]})y",
       R"y({"command":"./run.sh {name} '{tune.dir}/out' > log-{tune.trial}.txt","shell":true})y",
       R"y({"command":["./flow.sh","{x}","{{x}}"],"setup":["prepare.sh"],
               "metrics":{"loss":{"regex":"loss: ([0-9.]+)"},
                          "time":{"json":"{tune.dir}/result.json","key":"time.ms"}}})y",
       R"y({"command":["make","SEED={tune.seed}"],"env":{"X":"{x}","PATH":"/bin"},
               "working_dir":"work"})y"},
      20'000};
}

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
