// libFuzzer target: any text as a space file is read or refused, and what is read survives the
// database.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "core/check.h"
#include "core/json.h"
#include "tests/fuzz/fuzz_target.h"
#include "tuner/spec_reader.h"

namespace {

constexpr char kCurve[] = R"y(name: curve
trainable:
  curve: {value: "(x - 0.3)^2 + exp(-0.2 * t)", iterations: 20, noise: 0.01}
metric: loss
mode: min
samples: 50
seed: 1
space:
  x: {uniform: [0, 1]}
  k: {choice: [adam, sgd]}
  sgd: {when: {k: sgd}, momentum: {quniform: [0.0, 0.99, 0.01]}}
constraints: ["x <= 1"]
points: [{x: 0.5, k: adam}]
search: {algorithm: tpe, repeat: 2}
scheduler: {asha: {max_t: 20, reduction_factor: 3}}
)y";

constexpr char kCommand[] = R"y(trainable:
  command: [./pack.sh, "preset={preset}"]
  metrics: {t: {regex: "t=([0-9]+)"}, kilobytes: {json: size.json}}
metric: [kilobytes, t]
mode: [min, max]
metric_constraints: ["t <= 64"]
samples: 30
space: {preset: {randint: [0, 10]}, lr: 1.0e-4}
search: {algorithm: nsga2}
limits: {trial_time: 1m, sweep_time: 2h, max_concurrent: 4, failed_trials: 3}
)y";

constexpr char kFood11[] = R"y(trainable: food11
metric: val_accuracy
mode: max
space: {batch_size: {choice: [32, 64]}, lr: {loguniform: [1.0e-4, 1]}, total_epochs: 20}
stop: {val_accuracy: 0.9, training_iteration: 9}
checkpoint: {every: 2, keep: 1, keep_best: 3}
resources: {cpu: 4, gpu: 0.5, memory: 1GiB}
failure: {max_failures: 2}
search: {algorithm: tpe}
scheduler: {combine: [{patience: {patience: 3}}, {hyperband: {max_t: 9, reduction_factor: 3}}]}
from: earlier
)y";

}  // namespace

tune::FuzzStart tune::StartOfFuzz() { return {{kCurve, kCommand, kFood11}, 3'000}; }

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
